//! Who can act in a scenario: by which way, on what they see, and when.
//!
//! Invariant: nobody acts on what they cannot see.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Somebody who can act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Person {
    /// The way by which they act.
    pub via: Via,
    /// What their client shows them. Nobody answers what they cannot see.
    #[serde(default)]
    pub sees: Option<Sees>,
    /// The directory in which their client is open, if it is not the agent's: the client is shown the asks of that
    /// directory.
    #[serde(default)]
    pub directory: Option<String>,
    /// The ordinal of the ask that they act on, from 1 in the order in which they see them; 0 means each.
    #[serde(default)]
    pub ask: u32,
    /// How long after they see it; without `sees` and ask (`does = "stop"`, …), after the cell's begin.
    #[serde(default)]
    pub after: Span,
    /// What they do.
    pub does: Does,
}

/// The way by which somebody acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// The terminal that the agent runs on.
    Tty,
    /// Another client of the agent's server.
    Http,
    /// The agent's stdin, in its control protocol.
    Stdin,
    /// The opencode companion's command line (`heal`, `status`, `result`, `cancel`).
    Companion,
}

/// What somebody's client shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sees {
    /// Events of the root session, as they arrive.
    Events,
    /// Events of the whole session tree, as they arrive.
    Tree,
    /// `GET /question` and `GET /permission`, every 2 s.
    List,
    /// `GET /blocker`, every 2 s.
    Blocker,
    /// The screen.
    Screen,
    /// Messages on the agent's stdout.
    Messages,
    /// No ask at all: they act by the clock.
    Clock,
}

/// What somebody does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// Answers: a label for each question.
    Answer(Vec<String>),
    /// Answers a multiple choice: labels for each question.
    Answers(Vec<Vec<String>>),
    /// Allows once.
    Allow,
    /// Allows for ever.
    Always,
    /// Denies.
    Deny,
    /// Sends an empty answer: skipped, not rejected.
    Skip,
    /// Dismisses the question.
    Dismiss,
    /// Stops the session, whatever it waits for (hard abort, interrupt, Ctrl-C).
    Stop,
    /// Disposes of the server's instance, as a reload does (PawWork): its open asks end as `shutdown`.
    Dispose,
    /// Leaves the session in the front end, and comes back to it after this span: no request is sent and no ask is
    /// touched.
    Leave(Span),
    /// Stops the session only if nothing is asked (PawWork, `mode=soft`).
    SoftStop,
    /// Hangs up the terminal or closes the connection.
    HangUp,
    /// Sends a reply that does not fit the question.
    Malformed(Malformed),
    /// Types these bytes. On an agent's stdin, `{request}` in them is the id of its last control request.
    Type(#[schemars(extend("x-marks" = "typed"))] String),
    /// Sends a further prompt.
    Prompt(String),
    /// Runs a command of the companion: `heal`, `heal --dry-run`, `status`, `result`, `cancel`.
    Run(String),
}

/// How a reply does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Malformed {
    /// One answer too few.
    Count,
    /// Two answers to a single choice.
    Multi,
    /// A label that is not offered, if no own answer is allowed.
    Label,
    /// A body that is not JSON.
    Syntax,
}
