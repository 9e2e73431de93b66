//! What a snapshot holds: processes, threads, descriptors, sockets, locks, as the kernel gave them.
//!
//! Invariant: plain data without judgement. A snapshot can be written as JSON, read again, and gives the same diagnosis.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process or thread id, as the reader's own /proc numbers them.
pub type Pid = i32;

/// A process tree at one moment, and what lies around it.
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
    /// The file locks of this machine that concern the tree.
    pub locks: Vec<Lock>,
    /// What agents that we know say of themselves.
    pub agents: Vec<Agent>,
    /// What could not be read, and how it could.
    pub lacks: Vec<Lack>,
}

impl Snapshot {
    /// A process of the tree or around it.
    pub fn process(&self, pid: Pid) -> Option<&Process> {
        self.tree.get(&pid).or_else(|| self.around.get(&pid))
    }

    /// All processes: the tree's, then those around it.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.tree.values().chain(self.around.values())
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

/// Who read a snapshot, and with which rights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reader {
    /// The reader's process.
    pub pid: Pid,
    /// Its effective user.
    pub uid: u32,
    /// `kernel.yama.ptrace_scope`, where the kernel has it.
    pub ptrace_scope: Option<u8>,
    /// The machine's architecture, which gives system calls their numbers.
    pub arch: String,
    /// `sysconf(_SC_CLK_TCK)`: ticks of [`Process::cpu_ticks`] in a second.
    pub ticks_per_s: u64,
    /// Whether any pid namespace but our own was seen in the tree.
    pub other_namespace: bool,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its id in its own, innermost pid namespace.
    pub ns_pid: Pid,
    /// Its parent, 0 where there is none in sight.
    pub ppid: Pid,
    /// Its process group.
    pub pgrp: Pid,
    /// Its session.
    pub session: Pid,
    /// Its name, at most 15 bytes, as the kernel keeps it.
    pub comm: String,
    /// Its arguments; empty for a zombie. At most 64 of at most 1,024 characters each.
    pub args: Vec<String>,
    /// Its program, where it may be read.
    pub exe: Option<String>,
    /// Its working folder, where it may be read.
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
    /// What it has read and written, where it may be read.
    pub io: Option<Io>,
    /// What it does with signals.
    pub signals: Signals,
    /// Who traces it; 0: nobody.
    pub tracer: Pid,
    /// Inodes of its namespaces: pid, net, mnt; 0 where they may not be read.
    pub namespaces: Namespaces,
    /// Its threads, the first one first.
    pub threads: Vec<Thread>,
    /// Its descriptors.
    pub fds: Vec<Descriptor>,
    /// Whether its descriptors could be read.
    pub fds_read: bool,
    /// The name of its parent.
    pub parent_name: String,
    /// Whether the leader of its process group lives.
    pub group_led: bool,
    /// Whether the leader of its session lives.
    pub session_led: bool,
}

impl Process {
    /// A descriptor by number.
    pub fn fd(&self, fd: i32) -> Option<&Descriptor> {
        self.fds.iter().find(|descriptor| descriptor.fd == fd)
    }

    /// Processor time that all threads have used, in nanoseconds: exact where the kernel has schedstat.
    pub fn cpu_ns(&self) -> u64 {
        self.threads.iter().map(|thread| thread.cpu_ns).sum()
    }
}

/// A process's or thread's state, as `ps` shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// R.
    Running,
    /// S.
    #[default]
    Sleeping,
    /// D.
    Disk,
    /// T.
    Stopped,
    /// t.
    Traced,
    /// Z.
    Zombie,
    /// X, I and others.
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

/// Sets of signals; bit n-1 stands for signal n.
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
}

/// A system call that a thread is in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its number on this architecture.
    pub number: i64,
    /// Its name; empty where we have none.
    pub name: String,
    /// Its six arguments.
    pub args: [u64; 6],
    /// What it does, where we know.
    pub does: Does,
    /// How long it may still take, at most.
    pub limit: TimeLimit,
}

/// What a system call waits for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// We do not know, or it waits for nothing.
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
        /// Its path, where it could be read.
        path: Option<String>,
        /// Whether it is a FIFO.
        fifo: bool,
    },
    /// That a connection stands.
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

/// A descriptor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Descriptor {
    /// Its number.
    pub fd: i32,
    /// How it was opened.
    pub mode: Mode,
    /// What it is.
    pub what: Object,
}

/// How a descriptor was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Mode {
    #[default]
    Unknown,
    Read,
    Write,
    Both,
}

impl Mode {
    /// Whether it can be the given end.
    pub fn has(self, end: End) -> bool {
        matches!((self, end), (Mode::Both, _) | (Mode::Read, End::Read) | (Mode::Write, End::Write))
    }
}

/// An end of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum End {
    Read,
    Write,
}

/// What a descriptor is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Object {
    /// An anonymous pipe.
    Pipe {
        #[allow(missing_docs)]
        inode: u64,
    },
    /// A named pipe.
    Fifo {
        #[allow(missing_docs)]
        inode: u64,
        #[allow(missing_docs)]
        path: String,
    },
    /// A socket: see [`Snapshot::sockets`].
    Socket {
        #[allow(missing_docs)]
        inode: u64,
    },
    /// A terminal's slave side or /dev/tty.
    Tty {
        #[allow(missing_docs)]
        path: String,
        /// The number of the pseudo-terminal, where it is one.
        index: Option<u32>,
    },
    /// The master of a pseudo-terminal.
    Master {
        #[allow(missing_docs)]
        index: u32,
    },
    /// /dev/null.
    Null,
    /// A regular file.
    File {
        #[allow(missing_docs)]
        path: String,
        #[allow(missing_docs)]
        inode: u64,
        /// Device, as `major:minor` of /proc/locks.
        device: (u32, u32),
        #[allow(missing_docs)]
        offset: u64,
    },
    /// An epoll instance.
    Epoll {
        /// What it watches.
        on: Vec<Watch>,
    },
    /// An eventfd.
    Event {
        /// Its counter.
        count: u64,
    },
    /// A timer.
    Timer {
        /// Milliseconds until it fires; `None`: not armed.
        left_ms: Option<u64>,
    },
    /// Signals as a descriptor.
    Signal,
    /// A process as a descriptor.
    Process {
        /// Which; -1: it has been reaped.
        pid: Pid,
    },
    /// Changes of files as a descriptor.
    Inotify,
    /// An io_uring.
    Uring,
    /// Anything else, by what its link says.
    Other {
        #[allow(missing_docs)]
        link: String,
    },
}

/// A socket.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Socket {
    /// Its inode, which names it.
    pub inode: u64,
    /// Its family.
    pub family: Family,
    /// Its state.
    pub state: SocketState,
    /// Its own address: `127.0.0.1:4096`, a path, `@abstract`, or nothing.
    pub local: String,
    /// The other side's address.
    pub remote: String,
    /// The inode of the other side, where it is on this machine.
    pub peer: Option<u64>,
    /// Bytes (a listening socket: connections) that have come and nobody has read.
    pub unread: u64,
    /// Bytes that the other side has not taken.
    pub unsent: u64,
    /// What TCP knows of its traffic.
    pub traffic: Option<Traffic>,
}

/// What TCP knows of a connection's traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Milliseconds since data came.
    pub since_received_ms: u64,
    /// Milliseconds since data went.
    pub since_sent_ms: u64,
    /// Bytes that have come.
    pub received_bytes: u64,
    /// Bytes that have gone and were acknowledged.
    pub sent_bytes: u64,
    /// Segments in flight that were sent again.
    pub retransmits: u32,
}

/// A socket's family.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Family {
    Tcp,
    Udp,
    Unix,
    #[default]
    Other,
}

/// A socket's state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum SocketState {
    Established,
    Listening,
    Connecting,
    /// The other side has closed and we have not.
    CloseWait,
    /// Any other stage of closing.
    Closing,
    #[default]
    Unconnected,
}

/// A lock on a file, or the wait for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The kernel's number of the lock; a waiter has that of the lock that it waits for.
    pub id: u64,
    /// `FLOCK`, `POSIX`, `OFDLCK`, `LEASE`.
    pub kind: String,
    /// Whether it excludes readers.
    pub write: bool,
    /// Who holds it, or waits for it; none for a lock that belongs to an open file.
    pub pid: Option<Pid>,
    /// Whether it is a wait.
    pub waits: bool,
    /// Device of the file, as `major:minor`.
    pub device: (u32, u32),
    /// Inode of the file.
    pub inode: u64,
    /// First byte.
    pub from: u64,
    /// Last byte; `None`: to the end.
    pub to: Option<u64>,
}

/// What an agent that we know says of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its process.
    pub pid: Pid,
    /// Which: `opencode`, `claude`, `codex`, …
    pub name: String,
    /// How it was started: `run`, `serve`, `tui`, `sdk`, …
    pub form: String,
    /// Questions and permissions that are open.
    pub asks: Vec<Ask>,
    /// Sessions that it calls busy.
    pub busy: Option<usize>,
    /// A tool that it calls running, beside open asks.
    pub running: Vec<String>,
    /// Whether its last turn is `open` or `ended`, where its records tell.
    pub turn: String,
    /// How its asks can be answered, as a command or in words.
    pub answer: String,
    /// Where that was read: `GET http://127.0.0.1:4096/question`, a log file, a transcript.
    pub sources: Vec<String>,
}

/// An open question or permission.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// `question` or `permission`.
    pub kind: String,
    /// Its id, where it has one.
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

/// What could not be read, and how it could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// What is missing.
    pub what: String,
    /// How to get it.
    pub remedy: String,
}
