//! The evidence in words: what each process waits for, on what, and which processes are left out.

use super::*;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::rules::{reads_now, same, steady, waits_for};
use rehang_hangs::{Mechanism, Signature};

fn told(look: &Look) -> String {
    let mut out = String::new();
    lines(&whole_tree(&look.before, &look.after, &Limits::default()), 0, &mut out);
    out
}

/// The waits of one process, without its own line.
fn waits(look: &Look) -> String {
    let below = whole_tree(&look.before, &look.after, &Limits::default()).remove(0).below;
    below.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("; ")
}

fn one(process: Process) -> Look {
    Look::of(vec![process])
}

#[test]
fn each_call_says_what_it_waits_for() {
    let limit = TimeLimit::LeftMs(2_000);
    let of = |name: &str, does: Does| waits(&one(calls(process(10, 1, "x"), name, does, limit)));
    let hidden = |number: i64, name: &str| {
        let mut hidden = calls(process(10, 1, "x"), name, Does::Other, TimeLimit::Unknown);
        if let Some(call) = hidden.threads[0].call.as_mut() {
            call.number = number;
        }
        waits(&one(hidden))
    };
    let watch = |fd, input| Watch { fd, input, output: !input };
    let polls = |on: &[Watch], limit| {
        waits(&one(calls(pipe(process(10, 1, "x"), 4, Mode::Read, 40), "poll", Does::Poll { on: on.to_vec() }, limit)))
    };
    let all = [
        ("read", of("read", Does::Read { fd: 0 })),
        ("write", of("write", Does::Write { fd: 1 })),
        ("wait4 for one", of("wait4", Does::Child { pid: 11 })),
        ("wait4 for any", of("wait4", Does::Child { pid: -1 })),
        ("wait4 for a group", of("wait4", Does::Child { pid: 0 })),
        ("futex", of("futex", Does::Futex)),
        ("sleep", of("nanosleep", Does::Sleep)),
        ("lock", of("flock", Does::Lock { fd: 7 })),
        ("open", of("openat", Does::Open { path: Some("/x/queue".into()), fifo: true })),
        ("open of a hidden path", of("openat", Does::Open { path: None, fifo: true })),
        ("connect", of("connect", Does::Connect { fd: 7 })),
        ("signal", of("rt_sigtimedwait", Does::Signal)),
        ("ioctl", of("ioctl", Does::Ioctl { fd: 7, request: 0x5409 })),
        ("uring", of("io_uring_enter", Does::Uring { fd: 7 })),
        ("a call without a name", hidden(451, "")),
        ("a call that is not decoded", hidden(65, "semop")),
        ("poll for input and output", polls(&[watch(4, true), watch(5, false)], TimeLimit::Never)),
        ("poll with a limit", polls(&[watch(4, true)], limit)),
        ("poll of nothing", polls(&[], limit)),
        ("poll of nothing for ever", polls(&[], TimeLimit::Never)),
    ];
    expect![[r#"
        read: read waits for input on standard input
        write: write waits for room on standard output
        wait4 for one: wait4 waits for child 11
        wait4 for any: wait4 waits for any child
        wait4 for a group: wait4 waits for any child
        futex: futex waits for another thread, 2s
        sleep: nanosleep, 2s
        lock: flock waits for a lock on descriptor 7
        open: openat opens /x/queue
        open of a hidden path: openat opens a FIFO
        connect: connect waits for a connection on descriptor 7
        signal: rt_sigtimedwait waits for a signal, 2s
        ioctl: ioctl 0x5409 on descriptor 7
        uring: io_uring_enter: what it waits for is not known
        a call without a name: system call 451: what it waits for is not known
        a call that is not decoded: semop: what it waits for is not known
        poll for input and output: poll waits for input on descriptor 4, pipe 40, other end: nobody in sight; poll waits for room on descriptor 5
        poll with a limit: poll waits for input on descriptor 4, pipe 40, other end: nobody in sight; poll, 2s
        poll of nothing: poll, 2s
        poll of nothing for ever: poll
    "#]].assert_eq(&rows(all));
}

#[test]
fn each_descriptor_says_what_it_is_and_who_is_at_its_other_end() {
    let of = |fd: i32, what: Object, change: &dyn Fn(Look) -> Look| {
        waits(&change(one(reads(has(process(10, 1, "x"), fd, Mode::Read, what), fd))))
    };
    let alone = |what: Object| of(5, what, &|look| look);
    let with = |socket: Socket| of(5, Object::Socket { inode: 50 }, &|look| look.socket(socket.clone()));
    let writer = |look: Look| look.beside(pipe(process(20, 1, "y"), 1, Mode::Write, 50));
    let itself = |look: Look| {
        look.both(|s| {
            s.tree.get_mut(&10).unwrap().fds.push(Descriptor {
                fd: 6,
                mode: Mode::Write,
                what: Object::Pipe { inode: 50 },
            })
        })
    };
    let to = |remote: &str, traffic| Socket {
        inode: 50,
        family: Family::Tcp,
        local: "127.0.0.1:1".into(),
        remote: remote.into(),
        traffic,
        ..Socket::default()
    };
    let silent = Traffic { since_received_ms: 5_000, ..Traffic::default() };
    let all = [
        ("standard input", of(0, Object::Pipe { inode: 50 }, &|look| look)),
        ("a pipe that nobody writes", alone(Object::Pipe { inode: 50 })),
        ("a pipe that somebody writes", of(5, Object::Pipe { inode: 50 }, &writer)),
        ("a pipe of its own", of(5, Object::Pipe { inode: 50 }, &itself)),
        ("a FIFO", alone(Object::Fifo { inode: 50, path: "/x/queue".into() })),
        ("a terminal", alone(Object::Tty { path: "/dev/pts/3".into(), index: Some(3) })),
        ("a connection", with(to("10.0.0.1:443", None))),
        ("a connection that is silent", with(to("10.0.0.1:443", Some(silent)))),
        ("a socket at an address", with(to("", None))),
        ("a socket with a peer", with(unix(50, 51))),
        ("a socket with a peer and an address", with(Socket { local: "/run/x".into(), ..unix(50, 51) })),
        ("a socket without either", with(unix(50, 0))),
        ("a socket that is not known", alone(Object::Socket { inode: 50 })),
        ("a file", alone(Object::File { path: "/x/a".into(), inode: 50, device: (8, 1), offset: 0, at_end: false })),
        ("a timer", alone(Object::Timer { left_ms: Some(3_000) })),
        ("a timer that is off", alone(Object::Timer { left_ms: None })),
        ("a process", alone(Object::Process { pid: 10 })),
        ("changes of files", alone(Object::Inotify)),
        ("an event", alone(Object::Event { count: 0 })),
        ("/dev/null", alone(Object::Null)),
        ("what is not open", waits(&one(reads(process(10, 1, "x"), 9)))),
    ];
    expect![[r#"
        standard input: read waits for input on standard input, pipe 50, other end: nobody in sight
        a pipe that nobody writes: read waits for input on descriptor 5, pipe 50, other end: nobody in sight
        a pipe that somebody writes: read waits for input on descriptor 5, pipe 50, other end: y (20)
        a pipe of its own: read waits for input on descriptor 5, pipe 50, other end: itself
        a FIFO: read waits for input on descriptor 5, FIFO /x/queue, other end: nobody in sight
        a terminal: read waits for input on descriptor 5, terminal /dev/pts/3, other side: nobody in sight
        a connection: read waits for input on descriptor 5, connection 127.0.0.1:1 to 10.0.0.1:443
        a connection that is silent: read waits for input on descriptor 5, connection 127.0.0.1:1 to 10.0.0.1:443, silent for 5s
        a socket at an address: read waits for input on descriptor 5, socket at 127.0.0.1:1
        a socket with a peer: read waits for input on descriptor 5, socket 50, other end: nobody in sight
        a socket with a peer and an address: read waits for input on descriptor 5, socket 50, other end: nobody in sight
        a socket without either: read waits for input on descriptor 5, socket 50, other end: nobody in sight
        a socket that is not known: read waits for input on descriptor 5, socket 50, other end: nobody in sight
        a file: read waits for input on descriptor 5, /x/a
        a timer: read waits for input on descriptor 5, timer in 3s
        a timer that is off: read waits for input on descriptor 5, a timer that is off
        a process: read waits for input on descriptor 5, end of x (10)
        changes of files: read waits for input on descriptor 5, changes of files
        an event: read waits for input on descriptor 5
        /dev/null: read waits for input on descriptor 5
        what is not open: read waits for input on descriptor 9
    "#]].assert_eq(&rows(all));
}

/// An event loop wakes itself by such descriptors: that says nothing of what it waits for.
#[test]
fn what_a_process_says_to_itself_is_left_out_of_a_poll() {
    let polls = |fd: i32, what: Object| {
        waits(&one(watches(has(process(10, 1, "x"), fd, Mode::Both, what), &[fd], TimeLimit::GivenMs(100))))
    };
    let reads_it = |what: Object| waits(&one(reads(has(process(10, 1, "x"), 5, Mode::Both, what), 5)));
    let own_pipe = |reader: i32, writer: i32| {
        let process = pipe(pipe(process(10, 1, "x"), reader, Mode::Read, 50), writer, Mode::Write, 50);
        waits(&one(watches(process, &[reader], TimeLimit::GivenMs(100))))
    };
    let all = [
        ("an event", polls(5, Object::Event { count: 0 })),
        ("a signal", polls(5, Object::Signal)),
        ("/dev/null", polls(0, Object::Null)),
        ("a timer", polls(5, Object::Timer { left_ms: None })),
        ("a read of an event", reads_it(Object::Event { count: 0 })),
        ("its own pipe", own_pipe(5, 6)),
        ("its own pipe as standard input", own_pipe(0, 6)),
        ("as standard error", own_pipe(2, 6)),
        ("as the first descriptor after those", own_pipe(3, 6)),
    ];
    expect![[r#"
        an event: poll, at most 100ms
        a signal: poll, at most 100ms
        /dev/null: poll, at most 100ms
        a timer: poll waits for input on descriptor 5, a timer that is off; poll, at most 100ms
        a read of an event: read waits for input on descriptor 5
        its own pipe: poll, at most 100ms
        its own pipe as standard input: poll waits for input on standard input, pipe 50, other end: itself; poll, at most 100ms
        as standard error: poll waits for input on standard error, pipe 50, other end: itself; poll, at most 100ms
        as the first descriptor after those: poll, at most 100ms
    "#]].assert_eq(&rows(all));
}

#[test]
fn a_line_says_what_a_process_is_doing() {
    let of = |state: State| told(&one(Process { state, ..process(10, 1, "x") }));
    use State::{Disk, Other, Running, Sleeping, Stopped, Traced, Zombie};
    let states: String = [Running, Sleeping, Disk, Stopped, Traced, Zombie, Other].map(of).concat();
    let long = "y".repeat(200);
    let busy = Process { args: vec!["x".into(), long], ..process(10, 1, "x") };
    let busy = spends(one(calls(busy, "read", Does::Read { fd: 0 }, TimeLimit::Never)), 10, 37);
    let at = |group| Process { state: Stopped, ..tty(process(10, 1, "x"), 0, group) };
    let mut ignores = process(10, 1, "x");
    ignores.signals.ignored = 1 << 14;
    ignores.args.clear();
    let all = format!(
        "{states}{}{}{}{}",
        told(&busy),
        told(&one(at(7))),
        told(&one(Process { state: Sleeping, ..at(7) })),
        told(&one(ignores))
    );
    expect![[r#"
        - x (10) runs, 0 % of a core, 1m old: x
        - x (10) sleeps, 0 % of a core, 1m old: x
        - x (10) waits for a device, 0 % of a core, 1m old: x
        - x (10) is stopped, 0 % of a core, 1m old: x
        - x (10) is traced, 0 % of a core, 1m old: x
        - x (10) has ended, unreaped, 0 % of a core, 1m old: x
        - x (10) is in no usual state, 0 % of a core, 1m old: x
        - x (10) sleeps, 37 % of a core, 1m old: x yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
          - read waits for input on standard input
        - x (10) is stopped, 0 % of a core, 1m old: x
          - its group is 1, its terminal's foreground group 7
        - x (10) sleeps, 0 % of a core, 1m old: x
        - x (10) sleeps, 0 % of a core, 1m old
          - ignores SIGTERM
    "#]].assert_eq(&all);
}

#[test]
fn equal_waits_are_counted_and_twelve_are_listed() {
    let threads = |fds: &[i32]| fds.iter().fold(process(10, 1, "x"), |process, fd| reads(process, *fd));
    let fds: Vec<i32> = (20..34).collect();
    let agent = Agent {
        pid: 10,
        name: "x".into(),
        asks: vec![Ask { kind: "question".into(), id: "que_1".into(), text: "Which?".into(), ..Ask::default() }],
        sources: vec!["a log".into()],
        ..Agent::default()
    };
    let with = one(reads(process(10, 1, "x"), 0))
        .both(|s| s.agents = vec![agent.clone(), Agent { pid: 11, sources: vec!["other".into()], ..agent.clone() }]);
    let all = [
        ("one", waits(&one(threads(&[5])))),
        ("two alike and one other", waits(&one(threads(&[5, 6, 5])))),
        ("fourteen", waits(&one(threads(&fds)))),
        ("an agent's records", waits(&with)),
    ];
    expect![[r#"
        one: read waits for input on descriptor 5
        two alike and one other: 2 threads: read waits for input on descriptor 5; read waits for input on descriptor 6
        fourteen: read waits for input on descriptor 20; read waits for input on descriptor 21; read waits for input on descriptor 22; read waits for input on descriptor 23; read waits for input on descriptor 24; read waits for input on descriptor 25; read waits for input on descriptor 26; read waits for input on descriptor 27; read waits for input on descriptor 28; read waits for input on descriptor 29; read waits for input on descriptor 30; read waits for input on descriptor 31
        an agent's records: read waits for input on standard input; open question que_1: Which?; read from a log
    "#]].assert_eq(&rows(all));
}

#[test]
fn a_tree_shows_the_way_to_its_subject_and_those_who_ended() {
    let mut all = vec![
        process(10, 1, "root"),
        reads(process(11, 10, "subject"), 0),
        process(12, 10, "other"),
        process(13, 12, "below"),
    ];
    all.extend((20..26).map(|pid| zombie(pid, 10)));
    let look = Look::of(all);
    let part = |look: &Look, subject: Pid| {
        let mut out = String::new();
        lines(&super::super::evidence::tree(&look.view(), subject), 0, &mut out);
        out.lines().map(|line| line.split(" old").next().unwrap_or(line).to_owned() + "\n").collect::<String>()
    };
    let beside = Look::of(vec![process(10, 1, "root"), process(11, 10, "other")]).beside(process(30, 1, "writer"));
    let all = format!("{}--\n{}--\n{}--\n{}", part(&look, 11), part(&look, 13), part(&beside, 10), part(&beside, 30));
    expect![[r#"
        - root (10) sleeps, 0 % of a core, 1m
          - subject (11) sleeps, 0 % of a core, 1m
            - read waits for input on standard input
          - true (20) has ended, unreaped, 0 % of a core, 1m
          - true (21) has ended, unreaped, 0 % of a core, 1m
          - true (22) has ended, unreaped, 0 % of a core, 1m
          - true (23) has ended, unreaped, 0 % of a core, 1m
          - 3 more children (--tree shows them)
        --
        - root (10) sleeps, 0 % of a core, 1m
          - other (12) sleeps, 0 % of a core, 1m
            - below (13) sleeps, 0 % of a core, 1m
          - true (20) has ended, unreaped, 0 % of a core, 1m
          - true (21) has ended, unreaped, 0 % of a core, 1m
          - true (22) has ended, unreaped, 0 % of a core, 1m
          - true (23) has ended, unreaped, 0 % of a core, 1m
          - 3 more children (--tree shows them)
        --
        - root (10) sleeps, 0 % of a core, 1m
          - 1 more child (--tree shows them)
        --
        - root (10) sleeps, 0 % of a core, 1m
          - 1 more child (--tree shows them)
        - writer (30) sleeps, 0 % of a core, 1m
    "#]]
    .assert_eq(&all);
    let line = Look::of((1..=80).map(|pid| process(pid, pid - 1, "x")).collect());
    assert_eq!(told(&line).lines().count(), 65, "not deeper than 64 levels below a root");
}

#[test]
fn what_a_finding_is_worth() {
    let told = |finding: Finding| (finding.verdict, finding.sure, finding.rank, finding.mechanism);
    let text = || "text".to_owned();
    use Sure::{Certain, Guess, Likely};
    assert_eq!(
        told(Finding::hung(1, Signature::Timer, Mechanism::B1, text())),
        (Verdict::Hung, Likely, rank::LIKELY, Some(Mechanism::B1))
    );
    assert_eq!(told(Finding::hung(1, Signature::Timer, None, text())), (Verdict::Hung, Likely, rank::LIKELY, None));
    assert_eq!(told(Finding::waiting(1, Signature::Timer, 3, text())), (Verdict::Waiting, Likely, 3, None));
    assert_eq!(told(Finding::working(1, Signature::Timer, text())), (Verdict::Working, Certain, rank::WORKS, None));
    assert_eq!(told(Finding::unknown(1, "x")), (Verdict::Unknown, Guess, rank::UNKNOWN, None));
    let certain = |rank| Finding::waiting(1, Signature::Timer, rank, text()).certain().rank;
    assert_eq!([certain(0), certain(rank::CERTAIN), certain(u8::MAX)], [rank::CERTAIN, rank::CERTAIN, u8::MAX]);
    assert_eq!(Finding::unknown(1, "x").certain().guess().sure, Guess);
}

#[test]
fn a_wait_is_steady_if_it_is_the_same_and_was_not_left() {
    let of = |look: &Look, change: &dyn Fn(&mut Thread)| {
        let mut after = look.after.clone();
        change(&mut after.tree.get_mut(&10).unwrap().threads[0]);
        let look = Look { before: look.before.clone(), after };
        let view = look.view();
        let process = &view.after.tree[&10];
        view.waits(process).iter().map(|wait| steady(&view, process, wait)).collect::<Vec<_>>()
    };
    let reading = one(reads(process(10, 1, "x"), 0));
    assert_eq!(of(&reading, &|_| {}), [true]);
    assert_eq!(of(&reading, &|thread| thread.switches += 1), [false], "it was on a processor");
    assert_eq!(of(&reading, &|thread| thread.tid = 99), [false], "another thread");
    let other = |thread: &mut Thread| thread.call.as_mut().unwrap().does = Does::Read { fd: 3 };
    assert_eq!(of(&reading, &other), [false], "another descriptor");
    // an event loop wakes up again and again; a poll of one descriptor without a limit is a read
    let polling = |limit| one(watches(process(10, 1, "x"), &[0], limit));
    let left = |limit| of(&polling(limit), &|thread| thread.switches += 1);
    assert_eq!((left(TimeLimit::GivenMs(100)), left(TimeLimit::Never)), (vec![true, true], vec![false, true]));
    let both = one(reads(reads(process(10, 1, "x"), 0), 3));
    assert_eq!(of(&both, &|_| {}), [true, true]);
}

#[test]
fn who_waits_for_whom() {
    let child = |pid: Pid| calls(process(10, 1, "x"), "wait4", Does::Child { pid }, TimeLimit::Never);
    let below = |parent: Process, other: Process| Look::of(vec![parent, other]);
    let of = |look: &Look| waits_for(&look.view(), 10, 11);
    let other = || process(11, 10, "y");
    let (none, any, only) = ((false, false), (true, false), (true, true));
    assert_eq!([-1, 0, 11, 12].map(|pid| of(&below(child(pid), other()))), [only, only, only, none]);
    let inner = Process { ns_pid: 3, ..other() };
    assert_eq!([3, 11, 4].map(|pid| of(&below(child(pid), inner.clone()))), [only, only, none]);
    assert_eq!(of(&below(child(-1), Process { ppid: 1, ..other() })), none, "it is not its child");
    // the other end of a pipe, in each direction
    let reader = || reads(pipe(process(10, 1, "x"), 5, Mode::Read, 50), 5);
    let writer = || writes(pipe(process(10, 1, "x"), 5, Mode::Write, 50), 5);
    let (writes_it, reads_it) = (pipe(other(), 1, Mode::Write, 50), pipe(other(), 0, Mode::Read, 50));
    assert_eq!([of(&below(reader(), writes_it.clone())), of(&below(reader(), reads_it.clone()))], [only, none]);
    assert_eq!([of(&below(writer(), reads_it)), of(&below(writer(), writes_it.clone()))], [only, none]);
    let pidfd = |pid| reads(has(process(10, 1, "x"), 5, Mode::Read, Object::Process { pid }), 5);
    assert_eq!([11, 12].map(|pid| of(&below(pidfd(pid), other()))), [only, none]);
    // with other threads, or in an event loop
    assert_eq!(of(&below(reads(reader(), 9), writes_it.clone())), any);
    assert_eq!(of(&below(calls(reader(), "futex", Does::Futex, TimeLimit::Never), writes_it.clone())), only);
    assert_eq!(of(&below(sleeps(process(10, 1, "x"), 5), writes_it.clone())), none);
    assert_eq!(of(&below(calls(process(10, 1, "x"), "futex", Does::Futex, TimeLimit::Never), other())), none);
    let looped = |on: &[i32]| watches(pipe(process(10, 1, "x"), 5, Mode::Read, 50), on, TimeLimit::Never);
    // a poll of one descriptor without a limit is a read of it
    assert_eq!(of(&below(looped(&[5]), writes_it.clone())), only);
    let socket = |process| has(process, 6, Mode::Both, Object::Socket { inode: 60 });
    assert_eq!(of(&below(socket(looped(&[5, 6])), writes_it.clone())), any);
    // an event loop that rests, beside a thread that waits
    let wakes = |process| has(process, 7, Mode::Both, Object::Event { count: 0 });
    let beside = calls(wakes(looped(&[5, 7])), "wait4", Does::Child { pid: 11 }, TimeLimit::Never);
    assert_eq!(of(&below(beside, writes_it)), only);
    assert_eq!(waits_for(&one(child(-1)).view(), 99, 11), none);
}

#[test]
fn who_reads_a_channel_now() {
    let channel = |what: Object| Descriptor { fd: 1, mode: Mode::Write, what };
    let look = one(reads(socket(pipe(process(10, 1, "x"), 5, Mode::Read, 50), 6, 60), 5))
        .socket(unix(60, 61))
        .socket(unix(61, 60))
        .socket(unix(62, 0));
    let of = |look: &Look, what: Object| reads_now(&look.view(), 10, &channel(what));
    assert_eq!([50, 51].map(|inode| of(&look, Object::Pipe { inode })), [true, false]);
    assert!(!of(&look, Object::Socket { inode: 61 }), "it reads something else");
    let look =
        look.both(|s| s.tree.get_mut(&10).unwrap().threads[0].call.as_mut().unwrap().does = Does::Read { fd: 6 });
    assert_eq!([60, 61, 62].map(|inode| of(&look, Object::Socket { inode })), [true, true, false]);
    let writing = one(writes(pipe(process(10, 1, "x"), 5, Mode::Both, 50), 5));
    assert!(!of(&writing, Object::Pipe { inode: 50 }) && !reads_now(&writing.view(), 99, &channel(Object::Null)));
    let (pipe, fifo) = (|inode| Object::Pipe { inode }, |inode| Object::Fifo { inode, path: String::new() });
    assert!(
        same(&pipe(1), &fifo(1))
            && same(&fifo(1), &fifo(1))
            && same(&Object::Socket { inode: 1 }, &Object::Socket { inode: 1 })
    );
    assert!(
        !same(&pipe(1), &pipe(2))
            && !same(&pipe(1), &Object::Socket { inode: 1 })
            && !same(&Object::Null, &Object::Null)
    );
    assert!(!same(&Object::Socket { inode: 1 }, &Object::Socket { inode: 2 }));
}

/// An id that is its own ancestor's: 0 is nobody, and a chain of parents may be broken.
#[test]
fn who_descends_from_whom() {
    let look = Look::of(vec![process(10, 0, "root"), process(11, 10, "x"), process(12, 11, "y"), process(13, 99, "z")]);
    let of = |pid, ancestor| look.after.descends(pid, ancestor);
    assert_eq!(
        [of(12, 10), of(12, 12), of(10, 12), of(13, 10), of(13, 99), of(10, 0), of(11, 0)],
        [true, true, false, false, true, false, false]
    );
    let ring = Look::of(vec![process(10, 11, "x"), process(11, 10, "y")]);
    assert_eq!([ring.after.descends(10, 11), ring.after.descends(10, 12)], [true, false]);
}
