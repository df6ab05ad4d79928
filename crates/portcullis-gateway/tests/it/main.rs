//! The gateway over real sockets, with a server of our own behind it that notes what it received.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "in tests a panic is the message, also in the functions that the tests share"
)]

mod client;
mod fake_server;
mod local;
mod rig;

mod calls;
mod classes;
mod doors;
mod faults;
mod hostile;
mod legacy;
mod legacy_sse;
mod limits_hold;
mod lists;
mod local_faults;
mod local_servers;
mod lying_servers;
mod pins;
mod records;
mod revokes;
mod ssrf;
mod streams;
mod tasks;
mod tls;
mod wire;
