//! Counters to JSON and back, so that they survive a restart.

use std::collections::HashMap;

use portcullis_json::{Decimal, Object, Value};

use super::counter::{Counter, Step};
use super::counters::{CounterKey, Counters, Scope};
use crate::time::Time;

const FORMAT: i64 = 1;

impl Counters {
    /// Everything that is needed to go on, as JSON. Keys are in order, so equal counters give equal text.
    pub fn snapshot(&self) -> Value {
        let mut counters: Vec<_> = self.counters.iter().collect();
        counters.sort_by_key(|(key, _)| *key);
        let counters = counters.into_iter().map(|(key, counter)| counter_to_json(key, counter)).collect();
        Object::new()
            .with("format", FORMAT)
            .with("latest", optional_time(self.latest))
            .with("counters", Value::Array(counters))
            .into()
    }

    /// The counters of a snapshot; the error says what is wrong with it.
    pub fn restore(snapshot: &Value) -> Result<Counters, String> {
        if snapshot.get("format").and_then(integer) != Some(FORMAT) {
            return Err(format!("the counters' snapshot is not of format {FORMAT}"));
        }
        let damaged = || "the counters' snapshot is damaged".to_owned();
        let entries = snapshot.get("counters").and_then(Value::as_array).ok_or_else(damaged)?;
        let list: Vec<(CounterKey, Counter)> =
            entries.iter().map(counter_from_json).collect::<Option<_>>().ok_or_else(damaged)?;
        let latest = snapshot.get("latest").and_then(time_or_null).ok_or_else(damaged)?;
        let newest = list.iter().filter_map(|(_, counter)| counter.last_charged()).max();
        let count = list.len();
        let counters: HashMap<CounterKey, Counter> = list.into_iter().collect();
        if counters.len() != count || newest > latest {
            return Err(damaged());
        }
        Ok(Counters { counters, latest, swept: None })
    }
}

fn counter_to_json(key: &CounterKey, counter: &Counter) -> Value {
    let scope: Vec<Value> = match &key.scope {
        Scope::Grant(grant) => vec!["grant".into(), grant.as_str().into()],
        Scope::Session(grant, session) => {
            vec!["session".into(), grant.as_str().into(), session.as_str().into()]
        }
        Scope::Server(server) => vec!["server".into(), server.as_str().into()],
        Scope::Global => vec!["global".into()],
    };
    let steps = counter.steps().map(|step| {
        let (first, last) = (step.first.as_microseconds(), step.last.as_microseconds());
        Value::Array(vec![first.into(), last.into(), step.amount.canonical().into()])
    });
    Object::new()
        .with("policy", key.policy.as_str())
        .with("counter", key.counter.as_str())
        .with("scope", scope)
        .with("window_seconds", i64::try_from(counter.window_seconds()).unwrap_or(i64::MAX))
        .with("forgotten", optional_time(counter.forgotten()))
        .with("steps", steps.collect::<Vec<_>>())
        .into()
}

fn counter_from_json(value: &Value) -> Option<(CounterKey, Counter)> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let scope: Vec<&str> =
        value.get("scope")?.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    let scope = match scope.as_slice() {
        ["grant", grant] => Scope::Grant((*grant).to_owned()),
        ["session", grant, session] => Scope::Session((*grant).to_owned(), (*session).to_owned()),
        ["server", server] => Scope::Server((*server).to_owned()),
        ["global"] => Scope::Global,
        _ => return None,
    };
    let key = CounterKey { policy: text("policy")?, counter: text("counter")?, scope };
    let steps = value.get("steps")?.as_array()?.iter().map(step_from_json).collect::<Option<Vec<_>>>()?;
    let forgotten = value.get("forgotten").and_then(time_or_null)?;
    let window_seconds = u64::try_from(integer(value.get("window_seconds")?)?).ok()?;
    Some((key, Counter::restored(steps, forgotten, window_seconds)?))
}

fn step_from_json(value: &Value) -> Option<Step> {
    match value.as_array()? {
        [first, last, amount] => Some(Step {
            first: Time::from_microseconds(integer(first)?),
            last: Time::from_microseconds(integer(last)?),
            amount: amount.as_str()?.parse::<Decimal>().ok()?,
        }),
        _ => None,
    }
}

fn optional_time(time: Option<Time>) -> Value {
    time.map_or(Value::Null, |time| time.as_microseconds().into())
}

/// `Some(None)` for null, nothing for what is neither.
fn time_or_null(value: &Value) -> Option<Option<Time>> {
    match value {
        Value::Null => Some(None),
        other => integer(other).map(|time| Some(Time::from_microseconds(time))),
    }
}

fn integer(value: &Value) -> Option<i64> {
    value.as_number()?.as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restore(steps: &str, latest: &str) -> Result<Counters, String> {
        let counter = format!(
            r#"{{"policy":"p","counter":"c","scope":["global"],"window_seconds":60,"forgotten":null,"steps":{steps}}}"#
        );
        let text = format!(r#"{{"format":1,"latest":{latest},"counters":[{counter}]}}"#);
        Counters::restore(
            &portcullis_json::parse(text.as_bytes(), &portcullis_json::Limits::document()).unwrap(),
        )
    }

    #[test]
    fn a_sound_snapshot_comes_back_as_it_was() {
        let counters = restore(r#"[[1,2,"5"],[3,3,"1e-1"]]"#, "7").unwrap();
        assert_eq!(Counters::restore(&counters.snapshot()).unwrap().snapshot(), counters.snapshot());
    }

    #[test]
    fn a_damaged_snapshot_is_refused() {
        for (steps, latest) in [
            (r#"[[1,2,"-5"]]"#, "7"),
            (r#"[[2,1,"5"]]"#, "7"),
            (r#"[[3,3,"5"],[1,1,"5"]]"#, "7"),
            (r#"[[1,1,"5"],[1,1,"5"]]"#, "7"),
            (r#"[[1,1,5]]"#, "7"),
            (r#"[[1,1,"x"]]"#, "7"),
            (r#"[[1,1,"5"]]"#, "0"),
            (r#"[[1,1,"5"]]"#, "null"),
            ("{}", "7"),
        ] {
            assert!(restore(steps, latest).is_err(), "{steps} {latest}");
        }
        let counters = restore(r#"[[1,1,"5"]]"#, "7").unwrap().snapshot();
        let entry =
            counters.get("counters").and_then(Value::as_array).and_then(<[Value]>::first).cloned().unwrap();
        let twice = counters.as_object().unwrap().clone().with("counters", vec![entry.clone(), entry]);
        assert!(Counters::restore(&twice.into()).is_err(), "one counter twice");
    }
}
