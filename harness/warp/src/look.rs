//! A look at the tree while it is quiescent at an instant of virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The tree at an instant of virtual time. Every thread is asleep while it is looked at.
#[derive(Debug, Clone)]
pub struct Look {
    /// Virtual time from the start.
    pub at: Duration,
    /// The virtual time of day.
    pub date: SystemTime,
    /// The command's process.
    pub root: i32,
    /// All threads, in the order of their birth.
    pub threads: Vec<Thread>,
    /// All processes, in the order of their birth.
    pub processes: Vec<Process>,
    /// All timerfds that were armed once: the virtual time left, if it is armed, by the interval in seconds that
    /// `/proc/PID/fdinfo/FD` shows for it. No program has armed it with that one.
    pub timerfds: BTreeMap<u64, Option<Duration>>,
    /// When the clock jumped.
    pub jumps: Arc<Jumps>,
}

/// A process at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Virtual time from the start of the run to its birth.
    pub born: Duration,
    /// Virtual time until its interval timer (`alarm`, `setitimer`) expires; `None` if that is off.
    pub alarm: Option<Duration>,
}

/// When the clock jumped: in real time, and to which virtual time from the start.
#[derive(Debug, Clone, Default)]
pub struct Jumps {
    /// The jumps, the last one last.
    all: Vec<(Instant, Duration)>,
    /// The virtual time that the clock showed before them.
    before: Duration,
}

impl Jumps {
    /// The most jumps that are kept; the older half is forgotten then.
    const MOST: usize = 1 << 20;

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn add(&mut self, at: Duration) {
        if self.all.len() == Self::MOST {
            self.before = self.all.drain(..Self::MOST / 2).next_back().map_or(self.before, |(_, at)| at);
        }
        self.all.push((Instant::now(), at));
    }

    /// No jumps yet, of a clock that shows `now`.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn since(now: Duration) -> Jumps {
        Jumps { all: Vec::new(), before: now }
    }

    /// The jumps, the last one first, at most one in each millisecond of real time and `most` in all: how long ago each was,
    /// and to which virtual time. Then what the clock showed before them.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn latest(&self, most: usize) -> (Vec<(Duration, Duration)>, Duration) {
        let (now, mut kept) = (Instant::now(), Vec::<(Duration, Duration)>::new());
        for (then, at) in self.all.iter().rev() {
            let ago = now.saturating_duration_since(*then);
            if kept.last().is_some_and(|(last, _)| last.as_millis() == ago.as_millis()) {
                continue;
            }
            if kept.len() == most {
                return (kept, *at);
            }
            kept.push((ago, *at));
        }
        (kept, self.before)
    }

    /// The virtual time from the start that the clock showed at an instant of real time. Before the jumps that are kept it is
    /// what the clock showed last of all before them.
    pub fn at(&self, real: Instant) -> Duration {
        let after = self.all.partition_point(|(then, _)| *then <= real);
        after.checked_sub(1).map_or(self.before, |last| self.all[last].1)
    }
}

/// A process that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its id.
    pub pid: i32,
    /// Virtual time from the start of the run to its birth.
    pub born: Duration,
    /// Virtual time from the start of the run to its end.
    pub at: Duration,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Before, it handled a signal by which another process may have told it to end or to go on: SIGHUP, SIGINT, SIGQUIT,
    /// SIGTERM, SIGUSR1 or SIGUSR2.
    pub was_told: bool,
}

/// A thread at a look.
///
/// `/proc` shows some of these differently: a thread that sleeps is held in a stop of the tracer, and the time limit of
/// any other timed wait is replaced by an infinite one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// The system call that it waits in; `None` if it is not in one or cannot be read.
    pub call: Option<Call>,
    /// Virtual time until the wait ends by itself; `None` if it has no time limit.
    pub deadline: Option<Duration>,
    /// A signal such as SIGSTOP stopped it.
    pub stopped: bool,
}

/// A system call as the program made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: i64,
    /// Its arguments, with the time limit that the program gave.
    pub arguments: [u64; 6],
}

/// What happens after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Look again at this virtual time from the start. An instant that has passed counts as now plus 1 ns. After a
    /// proved deadlock the clock moves on for the looks alone, and the run's end stays that of the proof.
    At(Duration),
    /// Go on without looks.
    Never,
    /// End the run: the tree is killed.
    Stop,
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn what_the_clock_showed_at_an_instant() {
        let second = Duration::from_secs(1);
        let mut jumps = Jumps::default();
        let before = Instant::now();
        assert_eq!(jumps.at(before), Duration::ZERO);
        jumps.add(second);
        let between = Instant::now();
        jumps.add(2 * second);
        assert_eq!(jumps.at(Instant::now()), 2 * second);
        assert!(jumps.at(between) >= second && jumps.at(between.checked_sub(second).unwrap_or(before)) < second);
        for _ in 0..Jumps::MOST {
            jumps.add(3 * second);
        }
        assert!(jumps.all.len() <= Jumps::MOST && jumps.at(Instant::now()) == 3 * second);
        assert_eq!(jumps.at(before), 3 * second, "the first ones are forgotten");
    }
}
