//! Where the index of this machine is, and how it is opened.

use std::path::{Path, PathBuf};

use clap::Args;
use portcullis_catalogue::index::{Index, Layers, Search};
use portcullis_catalogue::{Class, Level};

use crate::admin::{self, Missing};
use crate::config;

/// The file in the data directory.
const FILE: &str = "catalogue.db";

/// Where the index is.
#[derive(Args, Clone, Debug)]
pub(super) struct Place {
    /// The data directory; the index of this machine is the file `catalogue.db` in it.
    #[arg(long, value_name = "DIR", default_value = config::DATA_DIR)]
    data_dir: PathBuf,
}

impl Place {
    /// What is known here, over what ships.
    pub(super) fn layers(&self) -> Result<Layers, String> {
        layers(&self.data_dir)
    }

    /// The index of this machine, to be written to; made where it is missing.
    pub(super) fn index(&self) -> Result<Index, String> {
        admin::directory(&self.data_dir, Missing::Create)?;
        Index::open(&self.data_dir.join(FILE)).map_err(|fault| fault.to_string())
    }
}

/// What is known in a data directory, over what ships. There need not be a directory.
pub(crate) fn layers(data_dir: &Path) -> Result<Layers, String> {
    Layers::open(&data_dir.join(FILE)).map_err(|fault| fault.to_string())
}

/// What tools are looked for.
#[derive(Args, Clone, Debug)]
pub(super) struct Wanted {
    /// Words that must all occur in the tool's name, its server's name or its description; the last may be a
    /// beginning.
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Only tools of this class: `Read`, `Write`, `Execute`, `Destructive` or `Financial`.
    #[arg(long, value_parser = class)]
    class: Option<Class>,
    /// Only tools of this level: `low`, `medium`, `high` or `critical`.
    #[arg(long, value_parser = level)]
    level: Option<Level>,
    /// Only tools of this server.
    #[arg(long)]
    server: Option<String>,
}

impl Wanted {
    pub(super) fn search(&self, most: usize) -> Search {
        let words = self.words.join(" ");
        Search {
            text: (!words.trim().is_empty()).then_some(words),
            class: self.class,
            level: self.level,
            server: self.server.clone(),
            most,
            after: 0,
        }
    }
}

/// A class by its name, in any case.
pub(super) fn class(text: &str) -> Result<Class, String> {
    let found = Class::ALL.into_iter().find(|class| class.name().eq_ignore_ascii_case(text));
    found.ok_or_else(|| "write `Read`, `Write`, `Execute`, `Destructive` or `Financial`".to_owned())
}

fn level(text: &str) -> Result<Level, String> {
    Level::from_name(text).ok_or_else(|| "write `low`, `medium`, `high` or `critical`".to_owned())
}

/// A time in seconds since 1970, as a day and an hour.
pub(super) fn time(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
