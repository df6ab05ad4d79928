//! The page about the index that ships: its servers, counted from the index itself.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use jiff::Timestamp;
use portcullis_catalogue::Class;
use portcullis_catalogue::index::{HITS_MAX, Index, Search, ServerRow};

const HEAD: &str = "\
# The index that ships

Servers that were installed from npm and PyPI, started and asked for their tools (`tools/list`); everything below
was seen live. `cargo xtask catalogue-build` makes it again. What is kept of a tool: its name, the shape of its
parameters, stated hints, class, confidence, evidence as places, signals, estimated tokens and fingerprint. A class
is the judgement of the rules, not of the vendor.

";

/// The page, in Markdown.
pub(super) fn page() -> Result<String> {
    let index = Index::shipped().context("the index that ships cannot be opened")?;
    let servers = index.servers()?;
    let mut rows = String::new();
    let mut total = Tally::default();
    for server in &servers {
        let tally = tally(&index, &server.name)?;
        total.add(&tally);
        row(&mut rows, server, &tally)?;
    }
    let mut page = HEAD.to_owned();
    writeln!(page, "{} servers with {} tools: {}.\n", servers.len(), total.tools(), total.words())?;
    writeln!(page, "| server | version | listed | tools | R | W | E | D | F | tokens |")?;
    writeln!(page, "|---|---|---|--:|--:|--:|--:|--:|--:|--:|")?;
    page.push_str(&rows);
    writeln!(page, "\nR Read, W Write, E Execute, D Destructive, F Financial.")?;
    Ok(page)
}

/// Tools by class, and what they cost.
#[derive(Default)]
struct Tally {
    classes: [usize; 5],
    tokens: i64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        for (mine, theirs) in self.classes.iter_mut().zip(other.classes) {
            *mine += theirs;
        }
        self.tokens += other.tokens;
    }

    fn tools(&self) -> usize {
        self.classes.iter().sum()
    }

    fn words(&self) -> String {
        let parts = Class::ALL.iter().zip(self.classes);
        parts.map(|(class, count)| format!("{count} {}", class.name())).collect::<Vec<_>>().join(", ")
    }
}

fn tally(index: &Index, server: &str) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut search = Search { server: Some(server.to_owned()), most: HITS_MAX, ..Search::default() };
    loop {
        let hits = index.search(&search)?;
        for hit in &hits {
            let at = Class::ALL.iter().position(|class| *class == hit.class);
            if let Some(count) = at.and_then(|at| tally.classes.get_mut(at)) {
                *count += 1;
            }
            tally.tokens += hit.tokens;
        }
        match hits.last() {
            Some(last) if hits.len() == HITS_MAX => search.after = last.id,
            _ => return Ok(tally),
        }
    }
}

fn row(out: &mut String, server: &ServerRow, tally: &Tally) -> Result<()> {
    let listed = Timestamp::from_second(server.seen_at)?.strftime("%Y-%m-%d");
    let version = server.version.as_deref().unwrap_or_default();
    let package = server.package.as_deref().unwrap_or(&server.name);
    let classes: Vec<String> = tally.classes.iter().map(usize::to_string).collect();
    let (tools, tokens) = (tally.tools(), tally.tokens);
    writeln!(out, "| `{package}` | {version} | {listed} | {tools} | {} | {tokens} |", classes.join(" | "))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_counts_what_the_index_holds() {
        let counts = Index::shipped().unwrap().counts().unwrap();
        let page = page().unwrap();
        assert!(
            page.contains(&format!("{} servers with {} tools", counts.servers, counts.total())),
            "{page}"
        );
        let rows = page.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows as i64, counts.servers);
    }
}
