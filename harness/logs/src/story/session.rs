//! A session, its steps and calls, and what it asks.
//!
//! Invariant: the latest steps are kept, since what hangs is at the end; how many were dropped is counted.

use crate::note::{Asks, Calls, Reply};
use std::collections::VecDeque;

/// A session.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Its parent.
    pub parent: Option<String>,
    /// The call that it does the work of.
    pub call: Option<String>,
    /// It began within the log, or was prompted there.
    pub subject: bool,
    /// Its latest steps.
    pub steps: VecDeque<Step>,
    /// How many earlier steps were dropped.
    pub before: u64,
    /// Prompts so far.
    pub prompts: u32,
    /// Known to be busy, or idle.
    pub busy: Option<bool>,
    /// The model owes it something, since this instant.
    pub model: Option<u64>,
    /// Whether it began a response whose words are not in the log.
    pub speaks: bool,
    /// Its last response ended so.
    pub finished: Option<String>,
    /// How often the model's server has refused since its last word, and with which status last.
    pub retries: (u32, Option<u16>),
    /// Responses that were cut off.
    pub cut_off: u32,
    /// It failed.
    pub failed: Option<String>,
    /// Compactions since the last tool call.
    pub compacted: u32,
    /// When it was last heard of, and a number that orders sessions.
    pub heard: (u64, u64),
    /// When its last word or result was.
    pub mark: Option<u64>,
}

/// A step of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// When.
    pub at: u64,
    /// Silence before it, in milliseconds.
    pub gap: u64,
    /// The response that it belongs to.
    pub message: String,
    /// What.
    pub what: What,
}

/// What a step is.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The model said something.
    Said {
        /// Which part.
        part: String,
        /// What.
        text: String,
    },
    /// It called a tool.
    Called(Call),
    /// Its response ended.
    Ended(String),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// What it does.
    pub does: Calls,
    /// How it ended.
    pub told: Option<Told>,
    /// A permission was asked for, or denied without asking.
    pub permission: Option<String>,
    /// When its own output last showed a sign of life.
    pub output: Option<u64>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// When.
    pub at: u64,
    /// As an error.
    pub error: bool,
    /// The text.
    pub text: String,
    /// The exit code.
    pub code: Option<i64>,
    /// Because somebody stopped the session.
    pub stopped: bool,
}

/// An ask.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Its id.
    pub id: String,
    /// When.
    pub at: u64,
    /// Its session.
    pub session: String,
    /// The call that asks.
    pub call: Option<String>,
    /// What is asked.
    pub asks: Asks,
    /// How it ended, and when.
    pub end: Option<(u64, Reply)>,
}

impl Ask {
    /// Whether it was still open at this instant.
    pub fn open_until(&self, at: u64) -> bool {
        self.end.as_ref().is_none_or(|(end, how)| *end >= at && *how == Reply::Withdrawn)
    }
}
