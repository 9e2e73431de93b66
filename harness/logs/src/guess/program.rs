//! How a plain program's log ended.
//!
//! Invariant: a mechanism is named only if the last words on the screen are a prompt, or if the same line, such as a
//! spinner, comes again and again and nothing else happens for a minute.

use super::{End, Guess, Hang, Sure, ended, found, quoted, waits, was_silent};
use crate::choices;
use crate::claims::{self, Claim};
use crate::limits;
use crate::spin;
use crate::stated;
use crate::story::Story;
use crate::story::teardown;
use crate::verdict::Said;
use rehang_scenario::Mechanism;

/// The last lines on the screen that a prompt is looked for in.
const SCREEN_LINES: usize = 12;

/// Guesses of a plain program.
pub(super) fn program(story: &Story, said: Said) -> Guess {
    if let Some(over) = over(story).filter(|_| !said.is_hung()) {
        return over;
    }
    let (before, _) = teardown::cut(story);
    let from = before.len().saturating_sub(SCREEN_LINES);
    let text = before[from..].iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    let busy = text.to_lowercase().contains("esc to interrupt");
    if let Some(prompt) = choices::at_end(&text).filter(|_| !busy) {
        let sure = if prompt.certain { Sure::Likely } else { Sure::Perhaps };
        let why = format!("{}: {}", prompt.because, quoted(prompt.words));
        return found(Mechanism::from(prompt.waits).id(), sure, vec![why], Vec::new(), Hang::Program);
    }
    if let Some(waits) = waits::at_end(&before).or_else(|| waits::on_model(&before)) {
        return waits;
    }
    if let Some(line) = waits::lives_on(&before) {
        let why = format!("it says that it has done its work and did not exit: {}", quoted(line));
        return found("B5", Sure::Likely, vec![why], Vec::new(), Hang::Program);
    }
    let ticks = ticking(story);
    let long = story.clock.silent_ms().is_some_and(|ms| ms >= limits::SILENT_MS);
    if let Some((line, _)) = ticks.filter(|_| long) {
        let what = if spin::turns(&line) { "a spinner turns" } else { "the same line comes again and again" };
        let why = format!("{what}, and nothing else happens: {}", quoted(&line));
        return found("B5", Sure::Likely, vec![why], Vec::new(), Hang::Program);
    }
    let mut silent =
        found("B5", Sure::Perhaps, vec!["it does not end with a prompt".to_owned()], Vec::new(), Hang::Program);
    silent.others.push(("M1", "if it is an agent, its model may be silent".to_owned()));
    silent.others.push(("F1", "it may only be slow".to_owned()));
    silent
}

/// The end that the log states, if it does.
fn over(story: &Story) -> Option<Guess> {
    match story.ending.exit {
        Some(0) => return Some(ended(End::Completed, "F8", "it exited with 0")),
        Some(code) if !claims::is_kill(code) => {
            let end = if code == 130 { End::Stopped } else { End::Failed };
            return Some(ended(end, "M4", &format!("it exited with {code}")));
        }
        _ => {}
    }
    if let Some(stated) = stated::stated(story) {
        let quoted = format!("a line of the log says so: {}", quoted(&stated.line));
        match stated.claim {
            Claim::Completed | Claim::Exited(0) => return Some(ended(End::Completed, "F8", &quoted)),
            // somebody who interrupts what was silent for long does not tell whether it would have gone on
            Claim::Interrupted if !was_silent(story) => return Some(ended(End::Stopped, "F4", &quoted)),
            Claim::Limit | Claim::Error | Claim::Exited(_) | Claim::Failed => {
                return Some(ended(End::Failed, "M4", &quoted));
            }
            Claim::WallClock | Claim::Killed | Claim::Hung | Claim::Interrupted | Claim::Breaker => return None,
        }
    }
    if let Some(cleaned) = teardown::cleanup(story) {
        let over = format!("its job came to its end: {}", quoted(&cleaned.text));
        return Some(match teardown::marked(story) {
            Some(error) => ended(End::Failed, "M4", &format!("{over}, after an error: {}", quoted(&error.text))),
            None => ended(End::Completed, "F8", &format!("{over}, and no error is marked in its last step")),
        });
    }
    stated::shell_is_back(story).then(|| {
        let last = story.output.latest().next().map_or("", |line| line.text.trim());
        ended(End::Completed, "F8", &format!("what ran is over, since the shell's prompt is back: {}", quoted(last)))
    })
}

/// The last line and the mean time between its last four occurrences, in milliseconds, if it came at least four times
/// in a row. Lines that differ only in a spinner or in counted time are the same line.
pub fn ticking(story: &Story) -> Option<(String, u64)> {
    let (before, _) = teardown::cut(story);
    let mut last = before.into_iter().rev();
    let line = last.next()?;
    let still = spin::still(&line.text);
    let same: Vec<u64> =
        last.take_while(|l| !still.is_empty() && spin::still(&l.text) == still).map(|l| l.at).take(8).collect();
    let pace = line.at.checked_sub(*same.get(2)?)? / 3;
    (pace > 0).then(|| (line.text.clone(), pace))
}
