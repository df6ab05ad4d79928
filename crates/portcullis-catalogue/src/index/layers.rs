//! Two indexes as one: what was found out here, over what ships with the program.
//!
//! A server that is known here with its tools hides the one that ships. Overrides are kept here and count for
//! both. The index that ships is never written to.

use std::collections::BTreeMap;
use std::path::Path;

use super::fault::IndexFault;
use super::recall::Overrides;
use super::search::{Counts, Entry, Search, ServerRow};
use super::{Index, Kept};
use crate::record::{Override, ServerRecord, slugs};

/// The index of this machine over the one that ships.
pub struct Layers {
    local: Option<Index>,
    shipped: Index,
}

impl Layers {
    /// Opens both; where there is no file yet, there is only the one that ships.
    pub fn open(local: &Path) -> Result<Layers, IndexFault> {
        let local = local.exists().then(|| Index::open(local)).transpose()?;
        Ok(Layers { local, shipped: Index::shipped()? })
    }

    /// Tools that match, those known here first; at most as many as are wanted.
    pub fn search(&self, search: &Search) -> Result<Vec<Entry>, IndexFault> {
        let mut found = Vec::new();
        self.each(search, |entry| {
            found.push(entry.clone());
            found.len() < search.most
        })?;
        Ok(found)
    }

    /// Every tool that matches, those known here first, until the caller has enough.
    pub fn each(&self, search: &Search, mut more: impl FnMut(&Entry) -> bool) -> Result<(), IndexFault> {
        for index in self.local.iter().chain([&self.shipped]) {
            let is_shipped = std::ptr::eq(index, &self.shipped);
            let mut page = search.clone();
            loop {
                let hits = index.search(&page)?;
                let Some(last) = hits.last() else {
                    break;
                };
                page.after = last.id;
                for hit in &hits {
                    let is_hidden = is_shipped && self.is_known_here(&hit.server)?;
                    if !is_hidden && !more(hit) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn is_known_here(&self, server: &str) -> Result<bool, IndexFault> {
        let row = self.local.as_ref().map(|local| local.server(server)).transpose()?.flatten();
        Ok(row.is_some_and(|row| row.tools > 0))
    }

    fn index_of(&self, server: &str) -> Result<&Index, IndexFault> {
        match &self.local {
            Some(local) if self.is_known_here(server)? => Ok(local),
            _ => Ok(&self.shipped),
        }
    }

    /// Every server, by name.
    pub fn servers(&self) -> Result<Vec<ServerRow>, IndexFault> {
        let all = |index: &Index| index.servers();
        let mut rows: BTreeMap<String, ServerRow> =
            all(&self.shipped)?.into_iter().map(|row| (row.name.clone(), row)).collect();
        for row in self.local.as_ref().map(all).transpose()?.unwrap_or_default() {
            let shipped = rows.get(&row.name).is_some_and(|shipped| shipped.tools > 0);
            // A registry that names a server without its tools takes nothing away from what ships.
            if row.tools > 0 || !shipped {
                rows.insert(row.name.clone(), row);
            }
        }
        Ok(rows.into_values().collect())
    }

    /// A server by its name, its package (`npm:name`, or the name alone) or its slug.
    pub fn server(&self, wanted: &str) -> Result<Option<ServerRow>, IndexFault> {
        let rows = self.servers()?;
        let package = |row: &ServerRow| {
            row.package.as_deref().is_some_and(|package| {
                package == wanted || package.split_once(':').is_some_and(|(_, name)| name == wanted)
            })
        };
        let exact =
            rows.iter().find(|row| row.name == wanted).or_else(|| rows.iter().find(|row| package(row)));
        if let Some(row) = exact {
            return Ok(Some(row.clone()));
        }
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let at = slugs(&names, false).iter().position(|slug| slug == wanted);
        Ok(at.and_then(|at| rows.get(at).cloned()))
    }

    /// Everything that is known of a server.
    pub fn record(&self, server: &ServerRow) -> Result<ServerRecord, IndexFault> {
        let overrides = match &self.local {
            Some(local) => local.overrides_of(&server.name)?,
            None => Overrides::new(),
        };
        self.index_of(&server.name)?.record(server, &overrides)
    }

    /// Lists of a server that were kept, the oldest first.
    pub fn kept(&self, server: &str) -> Result<Vec<Kept>, IndexFault> {
        Ok(self.local.as_ref().map(|local| local.kept(server)).transpose()?.unwrap_or_default())
    }

    /// The history of a server here, the latest first.
    pub fn changes(&self, server: &str, since: i64, most: usize) -> Result<Vec<super::Change>, IndexFault> {
        let changes = self.local.as_ref().map(|local| local.changes(Some(server), since, most));
        Ok(changes.transpose()?.unwrap_or_default())
    }

    /// How much is known here, and how much ships.
    pub fn counts(&self) -> Result<(Counts, Counts), IndexFault> {
        let local = self.local.as_ref().map(Index::counts).transpose()?.unwrap_or_default();
        Ok((local, self.shipped.counts()?))
    }
}

impl Index {
    /// The classes that an administrator set for the tools of a server.
    pub(super) fn overrides_of(&self, server: &str) -> Result<Overrides, IndexFault> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT tool, class, by, reason FROM overrides WHERE server = ?1")?;
        let rows = statement.query_map([server], |row| {
            let set =
                Override { class: super::codes::class_of(row.get(1)?), by: row.get(2)?, reason: row.get(3)? };
            Ok((row.get(0)?, set))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
