//! The times of one log, made instants of one origin.
//!
//! Invariant: no silence becomes longer than it was: where a time is ambiguous, the reading with the shorter silence counts.

use super::line::Stamp;
use super::shapes::Since;

/// Times of one log, one after the other: makes instants of clocks that begin again at midnight, and of dates without a
/// year.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clocks {
    last: Option<(Since, u64)>,
    /// What is added since a clock began again, in milliseconds.
    turned: u64,
    /// Two numbers are minutes and seconds.
    of_run: Option<bool>,
}

const DAY_MS: u64 = 86_400_000;

impl Clocks {
    /// The instant of a time; `None` if it has another origin than those before it.
    pub fn instant(&mut self, stamp: &Stamp<'_>) -> Option<u64> {
        let mut ms = stamp.ms;
        let mut since = stamp.since;
        if since == Since::Either {
            // `00:05` at the log's begin counts the run's minutes: hours would make silences longer than they were
            let of_run = *self.of_run.get_or_insert(ms < 3_600_000);
            (ms, since) = if of_run { (ms / 60, Since::Begin) } else { (ms, Since::Midnight) };
        }
        let turn = match since {
            Since::Midnight => DAY_MS,
            Since::Year => 365 * DAY_MS,
            Since::Epoch | Since::Begin | Since::Either => 0,
        };
        let (of, last) = *self.last.get_or_insert((since, ms));
        if of != since {
            return None;
        }
        if last > ms && last - ms > turn / 2 {
            self.turned = self.turned.saturating_add(turn);
        }
        self.last = Some((since, ms));
        Some(ms.saturating_add(self.turned))
    }
}
