//! What is done at each stop of a thread.

use super::clock::{GRID, MORE_READS, MORE_READS_TAKE, TRAPPED_READ_TAKES, TRAPPED_READS};
use super::timed::{self, SECOND};
use super::tracer::{RootEnd, Tracer};
use super::tree::{AtExit, State};
use super::x86_64::regs::Regs;
use super::{procfs, sys};
use crate::{Exit, Limit};
use libc::{EFAULT, EINTR, EPERM, SIGTRAP};
use std::os::unix::fs::FileExt;

/// Ticks of `times` in a second (`USER_HZ`).
const TICKS: u64 = 100;
/// The signal of a stop at the end of a system call (PTRACE_O_TRACESYSGOOD).
const CALL_STOP: i32 = SIGTRAP | 0x80;

impl Tracer<'_> {
    /// Takes in the command, which is stopped after exec.
    pub fn begin(&mut self) {
        let root = self.root;
        for (fd, link) in procfs::links(root) {
            let is_channel =
                ["pipe:", "socket:", "/dev/pts/", "/dev/tty", "/dev/console"].iter().any(|p| link.starts_with(p));
            let is_fifo = || {
                use std::os::unix::fs::FileTypeExt;
                std::fs::metadata(format!("/proc/{root}/fd/{fd}")).is_ok_and(|file| file.file_type().is_fifo())
            };
            if is_channel || is_fifo() {
                self.has_input |= procfs::access_mode(root, fd) != libc::O_WRONLY;
                self.inherited.insert(link);
            }
        }
        self.add_thread(root, root);
        self.handle_exec(root, root);
    }

    /// Handles all events that have been reported; `false` if there was none.
    pub fn handle_events(&mut self) -> bool {
        let mut any = false;
        while let Some((tid, status)) = sys::wait() {
            any = true;
            self.over = None;
            self.handle(tid, status);
        }
        any
    }

    fn handle(&mut self, tid: i32, status: i32) {
        if !libc::WIFSTOPPED(status) {
            return self.bury(tid, status);
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        if !self.threads.contains_key(&tid) {
            // its first stop comes before its birth is reported; it may be dead by then
            self.early.insert(tid);
            let pid = procfs::process_of(tid).unwrap_or(tid);
            self.add_child(tid, pid, procfs::parent_of(pid));
        }
        if let Some(thread) = self.threads.get_mut(&tid).filter(|thread| thread.state == State::New) {
            thread.state = State::Free;
        }
        match event {
            libc::PTRACE_EVENT_SECCOMP => self.handle_call(tid),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                self.handle_birth(tid, sys::event_message(tid), event == libc::PTRACE_EVENT_VFORK);
            }
            libc::PTRACE_EVENT_VFORK_DONE => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.is_in_vfork = false;
                }
                self.resume(tid, 0);
            }
            libc::PTRACE_EVENT_EXEC => self.handle_exec(tid, sys::event_message(tid)),
            libc::PTRACE_EVENT_EXIT => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    (thread.state, thread.at_exit) = (State::Exiting, None);
                }
                self.resume(tid, 0);
            }
            sys::EVENT_STOP => self.handle_stop(tid, signal),
            0 if signal == CALL_STOP => self.handle_return(tid),
            0 if signal == SIGTRAP && self.threads[&tid].mapping.is_some() => self.end_exec(tid),
            0 => self.handle_signal(tid, signal),
            _ => self.resume(tid, 0),
        }
    }

    /// A thread is gone. Its birth may still be to be reported, so `early` keeps it.
    fn bury(&mut self, tid: i32, status: i32) {
        let Some(thread) = self.threads.remove(&tid) else { return };
        // a process's first thread is the last to go
        if tid == thread.pid
            && let Some(process) = self.processes.get(&tid)
            && self.record.looked_at.is_some_and(|last| process.born <= last)
        {
            let (born, at) = (self.clock.since_start(process.born), self.clock.elapsed());
            let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
            self.record.exits.push(Exit { pid: tid, born, at, code, was_told: process.was_told });
        }
        if !self.threads.values().any(|other| other.pid == thread.pid) {
            self.processes.remove(&thread.pid);
        }
        // its parent, if that waits for it, is about to wake
        for other in self.threads.values_mut() {
            other.is_active |= other.state == State::Free;
        }
        if tid == self.root {
            self.root_end = Some(if libc::WIFEXITED(status) {
                RootEnd::Code(libc::WEXITSTATUS(status))
            } else {
                RootEnd::Signal(libc::WTERMSIG(status))
            });
        }
    }

    fn handle_birth(&mut self, tid: i32, child: i32, is_vfork: bool) {
        let parent = self.threads[&tid].pid;
        if child > 0
            && !self.early.remove(&child)
            && !self.threads.contains_key(&child)
            && let Some(pid) = procfs::process_of(child)
        {
            self.add_child(child, pid, Some(parent));
        }
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.is_in_vfork |= is_vfork;
        }
        self.resume(tid, 0);
    }

    /// A process calls exec: its other threads are gone, and the one that called it has the process's id.
    fn handle_exec(&mut self, tid: i32, former: i32) {
        let pid = tid;
        let before = self.threads.get(&former).map(|thread| (thread.birth, thread.draws));
        self.threads.retain(|_, thread| thread.pid != pid);
        let births = self.births;
        self.add_thread(tid, pid);
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        if let Some(before) = before {
            (thread.birth, thread.draws) = before;
            self.births = births;
        }
        thread.state = State::Free;
        if let Some(process) = self.processes.get_mut(&pid) {
            process.memory = sys::open_memory(pid);
            process.posix_timers.clear();
            (process.vdso, process.page) = (None, None);
        }
        self.log_exec(tid);
        self.note_rights(tid, pid);
        self.replace_start_bytes(tid, pid);
        if !self.begin_exec(tid, pid) {
            self.note(tid, Limit::SlowClock);
        }
        self.resume(tid, 0);
    }

    fn log_exec(&mut self, tid: i32) {
        if self.record.has_log() {
            let who = self.describe(tid);
            self.log(|| format!("exec {who}"));
        }
    }

    /// Notes what a program would have been able to do.
    fn note_rights(&mut self, tid: i32, pid: i32) {
        use std::os::unix::fs::MetadataExt;
        let path = format!("/proc/{pid}/exe");
        let mut start = [0; 5];
        let file = std::fs::File::open(&path);
        if file.is_ok_and(|file| file.read_exact_at(&mut start, 0).is_ok()) && start == *b"\x7fELF\x01" {
            self.note(tid, Limit::ThirtyTwoBit);
        }
        if std::fs::metadata(&path).is_ok_and(|file| file.mode() & libc::S_ISUID != 0 || is_set_group(&file)) {
            self.note(tid, Limit::SetUid);
        }
    }

    /// Replaces the vDSO of a program that has just been loaded, and makes it map the page with its clock. If that is not
    /// possible the vDSO is hidden, and `false` is returned.
    fn begin_exec(&mut self, tid: i32, pid: i32) -> bool {
        let Some(base) = procfs::auxiliary(pid, libc::AT_SYSINFO_EHDR) else { return true };
        let (Some(process), Some(thread)) = (self.processes.get_mut(&pid), self.threads.get_mut(&tid)) else {
            return true;
        };
        let (Some(memory), Some(mut regs)) = (&process.memory, sys::registers(tid)) else { return true };
        let before = regs;
        let Some(plan) = &self.vdso else {
            hide_vdso(memory, regs.stack(), base);
            return false;
        };
        let random = plan.no_random.iter().filter(|_| self.settings.seed.is_some());
        for (offset, bytes) in plan.patches.iter().chain(random) {
            if memory.write_all_at(bytes, base + offset).is_err() {
                hide_vdso(memory, regs.stack(), base);
                return false;
            }
        }
        process.vdso = Some(base);
        // mmap of one private page, before the first instruction of the program
        let arguments =
            [0, 4096, (libc::PROT_READ | libc::PROT_WRITE) as u64, (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64];
        for (index, value) in arguments.into_iter().chain([u64::MAX, 0]).enumerate() {
            regs.set_argument(index, value);
        }
        regs.0.rip = base + plan.map;
        sys::set_registers(tid, &regs);
        thread.mapping = Some(before);
        true
    }

    /// The page is mapped: the program begins.
    fn end_exec(&mut self, tid: i32) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let (Some(mut before), Some(regs)) = (thread.mapping.take(), sys::registers(tid)) else { return };
        let page = regs.result() as u64;
        before.answer(0);
        sys::set_registers(tid, &before);
        if let (Some(process), Some(plan)) = (self.processes.get_mut(&thread.pid), &self.vdso) {
            process.page = Some(page);
            if let (Some(base), Some(memory)) = (process.vdso, &process.memory) {
                // fails only if the process is about to end
                let _ = memory.write_all_at(&page.to_le_bytes(), base + plan.page);
            }
        }
        self.publish();
        self.resume(tid, 0);
    }

    /// A group-stop, its end, the first stop of a thread, or the end of an interrupted wait.
    fn handle_stop(&mut self, tid: i32, signal: i32) {
        if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
            if let Some(thread) = self.threads.get_mut(&tid) {
                (thread.state, thread.is_active) = (State::Stopped, false);
            }
            return sys::listen(tid);
        }
        self.end_socket_wait(tid);
        self.resume(tid, 0);
    }

    /// A signal is about to be delivered.
    fn handle_signal(&mut self, tid: i32, signal: i32) {
        let has = |key: &str| {
            let set = procfs::status(tid, key).and_then(|set| u64::from_str_radix(&set, 16).ok()).unwrap_or(0);
            set >> (signal - 1) & 1 == 1
        };
        let is_caught = has("SigCgt:");
        let by_default = matches!(signal, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT);
        let is_ignored = !is_caught && (by_default || has("SigIgn:"));
        if is_caught {
            self.note_told(tid, signal);
            self.give_up_cut_wait(tid);
        } else if is_ignored
            && let Some(mut regs) = sys::registers(tid)
            && regs.result() == -i64::from(EINTR)
            && ends_with_any_signal(regs.call())
        {
            // without a tracer, an ignored signal does not wake anybody
            regs.repeat_call();
            sys::set_registers(tid, &regs);
        }
        if self.record.has_log() {
            let who = self.describe(tid);
            self.log(|| format!("signal {signal} to {who}{}", if is_ignored { ", ignored" } else { "" }));
        }
        self.resume(tid, signal);
    }

    /// A signal by which one process tells another to end or to go on is about to be handled.
    fn note_told(&mut self, tid: i32, signal: i32) {
        const TELL: [i32; 6] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];
        let pid = self.threads.get(&tid).map(|thread| thread.pid).filter(|_| TELL.contains(&signal));
        if let Some(process) = pid.and_then(|pid| self.processes.get_mut(&pid)) {
            process.was_told = true;
        }
    }

    /// A system call returned.
    fn handle_return(&mut self, tid: i32) {
        let Some(mut regs) = sys::registers(tid) else { return };
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        match thread.at_exit.take() {
            None => self.resume(tid, 0),
            Some(AtExit::Wait(waiting)) => self.end_wait(tid, regs, waiting),
            Some(AtExit::Socket(kind)) => self.end_socket(tid, regs, kind),
            Some(AtExit::TimerCreate(clock, event, id)) => self.create_posix_timer(tid, regs, (clock, event, id)),
            Some(AtExit::RandomFile) => self.fill_random_file(tid, regs),
            Some(AtExit::Times) => {
                regs.set_result((self.clock.now / (SECOND / TICKS)) as i64);
                sys::set_registers(tid, &regs);
                self.resume(tid, 0);
            }
            Some(AtExit::SysInfo(address)) => {
                if regs.result() == 0 {
                    sys::write(tid, address, &(self.clock.now / SECOND).to_le_bytes());
                }
                self.resume(tid, 0);
            }
        }
    }

    /// A system call that the filter stopped is about to be made.
    fn handle_call(&mut self, tid: i32) {
        let Some(regs) = sys::registers(tid) else { return };
        match regs.call() {
            libc::SYS_clock_gettime | libc::SYS_gettimeofday | libc::SYS_time => self.read_clock(tid, regs),
            libc::SYS_alarm | libc::SYS_setitimer | libc::SYS_getitimer => self.set_interval_timer(tid, regs),
            libc::SYS_timer_create => self.begin_posix_timer(tid, regs),
            libc::SYS_timer_settime | libc::SYS_timer_gettime | libc::SYS_timer_getoverrun | libc::SYS_timer_delete => {
                self.set_posix_timer(tid, regs)
            }
            libc::SYS_timerfd_settime | libc::SYS_timerfd_gettime => self.set_timerfd(tid, regs),
            libc::SYS_socket => self.begin_socket(tid, regs),
            libc::SYS_setsockopt | libc::SYS_getsockopt => self.set_socket_limit(tid, regs),
            libc::SYS_ioctl => {
                self.has_pty = true;
                self.resume(tid, 0);
            }
            libc::SYS_times => self.resume_to_exit(tid, AtExit::Times, regs),
            libc::SYS_sysinfo => self.resume_to_exit(tid, AtExit::SysInfo(regs.argument(0)), regs),
            libc::SYS_ptrace => {
                self.note(tid, Limit::Traces);
                self.answer(tid, regs, -i64::from(EPERM));
            }
            libc::SYS_prctl if regs.argument(0) as u32 == rehang_words::tracer::VIEW => self.answer_view(tid, regs),
            // the tracer reads its memory
            libc::SYS_prctl => self.answer(tid, regs, 0),
            libc::SYS_getrandom => self.answer_random(tid, regs),
            libc::SYS_open | libc::SYS_openat => self.replace_random_device(tid, regs),
            number => match timed::find(number) {
                Some(timed) => self.begin_wait(tid, regs, timed),
                None => self.resume(tid, 0),
            },
        }
    }

    /// A clock is read by a system call.
    fn read_clock(&mut self, tid: i32, regs: Regs) {
        self.move_clock(tid);
        let real_time = self.clock.real_time();
        let (first, second) = (regs.argument(0), regs.argument(1));
        let result = match regs.call() {
            libc::SYS_clock_gettime => {
                let time = if timed::is_real_time(first as i32) { real_time } else { self.clock.now };
                sys::write_pair(tid, second, time / SECOND, time % SECOND).then_some(0)
            }
            libc::SYS_gettimeofday => {
                let has_zone = second == 0 || sys::write(tid, second, &[0; 8]);
                let micros = real_time % SECOND / 1_000;
                (has_zone && (first == 0 || sys::write_pair(tid, first, real_time / SECOND, micros))).then_some(0)
            }
            _ => {
                let time = real_time / SECOND;
                (first == 0 || sys::write(tid, first, &time.to_le_bytes())).then_some(time as i64)
            }
        };
        self.answer(tid, regs, result.unwrap_or(-i64::from(EFAULT)));
    }

    /// Moves the clock if it was read so often at this instant that the program seems to wait for it to move.
    fn move_clock(&mut self, tid: i32) {
        let Some(process) = self.threads.get(&tid).and_then(|thread| self.processes.get(&thread.pid)) else { return };
        let mut left = [0; 8];
        let is_used_up = match (process.page, &process.memory) {
            (Some(page), Some(memory)) => {
                memory.read_exact_at(&mut left, page + 16).is_ok() && i64::from_le_bytes(left) < 0
            }
            _ => false,
        };
        if !is_used_up {
            self.clock.trapped += 1;
            if self.clock.trapped <= TRAPPED_READS {
                return;
            }
        }
        let next = self.next_deadline().map_or(u64::MAX, |(at, _)| at).max(self.clock.now);
        // nobody else runs: how far the clock moves need not depend on how fast this thread is
        if self.is_asleep(Some(tid)) {
            return self.set_now(next.min((self.clock.now + 1).next_multiple_of(GRID)));
        }
        let span = if is_used_up { MORE_READS_TAKE } else { TRAPPED_READ_TAKES };
        self.clock.now = (self.clock.now + span).min(next);
        if is_used_up {
            self.clock.reads = MORE_READS;
        }
        self.publish();
    }
}

/// Whether a call returns EINTR for every signal that wakes it, with or without a handler.
fn ends_with_any_signal(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_rt_sigtimedwait
            | libc::SYS_io_getevents
            | super::filter::SYS_IO_PGETEVENTS
    )
}

/// Whether a file gives its group's rights to who runs it: without the group's right to run it, the bit means locking.
fn is_set_group(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.mode() & libc::S_ISGID != 0 && file.mode() & libc::S_IXGRP != 0
}

/// Hides the vDSO from a program that has just been loaded: its entry of the auxiliary vector becomes one that is
/// ignored.
fn hide_vdso(memory: &std::fs::File, stack: u64, base: u64) {
    /// The most that arguments and environment take above the stack pointer before the vector.
    const SEARCHED: usize = 1 << 16;
    let mut bytes = vec![0; SEARCHED];
    let length = memory.read_at(&mut bytes, stack).unwrap_or(0);
    let mut entry = libc::AT_SYSINFO_EHDR.to_le_bytes().to_vec();
    entry.extend(base.to_le_bytes());
    let at = (0..length.saturating_sub(16)).step_by(8).find(|at| bytes[*at..at + 16] == entry);
    if let Some(at) = at {
        // AT_IGNORE
        let _ = memory.write_all_at(&1_u64.to_le_bytes(), stack + at as u64);
    }
}
