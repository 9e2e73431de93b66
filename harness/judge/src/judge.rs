//! From a trace to its verdict: whether a cell completed, failed, was stopped, or hangs, and on what.
//!
//! Invariant: the party that settles a run says how it ended as they see it; the trace says what ended it. An agent
//! that a strategy or a person ended is `stopped` by them, whatever its wrapper concludes from the exit.
//!
//! The first to settle decides, since that is what the user is told:
//!  1. a strategy: what it says is kept (the invariants judge whether it is true);
//!  2. the wrapper or the client, and before that a strategy or a person signalled the agent, hung up its
//!     stdin's terminal or aborted its session, and since then no step of it came to a regular end:
//!     `stopped`. The cause is the one the strategy settles or reports; for a person their act (`stop`);
//!  3. else its word: `completed`, `failed`, `stopped`.
//!
//! If nobody settles and the scheduler has a proof: `hung`, with that proof and what [`crate::blocked`] finds. Without
//! a proof, when virtual time or the steps ran out, the cell is `undecided`, which is not a hang.

use crate::acts::{self, ends_agent, first_word};
use crate::blocked::blocked_on;
use crate::cell::{CellFacts, same_strategy};
use crate::crosscheck::{Inconsistent, crosscheck};
use crate::index::{Ask, At, Did, Index, Settlement};
use crate::invariants;
use crate::transcript::Transcript;
use crate::verdict::{AskRow, Outcome, Verdict};
use crate::view::View;
use rehang_scenario::{Proof, VTime, turns::Question};
use rehang_trace::{
    AskEnd, Ended, RunEnd, Trace, What,
    role::{Actor, actor},
};

/// Judges a cell: its verdict with all breaches.
///
/// # Errors
/// What the agent states of itself does not fit what came over the wire: an internal error.
pub fn judge(trace: &Trace, facts: &CellFacts, baseline: Option<&Verdict>) -> Result<Verdict, Inconsistent> {
    let index = Index::of(trace);
    let mut verdict = of(trace, facts, &index);
    let view = View { trace, facts, index: &index, verdict: &verdict, baseline };
    crosscheck(&view)?;
    verdict.breaches = invariants::check(&view);
    Ok(verdict)
}

/// The meaning of a trace, without its breaches.
pub fn verdict(trace: &Trace, facts: &CellFacts) -> Verdict {
    of(trace, facts, &Index::of(trace))
}

fn of(trace: &Trace, facts: &CellFacts, index: &Index<'_>) -> Verdict {
    let decisive = index.settled.first();
    let last = trace.events.last().map_or(VTime::ZERO, |event| event.t);
    let ended = decisive.map(|settled| settled.at.t).or(index.ended.map(|(at, _)| at.t)).unwrap_or(last);
    let outcome = match decisive {
        Some(settled) => settled_as(index, settled),
        None => unsettled(index, facts),
    };
    let is_over = !outcome.is_hung() && !outcome.is_undecided();
    Verdict {
        outcome,
        settled_by: decisive.map(|settled| settled.who.to_owned()),
        ended,
        policies: index.reports.iter().map(|&(who, at, policy)| (who.to_owned(), at.t, policy.clone())).collect(),
        asks: index.asks.iter().map(ask_row).collect(),
        told: told(index),
        said: said(trace),
        gets: gets(index),
        rejected: rejected(index),
        last_progress: acts::progress(trace, index, ended).last().copied().unwrap_or(VTime::ZERO),
        waited: is_over.then(|| acts::waited(trace, index, ended)),
        killed: index
            .acts
            .iter()
            .find(|act| actor(act.who) == Actor::Strategy && ends_agent(index, act))
            .map(|a| a.at.t),
        gone: gone(index),
        transcript: Transcript::of(trace),
        breaches: Vec::new(),
    }
}

fn settled_as(index: &Index<'_>, settled: &Settlement<'_>) -> Outcome {
    if actor(settled.who) != Actor::Strategy
        && settled.outcome != RunEnd::Stopped
        && let Some(cause) = stopped_by(index, settled.at)
    {
        return Outcome::Stopped { cause };
    }
    let cause = settled.cause.to_owned();
    match settled.outcome {
        RunEnd::Completed => Outcome::Completed,
        RunEnd::Stopped => Outcome::Stopped { cause },
        RunEnd::Failed => Outcome::Failed { reason: cause },
    }
}

/// The cause given by the one who ended the agent before `at`, if it had not exited by itself and no step ended regularly
/// since.
fn stopped_by(index: &Index<'_>, at: At) -> Option<String> {
    // An act on an earlier run did not end this one.
    let mut acts = index.acts.iter().filter(|act| index.of_last_run(act.at) && act.at < at);
    let act = acts.find(|act| {
        let regular = index
            .roots()
            .flat_map(|s| &s.steps)
            .any(|&(done, step)| act.at < done && done < at && step == Some("stop"));
        let said = index
            .results
            .iter()
            .any(|&(who, result, ok, _)| who == "agent" && ok && index.of_last_run(result) && result < act.at);
        let exited = index.processes.get("agent").is_some_and(|agent| {
            agent.code.is_some() && agent.ended.is_some_and(|(ended, _)| agent.began < ended && ended < act.at)
        });
        !regular && !said && !exited && ends_agent(index, act)
    })?;
    Some(match (actor(act.who), act.what) {
        (Actor::Strategy, _) => cause_of(index, act.who),
        (_, Did::Acts(what)) => first_word(what).to_owned(),
        _ => "stop".to_owned(),
    })
}

/// The cause that a strategy gives: in its settlement, or else in its report; or else `killed`.
fn cause_of(index: &Index<'_>, strategy: &str) -> String {
    let settled = index.settled.iter().find(|s| s.outcome == RunEnd::Stopped && same_strategy(s.who, strategy));
    let reported = || {
        let reports = index.reports.iter();
        let mut all = reports.filter(|(who, at, _)| same_strategy(who, strategy) && index.of_last_run(*at));
        all.find_map(|(.., policy)| policy.cause.clone())
    };
    settled.map(|s| s.cause.to_owned()).or_else(reported).unwrap_or_else(|| "killed".to_owned())
}

/// The outcome of a cell that was not settled.
fn unsettled(index: &Index<'_>, facts: &CellFacts) -> Outcome {
    let hung = |proof| Outcome::Hung { blocked_on: blocked_on(index, facts), proof };
    match index.ended {
        Some((_, Ended::Deadlock(_))) => hung(Proof::Deadlock),
        Some((_, Ended::Lasso { .. })) => hung(Proof::Lasso),
        Some((_, Ended::Horizon { reason, waits })) => {
            Outcome::Undecided { why: crate::timeline::given_up(*reason, waits) }
        }
        Some((_, Ended::Settled)) | None => Outcome::Undecided { why: "the trace holds no end".to_owned() },
    }
}

fn ask_row(ask: &Ask<'_>) -> AskRow {
    let end = ask.ends.first().map(|end| (end.at.t, end.end, end.cause, end.by.to_owned()));
    let misfit = ask.ends.first().is_some_and(|end| end.end == AskEnd::Replied && misfit(ask.questions, end.answers));
    AskRow { who: ask.who.to_owned(), id: ask.id.to_owned(), kind: ask.kind, opened: ask.opened.t, end, misfit }
}

fn misfit(questions: &[Question], answers: &[Vec<String>]) -> bool {
    let offered = |of: &Question, label: &String| of.options.iter().any(|choice| choice.label == *label);
    let fits = |(of, labels): (&Question, &Vec<String>)| {
        (of.multiple || labels.len() < 2) && (of.custom != Some(false) || labels.iter().all(|label| offered(of, label)))
    };
    !questions.is_empty() && (questions.len() != answers.len() || !questions.iter().zip(answers).all(fits))
}

fn said(trace: &Trace) -> Vec<String> {
    let said = trace.events.iter().filter(|event| actor(&event.who) == Actor::Strategy);
    let text = said.filter_map(|event| if let What::Says(text) = &event.what { Some(text.clone()) } else { None });
    text.collect()
}

/// A look is not an act: people act by POST.
fn gets(index: &Index<'_>) -> Vec<u16> {
    let acts = index.requests.iter().filter(|of| of.method == "POST" && actor(of.who) == Actor::Person);
    acts.map(|of| of.response.map_or(0, |(_, status, _)| status)).collect()
}

fn told(index: &Index<'_>) -> Vec<String> {
    let mut told: Vec<(At, &str)> = index.preempted.iter().map(|p| (p.at, p.text)).collect();
    told.extend(index.tools.iter().flat_map(|tool| tool.ends.iter().map(|&(at, _, text)| (at, text))));
    told.sort();
    told.into_iter().map(|(_, text)| text.to_owned()).collect()
}

fn rejected(index: &Index<'_>) -> u32 {
    let ends = index.asks.iter().flat_map(|ask| &ask.ends);
    u32::try_from(ends.filter(|end| end.end == AskEnd::Rejected).count()).unwrap_or(u32::MAX)
}

fn gone(index: &Index<'_>) -> Option<VTime> {
    let ends = index.processes.values().map(|process| process.ended.map(|(at, _)| at.t));
    ends.collect::<Option<Vec<VTime>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::expect;
    use proptest::prelude::*;
    use rehang_scenario::{BlockedOn, Policy, Span};
    use rehang_trace::Cause;

    fn outcome(cell: Cell) -> String {
        verdict(&cell.trace(), &facts("x")).outcome.describe()
    }

    #[test]
    fn the_first_to_settle_decides() {
        expect!["completed"].assert_eq(&outcome(Cell::new().started().step("Hi", "stop").at(9).done("Hi")));
        let failed = Cell::new().started().at(9).exit("agent", 1).settle("wrapper", "failed", "exit 1", "");
        expect!["failed: exit 1"].assert_eq(&outcome(failed));
        let early =
            Cell::new().started().settle("watcher@pr3", "completed", "", "").settle("client", "failed", "x", "");
        expect!["completed"].assert_eq(&outcome(early));
    }

    #[test]
    fn a_horizon_is_no_hang() {
        let waits = vec![("agent".to_owned(), "timer".to_owned())];
        let ended = Ended::Horizon { reason: rehang_trace::Horizon::Time, waits };
        let given_up = || Cell::new().started().at(9).add("", What::Ended(ended.clone()));
        let verdict = verdict(&given_up().trace(), &facts("x"));
        let outcome = &verdict.outcome;
        assert_eq!((outcome.word(), outcome.is_hung(), outcome.is_undecided()), ("undecided", false, true));
        expect!["undecided: virtual time ran out (agent: timer)"].assert_eq(&outcome.describe());
        expect!["undecided: the trace holds no end"]
            .assert_eq(&super::verdict(&Cell::new().started().trace(), &facts("x")).outcome.describe());
        // It was settled before it was given up.
        expect!["completed"].assert_eq(&self::outcome(given_up().at(0).settle("wrapper", "completed", "", "")));
    }

    #[test]
    fn who_kills_stops() {
        let kill = |who: &str| {
            let cell = Cell::new().started().at(600_001).signal(who, "KILL", "agent*").killed("agent", "KILL");
            cell.settle("wrapper", "failed", "KILL", "")
        };
        expect!["stopped by killed"].assert_eq(&outcome(kill("idle@off")));
        expect!["stopped by idle"].assert_eq(&outcome(kill("idle@off").settle("idle@off", "stopped", "idle", "")));
        // A crash that the scenario makes is not a stop by anybody.
        expect!["failed: KILL"].assert_eq(&outcome(kill("fault")));
        let late = Cell::new().started().step("Hi", "stop").result("Hi").at(5).signal("idle@off", "TERM", "agent");
        expect!["completed"].assert_eq(&outcome(late.exit("agent", 0).settle("wrapper", "completed", "", "Hi")));
    }

    #[test]
    fn an_abort_that_makes_the_client_content_is_a_stop() {
        let abort = |body: serde_json::Value| {
            let cell = Cell::new().started().ask("que_1", "ses_1").at(3_000).acts("person1", "soft-stop");
            let cell = cell.post("person1", 1, "/session/ses_1/abort?mode=soft").respond("person1", 1, 200, body);
            cell.settle("client", "completed", "", "")
        };
        expect!["stopped by stop"].assert_eq(&outcome(abort(true.into())));
        expect!["completed"].assert_eq(&outcome(abort(false.into())));
    }

    #[test]
    fn times_are_measured_from_the_last_material_progress() {
        let cell = Cell::new().started().step("Hi", "tool-calls").at(70).tool("call_1", "bash");
        let cell = cell.at(5_000).add("agent", What::Out { fd: 2, text: "still here\n".into() });
        let cell = cell.at(10_070).signal("wall", "TERM", "agent*").at(10_080).killed("agent", "TERM");
        let verdict = verdict(&cell.settle("wall", "stopped", "wall", "").trace(), &facts("wall"));
        let times = (verdict.waited, verdict.to_kill(), verdict.to_gone());
        assert_eq!(times, (Some(Span(10_010)), Some(Span(10_000)), Some(Span(10_010))));
    }

    #[test]
    fn what_ended_regularly_was_not_stopped() {
        let after = |finish: &str| {
            let cell = Cell::new().started().at(5).signal("idle@off", "TERM", "agent*").step("Hi", finish);
            cell.exit("agent", 0).settle("wrapper", "completed", "", "Hi")
        };
        expect!["completed"].assert_eq(&outcome(after("stop")));
        expect!["stopped by killed"].assert_eq(&outcome(after("tool-calls")));
    }

    #[test]
    fn a_signal_stops_if_it_can_end_the_agent() {
        let signal = |who: &str, sig: &str, to: &str| {
            let cell = Cell::new().started().at(5).signal(who, sig, to);
            outcome(cell.exit("agent", 1).settle("wrapper", "failed", "exit 1", ""))
        };
        assert_eq!(
            ["TERM", "KILL", "INT", "HUP", "QUIT"].map(|sig| signal("person1", sig, "agent")),
            ["stopped by stop"; 5]
        );
        assert_eq!(["WINCH", "CONT", "STOP"].map(|sig| signal("person1", sig, "agent")), ["failed: exit 1"; 3]);
        expect!["stopped by stop"].assert_eq(&signal("person1", "INT", "agent~2*"));
        expect!["failed: exit 1"].assert_eq(&signal("idle@off", "TERM", "agent.1"));
        expect!["failed: exit 1"].assert_eq(&signal("wrapper", "TERM", "agent"));
    }

    #[test]
    fn an_act_is_named_by_its_first_word() {
        let acts = |what: &str| {
            let cell = Cell::new().started().at(5).acts("person1", what);
            outcome(cell.settle("client", "completed", "", ""))
        };
        expect!["stopped by stop"].assert_eq(&acts("stop ses_1"));
        expect!["stopped by hang-up"].assert_eq(&acts("hang-up"));
        let exited = Cell::new().started().exit("agent", 0).at(5).acts("person1", "hang-up");
        expect!["completed"].assert_eq(&outcome(exited.settle("wrapper", "completed", "", "")));
        expect!["completed"].assert_eq(&acts("answer stop"));
        assert_eq!(["", "Answer(stop)", "stop2", "hang-up now"].map(first_word), ["", "nswer", "stop", "hang-up"]);
    }

    #[test]
    fn the_cause_is_that_of_the_strategy_that_stopped() {
        let cell = |reports: fn(Cell) -> Cell| {
            let cell = reports(Cell::new().started().at(5).signal("idle@off(timeout=5m)", "TERM", "agent"));
            outcome(cell.killed("agent", "TERM").settle("wrapper", "failed", "TERM", ""))
        };
        expect!["stopped by killed"].assert_eq(&cell(|cell| cell));
        expect!["stopped by idle"].assert_eq(&cell(|cell| {
            let caused = |word: &str| Policy { cause: Some(word.into()), ..Policy::default() };
            cell.report("watcher@pr5", caused("crash")).report("idle@off", caused("idle"))
        }));
    }

    #[test]
    fn a_reply_that_does_not_fit_its_questions_is_seen() {
        let misfit = |question: Question, labels: &[&str]| {
            super::misfit(&[question], &[labels.iter().map(|label| (*label).to_owned()).collect()])
        };
        let strict = || Question { custom: Some(false), ..question() };
        assert!(!misfit(question(), &["A"]) && !misfit(question(), &["mine"]) && !misfit(question(), &[]));
        assert!(misfit(question(), &["A", "B"]), "two answers to a single choice");
        assert!(!misfit(Question { multiple: true, ..question() }, &["A", "B"]));
        assert!(!misfit(strict(), &["B"]));
        assert!(misfit(strict(), &["mine"]), "a label that is not offered");
        assert!(super::misfit(&[question(), question()], &[vec!["A".into()]]), "a question without an answer");
        assert!(!super::misfit(&[], &[vec!["once".into()]]), "a permission has no questions");
        let asked = |end| {
            let cell = Cell::new().started().ask("que_1", "ses_1");
            verdict(&cell.end("que_1", end, Cause::Answer, "user", &["A", "B"]).trace(), &facts("x")).asks[0].misfit
        };
        assert_eq!([AskEnd::Replied, AskEnd::Rejected].map(asked), [true, false]);
    }

    #[test]
    fn what_was_told_said_and_got_is_in_the_order_of_the_trace() {
        let cell = Cell::new().started().tool("call_1", "bash").tool("call_2", "bash").tool_end("call_2", "second");
        let cell = cell.preempt("auto-answer@r1", &["A"], "pre-empted", false).tool_end("call_1", "first");
        let cell = cell.says("monitor@pr5", "running").says("wrapper", "no strategy's");
        let cell = cell.request("person1", 1, "GET", "/question").respond("person1", 1, 200, true.into());
        let cell = cell.post("person1", 2, "/a").respond("person1", 2, 204, true.into()).post("person2", 3, "/b");
        let cell = cell.post("client", 4, "/c").respond("client", 4, 500, true.into());
        let cell = cell.ask("que_1", "ses_1").end("que_1", AskEnd::Rejected, Cause::Dismiss, "user", &[]);
        let verdict = verdict(&cell.ask("que_2", "ses_1").at(7).trace(), &facts("x"));
        assert_eq!(verdict.told, ["second", "pre-empted", "first"]);
        assert_eq!(verdict.said, ["running"]);
        assert_eq!(verdict.gets, [204, 0], "of people's acts; 0 for one without a response");
        assert_eq!(verdict.rejected, 1);
        assert_eq!(verdict.gone, None, "the agent lives");
    }

    #[test]
    fn an_outcome_in_a_few_words() {
        let hung = Outcome::Hung { blocked_on: BlockedOn::Question, proof: Proof::Lasso };
        expect!["hung on question (lasso)"].assert_eq(&hung.describe());
        let failed = |reason: &str| Outcome::Failed { reason: reason.into() };
        expect!["failed"].assert_eq(&failed("").describe());
        expect!["undecided"].assert_eq(&Outcome::Undecided { why: String::new() }.describe());
        let stopped = Outcome::Stopped { cause: "idle".into() };
        let words = [Outcome::Completed, stopped, failed("x"), hung].map(|outcome| outcome.word());
        assert_eq!(words, ["completed", "stopped", "failed", "hung"]);
    }
    proptest! {
        #[test]
        fn no_trace_makes_it_panic(trace in any_trace()) {
            let baseline = verdict(&trace, &facts("none"));
            let judged = judge(&trace, &facts("idle@off"), Some(&baseline));
            if let Ok(judged) = judged {
                prop_assert_eq!(judged.transcript, baseline.transcript);
            }
        }
    }
}
