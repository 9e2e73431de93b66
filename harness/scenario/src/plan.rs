//! The part of a scenario that one process of an agent plays.
//!
//! Invariant: a fake knows its scenario only through its plan, its arguments and its environment.

pub use crate::turns::response_at;

use crate::turns::Turn;
use crate::{Agent, Fault, ToolServer};
use serde::{Deserialize, Serialize};

/// What an agent's fake plays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Who is played, and as which release.
    pub agent: Agent,
    /// What the model does.
    pub turns: Vec<Turn>,
    /// What goes wrong inside the agent: events, POSTs, tools, the queue. The stage plays all other faults.
    pub faults: Vec<Fault>,
    /// The strategies inside the agent, in the order of the stack (`auto-answer@r1(at=tool)`).
    pub inside: Vec<String>,
    /// The port of the model server; `None`: the persona plays the model's stream itself. Every request to it carries
    /// [`RESPONSE_HEADER`], so that the server knows which scripted response is meant.
    pub model_port: Option<u16>,
    /// The tool server that the agent is configured to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Tools>,
    /// Sessions that a restarted server finds stored (JSON, the persona's own form).
    pub stored: Option<String>,
}

/// A tool server, as its agent is configured to use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// The server. One that is reached over stdio is started by the agent.
    pub server: ToolServer,
    /// The port of one that is reached over HTTP.
    pub port: Option<u16>,
}

/// The variable that carries a plan (JSON) to a fake that no scheduler started: a nested agent, a standalone run.
pub const PLAN_ENV: &str = "REHANG_PLAN";

/// The header of a request to the model server that names the scripted response: see [`response_at`].
pub const RESPONSE_HEADER: &str = "x-rehang-response";
