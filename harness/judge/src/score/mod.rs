//! The scoreboard: how each strategy scores on each mechanism.
//!
//! Invariants: it is the same in whatever order the cells come in, and its memory does not grow with their
//! number. Every cell counts once, by what it is without the strategy:
//!
//! | without it | with it | score |
//! |---|---|---|
//! | is undecided | whatever it does | `undecided` |
//! | whatever it does | is undecided | `undecided` |
//! | completes | anything but the same transcript | `harmed` |
//! | fails or is stopped | hangs | `harmed` |
//! | whatever it does | a truth is broken, and none of the above | `wrongly` |
//! | completes | completes, same transcript | `untouched` |
//! | hangs | hangs | `missed` |
//! | hangs | completes | `resolved` |
//! | hangs | stopped or failed | `stopped` (truthfully) |
//! | fails or is stopped | the same | `untouched` |
//! | fails or is stopped | otherwise | as where it hangs |
//!
//! The first line that fits counts. A truth is broken by `rejected-without-cause`, `untrue-report`,
//! `double-or-invented-reply`, `unfinished` and `attributed-to-user`; a breach that the cell has without the strategy too, at the same instant
//! and in the same words, is the agent's own. Late ends and leftovers are told in their own columns of the rows, not
//! here. Control arms count as a mechanism of their own, `control`: they are healthy.

mod cost;
mod pairs;
mod table;
mod tally;
#[cfg(test)]
mod tests;

pub use cost::{CostRow, LIE_MS, MISSED_MS};
pub use pairs::Pairs;
pub use tally::{Share, Times, Waits};

use crate::cell::CellFacts;
use crate::verdict::{Outcome, Verdict};
use rehang_scenario::Invariant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tally::{Beside, Tally};

/// The mechanism under which control arms are counted.
pub const CONTROL: &str = "control";

/// What a strategy makes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// A healthy run is left as it is.
    Untouched,
    /// A hang completes instead.
    Resolved,
    /// A hang is ended, and truthfully reported.
    Stopped,
    /// The cell has neither an end nor a proof of a hang, without the strategy or with it.
    Undecided,
    /// A hang goes on unchanged.
    Missed,
    /// The run is reported falsely, whether it hangs, ends or would have ended by itself.
    Wrongly,
    /// A healthy run is changed, or does not complete.
    Harmed,
}

impl Score {
    /// All of them, from best to worst.
    pub const ALL: [Score; 7] = [
        Score::Untouched,
        Score::Resolved,
        Score::Stopped,
        Score::Undecided,
        Score::Missed,
        Score::Wrongly,
        Score::Harmed,
    ];

    /// The word for it; in capitals for what a strategy is to blame for.
    pub fn word(self) -> &'static str {
        match self {
            Score::Untouched => "untouched",
            Score::Resolved => "resolved",
            Score::Stopped => "stopped",
            Score::Undecided => "undecided",
            Score::Missed => "MISSED",
            Score::Wrongly => "WRONGLY",
            Score::Harmed => "HARMED",
        }
    }

    /// One character for it in a grid.
    pub fn mark(self) -> char {
        match self {
            Score::Untouched => '·',
            Score::Resolved => 'r',
            Score::Stopped => 's',
            Score::Undecided => '?',
            Score::Missed => 'm',
            Score::Wrongly => 'W',
            Score::Harmed => 'H',
        }
    }
}

/// The invariants about truth: a strategy that breaks one of them reports falsely.
pub const TRUTHS: [Invariant; 5] = [
    Invariant::RejectedWithoutCause,
    Invariant::UntrueReport,
    Invariant::DoubleOrInventedReply,
    Invariant::Unfinished,
    Invariant::AttributedToUser,
];

/// The score of a strategy on a cell, compared with the verdict of `none`.
pub fn classify(verdict: &Verdict, baseline: &Verdict) -> Score {
    let mut broken = verdict.breaches.iter().filter(|breach| TRUTHS.contains(&breach.invariant));
    let lies = broken.any(|breach| !baseline.breaches.contains(breach));
    let same = baseline.transcript.differs(&verdict.transcript).is_none();
    match (&baseline.outcome, &verdict.outcome) {
        (Outcome::Undecided { .. }, _) | (_, Outcome::Undecided { .. }) => Score::Undecided,
        (Outcome::Completed, with) if *with != Outcome::Completed || !same => Score::Harmed,
        (Outcome::Failed { .. } | Outcome::Stopped { .. }, Outcome::Hung { .. }) => Score::Harmed,
        _ if lies => Score::Wrongly,
        (Outcome::Completed, _) | (Outcome::Failed { .. }, Outcome::Failed { .. }) => Score::Untouched,
        (Outcome::Stopped { cause: a }, Outcome::Stopped { cause: b }) if a == b => Score::Untouched,
        (_, Outcome::Hung { .. }) => Score::Missed,
        (_, Outcome::Completed) => Score::Resolved,
        _ => Score::Stopped,
    }
}

/// Cells added up by strategy and mechanism.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Lines", into = "Lines")]
pub struct Scoreboard {
    lines: BTreeMap<(String, Mechanism), Tally>,
}

/// One line of the scoreboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreRow {
    /// The name of the stack.
    pub strategy: String,
    /// The mechanism; `control` for control arms; empty for all of them.
    pub mechanism: String,
    /// Whether a member of the stack sits inside the agent: then it cannot be deployed without the agent's source.
    pub inside: bool,
    /// How long the user waited for the end, in the cells that the strategy ended.
    pub waited: Option<Waits>,
    /// The number of cells.
    pub cells: u64,
    /// The number of cells with [`Score::Untouched`].
    pub untouched: u64,
    /// The number of cells with [`Score::Resolved`].
    pub resolved: u64,
    /// The number of cells with [`Score::Stopped`].
    pub stopped: u64,
    /// The number of cells with [`Score::Undecided`].
    pub undecided: u64,
    /// The number of cells with [`Score::Missed`].
    pub missed: u64,
    /// The number of cells with [`Score::Wrongly`].
    pub wrongly: u64,
    /// The number of cells with [`Score::Harmed`].
    pub harmed: u64,
    /// The time from the agent's last material progress to the first kill.
    pub to_kill: Option<Times>,
    /// The time until the last descendant was gone.
    pub to_gone: Option<Times>,
}

impl ScoreRow {
    /// The number of cells with this score.
    pub fn count(&self, score: Score) -> u64 {
        match score {
            Score::Untouched => self.untouched,
            Score::Resolved => self.resolved,
            Score::Stopped => self.stopped,
            Score::Undecided => self.undecided,
            Score::Missed => self.missed,
            Score::Wrongly => self.wrongly,
            Score::Harmed => self.harmed,
        }
    }
}

/// A scoreboard as a worker sends it: strategy, mechanism, tally.
type Lines = Vec<(String, String, Tally)>;

impl From<Scoreboard> for Lines {
    fn from(board: Scoreboard) -> Lines {
        board.lines.into_iter().map(|((strategy, mechanism), tally)| (strategy, mechanism.name, tally)).collect()
    }
}

impl From<Lines> for Scoreboard {
    fn from(lines: Lines) -> Scoreboard {
        let line =
            |(strategy, mechanism, tally): (String, String, Tally)| ((strategy, Mechanism::of(&mechanism)), tally);
        Scoreboard { lines: lines.into_iter().map(line).collect() }
    }
}

impl Scoreboard {
    /// An empty scoreboard.
    pub fn new() -> Scoreboard {
        Scoreboard::default()
    }

    /// Adds a cell. The cell under `none` is given its own verdict as baseline.
    pub fn add(&mut self, facts: &CellFacts, verdict: &Verdict, baseline: &Verdict) {
        self.put(&facts.strategy, &facts.scenario, &Share::of(facts, verdict, baseline));
    }

    /// Adds a cell whose score is known from elsewhere than [`classify`]; what it costs without the strategy is not
    /// known and does not count.
    pub fn count(&mut self, facts: &CellFacts, verdict: &Verdict, score: Score) {
        let ended = matches!(score, Score::Resolved | Score::Stopped | Score::Wrongly);
        let share = Share::new(facts, verdict, score, Beside { ended, without_ms: 0 });
        self.put(&facts.strategy, &facts.scenario, &share);
    }

    /// Adds a cell whose share is known, for example from a row of an earlier run.
    pub fn put(&mut self, strategy: &str, scenario: &str, share: &Share) {
        for mechanism in ["", share.mechanism.as_str()] {
            let key = (strategy.to_owned(), Mechanism::of(mechanism));
            self.lines.entry(key).or_default().add(cost::layer(scenario), share);
        }
    }

    /// Adds all cells of another scoreboard: workers count separately.
    pub fn merge(&mut self, other: &Scoreboard) {
        for (key, tally) in &other.lines {
            self.lines.entry(key.clone()).or_default().merge(tally);
        }
    }

    /// Keeps only the lines of some strategies.
    pub fn only(&self, keep: impl Fn(&str) -> bool) -> Scoreboard {
        let lines = self.lines.iter().filter(|((strategy, _), _)| keep(strategy));
        Scoreboard { lines: lines.map(|(key, tally)| (key.clone(), tally.clone())).collect() }
    }

    /// A row for each strategy and mechanism, with the totals (empty mechanism) first.
    pub fn rows(&self) -> Vec<ScoreRow> {
        self.lines.iter().map(|((strategy, mechanism), tally)| tally.row(strategy, &mechanism.name)).collect()
    }
}

/// A mechanism, in the order of the catalogue: letter, then number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mechanism {
    letters: String,
    number: u32,
    name: String,
}

impl Mechanism {
    fn of(name: &str) -> Mechanism {
        let (letters, number) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()));
        Mechanism { letters: letters.to_owned(), number: number.parse().unwrap_or(0), name: name.to_owned() }
    }
}
