//! What must hold after every fault: the chain, the log against the server's own list, the limits.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::client::Tally;
use super::site::Site;
use super::upstream::{Received, Upstream};

/// A limit that the policy has, as the log must show it to hold.
pub(crate) struct Held<'a> {
    pub(crate) counter: &'a str,
    pub(crate) window_s: i64,
    pub(crate) max: u64,
}

/// What was compared.
#[derive(Clone, Copy, Default)]
pub(crate) struct Compared {
    pub(crate) records: usize,
    pub(crate) received: usize,
}

/// Compares everything. The gateway must be at rest or stopped.
pub(crate) fn audit(
    site: &Site,
    upstream: &Upstream,
    tally: &Tally,
    limits: &[Held<'_>],
) -> Result<Compared> {
    site.run(&["log", "verify"])?;
    let records = site.records()?;
    let received = upstream.received();
    every_call_is_recorded(&records, &received)?;
    for key in &tally.with_result {
        ensure!(received.contains_key(key), "call {key} has a result that the server never gave");
    }
    for limit in limits {
        holds(&records, limit)?;
    }
    Ok(Compared { records: records.len(), received: received.len() })
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_admitted(record: &Value) -> bool {
    text(record, "kind") == "decision"
        && text(record, "method") == "tools/call"
        && text(record, "outcome") == "allowed"
}

/// INVARIANT: no record, no call.
fn every_call_is_recorded(records: &[Value], received: &HashMap<String, Received>) -> Result<()> {
    let keys = records.iter().filter(|record| is_admitted(record));
    let keys = keys.filter_map(|record| record.pointer("/argument_keys/0").and_then(Value::as_str));
    let recorded: HashSet<&str> = keys.collect();
    for (key, call) in received {
        ensure!(recorded.contains(key.as_str()), "the server received call {key}, which is not in the log");
        ensure!(call.times == 1, "the server received call {key} {} times", call.times);
    }
    Ok(())
}

/// INVARIANT: limits never exceed. In no interval of the window's length, by the times of the records.
fn holds(records: &[Value], limit: &Held<'_>) -> Result<()> {
    let returned: HashSet<u64> = records
        .iter()
        .filter(|record| {
            record.get("given_back").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
        })
        .filter_map(|record| record.get("decision").and_then(Value::as_u64))
        .collect();
    let mut times = Vec::new();
    for record in records.iter().filter(|record| is_admitted(record)) {
        let sequence = record.get("seq").and_then(Value::as_u64).unwrap_or(0);
        if charges(record, limit.counter) && !returned.contains(&sequence) {
            times.push(text(record, "time").parse::<jiff::Timestamp>()?.as_microsecond());
        }
    }
    times.sort_unstable();
    let length = limit.window_s * 1_000_000;
    let max = usize::try_from(limit.max)?;
    for (first, last) in times.iter().zip(times.iter().skip(max)) {
        ensure!(
            last - first >= length,
            "more than {max} calls of `{}` were admitted within {} s",
            limit.counter,
            limit.window_s
        );
    }
    Ok(())
}

fn charges(record: &Value, counter: &str) -> bool {
    let charges = record.get("charges").and_then(Value::as_array).into_iter().flatten();
    let wanted = format!("\"{counter}\"");
    charges.into_iter().any(|charge| text(charge, "counter").contains(&wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(sequence: u64, key: &str, second: i64) -> Value {
        let time = jiff::Timestamp::from_second(second).unwrap().to_string();
        json!({"seq": sequence, "kind": "decision", "method": "tools/call", "outcome": "allowed",
            "time": time, "argument_keys": [key],
            "charges": [{"counter": "[\"p\",\"c\",\"global\"]", "amount": "1"}]})
    }

    fn received(key: &str, times: u64) -> HashMap<String, Received> {
        HashMap::from([(key.to_owned(), Received { tool: "t".to_owned(), times })])
    }

    #[test]
    fn a_call_that_is_not_in_the_log_is_found() {
        let records = [call(1, "k1", 0)];
        assert!(every_call_is_recorded(&records, &received("k1", 1)).is_ok());
        assert!(every_call_is_recorded(&records, &received("k2", 1)).is_err());
        assert!(every_call_is_recorded(&records, &received("k1", 2)).is_err());
        let mut denied = call(1, "k1", 0);
        denied["outcome"] = json!("denied");
        assert!(every_call_is_recorded(&[denied], &received("k1", 1)).is_err());
    }

    #[test]
    fn one_call_too_many_within_a_window_is_found() {
        let limit = Held { counter: "c", window_s: 10, max: 2 };
        let records = |last| [call(1, "a", 0), call(2, "b", 5), call(3, "c", last)];
        assert!(holds(&records(10), &limit).is_ok());
        assert!(holds(&records(9), &limit).is_err());
        let given_back = json!({"kind": "outcome", "decision": 2, "given_back": [{}]});
        let [first, second, third] = records(9);
        assert!(holds(&[first, second, third, given_back], &limit).is_ok());
    }
}
