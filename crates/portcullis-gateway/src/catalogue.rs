//! A server's tools as the gateway listed them itself; `tool.rs` has what is known of each.
//!
//! Known before any client asks, so that a hidden tool and one that is not there look alike and `validate`
//! has a schema. Listed at first use, after `list_changed`, when what a client is shown differs from what is
//! known, when a tool is asked for that is not known, and when the list is old. Bounded in number and size.

mod listing;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use portcullis_catalogue::fingerprint::of_definition;
use portcullis_json::Object;
use portcullis_mcp::Era;
use portcullis_mcp::headers::ParamHeaders;
use portcullis_mcp::list::read_tools;
use portcullis_mcp::tool::ToolDefinition;

use crate::gateway::Gateway;
use crate::once::Once;
use crate::pins::{self, Sighting};
use crate::server::Server;
use crate::settings::{Settings, milliseconds};
use crate::stop::{GatewayFault, Stop};
use crate::tool::{Tool, Tools, Workshop, is_sendable};

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

    /// The tool of this name, if it is known.
    pub(crate) fn known_tool(&self, name: &str) -> Option<Arc<Tool>> {
        self.known.load().as_ref()?.tools.get(name).cloned()
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
            // What is withheld may have been accepted since: it is learned anew.
            let learned = learned.filter(|tool| !tool.withheld);
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
    pub(crate) fn learn(&self, gateway: &Gateway, server: &Server, result: &Object) {
        let (Some(known), Ok(page)) = (self.known(), read_tools(result)) else {
            return;
        };
        let mut new = Vec::new();
        for shown in distinct(&page.elements) {
            match known.tools.get(shown.name) {
                Some(tool) if tool.definition == *shown.definition => {}
                Some(tool) if !tool.learned => return self.mark_stale(),
                _ => new.push(shown),
            }
        }
        if new.is_empty() {
            return;
        }
        let names = known.tools.iter().map(|tool| tool.name.as_str());
        let workshop = Workshop::new(gateway, &server.config, names.chain(new.iter().map(|tool| tool.name)));
        let learned = new.into_iter().map(|tool| workshop.learned_tool(tool));
        self.add_learned(&learned.map(Arc::new).collect::<Vec<_>>(), &gateway.settings);
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

/// What is known, listed now if it is not fresh.
pub(crate) async fn ensure(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Arc<Known>, Stop> {
    match server.catalogue.fresh(&gateway.settings) {
        Some(known) => Ok(known),
        None => Box::pin(listing::refresh(gateway, server)).await,
    }
}

/// Lists again in the background, whatever is known.
pub(crate) fn look_again(gateway: &Arc<Gateway>, server: &Arc<Server>) {
    server.catalogue.mark_stale();
    listing::renew(gateway, server);
}

/// What a client's own list shows is pinned before anybody sees it, or held back.
pub(crate) async fn meet(gateway: &Arc<Gateway>, server: &Arc<Server>, result: &Object) -> Result<(), Stop> {
    if is_met(gateway, server, result) {
        return Ok(());
    }
    // Our own, whole list first: only that shows which tool has gone, so that a rename is told from a new tool.
    server.catalogue.mark_stale();
    ensure(gateway, server).await?;
    if is_met(gateway, server, result) {
        return Ok(());
    }
    let (gateway, server, result) = (gateway.clone(), server.clone(), result.clone());
    let work = tokio::task::spawn_blocking(move || {
        let page = read_tools(&result).map(|page| page.elements).unwrap_or_default();
        let page = distinct(&page);
        let seen: Vec<_> = page.iter().map(|tool| Sighting::of(tool.name, tool.definition)).collect();
        let known = server.catalogue.known();
        let known = known.iter().flat_map(|known| known.tools.iter()).map(|tool| tool.name.as_str());
        let present = known.chain(seen.iter().map(|seen| seen.name)).collect();
        pins::take_in(&gateway, server.name(), &seen, &present)
    });
    work.await.unwrap_or(Err(GatewayFault::PinsUnavailable.into()))
}

/// Of two with one name the first counts, in what is judged as in what clients are shown.
fn distinct<'t, 'd>(tools: impl IntoIterator<Item = &'t ToolDefinition<'d>>) -> Vec<&'t ToolDefinition<'d>>
where
    'd: 't,
{
    let mut names = HashSet::new();
    tools.into_iter().filter(|tool| names.insert(tool.name)).collect()
}

/// Whether every tool of a page is one that is pinned, or that we know to be withheld.
fn is_met(gateway: &Gateway, server: &Server, result: &Object) -> bool {
    let known = server.catalogue.known();
    let is_known = |tool: &ToolDefinition<'_>| {
        let known = known.as_ref().and_then(|known| known.tools.get(tool.name));
        known.is_some_and(|known| known.definition == *tool.definition)
    };
    let is_pinned = |tool: &ToolDefinition<'_>| {
        pins::is_pinned(gateway, server.name(), tool.name, of_definition(tool.definition))
    };
    let all = |page: &[ToolDefinition<'_>]| {
        distinct(page).into_iter().all(|tool| is_known(tool) || is_pinned(tool))
    };
    read_tools(result).is_ok_and(|page| all(&page.elements))
}

/// The tool of this name; none if the server does not have it.
pub(crate) async fn find(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    name: &str,
) -> Result<Option<Arc<Tool>>, Stop> {
    let settings = &gateway.settings;
    let known = ensure(gateway, server).await?;
    if known.at.elapsed() > milliseconds(settings.tools_age_ms_max / 2) {
        listing::renew(gateway, server);
    }
    if let Some(tool) = known.tools.get(name) {
        return Ok(Some(tool.clone()));
    }
    let known = Box::pin(recheck(gateway, server)).await;
    Ok(known.and_then(|known| known.tools.get(name).cloned()))
}

/// Lists again, unless the list is young. A name that is hidden takes this way too, so that an agent cannot
/// tell it by the time from one that is not there; and that the server does not list now changes nothing.
pub(crate) async fn recheck(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Option<Arc<Known>> {
    let young = milliseconds(gateway.settings.tools_recheck_ms);
    if server.catalogue.known().is_some_and(|known| known.at.elapsed() < young) {
        return None;
    }
    listing::refresh(gateway, server).await.ok()
}

/// Whether a listing in this era may show this tool: whether a call of it could be judged.
pub(crate) fn may_show(era: Era, definition: &Object) -> bool {
    let may_be_sent = |tool: ToolDefinition<'_>| {
        is_sendable(era, ParamHeaders::from_schema(tool.input_schema).ok().as_ref())
    };
    ToolDefinition::of(definition).is_ok_and(may_be_sent)
}
