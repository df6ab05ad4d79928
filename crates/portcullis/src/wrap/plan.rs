//! What `wrap` was asked for, looked at as a whole before anything is opened or started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use portcullis_gateway::{
    ActivePolicy, CommandSpec, EraSetting, ServerSpec, Settings, Snapshot, TransportSpec,
};
use portcullis_json::{Value, digest};
use portcullis_state::Secret;
use portcullis_state::grants::{Grant, GrantTable, LABEL_CHARACTERS_MAX, TableEntry, Token};

use super::{Profile, Wrap, environment};
use crate::config::resolve_secret;
use crate::introspect::Spoken;

/// Digits of a name that tell one command from another.
const NAME_DIGITS: usize = 12;
/// Characters of a name that come from the label.
const NAME_LABEL_CHARACTERS_MAX: usize = 64;

/// What is wrapped, under which policy, and where its state is.
pub(super) struct Plan {
    pub(super) label: String,
    pub(super) data_dir: PathBuf,
    pub(super) policy: PolicySource,
    reached: Reached,
}

/// Where the policy comes from.
pub(super) enum PolicySource {
    File(PathBuf),
    Profile(Profile),
    /// The gateway behind the address decides.
    Gateway,
}

enum Reached {
    Command { command: Vec<String>, env: Vec<(String, String)>, cwd: Option<PathBuf> },
    Url { url: String, spoken: Spoken, headers: Vec<(String, String)> },
}

impl Plan {
    pub(super) fn read(wrap: Wrap) -> Result<Plan, String> {
        let reached = match wrap.url {
            Some(url) => Reached::Url { url, spoken: wrap.transport, headers: wrap.headers },
            None => Reached::Command { command: wrap.command, env: wrap.env, cwd: wrap.cwd },
        };
        let label = match wrap.label {
            Some(label) => check_label(label)?,
            None => reached.default_label(),
        };
        let policy = match (wrap.policy, wrap.profile) {
            _ if wrap.behind_gateway => PolicySource::Gateway,
            (Some(file), _) => PolicySource::File(file),
            (None, profile) => PolicySource::Profile(profile.unwrap_or(Profile::Recommended)),
        };
        let data_dir = match wrap.data_dir {
            Some(directory) => directory,
            None => default_data_dir()?,
        };
        Ok(Plan { label, data_dir, policy, reached })
    }

    /// What the server is called in the log, in pins and in file names: the same for the same command under
    /// the same label, whatever its secrets are, and another one for any other.
    pub(super) fn server_name(&self) -> String {
        let mut words = vec![Value::from(self.label.as_str())];
        match &self.reached {
            Reached::Command { command, .. } => words.extend(command.iter().map(|word| word.as_str().into())),
            Reached::Url { url, .. } => words.extend(["url".into(), url.as_str().into()]),
        }
        let plain = |character: char| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | '-' => character,
            _ => '_',
        };
        let name: String = self.label.chars().map(plain).take(NAME_LABEL_CHARACTERS_MAX).collect();
        let digits: String = digest(&Value::Array(words)).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name}-{}", digits.get(..NAME_DIGITS).unwrap_or_default())
    }

    /// The id of the one grant.
    pub(super) fn grant_id(&self) -> String {
        format!("wrap:{}", self.label)
    }

    pub(super) fn settings(&self) -> Settings {
        Settings::default()
    }

    /// One server, one grant, and the policy once it is known; without one nothing is allowed.
    pub(super) fn snapshot(&self, policy: Option<ActivePolicy>) -> Result<Snapshot, String> {
        let name = policy.as_ref().map_or_else(String::new, |policy| policy.name.clone());
        let grants = GrantTable::build([self.grant(name)?], None).map_err(text)?;
        Snapshot::compile(vec![self.server()?], policy.into_iter().collect(), grants).map_err(text)
    }

    /// Nobody has its token: it is for the client that started this process.
    fn grant(&self, policy: String) -> Result<TableEntry, String> {
        let grant = Grant {
            id: self.grant_id(),
            label: self.label.clone(),
            tags: Vec::new(),
            created: Timestamp::UNIX_EPOCH,
            expires: None,
            revoked: None,
            last_used: None,
            policies: BTreeMap::from([(self.server_name(), policy)]),
        };
        let token = Token::generate().map_err(text)?.hash();
        Ok(TableEntry { token, valid_until: None, grant })
    }

    fn server(&self) -> Result<ServerSpec, String> {
        let mut headers = Vec::new();
        let transport = match &self.reached {
            Reached::Url { url, spoken, headers: written } => {
                headers = secrets(written)?;
                match spoken {
                    Spoken::Http => TransportSpec::http(url.as_str()),
                    Spoken::Sse => TransportSpec::Sse { url: url.clone() },
                }
            }
            Reached::Command { command, env, cwd } => TransportSpec::Command(CommandSpec {
                command: command.clone(),
                env: environment::of_server(std::env::vars_os(), secrets(env)?),
                cwd: cwd.clone(),
                // It lives as long as the client does.
                idle_timeout_s: Some(0),
                ..CommandSpec::default()
            }),
        };
        Ok(ServerSpec {
            name: self.server_name(),
            transport,
            headers,
            classes: BTreeMap::new(),
            era: EraSetting::Auto,
            answer_timeout_ms: None,
            // Whoever starts a wrap wrote the address.
            allow_private: true,
        })
    }
}

impl Reached {
    /// The name of the program, or of the machine.
    fn default_label(&self) -> String {
        let name = match self {
            Reached::Command { command, .. } => {
                let program = command.first().map(Path::new).and_then(Path::file_name);
                program.map(|name| name.to_string_lossy().into_owned())
            }
            Reached::Url { url, .. } => {
                let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                rest.split(['/', '?', '#']).next().and_then(|host| host.rsplit('@').next()).map(str::to_owned)
            }
        };
        let name: String = name.unwrap_or_default().chars().take(LABEL_CHARACTERS_MAX).collect();
        if name.is_empty() { "server".to_owned() } else { name }
    }
}

fn check_label(label: String) -> Result<String, String> {
    let characters = label.chars().count();
    if characters == 0 || characters > LABEL_CHARACTERS_MAX || label.chars().any(char::is_control) {
        return Err(format!("`--label` has 1 to {LABEL_CHARACTERS_MAX} characters, none of them invisible"));
    }
    Ok(label)
}

/// `$XDG_DATA_HOME/portcullis`, or `~/.local/share/portcullis`.
fn default_data_dir() -> Result<PathBuf, String> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    home.map(|home| home.join("portcullis"))
        .ok_or_else(|| "there is no home directory to keep state in; name one with `--data-dir`".to_owned())
}

fn secrets(pairs: &[(String, String)]) -> Result<Vec<(String, Secret)>, String> {
    let read = |value: &str| resolve_secret(value, |path| PathBuf::from(path));
    let resolve = |value: &str| match value.strip_prefix("bearer-env:") {
        Some(name) => Ok(Secret::new(format!("Bearer {}", read(&format!("env:{name}"))?.expose()))),
        None => read(value),
    };
    pairs.iter().map(|(name, value)| Ok::<_, String>((name.clone(), resolve(value)?))).collect()
}

fn text(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(label: &str, command: &[&str]) -> Plan {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Plan {
            label: label.to_owned(),
            data_dir: PathBuf::new(),
            policy: PolicySource::Profile(Profile::Recommended),
            reached: Reached::Command { command, env: Vec::new(), cwd: None },
        }
    }

    #[test]
    fn a_server_is_known_by_label_and_command() {
        let identity = |label, command: &[&str]| plan(label, command).server_name();
        assert_eq!(identity("a", &["x", "y"]), identity("a", &["x", "y"]));
        assert_ne!(identity("a", &["x", "y"]), identity("b", &["x", "y"]));
        assert_ne!(identity("a", &["x", "y"]), identity("a", &["x y"]));
        assert!(identity("../..", &["x"]).starts_with(".._..-"), "a label is no path");
    }

    #[test]
    fn a_label_comes_from_the_program_or_the_address() {
        let command = |word: &str| plan("", &[word]).reached.default_label();
        assert_eq!(command("/usr/bin/server-memory"), "server-memory");
        assert_eq!(command(""), "server");
        let url = |url: &str| {
            Reached::Url { url: url.to_owned(), spoken: Spoken::Http, headers: Vec::new() }.default_label()
        };
        assert_eq!(url("https://me:secret@mcp.example:8443/x?y"), "mcp.example:8443");
    }
}
