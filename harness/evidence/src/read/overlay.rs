//! What a tracer knows better than `/proc`: a tree that runs in virtual time is held in stops of its tracer, its waits have
//! no time limit of their own, and its timers are the tracer's.
//!
//! Invariant: without an overlay everything is read from `/proc`.

use super::{Reach, call};
use crate::data::{Pid, Process, Snapshot, State, Thread, TimeLimit};
use std::collections::{BTreeMap, BTreeSet};

/// A tree as its tracer sees it.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// The tracer, which counts as none.
    pub tracer: Pid,
    /// The threads that wait, by their ids.
    pub threads: BTreeMap<Pid, Waiting>,
    /// Processes with a timer that is armed: an alarm, an interval timer, a POSIX timer or a timer descriptor.
    pub timers: BTreeSet<Pid>,
}

/// A thread that waits in a system call, as it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The number of the call; `None` if it is in none.
    pub call: Option<i64>,
    /// Its arguments.
    pub args: [u64; 6],
    /// Milliseconds of virtual time until it ends by itself; `None` if it has no limit.
    pub left_ms: Option<u64>,
    /// Whether a signal such as SIGSTOP has stopped it.
    pub is_stopped: bool,
}

/// Shows a thread as its tracer sees it.
pub fn thread(thread: &mut Thread, process: &Process, reach: &Reach) {
    let Some(waiting) = reach.overlay.as_ref().and_then(|overlay| overlay.threads.get(&thread.tid)) else { return };
    thread.state = if waiting.is_stopped { State::Stopped } else { State::Sleeping };
    thread.call_read = true;
    thread.call = waiting.call.map(|number| {
        let mut call = call::of(number, waiting.args, process, thread.tid, reach);
        let timed = !matches!(call.limit, TimeLimit::Unknown | TimeLimit::Never);
        call.limit = match waiting.left_ms {
            Some(left) => TimeLimit::LeftMs(left),
            None if timed => TimeLimit::Never,
            None => call.limit,
        };
        call
    });
}

/// Shows a process as its tracer sees it, once its threads are read.
pub fn process(process: &mut Process, reach: &Reach) {
    let Some(overlay) = &reach.overlay else { return };
    if process.tracer == overlay.tracer {
        process.tracer = 0;
    }
    if let Some(first) = process.threads.first().filter(|_| process.state == State::Traced) {
        process.state = first.state;
    }
}

/// Shows the timers that the tracer keeps.
pub fn timers(snapshot: &mut Snapshot, reach: &Reach) {
    let Some(overlay) = &reach.overlay else { return };
    for process in snapshot.tree.values_mut().filter(|process| overlay.timers.contains(&process.pid)) {
        process.may_have_timers = true;
    }
}
