//! What a thread waits for, by its call or by the kernel's function.

use super::*;
use crate::diagnosis::waits;

fn told(process: &Process) -> String {
    let wait = |wait: waits::Wait| {
        let polled = if wait.polled { " polled" } else { "" };
        let inferred = if wait.inferred { " inferred" } else { "" };
        format!("{:?} {:?} {}{polled}{inferred}", wait.on, wait.limit, wait.call)
    };
    let all = process.threads.iter().flat_map(|thread| waits::of(process, thread));
    all.map(wait).collect::<Vec<_>>().join("; ")
}

#[test]
fn each_call_waits_for_what_it_names() {
    let watch = |fd, input, output| Watch { fd, input, output };
    let call = |does, limit| told(&calls(process(11, 10, "x"), "call", does, limit));
    let never = |does| call(does, TimeLimit::Never);
    let poll = |on, limit| call(Does::Poll { on }, limit);
    let running = Process {
        threads: vec![Thread { state: State::Running, ..reads(process(11, 10, "x"), 0).threads.remove(0) }],
        ..process(11, 10, "x")
    };
    let none = |call_read| Process {
        threads: vec![Thread { call_read, wchan: "do_wait".into(), ..Thread::default() }],
        ..process(11, 10, "x")
    };
    expect![[r#"
        read: Input(3) Never call
        write: Output(3) Never call
        poll of nothing: Clock LeftMs(5) call
        poll of one without a limit: Input(3) Never call; Clock Never call polled
        poll of one with a limit: Input(3) LeftMs(5) call polled; Clock LeftMs(5) call polled
        poll of two: Output(3) Never call polled; Input(4) Never call polled; Output(4) Never call polled; Clock Never call polled
        poll of one for nothing: Clock Never call polled
        epoll of what is none: Clock Never call polled
        child: Child(12) Never call
        futex: Futex Never call
        sleep: Clock Never call
        lock: Lock(3) Never call
        open: Open { path: Some("/f"), fifo: true } Never call
        connect: Connect(3) Never call
        signal: Signal Never call
        ioctl: Ioctl { fd: 3, request: 21513 } Never call
        uring: Hidden Never call
        other: Hidden Never call
        a thread that runs: 
        no call: 
        a call that may not be read: Child(-1) Unknown do_wait inferred
    "#]]
    .assert_eq(&rows([
        ("read", never(Does::Read { fd: 3 })),
        ("write", never(Does::Write { fd: 3 })),
        ("poll of nothing", poll(vec![], TimeLimit::LeftMs(5))),
        ("poll of one without a limit", poll(vec![watch(3, true, false)], TimeLimit::Never)),
        ("poll of one with a limit", poll(vec![watch(3, true, false)], TimeLimit::LeftMs(5))),
        ("poll of two", poll(vec![watch(3, false, true), watch(4, true, true)], TimeLimit::Never)),
        ("poll of one for nothing", poll(vec![watch(3, false, false)], TimeLimit::Never)),
        ("epoll of what is none", never(Does::Epoll { fd: 3 })),
        ("child", never(Does::Child { pid: 12 })),
        ("futex", never(Does::Futex)),
        ("sleep", never(Does::Sleep)),
        ("lock", never(Does::Lock { fd: 3 })),
        ("open", never(Does::Open { path: Some("/f".into()), fifo: true })),
        ("connect", never(Does::Connect { fd: 3 })),
        ("signal", never(Does::Signal)),
        ("ioctl", never(Does::Ioctl { fd: 3, request: 0x5409 })),
        ("uring", never(Does::Uring { fd: 3 })),
        ("other", never(Does::Other)),
        ("a thread that runs", told(&running)),
        ("no call", told(&none(true))),
        ("a call that may not be read", told(&none(false))),
    ]));
}

#[test]
fn an_epoll_instance_watches_what_those_in_it_watch_down_to_the_third_level() {
    let epoll = |process, fd, watched: &[i32]| {
        let on = watched.iter().map(|&fd| Watch { fd, input: true, output: false }).collect();
        has(process, fd, Mode::Both, Object::Epoll { on })
    };
    // 20 watches 30 and 21, 21 watches 31 and 22, and so on; the last one is not looked into
    let mut all = process(11, 10, "x");
    for level in 0..6 {
        all = epoll(all, 20 + level, &[30 + level, 21 + level]);
    }
    let asked = |fd| told(&calls(all.clone(), "epoll_wait", Does::Epoll { fd }, TimeLimit::Never));
    expect![
        "Input(30) Never epoll_wait polled; Input(31) Never epoll_wait polled; Input(32) Never epoll_wait polled; Input(33) Never epoll_wait polled; Input(24) Never epoll_wait polled; Clock Never epoll_wait polled"
    ]
    .assert_eq(&asked(20));
    assert_eq!(
        asked(25),
        "Input(35) Never epoll_wait polled; Input(26) Never epoll_wait polled; Clock Never epoll_wait polled"
    );
    // a circle ends too
    let circle = epoll(epoll(process(11, 10, "x"), 3, &[4, 7]), 4, &[3, 8]);
    expect!["Input(3) Never epoll_wait polled; Input(8) Never epoll_wait polled; Input(7) Never epoll_wait polled; Input(8) Never epoll_wait polled; Input(7) Never epoll_wait polled; Clock Never epoll_wait polled"].assert_eq(&told(&calls(circle, "epoll_wait", Does::Epoll { fd: 3 }, TimeLimit::Never)));
}

#[test]
fn the_kernels_function_tells_the_wait_where_the_call_may_not_be_read() {
    let fifo = Object::Fifo { inode: 73, path: "/f".into() };
    let on = vec![Watch { fd: 5, input: true, output: false }];
    let mut all = pipe(pipe(process(11, 10, "x"), 3, Mode::Write, 70), 4, Mode::Read, 71);
    all = file(has(has(all, 6, Mode::Both, fifo.clone()), 7, Mode::Both, Object::Epoll { on }), 8, "/l", 7);
    let sleeps_in = |process: &Process, wchan: &str| {
        let thread = Thread { tid: 11, wchan: wchan.into(), ..Thread::default() };
        told(&Process { threads: vec![thread], ..process.clone() })
    };
    let names = "pipe_read anon_pipe_read pipe_wait fifo_pipe_read pipe_write anon_pipe_write fifo_pipe_write \
        do_wait kernel_wait4 do_wait_thread hrtimer_nanosleep do_nanosleep common_nsleep \
        locks_lock_inode_wait flock_lock_inode_wait posix_lock_inode_wait fcntl_setlk wait_for_partner \
        wait_woken n_tty_read unix_stream_read_generic unix_stream_data_wait do_epoll_wait ep_poll \
        futex_wait_queue a_futex";
    let names = names.split_whitespace().chain([""]);
    expect![[r#"
        pipe_read: Input(4) Unknown pipe_read inferred
        anon_pipe_read: Input(4) Unknown anon_pipe_read inferred
        pipe_wait: Input(4) Unknown pipe_wait inferred
        fifo_pipe_read: Input(4) Unknown fifo_pipe_read inferred
        pipe_write: Output(3) Unknown pipe_write inferred
        anon_pipe_write: Output(3) Unknown anon_pipe_write inferred
        fifo_pipe_write: Output(3) Unknown fifo_pipe_write inferred
        do_wait: Child(-1) Unknown do_wait inferred
        kernel_wait4: Child(-1) Unknown kernel_wait4 inferred
        do_wait_thread: Child(-1) Unknown do_wait_thread inferred
        hrtimer_nanosleep: Clock Unknown hrtimer_nanosleep inferred
        do_nanosleep: Clock Unknown do_nanosleep inferred
        common_nsleep: Clock Unknown common_nsleep inferred
        locks_lock_inode_wait: Lock(8) Unknown locks_lock_inode_wait inferred
        flock_lock_inode_wait: Lock(8) Unknown flock_lock_inode_wait inferred
        posix_lock_inode_wait: Lock(8) Unknown posix_lock_inode_wait inferred
        fcntl_setlk: Lock(8) Unknown fcntl_setlk inferred
        wait_for_partner: Open { path: None, fifo: true } Unknown wait_for_partner inferred
        wait_woken: Input(0) Unknown wait_woken inferred
        n_tty_read: Input(0) Unknown n_tty_read inferred
        unix_stream_read_generic: Input(0) Unknown unix_stream_read_generic inferred
        unix_stream_data_wait: Input(0) Unknown unix_stream_data_wait inferred
        do_epoll_wait: Input(5) Unknown do_epoll_wait polled inferred; Clock Unknown do_epoll_wait polled inferred
        ep_poll: Input(5) Unknown ep_poll polled inferred; Clock Unknown ep_poll polled inferred
        futex_wait_queue: Futex Unknown futex_wait_queue inferred
        a_futex: Hidden Unknown a_futex inferred
        : Hidden Unknown  inferred
    "#]]
    .assert_eq(&rows(names.map(|name| (name, sleeps_in(&all, name)))));
    // without a descriptor that fits there is nothing to name
    let bare = process(11, 10, "x");
    expect![[r#"
        pipe_read: 
        pipe_write: 
        fcntl_setlk: 
    "#]]
    .assert_eq(&rows(["pipe_read", "pipe_write", "fcntl_setlk"].map(|name| (name, sleeps_in(&bare, name)))));
    // a FIFO that is open both ways is both ends
    let both = has(process(11, 10, "x"), 6, Mode::Both, fifo);
    expect![[r#"
        pipe_read: Input(6) Unknown pipe_read inferred
        pipe_write: Output(6) Unknown pipe_write inferred
    "#]]
    .assert_eq(&rows(["pipe_read", "pipe_write"].map(|name| (name, sleeps_in(&both, name)))));
}
