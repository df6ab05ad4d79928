//! A server's tools with their classes, for whoever runs the gateway: outside any call, under no policy.
//!
//! `wrap` makes a policy out of them. What agents are shown comes from `filter.rs`.

use std::sync::Arc;

use portcullis_json::Value;
use portcullis_policy::Class;

use crate::catalogue;
use crate::gateway::Gateway;
use crate::stop::Stop;

/// A tool as its server lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTool {
    /// Its definition, as the server said it.
    pub definition: Value,
    /// None when the definition cannot be read as a tool's.
    pub class: Option<Class>,
}

impl Gateway {
    /// The tools of a server, by name; listed now unless that was done already. The error is for people.
    pub async fn tools(self: &Arc<Gateway>, server: &str) -> Result<Vec<ListedTool>, String> {
        let found = self.live().server(server).cloned();
        let found = found.ok_or_else(|| format!("there is no server `{server}`"))?;
        let known = catalogue::ensure(self, &found).await.map_err(|stop| match stop {
            Stop::Upstream(fault) => format!("the tools of `{server}` cannot be listed: {}", fault.text()),
            _ => format!("the tools of `{server}` cannot be listed: the decision log takes nothing"),
        })?;
        let mut tools: Vec<_> = known.tools.iter().cloned().collect();
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let listed = |tool: Arc<crate::tool::Tool>| ListedTool {
            definition: Value::Object(tool.definition.clone()),
            class: found.class_of(&tool).0,
        };
        Ok(tools.into_iter().map(listed).collect())
    }
}
