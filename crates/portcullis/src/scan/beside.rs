//! A scanned server beside others: saved lists of servers that the same agent uses, and the packages that the
//! catalogue knows by name.

use std::path::PathBuf;

use portcullis_catalogue::ToolDefinition;
use portcullis_catalogue::findings::{Listed, across, squats};
use portcullis_catalogue::index::Index;
use portcullis_catalogue::record::ServerRecord;
use portcullis_clients::Entry;

use super::source;

/// Adds what the comparison finds to the record.
pub(super) fn compare(record: &mut ServerRecord, files: &[PathBuf], argv: &[String]) -> Result<(), String> {
    if let Some(package) = Entry::package_of(argv) {
        compare_package(record, &package)?;
    }
    if files.is_empty() {
        return Ok(());
    }
    let others: Result<Vec<_>, String> = files.iter().map(|file| source::from_file(file, None)).collect();
    let others = others?;
    let own: Vec<ToolDefinition> = record.tools.iter().map(|tool| tool.definition.clone()).collect();
    let name = record.facts.name.clone();
    let mut servers = vec![Listed { server: &name, tools: &own }];
    servers.extend(others.iter().map(|other| Listed { server: &other.facts.name, tools: &other.tools }));
    record.add_across(&across(&servers));
    Ok(())
}

fn compare_package(record: &mut ServerRecord, package: &str) -> Result<(), String> {
    let fault = |fault| format!("the catalogue cannot be read: {fault}");
    let rows = Index::shipped().and_then(|index| index.servers()).map_err(fault)?;
    let known = rows.iter().filter_map(|row| row.package.as_deref());
    record.findings.extend(squats(package, known));
    Ok(())
}
