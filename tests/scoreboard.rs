//! What people come for: which stack catches every known hang and harms no healthy run.
//!
//! The whole matrix on sim. `guard` is the stack that we recommend; this goes red when it harms, lies, or when
//! another stack of the matrix beats it. And every hang is proved, every control arm completes.

use libtest_mimic::{Arguments, Trial};
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::run;
use rehang_runner::select::Selection;
use rehang_scenario::{Arm, Stage};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

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
            assert_ne!(row.outcome, "undecided", "{}: a run ends, or its hang is proved", cell.id);
            assert!(cell.arm != Arm::Control || row.outcome == "completed", "{}: a control arm completes", cell.id);
        }
    }
    assert!(!selected.has_too_much_lockstep(), "at most 5 % of the cells run in lockstep alone");

    // on the cells where both play, nobody else may miss fewer hangs without harm and lies
    let rows = outcome.score.rows();
    let totals = |strategy: &str| rows.iter().find(|row| row.strategy == strategy && row.mechanism.is_empty());
    let guard = totals("guard").expect("guard is in the matrix");
    assert_eq!(guard.wrongly, 0, "guard says nothing untrue");
    // a limit must lie somewhere: that file holds a person who answers at guard's own, and behind it
    let at_its_limit = "permission/guard-limit";
    let rows_of_guard = outcome.cells.iter().filter_map(|cell| cell.row.as_ref()).filter(|row| row.strategy == "guard");
    let harmed = rows_of_guard.filter(|row| row.broken.iter().any(|broken| broken == "harm"));
    let harmed: Vec<&str> = harmed.map(|row| row.scenario.as_str()).filter(|s| !s.starts_with(at_its_limit)).collect();
    assert!(harmed.is_empty(), "guard harms {harmed:?}");
    let main = outcome.cells.iter().filter(|cell| cell.arm == Arm::Main).filter_map(|cell| cell.row.as_ref());
    let mut hung: BTreeMap<(&str, &str, u64), BTreeMap<&str, bool>> = BTreeMap::new();
    for row in main {
        let cell = hung.entry((&row.scenario, &row.terminal, row.seed)).or_default();
        cell.insert(&row.strategy, row.outcome == "hung");
    }
    for stack in rehang_strategy::stacks().iter().filter(|stack| *stack != "guard") {
        if !totals(stack).is_some_and(|row| row.harmed == 0 && row.wrongly == 0) {
            continue;
        }
        let beaten = hung.iter().filter(|(_, by)| {
            by.get("none") == Some(&true) && by.get("guard") == Some(&true) && by.get(stack.as_str()) == Some(&false)
        });
        let beaten: Vec<_> = beaten.map(|(cell, _)| cell).collect();
        assert!(beaten.is_empty(), "{stack} harms nothing and ends what guard misses: {beaten:?}");
    }
}
