//! Grants: create, list, rotate, revoke.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use portcullis_json::{Object, Value};
use portcullis_state::grants::Grant;
use portcullis_state::log::{Action, Event};
use portcullis_state::store::NewGrant;

use super::arguments::Arguments;
use super::{Administration, BY, text, time};
use crate::instance::declared_grant;

pub(super) fn create(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let label = arguments.text("label")?;
    refuse_declared(administration, label)?;
    let (server, policy) = (arguments.text("server")?, arguments.text("policy")?);
    known_server(administration, server)?;
    let expires = match arguments.optional_text("expires") {
        Some(expires) => Some(expires.parse::<Timestamp>().map_err(text)?),
        None => None,
    };
    let new = NewGrant {
        label: label.to_owned(),
        tags: arguments.texts("tags"),
        expires,
        policies: BTreeMap::from([(server.to_owned(), policy.to_owned())]),
    };
    let (grant, token) = administration.store.create_grant(&new, administration.now).map_err(text)?;
    note(administration, Action::GrantCreated, &grant)?;
    let answer = Object::new()
        .with("grant", described(&grant, "store", administration.now))
        .with("token", token.expose());
    Ok(answer.into())
}

fn known_server(administration: &Administration<'_>, name: &str) -> Result<(), String> {
    let declared =
        administration.declared.is_some_and(|config| config.servers.iter().any(|s| s.name == name));
    if declared {
        return Ok(());
    }
    administration.store.server(name).map(|_| ()).map_err(text)
}

fn refuse_declared(administration: &Administration<'_>, label: &str) -> Result<(), String> {
    let declared =
        administration.declared.is_some_and(|config| config.grants.iter().any(|g| g.label == label));
    match declared {
        true => Err(format!("grant `{label}` is declared in the configuration file; change it there")),
        false => Ok(()),
    }
}

pub(super) fn list(administration: &mut Administration<'_>) -> Result<Value, String> {
    let now = administration.now;
    let stored = administration.store.grants().map_err(text)?;
    let mut list: Vec<Value> = stored.iter().map(|grant| described(grant, "store", now)).collect();
    let declared = administration.declared.into_iter().flat_map(|config| &config.grants);
    list.extend(declared.map(|grant| described(&declared_grant(grant), "file", now)));
    Ok(Object::new().with("grants", list).into())
}

pub(super) fn rotate(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let label = arguments.text("grant")?;
    refuse_declared(administration, label)?;
    let overlap = Duration::from_secs(arguments.number("overlap_s").unwrap_or(0));
    let now = administration.now;
    let token = administration.store.rotate_grant(label, overlap, now).map_err(text)?;
    let grant = administration.store.grant(label).map_err(text)?;
    note(administration, Action::GrantRotated, &grant)?;
    Ok(Object::new().with("grant", described(&grant, "store", now)).with("token", token.expose()).into())
}

pub(super) fn revoke(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let label = arguments.text("grant")?;
    refuse_declared(administration, label)?;
    let now = administration.now;
    let grant = administration.store.revoke_grant(label, now).map_err(text)?;
    note(administration, Action::GrantRevoked, &grant)?;
    Ok(Object::new().with("grant", described(&grant, "store", now)).into())
}

fn note(administration: &Administration<'_>, action: Action, grant: &Grant) -> Result<(), String> {
    let event =
        Event { by: Some(BY), grant: Some(&grant.id), detail: Some(&grant.label), ..Event::new(action) };
    administration.record(&event)
}

fn described(grant: &Grant, kept_in: &str, now: Timestamp) -> Value {
    let state = match grant {
        Grant { revoked: Some(_), .. } => "revoked",
        grant if grant.is_active(now) => "active",
        _ => "expired",
    };
    let tags: Vec<Value> = grant.tags.iter().map(|tag| tag.as_str().into()).collect();
    let mut policies = Object::new();
    for (server, policy) in &grant.policies {
        policies.insert(server, policy.as_str().into());
    }
    let created = (grant.created > Timestamp::UNIX_EPOCH).then_some(grant.created);
    Object::new()
        .with("id", grant.id.as_str())
        .with("label", grant.label.as_str())
        .with("state", state)
        .with("policies", policies)
        .with("tags", tags)
        .with("created", time(created))
        .with("expires", time(grant.expires))
        .with("revoked", time(grant.revoked))
        .with("last_used", time(grant.last_used))
        .with("kept_in", kept_in)
        .into()
}
