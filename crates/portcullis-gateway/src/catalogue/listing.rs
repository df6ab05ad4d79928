//! Asking a server for its tools: every page, within one time limit, a number of tools and a size.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use portcullis_json::Object;
use portcullis_mcp::Outcome;
use portcullis_mcp::list::read_tools;
use tokio::time::{Instant, timeout_at};

use super::Known;
use crate::gateway::Gateway;
use crate::once::Patience;
use crate::own::{self, Place};
use crate::pins::{self, Sighting};
use crate::probe;
use crate::server::Server;
use crate::settings::Settings;
use crate::stop::{Stop, UpstreamFault};
use crate::tool::{self, Tools, Workshop};

/// Pages of one list.
const PAGES_MAX: usize = 1_000;
/// Of the whole time, for what comes after the deadline.
const MARGIN: Duration = Duration::from_millis(100);

/// A list that is at least as new as this call of it.
pub(super) async fn refresh(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Arc<Known>, Stop> {
    let catalogue = &server.catalogue;
    let wanted = catalogue.generation();
    let listed = ask(gateway, server).await?;
    // A listing that was under way may have begun before the change that made us ask.
    match listed.generation >= wanted {
        true => Ok(listed),
        false => ask(gateway, server).await,
    }
}

async fn ask(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Arc<Known>, Stop> {
    let question = || run(gateway.clone(), server.clone());
    server.catalogue.listing.ask(Patience::of(&gateway.settings), question).await
}

/// Lists again in the background; what is known serves meanwhile.
pub(super) fn renew(gateway: &Arc<Gateway>, server: &Arc<Server>) {
    let question = || run(gateway.clone(), server.clone());
    server.catalogue.listing.start(Patience::of(&gateway.settings), question);
}

/// What is announced as changed while we list makes the list old from the start.
async fn run(gateway: Arc<Gateway>, server: Arc<Server>) -> Result<Arc<Known>, Stop> {
    let generation = server.catalogue.generation();
    let pages = list(&gateway, &server).await?;
    let tools = make(&gateway, &server, pages).await?;
    tracing::info!(server = server.name(), tools = tools.len(), "listed the tools of a server");
    let before = server.catalogue.known();
    let known = server.catalogue.replace(tools, generation, &gateway.settings);
    if before.is_some_and(|before| before.tools.offered() != known.tools.offered()) {
        gateway.announce_tools();
    }
    Ok(known)
}

async fn list(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Pages, Stop> {
    let deadline = Instant::now() + Patience::of(&gateway.settings).whole.saturating_sub(MARGIN);
    if before(deadline, probe::lists_modern(gateway, server)).await? {
        return before(deadline, list_in(gateway, server, &Place::modern())).await;
    }
    let place = before(deadline, own::open_session(gateway, server)).await?;
    let listed = before(deadline, list_in(gateway, server, &place)).await;
    if place.session.is_some() {
        // Nobody waits for the end of our own session.
        let (gateway, server) = (gateway.clone(), server.clone());
        tokio::spawn(async move { own::end_session(&gateway, &server, place).await });
    }
    listed
}

async fn before<T>(deadline: Instant, step: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    timeout_at(deadline, step).await.unwrap_or(Err(UpstreamFault::TimedOut.into()))
}

async fn list_in(gateway: &Arc<Gateway>, server: &Arc<Server>, place: &Place) -> Result<Pages, Stop> {
    let mut pages = Pages::default();
    let mut cursors = HashSet::new();
    let mut params = Object::new();
    for _ in 0..PAGES_MAX {
        let answered = own::request(gateway, server, place.clone(), "tools/list", params).await?;
        let result = match answered.outcome {
            Outcome::Result(result) => result,
            // A server without tools need not know the method.
            Outcome::Error(error) if error.code == portcullis_mcp::code::METHOD_NOT_FOUND => {
                return Ok(pages);
            }
            Outcome::Error(_) => return Err(UpstreamFault::NotMcp("it does not list its tools").into()),
        };
        let page = read_tools(&result).map_err(|_| UpstreamFault::NotMcp("a list that cannot be read"))?;
        let (cursor, tools) = (page.next_cursor.map(str::to_owned), page.elements.len());
        pages.add(result, tools, &gateway.settings)?;
        match cursor {
            Some(cursor) if cursors.insert(cursor.clone()) => {
                params = Object::new().with("cursor", cursor);
            }
            _ => return Ok(pages),
        }
    }
    Err(UpstreamFault::NotMcp("a list without end").into())
}

/// What a server listed, within bounds.
#[derive(Default)]
struct Pages {
    results: Vec<Object>,
    tools: usize,
    bytes: usize,
}

const TOO_MUCH: UpstreamFault = UpstreamFault::NotMcp("more tools than allowed");

impl Pages {
    fn add(&mut self, result: Object, tools: usize, settings: &Settings) -> Result<(), UpstreamFault> {
        self.tools += tools;
        self.bytes = self.bytes.saturating_add(tool::footprint(&result));
        self.results.push(result);
        let fits = self.tools <= settings.tools_max && self.bytes <= settings.tools_bytes_max;
        if fits { Ok(()) } else { Err(TOO_MUCH) }
    }

    /// Pinned first, then each judged beside its siblings.
    fn tools(&self, gateway: &Gateway, server: &Server) -> Result<Tools, Stop> {
        let pages: Vec<_> = self.results.iter().filter_map(|result| read_tools(result).ok()).collect();
        let listed = super::distinct(pages.iter().flat_map(|page| &page.elements));
        let names = || listed.iter().map(|tool| tool.name);
        let seen: Vec<_> = listed.iter().map(|tool| Sighting::of(tool.name, tool.definition)).collect();
        let known = server.catalogue.known();
        let learned = known.iter().flat_map(|known| known.tools.iter()).filter(|tool| tool.learned);
        let present = names().chain(learned.map(|tool| tool.name.as_str())).collect();
        pins::take_in(gateway, server.name(), &seen, &present)?;
        let workshop = Workshop::new(gateway, &server.config, names());
        let mut tools = Tools::default();
        for (tool, seen) in listed.iter().zip(&seen) {
            let tool = Arc::new(workshop.tool(tool, seen.fingerprint));
            tools.put(tool, &gateway.settings).map_err(|_| TOO_MUCH)?;
        }
        Ok(tools)
    }
}

/// Judging many tools takes a while: not on a thread that serves.
async fn make(gateway: &Arc<Gateway>, server: &Arc<Server>, pages: Pages) -> Result<Tools, Stop> {
    let (gateway, server) = (gateway.clone(), server.clone());
    let work = tokio::task::spawn_blocking(move || pages.tools(&gateway, &server));
    work.await.unwrap_or(Err(UpstreamFault::NotMcp("tools that cannot be judged").into()))
}
