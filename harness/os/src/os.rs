//! What a persona may ask of an operating system, and how it says what it waits for.
//!
//! A persona is a [`Program`]: a state machine that is resumed, does all it can without blocking, and says
//! what it waits for. The same program runs on the simulated kernel, under the scheduler's clock on the
//! real one, and alone on the wall clock.
//!
//! Invariants: no call of [`Os`] blocks; a wake-up without cause is harmless; a program reads no clock except
//! [`Os::now`] and no environment except [`Os::env`]; between two resumes its state does not change.

use rehang_scenario::{Canon, VTime, plan::Plan};
use rehang_trace::Fact;

/// A descriptor of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(pub u32);

/// Standard input.
pub const STDIN: Fd = Fd(0);
/// Standard output.
pub const STDOUT: Fd = Fd(1);
/// Standard error.
pub const STDERR: Fd = Fd(2);

/// How many connections may wait at a listener that accepts none: Node's default, near Bun's 512.
pub const BACKLOG: i32 = 511;

/// A child of one process: its ordinal, from 1. The child of role `agent` has the role `agent.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Child(pub u32);

/// How many bytes of a connection can be on their way, written at one end and not read at the other, in each direction.
///
/// A kernel's own limit depends on how its buffers have grown by then. This is what it always takes (Linux 6.18, loopback:
/// more than a megabyte), so that both stages take the same.
pub const SOCKET_WINDOW: usize = 65_536;

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// These bytes; at least one.
    Data(Vec<u8>),
    /// The end: no writer is left, or the kernel's line discipline saw Ctrl-D.
    Eof,
    /// Nothing is there now.
    Later,
    /// An error, such as `EIO` of a terminal that was hung up.
    Failed(Errno),
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// How many of the bytes were taken; never 0.
    Took(usize),
    /// None is taken now.
    Later,
    /// An error, such as `EPIPE`.
    Failed(Errno),
}

/// The errors that a persona can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Errno {
    Pipe,
    Io,
    BadFd,
    NoTty,
    NoDevice,
    NotPermitted,
    NoProcess,
    Refused,
    Reset,
    InUse,
    TooBig,
}

/// The signals that are modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Sig {
    Hup,
    Int,
    Quit,
    Term,
    Kill,
    Stop,
    Cont,
    Tstp,
    Ttin,
    Ttou,
    Winch,
    Usr1,
}

impl Sig {
    /// All of them, in this order.
    pub const ALL: [Sig; 12] = {
        use Sig::*;
        [Hup, Int, Quit, Term, Kill, Stop, Cont, Tstp, Ttin, Ttou, Winch, Usr1]
    };

    /// The name, without `SIG`.
    pub fn name(self) -> &'static str {
        match self {
            Sig::Hup => "HUP",
            Sig::Int => "INT",
            Sig::Quit => "QUIT",
            Sig::Term => "TERM",
            Sig::Kill => "KILL",
            Sig::Stop => "STOP",
            Sig::Cont => "CONT",
            Sig::Tstp => "TSTP",
            Sig::Ttin => "TTIN",
            Sig::Ttou => "TTOU",
            Sig::Winch => "WINCH",
            Sig::Usr1 => "USR1",
        }
    }

    /// The number, as Linux has it on x86 and ARM.
    pub fn number(self) -> u8 {
        match self {
            Sig::Hup => 1,
            Sig::Int => 2,
            Sig::Quit => 3,
            Sig::Kill => 9,
            Sig::Usr1 => 10,
            Sig::Term => 15,
            Sig::Cont => 18,
            Sig::Stop => 19,
            Sig::Tstp => 20,
            Sig::Ttin => 21,
            Sig::Ttou => 22,
            Sig::Winch => 28,
        }
    }

    /// The signal of this name.
    pub fn from_name(name: &str) -> Option<Sig> {
        Sig::ALL.into_iter().find(|sig| sig.name() == name)
    }

    /// Whether it stops a process that has this disposition, and whose group is orphaned or not.
    pub fn stops(self, disposition: Disposition, orphaned: impl FnOnce() -> bool) -> bool {
        match self {
            Sig::Stop => true,
            Sig::Tstp | Sig::Ttin | Sig::Ttou => disposition == Disposition::Default && !orphaned(),
            _ => false,
        }
    }

    /// The signal of this [`number`](Sig::number).
    pub fn from_number(number: i32) -> Option<Sig> {
        Sig::ALL.into_iter().find(|sig| i32::from(sig.number()) == number)
    }
}

/// Adds a signal to those that wait for a process. The kernel gives them in the order of their numbers, each once.
pub(crate) fn pend(pending: &mut Vec<Sig>, sig: Sig) {
    if !pending.contains(&sig) {
        let at = pending.partition_point(|other| other.number() < sig.number());
        pending.insert(at, sig);
    }
}

/// What a process does with a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Disposition {
    /// The kernel's default. Children start with it, unless it is ignored.
    Default,
    /// Ignored; children inherit that.
    Ignore,
    /// Caught: it comes out of [`Os::take_signal`].
    Catch,
}

/// How a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It ended by itself, with this code.
    Code(u8),
    /// It was ended by this signal.
    Signal(Sig),
}

/// The address on which a server is to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    /// The address of this machine.
    pub address: std::net::Ipv4Addr,
    /// The port; 0 for a free one.
    pub port: u16,
}

/// Whom a signal goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// One of the process's children.
    Child(Child),
    /// A child's process group, which must be its own (see [`Group`]).
    ChildGroup(Child),
    /// The process itself.
    Itself,
    /// The process's own group.
    OwnGroup,
}

/// The kind of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FdKind {
    Tty,
    Pipe,
    /// A character device that is no terminal: `/dev/null`, or a terminal that was hung up, which `isatty` denies
    /// (`hung_up_tty_ioctl` gives `EIO`).
    Null,
    Socket,
    /// It is not open.
    Closed,
}

/// What a child gets as one of its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stdio {
    /// `/dev/null`.
    Null,
    /// A descriptor of the parent's (a duplicate of it; the parent keeps its own until it closes it).
    Fd(Fd),
    /// Not open at all.
    Closed,
}

/// The process group and session of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// The parent's.
    Inherit,
    /// A group of its own in the parent's session: a background group, if the session has a terminal.
    New,
    /// A session of its own, without a controlling terminal.
    Session,
}

/// A process that is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// Program name and arguments; the name says which fake: `fake-tool`, `fake-claude`, …
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Its standard input.
    pub stdin: Stdio,
    /// Its standard output.
    pub stdout: Stdio,
    /// Its standard error.
    pub stderr: Stdio,
    /// Its group and session.
    pub group: Group,
}

/// How many bytes a terminal takes from a process in one resume: with two for each line's end, these are at most the
/// 4,096 bytes of the kernel's buffer, so that the master is always drained before it can fill.
pub const TTY_QUOTA: usize = 2_048;

/// The least room of a terminal that counts as room, in bytes: a line's end needs two.
pub const TTY_ROOM_MIN: usize = 2;

/// How many of these bytes a terminal with this much room takes: a line's end goes out as two.
pub fn tty_takes(bytes: &[u8], mut room: usize) -> usize {
    let fits = |byte: &&u8| {
        if room < TTY_ROOM_MIN {
            return false;
        }
        room -= 1 + usize::from(**byte == b'\n');
        true
    };
    bytes.iter().take_while(fits).count()
}

/// The operating system, as one process sees it. No call blocks.
pub trait Os {
    /// Virtual time, or the wall clock's time if the program runs alone.
    fn now(&self) -> VTime;
    /// The value of a variable of the process's environment.
    fn env(&self, key: &str) -> Option<String>;
    /// The whole environment, in the order in which it was given: what a shell passes on to its children.
    fn envs(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// The wall clock at [`VTime::ZERO`], in milliseconds since 1970. The world of a stage begins in 1970.
    fn epoch_ms(&self) -> u64 {
        0
    }
    /// Whether the process runs on the wall clock, outside of any scenario.
    fn is_alone(&self) -> bool {
        false
    }
    /// The folder that the process works in; `None` on a stage, whose processes have none.
    fn cwd(&self) -> Option<String> {
        None
    }
    /// The names of what is in a folder, in no order; none if it cannot be read. A stage's processes have no disk.
    fn entries(&self, folder: &str) -> Vec<String> {
        let _ = folder;
        Vec::new()
    }
    /// A file's text; `None` if it cannot be read, and on a stage.
    fn file(&self, path: &str) -> Option<String> {
        let _ = path;
        None
    }
    /// Adds to a file's end, and makes it and its folders if they are not there. What cannot be written is lost, as is
    /// all on a stage.
    fn append(&mut self, path: &str, text: &str) {
        let _ = (path, text);
    }
    /// The process's own role, such as `agent.1`; `alone` if it runs without a scheduler.
    fn role(&self) -> &str;

    /// Reads at most `max` bytes.
    fn read(&mut self, fd: Fd, max: usize) -> Read;
    /// Writes as much as the descriptor takes now. A terminal takes at most [`TTY_QUOTA`] bytes a resume, and none if
    /// too much in it is unread.
    fn write(&mut self, fd: Fd, bytes: &[u8]) -> Write;
    /// Closes a descriptor. It is no error if it is not open.
    fn close(&mut self, fd: Fd);
    /// What a descriptor is now: a terminal is one until it is hung up.
    fn kind(&self, fd: Fd) -> FdKind;
    /// A new pipe: its read end and its write end. It holds 65,536 bytes.
    fn pipe(&mut self) -> (Fd, Fd);

    /// Opens `/dev/tty`: `NoDevice` without a controlling terminal.
    fn open_tty(&mut self) -> Result<Fd, Errno>;
    /// Sets a terminal to the mode that the kernel makes it with: echo, whole lines, signals by key. No fake sets another.
    /// In a background group this stops the process (SIGTTOU), and it is `Later`.
    fn set_tty(&mut self, fd: Fd) -> Write;
    /// A terminal's rows and columns.
    fn tty_size(&self, fd: Fd) -> Option<(u16, u16)>;

    /// Listens on a free port of 127.0.0.1.
    fn listen(&mut self) -> Result<(Fd, u16), Errno>;
    /// Listens on the address that a command line names. A stage has its own ports, and gives a free one whatever is
    /// asked for: no trace names one. `InUse` if another process listens there.
    fn listen_at(&mut self, wish: Listen) -> Result<(Fd, u16), Errno> {
        let _ = wish;
        self.listen()
    }
    /// Accepts a waiting connection.
    fn accept(&mut self, fd: Fd) -> Option<Fd>;
    /// Connects to a port of 127.0.0.1.
    fn connect(&mut self, port: u16) -> Result<Fd, Errno>;
    /// Connects to a server that takes the connection and never reads from it; with `answer`, it answers once with these
    /// bytes, as if it had been asked something, and then does no more.
    fn connect_mute(&mut self, answer: &[u8]) -> Result<Fd, Errno>;
    /// Begins to open, for reading, a FIFO that no process has open for writing: the descriptor is never ready. A process
    /// that waits for it is in its `open`, and has no descriptor yet.
    fn open_fifo(&mut self) -> Result<Fd, Errno>;
    /// Opens a file that somebody outside the cell has locked for ever: the descriptor is never ready. A process that waits
    /// for it is in its `flock`; with `database`, the file is an SQLite database, whose busy handler naps instead.
    fn open_locked(&mut self, database: bool) -> Result<Fd, Errno>;
    /// Opens the file whose lock the processes of a cell take in turn: the descriptor is ready when nobody has the lock.
    /// A process that waits for it is in its `flock`.
    fn open_lock(&mut self) -> Result<Fd, Errno>;
    /// Takes the lock of a descriptor that [`Os::open_lock`] gave, unless another descriptor has it. It is let go when
    /// the descriptor is closed.
    fn try_lock(&mut self, fd: Fd) -> bool;

    /// Starts a process: `TooBig` if its arguments or its environment do not fit ([`crate::exec::fits`]).
    fn spawn(&mut self, spawn: Spawn) -> Result<Child, Errno>;
    /// Reaps a child that has ended. A stopped child has not.
    fn try_wait(&mut self, child: Child) -> Option<Exit>;
    /// Sends a signal. A process that it ends has ended when this returns.
    fn kill(&mut self, target: Target, sig: Sig) -> Result<(), Errno>;
    /// Makes the process the leader of a new session without a controlling terminal.
    fn setsid(&mut self) -> Result<(), Errno>;
    /// Sets what the process does with a signal.
    fn on_signal(&mut self, sig: Sig, disposition: Disposition);
    /// The next caught signal, if any.
    fn take_signal(&mut self) -> Option<Sig>;

    /// States a fact for the trace. Facts are claims: the judge checks them against the wire.
    fn note(&mut self, fact: Fact);
}

/// What a program waits for. Any of it resumes the program; a caught signal always does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wait {
    /// Descriptors to read from (or to accept on).
    pub read: Vec<Fd>,
    /// Descriptors to write to.
    pub write: Vec<Fd>,
    /// The deadline.
    pub until: Option<VTime>,
    /// Whether a child's end resumes it.
    pub child: bool,
    /// What it waits for, in one word: `stdin`, `tty`, `bash`, `question`, `permission`, `model`, `client`, …
    pub on: &'static str,
}

/// What a program does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// It waits.
    Wait(Wait),
    /// It exits with this code.
    Exit(u8),
}

/// The name of the program that a command line starts, without its folder; empty if there is none.
pub fn program_name(argv: &[String]) -> &str {
    argv.first().map_or("", |path| path.rsplit('/').next().unwrap_or(""))
}

/// Finds the program for a command line.
///
/// # Errors
/// An unknown program, or arguments that do not fit.
pub type Programs = fn(&[String], Option<&Plan>) -> Result<Box<dyn Program>, CannotStart>;

/// Why a program does not start: what it says on its own stderr before it exits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotStart(String);

impl CannotStart {
    /// An error with this text, or with that of another error.
    pub fn new(why: impl ToString) -> CannotStart {
        CannotStart(why.to_string())
    }
}

/// A persona or another fake: a state machine over an [`Os`].
pub trait Program {
    /// Does all that can be done now.
    fn resume(&mut self, os: &mut dyn Os) -> Next;
    /// Writes all of the state that a later resume can read.
    fn canon(&self, canon: &mut Canon);
}
