//! An agent that is not known, with the caller's word that it is one and without it: the difference that this makes, and
//! where it makes none on purpose.

use super::*;
use rehang_hangs::Signature;

/// A program that nothing is known of, in an event loop.
fn own(args: &[&str], watched: &[i32]) -> Process {
    let process = started(process(11, 10, "my-agent"), &[&["my-agent"], args].concat());
    watches(has(process, 5, Mode::Both, Object::Event { count: 0 }), &[&[5], watched].concat(), TimeLimit::Never)
}

fn named(look: Look) -> Look {
    let names = crate::AgentNames::new(["my-agent"]).unwrap();
    look.both(|snapshot| names.mark(snapshot))
}

fn old(look: Look) -> Look {
    look.both(|s| s.at_ns += 2 * 3_600 * 1_000_000_000)
}

/// A tool's command below it that reads a pipe of its agent's.
fn tool() -> Look {
    let agent = pipe(own(&[], &[]), 7, Mode::Write, 70);
    let shell = awaits(started(process(12, 11, "sh"), &["sh", "-c", "cat; x"]));
    let shell = pipe(shell, 0, Mode::Read, 70);
    Look::of(vec![
        awaits(process(10, 1, "sh")),
        agent,
        shell,
        reads(pipe(process(13, 12, "cat"), 0, Mode::Read, 70), 0),
    ])
}

fn silent() -> Look {
    let traffic = Traffic {
        sent_bytes: 900,
        received_bytes: 10,
        since_sent_ms: 5_000_000,
        since_received_ms: 5_000_000,
        ..Traffic::default()
    };
    let socket = Socket {
        inode: 80,
        family: Family::Tcp,
        state: SocketState::Established,
        remote: "203.0.113.7:443".into(),
        traffic: Some(traffic),
        ..Socket::default()
    };
    old(Look::of(vec![super::socket(own(&[], &[6]), 6, 80)]).socket(socket))
}

fn cases() -> Vec<(&'static str, Look)> {
    let caller = pipe(awaits(process(10, 1, "python3")), 4, Mode::Write, 70);
    let fed = |process| reads(pipe(process, 0, Mode::Read, 70), 0);
    let plain = || started(process(11, 10, "my-agent"), &["my-agent"]);
    let host = pipe(pipe(process(10, 1, "editor"), 4, Mode::Write, 70), 5, Mode::Read, 71);
    let host = tty(host, 0, 1);
    let hosted =
        Look::of(vec![fed(pipe(plain(), 1, Mode::Write, 71))]).beside(watches(host, &[0, 5], TimeLimit::Never));
    let record = |turn: &str| Agent {
        pid: 11,
        name: "my-agent".into(),
        turn: turn.into(),
        sources: vec!["its messages".into()],
        ..Agent::default()
    };
    let over = || old(Look::of(vec![own(&["-p", "x"], &[])])).both(|s| s.agents = vec![record("ended")]);
    let interrupted = Process { signals: Signals { caught: 1 << 9, ..Signals::default() }, ..own(&[], &[]) };
    vec![
        ("nothing under way", old(Look::of(vec![own(&[], &[])]))),
        ("a silent connection", silent()),
        ("a tool's command", tool()),
        ("its stdin, held open", Look::of(vec![fed(plain())]).beside(caller)),
        ("both streams at one host", hosted),
        ("a terminal", Look::of(vec![tty(own(&["-p", "x"], &[0]), 0, 1)])),
        ("a port", old(Look::of(vec![socket(own(&[], &[6]), 6, 80)]).socket(listening(80, "127.0.0.1:9000")))),
        ("its turn is over", over()),
        ("it handles a signal", old(Look::of(vec![interrupted]))),
        (
            "it computes alone",
            spends(Look::of(vec![calls(Process { ppid: 1, ..plain() }, "", Does::Other, TimeLimit::Never)]), 11, 100),
        ),
    ]
}

#[test]
fn without_the_callers_word_it_is_any_program() {
    expect![[r#"
        nothing under way: Unknown unknown - (Guess): my-agent (11) waits for an event descriptor, descriptor 5: who else has it cannot be seen
        a silent connection: Waiting peer-silent E2 (Likely): my-agent (11) waits for its peer at 203.0.113.7:443, which began to answer and has been silent for 1h23m | a byte or an end from 203.0.113.7:443; from outside: kill 11 | 10 bytes came, then none; a connection that is merely kept looks the same
        a tool's command: Waiting stdin-open S1 (Likely): cat (13) waits for its standard input to end or to say something, and my-agent (11) keeps it open without a word | my-agent (11) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 13 | read(0) has no time limit; my-agent (11) might still write; no agent runs it, and who holds the other end does not wait for it
        its stdin, held open: Hung stdin-open S1 (Likely): my-agent (11) waits for its standard input to end or to say something, and python3 (10) keeps it open without a word | python3 (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit, and python3 (10), which could end it, waits for my-agent (11) itself: they wait for each other
        both streams at one host: Waiting helper - (Likely): my-agent (11) waits for editor (10) to write to its standard input | a request; or, if it is a command that asks something, a line: next time, editor (10) starts it with </dev/null
        a terminal: Waiting tty-read B2 (Likely): my-agent (11) waits for a key at the terminal /dev/pts/3 | a line typed there, or the terminal's own answer where it was asked for one (its cursor, its colours: T2); started in a session of its own (setsid) with </dev/null it would fail at once instead; from outside: kill 11 | poll on /dev/pts/3 in the terminal's foreground group 1; no agent runs it: a person may sit there, or come
        a port: Waiting serves - (Likely): my-agent (11) waits for requests at 127.0.0.1:9000 | a request; a server ends when told to | it listens there, and has nothing else under way
        its turn is over: Unknown unknown - (Guess): my-agent (11) waits for an event descriptor, descriptor 5: who else has it cannot be seen
        it handles a signal: Unknown unknown - (Guess): my-agent (11) waits for an event descriptor, descriptor 5: who else has it cannot be seen
        it computes alone: Working computing - (Likely): my-agent (11) computes: 100 % of a core, no byte read or written, no memory touched anew | the end of what it computes | a loop without an end looks the same from outside: only whether it is at it much later tells
    "#]].assert_eq(&all_answers(cases()));
}

#[test]
fn with_the_callers_word_it_is_an_agent_and_what_is_not_known_of_it_may_wake_it() {
    let all = cases().into_iter().map(|(name, look)| (name, named(look))).collect();
    expect![[r#"
        nothing under way: Hung no-connection M8 (Likely): my-agent (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        a silent connection: Hung model-silent M1 (Likely): my-agent (11) waits for the model's stream at 203.0.113.7:443, which began to answer and has been silent for 1h23m | a byte or an end from 203.0.113.7:443; from outside: kill 11 | 10 bytes came, then none; a connection that is merely kept looks the same
        a tool's command: Hung stdin-open B1 (Likely, parts [12]): cat (13) waits for its standard input to end or to say something, and my-agent (11) keeps it open without a word | my-agent (11) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 13 | read(0) has no time limit; my-agent (11) might still write: a tool server that waits for requests looks the same, where nothing in its name says that it is one
        its stdin, held open: Hung stdin-open S1 (Certain, closed in): my-agent (11) waits for its standard input to end or to say something, and python3 (10) keeps it open without a word | python3 (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 11 | read(0) has no time limit, and python3 (10), which could end it, waits for my-agent (11) itself: they wait for each other
        both streams at one host: Waiting between-turns H7 (Likely): my-agent (11) waits for the next message of editor (10) | a message, or the end of its input | both its streams are in one host's hands, and no turn is known to be open
        a terminal: Waiting terminal-person T3 (Likely): my-agent (11) shows its screen and waits for a person's key at the terminal /dev/pts/3 | a key, or the answer that its screen asks for | whether anybody sits there cannot be seen from here
        a port: Waiting serves - (Likely): my-agent (11) waits for requests at 127.0.0.1:9000 | a request
        its turn is over: Hung no-connection M8 (Likely): my-agent (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        it handles a signal: Hung no-connection M8 (Guess): my-agent (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it handles signals by which programs wake each other
        it computes alone: Working computing - (Likely): my-agent (11) computes: 100 % of a core, no byte read or written, no memory touched anew | the end of what it computes | a loop without an end looks the same from outside: only whether it is at it much later tells
    "#]].assert_eq(&all_answers(all));
}

#[test]
fn the_mark_is_in_the_snapshot() {
    let look = named(silent());
    let text = serde_json::to_string(&look.after).unwrap();
    let read: Snapshot = serde_json::from_str(&text).unwrap();
    assert_eq!(read, look.after);
    assert_eq!(read.tree[&11].agent.as_deref(), Some("my-agent"));
    let again = Look { before: read.clone(), after: read };
    assert_eq!(again.diagnosis().signature, Signature::ModelSilent);
    // a snapshot of an earlier release has no such field
    let unmarked = silent().after;
    assert!(!serde_json::to_string(&unmarked).unwrap().contains("\"agent\":"));
}
