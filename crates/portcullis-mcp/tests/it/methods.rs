//! The method table, walked: each row in each era and direction does what the table says.

use std::collections::HashSet;

use portcullis_mcp::{Era, LegacyRevision, METHODS, Method, MethodKind, Refusal, Sender};

use crate::{MODERN_META, refusal};

/// Who may send the method in each era: 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28.
/// `c` client, `s` server, `b` both, `-` nobody. Written again by hand, so that the table cannot drift.
const EXPECTED: &[(&str, &str)] = &[
    ("initialize", "ccc-"),
    ("server/discover", "---c"),
    ("ping", "bbb-"),
    ("tools/list", "cccc"),
    ("tools/call", "cccc"),
    ("resources/list", "cccc"),
    ("resources/templates/list", "cccc"),
    ("resources/read", "cccc"),
    ("resources/subscribe", "ccc-"),
    ("resources/unsubscribe", "ccc-"),
    ("prompts/list", "cccc"),
    ("prompts/get", "cccc"),
    ("completion/complete", "cccc"),
    ("logging/setLevel", "ccc-"),
    ("subscriptions/listen", "---c"),
    ("tasks/get", "--bc"),
    ("tasks/result", "--b-"),
    ("tasks/list", "--b-"),
    ("tasks/update", "---c"),
    ("tasks/cancel", "--bc"),
    ("sampling/createMessage", "sss-"),
    ("elicitation/create", "-ss-"),
    ("roots/list", "sss-"),
    ("notifications/initialized", "ccc-"),
    ("notifications/cancelled", "bbbb"),
    ("notifications/progress", "bbbs"),
    ("notifications/message", "ssss"),
    ("notifications/tools/list_changed", "ssss"),
    ("notifications/resources/list_changed", "ssss"),
    ("notifications/resources/updated", "ssss"),
    ("notifications/prompts/list_changed", "ssss"),
    ("notifications/roots/list_changed", "ccc-"),
    ("notifications/subscriptions/acknowledged", "---s"),
    ("notifications/elicitation/complete", "--s-"),
    ("notifications/tasks/status", "--b-"),
    ("notifications/tasks", "---s"),
];

const ERAS: [Era; 4] = [
    Era::Legacy(LegacyRevision::March2025),
    Era::Legacy(LegacyRevision::June2025),
    Era::Legacy(LegacyRevision::November2025),
    Era::Modern,
];

#[test]
fn names_are_unique_and_complete() {
    let names: HashSet<&str> = METHODS.iter().map(|method| method.name).collect();
    let expected: HashSet<&str> = EXPECTED.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), METHODS.len());
    assert_eq!(names, expected);
}

#[test]
fn every_row_passes_exactly_where_it_exists() {
    for (name, senders) in EXPECTED {
        let method = Method::find(name).unwrap();
        let notifies = name.starts_with("notifications/");
        assert_eq!(method.kind == MethodKind::Notification, notifies, "{name}");
        for (era, letter) in ERAS.into_iter().zip(senders.chars()) {
            check(method, era, Sender::Client, matches!(letter, 'c' | 'b'));
            check(method, era, Sender::Server, matches!(letter, 's' | 'b'));
        }
    }
}

fn check(method: &Method, era: Era, sender: Sender, exists: bool) {
    let name = method.name;
    let id = match method.kind {
        MethodKind::Request => r#""id":1,"#,
        MethodKind::Notification => "",
    };
    let text = format!(r#"{{"jsonrpc":"2.0",{id}"method":"{name}","params":{{"_meta":{MODERN_META}}}}}"#);
    let expected = (!exists).then_some(Refusal::UnknownMethod);
    let found = refusal(text.as_bytes(), sender, era);
    assert_eq!(found, expected, "{name} from {sender:?} in {era}");
}
