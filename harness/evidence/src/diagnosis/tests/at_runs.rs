//! What works, spins, sleeps, is stopped or has nothing to wait for, row by row.

use super::*;
use crate::diagnosis::waits::NO_END_MS;

fn running(name: &str) -> Process {
    let thread = Thread { tid: 11, state: State::Running, call_read: true, ..Thread::default() };
    Process { state: State::Running, threads: vec![thread], ..process(11, 10, name) }
}

fn io(reads: u64, read_bytes: u64, writes: u64, written_bytes: u64) -> Io {
    Io { read_bytes, written_bytes, reads, writes }
}

#[test]
fn work_begins_at_a_quarter_of_a_core_or_a_page_of_bytes() {
    let busy = |percent, counted| moves(spends(Look::of(vec![running("x")]), 11, percent), 11, counted);
    let orphan = |look: Look| look.both(|s| s.tree.get_mut(&11).unwrap().ppid = 1);
    let thread = |state| {
        let other = Thread { tid: 12, state, call_read: true, ..Thread::default() };
        let mut process = running("x");
        process.threads.push(other);
        moves(spends(Look::of(vec![process]), 11, 90), 11, Io::default())
    };
    let come = |percent| {
        let look = moves(spends(Look::of(vec![running("x")]), 11, percent), 11, Io::default());
        look.later(|s| drop(s.tree.insert(12, process(12, 11, "y"))))
    };
    let faults = busy(90, Io::default()).later(|s| s.tree.get_mut(&11).unwrap().faults += 1);
    expect![[r#"
        a quarter: Working working - (Certain): x (11) works: 25 % of a core | nothing needs to: it works
        less: Working working - (Guess): x (11) is ready to run and was given no processor
        reads of nothing: Hung eof-spin H2 (Likely): x (11) spins: 101 read calls in 1s that moved not one byte | kill 11 | 25 % of a core
        reads of a byte: Working working - (Certain): x (11) works: 25 % of a core | nothing needs to: it works
        few reads of nothing: Working working - (Certain): x (11) works: 25 % of a core | nothing needs to: it works
        writes of nothing: Hung eof-spin H2 (Likely): x (11) spins: 101 write calls in 1s that moved not one byte | kill 11 | 25 % of a core
        writes of a byte: Working working - (Certain): x (11) works: 25 % of a core | nothing needs to: it works
        reads of nothing beside writes: Hung eof-spin H2 (Likely): x (11) spins: 101 read calls in 1s that moved not one byte | kill 11 | 25 % of a core
        reads of nothing at rest: Working working - (Guess): x (11) is ready to run and was given no processor
        an orphan's reads of nothing: Hung eof-spin H2 (Likely): x (11) spins: 101 read calls in 1s that moved not one byte | kill 11 | 25 % of a core, and its parent is gone
        four fifths of a core: Working computing - (Likely): x (11) computes: 80 % of a core, no byte read or written, no memory touched anew | the end of what it computes | a loop without an end looks the same from outside: only whether it is at it much later tells
        almost: Working working - (Certain): x (11) works: 79 % of a core | nothing needs to: it works
        a read beside: Working working - (Certain): x (11) works: 80 % of a core | nothing needs to: it works
        a write beside: Working working - (Certain): x (11) works: 80 % of a core | nothing needs to: it works
        memory beside: Working working - (Certain): x (11) works: 90 % of a core | nothing needs to: it works
        a second thread that runs: Working working - (Certain): x (11) works: 90 % of a core | nothing needs to: it works
        a second thread that sleeps: Working computing - (Likely): x (11) computes: 90 % of a core, no byte read or written, no memory touched anew | the end of what it computes | a loop without an end looks the same from outside: only whether it is at it much later tells
        processes that come and go: Working working - (Certain): x (11) works: 90 % of a core | nothing needs to: it works
        processes that come and go, at rest: Working working - (Likely): x (11) works: processes below it come and go | nothing needs to: it works | a script that tries again and again, without an end, looks the same
        a page: Working working - (Certain): x (11) works: it moved 4096 bytes in 1s | nothing needs to: it works
        less than a page: Working working - (Guess): x (11) is ready to run and was given no processor
        a page in one call: Working working - (Guess): x (11) is ready to run and was given no processor
        a page in two writes: Working working - (Certain): x (11) works: it moved 4096 bytes in 1s | nothing needs to: it works
    "#]].assert_eq(&all_answers(vec![
        ("a quarter", busy(25, Io::default())),
        ("less", busy(24, Io::default())),
        ("reads of nothing", busy(25, io(101, 0, 0, 0))),
        ("reads of a byte", busy(25, io(101, 1, 0, 0))),
        ("few reads of nothing", busy(25, io(100, 0, 0, 0))),
        ("writes of nothing", busy(25, io(0, 0, 101, 0))),
        ("writes of a byte", busy(25, io(0, 0, 101, 1))),
        ("reads of nothing beside writes", busy(25, io(101, 0, 200, 1))),
        ("reads of nothing at rest", busy(24, io(101, 0, 0, 0))),
        ("an orphan's reads of nothing", orphan(busy(25, io(101, 0, 0, 0)))),
        ("four fifths of a core", busy(80, Io::default())),
        ("almost", busy(79, Io::default())),
        ("a read beside", busy(80, io(1, 1, 0, 0))),
        ("a write beside", busy(80, io(0, 0, 1, 1))),
        ("memory beside", faults),
        ("a second thread that runs", thread(State::Running)),
        ("a second thread that sleeps", thread(State::Sleeping)),
        ("processes that come and go", come(90)),
        ("processes that come and go, at rest", come(0)),
        ("a page", busy(0, io(1, 4_000, 1, 96))),
        ("less than a page", busy(0, io(1, 4_000, 1, 95))),
        ("a page in one call", busy(0, io(1, 4_096, 0, 0))),
        ("a page in two writes", busy(0, io(0, 0, 2, 4_096))),
    ]));
}

#[test]
fn a_device_is_waited_for_if_it_was_at_both_looks() {
    let look = |before, after| {
        let sleeps = Process { state: after, ..sleeps(process(11, 10, "x"), 5) };
        let mut look = Look::of(vec![sleeps]);
        look.before.tree.get_mut(&11).unwrap().state = before;
        look
    };
    let mut new = look(State::Disk, State::Disk);
    new.before.tree.clear();
    new.before.tree.insert(12, process(12, 11, "y"));
    expect![[r#"
        both: Waiting disk - (Likely): x (11) waits for a disk or a network file system | the device's answer
        the later one: Waiting sleep - (Likely): x (11) sleeps (5ms) | time
        the earlier one: Waiting sleep - (Likely): x (11) sleeps (5ms) | time
        neither: Waiting sleep - (Likely): x (11) sleeps (5ms) | time
        it is new: Waiting disk - (Likely): x (11) waits for a disk or a network file system | the device's answer
    "#]]
    .assert_eq(&all_answers(vec![
        ("both", look(State::Disk, State::Disk)),
        ("the later one", look(State::Sleeping, State::Disk)),
        ("the earlier one", look(State::Disk, State::Sleeping)),
        ("neither", look(State::Sleeping, State::Sleeping)),
        ("it is new", new),
    ]));
}

#[test]
fn an_agent_or_its_helper_that_only_computes_spins_once_its_starter_is_gone() {
    let look = |name: &str, ppid, parent_name: &str| {
        let process = Process { ppid, parent_name: parent_name.into(), ..running(name) };
        moves(spends(Look::of(vec![process]), 11, 90), 11, Io::default())
    };
    expect![[r#"
        an agent: Hung cpu-spin H2 (Guess): Claude Code (11) spins, and the process that started it is gone: 90 % of a core, no byte read or written, no memory touched anew | kill 11 | an agent reads and writes; a pure computation looks the same
        a helper: Hung cpu-spin H2 (Guess): x-mcp (11) spins, and the process that started it is gone: 90 % of a core, no byte read or written, no memory touched anew | kill 11 | an agent reads and writes; a pure computation looks the same
        another program: Working computing - (Likely): x (11) computes: 90 % of a core, no byte read or written, no memory touched anew | the end of what it computes | a loop without an end looks the same from outside: only whether it is at it much later tells
        an agent with its starter: Working computing - (Likely): Claude Code (11) computes: 90 % of a core, no byte read or written, no memory touched anew | the end of what it computes | a loop without an end looks the same from outside: only whether it is at it much later tells
        an agent whose starter cannot be seen: Hung cpu-spin H2 (Guess): Claude Code (11) spins, and the process that started it is gone: 90 % of a core, no byte read or written, no memory touched anew | kill 11 | an agent reads and writes; a pure computation looks the same
        an agent adopted by a session's systemd: Hung cpu-spin H2 (Guess): Claude Code (11) spins, and the process that started it is gone: 90 % of a core, no byte read or written, no memory touched anew | kill 11 | an agent reads and writes; a pure computation looks the same
    "#]].assert_eq(&all_answers(vec![
        ("an agent", look("claude", 1, "init")),
        ("a helper", look("x-mcp", 1, "init")),
        ("another program", look("x", 1, "init")),
        ("an agent with its starter", look("claude", 2, "bash")),
        ("an agent whose starter cannot be seen", look("claude", 0, "")),
        ("an agent adopted by a session's systemd", look("claude", 900, "systemd")),
    ]));
}

#[test]
fn a_sleep_ends_unless_it_is_a_year_or_follows_a_file() {
    let sleeps = |call: &str, limit| Look::of(vec![calls(process(11, 10, "x"), call, Does::Sleep, limit)]);
    let tail = |comm: &str, args: &[&str]| Look::of(vec![started(super::sleeps(process(11, 10, comm), 900), args)]);
    let tail_polls =
        |args: &[&str]| Look::of(vec![started(watches(process(11, 10, "tail"), &[9, 9], TimeLimit::Never), args)]);
    let again = |switches| {
        sleeps("nanosleep", TimeLimit::LeftMs(5))
            .later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += switches)
    };
    expect![[r#"
        a year: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | its time limit is none
        less: Waiting sleep - (Likely): x (11) sleeps (364d23h) | time
        a year as it was given: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | its time limit is none
        less as it was given: Waiting sleep - (Likely): x (11) sleeps (at most 364d23h) | time
        no span: Waiting sleep - (Likely): x (11) sleeps | time
        no moment: Waiting sleep - (Likely): x (11) sleeps | time
        a poll of nothing: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | its time limit is none
        unknown: Waiting sleep - (Likely): x (11) sleeps | time
        once more: Waiting polling - (Likely): x (11) polls: it looks again about every 1s | what it looks for
        twice more: Waiting polling - (Likely): x (11) polls: it looks again about every 500ms | what it looks for
        more often than once a millisecond: Waiting polling - (Likely): x (11) polls: it looks again about every 1ms | what it looks for
        tail -f: Waiting never-ends B5 (Likely): tail (11) follows a file and never ends by itself | kill 11 | it was started to follow
        tail -F: Waiting never-ends B5 (Likely): tail (11) follows a file and never ends by itself | kill 11 | it was started to follow
        tail --follow: Waiting never-ends B5 (Likely): tail (11) follows a file and never ends by itself | kill 11 | it was started to follow
        tail --follow=name: Waiting never-ends B5 (Likely): tail (11) follows a file and never ends by itself | kill 11 | it was started to follow
        tail -n: Waiting sleep - (Likely): tail (11) sleeps (900ms) | time
        another program: Waiting sleep - (Likely): grep (11) sleeps (900ms) | time
        its own name is no flag: Waiting sleep - (Likely): tail (11) sleeps (900ms) | time
        a tail that watches: Waiting never-ends B5 (Likely): tail (11) follows a file and never ends by itself | kill 11 | it was started to follow
    "#]].assert_eq(&all_answers(vec![
        ("a year", sleeps("nanosleep", TimeLimit::LeftMs(NO_END_MS))),
        ("less", sleeps("nanosleep", TimeLimit::LeftMs(NO_END_MS - 1))),
        ("a year as it was given", sleeps("nanosleep", TimeLimit::GivenMs(NO_END_MS))),
        ("less as it was given", sleeps("nanosleep", TimeLimit::GivenMs(NO_END_MS - 1))),
        ("no span", sleeps("nanosleep", TimeLimit::Never)),
        ("no moment", sleeps("clock_nanosleep", TimeLimit::Never)),
        ("a poll of nothing", sleeps("poll", TimeLimit::Never)),
        ("unknown", sleeps("nanosleep", TimeLimit::Unknown)),
        ("once more", again(1)),
        ("twice more", again(2)),
        ("more often than once a millisecond", again(2_000)),
        ("tail -f", tail("tail", &["tail", "-f"])),
        ("tail -F", tail("tail", &["tail", "-F"])),
        ("tail --follow", tail("tail", &["tail", "--follow"])),
        ("tail --follow=name", tail("tail", &["tail", "--follow=name"])),
        ("tail -n", tail("tail", &["tail", "-n"])),
        ("another program", tail("grep", &["grep", "-f"])),
        ("its own name is no flag", tail("tail", &["-f"])),
        ("a tail that watches", tail_polls(&["tail", "-f"])),
    ]));
}

#[test]
fn threads_that_wait_for_nothing_but_each_other() {
    let one = || process(11, 10, "x");
    let futex = |process: Process, limit| calls(process, "futex", Does::Futex, limit);
    let look = |process: Process| Look::of(vec![process]);
    let shared = |mut process: Process| {
        process.threads[0].call.as_mut().unwrap().args = [0; 6];
        look(process)
    };
    let among = |others: Vec<i32>| {
        let process = futex(one(), TimeLimit::Never);
        shared(process).both(|s| s.tree.get_mut(&11).unwrap().shares_with = Some(others.clone()))
    };
    let handles = |signal: i32| {
        let signals = Signals { caught: 1 << (signal - 1), ..Signals::default() };
        look(Process { signals, ..futex(one(), TimeLimit::Never) })
    };
    let woke = look(futex(one(), TimeLimit::Never)).later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += 1);
    let awake = |state, switches, call_read, wchan: &str| {
        let thread = Thread { tid: 11, state, call_read, wchan: wchan.into(), ..Thread::default() };
        let look = look(Process { threads: vec![thread], ..one() });
        look.later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += switches)
    };
    expect![[r#"
        one thread: Hung thread-deadlock - (Likely, closed in): x (11) is deadlocked: its only thread waits for another one, which is not there | kill 11 | all threads are in futex waits without a time limit, on memory that is this process's alone
        two threads: Hung thread-deadlock - (Likely, closed in): x (11) is deadlocked: its threads wait for each other, and none waits for anything else | kill 11 | all threads are in futex waits without a time limit, on memory that is this process's alone
        one of them has a limit: Waiting timer - (Likely): x (11) waits inside itself, with a time limit | a timer of its own
        one of them shares its memory: Unknown unknown - (Guess): x (11) waits for memory that it shares with others, and who would wake it cannot be seen
        nobody is left who shares it: Hung thread-deadlock - (Likely, closed in): x (11) waits for a lock in shared memory, and no other process that has it is alive | kill 11 | the process that had the lock has ended; all its own threads are in futex waits without a time limit
        others share it: Unknown unknown - (Guess): x (11) waits for a lock in memory that it shares with a process that is gone (12) and a process that is gone (13) | a process that is gone (12) and a process that is gone (13) lets it go
        it woke up: Waiting timer - (Likely): x (11) waits inside itself, with a time limit | a timer of its own
        it handles TERM: Unknown unknown - (Guess): x (11) waits inside itself: its only thread waits for another one, which is not there, or for a signal that it handles | a signal that it handles, where it waits for one | all threads are in futex waits without a time limit, and it handles TERM: a server that sleeps until it is told to end looks the same as a deadlock
        it handles INT: Hung thread-deadlock - (Likely, closed in): x (11) is deadlocked: its only thread waits for another one, which is not there | kill 11 | all threads are in futex waits without a time limit, on memory that is this process's alone
        awake now and then: Waiting polling - (Guess): x (11) polls: it wakes up now and then, and was awake at both looks | what it looks for
        ready to run: Working working - (Guess): x (11) is ready to run and was given no processor
        hidden: Unknown unknown - (Guess): x (11) cannot be looked into
        its function can be seen: Working working - (Guess): x (11) is ready to run and was given no processor
    "#]].assert_eq(&all_answers(vec![
        ("one thread", look(futex(one(), TimeLimit::Never))),
        ("two threads", look(futex(futex(one(), TimeLimit::Never), TimeLimit::Never))),
        ("one of them has a limit", look(futex(futex(one(), TimeLimit::Never), TimeLimit::LeftMs(5)))),
        ("one of them shares its memory", shared(futex(futex(one(), TimeLimit::Never), TimeLimit::Never))),
        ("nobody is left who shares it", among(Vec::new())),
        ("others share it", among(vec![12, 13])),
        ("it woke up", woke),
        ("it handles TERM", handles(libc::SIGTERM)),
        ("it handles INT", handles(libc::SIGINT)),
        ("awake now and then", awake(State::Running, 1, true, "")),
        ("ready to run", awake(State::Running, 0, true, "")),
        ("hidden", awake(State::Running, 0, false, "")),
        ("its function can be seen", awake(State::Running, 0, false, "x")),
    ]));
}

#[test]
fn a_signal_a_change_or_a_timer_is_waited_for_in_that_order() {
    let one = || process(11, 10, "x");
    let signal = waits_for_a_signal;
    let caught = |signal: i32| {
        let signals = Signals { caught: 1 << (signal - 1), ..Signals::default() };
        Look::of(vec![Process { signals, ..waits_for_a_signal() }])
    };
    let inotify = |fds: &[i32]| watches(has(one(), 4, Mode::Read, Object::Inotify), fds, TimeLimit::Never);
    let timer = |left_ms, limit| watches(has(one(), 4, Mode::Read, Object::Timer { left_ms }), &[4, 4], limit);
    let look = |process: Process| Look::of(vec![process]);
    let own = |process: Process| pipe(pipe(process, 3, Mode::Read, 70), 4, Mode::Write, 70);
    let woke = look(own(reads(one(), 3))).later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += 1);
    expect![[r#"
        a signal: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | it waits for a signal and handles none: only one that ends it could wake it
        a signal that it handles: Unknown signal-wait - (Guess): x (11) waits for a signal, or for an alarm of its own, and who would send it cannot be seen | a signal that it handles
        the last signal: Unknown signal-wait - (Guess): x (11) waits for a signal, or for an alarm of its own, and who would send it cannot be seen | a signal that it handles
        the first signal: Unknown signal-wait - (Guess): x (11) waits for a signal, or for an alarm of its own, and who would send it cannot be seen | a signal that it handles
        a fault: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | it waits for a signal and handles none: only one that ends it could wake it
        a bus error: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | it waits for a signal and handles none: only one that ends it could wake it
        an illegal instruction: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | it waits for a signal and handles none: only one that ends it could wake it
        an arithmetic error: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | it waits for a signal and handles none: only one that ends it could wake it
        an abort: Waiting never-ends B5 (Likely): x (11) sleeps without an end | kill 11 | it waits for a signal and handles none: only one that ends it could wake it
        a signal beside another wait: Unknown signal-wait - (Guess): x (11) waits for a signal, or for an alarm of its own, and who would send it cannot be seen | a signal that it handles
        files: Waiting watches - (Likely): x (11) watches files, and waits for one to change | a change; it ends when told to
        files that it does not watch: Unknown unknown - (Guess): x (11) waits, and what for cannot be seen
        a timer: Waiting timer - (Likely): x (11) waits for a timer of its own (at most 5s) | the timer
        a timer of a year: Unknown unknown - (Guess): x (11) waits, and what for cannot be seen
        a timer of less: Waiting timer - (Likely): x (11) waits for a timer of its own (at most 364d23h) | the timer
        a timer that is off: Hung mutual-wait C6 (Likely, closed in): x (11) waits, and nothing that is alive could end that: x (11) waits, and what for cannot be seen | nothing in sight; from outside: kill 11 | no other process, timer or person has a part in it
        a limit: Waiting timer - (Likely): x (11) waits for a timer of its own (at most 7s) | the timer
        the nearest of both: Waiting timer - (Likely): x (11) waits for a timer of its own (at most 5s) | the timer
        the limit is nearer: Waiting timer - (Likely): x (11) waits for a timer of its own (at most 7s) | the timer
        unknown: Hung mutual-wait C6 (Likely, closed in): x (11) waits, and nothing that is alive could end that: x (11) waits, and what for cannot be seen | nothing in sight; from outside: kill 11 | no other process, timer or person has a part in it
        a pipe of its own: Hung own-pipe - (Likely, closed in): x (11) reads descriptor 3, to which nobody but itself could write | kill 11 | it holds the only other end, and none of its threads does anything else: the process that was to write has ended, or never began
        a pipe of its own, and a thread: Hung own-pipe - (Likely, closed in): x (11) reads descriptor 3, to which nobody but itself could write | kill 11 | it holds the only other end, and none of its threads does anything else: the process that was to write has ended, or never began
        a pipe of its own, and another wait: Unknown unknown - (Guess): x (11) waits, and what for cannot be seen
        a pipe of its own in a loop: Hung mutual-wait C6 (Likely, closed in): x (11) waits, and nothing that is alive could end that: x (11) waits, and what for cannot be seen | nothing in sight; from outside: kill 11 | no other process, timer or person has a part in it
        it woke up: Unknown unknown - (Guess): x (11) waits, and what for cannot be seen
    "#]].assert_eq(&all_answers(vec![
        ("a signal", look(signal())),
        ("a signal that it handles", caught(libc::SIGUSR1)),
        ("the last signal", caught(64)),
        ("the first signal", caught(1)),
        ("a fault", caught(libc::SIGSEGV)),
        ("a bus error", caught(libc::SIGBUS)),
        ("an illegal instruction", caught(libc::SIGILL)),
        ("an arithmetic error", caught(libc::SIGFPE)),
        ("an abort", caught(libc::SIGABRT)),
        ("a signal beside another wait", look(reads(signal(), 99))),
        ("files", look(inotify(&[4, 99]))),
        ("files that it does not watch", look(inotify(&[99, 98]))),
        ("a timer", look(timer(Some(5_000), TimeLimit::Never))),
        ("a timer of a year", look(timer(Some(NO_END_MS), TimeLimit::Never))),
        ("a timer of less", look(timer(Some(NO_END_MS - 1), TimeLimit::Never))),
        ("a timer that is off", look(timer(None, TimeLimit::Never))),
        ("a limit", look(timer(None, TimeLimit::GivenMs(7_000)))),
        ("the nearest of both", look(timer(Some(5_000), TimeLimit::LeftMs(7_000)))),
        ("the limit is nearer", look(timer(Some(9_000), TimeLimit::LeftMs(7_000)))),
        ("unknown", look(timer(None, TimeLimit::Unknown))),
        ("a pipe of its own", look(own(reads(one(), 3)))),
        ("a pipe of its own, and a thread", look(own(calls(reads(one(), 3), "futex", Does::Futex, TimeLimit::Never)))),
        ("a pipe of its own, and another wait", look(own(reads(reads(one(), 3), 99)))),
        ("a pipe of its own in a loop", look(watches(own(one()), &[3, 3], TimeLimit::Never))),
        ("it woke up", woke),
    ]));
}

#[test]
fn a_stop_is_told_by_the_call_of_the_group() {
    let member = |pid, call: Option<Does>, group| {
        let process = Process { state: State::Stopped, tty_group: group, ..tty(process(pid, 10, "x"), 0, group) };
        match call {
            Some(does) => calls(process, "call", does, TimeLimit::Never),
            None => process,
        }
    };
    let one = |does| Look::of(vec![member(11, Some(does), 5)]);
    let ioctl = |request| one(Does::Ioctl { fd: 0, request });
    let of = |all: Vec<Process>| Look::of(all);
    let leader = || member(11, None, 5);
    let mate = || member(12, Some(Does::Read { fd: 0 }), 5);
    let traced = |tracer| {
        Look::of(vec![Process { state: State::Traced, tracer, ..process(11, 10, "x") }]).beside(process(20, 1, "gdb"))
    };
    let parent = Look::of(vec![zombie(11, 20)]).beside(process(20, 1, "node"));
    expect![[r#"
        a read: Hung sigttin T1 (Likely): x (11) was stopped by SIGTTIN: it read its terminal from a background process group (1; the terminal belongs to 5) | bring it to the foreground (fg); SIGCONT alone stops it again; started in a session of its own (setsid) it would get an error instead | its state is T, in a call on its terminal, and the terminal's group is another
        a write: Hung sigttou T1 (Likely): x (11) was stopped by SIGTTOU: it wrote to its terminal from a background process group (1; the terminal belongs to 5) | bring it to the foreground (fg); SIGCONT alone stops it again; started in a session of its own (setsid) it would get an error instead | its state is T, in a call on its terminal, and the terminal's group is another
        settings: Hung sigttou T1 (Likely): x (11) was stopped by SIGTTOU: it changed the settings of its terminal from a background process group (1; the terminal belongs to 5) | bring it to the foreground (fg); SIGCONT alone stops it again; started in a session of its own (setsid) it would get an error instead | its state is T, in a call on its terminal, and the terminal's group is another
        the last settings: Hung sigttou T1 (Likely): x (11) was stopped by SIGTTOU: it changed the settings of its terminal from a background process group (1; the terminal belongs to 5) | bring it to the foreground (fg); SIGCONT alone stops it again; started in a session of its own (setsid) it would get an error instead | its state is T, in a call on its terminal, and the terminal's group is another
        a question of settings: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        a read of something else: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        a write of something else: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        settings of something else: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        another call: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        in the foreground: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        without a terminal of its own: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        a member of its group: Hung sigttin T1 (Likely): x (12) was stopped by SIGTTIN: it read its terminal from a background process group (1; the terminal belongs to 5) | bring it to the foreground (fg); SIGCONT alone stops it again; started in a session of its own (setsid) it would get an error instead | its state is T, in a call on its terminal, and the terminal's group is another
        a member that goes on: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        a member of another group: Waiting stopped T1 (Likely, hung in 15m): x (11) is stopped (SIGSTOP or Ctrl-Z) | kill -CONT 11 | its state is T, and its call touches no terminal
        a tracer: Waiting traced - (Likely, hung in 15m): x (11) is held by gdb (20), which traces it | gdb (20) lets it go on, or ends | its state is t
        no tracer in sight: Waiting traced - (Likely, hung in 15m): x (11) is held by a debugger, which traces it | a debugger lets it go on, or ends | its state is t
        ended: Hung unreaped C4 (Likely): true (11) has ended, and its parent node (20) has not asked how | node (20) calls wait, or ends | its state is Z: nothing of it is left but the exit status
    "#]].assert_eq(&all_answers(vec![
        ("a read", one(Does::Read { fd: 0 })),
        ("a write", one(Does::Write { fd: 0 })),
        ("settings", ioctl(0x5402)),
        ("the last settings", ioctl(0x402c_542c)),
        ("a question of settings", ioctl(0x5401)),
        ("a read of something else", one(Does::Read { fd: 3 })),
        ("a write of something else", one(Does::Write { fd: 3 })),
        ("settings of something else", one(Does::Ioctl { fd: 3, request: 0x5402 })),
        ("another call", one(Does::Futex)),
        ("in the foreground", of(vec![member(11, Some(Does::Read { fd: 0 }), 1)])),
        ("without a terminal of its own", of(vec![Process { tty: 0, ..member(11, Some(Does::Read { fd: 0 }), 5) }])),
        ("a member of its group", of(vec![leader(), mate()])),
        ("a member that goes on", of(vec![leader(), Process { state: State::Sleeping, ..mate() }])),
        ("a member of another group", of(vec![leader(), Process { pgrp: 7, ..mate() }])),
        ("a tracer", traced(20)),
        ("no tracer in sight", traced(0)),
        ("ended", parent),
    ]));
}

#[test]
fn an_ended_child_is_told_if_its_parent_does_nothing_better() {
    let look = |parent: Process| Look::of(vec![parent, zombie(12, 11)]);
    let futex = |limit| calls(process(11, 10, "x"), "futex", Does::Futex, limit);
    let mut fresh = look(futex(TimeLimit::Never));
    fresh.before.tree.insert(12, process(12, 11, "true"));
    let serves = look(reads(socket(process(11, 10, "x"), 5, 80), 5)).socket(listening(80, "127.0.0.1:80"));
    let loop_ = watches(process(11, 10, "x"), &[9, 9], TimeLimit::LeftMs(5_000));
    let limited = |name: &str| {
        let both = pipe(pipe(process(11, 10, name), 3, Mode::Read, 70), 4, Mode::Write, 70);
        watches(both, &[3], TimeLimit::LeftMs(5_000))
    };
    let computes = |name: &str| moves(spends(look(running(name)), 11, 90), 11, Io::default());
    let works = moves(spends(look(running("claude")), 11, 30), 11, Io::default());
    let input = |name: &str| look(watches(pipe(process(11, 10, name), 0, Mode::Read, 70), &[0, 0], TimeLimit::Never));
    let blocked = look(reads(pipe(process(11, 10, "x"), 0, Mode::Read, 70), 0));
    let own = look(reads(pipe(pipe(process(11, 10, "x"), 3, Mode::Read, 70), 4, Mode::Write, 70), 3));
    let below = Look::of(vec![futex(TimeLimit::Never), zombie(12, 11), spun(13)]);
    let below = moves(spends(below, 13, 90), 13, Io::default());
    expect![[r#"
        a futex: Hung unreaped C4 (Likely, closed in): x (11) has not noticed that its child true (12) has ended | x (11) calls wait for 12; from outside: kill 11 | the child is a zombie at both times, and no thread of the parent waits for a child
        a timer: Hung unreaped C4 (Likely): x (11) has not noticed that its child true (12) has ended | x (11) calls wait for 12; from outside: kill 11 | the child is a zombie at both times, and no thread of the parent waits for a child
        a loop: Hung unreaped C4 (Likely): x (11) has not noticed that its child true (12) has ended | x (11) calls wait for 12; from outside: kill 11 | the child is a zombie at both times, and no thread of the parent waits for a child
        a shell's read with a limit: Waiting timer - (Likely): bash (11) waits for a timer of its own (at most 5s) | the timer
        the same of another program: Hung unreaped C4 (Likely): x (11) has not noticed that its child true (12) has ended | x (11) calls wait for 12; from outside: kill 11 | the child is a zombie at both times, and no thread of the parent waits for a child
        it has just ended: Working working - (Likely): x (11) works: processes below it come and go | nothing needs to: it works | a script that tries again and again, without an end, looks the same
        a sleep: Waiting sleep - (Likely): x (11) sleeps (5s) | time
        a server: Waiting serves - (Likely): x (11) waits for requests at 127.0.0.1:80 | a request; a server ends when told to | it listens there, and has nothing else under way
        a loop over its input: Waiting stdin-open S1 (Likely): x (11) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | poll watches descriptor 0; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        a read of its input: Waiting stdin-open S1 (Likely): x (11) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | its holder closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
        a pipe of its own: Hung own-pipe - (Likely, closed in): x (11) reads descriptor 3, to which nobody but itself could write | kill 11 | it holds the only other end, and none of its threads does anything else: the process that was to write has ended, or never began
        a wait for children: Unknown unknown - (Guess): x (11) waits, and what for cannot be seen
        an agent that computes: Hung unreaped C4 (Likely): Claude Code (11) has not noticed that its child true (12) has ended | Claude Code (11) calls wait for 12; from outside: kill 11 | the child is a zombie at both times, and no thread of the parent waits for a child
        a program that computes: Working computing - (Likely): x (11) computes: 90 % of a core, no byte read or written, no memory touched anew | the end of what it computes | a loop without an end looks the same from outside: only whether it is at it much later tells
        an agent that works: Working working - (Certain): Claude Code (11) works: 30 % of a core | nothing needs to: it works
        another child computes: Working computing - (Likely): spun (13) computes: 90 % of a core, no byte read or written, no memory touched anew | the end of what it computes | a loop without an end looks the same from outside: only whether it is at it much later tells
    "#]].assert_eq(&all_answers(vec![
        ("a futex", look(futex(TimeLimit::Never))),
        ("a timer", look(futex(TimeLimit::LeftMs(5)))),
        ("a loop", look(loop_)),
        ("a shell's read with a limit", look(limited("bash"))),
        ("the same of another program", look(limited("x"))),
        ("it has just ended", fresh),
        ("a sleep", look(sleeps(process(11, 10, "x"), 5_000))),
        ("a server", serves),
        ("a loop over its input", input("x")),
        ("a read of its input", blocked),
        ("a pipe of its own", own),
        ("a wait for children", look(awaits(process(11, 10, "x")))),
        ("an agent that computes", computes("claude")),
        ("a program that computes", computes("x")),
        ("an agent that works", works),
        ("another child computes", below),
    ]));
}

fn spun(pid: Pid) -> Process {
    let thread = Thread { tid: pid, state: State::Running, call_read: true, ..Thread::default() };
    Process { state: State::Running, threads: vec![thread], ..process(pid, 11, "spun") }
}

#[test]
fn a_terminal_is_told_by_the_program_that_reads_it() {
    let at = |name: &str, args: &[&str], index| {
        let what = Object::Tty { path: "/dev/pts/3".into(), index };
        started(has(process(11, 10, name), 0, Mode::Both, what), args)
    };
    let read = |name: &str, args: &[&str]| Look::of(vec![reads(at(name, args, Some(3)), 0)]);
    let polls = |name: &str, args: &[&str], limit| Look::of(vec![watches(at(name, args, Some(3)), &[0], limit)]);
    let master = || has(awaits(process(20, 1, "tmux")), 8, Mode::Both, Object::Master { index: 3 });
    let never = TimeLimit::Never;
    let woke = read("x", &["x"]).later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += 1);
    let asks = Process { prompt: Some("Sure?".into()), ..reads(at("x", &["x"], Some(3)), 0) };
    let serves = Look::of(vec![watches(socket(at("x", &["x"], Some(3)), 5, 80), &[0, 5], never)])
        .socket(listening(80, "127.0.0.1:80"));
    expect![[r#"
        a shell: Waiting shell-prompt - (Likely): bash (11) waits for a command at the terminal /dev/pts/3 | a command
        a shell with a command: Waiting tty-read B2 (Likely): bash (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        a shell with a script: Waiting tty-read B2 (Likely): bash x.sh (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        a shell with -c alone: Waiting tty-read B2 (Likely): bash (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        no shell: Waiting tty-read B2 (Likely): rush (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        an agent: Waiting terminal-person T3 (Likely): Claude Code (11) shows its screen and waits for a person's key at the terminal /dev/pts/3 | a key, or the answer that its screen asks for | whether anybody sits there cannot be seen from here
        an agent without a person: Waiting no-connection M8 (Guess, hung in 29m): Claude Code (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself, its nearest timer 9ms: an answer that nobody gives, an event that got lost, or a pause before it tries again look like this
        an agent without a person that reads: Waiting terminal-person T3 (Likely): Claude Code (11) shows its screen and waits for a person's key at the terminal /dev/pts/3 | a key, or the answer that its screen asks for | whether anybody sits there cannot be seen from here
        a pager: Waiting pager B3 (Likely): less (11) shows a page and waits for a key at the terminal /dev/pts/3 | the key q there; next time, set PAGER and GIT_PAGER to cat; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        an editor: Waiting editor B4 (Likely): vim (11) is an editor and waits for keys at the terminal /dev/pts/3 | an end of the editor there; next time, set GIT_EDITOR=true; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        a tool with a switch: Waiting tty-read B2 (Likely): sudo (11) waits for a key at the terminal /dev/pts/3 | an answer typed there; next time, -n makes it fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        a program: Waiting tty-read B2 (Likely): x (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        it asks: Waiting tty-read B2 (Likely): x (11) waits for a key at the terminal /dev/pts/3, where it asks “Sure?” | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        it woke up: Waiting tty-read B2 (Likely): x (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        with a limit: Waiting tty-read B2 (Likely): x (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | poll on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        without a limit: Waiting tty-read B2 (Likely): x (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | poll on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        a master in sight: Waiting tty-read B2 (Likely): x (11) waits for a key at the terminal /dev/pts/3 (whose keys come from tmux (20)) | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        a console: Waiting tty-read B2 (Likely): x (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | read on /dev/pts/3 in the terminal's foreground group 0; no agent runs it: a person may sit there, or come
        a server: Waiting serves - (Likely): x (11) waits for requests at 127.0.0.1:80 | a request; a server ends when told to | it listens there, and has nothing else under way
    "#]].assert_eq(&all_answers(vec![
        ("a shell", read("bash", &["bash", "-l"])),
        ("a shell with a command", read("bash", &["bash", "-c", "read x"])),
        ("a shell with a script", read("bash", &["bash", "x.sh"])),
        ("a shell with -c alone", read("bash", &["bash", "-c"])),
        ("no shell", read("rush", &["rush"])),
        ("an agent", polls("claude", &["claude"], never)),
        ("an agent without a person", polls("claude", &["claude", "-p"], TimeLimit::LeftMs(9))),
        ("an agent without a person that reads", read("claude", &["claude", "-p"])),
        ("a pager", read("less", &["less"])),
        ("an editor", read("vim", &["vim"])),
        ("a tool with a switch", read("sudo", &["sudo", "ls"])),
        ("a program", read("x", &["x"])),
        ("it asks", Look::of(vec![asks])),
        ("it woke up", woke),
        ("with a limit", polls("x", &["x"], TimeLimit::LeftMs(9))),
        ("without a limit", polls("x", &["x"], never)),
        ("a master in sight", read("x", &["x"]).beside(master())),
        ("a console", Look::of(vec![reads(at("x", &["x"], None), 0)]).beside(master())),
        ("a server", serves),
    ]));
}

#[test]
fn output_to_a_terminal_waits_for_who_reads_its_screen() {
    let at = || tty(process(11, 10, "x"), 1, 1);
    let master = || has(awaits(process(20, 1, "tmux")), 8, Mode::Both, Object::Master { index: 3 });
    let look = |process: Process| Look::of(vec![process]).beside(master());
    let on = vec![Watch { fd: 1, input: false, output: true }, Watch { fd: 1, input: false, output: false }];
    let polls = || look(calls(at(), "poll", Does::Poll { on: on.clone() }, TimeLimit::Never));
    let ioctl = |request| look(calls(at(), "ioctl", Does::Ioctl { fd: 1, request }, TimeLimit::Unknown));
    let woke = |look: Look| look.later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += 1);
    let wrote = |look: Look| moves(look, 11, io(0, 0, 1, 1));
    expect![[r#"
        it is stuck: Hung tty-unread T6 (Likely): x (11) cannot write to the terminal /dev/pts/3: tmux (20), who holds the other side, does not read it | tmux (20) reads, or Ctrl-Q where Ctrl-S stopped the output; from outside: kill 11 | write throughout, and not a byte went
        it woke up: Waiting slow-reader - (Likely): x (11) writes to /dev/pts/3 as fast as tmux (20) reads | the reader's pace
        it wrote: Waiting slow-reader - (Likely): x (11) writes to /dev/pts/3 as fast as tmux (20) reads | the reader's pace
        a loop: Hung tty-unread T6 (Likely): x (11) cannot write to the terminal /dev/pts/3: tmux (20), who holds the other side, does not read it | tmux (20) reads, or Ctrl-Q where Ctrl-S stopped the output; from outside: kill 11 | poll throughout, and not a byte went
        a loop that wrote: Unknown unknown - (Guess): x (11) waits, and what for cannot be seen
        settings that drain: Hung tty-unread T6 (Likely): x (11) cannot write to the terminal /dev/pts/3: tmux (20), who holds the other side, does not read it | tmux (20) reads, or Ctrl-Q where Ctrl-S stopped the output; from outside: kill 11 | ioctl throughout, and not a byte went
        settings that flush: Hung tty-unread T6 (Likely): x (11) cannot write to the terminal /dev/pts/3: tmux (20), who holds the other side, does not read it | tmux (20) reads, or Ctrl-Q where Ctrl-S stopped the output; from outside: kill 11 | ioctl throughout, and not a byte went
        a drain: Hung tty-unread T6 (Likely): x (11) cannot write to the terminal /dev/pts/3: tmux (20), who holds the other side, does not read it | tmux (20) reads, or Ctrl-Q where Ctrl-S stopped the output; from outside: kill 11 | ioctl throughout, and not a byte went
        settings at once: Unknown unknown - (Guess): x (11) waits, and what for cannot be seen
        nobody in sight: Hung tty-unread T6 (Likely): x (11) cannot write to the terminal /dev/pts/3: nobody in sight, who holds the other side, does not read it | nobody in sight reads, or Ctrl-Q where Ctrl-S stopped the output; from outside: kill 11 | write throughout, and not a byte went
    "#]].assert_eq(&all_answers(vec![
        ("it is stuck", look(writes(at(), 1))),
        ("it woke up", woke(look(writes(at(), 1)))),
        ("it wrote", wrote(look(writes(at(), 1)))),
        ("a loop", polls()),
        ("a loop that wrote", wrote(polls())),
        ("settings that drain", ioctl(0x5403)),
        ("settings that flush", ioctl(0x5404)),
        ("a drain", ioctl(0x5409)),
        ("settings at once", ioctl(0x5402)),
        ("nobody in sight", Look::of(vec![writes(at(), 1)])),
    ]));
}

fn waits_for_a_signal() -> Process {
    calls(process(11, 10, "x"), "pause", Does::Signal, TimeLimit::Never)
}
