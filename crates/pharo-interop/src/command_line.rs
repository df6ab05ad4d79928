//! The command line, as typed. What it means together with the environment is decided in `settings`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Parser;

/// An MCP server for live Pharo Smalltalk images
///
/// Without `--http` it speaks MCP on standard input and output, for a client that starts it.
#[derive(Debug, Parser)]
#[command(name = "pharo-interop-mcp", version, after_long_help = ENVIRONMENT)]
pub struct CommandLine {
    /// An image by name, repeatable; the first one is the default
    ///
    /// Example: `--image dev=http://localhost:8086 --image ci=http://localhost:8087`. With several,
    /// every tool takes an `image` argument.
    #[arg(long = "image", value_name = "NAME=URL")]
    pub(crate) images: Vec<String>,

    /// Serve streamable HTTP at this address instead of stdio, under the path /mcp
    ///
    /// Port 0 picks a free one; the address is printed. Beyond loopback a token is required.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,

    /// File whose first line is the bearer token that HTTP clients must show
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// A further name under which HTTP clients may reach this server, repeatable
    #[arg(long = "allow-host", value_name = "HOST", requires = "http")]
    pub(crate) hosts: Vec<String>,

    /// A browser origin that may call this server, such as `https://app.example:443`, repeatable
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,

    /// Offer only the tools that read
    #[arg(long)]
    pub(crate) read_only: bool,
}

const ENVIRONMENT: &str = "\
Environment:
  PHARO_SIS_URL             the image, when no --image is given
  SIS_PORT, PHARO_SIS_PORT  the image's port on localhost (default 8086); SIS_PORT wins
  PHARO_MCP_TIMEOUT         time limit of every tool, in seconds
  PHARO_MCP_TIMEOUT_EVAL    time limit of one tool, here `eval`; any tool name in capitals
  PHARO_MCP_TOKEN           bearer token that HTTP clients must show";
