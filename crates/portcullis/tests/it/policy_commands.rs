//! `policy explain`, `test`, `schema`, `fmt` and `import`.

use portcullis_json::{Limits, Value, parse};

use crate::command::Place;

const POLICY: &str = r#"{"version":"1","default":"deny","tools":{"eval":{
  "require":[{"conditions":[{"path":"args.code","op":"length_lte","value":5}],"on_deny":"Too long."}],
  "rate_limit":"2/minute"}}}"#;

fn json(text: &str) -> Value {
    parse(text.as_bytes(), &Limits::message()).unwrap()
}

#[test]
fn explain_shows_the_decision_and_the_way_to_it() {
    let place = Place::new();
    place.file("p.json", POLICY);
    let ran =
        place.run(&["policy", "explain", "p.json", "--tool", "eval", "--args", r#"{"code":"3 + 4 + 5"}"#]);
    assert_eq!(ran.code, 0, "{}", ran.error);
    let result = json(&ran.out);
    assert_eq!(result.get("decision"), Some(&"deny".into()));
    assert_eq!(result.get("rule"), Some(&"/tools/eval/require/0".into()));
    assert_eq!(result.get("message"), Some(&"Too long.".into()));
    let looked_at = result.get("looked_at").and_then(Value::as_array).unwrap();
    let rules: Vec<&str> = looked_at.iter().filter_map(|look| look.get("rule")?.as_str()).collect();
    assert_eq!(rules, ["/hide", "/tools/eval", "/tools/eval/require/0"]);

    let ran =
        place.run(&["policy", "explain", "p.json", "--json", "--tool", "eval", "--args", r#"{"code":"3"}"#]);
    assert_eq!(ran.out.lines().count(), 1);
    assert_eq!(json(&ran.out).get("decision"), Some(&"allow".into()));
}

#[test]
fn explain_asks_for_everything_a_policy_decides() {
    let place = Place::new();
    place.file(
        "p.json",
        r#"{"version":"1","default":"deny","timezone":"Europe/Berlin","classes":{"Read":{}},
            "tools":{"t":{"require":[{"conditions":[{"path":"time.hour","op":"eq","value":12}]}]}},
            "resources":{"allow":["a://*"]},"prompts":{"default":"allow"},"server_requests":{"sampling":"approve"}}"#,
    );
    for (arguments, decision) in [
        (&["--tool", "t", "--at", "2026-07-01T10:30:00Z"][..], "allow"),
        (&["--tool", "t", "--at", "2026-07-01T11:30:00Z"], "deny"),
        (&["--tool", "other", "--class", "Read"], "allow"),
        (&["--tool", "other", "--class", "Write"], "deny"),
        (&["--tool", "other", "--list"], "deny"),
        (&["--resource", "a://b"], "allow"),
        (&["--resource", "b://b"], "deny"),
        (&["--prompt", "x"], "allow"),
        (&["--server-request", "sampling"], "approve"),
        (&["--server-request", "roots"], "deny"),
    ] {
        let ran = place.run(&[&["policy", "explain", "p.json"], arguments].concat());
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.error);
        assert_eq!(json(&ran.out).get("decision"), Some(&decision.into()), "{arguments:?}");
    }
    for wrong in [
        &["--tool", "t", "--args", "[1]"][..],
        &["--tool", "t", "--args", "{"],
        &["--tool", "t", "--class", "read"],
        &[],
    ] {
        let ran = place.run(&[&["policy", "explain", "p.json"], wrong].concat());
        assert_eq!(ran.code, 2, "{wrong:?}: {}", ran.out);
    }
}

#[test]
fn test_runs_files_and_shows_expected_beside_actual() {
    let place = Place::new();
    place.file("p.json", POLICY).file(
        "good.json",
        r#"{"policy":"p.json","cases":[{"name":"two","repeat":2,"call":{"tool":"eval","args":{"code":"1"}},"expect":{"decision":"allow"}},
            {"name":"three","call":{"tool":"eval","args":{"code":"1"}},"expect":{"decision":"deny","rule":"/tools/eval/rate_limit","retry_after_s":60}}]}"#,
    );
    let ran = place.run(&["policy", "test", "good.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "ok: 2 passed, 0 failed\n"), "{}", ran.error);

    place.file("bad.yaml", "policy: p.json\ncases:\n  - name: wrong\n    call: {tool: eval, args: {code: '1'}}\n    expect: {decision: deny}\n");
    let ran = place.run(&["policy", "test", "good.json", "bad.yaml"]);
    assert_eq!(ran.code, 1);
    for part in
        ["FAILED bad.yaml: wrong", "expected", "actual", "\"deny\"", "\"allow\"", "2 passed, 1 failed"]
    {
        assert!(ran.out.contains(part), "`{part}` is not in\n{}", ran.out);
    }

    place
        .file("typo.json", r#"{"policy":"p.json","cases":[{"cal":{}}]}"#)
        .file("gone.json", r#"{"policy":"gone.p","cases":[]}"#);
    for (file, part) in [("typo.json", "did you mean `call`?"), ("gone.json", "no such file")] {
        let ran = place.run(&["policy", "test", file]);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.error.contains(part), "{}", ran.error);
    }
}

#[test]
fn schema_is_the_one_in_the_documentation_and_takes_the_examples() {
    let place = Place::new();
    let ran = place.run(&["policy", "schema"]);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checked_in = std::fs::read_to_string(root.join("docs/reference/policy.schema.json")).unwrap();
    assert!(ran.out == checked_in, "run `cargo xtask docs`");
    let schema =
        portcullis_policy::JsonSchema::compile(&json(&ran.out), portcullis_policy::Dialect::Draft202012)
            .unwrap();
    for example in ["pharo-recommended", "filesystem", "payments", "read-only"] {
        let text = std::fs::read_to_string(root.join(format!("examples/policies/{example}.json"))).unwrap();
        assert!(schema.is_satisfied_by(&json(&text)), "{example}");
    }
    for wrong in [
        r#"{"version":"1"}"#,
        r#"{"version":"1","default":"deny","tols":{}}"#,
        r#"{"version":"1","default":"deny","tools":{"a":{"require":[{"conditions":[{"path":"args","op":"lt","value":"x"}]}]}}}"#,
    ] {
        assert!(!schema.is_satisfied_by(&json(wrong)), "{wrong}");
    }
}

#[test]
fn fmt_lays_out_once_and_changes_nothing_else() {
    let place = Place::new();
    place.file("p.json", POLICY);
    assert_eq!(place.run(&["policy", "fmt", "--check", "p.json"]).code, 1);
    assert_eq!(place.read("p.json"), POLICY, "--check changes nothing");
    assert_eq!(place.run(&["policy", "fmt", "p.json"]).code, 0);
    assert_eq!(json(&place.read("p.json")), json(POLICY));
    assert_eq!(place.run(&["policy", "fmt", "--check", "p.json"]).code, 0);
    let ran = place.run_with_input(&["policy", "fmt", "-"], POLICY);
    assert_eq!(ran.out, place.read("p.json"));
    place.file("broken.json", "{\n  \"a\": }");
    let ran = place.run(&["policy", "fmt", "broken.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("broken.json:2:8"), "{}", ran.error);
    assert_eq!(place.read("broken.json"), "{\n  \"a\": }");
}

#[test]
fn import_prints_a_policy_that_loads_and_says_what_changed() {
    let place = Place::new();
    place.file("rules.yaml", "version: '1'\ndefault: deny\ntools:\n  pay:\n    rules:\n      - name: small\n        conditions:\n          - {path: args.amount, op: lte, value: 500}\n        on_deny: Too much.\n      - name: slow\n        rate_limit: 5/hour\n");
    let ran = place.run(&["policy", "import", "rules.yaml", "--output", "p.json"]);
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert!(ran.error.contains("rules.yaml:"), "{}", ran.error);
    assert_eq!(place.run(&["policy", "check", "p.json"]).code, 0);
    let ran = place.run(&["policy", "explain", "p.json", "--tool", "pay", "--args", r#"{"amount":501}"#]);
    assert_eq!(json(&ran.out).get("message"), Some(&"Too much.".into()), "{}", ran.out);
    let again = place.run(&["policy", "import", "rules.yaml", "--output", "p.json"]);
    assert_eq!(again.code, 2);
    assert!(again.error.contains("is there already"), "{}", again.error);
    place.file("broken.yaml", "tools: [\n");
    assert_eq!(place.run(&["policy", "import", "broken.yaml"]).code, 2);
}

#[test]
fn help_tells_the_exit_codes() {
    let place = Place::new();
    for arguments in [&["--help"][..], &["policy", "check", "--help"], &["policy", "test", "--help"]] {
        let ran = place.run(arguments);
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains("Exit codes:"), "{}", ran.out);
    }
    assert_eq!(place.run(&["policy", "chek"]).code, 2);
}
