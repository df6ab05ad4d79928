//! YAML and the JSON it is read as.

use portcullis_json::{Member, Number, compact, pretty};
use proptest::prelude::*;

use super::*;

fn json(text: &str) -> Value {
    portcullis_json::parse(text.as_bytes(), &Limits::document()).unwrap()
}

#[track_caller]
fn check(yaml: &str, expected: &str) {
    match yaml_to_value(yaml.as_bytes()) {
        // Compared as text: numbers keep their spelling where JSON has it.
        Ok(value) => assert_eq!(compact(&value), expected, "{yaml:?}"),
        Err(fault) => panic!("{yaml:?}: {fault}"),
    }
}

#[track_caller]
fn check_fault(yaml: &str, message: &str, line: usize, column: usize) {
    let fault = yaml_to_value(yaml.as_bytes()).expect_err(yaml);
    assert!(fault.message.contains(message), "{yaml:?}: {fault}");
    assert_eq!(fault.place, Place { line, column }, "{yaml:?}: {fault}");
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    for null in ["null", "Null", "NULL", "~", ""] {
        check(&format!("a: {null}"), r#"{"a":null}"#);
    }
    for truth in ["true", "True", "TRUE"] {
        check(truth, "true");
    }
    for falsehood in ["false", "False", "FALSE"] {
        check(falsehood, "false");
    }
    for text in [
        "yes",
        "no",
        "on",
        "off",
        "Yes",
        "nULL",
        "tRUE",
        "1_000",
        "0b11",
        "-0x1F",
        "0xG",
        "0o8",
        "12:30",
        "2026-11-15",
        "1e",
        "e5",
        ".",
        "+",
        "1.2.3",
        "--1",
        "0x",
        ".e5",
        "inf",
        "nan",
    ] {
        check(&format!("[{text}]"), &format!("[\"{text}\"]"));
    }
}

#[test]
fn numbers_are_exact_and_keep_their_spelling() {
    for spelling in ["0", "-0", "12", "1.0", "1.50e+3", "1E5", "-0.5e-3", "10000000000000000999", "0.1"] {
        check(spelling, spelling);
    }
    for (written, spelling) in [
        ("+1", "1"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1.", "1"),
        ("+1.e3", "1e3"),
        ("010", "10"),
        ("-007.50", "-7.50"),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("0x0", "0"),
        ("0xffffffffffffffffffff", "1208925819614629174706175"),
    ] {
        check(written, spelling);
    }
    for beyond in [".inf", "-.Inf", "+.INF", ".nan", ".NaN"] {
        check_fault(beyond, "no number that JSON has", 1, 1);
    }
    for beyond in
        ["1e401", &"1".repeat(401), &format!("0x{}", "f".repeat(400)), &format!("0o{}", "7".repeat(900))]
    {
        check_fault(beyond, "too many digits", 1, 1);
    }
}

#[test]
fn quotes_and_blocks_make_strings() {
    check("a: \"1\"\nb: 'true'\nc: |\n  null\nd: >-\n  5\n", r#"{"a":"1","b":"true","c":"null\n","d":"5"}"#);
    check(r#"{"\u0041\/": "\t"}"#, r#"{"A/":"\t"}"#);
}

#[test]
fn core_tags_are_read_and_others_refused() {
    check("!!str 5", "\"5\"");
    check("!!int \"5\"", "5");
    check("!!float 5", "5");
    check("!!seq [!!bool \"true\", !!null ~]", "[true,null]");
    check("!!map {a: 1}", r#"{"a":1}"#);
    check_fault("a: !!int x", "no `!!int`", 1, 4);
    for yaml in ["!thing 5", "!!binary aGk=", "!!set {a}", "!!str [a]", "!!map [a]", "! 5"] {
        assert!(yaml_to_value(yaml.as_bytes()).is_err(), "{yaml}");
    }
}

#[test]
fn what_two_readers_could_understand_differently_is_refused() {
    check_fault("a: 1\nb: 2\na: 3", "duplicate key `a`", 3, 1);
    check_fault("x:\n  - {a: 1, \"a\": 2}", "duplicate key `a`", 2, 12);
    check_fault("1: a", "put it in quotes", 1, 1);
    check_fault("true: a", "a boolean", 1, 1);
    check_fault("? [a]\n: b", "not a list or a mapping", 1, 3);
    check_fault("a: &x [1]\nb: *x", "aliases", 2, 4);
    check_fault("a: {}\n<<: {}", "merge keys", 2, 1);
    check("\"<<\": 1", r#"{"<<":1}"#);
    check_fault("a: 1\n---\nb: 2", "second document", 2, 1);
    check_fault("a: 1\0b: 2", "control character", 1, 5);
    check_fault("\u{feff}a: 1", "byte order mark", 1, 1);
}

#[test]
fn empty_texts_are_faults_and_empty_documents_are_null() {
    for yaml in ["", " \n", "# only a comment\n"] {
        let fault = yaml_to_value(yaml.as_bytes()).unwrap_err();
        assert!(fault.message.contains("empty"), "{yaml:?}: {fault}");
    }
    check("---\n", "null");
    check("---\na: 1\n...\n", r#"{"a":1}"#);
}

#[test]
fn size_and_depth_are_bounded() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    check(&deep(64), &deep(64));
    check_fault(&deep(65), "nested deeper than 64", 1, 65);
    assert!(yaml_to_value("[".repeat(1 << 20).as_bytes()).is_err());
    assert!(yaml_to_value("- ".repeat(1 << 19).as_bytes()).is_err());
    let fault = yaml_to_value(&vec![b'a'; (1 << 20) + 1]).unwrap_err();
    assert!(fault.message.contains("larger than"), "{fault}");
    let fault = yaml_to_value(b"a: \xff").unwrap_err();
    assert_eq!((fault.place.line, fault.place.column), (1, 4));
}

#[test]
fn many_keys_do_not_take_quadratic_time() {
    let yaml: String = (0..100_000).map(|key| format!("k{key}:\n")).collect();
    let value = yaml_to_value(yaml.as_bytes()).unwrap();
    assert_eq!(value.as_object().unwrap().len(), 100_000);
}

#[test]
fn syntax_faults_have_a_place() {
    let fault = yaml_to_value(b"a: 1\nb: [1, 2\nc: 3\n").unwrap_err();
    assert!(fault.message.starts_with("not YAML: "), "{fault}");
    assert!(fault.place.line >= 2, "{fault}");
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|text| Value::Number(Number::parse(&text).unwrap())),
        ".{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let member = ("(.{0,6}|[\\x00-\\x7f]{0,4})", inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::Array),
            prop::collection::vec(member, 0..6).prop_map(|members| {
                let mut object = Object::new();
                for (key, value) in members {
                    object.insert(&key, value);
                }
                Value::Object(object)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn json_reads_back_equal(value in any_value()) {
        for text in [compact(&value), pretty(&value)] {
            let read = yaml_to_value(text.as_bytes());
            prop_assert_eq!(read.as_ref(), Ok(&value), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = yaml_to_value(text.as_bytes());
    }

    #[test]
    fn nothing_that_looks_like_yaml_makes_it_panic(text in "([-?:,&*#|>@`%!\\[\\]{}'\"~<\\\\0-9a-f \t\r\n]|\r\n  |- |: |\n|---|\\.\\.\\.|!!str ){0,60}") {
        let _ = yaml_to_value(text.as_bytes());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = yaml_to_value(&bytes);
    }
}

#[test]
fn members_with_the_same_key_are_no_object() {
    let member = |key: &str| Member { key: key.into(), value: Value::Null };
    let members = vec![member("a"), member("b"), member("a")];
    assert_eq!(Object::from_members(members).unwrap_err(), (2, "a".to_owned()));
    assert_eq!(Value::Object(Object::from_members(vec![member("a")]).unwrap()), json(r#"{"a":null}"#));
}
