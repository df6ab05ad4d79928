//! Records as OCSF 1.5 events.
//!
//! Decisions and outcomes are API Activity (6003), administrative events are Entity Management (3004), start
//! and stop are Application Lifecycle (6002), refusals before authentication are Authentication (3002). The
//! log's own records (segments, checkpoints, repairs, retention) have no class there and are left out.

use std::net::IpAddr;

use portcullis_json::{Object, Value};

use super::record::RiskClass;
use super::stored::Stored;

const VERSION: &str = "1.5.0";
const INFORMATIONAL: i64 = 1;
const LOW: i64 = 2;
const MEDIUM: i64 = 3;
const OTHER: i64 = 99;
const SUCCESS: i64 = 1;
const FAILURE: i64 = 2;

struct Class {
    category: i64,
    category_name: &'static str,
    uid: i64,
    name: &'static str,
}

const API_ACTIVITY: Class =
    Class { category: 6, category_name: "Application Activity", uid: 6003, name: "API Activity" };
const ENTITY_MANAGEMENT: Class = Class {
    category: 3,
    category_name: "Identity & Access Management",
    uid: 3004,
    name: "Entity Management",
};
const APPLICATION_LIFECYCLE: Class =
    Class { category: 6, category_name: "Application Activity", uid: 6002, name: "Application Lifecycle" };
const AUTHENTICATION: Class =
    Class { category: 3, category_name: "Identity & Access Management", uid: 3002, name: "Authentication" };

/// The event, if the record has a class.
pub(crate) fn event(record: &Stored) -> Option<Value> {
    let event = match record.kind.as_str() {
        "decision" | "outcome" => api_activity(record),
        "event" => match record.text("action") {
            Some("started") => application_lifecycle(record, (3, "Start")),
            Some("stopped") => application_lifecycle(record, (4, "Stop")),
            _ => entity_management(record),
        },
        "refusals" => authentication(record),
        _ => return None,
    };
    Some(event.into())
}

/// The gateway, as a product and as an application.
fn ourselves() -> Object {
    Object::new().with("name", "Portcullis").with("vendor_name", "Portcullis")
}

fn base(record: &Stored, class: &Class, activity: (i64, &str), severity: i64) -> Object {
    let sequence = record.position.sequence.to_string();
    let metadata = Object::new()
        .with("version", VERSION)
        .with("product", ourselves())
        .with("uid", sequence.as_str())
        .with("log_name", "decision log")
        .with("original_time", record.time.to_string());
    Object::new()
        .with("category_uid", class.category)
        .with("category_name", class.category_name)
        .with("class_uid", class.uid)
        .with("class_name", class.name)
        .with("activity_id", activity.0)
        .with("activity_name", activity.1)
        .with("type_uid", class.uid * 100 + activity.0)
        .with("severity_id", severity)
        .with("time", record.time.as_millisecond())
        .with("metadata", metadata)
        .with("unmapped", record.fields().clone())
}

fn api_activity(record: &Stored) -> Object {
    let outcome = record.text("outcome").unwrap_or("unknown");
    let good = matches!(outcome, "allowed" | "answered");
    let class = record.text("class").and_then(RiskClass::parse);
    let severity = if good { INFORMATIONAL } else { LOW };
    let actor_user = Object::new()
        .with("uid", record.text("grant").unwrap_or("unknown"))
        .with("type_id", OTHER)
        .with("type", "Grant");
    let operation = record.text("tool").or(record.text("method")).unwrap_or("unknown");
    let api = Object::new()
        .with("operation", operation)
        .with("service", named("name", record.text("server")))
        .with("request", named("uid", record.text("request")));
    let mut event = base(record, &API_ACTIVITY, activity_of(class), severity)
        .with("status_id", if good { SUCCESS } else { FAILURE })
        .with("status_detail", outcome)
        .with("actor", Object::new().with("user", actor_user))
        .with("api", api)
        .with("src_endpoint", named("uid", record.text("grant")))
        .with("dst_endpoint", named("name", record.text("server")));
    if let Some(message) = record.text("message") {
        event.insert("message", message.into());
    }
    if record.kind == "decision" {
        control(record, good, &mut event);
    }
    if let Some(status) = record.number("status").and_then(|code| i64::try_from(code).ok()) {
        event.insert("http_response", Object::new().with("code", status).into());
    }
    event
}

/// What was decided, by which policy: attributes of a profile, which the event then has to name.
fn control(record: &Stored, good: bool, event: &mut Object) {
    let ((action_id, action), disposition) =
        if good { ((1, "Allowed"), "Allowed") } else { ((2, "Denied"), "Blocked") };
    event.insert("action_id", Value::from(action_id));
    event.insert("action", action.into());
    event.insert("disposition_id", Value::from(action_id));
    event.insert("disposition", disposition.into());
    if let Some(policy) = policy(record) {
        event.insert("policy", policy.into());
    }
    if let Some(Value::Object(metadata)) = event.get_mut("metadata") {
        metadata.insert("profiles", vec![Value::from("security_control")].into());
    }
}

fn activity_of(class: Option<RiskClass>) -> (i64, &'static str) {
    match class {
        Some(RiskClass::Read) => (2, "Read"),
        Some(RiskClass::Write) => (3, "Update"),
        Some(RiskClass::Destructive) => (4, "Delete"),
        Some(RiskClass::Execute | RiskClass::Financial) => (OTHER, "Other"),
        None => (0, "Unknown"),
    }
}

fn policy(record: &Stored) -> Option<Object> {
    let version = record.number("policy_version").map(|version| version.to_string());
    let policy = Object::new().with("name", record.text("policy")?);
    Some(policy.with("version", version.unwrap_or_default()))
}

fn named(key: &str, name: Option<&str>) -> Object {
    Object::new().with(key, name.unwrap_or("unknown"))
}

fn entity_management(record: &Stored) -> Object {
    let action = record.text("action").unwrap_or("unknown");
    let activity = if action.ends_with("_created") || action.ends_with("_added") {
        (1, "Create")
    } else if action.ends_with("_removed") || action.ends_with("_revoked") {
        (4, "Delete")
    } else {
        (3, "Update")
    };
    let kind = action.split('_').next().unwrap_or(action);
    let name = ["tool", "policy", "grant", "server"].iter().find_map(|key| record.text(key));
    let entity = Object::new().with("type", kind).with("name", name.unwrap_or("gateway"));
    let user = named("name", record.text("by"));
    base(record, &ENTITY_MANAGEMENT, activity, INFORMATIONAL)
        .with("message", action)
        .with("actor", Object::new().with("user", user))
        .with("entity", entity)
}

fn application_lifecycle(record: &Stored, activity: (i64, &str)) -> Object {
    base(record, &APPLICATION_LIFECYCLE, activity, INFORMATIONAL).with("app", ourselves())
}

/// Only an address is given as one; networks, and all who found no room of their own, have names.
fn source(record: &Stored) -> Object {
    let source = record.text("source").unwrap_or("unknown");
    let key = if source.parse::<IpAddr>().is_ok() { "ip" } else { "name" };
    Object::new().with(key, source)
}

fn authentication(record: &Stored) -> Object {
    let count = record.number("count").and_then(|count| i64::try_from(count).ok());
    base(record, &AUTHENTICATION, (1, "Logon"), MEDIUM)
        .with("status_id", FAILURE)
        .with("status_detail", record.text("message").unwrap_or("unauthenticated"))
        .with("count", count.unwrap_or(1))
        .with("user", named("name", None))
        .with("service", Object::new().with("name", "Portcullis"))
        .with("src_endpoint", source(record))
}
