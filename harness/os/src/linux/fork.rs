//! Starts a fake by a fork of a process that is one: nothing is loaded again, which is most of what a start costs.
//!
//! Invariant: what is started cannot be told from what [`super::spawn`] starts: it has the same descriptors, none of its
//! parent's others, an empty signal mask, default actions for all signals but those that its parent ignores, and `/proc`
//! shows its own arguments and environment. When [`joined`] returns it has its group, its session and its streams.

use super::descriptor::LOWEST;
use super::named;
use super::process::{answer, leave};
use super::spawn::{Group, Order, Stream};
use crate::exec;
use crate::lockstep::protocol::{CONTROL_FD, Channel, LIFELINE_FD, Said};
use crate::os::{Programs, Sig};
use std::ffi::CStr;
use std::io;
use std::os::fd::RawFd;

/// Whose child the new process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// This process's.
    Own,
    /// That of this process's parent.
    Same,
}

/// Plays a part to its end: its arguments, its environment, and the signals that it ignores from its start.
pub(crate) type Part = fn(Programs, &[String], Vec<(String, String)>, &[Sig]) -> !;

/// Forks this process, which has one thread; the child sets itself up, says [`Said::Joined`], and plays its part.
/// Returns its pid. Whoever started it closes the child's end of the control socket, and hears it with [`joined`].
///
/// # Errors
/// The kernel's error.
pub(crate) fn fork(order: &Order<'_>, parent: Parent, programs: Programs, part: Part) -> io::Result<i32> {
    // what an `exec` refuses
    let variables = order.env.iter().flat_map(|(key, value)| [key, value]);
    if order.argv.iter().chain(variables).any(|text| text.contains('\0')) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    if !exec::fits(order.argv, order.env) {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let flags = match parent {
        Parent::Own => libc::SIGCHLD,
        Parent::Same => libc::SIGCHLD | libc::CLONE_PARENT,
    };
    // SAFETY: as `fork`, but without the handlers of libraries, of which there are none: the child has this thread alone
    // and a copy of its memory. It never returns into what called this.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        0 => become_it(order, programs, part),
        pid => i32::try_from(pid).map_err(io::Error::other),
    }
}

/// Waits until a process that was forked is set up. Its end of the socket must be closed here.
///
/// # Errors
/// Why it could not be set up; it has ended then, or will at once.
pub fn joined(channel: &mut Channel) -> io::Result<()> {
    let ended = || io::Error::other("it ended before it was told what to play");
    let mut parcel = channel.receive()?.ok_or_else(ended)?;
    match parcel.message().map_err(io::Error::other)? {
        Some(Said::Joined(0)) => Ok(()),
        Some(Said::Joined(error)) => Err(io::Error::from_raw_os_error(error)),
        Some(Said::Panicked(why)) => Err(io::Error::other(why)),
        other => Err(io::Error::other(format!("it said {other:?} before it was told what to play"))),
    }
}

fn become_it(order: &Order<'_>, programs: Programs, part: Part) -> ! {
    let Some(control) = order.control else { leave(70) };
    match set_up(order, control) {
        Ok(()) => answer(&Said::Joined(0)),
        Err(error) => {
            answer(&Said::Joined(error.raw_os_error().unwrap_or(libc::EIO)));
            leave(70)
        }
    }
    part(programs, order.argv, order.env.to_vec(), order.ignored)
}

fn set_up(order: &Order<'_>, (control, lifeline): (RawFd, RawFd)) -> io::Result<()> {
    // from here on what goes wrong can be said
    let control = lift(control)?;
    let lifeline = lift(lifeline)?;
    let mut streams = [const { None }; 3];
    for (source, stream) in streams.iter_mut().zip(&order.streams) {
        if let Stream::Fd(fd) = stream {
            *source = Some(lift(*fd)?);
        }
    }
    put(control, CONTROL_FD)?;
    put(lifeline, LIFELINE_FD)?;
    match order.group {
        Group::Inherit => {}
        Group::Group => check(
            // SAFETY: changes numbers of this process, and touches no memory.
            unsafe { libc::setpgid(0, 0) },
        )?,
        Group::Session => check(
            // SAFETY: as above.
            unsafe { libc::setsid() },
        )?,
    }
    if let Some(path) = order.terminal {
        // a session's leader that opens one without a session gets it as its own
        open(path, libc::O_RDWR | libc::O_NONBLOCK)?;
    }
    for (to, (stream, source)) in (0..).zip(order.streams.iter().zip(streams)) {
        match (stream, source) {
            (Stream::Fd(_), Some(fd)) => put(fd, to)?,
            (Stream::Open(path), _) => put(open(path, libc::O_RDWR | libc::O_NONBLOCK)?, to)?,
            (Stream::Null | Stream::Fd(_), _) => put(open(c"/dev/null", libc::O_RDWR)?, to)?,
            // SAFETY: nobody uses the parent's descriptor of this number in this process.
            (Stream::Closed, _) => drop(unsafe { libc::close(to) }),
        }
    }
    close_the_rest()?;
    super::signals::begin_anew(order.ignored)?;
    named::name(order.argv, order.env);
    Ok(())
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The descriptor, or a copy of it with a number that is not overwritten before it is read.
fn lift(fd: RawFd) -> io::Result<RawFd> {
    if fd >= LOWEST {
        return Ok(fd);
    }
    // SAFETY: duplicating a number touches no memory; if it is not open, that is an error.
    match unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, LOWEST) } {
        copy if copy >= 0 => Ok(copy),
        _ => match io::Error::last_os_error() {
            // a limit of open files that is below the number asked for (fcntl(2))
            error if error.raw_os_error() == Some(libc::EINVAL) => Err(io::Error::from_raw_os_error(libc::EMFILE)),
            error => Err(error),
        },
    }
}

fn put(fd: RawFd, to: RawFd) -> io::Result<()> {
    // SAFETY: the parent's descriptor of this number belongs to nobody in this process.
    check(unsafe { libc::dup2(fd, to) })
}

fn open(path: &CStr, flags: i32) -> io::Result<RawFd> {
    // SAFETY: the path ends with a NUL and outlives the call.
    let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) };
    check(fd)?;
    lift(fd)
}

/// Closes all that the parent had open: nobody in this process uses it.
fn close_the_rest() -> io::Result<()> {
    // SAFETY: closes descriptors that are the parent's; what owned them there is never dropped here.
    if unsafe { libc::syscall(libc::SYS_close_range, LOWEST, u32::MAX, 0) } == 0 {
        return Ok(());
    }
    // Linux before 5.9
    let all: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for fd in all.into_iter().filter(|fd| *fd >= LOWEST) {
        // SAFETY: as above; the folder's own descriptor is closed already.
        unsafe { libc::close(fd) };
    }
    Ok(())
}
