//! Which mechanism of the catalogue a generated scenario shows.
//!
//! What hangs is named by what it is blocked on and by the part of the scenario that blocks it; what does not hang is a
//! healthy run, named by what makes it look hung. It is read from the smallest case, and is the better the smaller that
//! is.
//!
//! Invariant: a function of the scenario and of its run under `none`; always an id of the catalogue.

use rehang_judge::{Outcome, Verdict};
use rehang_scenario::{
    EventDoes, Fault, ModelDoes, PostDoes, ProcessDoes, Scenario, WorkerFault,
    turns::{Step, Turn},
};
use rehang_trace::{Fact, Trace, What};
use serde_json::Value;
use std::collections::BTreeSet;

/// The mechanism of a scenario, by its id.
pub fn of(scenario: &Scenario, verdict: &Verdict, trace: &Trace) -> &'static str {
    let look = Look { scenario, trace };
    match &verdict.outcome {
        Outcome::Hung { blocked_on, .. } => look.hung(blocked_on.word()),
        Outcome::Failed { .. } => look.fails(),
        Outcome::Completed | Outcome::Stopped { .. } | Outcome::Undecided { .. } => look.lives(),
    }
}

struct Look<'a> {
    scenario: &'a Scenario,
    trace: &'a Trace,
}

impl Look<'_> {
    fn hung(&self, on: &str) -> &'static str {
        match on {
            "question" if self.child_asks() => "Q2",
            "question" => "Q1",
            "permission" if self.child_asks() => "P2",
            "permission" => "P1",
            "stdin" if self.has_bash() => "B1",
            "stdin" => "S1",
            "tty" if self.has_bash() => "B2",
            "tty" => "T2",
            "stopped" if self.fault(|f| matches!(f, Fault::Process(p) if p.does == ProcessDoes::Freeze)) => "E8",
            "stopped" => "T1",
            "pipe" if self.fault(|f| matches!(f, Fault::Wrapper(_))) => "C6",
            "pipe" if self.word("background") => "B6",
            "pipe" => "C1",
            "exit" => "H1",
            "bash" | "tool" if self.fault(|f| matches!(f, Fault::Tool(_))) => "B13",
            "bash" if self.word("ignore") => "B10",
            "model" => self.model(),
            "worker" => "E5",
            "post" => "E6",
            "event" => "E1",
            _ => "B5",
        }
    }

    /// The mechanism of a run that does not come to a good end by itself.
    fn fails(&self) -> &'static str {
        let cut = |f: &Fault| matches!(f, Fault::Post(p) if matches!(p.does, PostDoes::Cut(_) | PostDoes::NeverCloses));
        let gone = |f: &Fault| matches!(f, Fault::Process(_));
        match () {
            () if self.fault(cut) => "E6",
            () if self.fault(gone) => "M4",
            () => "M4",
        }
    }

    /// What a healthy run has that looks like a hang.
    fn lives(&self) -> &'static str {
        let lost = |does: &EventDoes| matches!(does, EventDoes::Drop | EventDoes::Mute | EventDoes::Cut(_));
        match () {
            () if self.fault(|f| matches!(f, Fault::Event(e) if lost(&e.does))) => "E1",
            () if self.fault(|f| matches!(f, Fault::Tool(_))) => "E7",
            () if self.fault(|f| matches!(f, Fault::Worker(WorkerFault::NeverStarts))) => "E5",
            () if self.fault(|f| matches!(f, Fault::Post(_))) => "E6",
            () if self.fault(|f| matches!(f, Fault::Model(m) if m.retry_after.is_some())) => "F5",
            () if self.fault(|f| matches!(f, Fault::Model(m) if matches!(m.does, ModelDoes::KeepAlive(_)))) => "F9",
            () if self.fault(|f| matches!(f, Fault::Model(_))) => "F2",
            () if self.asked() => "F4",
            () if self.word("background") => "F10",
            () if self.word("task") || self.word("agent") => "F6",
            () if self.word("think") || self.word("compact") => "F3",
            () if self.word("every") => "F8",
            () => "F1",
        }
    }

    fn model(&self) -> &'static str {
        let does = self.scenario.faults.iter().find_map(|fault| match fault {
            Fault::Model(model) => Some(&model.does),
            _ => None,
        });
        match does {
            Some(ModelDoes::KeepAlive(_)) => "M2",
            Some(ModelDoes::Truncate | ModelDoes::NoFinish) => "M3",
            Some(ModelDoes::Status(_) | ModelDoes::Reset) => "M5",
            _ => "M1",
        }
    }

    fn fault(&self, is: impl Fn(&Fault) -> bool) -> bool {
        self.scenario.faults.iter().any(is)
    }

    fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.trace.events.iter().filter_map(|event| match &event.what {
            What::Fact(fact) => Some(fact),
            _ => None,
        })
    }

    fn asked(&self) -> bool {
        self.facts().any(|fact| matches!(fact, Fact::Asked { .. } | Fact::Preempted { .. }))
    }

    /// Whether the last ask comes from a session below another.
    fn child_asks(&self) -> bool {
        let below = |fact: &Fact| match fact {
            Fact::Session { id, parent } if !parent.is_empty() => Some(id.clone()),
            _ => None,
        };
        let children: BTreeSet<String> = self.facts().filter_map(below).collect();
        let last = self.facts().filter_map(|fact| match fact {
            Fact::Asked { session, .. } => Some(session),
            _ => None,
        });
        last.last().is_some_and(|session| children.contains(session))
    }

    fn has_bash(&self) -> bool {
        self.word("bash")
    }

    /// Whether a step or a turn of this name is there, however deep.
    fn word(&self, word: &str) -> bool {
        let steps = self.scenario.agent.steps().unwrap_or_default();
        let agent = steps.iter().any(|step: &Step| named(step, word));
        agent || self.scenario.turns.iter().any(|turn: &Turn| named(turn, word))
    }
}

fn named(part: &impl serde::Serialize, word: &str) -> bool {
    fn any(value: &Value, word: &str) -> bool {
        match value {
            Value::Array(list) => list.iter().any(|value| any(value, word)),
            Value::Object(table) => table.iter().any(|(key, value)| key == word || any(value, word)),
            Value::String(text) => text == word,
            _ => false,
        }
    }
    serde_json::to_value(part).is_ok_and(|value| any(&value, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, NONE};
    use rehang_scenario::{Span, load};

    fn of_file(rest: &str) -> &'static str {
        let head = "title = \"a case\"\nmechanism = \"X1\"\nterminals = [\"null\"]\n";
        let family = load("case.toml", format!("{head}{rest}").as_bytes()).into_result().unwrap();
        let case = Case::of(family.variants[0].scenario.clone(), NONE);
        let none = case.play_as(NONE, Span::ZERO, None).unwrap();
        let id = of(&case.scenario, &none.verdict, &none.trace);
        assert!(id.parse::<rehang_scenario::Mechanism>().is_ok(), "{id}");
        id
    }

    #[test]
    fn what_hangs_is_named_by_what_blocks_it() {
        let serve =
            |rest: &str| of_file(&format!("agent = {{ opencode = {{ as = \"1.2.15\", mode = \"serve\" }} }}\n{rest}"));
        let ask = r#"{ ask = [{ question = "Which?", options = [{ label = "A" }] }] }"#;
        assert_eq!(serve(&format!("turns = [{ask}]")), "Q1");
        assert_eq!(serve(&format!(r#"turns = [{{ task = {{ description = "x", turns = [{ask}] }} }}]"#)), "Q2");
        assert_eq!(serve(r#"turns = [{ bash = { command = "ls", asks = "bash" } }]"#), "P1");
        let says = r#"turns = [{ say = "a" }]"#;
        assert_eq!(serve(&format!("{says}\nfaults = [{{ model = {{ does = \"stall\" }} }}]")), "M1");
        let stuck = r#"faults = [{ tool = { does = "never-flips" } }]"#;
        assert_eq!(serve(&format!("turns = [{{ bash = {{ command = \"ls\" }} }}]\n{stuck}")), "B13");
    }

    #[test]
    fn what_lives_is_named_by_what_looks_hung() {
        let claude =
            |rest: &str| of_file(&format!("agent = {{ claude = {{ as = \"2.0.77\", mode = \"print\" }} }}\n{rest}"));
        assert_eq!(claude(r#"turns = [{ say = "a" }, { think = "20m" }, { say = "b" }]"#), "F3");
        assert_eq!(claude(r#"turns = [{ bash = { command = "make", does = [{ sleep = "1m" }] } }]"#), "F1");
        assert_eq!(of_file(r#"agent = { program = [{ every = { every = "1m", print = "a", times = 3 } }] }"#), "F8");
    }
}
