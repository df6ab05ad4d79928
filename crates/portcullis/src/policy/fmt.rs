//! `portcullis policy fmt FILE…`

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use portcullis_json::{Limits, Object, Place, Value};

use crate::exit::Code;
use crate::files;
use crate::output::Output;

/// Lay policies out in the usual way.
///
/// Two blanks a level, short lists and objects on one line, keys in the order they were written, numbers
/// and strings as they are. Files are rewritten in place, `-` goes to standard output. Works on any JSON
/// that the policy reader would read, also on one with errors in its rules.
#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// The policies; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Change nothing; exit with 1 if a file would change.
    #[arg(long)]
    check: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

impl Fmt {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let (mut failed, mut differing) = (false, false);
        let mut results = Vec::new();
        for path in &self.files {
            let result = Object::new().with("file", path.display().to_string());
            match self.one(path, output)? {
                Ok(changed) => {
                    differing |= changed;
                    results.push(Value::from(result.with("changed", changed)));
                }
                Err(message) => {
                    failed = true;
                    output.error(&message)?;
                    results.push(result.with("error", message).into());
                }
            }
        }
        if self.json {
            output.line(&Value::from(Object::new().with("files", results)).to_string())?;
        }
        Ok(match (failed, differing && self.check) {
            (true, _) => Code::Failed,
            (false, true) => Code::No,
            (false, false) => Code::Good,
        })
    }

    /// Whether the file was, or would be, changed.
    fn one(&self, path: &Path, output: &mut Output) -> io::Result<Result<bool, String>> {
        let (source, laid_out) =
            match files::read(path).and_then(|source| Ok((laid_out(path, &source)?, source))) {
                Ok((laid_out, source)) => (source, laid_out),
                Err(message) => return Ok(Err(message)),
            };
        let changed = source != laid_out.as_bytes();
        if self.check {
            if changed && !self.json {
                output.line(&format!("{} would change", path.display()))?;
            }
        } else if path.as_os_str() == "-" {
            output.text(&laid_out)?;
        } else if changed {
            return Ok(files::replace(path, &laid_out).map(|()| true));
        }
        Ok(Ok(changed))
    }
}

fn laid_out(path: &Path, source: &[u8]) -> Result<String, String> {
    let value = portcullis_json::parse(source, &Limits::document()).map_err(|fault| {
        let place = Place::of(source, fault.offset);
        format!("{}:{}:{}: {}", path.display(), place.line, place.column, fault.kind)
    })?;
    Ok(portcullis_json::pretty(&value))
}
