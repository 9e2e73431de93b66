//! The search over orders: what it finds, what it leaves out, and that what it finds can be played again.

use rehang_judge::score::Score;
use rehang_judge::{Verdict, judge};
use rehang_os::sim::SimKernel;
use rehang_scenario::{Arm, Order, Scenario, Span, Stage, Terminal, VTime, load};
use rehang_search::orders::{Cell, Explored, Inevitable, Limits, Merging, explore};
use rehang_stage::{Job, LATE, Misfit, RunError, Setting, run};
use std::collections::BTreeSet;

/// A person answers at the very moment at which a strategy gives the ask up: whoever is first decides.
const RACE: &str = r#"
title = "a person answers at the moment at which a strategy gives up"
mechanism = "Q1"
agent = { opencode = { as = "1.2.15", mode = "serve" } }
terminals = ["null"]
turns = [
  { ask = [{ question = "Which database?", options = [{ label = "sqlite" }, { label = "postgres" }] }] },
  { say = "Done: {answer}." },
]
people = [{ via = "http", after = "10m", does = { answer = ["sqlite"] } }]
[[expect]]
outcome = "completed"
"#;

/// The same over stdin.
const STDIN: &str = r#"
title = "a person allows at the moment at which a strategy gives up"
mechanism = "P1"
agent = { claude = { as = "2.0.77", mode = "stream-json" } }
terminals = ["pipe"]
args = ["--permission-prompt-tool", "stdio"]
turns = [
  { bash = { command = "touch out.txt", asks = "bash", does = [{ print = "made" }] } },
  { say = "The tool said: {answer}" },
]
people = [{ via = "stdin", after = "10m", does = "allow" }]
[[expect]]
outcome = "completed"
"#;

fn scenario(text: &str) -> Scenario {
    let family = load("race.toml", text.as_bytes()).into_result().expect("a scenario");
    family.variants[0].scenario.clone()
}

fn setting() -> Setting<'static> {
    Setting { name: "race", stage: Stage::Sim, arm: Arm::Main, healthy: Span::ZERO }
}

fn verdict(job: &Job<'_>) -> Verdict {
    let record = run(&mut SimKernel::new(rehang_fakes::program), job).expect("a run");
    judge(&record.trace, &rehang_stage::judged::facts(job, &setting()), None).expect("a verdict")
}

fn explored(scenario: &Scenario, stack: &str, limits: Limits) -> Explored {
    let none = verdict(&Job::new(scenario, "none", scenario.terminals[0], 1));
    let none: &[Verdict] = if stack == "none" { &[] } else { &[none] };
    explore(&Cell { job: Job::new(scenario, stack, scenario.terminals[0], 1), setting: setting(), none }, limits)
}

/// The stack whose limit ends at the person's moment.
const RACER: &str = "blind-timeout";

#[test]
fn a_race_is_found_and_its_choices_are_played_again() {
    let scenario = scenario(RACE);
    let explored = explored(&scenario, RACER, Limits::default());
    assert!(explored.is_whole && explored.about.is_none(), "{explored:?}");
    let classes: Vec<_> = explored.found.iter().map(|found| &found.class).collect();
    assert_eq!(classes.len(), 2, "{classes:?}");
    assert_eq!(classes.iter().filter(|class| class.score == Some(Score::Harmed)).count(), 1, "{classes:?}");
    for found in &explored.found {
        let order: Order = found.order.to_string().parse().expect("an order that was printed");
        let again =
            verdict(&Job { choices: order.choices(), ..Job::new(&scenario, RACER, Terminal::Null, order.seed) });
        assert_eq!(Some(&again.transcript), found.verdict.as_ref().map(|verdict| &verdict.transcript), "{order}");
    }
    let other = &explored.found[1];
    assert_eq!(other.order.choices().len(), other.picks.len());
    let decides = other.picks.last().expect("a choice");
    assert_eq!(decides.at, VTime::ZERO + Span::mins(10), "{decides:?}");
    for at in 0..other.order.choices().len() {
        let left = |place: &usize| *place != at;
        let fewer =
            other.order.choices().iter().enumerate().filter(|(place, _)| left(place)).map(|(_, choice)| *choice);
        let fewer: Vec<_> = fewer.collect();
        let job = Job { choices: &fewer, ..Job::new(&scenario, RACER, Terminal::Null, 1) };
        let record = run(&mut SimKernel::new(rehang_fakes::program), &job);
        let shows = record.is_ok_and(|record| {
            let verdict = judge(&record.trace, &rehang_stage::judged::facts(&job, &setting()), None);
            verdict
                .is_ok_and(|verdict| Some(verdict.transcript) == other.verdict.as_ref().map(|of| of.transcript.clone()))
        });
        assert!(!shows, "choice {at} of {} is not needed", other.order);
    }
}

/// A person who answers well before a strategy gives up decides, in every order: a limit of each that ended at that very
/// moment would show as a second verdict.
#[test]
fn without_a_race_the_verdict_is_independent() {
    for (text, stack, after) in [(RACE, RACER, "9m"), (STDIN, "wall", "3h"), (STDIN, "guard", "3012s")] {
        let early = scenario(&text.replace("after = \"10m\"", &format!("after = \"{after}\"")));
        let explored = explored(&early, stack, Limits::default());
        assert!(explored.is_whole && explored.found.len() == 1 && explored.orders > 10, "{stack}: {explored:?}");
        assert_eq!(explored.inevitable, None, "it does not hang");
    }
}

/// One tick early is enough, if the order has what is due come late.
#[test]
fn what_comes_one_tick_early_is_a_race_too() {
    for (after, verdicts) in [(599_997, 1), (599_998, 2), (599_999, 2), (600_001, 2), (600_003, 1)] {
        let near = scenario(&RACE.replace("after = \"10m\"", &format!("after = \"{after}ms\"")));
        let explored = explored(&near, RACER, Limits::default());
        let picks = explored.found.iter().flat_map(|found| &found.picks);
        let late = picks.filter(|picked| picked.who().is_some_and(|(who, _)| who.ends_with(LATE))).count();
        assert_eq!((explored.found.len(), late > 0), (verdicts, verdicts > 1), "{after}: {:?}", explored.found);
    }
}

#[test]
fn a_hang_that_no_order_avoids_is_one_from_the_start() {
    let nobody =
        scenario(&RACE.replace("people = [{ via = \"http\", after = \"10m\", does = { answer = [\"sqlite\"] } }]", ""));
    let explored = explored(&nobody, "none", Limits::default());
    assert!(explored.is_whole && explored.found.len() == 1, "{explored:?}");
    assert_eq!(explored.inevitable, Some(Inevitable::FromTheStart));
}

/// Merging leaves out runs, and never a verdict: the same are found without it, and with histories compared exactly.
#[test]
fn merging_loses_no_verdict() {
    let scenario = scenario(RACE);
    let classes = |explored: &Explored| -> BTreeSet<String> {
        explored.found.iter().map(|found| format!("{:?}", found.class)).collect()
    };
    let of = |merging, orders| explored(&scenario, RACER, Limits { orders, merging });
    let (judged, exact) = (of(Merging::Judged, 100_000), of(Merging::Exact, 100_000));
    assert!(judged.is_whole && exact.is_whole);
    assert!(judged.orders <= exact.orders, "{} and {}", judged.orders, exact.orders);
    let never = of(Merging::Never, 3_000);
    assert!(!never.is_whole && never.about.is_some_and(|about| about > f64::from(exact.orders)), "{:?}", never.about);
    assert_eq!([classes(&judged), classes(&never)], [classes(&exact), classes(&exact)]);
}

#[test]
fn few_runs_are_a_sample_and_say_so() {
    let limits = Limits { orders: 20, merging: Merging::Judged };
    let explored = explored(&scenario(RACE), "guard", limits);
    assert!(!explored.is_whole && explored.orders <= 21, "{explored:?}");
    assert!(explored.about.is_some_and(|about| about > 20.0), "{:?}", explored.about);
}

#[test]
fn an_order_that_does_not_fit_is_no_verdict() {
    let scenario = scenario(RACE);
    let fails = |text: &str| {
        let order: Order = text.parse().expect(text);
        let job = Job { choices: order.choices(), ..Job::new(&scenario, "none", Terminal::Null, order.seed) };
        match run(&mut SimKernel::new(rehang_fakes::program), &job) {
            Err(RunError::Order(misfit)) => misfit,
            other => panic!("{text}: {other:?}"),
        }
    };
    assert!(matches!(fails("1/1=40"), Misfit::NoCandidate { candidates, .. } if candidates.len() > 1));
    assert!(fails("1/1=40").to_string().starts_with("the order picks candidate 40 at tie 1, which has "));
    let late = fails("1/1=2,5000=2");
    assert!(matches!(late, Misfit::NoTie { choice, ties } if choice.tie == 5_000 && ties > 1), "{late}");
}
