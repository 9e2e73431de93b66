//! Processes that a tracer runs in virtual time: their clocks, their sleeps and their timers are not the kernel's, so that
//! /proc shows them differently.
//!
//! Invariant: of these processes, a snapshot has what /proc would show if they ran by themselves and the clock were real.
//! Ages of connections and stops are known to a tick only. Other processes are as they are, on the real clock.

use crate::data::{Call, Pid, Process, Snapshot, State, Thread, TimeLimit};
use rehang_words::tracer::{VIEW, View, ViewOfProcess, ViewOfThread};
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
    /// Converts an age in real time to one in virtual time.
    pub age: Age,
}

/// Converts an age in real time to one in virtual time.
pub type Age = Arc<dyn Fn(Duration) -> Duration + Send + Sync>;

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

/// The longest answer that is read, in bytes.
const LONGEST: usize = 64 << 20;
/// The kernel counts the ages of connections and stops in ticks of at most this (CONFIG_HZ is 100 at least).
const TICK: Duration = Duration::from_millis(10);

/// What the tracer says; `None` without one.
fn ask() -> Option<View> {
    let mut text = vec![0_u8; 1 << 16];
    loop {
        // SAFETY: the tracer writes at most so many bytes; the kernel alone knows no such option and touches nothing
        let length = unsafe { libc::prctl(VIEW as libc::c_int, text.as_mut_ptr(), text.len(), 0, 0) };
        let length = usize::try_from(length).ok().filter(|length| (1..=LONGEST).contains(length))?;
        if length <= text.len() {
            return serde_json::from_slice(&text[..length]).ok();
        }
        // it may have grown when it is asked again
        text.resize(length * 2, 0);
    }
}

impl VirtualTime {
    /// The virtual time that this process itself runs in with the processes that it looks at; `None` if it runs in real time.
    pub(super) fn of_this_process() -> Option<VirtualTime> {
        let View { now, processes, threads, timerfds, jumps, before } = ask()?;
        let process = |one: ViewOfProcess| (one.pid, TracedProcess { began_ns: one.began, has_alarm: one.has_alarm });
        let thread = |one: ViewOfThread| {
            let left = one.left.map(Duration::from_nanos);
            (one.tid, TracedThread { call: one.call, left, is_stopped: one.is_stopped })
        };
        let timerfd = |(tag, left): (u64, Option<u64>)| (tag, left.map(Duration::from_nanos));
        Some(VirtualTime {
            now_ns: now,
            processes: processes.into_iter().map(process).collect(),
            threads: threads.into_iter().map(thread).collect(),
            timerfds: timerfds.into_iter().map(timerfd).collect(),
            age: VirtualTime::youngest(now, move |ago| {
                let ago = u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX);
                let jump = jumps.get(jumps.partition_point(|(jumped, _)| *jumped < ago));
                jump.map_or(before, |(_, at)| *at)
            }),
        })
    }

    /// Converts an age to the youngest that it can be: what is called hung must be so at that age. `clock_at` has what the
    /// clock of [`VirtualTime::now_ns`] showed so long ago in real time.
    pub fn youngest(now_ns: u64, clock_at: impl Fn(Duration) -> u64 + Send + Sync + 'static) -> Age {
        Arc::new(move |ago| Duration::from_nanos(now_ns.saturating_sub(clock_at(ago.saturating_sub(TICK)))))
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Does, Socket, Traffic};
    use crate::read::staged::Staged;
    use crate::read::{Options, take};
    use std::process::Stdio;

    const SECOND: u64 = 1_000_000_000;

    fn time(pid: Pid, thread: TracedThread) -> VirtualTime {
        VirtualTime {
            now_ns: 7_200 * SECOND,
            processes: [(pid, TracedProcess { began_ns: 3_600 * SECOND, has_alarm: true })].into(),
            threads: [(pid, thread)].into(),
            timerfds: BTreeMap::new(),
            age: Arc::new(|real| real * 1_000),
        }
    }

    #[test]
    fn a_snapshot_has_the_calls_and_the_births_of_the_tracer() {
        let cat = Staged::cat(Stdio::piped());
        let call = Some((libc::SYS_epoll_wait, [3, 0, 0, 5_000, 0, 0]));
        let thread = TracedThread { call, left: Some(Duration::from_secs(2)), is_stopped: false };
        let options = Options { time: Some(Arc::new(time(cat.pid(), thread))), ..Options::default() };
        let snapshot = take(&[cat.pid()], &options).unwrap();
        let process = &snapshot.tree[&cat.pid()];
        assert_eq!((snapshot.at_ns, process.began_ns), (7_200 * SECOND, 3_600 * SECOND));
        let call = process.threads[0].call.as_ref().unwrap();
        // as /proc shows a limit that is a span
        assert_eq!((&call.does, call.limit), (&Does::Epoll { fd: 3 }, TimeLimit::GivenMs(5_000)));
    }

    #[test]
    fn real_ages_become_virtual_ones() {
        let traffic = Traffic { since_received_ms: 5, since_sent_ms: 7, ..Traffic::default() };
        let socket = Socket { traffic: Some(traffic), ..Socket::default() };
        let process = |held_ms| Process { held_ms, ..Process::default() };
        let mut snapshot = Snapshot {
            sockets: [(1, socket), (2, Socket::default())].into(),
            tree: [(7, process(Some(3)))].into(),
            around: [(8, process(None))].into(),
            ..Snapshot::default()
        };
        time(7, TracedThread { call: None, left: None, is_stopped: false }).add_ages(&mut snapshot);
        let traffic = snapshot.sockets[&1].traffic.unwrap();
        assert_eq!((traffic.since_received_ms, traffic.since_sent_ms), (5_000, 7_000));
        assert_eq!((snapshot.tree[&7].held_ms, snapshot.around[&8].held_ms), (Some(3_000), None));
        assert_eq!(snapshot.at_ns, 7_200 * SECOND);
    }

    #[test]
    fn a_timerfd_has_what_the_tracer_has_left() {
        let thread = TracedThread { call: None, left: None, is_stopped: false };
        let timerfds = [(2_000_000_000, Some(Duration::from_secs(3))), (2_000_000_001, None)].into();
        let time = VirtualTime { timerfds, ..time(7, thread) };
        let left = [2_000_000_000, 2_000_000_001, 5].map(|interval| time.timer_ms(interval));
        assert_eq!(left, [Some(Some(3_000)), Some(None), None]);
        assert_eq!(time.alarms(), 1);
    }

    #[test]
    fn what_a_tracer_holds_sleeps_or_is_stopped() {
        let traced = |is_stopped| {
            let thread = TracedThread { call: None, left: None, is_stopped };
            let shown = Thread { tid: 7, state: State::Traced, wchan: "ptrace_stop".to_owned(), ..Thread::default() };
            let mut process =
                Process { pid: 7, tracer: 1, state: State::Traced, threads: vec![shown], ..Process::default() };
            time(7, thread).show(&mut process);
            assert_eq!(process.tracer, 0);
            (process.state, process.threads[0].state, process.threads.remove(0).wchan)
        };
        assert_eq!(traced(false), (State::Sleeping, State::Sleeping, "hrtimer_nanosleep".to_owned()));
        assert_eq!(traced(true), (State::Stopped, State::Stopped, "do_signal_stop".to_owned()));
        // one of another tracer is left as it is
        let mut other = Process { pid: 8, tracer: 1, state: State::Traced, ..Process::default() };
        time(7, TracedThread { call: None, left: None, is_stopped: false }).show(&mut other);
        assert_eq!((other.tracer, other.state), (1, State::Traced));
    }

    #[test]
    fn limits_are_what_is_left_where_the_kernel_has_none() {
        let thread = TracedThread { call: None, left: Some(Duration::from_millis(1_500)), is_stopped: false };
        let time = time(7, thread);
        let limit = |limit| {
            let mut call = Call { limit, ..Call::default() };
            time.limit(7, &mut call);
            call.limit
        };
        assert_eq!(limit(TimeLimit::Unknown), TimeLimit::LeftMs(1_500));
        assert_eq!(limit(TimeLimit::LeftMs(9)), TimeLimit::LeftMs(1_500));
        assert_eq!(limit(TimeLimit::GivenMs(9)), TimeLimit::GivenMs(9));
        assert_eq!(limit(TimeLimit::Never), TimeLimit::Never);
    }
}
