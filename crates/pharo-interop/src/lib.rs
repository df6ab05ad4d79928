//! An MCP server for live Pharo Smalltalk images.
//!
//! An agent speaks MCP to this server, over stdio or streamable HTTP; the server speaks HTTP with
//! JSON to the interop server inside one or several images. It keeps nothing of its own: what it
//! knows about an image, the image has just said.
//!
//! Reading order: `settings` (what the user wants), `tools` (what is offered), `call` (the life of
//! one call), `image` (the way to an image), `answer` (what comes back), `mcp` and its transports.

mod command_line;
mod settings;
mod time_limits;

mod tools;

mod call;
mod ping;
mod waiting;

mod image;

mod answer;
mod bounded_text;
mod failure;

mod mcp;
mod transport;

mod console;

pub use command_line::CommandLine;
pub use console::say;
pub use settings::{Settings, SettingsFault};
pub use transport::serve;
