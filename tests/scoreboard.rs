//! The main claim: which stack catches every known hang and harms no healthy run.
//!
//! The whole matrix on sim. `guard` is the stack that we recommend; this test fails if any other stack of the matrix
//! costs its user less, over all files and without exemptions. Every hang except one is proved, and every control arm
//! ends.

use libtest_mimic::{Arguments, Trial};
use rehang_judge::score::ScoreRow;
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::run::{self, Outcome};
use rehang_runner::select::{Selected, Selection};
use rehang_scenario::text::duration;
use rehang_scenario::{Arm, Stage};
use std::path::PathBuf;
use std::process::ExitCode;

/// The agent calls the same tool again and again: what it has said grows with every turn, so that no state ever
/// repeats.
const GROWS: &str = "model/same-call-again";

fn main() -> ExitCode {
    rehang::dispatch();
    let args = Arguments::from_args();
    let trial = |name: &str, holds: fn()| {
        Trial::test(name, move || {
            holds();
            Ok(())
        })
    };
    let trials = vec![
        trial("the_board_stands", the_board_stands),
        trial("shorter_limits_cost_what_the_page_says", shorter_limits_cost_what_the_page_says),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

/// What the cells of a selection came to, on sim.
fn played(selection: &Selection) -> (Selected, Outcome) {
    let exe = std::env::current_exe().expect("a test knows its own binary");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = Pool::new(Workers { exe, fakes: PathBuf::from(env!("CARGO_BIN_EXE_rehang-test-fakes")), jobs });
    let selected = selection.select(&[Stage::Sim]).expect("the scenarios can be read");
    let outcome = run::run(&pool, &selected.units, &|_| {}).expect("workers can be started");
    (selected, outcome)
}

fn the_board_stands() {
    let (selected, outcome) = played(&Selection::default());

    for cell in &outcome.cells {
        let row = cell.row.as_ref().unwrap_or_else(|| panic!("{}: {:?}", cell.id, cell.fault));
        if row.strategy == "none" {
            let open = row.outcome == "undecided" && row.scenario != GROWS;
            assert!(!open, "{}: a run ends, or its hang is proved", cell.id);
            // it completes, it fails and says why, or it is one that a person's key ends
            let by_itself = ["completed", "failed"].contains(&row.outcome.as_str());
            let ends = by_itself || (row.outcome == "stopped" && row.cause.as_deref() == Some("stop"));
            assert!(cell.arm != Arm::Control || ends, "{}: a control arm ends", cell.id);
        }
    }
    assert!(!selected.has_too_much_lockstep(), "at most 5 % of the cells run in lockstep alone");

    // Over the same cells: how long its user waits, and a price for what is missed, harmed or reported falsely. No cell
    // is left out, not even those in which one of guard's own limits applies.
    let matrix = rehang_strategy::stacks();
    let costs: Vec<_> = outcome.score.costs().into_iter().filter(|row| matrix.contains(&row.strategy)).collect();
    let better: Vec<&str> =
        costs.iter().map(|row| row.strategy.as_str()).take_while(|strategy| *strategy != "guard").collect();
    assert_eq!(better, [""; 0], "who costs their user less than guard, the cheapest first");

    let scored = outcome.score.rows();
    let all = |name: &str| scored.iter().find(|row| row.strategy == name && row.mechanism.is_empty());
    let shown = readme_rows();
    let names = shown.iter().filter_map(|row| row.split_whitespace().next());
    let rows: Vec<String> = names.filter_map(all).map(readme_row).collect();
    assert!(shown.len() >= 6, "the README has the table");
    assert_eq!(rows, shown, "the README on the right");
}

/// The rows of the README's table.
fn readme_rows() -> Vec<&'static str> {
    let lines = include_str!("../README.md").lines().skip_while(|line| !line.trim_start().starts_with("cells"));
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
fn shorter_limits_cost_what_the_page_says() {
    let page = include_str!("../docs/guard.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `guard")).collect();
    let stacks = rows.iter().filter_map(|row| Some(row.split('`').nth(1)?.to_owned())).collect();
    let (_, outcome) = played(&Selection { strategy: stacks, ..Selection::default() });
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
