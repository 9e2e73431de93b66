//! What a snapshot holds: processes, threads, descriptors, sockets, locks, as the kernel gave them.
//!
//! Invariant: plain data without judgement. A snapshot can be written as JSON, read again, and gives the same diagnosis.

mod descriptor;
mod process;

pub(crate) use descriptor::number_in_devpts;
pub use descriptor::{Descriptor, End, Family, Lock, Mode, Object, Socket, SocketState, Traffic};
pub use process::{Call, Does, Io, Namespaces, Process, Server, Signals, State, Thread, TimeLimit, Watch};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process or thread id, as the reader's own /proc numbers them.
pub type Pid = i32;

/// A process tree at one moment, and the processes around it that share something with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When the reading began, in nanoseconds since boot.
    pub at_ns: u64,
    /// How long the reading took, in microseconds.
    pub took_us: u64,
    /// Who read.
    pub reader: Reader,
    /// The processes that were asked about.
    pub roots: Vec<Pid>,
    /// The roots and all their descendants.
    pub tree: BTreeMap<Pid, Process>,
    /// Processes outside the tree that share a pipe, a socket, a terminal or a lock with it.
    pub around: BTreeMap<Pid, Process>,
    /// The sockets that the tree holds, and their peers, by inode.
    pub sockets: BTreeMap<u64, Socket>,
    /// Connections that nobody has accepted yet: the tree's end, and the listening socket in whose queue the other end is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queued: BTreeMap<u64, u64>,
    /// The file locks of this machine that concern the tree; empty if nothing in the tree can wait for one.
    pub locks: Vec<Lock>,
    /// Whether an alarm (`alarm`, `setitimer`) is armed on this machine; the kernel does not tell whose it is.
    #[serde(default)]
    pub alarms: Alarms,
    /// What known agents say of themselves.
    pub agents: Vec<Agent>,
    /// What could not be read, and what would make it readable.
    pub lacks: Vec<Lack>,
    /// How many processes outside the tree were not read before the limit of the reading: any of them may hold an end of
    /// any channel, and a lock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Snapshot {
    /// A process of the tree or around it.
    pub fn process(&self, pid: Pid) -> Option<&Process> {
        self.tree.get(&pid).or_else(|| self.around.get(&pid))
    }

    /// The snapshot of one of its roots alone: the trees of the others are around it. Empty if that root was not there.
    #[must_use]
    pub fn of_root(mut self, root: Pid) -> Snapshot {
        if !self.tree.contains_key(&root) {
            return Snapshot::default();
        }
        let tree: Vec<Pid> = self.tree.keys().copied().filter(|pid| self.descends(*pid, root)).collect();
        let mut tree: BTreeMap<Pid, Process> = tree.iter().filter_map(|pid| self.tree.remove_entry(pid)).collect();
        std::mem::swap(&mut self.tree, &mut tree);
        let is_unread = self.unread > 0;
        self.around.extend(tree.into_iter().map(|(pid, process)| (pid, Process { has_unseen: is_unread, ..process })));
        Snapshot { roots: vec![root], ..self }
    }

    /// All processes: the tree's, then those around it.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.tree.values().chain(self.around.values())
    }

    /// The tree's processes, and those around it that are not above it: they share a channel or a lock with it.
    pub fn related(&self) -> impl Iterator<Item = &Process> {
        let is_above = |pid: Pid| self.roots.iter().any(|root| self.descends(*root, pid));
        self.tree.values().chain(self.around.values().filter(move |process| !is_above(process.pid)))
    }

    /// Who holds the given end of a pipe or FIFO: process and descriptor.
    pub fn holders(&self, inode: u64, end: End) -> impl Iterator<Item = (&Process, &Descriptor)> {
        self.processes().flat_map(move |process| {
            let has = move |fd: &&Descriptor| match &fd.what {
                Object::Pipe { inode: other } | Object::Fifo { inode: other, .. } => {
                    *other == inode && fd.mode.has(end)
                }
                _ => false,
            };
            process.fds.iter().filter(has).map(move |fd| (process, fd))
        })
    }

    /// Who holds a socket: process and descriptor.
    pub fn socket_holders(&self, inode: u64) -> impl Iterator<Item = (&Process, &Descriptor)> {
        self.processes().flat_map(move |process| {
            let has = move |fd: &&Descriptor| matches!(fd.what, Object::Socket { inode: other } if other == inode);
            process.fds.iter().filter(has).map(move |fd| (process, fd))
        })
    }

    /// The children of a process within the tree.
    pub fn children(&self, pid: Pid) -> impl Iterator<Item = &Process> {
        self.tree.values().filter(move |process| process.ppid == pid)
    }

    /// Whether `pid` is `ancestor` or descends from it.
    pub fn descends(&self, pid: Pid, ancestor: Pid) -> bool {
        let mut at = pid;
        // a chain of parents is never longer than there are processes
        for _ in 0..=self.tree.len() + self.around.len() {
            if at == ancestor {
                return true;
            }
            match self.process(at) {
                Some(process) if process.ppid > 0 => at = process.ppid,
                _ => return false,
            }
        }
        false
    }
}

/// Whether an alarm is armed on a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alarms {
    /// It may not be read: only root reads the list of timers, and a container hides it.
    #[default]
    NotKnown,
    /// No process has one.
    None,
    /// Some process has one, and so many handle alarms that each may belong to one of those.
    Some,
    /// Some process has one and does not handle it: the alarm will end it.
    Unhandled,
}

/// Who read a snapshot, and with which rights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reader {
    /// The reader's process.
    pub pid: Pid,
    /// Its effective user.
    pub uid: u32,
    /// `kernel.yama.ptrace_scope`, if the kernel has it.
    pub ptrace_scope: Option<u8>,
    /// The machine's architecture, which gives system calls their numbers.
    pub arch: String,
    /// `sysconf(_SC_CLK_TCK)`: ticks of [`Process::cpu_ticks`] in a second.
    pub ticks_per_s: u64,
    /// Whether any pid namespace but our own was seen in the tree.
    pub other_namespace: bool,
    /// Whether its own pid namespace is not the machine's first: there are processes that it cannot see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_namespace: bool,
    /// Whether it adopts the orphans below it (a subreaper), as a supervisor does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopts: bool,
}

impl Reader {
    /// Whether it can see all processes of the machine, with what they have open.
    pub fn sees_all(&self) -> bool {
        self.uid == 0 && !self.in_namespace
    }
}

/// What a known agent says of itself.
#[derive(Debug, Clone, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct Agent {
    /// Its process.
    pub pid: Pid,
    /// Which: `opencode`, `claude`, `codex`, …
    pub name: String,
    /// How it was started: `run`, `serve`, `tui`, `sdk`, …
    pub form: String,
    /// Questions and permissions that are open.
    pub asks: Vec<Ask>,
    /// How many sessions it says are busy.
    pub busy: Option<usize>,
    /// Tools that it says are running, beside open asks.
    pub running: Vec<String>,
    /// Whether its last turn is `open`, `ended`, or waits to ask its model again (`retrying`), if its records tell.
    pub turn: String,
    /// How its asks can be answered, as a command or in words.
    pub answer: String,
    /// Where that was read: `GET http://127.0.0.1:4096/question`, a log file, a transcript.
    pub sources: Vec<String>,
}

/// An open question or permission.
#[derive(Debug, Clone, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct Ask {
    /// `question` or `permission`.
    pub kind: String,
    /// Its id, if it has one.
    pub id: String,
    /// The session that asks.
    pub session: String,
    /// What is asked, at most 200 characters.
    pub text: String,
    /// What may be answered.
    pub options: Vec<String>,
    /// Whether a session below the root one asks.
    pub nested: bool,
}

/// What could not be read, and what would make it readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// What is missing.
    pub what: String,
    /// How to get it.
    pub remedy: String,
}
