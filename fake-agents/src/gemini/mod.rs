//! The persona `fake-gemini`, which behaves as Gemini CLI 0.11.3, 0.29.0 and 0.61.0.
//!
//! The hangs that it plays: a command that prints nothing and never ends (0.11.3 has no limit); a command that asks on
//! the pseudo-terminal which 0.11.3 and 0.29.0 give it; a background process that holds the pipe which 0.61.0 waits for;
//! a subagent's permission that nobody hears (0.61.0); a positional prompt that opens a session (from 0.29.0); stdin that
//! gives a byte and never ends.
//!
//! [`engine`] is the persona itself, pure; [`program`] gives it streams, signals and children. Invariant: what a release
//! does is recorded (tests/golden/gemini-*) or read from its sources, and [`behaviours`] says which.

mod args;
mod behaviours;
mod calls;
mod engine;
mod events;
#[cfg(test)]
mod laws;
mod model;
mod program;
mod release;
mod settings;
mod shell;

pub use args::{argv, called};
pub use behaviours::known_behaviours;
pub use release::{ALL, Release};

use crate::ReleaseError;
use crate::outgoing::Says;
use args::{HELP, Parsed, parse};
use rehang_os::os::{CannotStart, Program, STDERR, STDOUT};
use rehang_scenario::{Agent, agents::GEMINI, plan::Plan, turns::Turn};

/// Whether this persona plays the release that an agent names.
///
/// # Errors
/// It is none of the releases that it plays.
pub fn plays(agent: &Agent) -> Result<(), ReleaseError> {
    Release::parse(agent.release().unwrap_or_default()).map(drop)
}

/// The program for this command line. Without a plan it says hello.
///
/// # Errors
/// A release that is not played.
pub fn program(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    let planned = plan.filter(|plan| *plan.agent.kind() == GEMINI).and_then(|plan| plan.agent.release());
    let release = |named: Option<&str>| Release::parse(named.or(planned).unwrap_or(GEMINI.default_release));
    let says = |text: String, fd, code| -> Box<dyn Program> { Box::new(Says { text, fd_err: fd == STDERR, code }) };
    let args = match parse(argv.get(1..).unwrap_or_default()) {
        Parsed::Run(args) => args,
        Parsed::Help => return Ok(says(HELP.to_owned(), STDOUT, 0)),
        Parsed::Refuse(why) => return Ok(says(why, STDERR, 1)),
        Parsed::Version(named) => return Ok(says(format!("{}\n", release(named.as_deref())?.version), STDOUT, 0)),
    };
    let hello = || vec![Turn::Say("Hello from a scripted model.".to_owned())];
    Ok(Box::new(program::Fake::new(program::Start {
        release: release(args.release.as_deref())?,
        args,
        turns: plan.map_or_else(hello, |plan| plan.turns.clone()),
        faults: plan.map_or_else(Vec::new, |plan| plan.faults.clone()),
        model_port: plan.and_then(|plan| plan.model_port),
    })))
}
