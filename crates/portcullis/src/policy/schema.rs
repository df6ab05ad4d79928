//! `portcullis policy schema`

use std::io;

use clap::Args;

use crate::exit::Code;
use crate::output::Output;

/// Print the JSON Schema of the policy language, for editors.
///
/// In VS Code, put it under `json.schemas`; elsewhere, name it in the editor's own way.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Print it on one line.
    #[arg(long)]
    json: bool,
}

impl Schema {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let schema = portcullis_policy::json_schema();
        let text = if self.json { format!("{schema}\n") } else { portcullis_json::pretty(&schema) };
        output.text(&text)?;
        Ok(Code::Good)
    }
}
