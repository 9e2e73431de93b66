//! Work on several threads, if the machine allows them.
//!
//! Invariant: the calling thread works too, so all work is done even if there are no other threads; a limit of threads
//! makes it slower and is no error.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

/// How many processors there are for this process; 1 if the machine does not say.
pub fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// Runs `work` on `jobs` threads at most, including the calling one; returns when all have returned.
pub fn side_by_side(jobs: usize, work: impl Fn() + Sync) {
    scope(|scope| {
        for _ in 1..jobs {
            if Builder::new().spawn_scoped(scope, &work).is_err() {
                break;
            }
        }
        work();
    });
}

/// Calls a function on each item, on `jobs` threads at most.
pub fn in_parallel<T: Send>(jobs: usize, all: &mut [T], work: impl Fn(&mut T) + Sync) {
    let next = Mutex::new(all.iter_mut());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    side_by_side(jobs, || {
        while let Some(one) = take() {
            work(one);
        }
    });
}
