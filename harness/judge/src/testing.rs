//! Traces written by hand, for the tests of this crate.

use crate::{Breach, CellFacts, Index, Verdict, View, verdict};
pub use rehang_random_traces::{any_trace, question};
use rehang_scenario::{Policy, Terminal, VTime};
use rehang_trace::{AskEnd, AskKind, Cause, Ended, Event, Fact, RunEnd, Trace, What};
use serde_json::{Value, json};

/// A trace that is being built.
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

    /// The agent has started and its session `ses_1` is busy.
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
        self.add(who, What::Report(policy.into()))
    }

    pub fn says(self, who: &str, text: &str) -> Cell {
        self.add(who, What::Says(text.into()))
    }

    pub fn settle(self, who: &str, outcome: &str, cause: &str, text: &str) -> Cell {
        let outcome = RunEnd::ALL.into_iter().find(|end| end.word() == outcome).expect("a word of a trace");
        let settled = What::Settled { outcome, cause: cause.into(), text: text.into() };
        self.add(who, settled)
    }

    /// Settled, exited and ended regularly, all in this instant.
    pub fn done(self, text: &str) -> Cell {
        let over = self.result(text).busy("ses_1", false).exit("agent", 0);
        over.settle("wrapper", "completed", "", text).add("", What::Ended(Ended::Settled))
    }

    pub fn deadlock(self, waits: &[(&str, &str)]) -> Cell {
        let waits = waits.iter().map(|(who, on)| ((*who).to_owned(), (*on).to_owned())).collect();
        self.add("", What::Ended(Ended::Deadlock(waits)))
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
