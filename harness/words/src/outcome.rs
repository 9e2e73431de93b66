//! How a run ended, in one word.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a run of an agent ended, without its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeKind {
    /// It did what it was asked to.
    Completed,
    /// A strategy or a person ended it.
    Stopped,
    /// It ended, and says that it failed, or nothing is known of how.
    Failed,
    /// On the wall clock: at the deadline it waited for its next try of a request that had failed.
    Waiting,
    /// It hangs.
    Hung,
    /// In virtual time: its timers kept it alive until that was over.
    NoEnd,
    /// It is not known whether it hangs: neither an end nor a proof came.
    Undecided,
}

impl OutcomeKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            OutcomeKind::Completed => "completed",
            OutcomeKind::Stopped => "stopped",
            OutcomeKind::Failed => "failed",
            OutcomeKind::Waiting => "waiting",
            OutcomeKind::Hung => "hung",
            OutcomeKind::NoEnd => "no-end",
            OutcomeKind::Undecided => "undecided",
        }
    }

    /// Whether the run would not have ended by itself, as far as is known: a hang, or no end in the virtual time.
    pub fn is_hang(self) -> bool {
        matches!(self, OutcomeKind::Hung | OutcomeKind::NoEnd)
    }
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
