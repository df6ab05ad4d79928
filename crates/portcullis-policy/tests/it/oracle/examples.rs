//! Examples worked out by hand from the page, so that the oracle itself is held against something.

use std::rc::Rc;

use super::compare::{Expected, expectations};
use super::conditions::Cause;
use super::coverage::Coverage;
use super::decide::{Decision, Effect, Verdict};
use super::document::{Class, RequestKind};
use super::reading;
use super::scenario::{CallCase, Event, Scenario, Tool, What, Who};
use super::value::read;
use super::windows::read_instant;

/// A policy, and events that are put to it one after the other.
struct Example {
    scenario: Scenario,
    at: i64,
    who: Who,
}

impl Example {
    fn of(policy: &str) -> Self {
        Self {
            scenario: Scenario {
                doc: Some(reading::document(&read(policy))),
                spelling: None,
                tools: Vec::new(),
                events: Vec::new(),
            },
            at: read_instant("2026-11-15T10:00:00Z"),
            who: Who {
                grant_id: "ci".to_owned(),
                grant_label: "ci".to_owned(),
                grant_tags: vec!["night".to_owned()],
                server: "pharo".to_owned(),
                session: Some("s1".to_owned()),
                client: None,
            },
        }
    }

    fn tool(mut self, name: &str, class: Option<Class>, schema: Option<&str>) -> Self {
        self.scenario.tools.push(Tool {
            name: name.to_owned(),
            class,
            input_schema: schema.map(|text| Rc::new(read(text))),
        });
        self
    }

    fn clock(&mut self, instant: &str) {
        self.at = read_instant(instant);
    }

    /// Puts one more event and gives the answer to it.
    fn event(&mut self, what: What) -> Expected {
        self.scenario.events.push(Event { who: self.who.clone(), at: self.at, what });
        expectations(&self.scenario, &mut Coverage::off()).pop().unwrap()
    }

    fn decide(&mut self, tool: &str, arguments: &str, approved: bool) -> Decision {
        let known = self.scenario.tools.iter().find(|known| known.name == tool).cloned();
        let tool = known.unwrap_or(Tool { name: tool.to_owned(), class: None, input_schema: None });
        let call = CallCase {
            tool,
            arguments: Some(read(arguments)),
            arguments_text: Some(arguments.to_owned()),
            approved,
        };
        match self.event(What::Call(call)) {
            Expected::Call(decision) => *decision,
            _ => panic!("a call has a decision"),
        }
    }

    fn call(&mut self, tool: &str, arguments: &str) -> Verdict {
        self.decide(tool, arguments, false).verdict
    }

    fn check(&mut self, tool: &str, arguments: &str, effect: Effect, rule: &str) {
        let verdict = self.call(tool, arguments);
        assert_eq!((verdict.effect, verdict.rule.as_str()), (effect, rule), "{tool} {arguments}");
    }

    fn check_other(&mut self, what: What, effect: Effect, rule: &str) {
        let told = format!("{what:?}");
        let Expected::Other { verdict, .. } = self.event(what) else {
            panic!("no verdict");
        };
        assert_eq!((verdict.effect, verdict.rule.as_str()), (effect, rule), "{told}");
    }

    fn visible(&mut self) -> Vec<String> {
        match self.event(What::List) {
            Expected::Visible(names) => names,
            _ => panic!("a list lists"),
        }
    }
}

/// The policy that opens the page.
const PHARO: &str = r#"{
  "version": "1", "default": "deny", "hide": ["apply_settings"],
  "all_tools": {"limits": [{"counter": "calls", "window": "minute", "max": 120, "scope": "grant"}]},
  "classes": {"Read": {}, "Destructive": {"action": "approve"}},
  "tools": {
    "eval": {
      "validate": "schema",
      "require": [{"conditions": [{"path": "args.code", "op": "length_lte", "value": 4000}],
                   "on_deny": "Send at most 4000 characters of code."}],
      "deny_if": [{"conditions": [{"path": "args.code", "op": "regex", "value": "(?i)snapshot:\\s*true"}],
                   "on_deny": "Saving the image is not for agents."}],
      "approve_if": [{"conditions": [{"path": "args.code", "op": "contains", "value": "FileSystem"}]}],
      "limits": [{"counter": "eval_rate", "window": "minute", "max": 10, "scope": "grant"}]
    },
    "import_package": {"rate_limit": {"max": 30, "window": 60}},
    "install_project": {"action": "deny", "reason": "Projects are installed by people."}
  },
  "resources": {"default": "deny", "allow": ["pharo://classes/*"]},
  "prompts": {"default": "allow"},
  "server_requests": {"sampling": "deny", "elicitation": "allow", "roots": "deny"}
}"#;

fn pharo() -> Example {
    Example::of(PHARO)
        .tool("eval", Some(Class::Execute), Some(r#"{"type":"object"}"#))
        .tool("browse", Some(Class::Read), None)
        .tool("wipe", Some(Class::Destructive), None)
        .tool("strange", None, None)
        .tool("apply_settings", Some(Class::Read), None)
        .tool("install_project", None, None)
        .tool("write", Some(Class::Write), None)
}

#[test]
fn the_first_example_of_the_page() {
    let mut example = pharo();
    example.check("eval", r#"{"code":"3 + 4"}"#, Effect::Allow, "");
    example.check("eval", r#"{"code":"snapshot: true"}"#, Effect::Deny, "/tools/eval/deny_if/0");
    example.check("eval", r#"{"code":"FileSystem root"}"#, Effect::Approve, "/tools/eval/approve_if/0");
    example.check("eval", "{}", Effect::Deny, "/tools/eval/require/0");
    example.check("install_project", "{}", Effect::Deny, "/tools/install_project/action");
    example.check("apply_settings", "{}", Effect::Deny, "(hidden)");
    example.check("browse", "{}", Effect::Allow, "");
    example.check("wipe", "{}", Effect::Approve, "/classes/Destructive/action");
    example.check("strange", "{}", Effect::Deny, "(class unknown)");
    example.check("write", "{}", Effect::Deny, "(default deny)");
    assert_eq!(example.visible(), ["eval", "browse", "wipe", "install_project"]);
    let denied = example.call("eval", r#"{"code":7}"#);
    assert_eq!(denied.causes, [Cause::OperatorInapplicable(0)]);
    assert_eq!(denied.words.as_deref(), Some("Send at most 4000 characters of code."));
}

#[test]
fn the_other_sections_of_the_first_example() {
    let mut example = pharo();
    let read = |uri: &str| What::Read(uri.to_owned());
    example.check_other(read("pharo://classes/Object"), Effect::Allow, "");
    example.check_other(read("PHARO://Classes/Object"), Effect::Allow, "");
    example.check_other(read("pharo://packages/Object"), Effect::Deny, "(default deny)");
    example.check_other(read("pharo://classes/%2e%2E/x"), Effect::Deny, "(malformed uri)");
    example.check_other(What::Prompt("any".to_owned()), Effect::Allow, "");
    let ask = What::ServerRequest;
    example.check_other(ask(RequestKind::Sampling), Effect::Deny, "/server_requests/sampling");
    example.check_other(ask(RequestKind::Elicitation), Effect::Allow, "");
}

/// The test file of the page's seventh section.
#[test]
fn ten_are_fine_the_eleventh_is_not() {
    let mut example = pharo();
    for _ in 0..10 {
        example.check("eval", r#"{"code":"3 + 4"}"#, Effect::Allow, "");
    }
    let verdict = example.call("eval", r#"{"code":"3 + 4"}"#);
    assert_eq!((verdict.rule.as_str(), verdict.retry_after_s), ("/tools/eval/limits/0", Some(60)));
    example.clock("2026-11-15T10:00:59.999999Z");
    let verdict = example.call("eval", r#"{"code":"3 + 4"}"#);
    assert_eq!((verdict.retryable, verdict.retry_after_s), (true, Some(1)));
    example.clock("2026-11-15T10:01:00Z");
    example.check("eval", r#"{"code":"3 + 4"}"#, Effect::Allow, "");
}

#[test]
fn an_exact_name_then_the_most_literal_glob() {
    let mut example = Example::of(
        r#"{"version":"1","default":"deny","tools":{
            "e*":{"action":"deny"},"ev*":{},"*al":{"action":"approve"},"eval":{"action":"deny"},
            "read/~*":{"action":"deny"}},"classes":{"Read":{}}}"#,
    )
    .tool("other", Some(Class::Read), None);
    example.check("eval", "{}", Effect::Deny, "/tools/eval/action");
    example.check("evil", "{}", Effect::Allow, "");
    example.check("eval2", "{}", Effect::Allow, "");
    // Two literal characters each: `*al` comes first by byte order.
    example.check("evoval", "{}", Effect::Approve, "/tools/*al/action");
    example.check("e*", "{}", Effect::Deny, "/tools/e*/action");
    example.check("Eval", "{}", Effect::Approve, "/tools/*al/action");
    example.check("read/~x", "{}", Effect::Deny, "/tools/read~1~0*/action");
    example.check("other", "{}", Effect::Allow, "");
}

#[test]
fn missing_and_inapplicable_fall_towards_safety() {
    let condition = r#"{"path":"args.a.b","op":"lt","value":5}"#;
    let policy = |kind: &str| {
        format!(
            r#"{{"version":"1","default":"allow",
                "all_tools":{{"{kind}":[{{"conditions":[{condition}]}}]}}}}"#
        )
    };
    let cases = [
        ("{}", Cause::PathMissing(0), Effect::Deny, Effect::Allow),
        (r#"{"a":1}"#, Cause::PathInapplicable(0), Effect::Deny, Effect::Deny),
        (r#"{"a":{"b":"x"}}"#, Cause::OperatorInapplicable(0), Effect::Deny, Effect::Deny),
        (r#"{"a":{"b":1}}"#, Cause::Nothing, Effect::Allow, Effect::Deny),
        (r#"{"a":{"b":9}}"#, Cause::Nothing, Effect::Deny, Effect::Allow),
    ];
    for (arguments, cause, required, forbidden) in cases {
        let verdict = Example::of(&policy("require")).call("t", arguments);
        assert_eq!(verdict.effect, required, "require {arguments}");
        assert_eq!(verdict.causes, [cause]);
        let verdict = Example::of(&policy("deny_if")).call("t", arguments);
        assert_eq!(verdict.effect, forbidden, "deny_if {arguments}");
        let asked = if forbidden == Effect::Deny { Effect::Approve } else { Effect::Allow };
        let verdict = Example::of(&policy("approve_if")).call("t", arguments);
        assert_eq!(verdict.effect, asked, "approve_if {arguments}");
    }
}

#[test]
fn every_element_in_require_one_in_deny_if() {
    let mut all = Example::of(
        r#"{"version":"1","default":"allow","all_tools":{"require":[{"conditions":[
            {"path":"args.items[*].sku","op":"starts_with","value":"a"}]}]}}"#,
    );
    all.check("t", r#"{"items":[]}"#, Effect::Allow, "");
    all.check("t", r#"{"items":[{"sku":"ab"},{"sku":"ac"}]}"#, Effect::Allow, "");
    all.check("t", r#"{"items":[{"sku":"ab"},{}]}"#, Effect::Deny, "/all_tools/require/0");
    all.check("t", "{}", Effect::Deny, "/all_tools/require/0");
    let mut any = Example::of(
        r#"{"version":"1","default":"allow","all_tools":{"deny_if":[{"conditions":[
            {"path":"args.items[*].sku","op":"starts_with","value":"a"}]}]}}"#,
    );
    any.check("t", r#"{"items":[{"sku":"b"},{"sku":"a"}]}"#, Effect::Deny, "/all_tools/deny_if/0");
    any.check("t", r#"{"items":[{"sku":"b"},{}]}"#, Effect::Allow, "");
    any.check("t", r#"{"items":[{"sku":"b"},3]}"#, Effect::Deny, "/all_tools/deny_if/0");
    any.check("t", r#"{"items":null}"#, Effect::Deny, "/all_tools/deny_if/0");
}

#[test]
fn spending_is_summed_and_impossible_amounts_never_fit() {
    let mut example = Example::of(
        r#"{"version":"1","default":"allow","timezone":"Europe/Berlin","all_tools":{"limits":[
            {"counter":"spend","window":"day","max":1000,"increment_from":"args.amount",
             "align":"calendar","on_deny":"Daily budget reached."}]}}"#,
    );
    example.clock("2026-10-25T10:00:00Z");
    example.check("t", r#"{"amount":999.5}"#, Effect::Allow, "");
    example.check("t", r#"{"amount":0.5}"#, Effect::Allow, "");
    let verdict = example.call("t", r#"{"amount":1}"#);
    // The day ends at 23:00 UTC: 13 hours later.
    assert_eq!(verdict.retry_after_s, Some(13 * 3_600));
    assert_eq!(verdict.words.as_deref(), Some("Daily budget reached."));
    for impossible in [r#"{"amount":1000.1}"#, r#"{"amount":"1"}"#, r#"{"amount":-1}"#, "{}"] {
        let verdict = example.call("t", impossible);
        assert_eq!(verdict.rule, "/all_tools/limits/0");
        assert_eq!((verdict.retryable, verdict.retry_after_s), (false, None), "{impossible}");
    }
    example.clock("2026-10-25T23:00:00Z");
    example.check("t", r#"{"amount":1}"#, Effect::Allow, "");
}

#[test]
fn a_step_back_of_the_clock_reopens_nothing() {
    let mut example =
        Example::of(r#"{"version":"1","default":"allow","all_tools":{"rate_limit":"1/minute"}}"#);
    example.check("t", "{}", Effect::Allow, "");
    example.clock("2026-11-15T09:00:00Z");
    let verdict = example.call("t", "{}");
    assert_eq!(verdict.rule, "/all_tools/rate_limit");
    assert_eq!(verdict.retry_after_s, Some(3_660));
}

#[test]
fn limits_on_one_counter_are_summed_and_scopes_keep_apart() {
    let mut example = Example::of(
        r#"{"version":"1","default":"allow","all_tools":{"limits":[
            {"counter":"c","window":60,"max":3,"scope":"session"},
            {"counter":"c","window":"1m","max":9,"increment":2,"scope":"session"}]}}"#,
    );
    example.check("t", "{}", Effect::Allow, "");
    example.check("u", "{}", Effect::Deny, "/all_tools/limits/0");
    example.who.session = Some("s2".to_owned());
    example.check("u", "{}", Effect::Allow, "");
}

#[test]
fn approval_charges_nothing_and_a_yes_decides_again() {
    let mut example = Example::of(
        r#"{"version":"1","default":"deny","tools":{"pay":{"action":"require_approval",
            "reason":"Pay?","rate_limit":"1/hour","set":{"args.to.bank":"ours"},"redact":["cards"]}}}"#,
    );
    for _ in 0..3 {
        let asked = example.decide("pay", "{}", false);
        assert_eq!(asked.verdict.words.as_deref(), Some("Pay?"));
        assert_eq!(asked.verdict.effect, Effect::Approve);
        assert!(asked.charges.is_empty());
    }
    let paid = example.decide("pay", "{}", true);
    assert_eq!(paid.verdict.effect, Effect::Allow);
    assert_eq!(paid.set, ["args.to.bank"]);
    assert_eq!(paid.charges.len(), 1);
    assert_eq!(paid.charges[0].0.counter, "pay_rate");
    example.check("pay", "{}", Effect::Deny, "/tools/pay/rate_limit");
    example.check("pay", r#"{"to":1}"#, Effect::Deny, "/tools/pay/set");
}

#[test]
fn shadow_counts_what_it_would_have_refused() {
    let mut example = Example::of(
        r#"{"version":"1","default":"deny","mode":"shadow","hide":["h"],
            "all_tools":{"rate_limit":"2/minute"},"tools":{"h":{"set":{"args.x":1}}}}"#,
    )
    .tool("h", None, None);
    let hidden = example.decide("h", "{}", false);
    assert_eq!(hidden.verdict.rule, "(hidden)");
    assert_eq!(hidden.set, ["args.x"]);
    assert!(hidden.shadow && hidden.charges.len() == 1);
    example.check("other", "{}", Effect::Deny, "(default deny)");
    example.scenario.doc.as_mut().unwrap().hide = None;
    example.check("h", "{}", Effect::Deny, "/all_tools/rate_limit");
    assert_eq!(example.visible(), ["h"]);
}

#[test]
fn rules_about_time_may_hold_later() {
    let mut example = Example::of(
        r#"{"version":"1","default":"allow","timezone":"Asia/Kolkata","all_tools":{"require":[
            {"conditions":[{"path":"time.hour","op":"gte","value":16}]}]}}"#,
    );
    let verdict = example.call("t", "{}");
    assert!(verdict.retryable && verdict.effect == Effect::Deny);
    example.clock("2026-11-15T10:30:00Z");
    example.check("t", "{}", Effect::Allow, "");
}

#[test]
fn the_stricter_validation_applies_with_its_own_pointer() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#;
    let policy = r#"{"version":"1","default":"deny","tools":{"t":{"validate":"schema"},"u":{}},
        "all_tools":{"validate":"strict"}}"#;
    let mut example = Example::of(policy).tool("t", None, Some(schema));
    example.check("t", r#"{"a":1.0}"#, Effect::Allow, "");
    example.check("t", r#"{"a":1,"b":1}"#, Effect::Deny, "/all_tools/validate");
    example.check("u", "{}", Effect::Deny, "/all_tools/validate");
    let tie = policy.replace("\"strict\"", "\"schema\"");
    let mut example = Example::of(&tie).tool("t", None, Some(schema));
    example.check("t", r#"{"a":1,"b":1}"#, Effect::Allow, "");
    example.check("t", r#"{"a":"1"}"#, Effect::Deny, "/tools/t/validate");
}
