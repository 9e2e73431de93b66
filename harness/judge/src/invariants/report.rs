//! Invariant 3: The reported policy, cause and constants are those that acted.
//!
//! Invariant: a claim is a breach if the trace or the cell's facts contradict it, and never for what they cannot know.
//! These are checked:
//!  - constants: each that is reported, against the one that the strategy really runs with;
//!  - signals: `no-tty` over a terminal, `tty` over none, `no-children` and `worker-dead` against the last look;
//!  - answers: against those that the strategy gave, and against what the model was told;
//!  - texts to the model: "No user was available" over an answer, "(no TTY)" over a terminal;
//!  - causes: the cause of a stop against the one that was reported, the text of a failure against the text; a cause
//!    against what the strategy says it acted on, where it may differ in one case alone: a request of its own failed,
//!    and the run was over by that; a timeout against its own constant (it cannot have fired before it); a stop of an
//!    agent that had ended by itself;
//!  - what is said, by a monitor or by a command that prints JSON: "over" while the session runs, "running" more than
//!    [`MONITOR_SLACK`] after its end, another end than the one that was settled, a completed job without a result;
//!  - times: one that is said to have passed, against the age of the cell (`times`);
//!  - what is not said: whoever acts owes a report (`unsaid`).

use super::times;
use crate::cell::same_strategy;
use crate::index::{At, Settlement, names};
use crate::verdict::Breach;
use crate::view::View;
use rehang_scenario::{Invariant, Policy, Span, VTime};
use rehang_trace::{
    RunEnd, What,
    role::{Actor, Role, actor},
};

/// How long after the end a monitor may still say "running": two of its 30 s polls (the opencode companion's).
pub const MONITOR_SLACK: Span = Span::secs(60);

/// The cause that says that a request of the strategy's own failed; the text says how.
const REQUEST_FAILED: &str = "fetch";

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let mut breaches: Vec<Breach> = Vec::new();
    for &(who, at, policy) in &view.index.reports {
        let whys = [
            constants(view, who, policy),
            signal(view, who, at, policy),
            answers(view, who, policy),
            times::too_long(who, at, policy),
        ];
        breaches.extend(whys.into_iter().flatten().map(|why| breach(at, why)));
    }
    breaches.extend(texts(view));
    breaches.extend(view.index.settled.iter().filter_map(|settled| Some(breach(settled.at, cause(view, settled)?))));
    breaches.extend(monitor(view));
    breaches.extend(super::unsaid::owed(view).into_iter().map(|(at, why)| breach(at, why)));
    breaches.sort_by_key(|breach| breach.at);
    breaches.dedup();
    breaches
}

fn breach(at: At, why: String) -> Breach {
    Breach::new(Invariant::UntrueReport, at, why)
}

fn constants(view: &View<'_>, who: &str, policy: &Policy) -> Option<String> {
    let effective = view.facts.effective_of(who)?;
    let untrue = |(name, said): (&String, &u64)| {
        let runs = effective.get(name).filter(|runs| *runs != said)?;
        Some(format!("{who} reports {name} = {said}, and runs with {runs}"))
    };
    policy.constants.iter().find_map(untrue)
}

fn signal(view: &View<'_>, who: &str, at: At, policy: &Policy) -> Option<String> {
    let detected = policy.detected.as_deref()?;
    // Which terminal it has is known only of the cell's agent: not of one that another agent's tool runs.
    let outer = view.trace.events.get(at.place).and_then(|event| Role::of(&event.who)).is_none_or(Role::is_agent);
    let tty = view.facts.terminal.stdin_is_tty();
    let looked = |thing: &str| {
        let before = view.trace.events.iter().take(at.place).rev();
        before.filter(|event| same_strategy(&event.who, who)).find_map(|event| match &event.what {
            What::Looked { at, saw } if at == thing => Some(saw),
            _ => None,
        })
    };
    match detected {
        "no-tty" if outer && tty => Some(format!("{who} reports no-tty, and stdin is a terminal")),
        "tty" if outer && !tty => Some(format!("{who} reports tty, and stdin is {}", view.facts.terminal.name())),
        "no-children" => match looked("children").and_then(|saw| saw.as_u64()) {
            Some(n) if n > 0 => Some(format!("{who} reports no-children, and saw {n} when it last looked")),
            _ => None,
        },
        "worker-dead" if looked("worker") == Some(&true.into()) => {
            Some(format!("{who} reports worker-dead, and saw it alive"))
        }
        _ => None,
    }
}

fn answers(view: &View<'_>, who: &str, policy: &Policy) -> Option<String> {
    let said = policy.answered.as_ref()?;
    let preempted = view.index.preempted.iter().filter(|p| same_strategy(p.by, who)).map(|p| p.answers);
    let ends = view.index.asks.iter().flat_map(|ask| ask.ends.iter().map(move |end| (ask, end)));
    let mut ends =
        ends.filter(|(ask, end)| same_strategy(view.index.ended_by(ask, end), who)).map(|(_, end)| end.answers);
    let mut gave = preempted.clone();
    if gave.clone().chain(ends.clone()).next().is_none() {
        return said
            .iter()
            .any(|a| !a.is_empty())
            .then(|| format!("{who} reports the answers {said:?}, and gave none"));
    }
    let given = gave.any(|answers| answers == said.as_slice()) || ends.any(|answers| answers == said.as_slice());
    if !given {
        return Some(format!("{who} reports the answers {said:?}, and gave others"));
    }
    let mut of = view.index.preempted.iter().filter(|p| same_strategy(p.by, who) && p.answers == said.as_slice());
    let untold = |text: &str| said.iter().flatten().find(|label| !text.contains(label.as_str())).cloned();
    let label = of.find_map(|p| untold(p.text))?;
    Some(format!("{who} reports the answer \"{label}\", and the model is not told it"))
}

fn texts(view: &View<'_>) -> impl Iterator<Item = Breach> {
    view.index.preempted.iter().filter_map(|p| {
        let answered: Vec<&str> = p.answers.iter().flatten().map(String::as_str).collect();
        let why = if p.text.contains("No user was available") && !answered.is_empty() {
            format!("tells the model that no user was available to answer, and answers {answered:?}")
        } else if p.text.contains("(no TTY)") && p.who == "agent" && view.facts.terminal.stdin_is_tty() {
            "tells the model that there is no TTY, and stdin is a terminal".to_owned()
        } else {
            return None;
        };
        Some(breach(p.at, format!("{} {why} (call `{}`)", p.by, p.call)))
    })
}

fn cause(view: &View<'_>, settled: &Settlement<'_>) -> Option<String> {
    let (who, at) = (settled.who, settled.at);
    if actor(who) != Actor::Strategy || settled.outcome == RunEnd::Completed {
        return None;
    }
    let is_own = |by: &str, when: At| same_strategy(by, who) && when < at && view.index.of_last_run(when);
    let reports = view.index.reports.iter().filter(|(by, when, _)| is_own(by, *when));
    let caused = reports.filter_map(|(_, when, policy)| Some((*when, policy, policy.cause.as_deref()?))).next_back();
    if let Some((when, policy, reported)) = caused
        && reported != settled.cause
    {
        // A failure is settled by the error's own text, which is not a cause: it is compared with the report's text.
        if settled.outcome != RunEnd::Failed || policy.text.as_deref() != Some(settled.cause) {
            let by = named(settled.cause);
            return Some(format!("{who} reports {reported} as the cause, and settles the run by {by}"));
        }
        let acted_on = policy.detected.as_deref().unwrap_or("nothing that it names");
        if reported != acted_on && !(reported == REQUEST_FAILED && failed_by_request(view, who, when, settled)) {
            return Some(format!("{who} reports {reported} as the cause, and acted on {acted_on}"));
        }
    }
    if settled.outcome != RunEnd::Stopped {
        return None;
    }
    // The unit is at the end of a constant's name: `idle_ms` is the limit for the cause `idle`.
    let limit = format!("{}_ms", settled.cause.replace('-', "_"));
    if let Some(limit_ms) = view.facts.effective_of(who).and_then(|of| of.get(&limit)).filter(|ms| at.t.0 < **ms) {
        return Some(format!(
            "{who} stops the run by {}, whose limit of {} is not over",
            settled.cause,
            Span(*limit_ms)
        ));
    }
    let agent = view.index.processes.get("agent")?;
    let (ended, signal) = agent.ended.filter(|(ended, _)| *ended < at)?;
    let touched = view.index.acts.iter().any(|act| act.at < ended && crate::acts::ends_agent(view.index, act));
    (signal.is_none() && !touched)
        .then(|| format!("{who} says it stopped the run by {}, and the agent had ended by itself", settled.cause))
}

/// Whether a request of this strategy failed as the run's failure says, and the run was over because of that: it was
/// refused, or its connection ended and the session is not busy. If the session goes on without the request, something
/// else ended it.
fn failed_by_request(view: &View<'_>, who: &str, before: At, settled: &Settlement<'_>) -> bool {
    let own = view.index.requests.iter().filter(|request| same_strategy(request.who, who));
    let mut own = own.filter(|request| view.index.of_last_run(request.at));
    let text = settled.cause.to_lowercase();
    own.any(|request| match (request.response, request.failed) {
        (Some((at, status, _)), _) => at < before && status >= 400 && names(&text, &status.to_string()),
        (None, Some((at, why))) => at < before && text.contains(why) && !running(view, settled.at.t),
        (None, None) => false,
    })
}

fn named(cause: &str) -> &str {
    if cause.is_empty() { "none" } else { cause }
}

fn monitor(view: &View<'_>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (place, event) in view.trace.events.iter().enumerate() {
        let What::Says(text) = &event.what else { continue };
        if actor(&event.who) != Actor::Strategy {
            continue;
        }
        let (at, who) = (At { place, t: event.t }, &event.who);
        let why = match claim(text) {
            Some(Claim::Over(status)) if running(view, at.t) => format!("{who} says {status}, and the session is busy"),
            Some(Claim::Over(status)) => match settled_before(view, who, at) {
                Some(settled) if (settled == RunEnd::Completed) != (status == "completed") => {
                    format!("{who} says {status}, and held the run to be {settled}")
                }
                _ => continue,
            },
            Some(Claim::NoResult) => format!("{who} says completed, and has no result to show"),
            Some(Claim::Running) => match over_since(view, at) {
                Some(since) if at.t.since(since) > MONITOR_SLACK => {
                    format!("{who} says that it runs, and it is over since {since}")
                }
                _ => continue,
            },
            _ => continue,
        };
        breaches.push(breach(at, why));
    }
    breaches
}

enum Claim {
    Over(&'static str),
    Running,
    NoResult,
}

/// How this strategy had settled the run before `at`.
fn settled_before(view: &View<'_>, who: &str, at: At) -> Option<RunEnd> {
    let mut settled = view.index.settled.iter().filter(|settled| settled.at < at && same_strategy(settled.who, who));
    settled.next().map(|settled| settled.outcome)
}

/// What a monitor's line claims. `TERMINAL=timeout` says that the monitor gives up, and says nothing of the run.
fn claim(text: &str) -> Option<Claim> {
    if text.starts_with('{') {
        return printed(&serde_json::from_str(text).ok()?);
    }
    if let Some((_, status)) = text.split_once("TERMINAL=") {
        let status = &status[..status.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(status.len())];
        return over(status);
    }
    // a change that the companion's monitor tells
    if let Some((_, told)) = text.strip_prefix("opencode ").and_then(|text| text.split_once(": "))
        && let Some((status, _)) = told.split_once('/')
        && !status.contains(' ')
    {
        return if status == "running" { Some(Claim::Running) } else { over(status) };
    }
    let running = ["still running", "still starting", "still investigating", "still finalizing", "still queued"];
    let status = text.trim_start().starts_with("running");
    (status || running.iter().any(|word| text.contains(word))).then_some(Claim::Running)
}

fn over(status: &str) -> Option<Claim> {
    ["completed", "failed", "cancelled"].into_iter().find(|word| *word == status).map(Claim::Over)
}

/// What `status` and `result` print (the opencode companion's `--json`).
fn printed(said: &serde_json::Value) -> Option<Claim> {
    let status = |of: &serde_json::Value| of.get("status").and_then(serde_json::Value::as_str).map(str::to_owned);
    let of = |status: String| if status == "running" { Some(Claim::Running) } else { over(&status) };
    if let Some(first) = said.get("running").and_then(|all| all.get(0)) {
        return of(status(first)?);
    }
    if let Some(one) = said.get("job").and_then(status) {
        return of(one);
    }
    if let Some(last) = said.get("latestFinished").and_then(status) {
        return of(last);
    }
    match (status(said)?.as_str(), said.get("rendered")) {
        ("completed", Some(serde_json::Value::Null)) => Some(Claim::NoResult),
        (word, _) => of(word.to_owned()),
    }
}

fn running(view: &View<'_>, t: VTime) -> bool {
    view.index.roots().any(|session| session.busy_at(t) == Some(true))
}

/// Since when the run has been over at `at`: its process gone, all its root sessions idle, or settled.
fn over_since(view: &View<'_>, at: At) -> Option<VTime> {
    let gone = view.index.processes.get("agent").and_then(|p| p.ended).map(|(at, _)| at);
    let settled = view.index.settled.first().map(|settled| settled.at);
    let idle = || {
        let last =
            |session: &crate::index::Session<'_>| session.busy.iter().rev().find(|(when, _)| *when < at).copied();
        let all: Option<Vec<(At, bool)>> = view.index.roots().map(last).collect();
        all?.into_iter().map(|(when, busy)| (!busy).then_some(when)).collect::<Option<Vec<At>>>()?.into_iter().max()
    };
    [gone, settled, idle()].into_iter().flatten().filter(|over| *over < at).map(|over| over.t).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};
    use rehang_scenario::Terminal;
    use rehang_trace::{AskEnd, Cause};
    use serde_json::json;

    fn says(cell: Cell, want: Expect) {
        says_on(Terminal::Null, cell, want);
    }

    fn says_on(terminal: Terminal, cell: Cell, want: Expect) {
        let mut facts = facts("x");
        facts.terminal = terminal;
        facts.effective = [("idle@off".to_owned(), [("idle_ms".to_owned(), 600_000)].into())].into();
        want.assert_eq(&said(check, cell, &facts));
    }

    fn up() -> Cell {
        Cell::new().started().at(700_000)
    }

    fn detected(word: &str) -> Policy {
        Policy { detected: Some(word.into()), ..Policy::default() }
    }

    fn caused(word: &str) -> Policy {
        let constants = [("idle_ms".to_owned(), 600_000)].into();
        Policy { cause: Some(word.into()), constants, ..Policy::default() }
    }

    fn ruled() -> Policy {
        Policy { rule: Some("first".into()), constants: [("after_ms".to_owned(), 1)].into(), ..Policy::default() }
    }

    fn answered(label: &str) -> Policy {
        Policy { answered: Some(vec![vec![label.into()]]), ..ruled() }
    }

    #[test]
    fn constants_are_those_it_runs_with() {
        let report = |who: &str, idle_ms| {
            up().report(who, Policy { constants: [("idle_ms".to_owned(), idle_ms)].into(), ..Policy::default() })
        };
        says(
            report("idle@off", 900_000),
            expect![[r#"
            700s untrue-report: idle@off reports idle_ms = 900000, and runs with 600000
        "#]],
        );
        says(report("idle@off(timeout=10m)", 600_000), expect![""]);
        says(report("unknown@1", 900_000), expect![""]);
    }

    #[test]
    fn signals_are_those_that_are_there() {
        says_on(
            Terminal::Tty,
            up().report("auto-answer@r1", detected("no-tty")),
            expect![[r#"
            700s untrue-report: auto-answer@r1 reports no-tty, and stdin is a terminal
        "#]],
        );
        // A controlling terminal is not stdin.
        says_on(Terminal::CttyNull, up().report("auto-answer@r1", detected("no-tty")), expect![""]);
        let looked = |n: u64| up().add("watcher@pr5", What::Looked { at: "children".into(), saw: json!(n) });
        says(looked(0).report("watcher@pr5", detected("no-children")), expect![""]);
        says(
            looked(1).report("watcher@pr5", detected("no-children")),
            expect![[r#"
            700s untrue-report: watcher@pr5 reports no-children, and saw 1 when it last looked
        "#]],
        );
        let nested =
            rehang_trace::Fact::Policy { strategy: "auto-answer@r1".into(), policy: detected("no-tty").into() };
        says_on(Terminal::Tty, up().add("agent.1", What::Fact(nested)), expect![""]);
    }

    #[test]
    fn answers_are_those_it_gave() {
        let by_rule = || up().report("auto-answer@r1", ruled());
        let gave = |label: &str, text: &str| by_rule().preempt("auto-answer@r1(at=tool)", &[label], text, false);
        says(gave("A", "Auto-answered: \"Which?\"=\"A\"").report("auto-answer@r1", answered("A")), expect![""]);
        says(
            gave("A", "Auto-answered: \"Which?\"=\"A\"").report("auto-answer@r1", answered("B")),
            expect![[r#"
            700s untrue-report: auto-answer@r1 reports the answers [["B"]], and gave others
        "#]],
        );
        says(
            gave("A", "Unanswered").report("auto-answer@r1", answered("A")),
            expect![[r#"
            700s untrue-report: auto-answer@r1 reports the answer "A", and the model is not told it
        "#]],
        );
        says(
            up().report("auto-answer@r1", answered("A")),
            expect![[r#"
            700s untrue-report: auto-answer@r1 reports the answers [["A"]], and gave none
        "#]],
        );
        let posted = up().ask("que_1", "ses_1").at(700_001).post("pending-ask", 1, "/question/que_1/reply").at(700_002);
        let posted = posted.report("pending-ask", ruled()).end("que_1", AskEnd::Replied, Cause::Answer, "user", &["A"]);
        says(posted.report("pending-ask", answered("A")), expect![""]);
    }

    #[test]
    fn the_model_is_told_the_truth() {
        let text = "(no answer channel available). No user was available to answer.";
        let told =
            |labels: &[&str]| up().report("auto-answer@r3", ruled()).preempt("auto-answer@r3", labels, text, false);
        says(
            told(&["A"]),
            expect![[r#"
            700s untrue-report: auto-answer@r3 tells the model that no user was available to answer, and answers ["A"] (call `call_1`)
        "#]],
        );
        says(told(&[]), expect![""]);
        let no_tty = up().report("auto-answer@r1", ruled()).preempt(
            "auto-answer@r1",
            &["A"],
            "non-interactive mode (no TTY).",
            false,
        );
        says(no_tty.clone(), expect![""]);
        says_on(
            Terminal::Tty,
            no_tty,
            expect![[r#"
            700s untrue-report: auto-answer@r1 tells the model that there is no TTY, and stdin is a terminal (call `call_1`)
        "#]],
        );
    }

    #[test]
    fn the_cause_is_the_one_that_acted() {
        let stop = |cell: Cell, cause: &str| {
            let cell = cell.signal("idle@off", "KILL", "agent*").killed("agent", "KILL");
            cell.settle("idle@off", "stopped", cause, "")
        };
        says(stop(up(), "idle"), expect![""]);
        says(
            stop(up().report("idle@off", caused("idle")), "wall"),
            expect![[r#"
            700s untrue-report: idle@off reports idle as the cause, and settles the run by wall
        "#]],
        );
        says(stop(up().report("idle@off", caused("idle")), "idle"), expect![""]);
        says(
            stop(Cell::new().started().at(599_999), "idle"),
            expect![[r#"
            599999ms untrue-report: idle@off stops the run by idle, whose limit of 10m is not over
        "#]],
        );
        says(stop(Cell::new().started().at(600_000), "idle"), expect![""]);
        says(
            up().exit("agent", 0).at(700_001).settle("idle@off", "stopped", "idle", ""),
            expect![[r#"
            700001ms untrue-report: idle@off says it stopped the run by idle, and the agent had ended by itself
        "#]],
        );
        let raced = up().signal("idle@off", "TERM", "agent").exit("agent", 143).at(700_001);
        says(raced.settle("idle@off", "stopped", "idle", ""), expect![""]);
    }

    #[test]
    fn the_fetch_error_hides_the_stop() {
        let failed =
            up().report("watcher@pr5", caused("bash-stuck")).settle("watcher@pr5", "failed", "fetch failed", "");
        says(
            failed,
            expect![[r#"
            700s untrue-report: watcher@pr5 reports bash-stuck as the cause, and settles the run by fetch failed
        "#]],
        );
    }

    #[test]
    fn a_failure_is_quoted() {
        let failed = |detected: &str| {
            let text = Some("fetch failed".to_owned());
            let policy = Policy { detected: Some(detected.into()), text, ..caused("fetch") };
            up().report("watcher@pr5", policy).settle("watcher@pr5", "failed", "fetch failed", "")
        };
        says(failed("fetch"), expect![""]);
        says(
            failed("idle"),
            expect![[r#"
            700s untrue-report: watcher@pr5 reports fetch as the cause, and acted on idle
        "#]],
        );
    }

    /// A prompt whose request ends so at 1 s; at 700 s the strategy says that it saw idleness, and fails with this.
    fn prompted(ends: What, text: &str) -> Cell {
        let cell = Cell::new().started().post("watcher@pr3", 1, "/session/ses_1/message").at(1_000);
        told(cell.add("watcher@pr3", ends).at(700_000), text)
    }

    fn told(cell: Cell, text: &str) -> Cell {
        let policy = Policy { detected: Some("idle".into()), text: Some(text.into()), ..caused("fetch") };
        cell.report("watcher@pr3", policy).settle("watcher@pr3", "failed", text, "")
    }

    #[test]
    fn a_refused_prompt_is_the_cause_however_late_it_is_told() {
        let refused = |status| What::Response { id: 1, status, body: json!({"data": "the queue is full"}).into() };
        let text = "OpenCode prompt failed 503: the queue is full";
        says(prompted(refused(503), text), expect![""]);
        let untrue = "700s untrue-report: watcher@pr3 reports fetch as the cause, and acted on idle\n";
        for (status, why) in [(200, "it was taken"), (400, "that is not what was answered")] {
            assert_eq!(said(check, prompted(refused(status), text), &facts("x")), untrue, "{why}");
        }
        let taken = prompted(refused(200), "OpenCode prompt failed 200: the queue is full");
        assert_eq!(said(check, taken, &facts("x")), untrue, "200 is no failure");
        let wall = Policy { detected: Some("idle".into()), text: Some(text.into()), ..caused("wall") };
        let refused = Cell::new().started().post("watcher@pr3", 1, "/session/ses_1/message");
        let refused = refused.respond("watcher@pr3", 1, 503, json!("the queue is full")).at(700_000);
        says(
            refused.report("watcher@pr3", wall).settle("watcher@pr3", "failed", text, ""),
            expect![[r#"
            700s untrue-report: watcher@pr3 reports wall as the cause, and acted on idle
        "#]],
        );
    }

    #[test]
    fn a_request_that_ended_is_the_cause_of_what_ended_with_it() {
        let text = "fetch failed: other side closed";
        let cut = || What::RequestFailed { id: 1, why: "closed".into() };
        // The server died of something: the session is also over.
        let died = Cell::new().started().post("watcher@pr3", 1, "/session/ses_1/message").at(1_000);
        let died = died.killed("agent", "KILL").add("watcher@pr3", cut()).at(700_000);
        says(told(died, text), expect![""]);
        // The session went on for minutes, until the strategy gave it up.
        says(
            prompted(cut(), text),
            expect![[r#"
            700s untrue-report: watcher@pr3 reports fetch as the cause, and acted on idle
        "#]],
        );
        let cancelled = What::RequestFailed { id: 1, why: "cancelled".into() };
        let quiet = |ends| prompted(ends, text).at(0).busy("ses_1", false);
        assert!(
            said(check, quiet(cancelled), &facts("x")).contains("acted on idle"),
            "it was the strategy's own doing"
        );
    }

    #[test]
    fn a_text_that_is_not_the_failure_s_own_is_untrue() {
        let policy = Policy { detected: Some("fetch".into()), text: Some("it is idle".into()), ..caused("fetch") };
        says(
            up().report("watcher@pr5", policy).settle("watcher@pr5", "failed", "fetch failed", ""),
            expect![[r#"
            700s untrue-report: watcher@pr5 reports fetch as the cause, and settles the run by fetch failed
        "#]],
        );
    }

    #[test]
    fn what_was_reported_of_a_run_before_is_not_said_of_this_one() {
        let (outcome, cause, text) = (RunEnd::Stopped, "idle".into(), String::new());
        let first = up().report("idle@off", caused("idle")).add("idle@off", What::RunOver { outcome, cause, text });
        says(first.at(900_000).settle("idle@off", "failed", "exit 1", ""), expect![""]);
    }

    #[test]
    fn the_monitor_says_over_when_it_is_over() {
        says(
            up().says("monitor", "TERMINAL=failed\nworker gone"),
            expect![[r#"
            700s untrue-report: monitor says failed, and the session is busy
        "#]],
        );
        says(up().says("monitor", "TERMINAL=timeout — monitor gave up"), expect![""]);
        says(up().busy("ses_1", false).says("monitor", "TERMINAL=completed"), expect![""]);
    }

    #[test]
    fn what_a_command_prints_is_held_to_what_was_settled() {
        let status = |word: &str| json!({"running": [], "latestFinished": {"status": word}}).to_string();
        let healed = || up().busy("ses_1", false).settle("heal@pr3", "completed", "", "Hi");
        says(healed().says("heal@pr3", &status("completed")), expect![""]);
        says(
            healed().says("heal@pr3", &status("failed")),
            expect![[r#"
            700s untrue-report: heal@pr3 says failed, and held the run to be completed
        "#]],
        );
        says(
            healed().says("heal@pr3", &json!({"status": "completed", "rendered": null}).to_string()),
            expect![[r#"
            700s untrue-report: heal@pr3 says completed, and has no result to show
        "#]],
        );
        says(up().says("heal@pr3", &json!({"running": [{"status": "running"}]}).to_string()), expect![""]);
        says(
            up().says("heal@pr3", &json!({"status": "completed", "rendered": "Hi"}).to_string()),
            expect![[r#"
            700s untrue-report: heal@pr3 says completed, and the session is busy
        "#]],
        );
        says(up().says("heal@pr3", &json!({"actions": [{"action": "skipped"}]}).to_string()), expect![""]);
    }

    #[test]
    fn the_monitor_says_running_while_it_runs() {
        let still = |ms: u64| {
            let cell = up().busy("ses_1", false).at(700_000 + ms);
            cell.says("monitor", "heartbeat — still running/investigating (elapsed 12m)")
        };
        says(up().says("monitor", "heartbeat — still running/investigating (elapsed 12m)"), expect![""]);
        says(still(60_000), expect![""]);
        says(
            still(60_001),
            expect![[r#"
            760001ms untrue-report: monitor says that it runs, and it is over since 700s
        "#]],
        );
        let crashed = up().killed("agent", "KILL").at(800_000).says("monitor", "running / investigating");
        says(
            crashed,
            expect![[r#"
            800s untrue-report: monitor says that it runs, and it is over since 700s
        "#]],
        );
    }
}
