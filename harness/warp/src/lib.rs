//! Runs unmodified programs in virtual time.
//!
//! The tree of a command runs under `ptrace` with a seccomp filter. The kernel does everything but two things: clocks
//! show virtual time, and a wait with a time limit ends when virtual time reaches it. Virtual time jumps to the next
//! deadline once every thread of the tree is asleep, so hours of waiting take milliseconds.
//!
//! If all threads are asleep and no deadline is left, [`Verdict`] says so: a proved deadlock, a wait for something
//! outside of the tree, or undecided.
//!
//! Invariants:
//!  - the clock never jumps while a thread of the tree runs or can be woken by another one (`tests/stress.rs`);
//!  - the tree dies with its tracer (`PTRACE_O_EXITKILL`).
//!
//! It is available on Linux on x86-64; [`Warp::run`] returns [`Error::Unsupported`] elsewhere.

mod ending;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux;
mod look;

pub use ending::{Ending, Expiry, Limit, Note, Object, Source, Timer, Verdict, Wait, in_seconds};
pub use look::{Call, Exit, Jumps, Look, Next, Process, Thread};

use std::fs::File;
use std::process::Command;
use std::time::{Duration, SystemTime};

/// The default horizon: 24 hours of virtual time.
pub const HORIZON: Duration = Duration::from_secs(24 * 3600);
/// The default of [`Warp::busy`].
pub const BUSY: Duration = Duration::from_secs(30);
/// The default of [`Warp::outside`].
pub const OUTSIDE: Duration = Duration::from_secs(1);

/// Called at a look.
type OnLook<'a> = Box<dyn FnMut(&Look) -> Next + Send + 'a>;

/// A command that is to run in virtual time.
///
/// ```no_run
/// use std::process::Command;
/// let mut sleep = Command::new("sleep");
/// sleep.arg("18000");
/// let ending = rehang_warp::Warp::new(sleep).run()?;
/// assert_eq!(ending.elapsed.as_secs(), 18_000);
/// # Ok::<(), rehang_warp::Error>(())
/// ```
pub struct Warp<'a> {
    command: Command,
    settings: Settings,
    log: Option<File>,
    look: Option<(Duration, OnLook<'a>)>,
}

/// What a run is told beside its command.
#[derive(Debug, Clone)]
struct Settings {
    until: Duration,
    start: SystemTime,
    seed: Option<u64>,
    busy: Duration,
    outside: Duration,
    nobody_connects: bool,
    within: Option<Duration>,
    skip_tickers: Option<Duration>,
    last_signal: Option<i32>,
    forward_signals: bool,
}

impl<'a> Warp<'a> {
    /// A command with its arguments, environment, folder and standard streams.
    pub fn new(command: Command) -> Warp<'a> {
        let settings = Settings {
            until: HORIZON,
            start: SystemTime::now(),
            seed: None,
            busy: BUSY,
            outside: OUTSIDE,
            nobody_connects: false,
            within: None,
            skip_tickers: None,
            last_signal: None,
            forward_signals: false,
        };
        Warp { command, settings, log: None, look: None }
    }

    /// End the run at this virtual time from the start. The default is [`HORIZON`].
    #[must_use]
    pub fn until(mut self, span: Duration) -> Self {
        self.settings.until = span;
        self
    }

    /// The virtual time of day at the start, cut to a whole second. The default is the real one.
    #[must_use]
    pub fn start(mut self, at: SystemTime) -> Self {
        self.settings.start = at;
        self
    }

    /// Answer `getrandom` and reads of `/dev/urandom` from a generator with this seed, and load programs at fixed
    /// addresses. It is not secure.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }

    /// How much processor time the tree may use at one instant before virtual time flows while it computes. The default
    /// is [`BUSY`].
    #[must_use]
    pub fn busy(mut self, span: Duration) -> Self {
        self.settings.busy = span;
        self
    }

    /// How much real time the outside has to act before time jumps or the run ends, if a thread waits for it. The outside
    /// has it again after it acted. The default is [`OUTSIDE`].
    #[must_use]
    pub fn outside(mut self, span: Duration) -> Self {
        self.settings.outside = span;
        self
    }

    /// Nobody outside of the tree connects to a port on which the tree listens, or sends a datagram to one. The caller
    /// knows that; so a wait for a connection is a wait for the tree itself.
    #[must_use]
    pub fn nobody_connects(mut self) -> Self {
        self.settings.nobody_connects = true;
        self
    }

    /// End the run after this real time, with [`Verdict::OutOfTime`]. By default it may take as long as it takes.
    #[must_use]
    pub fn within(mut self, span: Duration) -> Self {
        self.settings.within = Some(span);
        self
    }

    /// Let the waits of tickers last this long. A ticker is a thread whose last hundred sleeps or waits for another thread
    /// were shorter, all in the same place, and all expired. A real machine that is busy does the same, but what a ticker
    /// is there for comes so much later. Waits for descriptors are left as they are: an event loop may have other
    /// deadlines than the one that it waits for.
    #[must_use]
    pub fn skip_tickers(mut self, span: Duration) -> Self {
        self.settings.skip_tickers = Some(span);
        self
    }

    /// If the run ends while the command lives, send this signal to the command first, and let it run at that instant
    /// until it ends by itself or waits again: it can write down what it knows. The [`Ending`] is that from before the
    /// signal.
    #[must_use]
    pub fn last_signal(mut self, signal: i32) -> Self {
        self.settings.last_signal = Some(signal);
        self
    }

    /// Pass SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1 and SIGUSR2 that this process receives on to the command, and stop
    /// with it at Ctrl-Z. The calling thread must be the only one that does not block these.
    #[must_use]
    pub fn forward_signals(mut self) -> Self {
        self.settings.forward_signals = true;
        self
    }

    /// Write each jump, expiry and signal as a line of text to a file. The lines are for people and may change.
    #[must_use]
    pub fn log(mut self, file: File) -> Self {
        self.log = Some(file);
        self
    }

    /// Call `look` at this virtual time from the start, and then when it asks to be called again. The tree is quiescent
    /// meanwhile. Deadlines at the same instant have not expired yet.
    #[must_use]
    pub fn look(mut self, first: Duration, look: impl FnMut(&Look) -> Next + Send + 'a) -> Self {
        self.look = Some((first, Box::new(look)));
        self
    }

    /// Runs the command to its end. Processes that outlive it are killed.
    ///
    /// # Errors
    /// The command cannot be started, or cannot be traced.
    pub fn run(self) -> Result<Ending, Error> {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        return linux::run(self);
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        {
            let Warp { command: _, settings: _, log: _, look: _ } = self;
            Err(Error::Unsupported)
        }
    }
}

/// Why a command did not run in virtual time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command cannot be started.
    #[error("{program}: {error}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The system refuses tracing.
    #[error("cannot trace a process: {error}; {}", remedy(.reason))]
    Trace {
        /// What the system said.
        error: std::io::Error,
        /// Why, as far as it can be told.
        reason: Refusal,
    },
    /// The kernel does not tell what threads wait for.
    #[error(
        "/proc/PID/wchan shows nothing, so it cannot be seen when all are asleep; use a kernel with CONFIG_KALLSYMS"
    )]
    NoWaitChannels,
    /// This is not Linux on x86-64.
    #[error("virtual time for real programs is available on Linux on x86-64 only")]
    Unsupported,
    /// The system failed otherwise.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Why tracing is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Yama's `ptrace_scope` has this value.
    Scope(u32),
    /// A seccomp filter or a sandbox, such as an old container runtime's.
    Sandbox,
}

/// What a person can do about it.
fn remedy(reason: &Refusal) -> &'static str {
    match reason {
        Refusal::Scope(3) => "kernel.yama.ptrace_scope is 3, which only a reboot changes: set it to 1 at boot",
        Refusal::Scope(_) => "run `sysctl kernel.yama.ptrace_scope=1` as root",
        Refusal::Sandbox => {
            "a sandbox forbids it: in a container allow ptrace (`docker run --cap-add SYS_PTRACE`), or run outside of it"
        }
    }
}
