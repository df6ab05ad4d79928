//! MCP on standard input and output, for a client that starts this program.

use std::io::IsTerminal;

use rmcp::{ServiceExt, transport::stdio_pipes};

use super::stop::StopSignals;
use crate::{console::say, mcp::Server};

pub(super) async fn serve(server: Server, stop: StopSignals) -> Result<(), String> {
    if std::io::stdin().is_terminal() {
        say("waiting for an MCP client on standard input; Ctrl-C to stop, --help for more");
    }
    tokio::select! {
        outcome = until_the_client_leaves(server) => outcome,
        () = stop.received() => Ok(()),
    }
}

async fn until_the_client_leaves(server: Server) -> Result<(), String> {
    match server.serve(stdio_pipes()).await {
        Ok(running) => match running.waiting().await {
            Ok(_reason) => Ok(()),
            Err(fault) => Err(format!("serving ended unexpectedly: {fault}")),
        },
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(fault) => Err(format!("the client does not speak MCP: {fault}")),
    }
}
