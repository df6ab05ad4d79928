//! `portcullis grant rotate`.

use std::io;

use clap::Args;
use portcullis_json::Object;

use super::create::shown;
use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, seconds};

#[derive(Args, Debug)]
pub(crate) struct Rotate {
    /// The grant's label or id.
    grant: String,
    /// How long the old token is still taken: `90s`, `15m`, `36h`.
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "0")]
    overlap: u64,
    #[command(flatten)]
    reached: Reached,
}

impl Rotate {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let overlap = i64::try_from(self.overlap).unwrap_or(i64::MAX);
        let arguments = Object::new().with("grant", self.grant.as_str()).with("overlap_s", overlap);
        self.reached.run(output, Missing::Refuse, "grant rotate", arguments, shown)
    }
}
