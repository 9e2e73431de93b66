//! Cells of one strategy added up: how many have which score, how long they took, what they cost.
//!
//! Invariant: a tally's size depends on how many different spans and layers there are, not on how many cells.

use super::cost::{Cost, cost_ms};
use super::{CONTROL, Score, ScoreRow, classify};
use crate::cell::CellFacts;
use crate::verdict::Verdict;
use rehang_scenario::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Median and maximum of some spans, in milliseconds of virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// The median; of an even number, the lower of the two in the middle.
    pub median_ms: u64,
    /// The longest span.
    pub max_ms: u64,
}

/// How long users waited, in milliseconds of virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// The median; of an even number, the lower of the two in the middle.
    pub median_ms: u64,
    /// The 90th percentile: the shortest wait that nine of ten do not exceed.
    pub p90_ms: u64,
    /// The longest wait.
    pub max_ms: u64,
}

/// What is known of a cell without its strategy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beside {
    /// Whether an end of the cell is due to the strategy: without it the cell hangs.
    pub(super) ended: bool,
    /// What the cell costs without the strategy.
    pub(super) without_ms: u64,
}

/// What one cell adds to a scoreboard: all that a tally needs of it, so that the rows of several runs can be added up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The line that it counts in: its mechanism, or [`CONTROL`] for a control arm.
    pub mechanism: String,
    /// How the strategy did.
    pub score: Score,
    /// Whether a member of the stack sits inside the agent.
    pub inside: bool,
    /// How long the user waited for the end, if the cell hangs without the strategy; in milliseconds, as all below.
    pub waited_ms: Option<u64>,
    /// The time from the agent's last material progress to the first kill.
    pub to_kill_ms: Option<u64>,
    /// The time until the last descendant was gone, if anything was killed.
    pub to_gone_ms: Option<u64>,
    /// What the cell costs.
    pub with_ms: u64,
    /// What it costs without the strategy.
    pub without_ms: u64,
}

impl Share {
    /// The share of a cell. The cell under `none` is given its own verdict as baseline.
    pub fn of(facts: &CellFacts, verdict: &Verdict, baseline: &Verdict) -> Share {
        let without_ms = cost_ms(classify(baseline, baseline), baseline);
        let beside = Beside { ended: baseline.outcome.is_hung(), without_ms };
        Share::new(facts, verdict, classify(verdict, baseline), beside)
    }

    pub(super) fn new(facts: &CellFacts, verdict: &Verdict, score: Score, beside: Beside) -> Share {
        let acted = !matches!(score, Score::Untouched | Score::Undecided | Score::Missed);
        let ms = |span: Option<Span>, counts: bool| span.filter(|_| counts).map(Span::as_ms);
        Share {
            mechanism: if facts.control { CONTROL } else { &facts.mechanism }.to_owned(),
            score,
            inside: facts.inside,
            waited_ms: ms(verdict.waited, beside.ended),
            to_kill_ms: ms(verdict.to_kill(), acted),
            to_gone_ms: ms(verdict.to_gone(), acted && verdict.killed.is_some()),
            with_ms: cost_ms(score, verdict),
            without_ms: beside.without_ms,
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    inside: bool,
    scores: BTreeMap<Score, u64>,
    waited: Spans,
    to_kill: Spans,
    to_gone: Spans,
    pub(super) costs: BTreeMap<String, Cost>,
}

impl Tally {
    pub(super) fn add(&mut self, layer: &str, share: &Share) {
        let Share { mechanism: _, score, inside, waited_ms, to_kill_ms, to_gone_ms, with_ms, without_ms } = share;
        self.inside |= inside;
        *self.scores.entry(*score).or_default() += 1;
        let cost = self.costs.entry(layer.to_owned()).or_default();
        cost.add(Cost { with_ms: *with_ms, without_ms: *without_ms });
        self.waited.add(*waited_ms);
        self.to_kill.add(*to_kill_ms);
        self.to_gone.add(*to_gone_ms);
    }

    pub(super) fn merge(&mut self, other: &Tally) {
        let Tally { inside, scores, waited, to_kill, to_gone, costs } = other;
        self.inside |= inside;
        for (score, n) in scores {
            *self.scores.entry(*score).or_default() += n;
        }
        self.waited.merge(waited);
        self.to_kill.merge(to_kill);
        self.to_gone.merge(to_gone);
        for (layer, cost) in costs {
            self.costs.entry(layer.clone()).or_default().add(*cost);
        }
    }

    pub(super) fn inside(&self) -> bool {
        self.inside
    }

    pub(super) fn worst(&self) -> Option<Score> {
        self.scores.keys().next_back().copied()
    }

    pub(super) fn row(&self, strategy: &str, mechanism: &str) -> ScoreRow {
        let of = |score| self.scores.get(&score).copied().unwrap_or(0);
        ScoreRow {
            strategy: strategy.to_owned(),
            mechanism: mechanism.to_owned(),
            inside: self.inside,
            waited: self.waited.waits(),
            cells: self.scores.values().sum(),
            untouched: of(Score::Untouched),
            resolved: of(Score::Resolved),
            stopped: of(Score::Stopped),
            undecided: of(Score::Undecided),
            missed: of(Score::Missed),
            wrongly: of(Score::Wrongly),
            harmed: of(Score::Harmed),
            to_kill: self.to_kill.times(),
            to_gone: self.to_gone.times(),
        }
    }
}

/// Spans with how often each occurs: virtual time has few different ones.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Spans(BTreeMap<u64, u64>);

impl Spans {
    fn add(&mut self, ms: Option<u64>) {
        if let Some(ms) = ms {
            *self.0.entry(ms).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &Spans) {
        for (ms, n) in &other.0 {
            *self.0.entry(*ms).or_default() += n;
        }
    }

    /// The shortest span that this many of a hundred do not exceed.
    fn percentile(&self, percent: u64) -> Option<u64> {
        let wanted = (self.0.values().sum::<u64>() * percent).div_ceil(100);
        let mut seen = 0;
        let found = self.0.iter().find(|(_, n)| {
            seen += **n;
            seen >= wanted
        });
        found.map(|(ms, _)| *ms)
    }

    fn times(&self) -> Option<Times> {
        Some(Times { median_ms: self.percentile(50)?, max_ms: self.percentile(100)? })
    }

    fn waits(&self) -> Option<Waits> {
        let Times { median_ms, max_ms } = self.times()?;
        Some(Waits { median_ms, p90_ms: self.percentile(90)?, max_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_sits_inside_the_agent_if_one_of_its_parts_does() {
        let inside = Tally { inside: true, ..Tally::default() };
        let mut sum = Tally::default();
        sum.merge(&Tally::default());
        assert!(!sum.inside());
        sum.merge(&inside);
        sum.merge(&Tally::default());
        assert!(sum.inside());
    }
}
