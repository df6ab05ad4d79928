//! What a client connects to instead of a server: a running gateway, under a grant of its own.
//!
//! Clients that only start programs get a bridge: `portcullis wrap --behind-gateway`, which passes everything on
//! and lets the gateway decide.

use crate::client::Client;
use crate::document::{Document, DocumentFault};
use crate::entry::{Entry, HeaderValue, Hidden, Way};
use crate::guard::{WRAP, label};

/// How the tokens of grants begin.
pub(crate) const TOKEN_BEGINNING: &str = "pcl_";
const AUTHORIZATION: &str = "Authorization";

/// Where a server is found from now on.
pub struct Redirected {
    /// The server, as it is now.
    pub entry: Entry,
    /// Its address at the gateway.
    pub url: String,
    /// The grant's token.
    pub token: Hidden,
}

/// What starts the bridge for clients that know no addresses.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// Our own program, as an absolute path.
    pub program: String,
    /// Where it keeps its log.
    pub data_dir: String,
}

/// How a client writes down an address.
pub(crate) struct Address<'a> {
    pub(crate) url_key: &'static str,
    pub(crate) url: &'a str,
    pub(crate) headers_key: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The value of `type`, for clients that want it.
    pub(crate) kind: Option<&'static str>,
}

/// Whether this is the address of a gateway, with a grant's token.
pub(crate) fn is_redirected(headers: &[(String, HeaderValue)]) -> bool {
    let bearer = |value: &Hidden| {
        value.reveal().strip_prefix("Bearer ").is_some_and(|token| token.starts_with(TOKEN_BEGINNING))
    };
    headers
        .iter()
        .any(|(name, value)| name.eq_ignore_ascii_case(AUTHORIZATION) && value.written().is_some_and(bearer))
}

/// Whether the client can connect to an address by itself.
fn knows_addresses(client: Client) -> bool {
    client != Client::ClaudeDesktop
}

/// Writes the new way into the document; gives what is shown of it.
pub(crate) fn redirect(
    document: &mut Document,
    client: Client,
    redirected: &Redirected,
    bridge: &Bridge,
) -> Result<Vec<String>, DocumentFault> {
    let entry = &redirected.entry;
    document.redirect(entry, &address(client, redirected))?;
    if knows_addresses(client) {
        return Ok(vec![redirected.url.clone()]);
    }
    // What the server itself got from the file is gone by now; what is left is an address like any other.
    let found =
        document.entries().into_iter().find(|now| now.section == entry.section && now.name == entry.name);
    let found =
        found.ok_or_else(|| DocumentFault::Syntax(format!("server `{}` is no longer there", entry.name)))?;
    let Way::Remote(remote) = &found.way else {
        return Err(DocumentFault::Syntax(format!("server `{}` cannot be led to the gateway", entry.name)));
    };
    let mut replacement = bridge.start(&label(client, &entry.name));
    replacement.reach(remote);
    document.replace(&found, &replacement)?;
    Ok(std::iter::once(replacement.command).chain(replacement.arguments).collect())
}

fn address(client: Client, redirected: &Redirected) -> Address<'_> {
    let url_key = match client {
        Client::Windsurf => "serverUrl",
        Client::GeminiCli => "httpUrl",
        _ => "url",
    };
    let kind = matches!(client, Client::ClaudeCode | Client::VsCode).then_some("http");
    Address {
        url_key,
        url: &redirected.url,
        headers_key: if client == Client::Codex { "http_headers" } else { "headers" },
        headers: vec![(AUTHORIZATION, format!("Bearer {}", redirected.token.reveal()))],
        kind,
    }
}

impl Bridge {
    fn start(&self, label: &str) -> crate::document::Replacement {
        let words = [WRAP, "--behind-gateway", "--label", label, "--data-dir", &self.data_dir];
        crate::document::Replacement {
            command: self.program.clone(),
            arguments: words.map(str::to_owned).to_vec(),
            environment: Vec::new(),
            variables: Vec::new(),
        }
    }
}
