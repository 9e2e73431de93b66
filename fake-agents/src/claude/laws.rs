//! Laws of the compared state: two states that will act differently have different encodings.

use super::engine::{Answerer, Config, Engine};
use super::{Args, Parsed, Release, parse};
use crate::agent_host::AgentHost;
use crate::bench::Bench;
use rehang_os::os::{Child, Exit, Fd, Program, STDIN, STDOUT};
use rehang_scenario::{Agent, Canon, VTime, plan::Plan, turns::Turn};
use rehang_wire::model::script::ModelScript;
use serde_json::{Value, json};

fn turns(turns: Value) -> Vec<Turn> {
    serde_json::from_value(turns).expect("turns")
}

fn program(line: &str, does: Value, model_port: Option<u16>) -> Box<dyn Program> {
    let agent: Agent = serde_json::from_value(json!({ "claude": { "as": "2.0.77" } })).expect("an agent");
    let plan = Plan {
        agent,
        turns: turns(does),
        faults: Vec::new(),
        inside: Vec::new(),
        model_port,
        tools: None,
        stored: None,
    };
    let words: Vec<String> = ["claude"].into_iter().chain(line.split(' ')).map(str::to_owned).collect();
    super::program(&words, Some(&plan)).expect("a program")
}

const BOTH: &str = "-p --input-format stream-json --output-format stream-json --verbose";

#[test]
fn half_a_line_and_what_is_still_to_be_written_are_compared() {
    let state = |came: &str, blocked: bool| {
        let (mut bench, mut fake) = (Bench::new(), program(BOTH, json!([]), None));
        if blocked {
            bench.full.insert(STDOUT);
        }
        bench.arrives(STDIN, came.as_bytes());
        bench.state(fake.as_mut())
    };
    assert_ne!(state("{\"a", false), state("{\"b", false));
    let asks = |id: &str| {
        let request = json!({"type": "control_request", "request_id": id, "request": {"subtype": "set_model"}});
        format!("{request}\n")
    };
    assert_ne!(state(&asks("a"), true), state(&asks("b"), true));
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
fn a_command_is_told_apart_by_how_it_ended() {
    let ended = |exit| {
        let (mut bench, mut fake) = (Bench::new(), program("-p go", json!([{ "bash": { "command": "make" } }]), None));
        bench.ends(STDIN);
        bench.state(fake.as_mut());
        assert_eq!(bench.children, 1, "it has started its command");
        // its pipes stay open, so its end is not reported yet
        bench.exits.insert(Child(1), exit);
        bench.state(fake.as_mut())
    };
    assert_ne!(ended(Exit::Code(0)), ended(Exit::Code(3)));
}

#[test]
fn what_a_command_has_printed_is_compared() {
    let printed = |text: &str| {
        let (mut bench, mut fake) = (Bench::new(), program("-p go", json!([{ "bash": { "command": "make" } }]), None));
        bench.ends(STDIN);
        bench.state(fake.as_mut());
        bench.arrives(Fd(11), text.as_bytes());
        bench.state(fake.as_mut())
    };
    assert_ne!(printed("a"), printed("b"));
}

/// An engine whose host is asked for a permission.
fn asked() -> Engine {
    let words: Vec<String> = format!("{BOTH} --permission-prompt-tool stdio").split(' ').map(str::to_owned).collect();
    let Parsed::Run(args): Parsed = parse(&words) else { panic!("the line is refused") };
    let permit = json!([{ "permit": { "permission": "edit", "patterns": ["a"], "output": "ok" } }]);
    let config = Config {
        release: Release::V2_0_77,
        args: Args { asks_host: true, ..args },
        answerer: Answerer::Host,
        turns: turns(permit),
        tool_faults: Vec::new(),
        repeats: None,
        tools: None,
    };
    let mut engine = Engine::new(config, AgentHost::default());
    let now = VTime::ZERO;
    engine.prompt(now, vec![json!({"type": "text", "text": "go"})]);
    let conv = super::Conv(0);
    for item in ModelScript::new(&[]).begin(engine.chunks(conv), now).poll(now) {
        engine.model(now, conv, item);
    }
    engine.take_effects();
    engine
}

fn state(engine: &Engine) -> Vec<u8> {
    let mut canon = Canon::new(VTime::ZERO);
    engine.canon(&mut canon);
    canon.into_bytes()
}

#[test]
fn a_rule_for_the_session_is_compared() {
    let permitted = |always| {
        let mut engine = asked();
        engine.permit(VTime::ZERO, "req_1", always);
        engine.take_effects();
        state(&engine)
    };
    assert_ne!(permitted(false), permitted(true));
}

#[test]
fn who_answers_and_what_is_still_to_be_done_are_compared() {
    let mut engine = asked();
    let before = state(&engine);
    engine.request(VTime::ZERO, "r", "set_model", &json!({}));
    assert_ne!(before, state(&engine), "a reply that is not out");
    let nobody = || {
        let config = Config {
            release: Release::V2_0_77,
            args: Args::default(),
            answerer: Answerer::Nobody,
            turns: Vec::new(),
            tool_faults: Vec::new(),
            repeats: None,
            tools: None,
        };
        Engine::new(config, AgentHost::default())
    };
    let mut person = nobody();
    person.person_answers();
    assert_ne!(state(&nobody()), state(&person));
}
