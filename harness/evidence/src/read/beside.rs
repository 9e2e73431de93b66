//! Two threads that read: most of a look's time is the kernel's, which answers both at once.
//!
//! Invariant: what is read is the same as on one thread, in the same order.

use super::{Mounts, Reach};
use crate::data::Pid;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// From how many processes on it is worth a thread: to start one takes about as long as to read one process.
const MANY: usize = 16;

/// What `read` returns for each process.
pub fn each<T: Send>(pids: &[Pid], reach: &Reach, read: impl Fn(Pid, &Reach) -> T + Sync) -> Vec<T> {
    if pids.len() < MANY {
        return pids.iter().map(|pid| read(*pid, reach)).collect();
    }
    let next = AtomicUsize::new(0);
    let some = |reach: &Reach| {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(pid) = pids.get(at)
        {
            done.push((at, read(*pid, reach)));
        }
        done
    };
    let Reach { limit, leaves_out, time, .. } = reach;
    let progress = limit.progress.beside();
    let theirs = Arc::clone(&progress);
    let mut done = std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().name("look".to_owned()).spawn_scoped(scope, || {
            theirs.begin();
            let limit = limit.beside(Arc::clone(&theirs));
            let done =
                some(&Reach { mounts: Mounts::default(), limit, leaves_out: leaves_out.clone(), time: time.clone() });
            theirs.rest();
            done
        });
        let mut done = some(reach);
        // without a thread to be had, all of it is done
        if let Ok(beside) = beside {
            limit.progress.rest();
            match beside.join() {
                Ok(others) => done.extend(others),
                Err(panic) => std::panic::resume_unwind(panic),
            }
            limit.progress.begin();
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_is_read_once_and_in_its_order() {
        let reach = Reach::default();
        reach.limit.progress.begin();
        let of = |count: Pid| each(&(0..count).collect::<Vec<Pid>>(), &reach, |pid, _| pid);
        for count in [0, 1, MANY as Pid - 1, MANY as Pid, 1_000] {
            assert_eq!(of(count), (0..count).collect::<Vec<Pid>>());
        }
    }

    /// Whichever of the two threads is held up, it is the process that it is at which is named.
    #[test]
    fn a_part_that_is_stuck_is_seen_while_the_other_waits_for_it() {
        let pids: Vec<Pid> = (1..=MANY as Pid).collect();
        let (tell, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let every = std::time::Duration::from_millis(1);
        let stuck = crate::read::within::limit(every, move |progress| {
            let limit = crate::read::Limit::new(std::time::Duration::MAX, progress);
            each(&pids, &Reach { limit, ..Reach::default() }, |pid, reach| {
                reach.limit.progress.at(pid);
                if pid == 5 {
                    let _ = held.lock().unwrap().recv();
                }
            })
        });
        assert_eq!(stuck.err(), Some(5));
        drop(tell);
    }
}
