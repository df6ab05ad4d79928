//! Rules that never hold, and rules that are never reached.

use super::{check, check_entry, field, list};

#[test]
fn conditions_that_exclude_each_other() {
    let a = "args.a";
    for conditions in [
        &[(a, "eq", "1"), (a, "eq", "2")] as &[_],
        &[(a, "eq", "1"), ("args.b", "eq", "1"), (a, "eq", "\"1\"")],
        &[(a, "eq", "3"), (a, "in", "[1,2]")],
        &[(a, "in", "[1,2]"), (a, "in", "[3]")],
        &[(a, "eq", "1"), (a, "neq", "1.0"), (a, "exists", "true")],
        &[(a, "eq", "5"), (a, "gt", "5")],
        &[(a, "in", "[5,6]"), (a, "lt", "5")],
        &[(a, "gt", "10"), (a, "lt", "5")],
        &[(a, "gte", "5"), (a, "lt", "5")],
        &[(a, "gt", "1"), (a, "gte", "5"), (a, "lte", "5"), (a, "lt", "5")],
        &[(a, "length_gte", "3"), (a, "length_lte", "2")],
        &[(a, "type", "\"string\""), (a, "type", "\"integer\"")],
        &[("args[\"a\"]", "eq", "\"x\""), (a, "starts_with", "\"y\"")],
    ] {
        for name in ["require", "deny_if", "approve_if"] {
            let last = conditions.iter().rposition(|(path, ..)| *path != "args.b");
            let at = format!("/{name}/0/conditions/{}", last.unwrap());
            check_entry(&list(name, &[conditions]), &[(&at, "no value of")]);
        }
    }
}

#[test]
fn conditions_that_go_together() {
    let a = "args.a";
    for conditions in [
        &[(a, "gt", "0"), (a, "lte", "500")] as &[_],
        &[(a, "gte", "5"), (a, "lte", "5")],
        &[(a, "eq", "5"), (a, "gte", "5"), (a, "in", "[4,5]")],
        &[(a, "length_gte", "2"), (a, "length_lte", "2")],
        &[(a, "gt", "10"), (a, "length_lte", "5")],
        &[(a, "type", "\"number\""), (a, "type", "\"integer\"")],
        &[(a, "eq", "1"), ("args.b", "eq", "2")],
        &[("args.a[*]", "eq", "1"), ("args.a[*]", "eq", "2")],
        &[(a, "exists", "true"), (a, "eq", "1")],
        &[(a, "exists", "true"), ("args.a.b", "exists", "false")],
        &[("time.hour", "gte", "8"), ("time.hour", "lt", "18")],
        &[("time.weekday", "in", "[\"mon\",\"holiday\"]")],
        &[("tool.class", "eq", "\"Read\"")],
        &[("tool.class", "exists", "false")],
    ] {
        for name in ["require", "deny_if"] {
            check_entry(&list(name, &[conditions]), &[]);
        }
    }
    // A string cannot be judged by `gt`, and that stops a call.
    let mixed: &[_] = &[(a, "eq", "\"x\""), (a, "gt", "5")];
    check_entry(&list("deny_if", &[mixed]), &[]);
    check_entry(&list("require", &[mixed]), &[("/require/0/conditions/1", "no value of `args.a`")]);
}

#[test]
fn rules_that_never_hold() {
    for (conditions, part) in [
        (&[("args.a", "in", "[]")] as &[_], "`in []` holds for no value"),
        (&[("tool.name", "exists", "false")], "`tool.name` is never missing"),
        (&[("time.hour", "gte", "24")], "`time.hour` never satisfies `gte 24`"),
        (
            &[("time.hour", "lt", "6"), ("time.hour", "gte", "22")],
            "`time.hour` never satisfies `lt 6` and `gte 22`",
        ),
        (&[("time.weekday", "eq", "\"Mon\"")], "`time.weekday` never"),
        (&[("tool.class", "in", "[\"read\"]")], "`tool.class` never"),
        (
            &[("args.a", "eq", "1"), ("args.a", "exists", "false")],
            "`args.a` has to be missing here, and `args.a` to be found",
        ),
        (
            &[("args.a.b", "eq", "1"), ("args.a", "exists", "false")],
            "and `args.a.b` to be found: the rule can never hold",
        ),
    ] {
        for name in ["require", "deny_if"] {
            let at = format!("/{name}/0/conditions/{}", conditions.len() - 1);
            check_entry(&list(name, &[conditions]), &[(&at, part)]);
        }
    }
    // What cannot be judged by `host_in` is denied, so an empty list is not quite nothing.
    for (operator, path) in [("host_in", "args.a"), ("path_within", "args.a")] {
        check_entry(&list("deny_if", &[&[(path, operator, "[]")]]), &[]);
        check_entry(
            &list("require", &[&[(path, operator, "[]")]]),
            &[("/require/0/conditions/0", "holds for no value")],
        );
    }
    // Without elements there is nothing to fail.
    check_entry(&list("require", &[&[("args.a[*]", "in", "[]")]]), &[]);
}

#[test]
fn rules_behind_rules() {
    let (a, b): ((&str, &str, &str), _) = (("args.a", "eq", "1"), ("args.b", "eq", "1"));
    for name in ["deny_if", "approve_if"] {
        let at = format!("/{name}/1");
        let shadowed = [(at.as_str(), "never decides: whenever it holds")];
        check_entry(&list(name, &[&[a], &[b, a]]), &shadowed);
        check_entry(&list(name, &[&[a], &[("args[\"a\"]", "eq", "1.0")]]), &shadowed);
        check_entry(&list(name, &[&[], &[a]]), &shadowed);
        check_entry(&list(name, &[&[a, b], &[a]]), &[]);
        check_entry(&list(name, &[&[a], &[b]]), &[]);
        check_entry(&list(name, &[&[a], &[]]), &[]);
    }
    let at_second = [("/require/1", "already requires the same")];
    check_entry(&list("require", &[&[a, b], &[b, a]]), &at_second);
    check_entry(&list("require", &[&[a, b], &[b]]), &at_second);
    check_entry(&list("require", &[&[a], &[a, b]]), &[]);
    check_entry(&list("require", &[&[a], &[]]), &[]);
    let both = |x: &str, y: &str| format!("{{{},{}}}", field(x, &[&[a]]), field(y, &[&[a, b]]));
    check_entry(&both("deny_if", "approve_if"), &[("/approve_if/0", "`/tools/t/deny_if/0` holds before it")]);
    check_entry(&both("approve_if", "deny_if"), &[]);
    check_entry(&both("require", "deny_if"), &[]);
    let all_tools = format!(r#""all_tools":{}"#, list("deny_if", &[&[a]]));
    check(
        &format!(r#"{all_tools},"tools":{{"t":{}}}"#, list("approve_if", &[&[a]])),
        &[("/tools/t/approve_if/0", "`/all_tools/deny_if/0`")],
    );
    check(&format!(r#"{all_tools},"tools":{{"t":{}}}"#, list("deny_if", &[&[a]])), &[]);
}

#[test]
fn what_an_action_leaves_unreached() {
    let rules = field("require", &[&[("args.a", "eq", "1")]]);
    let asks = field("approve_if", &[&[("args.a", "eq", "1")], &[("args.a", "eq", "1")]]);
    check_entry(
        &format!(
            r#"{{"action":"deny","validate":"schema",{rules},{asks},"limits":[],"rate_limit":"1/minute","set":{{"args.a":1}}}}"#
        ),
        &[
            ("/validate", "`validate` is never reached"),
            ("/require", "`require` is never reached: `action` is `deny`"),
            ("/approve_if", "`approve_if`"),
            ("/rate_limit", "`rate_limit`"),
            ("/set", "`set`"),
        ],
    );
    check_entry(
        &format!(r#"{{"action":"approve",{rules},{asks}}}"#),
        &[("/approve_if", "`action` is `approve`")],
    );
    check_entry(r#"{"action":"deny","reason":"x","require":[]}"#, &[]);
    // The call goes out all the same: with what is set, and counted.
    check(
        r#""mode":"shadow","tools":{"t":{"action":"deny","rate_limit":"1/minute","set":{"args.a":1},"validate":"schema"}}"#,
        &[("/tools/t/validate", "never reached")],
    );
    check_entry(&format!(r#"{{"action":"approve",{rules}}}"#), &[]);
}
