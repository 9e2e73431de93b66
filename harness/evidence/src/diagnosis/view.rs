//! Two snapshots seen together: what changed between them, and who is at the other end of what.
//!
//! Invariant: what only one of the snapshots has counts as unchanged, except processes that came or went.

use super::Limits;
use super::waits::{self, Wait};
use crate::data::{Descriptor, End, Io, Object, Pid, Process, Snapshot, Socket, State, Thread};
use crate::kind::{self, AnyAgent};
use std::fmt;

/// The share of a core below which a process idles: timers of its own take no more.
const IDLES_SHARE: f64 = 0.25;

/// Two snapshots.
pub struct View<'a> {
    pub before: &'a Snapshot,
    pub after: &'a Snapshot,
    pub limits: Limits,
    pub window_ns: u64,
    /// Processes came, went, ended or were adopted within the window.
    changed: bool,
}

/// A process's name in a sentence.
#[derive(Clone, Copy)]
pub struct Name<'a> {
    pid: Pid,
    process: Option<&'a Process>,
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name { pid, process } = self;
        match process.map(|process| (process, kind::agent(process))) {
            None => write!(f, "a process that is gone ({pid})"),
            Some((_, Some(kind))) => write!(f, "{} ({pid})", kind.title),
            Some((process, None)) => write!(f, "{} ({pid})", plain_name(process)),
        }
    }
}

impl<'a> View<'a> {
    pub fn new(before: &'a Snapshot, after: &'a Snapshot, limits: Limits) -> View<'a> {
        let living = |snapshot: &'a Snapshot| {
            let ours = snapshot.tree.values().filter(|process| process.state != State::Zombie);
            ours.map(|process| (process.pid, process.ppid))
        };
        let changed = !living(before).eq(living(after));
        View { before, after, limits, window_ns: after.at_ns.saturating_sub(before.at_ns).max(1), changed }
    }

    pub fn process(&self, pid: Pid) -> Option<&'a Process> {
        self.after.process(pid)
    }

    /// `cat (123)`, `opencode (123)`. It is put together where it is written: few findings are.
    pub fn name(&self, pid: Pid) -> Name<'a> {
        Name { pid, process: self.process(pid) }
    }

    /// `cat (1), dog (2) and 3 more`.
    pub fn names(&self, pids: &[Pid]) -> String {
        let mut names: Vec<String> = pids.iter().take(2).map(|pid| self.name(*pid).to_string()).collect();
        if pids.len() > 2 {
            names.push(format!("{} more", pids.len() - 2));
        }
        match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, first)) => format!("{} and {last}", first.join(", ")),
            None => "nobody in sight".to_owned(),
        }
    }

    /// The agent that a process is, known or named by the caller.
    pub fn agent(&self, pid: Pid) -> Option<AnyAgent<'a>> {
        self.process(pid).and_then(kind::agent)
    }

    /// Whether a process is an agent of which it is known how it is built.
    pub fn is_known_agent(&self, pid: Pid) -> bool {
        self.process(pid).and_then(kind::of).is_some()
    }

    /// How long ago a process began, in milliseconds.
    pub fn age_ms(&self, process: &Process) -> u64 {
        self.after.at_ns.saturating_sub(process.began_ns) / 1_000_000
    }

    /// Whether whoever looks is above what is looked at, as a supervisor is: it is a run that should end.
    pub fn is_supervised(&self) -> bool {
        let reader = self.after.reader.pid;
        self.after.roots.iter().any(|root| self.ancestors(*root).any(|above| above == reader))
    }

    /// Whether a process is part of a run that should end: an agent's, or one that is supervised. Any other may wait for
    /// a person, or for ever, by design.
    pub fn is_of_a_run(&self, pid: Pid) -> bool {
        self.is_supervised() || self.agent(pid).is_some() || self.agent_above(pid).is_some()
    }

    /// Whether an agent's own record says that it is in the middle of a turn.
    pub fn is_in_a_turn(&self, pid: Pid) -> bool {
        self.after.agents.iter().any(|agent| agent.pid == pid && agent.turn == "open")
    }

    /// The nearest agent above a process.
    pub fn agent_above(&self, pid: Pid) -> Option<Pid> {
        self.ancestors(pid).find(|above| self.agent(*above).is_some())
    }

    /// Parents, nearest first.
    pub fn ancestors(&self, pid: Pid) -> impl Iterator<Item = Pid> {
        let mut at = pid;
        let most = self.after.tree.len() + self.after.around.len();
        std::iter::from_fn(move || {
            at = self.process(at)?.ppid;
            (at > 0).then_some(at)
        })
        .take(most)
    }

    /// What a process's threads wait for. For a thread that was running, or at a file, but does not work, the earlier
    /// snapshot counts: it woke up for a moment.
    pub fn waits(&self, process: &Process) -> Vec<Wait> {
        let before = self.before.process(process.pid);
        let idle = self.wants(process.pid) < IDLES_SHARE;
        let thread = |thread: &'_ Thread| {
            let old = before.and_then(|before| before.threads.iter().find(|old| old.tid == thread.tid));
            match old {
                Some(old) if idle && matches!(thread.state, State::Running | State::Disk) => waits::of(process, old),
                _ => waits::of(process, thread),
            }
        };
        process.threads.iter().flat_map(thread).collect()
    }

    /// The share of one processor that a process used within the window: 1.0 is one whole core.
    pub fn cpu(&self, pid: Pid) -> f64 {
        let used = |snapshot: &Snapshot| snapshot.process(pid).map(Process::cpu_ns);
        match (used(self.before), used(self.after)) {
            (Some(before), Some(after)) => after.saturating_sub(before) as f64 / self.window_ns as f64,
            _ => 0.0,
        }
    }

    /// The share of one processor that a process would use on an idle machine: of the time in which its threads did not
    /// wait for a processor.
    pub fn wants(&self, pid: Pid) -> f64 {
        let (Some(before), Some(after)) = (self.before.process(pid), self.after.process(pid)) else { return 0.0 };
        let thread = |new: &Thread| {
            let Some(old) = before.threads.iter().find(|old| old.tid == new.tid) else { return 0.0 };
            let used = new.cpu_ns.saturating_sub(old.cpu_ns);
            // ready at both times, and never asleep between: the kernel counts the time of waiting for a processor only
            // when it ends. A thread that got no processor at all tells nothing
            if old.yields.is_some() && old.yields == new.yields {
                return if used >= 1_000_000 { 1.0 } else { 0.0 };
            }
            let waited = new.waited_ns.saturating_sub(old.waited_ns);
            used as f64 / self.window_ns.saturating_sub(waited).max(used).max(1_000_000) as f64
        };
        after.threads.iter().map(thread).sum()
    }

    /// What a process read and wrote within the window.
    pub fn io(&self, pid: Pid) -> Io {
        let io = |snapshot: &Snapshot| snapshot.process(pid).and_then(|process| process.io);
        let (Some(before), Some(after)) = (io(self.before), io(self.after)) else { return Io::default() };
        Io {
            read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
            reads: after.reads.saturating_sub(before.reads),
            writes: after.writes.saturating_sub(before.writes),
        }
    }

    /// Whether what a process wrote within the window is no more than what its threads wake each other with: 8 bytes each
    /// (eventfd(2)).
    pub fn only_wakes(&self, pid: Pid) -> bool {
        let io = self.io(pid);
        io.written_bytes <= io.writes.saturating_mul(8)
    }

    /// Page faults within the window.
    pub fn faults(&self, pid: Pid) -> u64 {
        let faults = |snapshot: &Snapshot| snapshot.process(pid).map_or(0, |process| process.faults);
        faults(self.after).saturating_sub(faults(self.before))
    }

    /// How often a thread was put on a processor within the window.
    pub fn switches(&self, pid: Pid, tid: Pid) -> u64 {
        let thread = |snapshot: &'a Snapshot| -> Option<&'a Thread> {
            snapshot.process(pid)?.threads.iter().find(|thread| thread.tid == tid)
        };
        match (thread(self.before), thread(self.after)) {
            (Some(before), Some(after)) => after.switches.saturating_sub(before.switches),
            _ => 0,
        }
    }

    /// Bytes that came on a connection within the window.
    pub fn received(&self, socket: &Socket) -> u64 {
        let bytes = |snapshot: &Snapshot| {
            snapshot.sockets.get(&socket.inode).and_then(|socket| socket.traffic).map(|traffic| traffic.received_bytes)
        };
        match (bytes(self.before), bytes(self.after)) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => 0,
        }
    }

    /// Segments with data that came on a connection within the window.
    pub fn received_pieces(&self, socket: &Socket) -> u64 {
        let pieces = |snapshot: &Snapshot| {
            snapshot.sockets.get(&socket.inode).and_then(|socket| socket.traffic).map(|traffic| traffic.received_pieces)
        };
        match (pieces(self.before), pieces(self.after)) {
            (Some(before), Some(after)) => after.saturating_sub(before).into(),
            _ => 0,
        }
    }

    /// Children that live, within the tree.
    pub fn living_children(&self, pid: Pid) -> impl Iterator<Item = &'a Process> {
        self.after.children(pid).filter(|child| child.state != State::Zombie)
    }

    /// Children that have ended and were not waited for, in both snapshots.
    pub fn zombies(&self, pid: Pid) -> impl Iterator<Item = &'a Process> {
        self.after.children(pid).filter(|child| {
            let before = self.before.tree.get(&child.pid);
            child.state == State::Zombie && before.is_some_and(|before| before.state == State::Zombie)
        })
    }

    /// Whether processes below `pid` came or went within the window.
    pub fn turnover(&self, pid: Pid) -> bool {
        let below = |snapshot: &Snapshot| -> Vec<Pid> {
            let ours = snapshot.tree.values().filter(|process| process.state != State::Zombie);
            ours.map(|process| process.pid).filter(|other| snapshot.descends(*other, pid)).collect()
        };
        self.changed && below(self.before) != below(self.after)
    }

    /// Who holds the other end of a channel (a pipe, a FIFO, a Unix socket, a terminal), without the process itself: of
    /// a pipe, who could write what it reads, or read what it writes.
    pub fn other_end(&self, process: &Process, fd: &Descriptor, reads: bool) -> Vec<Pid> {
        let mut pids: Vec<Pid> = match &fd.what {
            Object::Pipe { inode } | Object::Fifo { inode, .. } => {
                let end = if reads { End::Write } else { End::Read };
                self.after.holders(*inode, end).map(|(other, _)| other.pid).collect()
            }
            Object::Socket { inode } => match self.after.sockets.get(inode).and_then(|socket| socket.peer) {
                Some(peer) => self.after.socket_holders(peer).map(|(other, _)| other.pid).collect(),
                None => Vec::new(),
            },
            Object::Tty { index: Some(index), .. } => self.masters(*index),
            _ => Vec::new(),
        };
        pids.retain(|pid| *pid != process.pid);
        pids.dedup();
        pids
    }

    /// Who holds the master of a pseudo-terminal.
    pub fn masters(&self, index: u64) -> Vec<Pid> {
        let has = |process: &&Process| {
            process.fds.iter().any(|fd| matches!(fd.what, Object::Master { index: other } if other == index))
        };
        self.after.processes().filter(has).map(|process| process.pid).collect()
    }

    /// Who has a pseudo-terminal open.
    pub fn at_terminal(&self, index: u64) -> impl Iterator<Item = Pid> {
        let has = move |process: &&Process| {
            let is_it = |fd: &Descriptor| matches!(fd.what, Object::Tty { index: Some(other), .. } if other == index);
            process.fds.iter().any(is_it)
        };
        self.after.processes().filter(has).map(|process| process.pid)
    }

    /// Whether a process holds both ends of a channel itself.
    pub fn own_channel(&self, process: &Process, fd: &Descriptor) -> bool {
        match &fd.what {
            Object::Pipe { inode } => {
                let holds = |end| self.after.holders(*inode, end).any(|(other, _)| other.pid == process.pid);
                holds(End::Read) && holds(End::Write)
            }
            Object::Socket { inode } => {
                let peer = self.after.sockets.get(inode).and_then(|socket| socket.peer);
                peer.is_some_and(|peer| self.after.socket_holders(peer).any(|(other, _)| other.pid == process.pid))
            }
            _ => false,
        }
    }

    /// Who may have an end of a channel and is not in sight. A process has its channels from those that started it: of whom
    /// came into this pid namespace from outside, or was adopted, the starter is not known.
    pub fn held_out_of_sight(&self, process: &Process, fd: &Descriptor) -> Option<&'static str> {
        let is_kept = matches!(fd.what, Object::Pipe { .. } | Object::Fifo { .. } | Object::Socket { .. });
        let keeps = |fd: &Descriptor| matches!(fd.what, Object::Uring { files: 1.. });
        if is_kept && self.after.processes().any(|one| one.fds.iter().any(keeps)) {
            return Some("a file registered with an io_uring, which may be the other end");
        }
        let reader = &self.after.reader;
        if reader.sees_all() {
            return None;
        }
        let inodes: Vec<u64> = match &fd.what {
            Object::Pipe { inode } | Object::Fifo { inode, .. } => vec![*inode],
            Object::Socket { inode } => self.socket(fd)?.peer.into_iter().chain([*inode]).collect(),
            _ => return None,
        };
        let is_it = |fd: &Descriptor| match fd.what {
            Object::Pipe { inode } | Object::Fifo { inode, .. } | Object::Socket { inode } => inodes.contains(&inode),
            _ => false,
        };
        let above = std::iter::once(process.pid).chain(self.ancestors(process.pid));
        let starters = above.map_while(|pid| self.process(pid).filter(|one| one.fds_read && one.fds.iter().any(is_it)));
        let top = starters.last()?;
        let is_known = self.process(top.ppid).is_some_and(|parent| parent.fds_read) && !kind::adopted(top);
        match (is_known, reader.in_namespace) {
            (true, _) => None,
            (false, true) => Some("a process outside of this pid namespace, which may hold the other end"),
            (false, false) => Some("a process of another user, which may hold the other end"),
        }
    }

    /// Whether a process could write itself what it reads here: a FIFO that it opened both ways, or both ends of a pipe.
    pub fn writes_itself(&self, process: &Process, fd: &Descriptor) -> bool {
        match &fd.what {
            Object::Pipe { inode } | Object::Fifo { inode, .. } => {
                self.after.holders(*inode, End::Write).any(|(other, _)| other.pid == process.pid)
            }
            _ => false,
        }
    }

    /// The FIFO that a process reads here and keeps open for writing itself, so that no writer's end is its end: a channel for
    /// commands (fifo(7)). Anyone may open it, as long as it has a name.
    pub fn kept_open<'d>(&self, process: &Process, fd: &'d Descriptor) -> Option<&'d str> {
        self.named_fifo(fd).filter(|_| self.writes_itself(process, fd))
    }

    /// The FIFO that a process reads here, if it still has a name: anyone may open it and write.
    pub fn named_fifo<'d>(&self, fd: &'d Descriptor) -> Option<&'d str> {
        let Object::Fifo { path, .. } = &fd.what else { return None };
        (!path.ends_with(" (deleted)")).then_some(path.as_str())
    }

    pub fn socket(&self, fd: &Descriptor) -> Option<&'a Socket> {
        match fd.what {
            Object::Socket { inode } => self.after.sockets.get(&inode),
            _ => None,
        }
    }
}

/// A process's name as a person knows it: the script of an interpreter, else the program.
fn plain_name(process: &Process) -> String {
    let interpreters = ["node", "bun", "deno", "python", "python3", "sh", "bash", "MainThread"];
    let script = process.args.get(1).filter(|arg| !arg.starts_with('-'));
    match script {
        Some(script) if interpreters.contains(&process.comm.as_str()) => {
            format!("{} {}", process.comm, kind::stem(script))
        }
        _ => process.comm.clone(),
    }
}
