//! `portcullis grant revoke`.

use std::io;

use clap::Args;
use portcullis_json::Object;

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::Reached;

#[derive(Args, Debug)]
pub(crate) struct Revoke {
    /// The grant's label or id.
    grant: String,
    #[command(flatten)]
    reached: Reached,
}

impl Revoke {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = Object::new().with("grant", self.grant.as_str());
        let done = format!("grant `{}` is revoked; its tokens are worth nothing from now on", self.grant);
        self.reached.run(output, Missing::Refuse, "grant revoke", arguments, |_| vec![done])
    }
}
