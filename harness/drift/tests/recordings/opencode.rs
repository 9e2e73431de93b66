//! The comparison of opencode's exchanges: a planted difference is seen, what an allow-list names is not, and order and
//! count matter.
//!
//! Differences are planted into a recording of 1.18.33, which its fake plays the same.

use rehang_drift::Difference;
use rehang_drift::opencode::Pair;
use rehang_fakes::opencode::engine::Setup;
use rehang_scenario::turns::{Bash, BashTool, Response, Turn};
use rehang_wire::model::{Finish, ModelEvent, ToolCall};
use serde_json::{Value, json};
use std::path::Path;

/// A command that asks, and is allowed once.
const FILE: &str = "opencode-1.18.33/03_bash_perm_once.jsonl";

fn recording() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fake-agents/tests/golden").join(FILE);
    let text = std::fs::read_to_string(path).expect("the recording is there");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn held(lines: &[Value]) -> Vec<Difference> {
    let bash = Bash {
        command: "echo BASH_RAN; pwd".to_owned(),
        asks: Some("bash".to_owned()),
        does: Vec::new(),
        timeout: None,
        tool: BashTool::default(),
    };
    let turns = vec![Turn::Bash(bash), Turn::Say(String::new())];
    let mut pair =
        Pair::new("1.18.33", Setup { turns, question_registered: true, ..Setup::default() }).expect("played");
    let call =
        recording().iter().find_map(|line| line["ev"]["properties"]["part"]["callID"].as_str().map(str::to_owned));
    let input = json!({ "command": "echo BASH_RAN; pwd", "description": "Echo marker" });
    let call = ToolCall { id: call.expect("a call is recorded"), name: "bash".to_owned(), input };
    let mut said = vec![
        vec![ModelEvent::Start, ModelEvent::ToolCall(call), ModelEvent::Finish(Finish::ToolCalls)],
        ["done ", "after ", "bash "].map(|word| ModelEvent::TextDelta(word.to_owned())).into_iter().collect(),
    ];
    said[1].insert(0, ModelEvent::Start);
    said[1].push(ModelEvent::Finish(Finish::Stop));
    let mut said = said.into_iter();
    pair.play("it", lines, &mut |_: &str, _: &Response, _: &str| said.next().unwrap_or_default()).differences
}

fn is_event(line: &Value) -> bool {
    line["kind"] == "sse:event"
}

fn kind(line: &Value) -> &str {
    line["ev"]["type"].as_str().unwrap_or_default()
}

/// The events of the turn itself: what is of the background has lanes of its own.
fn of_turn(lines: &[Value]) -> Vec<usize> {
    let turn = |line: &Value| {
        let other = ["session.updated", "session.created", "session.diff", "server.connected", "server.heartbeat"];
        is_event(line) && !other.contains(&kind(line)) && line["ev"]["properties"]["info"]["summary"].is_null()
    };
    (0..lines.len()).filter(|&at| turn(&lines[at])).collect()
}

#[test]
fn the_recording_is_played_the_same() {
    assert_eq!(held(&recording()), []);
}

#[test]
fn a_planted_difference_is_seen() {
    type Plant = fn(&mut Value);
    type Which = fn(&Value) -> bool;
    let plants: &[(&str, Which, Plant)] = &[
        ("a delta", |l| kind(l) == "message.part.delta", |l| l["ev"]["properties"]["delta"] = json!("other")),
        ("a status", |l| kind(l) == "session.status", |l| l["ev"]["properties"]["status"] = json!({"type": "idle"})),
        ("a key more", |l| kind(l) == "permission.asked", |l| l["ev"]["properties"]["more"] = json!(1)),
        ("an event's type", |l| kind(l) == "permission.replied", |l| l["ev"]["type"] = json!("permission.lost")),
        ("a response's status", |l| l["kind"] == "rest" && l["status"] == 200, |l| l["status"] = json!(404)),
        ("a response", |l| l["response"] == true, |l| l["response"] = json!(false)),
        ("the background", |l| kind(l) == "session.diff", |l| l["ev"]["properties"]["diff"] = json!([1])),
    ];
    for (what, which, plant) in plants {
        let mut lines = recording();
        let line = lines.iter_mut().find(|line| which(line)).unwrap_or_else(|| panic!("there is {what}"));
        plant(line);
        assert_ne!(held(&lines), [], "{what}");
    }
}

#[test]
fn order_and_count_matter() {
    let lines = recording();
    let turn = of_turn(&lines);
    assert!(turn.len() > 15, "{} events", turn.len());
    for &at in &turn {
        // The number of pieces of a command's output depends on the recorded surroundings, in which the fake runs.
        if !lines[at]["ev"]["properties"]["part"]["state"]["metadata"]["output"].is_null() {
            continue;
        }
        let mut less = lines.clone();
        less.remove(at);
        assert_ne!(held(&less), [], "without line {at}, {}", lines[at]);
        let mut twice = lines.clone();
        twice.insert(at, lines[at].clone());
        assert_ne!(held(&twice), [], "line {at} twice, {}", lines[at]);
    }
    let mut swaps = 0;
    for pair in turn.windows(2).filter(|pair| kind(&lines[pair[0]]) != kind(&lines[pair[1]])) {
        let kinds = [kind(&lines[pair[0]]), kind(&lines[pair[1]])];
        if kinds.contains(&"permission.asked") {
            continue;
        }
        swaps += 1;
        let mut swapped = lines.clone();
        swapped.swap(pair[0], pair[1]);
        assert_ne!(held(&swapped), [], "{kinds:?} swapped");
    }
    assert!(swaps > 4, "{swaps} swaps");
}

#[test]
fn what_an_allow_list_names_is_not_seen() {
    let added = |event: Value| {
        let mut lines = recording();
        let at = of_turn(&lines)[5];
        lines.insert(at, json!({"t": 1.0, "kind": "sse:event", "ev": event}));
        held(&lines)
    };
    assert_eq!(added(json!({"id": "evt_1", "type": "server.heartbeat", "properties": {}})), []);
    assert_eq!(added(json!({"id": "evt_1", "type": "reference.updated", "properties": {}})), []);
    let stranger = json!({"sessionID": "ses_of_another_recording", "status": {"type": "busy"}});
    assert_eq!(added(json!({"id": "evt_1", "type": "session.status", "properties": stranger})), []);
    assert_ne!(added(json!({"id": "evt_1", "type": "server.other", "properties": {}})), []);

    // The ask and the part that says `running` are published by two fibers.
    let lines = recording();
    let asked = lines.iter().position(|line| kind(line) == "permission.asked").expect("it is asked");
    let beside =
        if lines[asked + 1]["ev"]["properties"]["part"]["state"]["status"] == "running" { asked } else { asked - 1 };
    let mut swapped = lines.clone();
    swapped.swap(beside, beside + 1);
    assert_eq!(held(&swapped), []);

    // The summary of a session's diffs is made in the background.
    let diff = lines.iter().position(|line| kind(line) == "session.diff").expect("a diff is told of");
    let mut later = lines.clone();
    let moved = later.remove(diff);
    later.insert(*of_turn(&lines).last().expect("there is a turn") - 1, moved);
    assert_eq!(held(&later), []);
}

#[test]
fn ids_may_be_others_but_stay_apart() {
    let text: Vec<String> = recording().iter().map(Value::to_string).collect();
    let ids: Vec<&str> = text.iter().flat_map(|line| line.split('"')).filter(|word| word.starts_with("prt_")).collect();
    let (first, other) = (ids[0], ids.iter().find(|id| **id != ids[0]).expect("there are two parts"));
    let renamed = |to: &str| -> Vec<Difference> {
        let lines: Vec<Value> =
            text.iter().map(|line| serde_json::from_str(&line.replace(first, to)).expect("it stays JSON")).collect();
        held(&lines)
    };
    assert_eq!(renamed("prt_of_another_name"), []);
    assert_ne!(renamed(other), []);
}
