//! Timed waits: their limits are taken away when they begin, and they are ended when their time is over.
//!
//! A sleep is never made: its thread is held in the stop before the call. Any other wait is made without a limit, and is
//! interrupted when its time is over; its result is then that of an expired wait. If the event that it waited for came
//! first, its own result is kept.

use super::clock::PAST_LIMIT_TAKES;
use super::record::split;
use super::timed::{self, Limit, Timed};
use super::tracer::Tracer;
use super::tree::{AtExit, State, Waiting};
use super::x86_64::regs::Regs;
use super::{sys, tree};
use libc::EINTR;

/// The kernel's own results of an interrupted call (<linux/errno.h>): ERESTARTSYS to ERESTART_RESTARTBLOCK.
const RESTART: std::ops::RangeInclusive<i64> = -516..=-512;
/// Restart if no handler runs, else EINTR.
const RESTART_WITHOUT_HANDLER: i64 = -514;
/// How many waits in a row expire before a thread counts as a ticker.
const TICKS: u32 = 100;
/// The most bytes of a set of `select`: 2^16 descriptors.
const LARGEST_SET: usize = 8192;

/// Whether a result says that the call was interrupted.
pub fn is_interrupted(result: i64) -> bool {
    result == -i64::from(EINTR) || RESTART.contains(&result)
}

impl Tracer<'_> {
    /// A thread is about to make a call that waits with a time limit.
    pub fn begin_wait(&mut self, tid: i32, regs: Regs, timed: &Timed) {
        let now = self.clock.now;
        let (at, is_absolute) = match timed.limit(tid, &regs) {
            // the kernel refuses it at once, or does not wait
            None | Some(Limit::Within(0)) => return self.resume(tid, 0),
            Some(Limit::Within(span)) => (now.saturating_add(span), false),
            Some(Limit::Monotonic(at)) => (at, true),
            Some(Limit::RealTime(at)) => (self.clock.to_monotonic(at), true),
        };
        let is_sleep = timed::is_sleep(regs.call());
        if at <= now && is_sleep {
            return self.answer(tid, regs, 0);
        }
        let mut waiting = tree::Waiting {
            number: regs.call(),
            arguments: regs.arguments(),
            instruction: regs.instruction(),
            stack: regs.stack(),
            since: now,
            at,
            is_absolute,
        };
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        if let Some(cut) = thread.cut.take().filter(|cut| cut.is_repeated_by(&waiting)) {
            (waiting.at, waiting.since) = (cut.at, cut.since);
        }
        thread.is_expiring = false;
        if let Some(span) = self.settings.skip_tickers
            && thread.ticks.0 == waiting.place()
            && thread.ticks.1 >= TICKS
            && timed::can_end_late(waiting.number)
            && waiting.at > now
        {
            let later = now.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
            self.record.lengthened += u64::from(later > waiting.at);
            waiting.at = waiting.at.max(later);
        }
        if is_sleep {
            thread.at_exit = Some(AtExit::Wait(waiting));
            thread.regs = Some(regs);
            thread.state = State::Parked;
            thread.is_active = false;
            return;
        }
        // the program computed an instant that has passed: a real clock would have moved on meanwhile
        if waiting.at <= now {
            self.clock.now += PAST_LIMIT_TAKES;
            self.publish();
        }
        let mut without = regs;
        timed.remove_limit(&mut without);
        sys::set_registers(tid, &without);
        self.resume_to_exit(tid, AtExit::Wait(waiting), regs);
    }

    /// A thread's wait is over.
    pub fn expire_wait(&mut self, tid: i32) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let Some(waiting) = thread.waiting().copied() else { return };
        let in_a_row = if thread.ticks.0 == waiting.place() { thread.ticks.1.saturating_add(1) } else { 1 };
        thread.ticks = (waiting.place(), in_a_row);
        let owner = (thread.pid, thread.name.clone());
        if thread.state == State::Parked {
            thread.at_exit = None;
            if let Some(regs) = thread.regs {
                self.answer(tid, regs, 0);
            }
        } else {
            thread.is_expiring = true;
            thread.is_active = true;
            sys::interrupt(tid);
        }
        self.record.expire(&self.clock, (owner.0, &owner.1), &super::calls::name(waiting.number), waiting.since);
    }

    /// Makes a parked thread take a signal: it waits in `pause` instead, and sleeps on afterwards.
    pub fn wake_parked(&mut self, tid: i32) {
        let Some(mut regs) = self.threads.get(&tid).and_then(|thread| thread.regs) else { return };
        regs.set_call(libc::SYS_pause);
        sys::set_registers(tid, &regs);
        self.resume(tid, 0);
    }

    /// A timed wait returned.
    pub fn end_wait(&mut self, tid: i32, mut regs: Regs, waiting: Waiting) {
        let now = self.clock.now;
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let Some(timed) = timed::find(waiting.number) else { return };
        let has_expired = std::mem::take(&mut thread.is_expiring);
        if !has_expired {
            thread.ticks.1 = 0;
        }
        let mut rest = waiting.at.saturating_sub(now);
        timed.restore_limit(&mut regs, &waiting.arguments);
        if is_interrupted(regs.result()) {
            if has_expired {
                rest = 0;
                regs.set_result(timed.expired);
                if timed::is_select(waiting.number) {
                    empty_sets(tid, &waiting.arguments);
                }
            } else {
                thread.cut = Some(waiting);
                if timed::is_sleep(waiting.number) {
                    regs.set_call(waiting.number);
                    let address = waiting.arguments[if waiting.number == libc::SYS_nanosleep { 1 } else { 3 }];
                    thread.rest = (!waiting.is_absolute && address != 0).then_some((address, rest));
                }
                // a call with a limit is made again only if no handler ran, and by itself, not by restart_syscall,
                // which would keep the infinite limit
                if RESTART.contains(&regs.result()) {
                    regs.set_result(RESTART_WITHOUT_HANDLER);
                }
            }
        }
        if timed.writes_rest {
            timed.write_rest(tid, &waiting.arguments, rest);
        }
        sys::set_registers(tid, &regs);
        self.resume(tid, 0);
    }

    /// A handler is about to run in a thread whose wait was cut.
    pub fn give_up_cut_wait(&mut self, tid: i32) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        thread.cut = None;
        if let Some((address, rest)) = thread.rest.take() {
            let (seconds, nanos) = split(rest);
            sys::write_pair(tid, address, seconds, nanos);
        }
    }
}

/// Empties the three sets of a `select`.
fn empty_sets(tid: i32, arguments: &[u64; 6]) {
    let bytes = usize::try_from(arguments[0]).unwrap_or(0).div_ceil(64).saturating_mul(8).min(LARGEST_SET);
    for address in &arguments[1..4] {
        if *address != 0 {
            sys::write(tid, *address, &vec![0; bytes]);
        }
    }
}
