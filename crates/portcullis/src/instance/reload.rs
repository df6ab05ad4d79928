//! The watch over the configuration file: taken in when it changes, or on SIGHUP; a bad one is refused.

use std::fs::{File, Metadata};
use std::hash::{BuildHasher as _, RandomState};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portcullis_state::log::Action;
use tokio::signal::unix::Signal;

use super::Instance;
use crate::config::{Config, ConfigFault};

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A larger file is told apart by its beginning: `Config::load` refuses it anyway.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Watches until the task is dropped.
pub(super) async fn watch(file: PathBuf, mut hangup: Signal, instance: Arc<Instance>) {
    let mut watched = Watched::default();
    let mut change = Change { known: watched.look(&file).await, seen: Prints::new() };
    loop {
        let asked = tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => false,
            _ = hangup.recv() => true,
        };
        let found = watched.look(&file).await;
        if change.is_due(found, asked) {
            let (file, instance) = (file.clone(), instance.clone());
            let _ = tokio::task::spawn_blocking(move || reload(&file, &instance)).await;
        }
    }
}

/// What the file and the files it names say at the moment, or that they cannot be read.
///
/// A time stamp would miss a change within its resolution. Only digests are kept: some of the files are
/// secrets.
type Prints = Vec<Option<u64>>;

/// What is in force, and what was seen last.
struct Change {
    known: Prints,
    seen: Prints,
}

impl Change {
    /// Whether what was found is to be taken in: on demand, or when it is new and was seen twice, since who
    /// writes a file may be in the middle of it.
    fn is_due(&mut self, found: Prints, asked: bool) -> bool {
        let settled = found == self.seen;
        self.seen.clone_from(&found);
        let due = asked || (settled && found != self.known);
        if due {
            self.known = found;
        }
        due
    }
}

/// Keyed anew for each watch: nobody can write a change that looks like none.
#[derive(Clone, Default)]
struct Watched {
    key: RandomState,
}

impl Watched {
    /// Files are read on a thread that may wait.
    async fn look(&mut self, file: &Path) -> Prints {
        let (file, watched) = (file.to_owned(), self.clone());
        tokio::task::spawn_blocking(move || watched.prints(&file)).await.unwrap_or_default()
    }

    fn prints(&self, file: &Path) -> Prints {
        let own = content(file);
        let text = own.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let named = crate::config::files_named(file, &text);
        let named = named.iter().map(|path| content(path));
        std::iter::once(own.clone()).chain(named).map(|content| Some(self.key.hash_one(content?))).collect()
    }
}

/// The content of a file. Opening anything else, such as a pipe, may never return.
fn content(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    path.metadata().ok().filter(Metadata::is_file)?;
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn reload(file: &Path, instance: &Instance) {
    match Config::load(file).map_err(|fault: ConfigFault| fault.to_string()) {
        Ok(config) => take_in(file, instance, config),
        Err(message) => refuse(file, instance, &message),
    }
}

fn take_in(file: &Path, instance: &Instance, config: Config) {
    let waiting = instance.needs_restart(&config);
    match instance.reconfigure(config) {
        Ok(()) => {
            tracing::info!(file = %file.display(), "the configuration was taken in");
            instance.note(Action::ConfigReloaded, None);
        }
        Err(message) => return refuse(file, instance, &message),
    }
    if !waiting.is_empty() {
        tracing::warn!("a change of `{}` takes effect at the next start", waiting.join("`, `"));
    }
}

fn refuse(file: &Path, instance: &Instance, message: &str) {
    tracing::error!(
        file = %file.display(),
        "the configuration was refused, the last good one stays in force: {message}"
    );
    instance.note(Action::ConfigRefused, Some(message));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_taken_in_once_and_only_when_it_has_settled() {
        let prints = |print: u64| vec![Some(print)];
        let mut change = Change { known: prints(1), seen: Prints::new() };
        assert!(!change.is_due(prints(1), false) && !change.is_due(prints(1), false), "untouched");
        assert!(!change.is_due(prints(2), false), "somebody may still be writing");
        assert!(!change.is_due(prints(3), false), "and was");
        assert!(change.is_due(prints(3), false));
        assert!(!change.is_due(prints(3), false), "taken in already");
        assert!(change.is_due(prints(3), true), "on demand");
        assert!(!change.is_due(prints(4), false) && !change.is_due(prints(3), false), "back as it was");
        assert!(!change.is_due(prints(3), false));
    }

    #[test]
    fn a_change_of_any_named_file_shows_and_a_pipe_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let (file, secret) = (place.path().join("portcullis.toml"), place.path().join("secret"));
        let text = "[[grants]]\nlabel = \"a\"\ntoken = \"file:secret\"\n";
        std::fs::write(&file, text).unwrap();
        std::fs::write(&secret, "one").unwrap();
        let watched = Watched::default();
        let first = watched.prints(&file);
        assert_eq!(first.len(), 2);
        assert_eq!(watched.prints(&file), first);
        std::fs::write(&secret, "two").unwrap();
        assert_ne!(watched.prints(&file), first);
        std::fs::remove_file(&secret).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&secret).status();
        assert!(made.unwrap().success());
        assert_eq!(watched.prints(&file).get(1), Some(&None));
    }
}
