//! The playground: an MCP server with harmless tools of all five risk classes, to try a policy on.
//!
//! It speaks both eras over streamable HTTP on a loopback port and is reached like any other server.
//! Everything it knows is in memory, bounded, and gone when it stops. It guards nothing by itself: that is
//! what the gateway in front of it is for. `up`, `serve` and `demo` start it; so do tests.

mod answer;
mod exchange;
mod respond;
mod serve;
mod session;
mod slow;
mod tool;
mod tools;
mod world;

use std::sync::{Mutex, PoisonError};

use portcullis_policy::Class;

pub use serve::serve;

use session::Sessions;
use tool::Tool;
use world::World;

/// The header that must carry the playground's key.
pub const KEY_HEADER: &str = "x-playground-key";

/// The class of each tool.
pub fn classes() -> impl Iterator<Item = (&'static str, Class)> {
    tools::TOOLS.iter().map(|tool| (tool.name, tool.class))
}

/// One playground: notes, messages and play money, and the sessions of its clients.
pub struct Playground {
    key: String,
    world: Mutex<World>,
    sessions: Sessions,
}

impl Playground {
    /// A fresh one. Only who sends `key` in [`KEY_HEADER`] is answered, so that nothing on the machine gets
    /// to it around the gateway.
    pub fn new(key: String) -> Playground {
        Playground { key, world: Mutex::new(World::new()), sessions: Sessions::default() }
    }

    fn with_world<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        // No tool leaves the world half changed, so a panic elsewhere does not spoil it.
        work(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn find_tool(name: &str) -> Option<&'static Tool> {
    tools::TOOLS.iter().find(|tool| tool.name == name)
}
