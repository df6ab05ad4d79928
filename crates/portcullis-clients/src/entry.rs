//! A server as a client's file names it.

use std::fmt;

use crate::client::Client;

/// Text that is written back into its file and shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(pub(crate) String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

impl Hidden {
    /// For handing it to the program it is meant for; never for showing.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A text that was not read from a file.
    pub fn new(text: String) -> Hidden {
        Hidden(text)
    }

    /// Whether it only names where the value is: `${TOKEN}`, `$TOKEN`, `${input:token}`.
    pub fn is_reference(&self) -> bool {
        self.0.contains("${") || (self.0.starts_with('$') && self.0.len() > 1)
    }
}

/// One server of one client.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it is: keys from the top of the file, without its name.
    pub section: Vec<String>,
    /// What the client calls it.
    pub name: String,
    /// How the client reaches it.
    pub way: Way,
    /// Whether the client is told to leave it alone.
    pub disabled: bool,
    /// Its environment.
    pub environment: Vec<(String, Hidden)>,
    /// Where it is started, if the file says so.
    pub cwd: Option<String>,
}

/// How a client reaches a server.
#[derive(Clone, Debug)]
pub enum Way {
    /// It starts a program and talks over its standard input and output.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// It connects to an address.
    Remote(Remote),
    /// In a way that is not known here; what was found.
    Unknown(String),
}

/// A server at an address.
#[derive(Clone, Debug)]
pub struct Remote {
    /// The address.
    pub url: String,
    /// What is spoken there.
    pub transport: Transport,
    /// What is sent with each request.
    pub headers: Vec<(String, HeaderValue)>,
}

/// Where a header's value comes from.
#[derive(Clone, Debug)]
pub enum HeaderValue {
    /// From the file.
    Written(Hidden),
    /// From this variable of the client's environment.
    Variable(String),
    /// `Bearer` and this variable of the client's environment.
    BearerVariable(String),
}

impl HeaderValue {
    /// The value, where it stands in the file.
    pub fn written(&self) -> Option<&Hidden> {
        match self {
            HeaderValue::Written(value) => Some(value),
            HeaderValue::Variable(_) | HeaderValue::BearerVariable(_) => None,
        }
    }
}

/// What is spoken at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP, or whatever the server turns out to speak.
    Http,
    /// The older HTTP with server-sent events.
    Sse,
}

/// A field of an entry, as far as it matters here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Field {
    Text(String),
    Texts(Vec<String>),
    Map(Vec<(String, String)>),
    Flag(bool),
    Other,
}

/// The fields of an entry, in the order of the file.
pub(crate) type Fields = Vec<(String, Field)>;

/// Reads an entry.
pub(crate) fn entry(client: Client, section: Vec<String>, name: String, fields: &Fields) -> Entry {
    let environment = map(fields, "env").into_iter().map(|(key, value)| (key, Hidden(value))).collect();
    let disabled = flag(fields, "disabled") == Some(true) || flag(fields, "enabled") == Some(false);
    let cwd = match get(fields, "cwd") {
        Some(Field::Text(cwd)) => Some(cwd.clone()),
        _ => None,
    };
    Entry { section, name, way: way(client, fields), disabled, environment, cwd }
}

/// The keys of an address, in the order in which clients look at them.
pub(crate) const URL_KEYS: [&str; 3] = ["httpUrl", "serverUrl", "url"];
/// The keys that only a program has, beside `command`.
pub(crate) const PROGRAM_KEYS: [&str; 6] = ["args", "env", "env_vars", "envFile", "cwd", "command"];
/// The keys that only an address has.
pub(crate) const REMOTE_KEYS: [&str; 8] = [
    "httpUrl",
    "serverUrl",
    "url",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "transport",
];

fn way(client: Client, fields: &Fields) -> Way {
    if let Some(Field::Text(command)) = get(fields, "command") {
        return match get(fields, "args") {
            None => Way::Command { command: command.clone(), arguments: Vec::new() },
            Some(Field::Texts(arguments)) => {
                Way::Command { command: command.clone(), arguments: arguments.clone() }
            }
            Some(_) => Way::Unknown("`args` is no list of texts".to_owned()),
        };
    }
    let address = URL_KEYS.iter().find_map(|key| match get(fields, key) {
        Some(Field::Text(url)) => Some((*key, url.clone())),
        _ => None,
    });
    match address {
        Some((key, url)) => {
            Way::Remote(Remote { url, transport: transport(client, fields, key), headers: headers(fields) })
        }
        None => Way::Unknown("it has neither a command nor an address".to_owned()),
    }
}

fn transport(client: Client, fields: &Fields, key: &str) -> Transport {
    let said = ["type", "transport"].iter().find_map(|key| match get(fields, key) {
        Some(Field::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    // Gemini CLI has two keys: `url` is the older transport, `httpUrl` the newer.
    let is_older = said.is_none() && client == Client::GeminiCli && key == "url";
    if said == Some("sse") || is_older { Transport::Sse } else { Transport::Http }
}

fn headers(fields: &Fields) -> Vec<(String, HeaderValue)> {
    let written = ["headers", "http_headers"].into_iter().flat_map(|key| map(fields, key));
    let written = written.map(|(name, value)| (name, HeaderValue::Written(Hidden(value))));
    let variables = map(fields, "env_http_headers");
    let variables = variables.into_iter().map(|(name, value)| (name, HeaderValue::Variable(value)));
    let bearer = match get(fields, "bearer_token_env_var") {
        Some(Field::Text(variable)) => {
            Some(("Authorization".to_owned(), HeaderValue::BearerVariable(variable.clone())))
        }
        _ => None,
    };
    written.chain(variables).chain(bearer).collect()
}

pub(crate) fn get<'a>(fields: &'a Fields, key: &str) -> Option<&'a Field> {
    fields.iter().find(|(name, _)| name == key).map(|(_, field)| field)
}

fn map(fields: &Fields, key: &str) -> Vec<(String, String)> {
    match get(fields, key) {
        Some(Field::Map(map)) => map.clone(),
        _ => Vec::new(),
    }
}

fn flag(fields: &Fields, key: &str) -> Option<bool> {
    match get(fields, key) {
        Some(Field::Flag(flag)) => Some(*flag),
        _ => None,
    }
}
