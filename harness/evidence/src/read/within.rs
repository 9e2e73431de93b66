//! A reading on a thread of its own, which is waited for as long as it gets on.
//!
//! Invariant: one that is stuck in the kernel is left to itself, and holds nobody up. Its thread ends with the call that
//! it is in.

use super::limit::Progress;
use crate::data::Pid;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it is seen whether the reading gets on.
const EVERY: Duration = Duration::from_millis(100);

/// What `read` returns, or the process at which it has been stuck for `limit`.
pub fn limit<T: Send + 'static>(
    limit: Duration,
    read: impl FnOnce(Arc<Progress>) -> T + Send + 'static,
) -> Result<T, Pid> {
    let progress = Arc::new(Progress::default());
    let (tell, told) = mpsc::sync_channel(1);
    let theirs = Arc::clone(&progress);
    let read = Arc::new(Mutex::new(Some(read)));
    let take = |read: &Mutex<Option<_>>| read.lock().unwrap_or_else(PoisonError::into_inner).take();
    let held = Arc::clone(&read);
    let begun = std::thread::Builder::new().name("look".to_owned()).spawn(move || {
        theirs.begin();
        // nobody listens any more if it was given up
        if let Some(read) = take(&held) {
            let _ = tell.send(read(theirs));
        }
    });
    let Ok(thread) = begun else {
        // the machine has no thread to give: then it may be held up
        let read = take(&read).ok_or(0)?;
        progress.begin();
        return Ok(read(progress));
    };
    let mut stands: Option<(u64, Instant)> = None;
    loop {
        match told.recv_timeout(EVERY) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(progress.pid()),
            },
            Err(RecvTimeoutError::Timeout) => {}
        }
        let Some(steps) = progress.stands_at() else {
            stands = None;
            continue;
        };
        match stands {
            Some((before, since)) if before == steps => {
                if since.elapsed() >= limit {
                    return Err(progress.pid());
                }
            }
            _ => stands = Some((steps, Instant::now())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_that_is_stuck_is_given_up_with_the_process_that_it_was_at() {
        let (tell, held) = mpsc::channel::<()>();
        let stuck = limit(EVERY, move |progress| {
            progress.at(4_711);
            let _ = held.recv();
        });
        assert_eq!(stuck, Err(4_711));
        drop(tell);
        assert_eq!(limit(EVERY, |_| 7), Ok(7));
        // one that waits for servers has their limits
        let (tell, held) = mpsc::channel::<()>();
        let waiter = std::thread::spawn(|| {
            limit(Duration::ZERO, move |progress| {
                progress.asks();
                held.recv().is_err()
            })
        });
        drop(tell);
        assert_eq!(waiter.join().unwrap(), Ok(true));
    }
}
