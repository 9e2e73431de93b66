//! `fake-tool`: the children that a bash tool starts, and a plain program in the place of an agent.
//!
//! It plays [`Step`]s in order, as a shell plays the lines of a script: a step that blocks holds up the rest; what it
//! leaves in the background goes on alone; its own exit code is that of its last command.
//!
//! Invariants: it handles no signal, so the kernel's default happens to it, as to the plain programs that hung in the
//! field; it writes nothing except what its steps say.

mod args;
mod children;
mod play;
mod started;

pub use args::{HELP, PLAYS_MAX_BYTES, argv, shown};

use rehang_os::os::{CannotStart, Program};
use rehang_scenario::{plan::Plan, turns::Step};

/// The exit code of a process whose reader is gone: 128 + SIGPIPE, as a shell reports it. It is an exit and not a
/// signal, since Rust's programs ignore SIGPIPE.
pub const EXIT_PIPE: u8 = 141;
/// The exit code of a step that failed: there is no terminal to open, or a stream gives an error.
pub const EXIT_FAILED: u8 = 1;
/// The exit code of a command that cannot be started, as a shell reports it.
pub const EXIT_NOT_STARTED: u8 = 126;
/// The exit code of a wait that was given up, as timeout(1) reports it.
pub const EXIT_TIMED_OUT: u8 = 124;

/// The program for this command line.
///
/// # Errors
/// Arguments that do not fit.
pub fn program(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    let steps = match args::parse(argv.get(1..).unwrap_or_default())? {
        args::Parsed::Play(steps) => steps,
        args::Parsed::Help => vec![Step::Prompt(HELP.to_owned())],
        args::Parsed::Nothing => match plan.and_then(|plan| plan.agent.steps()) {
            Some(steps) => args::checked(steps.to_vec())?,
            None => return Err(CannotStart::new("nothing to play; try --help")),
        },
    };
    let inside = plan.map(|plan| plan.inside.clone()).unwrap_or_default();
    Ok(Box::new(play::Tool::new(steps, inside)))
}

#[cfg(test)]
mod double;
#[cfg(test)]
mod started_tests;
#[cfg(test)]
mod tests;
