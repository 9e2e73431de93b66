//! The persona `fake-claude`, which behaves as Claude Code 1.0.128, 2.0.77 and 2.1.329.
//!
//! The bugs that it plays: an AskUserQuestion that nobody can answer is refused to the model as "Answer questions?"
//! (2.0.77) or answered with nothing (anthropics/claude-code#10400, #50728); a permission that waits for a host which
//! never replies (P3); stdin that is read to an end which never comes (S1, #9026); a bash tool whose pipe another
//! process holds (B6, B8, B9); a terminal that stops it in the background (T1, #30779).
//!
//! [`engine`] is the persona itself, pure; [`program`] gives it streams, signals and children. Invariant: what a
//! release does is recorded (tests/golden) or read from its sources, and [`behaviours`] says which.

mod args;
mod asks;
mod bash;
mod behaviours;
mod called;
mod calls;
mod control;
mod engine;
mod hooks;
#[cfg(test)]
mod laws;
mod misfit;
mod models;
mod options;
mod own_server;
mod program;
mod release;
pub(crate) mod screen;
mod stream;
mod subagents;
mod texts;
mod tools;
mod writer;

pub use args::{Args, Format, Mode, Parsed, Refusal, argv, parse};
pub use behaviours::{Behaviour, Known, behaviours, known_behaviours};
pub use called::called;
pub use calls::{BashEnd, tool_call};
pub use engine::{Answerer, Config, Conv, Effect, Engine};
pub use release::Release;

use crate::ReleaseError;
use crate::agent_host::AgentHost;
use crate::outgoing::Says;
use rehang_os::os::{CannotStart, Program};
use rehang_scenario::{Agent, plan::Plan, turns::Turn};

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
/// A release that is not played, a strategy that is not known.
pub fn program(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    let planned = plan.and_then(|plan| match &plan.agent {
        Agent::Claude(claude) => Some(claude.release.as_str()),
        _ => None,
    });
    let args = match parse(argv.get(1..).unwrap_or_default()) {
        Parsed::Run(args) => args,
        Parsed::Print(text) => return Ok(Box::new(Says::out(text))),
        Parsed::Refuse(why) => return Ok(Box::new(Says::err(why.to_string(), 1))),
        Parsed::Version(named) => {
            let release = args::release(&Args { release: named, ..Args::default() }, planned)?;
            let text = format!("{} (Claude Code)\n", release.version());
            return Ok(Box::new(Says::out(text)));
        }
    };
    let release = args::release(&args, planned)?;
    if let Some(why) = args.refused_by(release) {
        return Ok(Box::new(Says::err(why.to_string(), 1)));
    }
    let hello = || vec![Turn::Say("Hello from a scripted model.".to_owned())];
    Ok(Box::new(program::Fake::new(program::Start {
        args,
        release,
        turns: plan.map_or_else(hello, |plan| plan.turns.clone()),
        faults: plan.map_or_else(Vec::new, |plan| plan.faults.clone()),
        inside: AgentHost::new(plan.map_or(&[], |plan| &plan.inside)).map_err(CannotStart::new)?,
        model_port: plan.and_then(|plan| plan.model_port),
        tools: plan.and_then(|plan| plan.tools.clone()),
    })))
}
