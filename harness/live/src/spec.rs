//! The data of a cell of the live stage: what a caller asks for, what its child process is told, and what the child
//! answers.
//!
//! Invariant: an order is whole. The child process that runs it looks at no file, no variable and no clock to know
//! what is meant.

use crate::report::Report;
use crate::sandbox::Sandbox;
use crate::terminal::ScreenKind;
use rehang_agents::{Form, Installed, Recipe};
use rehang_processes::machine;
use rehang_scenario::{Client, Scenario, Terminal};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The port of the model server, in a network that has no other.
pub const MODEL_PORT: u16 = 8_080;
/// The port of the agent's own server.
pub const SERVE_PORT: u16 = 4_097;
/// The port of the proxy between that server and its clients.
pub const PROXY_PORT: u16 = 4_098;
/// The port of the scenario's tool server.
pub const TOOLS_PORT: u16 = 4_099;
/// What is to be run.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    /// What happens. Its own agent decides the form (run, stdin, serve); the release is the recipe's.
    pub scenario: &'a Scenario,
    /// How the release is run.
    pub recipe: &'a Recipe,
    /// Where the release is installed.
    pub installed: &'a Installed,
    /// How its streams are connected.
    pub terminal: Terminal,
    /// How long after the first main model request it is over at the latest; see [`crate::deadline`].
    pub deadline: Duration,
    /// The program that has [`crate::LIVE_ARG`]: `rehang` itself.
    pub rehang: PathBuf,
    /// The fakes' binary: it plays the commands of the bash tool.
    pub fakes: PathBuf,
    /// The stack under which `rehang supervise` runs the agent, if it does.
    pub supervised: Option<String>,
    /// A signal that the agent is sent.
    pub signal: Option<SentSignal>,
    /// After the agent's end its commands are looked for that go on.
    pub counts_left: bool,
}

/// A signal that the agent is sent from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentSignal {
    /// Its number.
    pub number: i32,
    /// How long after the first main model request, in milliseconds.
    pub after_ms: u64,
}

/// When an agent is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LookAt {
    /// So many milliseconds after the start.
    Start(u64),
    /// So many milliseconds after the first main model request; if there is none, [`LookAt::UNASKED`] after the start.
    Request(u64),
}

impl LookAt {
    /// When an agent is looked at that was to ask its model and has not.
    pub const UNASKED: Duration = Duration::from_secs(150);
}

/// Why a cell could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// This release cannot play this scenario.
    #[error("{0}")]
    Cannot(String),
    /// This machine gives no sandbox; the text holds the remedy.
    #[error("{0}")]
    Sandbox(String),
    /// An internal error.
    #[error("{0}")]
    Fault(String),
    /// A pipe or a process.
    #[error("live cell: {}", machine::start(.0))]
    Io(#[from] std::io::Error),
}

/// A cell, as it is sent to the child process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSpec {
    /// The process that started it.
    pub parent: u32,
    /// What happens; bash commands are replaced by those of the sandbox.
    pub scenario: Scenario,
    /// How the release is run and read.
    pub recipe: Recipe,
    /// How it is started.
    pub form: Form,
    /// How a server's client behaves.
    pub client: Client,
    /// What is written to its stdin when it has started.
    pub says: Vec<String>,
    /// Its stdin stays open after a result: the scenario's people write there and close it.
    pub held: bool,
    /// The words before a server's address in the line that it prints when it listens.
    pub listening: String,
    /// The sandbox.
    pub sandbox: Sandbox,
    /// How long after the first main model request the cell is over, in milliseconds.
    pub deadline_ms: u64,
    /// The fakes' binary: it plays the scenario's tool server.
    pub fakes: PathBuf,
    /// If the agent hangs, it and its model are kept until stdin ends.
    pub looked_at: bool,
    /// `rehang supervise` is to end the agent: a hang is one that it has not ended at the deadline.
    pub supervised: bool,
    /// When the client is done, every `GET` route of the server's own list is asked.
    pub asks_routes: bool,
    /// A signal that the agent is sent.
    pub signal: Option<SentSignal>,
    /// Its commands that go on are looked for some time after its end.
    pub counts_left: bool,
    /// When the agent's processes are looked at from outside; the cell ends when stdin ends, and is not judged.
    pub look: Option<LookAt>,
    /// It runs in virtual time: nothing is judged by the clock, and a signal says that nothing more happens.
    pub is_virtual: bool,
    /// Its terminal is this one, and what is written there is kept byte for byte.
    pub screen: Option<ScreenKind>,
}

/// What the child process answers, a line of JSON each; the last is a report or an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The agent runs.
    Started,
    /// It hangs, or is to be looked at: its process, as this machine numbers it. It is kept until stdin ends.
    Hangs(i32),
    /// What came of it.
    Report(Box<Report>),
    /// This machine gives no sandbox.
    Sandbox(String),
    /// An internal error.
    Fault(String),
}
