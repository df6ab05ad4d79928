//! Finding tools again.

use rusqlite::{OptionalExtension as _, Row, params, params_from_iter, types::Value as Sql};

use super::Index;
use super::codes::{class_code, class_of, hints_of, provenance_of, signals_of};
use super::fault::IndexFault;
use super::prepare::{WORD_BYTES_MIN, class_word, is_stop_word, level_word};
use crate::record::{Override, Provenance};
use crate::words::split_text;
use crate::{Class, Hints, Level, Signal};

/// Hits that one search gives at most.
pub const HITS_MAX: usize = 200;
/// Words of a search that count.
const WORDS_MAX: usize = 8;

/// What is looked for; what is `None` does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Words that must all occur in name, server or description; the last may be a beginning.
    pub text: Option<String>,
    /// The class.
    pub class: Option<Class>,
    /// The level.
    pub level: Option<Level>,
    /// The server's exact name.
    pub server: Option<String>,
    /// Hits wanted, at most [`HITS_MAX`].
    pub most: usize,
    /// Only hits behind this id; the id of the last hit gives the next page.
    pub after: i64,
}

/// One tool of the index.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its id, for paging.
    pub id: i64,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The class that the rules computed.
    pub class: Class,
    /// How sure.
    pub confidence: f64,
    /// Where it came from.
    pub provenance: Provenance,
    /// Estimated tokens.
    pub tokens: i64,
    /// The parameters, with blanks between: `name:type`, and `!` where one must be given.
    pub parameters: String,
    /// Rules with places and offsets.
    pub evidence: String,
    /// What else matters about the tool.
    pub signals: Vec<Signal>,
    /// What the vendor states.
    pub hints: Hints,
    /// The fingerprint.
    pub fingerprint: String,
    /// When it was first seen, in seconds since 1970.
    pub first_seen: i64,
    /// When its definition last changed.
    pub last_changed: i64,
}

/// A server of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Its repository.
    pub repository: Option<String>,
    /// Its package.
    pub package: Option<String>,
    /// The host of its remote.
    pub remote: Option<String>,
    /// Where it came from.
    pub source: String,
    /// When it was last seen, in seconds since 1970.
    pub seen_at: i64,
    /// How many tools it has.
    pub tools: i64,
}

/// How much there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Servers.
    pub servers: i64,
    /// Tools by provenance and class.
    pub tools: Vec<(Provenance, Class, i64)>,
}

impl Counts {
    /// All tools.
    pub fn total(&self) -> i64 {
        self.tools.iter().map(|row| row.2).sum()
    }
}

const MATCHING: &str =
    "t.id IN (SELECT rowid FROM words WHERE words MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?)";
const COLUMNS: &str = "t.id, s.name, t.name, t.class, t.confidence, t.provenance, t.tokens, t.parameters, t.evidence, \
    t.prints, t.first_seen, t.last_changed, t.signals, t.hints FROM tools t JOIN servers s ON s.id = t.server";
const SERVER_COLUMNS: &str = "SELECT name, version, repository, package, remote, source, seen_at, \
    (SELECT count(*) FROM tools WHERE server = servers.id) FROM servers";

impl Index {
    /// Tools that match, by id. Where no tool has the last word whole, it is taken for a beginning.
    pub fn search(&self, search: &Search) -> Result<Vec<Entry>, IndexFault> {
        let Some(text) = &search.text else {
            return self.select(search, None);
        };
        let Some(whole) = match_expression(text, search, false) else {
            return Ok(Vec::new());
        };
        let mut found = self.select(search, Some(whole.clone()))?;
        // A later page that is empty may be the end of whole words: only the first page tells.
        let whole_words = !found.is_empty() || (search.after > 0 && self.matches_any(&whole)?);
        if !whole_words {
            found = self.select(search, match_expression(text, search, true))?;
        }
        Ok(found)
    }

    fn matches_any(&self, matching: &str) -> Result<bool, IndexFault> {
        let mut statement =
            self.connection.prepare_cached("SELECT rowid FROM words WHERE words MATCH ? LIMIT 1")?;
        Ok(statement.exists([matching])?)
    }

    fn select(&self, search: &Search, matching: Option<String>) -> Result<Vec<Entry>, IndexFault> {
        let mut conditions = vec!["t.id > ?".to_owned()];
        let mut values = vec![Sql::Integer(search.after)];
        if let Some(matching) = matching {
            // Class and level are words of the same table, so the lists are intersected, not scanned.
            conditions.push(MATCHING.to_owned());
            let wanted = if search.server.is_some() { i64::MAX } else { most(search) };
            values.extend([Sql::Text(matching), Sql::Integer(search.after), Sql::Integer(wanted)]);
        } else {
            conditions.extend(search.class.map(|class| format!("t.class = {}", class_code(class))));
            conditions.extend(search.level.map(|level| format!("t.class IN ({})", codes_of(level))));
        }
        if let Some(server) = &search.server {
            conditions.push("s.name = ?".to_owned());
            values.push(Sql::Text(server.clone()));
        }
        values.push(Sql::Integer(most(search)));
        let sql = format!("SELECT {COLUMNS} WHERE {} ORDER BY t.id LIMIT ?", conditions.join(" AND "));
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), entry)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// One tool.
    pub fn tool(&self, server: &str, tool: &str) -> Result<Option<Entry>, IndexFault> {
        let sql = format!("SELECT {COLUMNS} WHERE s.name = ?1 AND t.name = ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_row(params![server, tool], entry).optional()?)
    }

    /// The class that an administrator set for a tool.
    pub fn override_of(&self, server: &str, tool: &str) -> Result<Option<Override>, IndexFault> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT class, by, reason FROM overrides WHERE server = ?1 AND tool = ?2")?;
        let found = statement.query_row(params![server, tool], |row| {
            Ok(Override { class: class_of(row.get(0)?), by: row.get(1)?, reason: row.get(2)? })
        });
        Ok(found.optional()?)
    }

    /// One server.
    pub fn server(&self, name: &str) -> Result<Option<ServerRow>, IndexFault> {
        self.server_where("name = ?1", name)
    }

    /// The server that installs from a package, written with its registry: `npm:name` or `pypi:name`.
    pub fn server_of_package(&self, package: &str) -> Result<Option<ServerRow>, IndexFault> {
        self.server_where("package = ?1", package)
    }

    fn server_where(&self, condition: &str, value: &str) -> Result<Option<ServerRow>, IndexFault> {
        let mut statement = self.connection.prepare_cached(&format!("{SERVER_COLUMNS} WHERE {condition}"))?;
        Ok(statement.query_row([value], server_row).optional()?)
    }

    /// Every server, by name.
    pub fn servers(&self) -> Result<Vec<ServerRow>, IndexFault> {
        let mut statement = self.connection.prepare_cached(&format!("{SERVER_COLUMNS} ORDER BY name"))?;
        let rows = statement.query_map([], server_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How much there is, by provenance and class.
    pub fn counts(&self) -> Result<Counts, IndexFault> {
        let servers = self.connection.query_row("SELECT count(*) FROM servers", [], |row| row.get(0))?;
        let mut statement = self
            .connection
            .prepare_cached("SELECT provenance, class, count(*) FROM tools GROUP BY provenance, class")?;
        let rows = statement
            .query_map([], |row| Ok((provenance_of(row.get(0)?), class_of(row.get(1)?), row.get(2)?)))?;
        Ok(Counts { servers, tools: rows.collect::<Result<_, _>>()? })
    }
}

fn server_row(row: &Row<'_>) -> rusqlite::Result<ServerRow> {
    Ok(ServerRow {
        name: row.get(0)?,
        version: row.get(1)?,
        repository: row.get(2)?,
        package: row.get(3)?,
        remote: row.get(4)?,
        source: row.get(5)?,
        seen_at: row.get(6)?,
        tools: row.get(7)?,
    })
}

fn most(search: &Search) -> i64 {
    i64::try_from(search.most.clamp(1, HITS_MAX)).unwrap_or(1)
}

fn codes_of(level: Level) -> String {
    let codes = Class::ALL.into_iter().filter(|class| Level::of(*class) == level);
    codes.map(|class| class_code(class).to_string()).collect::<Vec<_>>().join(", ")
}

/// The words as a full-text expression; everything is quoted, so nothing the user types is syntax.
fn match_expression(text: &str, search: &Search, beginning: bool) -> Option<String> {
    let mut words = split_text(text, WORDS_MAX);
    // One-letter words are not kept in the index.
    words.retain(|word| word.text.len() >= WORD_BYTES_MIN && !is_stop_word(&word.text));
    let last = words.len().checked_sub(1)?;
    let mut terms: Vec<String> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let star = if beginning && index == last { "*" } else { "" };
        terms.push(format!("\"{}\"{star}", word.text.replace('"', "")));
    }
    terms.extend(search.class.map(|class| format!("\"{}\"", class_word(class))));
    let of_level = |level| Class::ALL.into_iter().find(|class| Level::of(*class) == level);
    let level = search.level.and_then(of_level);
    terms.extend(level.map(|class| format!("\"{}\"", level_word(class))));
    Some(terms.join(" AND "))
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let prints: Vec<u8> = row.get(9)?;
    let confidence: i64 = row.get(4)?;
    Ok(Entry {
        id: row.get(0)?,
        server: row.get(1)?,
        tool: row.get(2)?,
        class: class_of(row.get(3)?),
        confidence: confidence as f64 / 100.0,
        provenance: provenance_of(row.get(5)?),
        tokens: row.get(6)?,
        parameters: row.get(7)?,
        evidence: row.get(8)?,
        fingerprint: crate::fingerprint::hex(prints.get(..32).unwrap_or_default()),
        first_seen: row.get(10)?,
        last_changed: row.get(11)?,
        signals: signals_of(row.get(12)?),
        hints: hints_of(row.get(13)?),
    })
}
