//! The state of a run, and what all parts of the tracer do with it.

use super::clock::Clock;
use super::record::Record;
use super::tree::{AtExit, Process, Schedule, State, Thread, TimerFd};
use super::x86_64::regs::Regs;
use super::x86_64::vdso::Plan;
use super::{procfs, sys};
use crate::{Ending, Limit, Next, OnLook, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Whose deadline it is. The order breaks ties: looks first, then by birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The caller's look.
    Look,
    /// A thread's timed wait: its birth and id.
    Wait(u64, i32),
    /// A process's interval timer.
    IntervalTimer(u64, i32),
    /// A process's POSIX timer.
    PosixTimer(u64, i32, i32),
    /// A timerfd, by its tag.
    TimerFd(u64),
    /// A thread's wait on a socket with a time limit.
    SocketWait(u64, i32),
}

/// How the command ended.
#[derive(Debug, Clone, Copy)]
pub enum RootEnd {
    Code(i32),
    Signal(i32),
}

/// A run.
pub struct Tracer<'a> {
    pub settings: Settings,
    pub clock: Clock,
    pub record: Record,
    pub threads: BTreeMap<i32, Thread>,
    pub processes: BTreeMap<i32, Process>,
    /// All timerfds that were armed, by their tags.
    pub timerfds: BTreeMap<u64, TimerFd>,
    /// The limits of sockets by inode: for receiving and for sending, in ns; 0 for none.
    pub socket_limits: BTreeMap<u64, [u64; 2]>,
    /// Threads whose first stop came before their birth was reported.
    pub early: BTreeSet<i32>,
    /// Pipes, sockets and terminals that the command was started with.
    pub inherited: BTreeSet<String>,
    /// Something that it was started with can be read from.
    pub has_input: bool,
    pub births: u64,
    pub root: i32,
    pub root_end: Option<RootEnd>,
    /// When the real time is used up.
    pub real_end: Option<Instant>,
    /// How the run ended, while the command has its last signal.
    pub told: Option<Ending>,
    /// How the run ended, while the caller looks at what is left.
    pub over: Option<Ending>,
    pub vdso: Option<Plan>,
    /// The tree made a pseudoterminal.
    pub has_pty: bool,
    /// The tree made a socket of the internet.
    pub has_internet: bool,
    /// A pseudoterminal of the tracer's, whose data the kernel delivers after that of the tree's.
    pub pty_barrier: Option<(File, File)>,
    /// When the next look is.
    pub look_at: Option<u64>,
    pub look: Option<OnLook<'a>>,
    /// A program of the tree has asked for the tracer's view.
    pub is_viewed: bool,
}

impl<'a> Tracer<'a> {
    pub fn new(settings: Settings, root: i32, record: Record, look: Option<(Duration, OnLook<'a>)>) -> Tracer<'a> {
        let clock = Clock::new(settings.start);
        let (first, look) = look.unzip();
        let real_end = settings.within.and_then(|span| record.began.checked_add(span));
        let mut tracer = Tracer {
            settings,
            clock,
            record,
            threads: BTreeMap::new(),
            processes: BTreeMap::new(),
            timerfds: BTreeMap::new(),
            socket_limits: BTreeMap::new(),
            early: BTreeSet::new(),
            inherited: BTreeSet::new(),
            has_input: false,
            births: 0,
            root,
            root_end: None,
            real_end,
            told: None,
            over: None,
            vdso: super::x86_64::vdso::plan(),
            has_pty: false,
            has_internet: false,
            pty_barrier: None,
            look_at: None,
            look,
            is_viewed: false,
        };
        if let Some(first) = first {
            tracer.set_next_look(Next::At(first));
        }
        tracer
    }

    /// When the next look is.
    pub fn set_next_look(&mut self, next: Next) {
        self.look_at = match next {
            Next::At(span) => {
                let at = super::clock::START.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
                Some(if self.look_at.is_some() { at.max(self.clock.now + 1) } else { at })
            }
            Next::Never | Next::Stop => None,
        };
    }

    /// The thread of a process that the process, which may have a PID namespace of its own, gives this number.
    pub fn thread_numbered(&self, pid: i32, number: i32) -> i32 {
        let is_it = |tid: &i32| {
            let numbers = procfs::status(*tid, "NSpid:");
            numbers.and_then(|numbers| numbers.split_ascii_whitespace().next_back()?.parse().ok()) == Some(number)
        };
        let mut threads = self.threads.iter().filter(|(_, thread)| thread.pid == pid).map(|(tid, _)| *tid);
        threads.find(is_it).unwrap_or(number)
    }

    /// A thread as lines of the log name it.
    pub fn describe(&self, tid: i32) -> String {
        self.threads.get(&tid).map_or_else(|| tid.to_string(), |t| format!("{}/{tid} ({})", t.pid, t.name))
    }

    /// Writes a line to the log.
    pub fn log(&mut self, line: impl FnOnce() -> String) {
        self.record.log(&self.clock, line);
    }

    /// Takes in a new thread, and its process if that is new as well.
    pub fn add_thread(&mut self, tid: i32, pid: i32) {
        if self.threads.contains_key(&tid) {
            return;
        }
        self.births += 1;
        let birth = self.births;
        self.threads.insert(
            tid,
            Thread {
                pid,
                birth,
                state: State::New,
                is_active: true,
                at_exit: None,
                cut: None,
                is_expiring: false,
                regs: None,
                wait_channel: File::open(format!("/proc/{pid}/task/{tid}/wchan")).ok(),
                name: procfs::name(pid, tid),
                socket_wait: None,
                is_in_vfork: false,
                mapping: None,
                rest: None,
                draws: 0,
                ticks: ((0, 0), 0),
            },
        );
        self.processes.entry(pid).or_insert_with(|| Process {
            birth,
            born: self.clock.now,
            was_told: false,
            memory: sys::open_memory(pid),
            vdso: None,
            page: None,
            interval_timer: None,
            posix_timers: BTreeMap::new(),
        });
    }

    /// Takes in a thread that was born by a call of `parent`, with the parent's clock if it is a process.
    pub fn add_child(&mut self, tid: i32, pid: i32, parent: Option<i32>) {
        let is_new = !self.processes.contains_key(&pid);
        self.add_thread(tid, pid);
        let clock = parent.and_then(|parent| self.processes.get(&parent)).map(|parent| (parent.vdso, parent.page));
        if let (true, Some((vdso, page)), Some(process)) = (is_new, clock, self.processes.get_mut(&pid)) {
            (process.vdso, process.page) = (vdso, page);
        }
        self.publish();
    }

    /// Lets a stopped thread go on: to the end of its call if something is to be done there.
    pub fn resume(&mut self, tid: i32, signal: i32) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        thread.is_active = true;
        if thread.state != State::Exiting {
            thread.state = State::Free;
        }
        if thread.at_exit.is_some() && signal == 0 { sys::resume_to_exit(tid) } else { sys::resume(tid, signal) }
    }

    /// Lets a thread go on to the end of its system call.
    pub fn resume_to_exit(&mut self, tid: i32, at_exit: AtExit, regs: Regs) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.at_exit = Some(at_exit);
            thread.regs = Some(regs);
        }
        self.resume(tid, 0);
    }

    /// Lets a thread go on as if its system call had returned this.
    pub fn answer(&mut self, tid: i32, mut regs: Regs, result: i64) {
        regs.answer(result);
        sys::set_registers(tid, &regs);
        self.resume(tid, 0);
    }

    /// Goes to a later instant.
    pub fn set_now(&mut self, at: u64) {
        if at > self.clock.now {
            self.clock.set(at);
            self.publish();
            if self.look.is_some() || self.is_viewed {
                Arc::make_mut(&mut self.record.jumped).add(self.clock.elapsed());
            }
        }
    }

    /// Writes the clock to every process.
    pub fn publish(&self) {
        let bytes = self.clock.page();
        for process in self.processes.values() {
            if let (Some(page), Some(memory)) = (process.page, &process.memory) {
                // fails only for a process that is about to end
                let _ = memory.write_all_at(&bytes, page);
            }
        }
    }

    /// The earliest deadline, that of the next look among them.
    pub fn next_deadline(&self) -> Option<(u64, Owner)> {
        self.look_at.map(|at| (at, Owner::Look)).into_iter().chain(self.next_deadline_of_tree()).min()
    }

    /// The earliest deadline of the tree.
    pub fn next_deadline_of_tree(&self) -> Option<(u64, Owner)> {
        let waits = self.threads.iter().flat_map(|(tid, thread)| {
            let wait = thread.waiting().map(|w| (w.at, Owner::Wait(thread.birth, *tid)));
            let socket = thread.socket_wait.as_ref().map(|w| (w.at, Owner::SocketWait(thread.birth, *tid)));
            wait.into_iter().chain(socket).filter(|_| !thread.is_expiring)
        });
        let timers = self.processes.iter().flat_map(|(pid, process)| {
            let interval = process.interval_timer.map(|s| (s.at, Owner::IntervalTimer(process.birth, *pid)));
            let posix = process
                .posix_timers
                .iter()
                .filter_map(|(id, timer)| Some((timer.schedule?.at, Owner::PosixTimer(process.birth, *pid, *id))));
            interval.into_iter().chain(posix)
        });
        let at = |schedule: Option<Schedule>| schedule.map(|s| s.at);
        let timerfds = self.timerfds.iter().filter_map(|(tag, t)| Some((at(t.schedule)?, Owner::TimerFd(*tag))));
        waits.chain(timers).chain(timerfds).min()
    }

    /// Notes something that virtual time does not reach.
    pub fn note(&mut self, tid: i32, what: Limit) {
        let name = self.threads.get(&tid).map(|thread| thread.name.clone()).unwrap_or_default();
        self.record.note(&name, what);
    }
}
