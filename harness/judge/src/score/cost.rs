//! What a stack costs its user: the waiting time of runs that end, and a price for hangs and false reports.
//!
//! Invariant: stacks are compared over the same cells. If a stack has no seat, its user has what `none` gives.

use super::{Mechanism, Score, Scoreboard};
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a hang costs that goes on, in milliseconds: the six hours after which a CI job ends it (GitHub's limit of a
/// job).
pub const MISSED_MS: u64 = 6 * 3_600_000;
/// What a run costs that was harmed or reported falsely: a person finds out the next day.
pub const LIE_MS: u64 = 24 * 3_600_000;

/// The stack over whose cells all stacks are compared.
pub(super) const NONE: &str = "none";

/// What some cells cost, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cost {
    /// The cost with the strategy.
    pub(super) with_ms: u64,
    /// The cost of the same cells without it.
    pub(super) without_ms: u64,
}

impl Cost {
    pub(super) fn add(&mut self, other: Cost) {
        self.with_ms += other.with_ms;
        self.without_ms += other.without_ms;
    }
}

/// The cost of one stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostRow {
    /// The name of the stack.
    pub strategy: String,
    /// Whether a member of it sits inside the agent.
    pub inside: bool,
    /// The cost in milliseconds, over all cells of the board.
    pub cost_ms: u64,
    /// The same by layer, which is the top folder of scenarios.
    pub layers: BTreeMap<String, u64>,
}

/// What a cell costs, in milliseconds.
pub(super) fn cost_ms(score: Score, verdict: &Verdict) -> u64 {
    match score {
        Score::Untouched => 0,
        Score::Resolved | Score::Stopped => verdict.waited.map_or(0, |waited| waited.as_ms()),
        // if it is not known whether it hangs, its user waits for it all the same
        Score::Undecided if !verdict.outcome.is_undecided() => 0,
        Score::Undecided | Score::Missed => MISSED_MS,
        Score::Wrongly | Score::Harmed => LIE_MS,
    }
}

/// The layer of a scenario: its top folder.
pub(super) fn layer(scenario: &str) -> &str {
    scenario.split('/').next().unwrap_or(scenario)
}

impl Scoreboard {
    /// What each stack costs over all cells of the board, the cheapest first. The cells in which a stack does not play
    /// cost what they cost under `none`; on a board without `none` they cost nothing.
    pub fn costs(&self) -> Vec<CostRow> {
        let all = |strategy: &str| self.lines.get(&(strategy.to_owned(), Mechanism::of("")));
        let none = all(NONE).map(|tally| &tally.costs);
        let strategies: BTreeSet<&str> = self.lines.keys().map(|(strategy, _)| strategy.as_str()).collect();
        let row = |strategy: &str| {
            let tally = all(strategy)?;
            let names: BTreeSet<&String> =
                tally.costs.keys().chain(none.into_iter().flat_map(BTreeMap::keys)).collect();
            let of = |layer: &String| {
                let own = tally.costs.get(layer).copied().unwrap_or_default();
                let nobody = none.and_then(|none| none.get(layer)).map_or(0, |cost| cost.with_ms);
                own.with_ms + nobody.saturating_sub(own.without_ms)
            };
            let layers: BTreeMap<String, u64> = names.into_iter().map(|layer| (layer.clone(), of(layer))).collect();
            let cost_ms = layers.values().sum();
            Some(CostRow { strategy: strategy.to_owned(), inside: tally.inside(), cost_ms, layers })
        };
        let mut rows: Vec<CostRow> = strategies.into_iter().filter_map(row).collect();
        rows.sort_by(|a, b| a.cost_ms.cmp(&b.cost_ms).then_with(|| a.strategy.cmp(&b.strategy)));
        rows
    }
}
