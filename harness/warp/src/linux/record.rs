//! What happened in a run: jumps, expired deadlines, what virtual time does not reach, the log.

use super::clock::Clock;
use super::timed::SECOND;
use crate::{Exit, Expiry, Jumps, Limit, Note, Timer};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most kinds of timers that are reported.
const TIMERS: usize = 20;
/// The most kinds of timers that are counted; others count as the last one.
const KINDS: usize = 1_000;
/// The most notes that are kept.
const NOTES: usize = 50;

/// What happened in a run.
pub struct Record {
    pub began: Instant,
    /// The same in ns since boot, as processes' births are counted.
    pub began_boot_ns: u64,
    pub jumps: u64,
    pub last: Option<Expiry>,
    /// `false` once time flowed with processor time.
    pub repeatable: bool,
    /// Waits of tickers that lasted longer than asked.
    pub lengthened: u64,
    /// The monotonic time of the last look.
    pub looked_at: Option<u64>,
    /// What looks need: the ends of processes that were looked at, and the jumps.
    pub exits: Vec<Exit>,
    pub jumped: Arc<Jumps>,
    expired: BTreeMap<(String, String), Timer>,
    notes: BTreeSet<Note>,
    log: Option<File>,
}

impl Record {
    pub fn new(log: Option<File>) -> Record {
        Record {
            began: Instant::now(),
            began_boot_ns: super::sys::since_boot(),
            jumps: 0,
            last: None,
            repeatable: true,
            lengthened: 0,
            looked_at: None,
            exits: Vec::new(),
            jumped: Arc::default(),
            expired: BTreeMap::new(),
            notes: BTreeSet::new(),
            log,
        }
    }

    /// Whether lines are wanted.
    pub fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Writes a line.
    pub fn log(&mut self, clock: &Clock, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            let (at, real) = (clock.elapsed(), self.began.elapsed());
            // a log that cannot be written is no reason to end the run
            let _ = writeln!(log, "{}.{:09} {:.6} {}", at.as_secs(), at.subsec_nanos(), real.as_secs_f64(), line());
        }
    }

    /// A deadline expired.
    pub fn expire(&mut self, clock: &Clock, (pid, program): (i32, &str), call: &str, since: u64) {
        let lasted = Duration::from_nanos(clock.now.saturating_sub(since));
        let expiry = Expiry { pid, program: program.to_owned(), call: call.to_owned(), lasted, at: clock.elapsed() };
        self.log(clock, || format!("expires: {call} of {pid} ({program}), {} s", lasted.as_secs_f64()));
        let key = (expiry.program.clone(), expiry.call.clone());
        let new = || Timer {
            program: expiry.program.clone(),
            call: expiry.call.clone(),
            count: 0,
            shortest: lasted,
            longest: lasted,
        };
        let timer = if self.expired.len() < KINDS || self.expired.contains_key(&key) {
            Some(self.expired.entry(key).or_insert_with(new))
        } else {
            self.expired.values_mut().next_back()
        };
        if let Some(timer) = timer {
            timer.count += 1;
            timer.shortest = timer.shortest.min(lasted);
            timer.longest = timer.longest.max(lasted);
        }
        self.last = Some(expiry);
    }

    /// Something that virtual time does not reach.
    pub fn note(&mut self, program: &str, what: Limit) {
        if self.notes.len() < NOTES {
            self.notes.insert(Note { program: program.to_owned(), what });
        }
    }

    /// Whether any program was of this kind.
    pub fn has_note(&self, what: Limit) -> bool {
        self.notes.iter().any(|note| note.what == what)
    }

    /// All notes.
    pub fn notes(&self) -> Vec<Note> {
        self.notes.iter().cloned().collect()
    }

    /// The timers that expired, the most frequent first.
    pub fn timers(&self) -> Vec<Timer> {
        let mut timers: Vec<Timer> = self.expired.values().cloned().collect();
        timers.sort_by_key(|timer| std::cmp::Reverse(timer.count));
        timers.truncate(TIMERS);
        timers
    }
}

/// A span as `timespec` has it.
pub fn split(ns: u64) -> (u64, u64) {
    (ns / SECOND, ns % SECOND)
}
