//! Servers that look like public ones: how long their descriptions are, how large their schemas.
//!
//! Only sizes were taken from public lists; every word is made up. The same number gives the same server.

use portcullis_json::{Object, Value, compact};

/// Tools of each generated server: the mean of 814 public servers is 9.8.
pub(crate) const TOOLS_PER_SERVER: usize = 10;
/// How long the descriptions of 8,010 public tools are: so many thousandths of them have fewer bytes.
const DESCRIPTIONS: [(usize, usize); 14] = [
    (0, 0),
    (100, 23),
    (200, 31),
    (300, 39),
    (400, 47),
    (500, 58),
    (600, 76),
    (700, 114),
    (800, 185),
    (900, 322),
    (950, 555),
    (990, 1422),
    (998, 2826),
    (1000, 9809),
];
/// Parameters and bytes of the input schemas of the reference server `server-everything`.
const SCHEMAS: [(usize, usize); 13] = [
    (1, 167),
    (2, 357),
    (0, 85),
    (1, 205),
    (2, 249),
    (1, 209),
    (2, 208),
    (0, 85),
    (3, 648),
    (0, 85),
    (0, 85),
    (2, 266),
    (2, 333),
];

pub(crate) const VERBS: &[&str] = &[
    "get", "list", "create", "update", "delete", "search", "send", "run", "read", "export", "pay", "find",
    "describe", "add", "remove", "query", "fetch", "set", "check", "analyze",
];
pub(crate) const NOUNS: &[&str] = &[
    "door", "window", "invoice", "message", "project", "user", "branch", "report", "file", "page", "ticket",
    "team", "record", "event", "device", "order", "policy", "image", "table", "channel", "cluster", "domain",
    "contact", "campaign", "pipeline", "metric", "schema", "bucket", "volume", "sensor",
];
pub(crate) const WORDS: &[&str] = &[
    "returns",
    "details",
    "specific",
    "workspace",
    "optional",
    "filter",
    "identifier",
    "current",
    "results",
    "pagination",
    "limit",
    "format",
    "existing",
    "account",
    "metadata",
    "request",
    "content",
    "status",
    "version",
    "configuration",
    "the",
    "a",
    "of",
    "with",
    "for",
    "and",
    "to",
    "in",
    "by",
    "from",
];

/// A small generator, so that two runs make the same tools.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    pub(crate) fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let at = self.roll(words.len());
        words.get(at).copied().unwrap_or_default()
    }
}

/// The name of a generated server.
pub(crate) fn server_name(server: usize) -> String {
    format!("vendor-{server}/server")
}

/// The answer of `tools/list` of a generated server, as text.
pub(crate) fn definitions(server: usize) -> String {
    let mut dice = Dice(server as u64 + 1);
    let tools: Vec<Value> = (0..TOOLS_PER_SERVER).map(|index| tool(&mut dice, index)).collect();
    compact(&Value::Object(Object::new().with("tools", tools)))
}

fn tool(dice: &mut Dice, index: usize) -> Value {
    let (verb, noun) = (dice.pick(VERBS), dice.pick(NOUNS));
    let length = description_length(dice);
    let description = prose(dice, format!("{verb} a {noun}"), length);
    let (parameters, bytes) = SCHEMAS.get(dice.roll(SCHEMAS.len())).copied().unwrap_or_default();
    let object = Object::new()
        .with("name", format!("{verb}_{noun}_{index}"))
        .with("title", format!("{verb} {noun}"))
        .with("description", description)
        .with("inputSchema", schema(dice, parameters, bytes))
        .with("annotations", Object::new().with("readOnlyHint", matches!(verb, "get" | "list" | "search")));
    Value::Object(object)
}

/// As long as the descriptions of public tools are, the long tail included.
fn description_length(dice: &mut Dice) -> usize {
    let thousandth = dice.roll(1000);
    let between = DESCRIPTIONS.windows(2).find_map(|pair| match pair {
        [low, high] if thousandth < high.0 => Some((*low, *high)),
        _ => None,
    });
    between.map_or(0, |(low, high)| low.1 + (high.1 - low.1) * (thousandth - low.0) / (high.0 - low.0))
}

fn prose(dice: &mut Dice, mut text: String, bytes: usize) -> String {
    while text.len() < bytes {
        text.push(' ');
        text.push_str(dice.pick(WORDS));
    }
    if bytes == 0 { String::new() } else { text }
}

/// A schema with so many parameters, filled up with descriptions to about so many bytes.
fn schema(dice: &mut Dice, parameters: usize, bytes: usize) -> Value {
    const FRAME_BYTES: usize = 85;
    const PARAMETER_BYTES: usize = 55;
    let each = (bytes.saturating_sub(FRAME_BYTES) / parameters.max(1)).saturating_sub(PARAMETER_BYTES);
    let mut properties = Object::new();
    for at in 0..parameters {
        let property = Object::new()
            .with("type", "string")
            .with("description", prose(dice, "the".to_owned(), each.max(3)));
        properties.insert(&format!("{}_{at}", dice.pick(NOUNS)), Value::Object(property));
    }
    let object = Object::new()
        .with("$schema", "http://json-schema.org/draft-07/schema#")
        .with("type", "object")
        .with("properties", properties);
    Value::Object(object)
}
