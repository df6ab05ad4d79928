//! Resources, prompts, and what the server asks of the client.

use crate::policy::{Access, Action, Default, Policy};
use crate::question::ServerRequest;
use crate::trace::{Look, Trace};
use crate::verdict::{Obligations, Verdict};

pub(super) fn resource(policy: &Policy, uri: &str, trace: &mut impl Trace) -> Verdict {
    let verdict = match normalised(uri) {
        Some(uri) => judge(&policy.resources, "resources", &uri, trace),
        None => {
            trace.note(|| Look::at("(malformed uri)", "the URI has dot segments"));
            Verdict::deny("(malformed uri)", "The URI has dot segments; write the path without `.` and `..`.")
        }
    };
    under_mode(policy, verdict)
}

pub(super) fn prompt(policy: &Policy, name: &str, trace: &mut impl Trace) -> Verdict {
    under_mode(policy, judge(&policy.prompts, "prompts", name, trace))
}

pub(super) fn server_request(policy: &Policy, request: ServerRequest, trace: &mut impl Trace) -> Verdict {
    let pointer = format!("/server_requests/{}", request.name());
    let [sampling, elicitation, roots] = policy.server_requests;
    let answer = match request {
        ServerRequest::Sampling => sampling,
        ServerRequest::Elicitation => elicitation,
        ServerRequest::Roots => roots,
    };
    let verdict = match answer {
        Some(Action::Allow) => Verdict::allow(Obligations::default()),
        Some(Action::Approve) => Verdict::approve(&pointer.as_str().into(), None),
        Some(Action::Deny) => {
            Verdict::deny(pointer.as_str(), "The policy denies this request of the server.")
        }
        None => Verdict::deny("(default deny)", "The policy does not speak of this request of the server."),
    };
    trace.note(|| Look::at(&pointer, verdict.effect.name()));
    under_mode(policy, verdict)
}

fn under_mode(policy: &Policy, verdict: Verdict) -> Verdict {
    if policy.is_shadow() { verdict.in_shadow(Obligations::default()) } else { verdict }
}

/// A `deny` glob that matches denies; else an `allow` glob allows; else the default.
fn judge(access: &Access, section: &str, name: &str, trace: &mut impl Trace) -> Verdict {
    for (glob, pointer) in &access.deny {
        let matches = glob.matches(name);
        trace.note(|| Look::at(pointer, if matches { "matches" } else { "does not match" }));
        if matches {
            return Verdict::deny(pointer.clone(), "The policy denies this.");
        }
    }
    let allowed = access.allow.iter().any(|glob| glob.matches(name));
    trace.note(|| Look::at(&format!("/{section}/allow"), if allowed { "matches" } else { "does not match" }));
    if allowed || access.default == Default::Allow {
        return Verdict::allow(Obligations::default());
    }
    Verdict::deny("(default deny)", "No rule of the policy allows this.")
}

/// Scheme and host in lower case; nothing when the path has dot segments, however they are written.
fn normalised(uri: &str) -> Option<String> {
    let (scheme, rest) = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, uri),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len())),
        None => ("", rest),
    };
    if has_dot_segments(path) {
        return None;
    }
    let slashes = if rest.starts_with("//") { "//" } else { "" };
    let scheme = scheme.map_or(String::new(), |scheme| format!("{}:", scheme.to_ascii_lowercase()));
    Some(format!("{scheme}{slashes}{}{path}", lower_case_host(authority)))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character))
}

/// User info keeps its case: servers may tell it apart.
fn lower_case_host(authority: &str) -> String {
    match authority.rsplit_once('@') {
        Some((user, host)) => format!("{user}@{}", host.to_lowercase()),
        None => authority.to_lowercase(),
    }
}

fn has_dot_segments(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or(path).to_ascii_lowercase();
    let plain = path.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    plain.split(['/', '\\']).any(|segment| segment == "." || segment == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_and_host_lose_their_case_and_dots_are_refused() {
        for (uri, expected) in [
            ("FILE:///Srv/X", Some("file:///Srv/X")),
            ("HTTP://User@HOST.Example/Path?Q", Some("http://User@host.example/Path?Q")),
            ("pharo://Classes/Object", Some("pharo://classes/Object")),
            ("urn:ISBN:1", Some("urn:ISBN:1")),
            ("plain", Some("plain")),
            ("file:///a/..", None),
            ("file:///a/%2E%2e/b", None),
            ("file:///a/.%2e/b", None),
            ("file:///a/..%2fb", None),
            ("file:///a\\..\\b", None),
            ("file:///a/./b", None),
            ("file:../b", None),
            ("a/../b", None),
            ("file:///a/..b/...", Some("file:///a/..b/...")),
            ("file:///a?x=../..", Some("file:///a?x=../..")),
        ] {
            assert_eq!(normalised(uri).as_deref(), expected, "{uri}");
        }
    }
}
