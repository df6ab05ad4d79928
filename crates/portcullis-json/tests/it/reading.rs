//! What is taken, what is refused, and where the fault is said to be.

use portcullis_json::{FaultKind, Limits, Place, Pointer, Positions, Value, parse};

fn read(text: &str) -> Result<Value, portcullis_json::Fault> {
    parse(text.as_bytes(), &Limits::document())
}

#[track_caller]
fn refused(bytes: &[u8], kind: FaultKind, offset: usize) {
    let fault = parse(bytes, &Limits::document()).expect_err("must be refused");
    assert_eq!((fault.kind, fault.offset), (kind, offset), "{}", String::from_utf8_lossy(bytes));
}

#[test]
fn everything_json_has_is_taken() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1.5e-3",
        "1E+2",
        r#""""#,
        "[]",
        "{}",
        " [ 1 , [ 2 ] ] \n",
        r#"{"a":{"b":[null,true,{"c":"d"}]},"":0}"#,
        r#""\"\\\/\b\f\n\r\t\u0041\uD83D\uDE00""#,
        "\"é😀\u{7f}\"",
        r#"{"a":1,"A":1,"a ":1}"#,
    ] {
        assert!(read(text).is_ok(), "{text}");
    }
    assert_eq!(read(r#""\ud83d\ude00\u00e9""#).unwrap(), Value::from("😀é"));
}

#[test]
fn what_json_has_not_is_refused() {
    for text in [
        "nul",
        "tru",
        "True",
        "nan",
        "Infinity",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "1e+",
        "0x10",
        "1_000",
        "'a'",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1",
        "]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":}",
        "{1:2}",
        "{\"a\" 1}",
        "{",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "// a\n1",
        "/* a */ 1",
        "1 2",
        "[] []",
        "\u{b}1",
        "\u{a0}1",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn a_key_that_stands_twice_is_found_at_any_depth_and_spelling() {
    let key = |key: &str| FaultKind::DuplicateKey { key: key.to_owned() };
    refused(br#"{"a":1,"a":1}"#, key("a"), 7);
    refused(br#"{"x":[{"name":1,"\u006eame":2}]}"#, key("name"), 16);
    refused(br#"{"":1,"":2}"#, key(""), 6);
    // In an object too large for the pairwise look the first repetition is named as well.
    let many: Vec<String> = (0..500).map(|n| format!("\"k{n}\":0")).collect();
    let text = format!("{{{},\"k499\":1,\"k3\":1}}", many.join(","));
    let fault = read(&text).unwrap_err();
    assert_eq!(fault.kind, key("k499"));
    assert_eq!(fault.offset, text.rfind("\"k499\"").unwrap());
    assert!(read(&format!("{{{}}}", many.join(","))).is_ok());
}

#[test]
fn bytes_that_readers_understand_differently_are_refused() {
    refused(b"\xff", FaultKind::NotUtf8, 0);
    refused(b"\"a\xc3\"", FaultKind::NotUtf8, 2);
    refused(b"\xef\xbb\xbf{}", FaultKind::ByteOrderMark, 0);
    refused(br#""\ud800""#, FaultKind::LoneSurrogate, 1);
    refused(br#""\udc00x""#, FaultKind::LoneSurrogate, 1);
    refused(br#""\ud800\u0041""#, FaultKind::LoneSurrogate, 1);
    refused(b"\"a\nb\"", FaultKind::ControlCharacter, 2);
    refused(b"\"a\0b\"", FaultKind::ControlCharacter, 2);
    refused(b"{}\0", FaultKind::TrailingBytes, 2);
    refused(b" \n", FaultKind::Empty, 2);
    refused(b"", FaultKind::Empty, 0);
}

#[test]
fn size_depth_and_numbers_are_bounded() {
    let limits = Limits { bytes_max: 10, depth_max: 3 };
    assert!(parse(b"[[[1]]]", &limits).is_ok());
    let fault = parse(b"[[[[1]]]]", &limits).unwrap_err();
    assert_eq!((fault.kind, fault.offset), (FaultKind::TooDeep { depth_max: 3 }, 3));
    assert_eq!(parse(b"           ", &limits).unwrap_err().kind, FaultKind::TooLarge { bytes_max: 10 });
    // Siblings are no depth.
    assert!(parse(b"[[],[],[]]", &limits).is_ok());

    assert!(read(&"9".repeat(400)).is_ok());
    assert!(read(&"9".repeat(401)).is_err());
    assert!(read(&format!("0.{}", "9".repeat(399))).is_ok());
    assert!(read(&format!("0.{}", "9".repeat(400))).is_err());
    assert!(read("1e400").is_ok() && read("1e-400").is_ok() && read("1e0400").is_ok());
    for text in ["1e401", "1e-401", "1e99999999999999999999"] {
        assert_eq!(read(text).unwrap_err().kind, FaultKind::NumberTooLarge, "{text}");
    }
}

#[test]
fn numbers_are_equal_by_value_and_keep_their_spelling() {
    for (a, b, same) in [
        ("1", "1.0", true),
        ("1", "1e0", true),
        ("100", "1e2", true),
        ("0.5", "5e-1", true),
        ("-0", "0", true),
        ("10000000000000000999", "1e19", false),
        ("9007199254740993", "9007199254740992", false),
        ("1e400", "1e399", false),
    ] {
        assert_eq!(read(a).unwrap() == read(b).unwrap(), same, "{a} {b}");
        assert_eq!(read(a).unwrap().to_string(), a);
    }
}

#[test]
fn line_and_column_count_from_one_in_characters() {
    let source = "{\n  \"é\": x\n}";
    let fault = read(source).unwrap_err();
    assert_eq!(Place::of(source.as_bytes(), fault.offset), Place { line: 2, column: 8 });
    assert_eq!(Place::of(b"", 0), Place { line: 1, column: 1 });
}

#[test]
fn positions_point_at_keys_and_values() {
    let source = r#" { "a" : [ 1, {"b~/c": "x\"y"} ], "d": true }"#;
    let value = read(source).unwrap();
    let positions = Positions::of(source);
    let at = |pointer: &Pointer| {
        let position = positions.find(&value, pointer);
        (position.key.map(|range| &source[range]), &source[position.value])
    };
    let root = Pointer::root();
    assert_eq!(at(&root), (None, source.trim()));
    assert_eq!(at(&root.key("a").index(1).key("b~/c")), (Some(r#""b~/c""#), r#""x\"y""#));
    assert_eq!(at(&root.key("d")), (Some("\"d\""), "true"));
    assert_eq!(at(&root.key("a").index(0)), (None, "1"));
    // A missing key is shown at the object that should have it.
    assert_eq!(at(&root.key("a").index(1).key("zz")), (None, r#"{"b~/c": "x\"y"}"#));
}
