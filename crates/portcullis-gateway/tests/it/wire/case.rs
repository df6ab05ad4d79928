//! One file of cases: read, multiplied by its tables, and strict about its own fields.

use portcullis_json::{Object, Value};
use portcullis_policy::yaml_to_value;

use super::placeholders::{Words, expand};
use super::request::{self, Era};
use crate::rig::OPEN;

/// A file, before an era and a session are known.
pub(crate) struct File {
    pub(crate) eras: Vec<Era>,
    pub(crate) policy: String,
    expect: Value,
    cases: Vec<Value>,
}

/// One exchange.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) expect: Expect,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Expect {
    /// Of every answer on the connection, in order; none: it is closed without one.
    pub(crate) statuses: Vec<u16>,
    /// Of the last answer.
    pub(crate) code: Option<String>,
    pub(crate) says: Vec<String>,
    pub(crate) never_says: Vec<String>,
    pub(crate) closed: bool,
    /// What the log says of it: outcomes, `stranger`; empty if the gateway may say nothing.
    pub(crate) records: Vec<String>,
    /// What the server must, and must not, have received; both empty: not a byte.
    pub(crate) upstream: Vec<String>,
    pub(crate) upstream_never: Vec<String>,
}

const FILE_FIELDS: &[&str] = &["shows", "eras", "policy", "expect", "cases"];
const CASE_FIELDS: &[&str] = &[
    "name",
    "each",
    "eras",
    "expect",
    "send",
    "verb",
    "path",
    "headers",
    "without",
    "method",
    "id",
    "tool",
    "arguments",
    "params",
    "body",
];
const EXPECT_FIELDS: &[&str] =
    &["status", "code", "says", "never_says", "connection", "record", "upstream", "upstream_never"];

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} must be a string"))
}

impl File {
    pub(crate) fn read(source: &[u8]) -> File {
        let file = yaml_to_value(source).unwrap_or_else(|fault| panic!("{fault}"));
        check_fields(&file, FILE_FIELDS);
        assert!(!text(file.get("shows").unwrap()).is_empty());
        File {
            eras: eras(file.get("eras")),
            policy: file.get("policy").map_or(OPEN, text).to_owned(),
            expect: file.get("expect").cloned().unwrap_or(Value::Object(Object::new())),
            cases: file.get("cases").and_then(Value::as_array).unwrap().to_vec(),
        }
    }

    /// Every exchange of this era.
    pub(crate) fn cases(&self, era: Era, session: &str) -> Vec<Case> {
        let words = request::words(era, session);
        let of_this_era =
            |case: &&Value| case.get("eras").is_none_or(|_| eras(case.get("eras")).contains(&era));
        self.cases.iter().filter(of_this_era).flat_map(|case| self.multiply(case, era, &words)).collect()
    }

    /// One exchange for each combination of the words in `each`.
    fn multiply(&self, case: &Value, era: Era, words: &Words) -> Vec<Case> {
        check_fields(case, CASE_FIELDS);
        let mut all = vec![words.clone()];
        for table in case.get("each").and_then(Value::as_object).into_iter().flat_map(Object::iter) {
            let values = table.value.as_array().unwrap_or_else(|| panic!("`each` needs lists"));
            all = all
                .iter()
                .flat_map(|words| values.iter().map(|value| with(words, &table.key, value)))
                .collect();
        }
        all.iter()
            .map(|words| Case {
                name: format!("{era:?}: {}", shown(&expand(text(case.get("name").unwrap()), words))),
                bytes: request::bytes(case, era, words),
                expect: Expect::read(&self.expect, case.get("expect"), words),
            })
            .collect()
    }
}

fn with(words: &Words, key: &str, value: &Value) -> Words {
    let mut words = words.clone();
    let bytes = expand(text(value), &words);
    words.insert(key.to_owned(), bytes);
    words
}

/// Short enough to find the case by.
fn shown(bytes: &[u8]) -> String {
    bytes.iter().take(120).copied().collect::<Vec<u8>>().escape_ascii().to_string()
}

fn eras(value: Option<&Value>) -> Vec<Era> {
    match value.map(text) {
        None | Some("both") => vec![Era::Modern, Era::Legacy],
        Some("modern") => vec![Era::Modern],
        Some("legacy") => vec![Era::Legacy],
        Some(other) => panic!("no such era: {other}"),
    }
}

fn check_fields(value: &Value, known: &[&str]) {
    for member in value.as_object().unwrap_or_else(|| panic!("{value} must be an object")).iter() {
        assert!(known.contains(&member.key.as_str()), "unknown field `{}` in {value}", member.key);
    }
}

impl Expect {
    /// What the file says, with the case's own word over it.
    fn read(file: &Value, case: Option<&Value>, words: &Words) -> Expect {
        let field = |key: &str| case.and_then(|case| case.get(key)).or_else(|| file.get(key));
        [Some(file), case].into_iter().flatten().for_each(|value| check_fields(value, EXPECT_FIELDS));
        let spoken = |value: &Value| String::from_utf8(expand(text(value), words)).unwrap();
        let strings = |key: &str| match field(key) {
            None => Vec::new(),
            Some(Value::Array(values)) => values.iter().map(spoken).collect(),
            Some(value) => vec![spoken(value)],
        };
        Expect {
            statuses: statuses(field("status").unwrap_or_else(|| panic!("`status` must be said"))),
            // `-`: there is none.
            code: field("code").map(|code| code.as_str().map_or_else(|| code.to_string(), str::to_owned)),
            says: strings("says"),
            never_says: strings("never_says"),
            closed: match field("connection").map(text) {
                None | Some("open") => false,
                Some("closed") => true,
                Some(other) => panic!("a connection is open or closed, not {other}"),
            },
            records: strings("record"),
            upstream: strings("upstream"),
            upstream_never: strings("upstream_never"),
        }
    }
}

fn statuses(value: &Value) -> Vec<u16> {
    let one = |value: &Value| value.to_string().parse().unwrap_or_else(|_| panic!("{value} is no status"));
    match value {
        Value::Array(values) => values.iter().map(one).collect(),
        value => vec![one(value)],
    }
}
