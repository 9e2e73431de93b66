//! The edges of one process: for each of its waits, who could end it.
//!
//! Invariant: a wait that is not understood leads outside.

use super::{Edge, Over, To, is_reader, to};
use crate::data::{Descriptor, Family, Object, Pid, Process, Signals, SocketState, State, TimeLimit};
use crate::diagnosis::rules::{self, file, run};
use crate::diagnosis::view::View;
use crate::diagnosis::waits::{NO_END_MS, On, Wait};
use crate::diagnosis::ways;
use rehang_hangs::Signature;
use std::collections::BTreeSet;

/// The edges of one process.
pub(super) struct Found<'v, 'a> {
    pub(super) view: &'v View<'a>,
    pub(super) process: &'a Process,
    pub(super) edges: BTreeSet<Edge>,
    /// Why it goes on by itself.
    pub(super) alive: Option<String>,
}

impl Found<'_, '_> {
    fn add(&mut self, to: To, over: Over, which: impl Into<String>) {
        self.edges.insert(Edge { from: self.process.pid, to, over, which: which.into() });
    }

    /// A wait without an end: outside of a run that should end, it is meant so, and somebody ends it one day.
    fn never(&mut self, over: Over) {
        match self.view.is_of_a_run(self.process.pid) {
            true => self.add(To::Nobody, over, ""),
            false => self.add(To::Outside("somebody who ends it".to_owned()), over, ""),
        }
    }

    fn alive(&mut self, why: impl Into<String>) {
        self.alive.get_or_insert(why.into());
    }

    /// What an agent says that it waits for is taken as true, unless it says that something runs beside it.
    pub(super) fn asks(&mut self) -> bool {
        let pid = self.process.pid;
        if let Some(waits) = rules::prompted(self.view, self.process) {
            waits.iter().for_each(|wait| self.wait(wait, &waits));
            return true;
        }
        let Some(agent) = self.view.after.agents.iter().find(|agent| agent.pid == pid && !agent.asks.is_empty()) else {
            return false;
        };
        let to = match rules::route(self.view, self.process) {
            Some(route) => To::Outside(format!("somebody who answers ({route})")),
            None => To::Nobody,
        };
        self.add(to, Over::Ask, agent.asks[0].kind.clone());
        agent.running.is_empty()
    }

    pub(super) fn waits(&mut self) {
        if let Some(child) = run::vforked(self.view, self.process) {
            return self.add(To::Process(child), Over::Child, "");
        }
        let all = self.view.waits(self.process);
        if all.is_empty() {
            let threads = &self.process.threads;
            match threads.iter().all(|thread| !thread.call_read && thread.wchan.is_empty()) {
                true => self.add(To::Outside("what may not be read".to_owned()), Over::Unknown, ""),
                false => self.alive("is ready to run"),
            }
        }
        for wait in &all {
            self.wait(wait, &all);
        }
        for way in ways::own(self.view, self.process) {
            match way.left_ms {
                Some(_) => self.alive("has a timer"),
                None => self.add(To::Outside(way.what), Over::Time, ""),
            }
        }
        if ways::awaits_signals(self.process) {
            self.add(To::Outside("a process that sends it a signal".to_owned()), Over::Signal, "");
        }
        // the end of any child ends the wait by its signal
        let signals = &self.process.signals;
        if Signals::has(signals.caught, libc::SIGCHLD) && !Signals::has(signals.blocked, libc::SIGCHLD) {
            for child in self.view.living_children(self.process.pid) {
                self.add(to(self.view, self.process, child.pid), Over::Child, "");
            }
        }
        if self.is_outside() {
            self.outside(&all);
        }
    }

    fn is_outside(&self) -> bool {
        !self.view.after.tree.contains_key(&self.process.pid)
    }

    /// Of a process outside of the tree less can be seen: what is missing counts as outside or as a timer.
    fn outside(&mut self, all: &[Wait]) {
        // what is no run that should end is used by somebody
        if !self.view.after.roots.iter().any(|root| self.view.is_of_a_run(*root)) {
            self.add(To::Outside("somebody who uses it".to_owned()), Over::Signal, "");
        }
        if self.process.has_unseen || !self.process.fds_read {
            self.add(To::Outside("processes that are not in sight".to_owned()), Over::Unknown, "");
        }
        if all.iter().any(|wait| wait.polled && wait.limit == TimeLimit::Unknown) {
            self.alive("has an event loop of its own, and perhaps a timer");
        }
    }

    fn wait(&mut self, wait: &Wait, all: &[Wait]) {
        let process = self.process;
        match &wait.on {
            On::Input(fd) => self.channel(wait, *fd, true),
            On::Output(fd) | On::Ioctl { fd, .. } => self.channel(wait, *fd, false),
            On::Child(child) => self.child(*child),
            On::Futex => self.futex(wait, all),
            On::Clock => self.clock(wait),
            On::Lock(fd) => match file::lock_holder(self.view, process, *fd) {
                Some(holder) => self.add(to(self.view, process, holder), Over::Lock, file::path_of(process, *fd)),
                None => self.add(
                    To::Outside("its holder, which is not in sight".to_owned()),
                    Over::Lock,
                    file::path_of(process, *fd),
                ),
            },
            On::Open { path, fifo: true } => {
                self.add(
                    To::Outside("a process that opens it".to_owned()),
                    Over::Fifo,
                    path.clone().unwrap_or_default(),
                );
            }
            On::Open { .. } => self.alive("opens a file"),
            On::Connect(fd) => {
                let remote = process.fd(*fd).and_then(|fd| self.view.socket(fd)).map(|socket| socket.remote.clone());
                let remote = remote.filter(|remote| !remote.is_empty()).unwrap_or_else(|| "a peer".to_owned());
                self.add(To::Outside(remote), Over::Socket, "that is not connected yet");
            }
            On::Signal => match run::handles_signals(process) || run::is_sigwait(wait) {
                true => self.add(To::Outside("a process that sends it a signal".to_owned()), Over::Signal, ""),
                false if run::kept_fifo(self.view, process).is_some() => self.alive("keeps a FIFO open"),
                false => self.never(Over::Signal),
            },
            On::Hidden => self.add(To::Outside("what the kernel does not tell".to_owned()), Over::Unknown, ""),
        }
    }

    fn channel(&mut self, wait: &Wait, number: i32, reads: bool) {
        let (view, process) = (self.view, self.process);
        let Some(fd) = process.fd(number) else {
            return self.add(To::Outside("what may not be read".to_owned()), Over::Unknown, "");
        };
        let name = rules::fd_name(number);
        let reads = reads && !rules::watches_reader(fd);
        if let Some(who) = view.held_out_of_sight(process, fd) {
            let (over, which) = match &fd.what {
                Object::Fifo { path, .. } => (Over::Fifo, path),
                Object::Socket { .. } => (Over::Socket, &name),
                _ => (Over::Pipe, &name),
            };
            self.add(To::Outside(who.to_owned()), over, which);
        }
        match &fd.what {
            Object::Pipe { .. } | Object::Fifo { .. } => {
                let own = view.own_channel(process, fd);
                // how an event loop wakes itself
                if own && wait.polled && number > 2 {
                    return self.wakes_itself();
                }
                let (over, which) = match &fd.what {
                    Object::Fifo { path, .. } => (Over::Fifo, path.clone()),
                    _ => (Over::Pipe, name),
                };
                self.ends(fd, reads, over, &which, own);
                if let Some(path) = self.view.named_fifo(fd).filter(|_| reads) {
                    self.add(To::Outside(format!("a process that opens {path}")), over, &which);
                }
                if own && reads {
                    self.wakes_itself();
                }
            }
            Object::Socket { .. } if wait.polled && view.own_channel(process, fd) => self.wakes_itself(),
            Object::Socket { .. } => self.socket(fd, reads, &name),
            Object::Tty { path, index } => {
                let masters = index.map(|index| view.masters(index)).unwrap_or_default();
                // where it is not in sight, a person may sit there, or come
                if masters.is_empty() {
                    self.add(To::Outside("the program on its other side".to_owned()), Over::Tty, path.clone());
                }
                for master in masters {
                    self.add(to(view, process, master), Over::Tty, path.clone());
                }
            }
            // the other side of a pseudo-terminal: whoever has it open may write to it
            Object::Master { index } => {
                let others: Vec<Pid> = view.at_terminal(*index).filter(|pid| *pid != process.pid).collect();
                if others.is_empty() {
                    self.add(To::Outside("a process that opens its terminal".to_owned()), Over::Tty, name);
                } else {
                    for other in others {
                        self.add(to(view, process, other), Over::Tty, &name);
                    }
                }
            }
            Object::Process { pid } if *pid > 0 => self.add(to(view, process, *pid), Over::Child, ""),
            Object::Timer { left_ms: Some(_) } => self.alive("has a timer"),
            // it has no name by which others that have it could be told: a copy keeps its number, as a rule
            Object::Timer { left_ms: None } => {
                let has_it = |other: &Process| {
                    let timer = other.fd(number).is_some_and(|fd| matches!(fd.what, Object::Timer { .. }));
                    other.pid != process.pid && timer
                };
                if !wait.polled || view.after.processes().any(has_it) {
                    self.add(To::Outside("another process that has its timer".to_owned()), Over::Time, name);
                }
            }
            Object::Inotify => self.add(To::Outside("a process that changes them".to_owned()), Over::Files, ""),
            // a known agent's handlers end it
            Object::Signal if wait.polled && view.is_known_agent(process.pid) => {}
            Object::Children if view.living_children(process.pid).next().is_some() => self.child(-1),
            Object::Signal | Object::Children => {
                self.add(To::Outside("a process that sends it a signal".to_owned()), Over::Signal, "");
            }
            // without another thread, only another process that has it can write to it
            Object::Event { .. } if process.threads.len() == 1 && !wait.polled => {
                self.add(To::Outside("another process that has it, if there is one".to_owned()), Over::Unknown, name);
            }
            Object::Event { .. } => {
                self.add(To::Process(process.pid), Over::Thread, "");
                self.wakes_itself();
            }
            // a read of a file that does not return is none of its bytes: a message queue, a device
            Object::File { .. } | Object::Null if !wait.polled => {
                self.add(To::Outside("what the kernel does not tell".to_owned()), Over::Unknown, name);
            }
            Object::Other { .. } | Object::Uring { .. } | Object::Epoll { .. } => {
                self.add(To::Outside("what the kernel does not tell".to_owned()), Over::Unknown, name);
            }
            _ => {}
        }
    }

    /// A channel by which an event loop wakes itself: after a signal too.
    fn wakes_itself(&mut self) {
        if ways::may_be_told(self.process) {
            self.add(To::Outside("a process that sends it a signal".to_owned()), Over::Signal, "");
        }
    }

    fn ends(&mut self, fd: &Descriptor, reads: bool, over: Over, which: &str, own: bool) {
        let others = self.view.other_end(self.process, fd, reads);
        for other in &others {
            // what a supervisor says on a socket is not what it has read of the run
            let by_reader = over == Over::Socket && is_reader(self.view, *other);
            match by_reader {
                true => self.add(To::Outside(format!("{}, which looks", self.view.name(*other))), over, which),
                false => self.add(to(self.view, self.process, *other), over, which),
            }
        }
        let in_flight = || self.view.after.processes().any(|process| process.fds_in_flight > 0);
        match others.is_empty() {
            true if own && in_flight() => {
                self.add(To::Outside("who is sent a descriptor of it".to_owned()), over, which);
            }
            true if own => self.add(To::Process(self.process.pid), over, which),
            // without a process at the other end the call would have returned
            true => self.add(To::Outside("the holder of the other end, which is not in sight".to_owned()), over, which),
            false => {}
        }
    }

    fn socket(&mut self, fd: &Descriptor, reads: bool, name: &str) {
        let Some(socket) = self.view.socket(fd) else {
            return self.add(To::Outside("a peer".to_owned()), Over::Socket, name);
        };
        if self.view.own_channel(self.process, fd) {
            return;
        }
        if socket.state == SocketState::Listening || (socket.family == Family::Udp && socket.remote.is_empty()) {
            let which = if socket.local.is_empty() { name } else { &socket.local };
            return self.add(To::Outside("a client that connects".to_owned()), Over::Socket, which);
        }
        if socket.state == SocketState::Connecting {
            return self.add(To::Outside("the kernel, which gives it up".to_owned()), Over::Socket, name);
        }
        if let Some(listener) = self.view.after.queued.get(&socket.inode) {
            let holders: Vec<Pid> = self.view.after.socket_holders(*listener).map(|(holder, _)| holder.pid).collect();
            for holder in &holders {
                self.add(to(self.view, self.process, *holder), Over::Socket, name);
            }
            if !holders.is_empty() {
                return;
            }
        }
        if socket.peer.is_none() && !socket.remote.is_empty() {
            return self.add(To::Outside(socket.remote.clone()), Over::Socket, name);
        }
        self.ends(fd, reads, Over::Socket, name, false);
    }

    /// The caller's own number of a child; in a pid namespace of its own it differs from ours.
    fn child(&mut self, child: Pid) {
        let (view, pid) = (self.view, self.process.pid);
        let children = || view.after.processes().filter(|process| process.ppid == pid);
        let all = || children().filter(|process| !is_reader(view, process.pid));
        let named: Vec<&Process> =
            all().filter(|process| child > 0 && (process.pid == child || process.ns_pid == child)).collect();
        let waited = if named.is_empty() { all().collect() } else { named };
        if children().any(|process| is_reader(view, process.pid)) {
            self.add(To::Outside("this very look".to_owned()), Over::Child, "");
        }
        if waited.iter().any(|process| process.state == State::Zombie) {
            return self.alive("is about to take in a child that has ended");
        }
        if waited.is_empty() && self.edges.is_empty() {
            self.alive("has no child left to wait for");
        }
        for process in waited {
            self.add(to(view, self.process, process.pid), Over::Child, "");
        }
    }

    fn futex(&mut self, wait: &Wait, all: &[Wait]) {
        let process = self.process;
        if run::shares(process, wait) {
            let Some(others) = &process.shares_with else {
                return self.add(To::Outside("a process that shares its memory".to_owned()), Over::Thread, "");
            };
            for other in others {
                self.add(to(self.view, process, *other), Over::Thread, "shared memory");
            }
            return self.add(To::Process(process.pid), Over::Thread, "");
        }
        match wait.limit {
            TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) if ms < NO_END_MS => self.alive("has a timer"),
            // it may have one
            TimeLimit::Unknown => self.add(To::Outside("what may not be read".to_owned()), Over::Thread, ""),
            _ => self.add(To::Process(process.pid), Over::Thread, ""),
        }
        if !process.same_memory.is_empty() {
            self.add(To::Outside("a process that has the same memory".to_owned()), Over::Thread, "");
        }
        let only_threads = all.iter().all(|wait| wait.on == On::Futex);
        if only_threads && Signals::has(process.signals.caught, libc::SIGTERM) {
            self.add(To::Outside("a process that sends it a signal".to_owned()), Over::Signal, "");
        }
    }

    fn clock(&mut self, wait: &Wait) {
        if wait.polled {
            if let TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) = wait.limit
                && ms < NO_END_MS
            {
                self.alive("has a timer");
            }
            return;
        }
        let finding = run::clock(self.view, self.process, wait);
        match finding.verdict {
            _ if finding.signature == Signature::NeverEnds => self.never(Over::Time),
            _ => self.alive(if finding.signature == Signature::Polling {
                "looks again and again"
            } else {
                "sleeps for a time"
            }),
        }
    }
}
