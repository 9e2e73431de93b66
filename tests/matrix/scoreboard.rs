//! The main claim: which stack catches every known hang and harms no healthy run.
//!
//! The whole matrix. `guard` is the stack that we recommend; this test fails if any other stack of the matrix costs its
//! user less, over all files and without exemptions. Every hang except one is proved, and every control arm ends.

use crate::File;
use libtest_mimic::{Failed, Trial};
use rehang_judge::score::{ScoreRow, Scoreboard};
use rehang_runner::pool::Pool;
use rehang_runner::run;
use rehang_runner::select::{Selected, Selection};
use rehang_scenario::text::duration;
use rehang_scenario::{Arm, OutcomeKind, Stage};
use std::sync::{Arc, PoisonError};

/// The agent calls the same tool again and again: what it has said grows with every turn, so that no state ever
/// repeats.
const GROWS: &str = "model/same-call-again";

/// The trials.
pub fn trials(pool: &Arc<Pool>, files: &Arc<[File]>) -> [Trial; 2] {
    let [board, shorter] = [pool.clone(), pool.clone()];
    let files = files.clone();
    [
        Trial::test("shorter_limits_cost_what_the_page_says", move || {
            shorter_limits_cost_what_the_page_says(&shorter);
            Ok(())
        }),
        // the last, so that what it adds up was played for the other trials
        Trial::test("the_board_stands", move || the_board_stands(&board, &files)),
    ]
}

fn the_board_stands(pool: &Pool, files: &[File]) -> Result<(), Failed> {
    let (mut all, mut score) = (Selected::default(), Scoreboard::new());
    for file in files {
        let mut played = file.played.lock().unwrap_or_else(PoisonError::into_inner);
        // without its own trial, sim is enough
        let (selected, outcome) = match &mut *played {
            Some(played) => played,
            none => none.insert(file.play(pool, &[Stage::Sim])?),
        };
        all.cells += selected.cells;
        all.lockstep_only += selected.lockstep_only;
        score.merge(&outcome.score);
        is_decided(outcome);
    }
    assert!(!all.has_too_much_lockstep(), "at most 5 % of the cells run in lockstep alone");

    // Over the same cells: how long its user waits, and a price for what is missed, harmed or reported falsely. No cell
    // is left out, not even those in which one of guard's own limits applies.
    let matrix = rehang_strategy::stacks();
    let costs: Vec<_> = score.costs().into_iter().filter(|row| matrix.contains(&row.strategy)).collect();
    let better: Vec<&str> =
        costs.iter().map(|row| row.strategy.as_str()).take_while(|strategy| *strategy != "guard").collect();
    assert_eq!(better, [""; 0], "who costs their user less than guard, the cheapest first");

    let scored = score.rows();
    let all = |name: &str| scored.iter().find(|row| row.strategy == name && row.mechanism.is_empty());
    let shown = readme_rows();
    let names = shown.iter().filter_map(|row| row.split_whitespace().next());
    let rows: Vec<String> = names.filter_map(all).map(readme_row).collect();
    assert!(shown.len() >= 6, "the README has the table");
    assert_eq!(rows, shown, "the README on the right");
    Ok(())
}

/// A run without a strategy ends, or its hang is proved; a control arm ends.
fn is_decided(outcome: &run::Outcome) {
    for cell in &outcome.cells {
        let row = cell.row.as_ref().unwrap_or_else(|| panic!("{}: {:?}", cell.id, cell.fault));
        if row.strategy == "none" {
            let open = row.outcome == OutcomeKind::Undecided && row.scenario != GROWS;
            assert!(!open, "{}: a run ends, or its hang is proved", cell.id);
            // it completes, it fails and says why, or it is one that a person's key ends
            let by_itself = matches!(row.outcome, OutcomeKind::Completed | OutcomeKind::Failed);
            let ends = by_itself || (row.outcome == OutcomeKind::Stopped && row.cause.as_deref() == Some("stop"));
            assert!(cell.arm != Arm::Control || ends, "{}: a control arm ends", cell.id);
        }
    }
}

/// The rows of the README's table.
fn readme_rows() -> Vec<&'static str> {
    let lines = include_str!("../../README.md").lines().skip_while(|line| !line.trim_start().starts_with("cells"));
    lines.skip(1).take_while(|line| *line != "```").collect()
}

/// A row as the README has it: what is zero is blank.
fn readme_row(row: &ScoreRow) -> String {
    let count = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    let [cells, resolved, stopped, missed] = [row.cells, row.resolved, row.stopped, row.missed].map(count);
    let [wrongly, harmed, untouched, undecided] = [row.wrongly, row.harmed, row.untouched, row.undecided].map(count);
    let waits = row.waited.map(|waited| [waited.median_ms, waited.p90_ms, waited.max_ms].map(duration));
    let [median, p90, longest] = waits.unwrap_or_default();
    let name = &row.strategy;
    let line = format!(
        "{name:<12}{cells:>7}{resolved:>10}{stopped:>9}{missed:>8}{wrongly:>9}{harmed:>8}{untouched:>11}{undecided:>11}{median:>8}{p90:>8}{longest:>9}"
    );
    line.trim_end().to_owned()
}

/// The table of docs/guard.md: what a user who sets shorter limits gains, and whom that harms.
fn shorter_limits_cost_what_the_page_says(pool: &Pool) {
    let page = include_str!("../../docs/guard.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `guard")).collect();
    let stacks = rows.iter().filter_map(|row| Some(row.split('`').nth(1)?.to_owned())).collect();
    let selection = Selection { strategy: stacks, ..Selection::default() };
    let selected = selection.select(&[Stage::Sim]).expect("the scenarios can be read");
    let outcome = run::run(pool, &selected.units, &|_| {}).expect("workers can be started");
    let scored = outcome.score.rows();
    let row = |row: &&str| {
        let stack = row.split('`').nth(1).expect("a stack");
        let of_stack = |all: &&ScoreRow| all.strategy == stack && all.mechanism.is_empty();
        let scored = scored.iter().find(of_stack).unwrap_or_else(|| panic!("{stack} was not played"));
        let waited = scored.waited.expect("it ends hangs");
        let [median, p90, longest] = [waited.median_ms, waited.p90_ms, waited.max_ms].map(duration);
        format!("| `{stack}` | {median} | {p90} | {longest} | {} |", scored.harmed)
    };
    assert!(!rows.is_empty());
    assert_eq!(rows.iter().map(row).collect::<Vec<_>>(), rows, "the page on the right");
}
