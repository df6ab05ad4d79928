//! What there is to say about a source, collected on the way and given its place at the end.

use portcullis_json::{Pointer, Value};

use super::{ImportFaults, Note, NoteKind};
use crate::problem::PROBLEMS_MAX;
use crate::yaml::{Places, YamlFault};

/// With more notes than this there is no policy.
const NOTES_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Findings {
    faults: Vec<(Pointer, String)>,
    notes: Vec<(NoteKind, Pointer, String)>,
}

impl Findings {
    /// The source is not what Intercept would load: there will be no policy.
    pub(super) fn fault(&mut self, at: &Pointer, message: impl Into<String>) {
        if self.faults.len() < PROBLEMS_MAX {
            self.faults.push((at.clone(), message.into()));
        }
    }

    /// Carried over, with another meaning.
    pub(super) fn changed(&mut self, at: &Pointer, message: impl Into<String>) {
        self.note(NoteKind::Changed, at, message.into());
    }

    /// Not carried over.
    pub(super) fn dropped(&mut self, at: &Pointer, message: impl Into<String>) {
        self.note(NoteKind::Dropped, at, message.into());
    }

    fn note(&mut self, kind: NoteKind, at: &Pointer, message: String) {
        match self.notes.len() {
            ..NOTES_MAX => self.notes.push((kind, at.clone(), message)),
            // A policy whose changes nobody can read is no help.
            _ => self.fault(at, "too much of this cannot be carried over; import it in parts"),
        }
    }

    pub(super) fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    pub(super) fn into_faults(self, document: &Value, places: &Places) -> ImportFaults {
        let located = self
            .faults
            .into_iter()
            .map(|(at, message)| YamlFault { place: places.find(document, &at), message });
        ImportFaults { list: located.collect() }
    }

    pub(super) fn into_notes(self, document: &Value, places: &Places) -> Vec<Note> {
        let located = self.notes.into_iter().map(|(kind, pointer, message)| Note {
            kind,
            place: places.find(document, &pointer),
            pointer,
            message,
        });
        let mut notes: Vec<Note> = located.collect();
        notes.sort_by_key(|note| note.place);
        notes
    }
}
