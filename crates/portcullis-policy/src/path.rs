//! Paths into a call: `args.items[*].sku`, `tool.name`, `time.hour`.
//!
//! A path is parsed when the policy loads. Walking it ends found, missing or inapplicable, once for each
//! element that `[*]` ranges over.

use std::fmt;
use std::ops::ControlFlow;

use portcullis_json::{Kind, Value};

use crate::problem::nearest;

/// The roots a path can have, as messages list them.
pub(crate) const ROOTS: [&str; 10] = [
    "args",
    "tool.name",
    "tool.class",
    "server.name",
    "grant.label",
    "grant.tags",
    "client.name",
    "time.hour",
    "time.weekday",
    "time.date",
];

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    Args,
    ToolName,
    ToolClass,
    ServerName,
    GrantLabel,
    GrantTags,
    ClientName,
    TimeHour,
    TimeWeekday,
    TimeDate,
}

impl Root {
    fn from_name(name: &str) -> Option<Root> {
        Some(match name {
            "args" => Root::Args,
            "tool.name" => Root::ToolName,
            "tool.class" => Root::ToolClass,
            "server.name" => Root::ServerName,
            "grant.label" => Root::GrantLabel,
            "grant.tags" => Root::GrantTags,
            "client.name" => Root::ClientName,
            "time.hour" => Root::TimeHour,
            "time.weekday" => Root::TimeWeekday,
            "time.date" => Root::TimeDate,
            _ => return None,
        })
    }
}

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
    Each,
}

/// A parsed path; it prints as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) root: Root,
    pub(crate) steps: Vec<Step>,
    text: String,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// How walking a path ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Walked<'v> {
    Found(&'v Value),
    Missing,
    Inapplicable(Misstep),
}

/// What made a path inapplicable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misstep {
    /// Stepping by key into something that is no object.
    NoObject(Kind),
    /// Stepping by index or `[*]` into something that is no array.
    NoArray(Kind),
    /// The class of the tool is not known.
    ClassUnknown,
}

impl Path {
    /// Parses a path; the error says what is wrong and what could stand there.
    pub(crate) fn parse(text: &str) -> Result<Path, String> {
        let (root, rest) = split_root(text)?;
        let steps = parse_steps(text, rest)?;
        if root != Root::Args
            && !steps.iter().all(|step| root == Root::GrantTags && !matches!(step, Step::Key(_)))
        {
            return Err(format!(
                "`{text}` goes further than `{}`, which has nothing below it",
                text.trim_end_matches(rest)
            ));
        }
        Ok(Path { root, steps, text: text.to_owned() })
    }

    /// Whether it ranges over elements.
    pub(crate) fn has_each(&self) -> bool {
        self.steps.contains(&Step::Each)
    }

    /// Whether its value depends on the clock.
    pub(crate) fn is_time(&self) -> bool {
        matches!(self.root, Root::TimeHour | Root::TimeWeekday | Root::TimeDate)
    }

    /// Walks from the root's value and shows `visit` every end, until it breaks.
    pub(crate) fn walk<'v>(
        &self,
        root: &'v Value,
        visit: &mut dyn FnMut(Walked<'v>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        walk(root, &self.steps, visit)
    }
}

fn walk<'v>(
    mut value: &'v Value,
    mut steps: &[Step],
    visit: &mut dyn FnMut(Walked<'v>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    while let [step, rest @ ..] = steps {
        let next = match (step, value) {
            (Step::Key(key), Value::Object(object)) => object.get(key),
            (Step::Key(_), other) => {
                return visit(Walked::Inapplicable(Misstep::NoObject(other.kind())));
            }
            (Step::Index(index), Value::Array(elements)) => elements.get(*index),
            (Step::Each, Value::Array(elements)) => {
                return elements.iter().try_for_each(|element| walk(element, rest, visit));
            }
            (Step::Index(_) | Step::Each, other) => {
                return visit(Walked::Inapplicable(Misstep::NoArray(other.kind())));
            }
        };
        match next {
            Some(deeper) => (value, steps) = (deeper, rest),
            None => return visit(Walked::Missing),
        }
    }
    visit(Walked::Found(value))
}

fn split_root(text: &str) -> Result<(Root, &str), String> {
    // `args` is one word, the others are two.
    let words = if text.starts_with("args") { 1 } else { 2 };
    let mut seen = 0;
    let end = text.find(|character| {
        seen += usize::from(character == '.');
        character == '[' || seen == words
    });
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    Root::from_name(name).map(|root| (root, rest)).ok_or_else(|| {
        let first = text.split(['.', '[']).next().unwrap_or(text);
        let near = nearest(first, &["args", "tool", "server", "grant", "client", "time"]);
        let meant = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("`{text}` does not start with a known root; known are {}{meant}", listed(&ROOTS))
    })
}

fn parse_steps(text: &str, mut rest: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = parse_step(rest).map_err(|what| format!("`{text}` is not a path: {what}"))?;
        steps.push(step);
        rest = after;
    }
    Ok(steps)
}

fn parse_step(rest: &str) -> Result<(Step, &str), String> {
    if let Some(after) = rest.strip_prefix("[*]") {
        return Ok((Step::Each, after));
    }
    if let Some(after) = rest.strip_prefix("[\"") {
        return quoted_key(after);
    }
    if let Some(after) = rest.strip_prefix('[') {
        return index(after);
    }
    if let Some(after) = rest.strip_prefix('.') {
        return plain_key(after);
    }
    Err(format!("wanted `.key`, `[0]`, `[*]` or `[\"key\"]` at `{rest}`"))
}

fn plain_key(rest: &str) -> Result<(Step, &str), String> {
    let ends = |character: char| {
        matches!(character, '.' | '[' | ']' | '"' | '\'')
            || character.is_whitespace()
            || character.is_control()
    };
    let end = rest.find(ends).unwrap_or(rest.len());
    let (key, after) = rest.split_at(end);
    if key.is_empty() {
        return Err(format!("a key is missing before `{after}`; an odd key is written [\"odd key\"]"));
    }
    Ok((Step::Key(key.to_owned()), after))
}

fn quoted_key(rest: &str) -> Result<(Step, &str), String> {
    let mut escaped = false;
    let end = rest.find(|character| {
        let closes = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        closes
    });
    let (inside, after) = end.map(|end| rest.split_at(end)).ok_or("`[\"` is not closed")?;
    let json = format!("\"{inside}\"");
    let key = portcullis_json::parse(json.as_bytes(), &portcullis_json::Limits::document())
        .map_err(|fault| format!("the quoted key is not a JSON string: {}", fault.kind))?;
    let after = after.strip_prefix("\"]").ok_or("`[\"` is closed by `\"]`")?;
    Ok((Step::Key(key.as_str().unwrap_or_default().to_owned()), after))
}

fn index(rest: &str) -> Result<(Step, &str), String> {
    let (digits, after) = rest.split_once(']').ok_or("`[` is not closed")?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (digits.len() > 1 && digits.starts_with('0')) {
        return Err(format!("`[{digits}]` is neither an index nor `[*]`; a key is written [\"{digits}\"]"));
    }
    let index = digits.parse().map_err(|_| format!("the index `{digits}` is too large"))?;
    Ok((Step::Index(index), after))
}

/// `a`, `b` and `c`, for messages.
pub(crate) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(path: &str, json: &str) -> Vec<String> {
        let value = portcullis_json::parse(json.as_bytes(), &portcullis_json::Limits::document()).unwrap();
        let mut ends = Vec::new();
        let _ = Path::parse(path).unwrap().walk(&value, &mut |walked| {
            ends.push(match walked {
                Walked::Found(value) => value.to_string(),
                Walked::Missing => "missing".to_owned(),
                Walked::Inapplicable(_) => "inapplicable".to_owned(),
            });
            ControlFlow::Continue(())
        });
        ends
    }

    #[test]
    fn every_spelling_reaches_its_value() {
        let json = r#"{"a":{"b":[1,{"c d":2}]},"":3,"x.y":4,"é\"":5}"#;
        for (path, expected) in [
            ("args.a.b[0]", "1"),
            ("args.a.b[1][\"c d\"]", "2"),
            ("args[\"\"]", "3"),
            ("args[\"x.y\"]", "4"),
            ("args[\"\\u00e9\\\"\"]", "5"),
        ] {
            assert_eq!(ends(path, json), [expected], "{path}");
        }
    }

    #[test]
    fn missing_and_inapplicable_are_told_apart() {
        let json = r#"{"n":null,"s":"x","l":[{"a":1},{},5],"m":[[1,2],[],[3]]}"#;
        for (path, expected) in [
            ("args.zz", &["missing"][..]),
            ("args.zz.deeper", &["missing"]),
            ("args.l[9]", &["missing"]),
            ("args.zz[*]", &["missing"]),
            ("args.n.a", &["inapplicable"]),
            ("args.s[0]", &["inapplicable"]),
            ("args.n[*]", &["inapplicable"]),
            ("args[0]", &["inapplicable"]),
            ("args.l[*].a", &["1", "missing", "inapplicable"]),
            ("args.m[*][*]", &["1", "2", "3"]),
        ] {
            assert_eq!(ends(path, json), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused_with_the_reason() {
        for (path, word) in [
            ("", "known root"),
            ("argsx", "known root"),
            ("arguments.a", "known root"),
            ("tool", "known root"),
            ("tool.kind", "known root"),
            ("args.", "key is missing"),
            ("args..a", "key is missing"),
            ("args.a b", "wanted"),
            ("args[", "not closed"),
            ("args[-1]", "neither"),
            ("args[01]", "neither"),
            ("args[a]", "neither"),
            ("args[99999999999999999999]", "too large"),
            ("args[\"a]", "not closed"),
            ("args[\"a\"", "closed by"),
            ("args[*", "not closed"),
            ("tool.name.x", "nothing below"),
            ("time.hour[0]", "nothing below"),
            ("grant.tags.x", "nothing below"),
        ] {
            let error = Path::parse(path).unwrap_err();
            assert!(error.contains(word), "{path}: {error}");
        }
        assert!(Path::parse("grant.tags[*]").is_ok());
    }
}
