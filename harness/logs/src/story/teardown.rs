//! The lines at a log's end that somebody who ended the run wrote: an interrupt, a cancelled job, a breaker, a kill.
//!
//! Invariant: they are cut off before the end is judged, and quoted: what they say happened after the run's own last words.

use super::{Printed, Story};
use crate::claims::{Claim, is_kill, of_printed};

/// How many lines may come after the first that says so. A choice: a wrapper cleans up in a few.
pub const LINES: usize = 6;
/// How long that may take, in milliseconds: containers have ten seconds between SIGTERM and SIGKILL.
pub const TAKES_MS: u64 = 10_000;

/// Whether a line says that somebody ended the run.
pub fn is_end(line: &str, logged: bool) -> bool {
    match of_printed(line, logged) {
        Some(Claim::Hung | Claim::WallClock | Claim::Killed | Claim::Interrupted | Claim::Breaker) => true,
        Some(Claim::Exited(code)) => is_kill(code),
        _ => false,
    }
}

/// Whether a line is the first of those with which a CI service's runner cleans up after the last step of a job: GitHub
/// Actions.
pub fn is_cleanup(line: &str, logged: bool) -> bool {
    logged && matches!(line.trim(), "Post job cleanup." | "Cleaning up orphan processes")
}

/// Whether a line only marks a section of a job's log: GitLab, Jenkins.
pub fn is_section(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| !c.is_ascii_alphabetic() && c != '[');
    ["section_end:", "section_start:", "Cleaning up project directory", "Running after_script", "[Pipeline] "]
        .iter()
        .any(|begin| line.starts_with(begin))
}

/// Whether a line begins a step of a job: GitHub Actions.
pub fn is_step(line: &str) -> bool {
    line.starts_with("##[group]Run ")
}

/// The first line of a runner's clean-up, if no step of the job came after it.
pub fn cleanup(story: &Story) -> Option<&Printed> {
    let last_steps = story.output.lines.iter().rev().take_while(|line| !is_step(&line.text));
    last_steps.filter(|line| is_cleanup(&line.text, line.logged)).last()
}

/// The last line of a job's last step that a runner marked as an error.
pub fn marked(story: &Story) -> Option<&Printed> {
    let mut last_step = story.output.lines.iter().rev().take_while(|line| !is_step(&line.text));
    last_step.find(|line| line.text.starts_with("##[error]"))
}

/// The lines before those of an end that somebody made, and the first line of that end.
pub fn cut(story: &Story) -> (Vec<&Printed>, Option<&Printed>) {
    let cleaned = cleanup(story);
    let end = cleaned.map_or(u64::MAX, |line| line.order);
    let is_word = |line: &&Printed| !line.text.trim().is_empty() && !is_section(&line.text);
    let lines = story.output.lines.iter().filter(|line| is_word(line) && line.order < end);
    let (before, torn) = torn(lines.collect());
    (before, torn.or(cleaned))
}

/// The lines before those of an end that somebody made, and the first line of that end, of lines that no clean-up follows.
fn torn(all: Vec<&Printed>) -> (Vec<&Printed>, Option<&Printed>) {
    let Some(last) = all.last() else { return (all, None) };
    let from = all.len().saturating_sub(LINES + 1);
    let ends = |line: &Printed| is_end(&line.text, line.logged) && last.at.saturating_sub(line.at) <= TAKES_MS;
    let Some(mut first) = (from..all.len()).find(|place| ends(all[*place])) else { return (all, None) };
    while first > 0 && is_end(&all[first - 1].text, all[first - 1].logged) {
        first -= 1;
    }
    let torn = all[first];
    let mut before = all;
    before.truncate(first);
    (before, Some(torn))
}

/// Whether a line only says that something has not happened yet: a sign of life, and no progress.
pub fn is_waiting(line: &str) -> bool {
    let low: String = line.chars().take(300).collect::<String>().to_lowercase();
    let Some((_, after)) = low.split_once("still ") else { return false };
    const WAITS: [&str; 11] = [
        "connecting",
        "waiting",
        "starting",
        "initializ",
        "initialis",
        "trying",
        "not ready",
        "not connected",
        "blocked",
        "pending",
        "locked",
    ];
    WAITS.iter().any(|word| after.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Note;

    fn story(lines: &[(u64, &str)]) -> Story {
        let mut story = Story::default();
        for (at, line) in lines {
            story.note(Some(*at), Note::Prints { stderr: false, logged: false, text: format!("{line}\n") });
        }
        story
    }

    #[test]
    fn what_somebody_ended_is_judged_by_what_was_before() {
        let story = story(&[
            (0, "building"),
            (60_000, "[12:01:00] loop interrupted by the user"),
            (60_500, "[12:01:00] removing containers"),
            (61_000, "[12:01:01] bye"),
        ]);
        let (before, torn) = cut(&story);
        assert_eq!(before.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["building"]);
        assert!(torn.is_some_and(|line| line.text.contains("interrupted")));
        assert_eq!(story.clock.silent_ms(), Some(61_000));
    }

    #[test]
    fn a_run_that_goes_on_was_not_ended() {
        let mut lines = vec![(0, "building"), (60_000, "tests: Killed")];
        lines.extend((0..8).map(|n| (61_000 + n * 100, ["compiling a", "compiling b"][n as usize % 2])));
        let ended = story(&lines);
        assert!(cut(&ended).1.is_none());
        assert_eq!(ended.clock.silent_ms(), Some(0));
        let later = story(&[(0, "a"), (1_000, "[12:00:01] interrupted by user"), (90_000, "b"), (91_000, "c")]);
        assert!(cut(&later).1.is_none());
        assert_eq!(later.clock.silent_ms(), Some(0));
    }

    #[test]
    fn what_still_waits_makes_no_progress() {
        for line in ["MCP: 1 server(s) still connecting after 30s: notes", "Still waiting for a lock"] {
            assert!(is_waiting(line), "{line}");
        }
        for line in ["still compiling x", "distillery", "waiting", ""] {
            assert!(!is_waiting(line), "{line}");
        }
    }
}
