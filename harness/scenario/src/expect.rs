//! What must come out of a scenario's cells: outcomes, proofs, invariants.
//!
//! Invariant: the words of a file are those of the report.

use crate::model::Terminal;
use crate::policy::Policy;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What must come out of the cells that it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// The arm that it speaks of. A control cell that no rule names must complete with nothing broken.
    #[serde(default)]
    pub arm: Arm,
    /// Stacks; all where none is named. A name without a version means every version of it.
    #[serde(default)]
    pub strategies: Vec<String>,
    /// Terminals; all where none is named.
    #[serde(default)]
    pub terminals: Vec<Terminal>,
    /// Seeds; all where none is named.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// The outcome.
    pub outcome: Expected,
    /// The proof of a hang.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// The end comes no later than this.
    #[serde(default)]
    pub within: Option<Span>,
    /// The end comes no earlier than this.
    #[serde(default)]
    pub not_before: Option<Span>,
    /// The exact set of broken invariants.
    #[serde(default)]
    pub breaks: Vec<Invariant>,
    /// Claims that the strategy's report must make.
    #[serde(default)]
    pub policy: Option<Policy>,
    /// Texts that the model must have been told (substrings of tool results).
    #[serde(default)]
    pub told: Vec<String>,
    /// Texts that a strategy must have said to its user (substrings), in this order.
    #[serde(default)]
    pub says: Vec<String>,
    /// The HTTP statuses that what people do over HTTP must get, one each, in the order of their acts; 0 is no response.
    #[serde(default)]
    #[schemars(inner(range(max = 599)))]
    pub gets: Vec<u16>,
}

impl Expect {
    /// A rule for all cells of an arm: they complete with nothing broken.
    pub const fn completes(arm: Arm) -> Expect {
        Expect {
            arm,
            strategies: Vec::new(),
            terminals: Vec::new(),
            seeds: Vec::new(),
            outcome: Expected::Completed,
            proof: None,
            within: None,
            not_before: None,
            breaks: Vec::new(),
            policy: None,
            told: Vec::new(),
            says: Vec::new(),
            gets: Vec::new(),
        }
    }
}

/// The scenario itself, or the same with the one change under which it does not hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The scenario itself.
    #[default]
    Main,
    /// Its control arm.
    Control,
}

/// All that a hang can be on: the words of the judge (`rehang_judge::blocked` says when it is which), and what the
/// agents say of themselves where none of its rules holds.
pub const BLOCKED_ON: [&str; 20] = [
    "stopped",
    "spin",
    "exit",
    "question",
    "permission",
    "stdin",
    "tty",
    "pipe",
    "bash",
    "model",
    "tool",
    "worker",
    "post",
    "event",
    "child",
    "nothing",
    "timer",
    "client",
    "message",
    "unknown",
];

/// An outcome, as a file expects it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// It came to its end.
    Completed,
    /// The agent said that it failed.
    Failed,
    /// It hangs: on what, a word of [`BLOCKED_ON`] (`question`, `permission`, `stdin`, `bash`, `model`, `event`, …).
    Hung(String),
    /// A strategy or a person ended it: the cause (`idle`, `wall`, `bash-stuck`, …).
    Stopped(String),
    /// Neither an end nor a proof of a hang came before virtual time or the steps ran out.
    Undecided,
    /// The same as under the strategy `none`.
    #[serde(rename = "as none")]
    AsNone,
}

/// How a hang is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// All blocked, nothing in flight, no timer left.
    Deadlock,
    /// The whole state repeats exactly while only immaterial timers fire.
    Lasso,
}

/// An invariant that holds on every cell, whatever the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Invariant {
    /// `rejected` appears only with a cause. Silence is none.
    RejectedWithoutCause,
    /// Every ask has exactly one end, or is pending in a session that is busy; nothing is listed after its end.
    AskWithoutEnd,
    /// The reported policy, cause and constants are those that acted.
    UntrueReport,
    /// It ends within the bound computed from the strategy's own constants.
    OutOfBounds,
    /// Where `none` completes, every strategy completes with the same transcript.
    Harm,
    /// At most one reply an id; no answer is invented and passed off as the user's; a live answerer beats an automatic one.
    DoubleOrInventedReply,
    /// Never `completed` on an unfinished step; the result is whole.
    Unfinished,
    /// Nothing is left, apart from what the scenario declares as `survives`.
    LeftBehind,
    /// No text that a model or a caller reads says that a user did something that no person did.
    AttributedToUser,
}

impl Invariant {
    /// All of them, in their order.
    pub const ALL: [Invariant; 9] = [
        Invariant::RejectedWithoutCause,
        Invariant::AskWithoutEnd,
        Invariant::UntrueReport,
        Invariant::OutOfBounds,
        Invariant::Harm,
        Invariant::DoubleOrInventedReply,
        Invariant::Unfinished,
        Invariant::LeftBehind,
        Invariant::AttributedToUser,
    ];

    /// The word that a file uses.
    pub fn name(self) -> &'static str {
        match self {
            Invariant::RejectedWithoutCause => "rejected-without-cause",
            Invariant::AskWithoutEnd => "ask-without-end",
            Invariant::UntrueReport => "untrue-report",
            Invariant::OutOfBounds => "out-of-bounds",
            Invariant::Harm => "harm",
            Invariant::DoubleOrInventedReply => "double-or-invented-reply",
            Invariant::Unfinished => "unfinished",
            Invariant::LeftBehind => "left-behind",
            Invariant::AttributedToUser => "attributed-to-user",
        }
    }
}
