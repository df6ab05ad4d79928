//! `portcullis policy import FILE`

use std::io;
use std::path::PathBuf;

use clap::Args;
use portcullis_json::{Object, Value, pretty};
use portcullis_policy::{Imported, Note, NoteKind, import_intercept};

use crate::exit::Code;
use crate::files;
use crate::output::Output;

/// Turn the rules of PolicyLayer's Intercept into a policy.
///
/// Reads the YAML of Intercept's open-source version and prints a policy that is never laxer. What changed
/// its meaning on the way, and what could not be carried over, is said on standard error.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The YAML file; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the policy to this file, which must not exist yet.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit with 1 when something could not be carried over.
    #[arg(long)]
    strict: bool,
    /// Print the policy and the notes as one JSON object.
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let imported = match self.read() {
            Ok(imported) => imported,
            Err(message) => return output.error(&message).map(|()| Code::Failed),
        };
        if let Some(path) = &self.output
            && let Err(message) = files::create(path, &pretty(&imported.policy))
        {
            return output.error(&message).map(|()| Code::Failed);
        }
        self.show(&imported, output)?;
        let dropped = imported.notes.iter().any(|note| note.kind == NoteKind::Dropped);
        Ok(if self.strict && dropped { Code::No } else { Code::Good })
    }

    fn read(&self) -> Result<Imported, String> {
        let source = files::read(&self.file)?;
        import_intercept(&source)
            .map_err(|faults| format!("{} was not imported:\n{faults}", self.file.display()))
    }

    fn show(&self, imported: &Imported, output: &mut Output) -> io::Result<()> {
        if self.json {
            let notes = imported.notes.iter().map(note_as_json).collect::<Vec<_>>();
            let result = Object::new().with("policy", imported.policy.clone()).with("notes", notes);
            return output.line(&Value::from(result).to_string());
        }
        for note in &imported.notes {
            let place = note.place;
            output.note(&format!(
                "{}:{}:{}: {}: {}",
                self.file.display(),
                place.line,
                place.column,
                note.kind.name(),
                note.message
            ))?;
        }
        match &self.output {
            Some(path) => {
                output.note(&format!("wrote {}; try it with `portcullis policy check`", path.display()))
            }
            None => output.text(&pretty(&imported.policy)),
        }
    }
}

fn note_as_json(note: &Note) -> Value {
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    Object::new()
        .with("kind", note.kind.name())
        .with("line", number(note.place.line))
        .with("column", number(note.place.column))
        .with("pointer", note.pointer.as_str())
        .with("message", note.message.as_str())
        .into()
}
