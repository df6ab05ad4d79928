//! Keys that some reader could take for a known one, made in bulk: key x variant x place.
//!
//! Beside each refusal stands the guard: ordinary keys, and any keys inside arguments, pass.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use portcullis_mcp::{Refusal, Sender};

use crate::{LEGACY, object, refusal};

/// Where a key can stand: the object's text around `%`, and the keys known there.
const PLACES: &[(&str, &[&str])] = &[
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping",%}"#,
        &["jsonrpc", "id", "method", "params", "result", "error"],
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",%}}"#,
        &[
            "name",
            "arguments",
            "_meta",
            "uri",
            "cursor",
            "task",
            "taskId",
            "inputResponses",
            "requestState",
            "ref",
            "argument",
            "level",
            "protocolVersion",
            "capabilities",
            "requestId",
            "notifications",
        ],
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{%}}}"#,
        &[
            "progressToken",
            "traceparent",
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientCapabilities",
            "io.modelcontextprotocol/logLevel",
        ],
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{%}}}"#,
        &["type", "name", "uri"],
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{%}}}"#,
        &["toolsListChanged", "resourceSubscriptions", "taskIds"],
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{%}}}}"#,
        &["elicitation", "sampling", "roots"],
    ),
];

const INVISIBLE: &[char] = &[
    '\0',
    '\u{1}',
    '\t',
    '\n',
    ' ',
    '\u{7f}',
    '\u{85}',
    '\u{a0}',
    '\u{ad}',
    '\u{34f}',
    '\u{61c}',
    '\u{180e}',
    '\u{200b}',
    '\u{200c}',
    '\u{200d}',
    '\u{200e}',
    '\u{202e}',
    '\u{2060}',
    '\u{2063}',
    '\u{3164}',
    '\u{fe0f}',
    '\u{feff}',
    '\u{ffa0}',
    '\u{e0061}',
    '\u{301}',
];

/// Letters that fold, normalise or merely look like ASCII ones.
const LOOK_ALIKES: &[(char, char)] = &[
    ('s', 'ſ'),
    ('k', '\u{212a}'),
    ('a', 'а'),
    ('e', 'е'),
    ('o', 'о'),
    ('p', 'р'),
    ('c', 'с'),
    ('i', 'і'),
    ('i', 'ı'),
    ('i', 'İ'),
    ('n', 'ո'),
    ('m', 'ⅿ'),
    ('l', 'ⅼ'),
    ('d', 'ⅾ'),
    ('r', 'ⓡ'),
    ('t', '𝐭'),
    ('u', 'ᵘ'),
    ('m', '𝗆'),
    ('a', '\u{e1}'),
    ('e', 'ｅ'),
];

fn variants(key: &str) -> Vec<String> {
    let mut all = vec![
        key.to_uppercase(),
        key.to_lowercase(),
        capitalised(key),
        full_width(key),
        snake_case(key),
        key.replace('_', ""),
        format!("_{key}"),
        format!("{key}."),
        snake_case(key).replace(['.', '/'], "_"),
        key.replace('/', "\u{2215}"),
        full_width(key).nfd().collect(),
    ];
    for at in 0..key.len() {
        let (before, after) = key.split_at(at);
        all.push(format!("{before}{}", capitalised(after)));
    }
    for invisible in INVISIBLE {
        let (before, after) = key.split_at(key.len() / 2);
        all.push(format!("{key}{invisible}"));
        all.push(format!("{invisible}{key}"));
        all.push(format!("{before}{invisible}{after}"));
    }
    for (plain, alike) in LOOK_ALIKES {
        all.push(key.replacen(*plain, &alike.to_string(), 1));
        all.push(key.replacen(*plain, &alike.to_string(), 1).nfd().collect());
    }
    all.sort();
    all.dedup();
    all.retain(|variant| variant != key);
    all
}

fn capitalised(key: &str) -> String {
    let mut characters = key.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

fn full_width(key: &str) -> String {
    let widen = |c: char| char::from_u32(u32::from(c) + 0xfee0).unwrap();
    key.chars().map(widen).collect()
}

fn snake_case(key: &str) -> String {
    key.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
        out
    })
}

fn with_member(place: &str, key: &str) -> String {
    let key = portcullis_json::compact(&portcullis_json::Value::from(key));
    place.replace('%', &format!("{key}:1"))
}

#[test]
fn confusable_keys_are_refused_everywhere() {
    let mut count = 0;
    for (place, keys) in PLACES {
        for key in *keys {
            for variant in variants(key) {
                let text = with_member(place, &variant);
                let found = refusal(text.as_bytes(), Sender::Client, LEGACY);
                assert_eq!(found, Some(Refusal::ConfusableKey), "{text}");
                count += 1;
            }
        }
    }
    assert!(count >= 2_000, "only {count} variants");
}

#[test]
fn the_answer_is_invalid_request() {
    assert_eq!(Refusal::ConfusableKey.code(), -32600);
}

/// Vendor keys and unknown keys are not confusable.
#[test]
fn ordinary_keys_pass() {
    for (place, _) in &PLACES[1..3] {
        for key in ["com.example/trace", "x", "names", "vendor.option", "n", "tool", "argumentz"] {
            let text = with_member(place, key);
            assert_eq!(refusal(text.as_bytes(), Sender::Client, LEGACY), None, "{text}");
        }
    }
}

#[test]
fn confusable_keys_of_results_and_tools_are_refused() {
    for key in ["Tools", "isерror", "IsError", "is_error", "nextcursor", "tools\u{200b}"] {
        let text = with_member(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],%}}"#, key);
        let found = refusal(text.as_bytes(), Sender::Server, LEGACY);
        assert_eq!(found, Some(Refusal::ConfusableKey), "{text}");
        let text = with_member(r#"{"tools":[{"name":"a","inputSchema":{},"Name":"b"}],%}"#, "x");
        let result = object(&text);
        assert_eq!(portcullis_mcp::list::read_tools(&result).unwrap().unreadable, 1);
    }
}

proptest! {
    /// Arguments belong to the caller: whatever their keys, also known ones in odd spellings.
    #[test]
    fn argument_keys_are_free(
        keys in prop::collection::btree_set(
            prop_oneof![any::<String>(), "[nN][aA][mM][eE]", "(Name|_META|arguments|ｎame|na\u{200b}me)"],
            0..12,
        )
    ) {
        let arguments = keys.iter().fold(portcullis_json::Object::new(), |object, key| object.with(key, 1));
        let arguments = portcullis_json::compact(&arguments.into());
        for method in ["tools/call", "prompts/get"] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"a","arguments":{arguments}}}}}"#
            );
            prop_assert_eq!(refusal(text.as_bytes(), Sender::Client, LEGACY), None);
        }
    }
}

/// The classic definition, letter by letter: every character of Unicode that NFKC and case folding turn
/// into the ASCII letter it stands for.
#[test]
fn whatever_folds_onto_a_known_key_is_refused() {
    let (place, keys) = PLACES[1];
    let mut count = 0;
    for (letter, alike) in foldings() {
        for key in keys.iter().filter(|key| key.contains(letter)) {
            let variant = key.replacen(letter, &alike.to_string(), 1);
            let text = with_member(place, &variant);
            let found = refusal(text.as_bytes(), Sender::Client, LEGACY);
            assert_eq!(found, Some(Refusal::ConfusableKey), "{text}");
            count += 1;
        }
    }
    assert!(count >= 2_000, "only {count} variants");
}

/// Pairs of a lower-case ASCII letter and another character that folds to it.
fn foldings() -> Vec<(char, char)> {
    let fold = |c: char| -> String {
        let text: String = c.nfkc().collect();
        text.to_lowercase().nfkc().collect()
    };
    ('\0'..=char::MAX)
        .filter_map(|c| match fold(c).as_bytes() {
            [letter @ b'a'..=b'z'] if *letter != c as u8 || !c.is_ascii() => Some((char::from(*letter), c)),
            _ => None,
        })
        .collect()
}
