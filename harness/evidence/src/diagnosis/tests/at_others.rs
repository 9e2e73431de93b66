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
    let ring = |both: &mut [Process; 2]| both[1] = has(both[1].clone(), 9, Mode::Both, Object::Uring { files: 0 });
    expect![[r#"
        nobody else: Hung mutual-wait C6 (Certain, closed in): one (11) and other (12) wait for each other: each reads what the other would write | one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it
        a FIFO with a name: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a process that opens /in | a process that opens /in; or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a process that opens /in
        a signal that one handles: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a signal to other (12), which handles it | a signal to other (12), which handles it; or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a signal to other (12), which handles it
        a signal that ends it: Hung mutual-wait C6 (Certain, closed in): one (11) and other (12) wait for each other: each reads what the other would write | one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it
        an io_uring: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a request in the io_uring of other (12) | a request in the io_uring of other (12); or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a request in the io_uring of other (12)
        an urgent byte that one handles: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a signal to other (12), which handles it | a signal to other (12), which handles it; or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a signal to other (12), which handles it
        a terminal's size that one handles: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a signal to other (12), which handles it | a signal to other (12), which handles it; or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a signal to other (12), which handles it
        a script's own end: Waiting mutual-wait C6 (Likely, hung in 1h4m): one (11) and other (12) wait for each other: each reads what the other would write; it may end by a signal to other (12), which handles it | a signal to other (12), which handles it; or one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it; it may end by a signal to other (12), which handles it
    "#]].assert_eq(&all_answers(vec![
        ("nobody else", each_reads(|_| {})),
        ("a FIFO with a name", each_reads(named)),
        ("a signal that one handles", each_reads(told(libc::SIGUSR2))),
        ("a signal that ends it", each_reads(told(libc::SIGTERM))),
        ("an io_uring", each_reads(ring)),
        ("an urgent byte that one handles", each_reads(told(libc::SIGURG))),
        ("a terminal's size that one handles", each_reads(told(libc::SIGWINCH))),
        ("a script's own end", each_reads(|both| both[1] = started(caught(both[1].clone(), libc::SIGTERM), &["bash", "x"]))),
    ]));
}

/// Who came from somewhere that cannot be seen may have left an end of its pipes there.
#[test]
fn what_others_may_hold_where_not_all_are_in_sight() {
    let orphans = |reader: Reader| {
        let orphan = |process: Process| Process { ppid: 1, ..process };
        let look = each_reads(|both| *both = both.clone().map(orphan));
        look.both(move |s| {
            s.roots = vec![11, 12];
            s.tree.remove(&10);
            s.reader = Reader { pid: 900, ..reader.clone() };
        })
    };
    let seen_by = |uid, in_namespace| Reader { uid, in_namespace, ..Reader::default() };
    let children = each_reads(|_| {}).both(|s| s.reader.uid = 1000);
    expect![[r#"
        root: Hung mutual-wait C6 (Certain, closed in): other (12) and one (11) wait for each other: each reads what the other would write | one of them closes its end or ends: kill 12 | neither call has a time limit, and only the other process can end it
        root in a container: Waiting mutual-wait C6 (Likely, hung in 1h4m): other (12) and one (11) wait for each other: each reads what the other would write; it may end by a process outside of this pid namespace, which may hold the other end | a process outside of this pid namespace, which may hold the other end; or one of them closes its end or ends: kill 12 | neither call has a time limit, and only the other process can end it; it may end by a process outside of this pid namespace, which may hold the other end
        another user: Waiting mutual-wait C6 (Likely, hung in 1h4m): other (12) and one (11) wait for each other: each reads what the other would write; it may end by a process of another user, which may hold the other end | a process of another user, which may hold the other end; or one of them closes its end or ends: kill 12 | neither call has a time limit, and only the other process can end it; it may end by a process of another user, which may hold the other end
        another user, of whom the starter is in sight: Hung mutual-wait C6 (Certain, closed in): one (11) and other (12) wait for each other: each reads what the other would write | one of them closes its end or ends: kill 11 | neither call has a time limit, and only the other process can end it
    "#]].assert_eq(&all_answers(vec![
        ("root", orphans(seen_by(0, false))),
        ("root in a container", orphans(seen_by(0, true))),
        ("another user", orphans(seen_by(1000, false))),
        ("another user, of whom the starter is in sight", children),
    ]));
}

#[test]
fn what_is_beside_a_wait_is_not_waited_for() {
    let agent = |more: Vec<Process>| {
        let agent = pipe(started(process(10, 1, "claude"), &["claude", "-p", "x"]), 20, Mode::Read, 70);
        let tool = pipe(awaits(process(11, 10, "bash")), 1, Mode::Write, 70);
        Look::of([vec![watches(agent, &[20], TimeLimit::Never), tool], more].concat())
    };
    let shows = || pipe(started(sleeps(process(12, 11, "tail"), 1_000), &["tail", "-f", "log"]), 1, Mode::Write, 70);
    let builds = |pid| pipe(sleeps(process(pid, 11, "sleep"), 90_000), 1, Mode::Write, 70);
    let paused = |pid, ppid| calls(process(pid, ppid, "sleep"), "pause", Does::Signal, TimeLimit::Never);
    let asks = |pid| socket(reads(process(pid, 10, "python3"), 5), 5, 80);
    let asked = |since_sent_ms| {
        let traffic = Traffic { since_sent_ms, since_received_ms: 90_000, sent_bytes: 400, ..Traffic::default() };
        Socket { traffic: Some(traffic), ..connection(80, 0) }
    };
    let own = |process| pipe(pipe(reads(process, 3), 3, Mode::Read, 71), 4, Mode::Write, 71);
    let forgotten = |since_sent_ms| {
        let look = agent(vec![]).both(|s| {
            let agent = socket(s.tree[&10].clone(), 5, 80);
            s.tree.insert(10, watches(Process { threads: vec![], ..agent }, &[5, 20], TimeLimit::Never));
            s.tree.insert(11, own(pipe(process(11, 10, "job"), 1, Mode::Write, 70)));
        });
        look.socket(asked(since_sent_ms))
    };
    expect![[r#"
        a log is shown, and nothing else is done: Hung never-ends B5 (Likely, parts [12]): tail (12) follows a file and never ends by itself | kill 12 | it was started to follow
        a log is shown while a build sleeps: Waiting sleep - (Likely): sleep (13) sleeps (1m30s) | time
        who pauses beside a question: Waiting peer-wait - (Likely): python3 (11) waits for its peer at 93.184.216.34:443, which has not answered for 500ms | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        who is waited for: Waiting never-ends B5 (Likely): sleep (12) sleeps without an end | kill 12 | it waits for a signal and handles none: only one that ends it could wake it
        a job that an agent forgot, while its model thinks: Waiting peer-wait - (Likely): Claude Code (10) waits for the model at 93.184.216.34:443, which has not answered for 500ms | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        the same, and the model has been silent for an hour: Hung own-pipe - (Likely, parts [11]): job (11) reads descriptor 3, to which nobody but itself could write | kill 11 | it holds the only other end, and none of its threads does anything else: the process that was to write has ended, or never began
    "#]].assert_eq(&all_answers(vec![
        ("a log is shown, and nothing else is done", agent(vec![shows()])),
        ("a log is shown while a build sleeps", agent(vec![shows(), builds(13)])),
        ("who pauses beside a question", Look::of(vec![asks(11), paused(12, 11)]).socket(asked(500))),
        ("who is waited for", Look::of(vec![awaits(process(11, 10, "sh")), paused(12, 11)])),
        ("a job that an agent forgot, while its model thinks", forgotten(500)),
        ("the same, and the model has been silent for an hour", forgotten(3_600_000)),
    ]));
}

#[test]
fn a_lock_is_let_go_by_a_limit_further_on() {
    let wants =
        |process, fd, path, inode| calls(file(process, fd, path, inode), "flock", Does::Lock { fd }, TimeLimit::Never);
    let chain = |limit: Option<&[&str]>| {
        let last = wants(file(process(13, 12, "flock"), 3, "/a", 7), 4, "/b", 8);
        let above = awaits(started(process(12, 10, "sh"), limit.unwrap_or(&["sh", "job"])));
        let rest = [
            wants(process(11, 10, "flock"), 3, "/a", 7),
            above,
            last,
            reads(pipe(pipe(file(process(14, 10, "x"), 4, "/b", 8), 5, Mode::Read, 70), 6, Mode::Write, 70), 5),
        ];
        let held = |inode, pid, waits, id| Lock { id, inode, ..lock(pid, waits) };
        Look::of([vec![awaits(process(10, 1, "sh"))], rest.to_vec()].concat()).both(move |s| {
            s.locks = vec![held(7, 13, false, 1), held(7, 11, true, 1), held(8, 14, false, 2), held(8, 13, true, 2)];
        })
    };
    expect![[r#"
        no limit: Hung file-lock R2 (Likely, closed in): flock (11) waits for the lock on /a, which flock (13) holds | flock (13) lets it go or ends: kill 13 | /proc/locks names both; the holder: flock (13) waits for the lock on /b, which x (14) holds
        a limit of the holder's own wait: Waiting file-lock R2 (Likely, hung in 1h5m): flock (11) waits for the lock on /a, which flock (13) holds; it may end by flock (13), which sh 900 (12) may end (at most 14m) | flock (13), which sh 900 (12) may end (at most 14m); or flock (13) lets it go or ends: kill 13 | /proc/locks names both; the holder: flock (13) waits for the lock on /b, which x (14) holds; it may end by flock (13), which sh 900 (12) may end (at most 14m)
    "#]].assert_eq(&all_answers(vec![
        ("no limit", chain(None)),
        ("a limit of the holder's own wait", chain(Some(&["timeout", "900", "flock", "/b"]))),
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
        ("and an io_uring", Look::of(vec![has(own(), 9, Mode::Both, Object::Uring { files: 0 })])),
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
        it waits for a lock: Waiting file-lock R2 (Likely, hung in 1h4m): flock (13) waits for the lock on /x, which nobody in sight holds | the holder lets it go | flock has no time limit
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
