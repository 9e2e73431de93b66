//! How a cell ended: completed, stopped with a cause, failed, or hung on something with a proof; and which invariants
//! it breaks.
//!
//! Invariant: only data; [`crate::judge()`] decides which outcome applies.

use crate::index::At;
use crate::transcript::Transcript;
use rehang_scenario::{BlockedOn, Invariant, OutcomeKind, Policy, Proof, Span, VTime};
use rehang_trace::{AskEnd, AskKind, Cause};

/// The meaning of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How the cell ended.
    pub outcome: Outcome,
    /// Who settled it first; `None` in a hang, and if it is undecided.
    pub settled_by: Option<String>,
    /// When it ended: the settlement that decided, or the scheduler's end.
    pub ended: VTime,
    /// All reports: by whom, when, what.
    pub policies: Vec<(String, VTime, Policy)>,
    /// All asks of the run.
    pub asks: Vec<AskRow>,
    /// What the model was told: tool results, and what pre-empted a question.
    pub told: Vec<String>,
    /// What strategies said to their users, in order.
    pub said: Vec<String>,
    /// What each act of a person over HTTP got, in the order of the acts: a status, or 0 if nothing came.
    pub gets: Vec<u16>,
    /// How many asks ended as rejected.
    pub rejected: u32,
    /// The agent's last material progress before the end; the start of the cell if there was none. What a strategy did
    /// to an ask does not count as progress ([`acts::progress`]).
    pub last_progress: VTime,
    /// How long the user waited for the end ([`acts::waited`]); `None` if it did not end.
    pub waited: Option<Span>,
    /// When a strategy first sent a signal to the agent, or aborted its session.
    pub killed: Option<VTime>,
    /// When the last process was gone; `None` if one is left.
    pub gone: Option<VTime>,
    /// The sequence of material events.
    pub transcript: Transcript,
    /// The broken invariants, in their order and in the trace's order.
    pub breaches: Vec<Breach>,
}

/// How a cell ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The run completed.
    Completed,
    /// A strategy or a person ended it.
    Stopped {
        /// The cause in one word.
        cause: String,
    },
    /// The agent said that it failed, or it is not known how it ended.
    Failed {
        /// The reason of the failure.
        reason: String,
    },
    /// The run hangs.
    Hung {
        /// What it hangs on: see [`crate::blocked`].
        blocked_on: BlockedOn,
        /// How the hang is proved.
        proof: Proof,
    },
    /// It is not known whether it hangs: neither an end nor a proof came before it was given up.
    Undecided {
        /// What ran out, and which parties wait for what.
        why: String,
    },
}

/// The summary of an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskRow {
    /// The process that asks.
    pub who: String,
    /// The ask's id.
    pub id: String,
    /// Whether it is a question or a permission.
    pub kind: AskKind,
    /// When it was opened.
    pub opened: VTime,
    /// When, how, why and by whom it ended; `None` while it is open.
    pub end: Option<(VTime, AskEnd, Cause, String)>,
    /// Whether a reply was taken that does not fit its questions: in their number, by a second answer to a single
    /// choice, or by a label that is not offered although own answers are not allowed.
    pub misfit: bool,
}

impl Outcome {
    /// Without its cause.
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Outcome::Completed => OutcomeKind::Completed,
            Outcome::Stopped { .. } => OutcomeKind::Stopped,
            Outcome::Failed { .. } => OutcomeKind::Failed,
            Outcome::Hung { .. } => OutcomeKind::Hung,
            Outcome::Undecided { .. } => OutcomeKind::Undecided,
        }
    }

    /// `completed`, `stopped`, `failed`, `hung`, `undecided`.
    pub fn word(&self) -> &'static str {
        self.kind().word()
    }

    /// The outcome in a few words: `stopped by idle`, `hung on question (deadlock)`.
    pub fn describe(&self) -> String {
        match self {
            Outcome::Completed => "completed".into(),
            Outcome::Stopped { cause } => format!("stopped by {cause}"),
            Outcome::Failed { reason } if reason.is_empty() => "failed".into(),
            Outcome::Failed { reason } => format!("failed: {}", crate::timeline::cut(reason, 60)),
            Outcome::Hung { blocked_on, proof } => format!("hung on {blocked_on} ({proof})"),
            Outcome::Undecided { why } if why.is_empty() => "undecided".into(),
            Outcome::Undecided { why } => format!("undecided: {}", crate::timeline::cut(why, 60)),
        }
    }

    /// Whether it hangs, with a proof.
    pub fn is_hung(&self) -> bool {
        matches!(self, Outcome::Hung { .. })
    }

    /// Whether it was given up without an end and without a proof.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Outcome::Undecided { .. })
    }
}

impl Verdict {
    /// The names of the broken invariants, each once, in their order.
    pub fn broken(&self) -> Vec<Invariant> {
        let mut broken: Vec<Invariant> = self.breaches.iter().map(|b| b.invariant).collect();
        broken.sort();
        broken.dedup();
        broken
    }

    /// How long it ran, in milliseconds of virtual time.
    pub fn virtual_ms(&self) -> u64 {
        self.ended.0
    }

    /// The time from the last material progress to the first kill.
    pub fn to_kill(&self) -> Option<Span> {
        self.killed.map(|t| t.since(self.last_progress))
    }

    /// The time from the last material progress until the last descendant was gone.
    pub fn to_gone(&self) -> Option<Span> {
        self.gone.map(|t| t.since(self.last_progress))
    }
}

/// A broken invariant, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The invariant that is broken.
    pub invariant: Invariant,
    /// When it is broken.
    pub at: VTime,
    /// One sentence: who, which ask, what cause.
    pub why: String,
}

impl Breach {
    pub(crate) fn new(invariant: Invariant, at: At, why: String) -> Breach {
        Breach { invariant, at: at.t, why }
    }
}
