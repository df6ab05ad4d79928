//! The server as a client sees it: the real binary, the official Python SDK over stdio and HTTP in
//! both protocol eras, and on the other side the stand-in image of the test kit. The stand-in is a
//! test peer: these tests show that our side is right, not that a real Pharo image agrees.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in what the tests share"
)]

mod cases;
mod sdk;
mod server;

mod arguments;
mod command_line;
mod failures;
mod http_guard;
mod images;
mod listing;
mod time;
mod tools;
mod values;
