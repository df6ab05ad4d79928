//! Limits and their short form, compiled.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use portcullis_json::{Decimal, Number, Object, Pointer, Value};

use super::text;
use crate::limits::{Limit, Window, WindowLength};
use crate::path::{Path, Root};
use crate::policy::{Alignment, Amount, CounterName, Entry, LimitEntry, Policy, ScopeKind};
use crate::problem::Problems;

/// The `limits` of an entry.
pub(super) fn limits(
    object: &Object,
    at: &Pointer,
    zone: &TimeZone,
    problems: &mut Problems,
) -> Vec<LimitEntry> {
    let elements = object.get("limits").and_then(Value::as_array).unwrap_or_default();
    let indexed =
        elements.iter().enumerate().filter_map(|(index, element)| Some((index, element.as_object()?)));
    indexed.filter_map(|(index, limit)| one(limit, &at.key("limits").index(index), zone, problems)).collect()
}

fn one(object: &Object, at: &Pointer, zone: &TimeZone, problems: &mut Problems) -> Option<LimitEntry> {
    let length = object.get("window").and_then(|value| window(value, &at.key("window"), problems));
    let max = object.get("max").and_then(|value| not_negative(value, "max", &at.key("max"), problems));
    let amount = amount(object, at, problems);
    let alignment = alignment(object, length?, at, problems)?;
    let counter = text(object, "counter")?;
    if counter.is_empty() {
        problems.error(&at.key("counter"), "a counter needs a name");
    }
    Some(LimitEntry {
        counter: CounterName::Fixed(counter.to_owned()),
        scope: scope(object),
        limit: Limit {
            pointer: at.as_str().into(),
            window: with_zone(alignment, zone),
            sentence: sentence(matches!(amount, Some(Amount::Fixed(_))), max.as_ref()?, length?),
            max: max?,
            on_deny: text(object, "on_deny").map(str::to_owned),
        }
        .into(),
        amount: amount?,
        alignment,
    })
}

/// The `rate_limit` of an entry: an object, or `"10/minute"`.
pub(super) fn rate_limit(
    object: &Object,
    at: &Pointer,
    counter: Option<&str>,
    zone: &TimeZone,
    problems: &mut Problems,
) -> Option<LimitEntry> {
    let at = at.key("rate_limit");
    let empty = Object::new();
    let value = object.get("rate_limit")?;
    let (max, length, details) = match value {
        Value::String(text) => {
            let (max, length) = short_form(text).map_err(|message| problems.error(&at, message)).ok()?;
            (max, length, &empty)
        }
        Value::Object(object) => {
            let length = object.get("window").and_then(|value| window(value, &at.key("window"), problems));
            let max =
                object.get("max").and_then(|value| not_negative(value, "max", &at.key("max"), problems));
            (max?, length?, object)
        }
        _ => return None,
    };
    let alignment = Alignment::Sliding { seconds: length.seconds };
    Some(LimitEntry {
        counter: counter.map_or(CounterName::CalledTool, |name| CounterName::Fixed(name.to_owned())),
        scope: scope(details),
        amount: Amount::Fixed(Decimal::ONE),
        limit: Limit {
            pointer: at.as_str().into(),
            window: with_zone(alignment, zone),
            sentence: sentence(true, &max, length),
            max,
            on_deny: text(details, "on_deny").map(str::to_owned),
        }
        .into(),
        alignment,
    })
}

fn short_form(text: &str) -> Result<(Decimal, WindowLength), String> {
    let wrong = || format!("`{text}` is not a rate; write it like `10/minute` or `5/15m`");
    let (max, window) = text.split_once('/').ok_or_else(wrong)?;
    let max = Number::parse(max)
        .map(|number| number.decimal())
        .filter(|max| !max.is_negative())
        .ok_or_else(wrong)?;
    let is_seconds = !window.is_empty() && window.bytes().all(|byte| byte.is_ascii_digit());
    let length = match window.parse() {
        Ok(seconds) if is_seconds => WindowLength::from_seconds(seconds),
        _ => WindowLength::parse(window),
    };
    length.map(|length| (max, length)).map_err(|message| format!("{}: {message}", wrong()))
}

fn window(value: &Value, at: &Pointer, problems: &mut Problems) -> Option<WindowLength> {
    let length = match value {
        Value::String(text) => WindowLength::parse(text),
        Value::Number(number) => match number.as_i64().and_then(|seconds| u64::try_from(seconds).ok()) {
            Some(seconds) => WindowLength::from_seconds(seconds),
            None => Err(format!("`{}` is not a window in whole seconds", number.spelling())),
        },
        _ => return None,
    };
    length.map_err(|message| problems.error(at, message)).ok()
}

fn not_negative(value: &Value, name: &str, at: &Pointer, problems: &mut Problems) -> Option<Decimal> {
    let decimal = value.as_number()?.decimal();
    if decimal.is_negative() {
        problems.error(at, format!("`{name}` must be 0 or more, not `{value}`"));
        return None;
    }
    Some(decimal)
}

fn amount(object: &Object, at: &Pointer, problems: &mut Problems) -> Option<Amount> {
    let fixed = object.get("increment");
    let from = text(object, "increment_from");
    if fixed.is_some() && from.is_some() {
        problems.error_at_key(
            &at.key("increment"),
            "`increment` does not go together with `increment_from`",
            Some("keep one of them".to_owned()),
        );
        return None;
    }
    if let Some(path) = from {
        return match increment_path(path) {
            Ok(path) => Some(Amount::From(path)),
            Err(message) => {
                problems.error(&at.key("increment_from"), message);
                None
            }
        };
    }
    let Some(fixed) = fixed else {
        return Some(Amount::Fixed(Decimal::ONE));
    };
    let decimal = fixed.as_number()?.decimal();
    if decimal <= Decimal::ZERO {
        problems.error(&at.key("increment"), format!("`increment` must be more than 0, not `{fixed}`"));
        return None;
    }
    Some(Amount::Fixed(decimal))
}

fn increment_path(text: &str) -> Result<Path, String> {
    let path = Path::parse(text)?;
    if path.root != Root::Args {
        return Err(format!("`{text}` cannot be counted; `increment_from` takes an `args` path"));
    }
    Ok(path)
}

fn alignment(
    object: &Object,
    length: WindowLength,
    at: &Pointer,
    problems: &mut Problems,
) -> Option<Alignment> {
    if text(object, "align") != Some("calendar") {
        return Some(Alignment::Sliding { seconds: length.seconds });
    }
    match length.unit {
        Some(unit) => Some(Alignment::Calendar { unit }),
        None => {
            let help = "write the window as `second`, `minute`, `hour`, `day`, `week` or `month`";
            problems.error_with_help(&at.key("align"), "`calendar` goes with named windows only", help);
            None
        }
    }
}

fn with_zone(alignment: Alignment, zone: &TimeZone) -> Window {
    match alignment {
        Alignment::Sliding { seconds } => Window::Sliding { seconds },
        Alignment::Calendar { unit } => Window::Calendar { unit, zone: zone.clone() },
    }
}

fn scope(object: &Object) -> ScopeKind {
    match text(object, "scope") {
        Some("session") => ScopeKind::Session,
        Some("server") => ScopeKind::Server,
        Some("global") => ScopeKind::Global,
        _ => ScopeKind::Grant,
    }
}

fn sentence(counts_calls: bool, max: &Decimal, length: WindowLength) -> String {
    let what = if counts_calls { "Rate limit" } else { "Limit" };
    format!("{what} reached: {max} per {}.", length.words())
}

/// Limits that name the same counter must agree on whose it is and how far back it looks.
pub(super) fn check_shared_counters(policy: &Policy, problems: &mut Problems) {
    let mut seen: HashMap<String, (&LimitEntry, String)> = HashMap::new();
    let classes = policy.classes.iter().flatten().map(|(_, entry)| (None, entry));
    let tools = policy.document.get("tools").and_then(Value::as_object).into_iter().flatten();
    let named =
        tools.filter_map(|member| Some((Some(member.key.as_str()), policy.tools.find_key(&member.key)?)));
    let entries: Vec<(Option<&str>, &Entry)> =
        std::iter::once((None, &policy.all_tools)).chain(classes).chain(named).collect();
    for (tool, entry) in entries {
        for limit in &entry.limits {
            let name = match (&limit.counter, tool) {
                (CounterName::Fixed(name), _) => name.clone(),
                (CounterName::CalledTool, Some(tool)) if !crate::glob::Glob::is_glob(tool) => {
                    format!("{tool}_rate")
                }
                // The name is known only when a tool is called; its history serves any window.
                (CounterName::CalledTool, _) => continue,
            };
            let pointer = limit.limit.pointer.to_string();
            match seen.get(&name) {
                Some((first, _)) if agrees(first, limit) => {}
                Some((_, first_pointer)) => disagree(&name, first_pointer, &pointer, problems),
                None => {
                    seen.insert(name, (limit, pointer));
                }
            }
        }
    }
}

fn agrees(a: &LimitEntry, b: &LimitEntry) -> bool {
    a.scope == b.scope && a.alignment == b.alignment
}

fn disagree(name: &str, first: &str, second: &str, problems: &mut Problems) {
    let at = second
        .split('/')
        .skip(1)
        .fold(Pointer::root(), |pointer, step| pointer.key(&step.replace("~1", "/").replace("~0", "~")));
    let message =
        format!("the counter `{name}` is also used by `{first}`, with another scope, align or window");
    problems.error_with_help(
        &at,
        message,
        "make scope, align and window's length agree, or use another name",
    );
}
