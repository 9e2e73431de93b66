//! `fake-claude` against recorded exchanges of the real releases: the same input gives the same messages.
//!
//! Each file of tests/golden/claude-VERSION is played on the simulated kernel: the model's turns are read off the
//! recording, what the host wrote is written at the same place, and what the fake writes must be what was recorded, in
//! order, key for key, after ids, times, costs and usage are normalised ([`rehang_drift::claude`]).

use crate::golden::files;
use rehang_drift::{
    session::Setup,
    streams::{self, Ends, Line},
};
use rehang_scenario::{
    Fault, ModelDoes, ModelFault, Span, Terminal,
    turns::{Bash, BashTool, Choice, Question, Step, Turn},
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
    assert_eq!(played, 67, "recordings were added or lost");
}

/// The comparison notices changes that a careless one would not.
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

fn check(version: &str, file: &Path, change: impl Fn(&mut Value)) -> Result<(), String> {
    let mut lines = streams::read(&std::fs::read_to_string(file).unwrap()).unwrap();
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let (setup, ends) = (setup(version, &name, &lines), ends(&name, &lines));
    lines.iter_mut().filter(|line| !line.sent).for_each(|line| change(&mut line.message));
    let compared = streams::compare(setup, &lines, None, &ends);
    match compared.differences.first() {
        None => Ok(()),
        Some(difference) => Err(format!("{version}/{name}, {difference}")),
    }
}

fn setup(version: &str, name: &str, lines: &[Line]) -> Setup {
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
    let does = match name {
        CUT_SHORT => Some((0, 1, ModelDoes::Stall)),
        SILENT => Some((1, 1, ModelDoes::Stall)),
        LINGERS => Some((1, 2, ModelDoes::Stall)),
        RESET => Some((1, 1, ModelDoes::Reset)),
        _ => None,
    };
    let fault = |(response, after, does)| Fault::Model(ModelFault { response, after, does, retry_after: None });
    setup.faults.extend(does.map(fault));
    setup
}

/// How the recorded exchange ended.
fn ends(name: &str, lines: &[Line]) -> Ends {
    if name.ends_with("-noanswer") {
        return Ends::Hangs("permission".to_owned());
    }
    let failed = lines.iter().any(|line| line.message["type"] == "result" && line.message["is_error"] == true);
    Ends::Exit(u8::from(failed))
}

/// The recording in which the model falls silent in the middle of a word: the older releases do not show what it said.
const CUT_SHORT: &str = "io-text-ppt-bypass-interrupt";
/// The recordings in which it does so in its first response alone, for five minutes, in the middle or after its finish,
/// and the one in which that response is reset.
const SILENT: &str = "silent-bypass-null";
const LINGERS: &str = "lingers-bypass-null";
const RESET: &str = "reset-bypass-null";

// --- recordings ---

fn recordings(version: &str) -> Vec<PathBuf> {
    files(&format!("claude-{version}"))
}

/// The model's turns: each assistant message is a block of a response; what its tools said is what they did.
fn turns(name: &str, lines: &[Line]) -> Vec<Turn> {
    let results: Vec<&Value> =
        lines.iter().filter(|l| !l.sent && l.message["type"] == "user").map(|l| &l.message).collect();
    let mut all = Vec::new();
    if [CUT_SHORT, SILENT, RESET].contains(&name) {
        return vec![Turn::Say("Half of ".to_owned()), Turn::Say("what there is to say.".to_owned())];
    }
    if name == LINGERS {
        return vec![Turn::Say("All is said.".to_owned())];
    }
    for line in lines.iter().filter(|line| !line.sent) {
        let message = &line.message;
        if let Some(text) = message.as_str() {
            all.push(Turn::Say(text.to_owned()));
        }
        let said_by_model = message["type"] == "assistant" && message["message"]["model"] != "<synthetic>";
        if !said_by_model {
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
                    does: match printed {
                        Some(text) if name.ends_with("-long") => vec![Step::Sleep(Span::secs(5)), Step::Print(text)],
                        Some(text) => vec![Step::Print(text)],
                        None => vec![Step::Hold],
                    },
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
