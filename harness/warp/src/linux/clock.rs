//! Virtual time, and how a loop that waits for the clock to move makes it move.
//!
//! Invariant: time never goes back.

use super::timed::SECOND;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How many reads the clock stays the same for, at one instant. The most that was seen of a program that starts, without
/// one waiting for its clock, is about 4,000.
pub const READS: i64 = 5_000;
/// How many reads more, once [`READS`] are over and other threads run.
pub const MORE_READS: i64 = 1_000;
/// How far [`MORE_READS`] move the clock: 100 ns a read.
pub const MORE_READS_TAKE: u64 = 100_000;
/// How many reads by system call the clock stays the same for.
pub const TRAPPED_READS: u64 = 500;
/// How far each later one moves the clock, in ns.
pub const TRAPPED_READ_TAKES: u64 = 10_000;
/// How far a wait whose end has passed moves the clock, in ns.
pub const PAST_LIMIT_TAKES: u64 = 1_000;
/// Jumps of at least this much end at a multiple of it: a program that rounds the time left down to milliseconds would
/// otherwise ask again and again.
pub const GRID: u64 = 1_000_000;
/// Monotonic time at the start, in ns: a round number, so that the arithmetic of a program that reckons with floats is
/// the same in every run.
pub const START: u64 = 100_000 * SECOND;

/// Virtual time.
#[derive(Debug)]
pub struct Clock {
    /// Monotonic time in ns.
    pub now: u64,
    /// What to add for the time of day.
    pub offset: i64,
    /// How many reads are left at this instant.
    pub reads: i64,
    /// Reads by system call at this instant.
    pub trapped: u64,
}

impl Clock {
    /// A clock that shows `start`, cut to a whole second.
    pub fn new(start: SystemTime) -> Clock {
        let start = start.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().min(8_000_000_000);
        Clock { now: START, offset: (start * SECOND) as i64 - START as i64, reads: READS, trapped: 0 }
    }

    /// Virtual time from the start.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now - START)
    }

    /// A monotonic time as virtual time from the start.
    pub fn since_start(&self, at: u64) -> Duration {
        Duration::from_nanos(at.saturating_sub(START))
    }

    /// The time of day, in ns since 1970.
    pub fn real_time(&self) -> u64 {
        self.now.saturating_add_signed(self.offset)
    }

    /// The time of day.
    pub fn date(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.real_time())
    }

    /// The monotonic time of a time of day.
    pub fn to_monotonic(&self, real_time: u64) -> u64 {
        (real_time as i64).saturating_sub(self.offset).max(0) as u64
    }

    /// A jump, as the grid allows it.
    pub fn on_grid(&self, at: u64) -> u64 {
        if at >= self.now + GRID { at.next_multiple_of(GRID) } else { at }
    }

    /// Goes to a later instant.
    pub fn set(&mut self, at: u64) {
        if at > self.now {
            *self = Clock { now: at, offset: self.offset, reads: READS, trapped: 0 };
        }
    }

    /// What programs read: the page that the vDSO's code reads.
    pub fn page(&self) -> [u8; 24] {
        let mut page = [0; 24];
        page[..8].copy_from_slice(&self.now.to_le_bytes());
        page[8..16].copy_from_slice(&self.offset.to_le_bytes());
        page[16..].copy_from_slice(&self.reads.to_le_bytes());
        page
    }
}
