//! The fake opencode against recorded exchanges of 1.0.185, 1.2.15, 1.3.2 and 1.18.33 with `serve` (tests/golden).
//!
//! A version's files are played in order on one engine, so 09 sees what 08 left. The recorded requests are sent at
//! the recorded points, the scripted model says what it said then, and the answers and the events that come out are
//! compared with the recorded ones after ids, instants and folders are named ([`rehang_drift::opencode`]).

use rehang_drift::{Compared, opencode::Pair};
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

/// A text ends after the calls of its response, in every release; up to 1.2 an error says that it is one.
#[test]
fn fresh_exchanges_are_as_recorded() {
    for (version, file, turns, said) in fresh() {
        let compared = play_fresh(version, file, &read(version, file), turns, said);
        assert_eq!(compared.differences, [], "{version}/{file}");
        assert!(compared.events > 15, "{version}/{file}: {} events", compared.events);
    }
}

/// What only 1.0.185 writes is compared with its recordings, and no allow-list hides it.
#[test]
fn a_changed_exchange_of_1_0_185_is_noticed() {
    for (of, from, to) in [
        ("serve_bash_once", r#""pattern":["step2 *"]"#, r#""pattern":["step2"]"#),
        ("serve_bash_once", r#""title":"step1""#, r#""title":"step one""#),
        (
            "serve_bash_once",
            r#""permissionID":"per_000001","response":"once""#,
            r#""permissionID":"per_000001","response":"always""#,
        ),
        ("serve_bash_once", r#""summary":{"title":"Scripted","diffs":[]}"#, r#""summary":{"diffs":[1]}"#),
        ("serve_bash_reject", " You may try again with different parameters.", ""),
        ("serve_bash_reject", r#""metadata":{"command":"step1""#, r#""metadata":{"command":"step2""#),
        (
            "serve_words_and_question",
            r#""tool":"question","state":{"status":"pending""#,
            r#""tool":"invalid","state":{"status":"pending""#,
        ),
        ("serve_words_and_question", "todowrite, todoread", "todowrite"),
        ("serve_words_and_question", r#""tokens":{"input":10"#, r#""tokens":{"total":13,"input":10"#),
        ("serve_words_and_question", r#","delta":"Two ways lie open.""#, ""),
    ] {
        let (version, file, turns, said) =
            fresh().into_iter().find(|(version, file, ..)| (*version, *file) == ("1.0.185", of)).expect("it is there");
        let text: String = read(version, file).iter().map(|line| format!("{line}\n")).collect();
        assert!(text.contains(from), "{file} has {from}");
        let lines: Vec<Value> =
            text.replace(from, to).lines().map(|line| serde_json::from_str(line).expect("it stays JSON")).collect();
        assert_ne!(play_fresh(version, file, &lines, turns, said).differences, [], "not noticed: {from}");
    }
}

type Fresh = (&'static str, &'static str, Vec<Turn>, Vec<Vec<ModelEvent>>);

fn play_fresh(version: &str, file: &str, lines: &[Value], turns: Vec<Turn>, said: Vec<Vec<ModelEvent>>) -> Compared {
    let setup = Setup { turns, question_registered: true, ..Setup::default() };
    let mut pair = Pair::new(version, setup).expect("it is played").with_model("fake", "m");
    let mut said = said.into_iter();
    let compared = pair.play(file, lines, &mut |_: &str, _: &Response, _: &str| {
        said.next().expect("asked no more often than recorded")
    });
    assert_eq!(said.next(), None, "{version}/{file}: the model is asked as often as recorded");
    compared
}

/// Recordings that `rehang-lab drift` made, what the plan knows of each, and what the model said.
fn fresh() -> Vec<Fresh> {
    let call = |id: &str, name: &str, input: Value| {
        ModelEvent::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
    };
    let text =
        |text: &str| vec![ModelEvent::Start, ModelEvent::TextDelta(text.to_owned()), ModelEvent::Finish(Finish::Stop)];
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
    let runs = |step: usize| {
        let input = json!({ "command": format!("step{step}"), "description": "Runs the scenario's command" });
        let call = call(&format!("call_{step}_0"), "bash", input);
        vec![ModelEvent::Start, call, ModelEvent::Finish(Finish::ToolCalls)]
    };
    let question: Question = serde_json::from_value(question).expect("a question");
    let bash = |step: usize| Turn::Bash(Bash { command: format!("step{step}"), ..asking() });
    // two calls of one response; the agent file of the second pair's recordings put `echo both` before each
    let two = |before: &str| {
        let command = |step: usize| format!("{before}step{step}");
        let named = |step: usize| Bash { command: command(step), ..asking() };
        let input = |step: usize| json!({ "command": command(step), "description": "Runs the scenario's command" });
        let calls = [1, 2].map(|step| call(&format!("call_1_{}", step - 1), "bash", input(step)));
        let said = [vec![ModelEvent::Start], calls.to_vec(), vec![ModelEvent::Finish(Finish::ToolCalls)]].concat();
        (vec![Turn::Together([1, 2].map(named).map(Turn::Bash).to_vec())], said)
    };
    let (both, calls_both) = two("");
    let (alike, calls_alike) = two("echo both ");
    let say = |text: &str| Turn::Say(text.to_owned());
    let no_such_tool = "Done: The arguments provided to the tool are invalid: Model tried to call unavailable tool \
        'question'. Available tools: invalid, bash, read, glob, grep, list, edit, write, task, webfetch, todowrite, \
        todoread.";
    let asked = || vec![Turn::Say("Two ways lie open.".to_owned()), Turn::Ask(vec![question.clone()])];
    let and_ends = || [asked(), vec![say("Done: {answer}")]].concat();
    let rejected = |version: &'static str| (version, "serve_two_reject", both.clone(), vec![calls_both.clone()]);
    let allowed = |version: &'static str| {
        let turns = [alike.clone(), vec![say("Told: {answer}")]].concat();
        (version, "serve_two_always", turns, vec![calls_alike.clone(), text("Told: both step2\n")])
    };
    let mut all = vec![
        ("1.0.185", "serve_words_and_question", and_ends(), vec![asks.clone(), text(no_such_tool)]),
        ("1.2.15", "serve_words_and_question", asked(), vec![asks.clone()]),
        ("1.3.2", "serve_words_and_question", asked(), vec![asks.clone()]),
        ("1.18.33", "serve_words_and_question", asked(), vec![asks]),
        ("1.0.185", "serve_bash_once", vec![bash(1), bash(2), say("Clean.")], vec![runs(1), runs(2), text("Clean.")]),
        ("1.0.185", "serve_bash_reject", vec![bash(1)], vec![runs(1)]),
        ("1.3.2", "serve_bash_reject", vec![bash(1)], vec![runs(1)]),
    ];
    let releases = ["1.0.185", "1.2.15", "1.3.2", "1.18.33"];
    all.extend(releases.map(rejected));
    all.extend(releases.map(allowed));
    all
}

/// A command that asks.
fn asking() -> Bash {
    Bash {
        command: String::new(),
        asks: Some("bash".to_owned()),
        does: Vec::new(),
        timeout: None,
        tool: BashTool::default(),
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
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../fake-agents/tests/golden/opencode-{version}/{file}.jsonl"));
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
