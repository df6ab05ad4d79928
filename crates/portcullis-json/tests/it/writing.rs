//! Text for the wire, for people, and for digests.

use portcullis_json::{Limits, Value, canonical, compact, digest, parse, pretty};

fn read(text: &str) -> Value {
    parse(text.as_bytes(), &Limits::document()).unwrap()
}

#[test]
fn compact_text_keeps_order_and_spelling() {
    let value = read(" { \"b\" : 1.50 , \"a\" : [ \"\\u0000\\n\\u00e9/\" , null ] } ");
    assert_eq!(compact(&value), r#"{"b":1.50,"a":["\u0000\né/",null]}"#);
}

#[test]
fn pretty_text_breaks_only_what_does_not_fit() {
    let long = "x".repeat(90);
    let value = read(&format!(r#"{{"a":[1,2],"b":{{}},"c":["{long}",{{"d":1}}]}}"#));
    let expected = format!(
        "{{\n  \"a\": [1, 2],\n  \"b\": {{}},\n  \"c\": [\n    \"{long}\",\n    {{\"d\": 1}}\n  ]\n}}\n"
    );
    assert_eq!(pretty(&value), expected);
    assert_eq!(read(&pretty(&value)), value);
}

#[test]
fn equal_values_have_equal_digests_and_only_those() {
    let same = [r#"{"a":7,"b":[1.0]}"#, r#"{"b":[1],"a":7.0}"#, r#"{ "b":[1e0], "a":70e-1}"#];
    for text in same {
        assert_eq!(canonical(&read(text)), r#"{"a":7,"b":[1]}"#);
        assert_eq!(digest(&read(text)), digest(&read(same[0])));
    }
    for other in [r#"{"a":"7","b":[1]}"#, r#"{"a":7,"b":[1,1]}"#, r#"{"a":7,"B":[1]}"#] {
        assert_ne!(digest(&read(other)), digest(&read(same[0])));
    }
}
