//! How a server is reached: over HTTP, over the older HTTP with SSE, or as a program of this machine.
//!
//! Written by the administrator alone, checked by `snapshot.rs`. What runs is in `duplex/` and `process/`.

use std::path::PathBuf;

use portcullis_state::Secret;

/// How a server is reached.
pub enum TransportSpec {
    /// Streamable HTTP, at this `http` or `https` address.
    Http {
        /// The address.
        url: String,
    },
    /// HTTP with SSE, as revision 2024-11-05 has it: this address gives the stream.
    Sse {
        /// The address of the stream.
        url: String,
    },
    /// A program on this machine, on its standard input and output.
    Command(CommandSpec),
}

impl TransportSpec {
    /// Streamable HTTP at this address.
    pub fn http(url: impl Into<String>) -> TransportSpec {
        TransportSpec::Http { url: url.into() }
    }

    /// The address, if it has one.
    pub fn url(&self) -> Option<&str> {
        match self {
            TransportSpec::Http { url } | TransportSpec::Sse { url } => Some(url),
            TransportSpec::Command(_) => None,
        }
    }
}

/// A program that is a server. It is started as it stands here: no shell reads it.
#[derive(Default)]
pub struct CommandSpec {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its environment.
    pub env: Vec<EnvSpec>,
    /// Whether it also gets the variables in [`INHERITED_ENV`] as the gateway has them.
    pub inherit_env: bool,
    /// Where it runs; `None`: where the gateway does.
    pub cwd: Option<PathBuf>,
    /// Who shares one process.
    pub process: ProcessMode,
    /// Address space of the process, in MiB.
    pub memory_max_mb: Option<u64>,
    /// Files that the process may have open.
    pub open_files_max: Option<u64>,
    /// An unused process is ended after so long; `None`: as the settings say; 0: never.
    pub idle_timeout_s: Option<u64>,
}

/// What `inherit_env` passes on: what programs need to be found and to find their files.
pub const INHERITED_ENV: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// One variable of a program's environment.
pub struct EnvSpec {
    /// Its name.
    pub name: String,
    /// Its value; never shown.
    pub value: Secret,
    /// Whether it is taken out of what the server sends back. Not for what is no credential and may stand
    /// in any answer, such as a directory.
    pub is_secret: bool,
}

/// Who shares one process of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessMode {
    /// Each session has its own; in the era without sessions each grant.
    #[default]
    Session,
    /// All have one.
    Shared,
}

impl CommandSpec {
    /// What is wrong with it, in words.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let has_nul = |text: &str| text.contains('\0');
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        let bad_name = |env: &EnvSpec| env.name.is_empty() || env.name.contains('=') || has_nul(&env.name);
        if program.is_empty() {
            return Some("an empty `command`; write the program first, then its arguments");
        }
        if self.command.iter().any(|word| has_nul(word)) {
            return Some("a `command` with a zero byte in it");
        }
        if self.env.iter().any(bad_name) {
            return Some("an `env` name that is empty or has a `=` or a zero byte in it");
        }
        if self.env.iter().any(|env| has_nul(env.value.expose())) {
            return Some("an `env` value with a zero byte in it");
        }
        None
    }

    /// Whether both start the same process in the same way.
    pub(crate) fn is_same(&self, other: &CommandSpec) -> bool {
        let env = |spec: &CommandSpec| -> Vec<(String, String, bool)> {
            let all = spec.env.iter();
            all.map(|env| (env.name.clone(), env.value.expose().to_owned(), env.is_secret)).collect()
        };
        self.command == other.command
            && env(self) == env(other)
            && self.inherit_env == other.inherit_env
            && self.cwd == other.cwd
            && self.process == other.process
            && self.memory_max_mb == other.memory_max_mb
            && self.open_files_max == other.open_files_max
            && self.idle_timeout_s == other.idle_timeout_s
    }
}
