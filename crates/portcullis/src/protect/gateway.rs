//! Servers of clients behind a running gateway: each is added to it with the recommended policy of its tools and
//! a grant of its own; the client's file then has the gateway's address and the grant's token.
//!
//! INVARIANT: secrets do not print. What a server got from the client's file goes over the gateway's socket and is
//! sealed there. A server whose secrets would have to be kept readable is left alone.

use std::path::{Path, PathBuf};

use portcullis_clients::{
    Additions, Backups, Bridge, Change, Client, Entry, FileFault, Hidden, Place, Redirected, Remote, Scope,
    Transport, Way, is_guarded, label, masked_arguments, masked_url, may_stay_readable, redirect,
};
use portcullis_json::{Object, Value};

use crate::admin::{self, Missing};

/// Grants that one server of one client may have had.
const GRANTS_MAX: usize = 1_000;

/// The gateway that servers go behind.
pub(super) struct Behind {
    pub(super) data_dir: PathBuf,
    /// Where clients find it.
    url: String,
    profile: String,
    bridge: Bridge,
}

/// What would become of a file.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) place: Place,
    /// Servers to be added, under these names.
    pub(super) wanted: Vec<(Entry, String)>,
    pub(super) already: Vec<Entry>,
    pub(super) left: Vec<(Entry, String)>,
}

impl Behind {
    /// The gateway that runs on this directory.
    pub(super) fn find(
        data_dir: &Path,
        url: Option<&str>,
        profile: &str,
        bridge: Bridge,
    ) -> Result<Behind, String> {
        let data_dir = std::path::absolute(data_dir).map_err(|error| format!("`--data-dir`: {error}"))?;
        let directory = admin::directory(&data_dir, Missing::Refuse)?;
        if !admin::is_running(&directory) {
            return Err(format!(
                "no gateway runs on `{}`; start it with `portcullis serve` or `portcullis up`, or name its directory \
                 with `--data-dir`",
                data_dir.display()
            ));
        }
        let url = match url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => {
                let answer = admin::request(&data_dir, Missing::Refuse, "gateway show", Object::new())?;
                let url = answer.get("url").and_then(Value::as_str);
                url.ok_or("the gateway does not say where it is; name its address with `--gateway-url`")?
                    .to_owned()
            }
        };
        Ok(Behind { data_dir, url, profile: profile.to_owned(), bridge })
    }

    /// What is to be done about a file. Nothing is changed.
    pub(super) fn plan(&self, place: &Place) -> Result<Plan, FileFault> {
        let (_, document) = portcullis_clients::read(place)?;
        let mut plan =
            Plan { place: place.clone(), wanted: Vec::new(), already: Vec::new(), left: Vec::new() };
        for entry in document.entries() {
            match (is_guarded(&entry), obstacle(place, &entry)) {
                (true, _) => plan.already.push(entry),
                (false, Some(reason)) => plan.left.push((entry, reason)),
                (false, None) => {
                    let name = plan.free_name(place.client, &entry);
                    plan.wanted.push((entry, name));
                }
            }
        }
        Ok(plan)
    }

    /// What would become of a file, for showing.
    pub(super) fn preview(&self, plan: Plan) -> Change {
        let Plan { place, wanted, already, left } = plan;
        let guarded = wanted.into_iter().map(|(entry, name)| (entry, vec![self.address(&name)])).collect();
        Change::preview(place, guarded, already, left)
    }

    pub(super) fn address(&self, name: &str) -> String {
        format!("{}/mcp/{name}", self.url)
    }

    /// Adds the servers of a file, and leads its client to them. A server that cannot be added stays as it is.
    pub(super) fn carry_out(&self, plan: Plan, backups: &Backups) -> Result<Change, FileFault> {
        let Plan { place, wanted, already, mut left } = plan;
        let mut redirected = Vec::new();
        let mut additions =
            Additions { data_dir: self.data_dir.clone(), servers: Vec::new(), grants: Vec::new() };
        for (entry, name) in wanted {
            match self.add(&entry, &name) {
                Ok((grant, token)) => {
                    let url = self.address(&name);
                    redirected.push(Redirected { entry, url, token: Hidden::new(token) });
                    additions.servers.push(name);
                    additions.grants.push(grant);
                }
                Err(reason) => left.push((entry, reason)),
            }
        }
        let changed = redirect(&place, &redirected, &self.bridge, additions.clone());
        let changed = changed.and_then(|change| change.apply(backups).map(|()| change));
        match changed {
            Ok(change) => Ok(change.beside(already, left)),
            Err(fault) => {
                // The file is as it was: nobody can use what was added.
                let _ = take_down(&additions);
                Err(fault)
            }
        }
    }

    /// One server with its policy and its grant; the grant's label and its token. All of it, or nothing.
    fn add(&self, entry: &Entry, name: &str) -> Result<(String, String), String> {
        self.ask("server add", server(entry, name)).map_err(|fault| explained(fault, name))?;
        let granted = self.judge(name).and_then(|()| self.grant(name));
        if granted.is_err() {
            let _ = self.ask("server remove", Object::new().with("name", name));
        }
        granted
    }

    /// The recommended policy of its tools, in force.
    fn judge(&self, name: &str) -> Result<(), String> {
        let check = Object::new().with("name", name).with("profile", self.profile.as_str());
        let checked = self.ask("server check", check)?;
        let policy = checked.get("policy").and_then(Value::as_str);
        let policy = policy.ok_or("the running gateway recommends no policy; is it an older version?")?;
        let add = Object::new().with("name", name).with("server", name).with("source", policy);
        self.ask("policy add", add.with("activate", true)).map(drop)
    }

    /// A label is never given to a second grant, so that the log stays clear; the next one gets a number.
    fn grant(&self, name: &str) -> Result<(String, String), String> {
        let mut labels =
            std::iter::once(name.to_owned()).chain((2..=GRANTS_MAX).map(|number| format!("{name}-{number}")));
        loop {
            let label = labels.next().ok_or_else(|| format!("there are {GRANTS_MAX} grants for `{name}`"))?;
            let grant = Object::new().with("label", label.as_str()).with("server", name).with("policy", name);
            match self.ask("grant create", grant) {
                Err(fault) if fault.ends_with("already exists") => {}
                Err(fault) => return Err(fault),
                Ok(granted) => {
                    let token = granted.get("token").and_then(Value::as_str);
                    let token = token.ok_or_else(|| "the gateway gives no token".to_owned())?;
                    return Ok((label, token.to_owned()));
                }
            }
        }
    }

    fn ask(&self, command: &str, arguments: Object) -> Result<Value, String> {
        admin::request(&self.data_dir, Missing::Refuse, command, arguments)
    }
}

impl Plan {
    /// A server of the same name in another part of the same file is another server.
    fn free_name(&self, client: Client, entry: &Entry) -> String {
        let name = label(client, &entry.name);
        let is_taken = |name: &str| self.wanted.iter().any(|(_, taken)| taken == name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(name)
    }
}

/// Why a server was not added. It is never taken for one that an earlier run left there: it may be somebody's.
fn explained(fault: String, name: &str) -> String {
    match fault.ends_with("already exists") {
        true => format!(
            "the gateway has a server `{name}` already; if nobody uses it, as after a run that was stopped halfway, \
             `portcullis server remove {name}` makes room"
        ),
        false => fault,
    }
}

/// Removes what was added; what is gone already is no fault. Policies stay: the log tells of them.
pub(super) fn take_down(additions: &Additions) -> Result<(), String> {
    let ask = |command: &str, key: &str, name: &str| {
        let asked =
            admin::request(&additions.data_dir, Missing::Refuse, command, Object::new().with(key, name));
        let gone = |fault: String| if fault.starts_with("there is no ") { Ok(()) } else { Err(fault) };
        asked.map(drop).or_else(gone)
    };
    let grants = additions.grants.iter().map(|grant| ask("grant revoke", "grant", grant));
    let servers = additions.servers.iter().map(|server| ask("server remove", "name", server));
    // Each is tried, whatever comes of the others: a grant that stays is worse than a message too few.
    let outcomes: Vec<Result<(), String>> = grants.chain(servers).collect();
    outcomes.into_iter().collect()
}

/// Why a server cannot go behind the gateway, if it cannot.
fn obstacle(place: &Place, entry: &Entry) -> Option<String> {
    if place.scope == Scope::Project {
        return Some(
            "a project's file is often shared, and would hold the grant's token; put it behind `wrap`"
                .to_owned(),
        );
    }
    let values = entry.environment.iter().map(|(name, value)| (name, value.reveal()));
    let named = values.clone().find(|(_, value)| names_another_place(value)).map(|(name, _)| name.clone());
    match &entry.way {
        Way::Unknown(reason) => Some(reason.clone()),
        _ if named.is_some() => {
            let name = named.unwrap_or_default();
            Some(format!("its variable `{name}` comes from the client, which the gateway cannot ask"))
        }
        Way::Command { command, arguments } => command_obstacle(command, arguments, entry.cwd.as_deref()),
        Way::Remote(remote) => remote_obstacle(remote),
    }
}

/// A value that the client would have put something else in the place of, or that the gateway would.
fn names_another_place(value: &str) -> bool {
    value.contains("${") || ["env:", "file:", "plain:"].iter().any(|beginning| value.starts_with(beginning))
}

fn command_obstacle(command: &str, arguments: &[String], cwd: Option<&str>) -> Option<String> {
    let mut words = std::iter::once(command).chain(arguments.iter().map(String::as_str)).chain(cwd);
    if words.any(|word| word.contains("${")) {
        return Some("its command line names values that only the client knows".to_owned());
    }
    if masked_arguments(arguments) != arguments {
        return Some(
            "its command line holds what looks like a secret, which the gateway would keep readable; move it into \
             the server's environment first, or put it behind `wrap`"
                .to_owned(),
        );
    }
    let is_relative = |path: &str| path.contains('/') && !path.starts_with('/');
    match is_relative(command) || cwd.is_some_and(|cwd| !cwd.starts_with('/')) {
        true => Some("where it starts depends on where the client runs; write its paths out".to_owned()),
        false => None,
    }
}

fn remote_obstacle(remote: &Remote) -> Option<String> {
    if masked_url(&remote.url) != remote.url {
        return Some(
            "its address may hold a secret, which the gateway would keep readable; move it into a header first, or \
             put it behind `wrap`"
                .to_owned(),
        );
    }
    let from_elsewhere = remote
        .headers
        .iter()
        .find(|(_, value)| value.written().is_none_or(|text| names_another_place(text.reveal())));
    from_elsewhere
        .map(|(name, _)| format!("its header `{name}` comes from the client, which the gateway cannot ask"))
}

/// The arguments of `server add`.
fn server(entry: &Entry, name: &str) -> Object {
    let named = Object::new().with("name", name);
    match &entry.way {
        Way::Command { command, arguments } => {
            let words = std::iter::once(command).chain(arguments);
            let words: Vec<Value> = words.map(|word| word.as_str().into()).collect();
            let env = entry.environment.iter().fold(Object::new(), |env, (key, value)| {
                // What is sealed is also taken out of answers, where a directory may well stand.
                let open = if may_stay_readable(key, value.reveal()) { "plain:" } else { "" };
                env.with(key, format!("{open}{}", value.reveal()))
            });
            let added = named.with("command", words).with("env", env).with("inherit_env", true);
            entry.cwd.iter().fold(added, |added, cwd| added.with("cwd", cwd.as_str()))
        }
        Way::Remote(remote) => {
            let written = remote.headers.iter().filter_map(|(name, value)| Some((name, value.written()?)));
            let headers =
                written.fold(Object::new(), |all, (name, value)| all.with(name, value.reveal().to_owned()));
            let spoken = if remote.transport == Transport::Sse { "sse" } else { "http" };
            let added = named.with("url", remote.url.as_str()).with("transport", spoken);
            // Its owner reached it from this machine, wherever it is.
            added.with("headers", headers).with("allow_private", true)
        }
        Way::Unknown(_) => named,
    }
}
