//! `--orders`, and orders as a person writes them: both stages obey them, and one that does not fit is an error.
//!
//! Invariant: an order that `rehang run --orders` prints is played the same way on both stages.

use std::process::{Command, Output, Stdio};

/// Cells under orders: the first two decide something, the third changes what nobody sees.
const ORDERED: [&str; 3] = [
    "question/late-reply[blind-timeout-at]::blind-timeout::null::1/16=2",
    "question/late-reply[pending-ask-at]::pending-ask::null::1/28=3",
    "question/claude-two-at-once::none::pipe::1/1=4,5=2",
];

fn rehang(args: &[&str]) -> Output {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.current_dir(root).args(args).env("NO_COLOR", "1").stdin(Stdio::null());
    command.output().expect("rehang starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_order_gives_the_same_trace_on_both_stages() {
    for cell in ORDERED {
        let hashes = |cell: &str, stage: &str| -> Vec<String> {
            let out = rehang(&["run", "--stage", stage, "--format", "json", "--exact", cell]);
            let rows = text(&out.stdout);
            let rows = rows.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            let cells = rows.filter(|row| row.get("strategy").is_some());
            cells.filter_map(|row| row["trace_sha256"].as_str().map(str::to_owned)).collect()
        };
        let both = hashes(cell, "both");
        assert_eq!(both.len(), 2, "{cell}");
        assert_eq!(both[0], both[1], "{cell}");
        let plain = cell.split_once("1/").map_or(cell, |(name, _)| name).to_owned() + "1";
        let is_seen = cell != ORDERED[2];
        assert_eq!(hashes(&plain, "sim") != [both[0].clone()], is_seen, "{cell}");
    }
}

#[test]
fn a_trace_of_an_order_is_replayed() {
    let cell = ORDERED[0];
    let trace = rehang(&["show", "--stage", "sim", "--trace", "--exact", cell]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.ndjson");
    std::fs::write(&file, &trace.stdout).expect("a file");
    let again = rehang(&["show", "--replay", &file.to_string_lossy()]);
    assert!(text(&again.stdout).starts_with(&format!("{cell}: the same, ")), "{}", text(&again.stdout));
}

#[test]
fn an_order_that_does_not_fit_is_a_mistake_of_the_command_line() {
    let name = "question/late-reply[blind-timeout-at]::blind-timeout::null";
    for (order, why) in [
        ("1/1=40", "the order picks candidate 40 at tie 1, which has "),
        ("1/5000=2", "the order picks at tie 5000, and the run has "),
        ("1/5", "`5` is no choice: give TIE=PICK"),
        ("1/5=1", "the first candidate is the one that runs without a choice"),
        ("1/5=2,4=2", "its tie is not after the one before it"),
    ] {
        let out = rehang(&["show", "--stage", "sim", &format!("{name}::{order}")]);
        assert_eq!(out.status.code(), Some(2), "{order}");
        assert!(text(&out.stderr).contains(why), "{order}: {}", text(&out.stderr));
    }
    let out = rehang(&["run", "--stage", "sim", "--seed", "1/x=2", "question/late-reply"]);
    assert!(out.status.code() == Some(2) && text(&out.stderr).contains("`x=2` is no choice"), "{}", text(&out.stderr));
}

#[test]
fn what_depends_on_the_order_is_printed_with_its_choices() {
    let cell = "question/late-reply[blind-timeout-at]::blind-timeout::null";
    let out = rehang(&["run", "--orders", cell]);
    assert_eq!(out.status.code(), Some(0), "the file expects both: {}", text(&out.stderr));
    let said = text(&out.stdout);
    assert!(said.contains("depends on the order (") && said.contains(", as the file expects"), "{said}");
    assert!(said.contains("(person1 before agent at 10m)"), "{said}");
    let rows = text(&rehang(&["explore", "--json", "--orders", cell]).stdout);
    let row: serde_json::Value = rows.lines().next().and_then(|line| serde_json::from_str(line).ok()).expect("a row");
    let order = row["found"][1]["order"].as_str().expect("an order");
    assert!(said.contains(&format!("::null::{order}'")), "{said}\n{order}");
}

#[test]
fn what_comes_in_some_order_is_found_or_missed() {
    let file = |outcome: &str| {
        format!(
            r#"
title = "A person answers at the moment at which a strategy gives up"
mechanism = "F4"
agent = {{ opencode = {{ as = "1.2.15", mode = "serve" }} }}
terminals = ["null"]
turns = [
  {{ ask = [{{ question = "Which?", options = [{{ label = "a" }}, {{ label = "b" }}] }}] }},
  {{ say = "Done." }},
]
people = [{{ via = "http", after = "10m", does = {{ answer = ["a"] }} }}]
[[expect]]
strategies = ["blind-timeout"]
orders = ["some"]
outcome = {outcome}
[[expect]]
strategies = ["blind-timeout"]
outcome = "completed"
breaks = ["rejected-without-cause", "harm", "attributed-to-user"]
[[expect]]
outcome = "completed"
"#
        )
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("race.toml");
    let unsaid = ["and the file does not say so", "A file says so by a rule with an order from above, or with"];
    let missed = "stopped by idle: no order has it; narrow the rule";
    for (outcome, code, said) in [
        ("\"completed\"", 0, vec![", as the file expects"]),
        ("{ stopped = \"idle\" }", 1, [&unsaid[..], &[missed]].concat()),
    ] {
        std::fs::write(&path, file(outcome)).expect("a file");
        let out = rehang(&["run", "--orders", "--strategy", "blind-timeout", &path.to_string_lossy()]);
        assert_eq!(out.status.code(), Some(code), "{outcome}: {}", text(&out.stdout));
        for said in said {
            assert!(text(&out.stdout).contains(said), "{outcome}: {}", text(&out.stdout));
        }
    }
}

#[test]
fn a_hang_is_shown_with_the_moment_from_which_it_is_inevitable() {
    let out = rehang(&["show", "--orders", "--stage", "sim", "--exact", "question/claude-two-at-once::none::pipe::1"]);
    let said = text(&out.stdout);
    assert!(said.contains("──── every order hangs"), "{said}");
    assert!(said.contains("independent of order: "), "{said}");
}
