//! The data plane: an agent's client talks to this, and nothing reaches a server without a verdict.
//!
//! [`Gateway`] is the whole of it: [`Settings`] bound it, a [`Snapshot`] configures it, [`State`] is what it
//! writes to. [`serve`] answers on a socket until told to stop. Start reading at `pipeline.rs`.
//!
//! HTTP/1.1 only, on both sides. This crate knows nothing of the console, of files or of commands.

mod listener;
mod pipeline;
mod session_verbs;
mod stdio_front;

// The stages, in their order.
mod approval;
mod authenticate;
mod conclude;
mod decide;
mod filter;
mod forward;
mod limits;
mod methods;
mod parse;
mod prepare;
mod question;
mod record;
mod relay;
mod respond;
mod returning;

// What they share.
mod addresses;
mod body;
mod budget;
mod catalogue;
mod duplex;
mod events;
mod gateway;
mod lanes;
mod ledger;
mod lines;
mod listed;
mod metrics;
mod once;
mod own;
mod pins;
mod probe;
mod process;
mod room;
mod scrub;
mod server;
mod sessions;
mod settings;
mod shown;
mod snapshot;
mod stall;
mod stop;
mod strict_heads;
mod tasks;
mod tool;
mod transport;
mod watcher;

pub use addresses::{Reach, Resolver, check_url as check_address};
pub use forward::sse_address;
pub use gateway::{Clock, Gateway, State};
pub use ledger::{AcceptFault, Ledger, LedgerFault};
pub use listed::ListedTool;
pub use listener::serve;
pub use process::OutputLine;
pub use settings::{Settings, UPSTREAM_ANSWER_TIMEOUT_MS_CAP};
pub use snapshot::{ActivePolicy, EraSetting, SERVERS_MAX, ServerSpec, Snapshot, SnapshotFault};
pub use stdio_front::{PipeClient, PipeEnd, serve_pipe};
pub use transport::{CommandSpec, EnvSpec, INHERITED_ENV, ProcessMode, TransportSpec};
pub use watcher::{Exchange, Watcher};
