//! `portcullis catalogue search`.

use std::io;

use clap::Args;
use portcullis_catalogue::index::{Entry, HITS_MAX, entry_json};
use portcullis_catalogue::{Level, inert_json, inert_short};
use portcullis_json::{Object, Value, pretty};

use super::place::{Place, Wanted};
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{fail, table};

/// Find tools by words, class, level and server.
#[derive(Args, Debug)]
pub(crate) struct Search {
    #[command(flatten)]
    wanted: Wanted,
    /// Tools shown at most.
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=HITS_MAX as i64))]
    most: u16,
    /// For programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

impl Search {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let most = usize::from(self.most);
        let search = self.wanted.search(most);
        let found =
            self.place.layers().and_then(|all| all.search(&search).map_err(|fault| fault.to_string()));
        let found = match found {
            Ok(found) => found,
            Err(message) => return fail(output, &message),
        };
        if self.json {
            let tools: Vec<Value> = found.iter().map(entry_json).collect();
            output.line(&inert_json(&pretty(&Object::new().with("tools", tools).into())))?;
            return Ok(Code::Good);
        }
        if found.is_empty() {
            output.note("no tool matches; `catalogue list` shows which servers are known")?;
            return Ok(Code::Good);
        }
        let rows: Vec<Vec<String>> = found.iter().map(row).collect();
        let heads = ["SERVER", "TOOL", "CLASS", "LEVEL", "CONF", "SEEN"];
        table(&heads, &rows).iter().try_for_each(|line| output.line(line))?;
        if found.len() == most {
            output.note(&format!("there may be more than {most}; narrow the search, or use `-n`"))?;
        }
        Ok(Code::Good)
    }
}

fn row(entry: &Entry) -> Vec<String> {
    vec![
        inert_short(&entry.server, 60),
        inert_short(&entry.tool, 60),
        entry.class.name().to_owned(),
        Level::of(entry.class).name().to_owned(),
        format!("{:.2}", entry.confidence),
        entry.provenance.name().to_owned(),
    ]
}
