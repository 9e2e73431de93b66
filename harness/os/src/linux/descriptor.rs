//! Non-blocking descriptors of the real kernel.
//!
//! Invariant: what a persona opens has a real number of 5 or more, so that 0 to 4 are free to be what a child
//! needs them to be. The persona sees its own numbers, the lowest free ones, as POSIX gives them.

use super::process::give_up;
use crate::lockstep::protocol::{Key, LIFELINE_FD};
use crate::os::{Errno, FdKind, Read, Write};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::termios::{LocalModes, OptionalActions};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The lowest real number of a descriptor that we open: one that is none of those that a child is given.
pub const LOWEST: RawFd = LIFELINE_FD + 1;

/// The capacity of a pipe, in bytes (the default of Linux).
pub const PIPE_BYTES: usize = 65_536;

/// Moves a descriptor of ours out of the way; if it cannot be moved, it keeps its number.
pub fn lift(fd: RawFd) -> RawFd {
    if fd >= LOWEST {
        return fd;
    }
    // SAFETY: `fd` is ours and open; the copy takes its place.
    unsafe {
        match libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, LOWEST) {
            copy if copy >= 0 => {
                libc::close(fd);
                copy
            }
            _ => fd,
        }
    }
}

/// A descriptor with a number of [`LOWEST`] or more.
pub fn lifted(fd: OwnedFd) -> OwnedFd {
    use std::os::fd::IntoRawFd;
    // SAFETY: `lift` gives back a descriptor that we own, and the old one is gone if it is another.
    unsafe { OwnedFd::from_raw_fd(lift(fd.into_raw_fd())) }
}

/// A number of [`LOWEST`] or more for a descriptor that may be below.
pub struct Lifted {
    number: RawFd,
    copied: bool,
}

impl Lifted {
    /// The descriptor itself, or a copy of it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn new(fd: RawFd) -> io::Result<Lifted> {
        if fd >= LOWEST {
            return Ok(Lifted { number: fd, copied: false });
        }
        // SAFETY: duplicating a number touches no memory; if it is not open, that is an error.
        match unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, LOWEST) } {
            number if number >= 0 => Ok(Lifted { number, copied: true }),
            _ => match io::Error::last_os_error() {
                // a limit of open files that is below the number asked for (fcntl(2))
                error if error.raw_os_error() == Some(libc::EINVAL) => Err(io::Error::from_raw_os_error(libc::EMFILE)),
                error => Err(error),
            },
        }
    }

    /// The real number of the descriptor.
    pub fn number(&self) -> RawFd {
        self.number
    }
}

impl Drop for Lifted {
    fn drop(&mut self) {
        if self.copied {
            // SAFETY: the copy is ours.
            unsafe {
                libc::close(self.number);
            }
        }
    }
}

/// A descriptor of this process.
#[derive(Debug)]
pub struct Descriptor {
    fd: OwnedFd,
    /// What kind of descriptor it is.
    pub kind: FdKind,
    /// What it refers to.
    pub key: Key,
    blocks: bool,
    /// What lives as long as it: the listener that a connection waits at.
    _beside: Option<OwnedFd>,
}

impl Descriptor {
    /// One of the three standard streams; `None` if it is not open.
    pub fn standard(number: RawFd) -> Option<Descriptor> {
        // SAFETY: 0 to 2 are borrowed only to look at them; if one is not open, `fstat` gives an error.
        let stat = rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(number) }).ok()?;
        // SAFETY: it is open, and nobody else in this process uses it from here on.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        let flags = rustix::fs::fcntl_getfl(&fd).ok()?;
        let (kind, key) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Fifo => {
                let writes = flags.contains(rustix::fs::OFlags::WRONLY);
                (FdKind::Pipe, if writes { Key::PipeWrite(stat.st_ino) } else { Key::PipeRead(stat.st_ino) })
            }
            FileType::CharacterDevice if is_terminal(fd.as_fd()) => {
                (FdKind::Tty, Key::Tty(terminal_of(fd.as_fd()).unwrap_or(stat.st_rdev)))
            }
            FileType::Socket => (FdKind::Socket, Key::Other),
            _ => (FdKind::Null, Key::Other),
        };
        Some(Descriptor { fd, kind, key, blocks: !flags.contains(rustix::fs::OFlags::NONBLOCK), _beside: None })
    }

    /// One that was opened here and does not block.
    pub fn opened(fd: OwnedFd, kind: FdKind, key: Key) -> Descriptor {
        Descriptor { fd: lifted(fd), kind, key, blocks: false, _beside: None }
    }

    /// The same, with another descriptor that is closed when this one is.
    pub fn beside(self, other: OwnedFd) -> Descriptor {
        Descriptor { _beside: Some(lifted(other)), ..self }
    }

    /// The descriptor itself, borrowed.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Reads at most `max` bytes.
    pub fn read(&self, max: usize) -> Read {
        if self.blocks && !is_there(self.fd(), PollFlags::IN) {
            return Read::Later;
        }
        read(self.fd(), max)
    }

    /// Writes. What may block takes at most a page at a time: a pipe that `poll` calls writable has one.
    pub fn write(&self, bytes: &[u8]) -> Write {
        if bytes.is_empty() {
            return Write::Took(0);
        }
        if !self.blocks {
            return write(self.fd(), bytes, self.kind);
        }
        if !is_there(self.fd(), PollFlags::OUT) {
            return Write::Later;
        }
        write(self.fd(), &bytes[..bytes.len().min(4_096)], self.kind)
    }
}

/// Whether something is there to read or room to write, or an error or end that a call would show.
pub fn is_there(fd: BorrowedFd<'_>, what: PollFlags) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, what)];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let count = rustix::io::retry_on_intr(|| poll(&mut polled, Some(&zero)));
    count.is_ok_and(|n| n > 0)
}

/// How long the kernel may take, in real time, to deliver on loopback what it has taken; after it the cell ends as an
/// internal error.
const LOOPBACK_S: i64 = 8;

/// Waits for what the kernel has taken at the other end of a connection and not yet brought here. Under a scheduler only.
pub fn await_loopback(fd: BorrowedFd<'_>) {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let limit = Timespec { tv_sec: LOOPBACK_S, tv_nsec: 0 };
    if rustix::io::retry_on_intr(|| poll(&mut polled, Some(&limit))) == Ok(0) {
        give_up(&format!("what was sent on loopback has not come within {LOOPBACK_S} s"));
    }
}

thread_local! {
    /// Where reads go. It stays, and only what is read is touched of it: on the stack, each process would touch all of its
    /// pages.
    static SPACE: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(PIPE_BYTES));
}

/// Reads what is there, at most `max` bytes.
pub fn read(fd: BorrowedFd<'_>, max: usize) -> Read {
    let read = SPACE.with_borrow_mut(|space| {
        let space = &mut space.spare_capacity_mut()[..max.clamp(1, PIPE_BYTES)];
        rustix::io::retry_on_intr(|| rustix::io::read(fd, &mut *space).map(|(bytes, _)| bytes.to_vec()))
    });
    match read {
        Ok(bytes) if bytes.is_empty() => Read::Eof,
        Ok(bytes) => Read::Data(bytes),
        Err(rustix::io::Errno::AGAIN) => Read::Later,
        Err(error) => Read::Failed(errno(error)),
    }
}

/// Writes as many bytes as are taken.
pub fn write(fd: BorrowedFd<'_>, bytes: &[u8], kind: FdKind) -> Write {
    match rustix::io::retry_on_intr(|| rustix::io::write(fd, bytes)) {
        Ok(0) | Err(rustix::io::Errno::AGAIN) => Write::Later,
        Ok(n) => Write::Took(n),
        // the kernel says EPIPE if the reset came after the other side's end: to a persona the two are the same
        Err(rustix::io::Errno::PIPE) if kind == FdKind::Socket => Write::Failed(Errno::Reset),
        Err(error) => Write::Failed(errno(error)),
    }
}

/// The kernel's error, as the persona knows it.
pub fn errno(error: rustix::io::Errno) -> Errno {
    use rustix::io::Errno as E;
    match error {
        E::PIPE => Errno::Pipe,
        E::BADF => Errno::BadFd,
        E::NOTTY => Errno::NoTty,
        E::NXIO | E::NODEV => Errno::NoDevice,
        E::PERM | E::ACCESS => Errno::NotPermitted,
        E::SRCH | E::CHILD => Errno::NoProcess,
        E::CONNREFUSED => Errno::Refused,
        E::CONNRESET => Errno::Reset,
        E::ADDRINUSE => Errno::InUse,
        E::TOOBIG => Errno::TooBig,
        _ => Errno::Io,
    }
}

/// A pipe of 65,536 bytes, both ends non-blocking: read end, write end, inode.
///
/// # Errors
/// The kernel's error; a user over the soft limit of pipe pages gets smaller pipes.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd, u64)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK)?;
    if rustix::pipe::fcntl_getpipe_size(&read)? != PIPE_BYTES {
        let size = rustix::pipe::fcntl_setpipe_size(&read, PIPE_BYTES)?;
        if size != PIPE_BYTES {
            return Err(io::Error::other(format!("a pipe of {size} bytes instead of {PIPE_BYTES}")));
        }
    }
    let inode = rustix::fs::fstat(&read)?.st_ino;
    Ok((lifted(read), lifted(write), inode))
}

/// A FIFO that no process has open for writing, open for reading and without a name: its descriptor and inode.
///
/// # Errors
/// The kernel's error.
pub fn fifo() -> Result<(OwnedFd, u64), rustix::io::Errno> {
    use rustix::fs::{CWD, Mode, OFlags};
    let path = std::env::temp_dir().join(format!("rehang-fifo-{}", std::process::id()));
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let fd = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    rustix::fs::unlink(&path)?;
    let fd = fd?;
    let inode = rustix::fs::fstat(&fd)?.st_ino;
    Ok((fd, inode))
}

/// Opens a FIFO of [`fifo`] as a plain program does: waits until a process opens it for writing, or for a signal.
pub fn wait_to_open(fifo: BorrowedFd<'_>) {
    use rustix::fs::{Mode, OFlags};
    use std::os::fd::AsRawFd;
    // an error is a signal, and the wait is begun again; whoever looks on finds the FIFO by this path too
    let path = format!("/proc/{}/fd/{}", std::process::id(), fifo.as_raw_fd());
    drop(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()));
}

/// A file without a name that is locked: the descriptor that waits for the lock, the one that holds it, and the inode.
///
/// # Errors
/// The kernel's error.
pub fn locked(database: bool) -> Result<(OwnedFd, OwnedFd, u64), rustix::io::Errno> {
    use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock};
    let end = if database { "db" } else { "lock" };
    let path = std::env::temp_dir().join(format!("rehang-{}.{end}", std::process::id()));
    let open = |flags| rustix::fs::openat(CWD, &path, OFlags::RDWR | OFlags::CLOEXEC | flags, Mode::RUSR | Mode::WUSR);
    let holder = open(OFlags::CREATE | OFlags::EXCL)?;
    let waiter = open(OFlags::empty());
    rustix::fs::unlink(&path)?;
    let waiter = waiter?;
    flock(&holder, FlockOperation::NonBlockingLockExclusive)?;
    let inode = rustix::fs::fstat(&waiter)?.st_ino;
    Ok((waiter, holder, inode))
}

/// A file, opened anew, whose lock processes take in turn: that of the `lifeline` that they share or, without one, one for
/// each user and working folder, which stays, empty, in the folder for temporary files.
///
/// # Errors
/// The kernel's error.
pub fn lock_file(lifeline: Option<BorrowedFd<'_>>) -> Result<OwnedFd, rustix::io::Errno> {
    use rustix::fs::{CWD, Mode, OFlags};
    use std::os::fd::AsRawFd;
    if let Some(lifeline) = lifeline {
        let path = format!("/proc/self/fd/{}", lifeline.as_raw_fd());
        return rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    }
    let folder = rustix::fs::stat(".")?;
    let user = rustix::process::getuid().as_raw();
    let name = format!("rehang-{user}-{:x}-{:x}.lock", folder.st_dev, folder.st_ino);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, std::env::temp_dir().join(name), flags, Mode::RUSR | Mode::WUSR)
}

/// Takes the lock of a file of [`lock_file`], unless another descriptor has it.
pub fn try_lock(file: BorrowedFd<'_>) -> bool {
    rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Waits for the lock of a file of [`locked`] or [`lock_file`] as a plain program does: until it is let go, or for a signal.
pub fn wait_to_lock(file: BorrowedFd<'_>) {
    // an error is a signal, and the wait is begun again
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::LockExclusive);
}

/// The device number of the terminal that this descriptor leads to, in the encoding of `stat`.
///
/// # Errors
/// The kernel's error.
pub fn terminal_of(fd: BorrowedFd<'_>) -> Result<u64, rustix::io::Errno> {
    use std::os::fd::AsRawFd;
    let mut device: libc::c_uint = 0;
    // SAFETY: TIOCGDEV writes one number.
    match unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCGDEV, &raw mut device) } {
        0 => Ok(u64::from(device)),
        _ => Err(rustix::io::Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))),
    }
}

/// Whether a character device is a terminal, hung up or not: one that is hung up refuses every request with `EIO`, any
/// other device this one with `ENOTTY`.
fn is_terminal(fd: BorrowedFd<'_>) -> bool {
    !matches!(rustix::termios::tcgetattr(fd), Err(error) if error != rustix::io::Errno::IO)
}

/// Sets a terminal to echo, whole lines and signals by key.
///
/// # Errors
/// The kernel's error; `EINTR` after a stop.
pub fn set_mode(fd: BorrowedFd<'_>) -> Result<(), rustix::io::Errno> {
    let mut termios = rustix::termios::tcgetattr(fd)?;
    termios.local_modes.insert(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    rustix::termios::tcsetattr(fd, OptionalActions::Now, &termios)
}
