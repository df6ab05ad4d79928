//! Servers: add, list, show, remove.

use std::collections::BTreeMap;

use portcullis_gateway::Snapshot;
use portcullis_json::{Object, Value};
use portcullis_state::grants::GrantTable;
use portcullis_state::log::{Action, Event, RiskClass};
use portcullis_state::store::{HeaderInput, HeaderSource, NewServer, Server, Transport};
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
    let (name, url) = (arguments.text("name")?, arguments.text("url")?);
    if declared(administration, name).is_some() {
        return Err(in_file(name));
    }
    let headers = arguments.pairs("headers").into_iter();
    let new = NewServer {
        name: name.to_owned(),
        transport: Transport::Url(url.to_owned()),
        headers: headers
            .map(|(header, value)| (header.to_owned(), HeaderInput::parse(Secret::from(value))))
            .collect(),
        classes: classes(url, arguments)?,
    };
    let server = administration.store.add_server(&new, administration.now).map_err(text)?;
    if let Err(message) = try_out(administration, &server) {
        administration.store.remove_server(name).map_err(text)?;
        return Err(message);
    }
    note(administration, Action::ServerAdded, name)?;
    Ok(Object::new().with("server", described(&server)).into())
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
    let address = match &server.transport {
        Transport::Url(url) => Object::new().with("name", server.name.as_str()).with("url", url.as_str()),
        Transport::Command(words) => {
            Object::new().with("name", server.name.as_str()).with("command", words.join(" "))
        }
    };
    let mut headers = Object::new();
    for header in &server.headers {
        let source = match &header.source {
            HeaderSource::Environment(name) => format!("env:{name}"),
            HeaderSource::File(path) => format!("file:{}", path.display()),
            HeaderSource::Sealed(_) => "(sealed)".to_owned(),
        };
        headers.insert(&header.name, source.into());
    }
    let classes = server.classes.iter().map(|(tool, class)| (tool, class.as_str()));
    address
        .with("headers", headers)
        .with("classes", object(classes))
        .with("created", time(Some(server.created)))
        .with("kept_in", "store")
        .into()
}

fn described_from_file(server: &DeclaredServer) -> Value {
    let mut headers = Object::new();
    for (name, _) in &server.headers {
        headers.insert(name, "(in the file)".into());
    }
    let classes = server.classes.iter().map(|(tool, class)| (tool, class.name()));
    Object::new()
        .with("name", server.name.as_str())
        .with("url", server.url.as_str())
        .with("headers", headers)
        .with("classes", object(classes))
        .with("created", Value::Null)
        .with("kept_in", "file")
        .into()
}

fn object<'a>(pairs: impl Iterator<Item = (&'a String, &'a str)>) -> Object {
    pairs.fold(Object::new(), |object, (key, value)| object.with(key, value))
}
