//! Records as text: terminal, Markdown, JSON, a self-contained HTML report, SARIF.
//!
//! Text of a definition passes through [`crate::inert`] first and is then escaped for the format, so that
//! nothing a server publishes can act where it is shown.

mod html;
mod json;
mod markdown;
mod sarif;
mod terminal;
mod wrap;

pub use html::html_report;
pub use json::{Scan, scan_json, server_json, tool_json};
pub use markdown::{server_markdown, tool_markdown};
pub use sarif::sarif;
pub use terminal::{Paint, View, server_terminal, tool_terminal};
