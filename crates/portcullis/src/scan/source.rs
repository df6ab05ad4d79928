//! Where the definitions come from: a file, an address, or a program.

use std::io;
use std::path::Path;
use std::time::Duration;

use portcullis_catalogue::index::import::definitions;
use portcullis_catalogue::index::{Skipped, saved};
use portcullis_catalogue::record::{Posture, Provenance, ServerFacts};
use portcullis_catalogue::{ToolDefinition, inert_short};
use portcullis_gateway::Reach;
use portcullis_json::Value;

use crate::config::resolve_secret;
use crate::files;
use crate::introspect::{self, LocalCommand, Seen, Spoken, Target};
use crate::output::Output;

/// A server's tools, before they are judged.
pub(super) struct Found {
    pub(super) facts: ServerFacts,
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) published: Vec<Value>,
    pub(super) provenance: Provenance,
    pub(super) revision: Option<String>,
    skipped: Vec<Skipped>,
    noise: usize,
}

/// Says what was left out.
pub(super) fn tell(found: &Found, output: &mut Output) -> io::Result<()> {
    for skipped in &found.skipped {
        output.note(&inert_short(&format!("left out {}: {}", skipped.place, skipped.reason), 400))?;
    }
    if found.noise > 0 {
        output.note(&format!(
            "the server wrote {} lines to its standard output that are no messages; some clients stop at that",
            found.noise
        ))?;
    }
    Ok(())
}

/// A saved list.
pub(super) fn from_file(path: &Path, name: Option<&str>) -> Result<Found, String> {
    let shown = path.display();
    let text = String::from_utf8(files::read(path)?).map_err(|_| format!("`{shown}` is not text"))?;
    let saved = saved(&text).map_err(|fault| format!("`{shown}` cannot be used: {}", fault.reason))?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.filter(|stem| stem != "-").unwrap_or_else(|| "standard input".to_owned());
    let name = name.map(str::to_owned).or(saved.name).unwrap_or(stem);
    Ok(Found {
        facts: ServerFacts { name, version: saved.version, ..ServerFacts::default() },
        tools: saved.tools,
        published: saved.published,
        provenance: saved.provenance,
        revision: None,
        skipped: saved.skipped,
        noise: 0,
    })
}

/// Where a server is, and what is sent along.
pub(super) struct Address<'a> {
    pub(super) url: &'a str,
    pub(super) spoken: Spoken,
    pub(super) headers: &'a [(String, String)],
}

/// A server at an address.
pub(super) fn from_url(
    Address { url, spoken, headers }: &Address<'_>,
    name: Option<&str>,
    wait: Duration,
    output: &mut Output,
) -> Result<Found, String> {
    let address = introspect::address(url)?;
    let host = address.authority().map_or("", |authority| authority.as_str());
    // Whoever wrote a name and a password in front of the host did not mean to see them again.
    let host = host.rsplit('@').next().unwrap_or_default().to_owned();
    let resolved: Result<Vec<_>, String> = headers
        .iter()
        .map(|(name, value)| Ok((name.clone(), resolve_secret(value, |path| path.into())?)))
        .collect();
    // Somebody at this machine wrote the address: it may be in any network.
    let target =
        Target::Url { url: (*url).to_owned(), spoken: *spoken, headers: resolved?, reach: Reach::Anywhere };
    let shown = format!("server `{}`", inert_short(&host, 100));
    let seen = introspect::list(target, &shown, wait, &mut |text| output.progress(text))?;
    let posture = Posture { open_remote: headers.is_empty() && !is_loopback(&host), ..Posture::default() };
    Ok(live(seen, name, &host, posture))
}

/// A server that is started for this.
pub(super) fn from_command(
    argv: &[String],
    name: Option<&str>,
    wait: Duration,
    output: &mut Output,
) -> Result<Found, String> {
    let program = argv.first().map(String::as_str).unwrap_or_default();
    let program = Path::new(program).file_name().map_or(program.into(), |name| name.to_string_lossy());
    let shown = format!("`{}`", inert_short(&program, 100));
    let command = LocalCommand { argv: argv.to_vec(), env: Vec::new(), is_env_whole: false, cwd: None };
    let seen = introspect::list(Target::Command(command), &shown, wait, &mut |text| output.progress(text))?;
    let posture = Posture { unpinned: is_unpinned(argv), ..Posture::default() };
    Ok(live(seen, name, &program, posture))
}

fn live(seen: Seen, name: Option<&str>, otherwise: &str, posture: Posture) -> Found {
    let (tools, skipped) = definitions(&seen.tools);
    let own = seen.name.as_deref().filter(|name| !name.trim().is_empty());
    let name = name.or(own).unwrap_or(otherwise).to_owned();
    Found {
        facts: ServerFacts { name, version: seen.version, repository: None, posture },
        tools,
        published: seen.tools,
        provenance: Provenance::Live,
        revision: Some(seen.revision),
        skipped,
        noise: seen.noise,
    }
}

fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
    });
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Whether a package runner may start another version tomorrow.
fn is_unpinned(argv: &[String]) -> bool {
    let program = argv.first().map(|program| Path::new(program).file_stem().unwrap_or_default());
    let program = program.map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    if !matches!(program.as_str(), "npx" | "bunx" | "pnpx" | "uvx" | "pipx") {
        return false;
    }
    let package = argv.iter().skip(1).find(|word| !word.starts_with('-') && *word != "run");
    package.is_some_and(|package| {
        let scoped = package.trim_start_matches('@');
        let version = scoped.split_once("==").or_else(|| scoped.split_once('@')).map(|(_, version)| version);
        version.is_none_or(|version| !version.starts_with(|first: char| first.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_without_a_version_is_unpinned() {
        let check = |line: &str| is_unpinned(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in ["npx -y server", "npx -y @scope/server", "uvx server", "npx server@latest", "pipx run x"]
        {
            assert!(check(line), "{line}");
        }
        for line in
            ["npx -y server@1.2.3", "npx @scope/server@1.2", "uvx server==0.4", "./server", "node x.js"]
        {
            assert!(!check(line), "{line}");
        }
    }

    #[test]
    fn loopback_is_no_remote() {
        for host in ["localhost:8080", "127.0.0.1", "127.0.0.1:9", "[::1]:80", "LOCALHOST"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["example.com", "example.com:443", "10.0.0.1", "localhost.example.com"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
