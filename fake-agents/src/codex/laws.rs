//! Laws of the compared state: two states that will act differently have different encodings.

use super::Release;
use crate::bench::Bench;
use rehang_os::os::{Child, Exit, Fd, Next, Program, STDIN, STDOUT};
use rehang_scenario::{Agent, Span, plan::Plan};
use serde_json::{Value, json};

fn program(release: &str, does: Value, model_port: Option<u16>) -> Box<dyn Program> {
    let agent: Agent = serde_json::from_value(json!({ "codex": { "as": release } })).expect("an agent");
    let turns = serde_json::from_value(does).expect("turns");
    let plan = Plan { agent, turns, faults: Vec::new(), inside: Vec::new(), model_port, tools: None, stored: None };
    let words: Vec<String> = ["codex", "exec", "--json", "go"].map(str::to_owned).to_vec();
    super::program(&words, Some(&plan)).expect("a program")
}

#[test]
fn what_was_piped_in_and_what_is_still_to_be_written_are_compared() {
    let state = |came: &str| {
        let (mut bench, mut fake) = (Bench::new(), program("0.169.0", json!([]), None));
        bench.arrives(STDIN, came.as_bytes());
        bench.state(fake.as_mut())
    };
    assert_ne!(state("a"), state("b"));
    let blocked = |release: &str| {
        let (mut bench, mut fake) = (Bench::new(), program(release, json!([{ "say": "hi" }]), None));
        bench.full.insert(STDOUT);
        bench.state(fake.as_mut())
    };
    assert_ne!(blocked("0.45.0"), blocked("0.169.0"));
}

#[test]
fn a_models_stream_is_told_apart_by_what_has_come_of_it() {
    let came = |bytes: &str| {
        let (mut bench, mut fake) = (Bench::new(), program("0.58.0", json!([]), Some(1)));
        let model = bench.next_fd();
        bench.state(fake.as_mut());
        bench.arrives(model, bytes.as_bytes());
        bench.state(fake.as_mut())
    };
    assert_ne!(came("HTTP/1.1 2"), came("HTTP/1.1 4"), "half a head");
}

#[test]
fn a_command_is_told_apart_by_how_it_ended_and_by_what_it_has_printed() {
    let make = || program("0.45.0", json!([{ "bash": { "command": "make" } }]), None);
    let ended = |exit| {
        let (mut bench, mut fake) = (Bench::new(), make());
        bench.state(fake.as_mut());
        assert_eq!(bench.children, 1, "it has started its command");
        // its pipes stay open, so its end is not reported yet
        bench.exits.insert(Child(1), exit);
        bench.state(fake.as_mut())
    };
    assert_ne!(ended(Exit::Code(0)), ended(Exit::Code(3)));
    let printed = |text: &str| {
        let (mut bench, mut fake) = (Bench::new(), make());
        bench.state(fake.as_mut());
        bench.arrives(Fd(11), text.as_bytes());
        bench.state(fake.as_mut())
    };
    assert_ne!(printed("a"), printed("b"));
}

/// The three ways to wait for a pipe that somebody else holds.
#[test]
fn a_held_pipe_is_waited_for_as_the_release_does() {
    let waits_until = |release: &Release| {
        let (mut bench, mut fake) =
            (Bench::new(), program(release.version, json!([{ "bash": { "command": "make" } }]), None));
        bench.ends(STDIN);
        bench.state(fake.as_mut());
        bench.exits.insert(Child(1), Exit::Code(0));
        match fake.resume(&mut bench) {
            Next::Wait(wait) => (wait.on, wait.until.map(|at| at.since(bench.now))),
            Next::Exit(code) => panic!("{}: exit {code}", release.version),
        }
    };
    let expected = [None, Some(Span::secs(2)), Some(Span::ms(50)), Some(Span::ms(50))];
    assert_eq!(Release::ALL.map(waits_until), expected.map(|until| ("bash", until)));
}
