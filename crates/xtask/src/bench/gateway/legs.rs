//! The three ways to the upstream (directly, through nginx, through the gateway), loaded in turns.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::peers::Peer;
use crate::{process, workspace};

/// One way; the process in the middle, if there is one.
pub(super) struct Leg<'a> {
    pub(super) name: &'static str,
    pub(super) middle: Option<&'a Peer>,
    pub(super) upstream: &'a Peer,
    pub(super) request: Vec<u8>,
}

/// How hard, how long, how often.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) connections: usize,
    pub(super) milliseconds: usize,
    pub(super) rounds: usize,
}

/// What one way gave, over all rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) calls: f64,
    /// Before anything was measured.
    pub(super) warm_up_calls: f64,
    pub(super) seconds: f64,
    pub(super) other_statuses: u64,
    p50_us: Vec<f64>,
    p99_us: Vec<f64>,
    p999_us: Vec<f64>,
    middle_cpu: f64,
    upstream_cpu: f64,
    load_cpu: f64,
}

impl Figures {
    pub(super) fn per_second(&self) -> f64 {
        self.calls / self.seconds
    }

    /// Microseconds of processor time for one call: in the middle, at the upstream, at the client.
    pub(super) fn cpu_us(&self) -> [f64; 3] {
        [self.middle_cpu, self.upstream_cpu, self.load_cpu].map(|seconds| seconds * 1e6 / self.calls)
    }

    /// Medians over the rounds of p50, p99 and p99.9, in microseconds.
    pub(super) fn latencies_us(&self) -> [f64; 3] {
        [&self.p50_us, &self.p99_us, &self.p999_us].map(|rounds| median(rounds))
    }
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// What `bench-load` prints.
#[derive(Deserialize)]
struct Printed {
    seconds: f64,
    statuses: BTreeMap<u16, u64>,
    cpu_seconds: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
}

/// Loads each leg in turn, so many rounds; the first, shorter round only warms up.
pub(super) fn measure(directory: &Path, legs: &[Leg<'_>], load: Load) -> Result<Vec<Figures>> {
    let warm_up = Load { milliseconds: load.milliseconds.min(500), ..load };
    let mut figures = vec![Figures::default(); legs.len()];
    for round in 0..=load.rounds {
        for (leg, sum) in legs.iter().zip(&mut figures) {
            if round > 0 {
                leg.run(directory, load, sum)?;
                continue;
            }
            let mut first = Figures::default();
            leg.run(directory, warm_up, &mut first)?;
            sum.warm_up_calls = first.calls;
        }
    }
    for (leg, sum) in legs.iter().zip(&figures) {
        ensure!(sum.calls > 0.0 && sum.other_statuses == 0, "{}: {sum:?}", leg.name);
    }
    Ok(figures)
}

impl Leg<'_> {
    fn address(&self) -> SocketAddr {
        self.middle.unwrap_or(self.upstream).address
    }

    fn middle_cpu(&self) -> Result<f64> {
        self.middle.map_or(Ok(0.0), Peer::cpu_seconds)
    }

    pub(super) fn run(&self, directory: &Path, load: Load, sum: &mut Figures) -> Result<()> {
        let file = directory.join("request");
        std::fs::write(&file, &self.request)?;
        let (middle, upstream) = (self.middle_cpu()?, self.upstream.cpu_seconds()?);
        let mut command = process::command(workspace::built("release/bench-load")?);
        let numbers = [load.connections, load.milliseconds].map(|number| number.to_string());
        command.arg(self.address().to_string()).args(numbers).arg(&file);
        let printed = process::capture(&mut command).with_context(|| format!("the leg `{}`", self.name))?;
        let printed: Printed = serde_json::from_str(&printed.stdout)?;
        sum.middle_cpu += self.middle_cpu()? - middle;
        sum.upstream_cpu += self.upstream.cpu_seconds()? - upstream;
        sum.load_cpu += printed.cpu_seconds;
        sum.calls += printed.statuses.get(&200).map_or(0.0, |calls| *calls as f64);
        sum.other_statuses +=
            printed.statuses.iter().filter(|(s, _)| **s != 200).map(|(_, n)| n).sum::<u64>();
        sum.seconds += printed.seconds;
        sum.p50_us.push(printed.p50_us);
        sum.p99_us.push(printed.p99_us);
        sum.p999_us.push(printed.p999_us);
        Ok(())
    }
}
