//! `codex app-server`, the fake's against recordings of Codex.
//!
//! Each file of tests/golden/codex-app-server-VERSION is what a client wrote to a release (`IN`) and what the release wrote
//! (`OUT`), line by line, while its model said what the test's plan says (`tests/clients/record_app_server.py`); `<close>` is
//! the end of stdin, `<term>` and `<int>` are signals, `LEFT` is how many of its commands run then. A file without an `EXIT`
//! is of a release that did not answer. Not compared: instants, ids (but which are the same), the path of a session's file and a
//! cursor in it, a command's process and time, and the reason of an escalated command, which the fake's model does not give.

use crate::golden::{Line, files, read, root, stem};
use rehang_drift::session::{Session, Setup};
use rehang_os::os::{Exit, Sig};
use rehang_scenario::{Fault, Terminal, agents::CODEX, turns::Turn};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const VERSIONS: [&str; 4] = ["0.45.0", "0.58.0", "0.116.0", "0.169.0"];

#[test]
fn every_recorded_session_is_played_the_same() {
    let (mut wrong, mut played) = (Vec::new(), 0);
    for version in VERSIONS {
        for file in recordings(version) {
            played += 1;
            wrong.extend(differences(version, &file, |_| {}));
        }
    }
    assert!(wrong.is_empty(), "{} of {played}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(played, 312, "recordings were added or lost");
}

#[test]
fn a_changed_recording_is_noticed() {
    for (version, name, from, to) in [
        ("0.169.0", "bash", "\"exitCode\":0", "\"exitCode\":1"),
        ("0.169.0", "bash", "unifiedExecStartup", "agent"),
        ("0.116.0", "approval-decline", "\"status\":\"declined\"", "\"status\":\"failed\""),
        ("0.116.0", "approval-cancel", "\"status\":\"interrupted\"", "\"status\":\"completed\""),
        ("0.169.0", "stall-interrupt", "{\"type\":\"idle\"}", "{\"type\":\"systemError\"}"),
        ("0.116.0", "malformed", "`turn/steer`", "`turn/steers`"),
        ("0.58.0", "bash", "\"exit_code\":0", "\"exit_code\":1"),
        ("0.45.0", "old-prints", "\"chunk\":\"b25lCg==\"", "\"chunk\":\"\""),
        ("0.58.0", "old-approval-cancel", "\"reason\":\"interrupted\"", "\"reason\":\"replaced\""),
        ("0.169.0", "two-turns", "\"totalTokens\":26", "\"totalTokens\":13"),
        ("0.169.0", "mcp-error", "user rejected", "user cancelled"),
        ("0.169.0", "two-second", "\"requestId\":1", "\"requestId\":0"),
        ("0.169.0", "interrupt-at-once", "no active turn", "no turn"),
        ("0.169.0", "patch-decline", "\"status\":\"declined\"", "\"status\":\"completed\""),
        ("0.116.0", "tool-shape", "was invalid", "failed"),
        ("0.116.0", "ask-error", "waitingOnUserInput", "waitingOnApproval"),
    ] {
        let file = file(version, name);
        let change = |message: &mut Value| {
            *message = serde_json::from_str(&message.to_string().replace(from, to)).expect("it stays JSON");
        };
        assert!(!differences(version, &file, change).is_empty(), "not noticed in {version} {name}: {from}");
    }
}

/// An ask that nobody answers is waited for without end; before 0.169.0 an interrupt for which there is no turn is never
/// answered; no turn that `turn/start` of 0.58.0 begins is told to be over; and an error instead of an answer is lost there.
#[test]
fn what_a_release_hangs_on_is_recorded() {
    for version in VERSIONS {
        let says =
            |name: &str, what: &str| read(&file(version, name)).iter().any(|line| line.message["method"] == what);
        let exits = |name: &str| read(&file(version, name)).iter().any(|line| line.dir == "EXIT");
        let (old, new) = (matches!(version, "0.45.0" | "0.58.0"), version != "0.45.0");
        if old {
            assert!(
                !says("old-approval-never", "codex/event/task_complete") && !exits("old-approval-error"),
                "{version}"
            );
        }
        if new {
            assert_eq!(says("text", "turn/completed"), version != "0.58.0", "{version}");
            assert!(!says("approval-never", "turn/completed"), "{version}");
            for kind in ["escalated", "patch", "ask", "elicit", "tool"] {
                assert!(old || !says(&format!("{kind}-never"), "turn/completed"), "{version} {kind}");
            }
            assert_eq!(exits("late-interrupt"), version == "0.169.0", "{version}");
        }
    }
}

fn folder(version: &str) -> String {
    format!("codex-app-server-{version}")
}

fn file(version: &str, name: &str) -> PathBuf {
    root().join(folder(version)).join(format!("{name}.jsonl"))
}

fn recordings(version: &str) -> Vec<PathBuf> {
    files(&folder(version))
}

fn differences(version: &str, file: &Path, change: impl Fn(&mut Value)) -> Vec<String> {
    let name = stem(file);
    let mut lines = read(file);
    // whether 0.58.0 still tells the end of a command that was asked for is chance if its turn is interrupted
    let chance =
        |line: &Line| name.ends_with("approval-interrupt") && line.message["method"] == "codex/event/exec_command_end";
    lines.retain(|line| line.dir != "OUT" || !(is_passing(&line.message) || chance(line)));
    lines.iter_mut().filter(|line| line.dir == "OUT").for_each(|line| {
        line.message = as_played(&line.message);
        if (name.as_str(), version) == ("prompt-twice", "0.169.0") {
            // it asks the model for the first prompt, and asks again for both
            let text = line.message.to_string().replace("msg_response_2_0", "msg_response_1_0");
            line.message = serde_json::from_str(&text).expect("it stays JSON");
        }
        change(&mut line.message);
    });
    let mut session = setup(version, &name).run();
    let mut recorded: Vec<Value> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        match line.dir.as_str() {
            "IN" => {
                goes_on(&mut session, recorded.len());
                match line.message.as_str() {
                    Some("<close>") if session.exit.is_none() => session.close(),
                    Some("<close>") => {}
                    Some("<term>") => session.kill(Sig::Term),
                    Some("<int>") => session.kill(Sig::Int),
                    Some(text) => session.write(&format!("{text}\n")),
                    None if follows(&lines, at) => {}
                    None => {
                        let all = (at..lines.len()).take_while(|next| *next == at || follows(&lines, *next));
                        let text: String = all.map(|next| format!("{}\n", lines[next].message)).collect();
                        session.write(&as_the_fake_names_it(&text, &recorded, &said(&session)));
                    }
                }
            }
            "OUT" => recorded.push(line.message.clone()),
            // a process that is being ended may still be there
            "LEFT" if lines[at - 1].message.as_str().is_some_and(|text| text.starts_with('<')) => {}
            "LEFT" => {
                goes_on(&mut session, recorded.len());
                let left = session.waits().iter().filter(|(role, _)| role != "agent").count();
                if line.message.as_u64() != Some(left as u64) {
                    return vec![format!("{version}/{name}: {left} commands run, and not {}", line.message)];
                }
            }
            "EXIT" => {
                let ended = match line.message.as_i64().expect("a code") {
                    -15 => Exit::Signal(Sig::Term),
                    -2 => Exit::Signal(Sig::Int),
                    code => Exit::Code(u8::try_from(code).expect("a code")),
                };
                if session.exit != Some(ended) {
                    return vec![format!("{version}/{name}: ends {:?}, and not {ended:?}", session.exit)];
                }
            }
            other => panic!("{other}"),
        }
    }
    goes_on(&mut session, recorded.len());
    if !lines.iter().any(|line| line.dir == "EXIT") && session.exit.is_some() {
        return vec![format!("{version}/{name}: it ends, where the release did not")];
    }
    let mut played = said(&session);
    if (name.as_str(), version) == ("interrupt-at-once", "0.116.0") {
        // the fake's model answers before the interrupt comes
        played.retain(|message| message["method"] != "account/rateLimits/updated");
    }
    let (recorded, played) = (settled(&recorded), settled(&played));
    let length = recorded.len().max(played.len());
    let show = |line: Option<&Value>| line.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let first = (0..length).find(|at| recorded.get(*at).map(Value::to_string) != played.get(*at).map(Value::to_string));
    let differs = |at: usize| {
        format!("{version}/{name}, {at}:\n  release {}\n  fake    {}", show(recorded.get(at)), show(played.get(at)))
    };
    first.map(differs).into_iter().collect()
}

/// Whether a line was written at once with the one before it.
fn follows(lines: &[Line], at: usize) -> bool {
    let is_in = |line: &Line| line.dir == "IN" && line.message.is_object();
    at > 0 && is_in(&lines[at]) && is_in(&lines[at - 1]) && lines[at].ms - lines[at - 1].ms <= AT_ONCE_MS
}

/// How many milliseconds apart two lines are at most that the client wrote at once.
const AT_ONCE_MS: u64 = 2;

/// What the fake has said, as far as it is compared.
fn said(session: &Session) -> Vec<Value> {
    session.messages().into_iter().filter(|message| !is_passing(message)).collect()
}

/// What is no part of the exchange: a remark of 0.58.0 whose place among the events differs between two runs, one about a tool
/// server, which the fake does not start, one about a program that the machine has or has not, or one about a feature that is not ready, whose place differs too.
fn is_passing(message: &Value) -> bool {
    let (method, summary) = (&message["method"], message["params"]["summary"].as_str().unwrap_or_default());
    method == "codex/event/background_event"
        || method == "mcpServer/startupStatus/updated"
        || (method == "configWarning" && summary.contains("bubblewrap"))
        || message["params"]["message"].as_str().is_some_and(|text| text.starts_with("Under-development features"))
}

/// Time passes until the fake has written as much as the release had by then.
fn goes_on(session: &mut Session, expected: usize) {
    while said(session).len() < expected && session.tick() {}
}

/// A recorded message as the fake would write it.
fn as_played(message: &Value) -> Value {
    let text = message.to_string();
    // the number of a call is that of the request that it came with
    let text = text.replace("call_1_1", "call_2").replace("call_1_0", "call_1").replace("call_2_0", "call_2");
    serde_json::from_str(&text).expect("it stays JSON")
}

/// The ids in these messages, in the order in which they come.
fn ids(messages: &[Value]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for message in messages {
        let text = message.to_string();
        for (at, _) in text.match_indices("00000000-0000-") {
            let id = text.get(at..at + 36).expect("an id").to_owned();
            if !all.contains(&id) {
                all.push(id);
            }
        }
    }
    all
}

/// What the client says, with the ids that the fake gave it.
fn as_the_fake_names_it(text: &str, recorded: &[Value], played: &[Value]) -> String {
    let pairs: BTreeMap<String, String> = ids(recorded).into_iter().zip(ids(played)).collect();
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The messages as they are compared.
fn settled(messages: &[Value]) -> Vec<Value> {
    let names: BTreeMap<String, String> =
        ids(messages).into_iter().enumerate().map(|(n, id)| (id, format!("id {n}"))).collect();
    let settle = |message: &Value| {
        let text = names.iter().fold(message.to_string(), |text, (id, name)| text.replace(id, name));
        let mut message = serde_json::from_str(&text).expect("it stays JSON");
        mask(&mut message);
        message
    };
    messages.iter().map(settle).collect()
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.get("reason").is_some_and(|reason| reason.is_null() || reason == REASON) {
                object.shift_remove("reason");
            }
            for (key, value) in object {
                let is_instant = ["createdAt", "updatedAt", "recencyAt", "startedAt", "completedAt", "durationMs"];
                match value {
                    Value::Number(_) if key.ends_with("AtMs") || is_instant.contains(&key.as_str()) => {
                        *value = json!("*")
                    }
                    Value::Object(_) if key == "duration" => *value = json!("*"),
                    Value::String(text) if PLACES.contains(&key.as_str()) => "*".clone_into(text),
                    Value::String(text) if TEXTS.contains(&key.as_str()) => *text = timeless(text),
                    other => mask(other),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(mask),
        _ => {}
    }
}

/// Why a command of the recordings asks to leave the sandbox.
const REASON: &str = "It needs the network.";
/// Where a session's file is, and places in it; and what a file is changed to.
const PLACES: [&str; 5] = ["path", "rolloutPath", "backwardsCursor", "itemsBackwardsCursor", "diff"];
/// What may quote how long something took.
const TEXTS: [&str; 6] = ["text", "delta", "message", "last_agent_message", "formatted_output", "additionalDetails"];

/// A text without chance and time.
fn timeless(text: &str) -> String {
    let text = [("timed out after ", " milliseconds"), ("\"duration_seconds\":", "}"), (" in ", "ms…")]
        .into_iter()
        .fold(text.to_owned(), |text, (head, tail)| without_number(&text, head, tail));
    let masked = |line: &str| {
        let heads =
            ["Told: Wall time: ", "Told: Chunk ID: ", "Chunk ID: ", "Wall time: ", "Process running with session ID "];
        let head = heads.into_iter().find(|head| line.starts_with(head));
        head.map_or_else(|| line.to_owned(), |head| format!("{head}*"))
    };
    text.split('\n').map(masked).collect::<Vec<_>>().join("\n")
}

/// A text in which the number between these two is none.
fn without_number(text: &str, head: &str, tail: &str) -> String {
    let Some((before, rest)) = text.split_once(head) else { return text.to_owned() };
    match rest.split_once(tail) {
        Some((number, after)) if number.chars().all(|c| c.is_ascii_digit() || c == '.') => {
            format!("{before}{head}*{tail}{after}")
        }
        _ => text.to_owned(),
    }
}

fn setup(version: &str, name: &str) -> Setup {
    let name = name.trim_start_matches("old-");
    let mut bash = json!({"command": "step1", "does": [{"print": "installed"}]});
    if name.starts_with("escalated") {
        bash["asks"] = json!("escalated");
    }
    let told = json!({"say": "Told: {answer}"});
    let runs = json!({"command": "step1", "timeout": "5s", "does": ["hold"]});
    let turns = match name {
        "text" | "interrupt-at-once" | "threads" | "malformed" | "uninitialized" | "idle-term" | "idle-int"
        | "late-interrupt" | "fails" | "fails-retried" | "limited" => json!([{"say": "All is well."}]),
        "two-turns" => json!([{"say": "All is well."}, {"finish": "stop"}, {"say": "All is still well."}]),
        "prompt-twice" => json!([{"say": "All is well."}, {"finish": "stop"}, {"say": "All is still well."}]),
        "interrupt-twice" | "interrupt-wrong" | "interrupt-unknown" => json!([{"bash": runs}, told]),
        name if name.starts_with("two-") && name != "two-turns" => {
            let step = |command, text| json!({"bash": {"command": command, "does": [{"print": text}]}});
            json!([{"together": [step("step1", "one"), step("step2", "two")]}, told])
        }
        name if name.starts_with("patch-") => {
            let output = "Wall time: 0 seconds\nOutput:\nExit code: 0\nWall time: 0.1 seconds\nOutput:\n\
                          Success. Updated the following files:\nA a.txt\n";
            json!([{"permit": {"tool": "write", "permission": "edit", "patterns": ["a.txt"], "output": output}}, told])
        }
        name if name.starts_with("mcp-") => {
            json!([{"permit": {"tool": "mcp__db__query", "permission": "mcp", "output": "3 rows"}}, told])
        }
        name if name.starts_with("elicit-") => json!([
            {"permit": {"tool": "mcp__db__query", "permission": "elicitation", "patterns": ["Which database?"]}}, told]),
        name if name.starts_with("tool-") => json!([{"permit": {"tool": "query", "permission": "client"}}, told]),
        "bash" => {
            bash["does"] = json!([{"print": "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}]);
            json!([{"bash": bash}, told])
        }
        "prints" => {
            bash["does"] = json!([{"print": "one"}, {"sleep": "2s"}, {"print": "two"}, {"exit": 3}]);
            json!([{"bash": bash}, told])
        }
        "busy" | "steer" | "background" | "bash-interrupt" | "bash-resume" | "bash-eof" | "bash-term" => {
            json!([{"bash": runs}, told])
        }
        name if name == "question" || name.starts_with("ask-") => json!([
            {"ask": [{"question": "Which database?", "options": [{"label": "sqlite"}, {"label": "postgres"}]}]}, told]),
        "cut" | "retried" => json!([{"say": "Half of "}, {"say": "what there is to say."}]),
        name if name.starts_with("stall") => json!([{"say": "Half of "}, {"say": "what there is to say."}]),
        _ => json!([{"bash": bash}, told]),
    };
    let turns: Vec<Turn> = serde_json::from_value(turns).expect("turns");
    let mut agent = CODEX.default_agent();
    agent.set_release(version);
    let tries = if name.ends_with("retried") { 2 } else { 0 };
    let args = ["request_max_retries", "stream_max_retries"];
    let args = args.iter().flat_map(|key| ["-c".to_owned(), format!("model_providers.fake.{key}={tries}")]);
    let asks = ["--enable", "default_mode_request_user_input"].into_iter().filter(|_| name.starts_with("ask-"));
    let args = std::iter::once("app-server".to_owned()).chain(args).chain(asks.map(str::to_owned)).collect();
    let fault = match name {
        "cut" | "retried" => Some(json!({"model": {"after": 1, "does": "truncate"}})),
        "fails" | "fails-retried" => Some(json!({"model": {"response": 0, "does": {"status": 500}}})),
        "interrupt-at-once" if version == "0.116.0" => Some(json!({"model": {"does": "stall"}})),
        "limited" => Some(json!({"model": {"does": {"status": 429}}})),
        name if name.starts_with("stall") => Some(json!({"model": {"after": 1, "does": "stall"}})),
        _ => None,
    };
    let faults: Vec<Fault> = fault.into_iter().map(|fault| serde_json::from_value(fault).expect("a fault")).collect();
    Setup { args, faults, ..Setup::of(agent, turns, Terminal::Pipe) }
}
