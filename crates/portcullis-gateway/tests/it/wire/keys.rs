//! Every key that the gateway knows, in spellings that another reader could take for it, at every place where it stands:
//! beside the right one, instead of it, and inside what is judged.

use std::collections::BTreeSet;

use super::case::{Case, Expect};
use super::request::{self, Era};
use super::run::Stand;
use crate::client::MODERN_META;
use crate::rig::OPEN;

/// Keys by where they stand: the place is where `*` is in the body.
const PLACES: &[(&str, &[&str])] = &[
    (
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{PARAMS},*}"#,
        &["jsonrpc", "id", "method", "params", "result", "error"],
    ),
    (r#"{*,"jsonrpc":"2.0","id":7,"method":"tools/call","params":{PARAMS}}"#, &["id", "method", "params"]),
    (
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{PARAMS,*}}"#,
        &["name", "arguments", "_meta", "task", "inputResponses", "requestState"],
    ),
    (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{*,PARAMS}}"#, &["name", "arguments"]),
    (
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","_meta":{META,*}}}"#,
        &[
            "progressToken",
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientCapabilities",
            "traceparent",
        ],
    ),
    (
        r#"{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p",*},"argument":{"name":"a","value":"b"},"_meta":{META}}}"#,
        &["type", "name", "uri"],
    ),
    (
        r#"{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b",*},"_meta":{META}}}"#,
        &["name", "value"],
    ),
    (
        r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"doc://open/a",*,"_meta":{META}}}"#,
        &["uri"],
    ),
];

/// What is beside a letter and cannot be seen.
const UNSEEN: &[&str] = &[
    "\\u0000",
    "\\u0001",
    "\\u0007",
    "\\u0008",
    "\\t",
    "\\n",
    "\\r",
    "\\u001b",
    "\\u007f",
    "\u{80}",
    "\u{a0}",
    "\u{ad}",
    "\u{34f}",
    "\u{61c}",
    "\u{115f}",
    "\u{180e}",
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{200e}",
    "\u{202e}",
    "\u{2060}",
    "\u{2066}",
    "\u{3164}",
    "\u{fe0f}",
    "\u{feff}",
    "\u{ffa0}",
    "\u{e0061}",
    "\u{301}",
    "\u{3000}",
];

/// Letters that look alike, or become the letter when case is folded or a form is normalised.
const ALIKE: &[(char, &str)] = &[
    ('a', "аɑᵃª⒜"),
    ('b', "Ьᵇ"),
    ('c', "сϲⅽ"),
    ('d', "ԁⅾ"),
    ('e', "еҽℯ"),
    ('g', "ɡℊ"),
    ('h', "һℎ"),
    ('i', "іıⅰİ"),
    ('j', "јⅉ"),
    ('k', "кK"),
    ('l', "ⅼӏ"),
    ('m', "ⅿｍ"),
    ('n', "ոⁿ"),
    ('o', "оοº"),
    ('p', "рρ"),
    ('r', "гᵣ"),
    ('s', "ѕſ"),
    ('t', "тᵗ"),
    ('u', "υս"),
    ('v', "νⅴ"),
    ('x', "хⅹ"),
    ('y', "уү"),
];

/// Spellings of `key` that are not it.
fn spellings(key: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([
        key.to_uppercase(),
        key.to_lowercase(),
        capitalised(key),
        full_width(key),
        snake(key),
        kebab(key),
    ]);
    for unseen in UNSEEN {
        all.insert(format!("{key}{unseen}"));
        all.insert(format!("{unseen}{key}"));
    }
    for (at, letter) in key.char_indices() {
        let alike = ALIKE.iter().filter(|(known, _)| *known == letter.to_ascii_lowercase());
        let (before, after) = (&key[..at], &key[at + letter.len_utf8()..]);
        all.extend(alike.flat_map(|(_, alike)| alike.chars()).map(|other| format!("{before}{other}{after}")));
        all.insert(format!("{before}{}{after}", letter.to_uppercase()));
    }
    all.extend([
        format!("{key} "),
        format!(" {key}"),
        format!("_{key}"),
        format!("{key}_"),
        format!("{key}-"),
    ]);
    all.remove(key);
    all
}

fn capitalised(key: &str) -> String {
    key[..1].to_uppercase() + &key[1..]
}

fn full_width(key: &str) -> String {
    let wide = |letter: char| char::from_u32(u32::from(letter) + 0xfee0).unwrap();
    key.chars().map(|letter| if letter.is_ascii_alphanumeric() { wide(letter) } else { letter }).collect()
}

fn snake(key: &str) -> String {
    let low = |letter: char| {
        if letter.is_uppercase() { format!("_{}", letter.to_lowercase()) } else { letter.to_string() }
    };
    key.chars().map(low).collect()
}

fn kebab(key: &str) -> String {
    snake(key).replace('_', "-")
}

/// The same key, but its letters escaped: that is no other spelling, so it stands twice.
fn escaped(key: &str) -> [String; 2] {
    let escape = |letter: char| format!("\\u{:04x}", u32::from(letter));
    let first = key.chars().next().unwrap();
    [key.chars().map(escape).collect(), format!("{}{}", escape(first), &key[first.len_utf8()..])]
}

fn body(template: &str, era: Era, member: &str) -> String {
    let params = match era {
        Era::Modern => format!(r#""name":"echo","arguments":{{}},{MODERN_META}"#),
        Era::Legacy => r#""name":"echo","arguments":{}"#.to_owned(),
    };
    let meta = match era {
        Era::Modern => {
            MODERN_META.strip_prefix("\"_meta\":{").and_then(|meta| meta.strip_suffix('}')).unwrap()
        }
        Era::Legacy => r#""x.example/y":1"#,
    };
    template.replace("PARAMS", &params).replace("META", meta).replace('*', member)
}

fn cases(era: Era, session: &str) -> Vec<Case> {
    let words = request::words(era, session);
    let mut all = Vec::new();
    for (template, keys) in PLACES {
        for key in *keys {
            let doubled = escaped(key).into_iter().filter(|_| {
                template.contains(&format!("\"{key}\""))
                    || template.contains("PARAMS,*") && ["name", "arguments"].contains(key)
            });
            for spelling in spellings(key).into_iter().chain(doubled) {
                let body = body(template, era, &format!(r#""{spelling}":"write""#));
                let case = portcullis_json::Value::Object(
                    portcullis_json::Object::new().with("body", body.replace('<', "<3C>").as_str()),
                );
                let expect = Expect {
                    statuses: vec![400],
                    code: Some("-32600".to_owned()),
                    never_says: if spelling.is_ascii() { Vec::new() } else { vec![spelling.clone()] },
                    records: vec!["malformed".to_owned()],
                    ..Expect::default()
                };
                all.push(Case {
                    name: format!("{era:?}: `{spelling}` for `{key}` in {template}"),
                    bytes: request::bytes(&case, era, &words),
                    expect,
                });
            }
        }
    }
    all
}

async fn run(era: Era, count: usize) {
    let mut stand = Stand::new(era, OPEN).await;
    let cases = cases(era, &stand.session);
    for case in &cases {
        stand.run(case).await;
    }
    stand.finish().await;
    assert_eq!(cases.len(), count, "spellings; if that is meant, correct the number");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_of_a_modern_message_is_taken_for_another() {
    run(Era::Modern, 2673).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_of_a_legacy_message_is_taken_for_another() {
    run(Era::Legacy, 2673).await;
}
