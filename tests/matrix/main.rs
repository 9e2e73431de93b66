//! The matrix as tests: one trial for each scenario, with its cells inside, and the scoreboard of all of them.
//!
//! Each cell runs on sim and in lockstep, and both must have the same trace, byte for byte. In lockstep, what has the trace
//! of `none` on sim shares it, as in `rehang run`, but for a sample; CI's main job runs all. Under nextest each trial is a
//! process of its own: `--exact` reads one file, and `--partition` distributes the trials over machines.

mod scoreboard;

use libtest_mimic::{Arguments, Failed, Trial};
use rehang::report;
use rehang::terminal;
use rehang_runner::corpus;
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::run::{self, Outcome};
use rehang_runner::select::{Selected, Selection};
use rehang_scenario::{Stage, file::family_name};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

fn main() -> ExitCode {
    rehang::dispatch();
    let args = Arguments::from_args();
    let exe = std::env::current_exe().expect("a test knows its own binary");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let fakes = PathBuf::from(env!("CARGO_BIN_EXE_rehang-test-fakes"));
    let pool = Arc::new(Pool::new(Workers { exe, fakes, jobs }));
    let paths = corpus::files(&corpus::default_folder()).expect("the folder `scenarios` can be read");
    let files: Arc<[File]> = paths.into_iter().map(File::of).collect();
    let mut trials = Vec::new();
    for at in 0..files.len() {
        let name = family_name(&files[at].path.display().to_string());
        let asked_for = args.filter.as_deref().is_none_or(|filter| !args.exact || filter == name);
        if asked_for {
            let (pool, files) = (pool.clone(), files.clone());
            trials.push(Trial::test(name, move || trial(&pool, &files[at])));
        }
    }
    trials.extend(scoreboard::trials(&pool, &files));
    libtest_mimic::run(&args, trials).exit_code()
}

/// A scenario file.
struct File {
    path: PathBuf,
    /// What its cells came to, once they were played, for the scoreboard.
    played: Mutex<Option<Played>>,
}

/// Which cells were played, and what they came to.
type Played = (Selected, Outcome);

impl File {
    fn of(path: PathBuf) -> File {
        File { path, played: Mutex::new(None) }
    }

    fn play(&self, pool: &Pool, stages: &[Stage]) -> Result<Played, Failed> {
        let select = Selection { scenarios: vec![self.path.clone()], ..Selection::default() };
        let mut selected = select.select(stages).map_err(|e| e.to_string())?;
        for unit in &mut selected.units {
            unit.share();
        }
        if !selected.problems.is_empty() {
            return Err(selected.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n").into());
        }
        let outcome = run::run(pool, &selected.units, &|_| {}).map_err(|e| e.to_string())?;
        Ok((selected, outcome))
    }
}

fn trial(pool: &Pool, file: &File) -> Result<(), Failed> {
    // held until the cells are played: the scoreboard waits for them
    let mut played = file.played.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, outcome) = played.insert(file.play(pool, &[Stage::Sim, Stage::Lockstep])?);
    let failures: Vec<_> = outcome.cells.iter().filter(|cell| cell.is_failure()).collect();
    if failures.is_empty() {
        return Ok(());
    }
    let mut text = Vec::new();
    for cell in failures.iter().take(3) {
        report::failure(cell, true, std::slice::from_ref(&file.path), terminal::REPORT, &mut text)
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
