//! How many releases may run side by side: as many as memory holds.
//!
//! Invariant: a run starts only while the most memory that all runs may take, plus a reserve, fits into what is
//! available; a single run may always start.

use std::sync::{Condvar, Mutex, PoisonError};

/// The memory that is left to the rest of the machine, in MiB.
const RESERVE_MIB: u64 = 1_024;

/// A gate that runs pass.
#[derive(Debug)]
pub struct Gate {
    available_mib: u64,
    taken: Mutex<(usize, u64)>,
    changed: Condvar,
}

/// A run's place; it is given back when this is dropped.
#[derive(Debug)]
pub struct Place<'g> {
    gate: &'g Gate,
    mib: u64,
}

impl Gate {
    /// A gate for what the machine has available now.
    pub fn of_this_machine() -> Gate {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Gate::new(available(&text).unwrap_or(2 * RESERVE_MIB))
    }

    /// A gate for this many MiB.
    pub fn new(available_mib: u64) -> Gate {
        Gate {
            available_mib: available_mib.saturating_sub(RESERVE_MIB),
            taken: Mutex::new((0, 0)),
            changed: Condvar::new(),
        }
    }

    /// Waits until a run of this size may start.
    pub fn enter(&self, mib: u64) -> Place<'_> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while taken.0 > 0 && taken.1 + mib > self.available_mib {
            taken = self.changed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        taken.0 += 1;
        taken.1 += mib;
        Place { gate: self, mib }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.gate.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.0 -= 1;
        taken.1 -= self.mib;
        self.gate.changed.notify_all();
    }
}

/// `MemAvailable` of `/proc/meminfo`, in MiB.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib / 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn only_as_many_run_as_memory_holds() {
        let gate = Gate::new(RESERVE_MIB + 1_500);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _place = gate.enter(700);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!(*gate.taken.lock().unwrap(), (0, 0));
    }

    #[test]
    fn one_alone_may_always_run() {
        drop(Gate::new(0).enter(9_999));
    }

    #[test]
    fn meminfo_is_read() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   2048000 kB\n"), Some(2_000));
        assert_eq!(available(""), None);
    }
}
