//! `portcullis server remove`.

use std::io;

use clap::Args;
use portcullis_json::Object;

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::Reached;

#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// The server's name.
    name: String,
    #[command(flatten)]
    reached: Reached,
}

impl Remove {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = Object::new().with("name", self.name.as_str());
        let done = format!("server `{}` is removed", self.name);
        self.reached.run(output, Missing::Refuse, "server remove", arguments, |_| vec![done])
    }
}
