//! The process from which this process has its participants forked: one for all its cells, so that each cell starts
//! processes that are loaded already.
//!
//! Invariant: between two cells it is told nothing and holds nothing of them. It ends with this process, by its lifeline if
//! not before; nobody else is its child.

use super::children::{ended_within, pidfd_of, reap_here};
use crate::linux::descriptor;
use crate::linux::fork::joined;
use crate::linux::spawn::{Group, Order, Stream, spawn};
use crate::lockstep::protocol::{Begin, Channel, Given, STARTER};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// How long it may say nothing, in real time.
const WATCHDOG: Duration = Duration::from_secs(10);

/// The starter that no kernel of this process has at the moment.
static AT_REST: Mutex<Option<Starter>> = Mutex::new(None);
static AT_EXIT: Once = Once::new();

/// The scheduler's side of it.
#[derive(Debug)]
pub struct Starter {
    fakes: CString,
    pidfd: OwnedFd,
    channel: Channel,
    /// The end of its lifeline whose closing kills it.
    _lifeline: OwnedFd,
}

/// What a participant is started with; a stream's descriptor has its number here.
#[derive(Debug)]
pub struct What<'a> {
    /// Its program name and arguments.
    pub argv: &'a [String],
    /// Its whole environment.
    pub env: &'a [(String, String)],
    /// Its stdin, stdout and stderr.
    pub streams: [Stream; 3],
    /// The terminal that becomes the controlling one.
    pub terminal: Option<&'a CString>,
}

impl Starter {
    /// The starter of this binary: the one that is there, or a new one. `None` if the binary knows no starter or the kernel
    /// does not let one be forked truthfully: then participants are started one by one.
    ///
    /// # Errors
    /// The process could not be started.
    pub fn of(fakes: &CString) -> io::Result<Option<Starter>> {
        let there = AT_REST.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(starter) = there.filter(|starter| starter.fakes == *fakes && !starter.is_over()) {
            return Ok(Some(starter));
        }
        Starter::new(fakes)
    }

    fn new(fakes: &CString) -> io::Result<Option<Starter>> {
        let (mut channel, theirs) = Channel::pair()?;
        let (held, lifeline) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (held, lifeline) = (descriptor::lifted(held), descriptor::lifted(lifeline));
        let pid = spawn(&Order {
            exe: fakes,
            argv: &[STARTER.to_owned()],
            env: &[],
            streams: [Stream::Null, Stream::Null, Stream::Null],
            group: Group::Session,
            terminal: None,
            control: Some((theirs.as_raw_fd(), held.as_raw_fd())),
            ignored: &[],
        })?;
        drop((theirs, held));
        let pidfd = pidfd_of(pid).map_err(io::Error::other)?;
        super::turn::limit(&channel, WATCHDOG)?;
        let can_fork = joined(&mut channel).is_ok();
        let starter = Starter { fakes: fakes.clone(), pidfd, channel, _lifeline: lifeline };
        Ok(can_fork.then_some(starter))
    }

    /// Keeps it for the next kernel of this process.
    pub fn rest(self) {
        AT_EXIT.call_once(|| {
            // SAFETY: the function takes nothing and unwinds never; if it cannot be registered, the lifeline does its work.
            unsafe { libc::atexit(end_at_exit) };
        });
        *AT_REST.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
    }

    /// Starts a participant, a child of this process that leads a session. Takes its end of the control socket, and hears on
    /// the other one that it is set up. Returns its pid.
    ///
    /// # Errors
    /// The kernel's error, with which the participant could not be started or set up; the starter is gone.
    pub fn start(
        &mut self,
        what: &What<'_>,
        (channel, theirs): (&mut Channel, OwnedFd),
        lifeline: BorrowedFd<'_>,
    ) -> io::Result<i32> {
        let mut sent: Vec<RawFd> = Vec::new();
        let streams = what.streams.each_ref().map(|stream| match stream {
            Stream::Fd(fd) => {
                sent.push(*fd);
                Given::Sent
            }
            Stream::Null => Given::Null,
            Stream::Closed => Given::Closed,
            Stream::Open(path) => Given::Open(path.clone()),
        });
        self.channel.put(&Begin {
            argv: what.argv.to_vec(),
            env: what.env.to_vec(),
            streams,
            terminal: what.terminal.cloned(),
        });
        // SAFETY: who asks for the start holds them until it is over.
        let mut fds: Vec<_> = sent.into_iter().map(|fd| unsafe { BorrowedFd::borrow_raw(fd) }).collect();
        fds.extend([theirs.as_fd(), lifeline]);
        self.channel.send(&fds)?;
        drop(theirs);
        let gone = || io::Error::other(format!("{STARTER} is gone"));
        let mut parcel = self.channel.receive()?.ok_or_else(gone)?;
        let pid: Result<i32, i32> = parcel.message().map_err(io::Error::other)?.ok_or_else(gone)?;
        let pid = pid.map_err(io::Error::from_raw_os_error)?;
        joined(channel).map(|()| pid).inspect_err(|_| end(pid))
    }

    fn is_over(&self) -> bool {
        ended_within(&self.pidfd, Duration::ZERO)
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, rustix::process::Signal::KILL);
        ended_within(&self.pidfd, WATCHDOG);
        let _ = reap_here(&self.pidfd);
    }
}

/// Ends and reaps a child of this process that could not be set up.
pub(super) fn end(pid: i32) {
    if let Ok(pidfd) = pidfd_of(pid) {
        let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
        ended_within(&pidfd, WATCHDOG);
        let _ = reap_here(&pidfd);
    }
}

extern "C" fn end_at_exit() {
    if let Ok(mut starter) = AT_REST.try_lock() {
        drop(starter.take());
    }
}
