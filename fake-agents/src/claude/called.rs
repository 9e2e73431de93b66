//! What a command line asks of Claude Code, in a scenario's words.
//!
//! Invariant: only what changes the agent's behaviour is kept; prompts, models and session names are not.

use super::args::{Args, Format, Mode, Parsed, parse};
use super::release::Release;
use crate::registry::Called;
use rehang_scenario::ClaudeMode;

/// What these arguments ask of it; `None` if they only ask for a version, or are refused by the
/// release that they name (`--as`).
pub fn called(words: &[String]) -> Option<Called> {
    match parse(words) {
        Parsed::Run(args) => {
            let release = args.release.as_deref().and_then(|named| Release::parse(named).ok());
            let refused = release.and_then(|release| args.refused_by(release));
            refused.is_none().then(|| of(&args))
        }
        Parsed::Print(_) | Parsed::Version(_) | Parsed::Refuse(_) => None,
    }
}

fn of(args: &Args) -> Called {
    let mode = match () {
        () if args.messages_in => ClaudeMode::StreamJson,
        () if !args.print => ClaudeMode::Interactive,
        () if args.output == Format::StreamJson => ClaudeMode::Json,
        () => ClaudeMode::Print,
    };
    let mut kept: Vec<String> = Vec::new();
    let mut keep = |words: &[&str]| kept.extend(words.iter().map(|&word| word.to_owned()));
    if args.mode != Mode::Default {
        keep(&["--permission-mode", args.mode.name()]);
    }
    if args.asks_host {
        keep(&["--permission-prompt-tool", "stdio"]);
    }
    for (option, rules) in [("--allowedTools", &args.allowed), ("--disallowedTools", &args.disallowed)] {
        if !rules.is_empty() {
            keep(&[option, &rules.join(",")]);
        }
    }
    if mode == ClaudeMode::Print && args.output == Format::Json {
        keep(&["--output-format", "json"]);
    }
    Called { mode: mode.mode(), args: kept }
}
