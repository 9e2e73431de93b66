//! Signals of the real kernel: their numbers, and the descriptor from which caught ones are read.
//!
//! Invariant: no handler runs any code of ours. A caught signal is blocked and waits in a `signalfd`; the only handler
//! does nothing, and only makes a terminal access that was stopped return.

use crate::os::{Disposition, Sig};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A signal's number on this machine.
pub fn number(sig: Sig) -> i32 {
    match sig {
        Sig::Hup => libc::SIGHUP,
        Sig::Int => libc::SIGINT,
        Sig::Quit => libc::SIGQUIT,
        Sig::Term => libc::SIGTERM,
        Sig::Kill => libc::SIGKILL,
        Sig::Stop => libc::SIGSTOP,
        Sig::Cont => libc::SIGCONT,
        Sig::Tstp => libc::SIGTSTP,
        Sig::Ttin => libc::SIGTTIN,
        Sig::Ttou => libc::SIGTTOU,
        Sig::Winch => libc::SIGWINCH,
        Sig::Usr1 => libc::SIGUSR1,
    }
}

/// A set of these signals.
pub fn set(signals: impl IntoIterator<Item = Sig>) -> libc::sigset_t {
    // SAFETY: a `sigset_t` is plain memory, and `sigemptyset` makes it an empty set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for sig in signals {
            libc::sigaddset(&raw mut set, number(sig));
        }
        set
    }
}

/// Sends a signal to a process, or with a negative number to a group.
///
/// # Errors
/// The kernel's error.
pub fn send(pid: i32, sig: Sig) -> io::Result<()> {
    // SAFETY: `kill` takes two numbers and touches no memory.
    match unsafe { libc::kill(pid, number(sig)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What a new process does with its signals: all but those `ignored` have their default actions, and none is blocked.
///
/// # Errors
/// The kernel's error.
pub fn begin_anew(ignored: &[Sig]) -> io::Result<()> {
    let default = Sig::ALL.into_iter().filter(|sig| !matches!(sig, Sig::Kill | Sig::Stop) && !ignored.contains(sig));
    let none = set([]);
    // SAFETY: the actions are the kernel's own constants, and the set outlives the call. What is ignored here already was
    // where this process was forked.
    unsafe {
        for sig in default {
            libc::signal(number(sig), libc::SIG_DFL);
        }
        match libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Waits for a signal that is not blocked, as a program does that has nothing to poll.
pub fn wait_for_any() {
    // SAFETY: the mask is plain memory that outlives both calls; the one that is waited with is the one in force.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
        libc::sigsuspend(&raw const mask);
    }
}

/// What this process does with its signals.
#[derive(Debug, Default)]
pub struct Signals {
    caught: Vec<Sig>,
    ignored: Vec<Sig>,
    fd: Option<OwnedFd>,
}

impl Signals {
    /// Those of a fresh process: all default, except those that its parent ignored.
    pub fn inherited() -> Signals {
        let ignored = Sig::ALL.into_iter().filter(|&sig| {
            // SAFETY: asking for an action writes only to `action`, which is plain memory.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(number(sig), std::ptr::null(), &raw mut action) == 0
                    && action.sa_sigaction == libc::SIG_IGN
            }
        });
        Signals { ignored: ignored.collect(), ..Signals::default() }
    }

    /// Those of a fresh process whose parent ignored these.
    pub fn ignoring(ignored: &[Sig]) -> Signals {
        Signals { ignored: ignored.to_vec(), ..Signals::default() }
    }

    /// The signals that are ignored: children inherit them.
    pub fn ignored(&self) -> &[Sig] {
        &self.ignored
    }

    /// Whether a signal does what the kernel does by default.
    pub fn is_default(&self, sig: Sig) -> bool {
        !self.caught.contains(&sig) && !self.ignored.contains(&sig)
    }

    /// The descriptor that is readable when a caught signal is there.
    pub fn fd(&self) -> Option<RawFd> {
        self.fd.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Sets what this process does with a signal.
    pub fn set(&mut self, sig: Sig, disposition: Disposition) {
        self.caught.retain(|&s| s != sig);
        self.ignored.retain(|&s| s != sig);
        let handler = match disposition {
            Disposition::Ignore => {
                self.ignored.push(sig);
                libc::SIG_IGN
            }
            Disposition::Catch => {
                self.caught.push(sig);
                libc::SIG_DFL
            }
            Disposition::Default => libc::SIG_DFL,
        };
        let mask = set(self.caught.iter().copied());
        let one = set([sig]);
        let how = if disposition == Disposition::Catch { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
        // SAFETY: the sets outlive the calls; the handlers are the kernel's own constants. A caught signal is
        // blocked before its action changes, a default one unblocked after.
        unsafe {
            if how == libc::SIG_BLOCK {
                libc::sigprocmask(how, &raw const one, std::ptr::null_mut());
            }
            libc::signal(number(sig), handler);
            if how == libc::SIG_UNBLOCK {
                libc::sigprocmask(how, &raw const one, std::ptr::null_mut());
            }
            let old = self.fd.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            if old >= 0 || !self.caught.is_empty() {
                let fd = libc::signalfd(old, &raw const mask, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
                if old < 0 && fd >= 0 {
                    self.fd = Some(OwnedFd::from_raw_fd(super::descriptor::lift(fd)));
                }
            }
        }
    }

    /// The next caught signal. The kernel gives them in the order of their numbers, not of their arrival.
    pub fn take(&mut self) -> Option<Sig> {
        let fd = self.fd()?;
        // SAFETY: the kernel writes one `signalfd_siginfo`, which is plain memory, or nothing.
        let info = unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let got = libc::read(fd, (&raw mut info).cast(), size);
            (got == size as isize).then_some(info)
        };
        Sig::from_number(info?.ssi_signo.cast_signed())
    }
}

extern "C" fn nothing(_: i32) {}

/// Does something that may stop this process, so that it returns `EINTR` once the process is continued.
pub fn interrupted_by_cont<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: `nothing` is a handler of the right type that touches nothing; the old action is put back as it was.
    unsafe {
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = nothing as *const () as libc::sighandler_t;
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCONT, &raw const ours, &raw mut old);
        let done = act();
        libc::sigaction(libc::SIGCONT, &raw const old, std::ptr::null_mut());
        done
    }
}
