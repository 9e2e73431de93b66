//! What comes in while a cell runs: from the agent, from its server, and from the people and clients of the scenario.
//!
//! Invariant: it is data; the sender does not know who looks at it.

use crate::processes::Look;
use crate::report::{Ask, Exit, Outcome, Via};
use rehang_wire::opencode::RouteAnswers;
use std::time::Instant;

/// Something that came in.
#[derive(Debug)]
pub enum Input {
    /// Bytes of a stream; `None` is its end.
    Output(Stream, Option<Vec<u8>>),
    /// The agent's process ended.
    Exited(Exit),
    /// The sandbox is gone.
    Gone,
    /// The processes were looked at; when that began.
    Looked(Instant, Option<Box<Look>>),
    /// A client's wire.
    Client(Via, String),
    /// An ask was opened.
    Asked(Ask),
    /// An ask was closed.
    Closed(String),
    /// A client knows how it ended.
    Settled(Outcome),
    /// Somebody of the scenario ended it, by this act.
    Stops(&'static str),
    /// What the routes of the server answered.
    Routes(RouteAnswers),
    /// Those outside have looked at it.
    Seen,
    /// What a client could not do.
    Problem(String),
}

/// A stream of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Its stdout.
    Stdout,
    /// Its stderr.
    Stderr,
    /// Its terminal.
    Screen,
}
