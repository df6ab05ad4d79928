//! A gateway with everything it needs, opened and wired: what `serve`, `up` and `demo` run.
//!
//! `open.rs` opens the data directory in the right order, `assemble.rs` makes snapshots from store and
//! file, `socket.rs` takes commands, `reload.rs` watches the file, `run.rs` serves until it is told to stop.

mod assemble;
mod open;
mod reload;
mod run;
mod signals;
mod socket;
mod tls;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use portcullis_gateway::{Gateway, Ledger, Snapshot};
use portcullis_json::{Object, Value};
use portcullis_state::log::{Action, DecisionLog, Event};
use portcullis_state::pins::Pins;
use portcullis_state::store::Store;
use portcullis_state::{DataDirectory, Indexer, SteadyClock};
use tokio::net::UnixListener;

pub(crate) use assemble::{class_overrides, declared_grant, stored_spec};
pub(crate) use run::{bind, run};
pub(crate) use signals::Signals;
pub(crate) use tls::load as load_tls;

use crate::admin::{self, Administration};
use crate::config::Config;
use crate::playground;

/// How a gateway is opened.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct Opening {
    /// Go on from the last good record of a decision log that is damaged. What was lost stays lost.
    #[arg(long)]
    accept_log_damage: bool,
}

/// An open gateway.
pub(crate) struct Instance {
    directory: DataDirectory,
    gateway: Arc<Gateway>,
    log: Arc<DecisionLog>,
    ledger: Arc<Ledger>,
    clock: Arc<SteadyClock>,
    pins: Arc<Pins>,
    changing: Mutex<Changing>,
    /// Taken by `run`: from the moment that anybody is told of the gateway, commands find it.
    commands: Mutex<Option<UnixListener>>,
    /// Where clients find it, once it listens.
    url: OnceLock<String>,
    _indexer: Indexer,
}

/// What changes while the gateway runs; one change at a time.
struct Changing {
    store: Store,
    config: Config,
    playground: Option<playground::Running>,
}

impl Instance {
    /// Runs one command of an administrator and puts its effect in force.
    pub(crate) fn administer(&self, command: &str, arguments: &Object) -> Result<Value, String> {
        if let Some(name) = admin::server_to_check(command, arguments) {
            return admin::check_server(name, admin::profile(arguments)?, |name| self.lock().spec(name));
        }
        if command == "gateway show" {
            return Ok(Object::new()
                .with("url", self.url.get().map_or(Value::Null, |url| url.as_str().into()))
                .into());
        }
        if let Some(answer) = admin::server_logs(&self.gateway, command, arguments) {
            return answer;
        }
        let mut changing = self.lock();
        let Changing { store, config, .. } = &mut *changing;
        let used = self.gateway.snapshot().grants().last_used();
        if let Err(fault) = store.note_last_used(&used) {
            tracing::warn!(%fault, "when grants were last used could not be kept");
        }
        let now = self.clock.now();
        let (log, pins) = (&*self.log, &*self.pins);
        let mut administration = Administration { store, log, pins, declared: Some(config), now };
        let answer = admin::run(&mut administration, command, arguments);
        if !admin::changes(command) {
            return answer;
        }
        // What was stored is in force, also when its event could not be written.
        self.refresh_grants(&changing)?;
        if admin::is_about_grants(command) {
            return answer;
        }
        if let Some(server) = admin::server_with_accepted_tools(command, arguments) {
            self.gateway.look_again(server);
            return answer;
        }
        let refreshed = self.refresh(&mut changing);
        answer.and_then(|answer| refreshed.map(|()| answer))
    }

    /// Whether this is the token of a grant that may be used.
    pub(crate) fn takes(&self, token: &str) -> bool {
        self.gateway.snapshot().grants().find(token, self.clock.now()).is_some()
    }

    /// The data plane, for whoever watches it.
    #[cfg(feature = "otlp")]
    pub(crate) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Takes a new configuration in, whole or not at all.
    fn reconfigure(&self, config: Config) -> Result<(), String> {
        let mut changing = self.lock();
        let before = self.gateway.snapshot();
        let snapshot = changing.adopt(config, Some(&before), &self.log, self.clock.now())?;
        self.gateway.replace(snapshot);
        Ok(())
    }

    /// The grants alone: neither a server nor a policy that cannot be used delays a revocation.
    fn refresh_grants(&self, changing: &Changing) -> Result<(), String> {
        let before = self.gateway.snapshot();
        self.gateway.replace_grants(changing.grants(Some(&before))?);
        Ok(())
    }

    fn refresh(&self, changing: &mut Changing) -> Result<(), String> {
        let before = self.gateway.snapshot();
        let snapshot = changing.snapshot(Some(&before))?;
        self.gateway.replace(snapshot);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the file may be taken in without a restart; if not, what would need one.
    fn needs_restart(&self, config: &Config) -> Vec<&'static str> {
        let changing = self.lock();
        let now = &changing.config;
        let same_settings = format!("{:?}", now.settings) == format!("{:?}", config.settings);
        let compared = [
            ("listen", now.listen == config.listen),
            ("data_dir", now.data_dir == config.data_dir),
            ("tls_cert` and `tls_key", now.tls == config.tls),
            ("settings", same_settings),
            ("log_sync", now.sync == config.sync),
            ("log_days_max", now.log_days_max == config.log_days_max),
        ];
        compared.into_iter().filter(|(_, same)| !same).map(|(key, _)| key).collect()
    }

    /// Notes something that happened to the gateway itself.
    fn note(&self, action: Action, detail: Option<&str>) {
        let event = Event { by: Some("gateway"), detail, ..Event::new(action) };
        if let Err(fault) = admin::record(&self.log, &event, self.clock.now()) {
            tracing::error!(%fault, action = action.as_str(), "the event is not in the decision log");
        }
    }
}

type Before<'a> = Option<&'a Snapshot>;

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_state::log::FaultyDisk;

    const POLICY: &str = r#"{"version":"1","default":"allow"}"#;

    /// A gateway with a server whose credential is in the file `secret`, and the grants `one` and `two`.
    fn instance(place: &std::path::Path, disk: &FaultyDisk) -> (Instance, [String; 2]) {
        std::fs::write(place.join("secret"), "x").unwrap();
        let config = Config::by_default("127.0.0.1:0".parse().unwrap(), &place.join("data"));
        let storage = Arc::new(disk.clone());
        let instance = Instance::open_on(storage, config, "serve", Opening::default()).unwrap();
        let secret = format!("file:{}", place.join("secret").display());
        let headers = Object::new().with("authorization", secret);
        let add = Object::new().with("name", "s").with("url", "http://127.0.0.1:1/").with("headers", headers);
        instance.administer("server add", &add).unwrap();
        let add = Object::new().with("name", "p").with("server", "s").with("source", POLICY);
        instance.administer("policy add", &add.with("activate", true)).unwrap();
        let tokens = ["one", "two"].map(|label| {
            let create = Object::new().with("label", label).with("server", "s").with("policy", "p");
            let created = instance.administer("grant create", &create).unwrap();
            created.get("token").and_then(Value::as_str).unwrap().to_owned()
        });
        (instance, tokens)
    }

    #[test]
    fn a_revocation_is_in_force_whatever_else_fails() {
        let runtime = crate::serve::runtime().unwrap();
        let _inside = runtime.enter();
        let place = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::default();
        let (instance, [one, two]) = instance(place.path(), &disk);
        let works =
            |token: &str| instance.gateway.snapshot().grants().find(token, instance.clock.now()).is_some();
        assert!(works(&one) && works(&two));
        std::fs::remove_file(place.path().join("secret")).unwrap();
        instance.administer("grant revoke", &Object::new().with("grant", "one")).unwrap();
        assert!(!works(&one), "a server that cannot be used is in the way");
        disk.set_full(true);
        let told = instance.administer("grant revoke", &Object::new().with("grant", "two"));
        assert!(
            told.unwrap_err().contains("the change is made"),
            "the operator must know that it is not recorded"
        );
        assert!(!works(&two), "a log that cannot be written is in the way");
    }

    #[test]
    fn a_label_is_in_the_file_or_in_the_store() {
        let runtime = crate::serve::runtime().unwrap();
        let _inside = runtime.enter();
        let place = tempfile::tempdir().unwrap();
        let (instance, _) = instance(place.path(), &FaultyDisk::default());
        let file = place.path().join("portcullis.toml");
        let grant = "\n[[grants]]\nlabel = \"one\"\nserver = \"d\"\npolicy = \"from-file\"\n";
        let token = format!("token_sha256 = \"{}\"\n", "ab".repeat(32));
        std::fs::write(&file, format!("{FILE}{grant}{token}")).unwrap();
        std::fs::write(place.path().join("p.json"), POLICY).unwrap();
        let refused = instance.reconfigure(Config::load(&file).unwrap()).unwrap_err();
        assert!(refused.contains("grant `one` is in the file and in the store"), "{refused}");
        instance.administer("grant revoke", &Object::new().with("grant", "one")).unwrap();
        instance.reconfigure(Config::load(&file).unwrap()).unwrap();
    }

    const FILE: &str = r#"
[[servers]]
name = "d"
url = "http://127.0.0.1:1/"

[[policies]]
name = "from-file"
server = "d"
file = "p.json"
"#;

    #[test]
    fn a_configuration_that_cannot_be_recorded_leaves_nothing_behind() {
        let runtime = crate::serve::runtime().unwrap();
        let _inside = runtime.enter();
        let place = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::default();
        let (instance, _) = instance(place.path(), &disk);
        let file = place.path().join("portcullis.toml");
        std::fs::write(&file, FILE).unwrap();
        std::fs::write(place.path().join("p.json"), POLICY).unwrap();
        disk.set_full(true);
        assert!(instance.reconfigure(Config::load(&file).unwrap()).is_err());
        let known = |instance: &Instance| instance.lock().store.policy("from-file").is_ok();
        assert!(!known(&instance), "the store keeps no part of it");
        assert!(instance.lock().config.servers.is_empty(), "nor does what counts as declared");
        disk.set_full(false);
        while instance.reconfigure(Config::load(&file).unwrap()).is_err() {}
        assert!(known(&instance));
    }
}
