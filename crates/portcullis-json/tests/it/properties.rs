//! For any bytes: an answer. For any value: writing and reading is the identity.

use portcullis_json::{Limits, Object, Positions, Value, canonical, compact, parse, pretty};
use proptest::prelude::*;

fn any_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number.prop_map(|text| parse(text.as_bytes(), &Limits::document()).unwrap()),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..24).prop_map(|members| {
                members
                    .into_iter()
                    .fold(Object::new(), |object, (key, value)| object.with(&key, value))
                    .into()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = parse(&bytes, &Limits::document()) {
            prop_assert_eq!(parse(compact(&value).as_bytes(), &Limits::document()).unwrap(), value);
        }
    }

    #[test]
    fn nearly_json_gets_an_answer(text in "[\\[\\]{}\",:0-9eE.\\-+\\\\utrfalsn \u{e9}]{0,60}") {
        let _ = parse(text.as_bytes(), &Limits::document());
    }

    #[test]
    fn writing_and_reading_is_the_identity(value in any_value()) {
        for text in [compact(&value), pretty(&value)] {
            let again = parse(text.as_bytes(), &Limits::document()).unwrap();
            prop_assert_eq!(compact(&again), compact(&value));
        }
        let canonical_again = parse(canonical(&value).as_bytes(), &Limits::document()).unwrap();
        prop_assert_eq!(canonical(&canonical_again), canonical(&value));
        prop_assert_eq!(canonical_again, value);
    }

    #[test]
    fn positions_cover_any_document(value in any_value()) {
        let text = pretty(&value);
        let whole = Positions::of(&text).find(&value, &portcullis_json::Pointer::root());
        prop_assert_eq!(&text[whole.value], text.trim_end());
    }
}
