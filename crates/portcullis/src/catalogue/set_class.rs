//! `portcullis catalogue set-class`.

use std::io;

use clap::Args;
use jiff::Timestamp;
use portcullis_catalogue::record::Override;
use portcullis_catalogue::{Class, inert_short};
use portcullis_json::{Object, pretty};

use super::place::{Place, class};
use crate::exit::Code;
use crate::output::Output;
use crate::reached::fail;

/// Set the class of a tool by hand; the computed one stays beside it.
///
/// Who set it, when and why is kept with it, and records and recommended policies go by it. What the gateway goes
/// by is set with `classes` in the configuration or `server add --class`.
#[derive(Args, Debug)]
pub(crate) struct SetClass {
    /// The server.
    server: String,
    /// The tool.
    tool: String,
    /// `Read`, `Write`, `Execute`, `Destructive` or `Financial`.
    #[arg(value_parser = class)]
    class: Class,
    /// Why.
    #[arg(long)]
    reason: String,
    /// Who; otherwise the user who runs this.
    #[arg(long)]
    by: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

impl SetClass {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        match self.set() {
            Err(message) => fail(output, &message),
            Ok(computed) if self.json => {
                let answer = Object::new()
                    .with("server", self.server.as_str())
                    .with("tool", self.tool.as_str())
                    .with("class", self.class.name())
                    .with("computed_class", computed.name());
                output.line(&pretty(&answer.into())).map(|()| Code::Good)
            }
            Ok(computed) => {
                let (tool, class) = (inert_short(&self.tool, 100), self.class.name());
                output.line(&format!("`{tool}` is {class} by hand; the rules say {}", computed.name()))?;
                Ok(Code::Good)
            }
        }
    }

    /// The class that the rules give.
    fn set(&self) -> Result<Class, String> {
        let text = |fault: portcullis_catalogue::index::IndexFault| fault.to_string();
        let layers = self.place.layers()?;
        let unknown = || format!("nothing is known of a server `{}`; import a scan of it first", self.server);
        let row = layers.server(&self.server).map_err(text)?.ok_or_else(unknown)?;
        let record = layers.record(&row).map_err(text)?;
        let tool = record.tools.iter().find(|tool| tool.name() == self.tool);
        let tool = tool.ok_or_else(|| format!("server `{}` has no tool `{}`", row.name, self.tool))?;
        let by =
            self.by.clone().or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "unknown".to_owned());
        let set = Override { class: self.class, by, reason: self.reason.clone() };
        let mut index = self.place.index()?;
        index.set_class(&row.name, &self.tool, &set, Timestamp::now().as_second()).map_err(text)?;
        Ok(tool.computed.class)
    }
}
