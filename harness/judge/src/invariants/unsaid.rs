//! The part of invariant 3 that is derived: which reports a strategy owes, from what it did.
//!
//! Invariant: what is owed comes from the facts of the trace ([`acts::deeds`]), and not from what a strategy chose to
//! say. A strategy that acts must say so: by a report, a line to its user, or the end to which it settles the run, all
//! of which the source really printed, logged or stored. (A tool that is withheld is told to the model by the act
//! itself.) A report says why (what was detected, which rule, which cause). A deed that no event set off was set off by
//! time, and owes the limit: its report names constants, and one of those that are times had run out since the cell
//! began. How often a strategy looks is not a limit.

use crate::acts::{self, Deed, Done};
use crate::cell::same_strategy;
use crate::index::At;
use crate::view::View;
use rehang_scenario::{Policy, VTime};
use rehang_trace::{
    RunEnd, What,
    role::{Actor, actor},
};

/// The constant that says how often a strategy looks.
const RHYTHM: &str = "every_ms";

/// A report that is owed and missing: when, and why it is a breach.
pub(super) fn owed(view: &View<'_>) -> Vec<(At, String)> {
    let mut owed = Vec::new();
    for done in acts::deeds(view.index) {
        owed.extend(
            lacks(view, &done).map(|lacks| (done.at, format!("{} {}, and {lacks}", done.by, what(&done.deed)))),
        );
    }
    for settled in view.index.settled.iter().filter(|settled| actor(settled.who) == Actor::Strategy) {
        if settled.outcome != RunEnd::Completed && settled.cause.is_empty() && settled.text.is_empty() {
            owed.push((
                settled.at,
                format!("{} holds the run to be {}, and does not say why", settled.who, settled.outcome),
            ));
        }
    }
    owed
}

fn what(deed: &Deed<'_>) -> String {
    match deed {
        Deed::Ask(id) => format!("ended `{id}`"),
        Deed::Preempted(call) => format!("answered call `{call}` before it became an ask"),
        Deed::Withheld => "withheld a tool".to_owned(),
        Deed::Signalled => "sent the agent a signal to end".to_owned(),
        Deed::EndedPart => "ended a process below the agent".to_owned(),
        Deed::Aborted => "aborted a session".to_owned(),
        Deed::ClosedStdin => "closed the agent's stdin".to_owned(),
    }
}

/// What the reports about a deed lack; `None` if nothing.
fn lacks(view: &View<'_>, done: &Done<'_>) -> Option<String> {
    let from = match done.deed {
        Deed::Ask(id) => view.index.asks.iter().find(|ask| ask.id == id).map_or(VTime::ZERO, |ask| ask.opened.t),
        Deed::Preempted(_) | Deed::Withheld => done.at.t,
        // a TERM is reported once, and the KILL after it belongs to the same end
        Deed::Signalled | Deed::EndedPart | Deed::Aborted | Deed::ClosedStdin => begin(view, done.at),
    };
    let reports = view.index.reports.iter();
    let mut reports = reports.filter(|(who, at, _)| same_strategy(who, done.by) && from <= at.t && at.t <= done.at.t);
    let Some((.., policy)) = reports.next_back() else {
        return (done.deed != Deed::Withheld && !says(view, done, from)).then(|| "says nothing of it".to_owned());
    };
    if [&policy.cause, &policy.rule, &policy.detected].into_iter().all(Option::is_none) {
        return Some("does not say why".to_owned());
    }
    // a strategy that outlives the caller's runs counts from the first
    let ran = done.at.t.since(VTime::ZERO);
    match came_with_time(view, done) {
        true if policy.constants.is_empty() => Some(format!("names no limit, though only time had passed ({ran})")),
        true if !has_run_out(policy, ran.as_ms()) => Some(format!("no limit that it reports had run out after {ran}")),
        _ => None,
    }
}

/// Whether one of the times that a report names had run out; if it names only counts, they are believed.
fn has_run_out(policy: &Policy, ran_ms: u64) -> bool {
    let mut limits = policy.constants.iter().filter(|(name, _)| name.ends_with("_ms") && *name != RHYTHM).peekable();
    limits.peek().is_none() || limits.any(|(_, ms)| 0 < *ms && *ms <= ran_ms)
}

/// When the caller's run began that this is in.
fn begin(view: &View<'_>, at: At) -> VTime {
    view.index.run_overs.iter().rev().find(|over| **over < at).map_or(VTime::ZERO, |over| over.t)
}

/// Whether it says so otherwise: by a line to its user up to the same instant, or by the end to which it settles the
/// run.
fn says(view: &View<'_>, done: &Done<'_>, from: VTime) -> bool {
    let line = view.trace.events.iter().any(|event| {
        let now = from <= event.t && event.t <= done.at.t;
        now && same_strategy(&event.who, done.by) && matches!(&event.what, What::Says(_))
    });
    let settles = view.index.settled.iter().any(|settled| {
        same_strategy(settled.who, done.by) && settled.outcome != RunEnd::Completed && done.at.t <= settled.at.t
    });
    line || settles && !matches!(done.deed, Deed::Ask(_) | Deed::Preempted(_) | Deed::Withheld)
}

/// Whether nothing happened at the instant of a deed that could have set it off, except the strategies' own looks.
fn came_with_time(view: &View<'_>, done: &Done<'_>) -> bool {
    // a question that is answered at the tool's entry is set off by the call
    if matches!(done.deed, Deed::Preempted(_) | Deed::Withheld) {
        return false;
    }
    let now = view.trace.events.iter().take(done.at.place).rev().take_while(|event| event.t == done.at.t);
    let mut others = now.filter(|event| match &event.what {
        // its own polls come with the time, and so do their answers; a poll that fails is an event
        What::Request { .. } | What::Response { .. } | What::Looked { .. } => false,
        What::Fact(rehang_trace::Fact::Policy { .. } | rehang_trace::Fact::Acted { .. }) => false,
        _ => actor(&event.who) != Actor::Strategy || matches!(event.what, What::RequestFailed { .. }),
    });
    let first = view.trace.events.first().map(|event| event.t);
    others.next().is_none() && first != Some(done.at.t)
}

#[cfg(test)]
mod tests {
    use super::super::report::check;
    use crate::testing::*;
    use expect_test::{Expect, expect};
    use rehang_scenario::Policy;
    use rehang_trace::{AskEnd, Cause, RunEnd, What};

    fn says(cell: Cell, want: Expect) {
        want.assert_eq(&said(check, cell, &facts("x")));
    }

    fn policy(limit_ms: u64) -> Policy {
        let constants = [("limit_ms".to_owned(), limit_ms), ("every_ms".to_owned(), 1)].into();
        Policy { detected: Some("idle".into()), cause: Some("idle".into()), constants, ..Policy::default() }
    }

    fn up() -> Cell {
        Cell::new().started().at(700_000)
    }

    #[test]
    fn who_kills_and_says_nothing_breaks_it() {
        let kill = |cell: Cell| cell.signal("killer", "KILL", "agent*").killed("agent", "KILL");
        says(
            kill(up()).settle("wrapper", "failed", "exit 137", ""),
            expect![[r#"
            700s untrue-report: killer sent the agent a signal to end, and says nothing of it
        "#]],
        );
        says(kill(up().says("killer", "giving up")), expect![""]);
        says(kill(up()).settle("killer", "stopped", "idle", ""), expect![""]);
        says(kill(up().report("killer", policy(600_000))), expect![""]);
    }

    #[test]
    fn what_comes_with_the_time_owes_its_limit() {
        let closed = |report: Policy| up().report("closer", report).add("closer", What::InEnd);
        says(closed(policy(700_000)), expect![""]);
        // a limit of 0 is one that is off
        says(
            closed(policy(0)),
            expect![[r#"
                700s untrue-report: closer closed the agent's stdin, and no limit that it reports had run out after 700s
            "#]],
        );
        says(
            closed(policy(700_001)),
            expect![[r#"
                700s untrue-report: closer closed the agent's stdin, and no limit that it reports had run out after 700s
            "#]],
        );
        says(
            closed(Policy { constants: Default::default(), ..policy(0) }),
            expect![[r#"
                700s untrue-report: closer closed the agent's stdin, and names no limit, though only time had passed (700s)
            "#]],
        );
        says(
            closed(Policy { detected: None, cause: None, ..policy(1) }),
            expect![[r#"
            700s untrue-report: closer closed the agent's stdin, and does not say why
        "#]],
        );
        // what the agent did a moment before set it off
        let prompted = up().step("Hi", "stop").report("closer", Policy { constants: Default::default(), ..policy(0) });
        says(prompted.add("closer", What::InEnd), expect![""]);
    }

    #[test]
    fn what_was_said_of_a_run_says_nothing_of_the_next() {
        let over = What::RunOver { outcome: RunEnd::Failed, cause: String::new(), text: String::new() };
        let closed = |said_at: u64| {
            let cell =
                Cell::new().started().at(said_at).report("closer", policy(1)).at(700_000).add("wrapper", over.clone());
            let cell = if said_at == 0 { cell.at(800_000) } else { cell.at(800_000).report("closer", policy(1)) };
            cell.add("closer", What::InEnd)
        };
        says(closed(1), expect![""]);
        says(
            closed(0),
            expect![[r#"
            800s untrue-report: closer closed the agent's stdin, and says nothing of it
        "#]],
        );
    }

    #[test]
    fn each_ask_owes_a_report_of_its_own() {
        let ended = |cell: Cell, id: &str| cell.end(id, AskEnd::Rejected, Cause::Policy, "refuser", &[]);
        let two = up().ask("que_1", "ses_1").ask("que_2", "ses_1").at(800_000).report("refuser", policy(60_000));
        says(ended(ended(two, "que_1"), "que_2"), expect![""]);
        let later = ended(up().ask("que_1", "ses_1").at(800_000).report("refuser", policy(60_000)), "que_1");
        says(
            ended(later.at(800_001).ask("que_2", "ses_1").at(900_000), "que_2"),
            expect![[r#"
                15m untrue-report: refuser ended `que_2`, and says nothing of it
            "#]],
        );
    }
}
