//! Sockets: their own time limits, and Nagle's algorithm.
//!
//! `SO_RCVTIMEO` and `SO_SNDTIMEO` are kept here and not told to the kernel. A wait on such a socket gets its deadline
//! when the thread is first seen asleep in it: no virtual time passes while code runs, so that instant is exact.
//!
//! Nagle's algorithm is switched off, because with a delayed acknowledgement it holds bytes back for 40 ms of the
//! kernel's time, which nobody would see.

use super::filter::{RECEIVE_LIMITS, SEND_LIMITS};
use super::timed;
use super::tracer::Tracer;
use super::tree::{AtExit, SocketWait, State};
use super::waits::is_interrupted;
use super::x86_64::regs::Regs;
use super::{procfs, sys};
use libc::{EAGAIN, EINPROGRESS};

/// The bits of a socket's type that are flags (`SOCK_TYPE_MASK` of <linux/net.h> is what remains).
const TYPE: u64 = 0xf;

/// Which of a socket's limits a system call heeds: 0 for receiving, 1 for sending.
fn direction(number: i64) -> Option<usize> {
    match number {
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_accept
        | libc::SYS_accept4 => Some(0),
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_connect => Some(1),
        _ => None,
    }
}

impl Tracer<'_> {
    /// A thread is about to make a socket of the internet.
    pub fn begin_socket(&mut self, tid: i32, regs: Regs) {
        self.has_internet = true;
        self.resume_to_exit(tid, AtExit::Socket(regs.argument(1)), regs);
    }

    /// It has made it.
    pub fn end_socket(&mut self, tid: i32, regs: Regs, kind: u64) {
        let pid = self.threads[&tid].pid;
        if regs.result() >= 0
            && kind & TYPE == libc::SOCK_STREAM as u64
            && let Some(copy) = sys::copy_descriptor(pid, regs.result() as i32)
        {
            sys::disable_nagle(&copy);
        }
        self.resume(tid, 0);
    }

    /// `setsockopt` and `getsockopt` of a time limit.
    pub fn set_socket_limit(&mut self, tid: i32, regs: Regs) {
        let pid = self.threads[&tid].pid;
        let link = procfs::link(pid, regs.argument(0) as i32);
        let Some(inode) = link.and_then(|link| procfs::inode(&link, "socket")) else {
            return self.resume(tid, 0);
        };
        let option = regs.argument(2);
        let direction = if RECEIVE_LIMITS.contains(&option) { 0 } else { 1 };
        debug_assert!(direction == 0 || SEND_LIMITS.contains(&option));
        let address = regs.argument(3);
        if regs.call() == libc::SYS_getsockopt {
            let limit = self.socket_limits.get(&inode).map_or(0, |limits| limits[direction]);
            let length = 16_u32.to_le_bytes();
            let done = sys::write_pair(tid, address, limit / timed::SECOND, limit % timed::SECOND / 1_000)
                && sys::write(tid, regs.argument(4), &length);
            return self.answer(tid, regs, if done { 0 } else { -i64::from(libc::EFAULT) });
        }
        let Some(limit) = sys::read_pair(tid, address).and_then(timed::from_timeval) else {
            // negative: no limit, or an error that the kernel reports
            return self.resume(tid, 0);
        };
        self.socket_limits.entry(inode).or_default()[direction] = limit;
        self.answer(tid, regs, 0);
    }

    /// Gives deadlines to threads that have begun to wait on a socket with a limit. The tree is asleep.
    pub fn find_socket_waits(&mut self) {
        if self.socket_limits.values().all(|limits| *limits == [0, 0]) {
            return;
        }
        let now = self.clock.now;
        for (tid, thread) in &mut self.threads {
            if thread.state != State::Free || thread.at_exit.is_some() {
                thread.socket_wait = None;
                continue;
            }
            let limit = procfs::call(thread.pid, *tid).and_then(|(number, arguments)| {
                let direction = direction(number)?;
                let inode = procfs::inode(&procfs::link(thread.pid, arguments[0] as i32)?, "socket")?;
                let limit = self.socket_limits.get(&inode)?[direction];
                (limit > 0).then_some((number, format!("{number} {arguments:?}"), limit))
            });
            thread.socket_wait = limit.map(|(number, call, limit)| {
                let switches = std::fs::read_to_string(format!("/proc/{}/task/{tid}/schedstat", thread.pid));
                let key =
                    format!("{call} {}", switches.unwrap_or_default().split_ascii_whitespace().nth(2).unwrap_or(""));
                match thread.socket_wait.take() {
                    Some(known) if known.key == key => known,
                    _ => SocketWait { key, number, since: now, at: now.saturating_add(limit) },
                }
            });
        }
    }

    /// A wait on a socket is over.
    pub fn expire_socket_wait(&mut self, tid: i32) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let Some(since) = thread.socket_wait.as_ref().map(|wait| wait.since) else { return };
        thread.is_expiring = true;
        thread.is_active = true;
        let owner = (thread.pid, thread.name.clone());
        sys::interrupt(tid);
        self.record.expire(&self.clock, (owner.0, &owner.1), "SO_RCVTIMEO", since);
    }

    /// A thread stopped after its wait on a socket was interrupted.
    pub fn end_socket_wait(&mut self, tid: i32) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let Some(wait) = thread.socket_wait.take_if(|_| thread.is_expiring) else { return };
        thread.is_expiring = false;
        if let Some(mut regs) = sys::registers(tid)
            && is_interrupted(regs.result())
        {
            let error = if wait.number == libc::SYS_connect { EINPROGRESS } else { EAGAIN };
            regs.set_result(-i64::from(error));
            sys::set_registers(tid, &regs);
        }
    }
}
