//! Policies: add, list, show, activate, rollback.

use portcullis_json::{Limits, Object, Value, parse};
use portcullis_policy::Policy;
use portcullis_state::log::{Action, Event, hex};
use portcullis_state::store::PolicyVersion;

use super::arguments::Arguments;
use super::{Administration, BY, policy_name, text, time};

pub(super) fn add(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let (name, server) = (arguments.text("name")?, arguments.text("server")?);
    refuse_declared(administration, name)?;
    let source = arguments.text("source")?.as_bytes();
    Policy::parse(source).map_err(|problems| format!("the policy does not check: {}", problems.text()))?;
    let version = administration.store.add_policy(name, server, source, administration.now).map_err(text)?;
    note(administration, Action::PolicyAdded, name, server, &version)?;
    if arguments.is_set("activate") {
        return put_in_force(administration, name, version.version);
    }
    answer(administration, name, &version)
}

pub(super) fn list(administration: &mut Administration<'_>) -> Result<Value, String> {
    let mut list: Vec<Value> = Vec::new();
    for policy in administration.store.policies().map_err(text)? {
        let versions = administration.store.policy_versions(&policy.name).map_err(text)?;
        let newest = versions.last().map_or(Value::Null, |version| i64::from(version.version).into());
        let active = policy.active.map_or(Value::Null, |version| i64::from(version).into());
        let entry = Object::new()
            .with("name", policy.name.as_str())
            .with("server", policy.server.as_str())
            .with("active", active)
            .with("newest", newest)
            .with("kept_in", if is_declared(administration, &policy.name) { "file" } else { "store" });
        list.push(entry.into());
    }
    Ok(Object::new().with("policies", list).into())
}

pub(super) fn show(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let name = arguments.text("name")?;
    let policy = administration.store.policy(name).map_err(text)?;
    let asked = arguments.number("version").and_then(|number| u32::try_from(number).ok());
    let version = asked
        .or(policy.active)
        .ok_or_else(|| format!("no version of policy `{name}` is in force; name one with `--version`"))?;
    let version = administration.store.policy_version(name, version).map_err(text)?;
    let document = parse(&version.source, &Limits::document()).map_err(text)?;
    let Value::Object(answer) = answer(administration, name, &version)? else {
        return Err("the policy cannot be shown".to_owned());
    };
    Ok(answer.with("document", document).into())
}

pub(super) fn activate(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let name = arguments.text("name")?;
    refuse_declared(administration, name)?;
    let asked = arguments.number("version").and_then(|number| u32::try_from(number).ok());
    let newest = administration.store.policy_versions(name).map_err(text)?;
    let version = asked.or(newest.last().map(|version| version.version)).unwrap_or_default();
    put_in_force(administration, name, version)
}

fn put_in_force(administration: &mut Administration<'_>, name: &str, version: u32) -> Result<Value, String> {
    let now = administration.now;
    let version = administration.store.activate_policy(name, version, BY, now).map_err(text)?;
    let server = administration.store.policy(name).map_err(text)?.server;
    note(administration, Action::PolicyActivated, name, &server, &version)?;
    answer(administration, name, &version)
}

pub(super) fn roll_back(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let name = arguments.text("name")?;
    refuse_declared(administration, name)?;
    let version = administration.store.roll_back_policy(name, BY, administration.now).map_err(text)?;
    let server = administration.store.policy(name).map_err(text)?.server;
    note(administration, Action::PolicyRolledBack, name, &server, &version)?;
    answer(administration, name, &version)
}

fn is_declared(administration: &Administration<'_>, name: &str) -> bool {
    administration.declared.is_some_and(|config| config.policies.iter().any(|policy| policy.name == name))
}

fn refuse_declared(administration: &Administration<'_>, name: &str) -> Result<(), String> {
    match is_declared(administration, name) {
        true => Err(format!("policy `{name}` is declared in the configuration file; change it there")),
        false => Ok(()),
    }
}

fn note(
    administration: &Administration<'_>,
    action: Action,
    name: &str,
    server: &str,
    version: &PolicyVersion,
) -> Result<(), String> {
    administration.record(&Event {
        by: Some(BY),
        server: Some(server),
        policy: Some(policy_name(name, version)),
        ..Event::new(action)
    })
}

fn answer(administration: &Administration<'_>, name: &str, version: &PolicyVersion) -> Result<Value, String> {
    let policy = administration.store.policy(name).map_err(text)?;
    let answer = Object::new()
        .with("name", name)
        .with("server", policy.server.as_str())
        .with("version", i64::from(version.version))
        .with("in_force", policy.active == Some(version.version))
        .with("hash", hex(&version.hash))
        .with("created", time(Some(version.created)));
    Ok(answer.into())
}
