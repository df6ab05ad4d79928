//! Pins in force: a definition that is not the one that was first seen, or accepted, is withheld.
//!
//! Every definition that a server shows passes here before an agent sees it or a call is judged with it.
//! The first sight pins; a change, or a rename, holds the tool back until an administrator accepts it. Each
//! step is in the log before it takes effect. The pin never moves from here. Called by `catalogue.rs`.

use std::collections::HashSet;

use portcullis_catalogue::ToolDefinition;
use portcullis_catalogue::fingerprint::{Fingerprint, hex, of_definition};
use portcullis_catalogue::rename::Outline;
use portcullis_json::{Digest, Limits, Object, Value, parse, push_object};
use portcullis_state::StateFault;
use portcullis_state::log::{Action, Entry, Event};
use portcullis_state::pins::{OpenPins, Step};

use crate::gateway::Gateway;
use crate::stop::{GatewayFault, Stop};

/// Changed definitions of one listing that get a record each; the rest is counted.
const CHANGE_RECORDS_MAX: usize = 100;
/// New tools times vanished ones that are compared; beyond, every new tool counts as renamed.
const COMPARISONS_MAX: usize = 250_000;

/// A definition that a server shows.
pub(crate) struct Sighting<'a> {
    pub(crate) name: &'a str,
    pub(crate) fingerprint: Digest,
    pub(crate) definition: &'a Object,
}

impl<'a> Sighting<'a> {
    pub(crate) fn of(name: &'a str, definition: &'a Object) -> Sighting<'a> {
        Sighting { name, fingerprint: of_definition(definition), definition }
    }
}

/// INVARIANT: pinned is shown.
///
/// Whether agents may see the definition with this fingerprint under this name. Asks memory only.
pub(crate) fn is_pinned(gateway: &Gateway, server: &str, name: &str, fingerprint: Digest) -> bool {
    gateway.state.pins.pinned(server, name) == Some(fingerprint)
}

/// Takes in what a server shows: pins what is new, holds what changed. Waits for the disk.
///
/// `present`: every tool that the server has now; a pinned one that is missing has gone, and may have been
/// renamed.
pub(crate) fn take_in(
    gateway: &Gateway,
    server: &str,
    seen: &[Sighting<'_>],
    present: &HashSet<&str>,
) -> Result<(), Stop> {
    let taken = gateway.state.pins.change(server, |open| {
        let steps = plan(open, seen, present)?;
        if !steps.is_empty() {
            // INVARIANT: no record, no call. Nothing is offered or withheld that the log does not tell of.
            write_records(gateway, server, open, &steps)?;
            open.apply(&steps, gateway.now())?;
        }
        Ok(())
    });
    taken.map_err(|Failed(text)| {
        tracing::error!(server, fault = text, "tools could not be pinned, so none is offered");
        GatewayFault::PinsUnavailable.into()
    })
}

/// Why nothing was kept, for the operator.
struct Failed(String);

impl From<StateFault> for Failed {
    fn from(fault: StateFault) -> Failed {
        Failed(fault.to_string())
    }
}

/// What is to be kept about these definitions.
fn plan(
    open: &OpenPins<'_>,
    seen: &[Sighting<'_>],
    present: &HashSet<&str>,
) -> Result<Vec<Step>, StateFault> {
    let pinned = open.fingerprints()?;
    let held = open.changes()?;
    let (mut steps, mut new) = (Vec::new(), Vec::new());
    for sighting in seen {
        match (pinned.get(sighting.name), held.get(sighting.name)) {
            (Some(pin), held) if *pin == sighting.fingerprint => {
                steps.extend(held.map(|_| Step::Release { tool: sighting.name.to_owned() }));
            }
            (_, Some(held)) if held.fingerprint == sighting.fingerprint => {}
            (_, Some(held)) => steps.push(hold(sighting, held.renamed_from.clone())),
            (Some(_), None) => steps.push(hold(sighting, None)),
            (None, None) => new.push(sighting),
        }
    }
    let gone = pinned.keys().map(String::as_str).filter(|tool| !present.contains(tool));
    let gone: Vec<&str> = gone.collect();
    steps.extend(new_tools(open, &new, &gone)?);
    Ok(steps)
}

fn hold(seen: &Sighting<'_>, renamed_from: Option<String>) -> Step {
    Step::Hold {
        tool: seen.name.to_owned(),
        fingerprint: seen.fingerprint,
        definition: text(seen.definition),
        renamed_from,
    }
}

/// A tool that was never seen is pinned, unless it is one that went away, under another name.
fn new_tools(open: &OpenPins<'_>, new: &[&Sighting<'_>], gone: &[&str]) -> Result<Vec<Step>, StateFault> {
    if new.len().saturating_mul(gone.len()) > COMPARISONS_MAX {
        return Ok(new.iter().map(|seen| hold(seen, None)).collect());
    }
    let mut vanished = Vec::new();
    if !new.is_empty() {
        for tool in gone {
            let pin = open.pin(tool)?;
            vanished.extend(pin.and_then(|pin| read(&pin.definition)).map(|tool| Vanished::of(&tool)));
        }
    }
    Ok(new.iter().map(|seen| pin_or_hold(seen, &vanished)).collect())
}

struct Vanished {
    name: String,
    fingerprint: Fingerprint,
    outline: Outline,
}

impl Vanished {
    fn of(tool: &ToolDefinition) -> Vanished {
        Vanished { name: tool.name.clone(), fingerprint: Fingerprint::of(tool), outline: Outline::of(tool) }
    }
}

fn pin_or_hold(seen: &Sighting<'_>, vanished: &[Vanished]) -> Step {
    match twin(seen, vanished) {
        Some(old) => hold(seen, Some(old.name.clone())),
        None => Step::Pin {
            tool: seen.name.to_owned(),
            fingerprint: seen.fingerprint,
            definition: text(seen.definition),
        },
    }
}

/// The vanished tool that this one looks like.
fn twin<'v>(seen: &Sighting<'_>, vanished: &'v [Vanished]) -> Option<&'v Vanished> {
    // Nearly always: a server's first list has very many tools, and none that is gone.
    if vanished.is_empty() {
        return None;
    }
    let tool = ToolDefinition::from_value(&Value::Object(seen.definition.clone())).ok()?;
    let (outline, fingerprint) = (Outline::of(&tool), Fingerprint::of(&tool));
    let says_enough = tool.description.is_some();
    vanished.iter().find(|old| {
        old.outline.is_like(&outline) || (says_enough && old.fingerprint.same_but_name(&fingerprint))
    })
}

fn text(definition: &Object) -> String {
    let mut text = String::new();
    push_object(definition, &mut text);
    text
}

fn read(definition: &str) -> Option<ToolDefinition> {
    let limits = Limits { bytes_max: definition.len(), ..Limits::message() };
    ToolDefinition::from_value(&parse(definition.as_bytes(), &limits).ok()?).ok()
}

/// One record for each step, durable when this returns.
fn write_records(gateway: &Gateway, server: &str, open: &OpenPins<'_>, steps: &[Step]) -> Result<(), Failed> {
    let mut holds = 0;
    let mut last = None;
    for step in steps {
        holds += usize::from(matches!(step, Step::Hold { .. }));
        if holds <= CHANGE_RECORDS_MAX || !matches!(step, Step::Hold { .. }) {
            let (action, tool, detail) = told(open, step)?;
            last = Some(append(gateway, server, action, Some(tool), &detail)?);
        }
    }
    if let Some(more) = holds.checked_sub(CHANGE_RECORDS_MAX).filter(|more| *more > 0) {
        let detail = format!("{more} more tools changed in the same list and are withheld");
        last = Some(append(gateway, server, Action::ToolChanged, None, &detail)?);
    }
    match last {
        Some(ticket) => ticket.wait().map(|_| ()).map_err(|fault| Failed(fault.to_string())),
        None => Ok(()),
    }
}

fn append(
    gateway: &Gateway,
    server: &str,
    action: Action,
    tool: Option<&str>,
    detail: &str,
) -> Result<portcullis_state::log::Ticket, Failed> {
    let event =
        Event { by: Some("gateway"), server: Some(server), tool, detail: Some(detail), ..Event::new(action) };
    let appended = gateway.state.log.append(gateway.now(), &Entry::Event(&event));
    appended.map_err(|fault| Failed(fault.to_string()))
}

fn told<'s>(open: &OpenPins<'_>, step: &'s Step) -> Result<(Action, &'s str, String), StateFault> {
    Ok(match step {
        Step::Pin { tool, fingerprint, .. } => (Action::ToolPinned, tool, hex(fingerprint)),
        Step::Release { tool } => {
            (Action::ToolRestored, tool, "the tool is what was pinned again".to_owned())
        }
        Step::Hold { tool, fingerprint, definition, renamed_from } => {
            let what = match renamed_from {
                Some(from) => format!("looks like `{from}`, which is gone"),
                None => {
                    changed_parts(open.pin(tool)?.as_ref().map(|pin| pin.definition.as_str()), definition)
                }
            };
            (Action::ToolChanged, tool, format!("{what}; now {}", hex(fingerprint)))
        }
    })
}

/// The members of the definition that differ, in words.
fn changed_parts(before: Option<&str>, after: &str) -> String {
    let fingerprint = |text: &str| read(text).map(|tool| Fingerprint::of(&tool));
    let parts = before.and_then(fingerprint).zip(fingerprint(after));
    let parts = parts.map(|(before, after)| before.changed(&after)).unwrap_or_default();
    let names: Vec<&str> = parts.iter().map(|part| part.field()).collect();
    match names.is_empty() {
        true => "the definition changed".to_owned(),
        false => format!("{} changed", names.join(", ")),
    }
}
