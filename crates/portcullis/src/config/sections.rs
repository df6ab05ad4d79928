//! `[[servers]]`, `[[policies]]`, `[[grants]]`: each read into what it declares.

use std::collections::{BTreeMap, HashMap, HashSet};

use portcullis_gateway::{EraSetting, Snapshot, SnapshotFault};
use portcullis_policy::{Class, Policy};
use portcullis_state::grants::{GrantTable, LABEL_CHARACTERS_MAX, TokenHash};
use portcullis_state::store::NAME_CHARACTERS_MAX;

use super::command;
use super::fault::ConfigFault;
use super::keys;
use super::read::Section;
use super::{Config, DeclaredGrant, DeclaredPolicy, DeclaredServer, secret};
use crate::playground;

/// Letters of a token that the file names; a shorter one could be guessed.
const TOKEN_CHARACTERS_MIN: usize = 32;

pub(super) fn servers(root: &Section<'_>) -> Result<Vec<DeclaredServer>, ConfigFault> {
    root.sections("servers")?.iter().map(server).collect()
}

fn server(section: &Section<'_>) -> Result<DeclaredServer, ConfigFault> {
    section.check_keys(keys::SERVER)?;
    let transport = command::transport(section)?;
    let mut classes = classes(section)?;
    if transport.url() == Some(playground::URL) {
        classes.extend(playground::classes());
    }
    let server = DeclaredServer {
        name: plain_name(section)?,
        transport,
        headers: headers(section)?,
        classes,
        era: match section.word("era", &["auto", "legacy", "modern"])? {
            Some("legacy") => EraSetting::Legacy,
            Some("modern") => EraSetting::Modern,
            _ => EraSetting::Auto,
        },
        answer_timeout_ms: section.whole("answer_timeout_ms", 1)?,
        allow_private: section.boolean("allow_private")?.unwrap_or(false),
    };
    check_server(section, &server)?;
    Ok(server)
}

/// Names stand in addresses, files and logs.
fn plain_name(section: &Section<'_>) -> Result<String, ConfigFault> {
    let name = section.required("name")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let dots = name.bytes().all(|byte| byte == b'.');
    if dots || name.len() > NAME_CHARACTERS_MAX || !name.bytes().all(plain) {
        let message = format!("a name has letters, digits, `_`, `.` and `-`, at most {NAME_CHARACTERS_MAX}");
        return Err(section.fault("name", message));
    }
    Ok(name.to_owned())
}

fn label(section: &Section<'_>) -> Result<String, ConfigFault> {
    let label = section.required("label")?;
    let fits = (1..=LABEL_CHARACTERS_MAX).contains(&label.chars().count());
    if !fits || label.chars().any(char::is_control) {
        let message = format!("a label has 1 to {LABEL_CHARACTERS_MAX} characters and no control characters");
        return Err(section.fault("label", message));
    }
    Ok(label.to_owned())
}

/// What the gateway would refuse is refused here, with its place.
fn check_server(section: &Section<'_>, server: &DeclaredServer) -> Result<(), ConfigFault> {
    if server.transport.url() == Some(playground::URL) {
        return Ok(());
    }
    Snapshot::compile(vec![server.spec()], Vec::new(), GrantTable::default()).map(|_| ()).map_err(|fault| {
        let key = match fault {
            SnapshotFault::BadHeader { .. }
            | SnapshotFault::OwnHeader { .. }
            | SnapshotFault::HeadersForCommand(_) => "headers",
            SnapshotFault::BadCommand { .. } => "command",
            _ => "url",
        };
        section.fault(key, fault.to_string())
    })
}

fn headers(section: &Section<'_>) -> Result<Vec<(String, portcullis_state::Secret)>, ConfigFault> {
    let Some(headers) = section.section("headers")? else {
        return Ok(Vec::new());
    };
    headers.names().map(|name| Ok((name.to_owned(), headers.secret(name)?))).collect()
}

fn classes(section: &Section<'_>) -> Result<BTreeMap<String, Class>, ConfigFault> {
    let Some(classes) = section.section("classes")? else {
        return Ok(BTreeMap::new());
    };
    let class = |tool: &str| {
        let name = classes.required(tool)?;
        let class = Class::from_name(name).ok_or_else(|| classes.fault(tool, keys::unknown_class(name)))?;
        Ok((tool.to_owned(), class))
    };
    classes.names().map(class).collect()
}

pub(super) fn policies(root: &Section<'_>) -> Result<Vec<DeclaredPolicy>, ConfigFault> {
    root.sections("policies")?.iter().map(policy).collect()
}

fn policy(section: &Section<'_>) -> Result<DeclaredPolicy, ConfigFault> {
    section.check_keys(keys::POLICY)?;
    section.required("file")?;
    let path = section.path("file")?.unwrap_or_default();
    let source = crate::files::read(&path).map_err(|message| section.fault("file", message))?;
    Policy::parse(&source).map_err(|problems| {
        let first = problems.iter().next().map(|problem| problem.message.clone()).unwrap_or_default();
        let shown = path.display();
        section.fault(
            "file",
            format!(
                "the policy `{shown}` does not check: {first}; see all with `portcullis policy check {shown}`"
            ),
        )
    })?;
    Ok(DeclaredPolicy { name: plain_name(section)?, server: section.required("server")?.to_owned(), source })
}

pub(super) fn grants(root: &Section<'_>) -> Result<Vec<DeclaredGrant>, ConfigFault> {
    root.sections("grants")?.iter().map(grant).collect()
}

fn grant(section: &Section<'_>) -> Result<DeclaredGrant, ConfigFault> {
    section.check_keys(keys::GRANT)?;
    Ok(DeclaredGrant {
        label: label(section)?,
        token: token(section)?,
        tags: section.texts("tags")?.unwrap_or_default(),
        expires: section.parsed("expires", "a time such as \"2027-01-31T00:00:00Z\"")?,
        server: section.required("server")?.to_owned(),
        policy: section.required("policy")?.to_owned(),
    })
}

fn token(section: &Section<'_>) -> Result<TokenHash, ConfigFault> {
    match (section.text("token")?, section.text("token_sha256")?) {
        (Some(_), Some(_)) => Err(section.fault("token_sha256", "give `token` or `token_sha256`, not both")),
        (None, Some(digits)) => TokenHash::parse(digits)
            .ok_or_else(|| section.fault("token_sha256", "`token_sha256` must be 64 hexadecimal digits")),
        (Some(text), None) if !secret::is_reference(text) => Err(section.fault(
            "token",
            "a token does not belong into this file: say `env:NAME` or `file:PATH`, or give `token_sha256`",
        )),
        (Some(_), None) => referred_token(section, "token"),
        (None, None) => {
            section.required("token")?;
            Err(section.fault("token", "`token` is missing here"))
        }
    }
}

/// What whoever reads `/metrics` has to show.
pub(super) fn metrics_token(root: &Section<'_>) -> Result<Option<TokenHash>, ConfigFault> {
    match root.text("metrics_token")? {
        None => Ok(None),
        Some(text) if !secret::is_reference(text) => {
            let message = "a token does not belong into this file: say `env:NAME` or `file:PATH`";
            Err(root.fault("metrics_token", message))
        }
        Some(_) => referred_token(root, "metrics_token").map(Some),
    }
}

fn referred_token(section: &Section<'_>, key: &str) -> Result<TokenHash, ConfigFault> {
    let token = section.secret(key)?;
    if token.expose().chars().count() < TOKEN_CHARACTERS_MIN {
        let message = format!("the token is shorter than {TOKEN_CHARACTERS_MIN} characters");
        return Err(section.fault(key, message));
    }
    Ok(TokenHash::of(token.expose()))
}

/// Names are used once, and only names that are there are used.
pub(super) fn check_names(root: &Section<'_>, config: &Config) -> Result<(), ConfigFault> {
    let servers = once(root, "servers", "name", config.servers.iter().map(|server| server.name.as_str()))?;
    let policies = once(root, "policies", "name", config.policies.iter().map(|policy| policy.name.as_str()))?;
    once(root, "grants", "label", config.grants.iter().map(|grant| grant.label.as_str()))?;
    let unknown = |what: &str, name: &str, known: &HashSet<&str>| {
        let known: Vec<&str> = known.iter().copied().collect();
        match keys::nearest(name, &known) {
            Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
            None => format!("there is no {what} `{name}` in this file"),
        }
    };
    for (section, policy) in root.sections("policies")?.iter().zip(&config.policies) {
        if !servers.contains(policy.server.as_str()) {
            return Err(section.fault("server", unknown("server", &policy.server, &servers)));
        }
    }
    let mut tokens: HashMap<&TokenHash, &str> = HashMap::new();
    for (section, grant) in root.sections("grants")?.iter().zip(&config.grants) {
        if !servers.contains(grant.server.as_str()) {
            return Err(section.fault("server", unknown("server", &grant.server, &servers)));
        }
        if !policies.contains(grant.policy.as_str()) {
            return Err(section.fault("policy", unknown("policy", &grant.policy, &policies)));
        }
        let for_server =
            |policy: &&DeclaredPolicy| policy.name == grant.policy && policy.server != grant.server;
        if let Some(policy) = config.policies.iter().find(for_server) {
            let message = format!("policy `{}` is for server `{}`", policy.name, policy.server);
            return Err(section.fault("policy", message));
        }
        if let Some(other) = tokens.insert(&grant.token, &grant.label) {
            let key = if section.text("token")?.is_some() { "token" } else { "token_sha256" };
            let message =
                format!("grants `{other}` and `{}` have the same token; give each its own", grant.label);
            return Err(section.fault(key, message));
        }
    }
    Ok(())
}

fn once<'a>(
    root: &Section<'_>,
    list: &str,
    key: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<HashSet<&'a str>, ConfigFault> {
    let mut seen = HashSet::new();
    for (section, name) in root.sections(list)?.iter().zip(names) {
        if !seen.insert(name) {
            return Err(section.fault(key, format!("`{name}` is there twice; give each its own name")));
        }
    }
    Ok(seen)
}
