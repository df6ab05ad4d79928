//! Paths: how they are written, and where walking them ends.

use super::value::{Val, read};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `.key`
    Key(String),
    /// `["key"]`
    Quoted(String),
    /// `[0]`
    Index(usize),
    /// `[*]`
    Each,
}

/// A path as written: `args`, or a context path such as `time.hour`, then steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) root: String,
    pub(crate) steps: Vec<Step>,
}

/// Where a walk ended.
#[derive(Clone, Debug)]
pub(crate) enum Reached {
    Found(Val),
    Missing,
    Inapplicable,
}

pub(crate) const CONTEXT_ROOTS: [&str; 9] = [
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

impl Path {
    pub(crate) fn is_about_time(&self) -> bool {
        self.root.starts_with("time.")
    }

    pub(crate) fn write(&self) -> String {
        let mut text = self.root.clone();
        for step in &self.steps {
            match step {
                Step::Key(key) => text.push_str(&format!(".{key}")),
                Step::Quoted(key) => text.push_str(&format!("[{}]", quoted(key))),
                Step::Index(index) => text.push_str(&format!("[{index}]")),
                Step::Each => text.push_str("[*]"),
            }
        }
        text
    }

    /// Reads a path that is known to be valid.
    pub(crate) fn read(text: &str) -> Self {
        let root = CONTEXT_ROOTS.iter().find(|root| text.starts_with(**root));
        let root = root.map_or("args", |root| root);
        let mut rest = text.strip_prefix(root).unwrap();
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = read_step(rest);
            steps.push(step);
            rest = after;
        }
        Self { root: root.to_owned(), steps }
    }

    /// Every place the path leads to: one, or with `[*]` one for each element.
    pub(crate) fn walk(&self, root: Reached) -> Vec<Reached> {
        let mut places = vec![root];
        for step in &self.steps {
            places = places.into_iter().flat_map(|place| take(step, place)).collect();
        }
        places
    }
}

fn take(step: &Step, place: Reached) -> Vec<Reached> {
    let Reached::Found(value) = place else {
        return vec![place];
    };
    match (step, value) {
        (Step::Key(key) | Step::Quoted(key), Val::Obj(members)) => {
            let found = members.into_iter().find(|(k, _)| k == key);
            vec![found.map_or(Reached::Missing, |(_, v)| Reached::Found(v))]
        }
        (Step::Index(index), Val::Arr(elements)) => {
            let found = elements.into_iter().nth(*index);
            vec![found.map_or(Reached::Missing, Reached::Found)]
        }
        (Step::Each, Val::Arr(elements)) => elements.into_iter().map(Reached::Found).collect(),
        _ => vec![Reached::Inapplicable],
    }
}

fn read_step(text: &str) -> (Step, &str) {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        return (Step::Key(key.to_owned()), after);
    }
    if let Some(rest) = text.strip_prefix("[*]") {
        return (Step::Each, rest);
    }
    if text.starts_with("[\"") {
        let end = closing_quote(text);
        let Val::Str(key) = read(text.get(1..=end).unwrap()) else {
            panic!("not a quoted key: {text}");
        };
        return (Step::Quoted(key), text.get(end + 2..).unwrap());
    }
    let (index, after) = text.strip_prefix('[').unwrap().split_once(']').unwrap();
    (Step::Index(index.parse().unwrap()), after)
}

/// The place of the quote that ends `["…"`, counted in bytes.
fn closing_quote(text: &str) -> usize {
    let mut escaped = false;
    for (place, byte) in text.bytes().enumerate().skip(2) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return place,
            _ => {}
        }
    }
    panic!("no closing quote: {text}");
}

fn quoted(key: &str) -> String {
    super::print::compact(&Val::str(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `f` found, `m` missing, `i` inapplicable, one letter for each place.
    fn letters(path: &str, args: &str) -> String {
        let places = Path::read(path).walk(Reached::Found(read(args)));
        let letter = |place: &Reached| match place {
            Reached::Found(_) => 'f',
            Reached::Missing => 'm',
            Reached::Inapplicable => 'i',
        };
        places.iter().map(letter).collect()
    }

    #[test]
    fn walks_end_as_the_page_says() {
        for (path, args, expected) in [
            ("args", "{}", "f"),
            ("args.a", "{}", "m"),
            ("args.a", r#"{"a":null}"#, "f"),
            ("args.a.b", r#"{"a":null}"#, "i"),
            ("args.a.b", "{}", "m"),
            ("args.a[0]", r#"{"a":{}}"#, "i"),
            ("args.a[1]", r#"{"a":[1]}"#, "m"),
            ("args.a[*]", r#"{"a":[]}"#, ""),
            ("args.a[*]", "{}", "m"),
            ("args.a[*]", r#"{"a":null}"#, "i"),
            ("args.a[*].b", r#"{"a":[{"b":1},{},3]}"#, "fmi"),
            ("args.a[*].b[*]", r#"{"a":[{"b":[1,2]},{"b":[]},{}]}"#, "ffm"),
            (r#"args["a.b"].c"#, r#"{"a.b":{"c":1}}"#, "f"),
        ] {
            assert_eq!(letters(path, args), expected, "{path} in {args}");
        }
    }

    #[test]
    fn paths_are_written_as_they_are_read() {
        for text in
            ["args", "args.a[0].b[*][\"odd \\\"key\"]", "time.hour", "grant.tags[*]", "args[\"]\"][2]"]
        {
            assert_eq!(Path::read(text).write(), text);
        }
    }
}
