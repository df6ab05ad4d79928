//! What is wrong with a configuration, and where.

use std::fmt;
use std::path::Path;

/// One fault; its text is for the operator.
#[derive(Debug)]
pub(crate) struct ConfigFault(String);

impl ConfigFault {
    /// At a byte of the file.
    pub(crate) fn at(path: &Path, source: &str, offset: usize, message: &str) -> ConfigFault {
        let before = source.get(..offset.min(source.len())).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ConfigFault(format!("`{}`, line {line}, column {column}: {message}", path.display()))
    }

    /// About no place in the file.
    pub(crate) fn anywhere(message: impl Into<String>) -> ConfigFault {
        ConfigFault(message.into())
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigFault {}
