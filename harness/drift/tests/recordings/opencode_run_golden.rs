//! `opencode run --format json`, the fake's against recordings of 1.0.185, 1.2.15, 1.3.2 and 1.18.33.
//!
//! Each file of tests/golden/opencode-run-VERSION is what a release printed, line by line, while its model said what the
//! test's plan says; those whose last line is no end hung ([`rehang_drift::streams::compare`]).

use crate::golden::{files, stem};
use rehang_drift::{
    session::Setup,
    streams::{Ends, compare, read},
};
use rehang_scenario::{
    Agent, Client, Fault, ModelDoes, ModelFault, Opencode, OpencodeMode, Terminal,
    turns::{Bash, BashTool, Choice, Question, Step, Task, Turn},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn every_recorded_run_is_played_the_same() {
    let (mut wrong, mut played) = (Vec::new(), 0);
    for version in ["1.0.185", "1.2.15", "1.3.2", "1.18.33"] {
        for file in recordings(version) {
            played += 1;
            wrong.extend(differences(version, &file, |_| {}));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(played, 17, "recordings were added or lost");
}

#[test]
fn a_changed_recording_is_noticed() {
    let file =
        recordings("1.18.33").into_iter().find(|f| f.ends_with("subagent_permission.jsonl")).expect("it is there");
    for (from, to) in [
        ("Subagent failed", "The subagent failed"),
        ("\"parentSessionId\":", "\"parent\":"),
        ("\"reason\":\"tool-calls\"", "\"reason\":\"stop\""),
        ("\"type\":\"step_start\"", "\"type\":\"step_began\""),
    ] {
        let change = |message: &mut Value| {
            *message = serde_json::from_str(&message.to_string().replace(from, to)).expect("it stays JSON");
        };
        assert!(!differences("1.18.33", &file, change).is_empty(), "not noticed: {from}");
    }
}

fn recordings(version: &str) -> Vec<PathBuf> {
    files(&format!("opencode-run-{version}"))
}

fn differences(version: &str, file: &Path, change: impl Fn(&mut Value)) -> Vec<String> {
    let mut lines = read(&std::fs::read_to_string(file).expect("a recording")).expect("JSON lines");
    lines.iter_mut().for_each(|line| change(&mut line.message));
    let name = stem(file);
    let (turns, hangs_on) = plan(&name);
    let mode = OpencodeMode::Run;
    let agent = Agent::Opencode(Opencode { release: version.to_owned(), mode, client: Client::Post });
    let args = ["run", "--format", "json", "go"].map(str::to_owned).to_vec();
    let mut setup = Setup { args, ..Setup::of(agent, turns, Terminal::Null) };
    if name == "silent" {
        let does = ModelDoes::Stall;
        setup.faults.push(Fault::Model(ModelFault { response: 1, after: 1, does, retry_after: None }));
    }
    let ended = lines.last().is_some_and(|line| line.message["type"] == "step_finish");
    let ends = if ended { Ends::Exit(0) } else { Ends::Hangs(hangs_on.to_owned()) };
    let compared = compare(setup, &lines, None, &ends);
    assert!(lines.iter().any(|line| !line.sent), "{version}/{name}: nothing is recorded");
    compared.differences.iter().map(|difference| format!("{version}/{name}: {difference}")).collect()
}

/// What the model said in a recording, and what a release hangs on that does.
fn plan(name: &str) -> (Vec<Turn>, &'static str) {
    let say = |text: &str| Turn::Say(text.to_owned());
    let bash = || {
        Turn::Bash(Bash {
            command: "step1".to_owned(),
            asks: Some("bash".to_owned()),
            does: vec![Step::Print("installed".to_owned())],
            timeout: None,
            tool: BashTool::default(),
        })
    };
    let told = || say("Told: {answer}");
    match name {
        "text" => (vec![say("All is well.")], "nothing"),
        "silent" => (vec![say("Half of "), say("what there is to say.")], "model"),
        "bash_permission" => (vec![bash(), told()], "permission"),
        "subagent_permission" => {
            let task = Task { description: "Install the packages".to_owned(), turns: vec![bash(), say("Installed.")] };
            (vec![Turn::Task(task), told()], "permission")
        }
        "question" => {
            let choice = |label: &str| Choice { label: label.to_owned(), description: String::new() };
            let options = vec![choice("sqlite"), choice("postgres")];
            let (question, header) = ("Which database?".to_owned(), "Question".to_owned());
            (
                vec![Turn::Ask(vec![Question { question, header, options, multiple: false, custom: None }]), told()],
                "question",
            )
        }
        other => panic!("what the model said in {other} is not known"),
    }
}
