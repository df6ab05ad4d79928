//! `portcullis catalogue list`.

use std::io;

use clap::Args;
use portcullis_catalogue::index::{Counts, Layers, ServerRow};
use portcullis_catalogue::record::Provenance;
use portcullis_catalogue::{inert_json, inert_short};
use portcullis_json::{Object, Value, pretty};

use super::place::{Place, time};
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{fail, table};

/// List the servers, and how many tools are known from where.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// For programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

impl List {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        match self.place.layers().and_then(|layers| all(&layers).map_err(|fault| fault.to_string())) {
            Ok((servers, here, shipped)) => self.show(&servers, &here, &shipped, output),
            Err(message) => fail(output, &message),
        }
    }

    fn show(
        &self,
        servers: &[ServerRow],
        here: &Counts,
        shipped: &Counts,
        output: &mut Output,
    ) -> io::Result<Code> {
        if self.json {
            let answer = Object::new()
                .with("servers", servers.iter().map(server).collect::<Vec<_>>())
                .with("here", counts(here))
                .with("shipped", counts(shipped));
            output.line(&inert_json(&pretty(&answer.into())))?;
            return Ok(Code::Good);
        }
        let rows: Vec<Vec<String>> = servers.iter().map(row).collect();
        table(&["SERVER", "VERSION", "TOOLS", "LAST SEEN", "FROM"], &rows)
            .iter()
            .try_for_each(|line| output.line(line))?;
        output.line(&format!("\nhere: {}\nshipped: {}", sentence(here), sentence(shipped)))?;
        Ok(Code::Good)
    }
}

type All = (Vec<ServerRow>, Counts, Counts);

fn all(layers: &Layers) -> Result<All, portcullis_catalogue::index::IndexFault> {
    let (here, shipped) = layers.counts()?;
    Ok((layers.servers()?, here, shipped))
}

fn row(server: &ServerRow) -> Vec<String> {
    vec![
        inert_short(&server.name, 60),
        inert_short(server.version.as_deref().unwrap_or("-"), 20),
        server.tools.to_string(),
        time(server.seen_at),
        inert_short(&server.source, 60),
    ]
}

fn server(server: &ServerRow) -> Value {
    let optional = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let object = Object::new()
        .with("name", server.name.as_str())
        .with("version", optional(&server.version))
        .with("package", optional(&server.package))
        .with("repository", optional(&server.repository))
        .with("remote", optional(&server.remote))
        .with("tools", server.tools)
        .with("last_seen", time(server.seen_at))
        .with("source", server.source.as_str());
    object.into()
}

fn by_provenance(counts: &Counts) -> Vec<(Provenance, i64)> {
    let sum = |wanted: Provenance| counts.tools.iter().filter(|row| row.0 == wanted).map(|row| row.2).sum();
    Provenance::ALL.into_iter().map(|from| (from, sum(from))).filter(|(_, tools)| *tools > 0).collect()
}

fn counts(counts: &Counts) -> Value {
    let tools =
        by_provenance(counts).iter().fold(Object::new(), |all, (from, tools)| all.with(from.name(), *tools));
    Object::new().with("servers", counts.servers).with("tools", tools).into()
}

fn sentence(counts: &Counts) -> String {
    let tools: Vec<String> =
        by_provenance(counts).iter().map(|(from, tools)| format!("{tools} {}", from.name())).collect();
    let from = if tools.is_empty() { String::new() } else { format!(" ({})", tools.join(", ")) };
    format!("{} servers, {} tools{from}", counts.servers, counts.total())
}
