//! Resources, prompts, and what the server asks of the client.

use crate::policy::{Access, Action, Default, Policy};
use crate::question::ServerRequest;
use crate::trace::{Look, Trace};
use crate::verdict::{Obligations, Verdict};

pub(super) fn resource(policy: &Policy, uri: &str, trace: &mut impl Trace) -> Verdict {
    let verdict = match normalised(uri) {
        Some(uri) => judge(&policy.resources, "resources", &readings(uri), trace),
        None => {
            trace.note(|| Look::at("(malformed uri)", "the URI has dot segments"));
            Verdict::deny("(malformed uri)", "The URI has dot segments; write the path without `.` and `..`.")
        }
    };
    under_mode(policy, verdict)
}

pub(super) fn prompt(policy: &Policy, name: &str, trace: &mut impl Trace) -> Verdict {
    under_mode(policy, judge(&policy.prompts, "prompts", &[name.to_owned()], trace))
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

/// A `deny` glob that matches any reading denies; else an `allow` glob that matches the first allows; else
/// the default.
fn judge(access: &Access, section: &str, readings: &[String], trace: &mut impl Trace) -> Verdict {
    for (glob, pointer) in &access.deny {
        let matches = readings.iter().any(|reading| glob.matches(reading));
        trace.note(|| Look::at(pointer, if matches { "matches" } else { "does not match" }));
        if matches {
            return Verdict::deny(pointer.clone(), "The policy denies this.");
        }
    }
    let allowed = readings.first().is_some_and(|name| access.allow.iter().any(|glob| glob.matches(name)));
    trace.note(|| Look::at(&format!("/{section}/allow"), if allowed { "matches" } else { "does not match" }));
    if allowed || access.default == Default::Allow {
        return Verdict::allow(Obligations::default());
    }
    Verdict::deny("(default deny)", "No rule of the policy allows this.")
}

/// Encodings that stand for plain characters are those characters, scheme and host in lower case; nothing when servers could take it for another resource: dot segments
/// anywhere, however they are written, white space, control characters or a backslash.
fn normalised(uri: &str) -> Option<String> {
    let odd = |character: char| character == '\\' || character.is_whitespace() || character.is_control();
    let uri = decode(uri, is_unreserved);
    let (start, rest) = split_authority(&uri, is_scheme, &['/', '?', '#']);
    (!uri.contains(odd) && !has_dot_segments(rest)).then(|| format!("{}{rest}", lower_case_start(start)))
}

/// A glob over URIs, normalised like them, so that it can match at all.
pub(crate) fn normalised_glob(pattern: &str) -> String {
    let pattern = decode(pattern, is_unreserved);
    let (start, rest) = split_authority(&pattern, is_scheme_glob, &['/']);
    format!("{}{rest}", lower_case_start(start))
}

/// The URI, and what a server may take it for that decodes what is encoded in it, also more than once.
fn readings(uri: String) -> Vec<String> {
    let mut readings = vec![uri];
    for _ in 0..DECODINGS_MAX {
        let decoded = readings.last().map(|reading| decode(reading, |_| true)).unwrap_or_default();
        if readings.contains(&decoded) {
            break;
        }
        readings.push(decoded);
    }
    readings
}

/// Decodes `%61` and the like where `wanted`; the digits of the others are written in upper case.
fn decode(text: &str, wanted: fn(u8) -> bool) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        plain.extend_from_slice(before.as_bytes());
        rest = match encoded_byte(after) {
            Some((byte, behind)) if wanted(byte) => {
                plain.push(byte);
                behind
            }
            Some((byte, behind)) => {
                plain.extend_from_slice(format!("%{byte:02X}").as_bytes());
                behind
            }
            None => {
                plain.push(b'%');
                after
            }
        };
    }
    plain.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&plain).into_owned()
}

fn encoded_byte(after: &str) -> Option<(u8, &str)> {
    let (digits, behind) = after.split_at_checked(2)?;
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let byte = u8::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?;
    Some((byte, behind))
}

/// Characters that mean the same encoded and not (RFC 3986, section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Scheme and authority, and what follows them.
fn split_authority<'a>(uri: &'a str, is_scheme: fn(&str) -> bool, ends: &[char]) -> (&'a str, &'a str) {
    let Some(colon) = uri.find(':').filter(|colon| uri.get(..*colon).is_some_and(is_scheme)) else {
        return ("", uri);
    };
    let (scheme, rest) = uri.split_at(colon + 1);
    let authority = rest.strip_prefix("//").map_or(0, |rest| 2 + rest.find(ends).unwrap_or(rest.len()));
    uri.split_at(scheme.len() + authority)
}

/// User info keeps its case: servers may tell it apart.
fn lower_case_start(start: &str) -> String {
    match (start.split_once("//"), start.rsplit_once('@')) {
        (Some((scheme, _)), Some((before, host))) => {
            let user = before.get(scheme.len()..).unwrap_or_default();
            format!("{}{user}@{}", scheme.to_lowercase(), host.to_lowercase())
        }
        _ => start.to_lowercase(),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character))
}

fn is_scheme_glob(text: &str) -> bool {
    text.chars().all(|character| character.is_ascii_alphanumeric() || "+-.*?".contains(character))
}

/// How often an encoded percent sign is decoded again.
const DECODINGS_MAX: usize = 4;

fn has_dot_segments(rest: &str) -> bool {
    let mut plain = rest.to_ascii_lowercase();
    for _ in 0..DECODINGS_MAX {
        plain = plain.replace("%25", "%");
    }
    plain = plain.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    // Parameters behind a semicolon are no part of a segment's name, for those who know them.
    let names = plain.split(['/', '?', '#', '=', '&']).map(|part| part.split(';').next().unwrap_or(part));
    names.into_iter().any(|name| name == "." || name == "..")
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
            ("file:///a?x=1", Some("file:///a?x=1")),
            ("file:///a?x=../..", None),
            ("file:///a/?/../../etc", None),
            ("file:///a#/../b", None),
            ("file:///a/.\t./b", None),
            ("file:///a/.. ", None),
            ("file:///a/%252e%252e/b", None),
            ("file:///a/..;x=1/b", None),
            ("file:///a b", None),
            ("file:///100%25", Some("file:///100%25")),
            ("file:///etc/p%61sswd", Some("file:///etc/passwd")),
            ("http://%48OST/%7eme", Some("http://host/~me")),
            ("file:///a%2fb%c3%a4", Some("file:///a%2Fb%C3%A4")),
            ("file:///%+1%4", Some("file:///%+1%4")),
        ] {
            assert_eq!(normalised(uri).as_deref(), expected, "{uri}");
        }
    }

    #[test]
    fn a_glob_loses_its_case_where_the_uri_does() {
        for (glob, expected) in [
            ("pharo://Secret/*", "pharo://secret/*"),
            ("File:///Etc/*", "file:///Etc/*"),
            ("HTTP://User@HOST/*", "http://User@host/*"),
            ("*://Host/A", "*://host/A"),
            ("Pharo://*", "pharo://*"),
            ("file:///%65tc/*%2a", "file:///etc/*%2A"),
            ("*", "*"),
        ] {
            assert_eq!(normalised_glob(glob), expected);
        }
    }

    #[test]
    fn a_uri_is_read_as_often_as_a_server_may_decode_it() {
        assert_eq!(readings("urn:a".into()), ["urn:a"]);
        assert_eq!(
            readings("file:///etc%252Fpasswd".into()),
            ["file:///etc%252Fpasswd", "file:///etc%2Fpasswd", "file:///etc/passwd"]
        );
    }
}
