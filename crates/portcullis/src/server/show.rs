//! `portcullis server show`.

use std::io;

use clap::Args;
use portcullis_catalogue::inert;
use portcullis_json::{Object, Value};

use super::list::address as address_of;
use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, field, list, table};

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The server's name.
    name: String,
    #[command(flatten)]
    reached: Reached,
}

impl Show {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = Object::new().with("name", self.name.as_str());
        self.reached.run(output, Missing::Refuse, "server show", arguments, shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    let Some(server) = answer.get("server") else {
        return Vec::new();
    };
    let is_program = server.get("command").is_some();
    let address = if is_program { "command" } else { "url" };
    let mut lines =
        vec![format!("name: {}", field(server, "name")), format!("{address}: {}", address_of(server))];
    let program =
        ["transport", "cwd", "inherit_env", "process"].iter().filter(|key| server.get(key).is_some());
    let fields = program.chain(&["kept_in", "created", "allow_private"]);
    lines.extend(fields.map(|key| format!("{key}: {}", field(server, key))));
    for key in [if is_program { "env" } else { "headers" }, "classes"] {
        lines.push(format!("{key}:"));
        let members = server.get(key).and_then(Value::as_object).into_iter().flatten();
        lines.extend(
            members.map(|member| format!("  {}: {}", member.key, member.value.as_str().unwrap_or("-"))),
        );
    }
    let row = |tool: &Value| {
        let name = inert(&field(tool, "name"));
        vec![name, field(tool, "class"), field(tool, "class_source"), field(tool, "standing")]
    };
    let rows: Vec<Vec<String>> = list(answer, "tools").iter().map(row).collect();
    if rows.is_empty() {
        lines.push("tools: none seen yet".to_owned());
        return lines;
    }
    let has_changed = rows.iter().any(|row| row.last().is_some_and(|standing| standing == "changed"));
    lines.extend(table(&["TOOL", "CLASS", "SAYS", "STANDING"], &rows));
    if has_changed {
        let name = field(server, "name");
        lines.push(format!(
            "changed tools are withheld; look at them with `portcullis server changes {name}`"
        ));
    }
    lines
}
