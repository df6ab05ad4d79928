//! What can go wrong with the data directory and the store. Texts are for the operator.

use std::path::{Path, PathBuf};

/// The state could not be opened, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StateFault {
    /// A file or directory could not be used.
    #[error("cannot {doing} `{}`: {error}", .path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// Which.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The directory is in use.
    #[error(
        "the data directory `{}` is held by process {pid} ({purpose}, since {since}); stop it first, or \
         talk to it through `{}`", .path.display(), .socket.display()
    )]
    Held {
        /// The directory.
        path: PathBuf,
        /// Who holds it.
        pid: u32,
        /// What for.
        purpose: String,
        /// Since when.
        since: String,
        /// Where the holder listens.
        socket: PathBuf,
    },
    /// The directory is in use by wraps.
    #[error(
        "the data directory `{}` is used by {holders}; end the clients that started them first, or take \
         another directory", .path.display()
    )]
    HeldByWraps {
        /// The directory.
        path: PathBuf,
        /// Which processes.
        holders: String,
    },
    /// Made by a newer version of the program.
    #[error(
        "`{}` was made by a newer version of portcullis (format {found}, this one reads up to {known}); \
         use that version, or restore a copy from before the upgrade", .path.display()
    )]
    Newer {
        /// What.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// Something else is in the directory.
    #[error(
        "`{}` is not a portcullis data directory and is not empty; name an empty or a new directory",
        .path.display()
    )]
    NotOurs {
        /// The directory.
        path: PathBuf,
    },
    /// Others could read it.
    #[error("`{}` is open to other users; run `chmod {wanted} {}`", .path.display(), .path.display())]
    TooOpen {
        /// What.
        path: PathBuf,
        /// The mode it should have.
        wanted: &'static str,
    },
    /// A key file without a key in it.
    #[error("`{}` does not hold a key; restore it from a copy", .path.display())]
    BadKeyFile {
        /// Which.
        path: PathBuf,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
    /// The database refused.
    #[error("the store failed: {0}")]
    Store(#[from] rusqlite::Error),
    /// A name is taken.
    #[error("{what} `{name}` already exists")]
    Exists {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A name is not known.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Still needed by something else.
    #[error("{what} `{name}` is still used by {by}")]
    InUse {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
        /// By what.
        by: String,
    },
    /// A value that cannot be taken.
    #[error("{0}")]
    Invalid(String),
    /// A sealed value that cannot be opened.
    #[error(
        "the sealed header `{header}` of server `{server}` cannot be opened; set it again with \
         `portcullis server add`"
    )]
    Unsealable {
        /// The server.
        server: String,
        /// The header.
        header: String,
    },
}

impl StateFault {
    pub(crate) fn file(doing: &'static str, path: &Path, error: std::io::Error) -> StateFault {
        StateFault::File { doing, path: path.to_owned(), error }
    }
}
