//! What `stack` says, without a secret in it.

use std::io;

use portcullis_catalogue::combine::Combination;
use portcullis_catalogue::findings::AcrossFinding;
use portcullis_catalogue::{Class, Level, inert_short};
use portcullis_json::{Object, Value};

use super::gather::{Agent, Server, Stack, Tools};
use crate::output::Output;
use crate::protect::way;

/// A name of a stranger's choosing is not longer than this.
const NAME_CHARACTERS_MAX: usize = 80;
/// Findings between servers that are named one by one.
const ACROSS_NAMED_MAX: usize = 20;
const CLASSES: [Class; 5] = [Class::Read, Class::Write, Class::Execute, Class::Destructive, Class::Financial];

/// For people.
pub(super) fn text(output: &mut Output, stack: &Stack) -> io::Result<()> {
    if stack.agents.is_empty() {
        output.line("no client configuration with servers was found")?;
    }
    for agent in &stack.agents {
        show_agent(output, agent)?;
    }
    for (path, reason) in &stack.unread {
        output.error(&format!("`{}` cannot be read: {reason}", path.display()))?;
    }
    let total: usize = stack.agents.iter().map(|agent| agent.capabilities().len()).sum();
    let servers: Vec<&Server> = stack.agents.iter().flat_map(|agent| &agent.servers).collect();
    let unknown = servers.iter().filter(|server| matches!(server.tools, Tools::Unknown(_))).count();
    let open = servers.iter().filter(|server| !server.guarded).count();
    output.line(&format!(
        "{} server(s), {unknown} of them unknown; {total} known tool(s); {open} server(s) without a guard",
        servers.len()
    ))?;
    if open > 0 {
        output.line("put them behind a policy with `portcullis protect`")?;
    }
    Ok(())
}

fn show_agent(output: &mut Output, agent: &Agent) -> io::Result<()> {
    output.line(&output.good(agent.client.name()))?;
    for server in &agent.servers {
        let name = inert_short(&server.entry.name, NAME_CHARACTERS_MAX);
        let off = if server.entry.disabled { ", disabled" } else { "" };
        let guard = if server.guarded { "behind portcullis" } else { "no guard" };
        output.line(&format!("  {name} ({guard}{off})"))?;
        output.line(&format!("    {}", inert_short(&way(&server.entry), 160)))?;
        output.line(&format!("    {}", tools(&server.tools)))?;
        if let Some(says) = &server.look_alike {
            output.line(&format!("    {} {says}", output.bad("look-alike:")))?;
        }
        if !server.secrets.is_empty() {
            let list = server.secrets.join(", ");
            output.line(&format!("    written in `{}`: {list}", server.file.display()))?;
        }
    }
    for combination in &agent.combinations {
        output.line(&format!("  {} {}", output.bad("dangerous together:"), combination.name))?;
        output.line(&format!("    {}", combination.why))?;
        for (leg, named, count) in &combination.legs {
            let more = if *count > named.len() {
                format!(" and {} more", count - named.len())
            } else {
                String::new()
            };
            let named: Vec<String> =
                named.iter().map(|name| inert_short(name, NAME_CHARACTERS_MAX)).collect();
            output.line(&format!("    {}: {}{more}", leg.name(), named.join(", ")))?;
        }
        output.line(&format!("    what limits it: {}", combination.limit))?;
    }
    show_across(output, &agent.across)?;
    output.line("")
}

/// Equal names are common and only counted; what is graver is named.
fn show_across(output: &mut Output, found: &[AcrossFinding]) -> io::Result<()> {
    let (grave, same): (Vec<_>, Vec<_>) = found.iter().partition(|found| found.level > Level::Low);
    for finding in grave.iter().take(ACROSS_NAMED_MAX) {
        output.line(&format!("  {} {}", output.bad(finding.kind.name()), finding.says))?;
    }
    if grave.len() > ACROSS_NAMED_MAX {
        output.line(&format!("  and {} more; `--json` has them all", grave.len() - ACROSS_NAMED_MAX))?;
    }
    if let Some(first) = same.first() {
        let more = if same.len() > 1 { format!(" and {} more", same.len() - 1) } else { String::new() };
        output.line(&format!("  {}: {}{more}", first.kind.name(), first.says))?;
    }
    Ok(())
}

fn tools(tools: &Tools) -> String {
    match tools {
        Tools::Unknown(reason) => format!("tools unknown: {}", inert_short(reason, 200)),
        Tools::Known(list, _, source) => {
            let counts =
                CLASSES.iter().map(|class| (class, list.iter().filter(|tool| tool.class == *class).count()));
            let counts = counts
                .filter(|(_, count)| *count > 0)
                .map(|(class, count)| format!("{count} {}", class.name()));
            format!("{} tools: {} ({source})", list.len(), counts.collect::<Vec<_>>().join(", "))
        }
    }
}

/// For programs.
pub(super) fn json(stack: &Stack) -> Value {
    let agents: Vec<Value> = stack.agents.iter().map(agent_json).collect();
    let unread = stack.unread.iter().map(|(path, reason)| {
        Object::new().with("path", path.to_string_lossy().into_owned()).with("error", reason.as_str()).into()
    });
    Object::new().with("agents", agents).with("unread", unread.collect::<Vec<Value>>()).into()
}

fn agent_json(agent: &Agent) -> Value {
    let servers: Vec<Value> = agent.servers.iter().map(server_json).collect();
    let combinations: Vec<Value> = agent.combinations.iter().map(combination_json).collect();
    Object::new()
        .with("client", agent.client.id())
        .with("servers", servers)
        .with("combinations", combinations)
        .with("across", agent.across.iter().map(across_json).collect::<Vec<Value>>())
        .into()
}

fn server_json(server: &Server) -> Value {
    let secrets: Vec<Value> = server.secrets.iter().map(|name| name.as_str().into()).collect();
    let object = Object::new()
        .with("name", server.entry.name.as_str())
        .with("file", server.file.to_string_lossy().into_owned())
        .with("way", way(&server.entry))
        .with("disabled", server.entry.disabled)
        .with("guarded", server.guarded)
        .with("secrets_in_file", secrets)
        .with("look_alike", server.look_alike.as_deref().map_or(Value::Null, Value::from));
    match &server.tools {
        Tools::Unknown(reason) => object.with("unknown", reason.as_str()).into(),
        Tools::Known(tools, _, source) => {
            let tools = tools.iter().map(|tool| {
                Object::new().with("name", tool.tool.as_str()).with("class", tool.class.name()).into()
            });
            object.with("source", source.as_str()).with("tools", tools.collect::<Vec<Value>>()).into()
        }
    }
}

fn across_json(found: &AcrossFinding) -> Value {
    let side = |(server, tool): &(String, String)| {
        Object::new().with("server", server.as_str()).with("tool", tool.as_str())
    };
    Object::new()
        .with("kind", found.kind.name())
        .with("level", found.level.name())
        .with("one", side(&found.one))
        .with("other", side(&found.other))
        .with("says", found.says.as_str())
        .into()
}

fn combination_json(combination: &Combination) -> Value {
    let legs = combination.legs.iter().map(|(leg, tools, count)| {
        let tools: Vec<Value> = tools.iter().map(|tool| tool.as_str().into()).collect();
        Object::new()
            .with("leg", leg.name())
            .with("tools", tools)
            .with("count", i64::try_from(*count).unwrap_or(i64::MAX))
            .into()
    });
    Object::new()
        .with("name", combination.name)
        .with("why", combination.why)
        .with("limit", combination.limit)
        .with("legs", legs.collect::<Vec<Value>>())
        .into()
}
