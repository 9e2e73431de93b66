//! System calls that wait with a time limit: where the limit is, what an expired wait returns.

use super::filter::{SYS_FUTEX_WAIT, SYS_IO_PGETEVENTS};
use super::sys;
use super::x86_64::regs::Regs;
use libc::{
    CLOCK_REALTIME, CLOCK_REALTIME_ALARM, CLOCK_TAI, EAGAIN, ETIMEDOUT, FUTEX_CLOCK_REALTIME, FUTEX_LOCK_PI,
    FUTEX_WAIT, SYS_clock_nanosleep, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_epoll_wait, SYS_futex, SYS_futex_waitv,
    SYS_io_getevents, SYS_mq_timedreceive, SYS_mq_timedsend, SYS_nanosleep, SYS_poll, SYS_ppoll, SYS_pselect6,
    SYS_rt_sigtimedwait, SYS_select, SYS_semtimedop, TIMER_ABSTIME, c_long,
};

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;
/// Longer limits are cut to this many seconds, some 250 years.
const LONGEST: u64 = 8_000_000_000;

/// A system call that waits with a time limit.
#[derive(Debug, Clone, Copy)]
pub struct Timed {
    number: c_long,
    /// The argument that holds the limit.
    limit: usize,
    form: Form,
    /// What it returns when the limit is over.
    pub expired: i64,
    /// The value of the argument for a wait without a limit.
    infinite: u64,
    /// The kernel writes the time that is left to the limit.
    pub writes_rest: bool,
}

/// How a limit is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Milliseconds,
    Timeval,
    Timespec,
    /// Which clock an absolute time is of, is in this argument.
    ClockIn(usize),
    RealTime,
    Futex,
    /// `clock_nanosleep`.
    Sleep,
}

/// When a wait ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// After so many ns.
    Within(u64),
    /// At this monotonic time, in ns.
    Monotonic(u64),
    /// At this time of day, in ns since 1970.
    RealTime(u64),
}

const fn timed(number: c_long, limit: usize, form: Form, expired: i64) -> Timed {
    Timed { number, limit, form, expired, infinite: 0, writes_rest: false }
}

const TABLE: [Timed; 18] = [
    Timed { infinite: u64::MAX, ..timed(SYS_poll, 2, Form::Milliseconds, 0) },
    Timed { infinite: u64::MAX, ..timed(SYS_epoll_wait, 3, Form::Milliseconds, 0) },
    Timed { infinite: u64::MAX, ..timed(SYS_epoll_pwait, 3, Form::Milliseconds, 0) },
    timed(SYS_epoll_pwait2, 3, Form::Timespec, 0),
    Timed { writes_rest: true, ..timed(SYS_ppoll, 2, Form::Timespec, 0) },
    Timed { writes_rest: true, ..timed(SYS_select, 4, Form::Timeval, 0) },
    Timed { writes_rest: true, ..timed(SYS_pselect6, 4, Form::Timespec, 0) },
    timed(SYS_nanosleep, 0, Form::Timespec, 0),
    timed(SYS_clock_nanosleep, 2, Form::Sleep, 0),
    timed(SYS_futex, 3, Form::Futex, -(ETIMEDOUT as i64)),
    timed(SYS_futex_waitv, 3, Form::ClockIn(4), -(ETIMEDOUT as i64)),
    timed(SYS_FUTEX_WAIT, 4, Form::ClockIn(5), -(ETIMEDOUT as i64)),
    timed(SYS_rt_sigtimedwait, 2, Form::Timespec, -(EAGAIN as i64)),
    timed(SYS_semtimedop, 3, Form::Timespec, -(EAGAIN as i64)),
    timed(SYS_mq_timedsend, 4, Form::RealTime, -(ETIMEDOUT as i64)),
    timed(SYS_mq_timedreceive, 4, Form::RealTime, -(ETIMEDOUT as i64)),
    timed(SYS_io_getevents, 4, Form::Timespec, 0),
    timed(SYS_IO_PGETEVENTS, 4, Form::Timespec, 0),
];

/// The timed wait of this number.
pub fn find(number: i64) -> Option<&'static Timed> {
    TABLE.iter().find(|timed| timed.number == number)
}

/// Whether it only sleeps, so that it can be held in its stop and never has to be made.
pub fn is_sleep(number: i64) -> bool {
    matches!(number, libc::SYS_nanosleep | libc::SYS_clock_nanosleep)
}

/// Whether it waits for one thing alone, or for nothing, so that nothing else is late if it ends late.
pub fn can_end_late(number: i64) -> bool {
    is_sleep(number) || matches!(number, libc::SYS_futex | SYS_FUTEX_WAIT)
}

/// Whether it is a `select`, whose sets are emptied when it expires.
pub fn is_select(number: i64) -> bool {
    matches!(number, libc::SYS_select | libc::SYS_pselect6)
}

/// Whether a clock shows the time of day.
pub fn is_real_time(clock: i32) -> bool {
    // 5 is CLOCK_REALTIME_COARSE
    matches!(clock, CLOCK_REALTIME | 5 | CLOCK_REALTIME_ALARM | CLOCK_TAI)
}

/// A timespec in ns; `None` if the kernel would refuse it.
pub fn from_timespec((seconds, nanos): (i64, i64)) -> Option<u64> {
    let (seconds, nanos) = (u64::try_from(seconds).ok()?, u64::try_from(nanos).ok()?);
    (nanos < SECOND).then(|| seconds.min(LONGEST) * SECOND + nanos)
}

/// A timeval in ns; `None` if the kernel would refuse it.
pub fn from_timeval((seconds, micros): (i64, i64)) -> Option<u64> {
    let (seconds, micros) = (u64::try_from(seconds).ok()?, u64::try_from(micros).ok()?);
    Some((seconds + micros / 1_000_000).min(LONGEST) * SECOND + micros % 1_000_000 * 1000)
}

impl Timed {
    /// The limit that a thread, which is about to make the call, gives; `None` if the kernel would refuse it.
    pub fn limit(&self, tid: i32, regs: &Regs) -> Option<Limit> {
        let value = regs.argument(self.limit);
        let timespec = || sys::read_pair(tid, value).and_then(from_timespec);
        let at = |is_real: bool, ns| if is_real { Limit::RealTime(ns) } else { Limit::Monotonic(ns) };
        Some(match self.form {
            Form::Milliseconds => Limit::Within(u64::from(value as u32) * 1_000_000),
            Form::Timeval => Limit::Within(sys::read_pair(tid, value).and_then(from_timeval)?),
            Form::Timespec => Limit::Within(timespec()?),
            Form::RealTime => Limit::RealTime(timespec()?),
            Form::ClockIn(argument) => at(is_real_time(regs.argument(argument) as i32), timespec()?),
            Form::Sleep if regs.argument(1) as i32 & TIMER_ABSTIME != 0 => {
                at(is_real_time(regs.argument(0) as i32), timespec()?)
            }
            Form::Sleep => Limit::Within(timespec()?),
            Form::Futex => {
                let command = regs.argument(1) as i32;
                match command & 0x7f {
                    FUTEX_WAIT => Limit::Within(timespec()?),
                    plain => at(command & FUTEX_CLOCK_REALTIME != 0 || plain == FUTEX_LOCK_PI, timespec()?),
                }
            }
        })
    }

    /// Takes the limit away.
    pub fn remove_limit(&self, regs: &mut Regs) {
        regs.set_argument(self.limit, self.infinite);
    }

    /// Puts the argument back as the program gave it.
    pub fn restore_limit(&self, regs: &mut Regs, arguments: &[u64; 6]) {
        regs.set_argument(self.limit, arguments[self.limit]);
    }

    /// Writes the time that is left to where the limit was, in the same form.
    pub fn write_rest(&self, tid: i32, arguments: &[u64; 6], rest: u64) {
        let unit = if self.form == Form::Timeval { 1000 } else { 1 };
        sys::write_pair(tid, arguments[self.limit], rest / SECOND, rest % SECOND / unit);
    }
}
