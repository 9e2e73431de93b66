//! The matrix as tests: one trial for each scenario, with its cells inside.
//!
//! Each cell runs on sim and in lockstep, and both must have the same trace, byte for byte. Under nextest each trial is a
//! process of its own: `--exact` reads one file, and `--partition` distributes the trials over machines.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang::report;
use rehang::terminal;
use rehang_runner::corpus;
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::run;
use rehang_runner::select::Selection;
use rehang_scenario::{Stage, file::family_name};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    rehang::dispatch();
    let args = Arguments::from_args();
    let exe = std::env::current_exe().expect("a test knows its own binary");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let fakes = PathBuf::from(env!("CARGO_BIN_EXE_rehang-test-fakes"));
    let pool = Arc::new(Pool::new(Workers { exe, fakes, jobs }));
    let mut trials = Vec::new();
    for path in corpus::files(&corpus::default_folder()).expect("the folder `scenarios` can be read") {
        let name = family_name(&path.display().to_string());
        let asked_for = args.filter.as_deref().is_none_or(|filter| !args.exact || filter == name);
        if asked_for {
            let pool = pool.clone();
            trials.push(Trial::test(name, move || trial(&pool, path)));
        }
    }
    libtest_mimic::run(&args, trials).exit_code()
}

fn trial(pool: &Pool, path: PathBuf) -> Result<(), Failed> {
    let select = Selection { scenarios: vec![path.clone()], ..Selection::default() };
    let selected = select.select(&[Stage::Sim, Stage::Lockstep]).map_err(|e| e.to_string())?;
    if !selected.problems.is_empty() {
        return Err(selected.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n").into());
    }
    let outcome = run::run(pool, &selected.units, &|_| {}).map_err(|e| e.to_string())?;
    let failures: Vec<_> = outcome.cells.iter().filter(|cell| cell.is_failure()).collect();
    if failures.is_empty() {
        return Ok(());
    }
    let mut text = Vec::new();
    for cell in failures.iter().take(3) {
        report::failure(cell, true, std::slice::from_ref(&path), terminal::REPORT, &mut text)
            .map_err(|e| e.to_string())?;
    }
    let more = failures.len().saturating_sub(3);
    Err(format!(
        "\n{}{}",
        String::from_utf8_lossy(&text),
        if more > 0 { format!("and {more} more cells") } else { String::new() }
    )
    .into())
}
