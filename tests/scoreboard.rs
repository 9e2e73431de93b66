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
