//! The built-in playground as the gateway sees it: a server at a special address.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use portcullis_gateway::ServerSpec;
use portcullis_playground::{KEY_HEADER, Playground, serve};
use portcullis_policy::Class;
use portcullis_state::{Secret, StateFault, grants::Token};
use tokio::net::TcpListener;

/// What stands for it in configurations and in the store.
pub(crate) const URL: &str = "builtin:playground";
/// The policy that `up` starts with.
pub(crate) const POLICY: &str = include_str!("playground-policy.json");

/// The class of each tool.
pub(crate) fn classes() -> BTreeMap<String, Class> {
    portcullis_playground::classes().map(|(tool, class)| (tool.to_owned(), class)).collect()
}

/// Whether this server stands for the playground.
pub(crate) fn is_meant(spec: &ServerSpec) -> bool {
    spec.transport.url() == Some(URL)
}

/// A playground that runs in this process until it ends.
pub(crate) struct Running {
    pub(crate) url: String,
    key: String,
}

impl Running {
    /// Starts one on a free loopback port. To be called inside the runtime.
    pub(crate) fn start() -> Result<Running, String> {
        let bound = bind().map_err(|error| format!("cannot start the playground: {error}"))?;
        let (listener, port) = bound;
        let key = Token::generate().map_err(|fault: StateFault| fault.to_string())?.expose().to_owned();
        let playground = Arc::new(Playground::new(key.clone()));
        tokio::spawn(serve(listener, playground, std::future::pending()));
        Ok(Running { url: format!("http://127.0.0.1:{port}/mcp"), key })
    }

    /// What the gateway must send along.
    pub(crate) fn header(&self) -> (String, Secret) {
        (KEY_HEADER.to_owned(), Secret::from(self.key.as_str()))
    }
}

fn bind() -> io::Result<(TcpListener, u16)> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    Ok((TcpListener::from_std(listener)?, port))
}
