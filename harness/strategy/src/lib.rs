//! What decides: every detector and resolver, as a state machine without I/O.
//!
//! A strategy is told what is seen and says what it does: `on(now, seen) -> acts`, and when it wants to be told that
//! time has passed: `deadline()`. The very same machine can run in production: [`ProcessHost`] is the entry for a
//! program that runs an agent, `docs/library.md` explains it, `examples/wrapper.rs` is a wrapper to copy.
//!
//! Invariants: no clock, no process, no descriptor; the same sequence of observations gives the same acts;
//! a strategy's defects are those of the version that it is named after.

pub mod auto_answer;
pub mod auto_approve;
pub mod blind_timeout;
mod canon;
pub mod catalogue;
pub mod cli_manager;
pub mod companion;
pub mod entry;
pub mod guard;
pub mod host;
pub mod idle;
mod lines;
pub mod matrix;
pub mod none;
pub mod not_offered;
pub mod pawwork;
pub mod pending_ask;
pub mod process_host;
pub mod spec;
pub mod stack;
pub mod wall;

pub use catalogue::{SeatError, all, fits, named};
pub use entry::{Entry, Named, Param, Params, Seat, Wire};
pub use host::{Acting, Host};
pub use matrix::{matrix, stacks};
pub use process_host::{ProcessHost, StackError, Step};
pub use rehang_words::{Policy, Span, Terminal, VTime};
pub use spec::{Spec, SpecError};
pub use stack::{Member, Stack, member, stack};

use rehang_evidence::{Diagnosis, Pid};
use rehang_words::Canon;
use rehang_words::Question;
use serde_json::Value;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A detector together with a resolver.
pub trait Strategy {
    /// Takes what is seen, and adds what is to be done to `acts`.
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>);
    /// When it wants [`Seen::Tick`]; a deadline that has passed is due at once.
    fn deadline(&self) -> Option<VTime>;
    /// The latest end that its own constants allow in such a cell, from the start of the run (of the first run, if it
    /// [outlives](Strategy::outlives_run) them); `None` if it bounds nothing.
    fn bound(&self, facts: &Facts) -> Option<Span>;
    /// Writes all of the state that a later observation can read.
    fn canon(&self, canon: &mut Canon);
    /// What it will do to the run first, if nothing changes before then; `None` if it will do nothing, or announces
    /// nothing. It is there for the program that runs it to report; nothing may depend on it.
    fn intent(&self) -> Option<Intent> {
        None
    }
    /// Whether it sends the prompt itself (the companion's `sendPrompt`); the baseline client then does not.
    fn sends_prompt(&self) -> bool {
        false
    }
    /// Whether it is outside the caller's loop: it goes on over all of the loop's runs, and ends all of them at once.
    fn outlives_run(&self) -> bool {
        false
    }
    /// Whether what people write to the agent's stdin goes through it: it gets [`Seen::Typed`], and nothing is written.
    fn relays(&self) -> bool {
        false
    }
    /// Whether it listens to the server's event stream.
    fn wants_events(&self) -> bool {
        false
    }
}

/// What a bound depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// The longest that a healthy run of this scenario takes (the control arm's end).
    pub healthy: Span,
    /// How many asks the scenario's turns hold.
    pub asks: u32,
    /// How many responses of the model they hold.
    pub responses: u32,
    /// How many bash calls they hold.
    pub bashes: u32,
}

/// One of the agent's output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output, or the terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

/// An ask, as a strategy inside the agent sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The ask's id; at the tool boundary, where it has none yet, the call's.
    pub id: String,
    /// The session that asks.
    pub session: String,
    /// Whether that session is a child session.
    pub child: bool,
    /// The questions; empty for a permission.
    pub questions: Vec<Question>,
    /// The permission; empty for a question.
    pub permission: String,
}

/// What a strategy sees.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    // --- outside: a run ---
    /// How the agent's standard streams are connected; comes before [`Seen::Started`].
    Terminal(Terminal),
    /// The agent's stdin is its caller's own: nobody here writes to it, and [`Act::CloseStdin`] would do nothing.
    StdinIsTheCallers,
    /// The agent was started; for a server: it listens, and this session was made for the prompt.
    Started {
        /// The session's id; empty if there is no server.
        session: String,
        /// The prompt of the run.
        prompt: String,
    },
    /// Bytes of the agent's output, as they came out of the pipe.
    Output(Stream, Vec<u8>),
    /// A person wants this to be written to the agent's stdin (only if the strategy relays).
    Typed(Vec<u8>),
    /// The end of one of its streams. On a terminal, where stderr is not a separate stream, its end comes right after
    /// the start.
    OutputEnd(Stream),
    /// The wrapper or a person wrote this to the agent's stdin.
    Wrote(Vec<u8>),
    /// The agent's process has ended: its exit code, or minus the signal's number.
    Exited(i32),
    /// The deadline that it asked for has come.
    Tick,
    // --- outside: HTTP ---
    /// The response to a request of its own.
    Response {
        /// The request's number, as the strategy gave it.
        id: u32,
        /// The HTTP status.
        status: u16,
        /// The body of the response.
        body: Arc<Value>,
    },
    /// A request of its own got no (whole) response: `closed`, `reset`, `refused`, `timeout`.
    Failed {
        /// The request's number.
        id: u32,
        /// Why there was none.
        why: String,
    },
    /// An event of the server's stream.
    Event(Arc<Value>),
    /// The event stream was cut; the host opens it again.
    EventsCut,
    // --- outside: looks ---
    /// How many direct children the server has; `None` if that is not available.
    Children(Option<u32>),
    /// Whether the server's pid was found.
    Pid(bool),
    /// Whether the companion's task worker is alive.
    Worker(bool),
    /// What the agent's processes do, as `rehang why` reports it.
    Looked(Box<Diagnosis>),
    /// A person runs a command of the companion: `heal`, `status`, `cancel`.
    Command(String),
    // --- inside ---
    /// The agent begins.
    Boot {
        /// The agent's environment.
        env: Vec<(String, String)>,
        /// Whether stdin is a terminal.
        stdin_tty: bool,
        /// Whether the program is a one-shot run, which has no reply route of its own.
        run: bool,
        /// Whether somebody can reach it over HTTP: it listens.
        listens: bool,
    },
    /// The question tool was called, at the tool's entry: [`Act::AnswerTool`] ends it here.
    ToolAsks(Ask),
    /// An ask is pending (ask layer): [`Act::Reply`] or [`Act::Reject`] ends it.
    Pending(Ask),
    /// An ask ended.
    Ended {
        /// The ask's id.
        id: String,
    },
    /// A request to the model was sent.
    StreamOpen {
        /// The id of the session.
        session: String,
    },
    /// The model's stream moved.
    StreamMoved {
        /// The id of the session.
        session: String,
        /// Whether the event counts as provider progress (text, reasoning, tool input), and not as a start or keep-alive.
        progress: bool,
    },
    /// The model's stream ended.
    StreamClosed {
        /// The id of the session.
        session: String,
    },
    // --- inside PawWork (the agreement is in `pawwork`) ---
    /// An ask is gone from the pending map, and the wire does not know yet; [`Seen::Ended`] follows as always.
    Closing {
        /// The ask's id.
        id: String,
        /// The session of the ask.
        session: String,
        /// `replied`, `cancelled`, `dismissed`, `shutdown` or `rejected`.
        reason: &'static str,
    },
    /// A person answered or dismissed an ask over HTTP: exactly one [`Act::Verdict`] follows.
    Submitted {
        /// The ask's id.
        id: String,
        /// The session that the path names; empty if it names none.
        session: String,
        /// Whether it is a dismissal.
        dismiss: bool,
        /// The request's body; a string if it is not JSON.
        body: Value,
    },
    // --- the companion's worker ---
    /// The process of the task worker has just died: its prompt is given up. This is not a look: no one else notices
    /// it.
    WorkerDied,
}

/// What happens to an ask that a person answered or dismissed ([`Act::Verdict`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Then {
    /// The person's answers are taken; all empty means skipped.
    Take(Vec<Vec<String>>),
    /// The person's dismissal is taken.
    Dismiss,
    /// The reply did not fit, and the ask is lost with it.
    Destroy,
    /// Nothing: it stays as it is.
    Keep,
}

/// Which processes get a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whom {
    /// The agent's process.
    Process,
    /// Its process group.
    Group,
    /// The agent's process and all that it started, including those in groups and sessions of their own and those whose
    /// parents have ended.
    Tree,
    /// A process below the agent, and all processes below that one: the agent itself goes on.
    Part(Pid),
    /// The processes that hold its output open: of a run that is over all others were left on purpose.
    Holders,
}

/// One thing that a strategy does.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    // --- outside ---
    /// Sends a signal.
    Kill {
        /// The signal (`TERM`, `KILL`, `INT`), without `SIG`.
        sig: &'static str,
        /// Which processes get it.
        whom: Whom,
    },
    /// Writes to the agent's stdin.
    Write(Vec<u8>),
    /// Closes the agent's stdin.
    CloseStdin,
    /// Sends a request to the agent's server.
    Request {
        /// The request's number; the strategy has not used it yet.
        id: u32,
        /// The method: `GET`, `POST`.
        method: &'static str,
        /// The path with its query.
        path: String,
        /// The JSON body; null for no body.
        body: Value,
        /// Its time limit; then [`Seen::Failed`] says `timeout`.
        timeout: Option<Span>,
    },
    /// Gives up a request: its connection is closed, and no [`Seen::Failed`] follows.
    Cancel {
        /// The request's number.
        id: u32,
    },
    /// Counts the server's direct children: [`Seen::Children`] follows.
    CountChildren,
    /// Looks at the agent's processes twice, a second apart: [`Seen::Looked`] follows, unless none of them is left.
    Look,
    /// Looks for the server's pid: [`Seen::Pid`] follows.
    FindPid,
    /// Looks whether the task worker is alive: [`Seen::Worker`] follows.
    LookAtWorker,
    /// Settles the run: it is over.
    Settle(Settled),
    // --- inside ---
    /// Ends a question at the tool's entry: the tool returns this text, and no ask is made.
    AnswerTool {
        /// The answers; an empty list is "unanswered".
        answers: Vec<Vec<String>>,
        /// What the model is told.
        text: String,
    },
    /// The tool is not offered to the model, or refused with this text.
    Withhold {
        /// What the model is told.
        text: String,
    },
    /// Replies to a pending ask.
    Reply {
        /// The ask's id.
        id: String,
        /// The answers; for a permission one word: `once`, `always`.
        answers: Vec<Vec<String>>,
    },
    /// Rejects a pending ask of the agent.
    Reject {
        /// The ask's id.
        id: String,
        /// The reason that the wire names, if its dialect has one.
        reason: &'static str,
        /// Whether an explicit policy is the cause; otherwise it is the silence of a clock.
        policy: bool,
    },
    /// Aborts the model's stream of a session.
    AbortStream {
        /// The id of the session.
        session: String,
        /// Whether the turn then counts as failed; otherwise the stream drains as a success.
        fail: bool,
        /// The text of the error.
        text: String,
        /// Whether pending asks of the session are rejected with it.
        reject_asks: bool,
    },
    /// Decides on an answer or a dismissal that a person submitted.
    Verdict {
        /// The ask's id, as submitted.
        id: String,
        /// The HTTP status.
        status: u16,
        /// The body of the response.
        body: Value,
        /// What happens to the ask.
        then: Then,
    },
    /// Publishes an event on the agent's event stream, before anything else happens.
    Publish(Value),
    /// States in one word what it did, if no other act shows it: `re-arm`.
    Note(&'static str),
    /// Removes a variable from the environment of the agent's children.
    StripEnv(&'static str),
    // --- both ---
    /// Reports what it saw and did.
    Report(Policy),
    /// Says something to its user.
    Say(String),
}

impl Hash for Act {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // few, and none while its strategy rests
        format!("{self:?}").hash(hasher);
    }
}

/// What a strategy will do to a run, and when, if nothing changes before then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The act that it will do.
    pub does: Intended,
    /// The cause, as its report will name it.
    pub cause: String,
    /// The cause in words.
    pub text: String,
    /// The process that this is about; `None` if it is the run as a whole.
    pub pid: Option<Pid>,
    /// Since when the limit runs.
    pub since: VTime,
    /// When the limit is over.
    pub at: VTime,
}

/// What a strategy intends to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intended {
    /// End the process and all processes below it.
    End,
    /// End a process below it, so that it goes on.
    EndPart,
    /// Close its stdin, if that is a pipe.
    CloseStdin,
    /// Take the run as over, and end the processes that still hold its streams.
    TakeAsOver,
}

/// How a strategy says that the run ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Settled {
    /// It completed: the result's text.
    Completed(String),
    /// It was ended: the cause in one word, and the text that it gives.
    Stopped(String, String),
    /// It failed: the text of the failure.
    Failed(String),
}

/// The page's examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod testing;
