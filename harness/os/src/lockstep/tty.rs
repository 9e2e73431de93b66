//! Pseudo-terminals, seen from the master.
//!
//! Invariant: what a terminal echoes, and how much is unread in it, is predicted ([`LineDiscipline`]), and the real one
//! is awaited until it has come to exactly that; anything else is an internal error. So nothing here depends on when
//! the kernel's worker runs: the master is always drained, and the worker never has anything left to do.

use super::LockstepKernel;
use super::streams::Own;
use super::table::Aim;
use crate::kernel::{Handle, InternalError, Proc};
use crate::line_discipline::LineDiscipline;
use crate::linux::descriptor;
use crate::lockstep::protocol::{Key, TtyReads, hash};
use crate::os::{Errno as Error, Read, TTY_QUOTA, TTY_ROOM_MIN, Write};
use rehang_scenario::Canon;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, LocalModes, OptionalActions, OutputModes, Winsize};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The number of rows of every terminal.
const ROWS: u16 = 24;
/// The number of columns of every terminal.
const COLUMNS: u16 = 80;
/// How many bytes are read at once; any number would do.
const READ: usize = 65_536;

/// The master of a pseudo-terminal.
#[derive(Debug)]
pub struct Master {
    fd: OwnedFd,
    /// The slave's path.
    pub slave: CString,
    /// The slave's device number.
    pub device: u64,
}

/// A terminal in the state that the prediction says.
#[derive(Debug, Default)]
pub struct Terminal {
    /// The prediction: what is unread in it, on both sides.
    line: LineDiscipline,
    /// Its master is closed.
    hung_up: bool,
    /// How many bytes were announced as printed since the master was last drained.
    announced: u64,
}

impl Terminal {
    /// Whether a read of the slave returns something.
    pub fn readable(&self) -> bool {
        self.hung_up || self.line.readable()
    }

    /// Whether a write to the slave takes something, or fails.
    pub fn writable(&self) -> bool {
        self.hung_up || self.line.room() >= TTY_ROOM_MIN
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Terminal { line, hung_up, announced } = self;
        line.canon(canon);
        canon.flag(*hung_up).num(*announced);
    }
}

impl Master {
    /// A new terminal, with the modes that the prediction is made for, even if this kernel's default differs.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open() -> Result<Master, Errno> {
        let fd = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        rustix::pty::grantpt(&fd)?;
        rustix::pty::unlockpt(&fd)?;
        let slave = rustix::pty::ptsname(&fd, Vec::new())?;
        let device = rustix::fs::stat(&slave)?.st_rdev;
        rustix::io::ioctl_fionbio(&fd, true)?;
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&fd, size)?;
        let mut modes = rustix::termios::tcgetattr(&fd)?;
        modes.input_modes = InputModes::ICRNL | InputModes::IXON;
        modes.output_modes = OutputModes::OPOST | OutputModes::ONLCR;
        modes.local_modes = LocalModes::ISIG
            | LocalModes::ICANON
            | LocalModes::IEXTEN
            | LocalModes::ECHO
            | LocalModes::ECHOE
            | LocalModes::ECHOK
            | LocalModes::ECHOCTL
            | LocalModes::ECHOKE;
        rustix::termios::tcsetattr(&fd, OptionalActions::Now, &modes)?;
        Ok(Master { fd, slave, device })
    }

    /// The master's descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// All that has come out, or what has until it is enough. A read that finds nothing waits for the worker first
    /// (`tty_buffer_flush_work`), so what programs wrote before this call is in it.
    fn collect(&self, is_enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut all = Vec::new();
        while let Read::Data(bytes) = descriptor::read(self.fd(), READ) {
            all.extend(bytes);
            if is_enough(&all) {
                break;
            }
        }
        all
    }

    /// Types a piece, and waits for its echo and until the line discipline has processed it; the slave then has this
    /// much for its readers.
    fn type_piece(
        &self,
        piece: &[u8],
        echo: &[u8],
        waiting: Option<usize>,
        limit: Duration,
    ) -> Result<(), InternalError> {
        let fault = |what: &str| {
            let what = what.to_owned();
            move |error: Errno| InternalError::Kernel { what, why: error.to_string() }
        };
        // While this is open, the end of the terminal's last process does not close the terminal.
        let peer = self.peer().map_err(fault("opening a terminal's slave"))?;
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&self.fd, piece)).map_err(fault("typing"))?;
        if written < piece.len() {
            return Err(disagreement(&piece.len(), &written));
        }
        let until = Instant::now() + limit;
        let mut seen = Vec::new();
        while seen.len() < echo.len() && echo.starts_with(&seen) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !is_readable(self.fd(), left) {
                break;
            }
            seen.extend(self.collect(|_| false));
        }
        // A poll of a slave that has nothing to read waits for the worker; this asks for the lock that the worker holds
        // while it processes a piece, whose echo comes at its end.
        is_readable(peer.as_fd(), Duration::ZERO);
        let there = rustix::io::ioctl_fionread(&peer).map_err(fault("asking a terminal for its input"))?;
        seen.extend(self.collect(|_| false));
        if seen != echo {
            return Err(disagreement(&String::from_utf8_lossy(echo), &String::from_utf8_lossy(&seen)));
        }
        match waiting {
            Some(waiting) if waiting as u64 != there => Err(disagreement(&waiting, &there)),
            _ => Ok(()),
        }
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

fn disagreement(expected: &impl std::fmt::Debug, seen: &impl std::fmt::Debug) -> InternalError {
    InternalError::Terminal { expected: format!("{expected:?}"), seen: format!("{seen:?}") }
}

fn is_readable(fd: BorrowedFd<'_>, limit: Duration) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: i64::from(limit.subsec_nanos()) };
    rustix::io::retry_on_intr(|| poll(&mut polled, Some(&limit))).is_ok_and(|n| n > 0)
}

impl LockstepKernel {
    fn master(&self, handle: Handle) -> Option<(&Master, i32)> {
        match self.own(handle)? {
            Own::Master { master, session } => Some((master, *session)),
            Own::Plain { .. } => None,
        }
    }

    fn terminal(&mut self, device: u64) -> &mut Terminal {
        self.terminals.entry(device).or_default()
    }

    /// Types the first piece of a text.
    pub(super) fn type_own(&mut self, handle: Handle, text: &[u8]) -> Result<Write, InternalError> {
        self.objects.epoch += 1;
        let Some((device, session)) = self.master(handle).map(|(m, session)| (m.device, session)) else {
            return Ok(Write::Failed(Error::BadFd));
        };
        let line = &mut self.terminal(device).line;
        let had_lines = line.readable();
        let typed = line.type_in(text)?;
        if typed.taken == 0 {
            return Ok(Write::Later);
        }
        // If nothing is echoed and a line is waiting, nothing tells when the kernel has the piece. It does not matter:
        // what comes next is put after it, and a reader that has read those lines waits for it.
        let unseen = typed.echo.is_empty() && had_lines;
        let waiting = (!unseen).then(|| line.waiting());
        if let Some((master, _)) = self.master(handle) {
            master.type_piece(&text[..typed.taken], &typed.echo, waiting, self.watchdog)?;
        }
        for sig in typed.signals {
            if let Some(foreground) = self.sessions.get(&session).map(|s| s.foreground) {
                self.follow(Aim::Group(foreground), sig)?;
            }
        }
        Ok(Write::Took(typed.taken))
    }

    /// Reads what has come out of a master.
    pub(super) fn read_terminal(&mut self, handle: Handle, max: usize) -> Result<Read, InternalError> {
        let Some(device) = self.master(handle).map(|(master, _)| master.device) else {
            return Ok(Read::Failed(Error::BadFd));
        };
        let bytes = self.terminal(device).line.drain(max);
        if !bytes.is_empty() {
            return Ok(Read::Data(bytes));
        }
        if self.objects.is_held(Key::Tty(device)) {
            return Ok(Read::Later);
        }
        // its end
        match self.master(handle).map(|(master, _)| descriptor::read(master.fd(), READ)) {
            Some(Read::Data(bytes)) => Err(disagreement(&"", &String::from_utf8_lossy(&bytes))),
            Some(read) => Ok(read),
            None => Ok(Read::Failed(Error::BadFd)),
        }
    }

    /// A participant announces what it printed.
    pub(super) fn has_printed(&mut self, device: u64, bytes: u64) {
        self.terminal(device).announced += bytes;
        self.objects.epoch += 1;
    }

    /// A participant announces what it read.
    pub(super) fn has_read(&mut self, proc: Proc, device: u64, reads: &TtyReads) -> Result<(), InternalError> {
        self.objects.epoch += 1;
        let terminal = self.terminal(device);
        let mut read = 0;
        let mut content = 0;
        for &(asked, got, times) in &reads.reads {
            for _ in 0..times {
                let predicted = match terminal.hung_up {
                    true => Some(Vec::new()),
                    false => terminal.line.read(usize::try_from(asked).unwrap_or(usize::MAX)),
                };
                read += 1;
                let predicted = predicted.map(|bytes| {
                    content = hash(content, &bytes);
                    bytes.len() as u64
                });
                if predicted != Some(got) {
                    return Err(InternalError::Lie {
                        role: self.get(proc).role.clone(),
                        announced: format!("{got} bytes as read {read} of a terminal"),
                        seen: predicted.map_or("nothing was there".to_owned(), |n| format!("{n} bytes were there")),
                    });
                }
            }
        }
        match content == reads.hash {
            true => Ok(()),
            false => Err(InternalError::Lie {
                role: self.get(proc).role.clone(),
                announced: format!("{read} reads of a terminal"),
                seen: "other bytes were there".to_owned(),
            }),
        }
    }

    /// Takes in what a participant has printed in its turn, and compares it with what it announced.
    pub(super) fn drain_terminals(&mut self, proc: Proc) -> Result<(), InternalError> {
        for own in self.handles.iter().flatten() {
            let Own::Master { master, .. } = own else { continue };
            let Some(terminal) = self.terminals.get_mut(&master.device) else { continue };
            let announced = std::mem::take(&mut terminal.announced);
            // what is printed and not announced is found with what is, or when the terminal is closed
            if announced == 0 {
                continue;
            }
            let echo = terminal.line.before_print();
            // each line's end comes out as two bytes
            let raw = |printed: &[u8]| (printed.len() - printed.iter().filter(|byte| **byte == b'\n').count()) as u64;
            // after a CR there may be the other half of a line's end
            let is_all = |printed: &[u8]| raw(printed) >= announced && !printed.ends_with(b"\r");
            let bytes = master.collect(|bytes| bytes.strip_prefix(&*echo).is_some_and(is_all));
            let Some(printed) = bytes.strip_prefix(&*echo) else {
                return Err(disagreement(&String::from_utf8_lossy(&echo), &String::from_utf8_lossy(&bytes)));
            };
            let raw = raw(printed);
            if raw != announced {
                return Err(InternalError::Lie {
                    role: self.get(proc).role.clone(),
                    announced: format!("{announced} bytes printed on a terminal"),
                    seen: format!("{raw} bytes came out"),
                });
            }
            terminal.line.printed(printed);
        }
        Ok(())
    }

    /// The room for output of the terminals that have less than what a participant may print in one turn.
    pub(super) fn scarce_room(&self) -> Vec<(Key, usize)> {
        let scarce = |(device, terminal): (&u64, &Terminal)| {
            let room = terminal.line.room();
            (!terminal.hung_up && room < 2 * TTY_QUOTA).then_some((Key::Tty(*device), room))
        };
        self.terminals.iter().filter_map(scarce).collect()
    }

    /// A terminal's master is closed: what was unread in it is gone, and a read of it gives the end.
    pub(super) fn terminal_is_hung_up(&mut self, device: u64) {
        *self.terminal(device) = Terminal { hung_up: true, ..Terminal::default() };
    }
}
