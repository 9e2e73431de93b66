//! How a log ended, what was open, and the hang that it is or would be.
//!
//! Invariant: each guess names what in the log supports it, and what else it could be. A log without a final event
//! counts as a hang only if something says so: [`Verdict`].

mod open;
mod over;
mod program;
mod waits;

pub use self::program::ticking;

use crate::claims::{self, Claim};
use crate::commands::Waits;
use crate::limits;
use crate::mask::Mask;
use crate::note::Calls;
use crate::read::BREAKS_OFF;
use crate::stated;
use crate::story::teardown;
use crate::story::{Call, Session, Story, What};
use crate::verdict::{Said, Verdict};
use rehang_scenario::text::{counted, duration};
use serde::Serialize;

/// What the drafted scenario does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The agent comes to its end.
    Completed,
    /// The agent says that it failed.
    Failed,
    /// Somebody stops it.
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
    pub verdict: Verdict,
    /// What shows that.
    pub because: Vec<String>,
    /// How long it was silent at its end, in milliseconds, by its own clock and by what the user says; `None` if
    /// neither tells.
    pub silent_ms: Option<u64>,
    /// What the drafted scenario does: of a log that ended open, the hang that it would be.
    pub end: End,
    /// The mechanism of that scenario: of the catalogue, or the benign look-alike.
    pub mechanism: &'static str,
    /// Something in the log supports that mechanism: `why` quotes it.
    pub is_named: bool,
    /// How sure the mechanism is.
    pub sure: Sure,
    /// What supports the mechanism.
    pub why: Vec<String>,
    /// What else it could be, and why.
    pub others: Vec<(&'static str, String)>,
    /// What hangs.
    pub hang: Hang,
}

impl Guess {
    /// Whether the drafted scenario would be a hang of which the log gives no reason.
    pub fn is_guess(&self) -> bool {
        self.verdict.drafts_a_hang() && !self.is_named
    }

    /// The mechanism that the log gives a reason for; `None` if the run ended by itself.
    pub fn named(&self) -> Option<&'static str> {
        Some(self.mechanism).filter(|_| self.is_named && self.verdict.drafts_a_hang())
    }
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
    /// The turn, which never began.
    NoTurn,
    /// The response to the prompt.
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

/// Guesses how the log ended. What the user says overrides what the log's end says.
pub fn guess(story: &Story, said: Said) -> Guess {
    let mut found = match story.root() {
        _ if said.hung == Some(false) => ended(End::Completed, "F1", "you say that it completed (--completed)"),
        Some(root) if !story.agent.kind.is_program() => agent(story, root, said),
        _ => program::program(story, said),
    };
    if found.end == End::Hung && found.verdict == Verdict::EndedOpen {
        (found.verdict, found.because) = open_end(story, said, &found);
        let silent = story.clock.silent_ms().is_some_and(|ms| ms >= limits::SILENT_MS);
        found.is_named |= matches!(found.hang, Hang::Model { .. } | Hang::Idle | Hang::NoTurn)
            && found.sure != Sure::Perhaps
            && (silent || found.verdict == Verdict::Hung);
    }
    let alive = said.alive_after_ms.filter(|_| found.verdict == Verdict::Hung);
    found.silent_ms = match (story.clock.silent_ms(), alive) {
        (silent, Some(ms)) => Some(silent.unwrap_or(0).saturating_add(ms)),
        (silent, None) => silent,
    };
    told_beside(story, &mut found);
    if found.end == End::Stopped && !story.agent.kind.is_stopped_from_outside() {
        found.end = End::Failed;
    }
    found
}

/// Adds what is said of every log: tasks that never ended, lines of an end that somebody made, the longest silence, what
/// was skipped.
fn told_beside(story: &Story, found: &mut Guess) {
    if found.end == End::Completed {
        for task in open_tasks(story) {
            found.because.push(format!("but nothing says that this ended: {}", quoted(&task)));
        }
    }
    if let (_, Some(torn)) = teardown::cut(story) {
        let line = quoted(&torn.text);
        if !found.because.iter().any(|why| why.contains(&line)) {
            let what = if teardown::is_cleanup(&torn.text, torn.logged) { "the end of its job" } else { "a tear-down" };
            found.because.push(format!("its last lines report {what}: {line}"));
        }
    }
    let silent = story.clock.silent_ms().unwrap_or(0);
    if let Some((longest, after)) = story.clock.longest_ms().filter(|(ms, _)| *ms >= 1_000)
        && (longest > silent || !found.verdict.drafts_a_hang())
    {
        let after = if after.is_empty() { String::new() } else { format!(", after {after}") };
        found.because.push(format!("its longest silence was {}{after}", duration(longest)));
    }
    if story.took.nul_bytes > 0 {
        let (bytes, holes) = (counted(story.took.nul_bytes, "NUL byte"), counted(story.took.holes, "place"));
        found.because.push(format!("{bytes} in {holes} were skipped: a hole in the file"));
    }
}

/// What was started in the background and has not ended, and calls without a result, in words.
pub fn open_tasks(story: &Story) -> Vec<String> {
    let root = story.root().unwrap_or_default();
    let mut all: Vec<String> = story
        .tasks
        .iter()
        .map(|(id, _, description, _)| if description.is_empty() { format!("task {id}") } else { description.clone() })
        .collect();
    let of_tree = story.sessions.iter().filter(|(id, _)| story.root_of(id) == root);
    for call in of_tree.flat_map(|(_, session)| calls(session)).filter(|call| call.told.is_none()) {
        if !story.tasks.iter().any(|(_, of, ..)| of.as_ref() == Some(&call.id)) {
            all.push(words(&call.does));
        }
    }
    all.truncate(limits::LIST);
    all
}

/// Whether it was silent for so long before its end that it may have hung, by the log's own clock.
pub(crate) fn was_silent(story: &Story) -> bool {
    story.clock.silent_ms().is_some_and(|ms| ms >= limits::SILENT_MS)
}

/// What is said of a log without a final event, and why.
fn open_end(story: &Story, said: Said, found: &Guess) -> (Verdict, Vec<String>) {
    let clock = &story.clock;
    let stated = stated::stated(story);
    let silent = clock.silent_ms().unwrap_or(0);
    // a call's own limit, if the model set one
    let limit = match &found.hang {
        Hang::Bash { call, .. } => story.find_call(call).and_then(|(_, call)| match call.does {
            Calls::Bash { timeout_ms, .. } => timeout_ms,
            _ => None,
        }),
        _ => None,
    };
    let limit = limits::GOES_ON_MS.max(limit.unwrap_or(0));
    let mut because = Vec::new();
    let verdict = match (&stated, said.alive_after_ms) {
        _ if said.hung == Some(true) => {
            because.push("you say that it hung (--hung)".to_owned());
            Verdict::Hung
        }
        (_, Some(ms)) => {
            let after = duration(ms);
            because.push(format!("you say that it was alive {after} after the log's last line (--alive-after)"));
            Verdict::Hung
        }
        (Some(stated), _) if stated.claim == Claim::Hung => {
            because.push(format!("a line of the log says so: {}", quoted(&stated.line)));
            Verdict::Hung
        }
        _ if matches!(found.hang, Hang::Restart { .. }) => {
            because.push("the server that it asked was started anew, and knows nothing of the ask".to_owned());
            Verdict::Hung
        }
        // a line that somebody wrote after a long silence says when it was ended, and no sign of life came between
        _ if silent >= limits::GOES_ON_MS
            && found.hang == Hang::Program
            && waits::lives_on(&teardown::cut(story).0).is_some() =>
        {
            because
                .push(format!("it says itself that it did not exit, and its clock goes on for {}", duration(silent)));
            Verdict::Hung
        }
        _ if clock.timed && silent >= limit && stated.is_none() && story.ending.interrupted().is_none() => {
            because.push(format!("its own clock goes on for {} without progress", duration(silent)));
            Verdict::Hung
        }
        _ => {
            because.push(match (&story.ending.unclear, story.ending.interrupted()) {
                (_, Some(last)) => format!("somebody interrupted it while it was silent: {}", quoted(&last.text)),
                (Some(kind), _) => format!(
                    "its last event of an end says neither that it went well nor that it failed: {}",
                    quoted(kind)
                ),
                _ => "no final event is in it: killed, crashed or hung, the log cannot tell".to_owned(),
            });
            Verdict::EndedOpen
        }
    };
    match &stated {
        Some(stated) if stated.claim == Claim::WallClock => {
            because.push(format!("a wall clock ended it: {}", quoted(&stated.line)));
        }
        Some(stated) if stated.claim == Claim::Killed => {
            because.push(format!("it was ended from outside: {}", quoted(&stated.line)));
        }
        Some(stated) if stated.claim == Claim::Interrupted => {
            because.push(format!("somebody interrupted it: {}", quoted(&stated.line)));
        }
        Some(stated) if stated.claim == Claim::Breaker => {
            because.push(format!("a breaker ended it: {}", quoted(&stated.line)));
        }
        _ => {}
    }
    if let Some(code) = story.ending.exit.filter(|code| claims::is_kill(*code)) {
        because.push(format!("a signal ended it: exit code {code}"));
    }
    because.push(match clock.silent_ms() {
        None => "the log has no times".to_owned(),
        Some(0) if clock.material_is.is_empty() => "nothing in it is progress".to_owned(),
        Some(0) => format!("its last line is progress: {}", clock.material_is),
        Some(ms) => format!("silent for {} by its own clock, after {}", duration(ms), clock.material_is),
    });
    (verdict, because)
}

/// A text of the log, masked by itself before it is put into a sentence: what surrounds a secret helps to recognise it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", Mask::default().shown(text.trim(), QUOTED_CHARS).replace('\n', " "))
}

/// The most of a text that is quoted, in characters. A choice.
const QUOTED_CHARS: usize = 200;

/// A log that shows its end.
fn ended(end: End, mechanism: &'static str, why: &str) -> Guess {
    let verdict = match end {
        End::Completed => Verdict::Completed,
        End::Failed | End::Stopped => Verdict::Failed,
        End::Hung => Verdict::Hung,
    };
    Guess {
        verdict,
        because: vec![why.to_owned()],
        silent_ms: None,
        end,
        mechanism,
        is_named: false,
        sure: Sure::Yes,
        why: Vec::new(),
        others: Vec::new(),
        hang: Hang::None,
    }
}

/// A log that ended open, or hung: which of them is decided from all of it.
fn found(
    mechanism: &'static str,
    sure: Sure,
    why: Vec<String>,
    others: Vec<(&'static str, String)>,
    hang: Hang,
) -> Guess {
    // silence alone is named only once there was some
    let silence = matches!(mechanism, "M1" | "E3" | "E5");
    Guess {
        verdict: Verdict::EndedOpen,
        because: Vec::new(),
        silent_ms: None,
        end: End::Hung,
        mechanism,
        is_named: sure != Sure::Perhaps && !silence,
        sure,
        why,
        others,
        hang,
    }
}

fn agent(story: &Story, root: &str, said: Said) -> Guess {
    if let Some(alive) = over::alive_after_result(story).filter(|_| said == Said::default()) {
        return alive;
    }
    let over = if said.is_hung() { None } else { over::over(story, root) };
    if let Some(mut over) = over {
        if let (End::Completed, Some(at)) = (over.end, story.restarted_at()) {
            over.hang = Hang::Restart { at };
        }
        if over.end == End::Completed && story.took.unusable.contains_key(BREAKS_OFF) {
            over.sure = Sure::Perhaps;
            over.because.push("but the log breaks off in the middle of what came next".to_owned());
        }
        return over;
    }
    if let Some(stated) = stated::stated(story).filter(|_| !said.is_hung()) {
        let quoted = format!("a line of the log says so: {}", quoted(&stated.line));
        match stated.claim {
            Claim::Completed | Claim::Exited(0) => return ended(End::Completed, "F2", &quoted),
            Claim::Limit | Claim::Error | Claim::Exited(_) | Claim::Failed => {
                return over::failed(story, root, &quoted);
            }
            Claim::Interrupted if story.ending.stopped.is_some() => return ended(End::Stopped, "F4", &quoted),
            Claim::Interrupted | Claim::WallClock | Claim::Killed | Claim::Hung | Claim::Breaker => {}
        }
    }
    // what it printed after its last event
    let (before, _) = teardown::cut(story);
    let latest: Vec<_> = before.into_iter().filter(|line| line.order > story.heard()).collect();
    if let Some(waits) = waits::at_end(&latest) {
        return waits;
    }
    let mut found = open::open(story, root);
    if story.ending.has_result() {
        found.is_named = false;
        found.others.insert(0, ("H1", "the result is in the log: the process may not have exited after it".to_owned()));
    }
    let repeated = repeated(story);
    if let Some((times, what)) = repeated.filter(|(times, _)| *times >= 10) {
        found.others.push(("M7", format!("the latest {times} calls are all the same: {}", quoted(&what))));
    }
    found
}

fn calls(session: &Session) -> impl DoubleEndedIterator<Item = &Call> {
    session.steps.iter().filter_map(|step| match &step.what {
        What::Called(call) => Some(call),
        _ => None,
    })
}

fn repeated(story: &Story) -> Option<(usize, String)> {
    let root = story.root()?;
    let session = story.sessions.get(root)?;
    let last = calls(session).next_back()?;
    let times = calls(session).rev().take_while(|call| call.does == last.does).count();
    Some((times, words(&last.does)))
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
