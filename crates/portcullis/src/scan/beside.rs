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

#[cfg(test)]
mod tests {
    use portcullis_catalogue::findings::FindingKind;
    use portcullis_catalogue::record::{Provenance, ServerFacts};

    use super::*;

    fn found(line: &str) -> Vec<FindingKind> {
        let mut record = ServerRecord::of(ServerFacts::default(), Vec::new(), Provenance::Live);
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        compare(&mut record, &[], &argv).unwrap();
        record.findings.iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn a_package_that_looks_like_a_known_one_is_a_finding() {
        assert_eq!(
            found("npx -y @modelcontextprotocol/server-filesysten@1 /srv"),
            [FindingKind::LookAlikeServer]
        );
        assert!(found("npx -y @modelcontextprotocol/server-filesystem /srv").is_empty());
        assert!(found("uvx something-quite-different").is_empty());
        assert!(found("./server-filesysten").is_empty(), "a program by its own name is no package");
    }
}
