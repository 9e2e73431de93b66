//! What a log shows of its end.
//!
//! Invariant: `Hung` is said only if the log itself, its clock, a wrapper's line or the user says so. A log that merely
//! stops is [`Verdict::EndedOpen`]: a run that was killed while it moved leaves the same log as one that hung.

use serde::Serialize;

/// What a log shows of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The agent came to its end.
    Completed,
    /// It ended without having done its work: an error, an exit code, or somebody's stop.
    Failed,
    /// No final event is in it: killed, crashed or hung, the log cannot tell.
    EndedOpen,
    /// The log itself, a clock that goes on, a wrapper's line or the user says that it hung.
    Hung,
    /// It is not a log.
    Unreadable,
}

impl Verdict {
    /// Its word in what is printed.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Completed => "completed",
            Verdict::Failed => "failed",
            Verdict::EndedOpen => "ended-open",
            Verdict::Hung => "hung",
            Verdict::Unreadable => "unreadable",
        }
    }

    /// Whether the drafted scenario is one of a hang.
    pub fn drafts_a_hang(self) -> bool {
        matches!(self, Verdict::EndedOpen | Verdict::Hung)
    }
}

/// What the user says of a log beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Said {
    /// It hung (`true`), or it completed (`false`), whatever the log's end says.
    pub hung: Option<bool>,
    /// The process was alive this many milliseconds after the log's last line.
    pub alive_after_ms: Option<u64>,
}

impl Said {
    /// Whether it is said to have hung.
    pub fn is_hung(self) -> bool {
        self.hung == Some(true) || self.hung.is_none() && self.alive_after_ms.is_some()
    }
}
