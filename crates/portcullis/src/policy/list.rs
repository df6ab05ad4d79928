//! `portcullis policy list`.

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
        self.reached.run(output, Missing::Refuse, "policy list", Object::new(), shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    let keys = ["name", "server", "active", "newest", "kept_in"];
    let row = |policy: &Value| keys.iter().map(|key| field(policy, key)).collect();
    let rows: Vec<Vec<String>> = list(answer, "policies").iter().map(row).collect();
    table(&["NAME", "SERVER", "IN FORCE", "NEWEST", "KEPT IN"], &rows)
}
