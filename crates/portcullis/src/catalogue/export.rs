//! `portcullis catalogue export`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use portcullis_catalogue::index::{HITS_MAX, Layers, entry_json};
use portcullis_catalogue::inert_json;
use portcullis_json::compact;

use super::place::{Place, Wanted};
use crate::exit::Code;
use crate::files;
use crate::output::Output;
use crate::reached::fail;

/// Write what is known as JSON lines.
///
/// One tool a line, with its server, class, level, confidence, provenance, evidence as offsets, and fingerprint:
/// what is known here, then what ships.
#[derive(Args, Debug)]
pub(crate) struct Export {
    #[command(flatten)]
    wanted: Wanted,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Export {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let layers = match self.place.layers() {
            Ok(layers) => layers,
            Err(message) => return fail(output, &message),
        };
        match &self.out {
            None => match self.lines(&layers, |line| output.line(line))? {
                Ok(_) => Ok(Code::Good),
                Err(message) => fail(output, &message),
            },
            Some(path) => {
                let mut text = Vec::new();
                let written = self.lines(&layers, |line| writeln!(text, "{line}"))?;
                let text = String::from_utf8_lossy(&text);
                match written.and_then(|count| files::put(path, &text).map(|()| count)) {
                    Ok(count) => {
                        output.note(&format!("{count} tools are in `{}`", path.display()))?;
                        Ok(Code::Good)
                    }
                    Err(message) => fail(output, &message),
                }
            }
        }
    }

    /// The inner error is for the user.
    fn lines(
        &self,
        layers: &Layers,
        mut write: impl FnMut(&str) -> io::Result<()>,
    ) -> io::Result<Result<usize, String>> {
        let mut count = 0;
        let mut failed = Ok(());
        let all = layers.each(&self.wanted.search(HITS_MAX), |entry| {
            count += 1;
            failed = write(&inert_json(&compact(&entry_json(entry))));
            failed.is_ok()
        });
        failed?;
        Ok(all.map(|()| count).map_err(|fault| fault.to_string()))
    }
}
