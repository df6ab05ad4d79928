//! `portcullis policy activate`.

use std::io;

use clap::Args;

use super::add::shown;
use super::show::version_of;
use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::Reached;

#[derive(Args, Debug)]
pub(crate) struct Activate {
    /// The policy's name.
    name: String,
    /// Which version; the newest by default.
    #[arg(long)]
    version: Option<u32>,
    #[command(flatten)]
    reached: Reached,
}

impl Activate {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = version_of(&self.name, self.version);
        self.reached.run(output, Missing::Refuse, "policy activate", arguments, shown)
    }
}
