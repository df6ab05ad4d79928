//! For each warning what it must be said of, and what comes near and must stay silent.

mod rules;

use crate::{Problems, Severity, check as check_source, warn_unknown_tools};

/// The warnings of a policy with these fields: exactly these, each with the pointer and a part of its text.
#[track_caller]
fn check(fields: &str, expected: &[(&str, &str)]) {
    let source = format!(r#"{{"version":"1","default":"deny",{fields}}}"#);
    let (policy, problems) = check_source(source.as_bytes());
    assert!(policy.is_some(), "{fields}\n{}", problems.text());
    compare(&source, &problems, expected);
}

#[track_caller]
fn compare(source: &str, problems: &Problems, expected: &[(&str, &str)]) {
    let found: Vec<(&str, &str)> =
        problems.iter().map(|problem| (problem.pointer.as_str(), problem.message.as_str())).collect();
    assert_eq!(found.len(), expected.len(), "{source}\n{}", problems.text());
    for ((pointer, message), (wanted_pointer, part)) in found.iter().zip(expected) {
        assert_eq!(pointer, wanted_pointer, "{source}\n{message}");
        assert!(message.contains(part), "{source}\n{message}");
    }
    for problem in problems.iter() {
        assert_eq!(problem.severity, Severity::Warning);
        assert!(problem.help.is_some(), "{}", problem.message);
        assert!(problem.span.is_some(), "{}", problem.message);
        assert!(!problem.message.ends_with('.'), "{}", problem.message);
    }
}

/// The warnings of a policy with this one entry; pointers below it.
#[track_caller]
fn check_entry(entry: &str, expected: &[(&str, &str)]) {
    let pointers: Vec<String> = expected.iter().map(|(pointer, _)| format!("/tools/t{pointer}")).collect();
    let expected: Vec<(&str, &str)> =
        pointers.iter().zip(expected).map(|(pointer, (_, part))| (pointer.as_str(), *part)).collect();
    check(&format!(r#""tools":{{"t":{entry}}}"#), &expected);
}

/// Rules, each of conditions: path, operator, value.
type Rules<'a> = &'a [&'a [(&'a str, &'a str, &'a str)]];

fn rule(conditions: &str) -> String {
    format!(r#"{{"conditions":[{conditions}]}}"#)
}

fn condition(path: &str, operator: &str, value: &str) -> String {
    let path = portcullis_json::Value::from(path);
    format!(r#"{{"path":{path},"op":"{operator}","value":{value}}}"#)
}

/// An entry with one list of rules, each of one or more conditions.
fn list(name: &str, rules: Rules<'_>) -> String {
    format!(r#"{{{}}}"#, field(name, rules))
}

fn field(name: &str, rules: Rules<'_>) -> String {
    let rules: Vec<String> = rules
        .iter()
        .map(|conditions| {
            let conditions: Vec<String> =
                conditions.iter().map(|(path, operator, value)| condition(path, operator, value)).collect();
            rule(&conditions.join(","))
        })
        .collect();
    format!(r#""{name}":[{}]"#, rules.join(","))
}

#[test]
fn what_a_missing_value_slips_past() {
    for (operator, value) in [
        ("neq", "1"),
        ("not_in", "[1]"),
        ("not_regex", "\"a\""),
        ("not_contains", "\"a\""),
        ("host_not_in", "[\"a.example\"]"),
    ] {
        for name in ["deny_if", "approve_if"] {
            check_entry(
                &list(name, &[&[("args.a", operator, value)]]),
                &[(
                    &format!("/{name}/0/conditions/0/op"),
                    &format!("`{operator}` does not hold when `args.a` is missing"),
                )],
            );
        }
        check_entry(&list("require", &[&[("args.a", operator, value)]]), &[]);
    }
    // Said of all tools.
    check(
        &format!(r#""all_tools":{}"#, list("deny_if", &[&[("args.a", "neq", "1")]])),
        &[("/all_tools/deny_if/0/conditions/0/op", "`neq`")],
    );
    // What does not say that the path itself may not be missing.
    for other in [
        field("require", &[&[("args.b", "exists", "true")]]),
        field("require", &[&[("args.a", "exists", "false")]]),
        field("approve_if", &[&[("args.a", "exists", "false"), ("args.b", "eq", "1")]]),
    ] {
        check_entry(
            &format!("{{{},{other}}}", field("deny_if", &[&[("args.a.x", "neq", "1")]])),
            &[("/deny_if/0/conditions/0/op", "`args.a.x`")],
        );
    }
}

#[test]
fn absence_that_is_spoken_of() {
    let neq = field("deny_if", &[&[("args.a", "neq", "1")]]);
    for other in [
        field("require", &[&[("args.a", "exists", "true")]]),
        field("require", &[&[("args.a", "type", "\"number\"")]]),
        field("require", &[&[("args.a.b", "type", "\"number\"")]]),
        field("approve_if", &[&[("args.a", "exists", "false")]]),
        r#""set":{"args.a":2}"#.to_owned(),
    ] {
        check_entry(&format!("{{{neq},{other}}}"), &[]);
    }
    let spoken_of: [Rules<'_>; 9] = [
        // In the same list, with the same other conditions, or explicitly.
        &[&[("args.a", "exists", "false")], &[("args.a", "neq", "1")]],
        &[
            &[("args.a", "exists", "false"), ("args.b", "eq", "1")],
            &[("args.b", "eq", "1"), ("args.a", "neq", "1")],
        ],
        &[&[("args.a", "exists", "true"), ("args.a", "neq", "1")]],
        // Never missing.
        &[&[("time.weekday", "neq", "\"mon\"")]],
        &[&[("grant.tags", "not_contains", "\"a\"")]],
        &[&[("grant.tags[*]", "neq", "\"a\"")]],
        &[&[("args", "neq", "{}")]],
        // The positive ones.
        &[&[("args.a", "in", "[1]")]],
        &[&[("args.a", "host_in", "[\"a.example\"]")]],
    ];
    for rules in spoken_of {
        check_entry(&list("deny_if", rules), &[]);
    }
    // The elements are there when the array is; their keys need not be.
    let with = |path| {
        format!(
            "{{{},{}}}",
            field("require", &[&[("args.a", "type", "\"array\"")]]),
            field("deny_if", &[&[(path, "neq", "1")]])
        )
    };
    check_entry(&with("args.a[*]"), &[]);
    check_entry(&with("args.a[*].b"), &[("/deny_if/0/conditions/0/op", "`args.a[*].b`")]);
    // Required of every call.
    check(
        &format!(
            r#""all_tools":{},"tools":{{"t":{{{neq}}}}}"#,
            list("require", &[&[("args.a", "exists", "true")]])
        ),
        &[],
    );
}

#[test]
fn expressions_without_ends() {
    for (pattern, part) in [
        ("\"a\"", "`a` is not anchored: anything may stand around"),
        ("\"^a\"", "`^a` is not anchored at its end"),
        ("\"a$\"", "`a$` is not anchored at its start"),
    ] {
        check_entry(
            &list("require", &[&[("args.a", "regex", pattern)]]),
            &[("/require/0/conditions/0/value", part)],
        );
        check_entry(&list("deny_if", &[&[("args.a", "regex", pattern)]]), &[]);
        check_entry(&list("require", &[&[("args.a", "not_regex", pattern)]]), &[]);
    }
    check_entry(&list("require", &[&[("args.a", "regex", "\"^a$\"")]]), &[]);
}

#[test]
fn the_name_that_clients_give_themselves() {
    let entry = |name| list(name, &[&[("client.name", "eq", "\"a\"")]]);
    check_entry(&entry("require"), &[("/require/0/conditions/0/path", "`client.name`")]);
    check_entry(&entry("deny_if"), &[]);
    check_entry(&list("require", &[&[("grant.label", "eq", "\"a\"")]]), &[]);
}

#[test]
fn bare_entries_in_place_of_strict_classes() {
    let strict = r#""classes":{"Read":{},"Destructive":{"action":"approve"}}"#;
    check(&format!(r#"{strict},"tools":{{"drop":{{}}}}"#), &[("/tools/drop", "`drop` restricts nothing")]);
    check(&format!(r#"{strict},"tools":{{"*":{{"reason":"x"}}}}"#), &[("/tools/*", "`*` allows every tool")]);
    check(r#""classes":{"Read":{}},"tools":{"*":{}}"#, &[("/tools/*", "no entry of `classes` is ever used")]);
    check(
        r#""classes":{"Read":{"redact":["emails"]}},"tools":{"t":{"redact":["cards"]}}"#,
        &[("/tools/t", "`Read`")],
    );
    for fields in [
        r#""classes":{"Read":{}},"tools":{"drop":{}}"#,
        r#""classes":{"Read":{"action":"approve"}},"tools":{"drop":{"rate_limit":"1/minute"}}"#,
        r#""classes":{"Read":{"action":"approve"}},"tools":{"drop":{"set":{"args.dry":true}}}"#,
        r#""classes":{"Read":{"action":"approve"}},"tools":{"*":{"action":"deny"}}"#,
        r#""classes":{"Read":{"redact":["cards"]}},"tools":{"t":{"redact":["cards","emails"]}}"#,
        r#""classes":{},"tools":{"*":{}}"#,
        r#""tools":{"*":{}}"#,
    ] {
        check(fields, &[]);
    }
}

#[test]
fn globs_that_tie() {
    check(r#""tools":{"get_*":{},"*_all":{}}"#, &[("/tools/*_all", "such as `get_all`, `*_all` is chosen")]);
    check(r#""tools":{"a?":{},"?a":{},"b?":{}}"#, &[("/tools/?a", "`?a` and `a?`"), ("/tools/b?", "`?a`")]);
    for keys in [
        r#""get_*":{},"set_*":{}"#,
        r#""get_*":{},"*_user":{}"#,
        r#""get_all":{},"*_all":{}"#,
        r#""a*x":{},"a*y":{}"#,
        r#""a?":{},"a??":{}"#,
    ] {
        check(&format!(r#""tools":{{{keys}}}"#), &[]);
    }
    check(r#""hide":["get_*","*_all"]"#, &[]);
}

#[test]
fn counters_that_count_twice() {
    let limit = |name: &str| format!(r#"{{"counter":"{name}","window":"minute","max":1}}"#);
    let (a, b, rate) = (limit("a"), limit("b"), limit("t_rate"));
    check_entry(
        &format!(r#"{{"limits":[{a},{b},{a}]}}"#),
        &[("/limits/2", "`a` is named twice in one call, here and by `/tools/t/limits/0`")],
    );
    check_entry(
        &format!(r#"{{"limits":[{a},{rate}],"rate_limit":"1/minute"}}"#),
        &[("/rate_limit", "`t_rate` is named twice in one call, here and by `/tools/t/limits/1`")],
    );
    check(
        &format!(
            r#""all_tools":{{"limits":[{a}]}},"tools":{{"t":{{"limits":[{a}]}},"u":{{"limits":[{b}]}}}}"#
        ),
        &[("/tools/t/limits/0", "`/all_tools/limits/0`")],
    );
    check(
        &format!(
            r#""all_tools":{{"limits":[{rate}]}},"tools":{{"t*":{{"rate_limit":"1/minute"}},"u":{{"rate_limit":"1/minute"}}}}"#
        ),
        &[("/tools/t*/rate_limit", "`t_rate`")],
    );
    check(
        &format!(r#""all_tools":{{"limits":[{}],"rate_limit":"1/minute"}}"#, limit("all_tools_rate")),
        &[("/all_tools/rate_limit", "`all_tools_rate`")],
    );
    check(&format!(r#""classes":{{"Read":{{"limits":[{a},{a}]}}}}"#), &[("/classes/Read/limits/1", "`a`")]);
    // One call each, or names that only look alike.
    for fields in [
        format!(r#""tools":{{"t":{{"limits":[{a}]}},"u":{{"limits":[{a}]}}}}"#),
        format!(r#""tools":{{"t":{{"rate_limit":"1/minute"}},"u":{{"limits":[{rate}]}}}}"#),
        format!(r#""all_tools":{{"limits":[{rate}]}},"tools":{{"t":{{}},"t*":{{"rate_limit":"1/minute"}}}}"#),
        r#""all_tools":{"rate_limit":"1/minute"},"tools":{"t":{"rate_limit":"1/minute"}}"#.to_owned(),
    ] {
        check(&fields, &[]);
    }
}

#[test]
fn more_limits_than_a_call_can_be_recorded_with() {
    let limits = |from: usize, count: usize| -> String {
        let one = |n: usize| format!(r#"{{"counter":"c{n}","window":"minute","max":1}}"#);
        (from..from + count).map(one).collect::<Vec<_>>().join(",")
    };
    let all = |count: usize| format!(r#""all_tools":{{"limits":[{}]}}"#, limits(0, count));
    let tool = |count: usize| format!(r#""tools":{{"t":{{"limits":[{}]}}}}"#, limits(100, count));
    check(&format!("{},{}", all(32), tool(32)), &[]);
    let expected = [("/tools/t/limits", "65 limits apply to one call")];
    check(&format!("{},{}", all(32), tool(33)), &expected);
    check(&all(65), &[("/all_tools/limits", "65 limits apply to one call")]);
    check(&tool(65), &expected);
}

#[test]
fn counters_that_a_new_session_resets() {
    check_entry(
        r#"{"limits":[{"counter":"a","window":"minute","max":1,"scope":"session"}],"rate_limit":{"max":1,"window":60,"scope":"session"}}"#,
        &[("/limits/0/scope", "a new session gets a new counter"), ("/rate_limit/scope", "`session`")],
    );
    check_entry(
        r#"{"limits":[{"counter":"a","window":"minute","max":1,"scope":"server"}],"rate_limit":{"max":1,"window":60}}"#,
        &[],
    );
}

#[test]
fn names_that_the_server_does_not_have() {
    let source = r#"{"version":"1","default":"deny",
        "hide":["eval","evil","apply_*","*"],
        "tools":{"eval":{},"evall":{},"get_*":{},"set_*":{},"zzzzzzzz":{},"odd?":{}}}"#;
    let (policy, problems) = check_source(source.as_bytes());
    assert!(problems.is_empty(), "{}", problems.text());
    let known = ["eval", "get_source", "odd?"].map(str::to_owned);
    let problems = warn_unknown_tools(&policy.unwrap(), source.as_bytes(), &known);
    compare(
        source,
        &problems,
        &[
            ("/hide/1", "no tool `evil`"),
            ("/hide/2", "`apply_*` matches no tool"),
            ("/tools/evall", "no tool `evall`"),
            ("/tools/set_*", "`set_*` matches no tool"),
            ("/tools/zzzzzzzz", "no tool `zzzzzzzz`"),
        ],
    );
    let underlined: Vec<&str> =
        problems.iter().map(|problem| source.get(problem.span.clone().unwrap()).unwrap()).collect();
    assert_eq!(underlined, ["\"evil\"", "\"apply_*\"", "\"evall\"", "\"set_*\"", "\"zzzzzzzz\""]);
    let help: Vec<&str> = problems.iter().map(|problem| problem.help.as_deref().unwrap()).collect();
    assert_eq!(help[0], "did you mean `eval`?");
    assert_eq!(help[4], "it has `eval`, `get_source`, `odd?`");
}

#[test]
fn huge_documents_are_not_compared_without_end() {
    let globs: Vec<String> =
        (0..3000).map(|index| format!(r#""a*{index:04}*{}":{{}}"#, "b*".repeat(100))).collect();
    let source = format!(r#"{{"version":"1","default":"deny","tools":{{{}}}}}"#, globs.join(","));
    let (policy, problems) = check_source(source.as_bytes());
    assert!(policy.is_some());
    assert!(!problems.is_empty());
}
