//! Who waits for whom, row by row.

use super::graph::{Edge, Over, To};
use super::*;
use crate::diagnosis::waits::NO_END_MS;

fn one() -> Process {
    process(11, 10, "one")
}

/// Watches this descriptor, and one beside it that says nothing.
fn loops(process: Process, fd: i32) -> Process {
    watches(has(process, 98, Mode::Both, Object::Null), &[fd, 98], TimeLimit::Never)
}

/// Input of descriptor 3, which is this, in a blocking read and in a loop over two descriptors.
fn read_and_polled(what: &Object) -> String {
    let look = |process| Look::of(vec![process]).shape();
    let read = look(reads(has(one(), 3, Mode::Both, what.clone()), 3));
    let polled = look(loops(has(one(), 3, Mode::Both, what.clone()), 3));
    if read == polled { read } else { format!("{read} POLLED {polled}") }
}

#[test]
fn each_kind_of_descriptor_leads_to_who_could_end_the_wait() {
    let fifo = Object::Fifo { inode: 73, path: "/f".into() };
    let link = "anon_inode:[x]".to_owned();
    let file = Object::File { path: "/f".into(), inode: 7, device: (8, 1), offset: 0, at_end: false };
    let all = [
        ("pipe", Object::Pipe { inode: 70 }),
        ("fifo", fifo),
        ("socket", Object::Socket { inode: 80 }),
        ("terminal", Object::Tty { path: "/dev/pts/3".into(), index: Some(3) }),
        ("terminal without a number", Object::Tty { path: "/dev/tty1".into(), index: None }),
        ("master", Object::Master { index: 3 }),
        ("null", Object::Null),
        ("file", file),
        ("epoll", Object::Epoll { on: vec![] }),
        ("event", Object::Event { count: 0 }),
        ("timer", Object::Timer { left_ms: Some(5) }),
        ("timer that is off", Object::Timer { left_ms: None }),
        ("signal", Object::Signal),
        ("process in sight", Object::Process { pid: 11 }),
        ("process", Object::Process { pid: 77 }),
        ("process that was reaped", Object::Process { pid: -1 }),
        ("process that is not in sight", Object::Process { pid: 0 }),
        ("inotify", Object::Inotify),
        ("io_uring", Object::Uring { files: 0 }),
        ("other", Object::Other { link }),
    ];
    let missing = Look::of(vec![reads(one(), 3)]).shape();
    let found = all.iter().map(|(name, what)| (*name, read_and_polled(what)));
    expect![[r#"
        pipe: one (11) → itself: pipe descriptor 3; closed in: [[11]] POLLED closed in: [[11]]
        fifo: one (11) → a process that opens /f: FIFO /f; one (11) → the holder of the other end, which is not in sight: FIFO /f
        socket: one (11) → a peer: socket descriptor 3
        terminal: one (11) → the program on its other side: terminal /dev/pts/3
        terminal without a number: one (11) → the program on its other side: terminal /dev/tty1
        master: one (11) → a process that opens its terminal: terminal descriptor 3
        null: one (11) → what the kernel does not tell: unknown descriptor 3 POLLED closed in: [[11]]
        file: one (11) → what the kernel does not tell: unknown descriptor 3 POLLED closed in: [[11]]
        epoll: one (11) → what the kernel does not tell: unknown descriptor 3
        event: one (11) → another process that has it, if there is one: unknown descriptor 3 POLLED one (11) → itself: thread; closed in: [[11]]
        timer: one (11) is Alive: has a timer
        timer that is off: one (11) → another process that has its timer: time descriptor 3 POLLED closed in: [[11]]
        signal: one (11) → a process that sends it a signal: signal
        process in sight: one (11) → itself: child; closed in: [[11]]
        process: one (11) → process 77, which is not in sight: child
        process that was reaped: closed in: [[11]]
        process that is not in sight: closed in: [[11]]
        inotify: one (11) → a process that changes them: files
        io_uring: one (11) → a request in its io_uring: time; one (11) → what the kernel does not tell: unknown descriptor 3
        other: one (11) → what the kernel does not tell: unknown descriptor 3
        missing: one (11) → what may not be read: unknown
    "#]]
    .assert_eq(&rows(found.chain([("missing", missing)])));
}

#[test]
fn how_a_loop_wakes_itself_is_no_wait() {
    let own = |fd| pipe(pipe(one(), fd, Mode::Read, 70), 9, Mode::Write, 70);
    let polls = |fd| loops(own(fd), fd);
    let pair = |process| Look::of(vec![process]).socket(unix(80, 81)).socket(unix(81, 80));
    let unix = |fd| socket(socket(one(), fd, 80), 9, 81);
    expect![[r#"
        a pipe of its own, read: one (11) → itself: pipe descriptor 3; closed in: [[11]]
        a pipe of its own, watched: closed in: [[11]]
        as its standard error, watched: one (11) → itself: pipe its standard error; closed in: [[11]]
        a pair of its own: closed in: [[11]]
        a pair of its own, read: closed in: [[11]]
    "#]]
    .assert_eq(&all_shapes(vec![
        ("a pipe of its own, read", Look::of(vec![reads(own(3), 3)])),
        ("a pipe of its own, watched", Look::of(vec![polls(3)])),
        ("as its standard error, watched", Look::of(vec![polls(2)])),
        ("a pair of its own", pair(loops(unix(3), 3))),
        ("a pair of its own, read", pair(reads(unix(3), 3))),
    ]));
}

#[test]
fn a_socket_leads_to_its_peer() {
    let tcp = |state, remote: &str| Socket {
        inode: 80,
        family: Family::Tcp,
        state,
        local: "10.0.0.2:5000".into(),
        remote: remote.into(),
        ..Socket::default()
    };
    let udp = |remote: &str| Socket { family: Family::Udp, ..tcp(SocketState::Unconnected, remote) };
    let look = |socket_: Socket| Look::of(vec![reads(socket(one(), 3, 80), 3)]).socket(socket_);
    let held = |peer| {
        let two = socket(awaits(process(12, 1, "two")), 5, 81);
        look(Socket { peer, ..tcp(SocketState::Established, "127.0.0.1:80") }).beside(two)
    };
    let connects = |remote: Option<&str>| {
        let calls = calls(socket(one(), 3, 80), "connect", Does::Connect { fd: 3 }, TimeLimit::Unknown);
        let look = Look::of(vec![calls]);
        match remote {
            Some(remote) => look.socket(tcp(SocketState::Connecting, remote)),
            None => look,
        }
    };
    let bare = Socket { local: String::new(), ..tcp(SocketState::Listening, "") };
    expect![[r#"
        a connection: one (11) → 1.2.3.4:443: socket descriptor 3
        without an address of the other side: one (11) → the holder of the other end, which is not in sight: socket descriptor 3
        listening: one (11) → a client that connects: socket 10.0.0.2:5000
        listening without an address: one (11) → a client that connects: socket descriptor 3
        datagrams of anybody: one (11) → a client that connects: socket 10.0.0.2:5000
        datagrams of one: one (11) → 1.2.3.4:53: socket descriptor 3
        a peer on this machine: one (11) → two (12), which has no child left to wait for: socket descriptor 3; two (12) → somebody who uses it: signal; two (12) is Alive: has no child left to wait for
        a peer that nobody in sight holds: one (11) → the holder of the other end, which is not in sight: socket descriptor 3
        connecting: one (11) → 1.2.3.4:443: socket that is not connected yet
        connecting to no address: one (11) → a peer: socket that is not connected yet
        connecting without a socket in sight: one (11) → a peer: socket that is not connected yet
    "#]].assert_eq(&all_shapes(vec![
        ("a connection", look(tcp(SocketState::Established, "1.2.3.4:443"))),
        ("without an address of the other side", look(tcp(SocketState::Established, ""))),
        ("listening", look(tcp(SocketState::Listening, ""))),
        ("listening without an address", look(bare)),
        ("datagrams of anybody", look(udp(""))),
        ("datagrams of one", look(udp("1.2.3.4:53"))),
        ("a peer on this machine", held(Some(81))),
        ("a peer that nobody in sight holds", held(Some(82))),
        ("connecting", connects(Some("1.2.3.4:443"))),
        ("connecting to no address", connects(Some(""))),
        ("connecting without a socket in sight", connects(None)),
    ]));
}

#[test]
fn what_an_agent_asks_counts_for_that_agent_alone() {
    let ask = Ask { kind: "question".into(), ..Ask::default() };
    let record = |pid, asks: &[Ask]| Agent { pid, name: "opencode".into(), asks: asks.to_vec(), ..Agent::default() };
    let agent = || watches(process(11, 10, "opencode"), &[5], TimeLimit::Never);
    let look = |process: Process, records: &[Agent]| Look::of(vec![process]).both(|s| s.agents = records.to_vec());
    let asks = [ask];
    expect![[r#"
        its own: opencode (11) → nobody: ask question; closed in: [[11]]
        another's: opencode (11) → what may not be read: unknown
        none: opencode (11) → what may not be read: unknown
        its own, after another's and one without: opencode (11) → nobody: ask question; closed in: [[11]]
        at a terminal: opencode (11) → somebody who answers (somebody may still answer at the terminal /dev/pts/3): ask question
        at a server of its own: opencode (11) → somebody who answers (somebody may still answer by way of 127.0.0.1:4096): ask question
    "#]].assert_eq(&all_shapes(vec![
        ("its own", look(agent(), &[record(11, &asks)])),
        ("another's", look(agent(), &[record(12, &asks)])),
        ("none", look(agent(), &[record(11, &[])])),
        ("its own, after another's and one without", look(agent(), &[record(12, &asks), record(11, &[]), record(11, &asks)])),
        ("at a terminal", look(tty(reads(process(11, 10, "opencode"), 0), 0, 1), &[record(11, &asks)])),
        (
            "at a server of its own",
            look(socket(agent(), 6, 80), &[record(11, &asks)]).socket(listening(80, "127.0.0.1:4096")),
        ),
    ]));
}

#[test]
fn threads_without_a_wait_are_ready_to_run_or_hidden() {
    let thread =
        |call_read, wchan: &str| Thread { state: State::Running, call_read, wchan: wchan.into(), ..Thread::default() };
    let look = |threads| Look::of(vec![Process { threads, ..one() }]);
    expect![[r#"
        no threads: one (11) → what may not be read: unknown
        hidden: one (11) → what may not be read: unknown
        a call that may be read: one (11) is Alive: is ready to run
        a function that may be read: one (11) is Alive: is ready to run
        one of two: one (11) is Alive: is ready to run
    "#]]
    .assert_eq(&all_shapes(vec![
        ("no threads", look(vec![])),
        ("hidden", look(vec![thread(false, "")])),
        ("a call that may be read", look(vec![thread(true, "")])),
        ("a function that may be read", look(vec![thread(false, "x")])),
        ("one of two", look(vec![thread(false, ""), thread(true, "")])),
    ]));
}

#[test]
fn what_is_around_the_tree_is_closed_in_only_if_all_that_it_waits_for_is_in_sight() {
    // 11 reads what 20 should write, and 20 waits for what 11 should write
    let cat = || pipe(reads(pipe(one(), 0, Mode::Read, 70), 0), 1, Mode::Write, 75);
    let host = || pipe(pipe(process(20, 1, "two"), 3, Mode::Read, 75), 9, Mode::Write, 70);
    let polls = |limit| watches(host(), &[3, 3], limit);
    let beside = |host: Process| Look::of(vec![cat()]).beside(host);
    let unread = |limit| Process { fds_read: false, ..polls(limit) };
    let unseen = |process| Process { has_unseen: true, ..process };
    let listens = || socket(watches(host(), &[3, 6], TimeLimit::Never), 6, 80);
    expect![[r#"
        a read: one (11) → two (20): pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → somebody who uses it: signal
        a loop: one (11) → two (20): pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → somebody who uses it: signal
        a loop that has a timer: one (11) → two (20), which has a timer: pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → somebody who uses it: signal; two (20) is Alive: has a timer
        a loop that was given a time: one (11) → two (20), which has a timer: pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → somebody who uses it: signal; two (20) is Alive: has a timer
        a loop that may have a timer: one (11) → two (20), which has an event loop of its own, and perhaps a timer: pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → somebody who uses it: signal; two (20) is Alive: has an event loop of its own, and perhaps a timer
        a loop that listens: one (11) → two (20): pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → a client that connects: socket 127.0.0.1:80; two (20) → somebody who uses it: signal
        a loop that shares something: one (11) → two (20): pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → processes that are not in sight: unknown; two (20) → somebody who uses it: signal
        a read of who shares something: one (11) → two (20): pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → processes that are not in sight: unknown; two (20) → somebody who uses it: signal
        a loop whose descriptors may not be read: one (11) → two (20): pipe its standard input; two (20) → one (11): pipe descriptor 3; two (20) → processes that are not in sight: unknown; two (20) → somebody who uses it: signal
        a loop inside: one (11) → two (20): pipe its standard input; two (20) → one (11): pipe descriptor 3; closed in: [[11, 20]]
    "#]].assert_eq(&all_shapes(vec![
        ("a read", beside(reads(host(), 3))),
        ("a loop", beside(polls(TimeLimit::Never))),
        ("a loop that has a timer", beside(polls(TimeLimit::LeftMs(5_000)))),
        ("a loop that was given a time", beside(polls(TimeLimit::GivenMs(5_000)))),
        ("a loop that may have a timer", beside(polls(TimeLimit::Unknown))),
        ("a loop that listens", beside(listens()).socket(listening(80, "127.0.0.1:80"))),
        ("a loop that shares something", beside(unseen(polls(TimeLimit::Never)))),
        ("a read of who shares something", beside(unseen(reads(host(), 3)))),
        ("a loop whose descriptors may not be read", beside(unread(TimeLimit::Never))),
        ("a loop inside", Look::of(vec![cat(), Process { pid: 20, ..polls(TimeLimit::Unknown) }])),
    ]));
}

#[test]
fn who_looks_at_what_it_has_started_passes_its_output_on() {
    let cat = || reads(pipe(process(11, 900, "one"), 0, Mode::Read, 70), 0);
    let look = |cat: Process| {
        let host = reads(pipe(pipe(process(20, 1, "two"), 3, Mode::Read, 75), 9, Mode::Write, 70), 3);
        let reader = pipe(awaits(process(900, 20, "rehang")), 1, Mode::Write, 75);
        Look::of(vec![cat]).beside(host).beside(reader)
    };
    let master = || has(awaits(process(900, 20, "rehang")), 5, Mode::Both, Object::Master { index: 3 });
    expect![[r#"
        whoever runs it reads it: one (11) → two (20): pipe its standard input; two (20) → one (11): pipe descriptor 3; closed in: [[11, 20]]
        it is somebody else's: one (11) → two (20): pipe its standard input; two (20) → rehang (900), which looks: pipe descriptor 3; two (20) → somebody who uses it: signal
        a terminal of its own: one (11) → rehang (900), which looks: terminal /dev/pts/3
    "#]].assert_eq(&all_shapes(vec![
        ("whoever runs it reads it", look(cat())),
        ("it is somebody else's", look(Process { ppid: 10, ..cat() })),
        // a person's keys come that way
        ("a terminal of its own", Look::of(vec![reads(tty(process(11, 900, "one"), 0, 1), 0)]).beside(master())),
    ]));
}

#[test]
fn a_traced_process_waits_for_its_tracer() {
    let traced = |tracer| Process { state: State::Traced, tracer, ..one() };
    let gdb = || awaits(process(20, 1, "gdb"));
    expect![[r#"
        no tracer in sight: one (11) → its tracer: signal
        no tracer: one (11) → its tracer: signal
        a tracer: one (11) → gdb (20), which has no child left to wait for: signal; gdb (20) → somebody who uses it: signal; gdb (20) is Alive: has no child left to wait for
        the first process: one (11) → process 1, which is not in sight: signal
        this look: one (11) → a process that is gone (900), which looks: signal
        stopped: one (11) → somebody who continues it: signal
        ended: one (11) is Dead: has ended
    "#]].assert_eq(&all_shapes(vec![
        ("no tracer in sight", Look::of(vec![traced(0)])),
        ("no tracer", Look::of(vec![traced(-1)])),
        ("a tracer", Look::of(vec![traced(20)]).beside(gdb())),
        ("the first process", Look::of(vec![traced(1)])),
        ("this look", Look::of(vec![traced(900)])),
        ("stopped", Look::of(vec![Process { state: State::Stopped, ..one() }])),
        ("ended", Look::of(vec![Process { state: State::Zombie, ..one() }])),
    ]));
}

#[test]
fn a_wait_for_a_child_is_for_the_one_that_was_named() {
    let parent = |child| calls(one(), "wait4", Does::Child { pid: child }, TimeLimit::Never);
    let child = |pid, ns_pid| Process { ns_pid, ..reads(process(pid, 11, "child"), 99) };
    let look = |named| Look::of(vec![parent(named), child(12, 5), child(13, 0)]).shape();
    let waits = |look: &str| look.split("; ").filter(|part| part.starts_with("one")).collect::<Vec<_>>().join("; ");
    let named = |named| waits(&look(named));
    let of = |all: Vec<Process>| waits(&Look::of(all).shape());
    expect![[r#"
        by its id: one (11) → child (12): child
        by its own number: one (11) → child (12): child
        another: one (11) → child (12): child; one (11) → child (13): child
        any: one (11) → child (12): child; one (11) → child (13): child
        any of its group: one (11) → child (12): child; one (11) → child (13): child
        of a group: one (11) → child (12): child; one (11) → child (13): child
        one that has ended: one (11) is Alive: is about to take in a child that has ended
        one beside one that has ended: one (11) → child (12): child
        any, one has ended: one (11) is Alive: is about to take in a child that has ended
        none is there: one (11) is Alive: has no child left to wait for
        none is there, and it reads: one (11) → what may not be read: unknown
        this look and another: one (11) → child (12): child; one (11) → this very look: child
    "#]]
    .assert_eq(&rows([
        ("by its id", named(12)),
        ("by its own number", named(5)),
        ("another", named(99)),
        ("any", named(-1)),
        ("any of its group", named(0)),
        ("of a group", named(-12)),
        ("one that has ended", of(vec![parent(12), zombie(12, 11)])),
        ("one beside one that has ended", of(vec![parent(12), child(12, 5), zombie(13, 11)])),
        ("any, one has ended", of(vec![parent(-1), child(12, 5), zombie(13, 11)])),
        ("none is there", of(vec![parent(-1)])),
        (
            "none is there, and it reads",
            of(vec![calls(reads(one(), 99), "wait4", Does::Child { pid: -1 }, TimeLimit::Never)]),
        ),
        ("this look and another", of(vec![parent(-1), child(12, 5), child(900, 900)])),
    ]));
}

#[test]
fn other_threads_end_a_futex_wait_unless_it_is_shared_or_has_a_limit() {
    let futex = |limit| calls(one(), "futex", Does::Futex, limit);
    let shared = |word: u64, ns_pid| {
        let mut process = Process { ns_pid, ..futex(TimeLimit::Never) };
        process.threads[0].call.as_mut().unwrap().args = [0, 0, word, 0, 0, 0];
        Look::of(vec![process])
    };
    let look = |limit| Look::of(vec![futex(limit)]);
    let caught =
        |process| Look::of(vec![Process { signals: Signals { caught: 1 << 14, ..Signals::default() }, ..process }]);
    expect![[r#"
        for ever: one (11) → itself: thread; closed in: [[11]]
        a time: one (11) is Alive: has a timer
        a year: one (11) → itself: thread; closed in: [[11]]
        a time from now: one (11) is Alive: has a timer
        a year from now: one (11) → itself: thread; closed in: [[11]]
        unknown: one (11) → what may not be read: thread
        shared: one (11) → a process that shares its memory: thread
        the end of a thread of its own: one (11) → itself: thread; closed in: [[11]]
        not a thread of its own: one (11) → a process that shares its memory: thread
        a word above 2 in another namespace: one (11) → itself: thread; closed in: [[11]]
        a word of a lock in another namespace: one (11) → a process that shares its memory: thread
        signals are handled: one (11) → itself: thread; one (11) → a process that sends it a signal: signal
        signals are handled, and it reads: one (11) → itself: thread; one (11) → what may not be read: unknown
    "#]]
    .assert_eq(&all_shapes(vec![
        ("for ever", look(TimeLimit::Never)),
        ("a time", look(TimeLimit::GivenMs(NO_END_MS - 1))),
        ("a year", look(TimeLimit::GivenMs(NO_END_MS))),
        ("a time from now", look(TimeLimit::LeftMs(NO_END_MS - 1))),
        ("a year from now", look(TimeLimit::LeftMs(NO_END_MS))),
        ("unknown", look(TimeLimit::Unknown)),
        ("shared", shared(0, 11)),
        ("the end of a thread of its own", shared(11, 11)),
        ("not a thread of its own", shared(12, 11)),
        ("a word above 2 in another namespace", shared(3, 1)),
        ("a word of a lock in another namespace", shared(2, 1)),
        ("signals are handled", caught(futex(TimeLimit::Never))),
        ("signals are handled, and it reads", caught(reads(futex(TimeLimit::Never), 99))),
    ]));
}

#[test]
fn time_makes_a_process_alive_if_it_ends() {
    let sleeps = |limit| Look::of(vec![calls(one(), "nanosleep", Does::Sleep, limit)]);
    let polls = |limit| Look::of(vec![watches(has(one(), 3, Mode::Both, Object::Null), &[3, 3], limit)]);
    let empty = |limit| Look::of(vec![watches(one(), &[], limit)]);
    let again = sleeps(TimeLimit::LeftMs(5)).later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += 1);
    expect![[r#"
        a sleep: one (11) is Alive: sleeps for a time
        a sleep of a year: one (11) → somebody who ends it: time
        again and again: one (11) is Alive: looks again and again
        a loop's limit: one (11) is Alive: has a timer
        a loop's limit of a year: closed in: [[11]]
        a loop's limit from now: one (11) is Alive: has a timer
        a loop's limit of a year from now: closed in: [[11]]
        a loop without a limit: closed in: [[11]]
        a poll of nothing: one (11) → somebody who ends it: time
        a poll of nothing for a time: one (11) is Alive: sleeps for a time
    "#]]
    .assert_eq(&all_shapes(vec![
        ("a sleep", sleeps(TimeLimit::LeftMs(NO_END_MS - 1))),
        ("a sleep of a year", sleeps(TimeLimit::LeftMs(NO_END_MS))),
        ("again and again", again),
        ("a loop's limit", polls(TimeLimit::GivenMs(NO_END_MS - 1))),
        ("a loop's limit of a year", polls(TimeLimit::GivenMs(NO_END_MS))),
        ("a loop's limit from now", polls(TimeLimit::LeftMs(NO_END_MS - 1))),
        ("a loop's limit of a year from now", polls(TimeLimit::LeftMs(NO_END_MS))),
        ("a loop without a limit", polls(TimeLimit::Never)),
        ("a poll of nothing", empty(TimeLimit::Never)),
        ("a poll of nothing for a time", empty(TimeLimit::GivenMs(5))),
    ]));
}

#[test]
fn the_other_calls_lead_outside_or_to_nobody() {
    let call = |does| calls(file(one(), 3, "/f", 7), "call", does, TimeLimit::Never);
    let look = |does| Look::of(vec![call(does)]);
    let caught = |set: u64| {
        Look::of(vec![Process { signals: Signals { caught: set, ..Signals::default() }, ..call(Does::Signal) }])
    };
    let held = |by| look(Does::Lock { fd: 3 }).both(|s| s.locks = vec![lock(by, false), lock(11, true)]);
    let ioctl = tty(one(), 0, 1);
    let ioctl = calls(ioctl, "ioctl", Does::Ioctl { fd: 0, request: 0x5409 }, TimeLimit::Unknown);
    expect![[r#"
        a signal: one (11) → somebody who ends it: signal
        a signal that it handles: one (11) → a process that sends it a signal: signal
        a handler of faults alone: one (11) → somebody who ends it: signal
        a FIFO: one (11) → a process that opens it: FIFO
        a file: one (11) is Alive: opens a file
        a lock of nobody in sight: one (11) → its holder, which is not in sight: lock /f
        a lock of another: one (11) → two (20), which has no child left to wait for: lock /f; two (20) → somebody who uses it: signal; two (20) is Alive: has no child left to wait for
        a lock of its own: one (11) → itself: lock /f; closed in: [[11]]
        what is hidden: one (11) → what the kernel does not tell: unknown
        a terminal's request: one (11) → the program on its other side: terminal /dev/pts/3
        output: one (11) → the holder of the other end, which is not in sight: pipe its standard output
    "#]].assert_eq(&all_shapes(vec![
        ("a signal", look(Does::Signal)),
        ("a signal that it handles", caught(1 << 14)),
        ("a handler of faults alone", caught(1 << (libc::SIGSEGV - 1))),
        ("a FIFO", look(Does::Open { path: None, fifo: true })),
        ("a file", look(Does::Open { path: None, fifo: false })),
        ("a lock of nobody in sight", look(Does::Lock { fd: 3 })),
        ("a lock of another", held(20).beside(awaits(process(20, 1, "two")))),
        ("a lock of its own", held(11)),
        ("what is hidden", look(Does::Other)),
        ("a terminal's request", Look::of(vec![ioctl])),
        ("output", Look::of(vec![writes(pipe(one(), 1, Mode::Write, 70), 1)])),
    ]));
}

#[test]
fn closed_components_are_apart_unless_an_edge_joins_them() {
    let own =
        |pid: Pid, inode| pipe(pipe(reads(process(pid, 1, "own"), 3), 3, Mode::Read, inode), 4, Mode::Write, inode);
    assert_eq!(Look::of(vec![own(11, 70), own(12, 71)]).graph().closed, [[11], [12]]);
    // two that wait for a third one are one component with it
    let to = |pid, inode| reads(pipe(process(pid, 1, "to"), 3, Mode::Read, inode), 3);
    let third = || pipe(pipe(own(13, 72), 5, Mode::Write, 70), 6, Mode::Write, 71);
    let look = || Look::of(vec![to(11, 70), to(12, 71), third()]);
    assert_eq!(look().graph().closed, [[11, 12, 13]]);
    // a path to life, however long, opens all on the way and nobody else
    let open = look().both(|s| drop(s.tree.insert(13, Process { threads: vec![], ..third() })));
    assert_eq!(open.graph().closed, Vec::<Vec<Pid>>::new());
    let chain = Look::of(vec![
        to(11, 70),
        pipe(to(12, 71), 4, Mode::Write, 70),
        pipe(sleeps(process(13, 1, "s"), 5), 4, Mode::Write, 71),
        own(14, 73),
    ]);
    assert_eq!(chain.graph().closed, [[14]]);
}

#[test]
fn the_reader_is_no_node() {
    let look = Look::of(vec![awaits(one()), process(900, 11, "rehang")]);
    assert_eq!(look.graph().nodes.iter().map(|node| node.pid).collect::<Vec<_>>(), [11]);
    let graph = look.graph();
    assert!(graph.node(11).is_some_and(|node| node.in_tree && node.life == Life::Waits));
    assert!(graph.node(900).is_none());
}

#[test]
fn edges_are_listed_nearest_first_and_each_process_once() {
    let edge = |from, to| Edge { from, to: To::Process(to), over: Over::Pipe, which: String::new() };
    let graph = Graph {
        edges: vec![edge(3, 4), edge(1, 2), edge(2, 3), edge(1, 3), edge(4, 1), edge(9, 1)],
        ..Graph::default()
    };
    let way = |pid| graph.edges_from(pid).iter().map(|edge| (edge.from, edge_to(&edge.to))).collect::<Vec<_>>();
    assert_eq!(way(1), [(1, 2), (1, 3), (2, 3), (3, 4), (4, 1)]);
    assert_eq!(way(9), [(9, 1), (1, 2), (1, 3), (2, 3), (3, 4), (4, 1)]);
    assert!(way(5).is_empty());
    assert_eq!(graph.line(&edge(3, 3)), "3 → itself: pipe");
    assert_eq!(graph.line(&Edge { which: "x".into(), ..edge(3, 4) }), "3 → 4: pipe x");
}

#[test]
fn what_is_waited_over_has_a_word() {
    let all = [
        Over::Pipe,
        Over::Fifo,
        Over::Socket,
        Over::Tty,
        Over::Child,
        Over::Lock,
        Over::Thread,
        Over::Time,
        Over::Signal,
        Over::Ask,
        Over::Files,
        Over::Unknown,
    ];
    assert_eq!(
        all.map(Over::name).join(" "),
        "pipe FIFO socket terminal child lock thread time signal ask files unknown"
    );
}

/// A process that was not read in time may be a way to be woken.
#[test]
fn nothing_is_closed_in_while_a_process_is_unread() {
    let pipe = Object::Pipe { inode: 70 };
    let look = Look::of(vec![reads(has(one(), 3, Mode::Both, pipe), 3)]);
    let closed = |unread| {
        let after = Snapshot { unread, ..look.after.clone() };
        let found = diagnose(&look.before, &after, &Limits::default());
        let graph = graph::graph(&look.before, &after, &Limits::default());
        assert!(unread == 0 || found.sure != Sure::Certain);
        (graph.closed.len(), found.closed_in)
    };
    assert_eq!((closed(0), closed(1)), ((1, true), (0, false)));
}
