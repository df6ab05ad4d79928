//! Makes a `Doc` from JSON that is known to be a valid policy, so that examples can be written as
//! policies are. It refuses nothing politely: what it does not know, it panics about.

use super::document::{
    Action, Align, Answer, Class, Condition, Default, Detector, Doc, Entry, Limit, Listing, Mode, Op, Period,
    RateLimit, RequestKind, Rule, Scope, Section, Validate, Window,
};
use super::paths::Path;
use super::value::Val;

pub(crate) fn document(value: &Val) -> Doc {
    let text = |name: &str| value.get(name).map(words);
    Doc {
        default: Default::named(&words(value.get("default").unwrap())),
        description: text("description"),
        mode: text("mode").map(|m| Mode::named(&m)),
        timezone: text("timezone"),
        list: text("list").map(|l| Listing::named(&l)),
        hide: value.get("hide").map(all_words),
        all_tools: value.get("all_tools").map(entry),
        classes: value.get("classes").map(|v| {
            let named = |(key, v): &(String, Val)| (Class::named(key), entry(v));
            members(v).iter().map(named).collect()
        }),
        tools: value.get("tools").map(|v| {
            let named = |(key, v): &(String, Val)| (key.clone(), entry(v));
            members(v).iter().map(named).collect()
        }),
        resources: value.get("resources").map(section),
        prompts: value.get("prompts").map(section),
        server_requests: value.get("server_requests").map(|v| {
            let named = |(key, v): &(String, Val)| (RequestKind::named(key), Answer::named(&words(v)));
            members(v).iter().map(named).collect()
        }),
    }
}

fn entry(value: &Val) -> Entry {
    Entry {
        action: value.get("action").map(|v| Action::named(&words(v))),
        reason: value.get("reason").map(words),
        require: value.get("require").map(rules),
        deny_if: value.get("deny_if").map(rules),
        approve_if: value.get("approve_if").map(rules),
        limits: value.get("limits").map(|v| elements(v).iter().map(limit).collect()),
        rate_limit: value.get("rate_limit").map(rate_limit),
        validate: value.get("validate").map(|v| Validate::named(&words(v))),
        set: value.get("set").map(|v| {
            let forced = |(path, v): &(String, Val)| (Path::read(path), v.clone());
            members(v).iter().map(forced).collect()
        }),
        redact: value.get("redact").map(|v| {
            let names = all_words(v);
            names.iter().map(|name| Detector::named(name)).collect()
        }),
    }
}

fn rules(value: &Val) -> Vec<Rule> {
    elements(value).iter().map(rule).collect()
}

fn rule(value: &Val) -> Rule {
    let conditions = elements(value.get("conditions").unwrap());
    let field = ["on_deny", "ask"].into_iter().find(|f| value.get(f).is_some());
    Rule {
        conditions: conditions.iter().map(condition).collect(),
        words: field.map(|f| (f.to_owned(), words(value.get(f).unwrap()))),
    }
}

fn condition(value: &Val) -> Condition {
    Condition {
        path: Path::read(&words(value.get("path").unwrap())),
        op: Op::named(&words(value.get("op").unwrap())),
        value: value.get("value").unwrap().clone(),
    }
}

fn limit(value: &Val) -> Limit {
    Limit {
        counter: words(value.get("counter").unwrap()),
        window: window(value.get("window").unwrap()),
        max: number(value.get("max").unwrap()),
        scope: value.get("scope").map(|v| Scope::named(&words(v))),
        increment: value.get("increment").map(number),
        increment_from: value.get("increment_from").map(|v| Path::read(&words(v))),
        align: value.get("align").map(|v| Align::named(&words(v))),
        on_deny: value.get("on_deny").map(words),
    }
}

fn rate_limit(value: &Val) -> RateLimit {
    if let Val::Str(text) = value {
        let (max, window) = text.split_once('/').unwrap();
        return RateLimit::Text { max: max.to_owned(), window: window_in_text(window) };
    }
    RateLimit::Object {
        max: number(value.get("max").unwrap()),
        window: window(value.get("window").unwrap()),
        scope: value.get("scope").map(|v| Scope::named(&words(v))),
        on_deny: value.get("on_deny").map(words),
    }
}

fn window(value: &Val) -> Window {
    match value {
        Val::Num(seconds) => Window::Seconds(seconds.parse().unwrap()),
        _ => window_in_text(&words(value)),
    }
}

fn window_in_text(text: &str) -> Window {
    if let Ok(seconds) = text.parse() {
        return Window::Seconds(seconds);
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let unit = text.chars().last().unwrap();
        return Window::Counted(text.trim_end_matches(unit).parse().unwrap(), unit);
    }
    Window::Named(Period::named(text))
}

fn section(value: &Val) -> Section {
    Section {
        default: value.get("default").map(|v| Default::named(&words(v))),
        allow: value.get("allow").map(all_words),
        deny: value.get("deny").map(all_words),
    }
}

fn words(value: &Val) -> String {
    match value {
        Val::Str(text) => text.clone(),
        other => panic!("not a string: {other:?}"),
    }
}

fn number(value: &Val) -> String {
    match value {
        Val::Num(spelling) => spelling.clone(),
        other => panic!("not a number: {other:?}"),
    }
}

fn elements(value: &Val) -> &[Val] {
    match value {
        Val::Arr(elements) => elements,
        other => panic!("not a list: {other:?}"),
    }
}

fn members(value: &Val) -> &[(String, Val)] {
    match value {
        Val::Obj(members) => members,
        other => panic!("not an object: {other:?}"),
    }
}

fn all_words(value: &Val) -> Vec<String> {
    elements(value).iter().map(words).collect()
}
