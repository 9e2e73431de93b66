//! The parts of a story other than sessions: the agent, its client, its end, the log's clock.
//!
//! Invariant: each holds what the log says, and no conclusions.

use crate::note::{Fork, Form, Kind};

/// Who wrote the log, and how it was used.
#[derive(Debug, Clone, Default)]
pub struct Agent {
    /// Who wrote the log.
    pub kind: Kind,
    /// The release.
    pub release: Option<String>,
    /// The form of use.
    pub form: Form,
    /// The permission mode.
    pub mode: Option<String>,
    /// Asks go over the control protocol.
    pub prompt_tool: bool,
    /// The log says of some response why it ended: one without a reason has not ended.
    pub gives_reasons: bool,
    /// Sessions that the log has one after the other; the last of them counts.
    pub runs: u32,
    /// It did what only this fork does.
    pub(super) fork: Option<Fork>,
}

/// What the agent's client did.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// The state of its prompt request.
    pub post: Post,
    /// It asked for the sessions' status.
    pub resyncs: bool,
    /// It closed the agent's stdin, before the result.
    pub input_ended: Option<u64>,
    /// When it sent something that is not a message.
    pub misfit: Option<u64>,
    /// The server was restarted with an ask open, and no longer knows the ask.
    pub restarted: Option<u64>,
    /// When its latest event stream began.
    pub(super) connected: Option<u64>,
}

/// What says how it ended.
#[derive(Debug, Clone, Default)]
pub struct Ending {
    /// The program's exit code.
    pub exit: Option<i64>,
    /// The agent's own result.
    pub result: Option<Final>,
    /// Somebody stopped it: when, and the session.
    pub stopped: Option<(u64, String)>,
    /// A model owed something when it was stopped.
    pub stopped_at_model: bool,
    /// The kind of an event that ended a turn without saying how.
    pub unclear: Option<String>,
}

impl Ending {
    /// The result that says that somebody interrupted the run.
    pub fn interrupted(&self) -> Option<&Final> {
        self.result.as_ref().filter(|result| result.aborted && !result.ok)
    }

    /// Whether the agent's own result ended the run.
    pub fn has_result(&self) -> bool {
        self.result.is_some() && self.interrupted().is_none()
    }
}

/// The log's own clock, in milliseconds from the first instant that the log has.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// Instants were in the log.
    pub timed: bool,
    /// The first event.
    pub first: Option<u64>,
    /// The last event.
    pub last: u64,
    /// The last event that carried the task forward.
    pub material: u64,
    /// What that was.
    pub material_is: String,
    /// The longest time between two signs of progress, in milliseconds, and what came before it.
    pub longest: (u64, String),
    /// A line said that somebody ended the run: when, and how many lines came after it.
    pub(super) torn: Option<(u64, usize)>,
    /// When a runner began to clean up, if no step came after that.
    pub(super) cleaned: Option<u64>,
    /// Whether the last progress has no time of its own, or one of another clock: it came before the next instant.
    pub(super) undated: bool,
    /// The instant that all others are counted from.
    pub(super) origin: Option<u64>,
}

impl Clock {
    /// How long it took, in milliseconds.
    pub fn length_ms(&self) -> u64 {
        self.last.saturating_sub(self.first.unwrap_or(self.last))
    }

    /// How long the log goes on without progress, in milliseconds, to the clean-up of its job; `None` if the log has no times.
    pub fn silent_ms(&self) -> Option<u64> {
        self.timed.then(|| self.cleaned.unwrap_or(self.last).saturating_sub(self.material))
    }

    /// The longest silence, the one at the end included, in milliseconds, and what came before it; `None` if the log has
    /// no times.
    pub fn longest_ms(&self) -> Option<(u64, &str)> {
        let end = self.silent_ms()?;
        Some(if end >= self.longest.0 { (end, &self.material_is) } else { (self.longest.0, &self.longest.1) })
    }

    /// From the first event to the last progress, in milliseconds.
    pub fn moved_ms(&self) -> u64 {
        self.material.saturating_sub(self.first.unwrap_or(self.material))
    }
}

/// A client's prompt request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Post {
    /// Its state is not known.
    #[default]
    Unknown,
    /// It waits for events.
    Events,
    /// It was answered.
    Answered,
    /// It was given up without an answer.
    Unanswered,
}

/// The agent's own result.
#[derive(Debug, Clone, PartialEq)]
pub struct Final {
    /// When.
    pub at: u64,
    /// It says that it went well.
    pub ok: bool,
    /// It was stopped.
    pub aborted: bool,
    /// Its text.
    pub text: String,
}
