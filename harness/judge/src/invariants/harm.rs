//! Invariant 5: Do no harm: if `none` completes, every strategy completes with the same transcript.
//!
//! Invariant: [`crate::transcript`] says which transcripts are equal. If a strategy answers a question before a person
//! who would have answered, the transcript is another one, and that is harm. A transcript that holds a reply that did
//! not fit is not compared with one in which the same person's reply fits.

use crate::index::Did;
use crate::verdict::Breach;
use crate::verdict::{AskRow, Outcome};
use crate::view::View;
use rehang_scenario::Invariant;
use rehang_trace::{
    AskEnd, Cause,
    role::{Actor, actor},
};

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let Some(baseline) = view.baseline.filter(|baseline| baseline.outcome == Outcome::Completed) else {
        return Vec::new();
    };
    // An undecided run may still complete.
    if cancelled(view) || view.verdict.outcome.is_undecided() {
        return Vec::new();
    }
    let strategy = &view.facts.strategy;
    let why = if view.verdict.outcome != Outcome::Completed {
        format!("without {strategy} it completes, with it it is {}", view.verdict.outcome.describe())
    } else if replies_better(&baseline.asks, &view.verdict.asks) {
        return Vec::new();
    } else if let Some(difference) = baseline.transcript.differs(&view.verdict.transcript) {
        format!("with {strategy} it completes otherwise: {difference}")
    } else {
        return Vec::new();
    };
    vec![Breach { invariant: Invariant::Harm, at: view.verdict.ended, why }]
}

/// Whether a person told the companion to cancel: what they want is not harm.
fn cancelled(view: &View<'_>) -> bool {
    let runs = |act: &crate::index::Act<'_>| matches!(act.what, Did::Acts("run")) && actor(act.who) == Actor::Person;
    view.verdict.outcome == Outcome::Stopped { cause: "cancel".to_owned() } && view.index.acts.iter().any(runs)
}

/// Whether a person's reply that fits was taken, while without the strategy one was taken that did not fit.
fn replies_better(without: &[AskRow], with: &[AskRow]) -> bool {
    let by_user =
        |row: &AskRow| matches!(&row.end, Some((_, AskEnd::Replied, Cause::Answer, by)) if by == "user") && !row.misfit;
    without.len() == with.len()
        && without.iter().any(|row| row.misfit)
        && without.iter().zip(with).all(|(row, other)| !row.misfit || by_user(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use crate::verdict;
    use expect_test::{Expect, expect};
    use rehang_trace::{Ended, What};

    fn says(none: Cell, cell: Cell, want: Expect) {
        let baseline = verdict(&none.trace(), &facts("none"));
        want.assert_eq(&said_beside(check, cell, &facts("idle@f54b32f"), Some(&baseline)));
    }

    fn compiled(seconds: u64) -> Cell {
        let cell = Cell::new().started().step("", "tool-calls").tool("call_1", "bash").at(seconds * 1_000);
        cell.tool_end("call_1", "built").step("Built.", "stop").done("Built.")
    }

    #[test]
    fn a_kill_of_a_healthy_run_is_harm() {
        let killed = Cell::new().started().step("", "tool-calls").tool("call_1", "bash").at(600_001);
        let killed = killed.signal("idle@f54b32f", "KILL", "agent*").settle("idle@f54b32f", "stopped", "idle", "");
        says(
            compiled(900),
            killed.clone(),
            expect![[r#"
                600001ms harm: without idle@f54b32f it completes, with it it is stopped by idle
            "#]],
        );
        // Later than without it is no harm, and neither is the end of what hangs anyway.
        says(compiled(900), compiled(901), expect![""]);
        says(Cell::new().started().deadlock(&[("agent", "bash")]), killed, expect![""]);
        // What is undecided may still complete.
        let given_up = Cell::new()
            .started()
            .add("", What::Ended(Ended::Horizon { reason: rehang_trace::Horizon::Steps, waits: Vec::new() }));
        says(compiled(900), given_up, expect![""]);
    }

    #[test]
    fn a_cancel_that_somebody_typed_is_no_harm() {
        let begun = || Cell::new().started().step("", "tool-calls").tool("call_1", "bash").at(60_000);
        says(compiled(900), begun().acts("person1", "run").settle("heal@pr3", "stopped", "cancel", ""), expect![""]);
        says(
            compiled(900),
            begun().settle("heal@pr3", "stopped", "cancel", ""),
            expect![[r#"
                1m harm: without idle@f54b32f it completes, with it it is stopped by cancel
            "#]],
        );
    }

    #[test]
    fn an_answer_before_the_person_is_harm() {
        let told = |text: &str, cell: Cell| cell.tool_end("call_1", text).step("Done.", "stop").done("Done.");
        let ask = || Cell::new().started().step("", "tool-calls").tool("call_1", "question");
        let person = ask().ask("que_1", "ses_1").at(2_000).end("que_1", AskEnd::Replied, Cause::Answer, "user", &["B"]);
        let person = told("User has answered your questions: \"Which?\"=\"B\".", person);
        let early = ask().preempt("auto-answer@r1", &["B"], "Running in non-interactive mode", true);
        says(
            person.clone(),
            told("Running in non-interactive mode", early),
            expect![[r#"
            0ms harm: with idle@f54b32f it completes otherwise: instead of question's result "User has answered your questions: "Which?"="B"." there is question's result "Running in non-interactive mode"
        "#]],
        );
        says(person.clone(), person, expect![""]);
    }

    #[test]
    fn a_reply_that_fits_is_no_harm_where_one_that_does_not_was_taken() {
        let ask = || Cell::new().started().step("", "tool-calls").tool("call_1", "question").ask("que_1", "ses_1");
        let over = |cell: Cell, text: &str| cell.tool_end("call_1", text).step("Done.", "stop").done("Done.");
        let taken = |labels: &[&str]| {
            let text = labels.join(", ");
            over(ask().at(2_000).end("que_1", AskEnd::Replied, Cause::Answer, "user", labels), &text)
        };
        says(taken(&["A", "B"]), taken(&["B"]), expect![""]);
        let destroyed = ask().at(2_000).end("que_1", AskEnd::Rejected, Cause::Malformed, "user", &[]);
        says(
            taken(&["A", "B"]),
            over(destroyed, "dismissed"),
            expect![[r#"
                2s harm: with idle@f54b32f it completes otherwise: instead of question's result "A, B" there is question's result "dismissed"
            "#]],
        );
    }
}
