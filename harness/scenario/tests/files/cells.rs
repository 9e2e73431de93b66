//! From a file to its cells and back from a cell's name.
//!
//! Invariant: a cell has one name, and the name finds the cell.

use expect_test::expect;
use rehang_scenario::sample::Sample;
use rehang_scenario::*;

fn family(file: &str) -> Family {
    match load("scenarios/question/row-diff.toml", file.as_bytes()).into_result() {
        Ok(family) => family,
        Err(problems) => panic!("{problems}"),
    }
}

fn listed(family: &Family) -> String {
    let all = cells(family, &Sample);
    let mut out = String::new();
    for cell in &all.cells {
        let rule = cell.rule.map_or("-".to_owned(), |rule| rule.to_string());
        out.push_str(&format!("{} | rule {rule}: {:?}\n", cell.id, cell.expect.outcome));
    }
    for skip in &all.skipped {
        out.push_str(&format!("{} | skipped: {}\n", skip.id, skip.because));
    }
    for id in &all.uncovered {
        out.push_str(&format!("{id} | uncovered\n"));
    }
    out
}

#[test]
fn the_cells_of_the_sample() {
    let family = family(include_str!("row-diff.toml"));
    assert_eq!(family.name, "question/row-diff");
    let all = listed(&family);
    assert_eq!(all.lines().count(), 2 * 7 * 3);
    let few: Vec<&str> = all.lines().filter(|l| l.contains("::null::") && !l.contains("watcher")).collect();
    expect![[r#"
        question/row-diff::none::null::1 | rule 0: Hung("question")
        question/row-diff::idle@f54b32f::null::1 | rule 2: Stopped("idle")
        question/row-diff::auto-answer@r1::null::1 | rule 1: Completed
        question/row-diff::auto-answer@r2::null::1 | rule 4: AsNone
        question/row-diff::blind-timeout::null::1 | rule 3: Completed
        question/row-diff::none::null::1::control | rule -: Completed
        question/row-diff::idle@f54b32f::null::1::control | rule -: Completed
        question/row-diff::auto-answer@r1::null::1::control | rule -: Completed
        question/row-diff::auto-answer@r2::null::1::control | rule -: Completed
        question/row-diff::blind-timeout::null::1::control | rule -: Completed"#]]
    .assert_eq(&few.join("\n"));
}

const FAMILY: &str = r#"
title = "T"
mechanism = "Q1"
agent = { pawwork = {} }
terminals = ["null"]
seeds = [1, 2]
turns = [{ ask = [{ question = "Q" }] }, { say = "x" }]
skip = [{ strategies = ["watcher"], because = "it has no seat here" }]

[control]
people = [{ via = "http", does = { answer = ["A"] } }]

[[vary]]
name = "at-the-limit"
set = { "turns.2" = { think = "5s" }, "env.CI" = "1", seeds = [7] }
control = { turns = [] }
expect = [{ strategies = ["none"], outcome = "failed" }]

[[vary]]
name = "file"

[[expect]]
strategies = ["none"]
outcome = { hung = "question" }

[[expect]]
strategies = ["idle@f54b32f(timeout=5s)+blind-timeout"]
outcome = { stopped = "idle" }

[[expect]]
arm = "control"
strategies = ["auto-answer@r1"]
outcome = "completed"
breaks = ["double-or-invented-reply"]

[[expect]]
strategies = ["blind-timeout"]
seeds = [2]
outcome = "failed"

[[expect]]
outcome = "as none"
"#;

#[test]
fn a_family_has_its_variants_as_cells() {
    let family = family(FAMILY);
    let problems = check(&load("x.toml", FAMILY.as_bytes()), &Sample);
    assert_eq!(problems.render(Style::Plain), "");
    let variant = &family.variants[0];
    assert_eq!(variant.scenario.turns.len(), 3);
    assert_eq!(variant.scenario.env.get("CI").map(String::as_str), Some("1"));
    assert_eq!(variant.own_rules, 1);
    assert_eq!(variant.scenario.expect.len(), 6);
    assert_eq!(variant.control.as_ref().map(|c| (c.turns.len(), c.people.len())), Some((0, 0)));
    assert_eq!(family.variants[1].control.as_ref().map(|c| (c.turns.len(), c.people.len())), Some((2, 1)));
    assert_eq!(family.source.line(variant.span_of("env.CI").start), 15);
    let all = listed(&family);
    let few: Vec<&str> = all
        .lines()
        .filter(|l| l.contains("none::") || l.contains("blind") || l.contains("idle") || l.contains("r1"))
        .collect();
    expect![[r#"
        question/row-diff[at-the-limit]::none::null::7 | rule 0: Failed
        question/row-diff[at-the-limit]::idle@f54b32f::null::7 | rule 5: AsNone
        question/row-diff[at-the-limit]::auto-answer@r1::null::7 | rule 5: AsNone
        question/row-diff[at-the-limit]::blind-timeout::null::7 | rule 5: AsNone
        question/row-diff[at-the-limit]::idle@f54b32f(timeout=5s)+blind-timeout::null::7 | rule 2: Stopped("idle")
        question/row-diff[at-the-limit]::none::null::7::control | rule -: Completed
        question/row-diff[at-the-limit]::idle@f54b32f::null::7::control | rule -: Completed
        question/row-diff[at-the-limit]::auto-answer@r1::null::7::control | rule 3: Completed
        question/row-diff[at-the-limit]::blind-timeout::null::7::control | rule -: Completed
        question/row-diff[at-the-limit]::idle@f54b32f(timeout=5s)+blind-timeout::null::7::control | rule -: Completed
        question/row-diff[file]::none::null::1 | rule 0: Hung("question")
        question/row-diff[file]::none::null::2 | rule 0: Hung("question")
        question/row-diff[file]::idle@f54b32f::null::1 | rule 4: AsNone
        question/row-diff[file]::idle@f54b32f::null::2 | rule 4: AsNone
        question/row-diff[file]::auto-answer@r1::null::1 | rule 4: AsNone
        question/row-diff[file]::auto-answer@r1::null::2 | rule 4: AsNone
        question/row-diff[file]::blind-timeout::null::1 | rule 4: AsNone
        question/row-diff[file]::blind-timeout::null::2 | rule 3: Failed
        question/row-diff[file]::idle@f54b32f(timeout=5s)+blind-timeout::null::1 | rule 1: Stopped("idle")
        question/row-diff[file]::idle@f54b32f(timeout=5s)+blind-timeout::null::2 | rule 1: Stopped("idle")
        question/row-diff[file]::none::null::1::control | rule -: Completed
        question/row-diff[file]::none::null::2::control | rule -: Completed
        question/row-diff[file]::idle@f54b32f::null::1::control | rule -: Completed
        question/row-diff[file]::idle@f54b32f::null::2::control | rule -: Completed
        question/row-diff[file]::auto-answer@r1::null::1::control | rule 2: Completed
        question/row-diff[file]::auto-answer@r1::null::2::control | rule 2: Completed
        question/row-diff[file]::blind-timeout::null::1::control | rule -: Completed
        question/row-diff[file]::blind-timeout::null::2::control | rule -: Completed
        question/row-diff[file]::idle@f54b32f(timeout=5s)+blind-timeout::null::1::control | rule -: Completed
        question/row-diff[file]::idle@f54b32f(timeout=5s)+blind-timeout::null::2::control | rule -: Completed"#]]
    .assert_eq(&few.join("\n"));
    assert_eq!(all.lines().filter(|l| l.contains("skipped: it has no seat here")).count(), 2 * 2 + 2 * 2 * 2);
}

#[test]
fn a_cell_name_reads_back() {
    for family in [family(include_str!("row-diff.toml")), family(FAMILY)] {
        for cell in cells(&family, &Sample).cells {
            assert_eq!(cell.id.to_string().parse::<CellId>().as_ref(), Ok(&cell.id));
        }
    }
    let text =
        "question/row-diff[ALTIMATE_X=1]::auto-answer@r1(at=ask)+watcher@pr5::ctty-null::18446744073709551615::control";
    assert_eq!(text.parse::<CellId>().map(|id| id.to_string()).as_deref(), Ok(text));
    for (text, why) in [
        ("", "a cell is"),
        ("a::none::null", "a cell is"),
        ("a::none::null::1::control::x", "a cell is"),
        ("a::none::nul::1", "no terminal is called `nul`"),
        ("a::none::null::-1", "`-1` is no seed"),
        ("a::none::null::1::main", "a cell is"),
    ] {
        let error = text.parse::<CellId>().expect_err(text).to_string();
        assert!(error.starts_with(why), "{text}: {error}");
    }
}

#[test]
fn a_file_is_written_as_a_person_would() {
    let family = family(include_str!("row-diff.toml"));
    let variant = &family.variants[0];
    expect![[r#"
        title = "Asks to run a row-level diff, and nobody is there"
        mechanism = "Q1"
        cites = ["AltimateAI/altimate-code#936"]
        agent = { opencode = { as = "1.2.15" } }
        terminals = ["tty", "null", "closed"]
        turns = [
          { say = "Found PII columns in DimCustomer and DimEmployee." },
          { ask = [
            {
              question = "May I run row-level hashdiff comparisons?",
              options = [{ label = "Approve row diff" }, { label = "Profile only" }],
            },
          ] },
          { say = "Done: {answer}." },
        ]

        [control]
        people = [{ via = "http", sees = "events", after = "2s", does = { answer = ["Profile only"] } }]

        [[expect]]
        strategies = ["none"]
        outcome = { hung = "question" }

        [[expect]]
        strategies = ["auto-answer@r1"]
        terminals = ["null", "closed"]
        outcome = "completed"
        within = "1s"
        policy = { detected = "no-tty", answered = [["Profile only"]], rule = "keyword: profile only" }

        [[expect]]
        strategies = ["idle@f54b32f"]
        outcome = { stopped = "idle" }
        within = "601s"

        [[expect]]
        strategies = ["blind-timeout"]
        outcome = "completed"
        breaks = ["rejected-without-cause"]

        [[expect]]
        outcome = "as none"
    "#]]
    .assert_eq(&to_toml(&variant.scenario, variant.control.as_ref()));
}

#[test]
fn the_schema_knows_every_table_of_a_file() {
    let schema = schema();
    let keys = |at: &serde_json::Value| -> Vec<String> {
        at["properties"].as_object().map(|p| p.keys().cloned().collect()).unwrap_or_default()
    };
    let root = keys(&schema);
    for key in ["title", "turns", "expect", "control", "vary"] {
        assert!(root.contains(&key.to_owned()), "{key}");
    }
    assert_eq!(keys(&schema["$defs"]["Vary"]), ["name", "set", "control", "expect"]);
    assert_eq!(keys(&schema["$defs"]["Control"]).len(), rehang_scenario::schema::CONTROL_KEYS.len() + 1);
    // Each reference leads somewhere.
    let text = schema.to_string();
    for name in text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(schema["$defs"][name].is_object(), "{name}");
    }
}
