//! `portcullis log verify`.

use std::io;
use std::path::PathBuf;

use clap::Args;
use portcullis_json::{Object, Value, pretty};
use portcullis_state::PublicKey;
use portcullis_state::log::{Head, Verified, VerifyFault, hex, verify};

use crate::admin::{self, Missing};
use crate::exit::Code;
use crate::files;
use crate::output::Output;
use crate::reached::{Reached, fail};

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// The public key that signs checkpoints, kept elsewhere; by default the one in the data directory.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    reached: Reached,
}

impl Verify {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let checked = self.prepare().map(|(log, key)| verify(&log, Some(&key)));
        match checked {
            Ok(Ok(verified)) => self.print(output, &verified),
            Ok(Err(VerifyFault::Broken(broken))) => {
                let fault = VerifyFault::Broken(broken).to_string();
                if self.reached.json {
                    let answer = Object::new().with("intact", false).with("error", fault.as_str());
                    output.line(&pretty(&answer.into()))?;
                } else {
                    output.error(&format!("the log does not hold: {fault}"))?;
                }
                Ok(Code::No)
            }
            Ok(Err(fault)) => fail(output, &fault.to_string()),
            Err(message) => fail(output, &message),
        }
    }

    fn prepare(&self) -> Result<(PathBuf, PublicKey), String> {
        let directory = admin::directory(&self.reached.data_dir, Missing::Refuse)?;
        let key = match &self.key {
            None => directory.public_key().map_err(|fault| fault.to_string())?,
            Some(path) => {
                let bytes = files::read(path)?;
                let key = PublicKey::parse(&String::from_utf8_lossy(&bytes));
                key.ok_or_else(|| format!("`{}` does not hold a public key", path.display()))?
            }
        };
        Ok((directory.log(), key))
    }

    fn print(&self, output: &mut Output, verified: &Verified) -> io::Result<Code> {
        if self.reached.json {
            output.line(&pretty(&as_json(verified)))?;
            return Ok(Code::Good);
        }
        output.line(&format!(
            "{}: {} records in {} segments, {} signed checkpoints",
            output.good("the log is intact"),
            verified.records,
            verified.segments,
            verified.checkpoints
        ))?;
        if verified.unsigned_tail > 0 {
            output
                .line(&format!("the last {} records wait for the next checkpoint", verified.unsigned_tail))?;
        }
        if verified.repairs > 0 {
            output.line(&format!("{} repairs are recorded in it", verified.repairs))?;
        }
        if verified.head == Head::Absent {
            output.line("there is no kept checkpoint: a cut end could not be noticed")?;
        }
        Ok(Code::Good)
    }
}

fn as_json(verified: &Verified) -> Value {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    Object::new()
        .with("intact", true)
        .with("records", number(verified.records))
        .with("segments", number(verified.segments))
        .with("checkpoints", number(verified.checkpoints))
        .with("from", number(verified.from))
        .with("to", number(verified.to))
        .with("last_hash", verified.last_hash.map_or(Value::Null, |hash| hex(&hash).into()))
        .with("unsigned_tail", number(verified.unsigned_tail))
        .with("repairs", number(verified.repairs))
        .into()
}
