//! The last lines of a run: how many hangs were ended, up to which length healthy runs were tried, what was not tried.

use crate::limits::Limits;
use crate::{Cell, Fitting, Judged, Rehearsal};
use rehang_judge::score::Score;
use rehang_scenario::Mechanism;
use rehang_scenario::text::{counted, duration};
use rehang_scenario::{Arm, Invariant, Span, Terminal};
use std::collections::BTreeMap;

/// What a run comes to.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    hangs: usize,
    missed: usize,
    /// Of the hangs.
    open: usize,
    healthy: usize,
    harmed: usize,
    wrongly: usize,
    /// Hangs and healthy runs.
    undecided: usize,
    left: usize,
    /// How long the longest healthy run that was tried takes by itself, in milliseconds.
    longest_ms: u64,
    runs: Vec<crate::limits::Run>,
}

impl Summary {
    /// That of the rehearsals alone: each in which the agent waited for its stdin is a hang.
    pub fn of(rehearsals: &[(Terminal, Rehearsal)]) -> Summary {
        let mut sum = Summary::default();
        for waited in rehearsals.iter().filter_map(|(_, rehearsal)| rehearsal.waits.as_ref()) {
            sum.hang(waited.score);
        }
        sum
    }

    fn hang(&mut self, score: Score) {
        self.hangs += 1;
        self.missed += usize::from(score == Score::Missed);
        self.open += usize::from(score == Score::Undecided);
        self.undecided += usize::from(score == Score::Undecided);
    }

    /// Whether a hang was missed.
    pub fn has_missed(&self) -> bool {
        self.missed > 0
    }

    /// Adds a cell.
    pub fn add(&mut self, cell: &Cell, judged: &Judged) {
        let is_open = judged.score == Score::Undecided;
        match cell.baseline.outcome.is_hung() {
            true => self.hang(judged.score),
            false if is_open => self.undecided += 1,
            false => {
                self.healthy += 1;
                self.longest_ms = self.longest_ms.max(cell.baseline.ended.0);
            }
        }
        self.harmed += usize::from(judged.score == Score::Harmed);
        self.wrongly += usize::from(judged.score == Score::Wrongly);
        self.left += usize::from(judged.verdict.broken().contains(&Invariant::LeftBehind));
        self.runs.extend(judged.run.filter(|_| !is_open));
    }

    /// Which limits of the wrapper were seen to act.
    pub fn limits(&self) -> Limits {
        Limits::of(&self.runs)
    }

    /// The last line. `too_long`: the longest healthy run that was left out for its time, in milliseconds.
    pub fn sentence(&self, is_virtual: bool, deadline: Span, too_long: u64) -> String {
        let mut parts = Vec::new();
        if self.hangs > 0 {
            let ended = self.hangs - self.missed - self.open;
            parts.push(format!("{ended} of {} ended", counted(self.hangs, "hang")));
        }
        if self.left > 0 {
            parts.push(format!("{} left processes", counted(self.left, "run")));
        }
        if self.wrongly > 0 {
            parts.push(format!("{} told wrongly", self.wrongly));
        }
        if self.undecided > 0 {
            parts.push(format!("{} undecided", self.undecided));
        }
        let tried = format!("of up to {}", duration(self.longest_ms));
        match (self.healthy, self.harmed) {
            (0, _) => parts.push("no healthy run was tried".to_owned()),
            (_, 0) => parts.push(format!("no healthy run {tried} harmed")),
            (all, n) => parts.push(format!("{n} of {} {tried} harmed", counted(all, "healthy run"))),
        }
        if too_long > 0 && is_virtual {
            parts.push(format!("longer ones need --deadline {}", Span::ms(too_long.saturating_mul(2))));
        }
        if !is_virtual {
            parts.push(format!("not tried on the wall clock: limits above {deadline}"));
        }
        parts.join("; ")
    }
}

impl Fitting {
    /// The classes of hangs that were not tried, each with the reason; `None` if all were.
    pub fn not_tried(&self) -> Option<String> {
        let mut layers: Vec<&'static str> = Vec::new();
        for layer in Mechanism::ALL.iter().map(|m| m.layer()).filter(|layer| *layer != "benign") {
            if !layers.contains(&layer) {
                layers.push(layer);
            }
        }
        let of =
            |cell: &&Cell, layer: &str| cell.scenario.mechanism.parse().is_ok_and(|m: Mechanism| m.layer() == layer);
        let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for layer in layers {
            let mut cells = self.cells.iter().filter(|cell| of(cell, layer) && cell.arm == Arm::Main).peekable();
            let is_played = cells.peek().is_some();
            if cells.any(|cell| cell.baseline.outcome.is_hung()) {
                continue;
            }
            let reason = if is_played { self.as_called() } else { self.why_left_out(layer) };
            by_reason.entry(reason).or_default().push(layer);
        }
        let all: Vec<String> = by_reason.iter().map(|(why, layers)| format!("{} ({why})", layers.join(", "))).collect();
        (!all.is_empty()).then(|| format!("not tried: {}", all.join("; ")))
    }

    /// Why scenarios about a hang do not hang here.
    fn as_called(&self) -> String {
        let call = self.rehearsals.first().map(|(_, rehearsal)| &rehearsal.call);
        match call {
            Some(call) if !call.args.is_empty() => format!("none hangs, since it passes {}", call.args.join(" ")),
            _ => "none hangs as it calls its agent".to_owned(),
        }
    }

    fn why_left_out(&self, layer: &str) -> String {
        let reasons = self.left_out_of.get(layer);
        let most = reasons.and_then(|reasons| reasons.iter().max_by_key(|(_, n)| **n));
        most.map_or_else(|| "no scenario that it meets".to_owned(), |(reason, _)| reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentence_says_what_was_not_tried() {
        let minute = Span::secs(60);
        let sum = Summary { hangs: 50, left: 22, healthy: 9, longest_ms: 9_000, ..Summary::default() };
        let four_hours = 4 * 3_600_000;
        assert_eq!(
            sum.sentence(false, minute, four_hours),
            "50 of 50 hangs ended; 22 runs left processes; no healthy run of up to 9s harmed; not tried on the wall clock: limits above 1m"
        );
        let said = sum.sentence(true, Span::hours(6), four_hours);
        assert!(said.ends_with("no healthy run of up to 9s harmed; longer ones need --deadline 8h"), "{said}");
        assert!(sum.sentence(true, Span::hours(24), 0).ends_with("up to 9s harmed"));
        // what is undecided is neither ended nor missed
        let open = Summary { missed: 1, open: 2, undecided: 3, ..sum };
        let said = open.sentence(true, Span::hours(24), 0);
        assert!(said.starts_with("47 of 50 hangs ended; 22 runs left processes; 3 undecided; "), "{said}");
        let harmed = Summary { healthy: 2, harmed: 1, ..Summary::default() };
        assert_eq!(harmed.sentence(true, Span::hours(24), 0), "1 of 2 healthy runs of up to 0ms harmed");
    }
}
