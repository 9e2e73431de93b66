//! In the agent's own protocol: messages on its stdin, or requests to its server and its events.

use rehang_words::Span;
use serde_json::Value;
use std::sync::Arc;

/// What a program sees that speaks the agent's own protocol: on its stdin, or as a client of its server.
#[derive(Debug, Clone, PartialEq)]
pub enum ProtocolSeen {
    /// A person wants this to be written to the agent's stdin (only if the strategy relays).
    Typed(Vec<u8>),
    /// The response to a request of its own.
    Response {
        /// The request's number, as the strategy gave it.
        id: u32,
        /// The HTTP status.
        status: u16,
        /// The body of the response.
        body: Arc<Value>,
    },
    /// A request of its own got no (whole) response: `closed`, `reset`, `refused`, `timeout`.
    Failed {
        /// The request's number.
        id: u32,
        /// Why there was none.
        why: String,
    },
    /// An event of the server's stream.
    Event(Arc<Value>),
    /// The event stream was cut; the host opens it again.
    EventsCut,
    /// How many direct children the server has; `None` if that is not available.
    Children(Option<u32>),
    /// Whether the server's pid was found.
    Pid(bool),
    /// Whether the companion's task worker is alive.
    Worker(bool),
    /// A person runs a command of the companion: `heal`, `status`, `cancel`.
    Command(String),
    /// The process of the task worker has just died: its prompt is given up. This is not a look: no one else notices
    /// it.
    WorkerDied,
}

/// What only a program does that speaks the agent's own protocol.
#[derive(Debug, Clone, PartialEq)]
pub enum ProtocolAct {
    /// Writes to the agent's stdin.
    Write(Vec<u8>),
    /// Sends a request to the agent's server.
    Request {
        /// The request's number; the strategy has not used it yet.
        id: u32,
        /// The method: `GET`, `POST`.
        method: &'static str,
        /// The path with its query.
        path: String,
        /// The JSON body; null for no body.
        body: Value,
        /// Its time limit; then [`ProtocolSeen::Failed`] says `timeout`.
        timeout: Option<Span>,
    },
    /// Gives up a request: its connection is closed, and no [`ProtocolSeen::Failed`] follows.
    Cancel {
        /// The request's number.
        id: u32,
    },
    /// Counts the server's direct children: [`ProtocolSeen::Children`] follows.
    CountChildren,
    /// Looks for the server's pid: [`ProtocolSeen::Pid`] follows.
    FindPid,
    /// Looks whether the task worker is alive: [`ProtocolSeen::Worker`] follows.
    LookAtWorker,
}
