//! Texts and values from an image, cut to a size that a reader can take.

use serde_json::Value;

/// The text, or its beginning with a note of how much is missing.
pub(crate) fn beginning(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (kept, cut) = text.split_at(end);
            format!("{kept}… ({} more characters)", cut.chars().count())
        }
    }
}

/// The same for every text within a value, and at most `entries_max` entries of each list or object.
pub(crate) fn bounded_value(value: &mut Value, chars_max: usize, entries_max: usize) {
    match value {
        Value::String(text) if text.len() > chars_max => *text = beginning(text, chars_max),
        Value::Array(values) => {
            values.truncate(entries_max);
            for value in values {
                bounded_value(value, chars_max, entries_max);
            }
        }
        Value::Object(members) => {
            let surplus: Vec<_> = members.keys().skip(entries_max).cloned().collect();
            for key in surplus {
                members.remove(&key);
            }
            for value in members.values_mut() {
                bounded_value(value, chars_max, entries_max);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cut_falls_between_characters() {
        assert_eq!(beginning("äöü", 3), "äöü");
        assert_eq!(beginning("äöü", 2), "äö… (1 more characters)");
        assert_eq!(beginning("", 0), "");
    }

    #[test]
    fn a_value_is_cut_at_every_depth() {
        let mut value = json!({"a": [1, 2, 3], "b": {"c": "long text"}, "d": 1});
        bounded_value(&mut value, 4, 2);
        assert_eq!(value, json!({"a": [1, 2], "b": {"c": "long… (5 more characters)"}}));
    }
}
