//! A run: units in, what came out of all their cells.
//!
//! Invariant: cells come out in the order of their names, whatever order they ran in.

use crate::pool::{Pool, PoolError};
use crate::unit::{Answer, CellAnswer, Unit, broke};
use rehang_judge::score::Scoreboard;
use rehang_stage::threads::side_by_side;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What a run gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// All cells, in the order of their names.
    pub cells: Vec<CellAnswer>,
    /// The scoreboard.
    pub score: Scoreboard,
    /// How long it took, in real milliseconds.
    pub wall_ms: u64,
    /// The scenario files as the command named them, for printed commands that must find its cells again.
    pub scenarios: Vec<PathBuf>,
}

/// What happens during a run. Events of several units come from several threads.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A worker is asked for this unit.
    Began(&'a Unit),
    /// The unit was answered, or its worker broke off.
    Ended(&'a Unit),
}

/// How many cells units have, each counted once per stage.
pub fn cells_of(units: &[Unit]) -> u64 {
    units.iter().map(Unit::runs).sum()
}

/// Runs units on all workers of a pool, and reports progress to `watch`.
///
/// # Errors
/// A worker that cannot be started.
pub fn run(pool: &Pool, units: &[Unit], watch: &(dyn Fn(Event<'_>) + Sync)) -> Result<Outcome, PoolError> {
    let began = Instant::now();
    let next = AtomicUsize::new(0);
    let room = Vec::with_capacity(usize::try_from(cells_of(units)).unwrap_or(0));
    let gathered = Mutex::new(Outcome { cells: room, ..Outcome::default() });
    let unstarted: Mutex<Option<PoolError>> = Mutex::new(None);
    side_by_side(pool.jobs().min(units.len()), || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(at) else { break };
            watch(Event::Began(unit));
            let answer = pool.submit::<_, Answer>(unit);
            watch(Event::Ended(unit));
            let mut all = gathered.lock().unwrap_or_else(PoisonError::into_inner);
            match answer {
                Ok(answer) => {
                    all.score.merge(&answer.score);
                    all.cells.extend(answer.cells);
                }
                // a lack that stops one unit stops all: it is reported once, instead of for every cell
                Err(error @ PoolError::Start(_)) => {
                    *unstarted.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    next.store(units.len(), Ordering::Relaxed);
                }
                Err(error) => all.cells.extend(broke(unit, &error.to_string())),
            }
        }
    });
    if let Some(error) = unstarted.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut outcome = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome.wall_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    outcome.cells.sort_by(|a, b| (&a.id, stage_of(a)).cmp(&(&b.id, stage_of(b))));
    Ok(outcome)
}

fn stage_of(cell: &CellAnswer) -> &str {
    cell.row.as_ref().map_or("", |row| row.stage.name())
}
