//! `portcullis grant list`.

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
        self.reached.run(output, Missing::Refuse, "grant list", Object::new(), shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    let row = |grant: &Value| {
        let policies = grant.get("policies").and_then(Value::as_object).into_iter().flatten();
        let policies: Vec<String> = policies
            .map(|member| format!("{}: {}", member.key, member.value.as_str().unwrap_or("-")))
            .collect();
        vec![
            field(grant, "label"),
            field(grant, "state"),
            policies.join(", "),
            field(grant, "last_used"),
            field(grant, "expires"),
            field(grant, "id"),
        ]
    };
    let rows: Vec<Vec<String>> = list(answer, "grants").iter().map(row).collect();
    table(&["LABEL", "STATE", "SERVER: POLICY", "LAST USED", "EXPIRES", "ID"], &rows)
}
