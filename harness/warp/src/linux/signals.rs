//! Signals that this process receives and passes on to the command.
//!
//! They are blocked and fetched, so that no handler is installed. Those that the terminal sends reach the command by
//! themselves, since it is in the same process group.

use libc::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, siginfo_t, sigset_t};
use std::time::{Duration, Instant};

const PASSED_ON: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP];
/// How often signals are fetched while the tree jumps from deadline to deadline.
const EVERY: Duration = Duration::from_millis(1);

/// The set of signals that are passed on.
fn set() -> sigset_t {
    // SAFETY: the set is initialized by `sigemptyset`.
    unsafe {
        let mut set: sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in PASSED_ON {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Signals are blocked in the thread that made this, and in those that it starts, until it is dropped.
pub struct Blocked {
    before: sigset_t,
}

impl Blocked {
    pub fn new() -> Blocked {
        // SAFETY: both sets outlive the call.
        unsafe {
            let mut before: sigset_t = std::mem::zeroed();
            let set = set();
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            Blocked { before }
        }
    }
}

impl Blocked {
    /// The signals that were blocked before: those that the command is to begin with.
    pub fn before(&self) -> sigset_t {
        self.before
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let (set, now) = (set(), libc::timespec { tv_sec: 0, tv_nsec: 0 });
        // SAFETY: all structures outlive the calls.
        unsafe {
            // they were meant for the command, which has ended: Ctrl-C reached it from the terminal
            while libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const now) > 0 {}
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// Passes signals on.
pub struct Forwarder {
    set: sigset_t,
    last: Instant,
}

impl Forwarder {
    pub fn new() -> Forwarder {
        Forwarder { set: set(), last: Instant::now() }
    }

    /// Passes on what has been received; whether there was a signal for the command.
    pub fn forward(&mut self, to: i32) -> bool {
        let mut any = false;
        if self.last.elapsed() < EVERY {
            return any;
        }
        self.last = Instant::now();
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        loop {
            // SAFETY: all structures outlive the call; the kernel fills in `info` if it returns a signal.
            let (signal, by_kernel) = unsafe {
                let mut info: siginfo_t = std::mem::zeroed();
                (libc::sigtimedwait(&raw const self.set, &raw mut info, &raw const now), info.si_code > 0)
            };
            match signal {
                SIGTSTP => super::sys::kill(std::process::id() as i32, libc::SIGSTOP),
                1.. if !by_kernel => {
                    super::sys::kill(to, signal);
                    any = true;
                }
                1.. => {}
                _ => return any,
            }
        }
    }
}
