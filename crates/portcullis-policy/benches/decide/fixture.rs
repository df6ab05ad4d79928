//! The policies and calls that are measured; shared by the benchmark and the instruction count.

use portcullis_json::{Limits, Value, parse};
use portcullis_policy::{Call, Caller, Class, Counters, Policy, Question, Subject, Time, Verdict, decide};

/// About 1 KB of arguments, as an agent would send them.
pub(crate) fn arguments_1_kb() -> String {
    let fields: Vec<String> =
        (0..20).map(|n| format!(r#""field_{n}":"value of field number {n}""#)).collect();
    let items: Vec<String> = (0..8).map(|n| format!(r#"{{"sku":"A-{n}","quantity":{n}}}"#)).collect();
    format!(r#"{{"amount":120.50,"currency":"EUR",{},"items":[{}]}}"#, fields.join(","), items.join(","))
}

/// 50 rules that all let the call pass: every one of them is looked at.
fn fifty_rules() -> String {
    let require = (0..25).map(|n| match n % 5 {
        0 => {
            format!(r#"{{"conditions":[{{"path":"args.field_{}","op":"length_lte","value":100}}]}}"#, n % 20)
        }
        1 => r#"{"conditions":[{"path":"args.amount","op":"lte","value":500}]}"#.to_owned(),
        2 => r#"{"conditions":[{"path":"args.items[*].quantity","op":"gte","value":0}]}"#.to_owned(),
        3 => r#"{"conditions":[{"path":"args.currency","op":"in","value":["USD","EUR","CHF"]}]}"#.to_owned(),
        _ => format!(
            r#"{{"conditions":[{{"path":"args.field_{}","op":"starts_with","value":"value"}}]}}"#,
            n % 20
        ),
    });
    let deny = (0..25).map(|n| match n % 3 {
        0 => format!(
            r#"{{"conditions":[{{"path":"args.field_{}","op":"contains","value":"DROP TABLE"}}]}}"#,
            n % 20
        ),
        1 => format!(
            r#"{{"conditions":[{{"path":"args.field_{}","op":"regex","value":"(?i)password|secret"}}]}}"#,
            n % 20
        ),
        _ => r#"{"conditions":[{"path":"args.amount","op":"gt","value":10000}]}"#.to_owned(),
    });
    let join = |rules: Vec<String>| rules.join(",");
    format!(r#"{{"require":[{}],"deny_if":[{}]}}"#, join(require.collect()), join(deny.collect()))
}

/// The measured tool among so many others of the same size.
pub(crate) fn policy_with_tools(others: usize) -> Policy {
    let others: Vec<String> =
        (0..others).map(|n| format!(r#""other_tool_{n}":{{"rate_limit":"10/minute"}}"#)).collect();
    let tools: Vec<String> = std::iter::once(format!(r#""pay":{}"#, fifty_rules())).chain(others).collect();
    let text = format!(r#"{{"version":"1","default":"deny","tools":{{{}}}}}"#, tools.join(","));
    load(&text)
}

/// 20 rules with regular expressions, on 100 KB of text that none of them matches.
pub(crate) fn policy_of_regexes() -> Policy {
    let rules: Vec<String> = (0..20)
        .map(|n| format!(r#"{{"conditions":[{{"path":"args.text","op":"regex","value":"(?i)(alpha|beta|gamma)[a-z]{{0,8}}_{n}\\b.*end"}}]}}"#))
        .collect();
    load(&format!(
        r#"{{"version":"1","default":"deny","tools":{{"pay":{{"deny_if":[{}]}}}}}}"#,
        rules.join(",")
    ))
}

pub(crate) fn text_100_kb() -> String {
    format!(r#"{{"text":"{}"}}"#, "lorem ipsum alpha beta dolor sit amet ".repeat(100 * 1024 / 38))
}

/// One sliding limit of a million a minute, and nothing else.
pub(crate) fn policy_with_limit() -> Policy {
    load(
        r#"{"version":"1","default":"deny","tools":{"pay":{"limits":[{"counter":"c","window":"minute","max":1000000}]}}}"#,
    )
}

fn load(text: &str) -> Policy {
    match Policy::parse(text.as_bytes()) {
        Ok(policy) => policy,
        Err(problems) => panic!("{}", problems.text()),
    }
}

/// What the gateway does for a call: reads the arguments and decides.
pub(crate) fn read_and_decide(policy: &Policy, arguments: &str, counters: &Counters, now: i64) -> Verdict {
    let arguments = parse(arguments.as_bytes(), &Limits::message()).unwrap_or(Value::Null);
    decide_on(policy, &arguments, counters, now)
}

pub(crate) fn decide_on(policy: &Policy, arguments: &Value, counters: &Counters, now: i64) -> Verdict {
    let caller = Caller {
        policy: "p",
        grant_id: "g",
        grant_label: "agent",
        grant_tags: &[],
        server: "s",
        session: None,
        client: None,
        now: Time::from_microseconds(now),
    };
    let call = Call { tool: "pay", class: Some(Class::Financial), schema: None, arguments, approved: false };
    decide(Some(policy), &Question { caller, subject: Subject::Call(call) }, counters)
}
