//! Fills an index with generated servers and measures import, search, disk and memory.
//!
//! usage: catalogue_bench SERVERS TOOLS_PER_SERVER FILE
#![expect(clippy::print_stdout, reason = "a command that prints figures")]

use std::time::Instant;

use portcullis_catalogue::index::{Index, IndexFault, Listing, Search, ServerEntry};
use portcullis_catalogue::record::Provenance;
use portcullis_catalogue::{Class, Level, ToolDefinition};
use portcullis_json::{Object, Value};

const VERBS: &[&str] =
    &["get", "list", "create", "update", "delete", "search", "send", "run", "read", "export", "pay"];
const NOUNS: &[&str] = &[
    "door", "window", "invoice", "message", "project", "user", "branch", "report", "file", "page", "ticket",
    "team", "record", "event", "device", "order", "policy", "image", "table", "channel",
];
const WORDS: &[&str] = &[
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
];

/// A small generator, so that two runs make the same tools.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let at = self.roll(words.len());
        words.get(at).copied().unwrap_or_default()
    }
}

fn tool(dice: &mut Dice, index: usize) -> ToolDefinition {
    let (verb, noun) = (dice.pick(VERBS), dice.pick(NOUNS));
    let mut description = format!("{verb} a {noun}");
    for _ in 0..10 + dice.roll(40) {
        description.push(' ');
        description.push_str(dice.pick(WORDS));
    }
    let mut properties = Object::new();
    for at in 0..2 + dice.roll(6) {
        let property = Object::new()
            .with("type", "string")
            .with("description", format!("the {} to use", dice.pick(WORDS)));
        properties.insert(&format!("{}_{at}", dice.pick(WORDS)), Value::Object(property));
    }
    let schema = Object::new()
        .with("type", "object")
        .with("properties", properties)
        .with("additionalProperties", false);
    ToolDefinition::named(&format!("{verb}_{noun}_{index}"))
        .described(&description)
        .with_schema(Value::Object(schema))
}

fn listing(server: usize, tools: usize) -> Listing {
    let mut dice = Dice(server as u64 + 1);
    Listing {
        server: ServerEntry { name: format!("vendor-{server}/server"), ..ServerEntry::default() },
        tools: (0..tools).map(|index| tool(&mut dice, index)).collect(),
        provenance: Provenance::Imported,
        source: "generated".to_owned(),
        complete: false,
    }
}

fn main() -> Result<(), IndexFault> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (servers, tools): (usize, usize) = (number(5_000), number(10));
    let file = std::env::args().nth(3).unwrap_or_else(|| "catalogue-bench.sqlite".to_owned());
    let path = std::path::Path::new(&file);
    let mut index = Index::open(path)?;
    let start = Instant::now();
    for batch in 0..servers.div_ceil(1000) {
        let range = batch * 1000..(batch * 1000 + 1000).min(servers);
        index.import(range.map(|server| listing(server, tools)), 0)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let total = index.counts()?.total();
    println!("imported {total} tools in {seconds:.1} s: {:.0} a second", total as f64 / seconds);
    println!("on disk {:.0} bytes a tool", std::fs::metadata(path)?.len() as f64 / total as f64);
    measure_searches(&index)?;
    println!("{}", memory());
    Ok(())
}

fn measure_searches(index: &Index) -> Result<(), IndexFault> {
    let mut dice = Dice(7);
    let mut times: Vec<f64> = Vec::new();
    for round in 0..2000 {
        let search = match round % 5 {
            0 => Search { text: Some(dice.pick(NOUNS).to_owned()), ..Search::default() },
            1 => Search {
                text: Some(format!("{} {}", dice.pick(VERBS), dice.pick(NOUNS))),
                class: Some(Class::Write),
                ..Search::default()
            },
            2 => Search {
                text: Some(format!("{} {}", dice.pick(WORDS), dice.pick(NOUNS))),
                level: Some(Level::Critical),
                ..Search::default()
            },
            3 => Search { server: Some(format!("vendor-{}/server", dice.roll(1000))), ..Search::default() },
            _ => Search {
                text: Some(format!("{}_{}_{}", dice.pick(VERBS), dice.pick(NOUNS), dice.roll(10))),
                ..Search::default()
            },
        };
        let start = Instant::now();
        index.search(&Search { most: 20, ..search })?;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    println!("search p50 {:.2} ms, p99 {:.2} ms", at(0.5), at(0.99));
    Ok(())
}

/// Resident memory, where the system tells.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    lines.collect::<Vec<_>>().join(", ")
}
