//! What other tools are given: every field has a column, every OCSF event what its class requires.

use portcullis_json::{Limits, Object, Value, parse};
use portcullis_state::log::*;

use crate::setup::*;

/// A log with one record of each kind that goes out.
fn written() -> Place {
    let place = place();
    let log = open(&place, quiet());
    let hash = [3; 32];
    let charges = [charge("c", "1")];
    let decision = Decision {
        session: Some("s"),
        resource: Some("doc://a"),
        class_is_override: true,
        policy: Some(PolicyName { name: "p", version: 4, hash: &hash }),
        rule: Some("/tools/save"),
        message: Some("no"),
        shadow: Some(Shadow::WouldDeny),
        arguments: Arguments { keys: &["a"; 65], digest: Some(&hash) },
        charges: &charges,
        approval: Some("a_1"),
        verdict: Verdict::Denied,
        ..write_call("r1")
    };
    let outcome = Outcome {
        request: "r1",
        decision: 2,
        grant: Some("g_1"),
        server: Some("pharo"),
        tool: Some("save"),
        ending: Ending::Answered,
        status: Some(200),
        latency_us: 1_234,
        message: Some("x"),
        given_back: &charges,
    };
    let event = Event {
        by: Some("cli"),
        grant: Some("g_2"),
        server: Some("pharo"),
        tool: Some("save"),
        detail: Some("why"),
        policy: Some(PolicyName { name: "p", version: 4, hash: &hash }),
        ..Event::new(Action::GrantRevoked)
    };
    let started = Event { detail: Some("0.1.0"), ..Event::new(Action::Started) };
    let refusals = |source: &str| Refusals { source: source.into(), count: 3, reason: "no token" };
    let (address, network, others) = (refusals("10.0.0.1"), refusals("2001:db8::/64"), refusals("other"));
    for entry in [
        Entry::Decision(&decision),
        Entry::Outcome(&outcome),
        Entry::Event(&event),
        Entry::Event(&started),
        Entry::Refusals(&address),
        Entry::Refusals(&network),
        Entry::Refusals(&others),
    ] {
        log.append(at(0), &entry).unwrap().wait().unwrap();
    }
    log.close().unwrap();
    place
}

fn exported(place: &Place, format: ExportFormat) -> String {
    let mut out = Vec::new();
    export(&place.log, format, &|_| true, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_field_has_a_column() {
    let place = written();
    let table = exported(&place, ExportFormat::Csv);
    let columns: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    for record in records(&place) {
        let own = !["decision", "outcome", "event", "refusals"].contains(&record.kind.as_str());
        for member in record.fields() {
            // The chain, and what the log keeps for itself, is in the lines as they are stored.
            let chain = ["prev", "hash"].contains(&member.key.as_str());
            assert!(own || chain || columns.contains(&member.key.as_str()), "{} has no column", member.key);
        }
    }
}

fn has(event: &Value, path: &str) -> bool {
    path.split('.').try_fold(event, |value, key| value.get(key)).is_some()
}

/// Required by the class, or at least one of several; OCSF 1.5.
fn check(event: &Value, required: &[&str], one_of: &[&[&str]]) {
    let base = [
        "activity_id",
        "category_uid",
        "class_uid",
        "metadata.product.name",
        "metadata.product.vendor_name",
        "metadata.version",
        "severity_id",
        "time",
        "type_uid",
    ];
    for path in base.iter().chain(required) {
        assert!(has(event, path), "{path} is missing in {event}");
    }
    for paths in one_of {
        assert!(paths.iter().any(|path| has(event, path)), "none of {paths:?} is in {event}");
    }
}

#[test]
fn ocsf_events_have_what_their_class_requires() {
    let text = exported(&written(), ExportFormat::Ocsf);
    let events: Vec<Value> =
        text.lines().map(|line| parse(line.as_bytes(), &Limits::message()).unwrap()).collect();
    let class = |event: &Value| event.get("class_uid").unwrap().to_string();
    let classes: Vec<String> = events.iter().map(class).collect();
    assert_eq!(classes, ["6003", "6003", "3004", "6002", "3002", "3002", "3002"]);
    let user: &[&str] = &["actor.user.uid", "actor.user.name"];
    for event in &events {
        match class(event).as_str() {
            "6003" => check(
                event,
                &["actor", "api.operation", "api.request.uid", "src_endpoint"],
                &[user, &["src_endpoint.uid", "src_endpoint.name"], &["api.service.name"]],
            ),
            "3004" => check(event, &["entity"], &[&["entity.name", "entity.uid"], user]),
            "6002" => check(event, &["app.name", "app.vendor_name"], &[]),
            _ => check(event, &["user.name"], &[&["service.name", "dst_endpoint"]]),
        }
    }
    // What is of a profile names the profile.
    let profiles = |event: &Value| event.get("metadata").unwrap().get("profiles").map(Value::to_string);
    for event in &events {
        let controls = ["action_id", "disposition_id", "policy"].iter().any(|key| event.get(key).is_some());
        let expected = controls.then(|| r#"["security_control"]"#.to_owned());
        assert_eq!(profiles(event), expected, "{event}");
    }
    assert_eq!(events[0].get("disposition_id"), Some(&Value::from(2)), "blocked");
    // Only what is an address is given as one.
    let source = |event: &Value| event.get("src_endpoint").cloned().unwrap();
    assert_eq!(source(&events[4]), Object::new().with("ip", "10.0.0.1").into());
    assert_eq!(source(&events[5]), Object::new().with("name", "2001:db8::/64").into());
    assert_eq!(source(&events[6]), Object::new().with("name", "other").into());
    assert_eq!(events[3].get("activity_id"), Some(&Value::from(3)), "started");
}
