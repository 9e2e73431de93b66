//! `fake-claude` against recorded exchanges of the real releases: the same input gives the same messages.
//!
//! Each file of tests/golden/claude-VERSION is played on the simulated kernel: the model's turns are read off the
//! recording, what the host wrote is written at the same place, and what the fake writes must be what was recorded, in
//! order, key for key, after ids, times, costs and usage are normalised. [`LEFT_OUT`] is all that may be missing.

mod claude_support;

use claude_support::{Session, Setup};
use rehang_fakes::os::Exit;
use rehang_scenario::turns::{Bash, BashTool, Choice, Question, Step, Turn};
use rehang_scenario::{Fault, ModelDoes, ModelFault, Terminal};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What the fake leaves out on purpose: a pattern of keys from the message's top (`*` is any one), and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("message.content.*.input.description", DESCRIBED),
    ("request.input.description", DESCRIBED),
    ("request.description", DESCRIBED),
    ("permission_denials.*.tool_input.description", DESCRIBED),
];
const DESCRIBED: &str = "a scenario's bash turn has a command and no description of it";

/// Keys whose values are times, costs, usage or pids.
const VARYING: &[&str] = &[
    "timestamp",
    "duration_ms",
    "duration_api_ms",
    "ttft_ms",
    "ttft_stream_ms",
    "time_to_request_ms",
    "first_content_frame_ms",
    "total_cost_usd",
    "usage",
    "modelUsage",
    "model_usage_since_last_result",
    "pid",
];

#[test]
fn every_recorded_exchange_is_played_the_same() {
    let mut wrong = Vec::new();
    let mut played = 0;
    for version in ["1.0.128", "2.0.77", "2.1.329"] {
        for file in recordings(version) {
            played += 1;
            if let Err(difference) = check(version, &file, |_| {}) {
                wrong.push(difference);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {played} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(played, 40, "recordings were added or lost");
}

/// The comparison sees what a careless one would not.
#[test]
fn a_changed_recording_is_noticed() {
    type Change = fn(&mut Value);
    let changes: &[(&str, Change)] = &[
        ("a text", |m| replace(m, "Answer questions?", "Answer the questions?")),
        ("is_error", |m| replace(m, "\"is_error\":true", "\"is_error\":false")),
        ("a key more", |m| replace(m, "\"parent_tool_use_id\":null", "\"parent_tool_use_id\":null,\"more\":1")),
        ("another order of keys", |m| {
            replace(m, "\"type\":\"result\",\"subtype\":\"success\"", "\"subtype\":\"success\",\"type\":\"result\"")
        }),
        ("a tool more", |m| replace(m, "\"LSP\"", "\"LSP\",\"More\"")),
        ("num_turns", |m| replace(m, "\"num_turns\":2", "\"num_turns\":3")),
        ("no denial", |m| {
            if let Some(denials) = m.get_mut("permission_denials") {
                *denials = json!([]);
            }
        }),
    ];
    let file = recordings("2.0.77").into_iter().find(|f| f.ends_with("ask-default-null.jsonl")).unwrap();
    for (what, change) in changes {
        assert!(check("2.0.77", &file, change).is_err(), "not noticed: {what}");
    }
}

fn replace(message: &mut Value, from: &str, to: &str) {
    *message = serde_json::from_str(&message.to_string().replace(from, to)).unwrap();
}

// --- playing ---

/// One line of a recording.
struct Line {
    sent: bool,
    message: Value,
}

fn check(version: &'static str, file: &Path, change: impl Fn(&mut Value)) -> Result<(), String> {
    let lines = read(file);
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let mut run = Run::start(version, &name, &lines);
    let mut said = 0;
    for line in &lines {
        if !line.sent {
            said += 1;
            continue;
        }
        // The host waited for what it had read by then, and the fake has said it without being told more.
        let early = run.session.messages().len();
        if early < said {
            return Err(format!("{version}/{name}: {early} messages where {said} were recorded"));
        }
        run.write(&line.message);
    }
    let mut recorded: Vec<Value> = lines.iter().filter(|l| !l.sent).map(|l| l.message.clone()).collect();
    recorded.iter_mut().for_each(change);
    let (recorded, said) = (normal(&recorded), normal(&run.session.messages()));
    for (n, (recorded, said)) in recorded.iter().zip(&said).enumerate() {
        if recorded != said {
            return Err(format!("{version}/{name}, message {}:\n  recorded {recorded}\n  fake     {said}", n + 1));
        }
    }
    if recorded.len() != said.len() {
        return Err(format!("{version}/{name}: {} messages, recorded {}", said.len(), recorded.len()));
    }
    run.ended_as(&name, &lines).map_err(|why| format!("{version}/{name}: {why}"))
}

struct Run {
    session: Session,
    /// How many of the fake's requests were answered.
    answered: usize,
}

impl Run {
    fn start(version: &'static str, name: &str, lines: &[Line]) -> Run {
        let io = lines.iter().any(|line| line.sent);
        let mut args = vec!["-p", if io { "--input-format stream-json" } else { "go" }];
        if !name.starts_with("text-") {
            args.push("--output-format stream-json --verbose");
        }
        if name.contains("-ppt-") {
            args.push("--permission-prompt-tool stdio");
        }
        if name.contains("-bypass") || name == "interrupt-bash" {
            args.push("--dangerously-skip-permissions");
        }
        if name == "bash-allowed-null" {
            args.push("--allowedTools Bash");
        }
        let terminal = if io { Terminal::Pipe } else { Terminal::Null };
        let mut setup = Setup::new(version, &args.join(" "), turns(name, lines), terminal);
        if name == "drop" {
            setup.faults.push(Fault::Model(ModelFault { response: 0, after: 1, does: ModelDoes::Truncate, retry_after: None }));
        }
        Run { session: setup.run(), answered: 0 }
    }

    fn write(&mut self, message: &Value) {
        if message == "<close>" {
            return self.session.close();
        }
        let mut message = message.clone();
        if message["type"] == "control_response" {
            // The fake's requests have ids of its own.
            let requests = self.session.messages().into_iter().filter(|m| m["type"] == "control_request");
            message["response"]["request_id"] =
                requests.skip(self.answered).map(|m| m["request_id"].clone()).next().unwrap();
            self.answered += 1;
        }
        self.session.send(&message);
    }

    /// Those that ended did, those that hung do.
    fn ended_as(&mut self, name: &str, lines: &[Line]) -> Result<(), String> {
        if name.ends_with("-noanswer") {
            let waits = self.session.waits();
            let hangs = waits == [("agent".to_owned(), "permission".to_owned())] && !self.session.tick();
            return if hangs { Ok(()) } else { Err(format!("does not hang: {waits:?}")) };
        }
        let failed = lines.iter().any(|line| line.message["type"] == "result" && line.message["is_error"] == true);
        let wanted = Some(Exit::Code(u8::from(failed)));
        let exit = self.session.exit;
        if exit == wanted { Ok(()) } else { Err(format!("ended as {exit:?}, not {wanted:?}")) }
    }
}

// --- recordings ---

fn recordings(version: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/claude-{version}"));
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn read(file: &Path) -> Vec<Line> {
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        Line { sent: line["dir"] == "IN", message: line["msg"].take() }
    };
    std::fs::read_to_string(file).unwrap().lines().map(line).collect()
}

/// The model's turns: each assistant message is a block of a response; what its tools said is what they did.
fn turns(name: &str, lines: &[Line]) -> Vec<Turn> {
    let results: Vec<&Value> =
        lines.iter().filter(|l| !l.sent && l.message["type"] == "user").map(|l| &l.message).collect();
    let mut all = Vec::new();
    for line in lines.iter().filter(|line| !line.sent) {
        let message = &line.message;
        if let Some(text) = message.as_str() {
            all.push(Turn::Say(text.to_owned()));
        }
        let said_by_model = message["type"] == "assistant" && message["message"]["model"] != "<synthetic>";
        if !said_by_model || (name == "drop" && !all.is_empty()) {
            continue;
        }
        let block = &message["message"]["content"][0];
        all.push(match block["name"].as_str() {
            None => Turn::Say(string(&block["text"])),
            Some("Bash") => {
                let id = &block["id"];
                let result = results.iter().find(|m| m["message"]["content"][0]["tool_use_id"] == *id);
                let ran = result.filter(|m| m["message"]["content"][0]["is_error"] == false);
                let printed = ran.map(|m| string(&m["message"]["content"][0]["content"]));
                Turn::Bash(Bash {
                    command: string(&block["input"]["command"]),
                    asks: Some("bash".to_owned()),
                    does: printed.map_or(vec![Step::Hold], |text| vec![Step::Print(text)]),
                    timeout: None,
                    tool: BashTool::default(),
                })
            }
            Some(_) => Turn::Ask(block["input"]["questions"].as_array().unwrap().iter().map(question).collect()),
        });
    }
    all
}

fn question(question: &Value) -> Question {
    let choice = |o: &Value| Choice { label: string(&o["label"]), description: string(&o["description"]) };
    Question {
        question: string(&question["question"]),
        header: string(&question["header"]),
        options: question["options"].as_array().unwrap().iter().map(choice).collect(),
        multiple: question["multiSelect"] == true,
        custom: None,
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

// --- normalising ---

/// Each message as text: ids numbered by first appearance, what varies replaced, what is left out removed.
fn normal(messages: &[Value]) -> Vec<String> {
    let mut ids = Vec::new();
    messages.iter().map(|message| normal_value(message, &mut Vec::new(), &mut ids).to_string()).collect()
}

fn normal_value(value: &Value, at: &mut Vec<String>, ids: &mut Vec<String>) -> Value {
    match value {
        Value::Object(map) => {
            let mut all = Map::new();
            for (key, value) in map {
                at.push(key.clone());
                if !left_out(at) {
                    let varies = VARYING.contains(&key.as_str());
                    all.insert(key.clone(), if varies { json!("~") } else { normal_value(value, at, ids) });
                }
                at.pop();
            }
            Value::Object(all)
        }
        Value::Array(list) => {
            at.push("*".to_owned());
            let list = list.iter().map(|value| normal_value(value, at, ids)).collect();
            at.pop();
            Value::Array(list)
        }
        Value::String(text) if is_id(text) => {
            let n = ids.iter().position(|id| id == text).unwrap_or_else(|| {
                ids.push(text.clone());
                ids.len() - 1
            });
            Value::from(format!("#{n}"))
        }
        other => other.clone(),
    }
}

fn left_out(at: &[String]) -> bool {
    let at = at.join(".");
    LEFT_OUT.iter().any(|(pattern, _)| *pattern == at)
}

fn is_id(text: &str) -> bool {
    let uuid = text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    uuid || ["msg_", "toolu_", "ses_", "req_"].iter().any(|prefix| text.starts_with(prefix))
}
