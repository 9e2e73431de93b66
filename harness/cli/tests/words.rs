//! What a user is told who gives `reproduce`, `shrink`, `import` and `why` what they cannot use.
//!
//! Invariant: it is a usage error with its reason, said once, and nothing of the user's is overwritten.

use std::path::Path;
use std::process::{Command, Stdio};

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn rehang(args: &[&str]) -> Said {
    let out = Command::new(env!("CARGO_BIN_EXE_rehang")).args(args).stdin(Stdio::null()).output().expect("rehang");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

/// A scenario of a server whose question nobody answers.
const ASKS: &str = r#"title = "Asks"
mechanism = "Q1"
agent = { opencode = { as = "1.2.15", mode = "serve" } }
terminals = ["null"]
turns = [{ say = "Looking." }, { ask = [{ question = "Which?", options = [{ label = "A" }, { label = "B" }] }] }]

[[expect]]
outcome = { hung = "question" }
"#;

fn written(folder: &Path, name: &str, text: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_strategy_without_a_seat_is_the_users_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "asks.toml", ASKS.as_bytes());
    for command in ["shrink", "reproduce"] {
        let said = rehang(&[command, &file, "--strategy", "idle@f54b32f"]);
        assert!(said.code == Some(2) && said.err.contains("it needs a process"), "{command}: {}", said.err);
        let broken = written(folder.path(), "broken.toml", b"title = \"T\"\nagent = { opencode = {} }\n");
        let said = rehang(&[command, &broken]);
        assert!(said.code == Some(2) && said.err.contains("`mechanism` is missing"), "{command}: {}", said.err);
        assert_eq!(said.err.matches("error:").count(), 1, "{command}: {}", said.err);
    }
}

#[test]
fn what_is_reproduced_is_reached_by_the_same_strategies() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "asks.toml", ASKS.as_bytes());
    let said = rehang(&["reproduce", &file, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&said.out).expect(&said.err);
    let names: Vec<&str> =
        report["strategies"].as_array().expect("a list").iter().filter_map(|did| did["strategy"].as_str()).collect();
    assert!(names.contains(&"watcher@pr3") && names.contains(&"pending-ask"), "{names:?}");
    assert!(!names.contains(&"wall"), "{names:?}");
    let scenario = report["scenario"].as_str().expect("a file");
    assert!(scenario.contains("mode = \"serve\"") && !scenario.contains("about"), "{scenario}");
}
