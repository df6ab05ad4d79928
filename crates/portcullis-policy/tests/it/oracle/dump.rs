//! A scenario as a policy test file, with the oracle's answers as what is expected, to be read or to be
//! put among the project's cases.

use super::compare::{Expected, expectations};
use super::coverage::Coverage;
use super::decide::{Effect, Verdict};
use super::print::{compact, document};
use super::scenario::{CallCase, Event, Scenario, Tool, What, Who};
use super::value::Val;
use super::windows::write_instant;

pub(crate) fn test_file(scenario: &Scenario) -> String {
    let policy = scenario.doc.as_ref().map_or(Val::Null, |doc| document(doc, None));
    let tools: Vec<(String, Val)> = scenario.tools.iter().map(tool).collect();
    let expectations = expectations(scenario, &mut Coverage::off());
    let cases = scenario.events.iter().zip(&expectations);
    let cases: Vec<String> = cases.map(|(event, e)| compact(&case(event, e))).collect();
    format!(
        "{{\"policy\": {},\n \"tools\": {},\n \"cases\": [\n  {}\n]}}\n",
        compact(&policy),
        compact(&Val::Obj(tools)),
        cases.join(",\n  ")
    )
}

fn field(name: &str, value: Val) -> (String, Val) {
    (name.to_owned(), value)
}

fn tool(tool: &Tool) -> (String, Val) {
    let class = tool.class.map(|class| field("class", Val::str(class.name())));
    let schema = tool.input_schema.as_deref().map(|schema| field("input_schema", schema.clone()));
    (tool.name.clone(), Val::Obj(class.into_iter().chain(schema).collect()))
}

fn case(event: &Event, expected: &Expected) -> Val {
    let mut fields = vec![field("at", Val::Str(write_instant(event.at)))];
    fields.extend(who(&event.who));
    match &event.what {
        What::Call(call) => fields.extend(call_fields(call)),
        What::List => fields.push(field("list", Val::Bool(true))),
        What::Read(uri) => fields.push(field("read", Val::str(uri))),
        What::Prompt(name) => fields.push(field("prompt", Val::str(name))),
        What::ServerRequest(kind) => fields.push(field("server_request", Val::str(kind.name()))),
    }
    fields.push(field("expect", expectation(expected)));
    Val::Obj(fields)
}

fn who(who: &Who) -> Vec<(String, Val)> {
    let tags = who.grant_tags.iter().map(|tag| Val::str(tag));
    let grant = vec![field("label", Val::str(&who.grant_label)), field("tags", Val::Arr(tags.collect()))];
    let mut fields = vec![field("grant", Val::Obj(grant)), field("server", Val::str(&who.server))];
    fields.extend(who.session.as_ref().map(|s| field("session", Val::str(s))));
    fields.extend(who.client.as_ref().map(|c| field("client", Val::str(c))));
    fields
}

fn call_fields(call: &CallCase) -> Vec<(String, Val)> {
    let mut inner = vec![field("tool", Val::str(&call.tool.name))];
    if let Some(text) = &call.arguments_text {
        inner.push(field("args_json", Val::str(text)));
    }
    let mut fields = vec![field("call", Val::Obj(inner))];
    if call.approved {
        fields.push(field("approved", Val::Bool(true)));
    }
    fields
}

fn expectation(expected: &Expected) -> Val {
    match expected {
        Expected::Visible(names) => {
            let names = names.iter().map(|name| Val::str(name));
            Val::Obj(vec![field("visible", Val::Arr(names.collect()))])
        }
        Expected::Other { verdict, shadow } => Val::Obj(verdict_fields(verdict, *shadow)),
        Expected::Call(decision) => {
            let mut fields = verdict_fields(&decision.verdict, decision.shadow);
            if decision.shadow || decision.verdict.effect != Effect::Deny {
                let set = decision.set.iter().map(|path| Val::str(path));
                fields.push(field("set", Val::Arr(set.collect())));
            }
            Val::Obj(fields)
        }
    }
}

fn verdict_fields(verdict: &Verdict, shadow: bool) -> Vec<(String, Val)> {
    let effect = if shadow { Effect::Allow } else { verdict.effect };
    let name = match effect {
        Effect::Allow => "allow",
        Effect::Deny => "deny",
        Effect::Approve => "approve",
    };
    let mut fields = vec![field("decision", Val::str(name)), field("rule", Val::str(&verdict.rule))];
    let words = verdict.words.as_deref().filter(|_| effect != Effect::Allow);
    fields.extend(words.map(|words| field("message_contains", Val::str(words))));
    if effect == Effect::Deny {
        fields.push(field("retryable", Val::Bool(verdict.retryable)));
        let after = verdict.retry_after_s;
        fields.extend(after.map(|s| field("retry_after_s", Val::Num(s.to_string()))));
    }
    if shadow {
        let would = |effect| Val::Bool(verdict.effect == effect);
        fields.push(field("would_deny", would(Effect::Deny)));
        fields.push(field("would_approve", would(Effect::Approve)));
    }
    fields
}
