//! The golden recordings of Gemini CLI (`fake-agents/tests/golden/gemini-*`): the fake says the same, and ends the same
//! way.
//!
//! Each was made by `rehang upstream gemini@VERSION SCENARIO --record DIR` in the sandbox, lines of stderr left out.
//! Invariant: every recording is played; a name that this file does not know fails.

use crate::golden::files;
use rehang_drift::session::Setup;
use rehang_drift::streams::{self, Ends, Line};
use rehang_scenario::agents::GEMINI;
use rehang_scenario::{Fault, ModelDoes, ModelFault, Terminal, turns::Turn};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn recordings(version: &str) -> Vec<PathBuf> {
    files(&format!("gemini-{version}"))
}

/// What the model did in the scenario that was recorded.
fn turns(name: &str) -> Vec<Turn> {
    let say = |text: &str| json!({ "say": text });
    let bash = |n: u32, does: Value| json!({ "bash": { "command": format!("step{n}"), "does": does } });
    let told = say("Told: {answer}");
    let turns = match name {
        "text" | "print-text" | "json-text" => json!([say("All is well.")]),
        "stdin-open" => json!([say("Hello.")]),
        "model-429" => json!([say("Through at last.")]),
        "model-500" => json!([say("Here I am.")]),
        "not-allowed" => json!([{ "bash": { "command": "step1", "asks": "bash" } }, told]),
        "question" => json!([{ "ask": [{ "question": "Which database?", "header": "Question",
            "options": [{ "label": "sqlite" }, { "label": "postgres" }] }] }, told]),
        "subagent" => json!([{ "task": { "description": "Install the packages",
            "turns": [{ "bash": { "command": "step1", "asks": "bash" } }, say("Installed.")] } }, told]),
        "bash-runs" => json!([
            bash(1, json!([{ "print": "made" }, { "warn": "careful" }])),
            bash(2, json!([{ "print": "one failed" }, { "exit": 3 }])),
            told
        ]),
        "two-calls" => json!([{ "together": [bash(1, json!([{ "print": "a" }])), bash(2, json!([{ "print": "b" }]))] },
            told]),
        "reads-stdin" => {
            json!([bash(1, json!([{ "prompt": "Ok to proceed? (y) " }, "read-stdin", { "print": "created" }])), told])
        }
        "never-ends" => json!([bash(1, json!(["hold"])), told]),
        "background-pipe" => {
            json!([
                bash(1, json!([{ "background": { "name": "server", "does": ["hold"] } }, { "print": "started" }])),
                told
            ])
        }
        "stalled" | "stream-cut" | "print-cut" | "cut-always" | "reset-always" | "status-400" => {
            json!([say("Half of "), say("what there is to say.")])
        }
        other => panic!("no scenario is called `{other}`"),
    };
    serde_json::from_value(turns).unwrap()
}

fn setup(version: &str, name: &str) -> Setup {
    let mut agent = GEMINI.default_agent();
    agent.set_release(version);
    let output = match name {
        "print-text" | "print-cut" => "",
        "json-text" => "-o json ",
        _ => "-o stream-json ",
    };
    let approval = if matches!(name, "not-allowed" | "subagent") { "default" } else { "yolo" };
    let terminal = if name == "stdin-open" { Terminal::Pipe } else { Terminal::Null };
    let mut setup = Setup::of(agent, turns(name), terminal);
    setup.args = format!("{output}--approval-mode {approval} -p go").split(' ').map(str::to_owned).collect();
    let does = match name {
        "stalled" => Some((1, 1, ModelDoes::Stall)),
        "stream-cut" | "print-cut" => Some((1, 1, ModelDoes::Truncate)),
        "cut-always" => Some((0, 1, ModelDoes::Truncate)),
        "reset-always" => Some((0, 1, ModelDoes::Reset)),
        "status-400" => Some((0, 0, ModelDoes::Status(400))),
        "model-429" => Some((1, 0, ModelDoes::Status(429))),
        "model-500" => Some((0, 0, ModelDoes::Status(500))),
        _ => None,
    };
    let fault = |(response, after, does)| Fault::Model(ModelFault { response, after, does, retry_after: None });
    setup.faults.extend(does.map(fault));
    setup
}

/// How the recorded run ended, as the sandbox saw it.
fn ends(version: &str, name: &str) -> Ends {
    match (version, name) {
        ("0.11.3", "never-ends" | "reads-stdin") => Ends::Hangs("bash".to_owned()),
        ("0.61.0", "subagent") => Ends::Hangs("permission".to_owned()),
        ("0.29.0" | "0.61.0", "model-500") => Ends::Exit(244),
        ("0.29.0" | "0.61.0", "status-400") => Ends::Exit(144),
        ("0.29.0" | "0.61.0", "reset-always") | ("0.29.0", "stalled") => Ends::Exit(1),
        _ => Ends::Exit(0),
    }
}

fn differs(version: &str, file: &Path, change: impl Fn(&mut Value)) -> Option<String> {
    let mut lines: Vec<Line> = streams::read(&std::fs::read_to_string(file).unwrap()).unwrap();
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    // The host holds stdin open: it writes nothing.
    lines.retain(|line| !line.sent);
    lines.iter_mut().for_each(|line| change(&mut line.message));
    let compared = streams::compare(setup(version, &name), &lines, None, &ends(version, &name));
    compared.differences.first().map(|difference| format!("{version}/{name}, {difference}"))
}

#[test]
fn the_fake_says_what_was_recorded() {
    let mut played = 0;
    let mut different = Vec::new();
    for version in GEMINI.releases {
        for file in recordings(version) {
            played += 1;
            different.extend(differs(version, &file, |_| {}));
        }
    }
    assert!(different.is_empty(), "{} of {played}:\n{}", different.len(), different.join("\n\n"));
    assert!(played > 50, "{played} recordings");
}

#[test]
fn a_planted_difference_is_seen() {
    for version in GEMINI.releases {
        for (name, key) in [("not-allowed", "output"), ("text", "model"), ("stream-cut", "content")] {
            let file = recordings(version).into_iter().find(|file| file.ends_with(format!("{name}.jsonl"))).unwrap();
            let plant = |message: &mut Value| {
                if let Some(text) = message.get_mut(key) {
                    *text = json!("planted");
                }
            };
            assert!(differs(version, &file, plant).is_some(), "{version}/{name}");
        }
    }
}
