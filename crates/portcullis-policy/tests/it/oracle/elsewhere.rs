//! Everything that is decided besides calls: lists, resources, prompts and requests of the server.

use super::decide::{Effect, Verdict, entry_for, is_hidden};
use super::document::{Answer, Default, Doc, Listing, RequestKind, Section};
use super::glob::matches;
use super::scenario::Tool;

/// The names of the tools that are listed.
pub(crate) fn visible(doc: Option<&Doc>, tools: &[Tool]) -> Vec<String> {
    let Some(doc) = doc else {
        return Vec::new();
    };
    let shown = tools.iter().filter(|tool| is_visible(doc, tool));
    shown.map(|tool| tool.name.clone()).collect()
}

fn is_visible(doc: &Doc, tool: &Tool) -> bool {
    if doc.is_shadow() {
        return true;
    }
    if is_hidden(doc, &tool.name) {
        return false;
    }
    if doc.list == Some(Listing::All) || entry_for(doc, tool).is_some() {
        return true;
    }
    let class_unknown = doc.classes.is_some() && tool.class.is_none();
    !class_unknown && doc.default == Default::Allow
}

pub(crate) fn read(doc: Option<&Doc>, uri: &str) -> Verdict {
    let Some(doc) = doc else {
        return Verdict::plain(Effect::Deny, "(no policy)");
    };
    if has_dot_segments(uri) {
        return Verdict::plain(Effect::Deny, "(malformed uri)");
    }
    // Patterns lose their case and their needless encodings where URIs do.
    let clean = |text: &str| lower_cased(&without_escapes(text, false));
    let section = doc.resources.clone().map(|section| Section {
        allow: section.allow.map(|patterns| patterns.iter().map(|pattern| clean(pattern)).collect()),
        deny: section.deny.map(|patterns| patterns.iter().map(|pattern| clean(pattern)).collect()),
        ..section
    });
    // As it is, and with everything decoded once, twice, three and four times.
    let mut names = vec![clean(uri)];
    for times in 0..4 {
        names.push(without_escapes(&names[times], true));
    }
    by_section(doc, section.as_ref(), "resources", &names)
}

pub(crate) fn prompt(doc: Option<&Doc>, name: &str) -> Verdict {
    let Some(doc) = doc else {
        return Verdict::plain(Effect::Deny, "(no policy)");
    };
    by_section(doc, doc.prompts.as_ref(), "prompts", &[name.to_owned()])
}

fn by_section(doc: &Doc, section: Option<&Section>, field: &str, names: &[String]) -> Verdict {
    let denied = section.and_then(|s| s.deny.as_deref()).unwrap_or_default();
    let is_named = |pattern: &String| names.iter().any(|name| matches(pattern, name));
    if let Some(index) = denied.iter().position(is_named) {
        return Verdict::plain(Effect::Deny, &format!("/{field}/deny/{index}"));
    }
    let allowed = section.and_then(|s| s.allow.as_deref()).unwrap_or_default();
    if allowed.iter().any(|pattern| matches(pattern, &names[0])) {
        return Verdict::plain(Effect::Allow, "");
    }
    match section.and_then(|s| s.default).unwrap_or(doc.default) {
        Default::Allow => Verdict::plain(Effect::Allow, ""),
        Default::Deny => Verdict::plain(Effect::Deny, "(default deny)"),
    }
}

pub(crate) fn server_request(doc: Option<&Doc>, kind: RequestKind) -> Verdict {
    let Some(doc) = doc else {
        return Verdict::plain(Effect::Deny, "(no policy)");
    };
    let answers = doc.server_requests.as_deref().unwrap_or_default();
    let pointer = format!("/server_requests/{}", kind.name());
    match answers.iter().find(|(asked, _)| *asked == kind) {
        None => Verdict::plain(Effect::Deny, "(default deny)"),
        Some((_, Answer::Deny)) => Verdict::plain(Effect::Deny, &pointer),
        Some((_, Answer::Approve)) => Verdict::plain(Effect::Approve, &pointer),
        Some((_, Answer::Allow)) => Verdict::plain(Effect::Allow, ""),
    }
}

/// Scheme, authority (with its slashes) and path of a URI; query and fragment are cut off.
fn parts(uri: &str) -> (&str, &str, &str) {
    let end = uri.find(['?', '#']).unwrap_or(uri.len());
    let (uri, _) = uri.split_at(end);
    let (scheme, rest) = uri.split_at(uri.find(':').map_or(0, |colon| colon + 1));
    match rest.strip_prefix("//") {
        None => (scheme, "", rest),
        Some(after) => {
            let slash = after.find(['/', '\\']).map_or(rest.len(), |slash| slash + 2);
            let (authority, path) = rest.split_at(slash);
            (scheme, authority, path)
        }
    }
}

/// Anywhere behind the authority: some servers take a query for a part of the path. What other readers would
/// drop or turn into a slash is refused with it.
fn has_dot_segments(uri: &str) -> bool {
    let (scheme, authority, _) = parts(uri);
    let (_, rest) = uri.split_at(scheme.len() + authority.len());
    let decoded = rest
        .to_ascii_lowercase()
        .replace("%25", "%")
        .replace("%2e", ".")
        .replace("%2f", "/")
        .replace("%5c", "/");
    let odd = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
    uri.contains(odd)
        || decoded.split(['/', '?', '#', '=', '&']).any(|segment| {
            let name = segment.split(';').next().unwrap_or_default();
            name == "." || name == ".."
        })
}

/// With `%41` and the like as what they stand for: all of them, or those of letters, digits and `-._~`. What
/// stays encoded has its digits in upper case.
fn without_escapes(text: &str, all: bool) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                let code = u8::try_from(high * 16 + low).unwrap();
                let needless = code.is_ascii_alphanumeric() || "-._~".contains(char::from(code));
                if all || needless {
                    out.push(code);
                } else {
                    out.extend(format!("%{code:02X}").bytes());
                }
                at += 3;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn lower_cased(uri: &str) -> String {
    let (scheme, authority, _) = parts(uri);
    let (start, rest) = uri.split_at(scheme.len() + authority.len());
    format!("{}{rest}", start.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_segments_are_found_wherever_they_stand() {
        for (uri, expected) in [
            ("pharo://classes/../x", true),
            ("pharo://classes/%2E%2e/x", true),
            ("pharo://classes/a/.", true),
            ("pharo://classes/a\\..\\b", true),
            ("file:../x", true),
            ("pharo://classes/a..b/.c", false),
            ("pharo://classes/a?p=/../", true),
            ("pharo://classes/a?p=b", false),
            ("pharo://classes", false),
        ] {
            assert_eq!(has_dot_segments(uri), expected, "{uri}");
        }
    }

    #[test]
    fn scheme_and_host_are_lower_cased_and_nothing_else() {
        assert_eq!(lower_cased("PHARO://Classes/Object?Q"), "pharo://classes/Object?Q");
        assert_eq!(lower_cased("FILE:///Etc"), "file:///Etc");
        assert_eq!(lower_cased("URN:Foo"), "urn:Foo");
    }
}
