//! A process, its threads, and the system calls that they are in.
//!
//! Invariant: a field that may not be read has its default, and if that could be confused with a value, another field
//! says which it is.

use super::{Descriptor, Object, Pid, Socket, SocketState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its id in its own, innermost pid namespace.
    pub ns_pid: Pid,
    /// Its parent; 0 if none is in sight.
    pub ppid: Pid,
    /// Its process group.
    pub pgrp: Pid,
    /// Its session.
    pub session: Pid,
    /// Its name, at most 15 bytes, as the kernel keeps it.
    pub comm: String,
    /// Its arguments; empty for a zombie. At most 64 of at most 1,024 characters each.
    pub args: Vec<String>,
    /// Its program, if it may be read.
    pub exe: Option<String>,
    /// Its working folder, if it may be read.
    pub cwd: Option<String>,
    /// Its user.
    pub uid: u32,
    /// Its state.
    pub state: State,
    /// The device number of its controlling terminal; 0: none.
    pub tty: u32,
    /// The foreground process group of that terminal; -1: none.
    pub tty_group: Pid,
    /// When it began, in nanoseconds since boot, to the tick.
    pub began_ns: u64,
    /// Processor time used by it, in ticks: in user mode and in the kernel.
    pub cpu_ticks: (u64, u64),
    /// Page faults that needed no reading from disk.
    pub faults: u64,
    /// What it has read and written, if that may be read.
    pub io: Option<Io>,
    /// What it does with signals.
    pub signals: Signals,
    /// The process that traces it; 0: none.
    pub tracer: Pid,
    /// Inodes of its namespaces: pid, net, mnt; 0 if they may not be read.
    pub namespaces: Namespaces,
    /// Its threads, the first one first.
    pub threads: Vec<Thread>,
    /// Its descriptors.
    pub fds: Vec<Descriptor>,
    /// Whether all of its descriptors were read. If not, `fds` may have some of them.
    pub fds_read: bool,
    /// The name of its parent.
    pub parent_name: String,
    /// Of a process around the tree: whether one that is out of sight is its child or holds an end of a channel of its, so
    /// that it may wait for more than can be seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_unseen: bool,
    /// Whether the leader of its process group lives.
    pub group_led: bool,
    /// Whether the leader of its session lives.
    pub session_led: bool,
    /// Whether it may have a POSIX timer: it has one, armed or not, or its list of them may not be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_have_timers: bool,
    /// Its descriptors whose open file has a lock, as their fdinfo tells: copies of one open file share its lock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locked_fds: Vec<i32>,
    /// Of a process of the tree that waits in memory which others may have too, and which nobody can open any more: all
    /// others that have it. `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares_with: Option<Vec<Pid>>,
    /// Of a process of the tree whose threads wait in its own memory: all other processes that have the very same memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_memory: Vec<Pid>,
    /// Descriptors that were sent to it over Unix sockets and that it has not taken yet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fds_in_flight: u64,
    /// Whether it was started to wait for a debugger before it does anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_debugger: bool,
    /// For how long it has been stopped, traced or frozen, in milliseconds, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_ms: Option<u64>,
    /// What it asks at the terminal that it reads, if it is a tool whose prompts are known and its memory has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The name by which the caller says that it is an agent ([`crate::AgentNames`]); a reading alone sets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Process {
    /// A descriptor by number.
    pub fn fd(&self, fd: i32) -> Option<&Descriptor> {
        self.fds.iter().find(|descriptor| descriptor.fd == fd)
    }

    /// The sockets on which it waits for connections, in the order of its descriptors.
    pub fn listening<'a>(&self, sockets: &'a BTreeMap<u64, Socket>) -> impl Iterator<Item = &'a Socket> {
        let socket = |fd: &Descriptor| match fd.what {
            Object::Socket { inode } => sockets.get(&inode).filter(|socket| socket.state == SocketState::Listening),
            _ => None,
        };
        self.fds.iter().filter_map(socket)
    }

    /// Processor time that all threads have used, in nanoseconds: exact if the kernel has schedstat.
    pub fn cpu_ns(&self) -> u64 {
        self.threads.iter().map(|thread| thread.cpu_ns).sum()
    }
}

/// A process's or thread's state, as `ps` shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// R: it runs, or is ready to.
    Running,
    /// S: it sleeps, and a signal wakes it.
    #[default]
    Sleeping,
    /// D: it waits in the kernel, for a disk as a rule, and no signal wakes it.
    Disk,
    /// T: stopped by a signal.
    Stopped,
    /// t: stopped by a tracer.
    Traced,
    /// Z: it has ended, and its parent has not waited for it.
    Zombie,
    /// X, I and other states.
    Other,
}

/// Inodes of namespaces; 0: may not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Namespaces {
    pub pid: u64,
    pub net: u64,
    pub mnt: u64,
}

/// What a process has read and written since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Io {
    /// Bytes by read calls.
    pub read_bytes: u64,
    /// Bytes by write calls.
    pub written_bytes: u64,
    /// Read calls.
    pub reads: u64,
    /// Write calls.
    pub writes: u64,
}

/// Sets of signals; bit n-1 is signal n.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signals {
    /// Waiting to be delivered.
    pub pending: u64,
    /// Held back.
    pub blocked: u64,
    /// Thrown away.
    pub ignored: u64,
    /// Handled by the process.
    pub caught: u64,
}

impl Signals {
    /// The signals that a set holds, in their order.
    pub fn of(set: u64) -> impl Iterator<Item = i32> {
        (1..=64).filter(move |signal| Signals::has(set, *signal))
    }

    /// Whether a set holds a signal.
    pub fn has(set: u64, signal: i32) -> bool {
        (1..=64).contains(&signal) && set >> (signal - 1) & 1 == 1
    }
}

/// One thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its id.
    pub tid: Pid,
    /// Its name.
    pub comm: String,
    /// Its state.
    pub state: State,
    /// The kernel's function that it sleeps in: a hint, names change between kernels.
    pub wchan: String,
    /// The system call that it is in.
    pub call: Option<Call>,
    /// Processor time in nanoseconds.
    pub cpu_ns: u64,
    /// Time that it was ready and waited for a processor, in nanoseconds.
    pub waited_ns: u64,
    /// How often it gave its processor up to wait; read of running threads alone.
    pub yields: Option<u64>,
    /// How often it was put on a processor.
    pub switches: u64,
    /// Whether its system call could be read. A running thread is in none.
    pub call_read: bool,
    /// The file system's server that it waits for: its call is about a file on a mount that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
}

/// A mount whose files a server keeps: over the network, or a process over FUSE.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Where it is mounted, as the process sees it.
    pub mount: String,
    /// The kind of its file system, as in /proc/filesystems: `nfs4`, `fuse.sshfs`.
    pub kind: String,
    /// What is mounted there: `host:/export`.
    pub source: String,
    /// How many requests to a FUSE server have no answer yet, of all processes; `None` for other kinds.
    pub unanswered: Option<u64>,
}

/// A system call that a thread is in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its number on this architecture.
    pub number: i64,
    /// Its name; empty if the number is not listed.
    pub name: String,
    /// Its six arguments.
    pub args: [u64; 6],
    /// What it does, if that is known.
    pub does: Does,
    /// How long it may still take, at most.
    pub limit: TimeLimit,
}

impl Call {
    /// Whether it waits for a word of memory that other processes may have too: FUTEX_PRIVATE_FLAG (128, linux/futex.h) is
    /// not set.
    pub fn is_shared_futex(&self) -> bool {
        self.does == Does::Futex && self.args[1] & 128 == 0
    }
}

/// What a system call waits for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// Not known, or it waits for nothing.
    #[default]
    Other,
    /// Bytes, or a connection, from a descriptor.
    Read {
        #[allow(missing_docs)]
        fd: i32,
    },
    /// Room in a descriptor.
    Write {
        #[allow(missing_docs)]
        fd: i32,
    },
    /// One of several descriptors (poll, select).
    Poll {
        #[allow(missing_docs)]
        on: Vec<Watch>,
    },
    /// What an epoll descriptor watches.
    Epoll {
        #[allow(missing_docs)]
        fd: i32,
    },
    /// A child's end.
    Child {
        /// As given to the call: > 0 a child in the caller's own numbering, -1 any, else a group.
        pid: Pid,
    },
    /// Another thread.
    Futex,
    /// Time alone.
    Sleep,
    /// A lock on a file.
    Lock {
        #[allow(missing_docs)]
        fd: i32,
    },
    /// That a file can be opened.
    Open {
        /// Its path, if it could be read.
        path: Option<String>,
        /// Whether it is a FIFO.
        fifo: bool,
    },
    /// That a connection is established.
    Connect {
        #[allow(missing_docs)]
        fd: i32,
    },
    /// A signal.
    Signal,
    /// A device's answer to a request.
    Ioctl {
        #[allow(missing_docs)]
        fd: i32,
        #[allow(missing_docs)]
        request: u64,
    },
    /// An io_uring completion.
    Uring {
        #[allow(missing_docs)]
        fd: i32,
    },
}

/// One descriptor under watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The descriptor.
    pub fd: i32,
    /// Whether input is waited for.
    pub input: bool,
    /// Whether room for output is waited for.
    pub output: bool,
}

/// How long a call may still take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeLimit {
    /// Not known.
    #[default]
    Unknown,
    /// For ever.
    Never,
    /// So many milliseconds as the call was given them; some of them are over.
    GivenMs(u64),
    /// So many milliseconds from the snapshot on.
    LeftMs(u64),
}
