//! Traces written by hand, and any trace at all, for the tests of this crate.

use crate::trace::{AskEnd, AskKind, Cause, Ended, Event, Fact, Trace, What};
use crate::{Breach, CellFacts, Index, Verdict, View, verdict};
use proptest::prelude::*;
use rehang_scenario::turns::{Choice, Question};
use rehang_scenario::{Policy, Terminal, VTime};
use serde_json::{Value, json};

/// A trace in the making.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    t: u64,
    events: Vec<Event>,
}

impl Cell {
    pub fn new() -> Cell {
        Cell::default()
    }

    pub fn at(mut self, ms: u64) -> Cell {
        self.t = ms;
        self
    }

    pub fn add(mut self, who: &str, what: What) -> Cell {
        self.events.push(Event { t: VTime(self.t), who: who.into(), what });
        self
    }

    pub fn fact(self, fact: Fact) -> Cell {
        self.add("agent", What::Fact(fact))
    }

    pub fn trace(self) -> Trace {
        Trace { events: self.events }
    }

    pub fn spawn(self, role: &str) -> Cell {
        self.add(role, What::Spawn { parent: String::new(), argv: vec!["fake".into()] })
    }

    pub fn exit(self, role: &str, code: u8) -> Cell {
        self.add(role, What::Exit(code))
    }

    pub fn killed(self, role: &str, sig: &str) -> Cell {
        self.add(role, What::Killed(sig.into()))
    }

    pub fn signal(self, who: &str, sig: &str, to: &str) -> Cell {
        self.add(who, What::Signal { sig: sig.into(), to: to.into() })
    }

    pub fn busy(self, session: &str, busy: bool) -> Cell {
        self.fact(Fact::Busy { session: session.into(), busy })
    }

    pub fn session(self, id: &str, parent: &str) -> Cell {
        self.fact(Fact::Session { id: id.into(), parent: parent.into() })
    }

    /// The agent is there and its session `ses_1` is busy.
    pub fn started(self) -> Cell {
        self.at(0).spawn("agent").session("ses_1", "").busy("ses_1", true)
    }

    pub fn step(self, text: &str, finish: &str) -> Cell {
        let asked = self.fact(Fact::ModelAsked { session: "ses_1".into(), response: 1 });
        let said = asked.fact(Fact::ModelSaid { session: "ses_1".into(), text: text.into() });
        said.fact(Fact::ModelDone { session: "ses_1".into(), finish: finish.into() })
    }

    pub fn tool(self, call: &str, tool: &str) -> Cell {
        self.fact(Fact::ToolBegan { call: call.into(), tool: tool.into(), session: "ses_1".into() })
    }

    pub fn tool_end(self, call: &str, text: &str) -> Cell {
        self.fact(Fact::ToolEnded { call: call.into(), error: false, text: text.into() })
    }

    pub fn ask(self, id: &str, session: &str) -> Cell {
        self.fact(Fact::Asked {
            id: id.into(),
            kind: AskKind::Question,
            session: session.into(),
            questions: vec![question()],
            permission: String::new(),
        })
    }

    pub fn permit(self, id: &str) -> Cell {
        self.fact(Fact::Asked {
            id: id.into(),
            kind: AskKind::Permission,
            session: "ses_1".into(),
            questions: vec![],
            permission: "bash".into(),
        })
    }

    pub fn end(self, id: &str, end: AskEnd, cause: Cause, by: &str, answer: &[&str]) -> Cell {
        let answers = if answer.is_empty() { vec![] } else { vec![answer.iter().map(|a| (*a).to_owned()).collect()] };
        self.fact(Fact::AskEnded { id: id.into(), end, cause, by: by.into(), answers })
    }

    pub fn preempt(self, by: &str, answer: &[&str], text: &str, live: bool) -> Cell {
        self.fact(Fact::Preempted {
            call: "call_1".into(),
            by: by.into(),
            questions: vec![question()],
            answers: vec![answer.iter().map(|a| (*a).to_owned()).collect()],
            text: text.into(),
            live,
        })
    }

    pub fn result(self, text: &str) -> Cell {
        self.fact(Fact::Result { ok: true, text: text.into() })
    }

    pub fn post(self, who: &str, id: u32, path: &str) -> Cell {
        self.request(who, id, "POST", path)
    }

    pub fn request(self, who: &str, id: u32, method: &str, path: &str) -> Cell {
        self.add(who, What::Request { id, method: method.into(), path: path.into(), body: Value::Null.into() })
    }

    pub fn respond(self, who: &str, id: u32, status: u16, body: Value) -> Cell {
        self.add(who, What::Response { id, status, body: body.into() })
    }

    pub fn sse(self, kind: &str, properties: Value) -> Cell {
        self.add("client", What::Sse(json!({"type": kind, "properties": properties}).into()))
    }

    pub fn acts(self, who: &str, what: &str) -> Cell {
        self.add(who, What::Acts(what.into()))
    }

    pub fn report(self, who: &str, policy: Policy) -> Cell {
        self.add(who, What::Report(policy))
    }

    pub fn says(self, who: &str, text: &str) -> Cell {
        self.add(who, What::Says(text.into()))
    }

    pub fn settle(self, who: &str, outcome: &str, cause: &str, text: &str) -> Cell {
        let settled = What::Settled { outcome: outcome.into(), cause: cause.into(), text: text.into() };
        self.add(who, settled)
    }

    /// Settled, exited and ended in good order, all in this instant.
    pub fn done(self, text: &str) -> Cell {
        let over = self.result(text).busy("ses_1", false).exit("agent", 0);
        over.settle("wrapper", "completed", "", text).add("", What::Ended(Ended::Settled))
    }

    pub fn deadlock(self, waits: &[(&str, &str)]) -> Cell {
        let waits = waits.iter().map(|(who, on)| ((*who).to_owned(), (*on).to_owned())).collect();
        self.add("", What::Ended(Ended::Deadlock(waits)))
    }
}

pub fn question() -> Question {
    let choice = |label: &str| Choice { label: label.into(), description: String::new() };
    Question {
        question: "Which?".into(),
        header: String::new(),
        options: vec![choice("A"), choice("B")],
        multiple: false,
        custom: None,
    }
}

pub fn facts(strategy: &str) -> CellFacts {
    CellFacts::new("a/b", strategy, Terminal::Null)
}

/// What one invariant says of a trace, one line a breach.
pub fn said(check: fn(&View<'_>) -> Vec<Breach>, cell: Cell, facts: &CellFacts) -> String {
    said_beside(check, cell, facts, None)
}

/// The same beside the verdict of `none`.
pub fn said_beside(
    check: fn(&View<'_>) -> Vec<Breach>,
    cell: Cell,
    facts: &CellFacts,
    baseline: Option<&Verdict>,
) -> String {
    let trace = cell.trace();
    let (index, verdict) = (Index::of(&trace), verdict(&trace, facts));
    let view = View { trace: &trace, facts, index: &index, verdict: &verdict, baseline };
    check(&view).iter().map(|b| format!("{} {}: {}\n", b.at, b.invariant.name(), b.why)).collect()
}

/// Any trace, in terms that meet often enough for something to happen.
pub fn any_trace() -> impl proptest::strategy::Strategy<Value = Trace> {
    let event = (0u64..4_000_000, any_who(), any_what());
    let events = proptest::collection::vec(event, 0..40);
    let sorted = (events, any::<bool>()).prop_map(|(mut events, sorted)| {
        if sorted {
            events.sort_by_key(|event| event.0);
        }
        events
    });
    sorted.prop_map(|events| {
        let event = |(t, who, what)| Event { t: VTime(t), who, what };
        Trace { events: events.into_iter().map(event).collect() }
    })
}

fn any_who() -> impl proptest::strategy::Strategy<Value = String> {
    const KNOWN: &[&str] = &["agent", "agent.1", "wrapper", "client", "person1", "idle@off", "recovery@430", "worker"];
    prop_oneof![9 => proptest::sample::select(KNOWN).prop_map(str::to_owned), 1 => any_text()]
}

fn any_id() -> impl proptest::strategy::Strategy<Value = String> {
    proptest::sample::select(&["que_1", "que_2", "call_1", "ses_1", "ses_2", ""][..]).prop_map(str::to_owned)
}

fn any_text() -> impl proptest::strategy::Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "User has answered your questions: \"Which?\"=\"A\".",
        "No user was available to answer.",
        "TERMINAL=completed",
        "heartbeat — still running/x (elapsed 1s)",
        "stop",
        "completed",
        "failed",
        "stopped",
        "idle",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"call_1\"}]}}\n",
        "agent",
        "KILL",
    ];
    prop_oneof![4 => proptest::sample::select(KNOWN).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn any_value() -> impl proptest::strategy::Strategy<Value = Value> {
    const KINDS: &[&str] = &["question.asked", "question.replied", "question.rejected", "permission.replied", "x"];
    prop_oneof![
        Just(Value::Null),
        any::<u32>().prop_map(Value::from),
        any_id().prop_map(|id| json!([{"id": id}])),
        (proptest::sample::select(KINDS), any_id())
            .prop_map(|(kind, id)| json!({"type": kind, "properties": {"id": id, "requestID": id, "reply": "reject"}})),
    ]
}

fn any_policy() -> impl proptest::strategy::Strategy<Value = Policy> {
    let texts = (proptest::option::of(any_text()), proptest::option::of(any_text()));
    let answers = proptest::option::of(proptest::collection::vec(proptest::collection::vec(any_text(), 0..2), 0..3));
    (texts, answers, any::<u64>()).prop_map(|((detected, cause), answered, n)| Policy {
        detected,
        cause,
        answered,
        constants: [("idle_ms".to_owned(), n)].into(),
        ..Policy::default()
    })
}

fn any_cause() -> impl proptest::strategy::Strategy<Value = (AskEnd, Cause)> {
    use {AskEnd::*, Cause::*};
    let ends = proptest::sample::select(vec![Replied, Skipped, Rejected, Dropped]);
    (ends, proptest::sample::select(vec![Answer, Dismiss, Stop, Shutdown, Malformed, Policy, Silence]))
}

fn any_fact() -> impl proptest::strategy::Strategy<Value = Fact> {
    let text = any_text;
    prop_oneof![
        (any_id(), any_id()).prop_map(|(id, parent)| Fact::Session { id, parent }),
        (any_id(), any::<bool>()).prop_map(|(session, busy)| Fact::Busy { session, busy }),
        (any_id(), any::<u32>()).prop_map(|(session, response)| Fact::ModelAsked { session, response }),
        (any_id(), text()).prop_map(|(session, text)| Fact::ModelSaid { session, text }),
        (any_id(), proptest::sample::select(&["stop", "tool-calls", "none"][..]))
            .prop_map(|(session, finish)| Fact::ModelDone { session, finish: finish.into() }),
        (any_id(), any_id()).prop_map(|(call, session)| Fact::ToolBegan { call, tool: "bash".into(), session }),
        (any_id(), any::<bool>(), text()).prop_map(|(call, error, text)| Fact::ToolEnded { call, error, text }),
        (any_id(), any_id(), any::<bool>()).prop_map(|(id, session, permission)| Fact::Asked {
            id,
            kind: if permission { AskKind::Permission } else { AskKind::Question },
            session,
            questions: vec![question()],
            permission: String::new(),
        }),
        (any_id(), any_cause(), any_who()).prop_map(|(id, (end, cause), by)| Fact::AskEnded {
            id,
            end,
            cause,
            by,
            answers: vec![vec!["A".into()]],
        }),
        (any_id(), any_who(), text(), any::<bool>()).prop_map(|(call, by, text, live)| Fact::Preempted {
            call,
            by,
            questions: vec![],
            answers: vec![vec!["A".into()]],
            text,
            live,
        }),
        (any::<bool>(), text()).prop_map(|(ok, text)| Fact::Result { ok, text }),
        (any_who(), any_policy()).prop_map(|(strategy, policy)| Fact::Policy { strategy, policy }),
        (any_who(), text()).prop_map(|(strategy, act)| Fact::Acted { strategy, act }),
    ]
}

fn any_what() -> impl proptest::strategy::Strategy<Value = What> {
    let text = any_text;
    let path = || prop_oneof![Just("/question"), Just("/question/que_1/reject"), Just("/session/ses_1/abort")];
    let ends = || proptest::collection::vec((any_who(), text()), 0..3);
    let processes = prop_oneof![
        Just(What::Spawn { parent: String::new(), argv: vec!["a/b".into(), String::new()] }),
        any::<u8>().prop_map(What::Exit),
        text().prop_map(What::Killed),
        text().prop_map(What::Stopped),
        Just(What::Continued),
        Just(What::Adopted),
        (text(), any_who()).prop_map(|(sig, to)| What::Signal { sig, to }),
        (0u8..4, text()).prop_map(|(fd, text)| What::Out { fd, text }),
        (0u8..4).prop_map(|fd| What::OutEnd { fd }),
        text().prop_map(|text| What::In { text }),
        Just(What::InEnd),
        text().prop_map(|what| What::Left { what }),
    ];
    let wire = prop_oneof![
        (0u32..4, path(), any_value()).prop_map(|(id, path, body)| What::Request {
            id,
            method: if path.len() > 9 { "POST" } else { "GET" }.into(),
            path: path.into(),
            body: body.into(),
        }),
        (0u32..4, any_value()).prop_map(|(id, body)| What::Response { id, status: 200, body: body.into() }),
        (0u32..4, text()).prop_map(|(id, why)| What::RequestFailed { id, why }),
        any_value().prop_map(|value| What::Sse(value.into())),
        Just(What::SseEnd),
    ];
    let acts = prop_oneof![
        (text(), any_value()).prop_map(|(at, saw)| What::Looked { at, saw }),
        any_policy().prop_map(What::Report),
        text().prop_map(What::Says),
        text().prop_map(What::Acts),
        text().prop_map(What::Fault),
        (text(), text(), text()).prop_map(|(outcome, cause, text)| What::Settled { outcome, cause, text }),
        (text(), text(), text()).prop_map(|(outcome, cause, text)| What::RunOver { outcome, cause, text }),
        ends().prop_map(|waits| What::Ended(Ended::Deadlock(waits))),
        ends().prop_map(|waits| What::Ended(Ended::Lasso { waits, cycle_ms: 5 })),
        text().prop_map(|why| What::Ended(Ended::Horizon(why))),
        Just(What::Ended(Ended::Settled)),
    ];
    prop_oneof![3 => processes, 2 => wire, 2 => acts, 6 => any_fact().prop_map(What::Fact)]
}
