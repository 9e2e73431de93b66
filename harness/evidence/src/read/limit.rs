//! How long a reading may take.
//!
//! Invariant: a reading that is over its limit leaves the rest unread, and says so; one that is stuck in the kernel is
//! given up by those who wait for it.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What a reading has come to, for those who wait for it.
#[derive(Debug, Default)]
pub struct Progress {
    steps: AtomicU64,
    /// The process that is being read; 0: none.
    at: AtomicI32,
    /// It waits for servers that it was told to ask, which has limits of its own.
    asks: AtomicBool,
    /// Its thread; 0: not known yet, or it waits for the one beside.
    tid: AtomicI32,
    /// A part of the reading on another thread.
    beside: OnceLock<Arc<Progress>>,
}

impl Progress {
    /// The reading begins on this thread.
    pub fn begin(&self) {
        self.tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
    }

    /// The part of the reading that another thread does, one at a time.
    pub fn beside(&self) -> Arc<Progress> {
        Arc::clone(self.beside.get_or_init(Arc::default))
    }

    /// This thread's part is done, or waits for the one beside: it is at nothing.
    pub fn rest(&self) {
        self.tid.store(0, Ordering::Relaxed);
    }

    /// A process is read from here on.
    pub fn at(&self, pid: i32) {
        self.at.store(pid, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// The process that is being read.
    pub fn pid(&self) -> i32 {
        let at = |progress: &Progress| progress.at.load(Ordering::Relaxed);
        self.active().next().map_or_else(|| at(self), at)
    }

    /// The parts that are at something.
    fn active(&self) -> impl Iterator<Item = &Progress> {
        let parts = std::iter::once(self).chain(self.beside.get().map(|beside| &**beside));
        parts.filter(|part| part.tid.load(Ordering::Relaxed) != 0)
    }

    /// From here on servers are asked.
    pub fn asks(&self) {
        self.asks.store(true, Ordering::Relaxed);
    }

    /// How far it is; `None` while it is on a processor, is ready to be, or asks servers.
    pub fn stands_at(&self) -> Option<u64> {
        if self.asks.load(Ordering::Relaxed) {
            return None;
        }
        // as long as one part gets on, the reading does
        self.active().map(Progress::sleeps_at).reduce(|one, other| Some(one? + other?)).flatten()
    }

    /// How far its own thread is, if that sleeps.
    fn sleeps_at(&self) -> Option<u64> {
        let tid = self.tid.load(Ordering::Relaxed);
        let stat = super::file::text(&format!("/proc/self/task/{tid}/stat")).ok()?;
        let sleeps = matches!(stat.rsplit_once(") ")?.1.chars().next(), Some('S' | 'D'));
        sleeps.then(|| self.steps.load(Ordering::Relaxed))
    }
}

/// How often the clock is looked at: once in so many steps.
const STEPS: u64 = 32;
/// The part of a limit for which a reading must have been on a processor: on a busy machine it waits for that, and has
/// read nothing meanwhile.
const COMPUTED: u32 = 4;

/// The limit of one reading.
#[derive(Debug)]
pub struct Limit {
    began: Instant,
    computed: Duration,
    most: Duration,
    over: AtomicBool,
    pub progress: Arc<Progress>,
}

impl Limit {
    /// A reading that begins now, on this thread.
    pub fn new(most: Duration, progress: Arc<Progress>) -> Limit {
        Limit { began: Instant::now(), computed: computed(), most, over: AtomicBool::new(false), progress }
    }

    /// The same limit for a part of the reading on this thread, which is another one.
    pub fn beside(&self, progress: Arc<Progress>) -> Limit {
        Limit { began: self.began, computed: computed(), most: self.most, over: AtomicBool::new(false), progress }
    }

    /// Takes a step; whether the time is over.
    pub fn is_over(&self) -> bool {
        let steps = self.progress.steps.fetch_add(1, Ordering::Relaxed);
        if steps.is_multiple_of(STEPS) && self.began.elapsed() >= self.most {
            let computed = computed().saturating_sub(self.computed);
            self.over.fetch_or(computed >= self.most / COMPUTED, Ordering::Relaxed);
        }
        self.over.load(Ordering::Relaxed)
    }
}

/// How long this thread has been on a processor.
fn computed() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.max(0) as u64, now.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_over_once_its_time_has_been_used() {
        let never = Limit::new(Duration::MAX, Arc::default());
        assert!((0..10 * STEPS).all(|_| !never.is_over()));
        let now = Limit::new(Duration::ZERO, Arc::default());
        assert!((0..10 * STEPS).all(|_| now.is_over()), "it stays so");
        // a thread that works comes to its limit, however busy the machine is
        let soon = Limit::new(Duration::from_millis(4), Arc::default());
        while !soon.is_over() {}
        assert!(computed().saturating_sub(soon.computed) >= Duration::from_millis(1));
    }

    #[test]
    fn a_thread_that_sleeps_stands_where_it_is() {
        let progress = Arc::new(Progress::default());
        assert_eq!(progress.stands_at(), None, "it has not begun");
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let theirs = Arc::clone(&progress);
        let sleeper = std::thread::spawn(move || {
            theirs.begin();
            theirs.at(7);
            let _ = told.recv();
        });
        crate::read::staged::until(|| progress.stands_at().filter(|steps| *steps == 1));
        assert_eq!(progress.pid(), 7);
        progress.asks();
        assert_eq!(progress.stands_at(), None, "servers have limits of their own");
        drop(tell);
        sleeper.join().unwrap();
    }
}
