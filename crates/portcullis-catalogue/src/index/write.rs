//! Storing listings: what is new, what changed, what is gone. Importing twice changes nothing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::Index;
use super::codes::{class_code, class_of, provenance_code};
use super::fault::{IndexFault, Skipped};
use super::history::ChangeKind;
use super::import::Listing;
use super::prepare::{Prepared, Row, changed_parts, prepare, same_but_name};
use crate::record::Override;

/// Listings that wait between the classifiers and the writer.
const QUEUE: usize = 64;
/// Threads that classify while one writes.
const CLASSIFIERS: usize = 2;

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Servers that were read.
    pub servers: usize,
    /// Tools that are new.
    pub added: usize,
    /// Tools whose definition changed.
    pub changed: usize,
    /// Tools that are gone.
    pub removed: usize,
    /// Tools whose definition is as it was and which the rules now judge otherwise.
    pub judged_anew: usize,
    /// Tools that are as they were.
    pub unchanged: usize,
    /// Tools that were seen live before and are not overwritten by less.
    pub kept_live: usize,
    /// What was left out.
    pub skipped: Vec<Skipped>,
}

impl ImportReport {
    /// Whether the index is as it was.
    pub fn is_empty(&self) -> bool {
        self.added + self.changed + self.removed + self.judged_anew == 0
    }
}

/// A tool as the store has it.
struct Known {
    id: i64,
    class: i64,
    provenance: i64,
    prints: Vec<u8>,
    confidence: i64,
    evidence: String,
}

impl Known {
    /// Whether the same definition is judged otherwise by the rules of today.
    fn is_judged_anew(&self, row: &Row, provenance: i64) -> bool {
        let same = self.class == class_code(row.class)
            && self.confidence == row.confidence
            && self.evidence == row.evidence;
        self.provenance == provenance && !same
    }
}

impl Index {
    /// Stores listings, each whole or not at all. Classifying runs beside writing.
    pub fn import(
        &mut self,
        listings: impl Iterator<Item = Listing> + Send,
        at: i64,
    ) -> Result<ImportReport, IndexFault> {
        let transaction = self.connection.transaction()?;
        let mut report = ImportReport::default();
        let listings = Mutex::new(listings);
        let listings = &listings;
        let written = std::thread::scope(|scope| {
            let (send, receive) = sync_channel::<Prepared>(QUEUE);
            for _ in 0..CLASSIFIERS {
                let send = send.clone();
                scope.spawn(move || {
                    while let Some(listing) = listings.lock().ok().and_then(|mut all| all.next()) {
                        if send.send(prepare(listing)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(send);
            receive.iter().try_for_each(|prepared| store(&transaction, prepared, at, &mut report))
        });
        written?;
        transaction.commit()?;
        Ok(report)
    }

    /// Records that an administrator sets a class; the computed one stays beside it.
    pub fn set_class(&mut self, server: &str, tool: &str, set: &Override, at: i64) -> Result<(), IndexFault> {
        self.connection.execute(
            "INSERT INTO overrides(server, tool, class, by, reason, at) VALUES(?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT(server, tool) DO UPDATE SET class = ?3, by = ?4, reason = ?5, at = ?6",
            params![server, tool, class_code(set.class), set.by, set.reason, at],
        )?;
        Ok(())
    }
}

pub(super) fn store(
    transaction: &Transaction<'_>,
    prepared: Prepared,
    at: i64,
    report: &mut ImportReport,
) -> Result<(), IndexFault> {
    let Prepared { listing, rows, skipped } = prepared;
    report.servers += 1;
    report.skipped.extend(skipped);
    let (server, is_new) = server_id(transaction, &listing, at)?;
    let mut known = if is_new { BTreeMap::new() } else { known_tools(transaction, server)? };
    let mut writer = Writer { transaction, server, at, provenance: provenance_code(listing.provenance) };
    let provenance = writer.provenance;
    let mut fresh = Vec::new();
    for row in rows {
        match known.remove(&row.name) {
            None => fresh.push(row),
            Some(before) if before.prints == row.prints && before.provenance <= provenance => {
                let anew = before.is_judged_anew(&row, provenance);
                if anew {
                    writer.replace(&before, &row)?;
                }
                report.judged_anew += usize::from(anew);
                report.unchanged += usize::from(!anew);
            }
            Some(before) if before.provenance < provenance => report.kept_live += 1,
            Some(before) => {
                let differs = before.prints != row.prints;
                writer.replace(&before, &row)?;
                report.changed += usize::from(differs);
                report.unchanged += usize::from(!differs);
            }
        }
    }
    // What a whole list no longer has is gone, unless it is there under another name.
    known.retain(|_, before| listing.complete && before.provenance >= provenance);
    for row in fresh {
        if let Some((old, before)) = take_renamed(&mut known, &row) {
            writer.rename(&old, &before, &row)?;
            report.changed += 1;
            continue;
        }
        if !is_new {
            writer.note(&row.name, ChangeKind::Added, "")?;
        }
        writer.insert(&row)?;
        report.added += 1;
    }
    for (name, before) in known {
        writer.remove(&name, before.id)?;
        report.removed += 1;
    }
    Ok(())
}

/// The tool that is the new one but for its name.
fn take_renamed(known: &mut BTreeMap<String, Known>, row: &Row) -> Option<(String, Known)> {
    let is_same = |(_, before): &(&String, &Known)| same_but_name(&before.prints, &row.prints);
    let old = known.iter().find(is_same)?.0.clone();
    known.remove_entry(&old)
}

fn server_id(transaction: &Transaction<'_>, listing: &Listing, at: i64) -> Result<(i64, bool), IndexFault> {
    let entry = &listing.server;
    let known: Option<i64> = transaction
        .prepare_cached("SELECT id FROM servers WHERE name = ?1")?
        .query_row([&entry.name], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        transaction
            .prepare_cached(
                "UPDATE servers SET version = coalesce(?2, version), repository = coalesce(?3, repository), \
                 package = coalesce(?4, package), remote = coalesce(?5, remote), seen_at = max(?6, seen_at) WHERE id = ?1",
            )?
            .execute(params![id, entry.version, entry.repository, entry.package, entry.remote, at])?;
        return Ok((id, false));
    }
    transaction
        .prepare_cached(
            "INSERT INTO servers(name, version, repository, package, remote, source, seen_at) \
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            entry.name,
            entry.version,
            entry.repository,
            entry.package,
            entry.remote,
            listing.source,
            at
        ])?;
    Ok((transaction.last_insert_rowid(), true))
}

fn known_tools(transaction: &Transaction<'_>, server: i64) -> Result<BTreeMap<String, Known>, IndexFault> {
    let mut statement = transaction.prepare_cached(
        "SELECT name, id, class, provenance, prints, confidence, evidence FROM tools WHERE server = ?1",
    )?;
    let rows = statement.query_map([server], |row| {
        let known = Known {
            id: row.get(1)?,
            class: row.get(2)?,
            provenance: row.get(3)?,
            prints: row.get(4)?,
            confidence: row.get(5)?,
            evidence: row.get(6)?,
        };
        Ok((row.get(0)?, known))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    server: i64,
    at: i64,
    provenance: i64,
}

impl Writer<'_> {
    fn insert(&mut self, row: &Row) -> Result<(), IndexFault> {
        self.transaction
            .prepare_cached(
                "INSERT INTO tools(server, name, class, confidence, provenance, tokens, parameters, evidence, prints, \
                 signals, hints, first_seen, last_changed) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12)",
            )?
            .execute(params![
                self.server,
                row.name,
                class_code(row.class),
                row.confidence,
                self.provenance,
                row.tokens,
                row.parameters,
                row.evidence,
                row.prints,
                row.signals,
                row.hints,
                self.at
            ])?;
        self.put_words(self.transaction.last_insert_rowid(), row)
    }

    fn put_words(&mut self, id: i64, row: &Row) -> Result<(), IndexFault> {
        self.transaction
            .prepare_cached("INSERT INTO words(rowid, text) VALUES(?1, ?2)")?
            .execute(params![id, row.words])?;
        Ok(())
    }

    /// The same tool under another name: one step of its history, not two.
    fn rename(&mut self, old: &str, before: &Known, row: &Row) -> Result<(), IndexFault> {
        self.note(&row.name, ChangeKind::Renamed, &format!("was {old}"))?;
        self.transaction
            .prepare_cached("UPDATE tools SET name = ?2, last_changed = ?3 WHERE id = ?1")?
            .execute(params![before.id, row.name, self.at])?;
        self.replace(before, row)
    }

    fn replace(&mut self, before: &Known, row: &Row) -> Result<(), IndexFault> {
        let parts = changed_parts(&before.prints, &row.prints);
        if !parts.is_empty() {
            self.note(&row.name, ChangeKind::Changed, &parts.join(" "))?;
        }
        if class_code(row.class) > before.class {
            let detail = format!("{} to {}", class_of(before.class).name(), row.class.name());
            self.note(&row.name, ChangeKind::ClassRaised, &detail)?;
        }
        self.transaction
            .prepare_cached(
                "UPDATE tools SET class = ?2, confidence = ?3, provenance = ?4, tokens = ?5, parameters = ?6, \
                 evidence = ?7, prints = ?8, signals = ?9, hints = ?10, last_changed = coalesce(?11, last_changed) \
                 WHERE id = ?1",
            )?
            .execute(params![
                before.id,
                class_code(row.class),
                row.confidence,
                self.provenance,
                row.tokens,
                row.parameters,
                row.evidence,
                row.prints,
                row.signals,
                row.hints,
                (!parts.is_empty()).then_some(self.at)
            ])?;
        self.forget_words(before.id)?;
        self.put_words(before.id, row)
    }

    fn remove(&mut self, name: &str, id: i64) -> Result<(), IndexFault> {
        self.note(name, ChangeKind::Removed, "")?;
        self.transaction.prepare_cached("DELETE FROM tools WHERE id = ?1")?.execute([id])?;
        self.forget_words(id)
    }

    fn forget_words(&mut self, id: i64) -> Result<(), IndexFault> {
        self.transaction.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([id])?;
        Ok(())
    }

    fn note(&mut self, tool: &str, kind: ChangeKind, detail: &str) -> Result<(), IndexFault> {
        self.transaction
            .prepare_cached("INSERT INTO changes(at, server, tool, kind, detail) VALUES(?1, ?2, ?3, ?4, ?5)")?
            .execute(params![self.at, self.server, tool, kind.code(), detail])?;
        Ok(())
    }
}
