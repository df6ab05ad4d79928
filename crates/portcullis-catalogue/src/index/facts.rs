//! The facts of an index as text: a line for each server, then a line for each of its tools.
//!
//! The index that ships with the program is kept in this form, so that people can read what changed in it.
//! Everything in it was seen live. There is no word of any description in it.

use std::io::Write;

use portcullis_json::{Limits, Number, Object, Value, compact, parse};

use super::Index;
use super::codes::{class_of, hints_code, hints_of, provenance_code, signals_code, signals_of};
use super::fault::{IndexFault, Skipped};
use super::import::{Listing, ServerEntry};
use super::prepare::{Prepared, Row, words};
use super::search::ServerRow;
use super::write::{ImportReport, store};
use crate::definition::{Hints, ToolDefinition};
use crate::fingerprint::{hex, unhex};
use crate::record::Provenance;
use crate::{Class, Signal};

/// Made by `cargo xtask catalogue-build`.
const SHIPPED: &str = include_str!("../../index/live.jsonl");
/// Where the index that ships says that it comes from.
const SOURCE: &str = "listed live, shipped with the program";

impl Index {
    /// The index that ships with the program: servers that were started and asked for their tools.
    pub fn shipped() -> Result<Index, IndexFault> {
        let mut index = Index::in_memory()?;
        index.read_facts(SHIPPED)?;
        Ok(index)
    }

    /// Stores what [`Index::write_facts`] wrote, whole or not at all.
    pub fn read_facts(&mut self, text: &str) -> Result<ImportReport, IndexFault> {
        let transaction = self.connection.transaction()?;
        let mut report = ImportReport::default();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let mut head = Head::read(line).map_err(|reason| fault(number, &reason))?;
            for _ in 0..head.tools {
                let (number, line) = lines.next().ok_or_else(|| fault(number, "tools are missing"))?;
                let row = read_tool(line, &head.listing.server.name);
                head.rows.push(row.map_err(|reason| fault(number, &reason))?);
            }
            let prepared = Prepared { listing: head.listing, rows: head.rows, skipped: Vec::new() };
            store(&transaction, prepared, head.seen_at, &mut report)?;
        }
        transaction.commit()?;
        Ok(report)
    }

    /// Writes the tools that were seen live of the servers that `wanted` names.
    pub fn write_facts(
        &self,
        wanted: impl Fn(&ServerRow) -> bool,
        out: &mut impl Write,
    ) -> Result<(), IndexFault> {
        for server in self.servers()?.iter().filter(|server| wanted(server)) {
            let tools = self.facts_of(&server.name)?;
            writeln!(out, "{}", compact(&head_line(server, tools.len())))?;
            for tool in tools {
                writeln!(out, "{}", compact(&tool))?;
            }
        }
        Ok(())
    }

    fn facts_of(&self, server: &str) -> Result<Vec<Value>, IndexFault> {
        let mut statement = self.connection.prepare_cached(
            "SELECT t.name, t.class, t.confidence, t.tokens, t.parameters, t.evidence, t.signals, t.hints, t.prints \
             FROM tools t JOIN servers s ON s.id = t.server WHERE s.name = ?1 AND t.provenance = ?2 ORDER BY t.name",
        )?;
        let live = provenance_code(Provenance::Live);
        let rows = statement.query_map(rusqlite::params![server, live], |row| {
            let text = |at: usize| row.get::<_, String>(at);
            let hints = hints_of(row.get(7)?).stated();
            let hints = hints.into_iter().fold(Object::new(), |object, (name, says)| object.with(name, says));
            let signals = signals_of(row.get(6)?);
            let signals: Vec<Value> = signals.iter().map(|signal| Value::from(signal.name())).collect();
            let object = Object::new()
                .with("tool", text(0)?)
                .with("class", class_of(row.get(1)?).name())
                .with("confidence", hundredths(row.get(2)?))
                .with("tokens", row.get::<_, i64>(3)?)
                .with("parameters", text(4)?)
                .with("hints", hints)
                .with("signals", signals)
                .with("evidence", text(5)?)
                .with("prints", hex(&row.get::<_, Vec<u8>>(8)?));
            Ok(Value::Object(object))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// A server's line, and what is read after it.
struct Head {
    listing: Listing,
    seen_at: i64,
    tools: i64,
    rows: Vec<Row>,
}

impl Head {
    fn read(line: &str) -> Result<Head, String> {
        let value = read(line)?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let server = ServerEntry {
            name: text("server").ok_or("no `server`")?,
            version: text("version"),
            package: text("package"),
            ..ServerEntry::default()
        };
        let listing = Listing {
            server,
            tools: Vec::new(),
            provenance: Provenance::Live,
            source: SOURCE.to_owned(),
            complete: true,
        };
        Ok(Head {
            listing,
            seen_at: integer(&value, "seen_at")?,
            tools: integer(&value, "tools")?,
            rows: Vec::new(),
        })
    }
}

fn head_line(server: &ServerRow, tools: usize) -> Value {
    let mut object = Object::new().with("server", server.name.as_str());
    for (key, value) in [("version", &server.version), ("package", &server.package)] {
        if let Some(value) = value {
            object.insert(key, Value::from(value.as_str()));
        }
    }
    Value::Object(
        object.with("seen_at", server.seen_at).with("tools", i64::try_from(tools).unwrap_or(i64::MAX)),
    )
}

fn read_tool(line: &str, server: &str) -> Result<Row, String> {
    let value = read(line)?;
    let text = |key: &str| {
        let found = value.get(key).and_then(Value::as_str).map(str::to_owned);
        found.ok_or_else(|| format!("no `{key}`"))
    };
    let name = text("tool")?;
    let class = Class::from_name(&text("class")?).ok_or("no such `class`")?;
    let signals = value.get("signals").and_then(Value::as_array).unwrap_or_default();
    let signals = signals.iter().map(|name| Signal::from_name(name.as_str()?)).collect::<Option<Vec<_>>>();
    let confidence = value.get("confidence").and_then(Value::as_number).ok_or("no `confidence`")?;
    Ok(Row {
        words: words(&ToolDefinition::named(&name), class, server),
        name,
        class,
        confidence: (confidence.nearest_double() * 100.0).round() as i64,
        tokens: integer(&value, "tokens")?,
        parameters: text("parameters")?,
        evidence: text("evidence")?,
        signals: signals_code(&signals.ok_or("no such signal")?),
        hints: hints_code(Hints::from_value(value.get("hints"))),
        prints: unhex(&text("prints")?).ok_or("`prints` is not hexadecimal")?,
    })
}

fn read(line: &str) -> Result<Value, String> {
    parse(line.as_bytes(), &Limits::message()).map_err(|fault| fault.to_string())
}

fn integer(value: &Value, key: &str) -> Result<i64, String> {
    let number = value.get(key).and_then(Value::as_number).and_then(Number::as_i64);
    number.ok_or_else(|| format!("no whole number in `{key}`"))
}

fn hundredths(number: i64) -> Value {
    Number::parse(&format!("{:.2}", number as f64 / 100.0)).map_or(Value::Null, Value::Number)
}

fn fault(index: usize, reason: &str) -> IndexFault {
    IndexFault::Facts(Skipped::new(format!("line {}", index + 1), reason))
}
