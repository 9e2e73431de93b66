//! Invariant 4: It ends within the bound computed from the strategy's own constants.
//!
//! Invariant: what hangs never ends, so where there is a bound a hang is out of it.

use super::Breach;
use crate::index::View;
use rehang_scenario::model::Invariant;
use rehang_scenario::{Span, VTime};

/// Checks it.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let Some(bound) = view.facts.bound else { return Vec::new() };
    let (strategy, end) = (&view.facts.strategy, view.verdict.ended);
    let why = if view.verdict.outcome.is_hung() {
        format!("{strategy} bounds the run to {bound}, and it is {}", view.verdict.outcome.describe())
    } else if end.since(VTime::ZERO) > bound {
        let over = Span(end.0.saturating_sub(bound.0));
        format!("{strategy} bounds the run to {bound}, and it ends {over} later")
    } else {
        return Vec::new();
    };
    vec![Breach { invariant: Invariant::OutOfBounds, at: end, why }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};

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
}
