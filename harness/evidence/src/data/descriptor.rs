//! What a process has open: descriptors, their sockets, the locks on their files.
//!
//! Invariant: an inode names a pipe, a socket or a file throughout one snapshot.

use super::{Pid, Watch};
use serde::{Deserialize, Serialize};

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
        /// Its number, if it is a pseudo-terminal: see [`Object::Master`].
        index: Option<u64>,
    },
    /// The master of a pseudo-terminal.
    Master {
        /// Its number. A container or a sandbox may have a devpts of its own, which counts from 0 again: the minor number of
        /// such a devpts is in the upper 32 bits, those of the reader's own devpts are 0.
        index: u64,
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
        /// Whether nothing of it comes after the offset: what is read there is nothing, until somebody adds to it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        at_end: bool,
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
    /// The ends of its children as a descriptor: SIGCHLD alone.
    Children,
    /// A process as a descriptor.
    Process {
        /// Which; -1: it has been reaped.
        pid: Pid,
    },
    /// Changes of files as a descriptor.
    Inotify,
    /// An io_uring.
    Uring {
        /// How many files are registered with it: it keeps them open without a descriptor.
        #[serde(default)]
        files: u64,
    },
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
    /// The inode of the other side, if it is on this machine.
    pub peer: Option<u64>,
    /// Bytes that have come and have not been read; for a listening socket, connections that have not been accepted.
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
    /// Segments with data that have come; 0 if the kernel does not count them.
    pub received_pieces: u32,
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lock {
    /// The kernel's number of the lock; a waiter has that of the lock that it waits for.
    pub id: u64,
    /// `FLOCK`, `POSIX`, `OFDLCK`, `LEASE`.
    pub kind: String,
    /// Whether it excludes readers.
    pub write: bool,
    /// Who holds it, or waits for it; `None` for a lock that belongs to an open file.
    pub pid: Option<Pid>,
    /// Whether it is a wait.
    pub waits: bool,
    /// Device of the file, as `major:minor`.
    pub device: (u32, u32),
    /// Inode of the file.
    pub inode: u64,
    /// The first byte of the file that it covers.
    pub from: u64,
    /// The last byte that it covers; `None`: to the end of the file.
    pub to: Option<u64>,
}

/// The number of a pseudo-terminal within its devpts, of one as [`Object::Master`] has it.
pub(crate) fn number_in_devpts(pty: u64) -> u32 {
    pty as u32
}
