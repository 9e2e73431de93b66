//! What happens at the model server, one event at a time.
//!
//! Invariant: each thing that comes in is reported once, before anything that it leads to; a stream's events carry its
//! request's number, and its last is [`State::Ended`].

use crate::check::Problem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When: milliseconds of wall clock since the server began.
    pub at_ms: u64,
    /// What.
    pub happened: Happened,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happened {
    /// A request came in.
    Request(Request),
    /// The response to a request went on.
    Stream {
        /// The request's number.
        n: u32,
        /// How.
        state: State,
    },
    /// Something is wrong with a request, or with what the script answers to it.
    Problem {
        /// The request's number.
        n: u32,
        /// What.
        problem: Problem,
    },
}

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Its number, from 1, over all kinds.
    pub n: u32,
    /// What it is.
    pub kind: Kind,
    /// The HTTP method.
    pub method: String,
    /// The target, with its query.
    pub target: String,
    /// Whether it wants a stream.
    pub stream: bool,
    /// The tools that it offers.
    pub offers: Vec<String>,
    /// What it tells the model: the results after the last thing that the model said.
    pub told: Vec<Told>,
    /// The body as it came; null if it is not JSON.
    pub body: Value,
}

/// What a request is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The agent's own: it spends a scripted turn.
    Main {
        /// Which one: `3`, the root session's third; `2.1/4`, a subagent's fourth (see `turns::response_at`).
        path: String,
        /// Which response this is over all sessions, from 1, as the scenario's faults count them.
        response: u32,
    },
    /// One on the side.
    Side(Side),
}

/// A request on the side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// A text is wanted: a title, a summary, a warm-up.
    Text,
    /// JSON of a given schema is wanted: a router, a classifier.
    Json,
    /// The models that there are.
    Models,
    /// How many tokens a request has.
    Tokens,
    /// Whether a server is there: `GET /`.
    Hello,
    /// Not known to this server; it gets 404.
    Unknown,
}

/// A tool's result, as the model gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The call's id.
    pub id: String,
    /// The tool; empty if no call of it was made.
    pub tool: String,
    /// What the model is told.
    pub text: String,
    /// Whether the wire says that it is an error; OpenAI's APIs cannot.
    pub is_error: bool,
}

/// What a response is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its head is out.
    Began,
    /// How many chunks are out, as a fault's `after` counts them.
    Chunk(u32),
    /// A sign of life without content.
    KeepAlive,
    /// It is open, and nothing will ever come.
    Stalled,
    /// It is over.
    Ended(Ended),
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// As its API ends one.
    Whole,
    /// Correctly for HTTP, without the API's own end.
    Cut,
    /// By a TCP reset.
    Reset,
    /// It was this HTTP status instead of a stream.
    Status(u16),
    /// The agent went away first.
    ClientGone,
}
