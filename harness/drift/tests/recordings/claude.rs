//! The comparison of Claude Code's exchanges: a planted difference is seen, what an allow-list names is not, and order and
//! count matter.
//!
//! The recording is the fake's own, so that nothing differs but what a test plants.

use rehang_drift::claude::{LEFT_OUT, ORDERED_BY_MODEL, VARYING, normal};
use rehang_drift::session::{Session, Setup};
use rehang_drift::streams::{Ends, Line, compare};
use rehang_drift::{Compared, Difference};
use rehang_scenario::Terminal;
use rehang_scenario::turns::{Bash, BashTool, Choice, Question, Step, Turn};
use rehang_wire::claude;
use serde_json::{Map, Value, json};

const HOST: &str = "-p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio";

fn setup() -> Setup {
    let choice = |label: &str| Choice { label: label.to_owned(), description: String::new() };
    let options = vec![choice("Red"), choice("Blue")];
    let question =
        Question { question: "Which?".to_owned(), header: "Q".to_owned(), options, multiple: false, custom: None };
    let bash = Bash {
        command: "make".to_owned(),
        asks: Some("bash".to_owned()),
        does: vec![Step::Print("made".to_owned())],
        timeout: None,
        tool: BashTool::default(),
    };
    let turns = vec![Turn::Ask(vec![question]), Turn::Bash(bash), Turn::Say("Done.".to_owned())];
    Setup::new("2.1.329", HOST, turns, Terminal::Pipe)
}

/// A question that is answered, a command that is denied.
fn recording() -> Vec<Line> {
    let mut session = setup().run();
    let mut lines = Vec::new();
    let mut sends = |session: &mut Session, message: Value| {
        lines.push(Line { sent: true, message: message.clone() });
        let before = session.messages().len();
        if message == "<close>" {
            session.close()
        } else {
            session.send(&message)
        }
        lines.extend(session.messages().drain(before..).map(|message| Line { sent: false, message }));
    };
    let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook"]}]});
    for request in [json!({"subtype": "initialize", "hooks": hooks}), json!({"subtype": "get_context_usage"})] {
        sends(&mut session, json!({"type": "control_request", "request_id": "host", "request": request}));
    }
    sends(&mut session, claude::user("go"));
    let asked = session.asked();
    sends(&mut session, claude::answer(&asked, &json!({}), &[("Which?".to_owned(), "Red".to_owned())]));
    let asked = session.asked();
    let nothing = json!({"subtype": "success", "request_id": asked, "response": {}});
    sends(&mut session, json!({"type": "control_response", "response": nothing}));
    let asked = session.asked();
    sends(&mut session, claude::deny(&asked, "no"));
    sends(&mut session, json!("<close>"));
    lines
}

fn held(lines: &[Line]) -> Compared {
    compare(setup(), lines, None, &Ends::Exit(0))
}

/// The places in the recording where the release spoke.
fn said(lines: &[Line]) -> Vec<usize> {
    (0..lines.len()).filter(|&at| !lines[at].sent).collect()
}

fn first_of(lines: &[Line], kind: &str) -> usize {
    lines.iter().position(|line| !line.sent && line.message["type"] == kind).expect("it is recorded")
}

#[test]
fn the_fakes_own_recording_is_the_same() {
    let lines = recording();
    let compared = held(&lines);
    assert_eq!(compared.differences, []);
    assert_eq!((compared.events, said(&lines).len()), (12, 12));
}

#[test]
fn a_planted_difference_is_seen_at_its_place() {
    type Plant = fn(&mut Value);
    let plants: &[(&str, &str, Plant)] = &[
        ("a text", "assistant", |m| m["message"]["content"][0]["name"] = json!("Other")),
        ("a key more", "user", |m| m["more"] = json!(1)),
        ("a key less", "control_request", |m| {
            m["request"].as_object_mut().expect("it has one").remove("tool_name");
        }),
        ("another kind of value", "result", |m| m["num_turns"] = json!("3")),
        ("null for nothing", "system", |m| m["plugins"] = Value::Null),
        ("another order of keys", "result", |m| *m = reversed(m)),
    ];
    for (what, kind, plant) in plants {
        let mut lines = recording();
        let at = first_of(&lines, kind);
        plant(&mut lines[at].message);
        let nth = said(&lines).iter().position(|&said| said == at).expect("the release said it") + 1;
        let seen: Vec<String> = held(&lines).differences.into_iter().map(|Difference { at, .. }| at).collect();
        assert_eq!(seen, [format!("lines, at {nth}")], "{what}");
    }
}

#[test]
fn order_and_count_matter() {
    let lines = recording();
    let said = said(&lines);
    for &at in &said {
        let mut less = lines.clone();
        less.remove(at);
        assert_ne!(held(&less).differences, [], "without line {at}");
        let mut twice = lines.clone();
        twice.insert(at, lines[at].clone());
        assert_ne!(held(&twice).differences, [], "line {at} twice");
    }
    for pair in said.windows(2).filter(|pair| pair[0] + 1 == pair[1]) {
        let mut swapped = lines.clone();
        swapped.swap(pair[0], pair[1]);
        assert_ne!(held(&swapped).differences, [], "lines {pair:?} swapped");
    }
}

#[test]
fn ids_may_be_others_but_stay_apart() {
    let renamed = |from: &str, to: &str| {
        let mut lines = recording();
        for line in &mut lines {
            line.message = serde_json::from_str(&line.message.to_string().replace(from, to)).expect("it stays JSON");
        }
        held(&lines).differences
    };
    assert_eq!(renamed("00000000-0000-4000-8000", "11111111-0000-4000-8000"), []);
    assert_ne!(renamed("00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000001"), []);
}

#[test]
fn the_end_is_compared() {
    let lines = recording();
    for ends in [Ends::Exit(1), Ends::Hangs("permission".to_owned())] {
        let differences = compare(setup(), &lines, None, &ends).differences;
        assert_eq!(differences.len(), 1, "{ends:?}: {differences:?}");
        assert_eq!(differences[0].at, "its end");
    }
    // A fake that ends where the release waits for ever is wrong too.
    let asked = 1 + first_of(&lines, "control_request");
    assert_eq!(compare(setup(), &lines[..asked], None, &Ends::Hangs("question".to_owned())).differences, []);
    assert_ne!(compare(setup(), &lines[..asked], None, &Ends::Exit(0)).differences, []);
}

#[test]
fn a_host_that_acts_before_the_fake_has_spoken_is_a_difference() {
    let mut lines = recording();
    let at = first_of(&lines, "control_request");
    lines.insert(at, lines[at].clone());
    let differences = held(&lines).differences;
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].at, "messages before the host's next");
}

// --- the allow-lists ---

#[test]
fn what_is_left_out_may_be_there_and_nothing_else_may() {
    for (pattern, why) in LEFT_OUT {
        assert!(!why.is_empty());
        let (planted, differences) = planted(pattern, "anything");
        assert!(differences.is_empty(), "{pattern}: {planted} times, {differences:?}");
        // a message that is not in the recording
        if planted == 0 {
            assert_eq!(normal(&[built(pattern, true)]), normal(&[built(pattern, false)]), "{pattern}");
        }
    }
    for pattern in ["message.content.*.description", "request.summary", "permission_denials.*.description"] {
        let (planted, differences) = planted(pattern, "anything");
        assert!(planted > 0 && !differences.is_empty(), "{pattern}: {planted} times");
    }
}

#[test]
fn what_varies_may_have_any_value_but_must_be_there() {
    let has = |key: &str| -> Vec<usize> {
        let lines = recording();
        (0..lines.len()).filter(|&at| !lines[at].sent && lines[at].message.get(key).is_some()).collect()
    };
    let mut tried = 0;
    for key in VARYING {
        for at in has(key) {
            tried += 1;
            let mut other = recording();
            other[at].message[*key] = json!({"any": "thing"});
            assert_eq!(held(&other).differences, [], "{key}");
            let mut gone = recording();
            gone[at].message.as_object_mut().expect("a message").remove(*key);
            assert_ne!(held(&gone).differences, [], "{key} gone");
        }
    }
    assert!(tried > 10, "{tried} places");
}

#[test]
fn the_models_order_of_keys_is_not_compared() {
    for pattern in ORDERED_BY_MODEL {
        let mut lines = recording();
        let mut reordered = 0;
        for at in said(&lines) {
            reordered += each(&mut lines[at].message, &pattern.split('.').collect::<Vec<_>>(), &mut |value| {
                *value = reversed(value);
            });
        }
        assert!(reordered > 0, "{pattern}");
        assert_eq!(held(&lines).differences, [], "{pattern}");
    }
}

/// The recording with this planted wherever the pattern's parent is: how often, and what is seen.
fn planted(pattern: &str, what: &str) -> (usize, Vec<Difference>) {
    let mut lines = recording();
    let mut path: Vec<&str> = pattern.split('.').collect();
    let key = path.pop().unwrap_or_default();
    let mut planted = 0;
    for at in said(&lines) {
        planted += each(&mut lines[at].message, &path, &mut |parent| parent[key] = json!(what));
    }
    (planted, held(&lines).differences)
}

/// A message that has nothing but this path, with or without the key at its end.
fn built(pattern: &str, with_key: bool) -> Value {
    let mut path: Vec<&str> = pattern.split('.').collect();
    let key = path.pop().unwrap_or_default();
    let end = if with_key { json!({ key: "anything" }) } else { json!({}) };
    path.iter().rev().fold(end, |inner, step| if *step == "*" { json!([inner]) } else { json!({ *step: inner }) })
}

/// Does something to every object at a path (`*` is any of a list); how many there were.
fn each(value: &mut Value, path: &[&str], act: &mut dyn FnMut(&mut Value)) -> usize {
    let Some((key, rest)) = path.split_first() else {
        if !value.is_object() {
            return 0;
        }
        act(value);
        return 1;
    };
    match (value, *key) {
        (Value::Array(list), "*") => list.iter_mut().map(|value| each(value, rest, act)).sum(),
        (Value::Object(map), key) => map.get_mut(key).map_or(0, |value| each(value, rest, act)),
        _ => 0,
    }
}

fn reversed(value: &Value) -> Value {
    let map: Map<String, Value> = value.as_object().expect("an object").clone().into_iter().rev().collect();
    Value::Object(map)
}
