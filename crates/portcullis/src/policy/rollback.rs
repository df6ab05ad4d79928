//! `portcullis policy rollback`.

use std::io;

use clap::Args;

use super::add::shown;
use super::show::version_of;
use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::Reached;

#[derive(Args, Debug)]
pub(crate) struct Rollback {
    /// The policy's name.
    name: String,
    #[command(flatten)]
    reached: Reached,
}

impl Rollback {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = version_of(&self.name, None);
        self.reached.run(output, Missing::Refuse, "policy rollback", arguments, shown)
    }
}
