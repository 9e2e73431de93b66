//! What the tracer knows of the threads and processes of the tree.

use super::x86_64::regs::Regs;
use std::collections::BTreeMap;
use std::fs::File;

/// A thread's place in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its birth was reported, its first stop was not.
    New,
    /// The kernel runs it, or it waits in the kernel.
    Free,
    /// It sleeps: it is held in the stop before its system call.
    Parked,
    /// A signal such as SIGSTOP stopped it.
    Stopped,
    /// It is about to end.
    Exiting,
}

/// A system call that was stopped, and when virtual time ends it.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// The number of the call.
    pub number: i64,
    /// The arguments as the program gave them.
    pub arguments: [u64; 6],
    /// The address after the `syscall` instruction.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// When the wait began, in ns of virtual time.
    pub since: u64,
    /// When it ends.
    pub at: u64,
    /// The limit is an instant, not a span.
    pub is_absolute: bool,
}

impl Waiting {
    /// The call and its place in the program.
    pub fn place(&self) -> (i64, u64) {
        (self.number, self.instruction)
    }

    /// Whether it is the same call of the same place, made once more.
    pub fn is_repeated_by(&self, other: &Waiting) -> bool {
        let key = |w: &Waiting| (w.number, w.instruction, w.stack, w.arguments);
        key(self) == key(other)
    }
}

/// What is done when a system call returns.
#[derive(Debug, Clone, Copy)]
pub enum AtExit {
    /// It is a timed wait.
    Wait(Waiting),
    /// It makes a socket; the argument is its type.
    Socket(u64),
    /// It makes a POSIX timer: the clock, the address of the sigevent, where the id is written.
    TimerCreate(u64, u64, u64),
    /// Its result is the time since boot in ticks.
    Times,
    /// It writes the time since boot to this address.
    SysInfo(u64),
    /// It makes the file that stands for a device of random numbers.
    RandomFile,
}

/// A wait on a socket with a time limit of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct SocketWait {
    /// The call and the thread's count of context switches: another one is another wait.
    pub key: String,
    /// The call's number.
    pub number: i64,
    /// When it began.
    pub since: u64,
    /// When it ends.
    pub at: u64,
}

/// A thread.
pub struct Thread {
    /// Its process.
    pub pid: i32,
    /// Its ordinal among all threads of the tree; a thread that calls exec keeps it.
    pub birth: u64,
    pub state: State,
    /// It was let go since the tree was last seen asleep.
    pub is_active: bool,
    /// What is done when its system call returns.
    pub at_exit: Option<AtExit>,
    /// A wait that a signal cut; it goes on if the same call is made again.
    pub cut: Option<Waiting>,
    /// Its wait was interrupted because its time is over; it has not been seen to end yet.
    pub is_expiring: bool,
    /// The registers before its system call.
    pub regs: Option<Regs>,
    /// `/proc/PID/task/TID/wchan`.
    pub wait_channel: Option<File>,
    /// Its name.
    pub name: String,
    /// Its wait on a socket with a time limit.
    pub socket_wait: Option<SocketWait>,
    /// It waits for a child of vfork.
    pub is_in_vfork: bool,
    /// The registers after exec, while the page with the clock is mapped.
    pub mapping: Option<Regs>,
    /// Where `nanosleep` writes what is left, and how much, if a handler cuts it.
    pub rest: Option<(u64, u64)>,
    /// How many random numbers it asked for.
    pub draws: u64,
    /// The system call and the place of its waits that expired last, and how many of them did in a row.
    pub ticks: ((i64, u64), u32),
}

impl Thread {
    /// The timed wait that it is in.
    pub fn waiting(&self) -> Option<&Waiting> {
        match &self.at_exit {
            Some(AtExit::Wait(waiting)) => Some(waiting),
            _ => None,
        }
    }
}

/// A timer: the first expiry, and the span to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The next expiry, in ns of virtual time.
    pub at: u64,
    /// 0 if it expires once.
    pub every: u64,
    /// When it was set, or when it expired last.
    pub since: u64,
}

impl Schedule {
    /// What is left after this expiry.
    pub fn next(self) -> Option<Schedule> {
        (self.every > 0).then(|| Schedule { at: self.at + self.every, every: self.every, since: self.at })
    }
}

/// A POSIX timer.
#[derive(Debug, Clone, Copy)]
pub struct PosixTimer {
    pub signal: i32,
    /// The thread that is signalled; 0 for the process.
    pub tid: i32,
    pub value: u64,
    pub is_real_time: bool,
    pub is_silent: bool,
    pub schedule: Option<Schedule>,
}

/// A timerfd, known by the interval that its kernel timer is armed with.
#[derive(Debug, Clone, Copy)]
pub struct TimerFd {
    /// A process and its descriptor that refer to it.
    pub holder: (i32, i32),
    pub schedule: Option<Schedule>,
}

/// A process.
pub struct Process {
    pub birth: u64,
    /// When it was born, in ns of virtual time.
    pub born: u64,
    /// It handled a signal by which another process may have told it to end.
    pub was_told: bool,
    /// Its memory.
    pub memory: Option<File>,
    /// The address of its replaced vDSO.
    pub vdso: Option<u64>,
    /// The address of the page with its clock.
    pub page: Option<u64>,
    /// ITIMER_REAL and `alarm`.
    pub interval_timer: Option<Schedule>,
    pub posix_timers: BTreeMap<i32, PosixTimer>,
}
