//! The final events of agents: what says that a run is over.
//!
//! Invariant: a log without one is never over.

use super::{End, Guess, Hang, Sure, calls, ended, found, quoted, was_silent};
use crate::claims::{self, Claim};
use crate::limits;
use crate::note::{Form, Kind};
use crate::stated;
use crate::story::teardown;
use crate::story::{Call, Post, Session, Story, What};
use crate::verdict::Verdict;
use rehang_scenario::text::duration;

/// A good result, then silence until somebody ended what ran: what has to be ended was alive.
pub(super) fn alive_after_result(story: &Story) -> Option<Guess> {
    story.ending.result.as_ref().filter(|result| result.ok)?;
    let stated = stated::stated(story)?;
    if matches!(stated.claim, Claim::Completed | Claim::Limit | Claim::Exited(_) | Claim::Error | Claim::Failed) {
        return None;
    }
    let silent = story.clock.silent_ms().filter(|ms| *ms >= limits::GOES_ON_MS)?;
    let (before, _) = teardown::cut(story);
    if before.iter().any(|line| line.order > story.heard()) {
        return None;
    }
    let why = "the result is there, and nothing says that the process exited".to_owned();
    let next = "what came after it in the same job may be what was silent: the log does not tell them apart".to_owned();
    let mut found = found("H1", Sure::Likely, vec![why], vec![("B5", next)], Hang::Program);
    found.verdict = Verdict::Hung;
    let words = quoted(&stated.line);
    found.because =
        vec![format!("its result is there, and {} of silence later what ran was ended: {words}", duration(silent))];
    Some(found)
}

/// The end that the log shows, if it shows one.
pub(super) fn over(story: &Story, root: &str) -> Option<Guess> {
    let session = story.sessions.get(root)?;
    let likely = if story.sessions.len() > 1 { "F6" } else { "F2" };
    if let Some(last) = &story.ending.result {
        // a signal after a good result ended a process that merely lived on
        if let Some(code) = story.ending.exit.filter(|code| *code != 0 && !claims::is_kill(*code) && last.ok) {
            return Some(failed(story, root, &format!("it exited with {code} after its result")));
        }
        let open = |session: &Session| session.model.is_some() || calls(session).any(|call| call.told.is_none());
        if story.ending.interrupted().is_some() && was_silent(story) && story.sessions.values().any(open) {
            // somebody who interrupts what was silent for long does not tell whether it would have gone on
            return None;
        }
        if last.aborted || story.ending.stopped.is_some() && !last.ok {
            return Some(ended(End::Stopped, "F4", "somebody interrupted it, and its result says so"));
        }
        return Some(match last.ok {
            true => ended(End::Completed, likely, "its result is there"),
            false => failed(story, root, &format!("its result says that it failed: {}", quoted(&last.text))),
        });
    }
    let transcript = story.agent.form == Form::Transcript && matches!(story.agent.kind, Kind::Claude | Kind::Codex);
    if let Some(over) = transcript.then(|| transcript_over(story, session, root, likely)).flatten() {
        return Some(over);
    }
    // its last event, and nothing that came after it
    let fails = matches!(story.agent.kind, Kind::Gemini | Kind::Other | Kind::Codex) && story.ending.unclear.is_none();
    if let Some(why) = session.failed.as_ref().filter(|_| fails && story.ending.exit.is_none()) {
        return Some(failed(story, root, &format!("its last event is an error: {}", quoted(why))));
    }
    if story.agent.kind != Kind::Opencode {
        return Some(
            match story.ending.exit.filter(|code| !claims::is_kill(*code) || story.ending.stopped.is_some())? {
                0 => ended(End::Completed, likely, "it exited with 0"),
                130 => ended(End::Stopped, "F4", "it exited with 130: somebody interrupted it"),
                124.. if story.ending.stopped.is_some() => ended(End::Stopped, "F4", "a signal ended it"),
                code => failed(story, root, &format!("it exited with {code}")),
            },
        );
    }
    let answered = |call: &&Call| call.told.as_ref().is_some_and(|told| told.text.contains("rejected permission"));
    let rejected = calls(session).next_back().filter(answered).is_some();
    let at_rest = session.busy == Some(false);
    let run_over = story.agent.form == Form::Once
        && (matches!(session.finished.as_deref(), Some("stop" | "length" | "content-filter"))
            || rejected
            || session.failed.is_some());
    // a prompt that was refused begins no turn
    let refused = session.failed.is_some() && session.busy.is_none();
    if !at_rest && !run_over && !refused {
        return None;
    }
    let stopped = story.ending.stopped.as_ref().is_some_and(|(_, of)| of.is_empty() || story.root_of(of) == root);
    if story.client.post == Post::Unanswered && at_rest {
        let mut found = ended(End::Hung, "E6", "the session is idle and the prompt's request has no response");
        found.hang = Hang::Post { stopped };
        found.why = found.because.clone();
        found.is_named = true;
        if stopped {
            found.because.push("somebody stopped the session: opencode 1.2 leaves the request open then".to_owned());
        }
        return Some(found);
    }
    Some(match (stopped, &session.failed) {
        (true, _) => ended(End::Stopped, "F4", "somebody stopped the session"),
        (_, Some(why)) => failed(story, root, &format!("the session failed: {}", quoted(why))),
        _ => ended(End::Completed, likely, "the session is idle behind its last response"),
    })
}

/// The end of a transcript, or of a rollout whose release writes no end of a turn: it has neither a result nor an exit code, and a turn ends with words after which nothing is
/// open.
fn transcript_over(story: &Story, session: &Session, root: &str, likely: &'static str) -> Option<Guess> {
    if story.ending.stopped.is_some() {
        return Some(ended(End::Stopped, "F4", "somebody interrupted it, and nobody prompted it again"));
    }
    if let Some(why) = &session.failed {
        return Some(failed(story, root, &format!("its last words are an error: {}", quoted(why))));
    }
    let tree = story.sessions.iter().filter(|(id, _)| story.root_of(id) == root);
    let open = tree.flat_map(|(_, session)| calls(session)).any(|call| call.told.is_none());
    let words = session.steps.iter().rev().find(|step| !matches!(step.what, What::Ended(_)));
    let words = words.is_some_and(|step| matches!(step.what, What::Said { .. }));
    // a rollout of Codex has items, each of them whole
    let speaks = session.speaks && story.agent.kind != Kind::Codex;
    if open || !words || speaks || !story.hooks.is_empty() {
        return None;
    }
    let stopped = session.finished.as_deref() == Some("stop");
    // if the log gives reasons, words without one are not the last
    if !stopped && story.agent.gives_reasons {
        return None;
    }
    let mut done = ended(End::Completed, likely, "its last words are the model's, and no tool runs");
    if !stopped {
        done.sure = Sure::Perhaps;
        done.because.push("the log never says why a response ended; --hung, if it did".to_owned());
    }
    Some(done)
}

pub(super) fn failed(story: &Story, root: &str, why: &str) -> Guess {
    let cut = story.sessions.get(root).is_some_and(|session| session.cut_off > 0);
    let asked = |at: u64| story.asks.iter().any(|ask| ask.at <= at && ask.open_until(at));
    if story.client.misfit.is_some_and(asked) {
        return ended(End::Failed, "P4", &format!("what it was sent is no message, and {why}"));
    }
    let mechanism = if cut { "M3" } else { "M4" };
    let mut found = ended(End::Failed, mechanism, why);
    found.hang = Hang::Failed { cut, status: status(why) };
    found
}

/// The HTTP status that an error names.
fn status(text: &str) -> Option<u16> {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    numbers.filter(|n| n.len() == 3).find_map(|n| n.parse().ok().filter(|n| (400..600).contains(n)))
}
