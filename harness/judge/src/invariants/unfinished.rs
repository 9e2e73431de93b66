//! Invariant 7: Never `completed` on an unfinished step; the result is whole.
//!
//! Invariant: a run is unfinished if the last step of a root session had not ended with a finish reason that ends a
//! turn (`tool-calls` and `unknown` do not end one for opencode's own loop, and a missing one never does), unless an
//! ask of that step was rejected: opencode's loop stops after a refusal, and invariant 1 judges whether that had a
//! cause. A run whose root session is still busy at the end of that instant is unfinished too: within one instant, who
//! is told first is chance. The result is whole if what the settler has holds the agent's own result, as it is or as a
//! JSON string; carriage returns and white space around it do not count.

use crate::index::{At, End, Session, Settlement};
use crate::verdict::Breach;
use crate::verdict::Outcome;
use crate::view::View;
use rehang_scenario::Invariant;
use rehang_trace::{
    AskEnd, RunEnd,
    role::{Actor, actor},
};

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let stopped = matches!(view.verdict.outcome, Outcome::Stopped { .. });
    let claims = |settled: &&Settlement<'_>| !stopped || actor(settled.who) == Actor::Strategy;
    let completed = view.index.settled.iter().filter(|settled| settled.outcome == RunEnd::Completed).filter(claims);
    let unfinished = completed.flat_map(|settled| [step(view, settled), result(view, settled)]);
    unfinished.flatten().collect()
}

fn step(view: &View<'_>, settled: &Settlement<'_>) -> Option<Breach> {
    let why = view.index.roots().find_map(|session| {
        let last = match session.step_before(settled.at.place) {
            Some(None) => Some("is still running".to_owned()),
            Some(Some("stop" | "length" | "end-turn")) | None => None,
            Some(Some(_)) if refused(view, session, settled.at) => None,
            Some(Some("none")) => Some("ended without a reason".to_owned()),
            Some(Some(finish)) => Some(format!("ended with {finish}")),
        };
        let busy = session.busy_at(settled.at.t) == Some(true);
        match last {
            Some(last) => Some(format!("though the last step of {} {last}", session.id)),
            None => busy.then(|| format!("while {} is busy", session.id)),
        }
    })?;
    Some(Breach::new(Invariant::Unfinished, settled.at, format!("{} says completed {why}", settled.who)))
}

/// Whether an ask of the session's last step was rejected.
fn refused(view: &View<'_>, session: &Session<'_>, before: At) -> bool {
    let begun = session.steps.iter().rev().find(|(at, finish)| *at < before && finish.is_none());
    let since = |end: &End<'_>| end.at < before && begun.is_some_and(|(begun, _)| *begun < end.at);
    let mut asks = view.index.asks.iter().filter(|ask| ask.who == session.who && ask.session == session.id);
    asks.any(|ask| ask.ends.iter().any(|end| end.end == AskEnd::Rejected && since(end)))
}

fn result(view: &View<'_>, settled: &Settlement<'_>) -> Option<Breach> {
    let before = view.index.results.iter().rev().find(|&&(who, at, ..)| who == "agent" && at < settled.at);
    let whole = before?.3.replace('\r', "");
    let whole = whole.trim();
    let has = settled.text.replace('\r', "");
    let quoted = serde_json::to_string(whole).unwrap_or_default();
    let inside = quoted.trim_matches('"');
    if whole.is_empty() || has.contains(whole) || has.contains(inside) {
        return None;
    }
    let (has, whole) = (has.trim().len(), whole.len());
    let why =
        format!("{} says completed with {has} bytes that do not hold the agent's result of {whole} bytes", settled.who);
    Some(Breach::new(Invariant::Unfinished, settled.at, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};

    fn says(cell: Cell, want: Expect) {
        want.assert_eq(&said(check, cell, &facts("x")));
    }

    fn step(finish: &str) -> Cell {
        Cell::new().started().step("part", finish).at(5_400)
    }

    fn completes(cell: Cell) -> Cell {
        cell.settle("watcher@pr3", "completed", "", "part")
    }

    #[test]
    fn a_tool_calls_step_is_no_end() {
        says(
            completes(step("tool-calls")),
            expect![[r#"
            5400ms unfinished: watcher@pr3 says completed though the last step of ses_1 ended with tool-calls
        "#]],
        );
        says(
            completes(step("none").busy("ses_1", false)),
            expect![[r#"
            5400ms unfinished: watcher@pr3 says completed though the last step of ses_1 ended without a reason
        "#]],
        );
        says(completes(step("stop").busy("ses_1", false)), expect![""]);
        says(step("tool-calls").settle("x", "stopped", "idle", ""), expect![""]);
    }

    #[test]
    fn what_a_wrapper_makes_of_a_stop_is_no_claim() {
        let stopped = || step("aborted").add("person1", rehang_trace::What::Acts("stop".into())).at(5_401);
        let over = |cell: Cell| cell.busy("ses_1", false).exit("agent", 0);
        says(over(stopped()).settle("wrapper", "completed", "", "part"), expect![""]);
        says(
            over(step("aborted")).settle("wrapper", "completed", "", "part"),
            expect![[r#"
                5400ms unfinished: wrapper says completed though the last step of ses_1 ended with aborted
            "#]],
        );
    }

    #[test]
    fn a_refusal_ends_the_turn() {
        use rehang_trace::{AskEnd, Cause};
        let ask = |ends| {
            let cell =
                Cell::new().started().fact(rehang_trace::Fact::ModelAsked { session: "ses_1".into(), response: 1 });
            let cell = cell.ask("que_1", "ses_1").step("part", "tool-calls").at(5_400);
            cell.end("que_1", ends, Cause::Dismiss, "user", &[]).at(5_401)
        };
        says(completes(ask(AskEnd::Rejected).busy("ses_1", false)), expect![""]);
        says(
            completes(ask(AskEnd::Replied).busy("ses_1", false)),
            expect![[r#"
                5401ms unfinished: watcher@pr3 says completed though the last step of ses_1 ended with tool-calls
            "#]],
        );
        // A refusal ends its own step, not the next one.
        let next = ask(AskEnd::Rejected).fact(rehang_trace::Fact::ModelAsked { session: "ses_1".into(), response: 2 });
        says(
            completes(next.step("more", "tool-calls").busy("ses_1", false)),
            expect![[r#"
                5401ms unfinished: watcher@pr3 says completed though the last step of ses_1 ended with tool-calls
            "#]],
        );
    }

    #[test]
    fn a_busy_session_is_not_over() {
        says(
            completes(step("stop")),
            expect![[r#"
            5400ms unfinished: watcher@pr3 says completed while ses_1 is busy
        "#]],
        );
        // Idle in the same instant; or its process is gone, and the session with it.
        says(completes(step("stop")).busy("ses_1", false), expect![""]);
        says(completes(step("stop").exit("agent", 0)), expect![""]);
        says(
            completes(step("stop")).at(5_401).busy("ses_1", false),
            expect![[r#"
            5400ms unfinished: watcher@pr3 says completed while ses_1 is busy
        "#]],
        );
        let asked = step("stop").fact(rehang_trace::Fact::ModelAsked { session: "ses_1".into(), response: 2 });
        says(
            completes(asked),
            expect![[r#"
            5400ms unfinished: watcher@pr3 says completed though the last step of ses_1 is still running
        "#]],
        );
        // A subagent's step does not count: its parent waits for it or does not.
        let child = rehang_trace::Fact::ModelDone { session: "ses_2".into(), finish: "tool-calls".into() };
        says(completes(step("stop").busy("ses_1", false).session("ses_2", "ses_1").fact(child)), expect![""]);
    }

    #[test]
    fn a_cut_result_is_not_whole() {
        let text = |text: &str| {
            let cell = step("stop").result("line 1\n\"line\" 2").exit("agent", 0);
            cell.settle("wrapper", "completed", "", text)
        };
        says(text("> go\r\nline 1\r\n\"line\" 2\r\n"), expect![""]);
        says(text(r#"{"type":"result","result":"line 1\n\"line\" 2"}"#), expect![""]);
        says(
            text("line 1\n\"line"),
            expect![[r#"
            5400ms unfinished: wrapper says completed with 12 bytes that do not hold the agent's result of 15 bytes
        "#]],
        );
        says(
            text(""),
            expect![[r#"
            5400ms unfinished: wrapper says completed with 0 bytes that do not hold the agent's result of 15 bytes
        "#]],
        );
    }

    #[test]
    fn a_subagent_s_refusal_does_not_end_its_parent_s_turn() {
        use rehang_trace::{AskEnd, Cause, Fact};
        let cell = |session: &str| {
            let cell = Cell::new().started().session("ses_2", "ses_1");
            let cell = cell.fact(Fact::ModelAsked { session: "ses_1".into(), response: 1 }).ask("que_1", session);
            let cell = cell.end("que_1", AskEnd::Rejected, Cause::Dismiss, "user", &[]).at(5_400);
            let done = Fact::ModelDone { session: "ses_1".into(), finish: "tool-calls".into() };
            said(check, completes(cell.fact(done).busy("ses_1", false)), &facts("x"))
        };
        assert_eq!(cell("ses_1"), "");
        assert!(cell("ses_2").contains("the last step of ses_1 ended with tool-calls"));
    }
}
