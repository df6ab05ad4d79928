//! From configuration files to what each agent can do.

use std::path::PathBuf;

use portcullis_catalogue::ToolDefinition;
use portcullis_catalogue::combine::{Capability, Combination, combinations};
use portcullis_catalogue::findings::{AcrossFinding, Listed, across, squats};
use portcullis_catalogue::index::{HITS_MAX, Index, Search};
use portcullis_catalogue::record::{Provenance, ServerFacts, ServerRecord};
use portcullis_clients::{Client, Entry, Found, Transport, Way, is_guarded, is_secret_name};
use portcullis_gateway::Reach;
use portcullis_state::Secret;

use crate::introspect::{self, LocalCommand, Spoken, Target};
use crate::output::Output;

/// Everything that was found.
pub(super) struct Stack {
    pub(super) agents: Vec<Agent>,
    /// Files that could not be understood, and why.
    pub(super) unread: Vec<(PathBuf, String)>,
}

/// What one client's agent can reach.
pub(super) struct Agent {
    pub(super) client: Client,
    pub(super) servers: Vec<Server>,
    pub(super) combinations: Vec<Combination>,
    /// What was found between its servers.
    pub(super) across: Vec<AcrossFinding>,
}

/// One server of a client.
pub(super) struct Server {
    pub(super) file: PathBuf,
    pub(super) entry: Entry,
    pub(super) guarded: bool,
    pub(super) tools: Tools,
    /// What there is to say of the package's name.
    pub(super) look_alike: Option<String>,
    /// Variables and headers whose value is written in the file.
    pub(super) secrets: Vec<String>,
}

/// What is known of a server's tools.
pub(super) enum Tools {
    /// These, as far as their definitions are known, from there.
    Known(Vec<Capability>, Vec<ToolDefinition>, String),
    /// Nothing, and why.
    Unknown(String),
}

/// Looks at every file.
pub(super) fn gather(found: Vec<Found>, live: bool, output: &mut Output) -> Result<Stack, String> {
    let index = Index::shipped().map_err(|fault| format!("the catalogue cannot be read: {fault}"))?;
    let rows = index.servers().map_err(|fault| format!("the catalogue cannot be read: {fault}"))?;
    let known: Vec<String> = rows.into_iter().filter_map(|row| row.package).collect();
    let mut stack = Stack { agents: Vec::new(), unread: Vec::new() };
    for found in found {
        let (client, path) = (found.place.client, found.place.path);
        match found.entries {
            Err(fault) => stack.unread.push((path, fault.to_string())),
            Ok(entries) => {
                for entry in entries {
                    let tools = tools_of(&entry, live, &index, output);
                    let server = Server {
                        file: path.clone(),
                        guarded: is_guarded(&entry),
                        secrets: secrets_of(&entry),
                        look_alike: look_alike(&entry, &known),
                        tools,
                        entry,
                    };
                    stack.add(client, server);
                }
            }
        }
    }
    for agent in &mut stack.agents {
        agent.combinations = combinations(&agent.capabilities());
        agent.across = agent.compare();
    }
    Ok(stack)
}

impl Stack {
    fn add(&mut self, client: Client, server: Server) {
        match self.agents.iter_mut().find(|agent| agent.client == client) {
            Some(agent) => agent.servers.push(server),
            None => self.agents.push(Agent {
                client,
                servers: vec![server],
                combinations: Vec::new(),
                across: Vec::new(),
            }),
        }
    }
}

impl Agent {
    /// The tools of servers that the client is not told to leave alone.
    pub(super) fn capabilities(&self) -> Vec<Capability> {
        let enabled = self.servers.iter().filter(|server| !server.entry.disabled);
        enabled.flat_map(|server| server.tools.known()).cloned().collect()
    }

    /// Its servers, the graver findings first.
    fn compare(&self) -> Vec<AcrossFinding> {
        let enabled = self.servers.iter().filter(|server| !server.entry.disabled);
        let listed =
            enabled.map(|server| Listed { server: &server.entry.name, tools: server.tools.definitions() });
        let mut found = across(&listed.collect::<Vec<_>>());
        found.sort_by_key(|found| std::cmp::Reverse(found.level));
        found
    }
}

impl Tools {
    pub(super) fn known(&self) -> &[Capability] {
        match self {
            Tools::Known(tools, _, _) => tools,
            Tools::Unknown(_) => &[],
        }
    }

    fn definitions(&self) -> &[ToolDefinition] {
        match self {
            Tools::Known(_, definitions, _) => definitions,
            Tools::Unknown(_) => &[],
        }
    }
}

fn tools_of(entry: &Entry, live: bool, index: &Index, output: &mut Output) -> Tools {
    if live {
        return match listed(entry, output) {
            Ok((tools, definitions)) => Tools::Known(tools, definitions, "asked just now".to_owned()),
            Err(reason) => Tools::Unknown(reason),
        };
    }
    let packages = entry.packages();
    let known = packages.iter().find_map(|package| from_index(entry, package, index).ok().flatten());
    known
        .unwrap_or_else(|| Tools::Unknown("not in the catalogue; `--live` asks the server itself".to_owned()))
}

fn from_index(
    entry: &Entry,
    package: &str,
    index: &Index,
) -> Result<Option<Tools>, portcullis_catalogue::index::IndexFault> {
    let servers = index.servers()?;
    let Some(row) = servers.into_iter().find(|row| row.package.as_deref() == Some(package)) else {
        return Ok(None);
    };
    let search = Search { server: Some(row.name.clone()), most: HITS_MAX, ..Search::default() };
    let tools = index.search(&search)?.into_iter().map(|tool| Capability {
        server: entry.name.clone(),
        tool: tool.tool,
        class: tool.class,
        parameters: parameter_names(&tool.parameters),
    });
    let tools: Vec<Capability> = tools.collect();
    // The catalogue keeps no descriptions: names are what can be compared.
    let definitions = tools.iter().map(|tool| ToolDefinition::named(&tool.tool)).collect();
    let version = row.version.map(|version| format!(" {version}")).unwrap_or_default();
    Ok(Some(Tools::Known(tools, definitions, format!("catalogue: {}{version}", row.name))))
}

/// What there is to say of the package that an entry starts.
fn look_alike(entry: &Entry, known: &[String]) -> Option<String> {
    let package = Entry::package_of(&entry.command_line()?)?;
    squats(&package, known.iter().map(String::as_str)).map(|finding| finding.says)
}

/// `query:string! count:number`: the names.
fn parameter_names(text: &str) -> Vec<String> {
    text.split(' ').filter_map(|word| word.split(':').next()).map(str::to_owned).collect()
}

fn listed(entry: &Entry, output: &mut Output) -> Result<(Vec<Capability>, Vec<ToolDefinition>), String> {
    let shown = format!("server `{}`", entry.name);
    let seen = introspect::list(target(entry)?, &shown, introspect::WAIT, &mut |text| output.progress(text))?;
    let (tools, _) = portcullis_catalogue::index::import::definitions(&seen.tools);
    let record = ServerRecord::of(ServerFacts::default(), tools, Provenance::Live);
    let capability = |tool: &portcullis_catalogue::record::ToolRecord| Capability {
        server: entry.name.clone(),
        tool: tool.name().to_owned(),
        class: tool.class(),
        parameters: tool.definition.parameters().iter().map(|parameter| parameter.name.to_owned()).collect(),
    };
    let tools = record.tools.iter().map(capability).collect();
    Ok((tools, record.tools.into_iter().map(|tool| tool.definition).collect()))
}

fn target(entry: &Entry) -> Result<Target, String> {
    let env =
        entry.environment.iter().map(|(name, value)| (name.clone(), Secret::new(value.reveal().to_owned())));
    if let Some(argv) = entry.command_line() {
        return Ok(Target::Command(LocalCommand {
            argv,
            env: env.collect(),
            is_env_whole: false,
            cwd: None,
        }));
    }
    match &entry.way {
        Way::Remote(remote) => {
            let written = remote.headers.iter().filter_map(|(name, value)| Some((name, value.written()?)));
            let headers =
                written.map(|(name, value)| (name.clone(), Secret::new(value.reveal().to_owned()))).collect();
            // Its owner wrote the address: it may be in any network.
            let spoken = match remote.transport {
                Transport::Http => Spoken::Http,
                Transport::Sse => Spoken::Sse,
            };
            Ok(Target::Url { url: remote.url.clone(), spoken, headers, reach: Reach::Anywhere })
        }
        _ => Err("how to reach it is not known here".to_owned()),
    }
}

/// The keys whose value stands in the file and is no reference to somewhere else.
fn secrets_of(entry: &Entry) -> Vec<String> {
    let environment =
        entry.environment.iter().filter(|(name, value)| is_secret_name(name) && !value.is_reference());
    let environment = environment.map(|(name, _)| name.clone());
    let headers = match &entry.way {
        Way::Remote(remote) => remote.headers.as_slice(),
        Way::Command { .. } | Way::Unknown(_) => &[],
    };
    let headers =
        headers.iter().filter(|(_, value)| value.written().is_some_and(|value| !value.is_reference()));
    environment.chain(headers.map(|(name, _)| format!("header {name}"))).collect()
}
