//! What was open when the log ended, and the hang that it would be.
//!
//! Invariant: what names a mechanism is in the log, and quoted; of sessions below each other the deepest counts, since
//! those above wait for it.

use super::{Guess, Hang, Sure, calls, found, quoted, words};
use crate::commands::{self, Waits};
use crate::note::{Asks, Calls, Form, Kind, Reply};
use crate::story::{Call, Post, Session, Story, What};
use rehang_scenario::text::{counted, duration};

/// What was open, and the hang that it would be.
pub(super) fn open(story: &Story, root: &str) -> Guess {
    let tree: Vec<(&str, &Session)> = story
        .sessions
        .iter()
        .filter(|(id, session)| story.root_of(id) == root && session.busy != Some(false))
        .map(|(id, session)| (id.as_str(), session))
        .collect();
    let known = restart(story)
        .or_else(|| ask(story, &tree))
        .or_else(|| hook(story, root, &tree))
        .or_else(|| call(story, &tree))
        .or_else(|| no_turn(story, root))
        .or_else(|| model(story, &tree))
        .or_else(|| cut_off(&tree))
        .or_else(|| idle(story, root));
    known.unwrap_or_else(|| {
        let task = tree.iter().flat_map(|(_, session)| calls(session)).find(|call| call.told.is_none());
        let why = match task {
            Some(task) => {
                format!("a subagent has no result, and its session is not in the log: {}", quoted(&words(&task.does)))
            }
            None => "nothing came after the prompt".to_owned(),
        };
        let mut found = stall(story, root, Sure::Perhaps, why);
        if task.is_some() {
            found.others.push(("P2", "the subagent may wait for a permission, or for a command".to_owned()));
        }
        found
    })
}

/// A hook of the user's that began and has not ended: everything waits for it.
fn hook(story: &Story, root: &str, tree: &[(&str, &Session)]) -> Option<Guess> {
    let (_, name, since) = story.hooks.back()?;
    let mut why = vec![format!("a hook began and nothing says that it is over: {}", quoted(name))];
    if story.clock.timed && story.clock.last > *since {
        why.push(format!("the log goes on for {} after it", duration(story.clock.last - since)));
    }
    let others = vec![("S3", "a hook that reads its stdin to the end waits where nobody closes it".to_owned())];
    let open = tree.iter().flat_map(|(_, session)| calls(session)).find(|call| call.told.is_none());
    // no fake has hooks: what waits for the hook takes its place
    let hang = match open {
        Some(call) => Hang::Tool { call: call.id.clone() },
        None => Hang::Model { session: root.to_owned(), refuses: None, cuts: false },
    };
    Some(found("X5", Sure::Likely, why, others, hang))
}

/// What is asked, in a few words.
fn words_of(asks: &Asks) -> String {
    match asks {
        Asks::Questions(questions) => questions.first().map_or_else(String::new, |q| q.question.clone()),
        Asks::Permission { permission, patterns } => {
            format!("{permission} {}", patterns.first().map_or("", String::as_str)).trim().to_owned()
        }
    }
}

fn ask(story: &Story, tree: &[(&str, &Session)]) -> Option<Guess> {
    let in_tree = |session: &str| tree.iter().any(|(id, _)| *id == session);
    let open: Vec<usize> = story
        .asks
        .iter()
        .enumerate()
        .filter(|(_, ask)| ask.end.is_none() && in_tree(&ask.session))
        .map(|(at, _)| at)
        .collect();
    let &first = open.first()?;
    let ask = &story.asks[first];
    let depth = story.depth(&ask.session);
    let waited = story.clock.last.saturating_sub(ask.at);
    let mut why = Vec::new();
    let mut others = Vec::new();
    let (mechanism, what) = match (&ask.asks, depth) {
        (Asks::Questions(_), 0) => ("Q1", "a question"),
        (Asks::Questions(_), _) => ("Q2", "a question of a subagent"),
        (Asks::Permission { .. }, 0) if story.agent.prompt_tool => ("P3", "a permission request to the host"),
        (Asks::Permission { .. }, 0) => ("P1", "a permission"),
        (Asks::Permission { .. }, _) => ("P2", "a permission of a subagent"),
    };
    why.push(match words_of(&ask.asks) {
        words if words.is_empty() => format!("{what} is open and nothing ended it"),
        words => format!("{what} is open and nothing ended it: {}", quoted(&words)),
    });
    if story.clock.timed && waited > 0 {
        why.push(format!("the log goes on for {} after it", duration(waited)));
    }
    if depth > 0 {
        why.push(format!(
            "its session lies {depth} below the root, where a client that follows the root alone shows nothing"
        ));
    }
    if open.len() > 1 {
        others.push(("Q3", format!("{} asks are open at once: one may have been shown over the other", open.len())));
    }
    if story.asks.iter().any(|ask| matches!(ask.end, Some((_, Reply::Answers(_) | Reply::Allowed)))) {
        others.push(("F4", "others were answered: somebody is there, and may only be slow".to_owned()));
    }
    Some(found(mechanism, Sure::Yes, why, others, Hang::Ask(first)))
}

/// The call that runs and does not come back; the deepest one, since those above wait for it.
fn call(story: &Story, tree: &[(&str, &Session)]) -> Option<Guess> {
    let mut open: Vec<(usize, &str, &Call)> = Vec::new();
    for (id, session) in tree {
        open.extend(calls(session).filter(|call| call.told.is_none()).map(|call| (story.depth(id), *id, call)));
    }
    let (depth, _, call) = open
        .iter()
        .copied()
        .filter(|(.., call)| !matches!(call.does, Calls::Task { .. }))
        .max_by_key(|(depth, ..)| *depth)
        .or_else(|| {
            // a task whose session is over: the parent missed it
            open.iter().copied().find(|(.., call)| {
                story
                    .child_of(call)
                    .and_then(|id| story.sessions.get(id))
                    .is_some_and(|s| s.busy == Some(false) || s.finished.as_deref() == Some("stop"))
            })
        })?;
    let host = story.agent.form == Form::Once && story.agent.kind == Kind::Claude;
    let screen = story.agent.form == Form::Transcript && story.agent.kind == Kind::Claude;
    let id = call.id.clone();
    Some(match &call.does {
        Calls::Ask(_) => {
            let mechanism = if depth > 0 { "Q2" } else { "Q1" };
            let why = vec![format!("the question tool was called and has no result: {}", quoted(&words(&call.does)))];
            let hang = Hang::Call { call: id, permission: false };
            found(mechanism, Sure::Yes, why, Vec::new(), hang)
        }
        Calls::Task { .. } => {
            let why = vec!["the subagent's session is over, and the call that started it still runs".to_owned()];
            let others = vec![("E4", "the call's end may have been lost on its way into the log".to_owned())];
            found("H5", Sure::Likely, why, others, Hang::Tool { call: id })
        }
        Calls::Bash { command, .. } => {
            let waits = commands::waits(command);
            let mut why = vec![format!("a command has no result: {}", quoted(command)), waits.because().to_owned()];
            if let Some(output) = call.output.filter(|_| story.clock.timed) {
                why.push(format!(
                    "its last output came {} before the log's end",
                    duration(story.clock.last.saturating_sub(output))
                ));
            }
            let mut others = vec![
                ("B13", "the command may be over, and its result lost".to_owned()),
                (
                    "F1",
                    "if nobody waited for longer than the tool's limit (120 s), it may only have been slow".to_owned(),
                ),
            ];
            if screen {
                others.insert(
                    0,
                    (
                        "P1",
                        "a permission prompt leaves the same transcript: it is drawn on the screen alone".to_owned(),
                    ),
                );
            }
            let sure = if matches!(waits, Waits::Unknown | Waits::Builds) { Sure::Perhaps } else { Sure::Likely };
            found(waits.mechanism(), sure, why, others, Hang::Bash { call: id, waits })
        }
        Calls::Tool { name, .. } => {
            let asks =
                ["write", "edit", "multiedit", "notebookedit", "webfetch"].contains(&name.to_lowercase().as_str());
            let (mechanism, sure, text) = match name {
                name if matches!(name.as_str(), "ExitPlanMode" | "exit_plan_mode") => {
                    ("Q4", Sure::Likely, "a plan waits for somebody's approval")
                }
                name if name.starts_with("mcp__") || name.contains("_mcp_") => {
                    ("X2", Sure::Likely, "a call to an MCP server has no result")
                }
                _ if asks && screen => {
                    ("P1", Sure::Likely, "a tool that needs a permission has no result, and takes no time by itself")
                }
                // an SDK's log has only its messages, not the request to its callback
                _ if asks && host => {
                    ("P3", Sure::Likely, "a tool that needs a permission has no result: a host was asked and is silent")
                }
                _ => ("E4", Sure::Perhaps, "a tool that ends by itself has no result"),
            };
            let text = format!("{text}: {}", quoted(&words(&call.does)));
            let hang = if matches!(mechanism, "P1" | "P3" | "Q4") {
                Hang::Call { call: id, permission: true }
            } else {
                Hang::Tool { call: id }
            };
            let others = vec![("B13", "the result may be there and not be taken up".to_owned())];
            found(mechanism, sure, vec![text], others, hang)
        }
    })
}

/// The session whose model owes it something; the deepest.
fn model(story: &Story, tree: &[(&str, &Session)]) -> Option<Guess> {
    let pending = tree.iter().filter(|(_, session)| session.model.is_some());
    let (id, session) = pending.max_by_key(|(id, session)| (story.depth(id), session.heard))?;
    if session.retries.0 > 0 {
        let (times, status) = session.retries;
        let mut why = vec![match status {
            Some(status) => format!("the model's server refused {}, lastly with {status}", counted(times, "time")),
            None => format!("the model was asked again {}", counted(times, "time")),
        }];
        if story.agent.kind == Kind::Claude {
            why.push("Claude Code gives up by itself after ten tries: here a silent model plays it".to_owned());
        }
        let hang = Hang::Model { session: (*id).to_owned(), refuses: Some(status.unwrap_or(500)), cuts: false };
        return Some(found("M5", Sure::Likely, why, Vec::new(), hang));
    }
    if session.compacted >= 3 {
        let mut found = stall(story, id, Sure::Perhaps, "the model was asked and is silent".to_owned());
        found
            .others
            .push(("M6", format!("the context was compacted {} times without a call between", session.compacted)));
        return Some(found);
    }
    let words = session.speaks || session.steps.back().is_some_and(|step| matches!(step.what, What::Said { .. }));
    let why =
        if words { "the model's response breaks off in the middle" } else { "the model was asked and said nothing" };
    Some(stall(story, id, Sure::Likely, why.to_owned()))
}

/// A session whose responses end without a reason and without a word, again and again; the deepest.
fn cut_off(tree: &[(&str, &Session)]) -> Option<Guess> {
    let cut =
        |what: &What| matches!(what, What::Ended(reason) if matches!(reason.as_str(), "unknown" | "none" | "other"));
    let times = |session: &Session| session.steps.iter().rev().take_while(|step| cut(&step.what)).count();
    let (id, session) = tree.iter().rev().find(|(_, session)| times(session) >= CUT_OFF)?;
    let why = vec![format!("the latest {} responses ended without a finish reason and without a word", times(session))];
    let hang = Hang::Model { session: (*id).to_owned(), refuses: None, cuts: true };
    Some(found("M3", Sure::Likely, why, Vec::new(), hang))
}

/// From this number on, responses without a finish reason are more than one broken connection. A choice.
const CUT_OFF: usize = 3;

fn restart(story: &Story) -> Option<Guess> {
    let at = story.restarted_at()?;
    let why = vec![
        "the event stream began anew while something was asked".to_owned(),
        "the server then knew nothing of the ask".to_owned(),
    ];
    let others = vec![("E2", "the ask may have ended while nobody listened".to_owned())];
    let hang = Hang::Restart { at };
    Some(found("E4", Sure::Likely, why, others, hang))
}

fn stall(story: &Story, session: &str, sure: Sure, why: String) -> Guess {
    let mut others = vec![("M2", "keep-alives on the model's stream would not be in this log".to_owned())];
    let silent = story.sessions.get(session).is_none_or(|s| s.steps.is_empty() && s.before == 0);
    if silent && story.agent.form != Form::Server {
        others.push(("S1", "an agent that still reads its stdin says nothing either".to_owned()));
    }
    let hang = Hang::Model { session: session.to_owned(), refuses: None, cuts: false };
    found("M1", sure, vec![why], others, hang)
}

fn no_turn(story: &Story, root: &str) -> Option<Guess> {
    let session = story.sessions.get(root)?;
    let none = session.steps.is_empty() && session.before == 0 && session.busy.is_none() && session.prompts == 0;
    if !none || story.agent.kind != Kind::Opencode || story.client.post == Post::Unknown {
        return None;
    }
    let why = vec!["the prompt was sent, and no event says that a turn began".to_owned()];
    let others = vec![("E2", "the events may have been lost on their way".to_owned())];
    Some(found("E5", Sure::Likely, why, others, Hang::NoTurn))
}

fn idle(story: &Story, root: &str) -> Option<Guess> {
    let session = story.sessions.get(root)?;
    session.finished.as_ref().filter(|reason| *reason != "tool-calls")?;
    if story.agent.kind == Kind::Claude {
        // no event says that it is idle: what comes after the last response is its result
        let why = "the last response ended, and no result came after it".to_owned();
        let mut found = stall(story, root, Sure::Perhaps, why);
        found.others.insert(0, ("X5", "a Stop hook may block".to_owned()));
        return Some(found);
    }
    let why = vec!["the last response ended, and no event says that the session is idle".to_owned()];
    let others = vec![("E1", "the event may have come while nobody listened".to_owned())];
    Some(found("E3", Sure::Likely, why, others, Hang::Idle))
}
