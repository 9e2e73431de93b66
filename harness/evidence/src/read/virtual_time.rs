//! Processes that a tracer runs in virtual time: their clocks, their sleeps and their timers are not the kernel's, so that
//! /proc shows them differently.
//!
//! Invariant: a snapshot that is read with it is as /proc would show it if the processes ran by themselves and the clock
//! were real.

use crate::data::{Call, Pid, Process, Snapshot, State, Thread, TimeLimit};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The tree of a tracer at an instant of its virtual time, while every thread of it is asleep.
#[derive(Clone)]
pub struct VirtualTime {
    /// The instant, in nanoseconds since boot as [`Process::began_ns`] counts them.
    pub now_ns: u64,
    /// Its processes.
    pub processes: BTreeMap<Pid, TracedProcess>,
    /// Their threads.
    pub threads: BTreeMap<Pid, TracedThread>,
    /// The timerfds: the virtual time left if it is armed, by the interval in seconds that their fdinfo shows.
    pub timerfds: BTreeMap<u64, Option<Duration>>,
    /// How long ago in virtual time something happened that happened so long ago in real time.
    pub age: Arc<dyn Fn(Duration) -> Duration + Send + Sync>,
}

/// A process of a tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedProcess {
    /// When it began, on the clock of [`VirtualTime::now_ns`].
    pub began_ns: u64,
    /// Whether `alarm` or `setitimer` has armed its timer.
    pub has_alarm: bool,
}

/// A thread of a tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedThread {
    /// The system call that it waits in, as the program made it: its number and arguments.
    pub call: Option<(i64, [u64; 6])>,
    /// Virtual time until the wait ends by itself.
    pub left: Option<Duration>,
    /// A signal stopped it.
    pub is_stopped: bool,
}

impl std::fmt::Debug for VirtualTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let VirtualTime { now_ns, processes, threads, timerfds, age: _ } = self;
        let mut shown = f.debug_struct("VirtualTime");
        shown.field("now_ns", now_ns).field("processes", processes);
        shown.field("threads", threads).field("timerfds", timerfds).finish_non_exhaustive()
    }
}

impl VirtualTime {
    /// The call that a thread waits in.
    pub(super) fn call(&self, tid: Pid) -> Option<(i64, [u64; 6])> {
        self.threads.get(&tid)?.call
    }

    /// How many processes have an alarm.
    pub(super) fn alarms(&self) -> usize {
        self.processes.values().filter(|process| process.has_alarm).count()
    }

    /// Gives a call that was decoded the limit that the tracer has for it, where the kernel was given none or the limit is
    /// an instant of the virtual clock.
    pub(super) fn limit(&self, tid: Pid, call: &mut Call) {
        let left = self.threads.get(&tid).and_then(|thread| thread.left);
        if let (Some(left), TimeLimit::Unknown | TimeLimit::LeftMs(_)) = (left, call.limit) {
            call.limit = TimeLimit::LeftMs(whole_ms(left));
        }
    }

    /// The milliseconds left of a timerfd with this interval, if it is armed; `None` if the tracer has no such timerfd.
    pub(super) fn timer_ms(&self, interval_s: u64) -> Option<Option<u64>> {
        self.timerfds.get(&interval_s).map(|left| left.map(|left| whole_ms(left).max(1)))
    }

    /// Shows a process as it would be without the tracer.
    pub(super) fn show(&self, process: &mut Process) {
        let Some(traced) = self.processes.get(&process.pid) else { return };
        process.began_ns = traced.began_ns;
        process.tracer = 0;
        if process.state == State::Traced {
            process.state = self.state(process.pid);
        }
        for thread in &mut process.threads {
            self.show_thread(thread);
        }
    }

    fn show_thread(&self, thread: &mut Thread) {
        if thread.state == State::Traced && self.threads.contains_key(&thread.tid) {
            thread.state = self.state(thread.tid);
            // the tracer holds only sleeps
            "hrtimer_nanosleep".clone_into(&mut thread.wchan);
            if thread.state == State::Stopped {
                "do_signal_stop".clone_into(&mut thread.wchan);
            }
        }
    }

    fn state(&self, tid: Pid) -> State {
        let is_stopped = self.threads.get(&tid).is_some_and(|thread| thread.is_stopped);
        if is_stopped { State::Stopped } else { State::Sleeping }
    }

    /// Turns the real ages of a snapshot into virtual ones.
    pub(super) fn add_ages(&self, snapshot: &mut Snapshot) {
        let age = |ms: u64| whole_ms((self.age)(Duration::from_millis(ms)));
        snapshot.at_ns = self.now_ns;
        for traffic in snapshot.sockets.values_mut().filter_map(|socket| socket.traffic.as_mut()) {
            traffic.since_received_ms = age(traffic.since_received_ms);
            traffic.since_sent_ms = age(traffic.since_sent_ms);
        }
        let Snapshot { tree, around, .. } = snapshot;
        for process in tree.values_mut().chain(around.values_mut()) {
            process.held_ms = process.held_ms.map(age);
        }
    }
}

fn whole_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
