//! Claude Code as a client of the Claude Agent SDK drives it, the fake's against recordings of the releases.
//!
//! Each file of tests/golden/claude-sdk-VERSION is what a client wrote to a release (`IN`) and what the release wrote (`OUT`),
//! line by line, in virtual time, while its model said what the test's plan says (`tests/clients/record_claude_sdk.py`). A file
//! without an `EXIT` is of a release that was still there when the recording ended. What is compared is what
//! [`rehang_drift::claude`] compares.

use crate::golden::{files, read, root, stem};
use rehang_drift::session::Setup;
use rehang_drift::streams::{self, Ends};
use rehang_scenario::{Fault, Terminal, turns::Turn};
use serde_json::{Value, json};
use std::path::Path;

const VERSIONS: [&str; 2] = ["2.0.77", "2.1.329"];

/// The recordings that the fake does not play the same, and why.
const DIFFERENT: [(&str, &str, &str); 11] = [
    ("2.1.329", "both-reversed", EARLY),
    ("2.1.329", "both-second", EARLY),
    ("2.1.329", "both-interrupt", EARLY),
    (
        "2.1.329",
        "holds-second",
        "the end of the command's task is reported after its result, and before it in the fake",
    ),
    (
        "2.1.329",
        "prompt-never",
        "at the limit of the callback the release also says how long it has run (`tool_progress`)",
    ),
    ("2.1.329", "prompt-interrupt", "the result has an error of its own, and counts no turn"),
    ("2.1.329", "server-eof", "the fake does not say that the call was interrupted (`non_execution_kind`)"),
    ("2.0.77", "text-interrupt", BEGUN),
    ("2.1.329", "text-interrupt", BEGUN),
    ("2.0.77", "holds-twice", KILLED),
    ("2.1.329", "holds-twice", KILLED),
];
const EARLY: &str = "the release asks about a call as soon as it has come, before the next one";
const BEGUN: &str = "the release answers an interrupt that comes with the prompt before it says that the turn begins";
const KILLED: &str =
    "the release answers two interrupts at once before the command has ended; the fake's ends with the first";

#[test]
fn every_recorded_exchange_is_played_the_same() {
    let (mut wrong, mut played) = (Vec::new(), 0);
    for version in VERSIONS {
        for file in files(&format!("claude-sdk-{version}")) {
            played += 1;
            let known = DIFFERENT.iter().find(|(of, name, _)| *of == version && *name == stem(&file));
            match (known, difference(version, &file, |_| {})) {
                (Some((.., why)), None) => wrong.push(format!("{version}/{}: played the same now: {why}", stem(&file))),
                (Some(_), Some(_)) => {}
                (None, difference) => wrong.extend(difference),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {played}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(played, 154, "recordings were added or lost");
}

fn difference(version: &str, file: &Path, change: impl Fn(&mut Value)) -> Option<String> {
    let name = stem(file);
    let mut lines = streams::read(&std::fs::read_to_string(file).expect("a recording")).expect("lines");
    lines.iter_mut().filter(|line| !line.sent).for_each(|line| change(&mut line.message));
    let exit = read(file).iter().find(|line| line.dir == "EXIT").and_then(|line| line.message.as_u64());
    let ends = match exit {
        Some(code) => Ends::Exit(u8::try_from(code).expect("a code")),
        None => Ends::Hangs(hangs_on(&name).to_owned()),
    };
    let compared = streams::compare(setup(version, &name), &lines, None, &ends);
    compared.differences.first().map(|difference| format!("{version}/{name}, {difference}"))
}

/// What a release that does not end waits for.
fn hangs_on(name: &str) -> &'static str {
    match name {
        "server-shape" | "server-never" => "tool",
        "ask-never" => "question",
        _ => "message",
    }
}

fn setup(version: &str, name: &str) -> Setup {
    let (kind, act) = name.split_once('-').unwrap_or((name, ""));
    let mut args =
        "--output-format stream-json --verbose --input-format stream-json --permission-prompt-tool stdio".to_owned();
    if matches!(kind, "holds" | "server") {
        args.push_str(" --permission-mode bypassPermissions");
    }
    if kind == "server" && act != "sdk" {
        args.push_str(r#" --mcp-config {"mcpServers":{"client":{"type":"sdk","name":"client"}}}"#);
    }
    let bash = |does: Value| json!({"bash": {"command": "step1", "asks": "bash", "does": does}});
    let ask = |of: &str| json!({"ask": [{"question": format!("Which {of}?"), "header": "Question", "options": [{"label": "sqlite"}, {"label": "postgres"}]}]});
    let (told, installs) = (json!({"say": "Told: {answer}"}), json!([{"print": "installed"}]));
    let more = [json!({"finish": "stop"}), json!({"say": "Again."})];
    let turns = match kind {
        "text" => json!([{"say": "All is well."}]),
        "two" => json!([{"say": "All is well."}, {"finish": "stop"}, {"say": "All is still well."}]),
        "holds" => json!([bash(json!(["hold"])), told, more[0], more[1]]),
        "ask" => json!([ask("database"), told]),
        "both" => json!([{"together": [ask("database"), ask("port")]}, told]),
        "stall" => json!([{"say": "Half of "}, {"say": "it."}]),
        "server" => json!([{"permit": {"tool": "mcp__client__client_tool", "permission": "client"}}, told]),
        _ if name == "permission-second" => json!([bash(installs), told, more[0], more[1]]),
        _ => json!([bash(installs), told]),
    };
    let turns: Vec<Turn> = serde_json::from_value(turns).expect("turns");
    let mut setup = Setup::new(version, &args, turns, Terminal::Pipe);
    if kind == "stall" {
        let stall = json!({"model": {"response": 1, "after": 1, "does": "stall"}});
        setup.faults.push(serde_json::from_value::<Fault>(stall).expect("a fault"));
    }
    setup
}

#[test]
fn a_changed_recording_is_noticed() {
    for (version, name, from, to) in [
        ("2.0.77", "server-ok", "tools/list", "tools/lists"),
        ("2.0.77", "permission-second", "system-reminder", "reminder"),
        ("2.0.77", "text-init", "Already initialized", "initialized"),
        ("2.0.77", "post-interrupt", "\"is_error\":false", "\"is_error\":true"),
        ("2.1.329", "server-list", "\"connected\"", "\"pending\""),
        ("2.1.329", "server-interrupt", "remote-cancel", "cancel"),
        ("2.1.329", "permission-mode", "bypass_not_launched", "invalid_mode"),
    ] {
        let file = root().join(format!("claude-sdk-{version}/{name}.jsonl"));
        let change = |message: &mut Value| {
            *message = serde_json::from_str(&message.to_string().replace(from, to)).expect("it stays JSON");
        };
        assert!(difference(version, &file, change).is_some(), "not noticed in {version} {name}: {from}");
    }
}
