//! What the scheduler needs of a kernel: processes that run one at a time, and its own ends of their streams.
//!
//! Invariants: nothing runs except by [`Kernel::run`]; no call blocks for longer than a participant takes to come to
//! its next wait; what a call changed is in [`Kernel::happened`] when it returns.

use crate::line_discipline::NotModelled;
use crate::os::{Errno, Exit, Read, Sig, Write};
use rehang_evidence::Snapshot;
use rehang_scenario::{Canon, Terminal, VTime, plan::Plan};
use rehang_trace::{Fact, Name};
use smallvec::SmallVec;

/// A process: its place in the order of starts, from 0. The agent is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Proc(pub u32);

/// One of the scheduler's own descriptors: its end of a pipe, a terminal or a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u32);

/// An agent to start. It becomes the leader of a session and of a process group of its own
/// (in a background group of a session that a shell leads, with [`Terminal::TtyBackground`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Its role: `agent`; a restarted one is `agent~2`.
    pub role: String,
    /// Its program name and arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// The plan that it plays.
    pub plan: Plan,
    /// How its streams are connected.
    pub terminal: Terminal,
}

/// The scheduler's ends of an agent's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Streams {
    /// The write end of its stdin, if that is a pipe that is open.
    pub stdin: Option<Handle>,
    /// The read end of its stdout.
    pub stdout: Option<Handle>,
    /// The read end of its stderr.
    pub stderr: Option<Handle>,
    /// The master of its terminal.
    pub tty: Option<Handle>,
}

/// A party that the scheduler plays: to the processes, it holds the scheduler's descriptors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Its name: `wrapper`, `client`, `model`. One that holds nothing is in no snapshot, and needs none.
    pub name: Name,
    /// The descriptors, and whether each is being read.
    pub holds: Vec<(Handle, bool)>,
    /// What else it waits for.
    pub also: Also,
}

/// What a party waits for beside its descriptors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Also {
    /// Nothing.
    #[default]
    Nothing,
    /// A timer of its own, which ends then.
    Until(VTime),
    /// Somebody who can reach it, or timers of its own: its descriptors do not tell.
    Others,
}

/// Usually few things: up to four take no memory of their own.
pub type Few<T> = SmallVec<[T; 4]>;

/// One change that a call of the kernel made.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// The process it happened to, or that said it.
    pub role: Name,
    /// What happened.
    pub what: Change,
}

/// A change in the table of processes, or a statement of a process.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It was started by this role (empty: by the scheduler).
    Spawned {
        /// The parent's role.
        parent: String,
        /// Its program name and arguments.
        argv: Vec<String>,
    },
    /// It ended, in this way.
    Ended(Exit),
    /// It was stopped by this signal.
    Stopped(Sig),
    /// It was continued after a stop.
    Continued,
    /// Its parent ended, and the subreaper adopted it.
    Adopted,
    /// It sent a signal to this role (to a group: its leader's role and a star).
    Signalled {
        /// The role that the signal was sent to.
        to: String,
        /// The signal that was sent.
        sig: Sig,
    },
    /// It states a fact for the trace.
    Fact(Fact),
}

/// What was left when a cell was cleared away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The process's role.
    pub role: String,
    /// Its program name and arguments.
    pub argv: Vec<String>,
}

/// An internal error, or a fake whose announcement is false: never a verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InternalError {
    /// A participant said nothing for this long, in real time.
    #[error("{role} was silent for {real_ms} ms while {doing}")]
    Silent {
        /// The participant's role.
        role: String,
        /// How long it was silent, in milliseconds of real time.
        real_ms: u64,
        /// What it was to do.
        doing: String,
    },
    /// A participant's announcement is not what the scheduler's own descriptors show.
    #[error("{role} announced {announced}, but {seen}")]
    Lie {
        /// The participant's role.
        role: String,
        /// What it announced.
        announced: String,
        /// What the scheduler sees instead.
        seen: String,
    },
    /// The kernel refused what the stage needs.
    #[error("{what}: {why}")]
    Kernel {
        /// The operation that was tried.
        what: String,
        /// The kernel's error, with a remedy if there is one.
        why: String,
    },
    /// A fake could not be started.
    #[error("{0}")]
    Fake(String),
    /// A hang was claimed, but its cycle does not repeat as it did: the compared state is not whole.
    #[error("a cycle of {cycle_ms} ms was taken for a lasso, but {why}")]
    Proof {
        /// How long the cycle is, in virtual time.
        cycle_ms: u64,
        /// What differs between the two runs of the cycle.
        why: String,
    },
    /// The kernel took fewer bytes than it always takes.
    #[error("{what}: it took {took} of {bytes} bytes")]
    Short {
        /// Who wrote, and to what.
        what: String,
        /// How many bytes were written.
        took: usize,
        /// How many bytes there were to write.
        bytes: usize,
    },
    /// A terminal did something other than the model of its line discipline predicts; lockstep relies on that model.
    #[error("a terminal was to give {expected:?} to what was typed, and gave {seen:?}")]
    Terminal {
        /// The echo that was predicted, or how much there is to read.
        expected: String,
        /// What the kernel gave instead.
        seen: String,
    },
    /// A key was typed that the terminals of no stage know.
    #[error(transparent)]
    NotModelled(#[from] NotModelled),
}

/// A kernel with processes on it, simulated or real.
pub trait Kernel {
    /// Sets the time of what happens from here on, until it is set again or a process is let run.
    fn set_now(&mut self, now: VTime);

    /// What `/proc` would show of the processes now, according to the kernel's tables: see [`crate::tables`]. The first
    /// party is the one that started the agents. Changes nothing, and asks no process.
    fn snapshot(&self, parties: &[Party]) -> Snapshot;

    /// Starts an agent. It has not run yet when this returns.
    ///
    /// # Errors
    /// An internal error.
    fn start(&mut self, launch: &Launch) -> Result<(Proc, Streams), InternalError>;

    /// The live processes that can run at `now`, in order: one of their descriptors is ready, a caught signal
    /// or a child's end is there, their deadline has come, or they have never run.
    fn ready(&mut self, now: VTime) -> Result<Few<Proc>, InternalError>;

    /// The earliest deadline after this time that a process waits for.
    fn deadline(&self, after: VTime) -> Option<VTime>;

    /// Lets one process run until it waits, stops or ends. Its children have started (and not run) by then.
    fn run(&mut self, proc: Proc, now: VTime) -> Result<(), InternalError>;

    /// The changes since the last call, in order.
    fn happened(&mut self) -> Vec<Happened>;

    /// The role of a process.
    fn role(&self, proc: Proc) -> &str;

    /// Whether a process is alive (stopped is alive; a zombie is not).
    fn alive(&self, proc: Proc) -> bool;

    /// The process of this role.
    fn find(&self, role: &str) -> Option<Proc>;

    /// How many direct children a process has, as `pgrep -P` would count them: with zombies, in the order of starts.
    fn children(&mut self, of: Proc) -> Result<u32, InternalError>;

    /// Each live process's role and what it waits for (`stopped` if it is stopped), in the order of starts.
    fn waits(&self) -> Vec<(String, String)>;

    /// Sends a signal from the scheduler to a process, or to its process group. A process that it ends has ended when
    /// this returns.
    fn kill(&mut self, to: Proc, group: bool, sig: Sig) -> Result<(), InternalError>;

    /// Reads up to `max` bytes from one of the scheduler's own descriptors.
    fn read(&mut self, handle: Handle, max: usize) -> Result<Read, InternalError>;

    /// Writes to one of the scheduler's own descriptors as much as it takes now.
    fn write(&mut self, handle: Handle, bytes: &[u8]) -> Result<Write, InternalError>;

    /// Closes one of the scheduler's own descriptors; a terminal's master is hung up. With `reset`, a connection
    /// is reset. Closing twice is no error.
    fn close(&mut self, handle: Handle, reset: bool) -> Result<(), InternalError>;

    /// Whether an attempt to connect to this port is answered now: its listener's queue has room, or no process listens
    /// there and the attempt is refused.
    fn has_room(&self, port: u16) -> bool;

    /// Connects to a port on which a participant listens, and whose queue has room. A full queue would let a client
    /// wait until it has room, on the kernel's own clock.
    fn connect(&mut self, port: u16) -> Result<Result<Handle, Errno>, InternalError>;

    /// Listens for participants (the model's server): a handle to accept on, and the port.
    fn listen(&mut self) -> Result<(Handle, u16), InternalError>;

    /// Takes a connection that waits.
    fn accept(&mut self, handle: Handle) -> Result<Option<Handle>, InternalError>;

    /// Writes the state of all processes and of everything in flight between them.
    fn canon(&mut self, canon: &mut Canon) -> Result<(), InternalError>;

    /// The live processes that hold the other end of one of the scheduler's own descriptors, in the order of starts.
    fn holders(&self, handle: Handle) -> Vec<Proc>;

    /// The live processes that listen on a port, in the order of starts.
    fn listeners(&self) -> Vec<Proc>;

    /// Ends whatever is left, closes all handles and waits until nothing remains. Returns which processes were alive,
    /// in the order of starts. After it the world can start the next cell.
    fn clear(&mut self) -> Result<Vec<Left>, InternalError>;
}
