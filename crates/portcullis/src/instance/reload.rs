//! The watch over the configuration file: taken in when it changes, or on SIGHUP; a bad one is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portcullis_state::log::Action;
use tokio::signal::unix::Signal;

use super::Instance;
use crate::config::{Config, ConfigFault};

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Watches until the task is dropped.
pub(super) async fn watch(file: PathBuf, mut hangup: Signal, instance: Arc<Instance>) {
    let mut known = fingerprint(&file);
    loop {
        let asked = tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => false,
            _ = hangup.recv() => true,
        };
        let found = fingerprint(&file);
        if asked || found != known {
            known = found;
            let (file, instance) = (file.clone(), instance.clone());
            let _ = tokio::task::spawn_blocking(move || reload(&file, &instance)).await;
        }
    }
}

/// What the file and the files it names say at the moment, or that they cannot be read.
///
/// A time stamp would miss a change within its resolution; these files are small.
fn fingerprint(file: &Path) -> Vec<Option<Vec<u8>>> {
    let own = std::fs::read(file).ok();
    let text = own.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let named = crate::config::files_named(file, &text);
    let mut prints = vec![own.clone()];
    prints.extend(named.into_iter().map(|path| std::fs::read(path).ok()));
    prints
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
