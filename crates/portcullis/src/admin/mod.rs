//! What administrators do to the store: one function per command, the same whether a gateway runs or not.
//!
//! A command is a name and arguments as JSON. `reach.rs` sends it to the running gateway, or opens the store
//! and runs it here; `instance` runs what comes over the socket. Every change is in the decision log.

mod arguments;
mod check;
mod grants;
mod pins;
mod policies;
mod reach;
mod servers;
mod tools;

use jiff::Timestamp;
use portcullis_catalogue::recommend::Profile;
use portcullis_gateway::{Gateway, OutputLine, ServerSpec};
use portcullis_json::{Object, Value};
use portcullis_state::log::{DecisionLog, Entry, Event, PolicyName};
use portcullis_state::pins::Pins;
use portcullis_state::store::{PolicyVersion, Store};

pub(crate) use reach::{Missing, directory, is_running, request};

use crate::config::Config;
use arguments::Arguments;

/// A request over the socket: a policy of 1 MiB, escaped, and what stands around it.
pub(crate) const REQUEST_BYTES_MAX: usize = 8 << 20;

/// Who administers, in the log.
const BY: &str = "cli";

/// What programs write is kept in memory alone.
const NO_OUTPUT: &str = "no gateway runs here, and what programs write is kept only while one does; start it with \
                         `portcullis serve` or `portcullis up`";

/// What a command works on.
pub(crate) struct Administration<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) log: &'a DecisionLog,
    pub(crate) pins: &'a Pins,
    /// What the configuration file of the running gateway declares: not to be changed from here.
    pub(crate) declared: Option<&'a Config>,
    pub(crate) now: Timestamp,
}

/// Runs one command.
pub(crate) fn run(
    administration: &mut Administration<'_>,
    command: &str,
    arguments: &Object,
) -> Result<Value, String> {
    let arguments = Arguments(arguments);
    match command {
        "grant create" => grants::create(administration, &arguments),
        "grant list" => grants::list(administration),
        "grant rotate" => grants::rotate(administration, &arguments),
        "grant revoke" => grants::revoke(administration, &arguments),
        "server add" => servers::add(administration, &arguments),
        "server list" => servers::list(administration),
        "server show" => servers::show(administration, &arguments),
        "server remove" => servers::remove(administration, &arguments),
        "server logs" => Err(NO_OUTPUT.to_owned()),
        "server changes" => pins::changes(administration, &arguments),
        "server accept" => pins::accept(administration, &arguments),
        "policy add" => policies::add(administration, &arguments),
        "policy list" => policies::list(administration),
        "policy show" => policies::show(administration, &arguments),
        "policy activate" => policies::activate(administration, &arguments),
        "policy rollback" => policies::roll_back(administration, &arguments),
        _ => {
            Err(format!("the running gateway does not know the command `{command}`; is it an older version?"))
        }
    }
}

/// Whether a command changes anything.
pub(crate) fn changes(command: &str) -> bool {
    ![" list", " show", " logs"].iter().any(|look| command.ends_with(look))
}

/// Whether a command may run while wraps use the directory: it looks, or it is about the tools they found.
/// What is administered of a gateway is not for a directory of wraps.
fn fits_beside_wraps(command: &str) -> bool {
    !changes(command) || matches!(command, "server changes" | "server accept")
}

/// What the programs of a server wrote to standard error; none if the command is another.
pub(crate) fn server_logs(
    gateway: &Gateway,
    command: &str,
    arguments: &Object,
) -> Option<Result<Value, String>> {
    if command != "server logs" {
        return None;
    }
    let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
    let lines = gateway.output_of(name).ok_or_else(|| format!("there is no server `{name}`"));
    let described = |line: &OutputLine| {
        let pid = line.pid.map_or(Value::Null, |pid| i64::from(pid).into());
        Value::from(
            Object::new().with("at", time(Some(line.at))).with("pid", pid).with("text", line.text.as_str()),
        )
    };
    Some(
        lines
            .map(|lines| Object::new().with("lines", lines.iter().map(described).collect::<Vec<_>>()).into()),
    )
}

/// Whether a command concerns grants alone.
pub(crate) fn is_about_grants(command: &str) -> bool {
    command.starts_with("grant ")
}

/// Looks at a server. Apart from `run`, so that nobody holds the store while a server takes its time.
pub(crate) fn check_server(
    name: &str,
    profile: Option<Profile>,
    spec: impl FnOnce(&str) -> Result<Option<ServerSpec>, String>,
) -> Result<Value, String> {
    let spec = spec(name)?.ok_or_else(|| format!("there is no server `{name}`"))?;
    check::look(spec, profile)
}

/// The profile whose policy is wanted for a server that is looked at.
pub(crate) fn profile(arguments: &Object) -> Result<Option<Profile>, String> {
    let named = arguments.get("profile").and_then(Value::as_str);
    let unknown = |name: &str| format!("no profile is called `{name}`");
    named.map(|name| Profile::from_name(name).ok_or_else(|| unknown(name))).transpose()
}

/// The name of the server that a command is about, if it only wants to look at it.
pub(crate) fn server_to_check<'a>(command: &str, arguments: &'a Object) -> Option<&'a str> {
    (command == "server check").then(|| arguments.get("name").and_then(Value::as_str).unwrap_or_default())
}

/// The server whose tools an administrator accepted with this command.
pub(crate) fn server_with_accepted_tools<'a>(command: &str, arguments: &'a Object) -> Option<&'a str> {
    arguments.get("name").and_then(Value::as_str).filter(|_| command == "server accept")
}

/// Puts an event into the log and waits until it is durable. Not to be called from async code.
pub(crate) fn record(log: &DecisionLog, event: &Event<'_>, now: Timestamp) -> Result<(), String> {
    let ticket = log.append(now, &Entry::Event(event)).map_err(|fault| fault.to_string())?;
    ticket.wait().map(|_| ()).map_err(|fault| fault.to_string())
}

/// A policy's version as the log names it.
pub(crate) fn policy_name<'a>(name: &'a str, version: &'a PolicyVersion) -> PolicyName<'a> {
    PolicyName { name, version: version.version, hash: &version.hash }
}

impl Administration<'_> {
    fn record(&self, event: &Event<'_>) -> Result<(), String> {
        record(self.log, event, self.now)
            .map_err(|fault| format!("the change is made, but the decision log did not take it: {fault}"))
    }
}

fn text(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}

fn time(time: Option<Timestamp>) -> Value {
    time.map_or(Value::Null, |time| Value::from(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}
