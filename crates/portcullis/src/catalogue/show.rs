//! `portcullis catalogue show`.

use std::io;

use clap::Args;
use portcullis_catalogue::index::Layers;
use portcullis_catalogue::recommend::Profile;
use portcullis_catalogue::record::{ServerRecord, ToolRecord, slugs};
use portcullis_catalogue::render::{
    Paint, View, html_report, server_json, server_markdown, server_terminal, tool_json, tool_markdown,
    tool_terminal,
};
use portcullis_catalogue::{inert_json, inert_short};
use portcullis_json::pretty;

use super::place::{Place, time};
use crate::exit::Code;
use crate::output::Output;
use crate::reached::fail;

/// Show everything that is known of a server, or of one of its tools.
///
/// What ships with the program holds facts and no descriptions; a server that was scanned and imported is
/// shown in full.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The server: its name, its package, or its slug.
    server: String,
    /// One of its tools: its name or its slug.
    tool: Option<String>,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    place: Place,
}

/// The form; text for the terminal where none is named.
#[derive(Args, Debug)]
#[group(multiple = false)]
struct Form {
    /// For programs.
    #[arg(long)]
    json: bool,
    /// Markdown.
    #[arg(long)]
    markdown: bool,
    /// One HTML file that needs no other.
    #[arg(long)]
    html: bool,
}

impl Show {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        match self.text(output) {
            Ok(text) => output.text(&text).map(|()| Code::Good),
            Err(message) => fail(output, &message),
        }
    }

    fn text(&self, output: &Output) -> Result<String, String> {
        let layers = self.place.layers()?;
        let (record, seen) = record(&layers, &self.server)?;
        match &self.tool {
            None => Ok(self.server_text(record, &seen, output)),
            Some(name) => self.tool_text(record, name, &seen, output),
        }
    }

    fn server_text(&self, record: ServerRecord, seen: &str, output: &Output) -> String {
        if self.form.json {
            return inert_json(&pretty(&server_json(&record))) + "\n";
        }
        if self.form.markdown {
            return server_markdown(&record);
        }
        if self.form.html {
            return html_report(&[record], seen);
        }
        let view = View { paint: paint(output), width: output.width(), profile: Profile::Recommended };
        server_terminal(&record, view) + &format!("\nlast seen {seen}\n")
    }

    fn tool_text(
        &self,
        mut record: ServerRecord,
        name: &str,
        seen: &str,
        output: &Output,
    ) -> Result<String, String> {
        let at = find(&record, name).ok_or_else(|| {
            let server = inert_short(&record.facts.name, 100);
            format!("server `{server}` has no tool `{name}`; see `portcullis catalogue show {server}`")
        })?;
        if self.form.html {
            // The report of a tool is the report of a server that has no other.
            let tool = record.tools.swap_remove(at);
            return Ok(html_report(&[ServerRecord::of_records(record.facts, vec![tool])], seen));
        }
        let Some(tool) = record.tools.get(at) else {
            return Err(format!("there is no tool `{name}`"));
        };
        Ok(if self.form.json {
            inert_json(&pretty(&tool_json(&record, tool))) + "\n"
        } else if self.form.markdown {
            tool_markdown(&record, tool)
        } else {
            tool_terminal(&record, tool, paint(output))
        })
    }
}

fn paint(output: &Output) -> Paint {
    if output.has_colour() { Paint::Ansi } else { Paint::Plain }
}

/// The record of a server, and when it was last seen.
fn record(layers: &Layers, wanted: &str) -> Result<(ServerRecord, String), String> {
    let row = layers.server(wanted).map_err(|fault| fault.to_string())?.ok_or_else(|| {
        format!("nothing is known of a server `{wanted}`; `portcullis catalogue list` shows all, `portcullis scan` looks at one")
    })?;
    let record = layers.record(&row).map_err(|fault| fault.to_string())?;
    Ok((record, time(row.seen_at)))
}

/// By the name first: a slug may be another tool's name.
fn find(record: &ServerRecord, wanted: &str) -> Option<usize> {
    let exact = record.tools.iter().position(|tool| tool.name() == wanted);
    let names: Vec<&str> = record.tools.iter().map(ToolRecord::name).collect();
    exact.or_else(|| slugs(&names, true).iter().position(|slug| slug == wanted))
}
