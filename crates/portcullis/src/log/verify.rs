//! `portcullis log verify`.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use portcullis_json::{Object, Value, pretty};
use portcullis_state::PublicKey;
use portcullis_state::log::{Head, Verified, VerifyFault, hex, verify_against};

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
    /// A copy of the `log` directory, on any machine, instead of a data directory.
    #[arg(long, value_name = "DIR", requires = "key", conflicts_with = "data_dir")]
    log: Option<PathBuf>,
    /// A copy of the file `head` of the log, kept elsewhere: shows whether the end was cut since.
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    #[command(flatten)]
    reached: Reached,
}

impl Verify {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let checked = self.prepare().map(|(log, key)| verify_against(&log, Some(&key), &self.checkpoint));
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

    /// The log's directory, and the key.
    fn prepare(&self) -> Result<(PathBuf, PublicKey), String> {
        if let (Some(log), Some(key)) = (&self.log, &self.key) {
            return Ok((log.clone(), read_key(key)?));
        }
        let directory = admin::directory(&self.reached.data_dir, Missing::Refuse)?;
        let key = match &self.key {
            None => directory.public_key().map_err(|fault| fault.to_string())?,
            Some(path) => read_key(path)?,
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

fn read_key(path: &Path) -> Result<PublicKey, String> {
    let bytes = files::read(path)?;
    let key = PublicKey::parse(&String::from_utf8_lossy(&bytes));
    key.ok_or_else(|| format!("`{}` does not hold a public key", path.display()))
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
