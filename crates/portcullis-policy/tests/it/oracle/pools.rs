//! Small pools that random policies and calls are drawn from: few enough to meet often, odd enough to
//! be worth meeting. And what an argument under a given key usually looks like.

use super::random::Random;
use super::value::Val;

pub(crate) const TOOLS: [&str; 9] =
    ["eval", "evaluate", "Eval", "e*", "read/file", "a~b", "list_files", "\u{65e5}\u{672c}", "x"];
pub(crate) const TOOL_GLOBS: [&str; 13] =
    ["e*", "ev*", "*l", "?val", "*", "*/*", "read?file", "e*l", "*e", "l*s", "a~*", "??", "*val*"];
pub(crate) const ZONES: [&str; 11] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/Nuuk",
    "Pacific/Apia",
];
pub(crate) const TAME_NUMBERS: [&str; 16] =
    ["0", "1", "1.0", "1e0", "2", "3", "5", "10", "10.0", "0.5", "2.5", "-1", "-0", "100", "1e2", "7"];
pub(crate) const WILD_NUMBERS: [&str; 24] = [
    "0",
    "1",
    "1.0",
    "10e-1",
    "2",
    "3",
    "0.1",
    "0.10",
    "0.1000000000000000000001",
    "0.30000000000000004",
    "0.3",
    "-1",
    "-0.0",
    "9007199254740992",
    "9007199254740993",
    "9007199254740992.0000001",
    "10000000000000000999",
    "1e19",
    "1E+19",
    "10000000000000000000",
    "1e399",
    "9e400",
    "-1e400",
    "1e-400",
];
pub(crate) const TEXTS: [&str; 18] = [
    "",
    "abc",
    "Abc",
    "xabcx",
    "snapshot: true",
    "SNAPSHOT:true",
    "FileSystem root",
    "h\u{e9}",
    "he\u{301}",
    "\u{65e5}\u{672c}",
    "\u{1f600}",
    "a/b",
    "line\nabc",
    "a\\b\"c",
    "a*c",
    "12",
    "null",
    "\u{0}",
];
pub(crate) const TEXT_PARTS: [&str; 10] =
    ["", "a", "abc", "c", "snapshot", "\u{e9}", "\u{301}", "root", "1", "eval"];
pub(crate) const REGEXES: [&str; 12] = [
    r"(?i)snapshot:\s*true",
    "^a",
    "c$",
    "^abc$",
    ".",
    "[0-9]+",
    "\u{e9}",
    "^$",
    r"\d{2,}",
    "(?m)^abc$",
    r"^[a-z/]+\z",
    "val|read",
];
pub(crate) const TEXT_GLOBS: [&str; 10] = ["*", "a*", "?bc", "*abc*", "a?c*", "", "[a]*", "a\\*", "*l", "??"];
pub(crate) const URLS: [&str; 36] = [
    "http://example.com/",
    "https://example.com",
    "HTTP://EXAMPLE.com./x?y#z",
    "https://a.example.com:8443/p",
    "https://a.b.example.com",
    "http://evilexample.com/",
    "http://example.com.evil.org/",
    "http://ex%61mple.com/",
    "http://example.com%2eevil.org/",
    "http://user@example.com/",
    "http://user:pw@evil.org/",
    "http://@example.com/",
    "http://example.com/@evil.org",
    "http://example.com\\@evil.org/",
    "http://evil.org#@example.com/",
    "http://evil.org?@example.com",
    "http:/example.com",
    "http:///example.com",
    "//example.com",
    "ftp://example.com/",
    "https:example.com",
    "http://127.0.0.1/",
    "http://127.1:80/",
    "http://0x7f.0.0.1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://[::1]/",
    "http://[0:0:0::1]:80/",
    "http://[::ffff:127.0.0.1]/",
    "http://1.2.3.256/",
    "http://b\u{fc}cher.example/",
    "http://xn--bcher-kva.example/",
    "http://\u{ff45}xample\u{3002}com/",
    "http://example.com:99999/",
    "http://exa mple.com/",
    " http://example.com/",
];
pub(crate) const HOSTS: [&str; 13] = [
    "example.com",
    "EXAMPLE.com.",
    "*.example.com",
    "127.0.0.1",
    "0x7f.1",
    "::1",
    "[::1]",
    "::ffff:127.0.0.1",
    "b\u{fc}cher.example",
    "xn--bcher-kva.example",
    "*.b\u{fc}cher.example",
    "evil.org",
    "localhost",
];
pub(crate) const FILE_PATHS: [&str; 22] = [
    "/srv/data/a.txt",
    "/srv/data",
    "/srv/data/",
    "/srv/database",
    "/srv/data/../x",
    "/srv/./data//b",
    "//srv/data/x",
    "/..",
    "/../srv/data",
    "/",
    "/srv/data/...",
    "/srv/da ta",
    "/tmp/x/../../srv/data/y",
    "srv/data",
    "",
    "./srv",
    "/srv/data/%2e%2e/x",
    "/srv/%2Fdata",
    "/srv/data\\x",
    "/srv/data/\u{0}x",
    "/srv/data/%5Cq",
    "/srv/data/%2",
];
pub(crate) const DIRECTORIES: [&str; 6] =
    ["/srv/data", "/srv/data/", "/", "/srv/x/../data", "//srv//./data", "/tmp"];
pub(crate) const URIS: [&str; 17] = [
    "pharo://classes/Object",
    "PHARO://Classes/Object",
    "pharo://classes/Object/../Secret",
    "pharo://classes/%2E%2e/Secret",
    "pharo://classes/.%2e",
    "pharo://classes/a\\..\\b",
    "pharo://classes/./Object",
    "pharo://classes/a..b",
    "pharo://classes/Object?x=/../y",
    "pharo://packages/Kernel",
    "pharo://classes",
    "file:///etc/passwd",
    "FILE:///Etc/passwd",
    "urn:Thing",
    "file:///etc/p%61sswd",
    "file:///etc%2fpasswd",
    "pharo://%43lasses/%4fbject",
];
pub(crate) const URI_GLOBS: [&str; 10] = [
    "pharo://classes/*",
    "pharo://*",
    "pharo://classes/?bject",
    "*",
    "file:///etc/*",
    "*Secret*",
    "urn:*",
    "pharo://classes/Object*",
    "*[a]*",
    "file:///%65tc/passwd",
];
pub(crate) const PROMPTS: [&str; 4] = ["review", "Review", "re/view", "plan"];
pub(crate) const PROMPT_GLOBS: [&str; 5] = ["re*", "review", "?lan", "*", "R*"];
pub(crate) const DATES: [&str; 4] = ["2026-10-25", "2026-11-15", "2026-11-16", "2027-01-01"];
pub(crate) const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
pub(crate) const LABELS: [&str; 2] = ["ci", "dev"];
pub(crate) const TAGS: [&str; 3] = ["night", "beta", "abc"];
pub(crate) const SERVERS: [&str; 2] = ["pharo", "files"];
pub(crate) const CLIENTS: [&str; 2] = ["test", "Abc"];
pub(crate) const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// What a value is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    Number,
    Text,
    Url,
    FilePath,
    Flag,
    Items,
    Texts,
    Links,
    Files,
    Options,
}

pub(crate) const FLAVOURS: [Flavour; 10] = [
    Flavour::Number,
    Flavour::Text,
    Flavour::Url,
    Flavour::FilePath,
    Flavour::Flag,
    Flavour::Items,
    Flavour::Texts,
    Flavour::Links,
    Flavour::Files,
    Flavour::Options,
];

/// The keys of arguments and what usually stands there.
pub(crate) const KEYS: [(&str, Flavour); 13] = [
    ("amount", Flavour::Number),
    ("n", Flavour::Number),
    ("code", Flavour::Text),
    ("name", Flavour::Text),
    ("odd key", Flavour::Text),
    ("a.b\"]", Flavour::Text),
    ("url", Flavour::Url),
    ("path", Flavour::FilePath),
    ("flag", Flavour::Flag),
    ("items", Flavour::Items),
    ("list", Flavour::Texts),
    ("links", Flavour::Links),
    ("opts", Flavour::Options),
];

/// Draws numbers that a schema can be held against without rounding, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    Tame,
    Wild,
}

pub(crate) fn number(random: &mut Random, numbers: Numbers) -> String {
    match numbers {
        Numbers::Tame => random.pick(&TAME_NUMBERS).to_owned(),
        Numbers::Wild => random.pick(&WILD_NUMBERS).to_owned(),
    }
}

fn drawn(random: &mut Random, pool: &[&str]) -> Val {
    Val::str(random.pick(pool))
}

fn list(random: &mut Random, element: impl Fn(&mut Random) -> Val) -> Val {
    let length = random.pick(&[0, 1, 1, 2, 2, 3]);
    Val::Arr((0..length).map(|_| element(random)).collect())
}

/// A value of this flavour, now and then of another.
pub(crate) fn value(random: &mut Random, flavour: Flavour, numbers: Numbers) -> Val {
    if random.percent(16) {
        return odd_value(random, numbers);
    }
    plain_value(random, flavour, numbers)
}

fn odd_value(random: &mut Random, numbers: Numbers) -> Val {
    match random.below(4) {
        0 => Val::Null,
        1 => Val::Arr(Vec::new()),
        _ => {
            let flavour = random.pick(&FLAVOURS);
            plain_value(random, flavour, numbers)
        }
    }
}

fn plain_value(random: &mut Random, flavour: Flavour, numbers: Numbers) -> Val {
    match flavour {
        Flavour::Number => Val::Num(number(random, numbers)),
        Flavour::Text => drawn(random, &TEXTS),
        Flavour::Url => drawn(random, &URLS),
        Flavour::FilePath => drawn(random, &FILE_PATHS),
        Flavour::Flag => Val::Bool(random.percent(50)),
        Flavour::Items => list(random, |r| item(r, numbers)),
        Flavour::Texts => list(random, |r| match r.percent(70) {
            true => drawn(r, &TEXTS),
            false => Val::Num(number(r, numbers)),
        }),
        Flavour::Links => list(random, |r| drawn(r, &URLS)),
        Flavour::Files => list(random, |r| drawn(r, &FILE_PATHS)),
        Flavour::Options => options(random, numbers),
    }
}

/// The members that happen to be there.
fn some_of(random: &mut Random, fields: &[(&str, Flavour)], numbers: Numbers) -> Val {
    let mut members = Vec::new();
    for (key, flavour) in fields {
        if random.percent(80) {
            members.push(((*key).to_owned(), value(random, *flavour, numbers)));
        }
    }
    random.shuffle(&mut members);
    Val::Obj(members)
}

fn item(random: &mut Random, numbers: Numbers) -> Val {
    if random.percent(8) {
        return odd_value(random, numbers);
    }
    some_of(random, &[("sku", Flavour::Text), ("qty", Flavour::Number)], numbers)
}

fn options(random: &mut Random, numbers: Numbers) -> Val {
    let fields = [("depth", Flavour::Number), ("url", Flavour::Url), ("label", Flavour::Text)];
    some_of(random, &fields, numbers)
}

pub(crate) fn arguments(random: &mut Random, numbers: Numbers) -> Val {
    let mut members = Vec::new();
    for (key, flavour) in KEYS {
        if random.percent(70) {
            members.push((key.to_owned(), value(random, flavour, numbers)));
        }
    }
    random.shuffle(&mut members);
    Val::Obj(members)
}
