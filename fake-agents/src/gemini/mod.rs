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
use args::{Approval, Args, HELP, List, Parsed, parse};
use rehang_os::os::{CannotStart, Program};
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
    let args = match parse(argv.get(1..).unwrap_or_default()) {
        Parsed::Run(args) => args,
        Parsed::Help => return Ok(Box::new(Says::out(HELP))),
        Parsed::Refuse(why) => return Ok(Box::new(Says::err(why, 1))),
        Parsed::Version(named) => return Ok(Box::new(Says::out(format!("{}\n", release(named.as_deref())?.version)))),
    };
    if let Some(list) = args.lists {
        return Ok(Box::new(listed(release(args.release.as_deref())?, list, &args)));
    }
    let hello = || vec![Turn::Say("Hello from a scripted model.".to_owned())];
    Ok(Box::new(program::Fake::new(program::Start {
        release: release(args.release.as_deref())?,
        args,
        turns: plan.map_or_else(hello, |plan| plan.turns.clone()),
        faults: plan.map_or_else(Vec::new, |plan| plan.faults.clone()),
        model_port: plan.and_then(|plan| plan.model_port),
    })))
}

/// What a list prints in a home in which there is nothing.
fn listed(release: &Release, list: List, args: &Args) -> Says {
    let yolo = if args.approval == Approval::Yolo { release.yolo_lines_of_lists } else { 0 };
    let before = format!("{}\n", events::YOLO).repeat(yolo);
    match list {
        List::Extensions => Says { err: before + release.no_extensions, ..Says::default() },
        List::Sessions => match release.no_sessions {
            Ok(none) => Says { out: none.to_owned(), err: before, code: 0 },
            Err(refused) => Says::err(refused, 1),
        },
    }
}
