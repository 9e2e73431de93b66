//! The fake opencode against recorded exchanges of 1.2.15, 1.3.2 and 1.18.33 with `serve` (tests/golden).
//!
//! A version's files are played in order on one engine, so 09 sees what 08 left. The recorded requests are sent at
//! the recorded points, the scripted model says what it said then, and the answers and the events that come out are
//! compared with the recorded ones after ids, instants and folders are named ([`rehang_drift::opencode`]).

use rehang_drift::Compared;
use rehang_drift::opencode::Pair;
use rehang_fakes::opencode::engine::Setup;
use rehang_scenario::turns::{Bash, BashTool, Question, Response, Task, Turn};
use rehang_wire::model::{Finish, ModelEvent, ToolCall};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::PathBuf;

const FILES: [&str; 8] = [
    "01_plain_text",
    "03_bash_perm_once",
    "04_bash_perm_reject",
    "06_question_reply",
    "07_question_reject",
    "08_question_abort",
    "09_question_unanswered_then_abort",
    "13_subagent_perm",
];

#[test]
fn v1_2_15_is_as_recorded() {
    play("1.2.15");
}

#[test]
fn v1_18_33_is_as_recorded() {
    play("1.18.33");
}

/// A text ends behind the calls of its response, in every release; up to 1.2 an error says that it is one.
#[test]
fn fresh_exchanges_are_as_recorded() {
    let call = |id: &str, name: &str, input: Value| {
        ModelEvent::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
    };
    let options = json!([{ "label": "sqlite", "description": "" }, { "label": "postgres", "description": "" }]);
    let question =
        json!({ "question": "Which database?", "header": "Question", "options": options, "multiple": false });
    let words = ModelEvent::TextDelta("Two ways lie open.".to_owned());
    let asks = vec![
        ModelEvent::Start,
        words,
        call("call_1_1", "question", json!({ "questions": [question.clone()] })),
        ModelEvent::Finish(Finish::ToolCalls),
    ];
    let input = json!({ "command": "step1", "description": "Runs the scenario's command" });
    let runs = vec![ModelEvent::Start, call("call_1_0", "bash", input), ModelEvent::Finish(Finish::ToolCalls)];
    let question: Question = serde_json::from_value(question).expect("a question");
    let bash = Bash {
        command: "step1".to_owned(),
        asks: Some("bash".to_owned()),
        does: Vec::new(),
        timeout: None,
        tool: BashTool::default(),
    };
    let asked = || vec![Turn::Say("Two ways lie open.".to_owned()), Turn::Ask(vec![question.clone()])];
    for (version, file, turns, said) in [
        ("1.2.15", "serve_words_and_question", asked(), asks.clone()),
        ("1.3.2", "serve_words_and_question", asked(), asks.clone()),
        ("1.18.33", "serve_words_and_question", asked(), asks.clone()),
        ("1.3.2", "serve_bash_reject", vec![Turn::Bash(bash)], runs),
    ] {
        let setup = Setup { turns, question_registered: true, ..Setup::default() };
        let mut pair = Pair::new(version, setup).expect("it is played").with_model("fake", "m");
        let mut said = Some(said);
        let mut model = |_: &str, _: &Response, _: &str| said.take().expect("the model is asked once");
        let compared = pair.play(file, &read(version, file), &mut model);
        assert_eq!(compared.differences, [], "{version}/{file}");
        assert!(compared.events > 15, "{version}/{file}: {} events", compared.events);
    }
}

fn play(version: &str) {
    let mut pair = Pair::new(version, setup()).unwrap();
    let mut compared = Compared::default();
    for file in FILES {
        let lines = read(version, file);
        let mut model = said(file, &lines);
        let mut next = |_: &str, _: &Response, _: &str| model.pop_front().expect("asked as often as recorded");
        compared.add(pair.play(file, &lines, &mut next));
    }
    let wrong: Vec<String> = compared.differences.iter().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{version}:\n{}", wrong.join("\n"));
    assert!(compared.events > 250, "{} events were compared", compared.events);
}

/// What every recording has of the model's turns, for the engine.
fn setup() -> Setup {
    let bash = || {
        Turn::Bash(Bash {
            command: "echo BASH_RAN; pwd".to_owned(),
            asks: Some("bash".to_owned()),
            does: Vec::new(),
            timeout: None,
            tool: BashTool::default(),
        })
    };
    let ask = || Turn::Ask(vec![question()]);
    let said = || Turn::Say(String::new());
    let task = Turn::Task(Task { description: "run sub".to_owned(), turns: vec![bash(), said()] });
    // 01; 03; 04; 06; 07, 08, 09; 13.
    let turns = vec![
        said(),
        Turn::Finish(rehang_scenario::turns::Finish::Stop),
        bash(),
        said(),
        Turn::Finish(rehang_scenario::turns::Finish::Stop),
        bash(),
        ask(),
        said(),
        Turn::Finish(rehang_scenario::turns::Finish::Stop),
        ask(),
        ask(),
        ask(),
        task,
        said(),
    ];
    Setup { turns, question_registered: true, ..Setup::default() }
}

fn read(version: &str, file: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/opencode-{version}/{file}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a recorded line is JSON")).collect()
}

fn question() -> Question {
    serde_json::from_value(json!({
        "question": "Which database?", "header": "DB", "multiple": false,
        "options": [
            { "label": "sqlite", "description": "file db" }, { "label": "postgres", "description": "server db" }
        ],
    }))
    .expect("a question")
}

/// What the scripted model of the recordings said, response by response.
fn said(file: &str, lines: &[Value]) -> VecDeque<Vec<ModelEvent>> {
    let calls: Vec<(String, String)> = lines
        .iter()
        .map(|line| &line["ev"]["properties"]["part"])
        .filter(|part| part["state"]["status"] == "pending")
        .map(|part| (part["callID"].as_str().unwrap_or("").to_owned(), part["tool"].as_str().unwrap_or("").to_owned()))
        .collect();
    let call = |tool: &str| {
        let (id, name) = calls.iter().find(|(_, name)| name == tool).expect("the call is recorded").clone();
        let input = match tool {
            "bash" => json!({ "command": "echo BASH_RAN; pwd", "description": "Echo marker" }),
            "question" => json!({ "questions": [{
                "question": "Which database?", "header": "DB",
                "options": [
                    { "label": "sqlite", "description": "file db" }, { "label": "postgres", "description": "server db" }
                ],
                "multiple": false,
            }]}),
            _ => json!({ "description": "run sub", "prompt": "SUBTASK run bash please", "subagent_type": "general" }),
        };
        vec![
            ModelEvent::Start,
            ModelEvent::ToolCall(ToolCall { id, name, input }),
            ModelEvent::Finish(Finish::ToolCalls),
        ]
    };
    let text = |words: [&str; 3]| {
        let mut all = vec![ModelEvent::Start];
        all.extend(words.map(|word| ModelEvent::TextDelta(word.to_owned())));
        all.push(ModelEvent::Finish(Finish::Stop));
        all
    };
    VecDeque::from(match &file[..2] {
        "01" => vec![text(["HELLO ", "from ", "fake "])],
        "03" => vec![call("bash"), text(["done ", "after ", "bash "])],
        "04" => vec![call("bash")],
        "06" => vec![call("question"), text(["done ", "after ", "question "])],
        "07" | "08" | "09" => vec![call("question")],
        _ => vec![call("task"), call("bash"), text(["done ", "after ", "bash "]), text(["done ", "after ", "task "])],
    })
}
