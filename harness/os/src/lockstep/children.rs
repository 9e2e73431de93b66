//! How the scheduler waits for processes and reaps them: its own children, and those of a shell.
//!
//! Invariant: nothing here waits longer than it was told to; reaping does not wait at all.

use crate::lockstep::protocol::{Channel, Job, JobError, ParcelError};
use crate::os::{Exit, Sig};
use rehang_processes::machine;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, WaitId, WaitIdOptions};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// The shell of a background terminal.
#[derive(Debug)]
pub struct Shell {
    /// Its pid, which is also its session and group.
    pub pid: i32,
    /// Readable when the shell has ended.
    pub pidfd: OwnedFd,
    /// Carries the jobs that it is given.
    pub channel: Channel,
    /// Whether it ignores a hang-up.
    pub nohup: bool,
}

/// Where the kernel says which children a process has: `/proc/PID/task/PID/children`, which is opened once.
#[derive(Debug, Default)]
pub struct Kids(Option<File>);

impl Kids {
    /// How many children the process with this pid has at the moment; it is always the same process.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn count(&mut self, pid: i32) -> io::Result<u32> {
        let file = match &mut self.0 {
            Some(file) => file,
            none => none.insert(File::open(format!("/proc/{pid}/task/{pid}/children"))?),
        };
        let (mut count, mut at, mut bytes) = (0, 0, [0; 512]);
        loop {
            let got = file.read_at(&mut bytes, at)?;
            // after each number is a space
            count += bytes[..got].iter().filter(|byte| **byte == b' ').count();
            at += got as u64;
            if got == 0 {
                return Ok(u32::try_from(count).unwrap_or(u32::MAX));
            }
        }
    }
}

/// Why a child cannot be reaped.
#[derive(Debug, thiserror::Error)]
pub enum ReapError {
    /// The kernel says that it ended, but neither by a code nor by a signal.
    #[error("an end that is none")]
    NoEnd,
    /// It is still running.
    #[error("it has not ended")]
    Alive,
    /// It ended by a signal that no participant sends.
    #[error("it ended by signal {0}")]
    Signal(i32),
    /// The kernel's error.
    #[error("{0}; the worker must be a subreaper and must not ignore SIGCHLD")]
    Wait(Errno),
    /// Its parent is the shell, which did not reap it.
    #[error(transparent)]
    Shell(#[from] ShellError),
}

/// Why the shell did not do its job.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// Its control socket failed.
    #[error(transparent)]
    Socket(#[from] Errno),
    /// The shell has ended.
    #[error("the shell is gone")]
    Gone,
    /// An answer without content.
    #[error("the shell said nothing")]
    Silent,
    /// An answer that cannot be decoded.
    #[error(transparent)]
    Answer(#[from] ParcelError),
    /// The shell could not do the job.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Why a pidfd of a process could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum PidfdError {
    /// The pid is zero or less.
    #[error("no pid")]
    NoPid,
    /// The kernel's error, with the remedy.
    #[error("pidfd_open: {}", machine::open(&(*.0).into()))]
    Open(Errno),
}

/// Whether a process ends within this time, in real time.
pub fn ended_within(pidfd: &OwnedFd, limit: std::time::Duration) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
    let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: i64::from(limit.subsec_nanos()) };
    rustix::io::retry_on_intr(|| poll(&mut polled, Some(&limit))).is_ok_and(|n| n > 0)
}

/// Reaps a child of the scheduler's.
pub fn reap_here(pidfd: &OwnedFd) -> Result<Exit, ReapError> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let status = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), options));
    match status.map_err(ReapError::Wait)? {
        Some(status) => match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Ok(Exit::Code(code as u8)),
            (_, Some(number)) => exit_by(number),
            _ => Err(ReapError::NoEnd),
        },
        None => Err(ReapError::Alive),
    }
}

/// Has the shell reap a child of its own.
pub fn reap_by_shell(shell: &mut Shell, pid: i32) -> Result<Exit, ReapError> {
    match shell_job(shell, &Job::Reap(pid), &[])? {
        status if libc::WIFEXITED(status) => Ok(Exit::Code(libc::WEXITSTATUS(status) as u8)),
        status => exit_by(libc::WTERMSIG(status)),
    }
}

/// Has the shell do something.
pub fn shell_job(shell: &mut Shell, job: &Job, fds: &[std::os::fd::BorrowedFd<'_>]) -> Result<i32, ShellError> {
    shell.channel.put(job);
    shell.channel.send(fds)?;
    let mut parcel = shell.channel.receive()?.ok_or(ShellError::Gone)?;
    let answer: Result<i32, JobError> = parcel.message()?.ok_or(ShellError::Silent)?;
    Ok(answer?)
}

/// Opens a pidfd of a process.
///
/// # Errors
/// The kernel's error.
pub fn pidfd_of(pid: i32) -> Result<OwnedFd, PidfdError> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or(PidfdError::NoPid)?;
    rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(PidfdError::Open)
}

fn exit_by(number: i32) -> Result<Exit, ReapError> {
    Sig::from_number(number).map(Exit::Signal).ok_or(ReapError::Signal(number))
}
