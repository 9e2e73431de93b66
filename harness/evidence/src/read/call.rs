//! The system call that a thread is in: its name, what it waits for, and for how long.
//!
//! Invariant: what cannot be decoded is `Other` with an unknown limit, never a guess.

use super::{Reach, file, memory, mounts, numbers, served};
use crate::data::{Call, Does, Pid, Process, TimeLimit, Watch};
use rustix::fs::FileType;

/// The most descriptors of one poll or select that are decoded.
const MAX_POLLED: usize = 1024;

/// The call of the thread at `base`, and whether it may be read. `None`: it runs, or sleeps outside any call.
pub fn read(base: &str, process: &Process, tid: Pid, reach: &Reach) -> (Option<Call>, bool) {
    let Ok(text) = file::record(&format!("{base}/syscall")) else { return (None, false) };
    if let Some((number, args)) = reach.time.as_ref().and_then(|time| time.call(tid)) {
        return (Some(in_call(base, process, tid, reach, (number, args))), true);
    }
    let mut words = text.split_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else { return (None, true) };
    if number < 0 {
        return (None, true);
    }
    let mut args = [0_u64; 6];
    for (arg, word) in args.iter_mut().zip(words) {
        *arg = u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
    }
    (Some(in_call(base, process, tid, reach, (number, args))), true)
}

/// The call with this number and these arguments.
fn in_call(base: &str, process: &Process, tid: Pid, reach: &Reach, (number, args): (i64, [u64; 6])) -> Call {
    let mut call = Call { number, name: numbers::name(number).to_owned(), args, ..Call::default() };
    if call.name == "restart_syscall" {
        // a wait that a stop interrupted: the kernel's function tells which call it was, and the arguments are still
        // those of the wait
        let wchan = file::record(&format!("{base}/wchan")).unwrap_or_default();
        call.name = restarted(plain(&wchan), args[0]).to_owned();
    }
    decode(&mut call, process, tid, reach);
    if let Does::Open { fifo, .. } = &mut call.does {
        // the kernel's function says it, if its names may be read
        *fifo |= file::record(&format!("{base}/wchan")).is_ok_and(|wchan| plain(&wchan) == "wait_for_partner");
    }
    if let Some(time) = &reach.time {
        time.limit(tid, &mut call);
    }
    call
}

/// A kernel's function without what the compiler has added to its name: `poll_schedule_timeout.constprop.0`.
pub fn plain(function: &str) -> &str {
    function.split('.').next().unwrap_or(function)
}

/// Of the calls that are restarted like this, only clock_nanosleep has a small number as its first argument, that of a
/// clock; the others have an address, and none of these is on the first page.
fn restarted(wchan: &str, first: u64) -> &'static str {
    match wchan {
        _ if first < 4096 => "clock_nanosleep",
        "hrtimer_nanosleep" | "do_nanosleep" | "common_nsleep" => "nanosleep",
        "poll_schedule_timeout" | "do_sys_poll" | "do_poll" => "poll",
        "futex_do_wait" | "futex_wait_queue" | "futex_wait_queue_me" => "futex",
        _ => "restart_syscall",
    }
}

fn decode(call: &mut Call, process: &Process, tid: Pid, reach: &Reach) {
    let [a, b, c, d, e, _] = call.args;
    let fd = a as i32;
    let spec = |at: u64| if at == 0 { TimeLimit::Never } else { given(memory::timespec_ms(tid, at)) };
    (call.does, call.limit) = match call.name.as_str() {
        "read" | "readv" | "pread64" | "preadv" | "recvfrom" | "recvmsg" | "recvmmsg" | "accept" | "accept4"
        | "mq_timedreceive" => (Does::Read { fd }, TimeLimit::Unknown),
        "splice" | "tee" => (Does::Read { fd }, TimeLimit::Unknown),
        "sendfile" => (Does::Write { fd }, TimeLimit::Unknown),
        "write" | "writev" | "pwrite64" | "pwritev" | "sendto" | "sendmsg" | "sendmmsg" => {
            (Does::Write { fd }, TimeLimit::Unknown)
        }
        "poll" => (Does::Poll { on: pollfds(tid, a, b) }, milliseconds(c)),
        "ppoll" => (Does::Poll { on: pollfds(tid, a, b) }, spec(c)),
        "select" => {
            let limit = if e == 0 { TimeLimit::Never } else { given(memory::timeval_ms(tid, e)) };
            (Does::Poll { on: sets(tid, a, b, c, d) }, limit)
        }
        "pselect6" => (Does::Poll { on: sets(tid, a, b, c, d) }, spec(e)),
        "epoll_wait" | "epoll_pwait" => (Does::Epoll { fd }, milliseconds(d)),
        "epoll_pwait2" => (Does::Epoll { fd }, spec(d)),
        "wait4" => (Does::Child { pid: fd }, TimeLimit::Never),
        "waitid" => (Does::Child { pid: waited(process, a, b) }, TimeLimit::Never),
        "futex" => (Does::Futex, futex_limit(tid, b, d)),
        "futex_waitv" => (Does::Futex, TimeLimit::Unknown),
        "nanosleep" => (Does::Sleep, spec(a)),
        "clock_nanosleep" => (Does::Sleep, if b & 1 == 1 { until(tid, a as i32, c) } else { spec(c) }),
        "flock" => (Does::Lock { fd }, TimeLimit::Never),
        // F_SETLKW and F_OFD_SETLKW; the 64-bit ones are the same on 64-bit machines
        "fcntl" if b == libc::F_SETLKW as u64 || b == libc::F_OFD_SETLKW as u64 => {
            (Does::Lock { fd }, TimeLimit::Never)
        }
        "open" => (opens(process, tid, libc::AT_FDCWD, a, reach), TimeLimit::Never),
        "openat" | "openat2" => (opens(process, tid, fd, b, reach), TimeLimit::Never),
        "connect" => (Does::Connect { fd }, TimeLimit::Unknown),
        "pause" | "rt_sigsuspend" => (Does::Signal, TimeLimit::Never),
        "rt_sigtimedwait" => (Does::Signal, spec(c)),
        "ioctl" => (Does::Ioctl { fd, request: b }, TimeLimit::Unknown),
        "io_uring_enter" => (Does::Uring { fd }, TimeLimit::Unknown),
        _ => (Does::Other, TimeLimit::Unknown),
    };
}

fn given(ms: Option<u64>) -> TimeLimit {
    ms.map_or(TimeLimit::Unknown, TimeLimit::GivenMs)
}

/// An `int` of milliseconds; any negative one means for ever.
fn milliseconds(arg: u64) -> TimeLimit {
    u64::try_from(arg as i32).map_or(TimeLimit::Never, TimeLimit::GivenMs)
}

/// A futex's time limit: what FUTEX_WAIT (0) takes is a span, what the others take is a moment, of the realtime clock
/// with flag 256 (linux/futex.h).
fn futex_limit(tid: Pid, operation: u64, at: u64) -> TimeLimit {
    match operation & 0x7f {
        _ if at == 0 => TimeLimit::Never,
        0 => given(memory::timespec_ms(tid, at)),
        9 | 11 | 13 => {
            let clock = if operation & 256 == 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
            until(tid, clock, at)
        }
        6 => until(tid, libc::CLOCK_REALTIME, at),
        _ => TimeLimit::Unknown,
    }
}

fn until(tid: Pid, clock: i32, at: u64) -> TimeLimit {
    use rustix::time::ClockId;
    let clock = match clock {
        libc::CLOCK_REALTIME => ClockId::Realtime,
        libc::CLOCK_MONOTONIC => ClockId::Monotonic,
        libc::CLOCK_BOOTTIME => ClockId::Boottime,
        _ => return TimeLimit::Unknown,
    };
    let now = rustix::time::clock_gettime(clock);
    memory::timespec_ms(tid, at)
        .map_or(TimeLimit::Unknown, |then| TimeLimit::LeftMs(then.saturating_sub(whole_ms(now))))
}

/// The whole milliseconds of a moment.
fn whole_ms(at: rustix::time::Timespec) -> u64 {
    at.tv_sec.max(0) as u64 * 1000 + at.tv_nsec as u64 / 1_000_000
}

/// `struct pollfd { int fd; short events; short revents; }`, an array of them.
fn pollfds(tid: Pid, at: u64, count: u64) -> Vec<Watch> {
    let count = usize::try_from(count).unwrap_or(0).min(MAX_POLLED);
    let bytes = memory::bytes(tid, at, count * 8).unwrap_or_default();
    let watch = |entry: &[u8]| {
        let fd = i32::from_ne_bytes(entry.get(..4)?.try_into().ok()?);
        let events = i16::from_ne_bytes(entry.get(4..6)?.try_into().ok()?);
        let any = |bits: i16| events & bits != 0;
        let input = any(libc::POLLIN | libc::POLLPRI | libc::POLLRDHUP | libc::POLLRDNORM);
        (fd >= 0).then_some(Watch { fd, input, output: any(libc::POLLOUT | libc::POLLWRNORM) })
    };
    bytes.chunks_exact(8).filter_map(watch).collect()
}

/// The three bit sets of select: for input, output, and exceptions (counted as input).
fn sets(tid: Pid, count: u64, input: u64, output: u64, except: u64) -> Vec<Watch> {
    let count = usize::try_from(count).unwrap_or(0).min(MAX_POLLED);
    let set = |at: u64| memory::bytes(tid, at, count.div_ceil(64) * 8).unwrap_or_default();
    let (input, output, except) = (set(input), set(output), set(except));
    let bit = |set: &[u8], fd: usize| set.get(fd / 8).is_some_and(|byte| byte >> (fd % 8) & 1 == 1);
    let watch =
        |fd: usize| Watch { fd: fd as i32, input: bit(&input, fd) || bit(&except, fd), output: bit(&output, fd) };
    (0..count).map(watch).filter(|watch| watch.input || watch.output).collect()
}

/// waitid(P_ALL 0 | P_PID 1 | P_PGID 2 | P_PIDFD 3, id), in the form of wait4's argument.
fn waited(process: &Process, kind: u64, id: u64) -> Pid {
    match kind {
        1 => id as Pid,
        2 => -(id as Pid),
        // a pidfd names its process in our numbering; wait4 would in the caller's: callers try both
        3 => match process.fd(id as i32).map(|fd| &fd.what) {
            Some(crate::data::Object::Process { pid }) => *pid,
            _ => -1,
        },
        _ => -1,
    }
}

fn opens(process: &Process, tid: Pid, folder: i32, at: u64, reach: &Reach) -> Does {
    let Some(path) = memory::text(tid, at) else { return Does::Open { path: None, fifo: false } };
    let file = served::absolute(process.pid, folder, &path).and_then(|path| reach.mounts.walk(process.pid, &path).ok());
    let status = file.and_then(|file| mounts::remembered_at(&file));
    let fifo = status.is_some_and(|status| mounts::kind(&status) == FileType::Fifo);
    Does::Open { path: Some(rehang_words::text::visible(&path)), fifo }
}

#[cfg(test)]
mod tests;
