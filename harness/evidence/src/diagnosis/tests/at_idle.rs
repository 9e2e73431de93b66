//! Who idles beside what its host really waits for, and who has a limit of its own.

use super::*;

/// A filter whose input a script holds, below an agent that waits for the script.
fn filter(host: Process, others: Vec<Process>) -> Look {
    let cat = reads(pipe(process(13, 11, "cat"), 0, Mode::Read, 70), 0);
    let agent = awaits(process(10, 1, "claude"));
    Look::of([vec![agent, pipe(host, 9, Mode::Write, 70), cat], others].concat())
}

fn head(look: &Look) -> String {
    let found = look.diagnosis();
    format!("{:?} {}: {}", found.verdict, found.signature, found.sentence)
}

fn answered(since_received_ms: u64, since_sent_ms: u64, received_bytes: u64) -> Socket {
    let traffic = Traffic { since_received_ms, since_sent_ms, received_bytes, sent_bytes: 400, ..Traffic::default() };
    Socket { traffic: Some(traffic), ..connection(80, 0) }
}

#[test]
fn what_is_fed_later_is_not_why_its_host_waits() {
    let reading = || reads(pipe(process(11, 10, "awk"), 3, Mode::Read, 71), 3);
    let sleeper = || vec![pipe(sleeps(process(12, 11, "sleep"), 900_000), 1, Mode::Write, 71)];
    let asks = |socket: Socket| filter(reads(super::socket(process(11, 10, "awk"), 4, 80), 4), vec![]).socket(socket);
    let keys = tty(reads(process(14, 11, "cat"), 0), 0, 1);
    let drives = has(reading(), 8, Mode::Both, Object::Master { index: 3 });
    let rows = [
        ("it reads of a command that sleeps", filter(reading(), sleeper())),
        ("it has asked a server", asks(answered(1_000, 500, 900))),
        ("it was answered", asks(answered(500, 1_000, 900))),
        ("it waits for it", filter(awaits(process(11, 10, "awk")), vec![])),
        ("its keys come later", Look::of([vec![awaits(process(10, 1, "claude")), drives, keys], sleeper()].concat())),
    ];
    expect![[r#"
        it reads of a command that sleeps: Waiting sleep: sleep (12) sleeps (15m)
        it has asked a server: Waiting peer-wait: awk (11) waits for its peer at 93.184.216.34:443, which has not answered for 500ms
        it was answered: Waiting peer-wait: awk (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 500ms
        it waits for it: Hung stdin-open: cat (13) waits for its standard input to end or to say something, and awk (11) keeps it open without a word
        its keys come later: Waiting tty-read: cat (14) waits for a key at the terminal /dev/pts/3 (whose keys come from awk (11)); it may end by awk (11), which waits for sleep (12), which sleeps for a time
    "#]].assert_eq(&super::rows(rows.iter().map(|(name, look)| (*name, head(look)))));
}

#[test]
fn a_client_has_a_limit_of_its_own() {
    let at = |client: Process, socket| Look::of(vec![client]).socket(socket).both(|s| s.at_ns += 3_000_000_000_000);
    let curl = |args: &[&str]| super::socket(started(process(11, 1, "curl"), args), 5, 80);
    let is = |args: &[&str], limit, socket| at(watches(curl(args), &[5], limit), socket);
    let hidden = calls(curl(&["curl"]), "recvfrom", Does::Read { fd: 5 }, TimeLimit::Unknown);
    let silent = || answered(1_900_000, 1_860_000, 900);
    let each = TimeLimit::GivenMs(1_000);
    let rows = [
        ("none", is(&["curl"], TimeLimit::Never, silent())),
        ("of its loop", is(&["curl"], each, silent())),
        ("of this call", is(&["curl"], TimeLimit::GivenMs(3_600_000), silent())),
        ("by its arguments", is(&["curl", "-sm", "3600"], each, silent())),
        ("another word for it", is(&["curl", "--max-time=3600"], each, silent())),
        ("that is over", is(&["curl", "-m60"], each, silent())),
        ("no number", is(&["curl", "-m", "x"], each, silent())),
        ("may not be read", at(hidden, silent())),
        ("answered, outside of a run", is(&["curl"], TimeLimit::Never, answered(1_860_000, 1_900_000, 900))),
    ];
    expect![[r#"
        none: Hung peer-silent E2 (Likely): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        of its loop: Hung peer-silent E2 (Likely): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        of this call: Waiting peer-silent E2 (Likely, hung in 29m): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        by its arguments: Waiting peer-silent E2 (Likely, hung in 9m): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        another word for it: Waiting peer-silent E2 (Likely, hung in 9m): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        that is over: Hung peer-silent E2 (Likely): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        no number: Hung peer-silent E2 (Likely): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        may not be read: Waiting peer-silent E2 (Likely, hung in 34m): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        answered, outside of a run: Waiting peer-silent E2 (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 31m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
    "#]].assert_eq(&super::rows(rows.iter().map(|(name, look)| (*name, look.answer()))));
}

#[test]
fn a_peer_in_sight_explains_its_silence() {
    let end = |inode, peer| Socket { inode, peer: Some(peer), ..answered(120_000, 90_000, 0) };
    let client = || reads(super::socket(process(11, 10, "client"), 5, 80), 5);
    let both = |server: Process| {
        let look = Look::of(vec![awaits(process(10, 1, "sh")), client(), super::socket(server, 6, 81)]);
        look.socket(end(80, 81)).socket(end(81, 80))
    };
    let server = || process(12, 10, "server");
    let rows = [
        ("it sleeps", both(sleeps(server(), 900_000))),
        ("it waits too", both(reads(server(), 6))),
        ("it has a limit", both(calls(server(), "recv", Does::Read { fd: 6 }, TimeLimit::LeftMs(60_000)))),
    ];
    expect![[r#"
        it sleeps: Waiting daemon - (Likely): client (11) waits for its peer at 93.184.216.34:443, which has not answered for 1m: server (12) sleeps (15m) | time
        it waits too: Hung mutual-wait C6 (Likely, closed in): sh (10) and client (11) and server (12) wait for each other: client (11) waits for its peer at 93.184.216.34:443, which has not answered for 1m: server (12) waits for its peer at 93.184.216.34:443, which has not answered for 1m | nothing in sight; from outside: kill 10 | no other process, timer or person has a part in it: sh (10) → client (11): child; sh (10) → server (12): child; client (11) → server (12): socket descriptor 5
        it has a limit: Waiting peer-silent E2 (Likely, hung in 29m): client (11) waits for its peer at 93.184.216.34:443, which has not answered for 1m: server (12) waits for its peer at 93.184.216.34:443, which has not answered for 1m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
    "#]].assert_eq(&super::rows(rows.iter().map(|(name, look)| (*name, look.answer()))));
}

#[test]
fn an_end_that_is_none_of_a_servers_housekeeping() {
    let below = |tool: Process| {
        let agent = has(started(process(10, 1, "claude"), &["claude", "-p", "go"]), 3, Mode::Both, Object::Null);
        Look::of(vec![watches(agent, &[3, 3], TimeLimit::Never), tool])
    };
    let watcher = |args: &[&str], ms| {
        let watcher = watches(started(process(11, 10, "inotifywait"), args), &[3, 4], TimeLimit::GivenMs(ms));
        has(watcher, 3, Mode::Read, Object::Inotify)
    };
    let on = ["inotifywait", "-qm", "src"];
    let tail = |reader: &[&str]| {
        let follows = started(sleeps(pipe(process(11, 10, "tail"), 1, Mode::Write, 70), 1_000), &["tail", "-f", "log"]);
        let reader = reads(pipe(started(process(12, 10, reader[0]), reader), 0, Mode::Read, 70), 0);
        below(follows).both(|s| s.tree.extend([(12, reader.clone())]))
    };
    let rows = [
        ("a short timer", below(watcher(&on, 30_000))),
        ("a long one", below(watcher(&on, 900_000))),
        ("one event is enough", below(watcher(&["inotifywait", "-e", "create", "src"], 30_000))),
        ("the first line", tail(&["grep", "-m1", "x"])),
        ("without a word", tail(&["grep", "-q", "x"])),
        ("some lines", tail(&["sed", "3q"])),
        ("all lines", tail(&["grep", "x"])),
    ];
    expect![[r#"
        a short timer: Hung never-ends: Claude Code (10) waits for a command that usually does not end: inotifywait (11) watches files, and waits for one to change
        a long one: Waiting never-ends: Claude Code (10) waits for a command that usually does not end: inotifywait (11) watches files, and waits for one to change; it may end by a timer of its own (at most 15m)
        one event is enough: Waiting never-ends: Claude Code (10) waits for a command that ends at the first: inotifywait (11) watches files, and waits for one to change
        the first line: Waiting never-ends: tail (11) follows a file until grep (12) has found what it looks for
        without a word: Waiting never-ends: tail (11) follows a file until grep (12) has found what it looks for
        some lines: Waiting never-ends: tail (11) follows a file until sed (12) has found what it looks for
        all lines: Hung never-ends: tail (11) follows a file and never ends by itself
    "#]]
    .assert_eq(&super::rows(rows.iter().map(|(name, look)| (*name, head(look)))));
}

#[test]
fn an_input_that_an_orphan_holds() {
    let reader = reads(pipe(process(12, 11, "tee"), 0, Mode::Read, 70), 0);
    let shell = |name: &str| awaits(process(11, 1, name));
    let left = pipe(reads(Process { session: 20, pgrp: 20, ..process(20, 1, "server") }, 9), 1, Mode::Write, 70);
    let rows = [
        ("outside of a run", Look::of(vec![shell("bash"), reader.clone()]).beside(left.clone())),
        ("below an agent", Look::of(vec![shell("claude"), reader]).beside(left)),
    ];
    expect![[r#"
        outside of a run: Waiting stray-holds-pipe B6 (Likely): tee (12) reads its standard input to its end, but server (20), which outlived the command that started it, holds it open | the end of server (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1); no agent runs it, and who holds the other end does not wait for it
        below an agent: Hung stray-holds-pipe B6 (Likely, parts [12]): tee (12) reads its standard input to its end, but server (20), which outlived the command that started it, holds it open | the end of server (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1)
    "#]].assert_eq(&super::rows(rows.iter().map(|(name, look)| (*name, look.answer()))));
}
