//! What the tracer knows of its tree, for a program of the tree that asks.
//!
//! `/proc` shows the tree as the tracer holds it: a thread that sleeps is in a stop of the tracer, and waits have no time
//! limit. A program that reads `/proc`, as `rehang why` and `rehang supervise` do, asks for a [`View`].
//!
//! Invariant: processes and threads have the numbers that the asking program sees; those that it cannot see are left out.

use super::tracer::Tracer;
use super::x86_64::regs::Regs;
use super::{procfs, sys};
use crate::{Jumps, Process, Thread};
use libc::EFAULT;
use rehang_words::tracer::{View, ViewOfProcess, ViewOfThread};
use std::sync::Arc;
use std::time::Duration;

/// The most jumps that are shown.
const JUMPS: usize = 4_096;

impl Tracer<'_> {
    /// `prctl(VIEW, buffer, length)`.
    pub fn answer_view(&mut self, tid: i32, regs: Regs) {
        if !self.is_viewed {
            self.is_viewed = true;
            // what was before is not known; it counts as young
            if self.look.is_none() {
                self.record.jumped = Arc::new(Jumps::since(self.clock.elapsed()));
            }
        }
        let text = serde_json::to_vec(&self.view_of_the_tree(tid)).unwrap_or_default();
        let fits = u64::try_from(text.len()).is_ok_and(|length| length <= regs.argument(2));
        let is_read = !fits || sys::write(tid, regs.argument(1), &text);
        self.answer(tid, regs, if is_read { text.len() as i64 } else { -i64::from(EFAULT) });
    }

    fn view_of_the_tree(&self, asks: i32) -> View {
        let look = self.view();
        // the innermost number is that of the namespace in which the asking program is
        let depth = numbers(asks).len();
        let seen = |id: i32| numbers(id).get(depth.saturating_sub(1)).copied();
        let instant = |span: Duration| self.record.began_boot_ns.saturating_add(ns(span));
        let process = |process: &Process| {
            let pid = seen(process.pid)?;
            Some(ViewOfProcess { pid, began: instant(process.born), has_alarm: process.alarm.is_some() })
        };
        let thread = |thread: &Thread| {
            let call = thread.call.map(|call| (call.number, call.arguments));
            let (left, is_stopped) = (thread.deadline.map(ns), thread.stopped);
            Some(ViewOfThread { tid: seen(thread.tid)?, call, left, is_stopped })
        };
        let (jumps, before) = look.jumps.latest(JUMPS);
        View {
            now: instant(look.at),
            processes: look.processes.iter().filter_map(process).collect(),
            threads: look.threads.iter().filter_map(thread).collect(),
            timerfds: look.timerfds.iter().map(|(tag, left)| (*tag, left.map(ns))).collect(),
            jumps: jumps.into_iter().map(|(ago, at)| (ns(ago), instant(at))).collect(),
            before: instant(before),
        }
    }
}

/// The numbers of a thread in the PID namespaces from this one to its own.
fn numbers(tid: i32) -> Vec<i32> {
    let text = procfs::status(tid, "NSpid:").unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

fn ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
