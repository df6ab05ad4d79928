//! What a client starts instead of a server: `portcullis wrap` in front of it.

use crate::client::Client;
use crate::document::Replacement;
use crate::entry::{Entry, HeaderValue, Remote, Transport, Way};
use crate::redirect::is_redirected;

/// The command line's word for it.
pub(crate) const WRAP: &str = "wrap";
/// Headers that were written in a file reach us through variables of this name and a number.
const HEADER_VARIABLE: &str = "PORTCULLIS_HEADER_";

/// How servers are to be guarded.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Our own program, as an absolute path.
    pub program: String,
    /// The profile of the policy.
    pub profile: String,
    /// Where log and counters are, where it is not the usual place.
    pub data_dir: Option<String>,
}

/// Whether this is a server that we already stand in front of.
pub fn is_guarded(entry: &Entry) -> bool {
    match &entry.way {
        Way::Command { command, arguments } => {
            let file = command.rsplit(['/', '\\']).next().unwrap_or(command);
            let file = file.strip_suffix(".exe").unwrap_or(file);
            file == "portcullis" && arguments.first().is_some_and(|first| first == WRAP)
        }
        Way::Remote(remote) => is_redirected(&remote.headers),
        Way::Unknown(_) => false,
    }
}

impl Guard {
    /// What the client is to start for this server; none where it is reached in an unknown way.
    pub(crate) fn replacement(&self, client: Client, entry: &Entry) -> Option<Replacement> {
        let mut arguments = vec![WRAP.to_owned(), "--label".to_owned(), label(client, &entry.name)];
        arguments.extend(["--profile".to_owned(), self.profile.clone()]);
        if let Some(directory) = &self.data_dir {
            arguments.extend(["--data-dir".to_owned(), directory.clone()]);
        }
        let mut replacement = Replacement {
            command: self.program.clone(),
            arguments,
            environment: Vec::new(),
            variables: Vec::new(),
        };
        match &entry.way {
            Way::Command { command, arguments } => {
                replacement.arguments.extend(["--".to_owned(), command.clone()]);
                replacement.arguments.extend(arguments.iter().cloned());
            }
            Way::Remote(remote) => replacement.reach(remote),
            Way::Unknown(_) => return None,
        }
        Some(replacement)
    }
}

impl Replacement {
    pub(crate) fn reach(&mut self, remote: &Remote) {
        self.arguments.extend(["--url".to_owned(), remote.url.clone()]);
        if remote.transport == Transport::Sse {
            self.arguments.extend(["--transport".to_owned(), "sse".to_owned()]);
        }
        for (index, (name, value)) in remote.headers.iter().enumerate() {
            let source = match value {
                HeaderValue::Written(secret) => {
                    let variable = format!("{HEADER_VARIABLE}{}", index + 1);
                    self.environment.push((variable.clone(), secret.clone()));
                    format!("{name}=env:{variable}")
                }
                HeaderValue::Variable(variable) => {
                    self.variables.push(variable.clone());
                    format!("{name}=env:{variable}")
                }
                HeaderValue::BearerVariable(variable) => {
                    self.variables.push(variable.clone());
                    format!("{name}=bearer-env:{variable}")
                }
            };
            self.arguments.extend(["--header".to_owned(), source]);
        }
    }
}

/// The grant's label: which client, which server.
pub fn label(client: Client, name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    format!("{}-{name}", client.id())
}
