//! Importers: text that others made, to listings. Nothing here touches a network; broken records are reported
//! and skipped.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use portcullis_json::{Limits, Object, Value, parse};

use super::fault::{IndexFault, Skipped};
use crate::definition::ToolDefinition;
use crate::record::Provenance;

/// Bytes of one file or line that are read.
pub const TEXT_BYTES_MAX: usize = 64 << 20;
/// Tools that one listing may have.
pub const TOOLS_MAX: usize = 20_000;
/// Files that one directory import reads.
pub const FILES_MAX: usize = 200_000;

/// A server as a registry or a file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Where its source is.
    pub repository: Option<String>,
    /// The package it installs from, with its registry: `npm:name`.
    pub package: Option<String>,
    /// Host of its first remote; never a query or credentials.
    pub remote: Option<String>,
}

/// A server with its tools, from one source.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The server.
    pub server: ServerEntry,
    /// Its tools; empty where the source names none.
    pub tools: Vec<ToolDefinition>,
    /// How they were seen.
    pub provenance: Provenance,
    /// The file or registry they came from.
    pub source: String,
    /// Whether the list is whole, so that what is missing was removed.
    pub complete: bool,
}

fn limits() -> Limits {
    Limits { bytes_max: TEXT_BYTES_MAX, depth_max: 128 }
}

/// A saved `tools/list` answer: the result, the whole JSON-RPC message, or the bare array.
pub fn tools_list(text: &str) -> Result<(Vec<ToolDefinition>, Vec<Skipped>), Skipped> {
    tools_of(&read(text)?)
}

pub(super) fn read(text: &str) -> Result<Value, Skipped> {
    parse(text.as_bytes(), &limits()).map_err(|fault| Skipped::new("file", &fault.to_string()))
}

pub(super) fn tools_of(value: &Value) -> Result<(Vec<ToolDefinition>, Vec<Skipped>), Skipped> {
    let tools = value
        .get("tools")
        .or_else(|| value.get("result").and_then(|result| result.get("tools")))
        .unwrap_or(value)
        .as_array()
        .ok_or_else(|| Skipped::new("file", "no `tools` array: give the answer of `tools/list`"))?;
    Ok(definitions(tools))
}

/// The elements of a `tools/list` answer; what is no definition is left out and reported.
pub fn definitions(tools: &[Value]) -> (Vec<ToolDefinition>, Vec<Skipped>) {
    let mut found = Vec::new();
    let mut skipped = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        if index >= TOOLS_MAX {
            skipped.push(Skipped::new(format!("tools[{index}]"), "more tools than are read"));
            break;
        }
        match ToolDefinition::from_value(&with_schema(tool)) {
            Ok(definition) => found.push(definition),
            Err(fault) => skipped.push(Skipped::new(format!("tools[{index}]"), &fault.to_string())),
        }
    }
    (found, skipped)
}

/// Some lists have `arguments: [{name, type, desc}]` in place of a schema.
fn with_schema(tool: &Value) -> Value {
    let (Some(object), Some(arguments)) = (tool.as_object(), tool.get("arguments").and_then(Value::as_array))
    else {
        return tool.clone();
    };
    if object.contains_key("inputSchema") {
        return tool.clone();
    }
    let mut properties = Object::new();
    for argument in arguments {
        let Some(name) = argument.get("name").and_then(Value::as_str) else {
            continue;
        };
        let mut property = Object::new();
        for (from, to) in [("type", "type"), ("desc", "description"), ("description", "description")] {
            if let Some(text) = argument.get(from).and_then(Value::as_str) {
                property.insert(to, Value::from(text));
            }
        }
        properties.insert(name, Value::Object(property));
    }
    let schema = Object::new().with("type", "object").with("properties", properties);
    Value::Object(object.clone().with("inputSchema", schema))
}

/// A page of the official registry's API, or one `server.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryPage {
    /// The servers; deleted ones are left out.
    pub servers: Vec<ServerEntry>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
}

/// Reads a page of `/v0.1/servers`, or a single `server.json`.
pub fn registry_page(text: &str) -> Result<RegistryPage, Skipped> {
    let value =
        parse(text.as_bytes(), &limits()).map_err(|fault| Skipped::new("page", &fault.to_string()))?;
    let mut page = RegistryPage::default();
    match value.get("servers").and_then(Value::as_array) {
        Some(servers) => {
            for (index, entry) in servers.iter().enumerate() {
                page.add(entry, &format!("servers[{index}]"));
            }
        }
        None => page.add(&value, "server.json"),
    }
    let cursor = value.get("metadata").and_then(|metadata| {
        metadata.get("nextCursor").or_else(|| metadata.get("next_cursor")).and_then(Value::as_str)
    });
    page.next_cursor = cursor.filter(|cursor| !cursor.is_empty()).map(str::to_owned);
    Ok(page)
}

impl RegistryPage {
    fn add(&mut self, entry: &Value, place: &str) {
        let server = entry.get("server").unwrap_or(entry);
        let official = entry
            .get("_meta")
            .and_then(|meta| meta.get("io.modelcontextprotocol.registry/official"))
            .and_then(|official| official.get("status"))
            .or_else(|| server.get("status"));
        if official.and_then(Value::as_str) == Some("deleted") {
            return;
        }
        match registry_entry(server) {
            Some(entry) => self.servers.push(entry),
            None => self.skipped.push(Skipped::new(place, "the server has no `name`")),
        }
    }
}

fn registry_entry(server: &Value) -> Option<ServerEntry> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text(server, "name").filter(|name| !name.is_empty())?;
    let package = server.get("packages").and_then(Value::as_array).and_then(|list| list.first());
    let package = package.and_then(|package| {
        let registry = text(package, "registryType").or_else(|| text(package, "registry_type"))?;
        let identifier = text(package, "identifier").or_else(|| text(package, "name"))?;
        Some(format!("{registry}:{identifier}"))
    });
    let remote = server.get("remotes").and_then(Value::as_array).and_then(|list| list.first());
    Some(ServerEntry {
        name,
        version: text(server, "version"),
        repository: server.get("repository").and_then(|repository| text(repository, "url")),
        package,
        remote: remote.and_then(|remote| text(remote, "url")).and_then(|url| host_of(&url)),
    })
}

/// Only the host: no user, no path, no query.
fn host_of(url: &str) -> Option<String> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| host.to_lowercase())
}

/// Rows like `{"server": …, "tool": …, "description": …}`, grouped by server. Reads line by line.
pub fn json_lines(reader: impl BufRead, source: &str) -> Result<(Vec<Listing>, Vec<Skipped>), IndexFault> {
    let mut servers: BTreeMap<String, Vec<ToolDefinition>> = BTreeMap::new();
    let mut skipped = Vec::new();
    for (index, line) in reader.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        match row(&line) {
            Ok((server, tool)) => servers.entry(server).or_default().push(tool),
            Err(reason) => skipped.push(Skipped::new(format!("line {}", index + 1), &reason)),
        }
    }
    let listings = servers.into_iter().map(|(name, tools)| Listing {
        server: ServerEntry { name, ..ServerEntry::default() },
        tools,
        provenance: Provenance::Imported,
        source: source.to_owned(),
        complete: false,
    });
    Ok((listings.collect(), skipped))
}

fn row(line: &str) -> Result<(String, ToolDefinition), String> {
    let value = parse(line.as_bytes(), &Limits::message()).map_err(|fault| fault.to_string())?;
    let server = value.get("server").and_then(Value::as_str).filter(|name| !name.is_empty());
    let server = server.ok_or("no `server`")?.to_owned();
    Ok((server, crate::eval::tool_of_row(&value)?))
}

/// Every `tools.json` below a directory; the server is named after the folder that holds the file.
pub fn directory(path: &Path) -> Result<(Vec<Listing>, Vec<Skipped>), IndexFault> {
    let mut files = Vec::new();
    collect_files(path, 0, &mut files)?;
    files.sort();
    let mut listings = Vec::new();
    let mut skipped = Vec::new();
    for file in files {
        let place = file.display().to_string();
        let server = file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let read =
            std::fs::read_to_string(&file).map_err(|error| Skipped::new(place.clone(), &error.to_string()));
        match read.and_then(|text| tools_list(&text)) {
            Ok((tools, faults)) => {
                skipped.extend(
                    faults
                        .into_iter()
                        .map(|fault| Skipped::new(format!("{place} {}", fault.place), &fault.reason)),
                );
                listings.push(Listing {
                    server: ServerEntry { name: server.unwrap_or_default(), ..ServerEntry::default() },
                    tools,
                    provenance: Provenance::Imported,
                    source: place,
                    complete: true,
                });
            }
            Err(fault) => skipped.push(Skipped::new(place, &fault.reason)),
        }
    }
    Ok((listings, skipped))
}

/// Folders inside one another that are looked into.
const FOLDERS_MAX: usize = 4;

fn collect_files(path: &Path, depth: usize, files: &mut Vec<std::path::PathBuf>) -> Result<(), IndexFault> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if files.len() >= FILES_MAX {
            return Ok(());
        }
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < FOLDERS_MAX {
            collect_files(&entry.path(), depth + 1, files)?;
        } else if kind.is_file() && entry.file_name() == "tools.json" {
            files.push(entry.path());
        }
    }
    Ok(())
}
