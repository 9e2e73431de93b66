//! What must come out of a scenario's cells: outcomes, proofs, invariants.
//!
//! Invariant: the words of a file are those of the report.

use crate::model::Terminal;
use crate::order::{Order, OrderError};
use crate::policy::Policy;
use crate::time::Span;
pub use rehang_words::BlockedOn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What must come out of the cells that it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// The arm that it covers. A control cell that no rule names must complete with nothing broken.
    #[serde(default)]
    pub arm: Arm,
    /// Stacks; all if none is named. A name without a version means every version of it.
    #[serde(default)]
    pub strategies: Vec<String>,
    /// Terminals; all if none is named.
    #[serde(default)]
    pub terminals: Vec<Terminal>,
    /// Seeds; all if none is named.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// Orders with choices at ties, as `rehang run --orders` prints them (`1/16=2`): each adds a cell of its own. Or
    /// `["some"]`: `rehang run --orders` finds this under some order that no seed gives, in each cell that the rule covers.
    #[serde(default)]
    pub orders: Orders,
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
    /// Texts that the model must have been told, as substrings of tool results.
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
    /// Whether it speaks of cells under this order: one with choices has to be named.
    pub fn speaks_of(&self, order: &Order) -> bool {
        match (&self.orders, order.is_plain()) {
            (Orders::Plain, true) => self.is_of_seed(order),
            (Orders::Named(orders), false) => orders.contains(order),
            _ => false,
        }
    }

    /// Whether it says what comes of cells of this order's seed under some order that no seed gives.
    pub fn speaks_of_some(&self, order: &Order) -> bool {
        self.orders == Orders::Some && self.is_of_seed(order)
    }

    fn is_of_seed(&self, order: &Order) -> bool {
        self.seeds.is_empty() || self.seeds.contains(&order.seed)
    }

    /// A rule for all cells of an arm: they complete with nothing broken.
    pub const fn completes(arm: Arm) -> Expect {
        Expect {
            arm,
            strategies: Vec::new(),
            terminals: Vec::new(),
            seeds: Vec::new(),
            orders: Orders::Plain,
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

/// The orders of which a rule speaks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
#[schemars(with = "Vec<String>")]
pub enum Orders {
    /// Those that seeds give.
    #[default]
    Plain,
    /// These, with choices at ties.
    Named(Vec<Order>),
    /// Some order that no seed gives.
    Some,
}

/// Why words name no orders.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrdersError {
    /// One of them is no order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The word for some order is beside others.
    #[error("`{}` stands alone: write a rule of its own for orders that are named", Orders::SOME)]
    Mixed,
}

impl Orders {
    /// The word of files for [`Orders::Some`].
    pub const SOME: &str = "some";

    /// The orders that are named.
    pub fn named(&self) -> &[Order] {
        match self {
            Orders::Named(orders) => orders,
            Orders::Plain | Orders::Some => &[],
        }
    }
}

impl From<Vec<Order>> for Orders {
    fn from(orders: Vec<Order>) -> Orders {
        if orders.is_empty() { Orders::Plain } else { Orders::Named(orders) }
    }
}

impl TryFrom<Vec<String>> for Orders {
    type Error = OrdersError;

    fn try_from(words: Vec<String>) -> Result<Orders, OrdersError> {
        if words.iter().any(|word| word == Orders::SOME) {
            return if words.len() == 1 { Ok(Orders::Some) } else { Err(OrdersError::Mixed) };
        }
        let orders: Vec<Order> = words.iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
        Ok(orders.into())
    }
}

impl From<Orders> for Vec<String> {
    fn from(orders: Orders) -> Vec<String> {
        match orders {
            Orders::Some => vec![Orders::SOME.to_owned()],
            orders => orders.named().iter().map(Order::to_string).collect(),
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

/// An outcome, as a file expects it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// It came to its end.
    Completed,
    /// The agent said that it failed.
    Failed,
    /// It hangs: on what, a word of [`BlockedOn`] (`question`, `permission`, `stdin`, `bash`, `model`, `event`, …).
    Hung(String),
    /// A strategy or a person ended it: the cause (`idle`, `wall`, `bash-stuck`, …).
    Stopped(String),
    /// Neither an end nor a proof of a hang came before virtual time or the steps ran out.
    Undecided,
    /// The same as under the strategy `none`.
    #[serde(rename = "as none")]
    AsNone,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Completed => f.write_str("completed"),
            Expected::Failed => f.write_str("failed"),
            Expected::Hung(on) => write!(f, "hung on {on}"),
            Expected::Stopped(by) => write!(f, "stopped by {by}"),
            Expected::Undecided => f.write_str("undecided"),
            Expected::AsNone => f.write_str("as none"),
        }
    }
}

/// How a hang is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// All blocked, nothing in flight, no timer left.
    Deadlock,
    /// The whole state repeats exactly while only immaterial timers fire.
    Lasso,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Proof::Deadlock => "deadlock",
            Proof::Lasso => "lasso",
        })
    }
}

/// An invariant that holds on every cell, whatever the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Invariant {
    /// `rejected` appears only with a cause. Silence is not a cause.
    RejectedWithoutCause,
    /// Every ask has exactly one end, or is pending in a session that is busy; nothing is listed after its end.
    AskWithoutEnd,
    /// The reported policy, cause and constants are those that acted.
    UntrueReport,
    /// It ends within the bound computed from the strategy's own constants.
    OutOfBounds,
    /// If `none` completes, every strategy completes with the same transcript.
    Harm,
    /// At most one reply per id; no invented answer is attributed to the user; a live answerer takes precedence over an
    /// automatic one.
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

    /// The words of several, as a list.
    pub fn names(of: &[Invariant]) -> String {
        of.iter().map(|invariant| invariant.name()).collect::<Vec<_>>().join(", ")
    }
}
