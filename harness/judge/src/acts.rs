//! What strategies did to a run, and how long its user waited for it, from the facts of a trace alone.
//!
//! Invariant: nothing that a strategy says is read here. [`Index::ended_by`] says who ended an ask.

use crate::index::{Act, At, Did, Does, Index, Process, Request};
use rehang_scenario::{Span, VTime};
use rehang_trace::{
    Trace, What,
    role::{Actor, Role, actor},
};
use std::collections::BTreeSet;

/// What a strategy did to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed<'a> {
    /// It ended an ask: its id.
    Ask(&'a str),
    /// It answered or refused a question before it became an ask: the call's id.
    Preempted(&'a str),
    /// It withheld a tool from the model.
    Withheld,
    /// It sent a signal that ends the agent.
    Signalled,
    /// It sent a signal that ends a process below the agent, and none to the agent.
    EndedPart,
    /// It aborted a session or a model's stream.
    Aborted,
    /// It closed the agent's stdin, or hung up its terminal.
    ClosedStdin,
}

/// A deed, its author and its place in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Done<'a> {
    /// Its place and time in the trace.
    pub at: At,
    /// The name of the strategy.
    pub by: &'a str,
    /// What the strategy did.
    pub deed: Deed<'a>,
}

/// All that strategies did to a run, in the order of the trace.
pub fn deeds<'a>(index: &Index<'a>) -> Vec<Done<'a>> {
    let is_strategy = |who: &str| actor(who) == Actor::Strategy;
    let ends = index.asks.iter().flat_map(|ask| ask.ends.iter().map(move |end| (ask, end)));
    let asks = ends.map(|(ask, end)| Done { at: end.at, by: index.ended_by(ask, end), deed: Deed::Ask(ask.id) });
    let preempted = index.preempted.iter().map(|p| Done { at: p.at, by: p.by, deed: Deed::Preempted(p.call) });
    let acts = index.acts.iter().filter_map(|act| Some(Done { at: act.at, by: act.who, deed: deed(index, act)? }));
    let mut all: Vec<Done<'a>> = asks.chain(preempted).chain(acts).filter(|done| is_strategy(done.by)).collect();
    all.sort();
    all
}

fn deed<'a>(index: &Index<'a>, act: &Act<'a>) -> Option<Deed<'a>> {
    match act.what {
        Did::Signal(..) if ends_agent(index, act) => Some(Deed::Signalled),
        Did::Signal(sig, _) => {
            (is_end(sig) && lives(index, act.at) && !ends_agent_too(index, act)).then_some(Deed::EndedPart)
        }
        Did::Request(id) => aborts(index.requests.get(id)?).then_some(Deed::Aborted),
        Did::Closed => Some(Deed::ClosedStdin),
        Did::Inside("abort-stream") => Some(Deed::Aborted),
        Did::Inside("withhold") => Some(Deed::Withheld),
        Did::Inside(_) | Did::Wrote(_) | Did::Acts(_) | Did::Fault(_) => None,
    }
}

/// The instants of material progress that the agent itself made, up to `until`, in order: an ask that a strategy ended
/// and a question that it pre-empted do not count. A program that states no material facts (it is no agent) is judged
/// by its output: each text that differs from the one before.
pub fn progress(trace: &Trace, index: &Index<'_>, until: VTime) -> Vec<VTime> {
    let done = deeds(index);
    let by_strategies: BTreeSet<usize> =
        done.iter().filter(|done| matches!(done.deed, Deed::Ask(_) | Deed::Preempted(_))).map(|d| d.at.place).collect();
    let before = || trace.events.iter().enumerate().filter(|(_, event)| event.t <= until);
    let material =
        |(_, event): &(usize, &rehang_trace::Event)| matches!(&event.what, What::Fact(fact) if fact.is_material());
    if before().any(|event| material(&event)) {
        let own = before().filter(|event| material(event) && !by_strategies.contains(&event.0));
        return own.map(|(_, event)| event.t).collect();
    }
    let mut last = "";
    let mut own = Vec::new();
    for (_, event) in before() {
        if let What::Out { text, .. } = &event.what
            && text != last
        {
            last = text;
            own.push(event.t);
        }
    }
    own
}

/// How long the user waited: from the agent's last material progress to the end; and before it, each time without
/// progress that a strategy's deed ended. (A question that is refused after four hours cost four hours, however much
/// the agent does afterwards.)
pub fn waited(trace: &Trace, index: &Index<'_>, end: VTime) -> Span {
    let done: Vec<VTime> = deeds(index).iter().map(|done| done.at.t).collect();
    let mut since = VTime::ZERO;
    let mut waited = 0;
    for now in progress(trace, index, end) {
        // a deed at the instant of the last progress ended no wait
        if done.iter().any(|at| since < *at && *at <= now) {
            waited += now.since(since).as_ms();
        }
        since = now;
    }
    Span(waited + end.since(since).as_ms())
}

/// Whether an act of a strategy or a person is meant to end the agent or its turn.
pub(crate) fn ends_agent(index: &Index<'_>, act: &Act<'_>) -> bool {
    let by_either = || matches!(actor(act.who), Actor::Strategy | Actor::Person);
    match act.what {
        Did::Signal(sig, to) => {
            is_end(sig) && Role::of(to.trim_end_matches('*')).is_some_and(Role::is_agent) && by_either()
        }
        Did::Request(id) => index.requests.get(id).is_some_and(aborts) && by_either(),
        Did::Acts(what) => matches!(first_word(what), "stop" | "hang-up") && actor(act.who) == Actor::Person,
        _ => false,
    }
}

/// Whether a signal is meant to end a process.
fn is_end(signal: &str) -> bool {
    matches!(signal, "TERM" | "KILL" | "INT" | "HUP" | "QUIT")
}

/// Whether an agent lives.
fn lives(index: &Index<'_>, at: At) -> bool {
    let is_agent = |role: &str| Role::of(role).is_some_and(Role::is_agent);
    let living = |process: &Process<'_>| process.began <= at && process.ended.is_none_or(|(ended, _)| at < ended);
    index.processes.iter().any(|(role, process)| is_agent(role) && living(process))
}

/// Whether a strategy that signals a process below the agent signals the agent in the same instant.
fn ends_agent_too(index: &Index<'_>, part: &Act<'_>) -> bool {
    index.acts.iter().any(|act| (act.who, act.at.t) == (part.who, part.at.t) && ends_agent(index, act))
}

/// Whether a request aborts a session. Of all other requests no response is read: most are polls, with long answers.
fn aborts(request: &Request<'_>) -> bool {
    // A soft abort that finds an open question answers `false` and stops nothing.
    let refused = || request.response.is_some_and(|(_, status, body)| status >= 400 || **body == false);
    request.does == Does::Abort && !refused()
}

/// The first word in kebab-case: the act's name, without its arguments.
pub(crate) fn first_word(text: &str) -> &str {
    let start = text.find(|c: char| c.is_ascii_lowercase()).unwrap_or(text.len());
    let word = &text[start..];
    &word[..word.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(word.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use rehang_trace::{AskEnd, Cause, Fact};

    fn waits(cell: Cell, end: u64) -> u64 {
        let trace = cell.trace();
        waited(&trace, &Index::of(&trace), VTime(end)).as_ms()
    }

    fn asked() -> Cell {
        Cell::new().started().at(1_000).ask("que_1", "ses_1")
    }

    fn refused(cell: Cell, by: &str) -> Cell {
        cell.end("que_1", AskEnd::Rejected, Cause::Policy, by, &[]).tool_end("call_1", "refused")
    }

    #[test]
    fn a_refusal_after_hours_costs_hours_whatever_follows() {
        let after = |by: &str| refused(asked().at(14_401_000), by).at(14_402_000).done("Hi");
        assert_eq!(waits(after("guard-asks"), 14_402_000), 14_400_000);
        // the time that a person took to answer counts as theirs
        assert_eq!(waits(after("user"), 14_402_000), 0);
    }

    #[test]
    fn an_ask_that_a_strategy_ended_is_no_progress() {
        let cell = asked().at(31_000).end("que_1", AskEnd::Rejected, Cause::Policy, "pending-ask", &[]);
        assert_eq!(waits(cell.clone(), 91_000), 90_000);
        let trace = cell.trace();
        assert_eq!(progress(&trace, &Index::of(&trace), VTime(91_000)).last(), Some(&VTime(1_000)));
    }

    #[test]
    fn what_ends_with_a_signal_waited_since_its_last_word() {
        let cell =
            Cell::new().started().at(5).step("Hi", "tool-calls").at(600_005).signal("idle@off", "TERM", "agent*");
        assert_eq!(waits(cell, 630_005), 630_000);
        // a stdin that is closed in time, and an agent that goes on then
        let closed = Cell::new().started().at(60_000).add("guard-process", What::InEnd).step("Hi", "stop");
        assert_eq!(waits(closed.at(90_000).done("Hi"), 90_000), 60_000);
    }

    #[test]
    fn what_is_no_agent_is_judged_by_its_output() {
        let out = |cell: Cell, text: &str| cell.add("agent", What::Out { fd: 1, text: text.into() });
        let cell = out(out(Cell::new().spawn("agent").at(3_000), "a"), "a");
        assert_eq!(waits(cell, 10_000), 7_000);
    }

    #[test]
    fn an_abort_that_is_refused_is_no_deed() {
        let abort = |status, body: serde_json::Value| {
            let cell = Cell::new().started().at(5).post("watcher@pr5", 1, "/session/ses_1/abort");
            let trace = cell.respond("watcher@pr5", 1, status, body).trace();
            deeds(&Index::of(&trace)).iter().map(|done| format!("{:?}", done.deed)).collect::<Vec<_>>()
        };
        assert_eq!(abort(200, true.into()), ["Aborted"]);
        assert_eq!(abort(404, "no such session".into()), [""; 0]);
        assert_eq!(abort(400, true.into()), [""; 0]);
        assert_eq!(abort(200, false.into()), [""; 0], "a soft abort that finds a question stops nothing");
    }

    #[test]
    fn what_a_strategy_does_inside_the_agent_is_its_deed() {
        let acted = |act: &str| Fact::Acted { strategy: "guard".into(), act: act.into() };
        let cell = Cell::new().started().fact(acted("abort-stream")).fact(acted("withhold")).fact(acted("re-arm"));
        let cell = cell.preempt("auto-answer@r1", &["A"], "A", false).acts("person1", "stop");
        let trace = cell.signal("person1", "TERM", "agent").signal("guard", "TERM", "agent").trace();
        let deeds: Vec<_> =
            deeds(&Index::of(&trace)).iter().map(|done| format!("{} {:?}", done.by, done.deed)).collect();
        let preempted = "auto-answer@r1 Preempted(\"call_1\")";
        assert_eq!(deeds, ["guard Aborted", "guard Withheld", preempted, "guard Signalled"]);
    }
}
