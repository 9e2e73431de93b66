//! A look at the tree while it is quiescent at an instant of virtual time.

use std::time::{Duration, SystemTime};

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
    /// Look again at this virtual time from the start. An instant that has passed counts as now plus 1 ns.
    At(Duration),
    /// Go on without looks.
    Never,
    /// End the run: the tree is killed.
    Stop,
}
