//! What a call's number and arguments are taken to say; the arguments point into the memory of this very process.
//!
//! Invariant: no test depends on the time at which it runs.

use super::*;
use crate::data::{Descriptor, Mode, Object};
use std::path::Path;

/// What a call with these arguments waits for, and how long; the arguments point into the memory of this process.
fn decoded(name: &str, args: [u64; 6]) -> (Does, TimeLimit) {
    let own = std::process::id() as Pid;
    let fds = vec![Descriptor { fd: 9, mode: Mode::Both, what: Object::Process { pid: 77 } }];
    let process = Process { pid: own, fds, ..Process::default() };
    let mut call = Call { name: name.to_owned(), args, ..Call::default() };
    decode(&mut call, &process, own, &Reach::default());
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
    assert_eq!(decoded("poll", [at, 1, for_ever, 0, 0, 0]), (Does::Poll { on: on[..1].to_vec() }, TimeLimit::Never));
    let span = libc::timespec { tv_sec: 2, tv_nsec: 1_000_001 };
    let limit = address(&span);
    assert_eq!(decoded("ppoll", [at, 5, limit, 0, 0, 0]), (Does::Poll { on: on.clone() }, TimeLimit::GivenMs(2_002)));
    assert_eq!(decoded("ppoll", [at, 5, 0, 0, 0, 0]), (Does::Poll { on }, TimeLimit::Never));
    assert_eq!(decoded("ppoll", [0, 0, 1, 0, 0, 0]).1, TimeLimit::Unknown, "a page that is not there");
    assert_eq!(decoded("epoll_wait", [8, at, 1, 30, 0, 0]), (Does::Epoll { fd: 8 }, TimeLimit::GivenMs(30)));
    assert_eq!(decoded("epoll_pwait2", [8, at, 1, limit, 0, 0]), (Does::Epoll { fd: 8 }, TimeLimit::GivenMs(2_002)));
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

/// What is read of a thread whose files say this.
fn read_of(syscall: &str, wchan: &str) -> (Option<Call>, bool) {
    let base = tempfile::tempdir().unwrap();
    std::fs::write(base.path().join("syscall"), syscall).unwrap();
    std::fs::write(base.path().join("wchan"), wchan).unwrap();
    let own = std::process::id() as Pid;
    read(base.path().to_str().unwrap(), &Process { pid: own, ..Process::default() }, own, &Reach::default())
}

#[test]
fn a_line_is_a_number_and_six_arguments() {
    assert_eq!(
        ["running\n", "-1 0x7ffc 0x7f\n", "-2\n", "", "x"].map(|text| read_of(text, "")),
        [const { (None, true) }; 5]
    );
    let own = Process { pid: std::process::id() as Pid, ..Process::default() };
    assert_eq!(read("/no/such/folder", &own, own.pid, &Reach::default()), (None, false), "it may not be read");
    let number = libc::SYS_read;
    let line = format!("{number} 0x7 0xab 0x10 0x0 0xffffffffffffffff 5 0x7ffe 0x7f\n");
    let args = [7, 0xab, 0x10, 0, u64::MAX, 5];
    let call = Call { number, name: "read".into(), args, does: Does::Read { fd: 7 }, limit: TimeLimit::Unknown };
    assert_eq!(read_of(&line, "pipe_read"), (Some(call), true));
    let first = read_of("0 zz\n", "").0.unwrap();
    assert_eq!((first.number, first.args), (0, [0; 6]));
    // what a stop interrupted is told by where it sleeps
    let name = |number: i64, wchan| read_of(&format!("{number} 0x100000\n"), wchan).0.unwrap().name;
    let restart = libc::SYS_restart_syscall;
    assert_eq!((name(restart, "do_nanosleep"), name(restart, "x")), ("nanosleep".into(), "restart_syscall".into()));
    assert_eq!(name(restart, "poll_schedule_timeout.constprop.0"), "poll", "as the compiler has named it");
    assert_eq!(name(libc::SYS_getpid, "do_nanosleep"), "");
}

#[test]
fn every_call_that_waits_is_decoded() {
    let does = |name: &str| decoded(name, [7, 1, 0, 0, 0, 0]).0;
    let reads = ["preadv", "recvmmsg", "mq_timedreceive", "tee"].map(does);
    assert_eq!(reads, [const { Does::Read { fd: 7 } }; 4]);
    assert_eq!(["pwritev", "sendmmsg"].map(does), [const { Does::Write { fd: 7 } }; 2]);
    assert_eq!(does("epoll_pwait"), Does::Epoll { fd: 7 });
    assert_eq!(does("rt_sigsuspend"), Does::Signal);
    let none = Does::Open { path: None, fifo: false };
    assert_eq!([does("openat"), does("openat2")], [none.clone(), none]);
    assert_eq!([does("semop"), does("")], [const { Does::Other }; 2]);
    // the flags of a fcntl alone do not make it wait
    let fcntl = |command: u64| decoded("fcntl", [7, command, 0, 0, 0, 0]).0;
    assert_eq!([0, 1, u64::MAX].map(fcntl), [const { Does::Other }; 3]);
}

#[test]
fn a_number_of_milliseconds_may_be_negative() {
    let limits = [0, 1, i32::MAX as u64, u64::from(u32::MAX), 0x8000_0000, 1 << 32].map(milliseconds);
    use TimeLimit::{GivenMs, Never};
    assert_eq!(limits, [GivenMs(0), GivenMs(1), GivenMs(i32::MAX as u64), Never, Never, GivenMs(0)]);
    assert_eq!([given(None), given(Some(5))], [TimeLimit::Unknown, GivenMs(5)]);
    let ms = |tv_sec, tv_nsec| whole_ms(rustix::time::Timespec { tv_sec, tv_nsec });
    assert_eq!([ms(0, 999_999), ms(0, 1_000_000), ms(3, 2_999_999), ms(-5, 0)], [0, 1, 3_002, 0]);
}

#[test]
fn a_moment_is_one_of_the_clock_that_the_call_names() {
    // in 2001: over by the realtime clock; a machine that runs for 31 years would be past it by the others
    let moment = libc::timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
    let at = address(&moment);
    let over = |limit: TimeLimit| match limit {
        TimeLimit::LeftMs(left) => left == 0,
        limit => panic!("a moment: {limit:?}"),
    };
    let sleep = |clock: i32| over(decoded("clock_nanosleep", [clock as u64, 1, at, 0, 0, 0]).1);
    assert_eq!([libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC, libc::CLOCK_BOOTTIME].map(sleep), [true, false, false]);
    let futex = |operation| over(decoded("futex", [0, operation, 0, at, 0, 0]).1);
    assert_eq!(
        [6, 9, 11, 13, 9 | 128, 9 | 256, 13 | 256 | 128].map(futex),
        [true, false, false, false, false, true, true]
    );
    // of the flags, only the one for a moment counts
    let flags = |flags| decoded("clock_nanosleep", [0, flags, at, 0, 0, 0]).1;
    let span = TimeLimit::GivenMs(1_000_000_000_000);
    assert_eq!([flags(0), flags(2), flags(3)], [span, span, TimeLimit::LeftMs(0)]);
    let futex = |operation| decoded("futex", [0, operation, 0, at, 0, 0]).1;
    assert_eq!([futex(0), futex(256), futex(2), futex(7)], [span, span, TimeLimit::Unknown, TimeLimit::Unknown]);
}

#[test]
fn each_event_of_poll_is_input_or_output() {
    let watch = |events: i16| {
        let polled = [libc::pollfd { fd: 0, events, revents: 0 }];
        let on = pollfds(std::process::id() as Pid, address(&polled), 1);
        let [Watch { fd: 0, input, output }] = on.as_slice() else { panic!("one: {on:?}") };
        (*input, *output)
    };
    for events in [libc::POLLIN, libc::POLLPRI, libc::POLLRDHUP, libc::POLLRDNORM, libc::POLLIN | libc::POLLPRI] {
        assert_eq!(watch(events), (true, false), "{events:x}");
    }
    for events in [libc::POLLOUT, libc::POLLWRNORM, libc::POLLOUT | libc::POLLWRNORM] {
        assert_eq!(watch(events), (false, true), "{events:x}");
    }
    for events in [0, libc::POLLERR, libc::POLLHUP, libc::POLLNVAL, libc::POLLRDBAND] {
        assert_eq!(watch(events), (false, false), "{events:x}");
    }
    let many = vec![libc::pollfd { fd: 5, events: 1, revents: 0 }; 1_100];
    let count = |count| pollfds(std::process::id() as Pid, address(many.as_slice()), count).len();
    assert_eq!([0, 1, 1_024, 1_025, u64::MAX].map(count), [0, 1, 1_024, 1_024, 1_024]);
}

#[test]
fn a_descriptor_of_select_may_be_in_several_sets() {
    // 1 in all three, 2 in the first two, 9 in the last two, 63 and 64 beside a word's end
    let one = [1 << 1 | 1 << 2 | 1 << 63_u64, 0_u64];
    let two = [1 << 1 | 1 << 2 | 1 << 9, 1_u64];
    let three = [1 << 1 | 1 << 9, 0_u64];
    let on = |count, sets_of: [u64; 3]| sets(std::process::id() as Pid, count, sets_of[0], sets_of[1], sets_of[2]);
    let watch = |fd, input, output| Watch { fd, input, output };
    let all = [address(&one), address(&two), address(&three)];
    let wanted = [
        watch(1, true, true),
        watch(2, true, true),
        watch(9, true, true),
        watch(63, true, false),
        watch(64, false, true),
    ];
    assert_eq!(on(65, all), wanted);
    assert_eq!(
        (on(64, all), on(9, all), on(10, all)),
        (wanted[..4].to_vec(), wanted[..2].to_vec(), wanted[..3].to_vec())
    );
    assert_eq!(on(65, [all[0], 0, 0]), [watch(1, true, false), watch(2, true, false), watch(63, true, false)]);
    assert_eq!(on(65, [0, 0, all[2]]), [watch(1, true, false), watch(9, true, false)]);
    assert_eq!((on(0, all), on(65, [0; 3])), (vec![], vec![]));
}

#[test]
fn a_path_is_relative_to_the_folder_that_the_call_names() {
    use std::os::fd::AsRawFd;
    let folder = tempfile::tempdir().unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.path().join("queue"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let open = std::fs::File::open(folder.path()).unwrap();
    let is_fifo = |fd: i32, path: &str| {
        let text = format!("{path}\0");
        match decoded("openat", [fd as u64, address(text.as_str()), 0, 0, 0, 0]).0 {
            Does::Open { path: Some(told), fifo } if told == path => fifo,
            does => panic!("{does:?}"),
        }
    };
    let whole = folder.path().join("queue");
    let whole = whole.to_str().unwrap();
    let found =
        [(open.as_raw_fd(), "queue"), (libc::AT_FDCWD, "queue"), (libc::AT_FDCWD, whole), (open.as_raw_fd(), whole)]
            .map(|(fd, path)| is_fifo(fd, path));
    assert_eq!(found, [true, false, true, true]);
    let text = format!("{whole}\0");
    let open = Does::Open { path: Some(whole.to_owned()), fifo: true };
    assert_eq!(decoded("open", [address(text.as_str()), 0, 0, 0, 0, 0]), (open, TimeLimit::Never));
}
