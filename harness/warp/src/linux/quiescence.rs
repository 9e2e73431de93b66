//! Whether every thread of the tree is asleep, so that only time can wake one.
//!
//! Invariants:
//!  - no stop is pending, no thread is between birth and its first stop, interrupted or about to end;
//!  - between two readings of every process's processor time, which are equal, every thread was seen asleep: so none
//!    ran in between, and none can have woken another one;
//!  - a thread counts as asleep only if the kernel names the function that it waits in. One that is being woken by another
//!    processor, or that was preempted on its way to sleep, has the state of a sleeper, but no such function;
//!  - what the kernel delivers later has arrived: data of pseudoterminals, packets of the loopback device.

use super::tracer::Tracer;
use super::tree::State;
use super::{procfs, sys};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};

/// Kernel functions that wait, without end, for something that another thread or time does. Other functions are believed
/// only if the state is `S`: a thread in `D` waits for a device and will go on by itself.
const SLEEPS: &[&str] = &[
    "__do_sys_pause",
    "__skb_wait_for_more_packets",
    "anon_pipe_read",
    "do_epoll_wait",
    "do_sigtimedwait",
    "do_wait",
    "ep_poll",
    "futex_do_wait",
    "futex_wait_queue",
    "hrtimer_nanosleep",
    "inet_csk_accept",
    "pipe_read",
    "poll_schedule_timeout",
    "sigsuspend",
    "unix_stream_read_generic",
    "wait_woken",
];

/// How many round trips through the tracer's own pseudoterminal: one for what is in flight, one for its echo.
const ROUND_TRIPS: usize = 2;

impl Tracer<'_> {
    /// Whether the whole tree is asleep.
    pub fn is_quiescent(&mut self) -> bool {
        if !self.is_asleep(None) {
            return false;
        }
        if self.has_pty {
            self.flush_ptys();
            if !self.is_asleep(None) {
                return false;
            }
        }
        for thread in self.threads.values_mut() {
            thread.is_active = false;
        }
        true
    }

    /// Looks at every thread but one that is stopped.
    pub fn is_asleep(&mut self, except: Option<i32>) -> bool {
        let before: Vec<(i32, Option<u64>)> = self.processes.keys().map(|pid| (*pid, sys::cpu_time(*pid))).collect();
        let packets = self.has_internet.then(procfs::network_backlog);
        let mut parked = None;
        for (tid, thread) in &self.threads {
            let is_asleep = match thread.state {
                _ if except == Some(*tid) => true,
                State::New => false,
                State::Parked => match sys::has_signal(*tid) {
                    Some(true) => {
                        parked = Some(*tid);
                        false
                    }
                    Some(false) => true,
                    None => false,
                },
                // SIGCONT or SIGKILL may just have woken it
                State::Stopped => {
                    let channel = thread.wait_channel.as_ref();
                    channel.is_some_and(|file| is_stopped(file, thread.pid, *tid))
                }
                // a process's first thread stays until the others are gone
                State::Exiting => procfs::state(thread.pid, *tid) == 'Z',
                State::Free if thread.is_expiring => false,
                State::Free => {
                    let channel = thread.wait_channel.as_ref();
                    channel.is_some_and(|file| is_waiting(file, thread.pid, *tid, thread.is_in_vfork))
                }
            };
            if !is_asleep {
                if let Some(tid) = parked {
                    self.wake_parked(tid);
                }
                return false;
            }
        }
        if packets.is_some_and(|before| before.0 != 0 || procfs::network_backlog() != before) {
            return false;
        }
        before.into_iter().all(|(pid, time)| time.is_some() && sys::cpu_time(pid) == time)
    }

    /// Waits until the kernel has delivered what was written to pseudoterminals: its work is done in order.
    fn flush_ptys(&mut self) {
        let Some((master, slave)) = self.pty_barrier.take().or_else(open_raw_pty) else { return };
        let trip = |mut from: &File, mut to: &File| {
            let mut byte = [0];
            from.write_all(b"x").is_ok() && to.read(&mut byte).is_ok()
        };
        if (0..ROUND_TRIPS).all(|_| trip(&master, &slave) && trip(&slave, &master)) {
            self.pty_barrier = Some((master, slave));
        }
    }
}

/// Whether a thread is held in a group-stop.
fn is_stopped(channel: &File, pid: i32, tid: i32) -> bool {
    let mut buffer = [0; 128];
    let channel = procfs::wait_channel(channel, &mut buffer);
    !channel.is_empty() && channel != "0" && matches!(procfs::state(pid, tid), 't' | 'T')
}

/// Whether a thread sleeps until somebody wakes it.
fn is_waiting(channel: &File, pid: i32, tid: i32, is_in_vfork: bool) -> bool {
    let mut buffer = [0; 128];
    let channel = procfs::wait_channel(channel, &mut buffer);
    if channel.is_empty() || channel == "0" {
        return false;
    }
    SLEEPS.iter().any(|known| channel.starts_with(known)) || {
        let state = procfs::state(pid, tid);
        state == 'S' || (state == 'D' && is_in_vfork)
    }
}

/// A pseudoterminal that passes every byte on as it is.
fn open_raw_pty() -> Option<(File, File)> {
    let (mut master, mut slave) = (0, 0);
    // SAFETY: the descriptors are new and owned here alone; the termios is written before it is read.
    unsafe {
        if libc::openpty(&raw mut master, &raw mut slave, null_mut(), null(), null()) != 0 {
            return None;
        }
        let pair = (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave));
        for fd in [master, slave] {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        let mut raw: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(slave, &raw mut raw) != 0 {
            return None;
        }
        libc::cfmakeraw(&raw mut raw);
        (libc::tcsetattr(slave, libc::TCSANOW, &raw const raw) == 0).then(|| (pair.0.into(), pair.1.into()))
    }
}
