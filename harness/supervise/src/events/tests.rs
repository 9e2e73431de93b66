use super::*;
use rehang_evidence::diagnosis::graph::{Over, To};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/events.md");

fn text(word: &str) -> String {
    word.to_owned()
}

/// One of each, as the page has them.
fn samples() -> [(u64, Event); 6] {
    let stdin = "the agent waits for its stdin, and nobody writes to it or closes it";
    let finding = Finding {
        verdict: Verdict::Hung,
        signature: Signature::StdinOpen,
        mechanism: Some(Mechanism::S1),
        sure: Sure::Likely,
        pid: 4711,
        is_root: true,
        since_ms: 11_003,
        sentence: text(
            "Claude Code (4711) waits for its standard input to end or to say something, and node (4700) keeps it open without a word",
        ),
        ends: text(
            "node (4700) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 4711",
        ),
        because: text("read(0) has no time limit; node (4700) might still write"),
        last_line: String::new(),
        waits: vec![Edge { from: 4711, to: To::Process(4700), over: Over::Pipe, which: text("its standard input") }],
        closed_in: false,
        processes: vec![Member { pid: 4711, ppid: 4710, name: text("claude"), state: State::Sleeping }],
    };
    let start = Event::Start {
        argv: ["claude", "-p", "fix the tests"].map(text).to_vec(),
        pid: 4711,
        strategies: vec![text("guard")],
        dry_run: false,
        unix_ms: 1_795_302_000_000,
    };
    let plan = Event::Plan {
        by: text("guard-process"),
        does: "end",
        cause: text("stdin-open"),
        text: text(stdin),
        pid: Some(4711),
        since_ms: 11_003,
        at_ms: 51_003,
    };
    let act = Event::Act {
        by: text("guard-process"),
        does: "signal",
        signal: Some("TERM"),
        done: true,
        cause: text("stdin-open"),
        text: text(stdin),
        constants: [(text("limit_ms"), 40_000)].into(),
        processes: vec![text("claude (4711)")],
    };
    let end = Event::End {
        code: 123,
        by: Some(text("guard-process")),
        reason: Some(format!("ended after 51s: {stdin} [stdin-open, guard-process]; ended claude (4711)")),
        ended: vec![text("claude (4711)")],
        left: Vec::new(),
        evidence: Some(PathBuf::from("/home/me/.cache/rehang/supervised/1795302051-4710")),
    };
    [(3, start), (11_003, Event::Look(finding)), (11_003, plan), (40_210, Event::Moved), (51_004, act), (51_310, end)]
}

fn line(ms: u64, lost: u64, event: &Event) -> String {
    serde_json::to_string(&Line { v: VERSION, ms, lost, event }).expect("JSON")
}

#[test]
fn the_page_has_each_event_as_it_is_written() {
    let written: Vec<String> = samples().iter().map(|(ms, event)| line(*ms, 0, event)).collect();
    let examples: Vec<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("    {")).collect();
    assert_eq!(examples.len(), written.len());
    for (example, written) in examples.iter().zip(&written) {
        assert_eq!(format!("{{{example}"), *written);
    }
}

fn lines(read: OwnedFd) -> Vec<Value> {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::fs::File::from(read), &mut text).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

fn pipe() -> (OwnedFd, Events) {
    let (read, to) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    (read, Events { to, unsent: Vec::new(), lost: 0, gone: false })
}

#[test]
fn what_a_slow_reader_has_no_room_for_is_counted_and_lines_stay_whole() {
    let (read, mut events) = pipe();
    let text = "x".repeat(300 * 1_024);
    let big = Event::Start { argv: vec![text], pid: 1, strategies: Vec::new(), dry_run: false, unix_ms: 0 };
    (0..5).for_each(|ms| events.add(ms, &big));
    assert_eq!(events.lost, 2, "three of 300 KiB fit");
    let reader = std::thread::spawn(move || lines(read));
    while events.unsent().is_some() {
        events.send();
    }
    events.add(9, &Event::Moved);
    events.flush();
    drop(events);
    let told: Vec<(u64, u64)> = reader
        .join()
        .expect("a thread")
        .iter()
        .map(|line| (line["ms"].as_u64().expect("a time"), line["lost"].as_u64().unwrap_or(0)))
        .collect();
    assert_eq!(told, [(0, 0), (1, 0), (2, 0), (9, 2)]);
}

#[test]
fn a_reader_that_is_gone_is_nobody_s_trouble() {
    let (read, mut events) = pipe();
    drop(read);
    // SIGPIPE is ignored, as in every Rust program
    events.add(1, &Event::Moved);
    events.flush();
    assert!(events.gone && events.unsent().is_none());
    events.add(2, &Event::Moved);
    assert!(events.unsent().is_none());
}

#[test]
fn a_place_is_a_file_or_a_descriptor_that_is_not_the_command_s() {
    assert_eq!("fd:3".parse(), Ok(EventsTo::Descriptor(3)));
    assert_eq!("out.ndjson".parse(), Ok(EventsTo::File(PathBuf::from("out.ndjson"))));
    assert_eq!("fd:1".parse::<EventsTo>(), Err(EventsToError::Taken(1)));
    for wrong in ["fd:", "fd:x", "fd:-4"] {
        assert!(matches!(wrong.parse::<EventsTo>(), Err(EventsToError::NoNumber(_))), "{wrong}");
    }
}
