//! What somebody who is not in sight may bring: by a FIFO with a name, a signal, an io_uring, memory, a timer; and readers
//! that do something else first.

use super::*;

fn spinning(more: impl Fn(Process) -> Process, io: Io) -> Look {
    let thread = Thread { tid: 11, state: State::Running, call_read: true, ..Thread::default() };
    let process = Process { state: State::Running, threads: vec![thread], ..process(11, 10, "x") };
    moves(spends(Look::of(vec![more(process)]), 11, 90), 11, io)
}

fn caught(process: Process, signal: i32) -> Process {
    let signals = Signals { caught: 1 << (signal - 1), ..process.signals };
    Process { signals, ..process }
}

#[test]
fn what_spins_at_an_end_hangs_and_what_polls_may_go_on() {
    let (reads, writes) = (Io { reads: 500, ..Io::default() }, Io { writes: 500, ..Io::default() });
    let dead = |process| pipe(process, 0, Mode::Read, 70);
    let null = |process| has(process, 0, Mode::Read, Object::Null);
    let own = |process| pipe(pipe(process, 3, Mode::Read, 71), 4, Mode::Write, 71);
    let file = |at_end| Object::File { path: "/log".into(), inode: 7, device: (8, 1), offset: 5, at_end };
    let log = |at_end| move |process| has(null(process), 3, Mode::Read, file(at_end));
    let timer = |left_ms| move |process| has(null(process), 3, Mode::Both, Object::Timer { left_ms });
    expect![[r#"
        a pipe without a writer: Hung eof-spin H2 (Likely): x (11) spins: 500 read calls in 1s that moved not one byte | kill 11 | 90 % of a core
        that and a file at its end: Hung eof-spin H2 (Likely): x (11) spins: 500 read calls in 1s that moved not one byte | kill 11 | 90 % of a core
        nothing but /dev/null: Hung eof-spin H2 (Likely): x (11) spins: 500 read calls in 1s that moved not one byte | kill 11 | 90 % of a core
        a file at its end: Waiting eof-spin H2 (Likely, hung in 1h4m): x (11) spins: 500 read calls in 1s that moved not one byte; that may change yet at descriptor 3 | something that it reads | 90 % of a core
        a file that goes on: Hung eof-spin H2 (Likely): x (11) spins: 500 read calls in 1s that moved not one byte | kill 11 | 90 % of a core
        a timer: Waiting eof-spin H2 (Likely, hung in 1h4m): x (11) spins: 500 read calls in 1s that moved not one byte; that may change yet at descriptor 3 | something that it reads | 90 % of a core
        a timer that is off: Hung eof-spin H2 (Likely): x (11) spins: 500 read calls in 1s that moved not one byte | kill 11 | 90 % of a core
        a pipe of its own: Waiting eof-spin H2 (Likely, hung in 1h4m): x (11) spins: 500 read calls in 1s that moved not one byte; that may change yet at descriptor 3 | something that it reads | 90 % of a core
        writes to a pipe without a reader: Hung eof-spin H2 (Likely): x (11) spins: 500 write calls in 1s that moved not one byte | kill 11 | 90 % of a core
        writes to a full pipe of its own: Waiting eof-spin H2 (Likely, hung in 1h4m): x (11) spins: 500 write calls in 1s that moved not one byte; that may change yet at descriptor 4 | its reader takes something | 90 % of a core
    "#]]
    .assert_eq(&all_answers(vec![
        ("a pipe without a writer", spinning(dead, reads)),
        ("that and a file at its end", spinning(|process| has(dead(process), 3, Mode::Read, file(true)), reads)),
        ("nothing but /dev/null", spinning(null, reads)),
        ("a file at its end", spinning(log(true), reads)),
        ("a file that goes on", spinning(log(false), reads)),
        ("a timer", spinning(timer(Some(9_000)), reads)),
        ("a timer that is off", spinning(timer(None), reads)),
        ("a pipe of its own", spinning(own, reads)),
        ("writes to a pipe without a reader", spinning(|process| pipe(process, 1, Mode::Write, 70), writes)),
        ("writes to a full pipe of its own", spinning(own, writes)),
    ]));
}

/// Two processes, each of which reads what the other would write.
fn each_reads(change: impl Fn(&mut [Process; 2])) -> Look {
    let one = pipe(pipe(reads(process(11, 10, "one"), 3), 3, Mode::Read, 70), 4, Mode::Write, 71);
    let other = pipe(pipe(reads(process(12, 10, "other"), 3), 3, Mode::Read, 71), 4, Mode::Write, 70);
    let mut both = [one, other];
    change(&mut both);
    Look::of(vec![awaits(process(10, 1, "sh")), both[0].clone(), both[1].clone()])
}

#[test]
fn a_circle_is_open_to_those_who_may_wake_one_of_its_members() {
    let named = |both: &mut [Process; 2]| {
        for (process, fd) in [(0, 3), (1, 4)] {
            let fd = both[process].fds.iter_mut().find(|one| one.fd == fd).expect("it has it");
            fd.what = Object::Fifo { inode: 70, path: "/in".into() };
        }
    };
    let told = |signal: i32| move |both: &mut [Process; 2]| both[1] = caught(both[1].clone(), signal);
    let ring = |both: &mut [Process; 2]| both[1] = has(both[1].clone(), 9, Mode::Both, Object::Uring);
    expect![[r#"
        nobody else: Hung mutual-wait C6 (Certain, closed in): one (11) and other (12) wait for each other: each reads what the other would write | one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it
        a FIFO with a name: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a process that opens /in | a process that opens /in; or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a process that opens /in
        a signal that one handles: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a signal to other (12), which handles it | a signal to other (12), which handles it; or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a signal to other (12), which handles it
        a signal that ends it: Hung mutual-wait C6 (Certain, closed in): one (11) and other (12) wait for each other: each reads what the other would write | one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it
        an io_uring: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a request in the io_uring of other (12) | a request in the io_uring of other (12); or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a request in the io_uring of other (12)
    "#]].assert_eq(&all_answers(vec![
        ("nobody else", each_reads(|_| {})),
        ("a FIFO with a name", each_reads(named)),
        ("a signal that one handles", each_reads(told(libc::SIGUSR2))),
        ("a signal that ends it", each_reads(told(libc::SIGTERM))),
        ("an io_uring", each_reads(ring)),
    ]));
}

#[test]
fn what_others_may_bring_to_one_that_waits_alone() {
    let own = || pipe(pipe(reads(process(11, 10, "own"), 3), 3, Mode::Read, 70), 4, Mode::Write, 70);
    let locked = || calls(process(11, 10, "x"), "futex", Does::Futex, TimeLimit::Never);
    let timer = || has(reads(process(11, 10, "x"), 3), 3, Mode::Both, Object::Timer { left_ms: None });
    let fifo = |path: &str| Object::Fifo { inode: 70, path: path.into() };
    let keeper = |path: &str| has(sleeps(process(11, 10, "sleep"), u64::MAX), 1, Mode::Write, fifo(path));
    let paused = || calls(process(11, 10, "sleep"), "pause", Does::Signal, TimeLimit::Never);
    let reader = |path: &str| has(reads(process(12, 9, "sed"), 3), 3, Mode::Read, fifo(path));
    expect![[r#"
        a pipe of its own: Hung own-pipe - (Likely, closed in): own (11) reads descriptor 3, to which nobody but itself could write | kill 11 | it holds the only other end, and none of its threads does anything else: the process that was to write has ended, or never began
        and an io_uring: Waiting own-pipe - (Likely, hung in 1h5m): own (11) reads descriptor 3, to which nobody but itself could write; it may end by a request in its io_uring | a request in its io_uring; or kill 11 | it holds the only other end, and none of its threads does anything else: the process that was to write has ended, or never began; it may end by a request in its io_uring
        threads that wait for each other: Hung thread-deadlock - (Likely, closed in): x (11) is deadlocked: its only thread waits for another one, which is not there | kill 11 | all threads are in futex waits without a time limit, on memory that is this process's alone
        and another process with their memory: Unknown unknown - (Guess): x (11) waits inside itself: a process that has the same memory may wake it (77) | one that has its memory goes on
        a timer that is off: Unknown unknown - (Guess): x (11) waits, and what for cannot be seen
        who keeps a FIFO open: Waiting sleep - (Likely): sleep (11) sleeps without an end, and keeps the FIFO /in open | a line written to /in
        who is paused: Waiting sleep - (Likely): sleep (11) sleeps without an end, and keeps the FIFO /in open | a line written to /in
        a FIFO that nobody reads: Waiting never-ends B5 (Likely): sleep (11) sleeps without an end | kill 11 | its time limit is none
        one without a name: Waiting never-ends B5 (Likely): sleep (11) sleeps without an end | kill 11 | its time limit is none
    "#]].assert_eq(&all_answers(vec![
        ("a pipe of its own", Look::of(vec![own()])),
        ("and an io_uring", Look::of(vec![has(own(), 9, Mode::Both, Object::Uring)])),
        ("threads that wait for each other", Look::of(vec![locked()])),
        ("and another process with their memory", Look::of(vec![Process { same_memory: vec![77], ..locked() }])),
        ("a timer that is off", Look::of(vec![timer()])),
        ("who keeps a FIFO open", Look::of(vec![keeper("/in")]).beside(reader("/in"))),
        (
            "who is paused",
            Look::of(vec![has(paused(), 1, Mode::Write, fifo("/in"))]).beside(reader("/in")),
        ),
        ("a FIFO that nobody reads", Look::of(vec![keeper("/in")])),
        ("one without a name", Look::of(vec![keeper("/in (deleted)")]).beside(reader("/in (deleted)"))),
    ]));
}

#[test]
fn a_reader_that_does_something_else_first_may_read_then() {
    let full = |reader: Process, more: Vec<Process>| {
        let writer = pipe(writes(process(12, 10, "seq"), 1), 1, Mode::Write, 70);
        let reader = pipe(reader, 0, Mode::Read, 70);
        Look::of([vec![awaits(process(10, 1, "sh")), writer, reader], more].concat())
    };
    let reader = || awaits(process(13, 10, "bash"));
    let child = || sleeps(process(14, 13, "x"), 9_000);
    let computes =
        |look: Look, pid| moves(spends(look, pid, 90), pid, Io { writes: 1, written_bytes: 9, ..Io::default() });
    let lock = |_: ()| calls(process(13, 10, "flock"), "flock", Does::Lock { fd: 5 }, TimeLimit::Never);
    let unseen = Process { has_unseen: true, ..reader() };
    expect![[r#"
        it waits for nothing of that kind: Hung stdout-undrained C6 (Likely, closed in): seq (12) cannot write to its standard output: the pipe is full, and bash (13) does not read it | bash (13) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 12 | 12 has been in write throughout, and bash (13) did not read
        a child of it computes: Working working - (Certain): x (14) works: 90 % of a core | nothing needs to: it works
        a child of it sleeps: Waiting stdout-undrained C6 (Likely, hung in 1h4m): seq (12) cannot write to its standard output: the pipe is full, and bash (13) does not read it | bash (13) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 12 | x (14) sleeps (9s), and may read then
        a child of it hangs: Hung stdout-undrained C6 (Likely): seq (12) cannot write to its standard output: the pipe is full, and bash (13) does not read it | bash (13) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 12 | 12 has been in write throughout, and bash (13) did not read
        it computes: Working working - (Certain): bash (13) works: 90 % of a core | nothing needs to: it works
        its child is out of sight: Waiting stdout-undrained C6 (Likely, hung in 1h4m): seq (12) cannot write to its standard output: the pipe is full, and bash (13) does not read it | bash (13) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 12 | bash (13) waits for a child that is not in sight, and may read then
        it waits for a lock: Hung stdout-undrained C6 (Likely): seq (12) cannot write to its standard output: the pipe is full, and flock (13) does not read it | flock (13) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 12 | 12 has been in write throughout, and flock (13) did not read
    "#]].assert_eq(&all_answers(vec![
        ("it waits for nothing of that kind", full(locked_reader(), vec![])),
        ("a child of it computes", computes(full(reader(), vec![child()]), 14)),
        ("a child of it sleeps", full(reader(), vec![child()])),
        ("a child of it hangs", full(reader(), vec![reads(process(14, 13, "cat"), 0)])),
        ("it computes", computes(full(reader(), vec![]), 13)),
        ("its child is out of sight", full(unseen, vec![])),
        ("it waits for a lock", full(file(lock(()), 5, "/x", 7), vec![])),
    ]));
}

fn locked_reader() -> Process {
    calls(process(13, 10, "bash"), "futex", Does::Futex, TimeLimit::Never)
}

#[test]
fn a_child_that_has_ended_says_nothing_of_a_wait_for_others() {
    let zombie = || Process { state: State::Zombie, args: vec![], ..process(12, 11, "true") };
    let beside = |waiter: Process| Look::of(vec![waiter, zombie()]);
    let fifo = has(reads(process(11, 10, "x"), 3), 3, Mode::Both, Object::Fifo { inode: 70, path: "/f".into() });
    let paused = || calls(process(11, 10, "x"), "pause", Does::Signal, TimeLimit::Never);
    let sigwait = || calls(process(11, 10, "x"), "rt_sigtimedwait", Does::Signal, TimeLimit::Never);
    let blocked = |process: Process| {
        let signals = Signals { blocked: 1 << (libc::SIGCHLD - 1), ..process.signals };
        Process { signals, ..process }
    };
    let words = |look: Look| format!("{:?} {}", look.diagnosis().verdict, look.diagnosis().signature);
    expect![[r#"
        a FIFO: Waiting pipe-read
        a signal of others: Unknown signal-wait
        a child's signal: Hung unreaped
        signals that are waited for: Unknown signal-wait
        a child's signal that is waited for: Hung unreaped
    "#]]
    .assert_eq(&rows([
        ("a FIFO", words(beside(fifo))),
        ("a signal of others", words(beside(caught(paused(), libc::SIGUSR2)))),
        ("a child's signal", words(beside(caught(paused(), libc::SIGCHLD)))),
        ("signals that are waited for", words(beside(sigwait()))),
        ("a child's signal that is waited for", words(beside(blocked(sigwait())))),
    ]));
}

#[test]
fn the_ends_of_its_children_are_waited_for_by_a_descriptor() {
    let waits = |children: Vec<Process>| {
        let poll = watches(has(process(11, 10, "bwrap"), 3, Mode::Both, Object::Children), &[3], TimeLimit::Never);
        Look::of([vec![poll], children].concat()).shape()
    };
    expect![[r#"
        one lives: bwrap (11) → x (12): child; x (12) → what may not be read: unknown
        none lives: bwrap (11) → a process that sends it a signal: signal
    "#]]
    .assert_eq(&rows([("one lives", waits(vec![reads(process(12, 11, "x"), 0)])), ("none lives", waits(vec![]))]));
}
