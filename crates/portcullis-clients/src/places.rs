//! Where each client keeps its configuration.
//!
//! Read in the clients' own documentation in November 2026; places move, so a client that is not found says
//! nothing about whether it is there.

use std::path::{Path, PathBuf};

use crate::client::Client;

/// A person's directories, as the operating system has them.
#[derive(Clone, Debug)]
pub struct Home {
    /// The home directory.
    pub directory: PathBuf,
    /// Where desktop programs keep their settings.
    pub settings: PathBuf,
    /// Where programs keep what they have gathered.
    pub data: PathBuf,
    /// Claude Code's own directory, where `CLAUDE_CONFIG_DIR` moved it.
    pub claude: Option<PathBuf>,
    /// Codex's own directory, where `CODEX_HOME` moved it.
    pub codex: Option<PathBuf>,
}

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A person's, for all their work.
    User,
    /// A project's.
    Project,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

/// A file in which a client may have servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose it is.
    pub client: Client,
    /// For whom.
    pub scope: Scope,
    /// The file.
    pub path: PathBuf,
    /// How it is written.
    pub format: Format,
    /// Where in it servers are: keys from the top; `*` stands for every key.
    pub sections: &'static [&'static [&'static str]],
}

const SERVERS: &[&[&str]] = &[&["mcpServers"]];
const WITH_PROJECTS: &[&[&str]] = &[&["mcpServers"], &["projects", "*", "mcpServers"]];
const VS_CODE: &[&[&str]] = &[&["servers"]];
const VS_CODE_SETTINGS: &[&[&str]] = &[&["mcp", "servers"]];
const CODEX: &[&[&str]] = &[&["mcp_servers"]];

impl Home {
    /// The home of whoever runs this, out of the environment; none where it is not set.
    pub fn of_environment() -> Option<Home> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let directory = variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" })?;
        let usual = Home::at(directory);
        let (settings, data) = match std::env::consts::OS {
            "macos" => (None, None),
            "windows" => (variable("APPDATA"), variable("LOCALAPPDATA")),
            _ => (variable("XDG_CONFIG_HOME"), variable("XDG_DATA_HOME")),
        };
        Some(Home {
            settings: settings.unwrap_or(usual.settings),
            data: data.unwrap_or(usual.data),
            claude: variable("CLAUDE_CONFIG_DIR"),
            codex: variable("CODEX_HOME"),
            directory: usual.directory,
        })
    }

    /// A home whose directories are all in their usual places under one directory.
    pub fn at(directory: impl Into<PathBuf>) -> Home {
        let directory = directory.into();
        let (settings, data) = match std::env::consts::OS {
            "macos" => ("Library/Application Support", "Library/Application Support"),
            "windows" => ("AppData/Roaming", "AppData/Local"),
            _ => (".config", ".local/share"),
        };
        let (settings, data) = (directory.join(settings), directory.join(data));
        Home { directory, settings, data, claude: None, codex: None }
    }

    /// Every file that may hold servers: a person's, then the project's.
    pub fn places(&self, project: Option<&Path>) -> Vec<Place> {
        let mut places = self.user_places();
        if let Some(project) = project {
            // A project that is the home directory has the same files.
            places.extend(
                project_places(project)
                    .into_iter()
                    .filter(|place| self.user_places().iter().all(|user| user.path != place.path)),
            );
        }
        places
    }

    fn user_places(&self) -> Vec<Place> {
        let user = |client, path: PathBuf, sections| json(client, Scope::User, path, sections);
        let claude = self.claude.as_deref().unwrap_or(&self.directory).join(".claude.json");
        let codex = self.codex.clone().unwrap_or_else(|| self.directory.join(".codex")).join("config.toml");
        let code = self.settings.join("Code/User");
        vec![
            user(Client::ClaudeCode, claude, WITH_PROJECTS),
            user(Client::ClaudeDesktop, self.settings.join("Claude/claude_desktop_config.json"), SERVERS),
            user(Client::Cursor, self.directory.join(".cursor/mcp.json"), SERVERS),
            user(Client::VsCode, code.join("mcp.json"), VS_CODE),
            user(Client::VsCode, code.join("settings.json"), VS_CODE_SETTINGS),
            user(Client::Windsurf, self.directory.join(".codeium/windsurf/mcp_config.json"), SERVERS),
            toml(Scope::User, codex),
            user(Client::GeminiCli, self.directory.join(".gemini/settings.json"), SERVERS),
        ]
    }
}

fn project_places(project: &Path) -> Vec<Place> {
    let of = |client, path: &str, sections| json(client, Scope::Project, project.join(path), sections);
    vec![
        of(Client::ClaudeCode, ".mcp.json", SERVERS),
        of(Client::Cursor, ".cursor/mcp.json", SERVERS),
        of(Client::VsCode, ".vscode/mcp.json", VS_CODE),
        of(Client::VsCode, ".vscode/settings.json", VS_CODE_SETTINGS),
        toml(Scope::Project, project.join(".codex/config.toml")),
        of(Client::GeminiCli, ".gemini/settings.json", SERVERS),
    ]
}

fn json(client: Client, scope: Scope, path: PathBuf, sections: &'static [&'static [&'static str]]) -> Place {
    Place { client, scope, path, format: Format::Json, sections }
}

fn toml(scope: Scope, path: PathBuf) -> Place {
    Place { client: Client::Codex, scope, path, format: Format::Toml, sections: CODEX }
}

#[cfg(test)]
mod tests {
    use super::{Client, Home};

    #[test]
    fn every_client_has_a_place_and_none_twice() {
        let home = Home::at("/srv/someone");
        let places = home.places(Some("/srv/someone/work".as_ref()));
        for client in Client::ALL {
            assert!(places.iter().any(|place| place.client == client), "{client}");
        }
        let at_home = home.places(Some("/srv/someone".as_ref()));
        let mut paths: Vec<_> = at_home.iter().map(|place| &place.path).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), at_home.len());
    }
}
