//! Invariant 1: `rejected` appears only with a cause: a dismiss, a stop, a shutdown, a malformed reply, or an explicit
//! refusal by policy. Silence is not a cause.
//!
//! Invariant: a stated cause is believed only if a party did it while the ask was open: a person, the client, the
//! wrapper, a fault. No flag makes a refusal one by policy: the trace must hold a report of the one who refuses, no
//! later than the end, that names a rule and a limit, and each limit that it names must have run out since the ask was
//! opened. An agent that rejects by a rule of its own prints it. A strategy that aborts a session also ends its asks;
//! that is a stop only if the strategy settles the run as stopped and says why (a recovery clock that aborts and goes
//! on is not: Astro-Han/pawwork#756). If the wire names a reason, it must be the stated cause.

use crate::acts::first_word;
use crate::cell::same_strategy;
use crate::index::{Act, Ask, Did, Does, End, names};
use crate::verdict::Breach;
use crate::view::View;
use rehang_scenario::{Invariant, Policy};
use rehang_trace::{
    AskEnd, Cause, RunEnd, What,
    role::{Actor, actor},
};
use serde_json::Value;

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let asks = view.index.asks.iter();
    let rejected = asks.flat_map(|ask| ask.ends.iter().map(move |end| (ask, end)));
    let rejected = rejected.filter(|(_, end)| end.end == AskEnd::Rejected);
    let spurious = rejected.filter_map(|(ask, end)| {
        let why = unfounded(view, ask, end)?;
        Some(Breach::new(
            Invariant::RejectedWithoutCause,
            end.at,
            format!("`{}` of {} is rejected by {why}", ask.id, ask.who),
        ))
    });
    spurious.chain(wire(view)).collect()
}

fn unfounded(view: &View<'_>, ask: &Ask<'_>, end: &End<'_>) -> Option<String> {
    let by = end.by;
    match end.cause {
        Cause::Silence => Some(format!("{by}, and its only cause is silence")),
        Cause::Answer => Some(format!("{by}, though the stated cause is an answer")),
        Cause::Policy if actor(by) == Actor::Process => {
            (!prints(view, end)).then(|| format!("{by}'s own policy, and it prints no word of that"))
        }
        Cause::Policy if by.is_empty() => Some("nobody, though the stated cause is a policy".into()),
        Cause::Policy => no_policy(view, by, ask, end)
            .map(|lacks| format!("{by}, by a policy that the trace does not show: {lacks}")),
        Cause::Shutdown => {
            let gone = view.index.processes.get(ask.who).is_some_and(|p| p.ended.is_some());
            let asked = view.index.acts.iter().any(|act| act.at.t <= end.at.t && !matches!(act.what, Did::Acts(_)));
            (!gone && !asked).then(|| format!("{by} for a shutdown, and nothing shuts down"))
        }
        Cause::Dismiss | Cause::Stop | Cause::Malformed => {
            let word = word(end.cause);
            let during = |act: &&Act<'_>| ask.opened.t <= act.at.t && act.at < end.at;
            let mut acts: Vec<&Act<'_>> = view.index.acts.iter().filter(during).collect();
            if actor(by) == Actor::Strategy {
                acts.retain(|act| same_strategy(act.who, by));
            } else if acts.iter().any(|act| actor(act.who) != Actor::Strategy && founds(view, act, end.cause)) {
                return None;
            }
            let strategy = acts.iter().find(|act| actor(act.who) == Actor::Strategy).map(|act| act.who);
            let strategy = strategy.or_else(|| (actor(by) == Actor::Strategy).then_some(by));
            let Some(strategy) = strategy else { return Some(format!("{by} for a {word}, and nobody did that")) };
            let explicit = acts.iter().any(|act| refuses(view, act, ask));
            let settled = view.index.settled.iter();
            let truthful = end.cause == Cause::Stop
                && settled
                    .clone()
                    .any(|s| same_strategy(s.who, strategy) && s.outcome == RunEnd::Stopped && !s.cause.is_empty());
            match no_policy(view, strategy, ask, end) {
                _ if truthful => None,
                None if explicit => None,
                Some(lacks) if explicit => {
                    Some(format!("{strategy}, by a policy that the trace does not show: {lacks}"))
                }
                _ => Some(format!("{strategy}, passed off as a {word}; no person did that")),
            }
        }
    }
}

/// What opencode's `run` prints of a permission that it rejects at once, by a rule of its own (golden opencode-run-1.2.15
/// and later).
const AUTO_REJECTING: &str = "auto-rejecting";

/// Whether the agent prints, no later than at the instant of the end, that it rejects by itself.
fn prints(view: &View<'_>, end: &End<'_>) -> bool {
    let by_then = view.trace.events.iter().take_while(|event| event.t <= end.at.t);
    by_then.into_iter().any(|event| matches!(&event.what, What::Out { text, .. } if text.contains(AUTO_REJECTING)))
}

/// The constant that says how often a strategy looks: an interval, not a limit.
const RHYTHM: &str = "every_ms";

/// What a refusal by policy lacks in the trace; `None` if nothing is missing.
fn no_policy(view: &View<'_>, by: &str, ask: &Ask<'_>, end: &End<'_>) -> Option<&'static str> {
    let reports = view.index.reports.iter();
    let reports = reports.filter(|(who, at, _)| same_strategy(who, by) && ask.opened.t <= at.t && at.t <= end.at.t);
    let waited = end.at.t.since(ask.opened.t).as_ms();
    let lacks = |policy: &Policy| {
        let mut limits =
            policy.constants.iter().filter(|(name, _)| name.ends_with("_ms") && *name != RHYTHM).peekable();
        match () {
            () if policy.rule.as_ref().is_none_or(String::is_empty) => Some("its report names no rule"),
            () if limits.peek().is_none() => Some("its report names no limit"),
            () if limits.any(|(_, ms)| *ms > waited) => Some("the limit that it reports had not run out"),
            () => None,
        }
    };
    let mut why = Some("nothing was reported by then");
    for (.., policy) in reports {
        why = lacks(policy);
        if why.is_none() {
            break;
        }
    }
    why
}

/// Whether an act can be what a dismiss, stop or malformed reply consists of.
fn founds(view: &View<'_>, act: &Act<'_>, cause: Cause) -> bool {
    match act.what {
        Did::Acts(what) => match first_word(what) {
            "answer" | "answers" | "allow" | "always" => false,
            // a person who looks at something else refuses nothing
            "leave" | "come-back" => false,
            "malformed" => cause == Cause::Malformed,
            _ => true,
        },
        Did::Request(id) => {
            let Some(request) = view.index.requests.get(id) else { return false };
            request.method == "POST"
                && ((request.does == Does::Abort) == (cause == Cause::Stop) || request.path.ends_with("/respond"))
        }
        Did::Wrote(_) | Did::Closed | Did::Signal(..) | Did::Fault(_) => true,
        Did::Inside(_) => false,
    }
}

/// Whether an act refuses exactly this ask by name.
fn refuses(view: &View<'_>, act: &Act<'_>, ask: &Ask<'_>) -> bool {
    match act.what {
        Did::Request(id) => {
            let Some(request) = view.index.requests.get(id) else { return false };
            let says = |key: &&str| request.body.get(key).and_then(Value::as_str) == Some("reject");
            names(request.path, ask.id) && (request.path.ends_with("/reject") || ["reply", "response"].iter().any(says))
        }
        Did::Wrote(text) => names(text, ask.id) && text.contains("deny"),
        _ => false,
    }
}

/// A reason on the wire (PawWork's `question.rejected`) is the stated cause.
fn wire(view: &View<'_>) -> impl Iterator<Item = Breach> {
    view.trace.events.iter().enumerate().filter_map(|(place, event)| {
        let What::Sse(value) = &event.what else { return None };
        if value.kind() != "question.rejected" {
            return None;
        }
        let text = |key: &str| value.pointer(&format!("/properties/{key}")).and_then(Value::as_str);
        let (id, reason) = (text("requestID")?, text("reason")?);
        let ask = view.index.asks.iter().rev().find(|ask| ask.id == id)?;
        let end = ask.ends.iter().find(|end| end.end == AskEnd::Rejected)?;
        let fits: &[Cause] = match reason {
            "dismissed" => &[Cause::Dismiss],
            // An aborted stream cancels, and so may a refusal by policy ("cancelled before the user answered it" is
            // true of it): the stated cause is judged on its own.
            "cancelled" => &[Cause::Stop, Cause::Silence, Cause::Policy],
            "shutdown" => &[Cause::Shutdown],
            "rejected" => &[Cause::Malformed, Cause::Policy],
            _ => return None,
        };
        let why = || {
            format!(
                "`{id}` is rejected on the wire as {reason}, and by {}'s own word for a {}",
                ask.who,
                word(end.cause)
            )
        };
        let at = crate::index::At { place, t: event.t };
        (!fits.contains(&end.cause)).then(|| Breach::new(Invariant::RejectedWithoutCause, at, why()))
    })
}

fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::Answer => "answer",
        Cause::Dismiss => "dismiss",
        Cause::Stop => "stop",
        Cause::Shutdown => "shutdown",
        Cause::Malformed => "malformed reply",
        Cause::Policy => "policy",
        Cause::Silence => "silence",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn says(cell: Cell, want: Expect) {
        want.assert_eq(&said(check, cell, &facts("x")));
    }

    fn asked() -> Cell {
        Cell::new().started().ask("que_1", "ses_1").at(5_000)
    }

    fn rejected(cell: Cell, cause: Cause, by: &str) -> Cell {
        cell.end("que_1", AskEnd::Rejected, cause, by, &[])
    }

    #[test]
    fn silence_is_no_cause() {
        says(
            rejected(asked(), Cause::Silence, "blind-timeout"),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by blind-timeout, and its only cause is silence
        "#]],
        );
        says(
            rejected(asked(), Cause::Policy, "pending-ask"),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by pending-ask, by a policy that the trace does not show: nothing was reported by then
        "#]],
        );
        says(asked().end("que_1", AskEnd::Replied, Cause::Silence, "x", &["A"]), expect![""]);
    }

    #[test]
    fn a_dismiss_needs_somebody_who_dismisses() {
        says(
            rejected(asked(), Cause::Dismiss, "user"),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by user for a dismiss, and nobody did that
        "#]],
        );
        says(
            rejected(asked().acts("person1", "answer A"), Cause::Dismiss, "user"),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by user for a dismiss, and nobody did that
        "#]],
        );
        says(rejected(asked().acts("person1", "dismiss"), Cause::Dismiss, "user"), expect![""]);
        says(rejected(asked().post("person1", 1, "/question/que_1/reject"), Cause::Dismiss, "user"), expect![""]);
        // What they did before the ask was opened does not count.
        let before = Cell::new().at(0).acts("person1", "dismiss").at(1).ask("que_1", "ses_1").at(2);
        says(
            rejected(before, Cause::Dismiss, "user"),
            expect![[r#"
            2ms rejected-without-cause: `que_1` of agent is rejected by user for a dismiss, and nobody did that
        "#]],
        );
    }

    #[test]
    fn a_recovery_clock_is_no_stop() {
        let halted = |cell: Cell| rejected(cell.post("recovery@430", 1, "/session/ses_1/abort"), Cause::Stop, "user");
        says(
            halted(asked()),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by recovery@430, passed off as a stop; no person did that
        "#]],
        );
        // A person's late answer does not make it one.
        says(
            halted(asked().acts("person1", "answer A")),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by recovery@430, passed off as a stop; no person did that
        "#]],
        );
        says(halted(asked()).settle("recovery@430", "stopped", "no progress", ""), expect![""]);
        says(halted(asked().acts("person1", "stop")), expect![""]);
        says(rejected(asked().post("person1", 1, "/session/ses_1/abort"), Cause::Stop, "user"), expect![""]);
    }

    #[test]
    fn a_strategy_may_refuse_in_so_many_words() {
        let refused = |id: &str| {
            asked().report("pending-ask", policy(5_000)).post("pending-ask", 1, &format!("/question/{id}/reject"))
        };
        says(rejected(refused("que_1"), Cause::Dismiss, "user"), expect![""]);
        says(
            rejected(refused("que_2"), Cause::Dismiss, "user"),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by pending-ask, passed off as a dismiss; no person did that
        "#]],
        );
    }

    fn policy(after_ms: u64) -> Policy {
        let constants = [("after_ms".to_owned(), after_ms), ("every_ms".to_owned(), 60_000)].into();
        Policy { rule: Some("refuse".into()), constants, ..Policy::default() }
    }

    #[test]
    fn a_policy_is_believed_where_the_trace_shows_it() {
        let by = |cell: Cell| rejected(cell, Cause::Policy, "guard-asks");
        let reported = |report: Policy| asked().report("guard-asks", report);
        says(by(reported(policy(5_000))), expect![""]);
        for (report, lacks) in [
            (policy(5_001), "the limit that it reports had not run out"),
            (Policy { rule: None, ..policy(5_000) }, "its report names no rule"),
            (Policy { constants: Default::default(), ..policy(5_000) }, "its report names no limit"),
        ] {
            let shown = said(check, by(reported(report)), &facts("x"));
            assert!(
                shown.trim_end().ends_with(&format!("by a policy that the trace does not show: {lacks}")),
                "{shown}"
            );
        }
        // of another strategy, too late, or of an earlier ask
        let other = asked().report("pending-ask", policy(5_000));
        let late = by(asked()).at(5_001).report("guard-asks", policy(5_000));
        let before = Cell::new().at(0).report("guard-asks", policy(0)).at(1).ask("que_1", "ses_1").at(5_001);
        for cell in [by(other), late, by(before)] {
            assert!(said(check, cell, &facts("x")).contains("nothing was reported by then"));
        }
    }

    #[test]
    fn an_agent_that_rejects_by_itself_prints_it() {
        let by_agent = |cell: Cell| rejected(cell, Cause::Policy, "agent");
        says(
            by_agent(asked()),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by agent's own policy, and it prints no word of that
        "#]],
        );
        let line = || What::Out { fd: 2, text: "! permission requested: bash (ls); auto-rejecting\n".into() };
        says(by_agent(asked()).add("agent", line()), expect![""]);
        assert_ne!(said(check, by_agent(asked()).at(5_001).add("agent", line()), &facts("x")), "", "too late");
    }

    #[test]
    fn a_shutdown_needs_an_end() {
        says(
            rejected(asked(), Cause::Shutdown, "shutdown"),
            expect![[r#"
            5s rejected-without-cause: `que_1` of agent is rejected by shutdown for a shutdown, and nothing shuts down
        "#]],
        );
        says(rejected(asked(), Cause::Shutdown, "shutdown").exit("agent", 143), expect![""]);
    }

    #[test]
    fn a_reason_on_the_wire_is_the_cause() {
        let wire = |reason: &str| {
            let cell = rejected(asked().acts("person1", "malformed count"), Cause::Malformed, "user");
            cell.sse("question.rejected", json!({"requestID": "que_1", "reason": reason}))
        };
        says(wire("rejected"), expect![""]);
        says(
            wire("dismissed"),
            expect![[r#"
            5s rejected-without-cause: `que_1` is rejected on the wire as dismissed, and by agent's own word for a malformed reply
        "#]],
        );
    }

    #[test]
    fn who_ends_the_agent_shuts_down() {
        let by = |cell: Cell| said(check, rejected(cell, Cause::Shutdown, "shutdown"), &facts("x"));
        assert_eq!(by(asked().signal("wrapper", "TERM", "agent")), "");
        assert_ne!(by(asked().acts("person1", "stop")), "", "a person's act is no signal");
        let late = rejected(asked(), Cause::Shutdown, "shutdown").at(5_001).signal("wrapper", "TERM", "agent");
        assert_ne!(said(check, late, &facts("x")), "", "too late");
    }
}
