//! `fake-mcp`: a tool server of the Model Context Protocol, a process of its own, over HTTP or over its stdin and stdout;
//! and the client of one, which the fakes of the agents use.
//!
//! Invariants: what the server says follows from its [`ToolServer`] and from what it was asked; a client sends one request
//! at a time, in the order of the protocol.

mod client;
mod connection;
mod server;
mod start;

pub(crate) use client::{Came, Client};
pub use start::start;

use rehang_os::os::{CannotStart, Program};
use rehang_scenario::ToolServer;

/// The name that it is started under.
pub const NAME: &str = "fake-mcp";

/// What comes before the address, when a server over HTTP can be reached.
pub const LISTENING: &str = "fake-mcp listening on http://";

/// The port in the line of a server that listens.
pub fn port_in(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once(LISTENING)?;
    let (address, _) = rest.split_once('/')?;
    address.rsplit_once(':')?.1.parse().ok()
}

/// The command line of a server; `port`: where one over HTTP is to listen, on a free port if that is 0.
pub fn argv(server: &ToolServer, port: u16) -> Vec<String> {
    // a server holds nothing that JSON cannot express
    let plays = serde_json::to_string(server).unwrap_or_else(|_| "{}".to_owned());
    vec![NAME.to_owned(), "--plays".to_owned(), plays, "--port".to_owned(), port.to_string()]
}

/// The program for this command line.
///
/// # Errors
/// Arguments that do not fit.
pub fn program(argv: &[String]) -> Result<Box<dyn Program>, CannotStart> {
    let usage = || {
        CannotStart::new(
            "usage: fake-mcp --plays SERVER [--port PORT], with SERVER as `tool-server` of a scenario, in JSON",
        )
    };
    let (plays, port) = match argv.get(1..).unwrap_or_default() {
        [plays, server] if plays == "--plays" => (server, 0),
        [plays, server, port, number] if plays == "--plays" && port == "--port" => {
            (server, number.parse().map_err(|_| usage())?)
        }
        _ => return Err(usage()),
    };
    let server = serde_json::from_str(plays).map_err(|error| CannotStart::new(format!("no tool server: {error}")))?;
    Ok(Box::new(server::Served::new(server, port)))
}
