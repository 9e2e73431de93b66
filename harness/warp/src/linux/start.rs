//! Starts the command and begins to trace it.
//!
//! The child waits, before exec, until it is traced; then it sets its filter and executes the command. If exec fails, the
//! child is let go, and the standard library reports why.

use super::filter;
use super::sys;
use crate::{Error, Refusal};
use libc::{PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, sigset_t, sock_fprog};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the child has to go to sleep while it waits for its tracer.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

/// A command that is traced and stopped after exec.
pub struct Started {
    pub pid: i32,
    /// Kept until the end, because dropping it closes nothing that is needed but the thread's stack.
    pub child: JoinHandle<io::Result<Child>>,
}

/// Starts a command. The calling thread becomes its tracer.
pub fn start(mut command: Command, seed: Option<u64>, mask: Option<sigset_t>) -> Result<Started, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (mut from_child, to_parent) = io::pipe()?;
    let (from_parent, mut to_child) = io::pipe()?;
    let program = filter::build(seed.is_some());
    let fixed = seed.is_some();
    // SAFETY: the closure makes system calls only, on what it owns.
    unsafe {
        command.pre_exec(move || prepare(&to_parent, &from_parent, &program, fixed, mask.as_ref()));
    }
    let starter = std::thread::spawn(move || {
        let mut command = command;
        let child = command.spawn();
        // closes the child's ends of the pipes, which the closure owns
        drop(command);
        child
    });
    let failed = |starter: JoinHandle<io::Result<Child>>, otherwise: io::Error| {
        let error = match starter.join() {
            Ok(Err(error)) => error,
            _ => otherwise,
        };
        Error::Start { program: super::procfs::clean(&name), error }
    };
    let mut pid = [0; 4];
    if let Err(error) = from_child.read_exact(&mut pid) {
        return Err(failed(starter, error));
    }
    let pid = i32::from_le_bytes(pid);
    if let Err(error) = sys::seize(pid) {
        drop(to_child);
        abandon(pid, starter);
        return Err(Error::Trace { error, reason: refusal() });
    }
    if !shows_wait_channel(pid) {
        sys::kill(pid, libc::SIGKILL);
        drop(to_child);
        abandon(pid, starter);
        return Err(Error::NoWaitChannels);
    }
    to_child.write_all(&[0])?;
    // up to exec nothing is counted
    loop {
        let Some(status) = sys::await_stop(pid) else {
            return Err(failed(starter, io::ErrorKind::Interrupted.into()));
        };
        match status >> 16 {
            libc::PTRACE_EVENT_EXEC => {
                sys::report_end(pid);
                return Ok(Started { pid, child: starter });
            }
            0 => sys::resume(pid, libc::WSTOPSIG(status)),
            _ => sys::resume(pid, 0),
        }
    }
}

/// Ends a child that is not traced.
fn abandon(pid: i32, starter: JoinHandle<io::Result<Child>>) {
    sys::kill(pid, libc::SIGKILL);
    if let Ok(Ok(mut child)) = starter.join() {
        // it has been killed
        let _ = child.wait();
    }
}

/// In the child, before exec.
fn prepare(
    mut to: &PipeWriter,
    mut from: &PipeReader,
    program: &[libc::sock_filter],
    fixed: bool,
    mask: Option<&sigset_t>,
) -> io::Result<()> {
    to.write_all(&std::process::id().to_le_bytes())?;
    from.read_exact(&mut [0])?;
    let filter = sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: `filter` and `mask` are read only, and outlive the calls.
    unsafe {
        if let Some(mask) = mask {
            libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
        }
        if fixed {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
        if libc::prctl(PR_SET_NO_NEW_PRIVS, 1_usize, 0_usize, 0_usize, 0_usize) != 0
            || libc::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER as usize, &raw const filter) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Whether the kernel tells what a sleeping thread waits in.
fn shows_wait_channel(pid: i32) -> bool {
    let Ok(file) = File::open(format!("/proc/{pid}/wchan")) else { return false };
    let until = Instant::now() + SHOWN_WITHIN;
    loop {
        let mut buffer = [0; 128];
        if !matches!(super::procfs::wait_channel(&file, &mut buffer), "" | "0") {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Why tracing is refused.
fn refusal() -> Refusal {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    match scope.and_then(|scope| scope.trim().parse().ok()) {
        Some(scope @ 2..) => Refusal::Scope(scope),
        _ => Refusal::Sandbox,
    }
}
