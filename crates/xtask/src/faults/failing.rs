//! A disk that fails and a clock that steps, for a gateway in a process of its own.
//!
//! `failing_system.c` is built once and loaded into the gateway; a small file tells it what to do. This needs
//! no rights and nothing installed but the C compiler that Rust links with. A disk that is really full is in
//! `disk.rs`.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

const SOURCE: &str = include_str!("failing_system.c");
/// Numbers of the system's errors.
pub(crate) const NO_SPACE: i32 = 28;
pub(crate) const INPUT_OUTPUT: i32 = 5;
pub(crate) const READ_ONLY: i32 = 30;

const PAGE_BYTES: usize = 4096;
/// Where `kill_at` and `fail_at` are.
const KILL_AT_OFFSET: u64 = 20;

/// Builds the library below `directory`.
pub(crate) fn build(directory: &Path) -> Result<PathBuf> {
    let (source, library) = (directory.join("failing_system.c"), directory.join("failing_system.so"));
    std::fs::write(&source, SOURCE)?;
    let mut compiler = process::command("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
    process::run(&mut compiler).context("a C compiler is needed: `apt-get install gcc`")?;
    Ok(library)
}

/// What the loaded library does, in the order of `struct control`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) clock_offset_s: i64,
    pub(crate) write_errno: i32,
    pub(crate) sync_errno: i32,
    pub(crate) sync_delay_ms: i32,
    pub(crate) kill_at: i32,
    pub(crate) fail_at: i32,
}

/// The file that tells the library.
pub(crate) struct Control {
    file: File,
    path: PathBuf,
}

impl Control {
    pub(crate) fn new(path: PathBuf) -> Result<Control> {
        let file = File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
        let control = Control { file, path };
        control.set(Faults::default())?;
        Ok(control)
    }

    pub(crate) fn set(&self, faults: Faults) -> Result<()> {
        let mut bytes = faults.clock_offset_s.to_ne_bytes().to_vec();
        let numbers =
            [faults.write_errno, faults.sync_errno, faults.sync_delay_ms, faults.kill_at, faults.fail_at];
        bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        // The library looks at whole pages.
        bytes.resize(PAGE_BYTES, 0);
        Ok(self.file.write_all_at(&bytes, 0)?)
    }

    /// Whether an operation that was to fail or to kill has not been reached yet.
    pub(crate) fn is_pending(&self) -> Result<bool> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, KILL_AT_OFFSET)?;
        Ok(bytes.chunks(4).any(|number| number != [0; 4]))
    }

    /// Has the library loaded into a process that is about to start.
    pub(crate) fn load(&self, library: &Path, command: &mut Command) {
        command.env("LD_PRELOAD", library).env("PORTCULLIS_FAULTS_CONTROL", &self.path);
    }
}
