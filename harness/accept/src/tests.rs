//! Small files, what was seen of them, and what they become.

use crate::{End, Ended, Plan, Ran, Result, Seen};
use expect_test::{Expect, expect};
use rehang_scenario::cells::{Catalogue, DoesNotFit, Named, Unknown, cells};
use rehang_scenario::{Agent, BlockedOn, CellId, Family, Invariant, Policy, Proof, VTime, load};

/// `none`, three strategies, and one with two placements.
struct Few;

const STACKS: [&str; 6] = ["none", "idle", "wall", "guard", "answer(at=tool)", "answer(at=ask)"];

impl Catalogue for Few {
    fn resolve(&self, pattern: &str) -> std::result::Result<Named, Unknown> {
        match pattern {
            "answer" => Ok(Named::Family),
            _ if STACKS.contains(&pattern) || pattern.contains("cap=") => Ok(Named::Stack),
            _ => Err(Unknown { message: format!("no strategy is called `{pattern}`"), label: None }),
        }
    }

    fn stacks(&self, _: &Agent) -> Vec<String> {
        STACKS.map(str::to_owned).to_vec()
    }

    fn fits(&self, _: &str, _: &Agent) -> std::result::Result<(), DoesNotFit> {
        Ok(())
    }

    fn matches(&self, pattern: &str, stack: &str) -> bool {
        pattern == stack || stack.split('(').next() == Some(pattern)
    }
}

/// The head of each file: its scenario hangs if nobody acts.
const HEAD: &str = r#"title     = "Asks, and nobody is there"
mechanism = "Q1"
agent     = { opencode = { as = "1.2.15", mode = "serve" } }
terminals = ["tty", "null"]
turns     = [{ ask = [{ question = "Which?", options = [{ label = "A" }] }] }]
"#;
/// Their end.
const TAIL: &str = r#"
[control]
people = [{ via = "http", sees = "events", after = "2s", does = { answer = ["A"] } }]
"#;

fn family(text: &str) -> Family {
    let loaded = load("scenarios/t.toml", text.as_bytes());
    loaded.into_result().unwrap_or_else(|problems| panic!("{problems}"))
}

fn hung() -> Seen {
    let hung = End { outcome: Ended::Hung(BlockedOn::Question, Proof::Deadlock), broken: Vec::new() };
    Seen {
        end: hung.clone(),
        none: hung,
        ended: VTime(10),
        reports: Vec::new(),
        told: Vec::new(),
        none_told: Vec::new(),
        said: Vec::new(),
        gets: Vec::new(),
    }
}

fn ended(outcome: Ended, ms: u64) -> Seen {
    Seen { end: End { outcome, broken: Vec::new() }, ended: VTime(ms), ..hung() }
}

fn stopped(by: &str, ms: u64) -> Seen {
    ended(Ended::Stopped(by.into()), ms)
}

fn completed() -> Seen {
    let policy = Policy {
        detected: Some("pending-ask".into()),
        rule: Some("refuse".into()),
        constants: [("after_ms".into(), 1_200_000)].into(),
        ..Policy::default()
    };
    Seen { reports: vec![("guard".into(), policy)], ..ended(Ended::Completed, 1_200_500) }
}

/// What was seen of each cell; the cells of the control arm complete.
fn ran(family: &Family, see: &dyn Fn(&CellId) -> Seen) -> Vec<Ran> {
    let all = cells(family, &Few);
    let rules: Vec<(CellId, Option<rehang_scenario::Expect>)> = all
        .cells
        .iter()
        .map(|cell| (cell.id.clone(), Some(cell.expect.clone())))
        .chain(all.uncovered.iter().map(|id| (id.clone(), None)))
        .collect();
    let one = |(id, rule): (CellId, Option<rehang_scenario::Expect>)| {
        let seen = match id.arm {
            rehang_scenario::Arm::Main => see(&id),
            rehang_scenario::Arm::Control => {
                let none = End { outcome: Ended::Completed, broken: Vec::new() };
                Seen { none, ..ended(Ended::Completed, 5) }
            }
        };
        let fits = rule.is_some_and(|rule| seen.misses(&rule).is_empty());
        Ran { id, result: if fits { Result::Expected } else { Result::Seen(Box::new(seen)) } }
    };
    rules.into_iter().map(one).collect()
}

/// The file once all is accepted, and the refusals; a second time changes nothing.
fn accepted(text: &str, see: &dyn Fn(&CellId) -> Seen) -> (String, String) {
    let before = family(text);
    let ran_once = ran(&before, see);
    let plan = Plan::new(&before, &ran_once, &Few, &|_| false);
    let all: Vec<usize> = (0..plan.proposals().len()).collect();
    let written = plan.write(&all).unwrap_or_else(|error| panic!("{error}"));
    let refused: String = plan
        .refused()
        .iter()
        .chain(&written.refused)
        .map(|refused| format!("{}: {}\n", refused.id, refused.why))
        .collect();
    let after = family(&written.text);
    let ran_again = ran(&after, see);
    let again = Plan::new(&after, &ran_again, &Few, &|_| false);
    assert!(again.proposals().is_empty(), "{}\n{:?}", written.text, again.proposals());
    (written.text, refused)
}

/// What becomes of rules between the head and the tail.
fn check(rules: &str, see: &dyn Fn(&CellId) -> Seen, expected: Expect) {
    let (text, refused) = accepted(&format!("{HEAD}{rules}{TAIL}"), see);
    let rules = text.strip_prefix(HEAD).expect("the head stays").replacen(TAIL, "<tail>", 1);
    expected.assert_eq(&(rules + &refused));
}

/// Strategies that differ: `idle` and `wall` stop it, `guard` ends it, the others do nothing.
fn usual(id: &CellId) -> Seen {
    match id.strategy.as_str() {
        "idle" => stopped("idle", 600_001),
        "wall" => stopped("wall", 3_600_000),
        "guard" => completed(),
        _ => hung(),
    }
}

const USUAL: &str = r#"
[[expect]]
strategies = ["none"]
outcome    = { hung = "question" }
proof      = "deadlock"

# It kills what is silent.
[[expect]]
strategies = ["idle"]   # theirs
outcome    = { stopped = "idle" }
within     = "601s"

[[expect]]
strategies = ["wall"]
outcome    = { stopped = "wall" }
within     = "1h"

[[expect]]
strategies = ["guard"]
outcome    = "completed"
within     = "1201s"
policy     = { detected = "pending-ask", rule = "refuse" }

[[expect]]                # nothing to do here
outcome    = "as none"
"#;

#[test]
fn what_is_as_expected_stays_as_it_is() {
    let (text, refused) = accepted(&format!("{HEAD}{USUAL}{TAIL}"), &usual);
    assert_eq!((text, refused), (format!("{HEAD}{USUAL}{TAIL}"), String::new()));
}

#[test]
fn no_rules_at_all_become_a_readable_set() {
    check(
        "",
        &usual,
        expect![[r#"
            <tail>
            [[expect]]
            strategies = ["none"]
            outcome    = { hung = "question" }
            proof      = "deadlock"

            [[expect]]
            strategies = ["idle"]
            outcome    = { stopped = "idle" }
            within     = "601s"

            [[expect]]
            strategies = ["wall"]
            outcome    = { stopped = "wall" }
            within     = "1h"

            [[expect]]
            strategies = ["guard"]
            outcome    = "completed"
            within     = "1201s"
            policy     = { detected = "pending-ask", rule = "refuse" }

            [[expect]]
            outcome    = "as none"
        "#]],
    );
}

#[test]
fn a_run_that_always_completes_is_one_rule() {
    let see = |_: &CellId| {
        let none = End { outcome: Ended::Completed, broken: Vec::new() };
        Seen { none, ..ended(Ended::Completed, 5) }
    };
    check(
        "",
        &see,
        expect![[r#"
        <tail>
        [[expect]]
        outcome    = "completed"
    "#]],
    );
}

#[test]
fn a_rule_whose_cells_all_changed_is_changed_where_it_is() {
    let see = |id: &CellId| match id.strategy.as_str() {
        "idle" => {
            Seen { end: End { broken: vec![Invariant::Harm], ..stopped("idle", 0).end }, ..stopped("idle", 900_000) }
        }
        _ => usual(id),
    };
    check(
        USUAL,
        &see,
        expect![[r#"

        [[expect]]
        strategies = ["none"]
        outcome    = { hung = "question" }
        proof      = "deadlock"

        # It kills what is silent.
        [[expect]]
        strategies = ["idle"]   # theirs
        outcome    = { stopped = "idle" }
        within     = "15m"
        breaks     = ["harm"]

        [[expect]]
        strategies = ["wall"]
        outcome    = { stopped = "wall" }
        within     = "1h"

        [[expect]]
        strategies = ["guard"]
        outcome    = "completed"
        within     = "1201s"
        policy     = { detected = "pending-ask", rule = "refuse" }

        [[expect]]                # nothing to do here
        outcome    = "as none"
        <tail>"#]],
    );
}

#[test]
fn a_rule_of_which_some_cells_changed_is_split() {
    let rules = r#"
[[expect]]
strategies = ["none"]
outcome    = { hung = "question" }

# All of these do.
[[expect]]
strategies = [
  "idle",   # first
  "wall",   # second
  "guard",
]
outcome = { stopped = "idle" }

[[expect]]
outcome    = "as none"
"#;
    let see = |id: &CellId| match (id.strategy.as_str(), id.terminal.name()) {
        ("idle" | "guard", _) => stopped("idle", 1),
        ("wall", "tty") => stopped("wall", 7_200),
        ("wall", _) => stopped("idle", 1),
        ("answer(at=ask)", _) => ended(Ended::Failed("no".into()), 12),
        _ => hung(),
    };
    check(
        rules,
        &see,
        expect![[r#"

            [[expect]]
            strategies = ["none"]
            outcome    = { hung = "question" }

            [[expect]]
            strategies = ["wall"]
            terminals  = ["tty"]
            outcome    = { stopped = "wall" }

            # All of these do.
            [[expect]]
            strategies = [
              "idle",   # first
              "wall",   # second
              "guard",
            ]
            outcome = { stopped = "idle" }

            [[expect]]
            strategies = ["answer(at=ask)"]
            outcome    = "failed"
            within     = "12ms"

            [[expect]]
            outcome    = "as none"
            <tail>"#]],
    );
    let see = |id: &CellId| match id.strategy.as_str() {
        "idle" | "guard" => stopped("idle", 1),
        "wall" => stopped("wall", 7_200),
        "answer(at=ask)" | "answer(at=tool)" => ended(Ended::Failed("no".into()), 12),
        _ => hung(),
    };
    check(
        rules,
        &see,
        expect![[r#"

            [[expect]]
            strategies = ["none"]
            outcome    = { hung = "question" }

            [[expect]]
            strategies = ["wall"]
            outcome    = { stopped = "wall" }

            # All of these do.
            [[expect]]
            strategies = [
              "idle",   # first
              "guard",
            ]
            outcome = { stopped = "idle" }

            [[expect]]
            strategies = ["answer"]
            outcome    = "failed"
            within     = "12ms"
            <tail>"#]],
    );
}

#[test]
fn a_stack_that_a_user_names_gets_a_rule_that_names_it() {
    let file = family(&format!("{HEAD}{USUAL}{TAIL}"));
    let of = |seen: &Seen, terminal: &str| Ran {
        id: format!("t::other(cap=5m)::{terminal}::1").parse().unwrap(),
        result: if *seen == hung() { Result::Expected } else { Result::Seen(Box::new(seen.clone())) },
    };
    let written = |seen: Seen| {
        let ran = [of(&seen, "tty"), of(&seen, "null")];
        let plan = Plan::new(&file, &ran, &Few, &|_| false);
        let all: Vec<usize> = (0..plan.proposals().len()).collect();
        crate::diff::diff(&file.source.text, &plan.write(&all).unwrap().text).join("\n")
    };
    expect![[r#"
          within     = "1201s"
          policy     = { detected = "pending-ask", rule = "refuse" }

        + [[expect]]
        + strategies = ["other(cap=5m)"]
        + outcome    = { stopped = "wall" }
        + within     = "5m"
        +
          [[expect]]                # nothing to do here
          outcome    = "as none"
    "#]]
    .assert_eq(&written(stopped("wall", 300_000)));
    expect![[""]].assert_eq(&written(hung()));
}

#[test]
fn a_stack_that_only_its_rule_brings_in_keeps_its_rule() {
    let file = format!("{HEAD}{USUAL}{TAIL}").replace("[\"guard\"]", "[\"guard\", \"other(cap=5m)\"]");
    let see = |id: &CellId| if id.strategy.starts_with("other") { hung() } else { usual(id) };
    let (text, refused) = accepted(&file, &see);
    assert_eq!(refused, "");
    expect![[r#"
          within     = "1h"

          [[expect]]
        - strategies = ["guard", "other(cap=5m)"]
        + strategies = ["other(cap=5m)"]
        + outcome    = "as none"
        +
        + [[expect]]
        + strategies = ["guard"]
          outcome    = "completed"
          within     = "1201s"
          policy     = { detected = "pending-ask", rule = "refuse" }"#]]
    .assert_eq(&crate::diff::diff(&file, &text).join("\n"));
}

#[test]
fn a_hang_without_a_control_arm_is_said_and_not_written() {
    let file = family(HEAD);
    let ran = ran(&file, &usual);
    let plan = Plan::new(&file, &ran, &Few, &|_| false);
    let error = plan.write(&[0]).unwrap_err().to_string();
    assert!(error.contains("a hang without a control arm") && error.contains("add `[control]`"), "{error}");
}

/// Every shipped file goes through the editor and comes out as it was.
#[test]
fn the_editor_keeps_every_shipped_file() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            match path.extension() {
                _ if path.is_dir() && !path.ends_with("agents") => folders.push(path),
                Some(extension) if extension == "toml" => {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let file = family(&text);
                    let plan = Plan::new(&file, &[], &Few, &|_| false);
                    assert_eq!(plan.write(&[]).unwrap().text, text, "{}", path.display());
                    files += 1;
                }
                _ => {}
            }
        }
    }
    assert!(files > 150, "{files}");
}

#[test]
fn what_a_rule_asks_of_an_end_it_asks_of_another() {
    let rules = r#"
[[expect]]
strategies = ["none"]
outcome    = { hung = "question" }

[[expect]]
strategies = ["idle", "wall"]
outcome    = "failed"
not-before = "2s"
within     = "3s"
policy     = { detected = "silence" }

[[expect]]
strategies = ["guard"]
outcome    = "failed"

[[expect]]
outcome    = "as none"
"#;
    let see = |id: &CellId| match id.strategy.as_str() {
        "idle" => stopped("limit", 600_000),
        "wall" => stopped("limit", 3_600_000),
        _ => usual(id),
    };
    check(
        rules,
        &see,
        expect![[r#"

        [[expect]]
        strategies = ["none"]
        outcome    = { hung = "question" }

        [[expect]]
        strategies = ["idle", "wall"]
        outcome    = { stopped = "limit" }
        not-before = "2s"
        within     = "1h"

        [[expect]]
        strategies = ["guard"]
        outcome    = "completed"

        [[expect]]
        outcome    = "as none"
        <tail>"#]],
    );
}

#[test]
fn claims_and_texts_are_brought_up_to_date() {
    let rules = r#"
[[expect]]
strategies = ["none"]
outcome    = { hung = "question" }

[[expect]]
strategies = ["guard"]
outcome    = "completed"
policy     = { rule = "allow", constants = { after_ms = 5 } }
told       = ["Allowed."]
says       = ["asks", "allows"]

[[expect]]
outcome    = "as none"
"#;
    let see = |id: &CellId| match id.strategy.as_str() {
        "guard" => Seen {
            told: vec!["Refused: nobody is there.\nMore.".into()],
            said: vec!["it asks".into(), "refuses".into()],
            ..completed()
        },
        _ => hung(),
    };
    check(
        rules,
        &see,
        expect![[r#"

        [[expect]]
        strategies = ["none"]
        outcome    = { hung = "question" }

        [[expect]]
        strategies = ["guard"]
        outcome    = "completed"
        policy     = { rule = "refuse", constants = { after_ms = 1200000 } }
        told       = ["Refused: nobody is there."]
        says       = ["asks"]

        [[expect]]
        outcome    = "as none"
        <tail>"#]],
    );
}

#[test]
fn what_becomes_equal_is_merged() {
    let see = |id: &CellId| match id.strategy.as_str() {
        "wall" => stopped("idle", 600_001),
        "guard" => hung(),
        _ => usual(id),
    };
    check(
        USUAL,
        &see,
        expect![[r#"

            [[expect]]
            strategies = ["none"]
            outcome    = { hung = "question" }
            proof      = "deadlock"

            # It kills what is silent.
            [[expect]]
            strategies = ["idle", "wall"]   # theirs
            outcome    = { stopped = "idle" }
            within     = "601s"

            [[expect]]                # nothing to do here
            outcome    = "as none"
            <tail>"#]],
    );
}

#[test]
fn what_no_file_is_to_expect_is_refused() {
    let see = |id: &CellId| match id.strategy.as_str() {
        "none" => ended(Ended::Undecided("virtual time ran out".into()), 9),
        "idle" => Seen { end: End { broken: vec![Invariant::RejectedWithoutCause], ..completed().end }, ..completed() },
        _ => usual(id),
    };
    check(
        USUAL,
        &see,
        expect![[r#"

        [[expect]]
        strategies = ["none"]
        outcome    = { hung = "question" }
        proof      = "deadlock"

        # It kills what is silent.
        [[expect]]
        strategies = ["idle"]   # theirs
        outcome    = { stopped = "idle" }
        within     = "601s"

        [[expect]]
        strategies = ["wall"]
        outcome    = { stopped = "wall" }
        within     = "1h"

        [[expect]]
        strategies = ["guard"]
        outcome    = "completed"
        within     = "1201s"
        policy     = { detected = "pending-ask", rule = "refuse" }

        [[expect]]                # nothing to do here
        outcome    = "as none"
        <tail>t::none::tty::1: under `none` nothing is proved: virtual time ran out
        t::none::null::1: under `none` nothing is proved: virtual time ran out
        t::idle::tty::1: an ask is rejected without a cause: if that is right, say `breaks = ["rejected-without-cause"]` by hand
        t::idle::null::1: an ask is rejected without a cause: if that is right, say `breaks = ["rejected-without-cause"]` by hand
    "#]],
    );
}

#[test]
fn faults_and_differences_are_refused() {
    let file = family(&format!("{HEAD}{USUAL}{TAIL}"));
    let id = |name: &str| name.parse::<CellId>().unwrap();
    let (a, b) = (Box::new(stopped("wall", 1)), Box::new(stopped("wall", 2)));
    let ran = [
        Ran { id: id("t::idle::tty::1"), result: Result::Fault("a pipe broke".into()) },
        Ran { id: id("t::wall::tty::1"), result: Result::Differs("event 3".into()) },
        Ran { id: id("t::guard::tty::1"), result: Result::Seen(a) },
        Ran { id: id("t::guard::tty::1"), result: Result::Seen(b) },
    ];
    let plan = Plan::new(&file, &ran, &Few, &|_| false);
    let refused: Vec<&str> = plan.refused().iter().map(|refused| refused.why.as_str()).collect();
    assert_eq!(refused.len(), 3);
    assert!(refused.contains(&"internal error: a pipe broke") && refused.contains(&"its stages differ: event 3"));
    assert!(plan.proposals().is_empty());
}

#[test]
fn seeds_that_differ_are_for_a_person_to_say() {
    let seeds = HEAD.replace("turns ", "seeds     = [1, 2]\nturns ");
    let see = |id: &CellId| match (id.strategy.as_str(), id.order.seed) {
        ("idle", 1) => stopped("idle", 700_000),
        ("wall", 1) => stopped("wall", 7_200_000),
        ("wall", _) => stopped("wall", 7_200_001),
        _ => usual(id),
    };
    let (text, refused) = accepted(&format!("{seeds}{USUAL}{TAIL}"), &|id| see(id));
    let changes = crate::diff::diff(&format!("{seeds}{USUAL}{TAIL}"), &text).join("\n");
    assert_eq!(changes.matches("within     = \"7201s\"").count(), 1, "{changes}");
    expect![[r#"
        t::idle::tty::1: its seeds differ: say by hand which seed gives what (`seeds = [1]`)
        t::idle::null::1: its seeds differ: say by hand which seed gives what (`seeds = [1]`)
    "#]]
    .assert_eq(&refused);
}

#[test]
fn variants_get_rules_of_their_own_where_they_differ() {
    let vary = r#"
[[vary]]
name   = "short"
set    = { "people" = [] }
expect = [
  { strategies = ["idle"], outcome = { stopped = "idle" } },  # too soon
  { strategies = ["wall"], outcome = { stopped = "wall" } },
]

[[vary]]
name   = "long"
set    = { env = { A = "b" } }
"#;
    let file = format!("{HEAD}{vary}{USUAL}{TAIL}");
    let see = |id: &CellId| match (id.strategy.as_str(), id.variant.as_str()) {
        ("wall", "short") => stopped("wall", 1_200),
        ("idle", "short") => hung(),
        ("guard", "long") => stopped("asked", 1_201_000),
        _ => usual(id),
    };
    let (text, refused) = accepted(&file, &see);
    assert_eq!(refused, "");
    expect![[r#"
          name   = "short"
          set    = { "people" = [] }
          expect = [
        -   { strategies = ["idle"], outcome = { stopped = "idle" } },  # too soon
        +   { strategies = ["idle"], outcome = "as none" },  # too soon
            { strategies = ["wall"], outcome = { stopped = "wall" } },
          ]

          [[vary]]
          name   = "long"
          set    = { env = { A = "b" } }
        + expect = [
        +   { strategies = ["guard"], outcome = { stopped = "asked" }, within = "1201s" },
        + ]

          [[expect]]
          strategies = ["none"]"#]]
    .assert_eq(&crate::diff::diff(&file, &text).join("\n"));
}
