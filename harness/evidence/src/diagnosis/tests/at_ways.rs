//! The ways out of a wait: whoever has one is not called hung, and is not closed in.

use super::*;

/// A reader of a pipe that its parent, which waits for it, holds; below an agent, so that it should end.
fn held(cat: Process) -> Look {
    let agent = process(10, 1, "claude");
    let parent = pipe(awaits(process(11, 10, "python3")), 4, Mode::Write, 70);
    Look::of(vec![awaits(agent), parent, cat])
}

fn cat() -> Process {
    reads(pipe(process(12, 11, "cat"), 0, Mode::Read, 70), 0)
}

fn head(look: &Look) -> String {
    let found = look.diagnosis();
    format!("{:?} {} {:?} closed: {}", found.verdict, found.signature, found.sure, look.graph().is_closed_in(12))
}

#[test]
fn a_process_with_a_way_of_its_own_is_not_hung() {
    let caught = |signal: i32| Signals { caught: 1 << (signal - 1), ..Signals::default() };
    let with = |signal: i32| Process { signals: caught(signal), ..cat() };
    let alarms = |look: Look, alarms: Alarms| look.both(|s| s.alarms = alarms);
    let many = Signals { caught: u64::MAX, ..Signals::default() };
    let timer = |left_ms| has(cat(), 7, Mode::Both, Object::Timer { left_ms });
    let rows = [
        ("none", head(&held(cat()))),
        ("a POSIX timer", head(&held(Process { may_have_timers: true, ..cat() }))),
        ("a timer as a descriptor", head(&held(timer(Some(60_000))))),
        (
            "one of Codex, which has no limit for its stdin",
            head(&held(started(timer(Some(60_000)), &["codex", "exec"]))),
        ),
        ("one of Claude Code", head(&held(started(timer(Some(60_000)), &["claude", "-p"])))),
        ("one that is off", head(&held(timer(None)))),
        ("one for which nobody waits", head(&held(timer(Some(12 * 24 * 3_600_000))))),
        ("a thread that sleeps", head(&held(sleeps(cat(), 60_000)))),
        ("it handles alarms, and whether one is armed is not known", head(&held(with(libc::SIGALRM)))),
        ("and one is", head(&alarms(held(with(libc::SIGALRM)), Alarms::Some))),
        ("and none is", head(&alarms(held(with(libc::SIGALRM)), Alarms::None))),
        ("its runtime handles all signals", head(&held(Process { signals: many, ..cat() }))),
        ("an alarm of somebody who handles it", head(&alarms(held(cat()), Alarms::Some))),
        ("an alarm of nobody who does", head(&alarms(held(cat()), Alarms::Unhandled))),
        ("it handles USR1", head(&held(with(libc::SIGUSR1)))),
        ("it handles INT", head(&held(with(libc::SIGINT)))),
    ];
    expect![[r#"
        none: Hung stdin-open Certain closed: true
        a POSIX timer: Waiting stdin-open Likely closed: false
        a timer as a descriptor: Waiting stdin-open Likely closed: false
        one of Codex, which has no limit for its stdin: Hung stdin-open Likely closed: false
        one of Claude Code: Waiting stdin-open Likely closed: false
        one that is off: Hung stdin-open Certain closed: true
        one for which nobody waits: Hung stdin-open Likely closed: false
        a thread that sleeps: Waiting stdin-open Likely closed: false
        it handles alarms, and whether one is armed is not known: Waiting stdin-open Likely closed: false
        and one is: Waiting stdin-open Likely closed: false
        and none is: Hung stdin-open Certain closed: true
        its runtime handles all signals: Hung stdin-open Certain closed: true
        an alarm of somebody who handles it: Hung stdin-open Likely closed: false
        an alarm of nobody who does: Waiting stdin-open Likely closed: false
        it handles USR1: Hung stdin-open Likely closed: false
        it handles INT: Hung stdin-open Certain closed: true
    "#]]
    .assert_eq(&super::rows(rows));
}

#[test]
fn who_will_end_a_process_from_outside_keeps_it_from_being_hung() {
    let args = |pid, ppid, args: &[&str]| started(awaits(process(pid, ppid, args[0])), args);
    let with = |other: Process| held(cat()).both(|s| drop(s.tree.insert(other.pid, other.clone())));
    // the parent of the held process is a `timeout`
    let under = |words: &[&str]| {
        let timeout = pipe(args(11, 10, words), 4, Mode::Write, 70);
        held(cat()).both(|s| drop(s.tree.insert(11, timeout.clone())))
    };
    let deaf = Signals { ignored: 1 << (libc::SIGTERM - 1), ..Signals::default() };
    let ignores = under(&["timeout", "600", "cat"]).both(|s| s.tree.get_mut(&12).unwrap().signals = deaf);
    let old = under(&["timeout", "600", "cat"]).both(|s| s.tree.get_mut(&12).unwrap().pgrp = 12);
    let shell = |words: &[&str], ms| started(sleeps(process(20, 10, "bash"), ms), words);
    let copy = Process { args: vec!["python3".into()], ..sleeps(process(21, 11, "python3"), 60_000) };
    let rows = [
        ("timeout", head(&under(&["timeout", "600", "cat"]))),
        ("its time is over", head(&under(&["timeout", "10", "cat"]))),
        ("its time is over, and it kills later", head(&under(&["timeout", "-k", "600", "10", "cat"]))),
        ("in a day", head(&under(&["timeout", "1d", "cat"]))),
        ("the child ignores the signal", head(&ignores)),
        ("the child is in another group", head(&old)),
        ("busybox beside it", head(&with(args(20, 1, &["busybox", "timeout", "600", "cat"])))),
        ("of another command", head(&with(args(20, 1, &["busybox", "timeout", "600", "dog"])))),
        ("a shell that sleeps and kills", head(&with(shell(&["bash", "-c", "sleep 60; kill 12"], 60_000)))),
        ("one that sleeps", head(&with(shell(&["bash", "-c", "sleep 60; true"], 60_000)))),
        ("a copy of its parent that sleeps", head(&with(copy))),
    ];
    expect![[r#"
        timeout: Waiting stdin-open Likely closed: false
        its time is over: Hung stdin-open Certain closed: true
        its time is over, and it kills later: Waiting stdin-open Likely closed: false
        in a day: Hung stdin-open Likely closed: false
        the child ignores the signal: Hung stdin-open Likely closed: false
        the child is in another group: Waiting stdin-open Likely closed: false
        busybox beside it: Waiting stdin-open Likely closed: false
        of another command: Hung stdin-open Certain closed: true
        a shell that sleeps and kills: Waiting stdin-open Likely closed: false
        one that sleeps: Waiting stdin-open Likely closed: false
        a copy of its parent that sleeps: Waiting stdin-open Likely closed: false
    "#]]
    .assert_eq(&super::rows(rows));
}

#[test]
fn a_runner_that_looks_again_and_again_may_have_a_limit() {
    let runner = |name: &str, ms| {
        let runner = pipe(sleeps(process(11, 10, name), ms), 4, Mode::Write, 70);
        held(cat()).both(|s| drop(s.tree.insert(11, runner.clone())))
    };
    let agent = |ms| {
        let agent = pipe(watches(process(10, 1, "claude"), &[], TimeLimit::GivenMs(ms)), 4, Mode::Write, 70);
        Look::of(vec![agent, Process { ppid: 10, ..cat() }])
    };
    let old = |look: Look| look.both(|s| s.at_ns += 66 * 60 * 1_000_000_000);
    let rows = [
        ("a runner", head(&runner("python3", 50))),
        ("the screen of an agent", head(&agent(80))),
        ("the limit of an agent for its tool", head(&agent(120_000))),
        ("nobody waits for that long", head(&old(agent(120_000)))),
    ];
    expect![[r#"
        a runner: Waiting stdin-open Likely closed: false
        the screen of an agent: Hung stdin-open Likely closed: false
        the limit of an agent for its tool: Waiting stdin-open Likely closed: false
        nobody waits for that long: Hung stdin-open Likely closed: false
    "#]]
    .assert_eq(&super::rows(rows));
}

#[test]
fn who_waits_for_a_person_or_a_signal_is_not_hung() {
    let at_terminal = |parent: &str| {
        let less = tty(reads(process(12, 11, "less"), 0), 0, 1);
        Look::of(vec![awaits(process(11, 1, parent)), less])
    };
    let sigwait = |name: &str| Look::of(vec![calls(process(12, 1, "w"), name, Does::Signal, TimeLimit::Never)]);
    let held = |ms| Process { state: State::Stopped, held_ms: ms, ..process(12, 1, "x") };
    let stopped = |ms| Look::of(vec![held(ms)]).both(|s| s.at_ns += 3_600_000_000_000);
    let frozen = |wchan: &str| {
        let thread = Thread { tid: 12, wchan: wchan.into(), call_read: true, ..Thread::default() };
        Look::of(vec![Process { threads: vec![thread], ..process(12, 1, "x") }])
    };
    let rows = [
        ("a pager of a person", head(&at_terminal("bash"))),
        ("a pager of an agent", head(&at_terminal("claude"))),
        ("sigwait", head(&sigwait("rt_sigtimedwait"))),
        ("pause", head(&sigwait("pause"))),
        ("stopped a moment ago", head(&stopped(Some(1_000)))),
        ("stopped, and for how long is not known", head(&stopped(None))),
        ("stopped an hour ago", head(&stopped(Some(3_600_000)))),
        ("frozen", head(&frozen("__refrigerator"))),
        ("frozen, version 2", head(&frozen("get_signal"))),
    ];
    expect![[r#"
        a pager of a person: Waiting pager Likely closed: false
        a pager of an agent: Hung pager Likely closed: false
        sigwait: Unknown signal-wait Guess closed: false
        pause: Waiting never-ends Likely closed: false
        stopped a moment ago: Waiting stopped Likely closed: false
        stopped, and for how long is not known: Waiting stopped Likely closed: false
        stopped an hour ago: Hung stopped Likely closed: false
        frozen: Waiting frozen Likely closed: false
        frozen, version 2: Waiting frozen Likely closed: false
    "#]]
    .assert_eq(&super::rows(rows));
}

#[test]
fn a_loop_is_one_finding_at_whatever_instant() {
    let shell = |script: &str| started(awaits(process(11, 1, "bash")), &["bash", "-c", script]);
    let nap = |pid| started(sleeps(process(pid, 11, "sleep"), 2_000), &["sleep", "3"]);
    let script = "until [ -f x ]; do sleep 3; done";
    let seen = |script: &str| Look::of(vec![shell(script), nap(12)]);
    let between = Look::of(vec![shell("./wait.sh"), nap(12)]).later(|s| {
        s.tree.remove(&12);
        let next = Process { began_ns: 4_000_000_000, ..nap(13) };
        s.tree.insert(13, next);
    });
    let rows = [
        ("in its nap", seen(script).answer()),
        ("between two naps", between.answer()),
        ("for an hour", seen(script).both(|s| s.at_ns += 66 * 60 * 1_000_000_000).answer()),
        ("no loop", seen("sleep 3; make").answer()),
        ("it finds itself", seen("while pgrep -f cargo; do sleep 3; done").answer()),
    ];
    expect![[r#"
        in its nap: Waiting tries-again - (Likely): bash (11) tries again every 3s, for 1m so far: until [ -f x ]; do sleep 3; done | what it looks for | whether what it looks for will come cannot be seen
        between two naps: Waiting tries-again - (Likely): bash (11) tries again every 3s, for 1m so far: ./wait.sh | what it looks for | whether what it looks for will come cannot be seen
        for an hour: Hung tries-again - (Guess): bash (11) tries again every 3s, for 1h7m so far: until [ -f x ]; do sleep 3; done | what it looks for | whether what it looks for will come cannot be seen
        no loop: Waiting sleep - (Likely): sleep (12) sleeps (2s) | time
        it finds itself: Waiting tries-again - (Likely): bash (11) tries again every 3s, for 1m so far: while pgrep -f cargo; do sleep 3; done | what it looks for | it looks for processes by their whole command line, and its own has the same words: it may find itself
    "#]].assert_eq(&super::rows(rows));
}

#[test]
fn a_client_of_a_daemon_is_told_what_the_daemon_does() {
    let client = || socket(reads(process(11, 1, "gpg"), 4), 4, 80);
    let ends = |look: Look| {
        let daemon = Socket { local: "/run/x.sock".into(), ..unix(81, 80) };
        look.socket(unix(80, 81)).socket(daemon)
    };
    let daemon = || watches(socket(process(20, 1, "agentd"), 5, 81), &[5], TimeLimit::Never);
    let asks = Process { ppid: 20, ..tty(reads(process(21, 20, "pinentry"), 0), 0, 1) };
    let works = Process { ppid: 20, ..sleeps(process(21, 20, "sleep"), 900_000) };
    let queued = || {
        let at = Socket { local: "/run/x.sock".into(), ..listening(82, "") };
        let at = Socket { family: Family::Unix, ..at };
        let look = Look::of(vec![client()]).socket(unix(80, 0)).socket(at);
        look.both(|s| s.queued.extend([(80, 82)])).beside(socket(process(20, 1, "agentd"), 5, 82))
    };
    let rows = [
        ("idle", ends(Look::of(vec![client()]).beside(daemon())).answer()),
        ("its child asks", ends(Look::of(vec![client()]).beside(daemon()).beside(asks)).answer()),
        ("its child works", ends(Look::of(vec![client()]).beside(daemon()).beside(works)).answer()),
        ("not accepted yet", queued().answer()),
    ];
    expect![[r#"
        idle: Waiting peer-silent E2 (Likely, hung in 29m): gpg (11) waits for an answer of agentd (20) at /run/x.sock (asked at most 1m ago): agentd (20) waits, and what for cannot be seen | its answer; from outside: kill 11 | for how long it has been asked cannot be seen, at most as long as the asker lives
        its child asks: Waiting daemon - (Likely): gpg (11) waits for an answer of agentd (20) at /run/x.sock (asked at most 1m ago): pinentry (21) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 21
        its child works: Waiting daemon - (Likely): gpg (11) waits for an answer of agentd (20) at /run/x.sock (asked at most 1m ago): sleep (21) sleeps (15m) | time
        not accepted yet: Waiting peer-silent E2 (Likely, hung in 29m): gpg (11) waits for an answer of agentd (20) at /run/x.sock, which has not taken its connection yet (asked at most 1m ago): agentd (20) cannot be looked into | its answer; from outside: kill 11 | for how long it has been asked cannot be seen, at most as long as the asker lives
    "#]].assert_eq(&super::rows(rows));
}

#[test]
fn a_signal_may_wake_a_loop_that_can_wake_itself() {
    let caught = |signals: &[i32]| Signals {
        caught: signals.iter().map(|signal| 1 << (signal - 1)).sum(),
        ..Signals::default()
    };
    let own = |name: &str, signals: &[i32]| {
        let both = pipe(pipe(process(12, 11, name), 5, Mode::Read, 80), 6, Mode::Write, 80);
        Process { signals: caught(signals), ..watches(both, &[5, 5], TimeLimit::Never) }
    };
    let alone = |process: Process| Look::of(vec![Process { ppid: 1, ..process }]);
    let pair = |name: &str, signals: &[i32]| {
        let both = socket(socket(process(12, 11, name), 5, 80), 6, 81);
        let looped = Process { signals: caught(signals), ..watches(both, &[5, 5], TimeLimit::Never) };
        alone(looped).socket(unix(80, 81)).socket(unix(81, 80))
    };
    let (hup, int, term) = (libc::SIGHUP, libc::SIGINT, libc::SIGTERM);
    let rows = [
        ("no handler", head(&alone(own("daemon", &[])))),
        ("one of TERM", head(&alone(own("daemon", &[term])))),
        ("one of HUP, over a pair of sockets", head(&pair("daemon", &[hup]))),
        ("Python's own of INT", head(&alone(own("python3", &[int])))),
        ("one of Python's program", head(&alone(own("python3", &[int, term])))),
        ("Node.js's own", head(&alone(own("node", &[int, term])))),
        ("one of a program of Node.js", head(&alone(own("node", &[int, term, hup])))),
        ("a known agent's", head(&alone(own("claude", &[int, term, hup])))),
    ];
    expect![[r#"
        no handler: Hung mutual-wait Likely closed: true
        one of TERM: Unknown unknown Guess closed: false
        one of HUP, over a pair of sockets: Unknown unknown Guess closed: false
        Python's own of INT: Hung mutual-wait Likely closed: true
        one of Python's program: Unknown unknown Guess closed: false
        Node.js's own: Hung mutual-wait Likely closed: true
        one of a program of Node.js: Unknown unknown Guess closed: false
        a known agent's: Hung no-connection Likely closed: true
    "#]]
    .assert_eq(&super::rows(rows));
}

#[test]
fn an_old_process_may_be_in_a_young_wait() {
    let old = |look: Look| look.both(|s| s.at_ns += 66 * 60 * 1_000_000_000);
    let polls = watches(pipe(process(12, 11, "cat"), 0, Mode::Read, 70), &[0], TimeLimit::GivenMs(30_000));
    let reader = reads(pipe(process(12, 10, "reader"), 3, Mode::Read, 70), 3);
    let stray = |began_s: u64| {
        let stray = pipe(sleeps(process(20, 1, "sleep"), 90_000), 1, Mode::Write, 70);
        Process { began_ns: began_s * 1_000_000_000, ..stray }
    };
    let hostage = |began_s: u64| Look::of(vec![reader.clone()]).beside(stray(began_s));
    let rows = [
        ("a young poll of its input", held(polls.clone()).answer()),
        ("an old one", old(held(polls)).answer()),
        ("a young stray that sleeps, and an old reader", old(hostage(66 * 60)).answer()),
        ("an old stray", old(hostage(2)).answer()),
    ];
    expect![[r#"
        a young poll of its input: Waiting stdin-open B1 (Likely, hung in 1h5m, parts [11]): cat (12) waits for its standard input to end or to say something, and python3 (11) keeps it open without a word; it may end by a timer of its own (at most 30s) | a timer of its own (at most 30s); or python3 (11) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 12 | poll watches descriptor 0, at most 30s at a time, and python3 (11), which could end it, waits for cat (12) itself: they wait for each other; it may end by a timer of its own (at most 30s)
        an old one: Waiting stdin-open B1 (Likely, hung in 1h5m, parts [11]): cat (12) waits for its standard input to end or to say something, and python3 (11) keeps it open without a word; it may end by a timer of its own (at most 30s) | a timer of its own (at most 30s); or python3 (11) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 12 | poll watches descriptor 0, at most 30s at a time, and python3 (11), which could end it, waits for cat (12) itself: they wait for each other; it may end by a timer of its own (at most 30s)
        a young stray that sleeps, and an old reader: Waiting stray-holds-pipe B6 (Likely, hung in 1h3m): reader (12) reads descriptor 3 to its end, but sleep (20), which outlived the command that started it, holds it open | the end of sleep (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1); sleep (20) has a timer of its own (at most 1m30s), and may let go by itself
        an old stray: Hung stray-holds-pipe B6 (Likely): reader (12) reads descriptor 3 to its end, but sleep (20), which outlived the command that started it, holds it open | the end of sleep (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1); sleep (20) has a timer of its own (at most 1m30s), and may let go by itself
    "#]].assert_eq(&super::rows(rows));
}

#[test]
fn a_source_that_never_writes_leaves_an_agents_input_open() {
    let codex = |shell: Pid| reads(pipe(process(12, shell, "codex"), 0, Mode::Read, 70), 0);
    let beside = |source: Process| {
        let source = pipe(source, 1, Mode::Write, 70);
        Look::of(vec![awaits(process(11, 1, "bash")), codex(11), source])
    };
    let year = 400 * 24 * 3_600_000;
    let of_nobody = reads(pipe(process(12, 11, "cat"), 0, Mode::Read, 70), 0);
    let endless = pipe(sleeps(process(13, 11, "sleep"), year), 1, Mode::Write, 70);
    let follows = started(watches(process(13, 11, "tail"), &[], TimeLimit::Never), &["tail", "-f", "/dev/null"]);
    let rows = [
        ("a sleep without an end", beside(sleeps(process(13, 11, "sleep"), year)).answer()),
        ("a sleep that ends", beside(sleeps(process(13, 11, "sleep"), 60_000)).answer()),
        ("a follower of nothing", beside(follows).answer()),
        ("one that works", beside(started(reads(process(13, 11, "log"), 9), &["log"])).answer()),
        ("no agent reads", Look::of(vec![awaits(process(11, 1, "bash")), of_nobody, endless]).answer()),
    ];
    expect![[r#"
        a sleep without an end: Hung stdin-open S1 (Likely): Codex (12) waits for its standard input to end or to say something, and sleep (13) keeps it open without a word | sleep (13) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 12 | read(0) has no time limit; sleep (13) might still write
        a sleep that ends: Waiting pipeline - (Likely): Codex (12) waits for what sleep (13) writes: sleep (13) sleeps (1m) | the end of what it reads
        a follower of nothing: Hung stdin-open S1 (Likely): Codex (12) waits for its standard input to end or to say something, and tail (13) keeps it open without a word | tail (13) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 12 | read(0) has no time limit; tail (13) might still write
        one that works: Waiting pipeline - (Likely): Codex (12) waits for what log (13) writes: log (13) waits, and what for cannot be seen | the end of what it reads
        no agent reads: Waiting pipeline - (Likely): cat (12) waits for what sleep (13) writes: sleep (13) sleeps without an end | the end of what it reads
    "#]].assert_eq(&super::rows(rows));
}
