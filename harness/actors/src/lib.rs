//! Who else takes part in a cell: the people, the clients that drive the agent, and the faults on the wire between a
//! server and its clients.
//!
//! An actor is told what happens ([`Input`]) and what time it is; it says what it does ([`Output`]) and when it wants to
//! act by itself (`deadline`). A stage carries the outputs out: the scheduler in virtual time, the live stage at the wall
//! clock. So a scenario's people and clients are the same on both.
//!
//! Invariant: no clock, no socket, no process; the same inputs at the same times give the same outputs.

mod answer;
mod client;
mod driver;
pub mod faults;
pub mod hub;
mod person;
mod sight;

pub use client::{SessionClient, port_after, reconnect};
pub use driver::Driver;
pub use person::Someone;
pub use sight::{Sight, asked_by};

use rehang_scenario::{Canon, VTime};
use rehang_trace::{Json, RunEnd};
use serde_json::Value;

/// The prompt that every agent is given. It names no tool and no file, so that no real agent does anything with it but
/// ask its model.
pub const PROMPT: &str = "go";

/// Somebody who takes part.
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

/// What an actor is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The agent was started.
    Begin,
    /// The clock of the cell begins: who acts by it acts so long after.
    ClockBegins,
    /// Bytes of the agent's stdout.
    Output(Vec<u8>),
    /// The agent's process is over.
    Exited(Exit),
    /// The agent's process is over, and so are all of its streams.
    Over(Exit),
    /// The server listens.
    Listening,
    /// The session for the prompt was made.
    SessionMade(String),
    /// The response to a request of its own.
    Response {
        /// The request's number, as the actor gave it.
        id: u32,
        /// The HTTP status.
        status: u16,
        /// The body.
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
        /// The client said which event it had seen last, so a server that keeps its events tells what was missed.
        resumes: bool,
    },
    /// The server refused the event stream.
    Refused {
        /// The client had an event to name as the last that it saw.
        resumes: bool,
        /// The agent's process lives.
        alive: bool,
    },
    /// An event on its event stream.
    Event(Json),
    /// Its event stream ended.
    EventsEnd {
        /// The agent's process lives.
        alive: bool,
    },
    /// What somebody at the terminal can read: the asks whose text is on the screen.
    Screen(Vec<Sight>),
}

/// What an actor does.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A fact for the record: a person does this, in the scenario's word.
    Acts(&'static str),
    /// A request to the server.
    Request {
        /// Its number among the actor's own, from 1.
        id: u32,
        /// The HTTP method.
        method: &'static str,
        /// The path with its query.
        path: String,
        /// The body: none if it is null, and a string is sent as it is, without quotes.
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
    /// Runs a command of the companion.
    Command(String),
    /// Leaves the session in the front end.
    Leaves,
    /// Comes back to it.
    ComesBack,
    /// The session for the prompt was made: everybody else is to know.
    SessionMade(String),
    /// Takes the run to be over.
    Settle {
        /// How.
        outcome: RunEnd,
        /// Why; empty if it completed.
        cause: String,
        /// The agent's last words.
        text: String,
    },
}

/// How the agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(u8),
    /// By this signal, named without `SIG`.
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
