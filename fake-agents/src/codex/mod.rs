//! The persona `fake-codex`, which behaves as `codex exec` and `codex app-server` of Codex 0.45.0, 0.58.0, 0.116.0 and 0.169.0.
//!
//! The bugs that it plays: a command's pipe that another process holds (0.45.0: for ever; 0.58.0: two seconds each); stdin
//! that is read to an end which never comes, though there is a prompt (0.169.0); a silent model that is asked again five
//! times, after five minutes each. What never hangs in `exec` is played too: approvals, which are refused
//! (`approval: never`), and questions, which it does not offer.
//!
//! [`program`] is the process, `turn` the order of its turn, `shell` its commands, `models` its model's streams, `writer`
//! its words, `voice` the same for a client that holds its streams, `asks` what such a client decides, `app_server` its
//! process, `rollout` the file that keeps its session. Invariant: what a release does is recorded (tests/golden) or read from
//! its sources, and [`behaviours`] says which.

mod app_server;
mod args;
mod asks;
mod behaviours;
#[cfg(test)]
mod laws;
mod models;
mod program;
mod release;
mod rollout;
mod shell;
mod turn;
mod voice;
mod writer;

pub use args::{Args, Parsed, Refusal, argv, called, parse};
pub use behaviours::{Behaviour, behaviours, known_behaviours};
pub use release::Release;

use crate::ReleaseError;
use crate::outgoing::Says;
use rehang_os::os::{CannotStart, Program};
use rehang_scenario::{Agent, agents::CODEX, plan::Plan, turns::Turn};

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
    let planned = plan.filter(|plan| *plan.agent.kind() == CODEX).and_then(|plan| plan.agent.release());
    let release = |named: Option<&str>| Release::parse(named.or(planned).unwrap_or(CODEX.default_release));
    let (args, serves) = match parse(argv.get(1..).unwrap_or_default()) {
        Parsed::Run(args) => (args, false),
        Parsed::Serve(args) => (args, true),
        Parsed::Print(text) => return Ok(Box::new(Says::out(text))),
        Parsed::Refuse(why) => return Ok(Box::new(Says::err(why.to_string(), 2))),
        Parsed::Version(named) => {
            let text = format!("codex-cli {}\n", release(named.as_deref())?.version);
            return Ok(Box::new(Says::out(text)));
        }
    };
    let release = release(args.release.as_deref())?;
    if args.last && args.prompt.is_some() && !release.last_takes_prompt {
        let text = Refusal::LastWithSession.to_string();
        return Ok(Box::new(Says::err(text, 2)));
    }
    let hello = || vec![Turn::Say("Hello from a scripted model.".to_owned())];
    let start = program::Start {
        args,
        release,
        turns: plan.map_or_else(hello, |plan| plan.turns.clone()),
        faults: plan.map_or_else(Vec::new, |plan| plan.faults.clone()),
        model_port: plan.and_then(|plan| plan.model_port),
    };
    Ok(match serves {
        true => Box::new(app_server::AppServer::new(start)),
        false => Box::new(program::Fake::new(start)),
    })
}
