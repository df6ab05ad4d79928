//! What can go wrong with the log. Operator's texts: an agent is only told that the log is unavailable.

use std::path::PathBuf;

/// A record was not taken, or not made durable: the call it belongs to must not leave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogFault {
    /// A write or a sync failed; the log recovers by itself when writing works again.
    #[error("the decision log cannot be written: {reason}")]
    Unavailable {
        /// What failed.
        reason: String,
    },
    /// The disk is so far behind that taking more could not be bounded.
    #[error("the decision log is too far behind the disk")]
    Behind,
    /// A record that cannot be stored whole.
    #[error("the record is too large: {what}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
    },
    /// The log was closed.
    #[error("the decision log is closed")]
    Closed,
}

/// The log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenFault {
    /// A file could not be used.
    #[error("cannot use the decision log at `{path}`: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Records that were on stable storage are missing or changed.
    #[error(
        "the decision log at `{path}` is damaged: {what}; run `portcullis log verify` to see where, then \
         restore the directory from a copy, or start once with `--accept-log-damage` to go on from the \
         last good record"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The first records could not be written.
    #[error(transparent)]
    Write(#[from] LogFault),
}
