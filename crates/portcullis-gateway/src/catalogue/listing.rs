//! Asking a server for its tools: every page, within one time limit, a number of tools and a size.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use portcullis_json::Object;
use portcullis_mcp::Outcome;
use portcullis_mcp::list::read_tools;
use tokio::time::{Instant, timeout_at};

use super::{Known, Tools};
use crate::gateway::Gateway;
use crate::once::Patience;
use crate::own::{self, Place};
use crate::probe;
use crate::server::Server;
use crate::stop::{Stop, UpstreamFault};

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
    let tools = list(&gateway, &server).await?;
    tracing::info!(server = server.name(), tools = tools.len(), "listed the tools of a server");
    Ok(server.catalogue.replace(tools, generation, &gateway.settings))
}

async fn list(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Tools, Stop> {
    let deadline = Instant::now() + Patience::of(&gateway.settings).whole.saturating_sub(MARGIN);
    let eras = before(deadline, probe::eras(gateway, server)).await?;
    if eras.modern {
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

async fn list_in(gateway: &Arc<Gateway>, server: &Arc<Server>, place: &Place) -> Result<Tools, Stop> {
    let mut tools = Tools::default();
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
        for tool in &page.elements {
            let taken = tools.put(Arc::new(super::compile(server, tool)), &gateway.settings);
            taken.map_err(|_| UpstreamFault::NotMcp("more tools than allowed"))?;
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
