//! Refusals before authentication, summed up: one record per source and second.
//!
//! A stranger cannot fill the disk by being refused. Pure: the time comes in, records come out; the
//! gateway appends them. Sources beyond the bound share one line; so do all addresses of one IPv6 network of
//! 64 bits, which is what a single house gets.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use super::record::Refusals;

/// Sources that get a line of their own in one second.
pub const STRANGERS_MAX: usize = 16;

/// The refusals of the current second.
#[derive(Debug, Default)]
pub struct Strangers {
    second: i64,
    by_source: HashMap<IpAddr, Tally>,
    others: Option<Tally>,
}

#[derive(Clone, Copy, Debug)]
struct Tally {
    count: u64,
    reason: &'static str,
}

impl Strangers {
    /// Counts one refusal; returns what the seconds before have gathered, if this is a new one.
    pub fn refuse(&mut self, source: IpAddr, reason: &'static str, second: i64) -> Vec<Refusals> {
        let gathered = self.take_before(second);
        let source = network(source);
        let known = self.by_source.contains_key(&source);
        let first = Tally { count: 0, reason };
        let tally = if known || self.by_source.len() < STRANGERS_MAX {
            self.by_source.entry(source).or_insert(first)
        } else {
            self.others.get_or_insert(first)
        };
        tally.count += 1;
        gathered
    }

    /// What was gathered in seconds before this one; to be asked about once a second.
    pub fn take_before(&mut self, second: i64) -> Vec<Refusals> {
        // A clock that steps back starts a new second too: nothing is held for ever.
        if second == self.second {
            return Vec::new();
        }
        self.second = second;
        self.take_all()
    }

    /// What was gathered so far; for an orderly end.
    pub fn take_all(&mut self) -> Vec<Refusals> {
        let sources = self.by_source.drain().map(|(source, tally)| (name(source), tally));
        let others = self.others.take().map(|tally| ("other".to_owned(), tally));
        let mut refusals: Vec<_> = sources
            .chain(others)
            .map(|(source, tally)| Refusals { source, count: tally.count, reason: tally.reason })
            .collect();
        refusals.sort_by(|a, b| a.source.cmp(&b.source));
        refusals
    }
}

/// Whom an address stands for.
fn network(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let bits = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(bits))
        }
        address => address,
    }
}

fn name(network: IpAddr) -> String {
    match network {
        IpAddr::V6(address) if !address.is_loopback() => format!("{address}/64"),
        address => address.to_string(),
    }
}
