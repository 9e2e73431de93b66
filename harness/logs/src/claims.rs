//! Lines that state how a run ended: a wrapper's, a shell's, an agent's own last words.
//!
//! Invariant: a claim is a line of the log, and is quoted. Only the latest lines are looked at, and of an agent with events
//! only those that came after its last event.

use crate::note::Kind;
use crate::story::Story;
use rehang_scenario::prompt;

/// What a line states of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It is over, and went well.
    Completed,
    /// A limit of use was reached.
    Limit,
    /// Somebody interrupted it.
    Interrupted,
    /// A wall clock ended it: it says nothing of what the run did then.
    WallClock,
    /// A signal ended it.
    Killed,
    /// It was ended because it did not move.
    Hung,
    /// It exited with this code.
    Exited(i64),
    /// It is an error.
    Error,
}

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
/// The most of a line that is looked at, in characters. A choice.
const LINE_CHARS: usize = 500;
/// Longer outputs are no one-line error. A choice.
const SHORT_LINES: usize = 20;

/// What the latest lines state, the cause before what followed from it.
pub fn stated(story: &Story) -> Option<Stated> {
    let after = story.heard();
    let short = story.output.before == 0 && story.output.latest().count() <= SHORT_LINES;
    let latest = story.output.latest().filter(|line| line.order > after).take(LATEST);
    let (mut cause, mut follows) = (None, None);
    for (place, line) in latest.enumerate() {
        let Some(claim) = of_line(&line.text) else { continue };
        let found = Stated { claim, line: line.text.trim().to_owned() };
        match claim {
            Claim::Completed | Claim::Exited(0) if cause.is_none() && follows.is_none() => return Some(found),
            // what came before a good end is another run's
            Claim::Completed | Claim::Exited(0) => break,
            Claim::Limit => return Some(found),
            Claim::Hung | Claim::WallClock | Claim::Interrupted => cause = cause.or(Some(found)),
            Claim::Killed | Claim::Exited(_) => follows = follows.or(Some(found)),
            Claim::Error if place == 0 && short && story.agent.kind == Kind::Program => {
                follows = follows.or(Some(found));
            }
            Claim::Error => {}
        }
    }
    cause.or(follows)
}

/// Whether a line tells of an end that somebody else made, and is no output of what ended.
pub fn is_epilogue(line: &str) -> bool {
    matches!(of_line(line), Some(Claim::Hung | Claim::WallClock | Claim::Killed | Claim::Exited(_)))
}

/// Whether an exit code says that a signal or `timeout` ended the program.
pub fn is_kill(code: i64) -> bool {
    matches!(code, 124 | 137 | 143) || code < 0
}

/// What a line states.
pub fn of_line(line: &str) -> Option<Claim> {
    let line: String = line.trim().chars().take(LINE_CHARS).collect();
    let stamped = crate::read::time::stamped(&line).map(|(_, text)| text);
    let wrapper = line.starts_with('[') || stamped.is_some() || line.starts_with("##[error]");
    let low = stamped.unwrap_or(&line).to_lowercase();
    let has = |all: &[&str]| all.iter().any(|words| low.contains(words));
    let counted = low.bytes().any(|b| b.is_ascii_digit());
    let kills = has(&["kill", "terminat", "abort", "restart", "sigterm", "stopping", "giving up"]);
    let stands_still = has(&STILL) && counted || has(&["stall detected", "hang detected"]);
    if stands_still && (kills || wrapper) || has(&["idle timeout", "inactivity timeout"]) && kills {
        return Some(Claim::Hung);
    }
    if has(&CLOCKS) && counted && (kills || wrapper) || low.starts_with("timeout: sending signal") {
        return Some(Claim::WallClock);
    }
    // what a terminal echoes stands right behind what was printed
    let echoed = low.strip_suffix("^c").is_some_and(|before| !before.ends_with(' '));
    if echoed || has(&INTERRUPTS) {
        return Some(Claim::Interrupted);
    }
    if has(&LIMITS) {
        return Some(Claim::Limit);
    }
    if let Some(code) = exit_code(&low) {
        return Some(match code {
            130 => Claim::Interrupted,
            code if is_kill(code) => Claim::Killed,
            code => Claim::Exited(code),
        });
    }
    if matches!(low.as_str(), "killed" | "terminated" | "hangup") || has(&["signal: killed", "signal: terminated"]) {
        return Some(Claim::Killed);
    }
    if has(&STATS) || wrapper && has(&["completed successfully", "finished successfully"]) {
        return Some(Claim::Completed);
    }
    let again = has(&["retry", "reconnect", "warning"]);
    let error = ERRORS.iter().any(|words| low.starts_with(words)) || has(&ERRORS_WITHIN);
    (error && !again).then_some(Claim::Error)
}

/// What wrappers say of a run that does not move.
const STILL: [&str; 13] = [
    "no output for",
    "no output in",
    "no progress for",
    "no progress in",
    "no activity for",
    "no activity in",
    "no events for",
    "idle for",
    "inactive for",
    "stalled for",
    "silent for",
    "hung for",
    "unresponsive for",
];
/// What they say of a wall clock.
const CLOCKS: [&str; 10] = [
    "timed out after",
    "timeout after",
    "timeout reached",
    "timeout exceeded",
    "exceeded timeout",
    "time limit",
    "max runtime",
    "maximum runtime",
    "maximum execution time",
    "deadline exceeded",
];
const INTERRUPTS: [&str; 7] = [
    "keyboardinterrupt",
    "interrupted by user",
    "interrupted by the user",
    "received sigint",
    "aborted by user",
    "cancelled by user",
    "the operation was canceled",
];
const LIMITS: [&str; 12] = [
    "hit your usage limit",
    "reached your usage limit",
    "exceeded your usage limit",
    "usage limit reached",
    "usage limit exceeded",
    "hit your limit",
    "limit reached ∙",
    "credit balance is too low",
    "insufficient_quota",
    "quota exceeded",
    "exceeded your current quota",
    "out of credits",
];
/// What copilot prints once it is over.
const STATS: [&str; 4] = ["total usage est:", "total duration (wall):", "total session time:", "total code changes:"];
const ERRORS: [&str; 9] =
    ["error:", "[error]", "fatal:", "panic:", "thread 'main' panicked", "api error", "invalid api key", "usage:", "✗ "];
const ERRORS_WITHIN: [&str; 4] =
    ["command not found", "please run /login", "not logged in", "no such file or directory"];

/// The code of a line that says that something exited.
fn exit_code(low: &str) -> Option<i64> {
    const WORDS: [&str; 7] =
        ["exit code", "exited with code", "exit status", "exited with status", "exited with", "exit=", "rc="];
    let after = WORDS.iter().find_map(|words| low.split_once(words).map(|(_, after)| after))?;
    let after = after.trim_start_matches([' ', ':', '=', '(']);
    let end = after.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(after.len());
    after[..end].parse().ok()
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
    // the same prompt with a command behind it came before
    let typed = |text: &str| text.trim_start().strip_prefix(line).is_some_and(|rest| !rest.trim().is_empty());
    let before = story.output.lines.iter().any(|printed| typed(&printed.text));
    before || line.chars().count() == 1 || line.contains('@')
}

/// The longest prompt of a shell. A choice.
const PROMPT_BYTES: usize = 120;

/// Whether a text without times is somebody's log all the same: it exits, states its end, or ends with a prompt.
pub fn is_somebodys(story: &Story) -> bool {
    let text: Vec<&str> = story.output.lines.iter().rev().take(LATEST).map(|line| line.text.as_str()).collect();
    let text: String = text.into_iter().rev().map(|line| format!("{line}\n")).collect();
    if story.ending.exit.is_some() {
        return true;
    }
    if story.output.lines.iter().any(|line| prompt::prose(&line.text)) {
        return false;
    }
    stated(story).is_some() || prompt::at_end(&text).is_some_and(|prompt| prompt.certain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_a_run_ended() {
        for (line, is) in [
            ("[2026-04-02 17:21:43] [LOOP] No output for 1200s, killing pid 41", Some(Claim::Hung)),
            ("[2026-04-02 17:21:43] [WATCHDOG] stalled for 20m", Some(Claim::Hung)),
            ("[2026-04-02 17:21:43] [LOOP] Claude timed out after 30 minutes", Some(Claim::WallClock)),
            ("##[error]The job has exceeded the maximum execution time of 60 minutes.", Some(Claim::WallClock)),
            ("^C", Some(Claim::Interrupted)),
            ("You've hit your usage limit. Try again at 5 PM.", Some(Claim::Limit)),
            ("agent exited with code 143", Some(Claim::Killed)),
            ("agent exited with code 0", Some(Claim::Exited(0))),
            ("Process exit code: 2", Some(Claim::Exited(2))),
            ("Killed", Some(Claim::Killed)),
            ("Error: Invalid API key", Some(Claim::Error)),
            ("error: reconnecting, retry 2", None),
            ("bash: claude: command not found", Some(Claim::Error)),
            ("Total duration (wall): 18.2s", Some(Claim::Completed)),
            ("the server was idle for long", None),
            ("2026-04-02T17:01:44.000Z ERROR codex_core: idle timeout waiting for SSE", None),
            ("Press ^C", None),
            ("working...^C", Some(Claim::Interrupted)),
            ("", None),
        ] {
            assert_eq!(of_line(line), is, "{line}");
        }
    }
}
