//! The result of a scan in the form that was asked for.

use std::path::PathBuf;

use clap::Args;
use portcullis_catalogue::inert_json;
use portcullis_catalogue::recommend::Profile;
use portcullis_catalogue::record::{Provenance, ServerRecord};
use portcullis_catalogue::render::{
    Paint, Scan, View, html_report, sarif, scan_json, server_markdown, server_terminal,
};
use portcullis_json::{Value, pretty};

use crate::output::Output;

/// What was found out.
pub(super) struct Scanned {
    pub(super) at: String,
    pub(super) record: ServerRecord,
    pub(super) provenance: Provenance,
    pub(super) published: Vec<Value>,
    pub(super) revision: Option<String>,
    pub(super) file: Option<PathBuf>,
    pub(super) profile: Profile,
}

/// The form; a table where none is named.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(super) struct Form {
    /// For programs: the whole record, with the definitions, for `catalogue import`.
    #[arg(long)]
    json: bool,
    /// SARIF 2.1.0, for code-scanning pages.
    #[arg(long)]
    sarif: bool,
    /// Markdown.
    #[arg(long)]
    markdown: bool,
    /// One HTML file that needs no other.
    #[arg(long)]
    html: bool,
}

impl Form {
    /// The report.
    pub(super) fn text(&self, scanned: &Scanned, output: &Output) -> String {
        let record = &scanned.record;
        let records = std::slice::from_ref(record);
        if self.json {
            json(scanned)
        } else if self.sarif {
            let file = scanned.file.as_ref().filter(|file| file.as_os_str() != "-");
            let file = file.map(|file| file.to_string_lossy().into_owned());
            inert_json(&pretty(&sarif(records, env!("CARGO_PKG_VERSION"), file.as_deref()))) + "\n"
        } else if self.markdown {
            server_markdown(record)
        } else if self.html {
            html_report(records, &scanned.at)
        } else {
            let paint = if output.has_colour() { Paint::Ansi } else { Paint::Plain };
            server_terminal(record, View { paint, width: output.width(), profile: scanned.profile })
        }
    }
}

fn json(scanned: &Scanned) -> String {
    let scan = Scan {
        at: &scanned.at,
        revision: scanned.revision.as_deref(),
        provenance: scanned.provenance,
        published: &scanned.published,
    };
    inert_json(&pretty(&scan_json(&scanned.record, &scan))) + "\n"
}
