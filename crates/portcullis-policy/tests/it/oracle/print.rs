//! Writes values and documents as JSON text, plainly or with a spelling drawn from a seed: key order,
//! white space and escapes, all of which mean nothing.

use super::document::{Condition, Doc, Entry, Limit, RateLimit, Rule, Section, Window};
use super::random::Random;
use super::value::Val;

/// The value on one line, nothing escaped that need not be.
pub(crate) fn compact(value: &Val) -> String {
    printed(value, None)
}

/// The value in a spelling that depends on the seed.
pub(crate) fn varied(value: &Val, seed: u64) -> String {
    printed(value, Some(Random::new(seed)))
}

fn printed(value: &Val, variety: Option<Random>) -> String {
    let mut printer = Printer { variety, out: String::new() };
    printer.print(value);
    printer.out
}

struct Printer {
    variety: Option<Random>,
    out: String,
}

impl Printer {
    fn print(&mut self, value: &Val) {
        match value {
            Val::Null => self.out.push_str("null"),
            Val::Bool(truth) => self.out.push_str(&truth.to_string()),
            Val::Num(spelling) => self.out.push_str(spelling),
            Val::Str(text) => self.string(text),
            Val::Arr(elements) => self.list('[', elements, ']', Self::print),
            Val::Obj(members) => self.list('{', members, '}', |printer, (key, value)| {
                printer.string(key);
                printer.space();
                printer.out.push(':');
                printer.space();
                printer.print(value);
            }),
        }
    }

    fn list<T>(&mut self, open: char, parts: &[T], close: char, print: fn(&mut Self, &T)) {
        self.out.push(open);
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.space();
            print(self, part);
        }
        self.space();
        self.out.push(close);
    }

    fn space(&mut self) {
        if let Some(random) = &mut self.variety
            && random.percent(10)
        {
            self.out.push_str(random.pick(&[" ", "\n", "\t", " \r\n "]));
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            let escape = self.variety.as_mut().is_some_and(|random| random.percent(3));
            match c {
                _ if escape => self.out.push_str(&escaped(c)),
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                c if c < ' ' => self.out.push_str(&escaped(c)),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

fn escaped(c: char) -> String {
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units);
    units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// The document as JSON. With a seed, the fields of objects stand in any order; those of `set`, where
/// the order means something, never move.
pub(crate) fn document(doc: &Doc, seed: Option<u64>) -> Val {
    let mut writer = Writer { order: seed.map(Random::new) };
    writer.document(doc)
}

struct Writer {
    order: Option<Random>,
}

/// A field's name and its value where the author wrote one.
type Field = (&'static str, Option<Val>);

impl Writer {
    fn object(&mut self, fields: Vec<Field>) -> Val {
        let written = |(name, value): Field| value.map(|v| (name.to_owned(), v));
        self.members(fields.into_iter().filter_map(written).collect())
    }

    fn members(&mut self, mut members: Vec<(String, Val)>) -> Val {
        if let Some(order) = &mut self.order {
            order.shuffle(&mut members);
        }
        Val::Obj(members)
    }

    fn document(&mut self, doc: &Doc) -> Val {
        let fields = vec![
            ("version", Some(Val::str("1"))),
            ("description", text(&doc.description)),
            ("default", Some(Val::str(doc.default.name()))),
            ("mode", doc.mode.map(|m| Val::str(m.name()))),
            ("timezone", text(&doc.timezone)),
            ("list", doc.list.map(|l| Val::str(l.name()))),
            ("hide", doc.hide.as_deref().map(texts)),
            ("all_tools", doc.all_tools.as_ref().map(|e| self.entry(e))),
            (
                "classes",
                doc.classes.as_ref().map(|classes| {
                    let named = |(class, e): &(super::document::Class, Entry)| {
                        (class.name().to_owned(), self.entry(e))
                    };
                    let members = classes.iter().map(named).collect();
                    self.members(members)
                }),
            ),
            (
                "tools",
                doc.tools.as_ref().map(|tools| {
                    let named = |(key, e): &(String, Entry)| (key.clone(), self.entry(e));
                    let members = tools.iter().map(named).collect();
                    self.members(members)
                }),
            ),
            ("resources", doc.resources.as_ref().map(|s| self.section(s))),
            ("prompts", doc.prompts.as_ref().map(|s| self.section(s))),
            (
                "server_requests",
                doc.server_requests.as_ref().map(|requests| {
                    let named = requests.iter().map(|(k, a)| (k.name().to_owned(), Val::str(a.name())));
                    self.members(named.collect())
                }),
            ),
        ];
        self.object(fields)
    }

    fn entry(&mut self, entry: &Entry) -> Val {
        let set = entry
            .set
            .as_ref()
            .map(|set| Val::Obj(set.iter().map(|(path, v)| (path.write(), v.clone())).collect()));
        let limits =
            entry.limits.as_ref().map(|limits| Val::Arr(limits.iter().map(|l| self.limit(l)).collect()));
        let redact = entry
            .redact
            .as_ref()
            .map(|detectors| Val::Arr(detectors.iter().map(|d| Val::str(d.name())).collect()));
        let fields = vec![
            ("action", entry.action.map(|a| Val::str(a.name()))),
            ("reason", text(&entry.reason)),
            ("validate", entry.validate.map(|v| Val::str(v.name()))),
            ("set", set),
            ("require", self.rules(entry.require.as_deref())),
            ("deny_if", self.rules(entry.deny_if.as_deref())),
            ("approve_if", self.rules(entry.approve_if.as_deref())),
            ("limits", limits),
            ("rate_limit", entry.rate_limit.as_ref().map(|r| self.rate_limit(r))),
            ("redact", redact),
        ];
        self.object(fields)
    }

    fn rules(&mut self, rules: Option<&[Rule]>) -> Option<Val> {
        rules.map(|rules| Val::Arr(rules.iter().map(|r| self.rule(r)).collect()))
    }

    fn rule(&mut self, rule: &Rule) -> Val {
        let conditions = rule.conditions.iter().map(|c| self.condition(c)).collect();
        let mut members = vec![("conditions".to_owned(), Val::Arr(conditions))];
        if let Some((field, words)) = &rule.words {
            members.push((field.clone(), Val::str(words)));
        }
        self.members(members)
    }

    fn condition(&mut self, condition: &Condition) -> Val {
        self.object(vec![
            ("path", Some(Val::Str(condition.path.write()))),
            ("op", Some(Val::str(condition.op.name()))),
            ("value", Some(condition.value.clone())),
        ])
    }

    fn limit(&mut self, limit: &Limit) -> Val {
        let from = limit.increment_from.as_ref();
        self.object(vec![
            ("counter", Some(Val::str(&limit.counter))),
            ("window", Some(window(&limit.window))),
            ("max", Some(Val::num(&limit.max))),
            ("scope", limit.scope.map(|s| Val::str(s.name()))),
            ("increment", limit.increment.as_deref().map(Val::num)),
            ("increment_from", from.map(|path| Val::Str(path.write()))),
            ("align", limit.align.map(|a| Val::str(a.name()))),
            ("on_deny", text(&limit.on_deny)),
        ])
    }

    fn rate_limit(&mut self, rate: &RateLimit) -> Val {
        match rate {
            RateLimit::Text { max, window } => Val::Str(format!("{max}/{}", window_text(window))),
            RateLimit::Object { max, window: length, scope, on_deny } => self.object(vec![
                ("max", Some(Val::num(max))),
                ("window", Some(window(length))),
                ("scope", scope.map(|s| Val::str(s.name()))),
                ("on_deny", text(on_deny)),
            ]),
        }
    }

    fn section(&mut self, section: &Section) -> Val {
        self.object(vec![
            ("default", section.default.map(|d| Val::str(d.name()))),
            ("allow", section.allow.as_deref().map(texts)),
            ("deny", section.deny.as_deref().map(texts)),
        ])
    }
}

fn window(window: &Window) -> Val {
    match window {
        Window::Seconds(seconds) => Val::Num(seconds.to_string()),
        other => Val::Str(window_text(other)),
    }
}

fn window_text(window: &Window) -> String {
    match window {
        Window::Named(period) => period.name().to_owned(),
        Window::Seconds(seconds) => seconds.to_string(),
        Window::Counted(count, unit) => format!("{count}{unit}"),
    }
}

fn text(words: &Option<String>) -> Option<Val> {
    words.as_deref().map(Val::str)
}

fn texts(words: &[String]) -> Val {
    Val::Arr(words.iter().map(|w| Val::str(w)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::value::{Sameness, read, same};

    #[test]
    fn any_spelling_reads_as_the_same_value() {
        let value = read("{\"a\\\"\\\\\":[1e0,\"\u{1f600}\\n\\u0000\",{}],\"b\":null}");
        for seed in 0..200 {
            let text = varied(&value, seed);
            assert!(same(&value, &read(&text), Sameness::Exact), "{text}");
        }
        assert_eq!(compact(&read(r#"{ "a" : [ 1 , "x" ] }"#)), r#"{"a":[1,"x"]}"#);
    }
}
