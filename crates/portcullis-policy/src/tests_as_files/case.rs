//! One case: asked, decided, charged, compared.

use portcullis_json::{Object, Value, compact};

use super::{World, expectation, read_arguments};
use crate::decide::decide;
use crate::limits::Counters;
use crate::question::{Call, Caller, Question, ServerRequest, Subject};
use crate::time::Time;
use crate::verdict::{Effect, Verdict};

/// How a case came out.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// Its name, or its number.
    pub name: String,
    /// Whether everything that was expected came out.
    pub passed: bool,
    /// What was expected.
    pub expected: Value,
    /// What came out, for the same fields; and the message.
    pub actual: Value,
}

/// More repetitions than this are refused: a test file is no load test.
const REPEAT_MAX: i64 = 100_000;

pub(super) fn run(case: &Object, index: usize, world: &mut World) -> Result<CaseResult, String> {
    let name =
        case.get("name").and_then(Value::as_str).map_or_else(|| format!("case {index}"), str::to_owned);
    let in_case = |message: String| format!("case `{name}`: {message}");
    if let Some(clock) = case.get("at").and_then(Value::as_str) {
        world.clock = Time::parse(clock).map_err(in_case)?;
    }
    let repeat = repeat(case).map_err(in_case)?;
    let expected = case.get("expect").and_then(Value::as_object).filter(|expected| !expected.is_empty());
    let expected = expected.ok_or_else(|| in_case("`expect` must say what is expected".to_owned()))?;
    let mut actual = Object::new();
    for round in 1..=repeat {
        actual = ask(case, world).map_err(in_case)?;
        if !expectation::holds(expected, &actual) {
            let name = if repeat > 1 { format!("{name} (time {round} of {repeat})") } else { name };
            return Ok(result(name, false, expected, actual));
        }
    }
    Ok(result(name, true, expected, actual))
}

fn result(name: String, passed: bool, expected: &Object, actual: Object) -> CaseResult {
    CaseResult { name, passed, expected: expected.clone().into(), actual: actual.into() }
}

fn repeat(case: &Object) -> Result<i64, String> {
    let Some(value) = case.get("repeat") else { return Ok(1) };
    let times = value.as_number().and_then(portcullis_json::Number::as_i64);
    times
        .filter(|times| (1..=REPEAT_MAX).contains(times))
        .ok_or_else(|| format!("`repeat` is a whole number from 1 to {REPEAT_MAX}"))
}

/// Asks the policy once, charges what is to be charged, and puts the answer into the fields of `expect`.
fn ask(case: &Object, world: &mut World) -> Result<Object, String> {
    let kinds = ["call", "list", "read", "prompt", "server_request"];
    if kinds.iter().filter(|kind| case.contains_key(kind)).count() != 1 {
        return Err("a case has exactly one of `call`, `list`, `read`, `prompt`, `server_request`".to_owned());
    }
    if case.get("list").and_then(Value::as_bool) == Some(false) {
        return Err("`list` can only be `true`".to_owned());
    }
    let setting = Setting::of(case, world);
    let caller = setting.caller();
    if let Some(call) = case.get("call") {
        return ask_call(call, case, caller, world);
    }
    let subject = if let Some(uri) = case.get("read").and_then(Value::as_str) {
        Subject::Resource(uri)
    } else if let Some(name) = case.get("prompt").and_then(Value::as_str) {
        Subject::Prompt(name)
    } else if let Some(kind) = case.get("server_request").and_then(Value::as_str) {
        Subject::ServerRequest(ServerRequest::from_name(kind).ok_or("unknown server request")?)
    } else {
        return Ok(ask_list(&caller, world));
    };
    let verdict = decide(world.policy.as_ref(), &Question { caller, subject }, &world.counters);
    Ok(expectation::fields(&verdict))
}

fn ask_list(caller: &Caller<'_>, world: &World) -> Object {
    let visible = |(name, tool): &(&String, &super::Tool)| {
        let subject = Subject::List { tool: name, class: tool.class };
        let question = Question { caller: caller.clone(), subject };
        decide(world.policy.as_ref(), &question, &world.counters).effect == Effect::Allow
    };
    let mut names: Vec<&String> = world.tools.iter().filter(visible).map(|(name, _)| name).collect();
    names.sort();
    let names = names.into_iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>();
    Object::new().with("visible", names)
}

fn ask_call(call: &Value, case: &Object, caller: Caller<'_>, world: &mut World) -> Result<Object, String> {
    let name = call.get("tool").and_then(Value::as_str).ok_or("`call` needs a `tool`")?;
    let text = match (call.get("args"), call.get("args_json").and_then(Value::as_str)) {
        (Some(_), Some(_)) => return Err("`args` and `args_json` do not go together".to_owned()),
        (Some(args), None) => compact(args),
        (None, Some(text)) => text.to_owned(),
        (None, None) => "{}".to_owned(),
    };
    let Some(arguments) = read_arguments(&text) else {
        let verdict =
            Verdict::deny("(malformed)", "The arguments are not one JSON object within the bounds.");
        return Ok(expectation::fields(&verdict));
    };
    let tool = world.tools.get(name);
    let subject = Subject::Call(Call {
        tool: name,
        class: tool.and_then(|tool| tool.class),
        schema: tool.and_then(|tool| tool.schema.as_ref()),
        arguments: &arguments,
        approved: case.get("approved").and_then(Value::as_bool).unwrap_or(false),
    });
    let now = caller.now;
    let verdict = decide(world.policy.as_ref(), &Question { caller, subject }, &world.counters);
    let shadow = world.policy.as_ref().is_some_and(crate::policy::Policy::is_shadow);
    Ok(expectation::fields(&charged(verdict, shadow, &mut world.counters, now)))
}

/// Reserves as a gateway does.
fn charged(verdict: Verdict, shadow: bool, counters: &mut Counters, now: Time) -> Verdict {
    if verdict.effect != Effect::Allow {
        return verdict;
    }
    let charges = &verdict.obligations.charges;
    if shadow {
        let _spent = counters.record(charges, now);
        return verdict;
    }
    match counters.reserve(charges, now) {
        Ok(_spent) => verdict,
        Err(over) => Verdict::over_limit(charges, &over),
    }
}

/// Who asks in this case: its own keys before the defaults.
struct Setting {
    label: String,
    tags: Vec<String>,
    server: String,
    session: Option<String>,
    client: Option<String>,
    now: Time,
}

impl Setting {
    fn of(case: &Object, world: &World) -> Setting {
        let get = |key: &str| case.get(key).or_else(|| world.defaults.get(key));
        let text = |key: &str| get(key).and_then(Value::as_str).map(str::to_owned);
        let grant = get("grant");
        let tags = grant.and_then(|grant| grant.get("tags")).and_then(Value::as_array).unwrap_or_default();
        let label = grant.and_then(|grant| grant.get("label")).and_then(Value::as_str);
        Setting {
            label: label.unwrap_or("test").to_owned(),
            tags: tags.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            server: text("server").unwrap_or_else(|| "server".to_owned()),
            session: text("session"),
            client: text("client"),
            now: world.clock,
        }
    }

    /// A grant is known by its label.
    fn caller(&self) -> Caller<'_> {
        Caller {
            policy: "policy",
            grant_id: &self.label,
            grant_label: &self.label,
            grant_tags: &self.tags,
            server: &self.server,
            session: self.session.as_deref(),
            client: self.client.as_deref(),
            now: self.now,
        }
    }
}
