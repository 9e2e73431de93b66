//! A case as a whole scenario file: with its control arm, and with what every strategy does there.
//!
//! The expectations are what was seen on the simulated kernel: such a file records a finding, and goes red when a
//! strategy, a persona or the judge changes what happens. Whether what happens is right is decided elsewhere.
//!
//! Invariant: a control arm completes. It differs from the scenario in one key if one is enough.

use crate::case::{Case, CaseError, NONE, any_end};
use rehang_judge::score::{Score, classify};
use rehang_judge::{Outcome, Verdict};
use rehang_scenario::turns::{Step, Turn};
use rehang_scenario::{
    Agent, Arm, Does, Expect, Expected, Invariant, Person, Scenario, Sees, Skip, Span, Terminal, Via, to_toml,
};
use std::collections::BTreeSet;

/// The most steps of a candidate for a control arm: a longer one is not a simple run that completes.
const CONTROL_STEPS: u64 = 5_000;
/// How long a person of a control arm takes.
const SOON: Span = Span::secs(2);

/// A scenario file that holds what a case shows.
#[derive(Debug, Clone)]
pub struct Written {
    /// The file.
    pub text: String,
    /// The key in which the control arm differs; `None` if the case does not hang, or no change helps.
    pub control: Option<&'static str>,
    /// What each stack does, `none` first.
    pub stacks: Vec<Did>,
}

/// What a stack does in a case.
#[derive(Debug, Clone)]
pub struct Did {
    /// The stack.
    pub stack: String,
    /// How it ends.
    pub outcome: Outcome,
    /// What it breaks.
    pub broken: Vec<Invariant>,
    /// How the scoreboard counts it.
    pub score: Score,
    /// How long it takes in virtual time.
    pub took: Span,
}

/// Writes a case as a file.
///
/// # Errors
/// An internal error.
pub fn write(case: &Case, title: &str, about: Option<&str>) -> Result<Written, CaseError> {
    let mut case = Case::of(case.scenario.clone(), &case.stack);
    case.scenario.title = title.to_owned();
    case.scenario.about = about.map(str::to_owned);
    let healthy = Span::ZERO;
    let stacks = dids(&case, healthy)?;
    let (mut expect, mut given_up) = (Vec::new(), given_up(&stacks));
    let found = match stacks.first() {
        Some(none) if none.outcome.is_hung() => control(&case),
        _ => None,
    };
    if let Some((_, control)) = &found {
        let unwell = |did: &Did| did.outcome != Outcome::Completed || !did.broken.is_empty();
        let dids = dids(&Case { scenario: control.clone(), stack: NONE.to_owned() }, healthy)?;
        given_up.extend(self::given_up(&dids));
        expect = rules(dids.into_iter().filter(unwell), Arm::Control);
    }
    expect.extend(rules(stacks.iter().cloned(), Arm::Main));
    // a cell that was given up would end otherwise with more steps: it gives no expectation
    for rule in &mut expect {
        rule.strategies.retain(|stack| !given_up.contains(stack));
    }
    expect.retain(|rule| !rule.strategies.is_empty());
    case.scenario.expect = expect;
    if !given_up.is_empty() {
        let because = "it takes more steps than a search has".to_owned();
        let strategies = given_up.into_iter().collect();
        case.scenario.skip = vec![Skip { strategies, terminals: Vec::new(), because }];
    }
    let with = found.as_ref().map(|(_, control)| {
        let expect = case.scenario.expect.clone();
        let (title, about, skip) =
            (case.scenario.title.clone(), case.scenario.about.clone(), case.scenario.skip.clone());
        Scenario { expect, title, about, skip, ..control.clone() }
    });
    let text = to_toml(&case.scenario, with.as_ref());
    Ok(Written { text, control: found.map(|(key, _)| key), stacks })
}

/// What every stack does that can run here, `none` first.
///
/// # Errors
/// An internal error.
pub fn dids(case: &Case, healthy: Span) -> Result<Vec<Did>, CaseError> {
    let none = case.play_as(NONE, healthy, None)?.verdict;
    let mut all = vec![did(NONE, &none, &none)];
    for stack in rehang_strategy::matrix(&case.scenario.agent.wires()) {
        if stack != NONE {
            let verdict = case.play_as(&stack, healthy, Some(&none))?.verdict;
            all.push(did(&stack, &verdict, &none));
        }
    }
    Ok(all)
}

/// Stacks whose end is not known.
fn given_up(dids: &[Did]) -> BTreeSet<String> {
    let is = |did: &&Did| did.outcome.is_undecided();
    dids.iter().filter(is).map(|did| did.stack.clone()).collect()
}

fn did(stack: &str, verdict: &Verdict, none: &Verdict) -> Did {
    Did {
        stack: stack.to_owned(),
        outcome: verdict.outcome.clone(),
        broken: verdict.broken(),
        score: classify(verdict, none),
        took: Span(verdict.virtual_ms()),
    }
}

/// One rule for all stacks that do the same, in the order of the first of them.
fn rules(dids: impl Iterator<Item = Did>, arm: Arm) -> Vec<Expect> {
    let mut rules: Vec<Expect> = Vec::new();
    for did in dids {
        let outcome = match &did.outcome {
            Outcome::Completed => Expected::Completed,
            Outcome::Failed { .. } => Expected::Failed,
            Outcome::Stopped { cause } => Expected::Stopped(cause.clone()),
            Outcome::Hung { blocked_on, .. } => Expected::Hung(blocked_on.word().to_owned()),
            Outcome::Undecided { .. } => Expected::Undecided,
        };
        let proof = match &did.outcome {
            Outcome::Hung { proof, .. } => Some(*proof),
            _ => None,
        };
        match rules.iter_mut().find(|r| r.outcome == outcome && r.breaks == did.broken && r.proof == proof) {
            Some(rule) => rule.strategies.push(did.stack),
            None => {
                let strategies = vec![did.stack];
                rules.push(Expect { arm, strategies, outcome, proof, breaks: did.broken, ..any_end() });
            }
        }
    }
    rules
}

/// The one change under which a case that hangs completes: the key, and the scenario with it. The most telling changes
/// are tried first; the last is that nothing at all happens.
pub fn control(case: &Case) -> Option<(&'static str, Scenario)> {
    let completes = |scenario: &Scenario| {
        let arm = Case { scenario: scenario.clone(), stack: NONE.to_owned() };
        let verdict = arm.is_playable().then(|| arm.play_within(NONE, Span::ZERO, None, CONTROL_STEPS));
        matches!(verdict, Some(Ok(played)) if played.verdict.outcome == Outcome::Completed && played.verdict.breaches.is_empty())
    };
    candidates(&case.scenario).into_iter().find(|(_, scenario)| *scenario != case.scenario && completes(scenario))
}

fn candidates(main: &Scenario) -> Vec<(&'static str, Scenario)> {
    let mut all: Vec<(&'static str, Scenario)> = Vec::new();
    for (index, _) in main.faults.iter().enumerate() {
        let mut faults = main.faults.clone();
        faults.remove(index);
        all.push(("faults", Scenario { faults, ..main.clone() }));
    }
    all.push(("faults", Scenario { faults: Vec::new(), ..main.clone() }));
    let label = first_label(&main.turns).unwrap_or_else(|| "yes".to_owned());
    let answers = [Does::Answer(vec![label]), Does::Allow];
    let ways =
        [(Via::Http, Sees::Tree), (Via::Http, Sees::List), (Via::Stdin, Sees::Messages), (Via::Tty, Sees::Screen)];
    for (via, sees) in ways {
        for does in &answers {
            let person = Person { via, sees: Some(sees), directory: None, ask: 0, after: SOON, does: does.clone() };
            all.push(("people", Scenario { people: vec![person], ..main.clone() }));
        }
    }
    all.push(("people", Scenario { people: Vec::new(), ..main.clone() }));
    let terminals = [Terminal::Null, Terminal::Closed, Terminal::Tty];
    all.extend(terminals.map(|terminal| ("terminals", Scenario { terminals: vec![terminal], ..main.clone() })));
    for (index, _) in main.turns.iter().enumerate() {
        let mut turns = main.turns.clone();
        if quiet(&mut turns[index]) {
            all.push(("turns", Scenario { turns, ..main.clone() }));
        }
    }
    all.push(("args", Scenario { args: Vec::new(), ..main.clone() }));
    all.push(("env", Scenario { env: Default::default(), ..main.clone() }));
    match main.agent.kind().has_model {
        false => {
            let steps = vec![Step::Print("done".to_owned())];
            all.push(("agent", Scenario { agent: Agent::program(steps), ..main.clone() }));
        }
        true => {
            let turns = vec![Turn::Say("Done.".to_owned())];
            all.push(("turns", Scenario { turns: turns.clone(), ..main.clone() }));
            // if several things would each cause the hang, no single change helps
            let nothing = Scenario { turns, faults: Vec::new(), people: Vec::new(), ..main.clone() };
            all.push(("turns, faults and people", nothing.clone()));
            let terminals = vec![Terminal::Null];
            let bare = Scenario { terminals, args: Vec::new(), env: Default::default(), ..nothing };
            all.push(("all that is not the agent's", bare));
        }
    }
    all
}

/// Makes the children of a turn's bash tools end at once; returns whether there were any.
fn quiet(turn: &mut Turn) -> bool {
    match turn {
        Turn::Bash(bash) => {
            bash.does = vec![Step::Print("done".to_owned())];
            true
        }
        Turn::Task(task) => task.turns.iter_mut().map(quiet).filter(|quiet| *quiet).count() > 0,
        Turn::Together(calls) => calls.iter_mut().map(quiet).filter(|quiet| *quiet).count() > 0,
        _ => false,
    }
}

fn first_label(turns: &[Turn]) -> Option<String> {
    turns.iter().find_map(|turn| match turn {
        Turn::Ask(questions) => questions.first().map(|q| match q.options.first() {
            Some(option) => option.label.clone(),
            None => "yes".to_owned(),
        }),
        Turn::Task(task) => first_label(&task.turns),
        Turn::Together(calls) => first_label(calls),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use rehang_scenario::load;

    #[test]
    fn what_was_given_up_is_not_expected() {
        let text = r#"
title = "a program that goes on for days"
mechanism = "F8"
agent = { program = [{ every = { every = "10s", print = "a", times = 8000 } }, { every = { every = "10s", print = "b", times = 8000 } }] }
terminals = ["null"]
"#;
        let family = load("case.toml", text.as_bytes()).into_result().unwrap();
        let case = Case::of(family.variants[0].scenario.clone(), "wall");
        let written = write(&case, "a program that goes on for days", None).unwrap();
        let names = given_up(&written.stacks);
        assert!(names.contains(NONE) && !names.contains("wall"), "{names:?}");
        let loaded = load("case.toml", written.text.as_bytes()).into_result().unwrap();
        let scenario = &loaded.variants[0].scenario;
        assert_eq!(scenario.skip[0].strategies.iter().cloned().collect::<BTreeSet<_>>(), names);
        assert!(scenario.expect.iter().flat_map(|rule| &rule.strategies).all(|stack| !names.contains(stack)));
    }

    #[test]
    fn where_no_one_change_helps_several_do() {
        let text = r#"
title = "two things, each of which would hang"
mechanism = "B13"
agent = { opencode = { as = "1.2.15" } }
terminals = ["stdout-stopped"]
turns = [{ bash = { command = "make" } }]
faults = [{ tool = { does = "never-flips" } }]
"#;
        let family = load("case.toml", text.as_bytes()).into_result().unwrap();
        let case = Case::of(family.variants[0].scenario.clone(), NONE);
        let written = write(&case, "two things", None).unwrap();
        assert_eq!(written.control, Some("all that is not the agent's"), "{}", written.text);
        assert!(written.text.contains("changes = ["), "{}", written.text);
        let loaded = load("case.toml", written.text.as_bytes()).into_result();
        assert!(loaded.is_ok_and(|family| family.variants[0].control.is_some()), "{}", written.text);
    }

    #[test]
    fn a_hang_becomes_a_file_with_its_control_arm() {
        let text = r#"
title = "a question"
mechanism = "Q1"
agent = { opencode = { as = "1.2.15", mode = "serve" } }
terminals = ["null"]
turns = [{ ask = [{ question = "Which?", options = [{ label = "A" }] }] }, { say = "{answer}" }]
"#;
        let family = load("case.toml", text.as_bytes()).into_result().unwrap();
        let case = Case::of(family.variants[0].scenario.clone(), NONE);
        let written = write(&case, "a question that nobody answers", None).unwrap();
        assert_eq!(written.control, Some("people"));
        assert!(load("case.toml", written.text.as_bytes()).into_result().is_ok(), "{}", written.text);
        expect![[r#"
            title = "a question that nobody answers"
            mechanism = "Q1"
            agent = { opencode = { as = "1.2.15", mode = "serve" } }
            terminals = ["null"]
            turns = [
              { ask = [{ question = "Which?", options = [{ label = "A" }] }] },
              { say = "{answer}" },
            ]

            [control]
            people = [{ via = "http", sees = "tree", after = "2s", does = { answer = ["A"] } }]

            [[expect]]
            arm = "control"
            strategies = ["auto-answer@r1(at=tool)", "auto-answer@r2(at=tool)", "auto-answer@r2(at=ask)"]
            outcome = "completed"
            breaks = ["harm", "double-or-invented-reply", "attributed-to-user"]

            [[expect]]
            arm = "control"
            strategies = ["auto-answer@r1(at=ask)"]
            outcome = "completed"
            breaks = ["double-or-invented-reply", "attributed-to-user"]

            [[expect]]
            strategies = [
              "none",
              "auto-answer@r3(at=tool)",
              "auto-answer@r3(at=ask)",
              "not-offered(as=refused)",
              "not-offered(as=withheld)",
            ]
            outcome = { hung = "question" }
            proof = "deadlock"

            [[expect]]
            strategies = ["auto-answer@r1(at=tool)", "auto-answer@r2(at=tool)", "pending-ask"]
            outcome = "completed"
            breaks = ["attributed-to-user"]

            [[expect]]
            strategies = ["auto-answer@r1(at=ask)", "auto-answer@r2(at=ask)"]
            outcome = "completed"
            breaks = ["double-or-invented-reply", "attributed-to-user"]

            [[expect]]
            strategies = ["watcher@pr2", "heal@pr3", "heal@pr5", "monitor@pr5"]
            outcome = { stopped = "prompt-timeout" }

            [[expect]]
            strategies = ["watcher@pr3", "watcher@desc"]
            outcome = { stopped = "idle" }

            [[expect]]
            strategies = ["watcher@pr5"]
            outcome = { stopped = "idle" }
            breaks = ["untrue-report"]

            [[expect]]
            strategies = ["monitor@pr3"]
            outcome = { stopped = "prompt-timeout" }
            breaks = ["untrue-report"]

            [[expect]]
            strategies = ["blind-timeout"]
            outcome = "completed"
            breaks = ["rejected-without-cause", "attributed-to-user"]

            [[expect]]
            strategies = ["guard"]
            outcome = { stopped = "asked" }
        "#]]
        .assert_eq(&written.text);
    }
}
