//! Laws that every strategy keeps, whatever it is told: no panic, the same acts for the same observations, deadlines
//! that move on, and a state that does not depend on the absolute time and holds everything that decides ([`alike`]).

mod alike;
mod letters;
mod versions;

use crate::testing::{Bench, SHRINK_MAX_MS};
use crate::{
    Act, Ask, InsideSeen, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Stream, Wire, all, companion,
    pawwork,
};
use proptest::prelude::{Just, ProptestConfig, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as Gen;
use rehang_words::{Choice, Question};
use rehang_words::{Terminal, VTime};
use serde_json::{Value, json};

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, max_shrink_time: SHRINK_MAX_MS, ..ProptestConfig::default() })]

    #[test]
    fn the_same_observations_give_the_same_acts_whatever_time_it_is(steps in steps(), shift in 1_u64..100_000_000) {
        for spec in specs() {
            let (first, canon) = play(&spec, 0, &steps);
            let (again, canon_again) = play(&spec, 0, &steps);
            prop_assert_eq!(&first, &again, "{}", spec);
            prop_assert_eq!(&canon, &canon_again, "{}", spec);
            let (later, canon_later) = play(&spec, shift, &steps);
            prop_assert_eq!(&first, &later, "{} is not the same later", spec);
            prop_assert_eq!(&canon, &canon_later, "{}: the state knows what time it is", spec);
        }
    }

    /// A host ticks a strategy whose deadline has come; a host that ticks all of them at each wake-up ends nothing
    /// early.
    #[test]
    fn a_tick_that_comes_too_early_changes_nothing(steps in steps()) {
        for spec in specs() {
            let mut bench = Bench::of(&spec);
            for step in &steps {
                let waits = if let Step::Wait(ms) = step { *ms } else { 0 };
                for part in [waits / 2, waits - waits / 2] {
                    bench.until(bench.now.0 + part);
                    let (before, due) = (bench.canon(), bench.strategy.deadline());
                    if due.is_none_or(|at| at > bench.now) {
                        let acts = bench.see(Seen::Tick);
                        prop_assert_eq!(&acts, &[], "{} acts at {}, and is due at {:?}", spec, bench.now, due);
                        prop_assert_eq!(&bench.canon(), &before, "{}", spec);
                    }
                }
                if let Step::See(seen) = step {
                    bench.see((**seen).clone());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, max_shrink_time: SHRINK_MAX_MS, ..ProptestConfig::default() })]

    /// Numbers of requests are the strategy's own; one that it did not give is somebody else's.
    #[test]
    fn what_comes_of_a_request_that_it_did_not_send_changes_nothing(steps in steps()) {
        for spec in all().into_iter().map(|entry| entry.name) {
            let mut player = Player::of(spec, 0);
            for step in &steps {
                if matches!(step, Step::See(seen) if matches!(**seen, Seen::Protocol(ProtocolSeen::Response { .. }) | Seen::Protocol(ProtocolSeen::Failed { .. }))) {
                    continue;
                }
                player.take(step);
                let bench = &mut player.bench;
                let before = bench.canon();
                let other = u32::MAX;
                for seen in [
                    Seen::Protocol(ProtocolSeen::Response { id: other, status: 200, body: json!([]).into() }),
                    Seen::Protocol(ProtocolSeen::Response { id: other, status: 500, body: Value::Null.into() }),
                    Seen::Protocol(ProtocolSeen::Failed { id: other, why: "refused".to_owned() }),
                ] {
                    let mut acts = Vec::new();
                    bench.strategy.on(bench.now, &seen, &mut acts);
                    prop_assert_eq!(&acts, &[], "{} acts on {:?}", spec, seen);
                    prop_assert_eq!(&bench.canon(), &before, "{} has learned of {:?}", spec, seen);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, max_shrink_time: SHRINK_MAX_MS, ..ProptestConfig::default() })]

    /// A host around a process can carry out nothing else.
    #[test]
    fn who_sits_around_a_process_acts_on_nothing_but_the_process(steps in steps()) {
        for entry in all().into_iter().filter(|entry| entry.speaks == [Wire::Process]) {
            let mut player = Player::of(entry.name, 0);
            for step in steps.iter().filter(|step| !matches!(step, Step::Respond { .. })) {
                for (_, act) in player.take(step) {
                    let is_allowed = matches!(act, Act::Process(_) | Act::Report(_) | Act::Say(_));
                    prop_assert!(is_allowed, "{} does {:?}", entry.name, act);
                }
            }
        }
    }
}

/// The strategies, and again with settings short enough to matter. The companion's and PawWork's report or compare the
/// server's own time stamps, so they have a test of their own, which shifts those as well.
fn specs() -> Vec<String> {
    let short = [
        "auto-answer@r1(at=ask)",
        "idle@f54b32f(timeout=10s, wall=5m)",
        "idle@grace(timeout=20s, wall=5m, linger=7s, kill_grace=3s)",
        "pending-ask(policy=first, after=1s, every=700ms)",
        "pending-ask(policy=stop, after=0ms)",
        "blind-timeout(timeout=3s)",
        "wall(cap=1m)",
    ];
    let others = [companion::ENTRIES, pawwork::ENTRIES].concat();
    let ours = all().into_iter().map(|entry| entry.name).filter(|name| others.iter().all(|other| other.name != *name));
    ours.chain(short).map(str::to_owned).collect()
}

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    See(Box<Seen>),
    /// A response to one of the requests in flight.
    Respond {
        which: usize,
        status: u16,
        body: Value,
    },
}

/// Plays the steps from an instant on; returns what was done and when, counted from there, and the state at the end.
fn play(spec: &str, from: u64, steps: &[Step]) -> (Vec<(u64, Act)>, Vec<u8>) {
    let mut player = Player::of(spec, from);
    let done = steps.iter().flat_map(|step| player.take(step)).map(|(at, act)| (at - from, act)).collect();
    (done, player.bench.canon())
}

/// A strategy to which steps are played, and the requests of its that are in flight.
struct Player {
    bench: Bench,
    in_flight: Vec<u32>,
}

impl Player {
    fn of(spec: &str, from: u64) -> Player {
        let mut bench = Bench::of(spec);
        bench.now = VTime(from);
        Player { bench, in_flight: Vec::new() }
    }

    /// Plays a step; what is done, and when.
    fn take(&mut self, step: &Step) -> Vec<(u64, Act)> {
        let acts = match step {
            Step::Wait(ms) => self.bench.until(self.bench.now.0 + ms),
            Step::See(seen) => at_once(&mut self.bench, (**seen).clone()),
            Step::Respond { which, status, body } if !self.in_flight.is_empty() => {
                let id = self.in_flight.remove(which % self.in_flight.len());
                at_once(
                    &mut self.bench,
                    Seen::Protocol(ProtocolSeen::Response { id, status: *status, body: body.clone().into() }),
                )
            }
            Step::Respond { .. } => Vec::new(),
        };
        let sent = acts.iter().filter_map(|(_, act)| {
            if let Act::Protocol(ProtocolAct::Request { id, .. }) = act { Some(*id) } else { None }
        });
        self.in_flight.extend(sent);
        acts
    }
}

fn at_once(bench: &mut Bench, seen: Seen) -> Vec<(u64, Act)> {
    let now = bench.now.0;
    bench.see(seen).into_iter().map(|act| (now, act)).collect()
}

fn steps() -> impl Gen<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => prop_oneof![0_u64..3, 0_u64..3_000, 0_u64..700_000, Just(20_000_000)].prop_map(Step::Wait),
        6 => seen().prop_map(|seen| Step::See(Box::new(seen))),
        3 => (0_usize..8, prop_oneof![4 => Just(200_u16), 1 => Just(404), 1 => Just(500)], body())
            .prop_map(|(which, status, body)| Step::Respond { which, status, body }),
    ];
    // A run begins somewhere in the first steps, on a server or not.
    (any::<bool>(), prop::collection::vec(step, 0..40)).prop_map(|(server, mut steps)| {
        let session = if server { "ses_1" } else { "" }.to_owned();
        let start = Seen::Process(ProcessSeen::Started { session, prompt: "go".to_owned() });
        steps.insert(steps.len().min(2), Step::See(Box::new(start)));
        steps
    })
}

fn seen() -> impl Gen<Value = Seen> {
    let stream = prop_oneof![3 => Just(Stream::Stdout), 1 => Just(Stream::Stderr)];
    let session = || prop_oneof![Just("ses_1".to_owned()), Just("ses_2".to_owned())];
    prop_oneof![
        4 => (stream.clone(), output()).prop_map(|(stream, bytes)| Seen::Process(ProcessSeen::Output(stream, bytes))),
        1 => stream.prop_map(|it| Seen::Process(ProcessSeen::OutputEnd(it))),
        1 => output().prop_map(|it| Seen::Process(ProcessSeen::Wrote(it))),
        1 => prop_oneof![Just(0), Just(-9), Just(1)].prop_map(|it| Seen::Process(ProcessSeen::Exited(it))),
        1 => Just(Seen::Tick),
        1 => prop_oneof![Just(Terminal::Pipe), Just(Terminal::Tty), Just(Terminal::Null)].prop_map(|it| Seen::Process(ProcessSeen::Terminal(it))),
        1 => (0_u32..20, prop_oneof![Just(200_u16), Just(404)], body()).prop_map(|(id, status, body)| Seen::Protocol(ProtocolSeen::Response { id, status, body: body.into() })),
        1 => (0_u32..20).prop_map(|id| Seen::Protocol(ProtocolSeen::Failed { id, why: "closed".to_owned() })),
        3 => event().prop_map(|event| Seen::Protocol(ProtocolSeen::Event(event.into()))),
        1 => Just(Seen::Protocol(ProtocolSeen::EventsCut)),
        1 => prop_oneof![Just(None), Just(Some(0)), Just(Some(2))].prop_map(|it| Seen::Protocol(ProtocolSeen::Children(it))),
        1 => any::<bool>().prop_map(|it| Seen::Protocol(ProtocolSeen::Pid(it))),
        1 => any::<bool>().prop_map(|it| Seen::Protocol(ProtocolSeen::Worker(it))),
        1 => prop_oneof![Just("heal"), Just("status"), Just("cancel"), Just("?")].prop_map(|c| Seen::Protocol(ProtocolSeen::Command(c.to_owned()))),
        1 => (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(stdin_tty, run, listens)| Seen::Inside(InsideSeen::Boot { env: Vec::new(), stdin_tty, run, listens })),
        1 => ask().prop_map(|it| Seen::Inside(InsideSeen::ToolAsks(it))),
        2 => ask().prop_map(|it| Seen::Inside(InsideSeen::Pending(it))),
        1 => id().prop_map(|id| Seen::Inside(InsideSeen::Ended { id })),
        1 => session().prop_map(|session| Seen::Inside(InsideSeen::StreamOpen { session })),
        1 => (session(), any::<bool>()).prop_map(|(session, progress)| Seen::Inside(InsideSeen::StreamMoved { session, progress })),
        1 => session().prop_map(|session| Seen::Inside(InsideSeen::StreamClosed { session })),
    ]
}

fn id() -> impl Gen<Value = String> {
    prop_oneof![Just("que_1"), Just("que_2"), Just("per_1"), Just("")].prop_map(str::to_owned)
}

fn ask() -> impl Gen<Value = Ask> {
    (id(), any::<bool>(), any::<bool>(), prop::sample::subsequence(vec!["A", "Snowflake", "no"], 0..=3)).prop_map(
        |(id, child, is_question, labels)| {
            let choice = |label: &str| Choice { label: label.to_owned(), description: String::new() };
            let options = labels.into_iter().map(choice).collect();
            let question =
                Question { question: "q".to_owned(), header: String::new(), options, multiple: false, custom: None };
            let session = if child { "ses_2" } else { "ses_1" }.to_owned();
            let (questions, permission) = if is_question { (vec![question], "") } else { (Vec::new(), "bash") };
            Ask { id, session, child, questions, permission: permission.to_owned() }
        },
    )
}

/// Lines of Claude Code's, whole, in pieces, or not lines at all.
fn output() -> impl Gen<Value = Vec<u8>> {
    let lines = [
        "{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}\n",
        "{\"type\":\"control_request\",\"request_id\":\"c1\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"Bash\",\"input\":{},\"tool_use_id\":\"t1\"}}\n",
        "{\"type\":\"control_request\",\"request_id\":\"c2\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"AskUserQuestion\",\"input\":{\"questions\":[{\"question\":\"q\",\"options\":[{\"label\":\"A\"}]}]},\"tool_use_id\":\"t2\"}}\n",
        "{\"type\":\"control_cancel_request\",\"request_id\":\"c1\"}\n",
        "{\"type\":\"control_response\",\"response\":{\"request_id\":\"c2\"}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"is_error\":true,\"tool_use_id\":\"t1\"}]}}\n",
        "[1, 2\n",
        "\n",
        "half",
    ];
    prop_oneof![
        6 => prop::sample::select(lines.to_vec()).prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (0_usize..12_000).prop_map(|n| b"tick\n".repeat(n / 5)),
    ]
}

fn event() -> impl Gen<Value = Value> {
    let ask = json!({ "id": "que_1", "sessionID": "ses_1", "questions": [{ "question": "q", "options": [{ "label": "A" }] }] });
    prop::sample::select(vec![
        json!({ "type": "question.asked", "properties": ask }),
        json!({ "type": "question.replied", "properties": { "sessionID": "ses_1", "requestID": "que_1" } }),
        json!({ "type": "permission.asked", "properties": { "id": "per_1", "sessionID": "ses_2", "permission": "bash" } }),
        json!({ "type": "permission.updated", "properties": { "id": "per_2", "sessionID": "ses_1", "type": "bash" } }),
        json!({ "type": "session.created", "properties": { "info": { "id": "ses_2", "parentID": "ses_1" } } }),
        json!({ "type": "session.created", "properties": { "info": { "id": "ses_3", "parentID": "ses_3" } } }),
        json!({ "type": "session.idle", "properties": { "sessionID": "ses_1" } }),
        json!([]),
        json!(null),
    ])
}

fn body() -> impl Gen<Value = Value> {
    let finished = json!([{ "info": { "role": "assistant", "finish": "stop", "time": { "created": 1, "completed": 2 } }, "parts": [{ "type": "text", "text": "hi" }] }]);
    let running = json!([{ "info": { "role": "assistant", "time": { "created": 1 } }, "parts": [{ "type": "tool", "tool": "bash", "state": { "status": "running" } }] }]);
    prop::sample::select(vec![
        json!(true),
        json!(null),
        json!("text"),
        json!([]),
        json!({}),
        json!({ "ses_1": { "type": "busy" }, "ses_2": { "type": "idle" } }),
        json!([{ "id": "que_1", "sessionID": "ses_1", "questions": [{ "question": "q", "options": [{ "label": "A" }] }] }]),
        json!([{ "id": "per_1", "sessionID": "ses_2", "permission": "bash" }]),
        json!({ "id": "ses_2", "parentID": "ses_1" }),
        finished,
        running,
    ])
}

/// A settlement is final: no strategy settles one run twice.
#[test]
fn nobody_settles_twice() {
    for spec in specs() {
        let mut bench = Bench::started(&spec);
        let mut settled = 0;
        for seen in [
            Seen::Process(ProcessSeen::Output(Stream::Stdout, b"x\n".to_vec())),
            Seen::Process(ProcessSeen::Exited(1)),
            Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)),
        ] {
            let acts: Vec<Act> = bench.until(bench.now.0 + 40_000_000).into_iter().map(|(_, act)| act).collect();
            let more = bench.see(seen);
            settled +=
                acts.iter().chain(&more).filter(|act| matches!(act, Act::Process(ProcessAct::Settle(_)))).count();
        }
        assert!(settled <= 1, "{spec} settles {settled} times");
    }
}
