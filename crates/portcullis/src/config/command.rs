//! `command` and what belongs to it under `[[servers]]`: a server that is a program of this machine.

use portcullis_gateway::{CommandSpec, EnvSpec, ProcessMode, TransportSpec};

use super::fault::ConfigFault;
use super::read::Section;
use super::secret;

/// Keys that only a program has.
const ONLY_HERE: [&str; 7] =
    ["env", "inherit_env", "cwd", "process", "memory_max_mb", "open_files_max", "idle_timeout_s"];

/// How the server is reached: exactly one of `url` and `command`.
pub(super) fn transport(section: &Section<'_>) -> Result<TransportSpec, ConfigFault> {
    let has = |key: &str| section.names().any(|name| name == key);
    if has("url") && has("command") {
        return Err(section.fault("command", "give `url` or `command`, not both"));
    }
    if !has("command") {
        if let Some(key) = ONLY_HERE.into_iter().find(|key| has(key)) {
            return Err(section.fault(key, format!("`{key}` needs `command` beside it")));
        }
        let url = section.required("url")?.to_owned();
        return Ok(match section.word("transport", &["http", "sse"])? {
            Some("sse") => TransportSpec::Sse { url },
            _ => TransportSpec::Http { url },
        });
    }
    if has("transport") {
        return Err(section.fault("transport", "`transport` needs `url` beside it"));
    }
    Ok(TransportSpec::Command(CommandSpec {
        command: section.texts("command")?.unwrap_or_default(),
        env: env(section)?,
        inherit_env: section.boolean("inherit_env")?.unwrap_or(false),
        cwd: section.path("cwd")?,
        process: match section.word("process", &["session", "shared"])? {
            Some("shared") => ProcessMode::Shared,
            _ => ProcessMode::Session,
        },
        memory_max_mb: section.whole("memory_max_mb", 1)?,
        open_files_max: section.whole("open_files_max", 1)?,
        idle_timeout_s: section.whole("idle_timeout_s", 0)?,
    }))
}

/// What is written out in the file is no secret; what it refers to is.
fn env(section: &Section<'_>) -> Result<Vec<EnvSpec>, ConfigFault> {
    let Some(env) = section.section("env")? else {
        return Ok(Vec::new());
    };
    let variable = |name: &str| {
        let is_secret = secret::is_reference(env.required(name)?);
        Ok(EnvSpec { name: name.to_owned(), value: env.secret(name)?, is_secret })
    };
    env.names().map(variable).collect()
}
