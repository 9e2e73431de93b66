//! What a command line asks of opencode and its forks, in a scenario's words.
//!
//! Invariant: only what changes the agent's behaviour is kept; prompts, models and session names are not.

use super::args::{Command, parse};
use crate::registry::Called;
use rehang_scenario::OpencodeMode;

/// What these arguments ask of it; `None` if they start no agent.
pub fn called(words: &[String]) -> Option<Called> {
    let args = parse(words);
    let mut kept = Vec::new();
    if args.auto {
        kept.push("--auto".to_owned());
    }
    if args.listens {
        kept.extend(["--port".to_owned(), "0".to_owned()]);
    }
    let mode = match args.command {
        Command::Version | Command::Models | Command::Credentials | Command::Sessions | Command::Help => return None,
        Command::Run => OpencodeMode::Run,
        Command::Serve => OpencodeMode::Serve,
        Command::Interactive => OpencodeMode::Interactive,
        Command::Acp => OpencodeMode::Acp,
    };
    Some(Called { mode: mode.mode(), args: kept })
}
