//! Compares a verdict with what the scenario file expects.
//!
//! Invariant: every mismatch is one line that says what was expected and what is the case. The broken invariants must
//! be exactly those of the rule; with `outcome = "as none"` and no `breaks` they must be those of `none`.

use crate::verdict::{Outcome, Verdict};
use rehang_scenario::{Expect, Expected, Invariant, Policy, VTime};
use std::collections::BTreeMap;

/// One thing that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The kind of difference.
    pub what: What,
    /// One line: what was expected, and what is the case.
    pub line: String,
}

/// The kind of a difference from the expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// It hangs, and nobody expected a hang (exit code 3).
    UnexpectedHang,
    /// The outcome is another one.
    Outcome,
    /// The proof is another one.
    Proof,
    /// It ended too early or too late.
    Time,
    /// The broken invariants are others.
    Breaks,
    /// No report makes a claim that is expected.
    Policy,
    /// The model was not told a text that is expected.
    Told,
    /// No strategy said a text that is expected, or it was said too early.
    Says,
    /// What a person did over HTTP got another status.
    Gets,
}

/// All differences from the expectation; none if the cell is as the file says. `baseline` is the verdict of `none`.
pub fn meets(verdict: &Verdict, baseline: Option<&Verdict>, expect: &Expect) -> Vec<Mismatch> {
    let mut all = Vec::new();
    let mut miss = |what, line| all.push(Mismatch { what, line });
    if let Some((what, line)) = outcome(verdict, baseline, &expect.outcome) {
        miss(what, line);
    }
    if let Some(proof) = expect.proof {
        match &verdict.outcome {
            Outcome::Hung { proof: is, .. } if *is == proof => {}
            Outcome::Hung { proof: is, .. } => {
                miss(What::Proof, format!("expected the proof {proof}, got {is}"));
            }
            outcome => miss(What::Proof, format!("expected the proof {proof}, got {}", outcome.describe())),
        }
    }
    let end = verdict.ended.since(VTime::ZERO);
    if let Some(within) = expect.within.filter(|within| end > *within) {
        miss(What::Time, format!("expected an end within {within}, got {end}"));
    }
    if let Some(not_before) = expect.not_before.filter(|not_before| end < *not_before) {
        miss(What::Time, format!("expected no end before {not_before}, got {end}"));
    }
    if let Some(line) = breaks(verdict, baseline, expect) {
        miss(What::Breaks, line);
    }
    if let Some(policy) = &expect.policy {
        for line in claims(verdict, policy) {
            miss(What::Policy, line);
        }
    }
    for text in expect.told.iter().filter(|text| !verdict.told.iter().any(|told| told.contains(text.as_str()))) {
        let told = match verdict.told.as_slice() {
            [] => "nothing".to_owned(),
            told => told.iter().map(|t| format!("{:?}", crate::timeline::cut(t, 70))).collect::<Vec<_>>().join(", "),
        };
        miss(What::Told, format!("expected the model to be told {text:?}, it was told {told}"));
    }
    if let Some(line) = unsaid(verdict, &expect.says) {
        miss(What::Says, line);
    }
    if !expect.gets.is_empty() && expect.gets != verdict.gets {
        let (wanted, got) = (&expect.gets, &verdict.gets);
        miss(What::Gets, format!("expected what people do over HTTP to get {wanted:?}, it got {got:?}"));
    }
    all
}

/// The first text that was not said after those before it.
fn unsaid(verdict: &Verdict, says: &[String]) -> Option<String> {
    let mut rest = verdict.said.as_slice();
    for text in says {
        let Some(at) = rest.iter().position(|said| said.contains(text.as_str())) else {
            let said = match rest {
                [] => "nothing".to_owned(),
                said => {
                    said.iter().map(|s| format!("{:?}", crate::timeline::cut(s, 70))).collect::<Vec<_>>().join(", ")
                }
            };
            let behind = if rest.len() == verdict.said.len() { "" } else { " behind what was said before" };
            return Some(format!("expected a strategy to say {text:?}{behind}, it said {said}"));
        };
        rest = &rest[at..];
    }
    None
}

fn outcome(verdict: &Verdict, baseline: Option<&Verdict>, expected: &Expected) -> Option<(What, String)> {
    let is = &verdict.outcome;
    let meets = match expected {
        Expected::Completed => *is == Outcome::Completed,
        Expected::Failed => matches!(is, Outcome::Failed { .. }),
        Expected::Hung(on) => matches!(is, Outcome::Hung { blocked_on, .. } if blocked_on.word() == on),
        Expected::Undecided => is.is_undecided(),
        Expected::Stopped(by) => matches!(is, Outcome::Stopped { cause } if cause == by),
        Expected::AsNone => baseline.is_some_and(|none| same(is, &none.outcome)),
    };
    if meets {
        return None;
    }
    let (wanted, hang) = match (expected, baseline) {
        (Expected::AsNone, None) => ("the outcome of none, which did not run".to_owned(), true),
        (Expected::AsNone, Some(none)) => {
            (format!("{} as under none", none.outcome.describe()), none.outcome.is_hung())
        }
        (expected, _) => (expected.to_string(), matches!(expected, Expected::Hung(_))),
    };
    let what = if is.is_hung() && !hang { What::UnexpectedHang } else { What::Outcome };
    Some((what, format!("expected {wanted}, got {}", is.describe())))
}

/// The same outcome: a hang on the same thing, however it is proved (a poll makes a lasso of a deadlock); a stop by the
/// same cause; a failure, whatever its text.
fn same(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Hung { blocked_on: a, .. }, Outcome::Hung { blocked_on: b, .. }) => a == b,
        (Outcome::Stopped { cause: a }, Outcome::Stopped { cause: b }) => a == b,
        (a, b) => a.word() == b.word(),
    }
}

fn breaks(verdict: &Verdict, baseline: Option<&Verdict>, expect: &Expect) -> Option<String> {
    let mut wanted = expect.breaks.clone();
    if expect.outcome == Expected::AsNone && wanted.is_empty() {
        wanted = baseline.map(Verdict::broken).unwrap_or_default();
    }
    wanted.sort();
    wanted.dedup();
    let broken = verdict.broken();
    if broken == wanted {
        return None;
    }
    let list = |of: &[Invariant]| match of {
        [] => "none".to_owned(),
        of => of.iter().map(|i| i.name()).collect::<Vec<_>>().join(", "),
    };
    let surprise = verdict.breaches.iter().find(|breach| !wanted.contains(&breach.invariant));
    let why = surprise.map_or(String::new(), |b| format!(" ({}: {})", b.invariant.name(), b.why));
    Some(format!("expected broken invariants: {}; got: {}{why}", list(&wanted), list(&broken)))
}

/// What the file claims and no strategy reports. The reports of one strategy count together: it may say in one what it
/// saw and in another what it did.
fn claims(verdict: &Verdict, wanted: &Policy) -> Vec<String> {
    let mut strategies: BTreeMap<&str, Vec<&Policy>> = BTreeMap::new();
    for (who, _, policy) in &verdict.policies {
        strategies.entry(who).or_default().push(policy);
    }
    let missing = strategies.iter().map(|(who, reports)| missing(who, reports, wanted));
    missing.min_by_key(Vec::len).unwrap_or_else(|| vec!["expected a report, and no strategy reports".into()])
}

fn missing(who: &str, reports: &[&Policy], wanted: &Policy) -> Vec<String> {
    fn claim<T: PartialEq + std::fmt::Debug>(
        who: &str,
        name: &str,
        wanted: Option<&T>,
        said: Vec<&T>,
        fits: impl Fn(&T, &T) -> bool,
    ) -> Option<String> {
        let wanted = wanted?;
        let said_so = said.iter().any(|said| fits(said, wanted));
        (!said_so).then(|| match said.as_slice() {
            [] => format!("expected {who} to report {name} = {wanted:?}, it reports none"),
            said => format!("expected {who} to report {name} = {wanted:?}, it reports {:?}", said[said.len() - 1]),
        })
    }
    let mut missing = Vec::new();
    type Text = fn(&Policy) -> Option<&String>;
    let texts: [(&str, Text); 3] =
        [("detected", |p| p.detected.as_ref()), ("rule", |p| p.rule.as_ref()), ("cause", |p| p.cause.as_ref())];
    for (name, get) in texts {
        let said = reports.iter().filter_map(|policy| get(policy)).collect();
        missing.extend(claim(who, name, get(wanted), said, |a, b| a == b));
    }
    let said = reports.iter().filter_map(|policy| policy.text.as_ref()).collect();
    missing.extend(claim(who, "text", wanted.text.as_ref(), said, |a: &String, b: &String| a.contains(b.as_str())));
    let said = reports.iter().filter_map(|policy| policy.answered.as_ref()).collect();
    missing.extend(claim(who, "answered", wanted.answered.as_ref(), said, |a, b| a == b));
    for (name, value) in &wanted.constants {
        let said = reports.iter().filter_map(|policy| policy.constants.get(name)).collect();
        missing.extend(claim(who, name, Some(value), said, |a, b| a == b));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use crate::{judge, verdict};
    use expect_test::expect;
    use rehang_scenario::{Proof, Span};
    use rehang_trace::Ended;

    fn rule(outcome: Expected) -> Expect {
        serde_json::from_value(serde_json::json!({ "outcome": outcome })).unwrap()
    }

    fn hung() -> Cell {
        Cell::new().started().ask("que_1", "ses_1").at(10_000).deadlock(&[("agent", "question")])
    }

    fn stopped() -> Cell {
        let policy = Policy {
            detected: Some("idle".into()),
            cause: Some("idle".into()),
            constants: [("idle_ms".to_owned(), 600_000)].into(),
            ..Policy::default()
        };
        let cell = Cell::new().started().tool("call_1", "bash").tool_end("call_1", "no output").at(600_001);
        cell.report("idle@off", policy).settle("idle@off", "stopped", "idle", "")
    }

    fn lines(cell: Cell, rule: &Expect) -> String {
        let none = verdict(&hung().trace(), &facts("none"));
        let judged = judge(&cell.trace(), &facts("idle@off"), Some(&none)).unwrap();
        meets(&judged, Some(&none), rule).iter().map(|m| format!("{:?}: {}\n", m.what, m.line)).collect()
    }

    #[test]
    fn outcomes() {
        expect![""].assert_eq(&lines(hung(), &rule(Expected::Hung("question".into()))));
        expect![""].assert_eq(&lines(hung(), &rule(Expected::AsNone)));
        expect![""].assert_eq(&lines(stopped(), &rule(Expected::Stopped("idle".into()))));
        expect![[r#"
            Outcome: expected hung on stdin, got hung on question (deadlock)
        "#]]
        .assert_eq(&lines(hung(), &rule(Expected::Hung("stdin".into()))));
        expect![[r#"
            UnexpectedHang: expected completed, got hung on question (deadlock)
        "#]]
        .assert_eq(&lines(hung(), &rule(Expected::Completed)));
        expect![[r#"
            Outcome: expected hung on question (deadlock) as under none, got stopped by idle
        "#]]
        .assert_eq(&lines(stopped(), &rule(Expected::AsNone)));
        expect![[r#"
            Outcome: expected stopped by wall, got stopped by idle
        "#]]
        .assert_eq(&lines(stopped(), &rule(Expected::Stopped("wall".into()))));
    }

    #[test]
    fn what_is_undecided_is_expected_by_name_and_is_no_hang() {
        let given_up = || {
            Cell::new().started().at(9).add(
                "",
                rehang_trace::What::Ended(Ended::Horizon { reason: rehang_trace::Horizon::Time, waits: Vec::new() }),
            )
        };
        expect![""].assert_eq(&lines(given_up(), &rule(Expected::Undecided)));
        expect![[r#"
            Outcome: expected completed, got undecided: virtual time ran out
        "#]]
        .assert_eq(&lines(given_up(), &rule(Expected::Completed)));
        expect![[r#"
            Outcome: expected hung on question, got undecided: virtual time ran out
        "#]]
        .assert_eq(&lines(given_up(), &rule(Expected::Hung("question".into()))));
        expect![[r#"
            UnexpectedHang: expected undecided, got hung on question (deadlock)
        "#]]
        .assert_eq(&lines(hung(), &rule(Expected::Undecided)));
        let as_none = |none: Cell| {
            let none = verdict(&none.trace(), &facts("none"));
            let judged = judge(&given_up().trace(), &facts("idle@off"), Some(&none)).unwrap();
            meets(&judged, Some(&none), &rule(Expected::AsNone)).len()
        };
        assert_eq!((as_none(given_up()), as_none(hung())), (0, 1));
    }

    #[test]
    fn as_none_is_by_the_same_cause() {
        let stopped_by = |cause: &str| {
            let cell = Cell::new().started().at(9).settle("wrapper", "stopped", cause, "");
            verdict(&cell.trace(), &facts("none"))
        };
        let under = |none: &Verdict| meets(&stopped_by("idle"), Some(none), &rule(Expected::AsNone)).len();
        assert_eq!((under(&stopped_by("idle")), under(&stopped_by("wall"))), (0, 1));
    }

    #[test]
    fn times_and_proofs() {
        let stop = || rule(Expected::Stopped("idle".into()));
        let within = |ms| Expect { within: Some(Span(ms)), ..stop() };
        expect![""].assert_eq(&lines(stopped(), &within(600_001)));
        expect![[r#"
            Time: expected an end within 10m, got 600001ms
        "#]]
        .assert_eq(&lines(stopped(), &within(600_000)));
        expect![[r#"
            Time: expected no end before 600002ms, got 600001ms
        "#]]
        .assert_eq(&lines(stopped(), &Expect { not_before: Some(Span(600_002)), ..stop() }));
        let proof = |proof| Expect { proof: Some(proof), ..rule(Expected::Hung("question".into())) };
        expect![""].assert_eq(&lines(hung(), &proof(Proof::Deadlock)));
        expect![[r#"
            Proof: expected the proof lasso, got deadlock
        "#]]
        .assert_eq(&lines(hung(), &proof(Proof::Lasso)));
    }

    #[test]
    fn the_exact_set_of_broken_invariants() {
        let breaks =
            |breaks: &[Invariant]| Expect { breaks: breaks.to_vec(), ..rule(Expected::Hung("question".into())) };
        let idle = || hung().busy("ses_1", false);
        let on = |broken: &[Invariant]| lines(idle(), &breaks(broken));
        expect![""].assert_eq(&on(&[Invariant::AskWithoutEnd]));
        expect![[r#"
            Breaks: expected broken invariants: none; got: ask-without-end (ask-without-end: `que_1` of agent is open at the end, and its session ses_1 is idle)
        "#]].assert_eq(&on(&[]));
        expect![[r#"
            Breaks: expected broken invariants: harm; got: none
        "#]]
        .assert_eq(&lines(hung(), &breaks(&[Invariant::Harm])));
    }

    #[test]
    fn claims_and_texts() {
        let rule = |policy: Policy| Expect { policy: Some(policy), ..rule(Expected::Stopped("idle".into())) };
        let claim = |detected: &str, ms| Policy {
            detected: Some(detected.into()),
            constants: [("idle_ms".to_owned(), ms)].into(),
            ..Policy::default()
        };
        expect![""].assert_eq(&lines(stopped(), &rule(claim("idle", 600_000))));
        expect![[r#"
            Policy: expected idle@off to report detected = "no-tty", it reports "idle"
            Policy: expected idle@off to report idle_ms = 5, it reports 600000
        "#]]
        .assert_eq(&lines(stopped(), &rule(claim("no-tty", 5))));
        let told = |text: &str| Expect { told: vec![text.into()], ..rule(Policy::default()) };
        expect![""].assert_eq(&lines(stopped(), &told("output")));
        expect![[r#"
            Told: expected the model to be told "User", it was told "no output"
        "#]]
        .assert_eq(&lines(stopped(), &told("User")));
        let says = |texts: &[&str]| {
            let says = texts.iter().map(|text| (*text).to_owned()).collect();
            let cell = || {
                stopped()
                    .busy("ses_1", false)
                    .says("monitor@pr3", "running | prompt sent")
                    .says("monitor@pr3", "TERMINAL=failed")
            };
            lines(cell(), &Expect { says, ..rule(Policy::default()) })
        };
        expect![""].assert_eq(&says(&["running", "prompt sent", "TERMINAL=failed"]));
        expect![[r#"
            Says: expected a strategy to say "running" behind what was said before, it said "TERMINAL=failed"
        "#]]
        .assert_eq(&says(&["TERMINAL", "running"]));
        expect![[r#"
            Says: expected a strategy to say "queued", it said "running | prompt sent", "TERMINAL=failed"
        "#]]
        .assert_eq(&says(&["queued"]));
        let replied = |status| {
            let cell = stopped().post("person1", 1, "/question/que_1/reply").respond("person1", 1, status, true.into());
            lines(
                cell.post("person2", 2, "/question/que_1/reply"),
                &Expect { gets: vec![200, 0], ..rule(Policy::default()) },
            )
        };
        expect![""].assert_eq(&replied(200));
        expect![[r#"
            Gets: expected what people do over HTTP to get [200, 0], it got [404, 0]
        "#]]
        .assert_eq(&replied(404));
        expect![[r#"
            Outcome: expected stopped by idle, got hung on question (deadlock)
            Policy: expected a report, and no strategy reports
        "#]]
        .assert_eq(&lines(hung(), &rule(claim("idle", 1))).replace("UnexpectedHang", "Outcome"));
    }

    #[test]
    fn a_claim_may_be_spread_over_the_reports_of_one_strategy() {
        let of = |rule: &str, text: &str, label: &str| Policy {
            rule: Some(rule.into()),
            text: Some(text.into()),
            answered: Some(vec![vec![label.into()]]),
            ..Policy::default()
        };
        let cell = || {
            let said = of("keyword: profile only", "no user was available to answer", "Profile only");
            stopped().report("idle@off", said).report("guard", of("first", "", "A"))
        };
        let rule = |policy: Policy| Expect { policy: Some(policy), ..rule(Expected::Stopped("idle".into())) };
        let both = Policy { cause: Some("idle".into()), ..of("keyword: profile only", "no user", "Profile only") };
        expect![[r#"
            Breaks: expected broken invariants: none; got: untrue-report (untrue-report: idle@off reports the answers [["Profile only"]], and gave none)
        "#]].assert_eq(&lines(cell(), &rule(both.clone())));
        expect![[r#"
            Breaks: expected broken invariants: none; got: untrue-report (untrue-report: idle@off reports the answers [["Profile only"]], and gave none)
            Policy: expected idle@off to report rule = "first", it reports "keyword: profile only"
        "#]]
        .assert_eq(&lines(cell(), &rule(Policy { rule: Some("first".into()), ..both.clone() })));
        expect![[r#"
            Breaks: expected broken invariants: none; got: untrue-report (untrue-report: idle@off reports the answers [["Profile only"]], and gave none)
            Policy: expected idle@off to report text = "a user", it reports "no user was available to answer"
        "#]]
        .assert_eq(&lines(cell(), &rule(Policy { text: Some("a user".into()), ..both.clone() })));
        expect![[r#"
            Breaks: expected broken invariants: none; got: untrue-report (untrue-report: idle@off reports the answers [["Profile only"]], and gave none)
            Policy: expected idle@off to report answered = [["A"]], it reports [["Profile only"]]
        "#]]
        .assert_eq(&lines(cell(), &rule(Policy { answered: Some(vec![vec!["A".into()]]), ..both })));
    }
}
