//! One cell: a scenario, a release, a terminal.
//!
//! Invariant: a cell that cannot be run is an error, never an outcome.

use crate::report::Report;
use rehang_agents::{Installed, Recipe};
use rehang_scenario::{Scenario, Terminal};
use std::path::PathBuf;
use std::time::Duration;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    /// What happens. Its own agent decides the form (run, stdin, serve); the release is the recipe's.
    pub scenario: &'a Scenario,
    /// How the release is run.
    pub recipe: &'a Recipe,
    /// Where it lies.
    pub installed: &'a Installed,
    /// How its streams are connected.
    pub terminal: Terminal,
    /// It is over so long after the first main model request at the latest.
    pub deadline: Duration,
    /// The program that has `__live`: `rehang` itself.
    pub rehang: PathBuf,
    /// The fakes' binary: it plays the commands of the bash tool.
    pub fakes: PathBuf,
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
    /// rehang's own fault.
    #[error("{0}")]
    Fault(String),
    /// A pipe or a process.
    #[error("live cell: {0}")]
    Io(#[from] std::io::Error),
}

/// Why this release cannot play this scenario on this terminal; none where it can.
pub fn cannot(_scenario: &Scenario, _recipe: &Recipe, _terminal: Terminal) -> Option<String> {
    None
}

/// Runs a cell and waits for its end. Nothing of it is left then.
///
/// # Errors
/// Why it could not be run.
pub fn run(_cell: &Cell<'_>) -> Result<Report, LiveError> {
    Err(LiveError::Fault("the live stage is being built".to_owned()))
}

/// What the hidden command `rehang __live` does: runs one cell, given on stdin, and writes its report to stdout.
pub fn main() -> i32 {
    70
}
