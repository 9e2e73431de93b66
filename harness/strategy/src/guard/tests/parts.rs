//! A part that hangs is ended first.

use super::{FIRST_LOOK_MS, STEP, diagnosis, finds, process};
use crate::testing::{deeds, looked, report};
use crate::{Act, Intended, ProcessSeen, Seen};
use rehang_evidence::{Diagnosis, Pid, Sure};
use rehang_hangs::Signature;
use rehang_words::{Span, Terminal};

/// The limit of a command below the agent that waits for its stdin for certain.
const HELD: u64 = Span::mins(10).as_ms();

/// A look that finds a command below the agent waiting for its stdin.
fn reads_stdin(parts: &[Pid]) -> Seen {
    let seen = looked(Signature::StdinOpen, false, Sure::Certain);
    Seen::Process(ProcessSeen::Looked(Box::new(Diagnosis { parts: parts.to_vec(), ..diagnosis(&seen) })))
}

#[test]
fn the_part_is_ended_and_the_run_goes_on() {
    let mut bench = process(Terminal::Null);
    let at = FIRST_LOOK_MS + HELD;
    assert_eq!(finds(&mut bench, at - 1, &reads_stdin(&[101])), []);
    let intent = bench.strategy.intent().expect("it is going to end the part");
    assert_eq!((intent.does, intent.at.0), (Intended::EndPart, at));
    let ends = finds(&mut bench, at, &reads_stdin(&[101]));
    assert_eq!(deeds(&ends), [(at, "TERM part 101".to_owned())]);
    let acts: Vec<Act> = ends.into_iter().map(|(_, act)| act).collect();
    let report = report(&acts);
    assert_eq!(
        (report.rule.as_deref(), report.cause, report.detected.as_deref()),
        (Some("end-part"), None, Some("stdin-open"))
    );
    bench.out("the tool has failed, so something else is tried\n");
    let kill = at + STEP.as_ms();
    assert_eq!(
        deeds(&finds(&mut bench, kill, &looked(Signature::Sleep, true, Sure::Guess))),
        [(kill, "KILL part 101".to_owned())]
    );
    assert!(bench.strategy.deadline().is_some(), "it still watches");
}

#[test]
fn a_part_that_outlives_its_end_ends_the_run() {
    let mut bench = process(Terminal::Null);
    let seen = reads_stdin(&[101]);
    let deeds = deeds(&finds(&mut bench, 3 * HELD, &seen));
    let words: Vec<&str> = deeds.iter().map(|(_, word)| word.as_str()).collect();
    assert_eq!(words, ["TERM part 101", "KILL part 101", "TERM tree", "KILL tree", "stopped: stdin-open"]);
}

#[test]
fn the_fourth_part_is_the_run() {
    let mut bench = process(Terminal::Null);
    let mut words = Vec::new();
    for (ordinal, pid) in (1..=4).zip([101, 102, 103, 104]) {
        let done = finds(&mut bench, ordinal * (2 * HELD), &reads_stdin(&[pid]));
        words.extend(deeds(&done).into_iter().map(|(_, word)| word));
        bench.out(&format!("attempt {ordinal}\n"));
    }
    let ends: Vec<&String> = words.iter().filter(|word| word.starts_with("TERM")).collect();
    assert_eq!(ends[..3], ["TERM part 101", "TERM part 102", "TERM part 103"]);
    assert_eq!(ends[3], "TERM tree");
}

/// More than four processes at once are no part.
#[test]
fn many_parts_are_the_run() {
    let mut bench = process(Terminal::Null);
    let done = deeds(&finds(&mut bench, 2 * HELD, &reads_stdin(&[1, 2, 3, 4, 5])));
    assert_eq!(done.first().map(|(_, word)| word.as_str()), Some("TERM tree"));
}
