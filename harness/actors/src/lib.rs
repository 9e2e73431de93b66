//! Who else takes part in a cell: the people, the clients that drive the agent, and the faults on the wire between a
//! server and its clients.
//!
//! An actor is told what happens ([`Input`]) and what time it is; it says what it does ([`Output`]) and when it wants to
//! act by itself (`deadline`). A stage carries the outputs out: the scheduler in virtual time, the live stage on the
//! wall clock. So a scenario's people and clients are the same on both.
//!
//! Invariant: no clock, no socket, no process; the same inputs at the same times give the same outputs.

mod answer;
mod client;
mod driver;
mod editor;
pub mod faults;
pub mod hub;
mod person;
mod sight;

pub use client::{SessionClient, port_after, reconnect};
pub use driver::Driver;
pub use editor::Editor;
pub use person::Someone;
pub use sight::{Sight, asked_by};

use rehang_scenario::{Canon, VTime};
use rehang_trace::{Json, RunEnd};
use serde_json::Value;

/// The prompt that every agent is given. It names no tool and no file, so that a real agent only asks its model.
pub const PROMPT: &str = "go";

/// A party that takes part in a cell.
pub trait Actor {
    /// When it wants to act by itself ([`Actor::tick`]).
    fn deadline(&self) -> Option<VTime>;
    /// Takes what happens, and adds what it does.
    fn on(&mut self, now: VTime, input: Input, out: &mut Vec<Output>);
    /// Does all that is due now.
    fn tick(&mut self, now: VTime, out: &mut Vec<Output>);
    /// Writes its state; `place` gives a request of its own as its place among those that are open, from 1, and 0 if it
    /// is over.
    fn canon(&self, place: &dyn Fn(u32) -> u64, canon: &mut Canon);
    /// What it waits for, if that explains a hang.
    fn waits_for(&self) -> Option<&'static str> {
        None
    }
}

/// One thing that an actor is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The agent was started.
    Begin,
    /// The clock of the cell begins: an actor that acts by the clock counts from here.
    ClockBegins,
    /// Bytes of the agent's stdout.
    Output(Vec<u8>),
    /// The agent's process has ended.
    Exited(Exit),
    /// The agent's process has ended, and so have all of its streams.
    Over(Exit),
    /// The agent's server listens.
    Listening,
    /// The session for the prompt was made.
    SessionMade(String),
    /// The response to a request of its own.
    Response {
        /// The request's number, as the actor gave it.
        id: u32,
        /// The HTTP status.
        status: u16,
        /// The body of the response.
        body: Json,
    },
    /// A request of its own got no response.
    Failed {
        /// The request's number, as the actor gave it.
        id: u32,
        /// Why: `refused`, `reset`, `closed`, `timeout`.
        why: &'static str,
    },
    /// The event stream that it wanted is open.
    Opened {
        /// Whether the client said which event it had seen last, so that a server that keeps its events sends the
        /// missed ones.
        resumes: bool,
    },
    /// The server refused the event stream.
    Refused {
        /// Whether the client had an event to name as the last that it saw.
        resumes: bool,
        /// Whether the agent's process is alive.
        alive: bool,
    },
    /// An event on its event stream.
    Event(Json),
    /// Its event stream ended.
    EventsEnd {
        /// Whether the agent's process is alive.
        alive: bool,
    },
    /// What a person at the terminal can read: the asks whose text is on the screen.
    Screen(Vec<Sight>),
}

/// One thing that an actor does.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A fact for the record: a person, or the one in front of this client, does this, in the scenario's word.
    Acts(&'static str),
    /// A request to the server.
    Request {
        /// Its number among the actor's own, from 1.
        id: u32,
        /// The HTTP method.
        method: &'static str,
        /// The path with its query.
        path: String,
        /// The body: none if it is null; a string is sent as it is, without quotes.
        body: Value,
    },
    /// Opens `GET /event`: answered by [`Input::Opened`] or [`Input::Refused`].
    Listen,
    /// Closes all of its connections.
    HangUp,
    /// Writes to the agent's stdin, for the host or the person: a line with its newline.
    Write(Vec<u8>),
    /// Types at the agent's terminal.
    Type(String),
    /// Closes the agent's stdin, or hangs its terminal up.
    CloseStdin,
    /// Reads the agent's stdout from now on, or no more.
    Reads(bool),
    /// Runs a command of the companion.
    Command(String),
    /// Leaves the session in the front end.
    Leaves,
    /// Returns to the session in the front end.
    ComesBack,
    /// The session for the prompt was made: the other actors are to be told.
    SessionMade(String),
    /// Says that the run is over.
    Settle {
        /// How the run ended.
        outcome: RunEnd,
        /// Why it ended so; empty if it completed.
        cause: String,
        /// The last text of the agent.
        text: String,
    },
}

/// How the agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself, with this code.
    Code(u8),
    /// It was ended by this signal, named without `SIG`.
    Signal(&'static str),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(name) => write!(f, "SIG{name}"),
        }
    }
}
