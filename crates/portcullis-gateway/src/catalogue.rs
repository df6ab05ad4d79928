//! A server's tools as the gateway listed them itself: names, classes, schemas, mirrored arguments.
//!
//! Known before any client asks, so that a hidden tool and one that is not there look alike and `validate`
//! has a schema. Listed at first use, after `list_changed`, when what a client is shown differs from what is
//! known, when a tool is asked for that is not known, and when the list is old. Bounded in number and size.

mod listing;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use portcullis_json::{Object, Value};
use portcullis_mcp::Era;
use portcullis_mcp::headers::ParamHeaders;
use portcullis_mcp::list::read_tools;
use portcullis_mcp::tool::ToolDefinition;
use portcullis_policy::{Class, Dialect, JsonSchema};

use crate::gateway::Gateway;
use crate::once::Once;
use crate::server::Server;
use crate::settings::{Settings, milliseconds};
use crate::stop::Stop;

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) class: Option<Class>,
    /// All of it, as the server said it.
    definition: Object,
    /// Compiled when the tool is first called: a list can be long.
    compiled: OnceLock<Option<JsonSchema>>,
    /// None when the schema's marks break the rules.
    pub(crate) headers: Option<ParamHeaders>,
    /// Only a client's list showed it, ours did not.
    learned: bool,
}

impl Tool {
    /// The schema of its arguments; none when it does not compile, and `validate` then denies.
    pub(crate) fn schema(&self) -> Option<&JsonSchema> {
        let compile = || JsonSchema::compile(self.definition.get("inputSchema")?, Dialect::AsDeclared).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// Tools by name, within bounds.
#[derive(Clone, Default)]
pub(crate) struct Tools {
    by_name: HashMap<String, Arc<Tool>>,
    /// What they take in memory, about.
    bytes: usize,
}

/// One tool more than there may be, or too large a one.
struct TooMuch;

impl Tools {
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.by_name.values()
    }

    fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Takes the place of one of the same name.
    fn put(&mut self, tool: Arc<Tool>, settings: &Settings) -> Result<(), TooMuch> {
        let before = self.by_name.get(&tool.name).map(|tool| footprint(&tool.definition));
        let count = self.by_name.len() + usize::from(before.is_none());
        let bytes = self.bytes - before.unwrap_or_default() + footprint(&tool.definition);
        if count > settings.tools_max || bytes > settings.tools_bytes_max {
            return Err(TooMuch);
        }
        self.bytes = bytes;
        self.by_name.insert(tool.name.clone(), tool);
        Ok(())
    }
}

/// Bytes that an object takes in memory, about.
fn footprint(object: &Object) -> usize {
    object.iter().map(|member| size_of_val(member) + member.key.len() + footprint_of(&member.value)).sum()
}

fn footprint_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.spelling().len(),
        Value::String(text) => text.len(),
        Value::Array(elements) => {
            elements.iter().map(|element| size_of_val(element) + footprint_of(element)).sum()
        }
        Value::Object(object) => footprint(object),
    }
}

/// The tools of one listing.
pub(crate) struct Known {
    pub(crate) tools: Tools,
    at: Instant,
    /// What the catalogue's was when the listing began.
    generation: u64,
}

/// The tools of one server.
#[derive(Default)]
pub(crate) struct Catalogue {
    known: ArcSwapOption<Known>,
    /// Moves on with each sign that what is known does not hold any more.
    generation: AtomicU64,
    listing: Once<Arc<Known>>,
}

impl Catalogue {
    /// The server said, or showed, that its tools changed.
    pub(crate) fn mark_stale(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// What is known at the moment, without asking.
    pub(crate) fn known(&self) -> Option<Arc<Known>> {
        self.known.load_full()
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn fresh(&self, settings: &Settings) -> Option<Arc<Known>> {
        let is_fresh = |known: &Arc<Known>| {
            known.generation == self.generation()
                && known.at.elapsed() < milliseconds(settings.tools_age_ms_max)
        };
        self.known.load_full().filter(is_fresh)
    }

    /// A new listing. Tools that only clients were shown stay: the server shows them to some.
    fn replace(&self, listed: Tools, generation: u64, settings: &Settings) -> Arc<Known> {
        let at = Instant::now();
        let mut known = Arc::new(Known { tools: Tools::default(), at, generation });
        self.known.rcu(|before| {
            let mut tools = listed.clone();
            let learned = before.iter().flat_map(|before| before.tools.iter()).filter(|tool| tool.learned);
            for tool in learned {
                if tools.get(&tool.name).is_none() && tools.put(tool.clone(), settings).is_err() {
                    break;
                }
            }
            known = Arc::new(Known { tools, at, generation });
            Some(known.clone())
        });
        known
    }

    /// What a client is shown: a tool that our own list did not show is learned, and one that reads
    /// otherwise than we know it makes us list again before anything is judged with it.
    pub(crate) fn learn(&self, server: &Server, result: &Object, settings: &Settings) {
        let (Some(known), Ok(page)) = (self.known(), read_tools(result)) else {
            return;
        };
        let mut new = Vec::new();
        for shown in &page.elements {
            match known.tools.get(shown.name) {
                Some(tool) if tool.definition == *shown.definition => {}
                Some(tool) if !tool.learned => return self.mark_stale(),
                _ => new.push(Arc::new(Tool { learned: true, ..compile(server, shown) })),
            }
        }
        if !new.is_empty() {
            self.add_learned(&new, settings);
        }
    }

    fn add_learned(&self, new: &[Arc<Tool>], settings: &Settings) {
        self.known.rcu(|known| {
            let known = known.as_ref()?;
            let mut tools = known.tools.clone();
            for tool in new {
                let is_ours = tools.get(&tool.name).is_some_and(|tool| !tool.learned);
                if !is_ours && tools.put(tool.clone(), settings).is_err() {
                    break;
                }
            }
            Some(Arc::new(Known { tools, at: known.at, generation: known.generation }))
        });
    }
}

/// The tool of this name; none if the server does not have it.
pub(crate) async fn find(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    name: &str,
) -> Result<Option<Arc<Tool>>, Stop> {
    let settings = &gateway.settings;
    let known = match server.catalogue.fresh(settings) {
        Some(known) => known,
        None => listing::refresh(gateway, server).await?,
    };
    let age = known.at.elapsed();
    if age > milliseconds(settings.tools_age_ms_max / 2) {
        listing::renew(gateway, server);
    }
    if let Some(tool) = known.tools.get(name) {
        return Ok(Some(tool.clone()));
    }
    if age < milliseconds(settings.tools_recheck_ms) {
        return Ok(None);
    }
    let known = listing::refresh(gateway, server).await?;
    Ok(known.tools.get(name).cloned())
}

pub(crate) fn compile(server: &Server, tool: &ToolDefinition<'_>) -> Tool {
    Tool {
        name: tool.name.to_owned(),
        class: server.config.classes.get(tool.name).copied(),
        definition: tool.definition.clone(),
        compiled: OnceLock::new(),
        headers: ParamHeaders::from_schema(tool.input_schema).ok(),
        learned: false,
    }
}

/// Whether a listing in this era may show a tool whose definition breaks the rules for mirrored arguments.
pub(crate) fn may_show(era: Era, definition: &Object) -> bool {
    let schema = definition.get("inputSchema").and_then(Value::as_object);
    !era.is_modern() || schema.is_none_or(|schema| ParamHeaders::from_schema(schema).is_ok())
}
