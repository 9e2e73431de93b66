//! The real kernel's objects, without anything around them.
//!
//! Invariant: a wait is for something that is to come, and ends when it has; the time limit applies only to what never
//! comes.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// After this time, what was to come does not come.
const CEILING: Duration = Duration::from_secs(10);

/// A terminal that controls no session.
pub struct Tty {
    pub master: OwnedFd,
    pub slave: OwnedFd,
    pub is_open: bool,
}

impl Tty {
    pub fn new() -> Tty {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let path = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let slave = rustix::fs::open(path, flags, Mode::empty()).unwrap();
        rustix::io::ioctl_fionbio(&master, true).unwrap();
        Tty { master, slave, is_open: true }
    }

    /// Closes the master.
    pub fn hang_up(&mut self) {
        self.master = std::fs::File::open("/dev/null").unwrap().into();
        self.is_open = false;
    }

    /// All that comes out of the master, once this many bytes have come.
    pub fn comes_out(&self, expected: usize) -> Vec<u8> {
        let until = Instant::now() + CEILING;
        let mut all = Vec::new();
        // A signal key discards what is still on its way to the master: a read before it is processed would save that.
        is_there(self.slave.as_fd(), PollFlags::IN, Instant::now());
        self.waiting();
        while all.len() < expected && is_there(self.master.as_fd(), PollFlags::IN, until) {
            all.extend(drain(self.master.as_fd()));
        }
        // a poll of an empty slave waits for the worker, and this for the lock that it holds
        is_there(self.slave.as_fd(), PollFlags::IN, Instant::now());
        self.waiting();
        all.extend(drain(self.master.as_fd()));
        all
    }

    /// Waits until the master's own line discipline holds this many bytes: a signal key discards what has not arrived.
    pub fn has_come(&self, bytes: u64) {
        let until = Instant::now() + CEILING;
        while rustix::io::ioctl_fionread(&self.master).unwrap() < bytes {
            assert!(Instant::now() < until, "{bytes} bytes were to come to the master");
            std::thread::yield_now();
        }
    }

    /// How much input the kernel says there is.
    pub fn waiting(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.slave).unwrap()
    }
}

/// Waits for this event until this instant.
pub fn is_there(fd: BorrowedFd<'_>, what: PollFlags, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    let limit = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
    let mut polled = [PollFd::from_borrowed_fd(fd, what)];
    rustix::io::retry_on_intr(|| poll(&mut polled, Some(&limit))).unwrap() > 0
}

/// Waits for something that is to come.
pub fn comes(fd: BorrowedFd<'_>, what: PollFlags) -> bool {
    is_there(fd, what, Instant::now() + CEILING)
}

/// Whether the event is there now.
pub fn is_ready(fd: BorrowedFd<'_>, what: PollFlags) -> bool {
    is_there(fd, what, Instant::now())
}

/// Reads until nothing is left.
fn drain(fd: BorrowedFd<'_>) -> Vec<u8> {
    let mut all = Vec::new();
    while let Ok(bytes) = read(fd, 65_536) {
        match bytes.is_empty() {
            true => break,
            false => all.extend(bytes),
        }
    }
    all
}

/// Reads at most `max` bytes.
pub fn read(fd: BorrowedFd<'_>, max: usize) -> Result<Vec<u8>, Errno> {
    let mut space = vec![0; max];
    let n = rustix::io::retry_on_intr(|| rustix::io::read(fd, &mut space))?;
    space.truncate(n);
    Ok(space)
}

/// Writes these bytes.
pub fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    rustix::io::retry_on_intr(|| rustix::io::write(fd, bytes))
}
