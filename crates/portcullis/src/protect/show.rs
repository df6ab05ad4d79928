//! What `protect` says, without a secret in it.

use std::io;
use std::path::{Path, PathBuf};

use portcullis_catalogue::inert;
use portcullis_clients::{Change, Entry, FileFault, Place, Scope, Undone, Way, masked_arguments, masked_url};
use portcullis_json::{Object, Value};

use super::Planned;
use super::gateway::{Behind, Plan};
use crate::output::Output;

/// Every file, and what becomes of its servers.
pub(super) fn plan(output: &mut Output, planned: &[Planned]) -> io::Result<()> {
    if planned.is_empty() {
        output.line("no client configuration was found; name a project with `--project DIR`")?;
    }
    for (place, plan) in planned {
        output.line(&format!("{} ({}, {})", place.path.display(), place.client, scope(place)))?;
        match plan {
            Ok(change) => servers(output, change)?,
            Err(fault) => {
                let line = format!("  {} {fault}", output.bad("left alone:"));
                output.line(&line)?;
            }
        }
    }
    Ok(())
}

/// The same for what goes behind a gateway.
pub(super) fn behind(
    output: &mut Output,
    behind: &Behind,
    planned: &[(Place, Result<Plan, FileFault>)],
) -> io::Result<()> {
    let previewed = planned.iter().map(|(place, plan)| {
        let change = match plan {
            Ok(plan) => Ok(behind.preview(plan.clone())),
            Err(fault) => Err(fault.to_string()),
        };
        (place, change)
    });
    for (place, change) in previewed {
        output.line(&format!("{} ({}, {})", place.path.display(), place.client, scope(place)))?;
        match change {
            Ok(change) => servers(output, &change)?,
            Err(fault) => {
                let line = format!("  {} {fault}", output.bad("left alone:"));
                output.line(&line)?;
            }
        }
    }
    Ok(())
}

fn servers(output: &mut Output, change: &Change) -> io::Result<()> {
    for (entry, line) in &change.guarded {
        let (name, off) = (inert(&entry.name), if entry.disabled { " (disabled)" } else { "" });
        output.line(&format!("  {}{off}", output.good(&name)))?;
        output.line(&format!("    now   {}", inert(&way(entry))))?;
        output.line(&format!("    then  {}", inert(&masked_line(line))))?;
    }
    for entry in &change.already {
        output.line(&format!("  {}: behind portcullis already", inert(&entry.name)))?;
    }
    for (entry, reason) in &change.left {
        output.line(&format!("  {}: left alone, {}", inert(&entry.name), inert(reason)))?;
    }
    if change.guarded.is_empty() && change.already.is_empty() && change.left.is_empty() {
        output.line("  no servers")?;
    }
    Ok(())
}

/// What was done.
pub(super) fn outcome(
    output: &mut Output,
    done: &[Planned],
    servers: usize,
    written: bool,
) -> io::Result<()> {
    if !written {
        return match servers {
            0 => output.line("nothing to do"),
            _ => output.line("nothing was changed; leave `--dry-run` out to do it"),
        };
    }
    for (place, applied) in done {
        match applied {
            Err(fault) => output.error(&format!("`{}` was left alone: {fault}", place.path.display()))?,
            // Some are only known when it is tried.
            Ok(change) => {
                for (entry, reason) in &change.left {
                    output.note(&format!("server `{}` was left alone: {reason}", entry.name))?;
                }
            }
        }
    }
    output.line("")?;
    output.line("done; restart the clients so that they read their configuration again")?;
    output.line("take it back at any time with `portcullis protect --undo`")
}

/// The same for programs.
pub(super) fn plan_json(done: &[Planned], written: bool) -> Value {
    let files: Vec<Value> = done.iter().map(|(place, plan)| file_json(place, plan)).collect();
    Object::new().with("written", written).with("files", files).into()
}

fn file_json(place: &Place, plan: &Result<Change, FileFault>) -> Value {
    let file = Object::new()
        .with("client", place.client.id())
        .with("scope", scope(place))
        .with("path", place.path.to_string_lossy().into_owned());
    let change = match plan {
        Ok(change) => change,
        Err(fault) => return file.with("error", fault.to_string()).into(),
    };
    let guarded: Vec<Value> = change.guarded.iter().map(|(entry, line)| guarded_json(entry, line)).collect();
    let already: Vec<Value> = change.already.iter().map(|entry| entry.name.as_str().into()).collect();
    let left: Vec<Value> = change
        .left
        .iter()
        .map(|(entry, reason)| {
            Object::new().with("name", entry.name.as_str()).with("reason", reason.as_str()).into()
        })
        .collect();
    file.with("guarded", guarded).with("already", already).with("left", left).into()
}

fn guarded_json(entry: &Entry, line: &[String]) -> Value {
    Object::new()
        .with("name", entry.name.as_str())
        .with("disabled", entry.disabled)
        .with("now", way(entry))
        .with("then", masked_line(line))
        .into()
}

/// What was taken back.
pub(super) fn undone(output: &mut Output, undone: &[(PathBuf, Result<Undone, FileFault>)]) -> io::Result<()> {
    if undone.is_empty() {
        return output.line("nothing to take back");
    }
    for (path, result) in undone {
        match result {
            Ok(undone) => output.line(&taken_back(undone))?,
            Err(fault) => output.error(&format!("`{}` was left alone: {fault}", path.display()))?,
        }
    }
    output.line("restart the clients so that they read their configuration again")
}

fn taken_back(undone: &Undone) -> String {
    let shown = |path: &Path| path.display().to_string();
    match undone {
        Undone::Exactly(path) => format!("{}: as it was, byte for byte", shown(path)),
        Undone::GuardsOnly(path) => {
            format!("{}: edited since, so only the guards were taken out", shown(path))
        }
        Undone::Gone(path) => format!("{}: no longer there", shown(path)),
    }
}

fn scope(place: &Place) -> &'static str {
    match place.scope {
        Scope::User => "user",
        Scope::Project => "project",
    }
}

/// How a client reaches a server, as it may be shown.
pub(crate) fn way(entry: &Entry) -> String {
    match &entry.way {
        Way::Command { command, arguments } => {
            std::iter::once(command.clone()).chain(masked_arguments(arguments)).collect::<Vec<_>>().join(" ")
        }
        Way::Remote(remote) => masked_url(&remote.url),
        Way::Unknown(reason) => reason.clone(),
    }
}

fn masked_line(line: &[String]) -> String {
    match line.split_first() {
        Some((command, arguments)) => {
            std::iter::once(command.clone()).chain(masked_arguments(arguments)).collect::<Vec<_>>().join(" ")
        }
        None => String::new(),
    }
}
