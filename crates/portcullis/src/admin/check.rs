//! Looking at a server as the gateway would reach it: does it answer, in which era, with which tools.

use std::time::Duration;

use portcullis_catalogue::recommend::{Profile, server_policy};
use portcullis_catalogue::{Siblings, ToolDefinition, classify};
use portcullis_gateway::{INHERITED_ENV, Reach, ServerSpec, TransportSpec};
use portcullis_json::{Object, Value, pretty};
use portcullis_state::Secret;

use crate::introspect::{self, LocalCommand, Spoken, Target};
use crate::playground;

/// For the whole look.
const LOOK_WAIT: Duration = Duration::from_secs(30);

/// Asks the server who it is and what it can do. Not to be called from async code.
pub(super) fn look(mut spec: ServerSpec, profile: Option<Profile>) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the system gives no threads: {error}"))?;
    runtime.block_on(async {
        if playground::is_meant(&spec) {
            let running = playground::Running::start()?;
            spec.headers = vec![running.header()];
            spec.transport = TransportSpec::http(running.url);
        }
        let shown = format!("server `{}`", spec.name);
        let target = target(&mut spec);
        let seen = introspect::list_within(target, &shown, LOOK_WAIT, &mut |_| {}).await?;
        let answer = answer(&spec, &seen);
        Ok(match profile {
            Some(profile) => answer.with("policy", policy(&spec, &seen, profile)).into(),
            None => answer.into(),
        })
    })
}

/// Where the gateway would find it. A program gets the same environment as from the gateway.
fn target(spec: &mut ServerSpec) -> Target {
    match &spec.transport {
        TransportSpec::Http { url } | TransportSpec::Sse { url } => {
            let is_older = matches!(spec.transport, TransportSpec::Sse { .. });
            let spoken = if is_older { Spoken::Sse } else { Spoken::Http };
            // As the gateway does: a name that leads into a private network is not followed.
            let reach = Reach::allowing_private(spec.allow_private);
            Target::Url { url: url.clone(), spoken, headers: std::mem::take(&mut spec.headers), reach }
        }
        TransportSpec::Command(command) => {
            let inherited = INHERITED_ENV.iter().filter(|_| command.inherit_env);
            let inherited = inherited
                .filter_map(|name| Some(((*name).to_owned(), Secret::new(std::env::var(name).ok()?))));
            let own = command.env.iter().map(|env| (env.name.clone(), Secret::from(env.value.expose())));
            Target::Command(LocalCommand {
                argv: command.command.clone(),
                env: inherited.chain(own).collect(),
                is_env_whole: true,
                cwd: command.cwd.clone(),
            })
        }
    }
}

/// The profile's policy for these tools, in the classes that they have at the gateway.
fn policy(spec: &ServerSpec, seen: &introspect::Seen, profile: Profile) -> String {
    let names = seen.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
    let siblings = Siblings::of_names(&spec.name, names);
    let tools: Vec<ToolDefinition> =
        seen.tools.iter().filter_map(|tool| ToolDefinition::from_value(tool).ok()).collect();
    let class = |tool: &ToolDefinition| {
        spec.classes.get(&tool.name).copied().unwrap_or_else(|| classify(tool, &siblings).class)
    };
    pretty(&server_policy(tools.iter().map(|tool| (tool, class(tool))), profile).policy)
}

fn answer(spec: &ServerSpec, seen: &introspect::Seen) -> Object {
    Object::new()
        .with("name", spec.name.as_str())
        .with("era", seen.revision.as_str())
        .with("tools", super::tools::described(&spec.name, &spec.classes, &seen.tools))
}
