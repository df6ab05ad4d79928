//! The operators: each is asked about one value in one kind of rule and answers holds, does not hold,
//! or does not apply.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use regex::Regex;

use super::document::Op;
use super::number::Decimal;
use super::value::{Sameness, Val, same};
use super::{directories, glob, hosts, schemas};

/// The kind of rule a condition stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Require,
    DenyIf,
    ApproveIf,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::DenyIf => "deny_if",
            Self::ApproveIf => "approve_if",
        }
    }
}

/// Some(whether it holds), or None where the operator does not apply to the value. Not for `exists`,
/// which is about the path.
pub(crate) fn holds(op: Op, found: &Val, wanted: &Val, kind: Kind) -> Option<bool> {
    match op {
        Op::Eq => Some(same(found, wanted, when_affirming(kind))),
        Op::Neq => Some(!same(found, wanted, when_negating(kind))),
        Op::In => Some(is_element(found, wanted, when_affirming(kind))),
        Op::NotIn => Some(!is_element(found, wanted, when_negating(kind))),
        Op::Contains => contains(found, wanted, when_affirming(kind)),
        Op::NotContains => contains(found, wanted, when_negating(kind)).map(|c| !c),
        Op::Lt => order(found, wanted).map(|o| o == Ordering::Less),
        Op::Lte => order(found, wanted).map(|o| o != Ordering::Greater),
        Op::Gt => order(found, wanted).map(|o| o == Ordering::Greater),
        Op::Gte => order(found, wanted).map(|o| o != Ordering::Less),
        Op::Regex => on_string(found, |s| is_match(text(wanted), s)),
        Op::NotRegex => on_string(found, |s| !is_match(text(wanted), s)),
        Op::StartsWith => on_string(found, |s| s.starts_with(text(wanted))),
        Op::EndsWith => on_string(found, |s| s.ends_with(text(wanted))),
        Op::Glob => on_string(found, |s| glob::matches(text(wanted), s)),
        Op::Type => Some(is_of_type(found, text(wanted))),
        Op::LengthLte => length(found).map(|l| l <= whole(wanted)),
        Op::LengthGte => length(found).map(|l| l >= whole(wanted)),
        Op::HostIn => host_is_listed(found, wanted),
        Op::HostNotIn => host_is_listed(found, wanted).map(|listed| !listed),
        Op::PathWithin => match found {
            Val::Str(path) => directories::lies_within(path, &texts(wanted)),
            _ => None,
        },
        Op::Schema => Some(schemas::satisfies(found, wanted)),
        Op::Exists => panic!("`exists` is about the path"),
    }
}

/// How `eq`, `in` and `contains` compare: what a server could take for the same is caught.
fn when_affirming(kind: Kind) -> Sameness {
    match kind {
        Kind::Require => Sameness::Exact,
        Kind::DenyIf | Kind::ApproveIf => Sameness::Doubles,
    }
}

/// How `neq`, `not_in` and `not_contains` compare: the other way round.
fn when_negating(kind: Kind) -> Sameness {
    match kind {
        Kind::Require => Sameness::Doubles,
        Kind::DenyIf | Kind::ApproveIf => Sameness::Exact,
    }
}

fn is_element(found: &Val, list: &Val, sameness: Sameness) -> bool {
    let Val::Arr(list) = list else {
        panic!("not a list: {list:?}");
    };
    list.iter().any(|element| same(found, element, sameness))
}

fn contains(found: &Val, wanted: &Val, sameness: Sameness) -> Option<bool> {
    match (found, wanted) {
        (Val::Str(text), Val::Str(part)) => Some(text.contains(part.as_str())),
        (Val::Arr(list), _) => Some(list.iter().any(|element| same(element, wanted, sameness))),
        _ => None,
    }
}

fn order(found: &Val, wanted: &Val) -> Option<Ordering> {
    match (found, wanted) {
        (Val::Num(a), Val::Num(b)) => Some(Decimal::read(a).compare(&Decimal::read(b))),
        _ => None,
    }
}

fn on_string(found: &Val, test: impl Fn(&str) -> bool) -> Option<bool> {
    match found {
        Val::Str(text) => Some(test(text)),
        _ => None,
    }
}

/// Patterns come from a small pool, and compiling them would be most of the work.
pub(crate) fn is_match(pattern: &str, text: &str) -> bool {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        let regex = compiled.entry(pattern.to_owned());
        regex.or_insert_with(|| Regex::new(pattern).unwrap()).is_match(text)
    })
}

fn is_of_type(found: &Val, name: &str) -> bool {
    match found {
        Val::Null => name == "null",
        Val::Bool(_) => name == "boolean",
        Val::Str(_) => name == "string",
        Val::Arr(_) => name == "array",
        Val::Obj(_) => name == "object",
        Val::Num(spelling) => name == "number" || (name == "integer" && Decimal::read(spelling).is_integer()),
    }
}

fn length(found: &Val) -> Option<usize> {
    match found {
        Val::Str(text) => Some(text.chars().count()),
        Val::Arr(elements) => Some(elements.len()),
        Val::Obj(members) => Some(members.len()),
        Val::Null | Val::Bool(_) | Val::Num(_) => None,
    }
}

fn host_is_listed(found: &Val, list: &Val) -> Option<bool> {
    let Val::Str(url) = found else {
        return None;
    };
    let host = hosts::of_url(url)?;
    Some(texts(list).iter().any(|entry| hosts::is_listed(&host, entry)))
}

fn text(value: &Val) -> &str {
    match value {
        Val::Str(text) => text,
        other => panic!("not a string: {other:?}"),
    }
}

fn texts(value: &Val) -> Vec<String> {
    match value {
        Val::Arr(elements) => elements.iter().map(|e| text(e).to_owned()).collect(),
        other => panic!("not a list: {other:?}"),
    }
}

fn whole(value: &Val) -> usize {
    match value {
        Val::Num(spelling) => spelling.parse().unwrap(),
        other => panic!("not a number: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::value::read;

    fn judge(op: &str, found: &str, wanted: &str, kind: Kind) -> Option<bool> {
        holds(Op::named(op), &read(found), &read(wanted), kind)
    }

    #[test]
    fn operators_answer_as_the_table_says() {
        for (op, found, wanted, expected) in [
            ("lt", "10000000000000000999", "1e19", Some(false)),
            ("gt", "10000000000000000999", "1e19", Some(true)),
            ("gte", "1.0", "1", Some(true)),
            ("lte", "\"1\"", "1", None),
            ("regex", "\"xabcx\"", "\"abc\"", Some(true)),
            ("not_regex", "1", "\"abc\"", None),
            ("contains", "[1.0]", "1", Some(true)),
            ("contains", "\"12\"", "1", None),
            ("contains", "{\"a\":1}", "\"a\"", None),
            ("not_contains", "\"abc\"", "\"b\"", Some(false)),
            ("type", "1.0", "\"integer\"", Some(true)),
            ("type", "1.5", "\"integer\"", Some(false)),
            ("type", "1", "\"number\"", Some(true)),
            ("length_lte", "\"\u{1f600}\u{e9}\"", "2", Some(true)),
            ("length_gte", "{\"a\":1}", "2", Some(false)),
            ("length_gte", "null", "0", None),
            ("not_in", "\"1\"", "[1]", Some(true)),
            ("glob", "\"a/b\"", "\"a*\"", Some(true)),
            ("host_not_in", "\"ftp://x\"", "[\"y\"]", None),
        ] {
            assert_eq!(judge(op, found, wanted, Kind::Require), expected, "{op} {found}");
        }
    }

    #[test]
    fn doubles_count_towards_safety_only() {
        let (a, b) = ("9007199254740993", "9007199254740992");
        assert_eq!(judge("eq", a, b, Kind::Require), Some(false));
        assert_eq!(judge("eq", a, b, Kind::DenyIf), Some(true));
        assert_eq!(judge("neq", a, b, Kind::Require), Some(false));
        assert_eq!(judge("neq", a, b, Kind::ApproveIf), Some(true));
        assert_eq!(judge("lt", b, a, Kind::DenyIf), Some(true));
        let (list, other) = ("[9007199254740993]", "[9007199254740992]");
        assert_eq!(judge("in", a, other, Kind::ApproveIf), Some(true));
        assert_eq!(judge("not_in", a, other, Kind::Require), Some(false));
        assert_eq!(judge("contains", list, b, Kind::DenyIf), Some(true));
        assert_eq!(judge("not_contains", list, b, Kind::Require), Some(false));
        assert_eq!(judge("not_contains", list, b, Kind::DenyIf), Some(true));
    }
}
