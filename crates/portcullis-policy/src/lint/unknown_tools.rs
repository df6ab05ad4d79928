//! Names of tools that a server does not have. The command line calls this when it knows the server's list.

use portcullis_json::{Pointer, Value};

use super::members;
use crate::glob::Glob;
use crate::path::listed;
use crate::policy::Policy;
use crate::problem::{Problems, nearest};

/// More names than this are not listed in a message.
const LISTED_MAX: usize = 8;

/// Warns of every name under `tools` and in `hide` that no tool in `known` has, and of every glob that
/// matches none. `source` is what the policy was read from.
pub fn warn_unknown_tools(policy: &Policy, source: &[u8], known: &[String]) -> Problems {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let mut problems = Problems::default();
    let tools_at = Pointer::root().key("tools");
    for member in members(policy, "tools") {
        if let Some((message, help)) = unknown(&member.key, &known) {
            problems.warn_at_key(&tools_at.key(&member.key), message, help);
        }
    }
    let hide_at = Pointer::root().key("hide");
    let hide = policy.document.get("hide").and_then(Value::as_array);
    for (index, name) in hide.unwrap_or_default().iter().enumerate() {
        let found = name.as_str().and_then(|name| unknown(name, &known));
        if let Some((message, help)) = found {
            problems.warn(&hide_at.index(index), message, help);
        }
    }
    if let Ok(text) = std::str::from_utf8(source) {
        problems.locate(text, &policy.document);
    }
    problems
}

/// What is wrong with a name or glob and what to do, if no tool has it.
fn unknown(name: &str, known: &[&str]) -> Option<(String, String)> {
    if known.contains(&name) {
        return None;
    }
    if !Glob::is_glob(name) {
        return Some((format!("the server has no tool `{name}`"), suggestion(name, known)));
    }
    let glob = Glob::new(name).ok()?;
    let matches = known.iter().any(|tool| glob.matches(tool));
    let message = || format!("`{name}` matches no tool of the server");
    (!matches).then(|| (message(), what_there_is(known)))
}

fn suggestion(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => what_there_is(known),
    }
}

fn what_there_is(known: &[&str]) -> String {
    let some: Vec<&str> = known.iter().take(LISTED_MAX).copied().collect();
    match known.len() {
        0 => "the server has no tools".to_owned(),
        count if count > LISTED_MAX => {
            format!("it has {} and {} more", listed(&some), count - LISTED_MAX)
        }
        _ => format!("it has {}", listed(&some)),
    }
}
