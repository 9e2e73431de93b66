//! How a log ended, and the most likely mechanism if it hung.
//!
//! Invariant: each guess names what in the log speaks for it, and what else it could be. A log without an end is taken for
//! one of a hang: nobody imports another.

use crate::commands::{self, Waits};
use crate::note::{Asks, Calls, Form, Kind, Reply};
use crate::read::BREAKS_OFF;
use crate::spin;
use crate::story::{Call, Post, Session, Story, What};
use rehang_scenario::text::{counted, duration};
use serde::Serialize;

/// How a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The agent came to its end.
    Completed,
    /// The agent said that it failed.
    Failed,
    /// Somebody stopped it.
    Stopped,
    /// It hangs.
    Hung,
}

/// How sure a guess is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sure {
    /// The log says so.
    Yes,
    /// The log fits, and little else does.
    Likely,
    /// Other mechanisms leave the same log.
    Perhaps,
}

/// What a log shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    /// How it ended.
    pub end: End,
    /// The mechanism: of the catalogue, or the benign look-alike.
    pub mechanism: &'static str,
    /// How sure.
    pub sure: Sure,
    /// What speaks for it.
    pub why: Vec<String>,
    /// What else it could be, and why.
    pub others: Vec<(&'static str, String)>,
    /// What hangs.
    pub hang: Hang,
}

/// What hangs.
#[derive(Debug, Clone, PartialEq)]
pub enum Hang {
    /// Nothing.
    None,
    /// An ask, by its place in the story.
    Ask(usize),
    /// A question tool's call without an ask of its own in the log, or a tool whose permission is asked on a screen.
    Call {
        /// The call.
        call: String,
        /// It is a permission.
        permission: bool,
    },
    /// A command.
    Bash {
        /// The call.
        call: String,
        /// What it waits for.
        waits: Waits,
    },
    /// A tool's result is lost.
    Tool {
        /// The call.
        call: String,
    },
    /// The model's stream.
    Model {
        /// The session.
        session: String,
        /// It refuses with this status, again and again.
        refuses: Option<u16>,
        /// Its streams end without a finish reason, again and again.
        cuts: bool,
    },
    /// The server was started anew, and an ask was lost with it.
    Restart {
        /// When, in milliseconds from the log's begin.
        at: u64,
    },
    /// The idle event.
    Idle,
    /// The turn: it never began.
    NoTurn,
    /// The prompt's response. Whether a stop came before.
    Post {
        /// A stop came before.
        stopped: bool,
    },
    /// Nothing; the model's server made it fail.
    Failed {
        /// Its streams were cut.
        cut: bool,
        /// It refused with this status.
        status: Option<u16>,
    },
    /// A program.
    Program,
}

/// Guesses. `hung` overrides what the log's end says.
pub fn guess(story: &Story, hung: Option<bool>) -> Guess {
    match story.agent.kind {
        Kind::Program => program(story, hung),
        _ => match story.root() {
            Some(root) => agent(story, root, hung),
            None => program(story, hung),
        },
    }
}

fn ended(end: End, mechanism: &'static str, why: &str) -> Guess {
    let why = vec![why.to_owned()];
    Guess { end, mechanism, sure: Sure::Yes, why, others: Vec::new(), hang: Hang::None }
}

fn agent(story: &Story, root: &str, hung: Option<bool>) -> Guess {
    let over = if hung == Some(true) { None } else { over(story, root) };
    if let Some(mut over) = over {
        if let (End::Completed, Some(at)) = (over.end, story.restarted_at()) {
            over.hang = Hang::Restart { at };
        }
        if over.end == End::Completed && story.took.unusable.contains_key(BREAKS_OFF) {
            over.sure = Sure::Perhaps;
            over.why.push("but the log breaks off in the middle of what came next".to_owned());
        }
        return over;
    }
    let tree: Vec<(&str, &Session)> = story
        .sessions
        .iter()
        .filter(|(id, session)| story.root_of(id) == root && session.busy != Some(false))
        .map(|(id, session)| (id.as_str(), session))
        .collect();
    let found = restart(story)
        .or_else(|| ask(story, &tree))
        .or_else(|| hook(story, root, &tree))
        .or_else(|| call(story, &tree))
        .or_else(|| no_turn(story, root))
        .or_else(|| model(story, &tree))
        .or_else(|| cut_off(&tree))
        .or_else(|| idle(story, root));
    let mut found = found.unwrap_or_else(|| {
        let task = tree.iter().flat_map(|(_, session)| calls(session)).find(|call| call.told.is_none());
        let why = match task {
            Some(task) => format!("a subagent has no result, and its session is not in the log: {}", words(&task.does)),
            None => "nothing came after the prompt".to_owned(),
        };
        let mut found = stall(story, root, Sure::Perhaps, why);
        if task.is_some() {
            found.others.push(("P2", "the subagent may wait for a permission, or for a command".to_owned()));
        }
        found
    });
    if hung == Some(false) {
        found = ended(End::Completed, "F1", "it is said to have completed");
    }
    let repeated = repeated(story);
    if let Some((times, what)) = repeated.filter(|(times, _)| *times >= 10) {
        found.others.push(("M7", format!("the latest {times} calls are all the same: {what}")));
    }
    found
}

/// The end that the log shows, where it shows one.
fn over(story: &Story, root: &str) -> Option<Guess> {
    let session = story.sessions.get(root)?;
    let likely = if story.sessions.len() > 1 { "F6" } else { "F2" };
    if let Some(last) = &story.ending.result {
        if let Some(code) = story.ending.exit.filter(|code| *code != 0 && last.ok) {
            return Some(failed(story, root, &format!("it exited with {code} behind its result")));
        }
        if last.aborted || story.ending.stopped.is_some() && !last.ok {
            return Some(ended(End::Stopped, "F4", "somebody interrupted it, and its result says so"));
        }
        return Some(match last.ok {
            true => ended(End::Completed, likely, "its result is there"),
            false => failed(story, root, &format!("its result says that it failed: {}", last.text)),
        });
    }
    let transcript = story.agent.form == Form::Transcript && story.agent.kind == Kind::Claude;
    if let Some(over) = transcript.then(|| transcript_over(story, session, root, likely)).flatten() {
        return Some(over);
    }
    if story.agent.kind != Kind::Opencode {
        return Some(match story.ending.exit? {
            0 => ended(End::Completed, likely, "it exited with 0"),
            128.. if story.ending.stopped.is_some() => ended(End::Stopped, "F4", "a signal ended it"),
            code => failed(story, root, &format!("it exited with {code}")),
        });
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
        if stopped {
            found.why.push("somebody stopped the session: opencode 1.2 leaves the request open then".to_owned());
        }
        return Some(found);
    }
    Some(match (stopped, &session.failed) {
        (true, _) => ended(End::Stopped, "F4", "somebody stopped the session"),
        (_, Some(why)) => failed(story, root, &format!("the session failed: {why}")),
        _ => ended(End::Completed, likely, "the session is idle behind its last response"),
    })
}

/// The end of a transcript: none has a result or an exit code, and a turn ends with words behind which nothing is open.
fn transcript_over(story: &Story, session: &Session, root: &str, likely: &'static str) -> Option<Guess> {
    if story.ending.stopped.is_some() {
        return Some(ended(End::Stopped, "F4", "somebody interrupted it, and nobody prompted it again"));
    }
    if let Some(why) = &session.failed {
        return Some(failed(story, root, &format!("its last words are an error: {why}")));
    }
    let open = story.sessions.values().flat_map(calls).any(|call| call.told.is_none());
    let words = session.steps.iter().rev().find(|step| !matches!(step.what, What::Ended(_)));
    let words = words.is_some_and(|step| matches!(step.what, What::Said { .. }));
    if open || !words || session.speaks || !story.hooks.is_empty() {
        return None;
    }
    let mut done = ended(End::Completed, likely, "its last words are the model's, and no tool runs");
    if session.finished.as_deref() != Some("stop") {
        done.sure = Sure::Perhaps;
        done.others.push(("M1", "the model may have broken off behind them; --hung, if it did".to_owned()));
    }
    Some(done)
}

/// A hook of the user's that began and is not over: everything waits for it.
fn hook(story: &Story, root: &str, tree: &[(&str, &Session)]) -> Option<Guess> {
    let (_, name, since) = story.hooks.back()?;
    let mut why = vec![format!("a hook began and nothing says that it is over: {name}")];
    if story.clock.timed && story.clock.last > *since {
        why.push(format!("the log goes on for {} behind it", duration(story.clock.last - since)));
    }
    let others = vec![("S3", "a hook that reads its stdin to the end waits where nobody closes it".to_owned())];
    let open = tree.iter().flat_map(|(_, session)| calls(session)).find(|call| call.told.is_none());
    // no fake has hooks: what waits for this one stands for it
    let hang = match open {
        Some(call) => Hang::Tool { call: call.id.clone() },
        None => Hang::Model { session: root.to_owned(), refuses: None, cuts: false },
    };
    Some(Guess { end: End::Hung, mechanism: "X5", sure: Sure::Likely, why, others, hang })
}

fn failed(story: &Story, root: &str, why: &str) -> Guess {
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

fn calls(session: &Session) -> impl DoubleEndedIterator<Item = &Call> {
    session.steps.iter().filter_map(|step| match &step.what {
        What::Called(call) => Some(call),
        _ => None,
    })
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
    why.push(format!("{what} is open and nothing ended it"));
    if story.clock.timed && waited > 0 {
        why.push(format!("the log goes on for {} behind it without progress", duration(waited)));
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
    Some(Guess { end: End::Hung, mechanism, sure: Sure::Yes, why, others, hang: Hang::Ask(first) })
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
            let why = vec!["the question tool was called and has no result".to_owned()];
            let hang = Hang::Call { call: id, permission: false };
            Guess { end: End::Hung, mechanism, sure: Sure::Yes, why, others: Vec::new(), hang }
        }
        Calls::Task { .. } => {
            let why = vec!["the subagent's session is over, and the call that started it still runs".to_owned()];
            let others = vec![("E4", "the call's end may have been lost on its way into the log".to_owned())];
            Guess { end: End::Hung, mechanism: "H5", sure: Sure::Likely, why, others, hang: Hang::Tool { call: id } }
        }
        Calls::Bash { command, .. } => {
            let waits = commands::waits(command);
            let mut why = vec!["a command has no result".to_owned(), waits.because().to_owned()];
            if let Some(output) = call.output {
                why.push(format!(
                    "its last output came {} before the log's end",
                    duration(story.clock.last.saturating_sub(output))
                ));
            }
            why.push("it is taken to have outlived the tool's own limit, since it was given up for hung".to_owned());
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
            Guess {
                end: End::Hung,
                mechanism: waits.mechanism(),
                sure,
                why,
                others,
                hang: Hang::Bash { call: id, waits },
            }
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
                // its messages alone are in the log of an SDK: the request to its callback is not
                _ if asks && host => {
                    ("P3", Sure::Likely, "a tool that needs a permission has no result: a host was asked and is silent")
                }
                _ => ("E4", Sure::Perhaps, "a tool that ends by itself has no result"),
            };
            let hang = if matches!(mechanism, "P1" | "P3" | "Q4") {
                Hang::Call { call: id, permission: true }
            } else {
                Hang::Tool { call: id }
            };
            let others = vec![("B13", "the result may be there and not be taken up".to_owned())];
            Guess { end: End::Hung, mechanism, sure, why: vec![text.to_owned()], others, hang }
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
            why.push("Claude Code gives up by itself behind ten tries: a silent model stands for it".to_owned());
        }
        let hang = Hang::Model { session: (*id).to_owned(), refuses: Some(status.unwrap_or(500)), cuts: false };
        return Some(Guess { end: End::Hung, mechanism: "M5", sure: Sure::Likely, why, others: Vec::new(), hang });
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
    Some(Guess { end: End::Hung, mechanism: "M3", sure: Sure::Likely, why, others: Vec::new(), hang })
}

/// So many responses without a finish reason are more than one broken connection. A choice.
const CUT_OFF: usize = 3;

fn restart(story: &Story) -> Option<Guess> {
    let at = story.restarted_at()?;
    let why = vec![
        "the event stream began anew while something was asked".to_owned(),
        "the server then knew nothing of the ask".to_owned(),
    ];
    let others = vec![("E2", "the ask may have ended while nobody listened".to_owned())];
    let hang = Hang::Restart { at };
    Some(Guess { end: End::Hung, mechanism: "E4", sure: Sure::Likely, why, others, hang })
}

fn stall(story: &Story, session: &str, sure: Sure, why: String) -> Guess {
    let mut others = vec![("M2", "keep-alives on the model's stream would not be in this log".to_owned())];
    let silent = story.sessions.get(session).is_none_or(|s| s.steps.is_empty() && s.before == 0);
    if silent && story.agent.form != Form::Server {
        others.push(("S1", "an agent that still reads its stdin says nothing either".to_owned()));
    }
    let hang = Hang::Model { session: session.to_owned(), refuses: None, cuts: false };
    Guess { end: End::Hung, mechanism: "M1", sure, why: vec![why], others, hang }
}

fn no_turn(story: &Story, root: &str) -> Option<Guess> {
    let session = story.sessions.get(root)?;
    let none = session.steps.is_empty() && session.before == 0 && session.busy.is_none() && session.prompts == 0;
    if !none || story.agent.kind != Kind::Opencode || story.client.post == Post::Unknown {
        return None;
    }
    let why = vec!["the prompt was sent, and no event says that a turn began".to_owned()];
    let others = vec![("E2", "the events may have been lost on their way".to_owned())];
    Some(Guess { end: End::Hung, mechanism: "E5", sure: Sure::Likely, why, others, hang: Hang::NoTurn })
}

fn idle(story: &Story, root: &str) -> Option<Guess> {
    let session = story.sessions.get(root)?;
    session.finished.as_ref().filter(|reason| *reason != "tool-calls")?;
    if story.agent.kind == Kind::Claude {
        // no event says that it is idle: what comes behind the last response is its result
        let why = "the last response ended, and no result came behind it".to_owned();
        let mut found = stall(story, root, Sure::Perhaps, why);
        found.others.insert(0, ("X5", "a Stop hook may block".to_owned()));
        return Some(found);
    }
    let why = vec!["the last response ended, and no event says that the session is idle".to_owned()];
    let others = vec![("E1", "the event may have come while nobody listened".to_owned())];
    Some(Guess { end: End::Hung, mechanism: "E3", sure: Sure::Likely, why, others, hang: Hang::Idle })
}

fn repeated(story: &Story) -> Option<(usize, String)> {
    let root = story.root()?;
    let session = story.sessions.get(root)?;
    let last = calls(session).next_back()?;
    let times = calls(session).rev().take_while(|call| call.does == last.does).count();
    Some((times, words(&last.does)))
}

fn program(story: &Story, hung: Option<bool>) -> Guess {
    let text: Vec<&str> = story.output.lines.iter().rev().take(12).map(|line| line.text.as_str()).collect();
    let text: Vec<&str> = text.into_iter().rev().collect();
    let text = text.join("\n");
    match (story.ending.exit, hung) {
        (Some(0), None | Some(false)) | (None, Some(false)) => return ended(End::Completed, "F8", "it exited with 0"),
        (Some(code), None | Some(false)) => return ended(End::Failed, "M4", &format!("it exited with {code}")),
        _ => {}
    }
    let found = |mechanism, sure, why: &str| {
        let why = vec!["its exit is not in the log".to_owned(), why.to_owned()];
        Guess { end: End::Hung, mechanism, sure, why, others: Vec::new(), hang: Hang::Program }
    };
    if let Some((mechanism, why)) = commands::prompt(&text) {
        return found(mechanism, Sure::Likely, why);
    }
    let spinner = story.output.lines.back().is_some_and(|line| spin::turns(&line.text));
    if spinner && ticking(story).is_some() {
        return found("B5", Sure::Likely, "a spinner turns, and nothing else happens");
    }
    // without an exit event a recording says nothing of its end; a prompt would have
    if story.agent.form == Form::Text && hung != Some(true) {
        let mut done = ended(End::Completed, "F8", "the recording ends, and its last words are no prompt");
        done.sure = Sure::Perhaps;
        return done;
    }
    if ticking(story).is_some() {
        return found("B5", Sure::Likely, "the same line comes again and again");
    }
    let mut silent = found("B5", Sure::Perhaps, "its last words are no prompt; nothing says what it waits for");
    silent.others.push(("M1", "if it is an agent, its model may be silent".to_owned()));
    silent.others.push(("F1", "it may only be slow".to_owned()));
    silent
}

/// The last line and its pace, where it came at least four times in a row at a pace, but for what only turns or counts time.
pub fn ticking(story: &Story) -> Option<(String, u64)> {
    let mut last = story.output.lines.iter().rev();
    let line = last.next()?;
    let still = spin::still(&line.text);
    let same: Vec<u64> =
        last.take_while(|l| !still.is_empty() && spin::still(&l.text) == still).map(|l| l.at).take(8).collect();
    let pace = line.at.checked_sub(*same.get(2)?)? / 3;
    (pace > 0).then(|| (line.text.clone(), pace))
}

/// A call in a few words.
pub fn words(does: &Calls) -> String {
    match does {
        Calls::Ask(questions) => questions.first().map_or_else(|| "a question".to_owned(), |q| q.question.clone()),
        Calls::Bash { command, .. } => command.clone(),
        Calls::Task { description, .. } => format!("task: {description}"),
        Calls::Tool { name, on } => format!("{name} {on}").trim_end().to_owned(),
    }
}
