//! What files were before they were changed: a stack of steps for each file, so that every change can be
//! taken back, the last one first.
//!
//! Backups hold whatever the file held, so nobody but their owner may read them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use portcullis_json::{Limits, Object, Value, parse, pretty};
use sha2::{Digest as _, Sha256};

/// A file changed more often than this without being restored is refused.
const STEPS_MAX: usize = 1_000;
/// A record of a step is a few names.
const RECORD_BYTES_MAX: usize = 4 << 20;
const RECORD: &str = "step.json";
const ORIGINAL: &str = "original";

/// The directory of all backups.
#[derive(Clone, Debug)]
pub struct Backups {
    directory: PathBuf,
}

/// One change of one file.
pub(crate) struct Step {
    directory: PathBuf,
    /// The file.
    pub(crate) path: PathBuf,
    /// What it was before.
    pub(crate) original: Vec<u8>,
    /// The digest of what was written.
    pub(crate) written: String,
    /// The servers that were changed: section and name.
    pub(crate) servers: Vec<(Vec<String>, String)>,
    /// The rights that the file had, where they were changed.
    pub(crate) mode: Option<u32>,
    /// What was added to a gateway for it.
    pub(crate) additions: Option<Additions>,
}

/// A step as it was found, and where.
pub(crate) type Kept = (PathBuf, Result<Step, StepFault>);

/// What was added to a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Additions {
    /// The gateway's data directory.
    pub data_dir: PathBuf,
    /// Servers, each with a policy of the same name.
    pub servers: Vec<String>,
    /// Grants.
    pub grants: Vec<String>,
}

/// A backup could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum StepFault {
    /// Reading or writing failed.
    #[error("backup `{0}`: {1}")]
    Io(String, io::Error),
    /// Something else is in its place.
    #[error("backup `{0}` is damaged; restore your file by hand from `{ORIGINAL}` in it")]
    Damaged(String),
    /// Too many steps.
    #[error(
        "`{0}` was changed {STEPS_MAX} times without being restored; run `portcullis protect --undo` first"
    )]
    Full(String),
}

impl Backups {
    /// Backups in this directory, which need not be there yet.
    pub fn at(directory: impl Into<PathBuf>) -> Backups {
        Backups { directory: directory.into() }
    }

    /// Keeps what a file is, before it is changed.
    pub(crate) fn keep(
        &self,
        path: &Path,
        original: &[u8],
        written: &[u8],
        servers: &[(Vec<String>, String)],
        more: &More<'_>,
    ) -> Result<(), StepFault> {
        let directory = self.next_step(path)?;
        let list: Vec<Value> = servers.iter().map(server_value).collect();
        let record = Object::new()
            .with("path", path.to_string_lossy().into_owned())
            .with("written_sha256", digest(written))
            .with("servers", list);
        let record = more.mode.into_iter().fold(record, |record, mode| record.with("mode", i64::from(mode)));
        let record = more.additions.into_iter().fold(record, |record, additions| {
            let list =
                |names: &[String]| names.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>();
            let gateway = Object::new()
                .with("data_dir", additions.data_dir.to_string_lossy().into_owned())
                .with("servers", list(&additions.servers))
                .with("grants", list(&additions.grants));
            record.with("gateway", gateway)
        });
        let make = || -> io::Result<()> {
            create_private(&directory)?;
            write_private(&directory.join(ORIGINAL), original)?;
            // Last, and whole at once: a step counts once its record is there.
            let new = directory.join("step.new");
            write_private(&new, pretty(&record.clone().into()).as_bytes())?;
            fs::rename(new, directory.join(RECORD))
        };
        make().map_err(|error| StepFault::Io(directory.display().to_string(), error))
    }

    /// All changes that were not taken back, newest first for each file, with where they are kept. One that cannot be
    /// read is in nobody else's way.
    pub(crate) fn steps(&self) -> Result<Vec<Kept>, StepFault> {
        let mut steps = Vec::new();
        for file in sorted(&self.directory)? {
            let kept = sorted(&file)?.into_iter().rev().filter(|directory| directory.join(RECORD).exists());
            steps.extend(kept.map(|directory| (directory.clone(), read_step(&directory))));
        }
        Ok(steps)
    }

    /// Where the next step of a file is kept. What somebody who was stopped left there is no step, and goes: either
    /// the file was not changed yet, or it was restored already.
    fn next_step(&self, path: &Path) -> Result<PathBuf, StepFault> {
        let of_file = self.of_file(path);
        let (steps, left): (Vec<PathBuf>, Vec<PathBuf>) =
            sorted(&of_file)?.into_iter().partition(|directory| directory.join(RECORD).exists());
        for directory in left {
            let failed = |error| StepFault::Io(directory.display().to_string(), error);
            fs::remove_dir_all(&directory).map_err(failed)?;
        }
        let number_of = |step: &PathBuf| step.file_name()?.to_str()?.parse::<usize>().ok();
        let number = steps.last().and_then(number_of).unwrap_or_default() + 1;
        if number > STEPS_MAX {
            return Err(StepFault::Full(path.display().to_string()));
        }
        Ok(of_file.join(format!("{number:04}")))
    }

    fn of_file(&self, path: &Path) -> PathBuf {
        let name: String = digest(path.to_string_lossy().as_bytes()).chars().take(24).collect();
        self.directory.join(name)
    }
}

/// What a step keeps beside the file.
#[derive(Default)]
pub(crate) struct More<'a> {
    pub(crate) mode: Option<u32>,
    pub(crate) additions: Option<&'a Additions>,
}

impl Step {
    /// The change was taken back.
    pub(crate) fn forget(&self) -> Result<(), StepFault> {
        let failed = |error| StepFault::Io(self.directory.display().to_string(), error);
        // First: without its record it is no step any more.
        fs::remove_file(self.directory.join(RECORD)).map_err(failed)?;
        fs::remove_file(self.directory.join(ORIGINAL)).map_err(failed)?;
        fs::remove_dir(&self.directory).map_err(failed)
    }
}

fn read_step(directory: &Path) -> Result<Step, StepFault> {
    let failed = |error| StepFault::Io(directory.display().to_string(), error);
    let record = fs::read(directory.join(RECORD)).map_err(failed)?;
    let original = fs::read(directory.join(ORIGINAL)).map_err(failed)?;
    let damaged = || StepFault::Damaged(directory.display().to_string());
    let limits = Limits { bytes_max: RECORD_BYTES_MAX, depth_max: 8 };
    let record = parse(&record, &limits).map_err(|_| damaged())?;
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    let servers = record.get("servers").and_then(Value::as_array).unwrap_or_default();
    Ok(Step {
        directory: directory.to_owned(),
        path: PathBuf::from(text("path").ok_or_else(damaged)?),
        original,
        written: text("written_sha256").ok_or_else(damaged)?,
        servers: servers.iter().map(server_of).collect::<Option<_>>().ok_or_else(damaged)?,
        mode: record.get("mode").and_then(Value::as_number).and_then(|mode| mode.spelling().parse().ok()),
        additions: record.get("gateway").map(|added| additions_of(added).ok_or_else(damaged)).transpose()?,
    })
}

fn additions_of(value: &Value) -> Option<Additions> {
    let list = |key: &str| -> Option<Vec<String>> {
        value.get(key)?.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
    };
    Some(Additions {
        data_dir: PathBuf::from(value.get("data_dir")?.as_str()?),
        servers: list("servers")?,
        grants: list("grants")?,
    })
}

fn server_value((section, name): &(Vec<String>, String)) -> Value {
    let section: Vec<Value> = section.iter().map(|key| key.as_str().into()).collect();
    Object::new().with("section", section).with("name", name.as_str()).into()
}

fn server_of(value: &Value) -> Option<(Vec<String>, String)> {
    let section = value.get("section")?.as_array()?;
    let section = section.iter().map(|key| key.as_str().map(str::to_owned)).collect::<Option<_>>()?;
    Some((section, value.get("name")?.as_str()?.to_owned()))
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sorted(directory: &Path) -> Result<Vec<PathBuf>, StepFault> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StepFault::Io(directory.display().to_string(), error)),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// A new file that nobody but its owner may read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
