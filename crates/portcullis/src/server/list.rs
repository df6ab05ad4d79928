//! `portcullis server list`.

use std::io;

use clap::Args;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, field, list, table};

#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    reached: Reached,
}

impl List {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        self.reached.run(output, Missing::Refuse, "server list", Object::new(), shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    let row = |server: &Value| vec![field(server, "name"), field(server, "url"), field(server, "kept_in")];
    let rows: Vec<Vec<String>> = list(answer, "servers").iter().map(row).collect();
    table(&["NAME", "URL", "KEPT IN"], &rows)
}
