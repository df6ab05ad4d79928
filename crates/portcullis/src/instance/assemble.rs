//! Snapshots for the gateway, from what the store holds and what the file declares.

use std::collections::BTreeMap;

use jiff::Timestamp;
use portcullis_gateway::{
    ActivePolicy, CommandSpec, EnvSpec, EraSetting, ProcessMode, ServerSpec, Snapshot, TransportSpec,
};
use portcullis_policy::{Class, Policy};
use portcullis_state::Secret;
use portcullis_state::grants::{Grant, GrantTable, TableEntry};
use portcullis_state::log::{Action, DecisionLog, Event};
use portcullis_state::store::{Header, HeaderSource, PolicyVersion, Server, Store, StoredCommand, Transport};

use super::{Before, Changing};
use crate::admin;
use crate::config::{Config, DeclaredGrant, DeclaredPolicy, DeclaredServer};
use crate::playground;

/// Who activates what the file declares.
const BY_FILE: &str = "config";

impl Changing {
    /// Takes in a configuration, whole or not at all: neither the store nor what is in force keeps a part.
    pub(super) fn adopt(
        &mut self,
        config: Config,
        before: Before<'_>,
        log: &DecisionLog,
        now: Timestamp,
    ) -> Result<Snapshot, String> {
        let kept = std::mem::replace(&mut self.config, config);
        let taken = self.take_in(before, log, now);
        if taken.is_err() {
            self.config = kept;
            if let Err(fault) = self.store.undo() {
                tracing::error!(%fault, "what was refused stays in the store until the next change");
            }
        }
        taken
    }

    fn take_in(&mut self, before: Before<'_>, log: &DecisionLog, now: Timestamp) -> Result<Snapshot, String> {
        self.check_servers()?;
        self.check_grants()?;
        self.store.begin().map_err(text)?;
        let activated = self.activate_declared(now)?;
        let snapshot = self.snapshot(before)?;
        // In the log before it is in force.
        for (policy, version) in &activated {
            note_activation(log, policy, version, now)?;
        }
        self.store.commit().map_err(text)?;
        Ok(snapshot)
    }

    fn check_servers(&self) -> Result<(), String> {
        for policy in self.store.policies().map_err(text)? {
            let found = self.config.policies.iter().find(|declared| declared.name == policy.name);
            if let Some(found) = found.filter(|found| found.server != policy.server) {
                return Err(format!(
                    "policy `{}` was for server `{}` until now and cannot be for `{}`; take another name",
                    policy.name, policy.server, found.server
                ));
            }
        }
        Ok(())
    }

    /// A label that is in both would leave open which grant a command means.
    fn check_grants(&self) -> Result<(), String> {
        let is_declared = |label: &str| self.config.grants.iter().any(|declared| declared.label == label);
        let stored = self.store.grants().map_err(text)?;
        match stored.iter().find(|grant| grant.revoked.is_none() && is_declared(&grant.label)) {
            Some(grant) => Err(format!(
                "grant `{0}` is in the file and in the store; run `portcullis grant revoke {0}` or take another label",
                grant.label
            )),
            None => Ok(()),
        }
    }

    /// Policies of the file get versions in the store, like any other; those that are new in force.
    fn activate_declared(&mut self, now: Timestamp) -> Result<Vec<(DeclaredPolicy, PolicyVersion)>, String> {
        let mut activated = Vec::new();
        for policy in &self.config.policies {
            let DeclaredPolicy { name, server, source, .. } = policy;
            let version = self.store.add_policy(name, server, source, now).map_err(text)?;
            if self.store.policy(name).map_err(text)?.active != Some(version.version) {
                self.store.activate_policy(name, version.version, BY_FILE, now).map_err(text)?;
                activated.push((policy.clone(), version));
            }
        }
        Ok(activated)
    }

    /// Everything that is in force.
    pub(super) fn snapshot(&mut self, before: Before<'_>) -> Result<Snapshot, String> {
        let policies = active_policies(&self.store)?;
        let grants = self.grants(before)?;
        Snapshot::compile(self.servers()?, policies, grants).map_err(text)
    }

    /// The grants of store and file.
    pub(super) fn grants(&self, before: Before<'_>) -> Result<GrantTable, String> {
        let mut entries = self.store.grant_entries().map_err(text)?;
        entries.extend(self.config.grants.iter().map(declared_entry));
        GrantTable::build(entries, before.map(Snapshot::grants)).map_err(text)
    }

    fn servers(&mut self) -> Result<Vec<ServerSpec>, String> {
        let mut specs = Vec::new();
        for server in self.store.servers().map_err(text)? {
            if self.config.servers.iter().any(|declared| declared.name == server.name) {
                return Err(format!(
                    "server `{0}` is in the file and in the store; run `portcullis server remove {0}` or \
                     take another name",
                    server.name
                ));
            }
            // INVARIANT: deny by default. One that cannot be reached as it should is not there.
            match stored_spec(&self.store, &server) {
                Ok(spec) => specs.extend(spec),
                Err(fault) => tracing::error!(server = server.name, %fault, "the server is not served"),
            }
        }
        specs.extend(self.config.servers.iter().map(DeclaredServer::spec));
        for spec in specs.iter_mut().filter(|spec| playground::is_meant(spec)) {
            self.point_to_playground(spec)?;
        }
        Ok(specs)
    }

    /// One server, as the gateway reaches it.
    pub(super) fn spec(&mut self, name: &str) -> Result<Option<ServerSpec>, String> {
        let found = self.servers()?.into_iter().find(|spec| spec.name == name);
        match (found, self.store.server(name)) {
            // It says what keeps it from being served.
            (None, Ok(server)) => stored_spec(&self.store, &server),
            (found, _) => Ok(found),
        }
    }

    /// The playground is started when the first server wants it.
    fn point_to_playground(&mut self, spec: &mut ServerSpec) -> Result<(), String> {
        let running = match &mut self.playground {
            Some(running) => running,
            none => none.insert(playground::Running::start()?),
        };
        spec.transport = TransportSpec::http(running.url.clone());
        spec.headers = vec![running.header()];
        Ok(())
    }
}

fn note_activation(
    log: &DecisionLog,
    policy: &DeclaredPolicy,
    version: &PolicyVersion,
    now: Timestamp,
) -> Result<(), String> {
    let event = Event {
        by: Some(BY_FILE),
        server: Some(&policy.server),
        policy: Some(admin::policy_name(&policy.name, version)),
        ..Event::new(Action::PolicyActivated)
    };
    admin::record(log, &event, now)
}

/// What is stored of a server, for the gateway.
pub(crate) fn stored_spec(store: &Store, server: &Server) -> Result<Option<ServerSpec>, String> {
    let values = store.resolve_headers(server).map_err(text)?;
    let (transport, headers) = match &server.transport {
        Transport::Url(url) => (TransportSpec::http(url.clone()), values),
        Transport::Sse(url) => (TransportSpec::Sse { url: url.clone() }, values),
        Transport::Command(command) => {
            (TransportSpec::Command(command_spec(command, &server.headers, values)), Vec::new())
        }
    };
    Ok(Some(ServerSpec {
        name: server.name.clone(),
        transport,
        headers,
        classes: class_overrides(server),
        era: EraSetting::Auto,
        answer_timeout_ms: None,
        allow_private: server.allow_private,
    }))
}

/// A stored program; what it gets in its environment is kept as headers are, and is as secret.
fn command_spec(command: &StoredCommand, kept: &[Header], env: Vec<(String, Secret)>) -> CommandSpec {
    let is_open = |name: &str| {
        kept.iter().any(|kept| kept.name == name && matches!(kept.source, HeaderSource::Plain(_)))
    };
    let env = env.into_iter().map(|(name, value)| EnvSpec { is_secret: !is_open(&name), name, value });
    CommandSpec {
        command: command.words.clone(),
        env: env.collect(),
        inherit_env: command.inherit_env,
        cwd: command.cwd.clone(),
        process: if command.shared { ProcessMode::Shared } else { ProcessMode::Session },
        ..CommandSpec::default()
    }
}

/// The classes that an administrator set for a server of the store.
pub(crate) fn class_overrides(server: &Server) -> BTreeMap<String, Class> {
    let class = |(tool, class): (&String, &portcullis_state::log::RiskClass)| {
        Class::from_name(class.as_str()).map(|class| (tool.clone(), class))
    };
    server.classes.iter().filter_map(class).collect()
}

fn active_policies(store: &Store) -> Result<Vec<ActivePolicy>, String> {
    let mut policies = Vec::new();
    for policy in store.policies().map_err(text)? {
        if let Some(version) = policy.active {
            let found = store.policy_version(&policy.name, version).map_err(text)?;
            policies.push(compiled(&policy.name, version, found.hash, &found.source)?);
        }
    }
    Ok(policies)
}

fn compiled(name: &str, version: u32, hash: [u8; 32], source: &[u8]) -> Result<ActivePolicy, String> {
    let policy = Policy::parse(source)
        .map_err(|problems| format!("policy `{name}` does not check: {}", problems.text()))?;
    Ok(ActivePolicy { name: name.to_owned(), version, hash, policy })
}

/// A grant of the file is known by its label; it has no other memory.
pub(crate) fn declared_grant(grant: &DeclaredGrant) -> Grant {
    Grant {
        id: format!("config:{}", grant.label),
        label: grant.label.clone(),
        tags: grant.tags.clone(),
        created: Timestamp::UNIX_EPOCH,
        expires: grant.expires,
        revoked: None,
        last_used: None,
        policies: BTreeMap::from([(grant.server.clone(), grant.policy.clone())]),
    }
}

fn declared_entry(grant: &DeclaredGrant) -> TableEntry {
    TableEntry { token: grant.token, valid_until: None, grant: declared_grant(grant) }
}

fn text(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}
