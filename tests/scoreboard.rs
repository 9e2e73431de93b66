//! The main claim: which stack catches every known hang and harms no healthy run.
//!
//! The whole matrix on sim. `guard` is the stack that we recommend; this test fails if any other stack of the matrix
//! costs its user less, over all files and without exemptions. Every hang except one is proved, and every control arm
//! ends.

use libtest_mimic::{Arguments, Trial};
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::run;
use rehang_runner::select::Selection;
use rehang_scenario::{Arm, Stage};
use std::path::PathBuf;
use std::process::ExitCode;

/// The agent calls the same tool again and again: what it has said grows with every turn, so that no state ever
/// repeats.
const GROWS: &str = "model/same-call-again";

fn main() -> ExitCode {
    rehang::dispatch();
    let args = Arguments::from_args();
    let trial = Trial::test("the_board_stands", || {
        the_board_stands();
        Ok(())
    });
    libtest_mimic::run(&args, vec![trial]).exit_code()
}

fn the_board_stands() {
    let exe = std::env::current_exe().expect("a test knows its own binary");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = Pool::new(Workers { exe, fakes: PathBuf::from(env!("CARGO_BIN_EXE_rehang-test-fakes")), jobs });
    let selected = Selection::default().select(&[Stage::Sim]).expect("the scenarios can be read");
    let outcome = run::run(&pool, &selected.units, &|_| {}).expect("workers can be started");

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
