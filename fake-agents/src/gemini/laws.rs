//! Laws of the compared state: two states that will act differently have different encodings.

use crate::bench::Bench;
use rehang_os::os::{Child, Exit, Fd, Program, STDIN};
use rehang_scenario::{Agent, plan::Plan};
use serde_json::{Value, json};

fn program(line: &str, turns: Value, model_port: Option<u16>) -> Box<dyn Program> {
    let agent: Agent = serde_json::from_value(json!({ "gemini": { "as": "0.61.0" } })).expect("an agent");
    let turns = serde_json::from_value(turns).expect("turns");
    let plan = Plan { agent, turns, faults: Vec::new(), inside: Vec::new(), model_port, tools: None, stored: None };
    let words: Vec<String> = ["gemini"].into_iter().chain(line.split(' ')).map(str::to_owned).collect();
    super::program(&words, Some(&plan)).expect("a program")
}

#[test]
fn what_was_piped_in_is_compared() {
    let came = |bytes: &str| {
        let (mut bench, mut fake) = (Bench::new(), program("-p go", json!([]), None));
        bench.arrives(STDIN, bytes.as_bytes());
        bench.state(fake.as_mut())
    };
    assert_ne!(came("a"), came("b"));
}

#[test]
fn a_models_stream_is_told_apart_by_what_has_come_of_it() {
    let came = |bytes: &str| {
        let (mut bench, mut fake) = (Bench::new(), program("-p go", json!([]), Some(1)));
        bench.ends(STDIN);
        let model = bench.next_fd();
        bench.state(fake.as_mut());
        bench.arrives(model, bytes.as_bytes());
        bench.state(fake.as_mut())
    };
    assert_ne!(came("HTTP/1.1 2"), came("HTTP/1.1 4"), "half a head");
}

#[test]
fn a_command_is_told_apart_by_its_output_and_its_end() {
    let state = |printed: &str, exit: Option<Exit>| {
        let turns = json!([{ "bash": { "command": "make" } }]);
        let (mut bench, mut fake) = (Bench::new(), program("-p go", turns, None));
        bench.ends(STDIN);
        bench.state(fake.as_mut());
        assert_eq!(bench.children, 1, "it has started its command");
        bench.arrives(Fd(11), printed.as_bytes());
        // its pipes stay open, so its end is not reported yet
        bench.exits.extend(exit.map(|exit| (Child(1), exit)));
        bench.state(fake.as_mut())
    };
    assert_ne!(state("a", None), state("b", None));
    assert_ne!(state("a", Some(Exit::Code(0))), state("a", Some(Exit::Code(3))));
    assert_ne!(state("a", None), state("a", Some(Exit::Code(0))));
}
