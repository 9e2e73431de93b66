//! The persona `fake-opencode`.

mod abort;
mod acts;
mod asks;
pub mod engine;
mod json;
pub mod release;
mod render;
mod routes;
pub mod state;
mod tools;
mod turn;

pub use asks::{By, Permit, asked_title, told};
pub use tools::{BashEnd, call_of};

use crate::Plan;
use crate::os::Program;
use rehang_scenario::Agent;

/// The command line of this agent.
pub fn argv(_agent: &Agent, _args: &[String], _prompt: &str) -> Vec<String> {
    Vec::new()
}

/// The program for this command line.
///
/// # Errors
/// A text for the user: arguments that do not fit.
pub fn program(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, String> {
    let _ = (argv, plan);
    Err("not built yet".to_owned())
}
