//! Work on several threads, where the machine gives them.
//!
//! Invariant: the calling thread works too, so all work is done however few threads there are; a limit of threads
//! makes it slower and is no error.

use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

/// Does `work` on `jobs` threads at most, the calling one among them; returns when all have come back.
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

/// Does something with each, on `jobs` threads at most.
pub fn in_parallel<T: Send>(jobs: usize, all: &mut [T], work: impl Fn(&mut T) + Sync) {
    let next = Mutex::new(all.iter_mut());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    side_by_side(jobs, || {
        while let Some(one) = take() {
            work(one);
        }
    });
}
