//! What an agent is doing, from the scenario and from what its scripted model and the process table saw.
//!
//! Invariant: nothing here knows a screen.

use rehang_scenario::turns::{Bash, Step, Turn};
use rehang_scenario::{Fault, ModelDoes, Scenario};
use serde::{Deserialize, Serialize};

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// It goes on by itself: its model, a command or a timer of its own will move it.
    Working,
    /// Its turn goes on when somebody answers a question or a permission.
    Asking,
    /// Its turn is over, or none has begun: it waits for the next input.
    Waiting,
    /// Its turn is not over, and nothing will ever come: neither from the model nor from its command.
    Stuck,
}

impl Label {
    /// All, in the order of the tables.
    pub const ALL: [Label; 4] = [Label::Working, Label::Asking, Label::Waiting, Label::Stuck];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Label::Working => "working",
            Label::Asking => "asking",
            Label::Waiting => "waiting for input",
            Label::Stuck => "stuck",
        }
    }
}

/// How far the latest response of the model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// The model was not asked.
    None,
    /// It was asked and has not said a word.
    Silent,
    /// So many chunks are out, and the stream is open.
    Open(u32),
    /// It is over, as its API ends one.
    Whole,
    /// It failed: a status, a reset, an early end.
    Failed,
    /// The agent hung up first.
    Left,
}

/// What was seen until a moment by those who know: the scripted model and the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Seen {
    /// The agent was given a prompt when it was started.
    pub prompted: bool,
    /// How many requests of its own the model had.
    pub requests: u32,
    /// How far the latest response is.
    pub response: Response,
    /// A command of its tools runs.
    pub tool_runs: bool,
    /// After this moment it asked for the same response again, without any input.
    pub tries_again: bool,
}

/// What an agent is doing that plays this scenario, if this is what was seen.
pub fn label(scenario: &Scenario, seen: &Seen) -> Label {
    match seen.response {
        Response::None if seen.prompted => Label::Working,
        Response::None => Label::Waiting,
        Response::Silent | Response::Open(_) if stalls(scenario) => Label::Stuck,
        Response::Silent | Response::Open(_) => Label::Working,
        Response::Failed if seen.tries_again => Label::Working,
        Response::Failed | Response::Left => Label::Waiting,
        Response::Whole => match scenario.turns.first() {
            Some(Turn::Bash(bash)) if seen.requests == 1 => command(bash, seen.tool_runs),
            Some(Turn::Ask(_)) if seen.requests == 1 => Label::Asking,
            _ => Label::Waiting,
        },
    }
}

fn stalls(scenario: &Scenario) -> bool {
    scenario.faults.iter().any(|fault| matches!(fault, Fault::Model(fault) if fault.does == ModelDoes::Stall))
}

/// What an agent is doing whose model has called a command.
fn command(bash: &Bash, runs: bool) -> Label {
    match () {
        () if !runs && bash.asks.is_some() => Label::Asking,
        () if bash.does.iter().any(|step| matches!(step, Step::OpenFifo(_))) => Label::Stuck,
        () => Label::Working,
    }
}
