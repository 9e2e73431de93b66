//! What ends the command if this process is killed: `kill -9` leaves it no time to do so itself.
//!
//! The kernel kills the command itself with the thread that started it; a small process that waits for our end kills its
//! group.
//!
//! Invariant: the process that watches has nothing of ours open but its end of a pipe, and is gone when we are.

use rehang_processes::tree;
use rustix::process::{Pid, Signal};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Has the calling process killed with its parent, which is `parent`; called between fork and exec.
///
/// # Errors
/// The parent has ended already.
pub fn end_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // it may have ended before that was set
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// The process that watches; it ends when this is dropped, or kills the group when this process dies.
pub struct Watch {
    pid: i32,
    /// Written to for a quiet end.
    ours: OwnedFd,
}

impl Watch {
    /// Watches over the group of a command.
    ///
    /// # Errors
    /// The machine gives no more pipes or processes.
    pub fn over(group: i32) -> io::Result<Watch> {
        let (theirs, ours) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // SAFETY: the child makes system calls alone, allocates nothing and never returns.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => return Err(io::Error::last_os_error()),
            0 => watch(theirs.as_raw_fd(), group),
            _ => {}
        }
        // it belongs to us, not to the run
        tree::leave_out(pid);
        Ok(Watch { pid, ours })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.ours, b"x");
        // reaped here, or with all other children
        let pid = Pid::from_raw(self.pid);
        let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(pid, rustix::process::WaitOptions::empty()));
    }
}

/// Waits for a word or the end of the pipe's other side, which only our end closes without a word.
fn watch(pipe: i32, group: i32) -> ! {
    let mut word = 0_u8;
    // SAFETY: system calls alone; the one byte outlives the read, and all other descriptors are this process's own copies.
    unsafe {
        // a hang-up or Ctrl-C is meant for the command, which passes on or ends by itself
        libc::setsid();
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        libc::dup2(pipe, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        loop {
            match libc::read(0, (&raw mut word).cast(), 1) {
                1 => libc::_exit(0),
                0 => break,
                _ => {}
            }
        }
        libc::kill(-group, libc::SIGKILL);
        libc::_exit(0)
    }
}
