//! Servers: add, list, show, remove.

use std::collections::BTreeMap;
use std::path::PathBuf;

use portcullis_gateway::{Reach, Snapshot, TransportSpec, check_address};
use portcullis_json::{Object, Value};
use portcullis_state::grants::GrantTable;
use portcullis_state::log::{Action, Event, RiskClass};
use portcullis_state::store::{HeaderInput, HeaderSource, NewServer, Server, StoredCommand, Transport};
use portcullis_state::{Secret, StateFault};

use super::arguments::Arguments;
use super::{Administration, BY, text, time};
use crate::config::DeclaredServer;
use crate::instance::{class_overrides, stored_spec};
use crate::playground;

pub(super) fn add(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let name = arguments.text("name")?;
    let allow_private = arguments.is_set("allow_private");
    if let Some(url) = arguments.optional_text("url") {
        check_address(url, Reach::allowing_private(allow_private))?;
    }
    if declared(administration, name).is_some() {
        return Err(in_file(name));
    }
    let transport = transport(arguments)?;
    // What a program gets in its environment is what headers are to an address.
    let values = match &transport {
        Transport::Url(_) | Transport::Sse(_) => arguments.pairs("headers"),
        Transport::Command(_) => arguments.pairs("env"),
    };
    let values =
        values.into_iter().map(|(key, value)| (key.to_owned(), HeaderInput::parse(Secret::from(value))));
    let url = arguments.optional_text("url").unwrap_or_default();
    let new = NewServer {
        name: name.to_owned(),
        transport,
        headers: values.collect(),
        classes: classes(url, arguments)?,
        allow_private,
    };
    let server = administration.store.add_server(&new, administration.now).map_err(text)?;
    if let Err(message) = try_out(administration, &server) {
        administration.store.remove_server(name).map_err(text)?;
        return Err(message);
    }
    note(administration, Action::ServerAdded, name)?;
    Ok(Object::new().with("server", described(&server)).into())
}

fn transport(arguments: &Arguments<'_>) -> Result<Transport, String> {
    let words = arguments.texts("command");
    if words.is_empty() {
        let url = arguments.text("url")?.to_owned();
        return match arguments.optional_text("transport") {
            None | Some("http") => Ok(Transport::Url(url)),
            Some("sse") => Ok(Transport::Sse(url)),
            Some(other) => Err(format!("the transport `{other}` is not known; use `http` or `sse`")),
        };
    }
    Ok(Transport::Command(StoredCommand {
        words,
        cwd: arguments.optional_text("cwd").map(PathBuf::from),
        inherit_env: arguments.is_set("inherit_env"),
        shared: arguments.is_set("shared"),
    }))
}

fn classes(url: &str, arguments: &Arguments<'_>) -> Result<BTreeMap<String, RiskClass>, String> {
    let builtin = (url == playground::URL).then(playground::classes).unwrap_or_default();
    let builtin =
        builtin.into_iter().filter_map(|(tool, class)| Some((tool, RiskClass::parse(class.name())?)));
    let mut classes: BTreeMap<_, _> = builtin.collect();
    for (tool, class) in arguments.pairs("classes") {
        let known = RiskClass::parse(class).ok_or_else(|| crate::config::unknown_class(class))?;
        classes.insert(tool.to_owned(), known);
    }
    Ok(classes)
}

/// A server that the gateway could not use would keep it from starting.
fn try_out(administration: &Administration<'_>, server: &Server) -> Result<(), String> {
    let spec = stored_spec(administration.store, server)?;
    let specs: Vec<_> = spec.into_iter().filter(|spec| !playground::is_meant(spec)).collect();
    Snapshot::compile(specs, Vec::new(), GrantTable::default()).map(|_| ()).map_err(text)
}

pub(super) fn list(administration: &mut Administration<'_>) -> Result<Value, String> {
    let stored = administration.store.servers().map_err(text)?;
    let mut list: Vec<Value> = stored.iter().map(described).collect();
    let declared = administration.declared.into_iter().flat_map(|config| &config.servers);
    list.extend(declared.map(described_from_file));
    Ok(Object::new().with("servers", list).into())
}

pub(super) fn show(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let name = arguments.text("name")?;
    let (shown, classes) = match declared(administration, name) {
        Some(server) => (described_from_file(server), server.classes.clone()),
        None => {
            let server = administration.store.server(name).map_err(text)?;
            (described(&server), class_overrides(&server))
        }
    };
    let tools = super::pins::shown_tools(administration, name, &classes)?;
    Ok(Object::new().with("server", shown).with("tools", tools).into())
}

pub(super) fn remove(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let name = arguments.text("name")?;
    if declared(administration, name).is_some() {
        return Err(in_file(name));
    }
    administration.store.remove_server(name).map_err(text)?;
    note(administration, Action::ServerRemoved, name)?;
    // A server that is added under this name later is another one.
    let forgotten: Result<(), StateFault> = administration.pins.change(name, |open| open.forget());
    forgotten.map_err(text)?;
    Ok(Object::new().with("removed", name).into())
}

fn declared<'a>(administration: &Administration<'a>, name: &str) -> Option<&'a DeclaredServer> {
    administration.declared?.servers.iter().find(|server| server.name == name)
}

/// Whether the file or the store has a server of this name.
pub(super) fn check_known(administration: &Administration<'_>, name: &str) -> Result<(), String> {
    match declared(administration, name) {
        Some(_) => Ok(()),
        None => administration.store.server(name).map(|_| ()).map_err(text),
    }
}

fn in_file(name: &str) -> String {
    format!("server `{name}` is declared in the configuration file; change it there")
}

fn note(administration: &Administration<'_>, action: Action, server: &str) -> Result<(), String> {
    administration.record(&Event { by: Some(BY), server: Some(server), ..Event::new(action) })
}

fn described(server: &Server) -> Value {
    let named = Object::new().with("name", server.name.as_str());
    let (address, values) = match &server.transport {
        Transport::Url(url) => (named.with("url", url.as_str()), "headers"),
        Transport::Sse(url) => (named.with("url", url.as_str()).with("transport", "sse"), "headers"),
        Transport::Command(command) => {
            let described = named.with("command", words(&command.words));
            let cwd = command.cwd.as_ref().map(|cwd| cwd.display().to_string());
            let described = cwd.iter().fold(described, |all, cwd| all.with("cwd", cwd.as_str()));
            let described = described.with("inherit_env", command.inherit_env);
            (described.with("process", if command.shared { "shared" } else { "session" }), "env")
        }
    };
    let mut headers = Object::new();
    for header in &server.headers {
        let source = match &header.source {
            HeaderSource::Environment(name) => format!("env:{name}"),
            HeaderSource::File(path) => format!("file:{}", path.display()),
            HeaderSource::Sealed(_) => "(sealed)".to_owned(),
            HeaderSource::Plain(value) => format!("plain:{value}"),
        };
        headers.insert(&header.name, source.into());
    }
    let classes = server.classes.iter().map(|(tool, class)| (tool, class.as_str()));
    address
        .with(values, headers)
        .with("classes", object(classes))
        .with("allow_private", server.allow_private)
        .with("created", time(Some(server.created)))
        .with("kept_in", "store")
        .into()
}

fn described_from_file(server: &DeclaredServer) -> Value {
    let named = Object::new().with("name", server.name.as_str());
    let (address, key) = match &server.transport {
        TransportSpec::Command(command) => (named.with("command", words(&command.command)), "env"),
        TransportSpec::Sse { url } => (named.with("url", url.as_str()).with("transport", "sse"), "headers"),
        other => (named.with("url", other.url().unwrap_or_default()), "headers"),
    };
    let of_env = match &server.transport {
        TransportSpec::Command(command) => command.env.as_slice(),
        _ => &[],
    };
    let names = server.headers.iter().map(|(name, _)| name).chain(of_env.iter().map(|env| &env.name));
    let values = names.fold(Object::new(), |all, name| all.with(name, "(in the file)"));
    let classes = server.classes.iter().map(|(tool, class)| (tool, class.name()));
    address
        .with(key, values)
        .with("classes", object(classes))
        .with("allow_private", server.allow_private)
        .with("created", Value::Null)
        .with("kept_in", "file")
        .into()
}

/// The program and its arguments, each as it is given to the program.
fn words(words: &[String]) -> Vec<Value> {
    words.iter().map(|word| word.as_str().into()).collect()
}

fn object<'a>(pairs: impl Iterator<Item = (&'a String, &'a str)>) -> Object {
    pairs.fold(Object::new(), |object, (key, value)| object.with(key, value))
}
