//! Invariant 4: It ends within the bound computed from the strategy's own constants.
//!
//! Invariants: a bound applies to one run, from the run's start to its end, and to each run of a caller's loop; the
//! loop as a whole has its own. A hang never ends, so if there is a bound, a hang is out of it. It is not known when an
//! undecided run ends: it is out of a bound only if the bound had passed before it was given up.

use crate::verdict::Breach;
use crate::verdict::Outcome;
use crate::view::View;
use rehang_scenario::{Invariant, Span, VTime};

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let (of_run, of_runs) = (view.facts.bound, view.facts.bound_of_runs);
    let last = view.verdict.ended;
    let breach = |at: VTime, why: String| Breach { invariant: Invariant::OutOfBounds, at, why };
    if view.index.run_overs.is_empty() {
        // One run is the whole loop.
        let bound = of_run.into_iter().chain(of_runs).min();
        let why = bound.and_then(|bound| out_of(view, "the run", bound, last.since(VTime::ZERO), true));
        return why.map(|why| breach(last, why)).into_iter().collect();
    }
    let ends: Vec<VTime> = view.index.run_overs.iter().map(|over| over.t).chain([last]).collect();
    let mut begin = VTime::ZERO;
    let mut breaches = Vec::new();
    for (run, &end) in ends.iter().enumerate() {
        let (what, is_last) = (format!("run {}", run + 1), run + 1 == ends.len());
        let why = of_run.and_then(|bound| out_of(view, &what, bound, end.since(begin), is_last));
        breaches.extend(why.map(|why| breach(end, why)));
        begin = end;
    }
    if breaches.is_empty() {
        let took = last.since(VTime::ZERO);
        let why = of_runs.and_then(|bound| out_of(view, "the caller's loop", bound, took, true));
        breaches.extend(why.map(|why| breach(last, why)));
    }
    breaches
}

/// Why something that took this long is out of its bound. The cell's outcome is that of its last run, and of the whole
/// loop.
fn out_of(view: &View<'_>, what: &str, bound: Span, took: Span, is_last: bool) -> Option<String> {
    let (strategy, outcome) = (&view.facts.strategy, &view.verdict.outcome);
    let bounds = format!("{strategy} bounds {what} to {bound}, and it");
    if is_last && let Outcome::Hung { .. } = outcome {
        return Some(format!("{bounds} is {}", outcome.describe()));
    }
    let over = (took > bound).then(|| Span(took.as_ms() - bound.as_ms()))?;
    let ends = if is_last && outcome.is_undecided() { "has not ended" } else { "ends" };
    Some(format!("{bounds} {ends} {over} later"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};
    use rehang_trace::{Ended, What};

    fn says(cell: Cell, bound: Option<Span>, want: Expect) {
        let mut facts = facts("idle@f54b32f");
        facts.bound = bound;
        want.assert_eq(&said(check, cell, &facts));
    }

    fn stopped(ms: u64) -> Cell {
        Cell::new().started().at(ms).settle("idle@f54b32f", "stopped", "idle", "")
    }

    #[test]
    fn the_bound_itself_is_within() {
        says(stopped(601_000), Some(Span::secs(601)), expect![""]);
        says(
            stopped(601_001),
            Some(Span::secs(601)),
            expect![[r#"
                601001ms out-of-bounds: idle@f54b32f bounds the run to 601s, and it ends 1ms later
            "#]],
        );
        says(stopped(601_001), None, expect![""]);
    }

    #[test]
    fn a_hang_has_no_end() {
        let hung = Cell::new().started().ask("que_1", "ses_1").deadlock(&[("agent", "question")]);
        says(
            hung,
            Some(Span::secs(601)),
            expect![[r#"
            0ms out-of-bounds: idle@f54b32f bounds the run to 601s, and it is hung on question (deadlock)
        "#]],
        );
    }

    /// Runs of a caller's loop that end one after the other, after this many seconds each; the last one is stopped.
    fn loop_of(secs: &[u64]) -> Cell {
        let (last, before) = secs.split_last().expect("a loop has a run");
        let mut at = 0;
        let mut cell = Cell::new().started();
        for run in before {
            at += run * 1_000;
            let (outcome, cause, text) = (rehang_trace::RunEnd::Failed, "503".into(), String::new());
            cell = cell.at(at).add("idle@f54b32f", What::RunOver { outcome, cause, text });
        }
        cell.at(at + last * 1_000).settle("idle@f54b32f", "stopped", "idle", "")
    }

    #[test]
    fn each_run_of_a_loop_has_the_bound_to_itself() {
        says(loop_of(&[600; 17]), Some(Span::secs(601)), expect![""]);
        says(
            loop_of(&[600, 602, 1]),
            Some(Span::secs(601)),
            expect![[r#"
                1202s out-of-bounds: idle@f54b32f bounds run 2 to 601s, and it ends 1s later
            "#]],
        );
        says(
            loop_of(&[1, 1, 700]),
            Some(Span::secs(601)),
            expect![[r#"
                702s out-of-bounds: idle@f54b32f bounds run 3 to 601s, and it ends 99s later
            "#]],
        );
    }

    #[test]
    fn a_loop_has_a_bound_of_its_own() {
        let says = |cell, of_run, want: Expect| {
            let mut facts = facts("idle@f54b32f");
            (facts.bound, facts.bound_of_runs) = (of_run, Some(Span::secs(900)));
            want.assert_eq(&said(check, cell, &facts));
        };
        says(loop_of(&[450, 450]), Some(Span::secs(601)), expect![""]);
        for of_run in [Some(Span::secs(601)), None] {
            says(
                loop_of(&[451, 450]),
                of_run,
                expect![[r#"
                    901s out-of-bounds: idle@f54b32f bounds the caller's loop to 15m, and it ends 1s later
                "#]],
            );
        }
        says(
            stopped(900_001),
            None,
            expect![[r#"
                900001ms out-of-bounds: idle@f54b32f bounds the run to 15m, and it ends 1ms later
            "#]],
        );
    }

    #[test]
    fn what_is_undecided_is_out_of_a_bound_that_was_over() {
        let given_up = |ms: u64| {
            Cell::new()
                .started()
                .at(ms)
                .add("", What::Ended(Ended::Horizon { reason: rehang_trace::Horizon::Steps, waits: Vec::new() }))
        };
        says(given_up(601_000), Some(Span::secs(601)), expect![""]);
        says(
            given_up(602_000),
            Some(Span::secs(601)),
            expect![[r#"
                602s out-of-bounds: idle@f54b32f bounds the run to 601s, and it has not ended 1s later
            "#]],
        );
    }
}
