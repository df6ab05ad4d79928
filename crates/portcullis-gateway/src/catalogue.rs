//! A server's tools as the gateway listed them itself: names, classes, schemas, mirrored arguments.
//!
//! Known before any client asks, so that a hidden tool and one that is not there look alike and `validate`
//! has a schema. Listed at first use, after `list_changed`, and when a tool is asked for that is not known.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use portcullis_json::{Object, Value};
use portcullis_mcp::headers::ParamHeaders;
use portcullis_mcp::list::read_tools;
use portcullis_mcp::tool::ToolDefinition;
use portcullis_mcp::{Era, Outcome};
use portcullis_policy::{Class, Dialect, JsonSchema};

use crate::gateway::Gateway;
use crate::own::{self, Place};
use crate::probe;
use crate::server::Server;
use crate::settings::milliseconds;
use crate::stop::{Stop, UpstreamFault};

/// Pages of one list.
const PAGES_MAX: usize = 1_000;

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) class: Option<Class>,
    input_schema: Value,
    /// Compiled when the tool is first called: a list can be long.
    compiled: OnceLock<Option<JsonSchema>>,
    /// None when the schema's marks break the rules.
    pub(crate) headers: Option<ParamHeaders>,
}

impl Tool {
    /// The schema of its arguments; none when it does not compile, and `validate` then denies.
    pub(crate) fn schema(&self) -> Option<&JsonSchema> {
        let compile = || JsonSchema::compile(&self.input_schema, Dialect::AsDeclared).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// The tools of one listing.
pub(crate) struct Known {
    pub(crate) tools: HashMap<String, Arc<Tool>>,
    at: Instant,
}

/// The tools of one server.
#[derive(Default)]
pub(crate) struct Catalogue {
    known: ArcSwapOption<Known>,
    stale: AtomicBool,
    listing: tokio::sync::Mutex<()>,
}

impl Catalogue {
    /// The server said that its tools changed.
    pub(crate) fn mark_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }

    /// What is known at the moment, without asking.
    pub(crate) fn known(&self) -> Option<Arc<Known>> {
        self.known.load_full()
    }

    fn fresh(&self) -> Option<Arc<Known>> {
        self.known.load_full().filter(|_| !self.stale.load(Ordering::Acquire))
    }

    /// Tools that a client's own listing showed and ours did not: a server may show them only to some.
    pub(crate) fn learn(&self, server: &Server, result: &Object) {
        let (Some(known), Ok(page)) = (self.known(), read_tools(result)) else {
            return;
        };
        let new: Vec<_> = page.elements.iter().filter(|tool| !known.tools.contains_key(tool.name)).collect();
        if new.is_empty() {
            return;
        }
        let mut tools = known.tools.clone();
        tools.extend(new.into_iter().map(|tool| (tool.name.to_owned(), Arc::new(compile(server, tool)))));
        self.known.store(Some(Arc::new(Known { tools, at: known.at })));
    }
}

/// The tool of this name; none if the server does not have it.
pub(crate) async fn find(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    name: &str,
) -> Result<Option<Arc<Tool>>, Stop> {
    let known = match server.catalogue.fresh() {
        Some(known) => known,
        None => refresh(gateway, server, None).await?,
    };
    if let Some(tool) = known.tools.get(name) {
        return Ok(Some(tool.clone()));
    }
    if known.at.elapsed() < milliseconds(gateway.settings.tools_recheck_ms) {
        return Ok(None);
    }
    let known = refresh(gateway, server, Some(known.at)).await?;
    Ok(known.tools.get(name).cloned())
}

/// Lists, unless another call has done so meanwhile. `than`: newer than this is needed.
async fn refresh(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    than: Option<Instant>,
) -> Result<Arc<Known>, Stop> {
    let catalogue = &server.catalogue;
    let _one_at_a_time = catalogue.listing.lock().await;
    if let Some(known) = catalogue.fresh()
        && than.is_none_or(|than| known.at > than)
    {
        return Ok(known);
    }
    // A change that is announced while we list must be seen afterwards.
    let was_stale = catalogue.stale.swap(false, Ordering::AcqRel);
    match list(gateway, server).await {
        Ok(tools) => {
            tracing::info!(server = server.name(), tools = tools.len(), "listed the tools of a server");
            let known = Arc::new(Known { tools, at: Instant::now() });
            catalogue.known.store(Some(known.clone()));
            Ok(known)
        }
        Err(stop) => {
            if was_stale {
                catalogue.mark_stale();
            }
            Err(stop)
        }
    }
}

type Tools = HashMap<String, Arc<Tool>>;

async fn list(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Tools, Stop> {
    if probe::lists_modern(gateway, server).await? {
        return list_in(gateway, server, &Place::modern()).await;
    }
    let place = own::open_session(gateway, server).await?;
    let listed = list_in(gateway, server, &place).await;
    if place.session.is_some() {
        own::end_session(gateway, server, place).await;
    }
    listed
}

async fn list_in(gateway: &Arc<Gateway>, server: &Arc<Server>, place: &Place) -> Result<Tools, Stop> {
    let mut tools = Tools::new();
    let mut cursors = HashSet::new();
    let mut params = Object::new();
    for _ in 0..PAGES_MAX {
        let answered = own::request(gateway, server, place.clone(), "tools/list", params).await?;
        let result = match answered.outcome {
            Outcome::Result(result) => result,
            // A server without tools need not know the method.
            Outcome::Error(error) if error.code == portcullis_mcp::code::METHOD_NOT_FOUND => {
                return Ok(tools);
            }
            Outcome::Error(_) => return Err(UpstreamFault::NotMcp("it does not list its tools").into()),
        };
        let page = read_tools(&result).map_err(|_| UpstreamFault::NotMcp("a list that cannot be read"))?;
        tools
            .extend(page.elements.iter().map(|tool| (tool.name.to_owned(), Arc::new(compile(server, tool)))));
        if tools.len() > gateway.settings.tools_max {
            return Err(UpstreamFault::NotMcp("more tools than allowed").into());
        }
        match page.next_cursor {
            Some(cursor) if cursors.insert(cursor.to_owned()) => {
                params = Object::new().with("cursor", cursor);
            }
            _ => return Ok(tools),
        }
    }
    Err(UpstreamFault::NotMcp("a list without end").into())
}

pub(crate) fn compile(server: &Server, tool: &ToolDefinition<'_>) -> Tool {
    Tool {
        name: tool.name.to_owned(),
        class: server.config.classes.get(tool.name).copied(),
        input_schema: Value::Object(tool.input_schema.clone()),
        compiled: OnceLock::new(),
        headers: ParamHeaders::from_schema(tool.input_schema).ok(),
    }
}

/// Whether a listing in this era may show a tool whose definition breaks the rules for mirrored arguments.
pub(crate) fn may_show(era: Era, definition: &Object) -> bool {
    let schema = definition.get("inputSchema").and_then(Value::as_object);
    !era.is_modern() || schema.is_none_or(|schema| ParamHeaders::from_schema(schema).is_ok())
}
