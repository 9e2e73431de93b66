//! How far a command is, on a terminal.
//!
//! Invariant: nothing is drawn if stderr is not a terminal.

use crate::error::CommandError;
use crate::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehang_agents::Progress;
use rehang_runner::pool::Pool;
use rehang_runner::run::{self, Event, Outcome};
use rehang_runner::unit::Unit;
use rehang_stage::threads;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Runs units on all workers of a pool, with a bar if `progress` says so.
///
/// # Errors
/// A worker that cannot be started.
pub fn run(pool: &Pool, units: &[Unit], progress: bool) -> Result<Outcome, CommandError> {
    let bar = ProgressBar::with_draw_target(Some(run::cells_of(units)), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{elapsed:>4} [{bar:16}] {pos}/{len} cells {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    if !progress || !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let outcome = run::run(pool, units, &|event| match event {
        Event::Began(unit) => bar.set_message(unit.name.clone()),
        Event::Ended(unit) => bar.inc(unit.runs()),
    });
    bar.finish_and_clear();
    Ok(outcome?)
}

/// A bar over so many things, each of which says what it is.
pub fn of(things: usize) -> ProgressBar {
    if std::io::stderr().is_terminal() { ProgressBar::new(things as u64) } else { ProgressBar::hidden() }
}

/// Plays things side by side, with a bar, and returns what came of each, in the order of their numbers. `order` has the number
/// and the name of each, the first to begin first; `noun` is what they are.
pub fn side_by_side<T: Send>(
    jobs: usize,
    noun: &str,
    order: &[(usize, &str)],
    play: impl Fn(usize) -> T + Sync,
) -> Vec<(usize, T)> {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(order.len() as u64), target);
    let style = ProgressStyle::with_template(&format!("{{elapsed:>4}} [{{bar:32}}] {{pos}}/{{len}} {noun} {{msg}}"));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    threads::side_by_side(jobs.clamp(1, order.len().max(1)), || {
        while let Some(&(at, name)) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            bar.set_message(name.to_owned());
            let played = play(at);
            bar.inc(1);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, played));
        }
    });
    bar.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done
}

/// Shows how far an installation is, only on a terminal.
#[derive(Debug, Clone)]
pub struct Install(ProgressBar);

impl Install {
    /// A line of its own on stderr.
    pub fn new() -> Install {
        let bar = ProgressBar::new_spinner();
        let terminal = std::io::stderr().is_terminal();
        bar.set_draw_target(if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
        terminal::tick(&bar, Duration::from_millis(120));
        Install(bar)
    }

    /// As [`Install::new`], on a line of a bar that is there already.
    pub fn on(bar: &ProgressBar) -> Install {
        Install(bar.clone())
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Default for Install {
    fn default() -> Install {
        Install::new()
    }
}

impl Progress for Install {
    fn at(&self, what: &str, bytes: u64) {
        let size = if bytes == 0 { String::new() } else { format!(", {} MB", bytes / 1_000_000) };
        self.0.set_message(format!("{what}{size}"));
    }
}
