//! What a log's latest lines state of its end.
//!
//! Invariant: a claim is a line of the log, and is quoted. Only the latest lines are looked at, and of an agent with events
//! only those that came after its last event.

use crate::choices;
use crate::claims::{Claim, is_kill, of_printed};
use crate::note::Kind;
use crate::story::Story;
use crate::story::teardown;
use rehang_scenario::prompt;

/// A claim and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// What is stated.
    pub claim: Claim,
    /// The line.
    pub line: String,
}

/// The latest lines that are looked at: a wrapper says in a few how it ended. A choice.
const LATEST: usize = 12;
/// Longer outputs are no one-line error. A choice.
const SHORT_LINES: usize = 20;

/// What the latest lines state, the cause before what followed from it.
pub fn stated(story: &Story) -> Option<Stated> {
    let after = story.heard();
    let short = story.output.before == 0 && story.output.latest().count() <= SHORT_LINES;
    let cleaned = teardown::cleanup(story).map_or(u64::MAX, |line| line.order);
    let latest = story.output.latest().filter(|line| line.order > after && line.order < cleaned);
    let latest = latest.filter(|line| !teardown::is_section(&line.text)).take(LATEST);
    let (mut cause, mut follows): (Option<Stated>, Option<Stated>) = (None, None);
    let mut places = 0;
    for line in latest {
        // the lines of an end that somebody made are cut off: what was before them is judged
        let place = places;
        places += usize::from(!teardown::is_end(&line.text, line.logged));
        let Some(claim) = of_printed(&line.text, line.logged) else { continue };
        let found = Stated { claim, line: line.text.trim().to_owned() };
        match claim {
            Claim::Completed | Claim::Exited(0) if cause.is_none() && follows.is_none() => return Some(found),
            // nothing ran any more
            Claim::Completed | Claim::Exited(0) if place == 0 && !is_of_its_silence(cause.as_ref()) => {
                return Some(found);
            }
            // what came before a good end belongs to another run
            Claim::Completed | Claim::Exited(0) => break,
            Claim::Limit => return Some(found),
            // the first line of an interrupt says most
            Claim::Interrupted if place == 0 && cause.as_ref().is_none_or(|cause| cause.claim == claim) => {
                cause = Some(found);
            }
            Claim::Hung | Claim::WallClock | Claim::Interrupted | Claim::Breaker => cause = cause.or(Some(found)),
            // it had failed before the rest was torn down
            Claim::Exited(code)
                if place == 0 && !is_kill(code) && is_of_its_tear_down(cause.as_ref().or(follows.as_ref())) =>
            {
                return Some(found);
            }
            Claim::Killed | Claim::Exited(_) | Claim::Failed => follows = follows.or(Some(found)),
            Claim::Error if place == 0 && short && story.agent.kind == Kind::Program => {
                follows = follows.or(Some(found));
            }
            Claim::Error => {}
        }
    }
    cause.or(follows)
}

/// Whether what ended it says that it did not move, or ran too long: then it did not end by itself before.
fn is_of_its_silence(cause: Option<&Stated>) -> bool {
    cause.is_some_and(|cause| matches!(cause.claim, Claim::Hung | Claim::WallClock))
}

/// Whether what came last only says that somebody ended what was left.
fn is_of_its_tear_down(last: Option<&Stated>) -> bool {
    last.is_some_and(|last| matches!(last.claim, Claim::Killed | Claim::Interrupted | Claim::Breaker))
}

/// Whether a shell's own prompt is back at the end of what was printed: what it ran is over.
pub fn shell_is_back(story: &Story) -> bool {
    let Some(last) = story.output.latest().next() else { return false };
    let line = last.text.trim();
    if matches!(line, "exit" | "logout") {
        return true;
    }
    let sign = line.chars().next_back().unwrap_or(' ');
    if !matches!(sign, '$' | '#' | '%' | '❯' | '➜') || line.len() > PROMPT_BYTES {
        return line.starts_with("➜ ") && line.contains("git:(") && line.len() <= PROMPT_BYTES;
    }
    // the same prompt with a command after it came before
    let typed = |text: &str| text.trim_start().strip_prefix(line).is_some_and(|rest| !rest.trim().is_empty());
    let before = story.output.lines.iter().any(|printed| typed(&printed.text));
    before || line.chars().count() == 1 || line.contains('@')
}

/// The longest prompt of a shell. A choice.
const PROMPT_BYTES: usize = 120;

/// Whether a text without times is a log nevertheless: it exits, states its end, or ends with a prompt.
pub fn is_somebodys(story: &Story) -> bool {
    let text: Vec<&str> = story.output.lines.iter().rev().take(LATEST).map(|line| line.text.as_str()).collect();
    let text: String = text.into_iter().rev().map(|line| format!("{line}\n")).collect();
    if story.ending.exit.is_some() {
        return true;
    }
    // npm prints what it runs as `> vite`
    if story.output.lines.iter().any(|line| !line.text.starts_with("> ") && prompt::prose(&line.text)) {
        return false;
    }
    stated(story).is_some() || choices::at_end(&text).is_some_and(|prompt| prompt.certain)
}
