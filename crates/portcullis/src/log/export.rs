//! `portcullis log export`.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use portcullis_state::log::{ExportFormat, Stored, export};

use crate::admin::{self, Missing};
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, fail};

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// In which form. `--json` is the same as `--format jsonl`.
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Not before this time, as in `2026-11-15T10:00:00Z`.
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    #[command(flatten)]
    reached: Reached,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The stored lines, which can still be verified.
    Jsonl,
    /// A table.
    Csv,
    /// Open Cybersecurity Schema Framework, one event per line.
    Ocsf,
}

impl Export {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let directory = match admin::directory(&self.reached.data_dir, Missing::Refuse) {
            Ok(directory) => directory,
            Err(message) => return fail(output, &message),
        };
        let format = match self.format {
            Format::Csv if !self.reached.json => ExportFormat::Csv,
            Format::Ocsf if !self.reached.json => ExportFormat::Ocsf,
            _ => ExportFormat::JsonLines,
        };
        let wanted = |record: &Stored| {
            self.since.is_none_or(|since| record.time >= since)
                && self.until.is_none_or(|until| record.time < until)
        };
        let written = export(&directory.log(), format, &wanted, &mut Lines(output));
        match written {
            Ok(exported) => {
                let left_out = match exported.left_out {
                    0 => String::new(),
                    some => format!("; {some} have no form there"),
                };
                output.note(&format!("{} records{left_out}", exported.written))?;
                Ok(Code::Good)
            }
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(error),
            Err(error) => fail(output, &format!("cannot export the log: {error}")),
        }
    }
}

/// The command's output as something to write to.
struct Lines<'a>(&'a mut Output);

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.bytes(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.text("")
    }
}
