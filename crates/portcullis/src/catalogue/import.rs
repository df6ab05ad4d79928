//! `portcullis catalogue import`.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use clap::Args;
use jiff::Timestamp;
use portcullis_catalogue::index::import::{directory, json_lines, registry_page};
use portcullis_catalogue::index::{ImportReport, Index, Listing, ServerEntry, Skipped, saved};
use portcullis_catalogue::record::Provenance;
use portcullis_catalogue::{inert_json, inert_short};
use portcullis_json::{Limits, Object, Value, parse, pretty};

use super::place::Place;
use super::registry;
use crate::exit::Code;
use crate::files;
use crate::output::Output;
use crate::reached::fail;

/// Records left out that are named one by one.
const NAMED_MAX: usize = 20;
/// Bytes of one file of JSON.
const FILE_BYTES_MAX: usize = 16 << 20;

/// Take in scans, lists of tools, `server.json` files, JSON lines, or a registry.
///
/// Importing the same thing twice changes nothing. A record that cannot be read is reported and left out, and
/// what was seen live is not overwritten by less.
#[derive(Args, Debug)]
pub(crate) struct Import {
    /// A scan (`scan --json`), an answer to `tools/list`, a `server.json` or a page of a registry, JSON lines
    /// (`.jsonl`), a directory with `tools.json` files, or the address of a registry; `-` is standard input.
    #[arg(required = true, value_name = "FILE|DIR|URL")]
    what: Vec<String>,
    /// What to call the server of a list that does not say so.
    #[arg(long)]
    name: Option<String>,
    /// Exit with 1 when a record was left out.
    #[arg(long)]
    strict: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What one source holds.
#[derive(Default)]
struct Source {
    listings: Vec<Listing>,
    skipped: Vec<Skipped>,
    /// The definitions of one server, to be kept.
    published: Option<Vec<Value>>,
}

impl Import {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let mut index = match self.place.index() {
            Ok(index) => index,
            Err(message) => return fail(output, &message),
        };
        let mut worst = Code::Good;
        let mut answers = Vec::new();
        for what in &self.what {
            let source = self.source(what, output);
            output.progress_done();
            match source.and_then(|source| take_in(&mut index, source)) {
                Ok((report, servers)) => {
                    self.show(what, &report, servers, output)?;
                    if self.strict && !report.skipped.is_empty() && worst == Code::Good {
                        worst = Code::No;
                    }
                    answers.push(answer(what, &report, servers));
                }
                Err(message) => {
                    output.error(&format!("`{}`: {message}", inert_short(what, 200)))?;
                    worst = Code::Failed;
                }
            }
        }
        if self.json {
            output.line(&inert_json(&pretty(&Object::new().with("imported", answers).into())))?;
        }
        Ok(worst)
    }

    fn source(&self, what: &str, output: &mut Output) -> Result<Source, String> {
        if what.starts_with("http://") || what.starts_with("https://") {
            let registry = registry::read(what, &mut |text| output.progress(text))?;
            let source = format!("registry {}", registry.host);
            return Ok(entries(registry.servers, registry.skipped, &source));
        }
        let path = Path::new(what);
        if path.is_dir() {
            let (listings, skipped) = directory(path).map_err(|fault| fault.to_string())?;
            return Ok(Source { listings, skipped, published: None });
        }
        if path.extension().is_some_and(|ending| ending == "jsonl" || ending == "ndjson") {
            let file = File::open(path).map_err(|error| format!("cannot read it: {error}"))?;
            return lines(BufReader::new(file), what);
        }
        self.file(path, what)
    }

    fn file(&self, path: &Path, what: &str) -> Result<Source, String> {
        let bytes = files::read(path)?;
        let limits = Limits { bytes_max: FILE_BYTES_MAX, depth_max: 128 };
        let value = match parse(&bytes, &limits) {
            Ok(value) => value,
            Err(_)
                if bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")).count() > 1 =>
            {
                return lines(bytes.as_slice(), what);
            }
            Err(fault) => return Err(fault.to_string()),
        };
        let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string())?;
        let has = |key: &str| value.get(key).is_some();
        if !has("tools") && !has("result") && (has("servers") || has("name") || has("server")) && !has("scan")
        {
            let page = registry_page(text).map_err(|fault| fault.reason)?;
            return Ok(entries(page.servers, page.skipped, what));
        }
        let saved = saved(text).map_err(|fault| fault.reason)?;
        let name = self.name.clone().or(saved.name).unwrap_or_else(|| name_of(path));
        let server = ServerEntry { name, version: saved.version, ..ServerEntry::default() };
        let (provenance, source) = (saved.provenance, what.to_owned());
        let listing = Listing { server, tools: saved.tools, provenance, source, complete: true };
        Ok(Source { listings: vec![listing], skipped: saved.skipped, published: Some(saved.published) })
    }

    fn show(&self, what: &str, report: &ImportReport, servers: i64, output: &mut Output) -> io::Result<()> {
        for skipped in report.skipped.iter().take(NAMED_MAX) {
            output.note(&format!("left out {}: {}", inert_short(&skipped.place, 200), skipped.reason))?;
        }
        if report.skipped.len() > NAMED_MAX {
            output.note(&format!("left out {} more", report.skipped.len() - NAMED_MAX))?;
        }
        if self.json {
            return Ok(());
        }
        output.line(&format!(
            "`{}`: {} servers read, {servers} new; tools: {} new, {} changed, {} removed, {} judged anew, {} as they \
             were, {} known better",
            inert_short(what, 200),
            report.servers,
            report.added,
            report.changed,
            report.removed,
            report.judged_anew,
            report.unchanged,
            report.kept_live
        ))
    }
}

/// Stores a source; what changed, and how many servers are new.
fn take_in(index: &mut Index, source: Source) -> Result<(ImportReport, i64), String> {
    let text = |fault: portcullis_catalogue::index::IndexFault| fault.to_string();
    let now = Timestamp::now().as_second();
    let server = source.listings.first().map(|listing| listing.server.clone());
    let before = index.counts().map_err(text)?.servers;
    let mut report = index.import(source.listings.into_iter(), now).map_err(text)?;
    report.skipped.extend(source.skipped);
    if let (Some(published), Some(server)) = (source.published, server) {
        index.keep(&server.name, server.version.as_deref(), &published, now).map_err(text)?;
    }
    let after = index.counts().map_err(text)?.servers;
    Ok((report, after - before))
}

fn lines(reader: impl io::BufRead, what: &str) -> Result<Source, String> {
    let (listings, skipped) = json_lines(reader, what).map_err(|fault| fault.to_string())?;
    Ok(Source { listings, skipped, published: None })
}

/// A registry names servers and not their tools.
fn entries(servers: Vec<ServerEntry>, skipped: Vec<Skipped>, source: &str) -> Source {
    let listing = |server: ServerEntry| Listing {
        server,
        tools: Vec::new(),
        provenance: Provenance::Imported,
        source: source.to_owned(),
        complete: false,
    };
    Source { listings: servers.into_iter().map(listing).collect(), skipped, published: None }
}

/// After the file, or after its folder where every file has the same name.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    match stem.as_str() {
        "tools" => folder.unwrap_or(stem),
        "-" => "standard input".to_owned(),
        _ => stem,
    }
}

fn answer(what: &str, report: &ImportReport, servers: i64) -> Value {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let skipped = report.skipped.iter().map(|skipped| {
        Value::from(
            Object::new().with("place", skipped.place.as_str()).with("reason", skipped.reason.as_str()),
        )
    });
    let object = Object::new()
        .with("from", what)
        .with("servers", count(report.servers))
        .with("servers_new", servers)
        .with("tools_new", count(report.added))
        .with("tools_changed", count(report.changed))
        .with("tools_removed", count(report.removed))
        .with("tools_judged_anew", count(report.judged_anew))
        .with("tools_unchanged", count(report.unchanged))
        .with("tools_known_better", count(report.kept_live))
        .with("skipped", skipped.collect::<Vec<_>>());
    object.into()
}
