//! A control arm shows what a hang hangs on only if it differs from its scenario in one thing.
//!
//! Invariant: each control arm changes one thing: one value or one step of what the model or the program does, or one other
//! key of the file, such as `people` or `faults`; and no arm takes a turn away, which would only show that without a
//! question nobody waits for an answer. The exceptions are listed here, each with the reason why no smaller change ends the
//! hang; one that is no longer needed fails. Arms that real releases alone play are among them.

use rehang_runner::select::Selection;
use rehang_scenario::{Scenario, Stage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The keys that say nothing of what happens.
const TOLD: [&str; 8] = ["title", "about", "mechanism", "cites", "expect", "skip", "seeds", "stages"];

/// The files with a larger control arm, and why.
const LARGER: [(&str, &str); 14] = [
    ("altimate/answers", ONE_SHOT),
    ("altimate/nested-agent", ONE_SHOT),
    ("altimate/run-env", ONE_SHOT),
    ("altimate/serve-env", "three of its variants are one-shot runs, and the others are compared with them"),
    ("companion/masked-by-a-sibling", "what masks the hang also makes the healthy run longer than every limit"),
    ("lifecycle/parent-gone", "an agent that waits for nothing ends neither with its parent nor without it"),
    (
        "pawwork/blocker-list",
        "the one list in which the question is has no version of the app that shows it to a person",
    ),
    ("pawwork/navigation", "the event must come, and somebody must answer what it tells"),
    ("question/row-diff", "a run that does not listen cannot be answered: it must listen, and somebody must answer"),
    ("upstream/mcp-call-limit-of-its-own", ANSWERS),
    ("upstream/mcp-call-never-returns", ANSWERS),
    ("upstream/question", ONE_SHOT),
    ("upstream/tool-server-mute-at-call", ANSWERS),
    ("upstream/two-asks", ONE_SHOT),
];

const ANSWERS: &str = "the arm in which its tool server answers has not been run on a release yet";
const ONE_SHOT: &str = "a one-shot run, which nobody can reach: it ends only if nothing is asked";

/// What differs, by path: each value, and each element that only one of two lists has.
fn differences(path: &str, main: &Value, control: &Value) -> Vec<String> {
    match (main, control) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            // what becomes of a process's streams is one redirection: `>/dev/null 2>&1`, `stdio: "ignore"`
            let name =
                |key: &str| if ["stderr", "piped"].contains(&key) { "stdout".to_owned() } else { key.to_owned() };
            let each = a.iter().flat_map(|(key, value)| differences(&format!("{path}.{}", name(key)), value, &b[key]));
            each.collect::<BTreeSet<String>>().into_iter().collect()
        }
        (Value::Array(a), Value::Array(b)) => of_lists(path, a, b),
        _ if main == control => Vec::new(),
        _ => vec![path.to_owned()],
    }
}

/// The fewest differences between two lists, of all ways to pair their elements in order.
fn of_lists(path: &str, main: &[Value], control: &[Value]) -> Vec<String> {
    let one = |list: &[Value], at: usize, word: &str| match list.get(at) {
        Some(_) => vec![format!("{path}.{at} {word}")],
        None => Vec::new(),
    };
    // the row for none of `main`, then one for each more of it
    let mut row: Vec<Vec<String>> = vec![Vec::new()];
    for at in 0..control.len() {
        row.push([row[at].clone(), one(control, at, "is new")].concat());
    }
    for (x, a) in main.iter().enumerate() {
        let mut next = vec![[row[0].clone(), one(main, x, "is gone")].concat()];
        for (y, b) in control.iter().enumerate() {
            let pair = [row[y].clone(), differences(&format!("{path}.{x}"), a, b)].concat();
            let gone = [row[y + 1].clone(), one(main, x, "is gone")].concat();
            let new = [next[y].clone(), one(control, y, "is new")].concat();
            next.push([pair, gone, new].into_iter().min_by_key(Vec::len).unwrap_or_default());
        }
        row = next;
    }
    row.pop().unwrap_or_default()
}

/// What differs between a scenario and its control arm: in detail where the model or the program acts, else by key.
fn changes(main: &Scenario, control: &Scenario) -> Vec<String> {
    let world = |scenario: &Scenario| match serde_json::to_value(scenario) {
        Ok(Value::Object(keys)) => keys,
        _ => panic!("a scenario is a table"),
    };
    let (main, control) = (world(main), world(control));
    let keys: BTreeSet<&String> =
        main.keys().chain(control.keys()).filter(|key| !TOLD.contains(&key.as_str())).collect();
    let of_key = |key: &String| match (main.get(key), control.get(key)) {
        (Some(a), Some(b)) if ["agent", "turns"].contains(&key.as_str()) => differences(key, a, b),
        (a, b) if a == b => Vec::new(),
        _ => vec![key.clone()],
    };
    keys.into_iter().flat_map(of_key).collect()
}

/// Whether an arm takes a turn away.
fn takes_a_turn(path: &str) -> bool {
    let mut parts = path.trim_end_matches(" is gone").rsplit('.');
    path.ends_with(" is gone") && parts.nth(1) == Some("turns")
}

#[test]
fn each_control_arm_changes_one_thing() {
    let stages = [Stage::Sim, Stage::Lockstep, Stage::Live];
    let selected = Selection::default().select(&stages).expect("the scenarios can be read");
    let mut larger: BTreeMap<String, String> = BTreeMap::new();
    let mut arms = 0;
    for unit in &selected.units {
        let Some(control) = &unit.control else { continue };
        arms += 1;
        let found = changes(&unit.main, control);
        assert!(!found.is_empty(), "{}: the control arm changes nothing", unit.name);
        if found.len() > 1 || found.iter().any(|path| takes_a_turn(path)) {
            let file = unit.name.split('[').next().unwrap_or_default();
            larger.insert(file.to_owned(), format!("{}: {}", unit.name, found.join(", ")));
        }
    }
    assert!(arms > 300, "{arms} control arms are too few to tell");
    for (file, found) in &larger {
        assert!(LARGER.iter().any(|(known, _)| known == file), "{found}: the change is larger than needed");
    }
    for (known, why) in LARGER {
        assert!(larger.contains_key(known), "{known} is an exception no more ({why})");
    }
}

#[test]
fn one_change_is_one_and_a_turn_that_is_gone_is_seen() {
    let of = |main: Value, control: Value| differences("turns", &main, &control);
    let (ask, say) = (json!({ "ask": "which?" }), json!({ "say": "done" }));
    assert_eq!(of(json!([ask, say]), json!([ask, say])), [""; 0]);
    assert_eq!(of(json!([ask, say]), json!([ask, { "say": "other" }])), ["turns.1.say"]);
    assert_eq!(of(json!([ask, say]), json!([say])), ["turns.0 is gone"]);
    assert_eq!(of(json!([ask, say]), json!([ask, ask, say])).len(), 1);
    assert_eq!(of(json!([ask, say]), json!([{ "say": "other" }])).len(), 2);
    assert!(takes_a_turn("turns.0 is gone") && takes_a_turn("turns.0.bash.does.1.agent.turns.0 is gone"));
    assert!(!takes_a_turn("turns.0.bash.does.1 is gone") && !takes_a_turn("turns.0.say"));
}
