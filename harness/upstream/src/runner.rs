//! Runs cells side by side, as far as memory and `--jobs` allow.
//!
//! Invariant: every row is handed over as soon as its cell has ended. A cell that rehang itself could not run gives a
//! fault and no row, so that it runs again next time.

use super::bisect::{Sure, sure};
use super::memory::Gate;
use super::plan::Cell;
use super::record;
use super::row::{Row, Verdict, on_clock, seen, unrun};
use rehang_agents::{Progress, Store, StoreError};
use rehang_live::{LiveError, Report, Virtual};
use rehang_stage::threads::side_by_side;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What cells are run with.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The cache.
    pub store: Store,
    /// `rehang` itself.
    pub rehang: PathBuf,
    /// The fakes: they play what the bash tool runs.
    pub fakes: PathBuf,
    /// How long a cell may take from its first main model request on; by default long enough to tell a hang from a
    /// limit of the agent's own.
    pub deadline: Option<Duration>,
    /// In virtual time, if it is; then a cell's end does not depend on `deadline`.
    pub in_virtual_time: Option<Virtual>,
    /// How many runs must agree; with 1 the first run decides.
    pub repeat: usize,
    /// How many at once.
    pub jobs: usize,
    /// Where a recording of each cell is written.
    pub record: Option<PathBuf>,
    /// `rehang why` looks at each run that hangs.
    pub why: bool,
    /// The stack under which `rehang supervise` runs each release, if it does.
    pub supervised: Option<String>,
}

/// Why a cell has no row.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Stop {
    /// Nothing can run on this machine, or nothing can be installed: the user can change that.
    #[error("{0}")]
    Machine(String),
    /// An internal error.
    #[error("{0}")]
    Fault(String),
}

/// What a run calls.
pub trait Watch: Sync {
    /// A cell has begun.
    fn began(&self, _cell: &Cell) {}
    /// A cell has ended.
    fn ended(&self, cell: &Cell, row: Result<Row, Stop>);
    /// Where an installation's progress goes.
    fn progress(&self) -> &dyn Progress;
}

impl Runner {
    /// Runs all cells. If one is stopped because of the machine, all are.
    pub fn run(&self, cells: &[Cell], watch: &dyn Watch) {
        let gate = Gate::of_this_machine();
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let hands = Mutex::new(());
        side_by_side(self.jobs.clamp(1, cells.len().max(1)), || {
            while !stopped.load(Ordering::Relaxed) {
                let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                watch.began(cell);
                let row = self.cell(cell, &gate, watch.progress());
                if matches!(row, Err(Stop::Machine(_))) {
                    stopped.store(true, Ordering::Relaxed);
                }
                let _one = hands.lock().unwrap_or_else(PoisonError::into_inner);
                watch.ended(cell, row);
            }
        });
    }

    /// Runs one cell until its verdict is sure.
    ///
    /// # Errors
    /// It could not be run, because of the machine or an internal error.
    pub fn cell(&self, cell: &Cell, gate: &Gate, progress: &dyn Progress) -> Result<Row, Stop> {
        self.run_until_sure(cell, gate, progress).map(|row| on_clock(row, self.in_virtual_time.as_ref()))
    }

    fn run_until_sure(&self, cell: &Cell, gate: &Gate, progress: &dyn Progress) -> Result<Row, Stop> {
        let recipe = match &cell.recipe {
            Ok(recipe) => recipe,
            Err(why) => return Ok(unrun(&cell.key, &cell.of, why.to_string())),
        };
        if let Some(why) = rehang_live::cell::cannot(&cell.scenario, recipe, cell.terminal) {
            return Ok(unrun(&cell.key, &cell.of, why));
        }
        let installed = match self.store.install(recipe, progress) {
            Ok(installed) => installed,
            Err(
                error @ (StoreError::NoProgram { .. }
                | StoreError::NoIntegrity { .. }
                | StoreError::NoDependency { .. }
                | StoreError::OtherPython { .. }),
            ) => {
                return Ok(unrun(&cell.key, &cell.of, error.to_string()));
            }
            Err(error) => return Err(Stop::Machine(error.to_string())),
        };
        let live = rehang_live::Cell {
            scenario: &cell.scenario,
            recipe,
            installed: &installed,
            terminal: cell.terminal,
            deadline: self.deadline.unwrap_or_else(|| rehang_live::cell::deadline(&cell.scenario)),
            rehang: self.rehang.clone(),
            fakes: self.fakes.clone(),
            supervised: self.supervised.clone(),
            signal: None,
            counts_left: false,
        };
        let mut rows: Vec<Row> = Vec::new();
        loop {
            let verdicts: Vec<Verdict> = rows.iter().map(Row::verdict).collect();
            match sure(&verdicts, self.repeat) {
                Sure::More => {}
                Sure::Of(_) => return last(rows, Vec::new()),
                Sure::Flaky(counts) => return last(rows, counts),
            }
            let _place = gate.enter(recipe.memory_mib);
            let mut why = Vec::new();
            let report = if let Some(settings) = &self.in_virtual_time {
                rehang_live::run_virtually(&live, settings)
            } else if self.why {
                rehang_live::run_looking(&live, &mut |pid| why.push(self.look(pid)))
            } else {
                rehang_live::run(&live)
            };
            match report {
                Ok(report) => {
                    self.keep(cell, &report).map_err(|error| Stop::Machine(format!("the recording: {error}")))?;
                    rows.push(Row { why, ..seen(&cell.key, &cell.of, &report) });
                }
                Err(LiveError::Cannot(why)) => return Ok(unrun(&cell.key, &cell.of, why)),
                Err(LiveError::Sandbox(why)) => return Err(Stop::Machine(why)),
                Err(error) => return Err(Stop::Fault(format!("{}: {error}", cell.key.command()))),
            }
        }
    }
}

impl Runner {
    /// What `rehang why` says of a process, in a process of its own, as a user would ask it.
    fn look(&self, pid: i32) -> String {
        let said = Command::new(&self.rehang).args(["why", "--json", &pid.to_string()]).output();
        let said = match said {
            Ok(said) => said,
            Err(error) => return format!("rehang why: {error}"),
        };
        let Ok(found) = serde_json::from_slice::<Value>(&said.stdout) else {
            return format!("rehang why: {}", String::from_utf8_lossy(&said.stderr).trim());
        };
        let word = |key: &str| found[key].as_str().unwrap_or("-").to_owned();
        let [verdict, signature, mechanism, sure] = ["verdict", "signature", "mechanism", "sure"].map(word);
        format!("{verdict} {signature} {mechanism} ({sure}): {}", word("sentence"))
    }

    fn keep(&self, cell: &Cell, report: &Report) -> std::io::Result<()> {
        let Some(folder) = &self.record else { return Ok(()) };
        let lines = record::recording(&cell.key.agent, cell.scenario.agent.client(), report, false);
        let name = format!("{}-{}", cell.key.scenario, cell.key.terminal);
        record::write(folder, &format!("{}-{}", cell.key.agent, cell.key.version), &name, &lines).map(drop)
    }
}

/// The last row of the most frequent verdict, with how many runs there were and how they differ.
fn last(rows: Vec<Row>, counts: Vec<(Verdict, usize)>) -> Result<Row, Stop> {
    let (runs, spread_ms) = (rows.len(), spread(&rows));
    let why = rows.iter().flat_map(|row| row.why.clone()).collect();
    let most = counts.first().map(|(verdict, _)| verdict.clone());
    let fits = |row: &Row| most.as_ref().is_none_or(|most| row.verdict() == *most);
    let row = rows.into_iter().rev().find(fits).ok_or_else(|| Stop::Fault("a verdict without a run".to_owned()))?;
    let flaky = counts.iter().map(|(verdict, count)| format!("{verdict} {count} of {runs}")).collect();
    Ok(Row { runs, spread_ms, flaky, why, ..row })
}

/// By how much the times of runs differ at most; `None` if there is nothing to compare.
fn spread(rows: &[Row]) -> Option<u64> {
    let times = |row: &Row| [row.startup_ms.unwrap_or_default(), row.ms].into_iter().chain(row.asked.clone()).collect();
    let (first, rest) = rows.split_first()?;
    let (first, rest): (Vec<u64>, Vec<Vec<u64>>) = (times(first), rest.iter().map(times).collect());
    let apart = |of: &Vec<u64>| first.iter().zip(of).map(|(a, b)| a.abs_diff(*b)).max();
    let is_alike = !rest.is_empty() && rest.iter().all(|of| of.len() == first.len());
    is_alike.then(|| rest.iter().filter_map(apart).max()).flatten()
}
