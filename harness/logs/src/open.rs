//! What was open when the log ended: asks, running calls, hooks and responses, subagents' included, in words.
//!
//! Invariant: masked, a line each.

use crate::guess::words;
use crate::limits;
use crate::mask::Mask;
use crate::note::Asks;
use crate::story::{Story, What};
use rehang_scenario::text::duration;

/// Open asks of the log's session tree.
pub fn asks(story: &Story, mask: &mut Mask) -> Vec<String> {
    let root = story.root().unwrap_or_default();
    let open = story.asks.iter().filter(|ask| ask.end.is_none() && story.root_of(&ask.session) == root);
    let open = open.filter(|ask| story.sessions.get(&ask.session).is_none_or(|s| s.busy != Some(false)));
    open.take(limits::LIST)
        .map(|ask| {
            let what = match &ask.asks {
                Asks::Questions(questions) => {
                    let options = |q: &rehang_scenario::turns::Question| {
                        let labels: Vec<&str> = q.options.iter().map(|o| o.label.as_str()).collect();
                        format!("{} [{}]", q.question, labels.join(", "))
                    };
                    questions.iter().map(options).collect::<Vec<_>>().join("; ")
                }
                Asks::Permission { permission, patterns } => {
                    format!("permission {permission}: {}", patterns.join(", "))
                }
            };
            let of = depth(story, &ask.session);
            let what = mask.shown(&what.replace('\n', " "), limits::SHOWN_CHARS);
            format!("{what}{of}{}", since(story, "open ", ask.at))
        })
        .collect()
}

/// Running calls of the log's session tree.
pub fn calls(story: &Story, mask: &mut Mask) -> Vec<String> {
    let root = story.root().unwrap_or_default();
    let mut found = Vec::new();
    for (id, session) in &story.sessions {
        if story.root_of(id) != root || session.busy == Some(false) || story.ending.has_result() {
            continue;
        }
        for step in &session.steps {
            let What::Called(call) = &step.what else { continue };
            if call.told.is_none() && found.len() < limits::LIST {
                let what = mask.shown(&words(&call.does).replace('\n', " "), limits::SHOWN_CHARS);
                found.push(format!("{what}{}{}", depth(story, id), since(story, "", step.at)));
            }
        }
    }
    found
}

/// All that was open: asks, calls, hooks, and responses that a model owed.
pub fn all(story: &Story, mask: &mut Mask) -> Vec<String> {
    let mut all: Vec<String> = asks(story, mask).into_iter().map(|ask| format!("asks: {ask}")).collect();
    all.extend(calls(story, mask).into_iter().map(|call| format!("runs: {call}")));
    for (_, call, description, at) in &story.tasks {
        let known = call.as_deref().and_then(|call| story.find_call(call)).is_some_and(|(_, call)| call.told.is_none());
        if !known {
            all.push(format!("task: {}{}", mask.shown(description, limits::SHOWN_CHARS), since(story, "", *at)));
        }
    }
    for (_, name, at) in &story.hooks {
        all.push(format!("hook: {}{}", mask.shown(name, limits::SHOWN_CHARS), since(story, "", *at)));
    }
    let root = story.root().unwrap_or_default();
    for (id, session) in &story.sessions {
        let runs = session.steps.iter().any(|step| matches!(&step.what, What::Called(call) if call.told.is_none()));
        let owed = session.model.filter(|_| story.root_of(id) == root && !story.ending.has_result() && !runs);
        if let Some(at) = owed.filter(|_| session.busy != Some(false)) {
            all.push(format!("the model's response{}{}", depth(story, id), since(story, "", at)));
        }
    }
    all.truncate(limits::LIST);
    all
}

/// What a run that is over left behind: tasks in the background, and calls without a result.
pub fn left(story: &Story, mask: &mut Mask) -> Vec<String> {
    let all = crate::guess::open_tasks(story);
    all.iter().map(|task| format!("runs: {}", mask.shown(&task.replace('\n', " "), limits::SHOWN_CHARS))).collect()
}

/// How long it had been open when the log ended; empty if the log has no times, or ends there.
fn since(story: &Story, word: &str, at: u64) -> String {
    match story.clock.last.saturating_sub(at) {
        ms if story.clock.timed && ms > 0 => format!(", {word}for {}", duration(ms)),
        _ => String::new(),
    }
}

fn depth(story: &Story, session: &str) -> String {
    match story.depth(session) {
        0 => String::new(),
        depth => format!(" (in a session {depth} below the root)"),
    }
}
