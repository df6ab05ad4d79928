//! Reading what people name on the command line, with messages that say what to do.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// A larger file is not read to its end: nothing that we read is that large.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let result = if path.as_os_str() == "-" {
        io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)
    };
    result.map_err(|error| format!("cannot read `{shown}`: {}", reason(&error)))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
        return Err(format!("`{shown}` is larger than {FILE_BYTES_MAX} bytes"));
    }
    Ok(bytes)
}

fn open(path: &Path) -> Result<File, String> {
    let shown = path.display();
    if path.is_dir() {
        return Err(format!(
            "`{shown}` is a directory; name the files in it, as in `{}`",
            path.join("*.json").display()
        ));
    }
    File::open(path).map_err(|error| format!("cannot read `{shown}`: {}", reason(&error)))
}

/// In words, without the operating system's number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied; see who may read it with `ls -l`".to_owned(),
        _ => error.to_string(),
    }
}

/// Replaces a file in one step: what is there stays whole until the new text is on disk.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), String> {
    let temporary = path.with_extension("portcullis-new");
    let write = || -> io::Result<()> {
        std::fs::write(&temporary, text)?;
        std::fs::set_permissions(&temporary, std::fs::metadata(path)?.permissions())?;
        std::fs::rename(&temporary, path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        format!("cannot write `{}`: {}", path.display(), reason(&error))
    })
}

/// Writes a new file; one that is there is left alone.
pub(crate) fn create(path: &Path, text: &str) -> Result<(), String> {
    let write = || File::create_new(path)?.write_all(text.as_bytes());
    write().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("`{}` is there already; remove it or name another file", path.display())
        }
        _ => format!("cannot write `{}`: {}", path.display(), reason(&error)),
    })
}

/// Writes a file, whether it is there or not; one that is there is replaced in one step.
pub(crate) fn put(path: &Path, text: &str) -> Result<(), String> {
    if path.exists() { replace(path, text) } else { create(path, text) }
}
