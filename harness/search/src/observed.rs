//! What a scenario's runs observed: the events, routes, processes, calls and instants that a fault or a person can hit.
//!
//! A fault of something that never happens changes nothing, and most faults that are drawn blindly are of this kind. So
//! what is put into a scenario that was played is aimed at what happened in its runs, under any stack.
//!
//! Invariant: a function of the traces in their order; flat, however long they are.

use rehang_scenario::random::Rng;
use rehang_scenario::{Fault, Person, Sees, Span, Via};
use rehang_trace::{Fact, Trace, What};
use std::collections::BTreeSet;

/// The most events of a trace that are looked at: later polls repeat earlier ones.
const EVENTS_MAX: usize = 500;
/// Names and instants of a kind that are kept.
const KEPT_MAX: usize = 40;
/// How often a fault that cannot hit anything in the scenario is drawn again at most.
const TRIES: usize = 4;
/// A fault that is aimed at an instant strikes there, one of these spans later, or a strategy's limit later.
const BEHIND: [Span; 4] = [Span::ZERO, Span::ms(1), Span::secs(1), Span::secs(5)];

/// What runs met; empty if none was played.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    events: BTreeSet<String>,
    routes: BTreeSet<String>,
    roles: BTreeSet<String>,
    instants: BTreeSet<u64>,
    tools: u32,
    responses: u32,
}

impl Observed {
    /// Takes in what one run met.
    pub fn take(&mut self, trace: &Trace) {
        let mut tools = 0;
        for event in trace.events.iter().take(EVENTS_MAX) {
            match &event.what {
                What::Sse(event) => note(&mut self.events, event.kind()),
                What::Request { path, .. } => note(&mut self.routes, &route(path)),
                What::Spawn { .. } => note(&mut self.roles, &event.who),
                What::Fact(Fact::ToolBegan { .. }) => tools += 1,
                What::Fact(Fact::ModelAsked { response, .. }) => self.responses = self.responses.max(*response),
                _ => {}
            }
            if matches!(event.what, What::Fact(_) | What::Spawn { .. } | What::Acts(_))
                && self.instants.len() < KEPT_MAX
            {
                self.instants.insert(event.t.0);
            }
        }
        self.tools = self.tools.max(tools);
    }

    fn is_empty(&self) -> bool {
        *self == Observed::default()
    }

    /// Whether a fault can hit something that was observed.
    fn can_meet(&self, fault: &Fault) -> bool {
        match fault {
            Fault::Event(_) => !self.events.is_empty(),
            Fault::Get(_) => !self.routes.is_empty(),
            Fault::Tool(_) => self.tools > 0,
            Fault::Model(_) => self.responses > 0,
            _ => true,
        }
    }
}

/// A fault that hits what was observed: one that is drawn, with names, counts and instants of the runs.
pub fn aimed(rng: &mut Rng, observed: &Observed, mut draw: impl FnMut(&mut Rng) -> Fault) -> Fault {
    let mut fault = draw(rng);
    if observed.is_empty() {
        return fault;
    }
    for _ in 0..TRIES {
        if observed.can_meet(&fault) {
            break;
        }
        fault = draw(rng);
    }
    match &mut fault {
        Fault::Event(event) => name(rng, &observed.events, &mut event.kind),
        Fault::Get(get) => name(rng, &observed.routes, &mut get.path),
        Fault::Process(process) => name(rng, &observed.roles, &mut process.role),
        Fault::Tool(tool) => tool.nth = count(rng, observed.tools),
        Fault::Model(model) => model.response = count(rng, observed.responses),
        _ => {}
    }
    if let Some(at) = fault.instant_mut() {
        *at = instant(rng, observed);
    }
    fault
}

/// A person who acts while something happens, if they act by the clock.
pub fn timed(rng: &mut Rng, observed: &Observed, mut person: Person) -> Person {
    let by_clock = person.via == Via::Companion || matches!(person.sees, None | Some(Sees::Clock));
    if by_clock && !observed.is_empty() {
        person.after = instant(rng, observed);
    }
    person
}

fn name(rng: &mut Rng, observed: &BTreeSet<String>, name: &mut String) {
    let place = rng.below(observed.len());
    if let Some(other) = observed.iter().nth(place) {
        other.clone_into(name);
    }
}

/// A number from 1 to `most`; now and then 0, which means each.
fn count(rng: &mut Rng, most: u32) -> u32 {
    if rng.one_in(6) { 0 } else { 1 + rng.below(most as usize) as u32 }
}

/// An instant at which something happened, a little after one, or any time.
fn instant(rng: &mut Rng, observed: &Observed) -> Span {
    let place = rng.below(observed.instants.len());
    match observed.instants.iter().nth(place) {
        Some(at) if rng.one_in(2) => Span(*at) + if rng.one_in(2) { rng.pick(&BEHIND) } else { rng.near_a_limit() },
        _ => rng.span(),
    }
}

fn note(names: &mut BTreeSet<String>, name: &str) {
    if !name.is_empty() && names.len() < KEPT_MAX && !names.contains(name) {
        names.insert(name.to_owned());
    }
}

/// A path as a fault names it: without its query.
fn route(path: &str) -> String {
    match path.split_once('?') {
        Some((path, _)) => format!("{path}*"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, NONE};
    use crate::limits::rng;
    use rehang_scenario::load;

    #[test]
    fn a_fault_is_aimed_at_what_was_there() {
        let text = r#"
title = "a lost question"
mechanism = "Q1"
agent = { pawwork = {} }
terminals = ["null"]
turns = [{ ask = [{ question = "Which?", options = [{ label = "A" }, { label = "B" }] }] }, { say = "{answer}" }]
faults = [{ event = { type = "question.asked", does = "drop" } }]
[[expect]]
outcome = { hung = "question" }
"#;
        let family = load("case.toml", text.as_bytes()).into_result().unwrap();
        let case = Case::of(family.variants[0].scenario.clone(), NONE);
        let (mut none, mut under) = (Observed::default(), Observed::default());
        none.take(&case.play_as(NONE, Span::ZERO, None).unwrap().trace);
        under.take(&case.play_as("recovery@430", Span::ZERO, None).unwrap().trace);
        assert!(!none.routes.contains("/question") && under.routes.contains("/question"), "{none:?} {under:?}");
        assert_eq!((none.tools, none.responses), (1, 1));
        let mut source = rng(1);
        let agent = &case.scenario.agent;
        let mut routes = BTreeSet::new();
        for _ in 0..400 {
            match aimed(&mut source, &under, |s| s.fault(agent, &[])) {
                Fault::Get(get) => drop(routes.insert(get.path)),
                Fault::Event(event) => assert!(under.events.contains(&event.kind), "{}", event.kind),
                Fault::Tool(tool) => assert!(tool.nth <= 1),
                Fault::Process(process) => assert_eq!(process.role, "agent"),
                _ => {}
            }
        }
        assert_eq!(routes, under.routes);
    }
}
