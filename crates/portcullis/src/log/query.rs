//! `portcullis log query`.

use std::io;

use clap::Args;
use jiff::Timestamp;
use portcullis_catalogue::inert_json;
use portcullis_json::{Object, Value, pretty};
use portcullis_state::{DataDirectory, Filter, Index, IndexFault, Page};

use super::line::printed;
use crate::admin::{self, Missing};
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, fail};

#[derive(Args, Debug)]
pub(crate) struct Query {
    /// Not before this time, as in `2026-11-15T10:00:00Z`.
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// `decision`, `outcome`, `event`, …
    #[arg(long)]
    kind: Option<String>,
    /// A request's id, as agents see it.
    #[arg(long)]
    request: Option<String>,
    /// A grant's id, as `grant list` shows it.
    #[arg(long)]
    grant: Option<String>,
    /// A server's name.
    #[arg(long)]
    server: Option<String>,
    /// A tool's name.
    #[arg(long)]
    tool: Option<String>,
    /// A risk class.
    #[arg(long)]
    class: Option<String>,
    /// `allowed`, `denied`, …
    #[arg(long)]
    outcome: Option<String>,
    /// A rule's pointer, as in `/tools/eval/limits/0`.
    #[arg(long)]
    rule: Option<String>,
    /// Words in messages, actions, rules and names.
    #[arg(long)]
    text: Option<String>,
    /// Only records before this number: for the next page.
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    /// At most so many.
    #[arg(short = 'n', long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    reached: Reached,
}

impl Query {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let directory = match admin::directory(&self.reached.data_dir, Missing::Refuse) {
            Ok(directory) => directory,
            Err(message) => return fail(output, &message),
        };
        let json = self.reached.json;
        match look(&directory, &self.filter()) {
            Ok((page, broken)) if json => output.line(&inert_json(&pretty(&as_json(&page, broken))))?,
            Ok((page, broken)) => {
                page.records.iter().try_for_each(|record| output.line(&printed(record, false)))?;
                output.note(&summary(&page))?;
                broken.iter().try_for_each(|broken| output.note(broken))?;
            }
            Err(message) => return fail(output, &message),
        }
        Ok(Code::Good)
    }

    fn filter(self) -> Filter {
        Filter {
            since: self.since,
            until: self.until,
            kind: self.kind,
            request: self.request,
            grant: self.grant,
            server: self.server,
            tool: self.tool,
            class: self.class,
            outcome: self.outcome,
            rule: self.rule,
            text: self.text,
            before: self.before,
            limit: Some(self.limit),
        }
    }
}

/// What is found, and what keeps the index from reading further.
fn look(directory: &DataDirectory, filter: &Filter) -> Result<(Page, Option<String>), String> {
    let text = |fault: &dyn std::fmt::Display| fault.to_string();
    let mut index = Index::open(&directory.index(), &directory.log()).map_err(|fault| text(&fault))?;
    let mut broken = None;
    // A running gateway keeps the index up to date by itself.
    while !admin::is_running(directory) && broken.is_none() {
        match index.catch_up() {
            Ok(0) => break,
            Ok(_) => {}
            Err(IndexFault::Log(fault)) => {
                broken =
                    Some(format!("the log cannot be read further: {fault}; run `portcullis log verify`"));
            }
            Err(fault) => return Err(text(&fault)),
        }
    }
    Ok((index.query(filter).map_err(|fault| text(&fault))?, broken))
}

fn summary(page: &Page) -> String {
    let found = page.records.len();
    let read = format!("{found} records, newest first; the index has read up to record {}", page.indexed_to);
    match page.records.last().filter(|_| page.more) {
        Some(last) => format!("{read}; go on with `--before {}`", last.position.sequence),
        None => read,
    }
}

fn as_json(page: &Page, broken: Option<String>) -> Value {
    let records: Vec<Value> = page.records.iter().map(|record| record.fields().clone().into()).collect();
    Object::new()
        .with("records", records)
        .with("indexed_to", i64::try_from(page.indexed_to).unwrap_or(i64::MAX))
        .with("more", page.more)
        .with("broken", broken.map_or(Value::Null, Value::from))
        .into()
}
