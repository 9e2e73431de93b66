//! A scenario for a program in an agent's place: it prints what was printed, at the same pace, and waits for the same
//! thing.
//!
//! Invariant: what it waits for is its last step; without it, it exits.

use super::{Draft, blank, waits};
use crate::claims;
use crate::guess::{End, Guess, Hang, ticking, words};
use crate::limits;
use crate::mask::Mask;
use crate::note::{Calls, Form, Kind};
use crate::spin;
use crate::story::teardown;
use crate::story::{Story, What};
use rehang_scenario::turns::{Every, Step};
use rehang_scenario::{Agent, Scenario, Span, Terminal};

/// A line that comes out at an instant.
struct Line {
    at: u64,
    stderr: bool,
    text: String,
    whole: bool,
}

/// Drafts.
pub fn draft(story: &Story, guess: &Guess, mask: &mut Mask, turns: usize) -> Option<Draft> {
    let all = lines(story, guess.end == End::Hung, mask);
    let waits = waits::steps(story, guess).filter(|_| guess.end == End::Hung);
    let ticking = ticking(story).filter(|_| guess.end == End::Hung && waits.is_none());
    let most = turns.max(1) * 2;
    let mut left_out = story.output.before;
    let keep = match &ticking {
        Some((line, _)) => {
            let still = spin::still(line);
            all.iter().rposition(|l| spin::still(&l.text) != still).map_or(0, |at| at + 1)
        }
        None => all.len(),
    };
    let from = keep.saturating_sub(most);
    left_out += from as u64;
    let mut steps = Vec::new();
    let mut last = all.get(from).map(|line| line.at);
    for (i, line) in all[from..keep].iter().enumerate() {
        let gap = line.at.saturating_sub(last.unwrap_or(line.at));
        if (limits::GAP_MS..=limits::GAP_MAX_MS).contains(&gap) {
            steps.push(Step::Sleep(Span::ms(gap)));
        }
        last = Some(line.at);
        let text = mask.shown(&line.text, limits::SHOWN_CHARS);
        let prompt = !line.whole && from + i + 1 == all.len();
        steps.push(match (line.stderr, prompt) {
            (true, _) => Step::Warn(text),
            (false, true) => Step::Prompt(text),
            (false, false) => Step::Print(text),
        });
    }
    let stdin = matches!(guess.mechanism, "S1");
    // an agent's command waits for something of its own, and has no terminal
    let own = guess.hang == Hang::Program;
    let types = own && matches!(guess.mechanism, "B1" | "Q1" | "P1" | "T2" | "T3");
    let mut control = steps.clone();
    // a host's answer comes over stdin
    let host = story.agent.kind == Kind::Other && matches!(guess.hang, Hang::Ask(_));
    if let Some((main, other)) = waits {
        steps.extend(main);
        control.extend(other);
    } else if guess.end == End::Hung {
        match &ticking {
            Some((line, pace)) => {
                let print = mask.shown(line, limits::SHOWN_CHARS);
                let every =
                    |times| Step::Every(Every { every: Span::ms(*pace), print: print.clone(), times, stderr: false });
                steps.push(every(0));
                control.push(every(4));
            }
            None if stdin => steps.push(Step::ReadStdinToEnd),
            None if own && guess.mechanism == "B2" => {
                let asked = match steps.pop() {
                    Some(Step::Prompt(text) | Step::Print(text)) => text,
                    _ => "Password: ".to_owned(),
                };
                steps.push(Step::AskTty(asked));
            }
            None if types || host => steps.push(Step::ReadStdin),
            None if running(story) => steps.push(Step::Run(vec![Step::Hold])),
            None => steps.push(Step::Hold),
        }
    } else if let Some(code) = code(story, guess) {
        steps.push(Step::Exit(code));
    }
    if control.is_empty() {
        control.push(Step::Print("done".to_owned()));
    }
    if steps.is_empty() {
        steps.push(Step::Exit(0));
    }
    let terminal = match guess.mechanism {
        "S1" => Terminal::Pipe,
        _ if host => Terminal::Pipe,
        _ if story.agent.form == Form::Once => Terminal::Null,
        "B1" | "B2" | "B3" | "Q1" | "P1" | "T2" | "T3" => Terminal::Tty,
        _ => Terminal::Null,
    };
    let scenario = blank(Agent::program(steps), vec![terminal])?;
    let mut other = scenario.clone();
    if stdin {
        other.terminals = vec![Terminal::Null];
    } else {
        other.agent = Agent::program(control);
    }
    Some(Draft { scenario, control: (guess.end == End::Hung).then_some(other), left_out })
}

/// What a run of it will be blocked on.
pub fn blocked(scenario: &Scenario) -> &'static str {
    let Some(steps) = scenario.agent.steps() else { return "unknown" };
    match steps.last() {
        Some(Step::ReadStdin | Step::ReadStdinToEnd) => "stdin",
        Some(Step::AskTty(_)) => "tty",
        Some(Step::Run(_)) => "child",
        Some(Step::Every(_)) => "timer",
        _ => waits_on(steps),
    }
}

/// What the steps before the last words wait for.
fn waits_on(steps: &[Step]) -> &'static str {
    let on = |step: &Step| match step {
        Step::Receive(_) => Some("child"),
        Step::Listen(_) => Some("client"),
        Step::Fetch(_) => Some("peer"),
        Step::TakeLock(_) | Step::Lock(_) => Some("file"),
        _ => None,
    };
    steps.iter().rev().find_map(on).unwrap_or("nothing")
}

/// What came out: lines of a program, or the words and commands of an agent without a fake.
fn lines(story: &Story, hangs: bool, mask: &mut Mask) -> Vec<Line> {
    // who ended the run said so after it hung
    let torn = teardown::cut(story).1.filter(|_| hangs).map_or(u64::MAX, |line| line.order);
    let printed = story.output.lines.iter().filter(|line| line.order < torn);
    let printed = printed.filter(|line| !hangs || !claims::is_epilogue(&line.text, line.logged));
    let mut all: Vec<Line> = printed
        .map(|l| Line { at: l.at, stderr: l.stderr, text: l.text.clone(), whole: l.whole })
        .filter(|l| !l.text.trim().is_empty())
        .collect();
    if !story.agent.kind.is_program() {
        for step in story.sessions.values().flat_map(|session| &session.steps) {
            let mut line = |at, text: String| all.push(Line { at, stderr: false, text, whole: true });
            match &step.what {
                What::Said { text, .. } => line(step.at, text.lines().next().unwrap_or_default().to_owned()),
                What::Called(call) => {
                    line(step.at, format!("$ {}", words(&call.does).replace('\n', " ")));
                    if let Some(told) = &call.told {
                        line(told.at, mask.text(&told.text).lines().next_back().unwrap_or_default().to_owned());
                    }
                }
                What::Ended(_) => {}
            }
        }
        all.retain(|line| !line.text.trim().is_empty());
        all.sort_by_key(|line| line.at);
    }
    all
}

/// Whether a command runs.
fn running(story: &Story) -> bool {
    story.sessions.values().flat_map(|s| &s.steps).any(|step| {
        matches!(&step.what, What::Called(call) if call.told.is_none() && matches!(call.does, Calls::Bash { .. }))
    })
}

fn code(story: &Story, guess: &Guess) -> Option<u8> {
    match (story.ending.exit, guess.end) {
        (Some(0) | None, End::Completed) => None,
        (Some(0), End::Failed | End::Stopped) => Some(1),
        (Some(code), _) => Some(u8::try_from(code & 0xff).unwrap_or(1)),
        (None, End::Failed) => Some(1),
        (None, _) => None,
    }
}
