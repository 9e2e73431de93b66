//! Lines that state how a run ended: a wrapper's, a shell's, an agent's own last words.
//!
//! Invariant: a line is read by itself, whatever else the log has.

/// What a line states of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It is over, and went well.
    Completed,
    /// A limit of use was reached.
    Limit,
    /// Somebody interrupted it.
    Interrupted,
    /// A wall clock ended it, which says nothing of what the run did then.
    WallClock,
    /// A signal ended it.
    Killed,
    /// It was ended because it did not move.
    Hung,
    /// A wrapper's breaker ended it.
    Breaker,
    /// It exited with this code.
    Exited(i64),
    /// The program that ran it says that it failed, without a code.
    Failed,
    /// It is an error.
    Error,
}

/// The most of a line that is looked at, in characters. A choice.
const LINE_CHARS: usize = 500;

/// Whether a line reports an end that somebody else caused, and is not output of what ended.
pub fn is_epilogue(line: &str, logged: bool) -> bool {
    match of_printed(line, logged) {
        Some(Claim::Exited(code)) => code != 0,
        claim => matches!(claim, Some(Claim::Hung | Claim::WallClock | Claim::Killed)),
    }
}

/// Whether an exit code says that a signal or `timeout` ended the program.
pub fn is_kill(code: i64) -> bool {
    matches!(code, 124 | 137 | 143) || code < 0
}

/// What a line states.
pub fn of_line(line: &str) -> Option<Claim> {
    of_printed(line, false)
}

/// What a line states of which a logger's time may have been taken.
pub fn of_printed(line: &str, logged: bool) -> Option<Claim> {
    let line: String = line.trim().chars().take(LINE_CHARS).collect();
    let stamped = crate::read::time::stamped(&line).map(|(_, text)| text);
    let wrapper = logged || line.starts_with('[') || stamped.is_some() || line.starts_with("##[error]");
    let low = stamped.unwrap_or(&line).to_lowercase();
    let has = |all: &[&str]| all.iter().any(|words| low.contains(words));
    let counted = low.bytes().any(|b| b.is_ascii_digit());
    let kills = has(&["kill", "terminat", "abort", "restart", "sigterm", "stopping", "giving up"]);
    if has(&RUNNER_STILL) {
        return Some(Claim::Hung);
    }
    if has(&RUNNER_CLOCKS) || low == "timeout has been exceeded" {
        return Some(Claim::WallClock);
    }
    let stands_still = has(&STILL) && counted || has(&["stall detected", "hang detected"]);
    if stands_still && (kills || wrapper) || has(&["idle timeout", "inactivity timeout"]) && kills {
        return Some(Claim::Hung);
    }
    if has(&CLOCKS) && counted && (kills || wrapper) || low.starts_with("timeout: sending signal") {
        return Some(Claim::WallClock);
    }
    // what a terminal echoes comes right after what was printed
    let echoed = low.strip_suffix("^c").is_some_and(|before| !before.ends_with(' '));
    let goes_on = has(&["retry", "reconnect", "resum", "warning", "will be", "if interrupted"]);
    let stops =
        has(&["interrupted", "interrupting", "cancelled", "canceled", "cancelling", "sigint", "ctrl-c", "ctrl+c"]);
    let stops = stops && wrapper && has(&OF_RUN) || has(&["manual_interrupt", "manual interrupt", "user_interrupt"]);
    if echoed || has(&INTERRUPTS) || stops && !goes_on {
        return Some(Claim::Interrupted);
    }
    if low.contains("breaker") && has(&["open", "trip", "halt", "stop", "exit", "trigger"]) && !goes_on && wrapper {
        return Some(Claim::Breaker);
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
    if matches!(low.as_str(), "killed" | "terminated" | "hangup")
        || has(&SIGNALS)
        || wrapper && !goes_on && has(&["killing", "sigkill", "sigterm", "forcibly stop", "force-stop", "forcing stop"])
    {
        return Some(Claim::Killed);
    }
    let whole = low.as_str();
    if has(&STATS) || wrapper && has(&["completed successfully", "finished successfully"]) || OVER.contains(&whole) {
        return Some(Claim::Completed);
    }
    if whole == "finished: aborted" {
        return Some(Claim::Killed);
    }
    if matches!(whole, "finished: failure" | "finished: unstable") {
        return Some(Claim::Failed);
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
/// What the runners of CI services say of a job that printed nothing for too long: CircleCI, Travis CI.
const RUNNER_STILL: [&str; 2] = ["too long with no output (exceeded", "no output has been received in the last"];
/// What they say of a job that took too long: GitLab (twice), Jenkins' steps and its plugin, Azure Pipelines, Travis CI,
/// Bitbucket.
const RUNNER_CLOCKS: [&str; 7] = [
    "job failed: execution took longer than",
    "could not run to completion because the timeout was exceeded",
    "cancelling nested steps due to timeout",
    "build timed out (after",
    "ran longer than the maximum time of",
    "exceeded the maximum time limit for jobs",
    "exceeded build time limit",
];
/// What they say of a job that went well, as a whole line: GitLab, Jenkins.
const OVER: [&str; 2] = ["job succeeded", "finished: success"];
const INTERRUPTS: [&str; 7] = [
    "keyboardinterrupt",
    "interrupted by user",
    "interrupted by the user",
    "received sigint",
    "aborted by user",
    "cancelled by user",
    "the operation was canceled",
];
/// What is ended, in the words of those who end it.
const OF_RUN: [&str; 16] = [
    "loop",
    "run",
    "session",
    "agent",
    "user",
    "job",
    "workflow",
    "execution",
    "process",
    "build",
    "task",
    "manual",
    "signal",
    "operation",
    "iteration",
    "received",
];
/// What says that a signal ended something.
const SIGNALS: [&str; 5] =
    ["signal: killed", "signal: terminated", "oomkilled", "out of memory: killed process", "killed by signal"];
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
            ("ERROR: Job failed: execution took longer than 2h30m0s seconds", Some(Claim::WallClock)),
            (
                "WARNING: step_script could not run to completion because the timeout was exceeded.",
                Some(Claim::WallClock),
            ),
            ("ERROR: Job failed: exit code 3", Some(Claim::Exited(3))),
            ("Build timed out (after 45 minutes). Marking the build as aborted.", Some(Claim::WallClock)),
            ("Timeout has been exceeded", Some(Claim::WallClock)),
            ("step 3: timeout has been exceeded, so it is left out", None),
            ("the execution took longer than 3 s", None),
            ("Finished: ABORTED", Some(Claim::Killed)),
            ("Finished: FAILURE", Some(Claim::Failed)),
            ("Finished: SUCCESS", Some(Claim::Completed)),
            ("Job succeeded", Some(Claim::Completed)),
            ("the job succeeded in part", None),
            (
                "##[error]The job running on agent A 3 ran longer than the maximum time of 75 minutes.",
                Some(Claim::WallClock),
            ),
            ("Too long with no output (exceeded 20m0s): context deadline exceeded", Some(Claim::Hung)),
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
            ("[2026-02-25 09:43:40] [INFO] loop interrupted. Cleaning up...", Some(Claim::Interrupted)),
            ("12:01:07 job was cancelled", Some(Claim::Interrupted)),
            ("12:01:07 stream cancelled, retrying", None),
            ("the run is interrupted by nothing", None),
            ("[WARN] circuit breaker opened after 3 loops", Some(Claim::Breaker)),
            ("level=info ts=2026-04-02T17:01:44Z msg=\"sending SIGTERM to 41\"", Some(Claim::Killed)),
            ("10:00:09 agent: no output for 900s, killing it", Some(Claim::Hung)),
            ("Press ^C", None),
            ("working...^C", Some(Claim::Interrupted)),
            ("", None),
        ] {
            assert_eq!(of_line(line), is, "{line}");
        }
    }
}
