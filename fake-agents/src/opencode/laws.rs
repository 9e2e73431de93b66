//! Laws of the compared state: two states that will act differently have different encodings, and a state that does the
//! same for ever returns to an encoding that it had.
//!
//! The engine is driven directly, whole programs run on a [`Bench`]. Names are identified by their order of appearance:
//! a `que_7` that is asked in one history is the `que_9` of the other.

use super::engine::{Effect, Engine, Out, Setup};
use super::host::Outgoing;
use super::release::Release;
use super::{Args, By, Permit, call_of, planned};
use crate::agent_host::AgentHost;
use crate::bench::Bench;
use rehang_os::os::{Child, Exit, Fd, Program, STDERR, STDOUT};
use rehang_scenario::{
    Agent, Canon, Fault, Span, VTime,
    plan::Plan,
    turns::{Finish, Turn},
};
use rehang_wire::model::ModelEvent;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// An input of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    Prompt(&'static str),
    /// The newest stream gives its next part, or its finish.
    Says,
    /// The stream ends, with what it has said.
    Ends,
    /// The stream fails with this status.
    Fails(u16),
    Wait(u64),
    /// The first question is answered, or the first permission.
    Answer,
    Refuse,
    /// The first bash tool prints, and ends.
    Prints(&'static str),
    Exits,
    Abort,
    Get(&'static str),
}

/// An engine with the streams and tools that it has begun.
struct Play {
    engine: Engine,
    now: VTime,
    streams: Vec<(u32, VecDeque<ModelEvent>)>,
    tools: Vec<u32>,
    calls: u32,
    tickets: u32,
    said: Vec<Out>,
}

impl Play {
    fn new(version: &str, turns: Value, faults: Value) -> Play {
        let turns: Vec<Turn> = serde_json::from_value(turns).expect("turns");
        let faults: Vec<Fault> = serde_json::from_value(faults).expect("faults");
        let setup = Setup { turns, faults, run: false, question_registered: true };
        let mut engine = Engine::new(Release::opencode(version).expect("a release"), setup, AgentHost::default());
        engine.create_session(VTime(500), "t", &[]);
        let (streams, tools) = (Vec::new(), Vec::new());
        let mut play = Play { engine, now: VTime(1_000), streams, tools, calls: 0, tickets: 0, said: Vec::new() };
        play.take();
        play
    }

    fn after(mut self, inputs: &[In]) -> Play {
        inputs.iter().for_each(|input| self.step(*input));
        self
    }

    /// The state that these inputs lead to.
    fn state(&self) -> Vec<u8> {
        let mut canon = Canon::new(self.now);
        self.engine.canon(&mut canon);
        canon.into_bytes()
    }

    fn take(&mut self) {
        self.engine.clock(self.now);
        for out in self.engine.take() {
            match &out {
                Out::Effect(Effect::AskModel { stream, response, .. }) => {
                    let events = response.parts.iter().filter_map(|turn| match turn {
                        Turn::Say(text) => Some(ModelEvent::TextDelta(text.clone())),
                        turn => {
                            self.calls += 1;
                            call_of(turn, format!("call_{}", self.calls)).map(ModelEvent::ToolCall)
                        }
                    });
                    let mut events: VecDeque<_> = events.collect();
                    events.extend((response.finish != Finish::None).then_some(ModelEvent::Finish(response.finish)));
                    self.streams.push((*stream, events));
                }
                Out::Effect(Effect::StopModel { stream }) => self.streams.retain(|(of, _)| of != stream),
                Out::Effect(Effect::Spawn { tool, .. }) => self.tools.push(*tool),
                Out::Effect(Effect::Kill { tool }) => self.tools.retain(|of| of != tool),
                _ => {}
            }
            self.said.push(out);
        }
    }

    fn request(&mut self, method: &str, path: &str, body: &str) {
        self.tickets += 1;
        self.engine.request(self.now, self.tickets, method, path, body.as_bytes());
    }

    fn step(&mut self, input: In) {
        let (now, newest) = (self.now, self.streams.last().map(|(stream, _)| *stream));
        let asked = self.engine.asks.first().map(|ask| ask.id.clone());
        match input {
            In::Prompt(text) => {
                let body = json!({ "parts": [{ "type": "text", "text": text }] }).to_string();
                self.request("POST", "/session/ses_1/message", &body);
            }
            In::Says => {
                let next = self.streams.last_mut().and_then(|(_, events)| events.pop_front());
                if let (Some(stream), Some(event)) = (newest, next) {
                    self.engine.model_event(now, stream, event);
                }
            }
            In::Ends | In::Fails(_) => {
                let Some(stream) = newest else { return };
                self.streams.pop();
                match input {
                    In::Fails(status) => self.engine.model_failed(now, stream, status, "no"),
                    _ => self.engine.model_ended(now, stream),
                }
            }
            In::Wait(ms) => {
                self.now = now + Span(ms);
                self.engine.clock(self.now);
                if self.engine.deadline().is_some_and(|at| at <= self.now) {
                    self.engine.tick(self.now);
                }
            }
            In::Answer | In::Refuse => {
                let Some(id) = asked else { return };
                self.engine.at(now);
                if self.engine.questions(&id).is_some() {
                    let _ = match input {
                        In::Answer => self.engine.reply_question(&id, vec![vec!["x".to_owned()]], &By::user()),
                        _ => self.engine.reject_question(&id, None, &By::user()),
                    };
                } else {
                    let permit = if input == In::Answer { Permit::Once } else { Permit::Reject };
                    let _ = self.engine.reply_permission(&id, permit, &By::user());
                }
            }
            In::Prints(text) => {
                if let Some(tool) = self.tools.first() {
                    self.engine.bash_output(now, *tool, text);
                }
            }
            In::Exits => {
                if !self.tools.is_empty() {
                    let tool = self.tools.remove(0);
                    self.engine.bash_over(now, tool, super::BashEnd::Exit(Some(0)));
                }
            }
            In::Abort => self.request("POST", "/session/ses_1/abort", ""),
            In::Get(path) => self.request("GET", path, ""),
        }
        self.take();
    }
}

/// The engine's outputs, with names in the order of their appearance and without instants.
fn shapes(said: &[Out]) -> Vec<String> {
    let mut names = BTreeMap::new();
    let mut tickets = BTreeMap::new();
    let shape = |out: &Out| match out {
        Out::Event(event) => format!("{} {}", event.kind, shape_of(&event.json, &mut names)),
        Out::Fact(fact) => shape_of(&serde_json::to_string(fact).expect("a fact"), &mut names),
        Out::Respond(answer) => {
            let nth = tickets.len();
            let ticket = *tickets.entry(answer.ticket).or_insert(nth);
            format!("{ticket} {} {}", answer.status, shape_of(&answer.body, &mut names))
        }
        Out::Effect(Effect::AskModel { stream: _, path, response, answer }) => {
            format!("ask {path} {response:?} {}", renamed(answer, &mut names))
        }
        Out::Effect(Effect::StopModel { stream: _ }) => "stop".to_owned(),
        Out::Effect(Effect::Spawn { tool: _, bash }) => format!("spawn {bash:?}"),
        Out::Effect(Effect::Kill { tool: _ }) => "kill".to_owned(),
        Out::Effect(Effect::Say(text)) => text.clone(),
        Out::Effect(Effect::StripEnv(name)) => (*name).to_owned(),
    };
    said.iter().map(shape).collect()
}

fn shape_of(text: &str, names: &mut BTreeMap<String, usize>) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => plain(&value, names).to_string(),
        Err(_) => renamed(text, names),
    }
}

/// The same without what is sent but never read; of what repeats in place, only two are kept.
fn plain(value: &Value, names: &mut BTreeMap<String, usize>) -> Value {
    const SHOWN: [&str; 5] = ["time", "next", "attempt", "response", "timestamp"];
    match value {
        Value::String(text) => Value::String(renamed(text, names)),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| !SHOWN.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), plain(value, names))).collect::<serde_json::Map<_, _>>().into()
        }
        Value::Array(items) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items {
                kept.push(plain(item, names));
                let cubes = (1..=kept.len() / 3).find(|n| {
                    let (a, b, c) = (kept.len() - 3 * n, kept.len() - 2 * n, kept.len() - n);
                    kept[a..b] == kept[b..c] && kept[b..c] == kept[c..]
                });
                if let Some(n) = cubes {
                    kept.truncate(kept.len() - n);
                }
            }
            Value::Array(kept)
        }
        other => other.clone(),
    }
}

/// Ids of asks by their order of appearance; those of messages, parts, calls and subagents without a number.
fn renamed(text: &str, names: &mut BTreeMap<String, usize>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('_') {
        let (before, after) = rest.split_at(at);
        let digits = after[1..].bytes().take_while(u8::is_ascii_digit).count();
        let kind = ["ses", "msg", "prt", "que", "per", "call", "evt"].into_iter().find(|kind| before.ends_with(kind));
        out.push_str(before);
        match kind {
            Some(kind) if digits > 0 => {
                let name = format!("{kind}{}", &after[..=digits]);
                let nth = names.len();
                match kind {
                    "que" | "per" => out.push_str(&format!("_{}", names.entry(name).or_insert(nth))),
                    _ if name == "ses_1" => out.push_str("_1"),
                    _ => out.push_str("_*"),
                }
            }
            _ => out.push_str(&after[..=digits]),
        }
        rest = &after[1 + digits..];
    }
    out + rest
}

fn turns() -> Value {
    json!([
        { "say": "one" },
        { "bash": { "command": "make" } },
        { "permit": { "permission": "edit", "patterns": ["a"], "output": "ok" } },
        { "ask": [{ "question": "Which?", "options": [{ "label": "x" }] }] },
        { "task": { "description": "look", "turns": [{ "say": "seen" }] } },
        { "say": "done: {answer}" },
    ])
}

const VERSIONS: [&str; 4] = ["1.0.185", "1.2.15", "1.3.2", "1.18.33"];

/// A source of pseudo-random choices: the same seed gives the same ones.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn inputs(&mut self, most: usize) -> Vec<In> {
        const ALL: [In; 18] = [
            In::Prompt("go"),
            In::Says,
            In::Says,
            In::Says,
            In::Ends,
            In::Ends,
            In::Fails(0),
            In::Fails(500),
            In::Fails(400),
            In::Wait(250),
            In::Wait(30_000),
            In::Answer,
            In::Refuse,
            In::Prints("a"),
            In::Exits,
            In::Abort,
            In::Get("/session/ses_1/message?limit=1"),
            In::Get("/question"),
        ];
        (0..=self.below(most)).map(|_| ALL[self.below(ALL.len())]).collect()
    }
}

#[test]
fn equal_states_go_on_alike() {
    let faults = json!([
        { "post": { "nth": 3, "does": { "status": 503 } } },
        { "get": { "path": "/question", "times": 3, "status": 500 } },
        { "tool": { "nth": 4, "does": "loses-result" } },
    ]);
    let mut equal = 0;
    for seed in 0..600 {
        let mut dice = Dice(seed);
        let version = VERSIONS[dice.below(VERSIONS.len())];
        let new = || Play::new(version, turns(), faults.clone());
        let (begin, cycle, more) = (dice.inputs(6), dice.inputs(4), dice.inputs(5));
        let mut all = begin;
        (0..8).for_each(|_| all.extend(&cycle));
        let mut known: Vec<(Vec<u8>, usize)> = Vec::new();
        let mut play = new();
        for at in 0..=all.len() {
            let state = play.state();
            if let Some((_, before)) = known.iter().rev().find(|(of, _)| *of == state) {
                equal += 1;
                let on = |prefix: usize| {
                    let mut play = new().after(&all[..prefix]);
                    play.said.clear();
                    let unread = !play.engine.read;
                    let play = play.after(&more);
                    // the first client that reads messages may look at their times, which did not count before
                    let state = (unread != play.engine.read).then(|| play.state());
                    (shapes(&play.said), state)
                };
                let ((said, state), (said_again, state_again)) = (on(*before), on(at));
                let what = format!("seed {seed}, {version}: {before} and {at} of {all:?}, then {more:?}");
                assert_eq!(said, said_again, "{what}");
                assert!(state == state_again, "{what}: the states differ");
            }
            known.push((state, at));
            if let Some(input) = all.get(at) {
                play.step(*input);
            }
        }
    }
    assert!(equal > 2_000, "only {equal} states came twice: the law was hardly looked at");
}

#[test]
fn a_loop_comes_back_to_its_state() {
    // what one turn of the loop is, and after how many it repeats
    let cut = [In::Says, In::Ends];
    let refused = [In::Fails(500), In::Wait(30_000)];
    let half = [In::Says, In::Fails(0), In::Wait(30_000)];
    let says = json!([{ "say": "half" }, { "finish": "none" }]);
    for version in VERSIONS {
        for turn in [&cut[..], &refused, &half] {
            let mut play = Play::new(version, says.clone(), json!([])).after(&[In::Prompt("go")]);
            for _ in 0..6 {
                play = play.after(turn);
            }
            let settled = play.state();
            for _ in 0..3 {
                play = play.after(turn);
                assert!(play.state() == settled, "{version}: {turn:?} goes on to grow");
            }
        }
    }
}

#[test]
fn what_is_read_later_differs() {
    let differ = |why: &str, version: &str, faults: &Value, one: &[In], other: &[In]| {
        let state = |inputs: &[In]| Play::new(version, turns(), faults.clone()).after(inputs).state();
        assert!(state(one) != state(other), "{why}: the same state");
    };
    let none = json!([]);
    let says = [In::Says, In::Says, In::Ends];
    let turn = |text| [&[In::Prompt(text)], &says[..]].concat();
    // the last turn is the same; 400 ends a turn without a part, so that only the older prompt tells them apart
    let with = |first| [In::Prompt(first), In::Fails(400), In::Prompt("go"), In::Fails(400)];
    differ("an older prompt", "1.2.15", &none, &with("a"), &with("b"));
    differ("one more message", "1.2.15", &none, &turn("go"), &[turn("go"), vec![In::Prompt("go")]].concat());
    let refuses = |nth: u32| json!({ "post": { "nth": nth, "does": { "status": 503 } } });
    let posts = json!([refuses(1), refuses(2), refuses(4)]);
    differ("one more POST", "1.2.15", &posts, &[In::Prompt("go")], &[In::Prompt("go"), In::Prompt("go")]);
    let gets = json!([{ "get": { "path": "/question", "times": 3, "status": 500 } }]);
    let get = In::Get("/question");
    differ("one more GET", "1.2.15", &gets, &[get], &[get, get]);
    let nth_call = json!([{ "tool": { "nth": 9, "does": "loses-result" } }]);
    let bash = json!([{ "bash": { "command": "make" } }]);
    let calls = |times: usize, faults: &Value| {
        let retry = [In::Says, In::Fails(0), In::Wait(30_000)].repeat(times);
        Play::new("1.18.16", bash.clone(), faults.clone()).after(&[In::Prompt("go")]).after(&retry).state()
    };
    assert!(calls(6, &none) == calls(7, &none), "a retry that calls a tool comes back");
    assert!(calls(6, &nth_call) != calls(7, &nth_call), "one more tool call: the same state");
    let prints = |text| {
        [vec![In::Prompt("go"), In::Says, In::Says, In::Ends, In::Says], vec![In::Prints(LONG), In::Prints(text)]]
            .concat()
    };
    differ("more of an output that is shown no more of", "1.2.15", &none, &prints("ab"), &prints("ac"));
}

/// As much of its output as a bash tool's part shows.
const LONG: &str = {
    static BYTES: [u8; super::release::METADATA_MAX_BYTES] = [b'x'; super::release::METADATA_MAX_BYTES];
    match std::str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => "",
    }
};

#[test]
fn the_age_of_the_newest_message_counts_for_the_one_who_reads_messages() {
    let state = |reads: bool, wait| {
        let list: &[In] = if reads { &[In::Get("/session/ses_1/message?limit=1")] } else { &[] };
        let inputs = [&[In::Prompt("go")], list, &[In::Wait(wait)]].concat();
        Play::new("1.2.15", turns(), json!([])).after(&inputs).state()
    };
    assert_ne!(state(true, 89_000), state(true, 90_000));
    assert_eq!(state(true, 90_001), state(true, 100_000), "nobody compares it with more than 90 s");
    assert_eq!(state(false, 1_000), state(false, 2_000));
}

#[test]
fn what_is_still_to_be_written_is_compared_byte_by_byte() {
    let state = |text: &str| {
        let mut out = Outgoing::default();
        out.push(text.as_bytes());
        let mut canon = Canon::new(VTime::ZERO);
        out.canon(&mut canon);
        canon.into_bytes()
    };
    assert_ne!(state("ab"), state("ac"));
    assert_ne!(state("ab"), state("abc"));
}

// --- programs ---

fn program(agent: Value, line: &str, turns: Value, model_port: Option<u16>) -> Box<dyn Program> {
    let agent: Agent = serde_json::from_value(agent).expect("an agent");
    let turns = serde_json::from_value(turns).expect("turns");
    let plan = Plan { agent, turns, faults: Vec::new(), inside: Vec::new(), model_port, tools: None, stored: None };
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let args: Args = super::parse(&words);
    planned(args, &plan).expect("a program")
}

fn opencode() -> Value {
    json!({ "opencode": { "as": "1.2.15" } })
}

/// The state of a server, after a client has sent this.
fn server_told(says: &str) -> (Bench, Box<dyn Program>, Fd, Vec<u8>) {
    let (mut bench, mut serve) = (Bench::new(), program(opencode(), "serve", turns(), None));
    bench.state(serve.as_mut());
    let fd = bench.client(says);
    let state = bench.state(serve.as_mut());
    (bench, serve, fd, state)
}

#[test]
fn a_server_is_told_apart_by_what_its_clients_have_said_and_have_not_taken() {
    let half = |says: &str| server_told(says).3;
    assert_ne!(half("GET /do"), half("GET /se"));
    let untaken = |path: &str| {
        let (mut bench, mut serve, ..) = server_told("");
        bench.full.insert(bench.next_fd());
        bench.client(&format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n"));
        bench.state(serve.as_mut())
    };
    assert_ne!(untaken("/session/aaa"), untaken("/session/aab"), "two answers of one length");
}

#[test]
fn a_stream_that_was_closed_may_be_opened_again_behind_its_cursor() {
    let left = |says: &str| {
        let (mut bench, mut serve, fd, _) = server_told(says);
        bench.ends(fd);
        bench.state(serve.as_mut());
        bench.state(serve.as_mut())
    };
    assert_ne!(left("GET /event HTTP/1.1\r\nhost: a\r\n\r\n"), left("GET /doc HTTP/1.1\r\nhost: a\r\n\r\n"));
}

#[test]
fn a_run_is_told_apart_by_its_prompt_and_by_what_it_has_printed() {
    let listens = |prompt: &str| {
        let line = format!("run --port 0 {prompt}");
        let mut bench = Bench::new();
        bench.streams = rehang_os::os::FdKind::Tty;
        bench.state(program(opencode(), &line, turns(), None).as_mut())
    };
    assert_ne!(listens("aa"), listens("ab"), "the prompt that is still to be sent");
    let printed = |text: &str| {
        let mut bench = Bench::new();
        bench.streams = rehang_os::os::FdKind::Tty;
        bench.full.extend([STDOUT, STDERR]);
        let bash = json!([{ "bash": { "command": "make" } }]);
        let mut run = program(opencode(), "run go", bash, None);
        bench.state(run.as_mut());
        bench.arrives(Fd(11), text.as_bytes());
        bench.state(run.as_mut())
    };
    assert_ne!(printed("a"), printed("b"));
}

#[test]
fn a_command_is_told_apart_by_how_it_ended() {
    let ended = |exit| {
        let bash = json!([{ "bash": { "command": "make" } }]);
        let (mut bench, mut run) = (Bench::new(), program(opencode(), "run go", bash, None));
        bench.streams = rehang_os::os::FdKind::Tty;
        bench.state(run.as_mut());
        assert_eq!(bench.children, 1, "it has started its command");
        // its pipes stay open, so its end is not reported yet
        bench.exits.insert(Child(1), exit);
        bench.state(run.as_mut())
    };
    assert_ne!(ended(Exit::Code(0)), ended(Exit::Code(3)));
}

#[test]
fn a_models_stream_is_told_apart_by_what_has_come_of_it() {
    let came = |bytes: &str| {
        let (mut bench, mut run) = (Bench::new(), program(opencode(), "run go", turns(), Some(1)));
        bench.streams = rehang_os::os::FdKind::Tty;
        let model = bench.next_fd();
        bench.state(run.as_mut());
        bench.arrives(model, bytes.as_bytes());
        bench.state(run.as_mut())
    };
    const REFUSED: &str = "HTTP/1.1 500 X\r\ncontent-length: 9\r\n\r\n";
    assert_ne!(came("HTTP/1.1 2"), came("HTTP/1.1 4"));
    assert_ne!(came(&format!("{REFUSED}a")), came(&format!("{REFUSED}b")), "the text of a refusal");
}
