//! References to secrets: `env:NAME` and `file:PATH`.

use std::path::PathBuf;

use portcullis_state::Secret;

/// The secret that a text stands for; a text without a prefix stands for itself.
pub(crate) fn resolve(text: &str, locate: impl Fn(&str) -> PathBuf) -> Result<Secret, String> {
    match text.split_once(':') {
        Some(("env", name)) => std::env::var(name).map(Secret::new).map_err(|_| {
            format!("the environment variable `{name}` is not set, or is not text; set it and start again")
        }),
        Some(("file", path)) => {
            let path = locate(path);
            let bytes = crate::files::read(&path)?;
            let text = String::from_utf8(bytes).map_err(|_| format!("`{}` is not text", path.display()))?;
            Ok(Secret::from(text.trim_end_matches(['\r', '\n'])))
        }
        _ => Ok(Secret::from(text)),
    }
}

/// Whether the text is a reference and not the secret itself.
pub(crate) fn is_reference(text: &str) -> bool {
    text.starts_with("env:") || text.starts_with("file:")
}
