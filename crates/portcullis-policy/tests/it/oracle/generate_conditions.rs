//! Random rules and conditions, drawn so that they hold about half of the time.

use super::document::{Class, Condition, Op, Rule};
use super::operators::Kind;
use super::paths::Path;
use super::pools::{self, Flavour, Numbers};
use super::random::Random;
use super::value::Val;

const NUMBER_PATHS: [&str; 7] = [
    "args.amount",
    "args[\"n\"]",
    "args.n",
    "args.items[*].qty",
    "args.items[0].qty",
    "args.opts.depth",
    "time.hour",
];
const TEXT_PATHS: [&str; 18] = [
    "args.code",
    "args.name",
    "args[\"odd key\"]",
    "args[\"a.b\\\"]\"]",
    "args.items[*].sku",
    "args.items[1].sku",
    "args.opts.label",
    "args.list[*]",
    "args.list[0]",
    "tool.name",
    "tool.class",
    "server.name",
    "grant.label",
    "grant.tags[*]",
    "grant.tags[0]",
    "client.name",
    "time.weekday",
    "time.date",
];
const URL_PATHS: [&str; 4] = ["args.url", "args.opts.url", "args.links[*]", "args.links[0]"];
const FILE_PATHS: [&str; 2] = ["args.path", "args.path"];
const LIST_PATHS: [&str; 4] = ["args.items", "args.list", "grant.tags", "args.links"];
const OBJECT_PATHS: [&str; 4] = ["args.opts", "args", "args.items[0]", "args.items[*]"];
const STRANGE_PATHS: [&str; 14] = [
    "args.amount",
    "args.flag",
    "args.code",
    "args.opts",
    "args.nothing",
    "args.opts.nothing",
    "args.items[9]",
    "args.nothing[*].x",
    "args.code.x",
    "args.amount[0]",
    "args.url[*]",
    "args.opts[*]",
    "args[0]",
    "args.list[*].x[*]",
];

pub(crate) fn rules(random: &mut Random, kind: Kind, numbers: Numbers) -> Vec<Rule> {
    let count = random.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
    (0..count).map(|_| rule(random, kind, numbers)).collect()
}

fn rule(random: &mut Random, kind: Kind, numbers: Numbers) -> Rule {
    let count = random.pick(&[0, 1, 1, 1, 1, 1, 2, 2, 3]);
    let conditions = (0..count).map(|_| condition(random, numbers)).collect();
    let asks = kind == Kind::ApproveIf && random.percent(70);
    let field = if asks { "ask" } else { "on_deny" };
    let words = random.percent(50).then(|| {
        let words = random.pick(&["Not like this.", "Ask \"Ada\" first.", "\u{2603} no"]);
        (field.to_owned(), words.to_owned())
    });
    Rule { conditions, words }
}

fn condition(random: &mut Random, numbers: Numbers) -> Condition {
    let op = loop {
        let op = random.pick(Op::ALL);
        if op != Op::Schema || numbers == Numbers::Tame {
            break op;
        }
    };
    let path = match random.percent(20) {
        true => random.pick(&STRANGE_PATHS),
        false => path_for(random, op),
    };
    Condition { value: wanted(random, op, path, numbers), path: Path::read(path), op }
}

fn path_for(random: &mut Random, op: Op) -> &'static str {
    match op {
        Op::Lt | Op::Lte | Op::Gt | Op::Gte => random.pick(&NUMBER_PATHS),
        Op::Regex | Op::NotRegex | Op::StartsWith | Op::EndsWith | Op::Glob => random.pick(&TEXT_PATHS),
        Op::HostIn | Op::HostNotIn => random.pick(&URL_PATHS),
        Op::PathWithin => random.pick(&FILE_PATHS),
        Op::Contains | Op::NotContains => match random.percent(50) {
            true => random.pick(&TEXT_PATHS),
            false => random.pick(&LIST_PATHS),
        },
        Op::LengthLte | Op::LengthGte => match random.below(3) {
            0 => random.pick(&TEXT_PATHS),
            1 => random.pick(&LIST_PATHS),
            _ => random.pick(&OBJECT_PATHS),
        },
        _ => match random.below(6) {
            0 | 1 => random.pick(&NUMBER_PATHS),
            2 | 3 => random.pick(&TEXT_PATHS),
            4 => random.pick(&LIST_PATHS),
            _ => random.pick(&OBJECT_PATHS),
        },
    }
}

fn wanted(random: &mut Random, op: Op, path: &str, numbers: Numbers) -> Val {
    let text = |random: &mut Random, pool: &[&str]| Val::str(random.pick(pool));
    match op {
        Op::Eq | Op::Neq => likely(random, path, numbers),
        Op::In | Op::NotIn => {
            let count = random.below(6);
            Val::Arr((0..count).map(|_| likely(random, path, numbers)).collect())
        }
        Op::Contains | Op::NotContains => match random.percent(60) {
            true => text(random, &pools::TEXT_PARTS),
            false => likely_element(random, path, numbers),
        },
        Op::Lt | Op::Lte | Op::Gt | Op::Gte => match path {
            "time.hour" => Val::Num(random.below(24).to_string()),
            _ => Val::Num(pools::number(random, numbers)),
        },
        Op::Regex | Op::NotRegex => text(random, &pools::REGEXES),
        Op::StartsWith | Op::EndsWith => text(random, &pools::TEXT_PARTS),
        Op::Glob => text(random, &pools::TEXT_GLOBS),
        Op::Exists => Val::Bool(random.percent(60)),
        Op::Type => text(random, &pools::TYPES),
        Op::LengthLte | Op::LengthGte => Val::Num(random.below(7).to_string()),
        Op::HostIn | Op::HostNotIn => texts(random, &pools::HOSTS),
        Op::PathWithin => texts(random, &pools::DIRECTORIES),
        Op::Schema => schema(random, 2),
    }
}

fn texts(random: &mut Random, pool: &[&str]) -> Val {
    let count = 1 + random.below(4);
    Val::Arr((0..count).map(|_| Val::str(random.pick(pool))).collect())
}

/// A value that what stands at the path may well be equal to.
fn likely(random: &mut Random, path: &str, numbers: Numbers) -> Val {
    let flavour = match path {
        "tool.name" => return Val::str(random.pick(&pools::TOOLS)),
        "tool.class" => return Val::str(random.pick(Class::ALL).name()),
        "server.name" => return Val::str(random.pick(&pools::SERVERS)),
        "grant.label" => return Val::str(random.pick(&pools::LABELS)),
        "client.name" => return Val::str(random.pick(&pools::CLIENTS)),
        "time.weekday" => return Val::str(random.pick(&pools::WEEKDAYS)),
        "time.date" => return Val::str(random.pick(&pools::DATES)),
        "time.hour" => return Val::Num(random.below(24).to_string()),
        path if path.starts_with("grant.tags[") => return Val::str(random.pick(&pools::TAGS)),
        path if NUMBER_PATHS.contains(&path) => Flavour::Number,
        "args.items" => Flavour::Items,
        "args.list" => Flavour::Texts,
        "args.opts" => Flavour::Options,
        _ => Flavour::Text,
    };
    pools::value(random, flavour, numbers)
}

fn likely_element(random: &mut Random, path: &str, numbers: Numbers) -> Val {
    match path {
        "grant.tags" => Val::str(random.pick(&pools::TAGS)),
        "args.links" => Val::str(random.pick(&pools::URLS)),
        _ => match random.percent(50) {
            true => Val::Num(pools::number(random, numbers)),
            false => Val::str(random.pick(&pools::TEXTS)),
        },
    }
}

/// A schema for what may stand anywhere in the arguments.
fn schema(random: &mut Random, depth: usize) -> Val {
    let field = |name: &str, value: Val| (name.to_owned(), value);
    let mut fields = Vec::new();
    if random.percent(60) {
        fields.push(field("type", Val::str(random.pick(&pools::TYPES))));
    }
    match random.below(6) {
        0 => fields.push(field("minimum", Val::Num(random.below(4).to_string()))),
        1 => fields.push(field("maximum", Val::Num(random.below(9).to_string()))),
        2 => fields.push(field("minLength", Val::Num(random.below(5).to_string()))),
        3 => {
            let values = [Val::num("1"), Val::str("abc"), Val::Null, Val::num("2.5")];
            fields.push(field("enum", Val::Arr(values.to_vec())));
        }
        4 if depth > 0 => fields.push(field("items", schema(random, depth - 1))),
        _ => {}
    }
    if depth > 0 && random.percent(20) {
        let word = random.pick(&["allOf", "anyOf"]);
        let parts = vec![schema(random, depth - 1), schema(random, depth - 1)];
        fields.push(field(word, Val::Arr(parts)));
    }
    Val::Obj(fields)
}

/// What the other schemas do not use: references, patterns, conditions, what is left over.
const FIXED_SCHEMAS: [&str; 4] = [
    r##"{"$ref":"#/$defs/all","$defs":{"all":{"properties":{"opts":{}},"additionalProperties":{}}}}"##,
    r#"{"patternProperties":{"^[a-l]":{},"[m-z]$":true},"properties":{"name":{"type":"string"}}}"#,
    r#"{"if":{"required":["flag"]},"then":{"additionalProperties":true},"else":{"properties":{"n":{}}}}"#,
    r#"{"allOf":[{"properties":{"amount":{},"n":{}}}],"unevaluatedProperties":{"minLength":1}}"#,
];

/// A schema for a whole set of arguments, so loose that many satisfy it.
pub(crate) fn input_schema(random: &mut Random) -> Val {
    if random.percent(6) {
        return Val::Obj(vec![("type".to_owned(), Val::str("nonsense"))]);
    }
    if random.percent(10) {
        return super::value::read(random.pick(&FIXED_SCHEMAS));
    }
    let mut fields = vec![("type".to_owned(), Val::str("object"))];
    let properties = Val::Obj(properties(random));
    if random.percent(20) {
        let word = random.pick(&["allOf", "anyOf"]);
        let part = |properties| Val::Obj(vec![("properties".to_owned(), properties)]);
        let more = Val::Obj(self::properties(random));
        fields.push((word.to_owned(), Val::Arr(vec![part(properties), part(more)])));
    } else if random.percent(90) {
        fields.push(("properties".to_owned(), properties));
    }
    if random.percent(20) {
        let (key, _) = random.pick(&pools::KEYS);
        fields.push(("required".to_owned(), Val::Arr(vec![Val::str(key)])));
    }
    if random.percent(35) {
        let other = [Val::Bool(true), Val::Bool(false), schema(random, 1)];
        fields.push(("additionalProperties".to_owned(), random.pick(&other)));
    }
    Val::Obj(fields)
}

fn properties(random: &mut Random) -> Vec<(String, Val)> {
    let mut properties = Vec::new();
    for (key, flavour) in pools::KEYS {
        if random.percent(90) {
            properties.push((key.to_owned(), loose_schema(random, flavour)));
        }
    }
    properties
}

fn loose_schema(random: &mut Random, flavour: Flavour) -> Val {
    let read = super::value::read;
    match flavour {
        Flavour::Items => match random.below(3) {
            0 => read(r#"{"items":{"properties":{"sku":{},"qty":{}}}}"#),
            1 => read(r#"{"items":{"properties":{"sku":true},"additionalProperties":{}}}"#),
            _ => Val::Bool(true),
        },
        Flavour::Options => match random.below(3) {
            0 => read(r#"{"properties":{"depth":{},"url":{},"label":{}}}"#),
            1 => read(r#"{"anyOf":[{"additionalProperties":true},{"type":"null"},{}]}"#),
            _ => Val::Obj(Vec::new()),
        },
        Flavour::Number if random.percent(15) => read(r#"{"type":"number","maximum":10}"#),
        Flavour::Text if random.percent(15) => read(r#"{"type":"string","minLength":1}"#),
        _ => match random.percent(95) {
            true => Val::Obj(Vec::new()),
            false => schema(random, 1),
        },
    }
}
