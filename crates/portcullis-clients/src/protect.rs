//! Puts guards in front of the servers in clients' files, and takes them out again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::backup::{Additions, Backups, More, Step, StepFault, digest, write_private};
use crate::client::Client;
use crate::document::{Document, DocumentFault};
use crate::entry::{Entry, Way};
use crate::guard::{Guard, is_guarded};
use crate::places::{Home, Place};
use crate::redirect::{self, Bridge, Redirected};

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
    additions: Option<Additions>,
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
    /// What was added to a gateway for it is still there.
    #[error("the file is as it was, but what was added to the gateway is still there: {0}")]
    Gateway(String),
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
    let (place, after) = (place.clone(), document.bytes());
    Ok(Change { place, guarded, already, left, after, before, additions: None })
}

/// What leading these servers of a file to a gateway would change. Nothing is written.
pub fn redirect(
    place: &Place,
    redirected: &[Redirected],
    bridge: &Bridge,
    additions: Additions,
) -> Result<Change, FileFault> {
    let (before, mut document) = read(place)?;
    let mut guarded = Vec::new();
    for redirected in redirected {
        let shown = redirect::redirect(&mut document, place.client, redirected, bridge)?;
        guarded.push((redirected.entry.clone(), shown));
    }
    let (place, after) = (place.clone(), document.bytes());
    let (already, left, additions) = (Vec::new(), Vec::new(), Some(additions));
    Ok(Change { place, guarded, already, left, after, before, additions })
}

impl Change {
    /// A change that is only shown.
    pub fn preview(
        place: Place,
        guarded: Vec<(Entry, Vec<String>)>,
        already: Vec<Entry>,
        left: Vec<(Entry, String)>,
    ) -> Change {
        let (before, after) = (Vec::new(), Vec::new());
        Change { place, guarded, already, left, before, after, additions: None }
    }

    /// With what is said about the other servers of the file.
    pub fn beside(self, already: Vec<Entry>, left: Vec<(Entry, String)>) -> Change {
        Change { already, left, ..self }
    }

    /// Keeps a backup and writes the file, unless somebody else did in the meantime.
    pub fn apply(&self, backups: &Backups) -> Result<(), FileFault> {
        if self.guarded.is_empty() {
            return Ok(());
        }
        let servers: Vec<(Vec<String>, String)> =
            self.guarded.iter().map(|(entry, _)| (entry.section.clone(), entry.name.clone())).collect();
        // A file that holds a grant's token is its owner's alone.
        let mode = self.additions.is_some().then(|| mode_of(&self.place.path)).transpose()?.flatten();
        let more = More { mode, additions: self.additions.as_ref() };
        backups.keep(&self.place.path, &self.before, &self.after, &servers, &more)?;
        if bytes_of(&self.place.path)? != self.before {
            return Err(FileFault::Moved);
        }
        replace(&self.place.path, &self.after, mode.map(|mode| mode & 0o700))
    }
}

/// Takes back every change to the files of these clients, the newest first. `take_down` removes what was added to
/// a gateway; a step whose additions are still there can be taken back again.
pub fn undo(
    backups: &Backups,
    home: &Home,
    project: Option<&Path>,
    clients: &[Client],
    take_down: &mut dyn FnMut(&Additions) -> Result<(), String>,
) -> Result<Vec<(PathBuf, TakenBack)>, StepFault> {
    let places = home.places(project);
    let mut undone = Vec::new();
    for (kept, step) in backups.steps()? {
        let step = match step {
            Ok(step) => step,
            Err(fault) => {
                undone.push((kept, Err(fault.into())));
                continue;
            }
        };
        // A project's file is known by its path alone once its project is not the one we stand in.
        let Some(place) = place_of(&step, &places) else { continue };
        if clients.is_empty() || clients.contains(&place.client) {
            undone.push((step.path.clone(), undo_step(&step, &place, take_down)));
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

fn undo_step(
    step: &Step,
    place: &Place,
    take_down: &mut dyn FnMut(&Additions) -> Result<(), String>,
) -> Result<Undone, FileFault> {
    let undone = undo_file(step, place)?;
    if let Some(additions) = &step.additions {
        take_down(additions).map_err(FileFault::Gateway)?;
    }
    step.forget()?;
    Ok(undone)
}

fn undo_file(step: &Step, place: &Place) -> Result<Undone, FileFault> {
    let now = match bytes_of(&step.path) {
        Err(FileFault::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Undone::Gone(step.path.clone()));
        }
        other => other?,
    };
    let undone = if digest(&now) == step.written {
        replace(&step.path, &step.original, step.mode)?;
        Undone::Exactly(step.path.clone())
    } else if now == step.original {
        // The change was kept and never written.
        Undone::Exactly(step.path.clone())
    } else {
        take_out_guards(step, place, &now)?;
        Undone::GuardsOnly(step.path.clone())
    };
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
    replace(&step.path, &document.bytes(), step.mode)
}

#[cfg(unix)]
fn mode_of(path: &Path) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(Some(fs::metadata(path)?.permissions().mode() & 0o777))
}

#[cfg(not(unix))]
fn mode_of(_: &Path) -> io::Result<Option<u32>> {
    Ok(None)
}

/// The rights that a file gets: those it had, or these.
fn rights(path: &Path, mode: Option<u32>) -> io::Result<fs::Permissions> {
    let mut rights = fs::metadata(path)?.permissions();
    #[cfg(unix)]
    if let Some(mode) = mode {
        std::os::unix::fs::PermissionsExt::set_mode(&mut rights, mode);
    }
    Ok(rights)
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, FileFault> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(FileFault::TooLarge);
    }
    Ok(fs::read(path)?)
}

/// In one step, through a link to the file that it names, with the rights it had, or with others.
fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), FileFault> {
    let path = fs::canonicalize(path)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".portcullis-new");
    let temporary = path.with_file_name(name);
    let write = || -> io::Result<()> {
        // Left by somebody who was stopped in the middle.
        let _ = fs::remove_file(&temporary);
        write_private(&temporary, bytes)?;
        fs::set_permissions(&temporary, rights(&path, mode)?)?;
        fs::rename(&temporary, &path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })?;
    Ok(())
}
