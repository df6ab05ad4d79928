//! A home directory with a configuration of every client, as people write them.

use std::fs;
use std::path::{Path, PathBuf};

use portcullis_clients::{Backups, Guard, Home};

/// In every file, as a value that must never be shown.
pub(crate) const SECRET: &str = "s3cr3t-value-of-somebody";

pub(crate) struct House {
    pub(crate) root: tempfile::TempDir,
}

impl House {
    pub(crate) fn new() -> House {
        House { root: tempfile::tempdir().unwrap() }
    }

    /// With a file of each client, user and project.
    pub(crate) fn furnished() -> House {
        let house = House::new();
        for (path, text) in files() {
            house.write(path, &text);
        }
        house
    }

    pub(crate) fn home(&self) -> Home {
        Home::at(self.root.path())
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(crate) fn backups(&self) -> Backups {
        Backups::at(self.root.path().join("backups"))
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// All files with their bytes, without the backups.
    pub(crate) fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut contents = Vec::new();
        gather(self.root.path(), &mut contents);
        contents.retain(|(path, _)| !path.starts_with(self.root.path().join("backups")));
        contents.sort();
        contents
    }
}

pub(crate) fn guard() -> Guard {
    Guard { program: "/opt/portcullis".to_owned(), profile: "recommended".to_owned(), data_dir: None }
}

fn gather(directory: &Path, contents: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, contents);
        } else {
            let bytes = fs::read(&path).unwrap();
            contents.push((path, bytes));
        }
    }
}

/// Twelve files, seventeen servers, one of them of no known kind.
pub(crate) fn files() -> Vec<(&'static str, String)> {
    let settings = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    let at = |rest: &str| -> &'static str { Box::leak(format!("{settings}/{rest}").into_boxed_str()) };
    let secret = |text: &str| text.replace("SECRET", SECRET);
    vec![
        (
            ".claude.json",
            secret(
                "{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n    \"files\": {\n      \"type\": \"stdio\",\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/srv\"],\n      \"env\": { \"KEY\": \"SECRET\" }\n    }\n  },\n  \"projects\": {\n    \"/srv/work\": {\n      \"mcpServers\": {\n        \"issues\": { \"type\": \"http\", \"url\": \"https://mcp.example/mcp\", \"headers\": { \"Authorization\": \"Bearer SECRET\" } }\n      },\n      \"history\": []\n    }\n  }\n}\n",
            ),
        ),
        (
            at("Claude/claude_desktop_config.json"),
            secret("{\"mcpServers\":{\"memory\":{\"command\":\"npx\",\"args\":[\"-y\",\"@modelcontextprotocol/server-memory\"],\"env\":{\"TOKEN\":\"SECRET\"}}}}"),
        ),
        (
            ".cursor/mcp.json",
            secret(
                "\u{feff}{\r\n\t// what I use every day\r\n\t\"mcpServers\": {\r\n\t\t\"git\": {\r\n\t\t\t\"command\": \"uvx\", // not pipx\r\n\t\t\t\"envFile\": \".env\",\r\n\t\t},\r\n\t\t\"remote\": {\r\n\t\t\t\"url\": \"https://cursor.example/mcp?key=SECRET\",\r\n\t\t\t/* from the vault */\r\n\t\t\t\"headers\": { \"X-Api-Key\": \"${env:API_KEY}\" },\r\n\t\t},\r\n\t},\r\n}\r\n",
            ),
        ),
        (
            at("Code/User/mcp.json"),
            secret(
                "{\n\t\"inputs\": [{ \"id\": \"token\", \"type\": \"promptString\", \"password\": true }],\n\t\"servers\": {\n\t\t\"github\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"https://api.example/mcp/\",\n\t\t\t\"headers\": { \"Authorization\": \"Bearer ${input:token}\" }\n\t\t},\n\t\t\"time\": { \"type\": \"stdio\", \"command\": \"mcp-server-time\", \"args\": [], \"env\": {\"K\": \"SECRET\"}, \"cwd\": \"${workspaceFolder}\" }\n\t}\n}\n",
            ),
        ),
        (
            at("Code/User/settings.json"),
            "{\n  // settings\n  \"editor.fontSize\": 13,\n  \"mcp\": { \"servers\": { \"old\": { \"command\": \"old-server\" } } },\n}\n"
                .to_owned(),
        ),
        (
            ".codeium/windsurf/mcp_config.json",
            "{\n  \"mcpServers\": {\n    \"figma\": {\n      \"serverUrl\": \"https://figma.example/sse\",\n      \"disabled\": true\n    },\n    \"odd\": { \"something\": 1 }\n  }\n}"
                .to_owned(),
        ),
        (
            ".codex/config.toml",
            secret(
                "model = \"o9\" # the good one\n\n[mcp_servers.docs]\ncommand = \"npx\"   # from npm\nargs = [\n    \"-y\",\n    \"docs-mcp\",\n]\nstartup_timeout_sec = 20\n\n[mcp_servers.docs.env]\nAPI_KEY = \"SECRET\"\n\n[mcp_servers.remote]\nurl = \"https://codex.example/mcp\"\nbearer_token_env_var = \"REMOTE_TOKEN\"\nhttp_headers = { \"X-Team\" = \"SECRET\" }\nenabled = true\n\n[tui]\ntheme = \"dark\"\n",
            ),
        ),
        (
            ".gemini/settings.json",
            secret(
                "{\n    \"theme\": \"Dracula\",\n    \"mcpServers\": {\n        \"search\": { \"httpUrl\": \"https://gemini.example/mcp\", \"headers\": {\"X-Key\": \"SECRET\"}, \"timeout\": 5000 },\n        \"older\": { \"url\": \"https://gemini.example/sse\", \"trust\": false }\n    }\n}\n",
            ),
        ),
        (
            "project/.mcp.json",
            "{\"mcpServers\": {\"pharo\": {\"command\": \"pharo-interop-mcp\", \"args\": [\"--read-only\"]}}}\n".to_owned(),
        ),
        ("project/.cursor/mcp.json", "{ }\n".to_owned()),
        (
            "project/.vscode/mcp.json",
            "{\n  \"servers\": {\n    \"local\": {\n      \"command\": \"node\",\n      \"args\": [\n        \"server.js\"\n      ]\n    }\n  }\n}\n"
                .to_owned(),
        ),
        ("project/.gemini/settings.json", "{\"mcpServers\": {\"p\": {\"command\": \"p\", \"cwd\": \"./p\"}}}".to_owned()),
    ]
}
