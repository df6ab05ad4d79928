//! Servers in the store: where they are, which credentials they get, which classes were set by hand.
//!
//! A header's value is a reference (environment, file) or sealed; the clear text is only made when the
//! gateway asks for it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use portcullis_json::{Limits, Object, Value, parse};
use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::{Store, check_name, stored_time, time};
use crate::log::RiskClass;
use crate::sealed::{Sealed, SealingKeys};
use crate::{Secret, StateFault};

/// The word for the older transport.
const SSE: &str = "sse";

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over streamable HTTP.
    Url(String),
    /// Over the older HTTP with server-sent events.
    Sse(String),
    /// As a program of this machine.
    Command(StoredCommand),
}

/// A program that is a server. What it gets in its environment is kept like headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
    /// Whether it gets a few variables of the gateway's own environment.
    pub inherit_env: bool,
    /// Whether all who use the server share one process.
    pub shared: bool,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// What is sent along.
    pub headers: Vec<Header>,
    /// Classes of tools, set by hand.
    pub classes: BTreeMap<String, RiskClass>,
    /// Its name may lead into a private network.
    pub allow_private: bool,
    /// When it was added.
    pub created: Timestamp,
}

/// One header and where its value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Where its value comes from.
    pub source: HeaderSource,
}

/// Where a header's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderSource {
    /// A variable of the environment.
    Environment(String),
    /// The content of a file, without the line break at its end.
    File(PathBuf),
    /// A value that was given, sealed.
    Sealed(Sealed),
    /// A value that is no secret: it may be shown, and stand in answers.
    Plain(String),
}

/// A header's value as it is given.
pub enum HeaderInput {
    /// A variable of the environment.
    Environment(String),
    /// The content of a file.
    File(PathBuf),
    /// The value itself, to be sealed.
    Value(Secret),
    /// A value that is no secret.
    Plain(String),
}

impl HeaderInput {
    /// `env:NAME` and `file:PATH` are references, `plain:VALUE` is no secret, anything else is the value itself.
    pub fn parse(text: Secret) -> HeaderInput {
        match text.expose().split_once(':') {
            Some(("env", name)) => HeaderInput::Environment(name.to_owned()),
            Some(("file", path)) => HeaderInput::File(path.into()),
            Some(("plain", value)) => HeaderInput::Plain(value.to_owned()),
            _ => HeaderInput::Value(text),
        }
    }
}

/// What a new server shall be.
pub struct NewServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// What is sent along.
    pub headers: Vec<(String, HeaderInput)>,
    /// Classes of tools, set by hand.
    pub classes: BTreeMap<String, RiskClass>,
    /// Its name may lead into a private network.
    pub allow_private: bool,
}

impl HeaderSource {
    /// The value, read now. `server` and `header` are part of what a sealed value is bound to.
    pub fn resolve(&self, server: &str, header: &str, keys: &SealingKeys) -> Result<Secret, StateFault> {
        match self {
            HeaderSource::Environment(name) => std::env::var(name).map(Secret::new).map_err(|_| {
                StateFault::Invalid(format!(
                    "header `{header}` of server `{server}` wants the environment variable `{name}`, \
                     which is not set"
                ))
            }),
            HeaderSource::File(path) => {
                let text = std::fs::read_to_string(path).map(Secret::new);
                let text = text.map_err(|error| StateFault::file("read", path, error))?;
                Ok(Secret::from(text.expose().trim_end_matches(['\r', '\n'])))
            }
            HeaderSource::Sealed(sealed) => keys.open(server, header, sealed),
            HeaderSource::Plain(value) => Ok(Secret::from(value.as_str())),
        }
    }
}

impl Store {
    /// Adds a server.
    pub fn add_server(&mut self, new: &NewServer, now: Timestamp) -> Result<Server, StateFault> {
        check_name("server", &new.name)?;
        if self.exists("SELECT 1 FROM servers WHERE name = ?1", &new.name)? {
            return Err(StateFault::Exists { what: "server", name: new.name.clone() });
        }
        let change = self.connection.transaction()?;
        change.execute(
            "INSERT INTO servers (name, transport, created) VALUES (?1, ?2, ?3)",
            params![new.name, transport_text(&new.transport, new.allow_private), stored_time(now)],
        )?;
        for (header, input) in &new.headers {
            insert_header(&change, &self.sealing, &new.name, header, input)?;
        }
        for (tool, class) in &new.classes {
            change.execute(
                "INSERT INTO server_classes (server, tool, class) VALUES (?1, ?2, ?3)",
                params![new.name, tool, class.as_str()],
            )?;
        }
        change.commit()?;
        self.server(&new.name)
    }

    /// Removes a server that no policy is for.
    pub fn remove_server(&mut self, name: &str) -> Result<(), StateFault> {
        let server = self.server(name)?;
        let used = "SELECT 1 FROM grant_policies JOIN grants ON grants.id = grant_id
                    WHERE server = ?1 AND revoked IS NULL";
        if self.exists(used, name)? {
            let by = "a grant; revoke it first".to_owned();
            return Err(StateFault::InUse { what: "server", name: name.to_owned(), by });
        }
        self.connection.execute("DELETE FROM servers WHERE name = ?1", [server.name])?;
        Ok(())
    }

    /// All servers, by name.
    pub fn servers(&self) -> Result<Vec<Server>, StateFault> {
        let mut query = self.connection.prepare("SELECT * FROM servers ORDER BY name")?;
        let rows: Vec<Server> = query.query_map([], server_row)?.collect::<Result<_, _>>()?;
        rows.into_iter().map(|server| self.with_details(server)).collect()
    }

    /// The server with this name.
    pub fn server(&self, name: &str) -> Result<Server, StateFault> {
        let query = "SELECT * FROM servers WHERE name = ?1";
        let found = self.connection.query_row(query, [name], server_row).optional()?;
        let unknown = || StateFault::Unknown { what: "server", name: name.to_owned() };
        self.with_details(found.ok_or_else(unknown)?)
    }

    fn with_details(&self, mut server: Server) -> Result<Server, StateFault> {
        let query = "SELECT name, kind, value FROM server_headers WHERE server = ?1 ORDER BY name";
        let mut query = self.connection.prepare_cached(query)?;
        let rows = query.query_map([&server.name], header_row)?;
        server.headers = rows.collect::<Result<_, _>>()?;
        let query = "SELECT tool, class FROM server_classes WHERE server = ?1";
        let mut query = self.connection.prepare_cached(query)?;
        let rows = query.query_map([&server.name], |row| {
            let class: String = row.get(1)?;
            Ok((row.get(0)?, RiskClass::parse(&class)))
        })?;
        for row in rows {
            let (tool, class): (String, _) = row?;
            // A class that is not known here is treated like the worst.
            server.classes.insert(tool, class.unwrap_or(RiskClass::Financial));
        }
        Ok(server)
    }

    /// The headers of a server with their values, to be sent to it and shown to nobody.
    pub fn resolve_headers(&self, server: &Server) -> Result<Vec<(String, Secret)>, StateFault> {
        let resolve = |header: &Header| {
            let secret = header.source.resolve(&server.name, &header.name, &self.sealing)?;
            Ok((header.name.clone(), secret))
        };
        server.headers.iter().map(resolve).collect()
    }

    /// Makes a new sealing key and seals everything again with it.
    pub fn rotate_sealing_key(&mut self) -> Result<u32, StateFault> {
        let servers = self.servers()?;
        let version = self.sealing.rotate()?;
        let change = self.connection.transaction()?;
        for server in &servers {
            for header in &server.headers {
                let HeaderSource::Sealed(sealed) = &header.source else {
                    continue;
                };
                let secret = self.sealing.open(&server.name, &header.name, sealed)?;
                let sealed = self.sealing.seal(&server.name, &header.name, &secret)?;
                change.execute(
                    "UPDATE server_headers SET value = ?3 WHERE server = ?1 AND name = ?2",
                    params![server.name, header.name, sealed.0],
                )?;
            }
        }
        change.commit()?;
        Ok(version)
    }
}

fn insert_header(
    change: &Transaction<'_>,
    keys: &SealingKeys,
    server: &str,
    header: &str,
    input: &HeaderInput,
) -> Result<(), StateFault> {
    let (kind, value) = match input {
        HeaderInput::Environment(name) => ("env", name.clone().into_bytes()),
        HeaderInput::File(path) => ("file", path.to_string_lossy().into_owned().into_bytes()),
        HeaderInput::Value(secret) => ("sealed", keys.seal(server, header, secret)?.0),
        HeaderInput::Plain(value) => ("plain", value.clone().into_bytes()),
    };
    change.execute(
        "INSERT INTO server_headers (server, name, kind, value) VALUES (?1, ?2, ?3, ?4)",
        params![server, header, kind, value],
    )?;
    Ok(())
}

fn header_row(row: &Row<'_>) -> rusqlite::Result<Header> {
    let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
    let value: Vec<u8> = row.get(2)?;
    let text = || String::from_utf8_lossy(&value).into_owned();
    let source = match kind.as_str() {
        "env" => HeaderSource::Environment(text()),
        "file" => HeaderSource::File(text().into()),
        "plain" => HeaderSource::Plain(text()),
        _ => HeaderSource::Sealed(Sealed(value)),
    };
    Ok(Header { name, source })
}

fn server_row(row: &Row<'_>) -> rusqlite::Result<Server> {
    let transport: String = row.get("transport")?;
    Ok(Server {
        name: row.get("name")?,
        transport: transport_from(&transport),
        allow_private: allows_private(&transport),
        headers: Vec::new(),
        classes: BTreeMap::new(),
        created: time(row, "created")?,
    })
}

fn transport_text(transport: &Transport, allow_private: bool) -> String {
    let mut fields = match transport {
        Transport::Url(url) => Object::new().with("url", url.as_str()),
        Transport::Sse(url) => Object::new().with("url", url.as_str()).with("transport", SSE),
        Transport::Command(command) => {
            let words: Vec<Value> = command.words.iter().map(|word| word.as_str().into()).collect();
            let cwd = command.cwd.as_ref().map(|path| path.to_string_lossy().into_owned());
            let fields = Object::new()
                .with("command", words)
                .with("inherit_env", command.inherit_env)
                .with("shared", command.shared);
            cwd.iter().fold(fields, |fields, cwd| fields.with("cwd", cwd.as_str()))
        }
    };
    if allow_private {
        fields.insert("allow_private", true.into());
    }
    Value::from(fields).to_string()
}

fn allows_private(transport: &str) -> bool {
    let fields = parse(transport.as_bytes(), &Limits::document()).unwrap_or(Value::Null);
    fields.get("allow_private").and_then(Value::as_bool).unwrap_or(false)
}

fn transport_from(text: &str) -> Transport {
    let fields = parse(text.as_bytes(), &Limits::document()).unwrap_or(Value::Null);
    match fields.get("url").and_then(Value::as_str) {
        Some(url) if fields.get("transport").and_then(Value::as_str) == Some(SSE) => {
            Transport::Sse(url.to_owned())
        }
        Some(url) => Transport::Url(url.to_owned()),
        None => {
            let words = fields.get("command").and_then(Value::as_array).unwrap_or_default();
            let words = words.iter().filter_map(|word| word.as_str().map(str::to_owned));
            let is_set = |key: &str| fields.get(key).and_then(Value::as_bool).unwrap_or(false);
            Transport::Command(StoredCommand {
                words: words.collect(),
                cwd: fields.get("cwd").and_then(Value::as_str).map(PathBuf::from),
                inherit_env: is_set("inherit_env"),
                shared: is_set("shared"),
            })
        }
    }
}
