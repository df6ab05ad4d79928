//! Sources that are not imported.

use super::*;

#[test]
fn what_intercept_refuses_is_refused() {
    for (yaml, message, line) in [
        ("tools: {}", "`version` must be", 1),
        ("version: '2'", "`version` must be", 1),
        ("version: 1.0", "`version` must be", 1),
        ("[]", "must be a mapping", 1),
        ("version: '1'\ndefault: maybe", "`maybe`", 2),
        ("version: '1'\nhide: [a, a]", "stands twice", 2),
        ("version: '1'\nhide:\n  - ' '", "must not be empty", 3),
        ("version: '1'\ntools: []", "must be a mapping", 2),
        ("version: '1'\ntools:\n  t: {rules: {}}", "must be a list", 3),
        ("version: '1'\ntools:\n  t: {rules: [{action: deny}]}", "must have a `name`", 3),
        ("version: '1'\ntools:\n  t: {rules: [{name: r, action: ask}]}", "`ask`", 3),
        ("version: '1'\ntools:\n  t: {rules: [{name: r}]}", "at least one condition", 3),
        ("version: '1'\ntools:\n  t: {rules: [{name: r, rate_limit: 5}]}", "not a rate", 3),
        ("version: '1'\ntools:\n  t: {rules: [{name: r, rate_limit: 0/day}]}", "not a rate", 3),
        ("version: '1'\ntools:\n  t: {rules: [{name: r, rate_limit: 5/week}]}", "not a rate", 3),
        (
            "version: '1'\ntools:\n  t: {rules: [{name: r, rate_limit: 5/day, action: deny}]}",
            "does not go",
            3,
        ),
        (
            "version: '1'\ntools:\n  t: {rules: [{name: r, rate_limit: 5/day}, {name: s, rate_limit: 6/day}]}",
            "twice",
            3,
        ),
        ("a: 1\na: 2", "duplicate key", 2),
    ] {
        check_fault(yaml, message, line);
    }
    for (path, op, value, message) in [
        ("amount", "eq", "1", "must start with"),
        ("args.a", "like", "1", "unknown operator"),
        ("args.a", "in", "1", "a list"),
        ("args.a", "lt", "x", "a number"),
        ("args.a", "exists", "1", "true or false"),
        ("args.a", "regex", "1", "a string"),
        ("state.t.c", "lte", "1", "no rule has a `state` block"),
        ("args.a", "lt", "010", "do not agree"),
        ("args.a", "in", "[a, 2026-11-15]", "do not agree"),
        ("args.a", "eq", "1_000", "do not agree"),
    ] {
        check_fault(&format!("version: '1'\n{}", condition(path, op, value)), message, 6);
    }
}

#[test]
fn every_fault_is_told_at_once() {
    let faults = import_intercept(b"default: x\nhide: ['']\ntools: {t: {rules: [{}]}}").unwrap_err();
    assert!(faults.list.len() >= 4, "{faults}");
}

#[test]
fn size_is_bounded() {
    let name = "n".repeat(1025);
    check_fault(&format!("version: '1'\ntools: {{{name}: {{}}}}"), "at most 1024", 2);
    let rule = "{name: r, action: deny},".repeat(10_001);
    let source = format!("version: '1'\ntools:\n  t: {{rules: [{rule}]}}");
    check_fault(&source, "more than 10000 rules", 3);
    let fields: String = (0..10_001).map(|field| format!("f{field}: 1\n")).collect();
    check_fault(&format!("version: '1'\n{fields}"), "too much of this", 10_002);
}
