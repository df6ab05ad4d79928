//! Conditions on arguments, one by one.

use super::*;

#[track_caller]
fn check_condition(from: (&str, &str, &str), expected: &str, notes: &[&str]) {
    let expected = format!(
        r#"{{"tools": {{"t": {{"require": [{{"conditions": {expected}, "on_deny": "Denied by rule `r`."}}]}}}}}}"#
    );
    check_with_notes(&condition(from.0, from.1, from.2), &expected, notes);
}

#[test]
fn conditions_keep_their_meaning() {
    for (op, value) in [
        ("lt", "5"),
        ("lte", "5.5"),
        ("gt", "-1"),
        ("gte", "0"),
        ("eq", "\"main\""),
        ("neq", "\"draft\""),
        ("in", "[\"a\", \"b\"]"),
        ("not_in", "[\"a\"]"),
        ("contains", "\"x\""),
        ("regex", "\"^feat/\""),
    ] {
        let expected = format!(r#"[{{"path": "args.a.b", "op": "{op}", "value": {value}}}]"#);
        check_condition(("args.a.b", op, value), &expected, &[]);
    }
}

#[test]
fn null_is_absent_in_intercept() {
    check_condition(("args.a", "exists", "true"), r#"[{"path": "args.a", "op": "neq", "value": null}]"#, &[]);
    check_condition(
        ("args.a", "exists", "false"),
        r#"[{"path": "args.a", "op": "exists", "value": false}]"#,
        &["changed /tools/t/rules/0/conditions/0 … `null` counts as there"],
    );
}

#[test]
fn look_alikes_of_what_is_unwanted_stay_out() {
    for (value, unwanted) in [
        ("5", r#"[5, "5", "5e+00"]"#),
        ("1000000", r#"[1000000, "1000000", "1e+06"]"#),
        ("0.5", r#"[0.5, "0.5", "5e-01"]"#),
        ("\"5\"", r#"["5", 5]"#),
        ("\"1e+06\"", r#"["1e+06", 1e+06]"#),
        ("true", r#"[true, "true"]"#),
        ("\"false\"", r#"["false", false]"#),
        ("null", r#"[null, "<nil>"]"#),
    ] {
        let expected = format!(r#"[{{"path": "args.a", "op": "not_in", "value": {unwanted}}}]"#);
        check_condition(("args.a", "neq", value), &expected, &[]);
    }
    check_condition(
        ("args.a", "not_in", "[\"[x]\"]"),
        r#"[{"path": "args.a", "op": "not_in", "value": ["[x]"]}, {"path": "args.a", "op": "type", "value": "string"}]"#,
        &["changed /tools/t/rules/0/conditions/0 … only text"],
    );
    check_condition(
        ("args.a", "eq", "5"),
        r#"[{"path": "args.a", "op": "eq", "value": 5}]"#,
        &["changed /tools/t/rules/0/conditions/0 … the type counts"],
    );
}

#[test]
fn every_dot_is_a_step_by_key() {
    for (theirs, ours) in [
        ("args.items[0].sku", r#"args[\"items[0]\"].sku"#),
        ("args.odd key", r#"args[\"odd key\"]"#),
        ("args.a..b", r#"args.a[\"\"].b"#),
        ("args.list[*]", r#"args[\"list[*]\"]"#),
        ("args.a.0.ключ", "args.a.0.ключ"),
    ] {
        let expected = format!(r#"[{{"path": "{ours}", "op": "gt", "value": 0}}]"#);
        check_condition((theirs, "gt", "0"), &expected, &[]);
    }
}
