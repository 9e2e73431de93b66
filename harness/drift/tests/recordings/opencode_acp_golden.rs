//! `opencode acp`, the fake's against recordings of 1.0.185, 1.2.15, 1.3.2 and 1.18.33.
//!
//! Each file of tests/golden/opencode-acp-VERSION is what an editor wrote to a release (`IN`) and what the release wrote
//! (`OUT`), line by line, while its model said what the test's plan says (`tests/clients/record_acp.py`); `<close>` is the
//! end of stdin. A file without an `EXIT` is of a release that hung. Not compared: instants, but for how long a process lives
//! on after its stdin's end; an update of a call that says what its last one said, which depends on when the release wrote its
//! part; and, in 1.0.185, whether an update overtakes the answer that follows it, which differs between two runs. 1.18.33
//! loads a session beside further requests: its refusal is compared by its id.

use crate::golden::{files, read, stem};
use rehang_drift::session::{Session, Setup};
use rehang_os::os::Exit;
use rehang_scenario::{Agent, Client, Fault, Opencode, OpencodeMode, Terminal, turns::Turn};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const VERSIONS: [&str; 4] = ["1.0.185", "1.2.15", "1.3.2", "1.18.33"];
/// How long a busy release lives on after its streams have closed, in milliseconds: 5.0 s in all recordings.
const LIVES_ON_MS: u64 = 5_000;
/// Up to how long after stdin's end the machine took to close them.
const CLOSES_MS: u64 = 1_700;

#[test]
fn every_recorded_session_is_played_the_same() {
    let (mut wrong, mut played) = (Vec::new(), 0);
    for version in VERSIONS {
        for file in recordings(version) {
            played += 1;
            wrong.extend(differences(version, &file, |_| {}));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(played, 80, "recordings were added or lost");
}

#[test]
fn a_changed_recording_is_noticed() {
    let file = |name: &str| recordings("1.18.33").into_iter().find(|f| f.ends_with(name)).expect("it is there");
    for (name, from, to) in [
        ("bash.jsonl", "\"kind\":\"execute\"", "\"kind\":\"other\""),
        ("bash.jsonl", "\"stopReason\":\"end_turn\"", "\"stopReason\":\"refusal\""),
        ("permission-cancel.jsonl", "\"stopReason\":\"cancelled\"", "\"stopReason\":\"end_turn\""),
        ("permission-always.jsonl", "\"name\":\"Allow once\"", "\"name\":\"Once\""),
        ("modes.jsonl", "config_option_update", "config_update"),
    ] {
        let change = |message: &mut Value| {
            *message = serde_json::from_str(&message.to_string().replace(from, to)).expect("it stays JSON");
        };
        assert!(!differences("1.18.33", &file(name), change).is_empty(), "not noticed in {name}: {from}");
    }
}

/// A client that never answers hangs every release; one that cancels instead, the older three.
#[test]
fn an_ask_that_nobody_answers_hangs_and_cancelling_it_ends_only_the_newest() {
    for version in VERSIONS {
        let hangs = |name: &str| {
            let file = recordings(version).into_iter().find(|f| f.ends_with(name)).expect("it is there");
            !read(&file).iter().any(|line| line.dir == "EXIT")
        };
        assert!(hangs("permission-never.jsonl"), "{version}");
        assert_eq!(hangs("permission-cancel.jsonl"), version != "1.18.33", "{version}");
    }
}

/// What `rehang conform` has measured of the releases, and no recording has.
#[test]
fn what_conform_has_measured_is_played() {
    let new = r#"{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}"#;
    let prompt = |id: u32| {
        let params = json!({"sessionId": "ses_1", "prompt": [{"type": "text", "text": "go"}]});
        json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params}).to_string()
    };
    let cancel = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"ses_1"}}"#;
    let said = |version: &str, pieces: &[&[&str]]| {
        let mut session = setup(version, "permission-never").run();
        for lines in pieces {
            session.write(&(lines.join("\n") + "\n"));
            session.run_out();
        }
        let word = |message: &Value| match message["method"].as_str() {
            Some("session/request_permission") => Some("asks".to_owned()),
            Some(_) => None,
            None => Some(format!("{} {}", message["id"], message["error"]["code"])),
        };
        session.messages().iter().skip(1).filter_map(word).collect::<Vec<_>>()
    };
    let allowed = r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}"#;
    for version in VERSIONS {
        let newest = version == "1.18.33";
        // permission/wrong-shape
        let result = r#"{"jsonrpc":"2.0","id":0,"result":{}}"#;
        assert_eq!(said(version, &[&[new, &prompt(1)], &[result]]), ["asks"], "{version}");
        // cancel/at-once
        let at_once = said(version, &[&[new, &prompt(1), cancel]]);
        assert_eq!(at_once, [if newest { "1 -32603" } else { "asks" }], "{version}");
        // prompt/twice
        let twice = said(version, &[&[new, &prompt(1), &prompt(2)], &[allowed]]);
        let turned = ["1.2.15", "1.3.2"].contains(&version);
        assert_eq!(
            twice,
            if turned { ["asks", "2 null", "1 null"] } else { ["asks", "1 null", "2 null"] },
            "{version}"
        );
    }
}

fn recordings(version: &str) -> Vec<PathBuf> {
    files(&format!("opencode-acp-{version}"))
}

fn differences(version: &str, file: &Path, change: impl Fn(&mut Value)) -> Vec<String> {
    let name = stem(file);
    let mut lines = read(file);
    lines.iter_mut().filter(|line| line.dir == "OUT").for_each(|line| {
        line.message = as_played(&line.message);
        change(&mut line.message);
    });
    let mut session = setup(version, &name).run();
    let (mut expected, mut closed) = (0, None);
    for (at, line) in lines.iter().enumerate() {
        match line.dir.as_str() {
            "IN" => {
                goes_on(&mut session, expected);
                if line.message == "<close>" {
                    closed = Some((session.now, line.ms));
                    session.close();
                } else {
                    let text = line.message.as_str().map_or_else(|| line.message.to_string(), str::to_owned);
                    session.write(&format!("{}\n", text.replace("ses_000001", "ses_1")));
                }
            }
            "OUT" => expected += 1,
            "EXIT" => {
                session.run_out();
                if session.exit != Some(Exit::Code(0)) {
                    return vec![format!("{version}/{name}: it does not exit: {:?}", session.waits())];
                }
                let (since, from) = closed.expect("stdin ended");
                let (lives, lived) = (session.now.0 - since.0, line.ms - from);
                let expected = if lived < LIVES_ON_MS { 0 } else { LIVES_ON_MS };
                if lives != expected || lived - expected > CLOSES_MS {
                    return vec![format!("{version}/{name}: ends {lives} ms after its stdin, and not {lived} ms")];
                }
            }
            other => panic!("{other}, line {at}"),
        }
    }
    session.run_out();
    if !lines.iter().any(|line| line.dir == "EXIT") && session.exit.is_some() {
        return vec![format!("{version}/{name}: it ends, where the release hung")];
    }
    let recorded = lines.into_iter().filter(|line| line.dir == "OUT").map(|line| line.message).collect();
    let (mut recorded, mut played) = (settled(version, recorded), settled(version, session.messages()));
    if name == "malformed" {
        let by_id = |message: &Value| message["id"].as_u64().unwrap_or(u64::MAX);
        recorded.sort_by_key(by_id);
        played.sort_by_key(by_id);
    }
    let length = recorded.len().max(played.len());
    let differ = |at: &usize| recorded.get(*at) != played.get(*at);
    let show = |line: Option<&Value>| line.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let first = (0..length).find(differ);
    first
        .map(|at| {
            format!("{version}/{name}, {at}:\n  release {}\n  fake    {}", show(recorded.get(at)), show(played.get(at)))
        })
        .into_iter()
        .collect()
}

/// Time passes until the fake has written as much as the release had by then.
fn goes_on(session: &mut Session, expected: usize) {
    while session.messages().len() < expected && session.tick() {}
}

/// A recorded message as the fake would write it: the names of the model, the folder and the command are the fake's.
fn as_played(message: &Value) -> Value {
    let text = message.to_string();
    let text = text.replace("fake/m", "rehang/script").replace("ses_000001", "ses_1").replace("msg_000001", "msg_*");
    let text = text.replace("Runs the scenario's command", "step1").replace(" [task 1.0]", "");
    // the number of a call is that of the request that it came with, which a subagent's side requests count too
    let text = text.replace("call_1_0", "call_1").replace("call_2_0", "call_2").replace("call_3_0", "call_2");
    serde_json::from_str(&text).expect("it stays JSON")
}

/// The messages as they are compared.
fn settled(version: &str, messages: Vec<Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for mut message in messages {
        if let Some(id) = message.pointer_mut("/params/update/messageId") {
            *id = json!("msg_*");
        }
        let call = |message: &Value| message["params"]["update"]["toolCallId"].as_str().map(str::to_owned);
        let before = all.iter().rev().find(|before| call(before) == call(&message));
        if call(&message).is_none() || before != Some(&message) {
            all.push(message);
        }
    }
    if version == "1.0.185" {
        // an answer after the updates that follow it
        let is_answer = |message: &Value| message["result"]["stopReason"].is_string();
        let is_update = |message: &Value| {
            message["params"]["update"]["toolCallId"].is_string()
                || message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
        };
        for at in 0..all.len().saturating_sub(1) {
            if is_answer(&all[at]) && is_update(&all[at + 1]) {
                all.swap(at, at + 1);
            }
        }
    }
    all
}

fn setup(version: &str, name: &str) -> Setup {
    let asks = !matches!(name, "bash" | "bash-cancel" | "bash-eof");
    let mut bash = json!({"command": "step1", "does": [{"print": "installed"}]});
    if asks {
        bash["asks"] = json!("bash");
    }
    let told = json!({"say": "Told: {answer}"});
    let turns = match name {
        "text" | "modes" | "malformed" | "authenticate" => json!([{"say": "All is well."}]),
        "bash" => {
            bash["does"] = json!([{"print": "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}]);
            json!([{"bash": bash}, told])
        }
        "bash-cancel" | "bash-eof" => {
            bash["does"] = json!(["hold"]);
            bash["timeout"] = json!("5s");
            json!([{"bash": bash}, told])
        }
        "stall-cancel" | "stall-eof" => json!([{"say": "Half of "}, {"say": "what there is to say."}]),
        "question" => json!([
            {"ask": [{"question": "Which database?", "options": [{"label": "sqlite"}, {"label": "postgres"}]}]}, told]),
        "subagent-permission" => json!([
            {"task": {"description": "Install the packages", "turns": [{"bash": bash}, {"say": "Installed."}]}}, told]),
        _ => json!([{"bash": bash}, told]),
    };
    let turns: Vec<Turn> = serde_json::from_value(turns).expect("turns");
    let agent = Opencode { release: version.to_owned(), mode: OpencodeMode::Serve, client: Client::Post };
    let args = vec!["acp".to_owned()];
    let mut setup = Setup { args, ..Setup::of(Agent::Opencode(agent), turns, Terminal::Pipe) };
    if name.starts_with("stall") {
        let stall: Fault = serde_json::from_value(json!({"model": {"after": 1, "does": "stall"}})).expect("a fault");
        setup.faults.push(stall);
    }
    setup
}
