//! A kernel's tables as a [`Snapshot`]: what `/proc` would show of a cell's processes, in virtual time.
//!
//! Both kernels that keep virtual time fill the same [`Tables`] from what they know anyway, the simulated one from its
//! model, lockstep from what participants announce; nothing asks the real `/proc`. An agent, which is an event loop, is
//! shown in `epoll_wait` with a worker thread beside it; any other program in the one call that a plain program would be
//! blocked in.
//!
//! Invariant: a snapshot is a pure function of the tables. Processes, pipes, terminals and sockets are numbered in the order
//! in which they were made, so no real pid, inode, port or path is in it.

mod call;
mod names;
mod snapshot;

use crate::kernel::{Also, Proc};
use crate::os::{Disposition, Sig};
pub use names::{pid_of, proc_of};
use rehang_evidence::data::Io;
use rehang_scenario::VTime;
use rehang_trace::Name;
use std::collections::BTreeMap;

/// What a descriptor refers to, by the number of its object among those of its kind, in the order in which they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing {
    /// `/dev/null`.
    Null,
    /// The read end of a pipe.
    PipeRead(u64),
    /// The write end of a pipe.
    PipeWrite(u64),
    /// The slave of a terminal.
    Tty(u64),
    /// The master of a terminal.
    Master(u64),
    /// A listening socket.
    Listener(u64),
    /// An end of a connection: 0 connected, 1 accepted.
    Socket(u64, usize),
    /// A FIFO that is being opened: no descriptor yet.
    Fifo(u64),
    /// A file that somebody outside has locked; whether it is a database.
    Locked(u64, bool),
    /// The file whose lock the processes of the cell take in turn.
    Lock,
}

/// The leader of a group or session: a process, or the shell of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leader {
    /// This process.
    Proc(Proc),
    /// The shell of this terminal.
    Shell(u64),
    /// No process.
    Nobody,
}

/// What a process is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// It has not run yet: it is about to.
    New,
    /// It waits for this.
    Waits(Waits),
    /// It has ended, and was not reaped.
    Zombie,
}

/// What a process waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Descriptors to read from.
    pub read: Vec<u32>,
    /// Descriptors to write to.
    pub write: Vec<u32>,
    /// The deadline.
    pub until: Option<VTime>,
    /// Whether it waits for a child's end.
    pub child: bool,
}

/// A process that is not gone.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// Its place in the order of starts.
    pub proc: Proc,
    /// Its program name and arguments.
    pub argv: &'a [String],
    /// Its parent; `None` if the scheduler started it, or it was adopted.
    pub parent: Option<Proc>,
    /// Whether the scheduler started it.
    pub root: bool,
    /// The leader of its group.
    pub group: Leader,
    /// The leader of its session.
    pub session: Leader,
    /// Whether its parent is the shell of its terminal.
    pub shell: bool,
    /// Its controlling terminal.
    pub controlling: Option<u64>,
    /// Its descriptors, by number.
    pub fds: Vec<(u32, Thing)>,
    /// What it is doing.
    pub at: At,
    /// The signal that stopped it.
    pub stopped: Option<Sig>,
    /// Whether its own access to its terminal stopped it.
    pub retries: bool,
    /// What it does with signals; those that are not in it have their default.
    pub dispositions: &'a BTreeMap<Sig, Disposition>,
    /// Signals that wait for it.
    pub pending: Vec<Sig>,
    /// What it has used.
    pub used: Used,
}

/// What a process has used since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// When the process began.
    pub began: VTime,
    /// How often it was let run.
    pub turns: u64,
    /// What it read and wrote; a turn in which it did counts as one call.
    pub io: Io,
    read_in: u64,
    wrote_in: u64,
}

impl Used {
    /// A process begins.
    pub fn from(began: VTime) -> Used {
        Used { began, ..Used::default() }
    }

    /// It read this many bytes in its present turn.
    pub fn read(&mut self, bytes: u64) {
        self.io.read_bytes += bytes;
        if bytes > 0 && self.read_in != self.turns {
            self.read_in = self.turns;
            self.io.reads += 1;
        }
    }

    /// It wrote this many bytes in its present turn.
    pub fn wrote(&mut self, bytes: u64) {
        self.io.written_bytes += bytes;
        if bytes > 0 && self.wrote_in != self.turns {
            self.wrote_in = self.turns;
            self.io.writes += 1;
        }
    }
}

/// One direction of a connection: what has gone through it, and when last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Went {
    /// How many bytes there were.
    pub bytes: u64,
    /// How many pieces there were: all that was written in one turn is one piece.
    pub pieces: u32,
    /// When the last bytes went through.
    pub last: Option<VTime>,
    piece: u64,
}

impl Went {
    /// Counts bytes that go through at this time, in this turn of this kernel.
    pub fn add(&mut self, bytes: u64, now: VTime, turn: u64) {
        if bytes == 0 {
            return;
        }
        self.bytes += bytes;
        self.pieces += u32::from(self.last.is_none() || self.piece != turn);
        self.piece = turn;
        self.last = Some(now);
    }
}

/// One connection between two ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Link {
    /// The listener that it was connected to.
    pub listener: u64,
    /// When it was made.
    pub made: VTime,
    /// What has gone to each end.
    pub to: [Went; 2],
    /// How many bytes are unread at each end.
    pub unread: [u64; 2],
    /// Which ends are open.
    pub open: [bool; 2],
}

/// A party outside the cell's processes: to them, it holds the scheduler's descriptors.
#[derive(Debug, Clone, Default)]
pub struct Outsider {
    /// Its name: `wrapper`, `client`, `model`.
    pub name: Name,
    /// What it holds, and whether it waits for input there.
    pub holds: Vec<(Thing, bool)>,
    /// What else it waits for.
    pub also: Also,
}

/// All that a snapshot is made of.
#[derive(Debug, Clone, Default)]
pub struct Tables<'a> {
    /// The present virtual time.
    pub now: VTime,
    /// The processes that are not gone, in the order of starts.
    pub rows: Vec<Row<'a>>,
    /// The foreground groups of the terminals, by number.
    pub foregrounds: BTreeMap<u64, Leader>,
    /// The connections, by number.
    pub links: BTreeMap<u64, Link>,
    /// How many connections wait at each listener, by number.
    pub queues: BTreeMap<u64, u64>,
    /// Who has the lock of the cell.
    pub locker: Option<Proc>,
    /// The parties outside; the first one started the agents.
    pub outside: Vec<Outsider>,
}
