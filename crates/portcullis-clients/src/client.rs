//! The client programs whose configuration is known.

use std::fmt;

/// A program that starts or reaches MCP servers for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Anthropic's terminal agent.
    ClaudeCode,
    /// Anthropic's desktop program.
    ClaudeDesktop,
    /// The Cursor editor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// The Windsurf editor.
    Windsurf,
    /// OpenAI's terminal agent.
    Codex,
    /// Google's terminal agent.
    GeminiCli,
}

/// No client has this name.
#[derive(Debug, thiserror::Error)]
#[error("no client is called `{name}`; known are {}{}", known(), nearest(name))]
pub struct UnknownClient {
    name: String,
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 7] = [
        Client::ClaudeCode,
        Client::ClaudeDesktop,
        Client::Cursor,
        Client::VsCode,
        Client::Windsurf,
        Client::Codex,
        Client::GeminiCli,
    ];

    /// The word for it on the command line and in labels.
    pub fn id(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::ClaudeDesktop => "claude-desktop",
            Client::Cursor => "cursor",
            Client::VsCode => "vscode",
            Client::Windsurf => "windsurf",
            Client::Codex => "codex",
            Client::GeminiCli => "gemini-cli",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "Claude Code",
            Client::ClaudeDesktop => "Claude Desktop",
            Client::Cursor => "Cursor",
            Client::VsCode => "VS Code",
            Client::Windsurf => "Windsurf",
            Client::Codex => "Codex",
            Client::GeminiCli => "Gemini CLI",
        }
    }

    /// The client of this word.
    pub fn parse(name: &str) -> Result<Client, UnknownClient> {
        let found = Client::ALL.into_iter().find(|client| client.id() == name);
        found.ok_or_else(|| UnknownClient { name: name.to_owned() })
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn known() -> String {
    let ids: Vec<String> = Client::ALL.iter().map(|client| format!("`{}`", client.id())).collect();
    ids.join(", ")
}

fn nearest(name: &str) -> String {
    let close = Client::ALL.iter().find(|client| strsim::damerau_levenshtein(client.id(), name) <= 2);
    close.map(|client| format!("; did you mean `{}`?", client.id())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Client;

    #[test]
    fn every_client_is_found_by_its_word() {
        for client in Client::ALL {
            assert_eq!(Client::parse(client.id()).ok(), Some(client));
        }
        let fault = Client::parse("curser").unwrap_err().to_string();
        assert!(fault.contains("did you mean `cursor`?"), "{fault}");
    }
}
