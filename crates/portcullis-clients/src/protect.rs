//! Puts guards in front of the servers in clients' files, and takes them out again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::backup::{Backups, Step, StepFault, digest, write_private};
use crate::client::Client;
use crate::document::{Document, DocumentFault};
use crate::entry::{Entry, Way};
use crate::guard::{Guard, is_guarded};
use crate::places::{Home, Place};

/// A larger file is no client's configuration.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// A file that is there, with what was found in it.
pub struct Found {
    /// Where it is.
    pub place: Place,
    /// Its servers, or why they are not known.
    pub entries: Result<Vec<Entry>, FileFault>,
}

/// What protecting does to one file.
pub struct Change {
    /// Where it is.
    pub place: Place,
    /// The servers that get a guard, with the command line that is then started.
    pub guarded: Vec<(Entry, Vec<String>)>,
    /// Those that have one already.
    pub already: Vec<Entry>,
    /// Those that are left alone, with the reason.
    pub left: Vec<(Entry, String)>,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// A file could not be read, understood or written.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is not understood.
    #[error("{0}")]
    Document(#[from] DocumentFault),
    /// Its backup failed.
    #[error("{0}")]
    Backup(#[from] StepFault),
    /// It changed while we looked at it.
    #[error("it changed in the meantime; run the command again")]
    Moved,
    /// Too large.
    #[error("it is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge,
}

/// How a change was taken back.
#[derive(Debug, PartialEq, Eq)]
pub enum Undone {
    /// The file has its former bytes again.
    Exactly(PathBuf),
    /// The file was edited since; only the guards were taken out.
    GuardsOnly(PathBuf),
    /// The file is no longer there.
    Gone(PathBuf),
}

/// How it went with one file.
pub type TakenBack = Result<Undone, FileFault>;

/// Every file of these clients that is there.
pub fn find(home: &Home, project: Option<&Path>, clients: &[Client]) -> Vec<Found> {
    let wanted = |place: &Place| clients.is_empty() || clients.contains(&place.client);
    let places = home.places(project).into_iter().filter(wanted).filter(|place| place.path.exists());
    places
        .map(|place| Found { entries: read(&place).map(|(_, document)| document.entries()), place })
        .collect()
}

/// The file of a place: its bytes, and what they say.
pub fn read(place: &Place) -> Result<(Vec<u8>, Document), FileFault> {
    let bytes = bytes_of(&place.path)?;
    let document = Document::read(place, &bytes)?;
    Ok((bytes, document))
}

/// What protecting this file would change. Nothing is written.
pub fn protect(place: &Place, guard: &Guard) -> Result<Change, FileFault> {
    let (before, mut document) = read(place)?;
    let (mut guarded, mut already, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for entry in document.entries() {
        if is_guarded(&entry) {
            already.push(entry);
            continue;
        }
        match guard.replacement(place.client, &entry) {
            Some(replacement) => {
                document.replace(&entry, &replacement)?;
                let line = std::iter::once(replacement.command).chain(replacement.arguments).collect();
                guarded.push((entry, line));
            }
            None => {
                let reason = match &entry.way {
                    Way::Unknown(reason) => reason.clone(),
                    Way::Command { .. } | Way::Remote(_) => String::new(),
                };
                left.push((entry, reason));
            }
        }
    }
    Ok(Change { place: place.clone(), guarded, already, left, after: document.bytes(), before })
}

impl Change {
    /// Keeps a backup and writes the file, unless somebody else did in the meantime.
    pub fn apply(&self, backups: &Backups) -> Result<(), FileFault> {
        if self.guarded.is_empty() {
            return Ok(());
        }
        let servers: Vec<(Vec<String>, String)> =
            self.guarded.iter().map(|(entry, _)| (entry.section.clone(), entry.name.clone())).collect();
        backups.keep(&self.place.path, &self.before, &self.after, &servers)?;
        if bytes_of(&self.place.path)? != self.before {
            return Err(FileFault::Moved);
        }
        replace(&self.place.path, &self.after)
    }
}

/// Takes back every change to the files of these clients, the newest first.
pub fn undo(
    backups: &Backups,
    home: &Home,
    project: Option<&Path>,
    clients: &[Client],
) -> Result<Vec<(PathBuf, TakenBack)>, StepFault> {
    let places = home.places(project);
    let mut undone = Vec::new();
    for step in backups.steps()? {
        // A project's file is known by its path alone once its project is not the one we stand in.
        let Some(place) = place_of(&step, &places) else { continue };
        if clients.is_empty() || clients.contains(&place.client) {
            undone.push((step.path.clone(), undo_step(&step, &place)));
        }
    }
    Ok(undone)
}

fn place_of(step: &Step, places: &[Place]) -> Option<Place> {
    if let Some(place) = places.iter().find(|place| place.path == step.path) {
        return Some(place.clone());
    }
    // Its project is the directory above the file whose name fits.
    step.path.ancestors().skip(1).take(2).find_map(|project| {
        Home::at(Path::new("/nobody")).places(Some(project)).into_iter().find(|place| place.path == step.path)
    })
}

fn undo_step(step: &Step, place: &Place) -> Result<Undone, FileFault> {
    let now = match bytes_of(&step.path) {
        Err(FileFault::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            step.forget()?;
            return Ok(Undone::Gone(step.path.clone()));
        }
        other => other?,
    };
    let undone = if digest(&now) == step.written {
        replace(&step.path, &step.original)?;
        Undone::Exactly(step.path.clone())
    } else if now == step.original {
        // The change was kept and never written.
        Undone::Exactly(step.path.clone())
    } else {
        take_out_guards(step, place, &now)?;
        Undone::GuardsOnly(step.path.clone())
    };
    step.forget()?;
    Ok(undone)
}

fn take_out_guards(step: &Step, place: &Place, now: &[u8]) -> Result<(), FileFault> {
    let original = Document::read(place, &step.original)?;
    let mut document = Document::read(place, now)?;
    for entry in document.entries() {
        let is_ours =
            step.servers.iter().any(|(section, name)| *section == entry.section && *name == entry.name);
        if is_ours && is_guarded(&entry) {
            document.restore(&entry, &original)?;
        }
    }
    replace(&step.path, &document.bytes())
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, FileFault> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(FileFault::TooLarge);
    }
    Ok(fs::read(path)?)
}

/// In one step, through a link to the file that it names, with the rights it had.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileFault> {
    let path = fs::canonicalize(path)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".portcullis-new");
    let temporary = path.with_file_name(name);
    let write = || -> io::Result<()> {
        // Left by somebody who was stopped in the middle.
        let _ = fs::remove_file(&temporary);
        write_private(&temporary, bytes)?;
        fs::set_permissions(&temporary, fs::metadata(&path)?.permissions())?;
        fs::rename(&temporary, &path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })?;
    Ok(())
}
