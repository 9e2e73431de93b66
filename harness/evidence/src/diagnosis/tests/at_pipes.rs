//! Pipes and standard input, row by row.

use super::*;

fn reader() -> Process {
    reads(pipe(process(11, 10, "reader"), 3, Mode::Read, 70), 3)
}

fn input() -> Process {
    reads(pipe(process(11, 10, "cat"), 0, Mode::Read, 70), 0)
}

fn to_it(process: Process) -> Process {
    pipe(process, 9, Mode::Write, 70)
}

fn woke(look: Look) -> Look {
    look.later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += 1)
}

#[test]
fn a_reader_is_explained_by_who_writes() {
    let polls = || watches(pipe(process(11, 10, "reader"), 3, Mode::Read, 70), &[3, 3], TimeLimit::Never);
    let below = |pid, process_: Process| to_it(Process { pid, ppid: 11, began_ns: 2_000_000_000, ..process_ });
    let hung =
        || calls(process(12, 11, "x"), "openat", Does::Open { path: Some("/f".into()), fifo: true }, TimeLimit::Never);
    let idle = || watches(process(12, 11, "x"), &[9, 9], TimeLimit::LeftMs(5_000));
    let beside = |ppid, process_: Process| to_it(Process { pid: 20, ppid, group_led: true, ..process_ });
    let naps = || sleeps(process(20, 5, "writer"), 90_000);
    let two = |one: Process, other: Process| {
        let other = to_it(Process { pid: 21, ..other });
        Look::of(vec![reader()]).beside(beside(5, one)).beside(other)
    };
    let circle = || reads(pipe(process(20, 5, "writer"), 4, Mode::Read, 71), 4);
    let in_circle = || Look::of(vec![pipe(reader(), 4, Mode::Write, 71)]).beside(beside(5, circle()));
    let parent = |ppid| beside(ppid, sleeps(process(20, 5, "parent"), 90_000));
    expect![[r#"
        one below is hung: Waiting fifo-open B12 (Likely): x (12) opens the FIFO /f, and nobody opens it to write | somebody opens its other end; from outside: kill 12 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        one below naps: Waiting sleep - (Likely): writer (12) sleeps (1m30s) | time
        one below idles: Waiting timer - (Likely): x (12) waits for a timer of its own (at most 5s) | the timer
        the strongest of two below: Waiting fifo-open B12 (Likely): x (13) opens the FIFO /f, and nobody opens it to write | somebody opens its other end; from outside: kill 13 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        another one naps: Waiting pipe-read - (Likely): reader (11) waits for what writer (20) would write to descriptor 3 | writer (20) writes or ends
        another one is hung: Waiting pipe-read - (Likely): reader (11) waits for what x (20) would write to descriptor 3 | x (20) writes or ends
        the strongest of two others: Waiting fifo-open B12 (Likely): x (21) opens the FIFO /f, and nobody opens it to write | somebody opens its other end; from outside: kill 21 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        a parent: Waiting pipe-read - (Likely): reader (11) waits for what parent (20) would write to descriptor 3 | parent (20) writes or ends
        in a loop: Unknown unknown - (Guess): reader (11) waits, and what for cannot be seen
        nobody: Unknown unknown - (Guess): reader (11) waits, and what for cannot be seen
        each other: Hung mutual-wait C6 (Likely): reader (11) and writer (20) wait for each other: each reads what the other would write | one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it
        each other, and it woke up: Hung mutual-wait C6 (Likely): reader (11) and writer (20) wait for each other: each reads what the other would write | one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it
    "#]].assert_eq(&all_answers(vec![
        ("one below is hung", Look::of(vec![reader(), below(12, hung())])),
        ("one below naps", Look::of(vec![reader(), below(12, naps())])),
        ("one below idles", Look::of(vec![reader(), below(12, idle())])),
        ("the strongest of two below", Look::of(vec![reader(), below(12, naps()), below(13, hung())])),
        ("another one naps", Look::of(vec![reader()]).beside(beside(5, naps()))),
        ("another one is hung", Look::of(vec![reader()]).beside(beside(5, hung()))),
        ("the strongest of two others", two(naps(), hung())),
        ("a parent", Look::of(vec![Process { ppid: 20, ..reader() }]).beside(parent(5))),
        ("in a loop", Look::of(vec![polls()]).beside(beside(5, naps()))),
        ("nobody", Look::of(vec![reader()])),
        ("each other", in_circle()),
        ("each other, and it woke up", woke(in_circle())),
    ]));
}

#[test]
fn a_writer_that_outlived_its_starter_holds_its_reader_hostage() {
    let stray = || Process { began_ns: 2_000_000_000, ..reads(pipe(process(20, 1, "daemon"), 0, Mode::Read, 75), 0) };
    let look = |stray: Process| Look::of(vec![reader()]).beside(to_it(stray));
    let inside = |stray: Process| Look::of(vec![reader(), process(12, 11, "sh"), to_it(stray)]);
    let beside = |group_led, session_led| Process { ppid: 5, group_led, session_led, ..stray() };
    let led = |group_led, session_led| Process { pgrp: 20, ..beside(group_led, session_led) };
    let pipeline = Look::of(vec![Process { ppid: 1, ..reader() }]).beside(to_it(stray()));
    let noisy = |look: Look| moves(look, 20, Io { written_bytes: 1, writes: 1, ..Io::default() });
    let naps = || Process { began_ns: 2_000_000_000, ..sleeps(process(20, 1, "sleep"), 90_000) };
    let year =
        || Process { began_ns: 2_000_000_000, ..sleeps(process(20, 1, "sleep"), crate::diagnosis::waits::NO_END_MS) };
    let both = || Process { began_ns: 2_000_000_000, ..reads(sleeps(process(20, 1, "sleep"), 90_000), 99) };
    let subreaper = |ppid, group_led, pgrp| Process { ppid, group_led, pgrp, ..stray() };
    let container = Look::of(vec![reader()]).beside(to_it(Process { ppid: 6, ..stray() }));
    let two = Look::of(vec![reader()]).beside(to_it(stray())).beside(to_it(Process { pid: 21, ..stray() }));
    let parent = Look::of(vec![Process { ppid: 20, ..reader() }]).beside(to_it(stray()));
    let sibling = Look::of(vec![process(10, 1, "sh"), reader(), to_it(Process { ppid: 10, ..stray() })]);
    let uncle = Look::of(vec![process(10, 9, "sh"), reader(), to_it(Process { ppid: 9, ..stray() })]);
    let stranger =
        Look::of(vec![process(10, 9, "sh"), reader(), process(13, 10, "sh"), to_it(Process { ppid: 13, ..stray() })]);
    let awake = |io: Io, written_bytes| {
        let thread = Thread { tid: 11, state: State::Running, call_read: true, ..Thread::default() };
        let look = Look::of(vec![Process { threads: vec![thread], ..reader() }]).beside(to_it(stray()));
        moves(moves(look, 11, io), 20, Io { written_bytes, writes: 1, ..Io::default() })
    };
    let reads_ = |read_bytes| Io { read_bytes, reads: 1, ..Io::default() };
    let orphaned_by = |name: &str| look(Process { ppid: 7, parent_name: name.into(), ..stray() });
    expect![[r#"
        an orphan: Hung stray-holds-pipe B6 (Likely): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, holds it open | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1)
        an orphan that writes: Waiting stray-writes-pipe B7 (Likely, hung in 1h4m): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, goes on writing to it | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1); daemon (20) is at work, and may let go by itself
        an orphan that naps: Waiting stray-holds-pipe B6 (Likely, hung in 1h4m): reader (11) reads descriptor 3 to its end, but sleep (20), which outlived the command that started it, holds it open | the end of sleep (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1); sleep (20) has a timer of its own (at most 1m30s), and may let go by itself
        an orphan that sleeps without an end: Hung stray-holds-pipe B6 (Likely): reader (11) reads descriptor 3 to its end, but sleep (20), which outlived the command that started it, holds it open | the end of sleep (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1)
        an orphan that naps and reads: Waiting stray-holds-pipe B6 (Likely, hung in 1h4m): reader (11) reads descriptor 3 to its end, but sleep (20), which outlived the command that started it, holds it open | the end of sleep (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1); sleep (20) has a timer of its own (at most 1m30s), and may let go by itself
        two orphans: Hung stray-holds-pipe B6 (Likely): reader (11) reads descriptor 3 to its end, but daemon (20) and daemon (21), which outlived the command that started it, holds it open | the end of daemon (20) and daemon (21): kill 20, kill 21; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1)
        adopted by systemd: Hung stray-holds-pipe B6 (Likely): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, holds it open | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | the holder's own parent, group or session leader is gone
        adopted by nobody: Waiting pipe-read - (Likely): reader (11) waits for what daemon (20) would write to descriptor 3 | daemon (20) writes or ends
        adopted by the first process of a container: Hung stray-holds-pipe B6 (Likely): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, holds it open | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | the holder's own parent, group or session leader is gone
        it began before the reader: Waiting pipe-read - (Likely): reader (11) waits for what daemon (20) would write to descriptor 3 | daemon (20) writes or ends
        it began with the reader: Hung stray-holds-pipe B6 (Likely): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, holds it open | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1)
        its group has no leader: Hung stray-holds-pipe B6 (Likely): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, holds it open | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | the holder's own parent, group or session leader is gone
        its session has no leader: Hung stray-holds-pipe B6 (Likely): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, holds it open | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | the holder's own parent, group or session leader is gone
        its group has no leader, and is the reader's: Waiting pipe-read - (Likely): reader (11) waits for what daemon (20) would write to descriptor 3 | daemon (20) writes or ends
        both are orphans of one group: Waiting pipe-read - (Likely): reader (11) waits for what daemon (20) would write to descriptor 3 | daemon (20) writes or ends
        it has both leaders: Waiting pipe-read - (Likely): reader (11) waits for what daemon (20) would write to descriptor 3 | daemon (20) writes or ends
        it is the reader's parent: Waiting pipe-read - (Likely): reader (11) waits for what daemon (20) would write to descriptor 3 | daemon (20) writes or ends
        adopted by the reader: Hung stray-holds-pipe B6 (Likely, parts [20]): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, holds it open | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | the holder's own parent, group or session leader is gone
        a child in a group with a leader: Waiting stdin-open S1 (Likely): daemon (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, reader (11) starts it with </dev/null; from outside: kill 20 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        a child in the reader's group: Waiting stdin-open S1 (Likely): daemon (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, reader (11) starts it with </dev/null; from outside: kill 20 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        a grandchild: Waiting stdin-open S1 (Likely): daemon (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, reader (11) starts it with </dev/null; from outside: kill 20 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        a sibling: Waiting stdin-open S1 (Likely): daemon (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 20 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        a sibling of its parent: Waiting pipe-read - (Likely): reader (11) waits for what daemon (20) would write to descriptor 3 | daemon (20) writes or ends
        in another branch of the tree: Waiting stdin-open S1 (Likely): daemon (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 20 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        the reader is awake and reads: Waiting stray-writes-pipe B7 (Likely, hung in 1h4m): reader (11) reads descriptor 3 to its end, but daemon (20), which outlived the command that started it, goes on writing to it | the end of daemon (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1); daemon (20) is at work, and may let go by itself
        the reader is awake and the writer is quiet: Working working - (Guess): reader (11) is ready to run and was given no processor
        the reader is awake and reads nothing: Working working - (Guess): reader (11) is ready to run and was given no processor
    "#]].assert_eq(&all_answers(vec![
        ("an orphan", look(stray())),
        ("an orphan that writes", noisy(look(stray()))),
        ("an orphan that naps", look(naps())),
        ("an orphan that sleeps without an end", look(year())),
        ("an orphan that naps and reads", look(both())),
        ("two orphans", two),
        ("adopted by systemd", orphaned_by("systemd")),
        ("adopted by nobody", orphaned_by("bash")),
        ("adopted by the first process of a container", container.beside(Process { ns_pid: 1, ..process(6, 5, "node") })),
        ("it began before the reader", look(Process { began_ns: 999_999_999, ..stray() })),
        ("it began with the reader", look(Process { began_ns: 1_000_000_000, ..stray() })),
        ("its group has no leader", look(led(false, true))),
        ("its session has no leader", look(led(true, false))),
        ("its group has no leader, and is the reader's", look(beside(false, true))),
        ("both are orphans of one group", pipeline),
        ("it has both leaders", look(led(true, true))),
        ("it is the reader's parent", parent),
        ("adopted by the reader", inside(subreaper(11, false, 5))),
        ("a child in a group with a leader", inside(subreaper(11, true, 5))),
        ("a child in the reader's group", inside(subreaper(11, false, 1))),
        ("a grandchild", inside(subreaper(12, false, 5))),
        ("a sibling", sibling),
        ("a sibling of its parent", uncle),
        ("in another branch of the tree", stranger),
        ("the reader is awake and reads", awake(reads_(1), 1)),
        ("the reader is awake and the writer is quiet", awake(reads_(1), 0)),
        ("the reader is awake and reads nothing", awake(reads_(0), 1)),
    ]));
}

#[test]
fn a_writer_is_explained_by_who_reads() {
    let writer = |fd| writes(pipe(process(11, 10, "writer"), fd, Mode::Write, 70), fd);
    let from_it = |process: Process| pipe(process, 9, Mode::Read, 70);
    let other = || process(20, 5, "other");
    let hung = || reads(pipe(other(), 0, Mode::Read, 75), 0);
    let look = |fd, other: Process| Look::of(vec![writer(fd)]).beside(from_it(other));
    let stopped = |state| Process { state, ..hung() };
    let back = || writes(pipe(other(), 8, Mode::Write, 71), 8);
    let typed = || writes(tty(other(), 8, 1), 8);
    let serves = Look::of(vec![socket(writer(1), 6, 80)]).beside(from_it(hung())).socket(listening(80, "127.0.0.1:80"));
    let parent = Look::of(vec![Process { ppid: 20, ..writer(1) }]);
    let pair = |unsent, polled| {
        let process = socket(process(11, 10, "writer"), 1, 82);
        let on = vec![Watch { fd: 1, input: false, output: true }, Watch { fd: 97, input: true, output: false }];
        let process =
            if polled { calls(process, "poll", Does::Poll { on }, TimeLimit::Never) } else { writes(process, 1) };
        let look = Look::of(vec![process]).beside(socket(hung(), 6, 83)).socket(unix(83, 82));
        look.socket(Socket { unsent, ..unix(82, 83) })
    };
    let tcp = Look::of(vec![writes(socket(process(11, 10, "writer"), 1, 82), 1)]).socket(Socket {
        unsent: 1,
        peer: None,
        ..connection(82, 90_000)
    });
    let wrote = |written_bytes| moves(look(1, hung()), 11, Io { written_bytes, writes: 1, ..Io::default() });
    expect![[r#"
        its standard output: Hung stdout-undrained C6 (Likely): writer (11) cannot write to its standard output: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | 11 has been in write throughout, and other (20) did not read
        its standard error: Hung stderr-undrained C1 (Likely): writer (11) cannot write to its standard error: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | 11 has been in write throughout, and other (20) did not read
        a server: Hung stdout-undrained C2 (Likely): writer (11) cannot write to its standard output: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | 11 has been in write throughout, and other (20) did not read
        it woke up: Waiting slow-reader - (Likely): writer (11) writes to its standard output as fast as other (20) reads | the reader's pace
        it wrote: Waiting slow-reader - (Likely): writer (11) writes to its standard output as fast as other (20) reads | the reader's pace
        it wrote nothing: Hung stdout-undrained C6 (Likely): writer (11) cannot write to its standard output: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | 11 has been in write throughout, and other (20) did not read
        the reader works: Waiting slow-reader - (Likely): writer (11) writes to its standard output as fast as other (20) reads | the reader's pace
        the reader reads: Waiting slow-reader - (Likely): writer (11) writes to its standard output as fast as other (20) reads | the reader's pace
        the reader naps: Waiting slow-reader - (Likely): writer (11) writes to its standard output as fast as other (20) reads, and other (20) sleeps now | the reader's pace
        the reader is stopped: Waiting stopped T1 (Likely, hung in 15m): other (20) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 20 | its state is T, and its call touches no terminal
        the reader is traced: Waiting traced - (Likely, hung in 15m): other (20) is held by a debugger, which traces it | a debugger lets it go on, or ends | its state is t
        each other: Hung mutual-pipe C6 (Likely): writer (11) and other (20) wait for each other: each writes to a full pipe that the other does not read | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | both are in a write without a time limit on a pipe that the other holds
        the reader writes to a terminal: Hung stdout-undrained C6 (Likely): writer (11) cannot write to its standard output: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | 11 has been in write throughout, and other (20) did not read
        the reader writes elsewhere: Hung stdout-undrained C6 (Likely): writer (11) cannot write to its standard output: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | 11 has been in write throughout, and other (20) did not read
        the reader waits for its end: Hung stdout-undrained C6 (Likely): writer (11) cannot write to its standard output: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | other (20), who should read, waits for writer (11) elsewhere
        nobody: Unknown unknown - (Guess): writer (11) waits, and what for cannot be seen
        a full socket: Hung stdout-undrained C6 (Likely): writer (11) cannot write to its standard output: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | 11 has been in poll throughout, and other (20) did not read
        a socket with room: Unknown unknown - (Guess): writer (11) waits, and what for cannot be seen
        a blocking write to a socket: Hung stdout-undrained C6 (Likely): writer (11) cannot write to its standard output: the pipe is full, and other (20) does not read it | other (20) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 11 | 11 has been in write throughout, and other (20) did not read
        a connection: Waiting peer-silent E2 (Likely, hung in 28m30s): writer (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 1 bytes that it sent were never taken: the other side may be gone
    "#]].assert_eq(&all_answers(vec![
        ("its standard output", look(1, hung())),
        ("its standard error", look(2, hung())),
        ("a server", serves),
        ("it woke up", woke(look(1, hung()))),
        ("it wrote", wrote(1)),
        ("it wrote nothing", wrote(0)),
        ("the reader works", spends(look(1, hung()), 20, 60)),
        ("the reader reads", look(1, reads(other(), 9))),
        ("the reader naps", look(1, sleeps(other(), 90_000))),
        ("the reader is stopped", look(1, stopped(State::Stopped))),
        ("the reader is traced", look(1, stopped(State::Traced))),
        ("each other", Look::of(vec![pipe(writer(1), 4, Mode::Read, 71)]).beside(from_it(back()))),
        ("the reader writes to a terminal", look(1, typed())),
        ("the reader writes elsewhere", look(1, back())),
        ("the reader waits for its end", parent.beside(from_it(awaits(other())))),
        ("nobody", Look::of(vec![writer(1)])),
        ("a full socket", pair(1, true)),
        ("a socket with room", pair(0, true)),
        ("a blocking write to a socket", pair(0, false)),
        ("a connection", tcp),
    ]));
}

#[test]
fn standard_input_is_followed_to_who_holds_it_open() {
    let holder = |process: Process| to_it(process);
    let naps = |pid, ppid| holder(sleeps(process(pid, ppid, "holder"), 90_000));
    let look = || Look::of(vec![Process { ppid: 20, ..input() }]).beside(naps(20, 5));
    let helper = || Look::of(vec![Process { ppid: 20, ..started(input(), &["x-mcp"]) }]);
    let hung = || reads(pipe(process(20, 1, "head"), 0, Mode::Read, 75), 0);
    let pipeline = |source: Process| {
        Look::of(vec![process(10, 1, "sh"), input(), holder(Process { ppid: 10, pid: 12, ..source })])
    };
    let polled = |limit, began_ns, call: &str| {
        let on = vec![Watch { fd: 0, input: true, output: false }];
        let process = Process { ppid: 20, began_ns, ..pipe(process(11, 10, "read"), 0, Mode::Read, 70) };
        Look::of(vec![calls(process, call, Does::Poll { on }, limit)]).beside(naps(20, 5))
    };
    let with_other = |look: Look| {
        look.both(|s| {
            let process = s.tree.remove(&11).unwrap();
            s.tree.insert(11, reads(process, 99));
        })
    };
    let as_user = |look: Look, uid| look.both(|s| s.reader.uid = uid);
    let fifo = |mode| {
        let what = Object::Fifo { inode: 73, path: "/f".into() };
        Look::of(vec![reads(has(process(11, 10, "cat"), 0, mode, what), 0)])
    };
    let own = |reads_: fn(Process) -> Process| {
        Look::of(vec![reads_(pipe(pipe(process(11, 10, "cat"), 0, Mode::Read, 70), 4, Mode::Write, 70))])
    };
    let sibling = Look::of(vec![input()]).beside(naps(20, 10));
    let cousin = Look::of(vec![input()]).beside(naps(20, 5));
    let several =
        Look::of(vec![Process { ppid: 20, ..input() }]).beside(naps(20, 22)).beside(naps(21, 5)).beside(naps(22, 1));
    expect![[r#"
        its parent: Waiting stdin-open S1 (Likely): cat (11) waits for its standard input to end or to say something, and holder (20) keeps it open without a word | holder (20) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; holder (20) might still write; no agent runs it, and who holds the other end does not wait for it
        its parent, and it woke up: Waiting reads - (Likely): cat (11) reads its standard input as it comes | the end of its input
        several, the nearest first: Waiting pipeline - (Likely): cat (11) waits for what holder (21) writes | the end of what it reads | that goes on: a timer of its own (at most 1m30s)
        a sibling outside of the tree: Waiting pipeline - (Likely): cat (11) waits for what holder (20) writes: holder (20) sleeps (1m30s) | the end of what it reads
        another outside of the tree: Waiting pipeline - (Likely): cat (11) waits for what holder (20) writes | the end of what it reads | that goes on: a timer of its own (at most 1m30s)
        a source that is hung: Waiting pipeline - (Likely): cat (11) waits for what head (12) writes: head (12) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | the end of what it reads
        a source that naps: Waiting pipeline - (Likely): cat (11) waits for what seq (12) writes: seq (12) sleeps (1m30s) | the end of what it reads
        a source that idles: Waiting pipeline - (Likely): cat (11) waits for what seq (12) writes: seq (12) waits for a timer of its own (at most 5s) | the end of what it reads
        a tool server: Waiting helper - (Likely): cat (11) waits for requests of holder (20) | a request
        a limit longer than its life: Waiting stdin-limit - (Likely): read (11) waits for its standard input to say something, at most 1m | a line, or time | poll gave itself that limit, and has never reached it
        a limit as long as its life: Waiting stdin-open S1 (Likely): read (11) waits for its standard input to end or to say something, and holder (20) keeps it open without a word | holder (20) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | poll watches descriptor 0, at most 1m at a time; holder (20) might still write; no agent runs it, and who holds the other end does not wait for it
        a limit from now: Waiting stdin-open S1 (Likely): read (11) waits for its standard input to end or to say something, and holder (20) keeps it open without a word | holder (20) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | poll watches descriptor 0, 1m at a time; holder (20) might still write; no agent runs it, and who holds the other end does not wait for it
        a limit of an event loop: Waiting stdin-open S1 (Likely): read (11) waits for its standard input to end or to say something, and holder (20) keeps it open without a word | holder (20) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | epoll_wait watches descriptor 0, at most 1m at a time; holder (20) might still write; no agent runs it, and who holds the other end does not wait for it
        a limit beside another wait: Waiting stdin-open S1 (Likely): read (11) waits for its standard input to end or to say something, and holder (20) keeps it open without a word | holder (20) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | poll watches descriptor 0, at most 1m at a time; holder (20) might still write; no agent runs it, and who holds the other end does not wait for it
        nobody that a user sees: Unknown stdin-open - (Guess): cat (11) waits for its standard input, and who holds it open may not be seen | a line, or the end of its input
        nobody that root sees: Waiting stdin-open S1 (Likely): cat (11) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        its parent, for a user: Waiting stdin-open S1 (Likely): cat (11) waits for its standard input to end or to say something, and holder (20) keeps it open without a word | holder (20) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; holder (20) might still write; no agent runs it, and who holds the other end does not wait for it
        a FIFO that it opened both ways: Waiting pipe-read - (Likely): cat (11) waits for a line in the FIFO /f, which it keeps open itself | a line written to /f
        a FIFO that it reads: Waiting stdin-open S1 (Likely): cat (11) waits for its standard input, the FIFO /f, to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        a pipe of its own: Hung stdin-open S1 (Likely, closed in): cat (11) waits for its standard input, which only it holds open itself: it would never see an end | kill 11 | read, and nobody else has the other end
        a pipe of its own in a loop: Hung mutual-wait C6 (Likely, closed in): cat (11) waits, and nothing that is alive could end that: cat (11) waits, and what for cannot be seen | nothing in sight; from outside: kill 11 | no other process, timer or person has a part in it
    "#]].assert_eq(&all_answers(vec![
        ("its parent", look()),
        ("its parent, and it woke up", woke(look())),
        ("several, the nearest first", several),
        ("a sibling outside of the tree", sibling),
        ("another outside of the tree", cousin),
        ("a source that is hung", pipeline(hung())),
        ("a source that naps", pipeline(sleeps(process(20, 1, "seq"), 90_000))),
        ("a source that idles", pipeline(watches(process(20, 1, "seq"), &[9, 9], TimeLimit::LeftMs(5_000)))),
        ("a tool server", helper().beside(naps(20, 5))),
        ("a limit longer than its life", polled(TimeLimit::GivenMs(60_001), 1_000_000_000, "poll")),
        ("a limit as long as its life", polled(TimeLimit::GivenMs(60_000), 1_000_000_000, "poll")),
        ("a limit from now", polled(TimeLimit::LeftMs(60_001), 1_000_000_000, "poll")),
        ("a limit of an event loop", polled(TimeLimit::GivenMs(60_001), 1_000_000_000, "epoll_wait")),
        ("a limit beside another wait", with_other(polled(TimeLimit::GivenMs(60_001), 1_000_000_000, "poll"))),
        ("nobody that a user sees", as_user(Look::of(vec![input()]), 1000)),
        ("nobody that root sees", as_user(Look::of(vec![input()]), 0)),
        ("its parent, for a user", as_user(look(), 1000)),
        ("a FIFO that it opened both ways", fifo(Mode::Both)),
        ("a FIFO that it reads", fifo(Mode::Read)),
        ("a pipe of its own", own(|process| reads(process, 0))),
        ("a pipe of its own in a loop", own(|process| watches(process, &[0, 0], TimeLimit::Never))),
    ]));
}

#[test]
fn who_started_it_tells_what_an_open_standard_input_means() {
    // 10 holds the input of 11 and is, or is below, an agent
    let below = |name: &str, args: &[&str], child: &[&str]| {
        let agent = to_it(started(sleeps(process(10, 1, name), 90_000), args));
        Look::of(vec![started(input(), child)]).beside(agent)
    };
    let between = |words: &[&str]| {
        let agent = process(9, 1, "claude");
        Look::of(vec![input()]).beside(agent).beside(to_it(started(sleeps(process(10, 9, "sh"), 90_000), words)))
    };
    let claude = |args: &[&str]| {
        Look::of(vec![started(Process { comm: "claude".into(), ..input() }, args)])
            .beside(to_it(sleeps(process(10, 1, "sdk"), 90_000)))
    };
    let circle = || to_it(awaits(process(10, 1, "python3")));
    let polled = |turn: &str| {
        let process = watches(pipe(process(11, 10, "claude"), 0, Mode::Read, 70), &[0, 0], TimeLimit::LeftMs(500));
        let record = Agent { pid: 11, name: "claude".into(), turn: turn.into(), ..Agent::default() };
        Look::of(vec![process]).beside(circle()).both(|s| s.agents = vec![record.clone()])
    };
    expect![[r#"
        an agent's command: Waiting stdin-open B1 (Likely, hung in 1h4m): cat (11) waits for its standard input to end or to say something, and Claude Code (10) keeps it open without a word; it may end by Claude Code (10), which has a timer (at most 1m30s) | Claude Code (10), which has a timer (at most 1m30s); or Claude Code (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; Claude Code (10) might still write: a tool server that waits for requests looks the same, where nothing in its name says that it is one; it may end by Claude Code (10), which has a timer (at most 1m30s)
        an agent's hook: Waiting stdin-open S3 (Likely, hung in 1h4m): cat (11), a hook of Claude Code (10), waits for its standard input to end, and Claude Code (10) keeps it open; it may end by Claude Code (10), which has a timer (at most 1m30s) | Claude Code (10), which has a timer (at most 1m30s); or Claude Code (10) closes its end or writes to it; next time, closes a hook's input behind what it has to say; from outside: kill 11 | read(0) has no time limit; Claude Code (10) might still write; it may end by Claude Code (10), which has a timer (at most 1m30s)
        an agent's status line: Waiting stdin-open S3 (Likely, hung in 1h4m): cat (11), a hook of Claude Code (10), waits for its standard input to end, and Claude Code (10) keeps it open; it may end by Claude Code (10), which has a timer (at most 1m30s) | Claude Code (10), which has a timer (at most 1m30s); or Claude Code (10) closes its end or writes to it; next time, closes a hook's input behind what it has to say; from outside: kill 11 | read(0) has no time limit; Claude Code (10) might still write; it may end by Claude Code (10), which has a timer (at most 1m30s)
        a hook of no agent: Waiting stdin-open S1 (Likely): cat (11) waits for its standard input to end or to say something, and sh (10) keeps it open without a word | sh (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; sh (10) might still write; no agent runs it, and who holds the other end does not wait for it
        a command of a hook: Waiting stdin-open S3 (Likely, hung in 1h4m): cat (11), a hook of Claude Code (9), waits for its standard input to end, and sh pre-hook (10) keeps it open; it may end by sh pre-hook (10), which has a timer (at most 1m30s) | sh pre-hook (10), which has a timer (at most 1m30s); or sh pre-hook (10) closes its end or writes to it; next time, closes a hook's input behind what it has to say; from outside: kill 11 | read(0) has no time limit; sh pre-hook (10) might still write; it may end by sh pre-hook (10), which has a timer (at most 1m30s)
        a command of an agent's shell: Waiting stdin-open B1 (Likely, hung in 1h4m): cat (11) waits for its standard input to end or to say something, and sh (10) keeps it open without a word; it may end by sh (10), which has a timer (at most 1m30s) | sh (10), which has a timer (at most 1m30s); or sh (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; sh (10) might still write: a tool server that waits for requests looks the same, where nothing in its name says that it is one; it may end by sh (10), which has a timer (at most 1m30s)
        an agent: Waiting stdin-open S1 (Likely, hung in 1h4m): Claude Code (11) waits for its standard input to end or to say something, and sdk (10) keeps it open without a word; it may end by sdk (10), which has a timer (at most 1m30s) | sdk (10), which has a timer (at most 1m30s); or sdk (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; sdk (10) might still write; it may end by sdk (10), which has a timer (at most 1m30s)
        an agent that takes messages: Waiting stdin-open S1 (Likely, hung in 1h4m): Claude Code (11) waits for the next message on its standard input, which sdk (10) holds open and does not write to; it may end by sdk (10), which has a timer (at most 1m30s) | sdk (10), which has a timer (at most 1m30s); or sdk (10) closes its end or writes to it; next time, ends its input once its result is there; from outside: kill 11 | read(0) has no time limit; sdk (10) might still write; it may end by sdk (10), which has a timer (at most 1m30s)
        another program that takes messages: Waiting stdin-open S1 (Likely): cat (11) waits for its standard input to end or to say something, and sh (10) keeps it open without a word | sh (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; sh (10) might still write; no agent runs it, and who holds the other end does not wait for it
        its starter waits for it: Hung stdin-open S1 (Likely): cat (11) waits for its standard input to end or to say something, and python3 (10) keeps it open without a word | python3 (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit, and python3 (10), which could end it, waits for cat (11) itself: they wait for each other
        an agent in a loop: Hung stdin-open S1 (Likely): Claude Code (11) waits for its standard input to end or to say something, and python3 (10) keeps it open without a word | python3 (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | poll watches descriptor 0, 500ms at a time, and python3 (10), which could end it, waits for Claude Code (11) itself: they wait for each other
        an agent in a loop in its turn: Waiting no-connection M8 (Guess, hung in 29m): Claude Code (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself, its nearest timer 500ms: an answer that nobody gives, an event that got lost, or a pause before it tries again look like this
    "#]].assert_eq(&all_answers(vec![
        ("an agent's command", below("claude", &["claude"], &["cat"])),
        ("an agent's hook", below("claude", &["claude"], &["my-HOOK.sh"])),
        ("an agent's status line", below("claude", &["claude"], &["x", "statusline"])),
        ("a hook of no agent", below("sh", &["sh"], &["hook"])),
        ("a command of a hook", between(&["sh", "pre-hook"])),
        ("a command of an agent's shell", between(&["sh", "-c"])),
        ("an agent", claude(&["claude"])),
        ("an agent that takes messages", claude(&["claude", "--input-format=stream-json"])),
        ("another program that takes messages", below("sh", &["sh"], &["cat", "stream-json"])),
        ("its starter waits for it", Look::of(vec![input()]).beside(circle())),
        ("an agent in a loop", polled("ended")),
        ("an agent in a loop in its turn", polled("open")),
    ]));
}

/// A tool server behind a shell looks like a command that asks. Its starter and what the agent does tell them apart.
#[test]
fn a_tool_server_behind_a_shell() {
    let look = |agent: &[&str], runner: &[&str], name: &str| {
        let agent = started(pipe(pipe(process(11, 1, agent[0]), 8, Mode::Write, 70), 9, Mode::Read, 71), agent);
        let agent = watches(has(agent, 6, Mode::Both, Object::Socket { inode: 80 }), &[6, 9], TimeLimit::Never);
        let runner = started(awaits(process(12, 11, runner[0])), runner);
        let shell = started(awaits(process(13, 12, "sh")), &["sh", "-c", "node index.js"]);
        let streams = pipe(pipe(process(14, 13, name), 0, Mode::Read, 70), 1, Mode::Write, 71);
        let server = reads(started(streams, &[name, "index.js"]), 0);
        Look::of(vec![agent, runner, shell, server]).socket(listening(80, "127.0.0.1:4096"))
    };
    let found = |look: Look| {
        let found = look.diagnosis();
        let of = if found.pid == 14 { "server" } else { "agent" };
        let hung = if found.may_be_hung() { ", may be hung" } else { "" };
        format!("{of} {:?} {}{hung}", found.verdict, found.signature)
    };
    let (runs, serves, bash, npm) =
        (["opencode", "run", "go"], ["opencode", "serve"], ["bash", "-c", "x"], ["npm exec x"]);
    expect![[r#"
        a command of a run: server Hung stdin-open, may be hung
        a package of a run: server Waiting helper
        below an agent that serves: agent Waiting serves
        one that reads to the end, there: server Hung stdin-open, may be hung
    "#]]
    .assert_eq(&rows([
        ("a command of a run", found(look(&runs, &bash, "node"))),
        ("a package of a run", found(look(&runs, &npm, "node"))),
        ("below an agent that serves", found(look(&serves, &bash, "node"))),
        ("one that reads to the end, there", found(look(&serves, &bash, "cat"))),
    ]));
}

#[test]
fn a_tool_server_and_its_agent_that_wait_for_each_other_never_go_on() {
    let server = |name: &str, limit| {
        let process = pipe(pipe(process(12, 11, name), 0, Mode::Read, 70), 1, Mode::Write, 71);
        calls(process, "read", Does::Read { fd: 0 }, limit)
    };
    let client = |limit| {
        let process = pipe(pipe(process(11, 10, "host"), 8, Mode::Write, 70), 9, Mode::Read, 71);
        calls(process, "read", Does::Read { fd: 9 }, limit)
    };
    let look = |name, one, other| Look::of(vec![client(one), server(name, other)]);
    let never = TimeLimit::Never;
    let look_woke = look("x-mcp", never, never).later(|s| s.tree.get_mut(&12).unwrap().threads[0].switches += 1);
    let third = look("x-mcp", never, never).beside(pipe(sleeps(process(20, 5, "t"), 90_000), 9, Mode::Write, 70));
    let other = Look::of(vec![reads(client(never), 99), server("x-mcp", never)]);
    let mut named = look("mcp", never, never);
    for s in [&mut named.before, &mut named.after] {
        s.tree.get_mut(&12).unwrap().args = vec!["mcp".into()];
    }
    expect![[r#"
        each other: Hung mutual-wait X2 (Certain, closed in, parts [12]): host (11) waits for an answer of its tool server, x-mcp (12), and x-mcp (12) waits for a request: they wait for each other | kill 12; next time, a limit on calls | both are in a read without a time limit on a pipe that only the other one writes to
        by another name: Hung mutual-wait X2 (Certain, closed in, parts [12]): host (11) waits for an answer of its tool server, mcp (12), and mcp (12) waits for a request: they wait for each other | kill 12; next time, a limit on calls | both are in a read without a time limit on a pipe that only the other one writes to
        no tool server: Hung mutual-wait X2 (Certain, closed in, parts [12]): host (11) waits for an answer of x (12), and x (12) waits for a request: they wait for each other | kill 12; next time, a limit on calls | both are in a read without a time limit on a pipe that only the other one writes to
        the agent has a limit: Waiting helper - (Likely): x-mcp (12) waits for requests of host (11) | a request
        the server has a limit: Waiting helper - (Likely): x-mcp (12) waits for requests of host (11) | a request
        it woke up: Waiting helper - (Likely): x-mcp (12) waits for requests of host (11) | a request
        another could write too: Waiting pipeline - (Likely): x-mcp (12) waits for what t (20) writes | the end of what it reads | that goes on: a timer of its own (at most 1m30s)
        the agent waits for something else too: Waiting helper - (Likely): x-mcp (12) waits for requests of host (11) | a request
    "#]].assert_eq(&all_answers(vec![
        ("each other", look("x-mcp", never, never)),
        ("by another name", named),
        ("no tool server", look("x", never, never)),
        ("the agent has a limit", look("x-mcp", TimeLimit::LeftMs(9), never)),
        ("the server has a limit", look("x-mcp", never, TimeLimit::LeftMs(9))),
        ("it woke up", look_woke),
        ("another could write too", third),
        ("the agent waits for something else too", other),
    ]));
}

#[test]
fn an_editor_that_reads_its_own_standard_error_never_ends() {
    let look = |name: &str, what: &Object, mode, output: &Object| {
        let all = has(has(process(11, 10, name), 0, mode, what.clone()), 1, Mode::Write, output.clone());
        Look::of(vec![reads(has(all, 2, mode, what.clone()), 0)]).socket(unix(80, 81)).socket(unix(81, 80))
    };
    let (one, other) = (Object::Pipe { inode: 70 }, Object::Pipe { inode: 71 });
    let pair = Object::Socket { inode: 80 };
    let mut apart = look("vim", &one, Mode::Write, &other);
    for s in [&mut apart.before, &mut apart.after] {
        s.tree.get_mut(&11).unwrap().fds[2].what = Object::Pipe { inode: 72 };
    }
    expect![[r#"
        a pipe that it may only write: Hung editor-on-stderr B4 (Likely): git (11) had no terminal and reads its own standard error as if it were one: nothing can come there | kill 11; next time, set GIT_EDITOR=true (or false to refuse), or give it no editor to start | descriptors 0 and 2 are the same pipe, and it waits for input there
        a pipe both ways: Hung stdin-open S1 (Likely, closed in): git (11) waits for its standard input, which only it holds open itself: it would never see an end | kill 11 | read, and nobody else has the other end
        an editor: Hung editor-on-stderr B4 (Certain, closed in): vim (11) had no terminal and reads its own standard error as if it were one: nothing can come there | kill 11; next time, set GIT_EDITOR=true (or false to refuse), or give it no editor to start | descriptors 0 and 2 are the same pipe, and it waits for input there
        a socket: Hung editor-on-stderr B4 (Likely): git (11) had no terminal and reads its own standard error as if it were one: nothing can come there | kill 11; next time, set GIT_EDITOR=true (or false to refuse), or give it no editor to start | descriptors 0 and 2 are the same pipe, and it waits for input there
        a socket as all three: Waiting stdin-open S1 (Likely): git (11) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        apart: Hung stdin-open S1 (Likely): vim (11) waits for its standard input, which only it holds open itself: it would never see an end | kill 11 | read, and nobody else has the other end
    "#]].assert_eq(&all_answers(vec![
        ("a pipe that it may only write", look("git", &one, Mode::Write, &other)),
        ("a pipe both ways", look("git", &one, Mode::Both, &other)),
        ("an editor", look("vim", &one, Mode::Both, &other)),
        ("a socket", look("git", &pair, Mode::Both, &other)),
        ("a socket as all three", look("git", &pair, Mode::Both, &pair)),
        ("apart", apart),
    ]));
}

#[test]
fn what_is_put_back_into_a_shared_pipe_is_owed_by_nobody() {
    let both = |process: Process| pipe(pipe(process, 3, Mode::Read, 75), 4, Mode::Write, 75);
    let make = |pid, ppid| {
        let mut make = watches(both(process(pid, ppid, "make")), &[3], TimeLimit::Never);
        make.signals.caught = 1 << (libc::SIGCHLD - 1);
        make
    };
    let top = || awaits(both(process(11, 10, "make")));
    let job = |parent| sleeps(process(parent + 10, parent, "cc1"), 9_000);
    let at_work = Look::of(vec![top(), make(12, 11), make(13, 11), job(12), job(13)]);
    let idle = Look::of(vec![top(), make(12, 11), make(13, 11), job(13)]);
    let blocked = |mut process: Process| {
        process.signals.blocked = process.signals.caught;
        process
    };
    let deaf = Look::of(vec![top(), blocked(make(12, 11)), job(12)]);
    expect![[r#"
        jobs run: Waiting sleep - (Likely): cc1 (22) sleeps (9s) | time
        one waits for a token: Waiting sleep - (Likely): cc1 (23) sleeps (9s) | time
    "#]]
    .assert_eq(&all_answers(vec![("jobs run", at_work), ("one waits for a token", idle)]));
    assert!(Look::of(vec![top(), make(12, 11), make(13, 11)]).graph().is_closed_in(12), "nobody has a job");
    assert!(deaf.graph().is_closed_in(12), "it does not hear of its child's end");
}

/// The stdin that a command has from its script is the caller's if only processes above the script hold its other end.
#[test]
fn a_command_that_reads_the_stdin_of_the_whole_run_waits_for_its_caller() {
    let script = || awaits(pipe(process(10, 900, "bash"), 0, Mode::Read, 70));
    let cat = |inode| reads(pipe(process(11, 10, "cat"), 0, Mode::Read, inode), 0);
    let holds = |pid, ppid| pipe(awaits(process(pid, ppid, "runner")), 7, Mode::Write, 70);
    let look = |others: Vec<Process>, cat| {
        others.into_iter().fold(Look::of(vec![script(), cat]).beside(awaits(process(900, 4, "rehang"))), Look::beside)
    };
    let is = |look: Look| {
        let found = look.diagnosis();
        format!("{:?} {} {}", found.verdict, found.signature, found.is_at_callers_stdin)
    };
    let rows = [
        ("who is above holds it", is(look(vec![holds(4, 1)], cat(70)))),
        ("who is beside holds it too", is(look(vec![holds(4, 1), holds(6, 4)], cat(70)))),
        (
            "a child of who is above has just been forked",
            is(look(vec![holds(4, 1)], cat(70)).later(|s| {
                s.around.insert(6, holds(6, 4));
            })),
        ),
        ("it has another stdin", is(look(vec![holds(4, 1), pipe(process(12, 10, "x"), 8, Mode::Write, 71)], cat(71)))),
    ];
    expect![[r#"
        who is above holds it: Hung stdin-open true
        who is beside holds it too: Hung stdin-open false
        a child of who is above has just been forked: Hung stdin-open true
        it has another stdin: Waiting pipeline false
    "#]]
    .assert_eq(&super::rows(rows));
}
