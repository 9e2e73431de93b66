//! The system call that a thread is in: its name, what it waits for, and for how long.
//!
//! Invariant: what cannot be decoded is `Other` with an unknown limit, never a guess.

use super::{file, memory, numbers};
use crate::data::{Call, Does, Pid, Process, TimeLimit, Watch};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The most descriptors of one poll or select that are decoded.
const MAX_POLLED: usize = 1024;

/// The call of the thread at `base`, and whether it may be read. `None`: it runs, or sleeps outside any call.
pub fn read(base: &str, process: &Process, tid: Pid) -> (Option<Call>, bool) {
    let Ok(text) = file::text(&format!("{base}/syscall")) else { return (None, false) };
    let mut words = text.split_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else { return (None, true) };
    if number < 0 {
        return (None, true);
    }
    let mut args = [0_u64; 6];
    for (arg, word) in args.iter_mut().zip(words) {
        *arg = u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
    }
    let mut call = Call { number, name: numbers::name(number).to_owned(), args, ..Call::default() };
    if call.name == "restart_syscall" {
        // a wait that a stop interrupted: the kernel's function tells which call it was, and the arguments are still
        // those of the wait
        let wchan = file::text(&format!("{base}/wchan")).unwrap_or_default();
        call.name = restarted(&wchan, args[0]).to_owned();
    }
    decode(&mut call, process, tid);
    (Some(call), true)
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

fn decode(call: &mut Call, process: &Process, tid: Pid) {
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
        "open" => (opens(process, tid, libc::AT_FDCWD, a), TimeLimit::Never),
        "openat" | "openat2" => (opens(process, tid, fd, b), TimeLimit::Never),
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
    let now_ms = now.tv_sec.max(0) as u64 * 1000 + now.tv_nsec as u64 / 1_000_000;
    memory::timespec_ms(tid, at).map_or(TimeLimit::Unknown, |then| TimeLimit::LeftMs(then.saturating_sub(now_ms)))
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

fn opens(process: &Process, tid: Pid, folder: i32, at: u64) -> Does {
    let Some(path) = memory::text(tid, at) else { return Does::Open { path: None, fifo: false } };
    let pid = process.pid;
    let seen = if path.starts_with('/') {
        Path::new(&format!("/proc/{pid}/root")).join(path.trim_start_matches('/'))
    } else if folder == libc::AT_FDCWD {
        Path::new(&format!("/proc/{pid}/cwd")).join(&path)
    } else {
        Path::new(&format!("/proc/{pid}/fd/{folder}")).join(&path)
    };
    let fifo = fs::metadata(seen).is_ok_and(|meta| meta.file_type().is_fifo());
    Does::Open { path: Some(path), fifo }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Descriptor, Mode, Object};

    /// What a call with these arguments waits for, and how long; the arguments point into the memory of this process.
    fn decoded(name: &str, args: [u64; 6]) -> (Does, TimeLimit) {
        let own = std::process::id() as Pid;
        let fds = vec![Descriptor { fd: 9, mode: Mode::Both, what: Object::Process { pid: 77 } }];
        let process = Process { pid: own, fds, ..Process::default() };
        let mut call = Call { name: name.to_owned(), args, ..Call::default() };
        decode(&mut call, &process, own);
        (call.does, call.limit)
    }

    fn address<T: ?Sized>(of: &T) -> u64 {
        std::ptr::from_ref(of).cast::<u8>() as u64
    }

    #[test]
    fn calls_on_one_descriptor() {
        for name in ["read", "readv", "pread64", "recvfrom", "recvmsg", "accept", "accept4", "splice"] {
            assert_eq!(decoded(name, [7, 0, 0, 0, 0, 0]), (Does::Read { fd: 7 }, TimeLimit::Unknown), "{name}");
        }
        for name in ["write", "writev", "pwrite64", "sendto", "sendmsg", "sendfile"] {
            assert_eq!(decoded(name, [7, 0, 0, 0, 0, 0]), (Does::Write { fd: 7 }, TimeLimit::Unknown), "{name}");
        }
        assert_eq!(decoded("flock", [7, 2, 0, 0, 0, 0]), (Does::Lock { fd: 7 }, TimeLimit::Never));
        let fcntl = |command: i32| decoded("fcntl", [7, command as u64, 0, 0, 0, 0]);
        assert_eq!(
            [libc::F_SETLKW, libc::F_OFD_SETLKW].map(fcntl),
            [const { (Does::Lock { fd: 7 }, TimeLimit::Never) }; 2]
        );
        assert_eq!(fcntl(libc::F_SETLK), (Does::Other, TimeLimit::Unknown));
        assert_eq!(decoded("connect", [7, 0, 0, 0, 0, 0]), (Does::Connect { fd: 7 }, TimeLimit::Unknown));
        let ioctl = Does::Ioctl { fd: 7, request: 0x5409 };
        assert_eq!(decoded("ioctl", [7, 0x5409, 0, 0, 0, 0]), (ioctl, TimeLimit::Unknown));
        assert_eq!(decoded("io_uring_enter", [7, 0, 0, 0, 0, 0]), (Does::Uring { fd: 7 }, TimeLimit::Unknown));
        assert_eq!(decoded("getpid", [7, 0, 0, 0, 0, 0]), (Does::Other, TimeLimit::Unknown));
    }

    #[test]
    fn several_descriptors_and_a_time_limit() {
        let polled = [
            libc::pollfd { fd: 3, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: 4, events: libc::POLLOUT, revents: 0 },
            libc::pollfd { fd: 5, events: libc::POLLIN | libc::POLLOUT, revents: 0 },
            libc::pollfd { fd: 6, events: 0, revents: libc::POLLIN },
        ];
        let watch = |fd, input, output| Watch { fd, input, output };
        let on = vec![watch(3, true, false), watch(4, false, true), watch(5, true, true), watch(6, false, false)];
        let at = address(&polled);
        assert_eq!(decoded("poll", [at, 5, 250, 0, 0, 0]), (Does::Poll { on: on.clone() }, TimeLimit::GivenMs(250)));
        let for_ever = u64::from(u32::MAX);
        assert_eq!(
            decoded("poll", [at, 1, for_ever, 0, 0, 0]),
            (Does::Poll { on: on[..1].to_vec() }, TimeLimit::Never)
        );
        let span = libc::timespec { tv_sec: 2, tv_nsec: 1_000_001 };
        let limit = address(&span);
        assert_eq!(
            decoded("ppoll", [at, 5, limit, 0, 0, 0]),
            (Does::Poll { on: on.clone() }, TimeLimit::GivenMs(2_002))
        );
        assert_eq!(decoded("ppoll", [at, 5, 0, 0, 0, 0]), (Does::Poll { on }, TimeLimit::Never));
        assert_eq!(decoded("ppoll", [0, 0, 1, 0, 0, 0]).1, TimeLimit::Unknown, "a page that is not there");
        assert_eq!(decoded("epoll_wait", [8, at, 1, 30, 0, 0]), (Does::Epoll { fd: 8 }, TimeLimit::GivenMs(30)));
        assert_eq!(
            decoded("epoll_pwait2", [8, at, 1, limit, 0, 0]),
            (Does::Epoll { fd: 8 }, TimeLimit::GivenMs(2_002))
        );
    }

    #[test]
    fn the_sets_of_select() {
        // descriptors 3 and 66 for input, 4 for output, 5 for exceptions
        let (input, output, except): ([u64; 2], [u64; 2], [u64; 2]) = ([1 << 3, 1 << 2], [1 << 4, 0], [1 << 5, 0]);
        let micros = libc::timeval { tv_sec: 1, tv_usec: 1_001 };
        let args = |count, limit| [count, address(&input), address(&output), address(&except), limit, 0];
        let watch = |fd, input, output| Watch { fd, input, output };
        let on = vec![watch(3, true, false), watch(4, false, true), watch(5, true, false), watch(66, true, false)];
        let limit = TimeLimit::GivenMs(1_002);
        assert_eq!(decoded("select", args(67, address(&micros))), (Does::Poll { on: on.clone() }, limit));
        assert_eq!(decoded("select", args(66, 0)), (Does::Poll { on: on[..3].to_vec() }, TimeLimit::Never));
        let span = libc::timespec { tv_sec: 0, tv_nsec: 5 };
        assert_eq!(decoded("pselect6", args(67, address(&span))), (Does::Poll { on }, TimeLimit::GivenMs(1)));
    }

    #[test]
    fn children_and_signals() {
        let child = |pid| (Does::Child { pid }, TimeLimit::Never);
        assert_eq!(decoded("wait4", [u64::from(u32::MAX), 0, 0, 0, 0, 0]), child(-1));
        assert_eq!(decoded("wait4", [12, 0, 0, 0, 0, 0]), child(12));
        // P_ALL, P_PID, P_PGID, and a descriptor of a process
        let waitid = |kind, id| decoded("waitid", [kind, id, 0, 0, 0, 0]);
        assert_eq!(
            [waitid(0, 5), waitid(1, 12), waitid(2, 12), waitid(3, 9)],
            [child(-1), child(12), child(-12), child(77)]
        );
        assert_eq!(waitid(3, 8), child(-1));
        assert_eq!(decoded("pause", [0; 6]), (Does::Signal, TimeLimit::Never));
        assert_eq!(decoded("rt_sigtimedwait", [0; 6]), (Does::Signal, TimeLimit::Never));
    }

    #[test]
    fn time_alone_and_other_threads() {
        let span = libc::timespec { tv_sec: 3, tv_nsec: 0 };
        let at = address(&span);
        let (given, over) = (TimeLimit::GivenMs(3_000), TimeLimit::LeftMs(0));
        assert_eq!(decoded("nanosleep", [at, 0, 0, 0, 0, 0]), (Does::Sleep, given));
        // TIMER_ABSTIME: a moment, 3 s after the machine began, which is over
        let sleep = |clock: i32, flags| decoded("clock_nanosleep", [clock as u64, flags, at, 0, 0, 0]);
        assert_eq!(sleep(libc::CLOCK_MONOTONIC, 0), (Does::Sleep, given));
        assert_eq!(sleep(libc::CLOCK_REALTIME, 1), (Does::Sleep, over));
        assert_eq!(sleep(libc::CLOCK_PROCESS_CPUTIME_ID, 1), (Does::Sleep, TimeLimit::Unknown));
        // FUTEX_WAIT takes a span, FUTEX_WAIT_BITSET a moment, 128 is private, 256 the realtime clock
        let futex = |operation, at| decoded("futex", [0, operation, 0, at, 0, 0]);
        assert_eq!(futex(128, 0), (Does::Futex, TimeLimit::Never));
        assert_eq!([futex(0, at), futex(128, at)], [const { (Does::Futex, TimeLimit::GivenMs(3_000)) }; 2]);
        assert_eq!([9 | 256, 11 | 256, 13 | 256, 6].map(|operation| futex(operation, at).1), [over; 4]);
        assert_eq!(futex(5, at), (Does::Futex, TimeLimit::Unknown));
        assert_eq!(decoded("futex_waitv", [0; 6]), (Does::Futex, TimeLimit::Unknown));
        let far = libc::timespec { tv_sec: 1 << 40, tv_nsec: 0 };
        let left = decoded("futex", [0, 9, 0, address(&far), 0, 0]).1;
        assert!(matches!(left, TimeLimit::LeftMs(ms) if ms > 1 << 49), "{left:?}");
    }

    #[test]
    fn a_path_is_seen_as_the_process_sees_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let opened = |path: &Path| {
            let text = format!("{}\0", path.display());
            decoded("openat", [libc::AT_FDCWD as u64, address(text.as_str()), 0, 0, 0, 0])
        };
        let open = |path: &Path, fifo| (Does::Open { path: Some(path.display().to_string()), fifo }, TimeLimit::Never);
        assert_eq!(opened(&path), open(&path, true));
        assert_eq!(opened(folder.path()), open(folder.path(), false));
        // from the working folder, which is the package's
        assert_eq!(opened(Path::new("Cargo.toml")), open(Path::new("Cargo.toml"), false));
        assert_eq!(decoded("open", [0; 6]), (Does::Open { path: None, fifo: false }, TimeLimit::Never));
    }

    #[test]
    fn what_a_stop_interrupted_is_what_it_was() {
        let restarted = |wchan| super::restarted(wchan, 1 << 20);
        assert_eq!(restarted("hrtimer_nanosleep"), "nanosleep");
        assert_eq!(restarted("poll_schedule_timeout"), "poll");
        assert_eq!(restarted("futex_do_wait"), "futex");
        assert_eq!(restarted("anything"), "restart_syscall");
        assert_eq!(super::restarted("hrtimer_nanosleep", 1), "clock_nanosleep", "a clock's number is in front");
        assert_eq!([4_095, 4_096].map(|first| super::restarted("do_poll", first)), ["clock_nanosleep", "poll"]);
    }
}
