//! What `up` makes on its first start, and what it prints on every one.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use portcullis_json::{Object, Value, pretty};

use crate::instance::Instance;
use crate::playground;

/// The server, its policy and the grant of the first five minutes.
const SERVER: &str = "playground";
const POLICY: &str = "playground-recommended";
const GRANT: &str = "quick-start";

/// How to try the gateway.
pub(crate) struct QuickStart {
    url: String,
    token_file: PathBuf,
    client_file: PathBuf,
    data_dir: PathBuf,
    grant: Found,
    /// The token, for who runs in this process.
    pub(crate) token: String,
}

/// What became of the grant.
enum Found {
    /// Made just now, or given a new token.
    Fresh,
    /// As it was left.
    Kept,
    /// Somebody gave it another token, and has it.
    Elsewhere,
    /// Somebody has revoked it, and meant it.
    Ended,
}

impl Found {
    /// Whether the token is known here.
    fn has_token(&self) -> bool {
        matches!(self, Found::Fresh | Found::Kept)
    }
}

/// Makes what is missing on the first start; later everything stays as it was left.
pub(crate) fn prepare(
    instance: &Instance,
    data_dir: &Path,
    address: SocketAddr,
) -> Result<QuickStart, String> {
    // What is printed is pasted elsewhere, too.
    let data_dir = &std::path::absolute(data_dir).map_err(|error| cannot("find", data_dir, &error))?;
    let token_file = data_dir.join("quick-start.token");
    let client_file = data_dir.join("quick-start.json");
    let kept = std::fs::read_to_string(&token_file).ok().map(|text| text.trim().to_owned());
    let kept = kept.filter(|token| !token.is_empty());
    let (grant, token) = match (state_of_grant(instance)?.as_deref(), kept) {
        (None, _) => (Found::Fresh, make(instance)?),
        (Some("active"), Some(token)) if instance.takes(&token) => (Found::Kept, token),
        (Some("active"), Some(_)) => (Found::Elsewhere, String::new()),
        (Some("active"), None) => (Found::Fresh, rotated(instance)?),
        (Some(_), _) => (Found::Ended, String::new()),
    };
    let url = format!("http://{address}/mcp/{SERVER}");
    if grant.has_token() {
        write_private(&token_file, &token)?;
        write_private(&client_file, &(pretty(&client_configuration(&url, &token)) + "\n"))?;
    } else {
        // What opens nothing any more would only mislead.
        remove(&token_file)?;
        remove(&client_file)?;
    }
    Ok(QuickStart { url, token_file, client_file, data_dir: data_dir.clone(), grant, token })
}

/// The state of the grant of the first start; nothing if this is the first.
fn state_of_grant(instance: &Instance) -> Result<Option<String>, String> {
    let answer = instance.administer("grant list", &Object::new())?;
    let grants = answer.get("grants").and_then(Value::as_array).unwrap_or_default();
    let ours = grants.iter().find(|grant| grant.get("label").and_then(Value::as_str) == Some(GRANT));
    Ok(ours.and_then(|grant| grant.get("state")?.as_str().map(str::to_owned)))
}

/// Server, policy and grant; the token of the grant. A start that was interrupted is made good.
fn make(instance: &Instance) -> Result<String, String> {
    let has = |what: &str, name: &str| {
        instance.administer(&format!("{what} show"), &Object::new().with("name", name)).is_ok()
    };
    if !has("server", SERVER) {
        let arguments = Object::new().with("name", SERVER).with("url", playground::URL);
        instance.administer("server add", &arguments)?;
    }
    if !has("policy", POLICY) {
        let arguments = Object::new()
            .with("name", POLICY)
            .with("server", SERVER)
            .with("source", playground::POLICY)
            .with("activate", true);
        instance.administer("policy add", &arguments)?;
    }
    let arguments = Object::new().with("label", GRANT).with("server", SERVER).with("policy", POLICY);
    token_in(&instance.administer("grant create", &arguments)?)
}

/// The file with the token is gone: the grant gets a new one.
fn rotated(instance: &Instance) -> Result<String, String> {
    token_in(&instance.administer("grant rotate", &Object::new().with("grant", GRANT))?)
}

fn token_in(answer: &Value) -> Result<String, String> {
    let token = answer.get("token").and_then(Value::as_str);
    token.map(str::to_owned).ok_or_else(|| "the grant came without a token".to_owned())
}

fn write_private(path: &Path, text: &str) -> Result<(), String> {
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| cannot("write", path, &error))
}

fn remove(path: &Path) -> Result<(), String> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("remove", path, &error)),
        _ => Ok(()),
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {what} `{}`: {error}", path.display())
}

/// What most clients take as their configuration.
fn client_configuration(url: &str, token: &str) -> Value {
    let headers = Object::new().with("Authorization", format!("Bearer {token}"));
    let server = Object::new().with("type", "http").with("url", url).with("headers", headers);
    Object::new().with("mcpServers", Object::new().with(SERVER, server)).into()
}

impl QuickStart {
    /// A call that can be pasted into a shell.
    fn curl(&self, tool: &str, arguments: &str) -> String {
        format!(
            "curl -s {} \\\n  -H \"Authorization: Bearer $(cat {})\" \\\n  \
             -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\\n  \
             -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: {tool}' \\\n  \
             -d '{}'",
            self.url,
            quoted(&self.token_file),
            call(tool, arguments)
        )
    }

    /// For people.
    pub(crate) fn as_text(&self) -> String {
        let data_dir = quoted(&self.data_dir);
        format!(
            "Portcullis is up.\n\n  gateway  {url}\n  state    {data_dir}\n\n{how}\n\n\
             What happened:  portcullis log tail --data-dir {data_dir}\n\
             Is it intact:   portcullis log verify --data-dir {data_dir}\n\
             Stop with Ctrl-C; `portcullis up` finds everything as it was left.\n",
            url = self.url,
            how = self.how_to_try(),
        )
    }

    fn how_to_try(&self) -> String {
        let client_file = quoted(&self.client_file);
        let client = match self.grant {
            Found::Ended => {
                return format!(
                    "The grant `{GRANT}` has ended. Make another:\n\n  portcullis grant create NAME \
                     --server {SERVER} --policy {POLICY} --data-dir {}",
                    quoted(&self.data_dir)
                );
            }
            Found::Elsewhere => {
                return format!(
                    "The grant `{GRANT}` was given another token, which is not kept here. Whoever has it can go on; \
                     for a new one:\n\n  portcullis grant rotate {GRANT} --data-dir {}",
                    quoted(&self.data_dir)
                );
            }
            Found::Kept => format!("For a client: the JSON to paste is in {client_file}"),
            Found::Fresh => format!(
                "For a client (shown this once; also in {client_file}):\n\n{}",
                pretty(&client_configuration(&self.url, &self.token)).trim_end()
            ),
        };
        format!(
            "{client}\n\nA call that is allowed:\n\n{}\n\nA call that is denied, with the reason:\n\n{}\n\n\
             A limit: the fourth of these within a minute is denied and says how long to wait:\n\n{}",
            self.curl("list_notes", "{}"),
            self.curl("delete_note", r#"{"title":"welcome"}"#),
            self.curl("run_sum", r#"{"numbers":[1,2,3]}"#),
        )
    }

    /// For programs. The token is in the file, not here.
    pub(crate) fn as_json(&self) -> String {
        let value = Object::new()
            .with("url", self.url.as_str())
            .with("grant_ended", matches!(self.grant, Found::Ended))
            .with("token_known", self.grant.has_token())
            .with("data_dir", self.data_dir.display().to_string())
            .with("token_file", self.token_file.display().to_string())
            .with("client_file", self.client_file.display().to_string())
            .with("allowed", self.curl("list_notes", "{}"))
            .with("denied", self.curl("delete_note", r#"{"title":"welcome"}"#))
            .with("limited", self.curl("run_sum", r#"{"numbers":[1,2,3]}"#));
        pretty(&value.into()) + "\n"
    }

    /// Where the gateway answers for the server.
    pub(crate) fn path(&self) -> String {
        format!("/mcp/{SERVER}")
    }
}

/// A call of the modern era: one request, no session.
pub(crate) fn call(tool: &str, arguments: &str) -> String {
    request("tools/call", &format!(r#""name":"{tool}","arguments":{arguments},"#))
}

/// A request of the modern era; `params` are members, each with a comma behind it.
pub(crate) fn request(method: &str, params: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{meta}}}}}"#)
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%,".contains(&byte);
    match text.bytes().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{call, quoted};

    #[test]
    fn a_path_is_one_word_for_the_shell() {
        for (path, word) in [("a/b.c", "a/b.c"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("$(x)", "'$(x)'")]
        {
            assert_eq!(quoted(Path::new(path)), word);
        }
    }

    #[test]
    fn the_printed_call_is_json_without_quotes_that_a_shell_would_take() {
        let call = call("x", "{}");
        assert!(portcullis_json::parse(call.as_bytes(), &portcullis_json::Limits::message()).is_ok());
        assert!(!call.contains('\''));
    }

    #[test]
    fn the_policy_that_comes_with_it_checks_without_warnings() {
        let (policy, problems) = portcullis_policy::check(crate::playground::POLICY.as_bytes());
        assert!(policy.is_some() && problems.is_empty(), "{}", problems.text());
    }
}
