//! Timers that signal or become readable: `alarm`, `setitimer`, POSIX timers, timerfds.
//!
//! The kernel's own timers are never armed, but for timerfds: each is armed with an interval that no program uses, by
//! which the same timerfd is known in every process that has it.

use super::record::split;
use super::timed::{self, SECOND};
use super::tracer::{Owner, Tracer};
use super::tree::{AtExit, PosixTimer, Schedule, TimerFd};
use super::x86_64::regs::Regs;
use super::{procfs, sys};
use libc::{EFAULT, EINVAL, SIGALRM, TFD_TIMER_ABSTIME};

/// The interval in seconds, some 63 years, of the first timerfd; each next one has one second more.
const FIRST_TAG: u64 = 2_000_000_000;
/// How far in the future a timerfd is armed, in seconds.
const FAR: i64 = 4_000_000_000;

impl Tracer<'_> {
    /// `alarm`, `setitimer` and `getitimer` of ITIMER_REAL.
    pub fn set_interval_timer(&mut self, tid: i32, regs: Regs) {
        let now = self.clock.now;
        let pid = self.threads[&tid].pid;
        let Some(process) = self.processes.get_mut(&pid) else { return };
        let old = process.interval_timer;
        // a timer that is about to expire is not "off"
        let left = old.map_or(0, |timer| timer.at.saturating_sub(now).max(1_000));
        let schedule =
            |span: u64, every| (span > 0).then(|| Schedule { at: now.saturating_add(span), every, since: now });
        let number = regs.call();
        if number == libc::SYS_alarm {
            process.interval_timer = schedule(u64::from(regs.argument(0) as u32) * SECOND, 0);
            return self.answer(tid, regs, ((left + SECOND / 2) / SECOND).max(u64::from(left > 0)) as i64);
        }
        let old_address = regs.argument(if number == libc::SYS_setitimer { 2 } else { 1 });
        if number == libc::SYS_setitimer && regs.argument(1) == 0 {
            process.interval_timer = None;
        } else if number == libc::SYS_setitimer {
            let read = |at| sys::read_pair(tid, regs.argument(1) + at);
            let (Some(every), Some(span)) = (read(0), read(16)) else {
                return self.answer(tid, regs, -i64::from(EFAULT));
            };
            let (Some(every), Some(span)) = (timed::from_timeval(every), timed::from_timeval(span)) else {
                return self.answer(tid, regs, -i64::from(EINVAL));
            };
            process.interval_timer = schedule(span, every);
        }
        if old_address != 0 {
            let every = old.map_or(0, |timer| timer.every);
            sys::write_pair(tid, old_address, every / SECOND, every % SECOND / 1_000);
            sys::write_pair(tid, old_address + 16, left / SECOND, left % SECOND / 1_000);
        }
        self.answer(tid, regs, 0);
    }

    /// A POSIX timer was made.
    pub fn create_posix_timer(&mut self, tid: i32, regs: Regs, (clock, event, id): (u64, u64, u64)) {
        let pid = self.threads[&tid].pid;
        let mut bytes = [0; 4];
        if regs.result() == 0 && sys::read(tid, id, &mut bytes) {
            let id = i32::from_le_bytes(bytes);
            let mut timer = PosixTimer {
                signal: SIGALRM,
                tid: 0,
                value: id as u64,
                is_real_time: timed::is_real_time(clock as i32),
                is_silent: false,
                schedule: None,
            };
            // struct sigevent: value, signal, how to notify, thread
            let mut bytes = [0; 20];
            if event != 0 && sys::read(tid, event, &mut bytes) {
                let number = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
                timer.value = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
                timer.signal = number(8);
                match number(12) {
                    libc::SIGEV_NONE => timer.is_silent = true,
                    libc::SIGEV_THREAD_ID => timer.tid = self.thread_numbered(pid, number(16)),
                    _ => {}
                }
            }
            if let Some(process) = self.processes.get_mut(&pid) {
                process.posix_timers.insert(id, timer);
            }
        }
        self.resume(tid, 0);
    }

    /// `timer_settime`, `timer_gettime`, `timer_getoverrun` and `timer_delete`.
    pub fn set_posix_timer(&mut self, tid: i32, regs: Regs) {
        let (pid, id, number) = (self.threads[&tid].pid, regs.argument(0) as i32, regs.call());
        let timers = self.processes.get_mut(&pid).map(|process| &mut process.posix_timers);
        let Some(timer) = timers.and_then(|timers| timers.get_mut(&id)) else {
            // it counts processor time, or does not exist
            return self.resume(tid, 0);
        };
        let old = timer.schedule;
        let is_real_time = timer.is_real_time;
        match number {
            libc::SYS_timer_delete => {
                self.processes.get_mut(&pid).and_then(|process| process.posix_timers.remove(&id));
                return self.resume(tid, 0);
            }
            libc::SYS_timer_getoverrun => return self.answer(tid, regs, 0),
            libc::SYS_timer_settime => {
                let is_absolute = regs.argument(1) as i32 & libc::TIMER_ABSTIME != 0;
                match self.read_schedule(tid, regs.argument(2), is_absolute, is_real_time) {
                    Ok(schedule) => {
                        let timers = self.processes.get_mut(&pid).map(|process| &mut process.posix_timers);
                        if let Some(timer) = timers.and_then(|timers| timers.get_mut(&id)) {
                            timer.schedule = schedule;
                        }
                    }
                    Err(error) => return self.answer(tid, regs, -i64::from(error)),
                }
            }
            _ => {}
        }
        self.write_schedule(tid, regs.argument(if number == libc::SYS_timer_gettime { 1 } else { 3 }), old);
        self.answer(tid, regs, 0);
    }

    /// `timerfd_settime` and `timerfd_gettime`.
    pub fn set_timerfd(&mut self, tid: i32, regs: Regs) {
        let (pid, fd, number) = (self.threads[&tid].pid, regs.argument(0) as i32, regs.call());
        let Some((tag, clock)) = timerfd_of(pid, fd) else {
            // not a timerfd: the kernel says so
            return self.resume(tid, 0);
        };
        let known = tag.and_then(|tag| Some((tag, *self.timerfds.get(&tag)?)));
        let old = known.and_then(|(_, timer)| timer.schedule);
        if number == libc::SYS_timerfd_settime {
            let is_real_time = timed::is_real_time(clock);
            let is_absolute = regs.argument(1) as i32 & TFD_TIMER_ABSTIME != 0;
            let schedule = match self.read_schedule(tid, regs.argument(2), is_absolute, is_real_time) {
                Ok(schedule) => schedule,
                Err(error) => return self.answer(tid, regs, -i64::from(error)),
            };
            let tag =
                known.map_or_else(|| self.timerfds.keys().next_back().map_or(FIRST_TAG, |last| last + 1), |k| k.0);
            // this also forgets expiries that were not read
            if !sys::copy_descriptor(pid, fd).is_some_and(|copy| sys::arm_timerfd(&copy, FAR, tag as i64)) {
                return self.resume(tid, 0);
            }
            self.timerfds.insert(tag, TimerFd { holder: (pid, fd), schedule });
        }
        self.write_schedule(tid, regs.argument(if number == libc::SYS_timerfd_gettime { 1 } else { 3 }), old);
        self.answer(tid, regs, 0);
    }

    /// Reads an itimerspec.
    fn read_schedule(&self, tid: i32, at: u64, is_absolute: bool, is_real: bool) -> Result<Option<Schedule>, i32> {
        let read = |offset| sys::read_pair(tid, at.wrapping_add(offset)).ok_or(EFAULT);
        let every = timed::from_timespec(read(0)?).ok_or(EINVAL)?;
        let value = timed::from_timespec(read(16)?).ok_or(EINVAL)?;
        let now = self.clock.now;
        let first = match (is_absolute, is_real) {
            (false, _) => now.saturating_add(value),
            (true, false) => value,
            (true, true) => self.clock.to_monotonic(value),
        };
        Ok((value > 0).then_some(Schedule { at: first, every, since: now }))
    }

    /// Writes an itimerspec: what is left of a schedule.
    fn write_schedule(&self, tid: i32, at: u64, schedule: Option<Schedule>) {
        if at != 0 {
            let (seconds, nanos) = split(schedule.map_or(0, |s| s.every));
            sys::write_pair(tid, at, seconds, nanos);
            let left = schedule.map_or(0, |s| s.at.saturating_sub(self.clock.now).max(1));
            let (seconds, nanos) = split(left);
            sys::write_pair(tid, at + 16, seconds, nanos);
        }
    }

    /// An interval timer expires.
    pub fn expire_interval_timer(&mut self, pid: i32) {
        let Some(process) = self.processes.get_mut(&pid) else { return };
        let Some(schedule) = process.interval_timer else { return };
        process.interval_timer = schedule.next();
        self.record_timer(pid, "setitimer", schedule.since);
        sys::kill(pid, SIGALRM);
        self.mark_active(pid);
    }

    /// A POSIX timer expires.
    pub fn expire_posix_timer(&mut self, pid: i32, id: i32) {
        let timers = self.processes.get_mut(&pid).map(|process| &mut process.posix_timers);
        let Some(timer) = timers.and_then(|timers| timers.get_mut(&id)) else { return };
        let Some(schedule) = timer.schedule else { return };
        timer.schedule = schedule.next();
        let timer = *timer;
        self.record_timer(pid, "timer_settime", schedule.since);
        if !timer.is_silent {
            sys::send_timer_signal(pid, timer.tid, timer.signal, id, 0, timer.value);
            self.mark_active(pid);
        }
    }

    /// A timerfd expires, unless it was closed: its descriptor may be another timerfd by now.
    pub fn expire_timerfd(&mut self, tag: u64) {
        if !self.keep_timerfd(tag) {
            return;
        }
        let Some(timer) = self.timerfds.get_mut(&tag) else { return };
        let Some(schedule) = timer.schedule else { return };
        let (pid, fd) = timer.holder;
        timer.schedule = schedule.next();
        self.record_timer(pid, "timerfd_settime", schedule.since);
        let ticks = procfs::descriptor_info(pid, fd).and_then(|info| field(&info, "ticks:")?.parse().ok()).unwrap_or(0);
        if let Some(copy) = sys::copy_descriptor(pid, fd)
            && !sys::set_timerfd_ticks(&copy, ticks + 1)
        {
            // a kernel without CONFIG_CHECKPOINT_RESTORE: let the kernel's own timer expire
            sys::arm_timerfd_now(&copy, tag as i64);
        }
        self.mark_active(pid);
    }

    /// Finds a process that has a timerfd, and forgets the timerfd if there is none.
    pub fn keep_timerfd(&mut self, tag: u64) -> bool {
        let has = |(pid, fd): (i32, i32)| timerfd_of(pid, fd).is_some_and(|(found, _)| found == Some(tag));
        let Some(timer) = self.timerfds.get(&tag) else { return false };
        if self.processes.contains_key(&timer.holder.0) && has(timer.holder) {
            return true;
        }
        let all = self.processes.keys().flat_map(|pid| procfs::links(*pid).map(|(fd, link)| ((*pid, fd), link)));
        let mut timerfds = all.filter(|(_, link)| link == "anon_inode:[timerfd]").map(|(holder, _)| holder);
        let holder = timerfds.find(|holder| has(*holder));
        match (holder, self.timerfds.get_mut(&tag)) {
            (Some(holder), Some(timer)) => timer.holder = holder,
            _ => {
                self.timerfds.remove(&tag);
            }
        }
        holder.is_some()
    }

    fn record_timer(&mut self, pid: i32, call: &str, since: u64) {
        let name = self.threads.get(&pid).map(|thread| thread.name.clone()).unwrap_or_default();
        self.record.expire(&self.clock, (pid, &name), call, since);
    }

    /// Threads of this process may run from now on.
    fn mark_active(&mut self, pid: i32) {
        for thread in self.threads.values_mut().filter(|thread| thread.pid == pid) {
            thread.is_active = true;
        }
    }

    /// A deadline ended: what waited for it goes on.
    pub fn expire(&mut self, owner: Owner) {
        match owner {
            Owner::Look => {}
            Owner::Wait(_, tid) => self.expire_wait(tid),
            Owner::IntervalTimer(_, pid) => self.expire_interval_timer(pid),
            Owner::PosixTimer(_, pid, id) => self.expire_posix_timer(pid, id),
            Owner::TimerFd(tag) => self.expire_timerfd(tag),
            Owner::SocketWait(_, tid) => self.expire_socket_wait(tid),
        }
    }

    /// Remembers to look at a POSIX timer once it is made.
    pub fn begin_posix_timer(&mut self, tid: i32, regs: Regs) {
        let [clock, event, id, ..] = regs.arguments();
        self.resume_to_exit(tid, AtExit::TimerCreate(clock, event, id), regs);
    }
}

/// A timerfd's tag, if it has one, and its clock; `None` if the descriptor is none.
fn timerfd_of(pid: i32, fd: i32) -> Option<(Option<u64>, i32)> {
    let info = procfs::descriptor_info(pid, fd)?;
    let clock = field(&info, "clockid:")?.parse().ok()?;
    let interval = field(&info, "it_interval:")?.trim_start_matches('(');
    let tag = interval.split(',').next()?.parse().ok().filter(|tag| *tag >= FIRST_TAG);
    Some((tag, clock))
}

/// A field of `/proc/PID/fdinfo/FD`.
fn field<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}
