//! Pseudo-terminals, seen from the master.
//!
//! Invariant: when a write to the master has returned here, the kernel's line discipline has worked through it:
//! its echo can be read, its signals are sent, its lines are there for the slave. The kernel does that in a
//! worker thread, so without the flush an echo was there or not in about half of the cases (measured, Linux 6.18).

use rustix::event::{PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Rows of every terminal.
const ROWS: u16 = 24;
/// Columns of every terminal.
const COLUMNS: u16 = 80;

/// A pseudo-terminal's master.
#[derive(Debug)]
pub struct Master {
    fd: OwnedFd,
    /// The slave's path.
    pub slave: CString,
    /// The slave's device number.
    pub device: u64,
}

impl Master {
    /// A new terminal.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> Result<Master, Errno> {
        let fd = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        rustix::pty::grantpt(&fd)?;
        rustix::pty::unlockpt(&fd)?;
        let slave = rustix::pty::ptsname(&fd, Vec::new())?;
        let device = rustix::fs::stat(&slave)?.st_rdev;
        rustix::io::ioctl_fionbio(&fd, true)?;
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&fd, size)?;
        Ok(Master { fd, slave, device })
    }

    /// The descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Whether keys become signals now.
    pub fn has_signals(&self) -> bool {
        self.modes().contains(LocalModes::ISIG)
    }

    /// The local modes, which decide how what is typed is treated.
    pub fn modes(&self) -> LocalModes {
        rustix::termios::tcgetattr(&self.fd).map_or(LocalModes::empty(), |t| t.local_modes)
    }

    /// Types, and gives how much the terminal took. Keys that end a line or send a signal end a piece of their own:
    /// the line discipline is through with one piece before it gets the next.
    ///
    /// # Errors
    /// The kernel's.
    pub fn type_in(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let mut taken = 0;
        while taken < bytes.len() {
            let rest = &bytes[taken..];
            let length = rest.iter().position(|&b| ends_a_piece(b)).map_or(rest.len(), |at| at + 1);
            let before = self.peer().map(|peer| Before::of(&peer));
            let written = match rustix::io::retry_on_intr(|| rustix::io::write(&self.fd, &rest[..length])) {
                Ok(n) => n,
                Err(Errno::AGAIN) if taken > 0 => return Ok(taken),
                Err(error) => return Err(error),
            };
            taken += written;
            if let Ok(before) = before {
                self.flush_typed(&before, &rest[..written])?;
            }
            if written < length {
                break;
            }
        }
        Ok(taken)
    }

    /// Waits until the line discipline is through with what was typed: a poll of the slave that finds no input
    /// waits for the worker (`n_tty_poll`, `tty_buffer_flush_work`).
    fn flush_typed(&self, before: &Before, typed: &[u8]) -> Result<(), Errno> {
        let peer = self.peer()?;
        let there = is_readable(&peer);
        if !there || !before.there {
            // FIONREAD takes the lock that the worker holds until it is through with the line and its echo
            waiting_input(&peer);
            return Ok(());
        }
        // An older line is still unread, so that poll does not wait: look for what this piece must bring about.
        let canonical = self.modes().contains(LocalModes::ICANON);
        let signals = self.has_signals();
        let unseen = canonical && !typed.last().is_some_and(|&b| ends_a_line(b) || (signals && is_signal(b)));
        if unseen && !self.modes().contains(LocalModes::ECHO) {
            return Ok(());
        }
        let limit = Instant::now() + Duration::from_secs(1);
        while Instant::now() < limit {
            if !is_readable(&peer) || waiting_input(&peer) != before.input {
                waiting_input(&peer);
                return Ok(());
            }
            if unseen && is_readable(&self.fd) {
                waiting_input(&peer);
                return Ok(());
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// The slave, opened without a path.
    fn peer(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // SAFETY: TIOCGPTPEER takes open flags as a number and gives a new descriptor, which is ours.
        unsafe {
            match libc::ioctl(self.fd.as_raw_fd(), libc::TIOCGPTPEER, flags.bits()) {
                peer if peer >= 0 => Ok(OwnedFd::from_raw_fd(peer)),
                _ => Err(Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))),
            }
        }
    }
}

/// The slave before something is typed.
struct Before {
    there: bool,
    input: u64,
}

impl Before {
    fn of(peer: &OwnedFd) -> Before {
        Before { there: is_readable(peer), input: waiting_input(peer) }
    }
}

fn is_readable(fd: &OwnedFd) -> bool {
    let mut polled = [rustix::event::PollFd::new(fd, PollFlags::IN)];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let count = rustix::io::retry_on_intr(|| poll(&mut polled, Some(&zero)));
    count.is_ok() && polled[0].revents().contains(PollFlags::IN)
}

/// How much input the slave has (whole lines, where it is canonical).
fn waiting_input(peer: &OwnedFd) -> u64 {
    rustix::io::ioctl_fionread(peer).unwrap_or(0)
}

fn ends_a_piece(byte: u8) -> bool {
    ends_a_line(byte) || is_signal(byte)
}

/// Enter, and Ctrl-D.
fn ends_a_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x04)
}

fn is_signal(byte: u8) -> bool {
    signal_of(byte).is_some()
}

/// The signal that a key sends where the terminal's mode says so.
pub fn signal_of(byte: u8) -> Option<rehang_fakes::os::Sig> {
    use rehang_fakes::os::Sig;
    match byte {
        0x03 => Some(Sig::Int),
        0x1a => Some(Sig::Tstp),
        0x1c => Some(Sig::Quit),
        _ => None,
    }
}
