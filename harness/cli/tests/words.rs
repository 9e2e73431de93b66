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

#[test]
fn what_is_no_log_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes: Vec<u8> = (0..3_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let noise = written(folder.path(), "noise", &bytes);
    let scenario = written(folder.path(), "asks.toml", ASKS.as_bytes());
    for (file, why) in [(&noise, "--format"), (&scenario, "rehang run --scenarios")] {
        let said = rehang(&["import", file]);
        assert!(said.code == Some(2) && said.err.contains(why) && said.out.is_empty(), "{file}: {}", said.err);
    }
}

#[test]
fn the_end_of_a_typescript_is_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for (code, end) in [(0, "completed"), (3, "failed")] {
        let text = format!(
            "Script started on 2026-01-02 03:04:05+00:00 [COMMAND=\"make\" TERM=\"xterm\"]\nmade\r\n\nScript done on 2026-01-02 03:04:06+00:00 [COMMAND_EXIT_CODE=\"{code}\"]\n"
        );
        let said = rehang(&["import", "--json", &written(folder.path(), "typescript", text.as_bytes())]);
        let report: serde_json::Value = serde_json::from_str(&said.out).expect(&said.err);
        assert_eq!((said.code, &report["end"]), (Some(0), &serde_json::json!(end)), "{report:#}");
        assert!(!report["scenario"].to_string().contains("Script"), "{}", report["scenario"]);
    }
}

#[test]
fn a_file_that_exists_is_not_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = written(folder.path(), "log", b"0.5\tmaking\n");
    let mine = written(folder.path(), "mine.toml", b"mine");
    let said = rehang(&["import", &log, "--out", &mine]);
    assert!(said.code == Some(2) && said.err.contains("exists; name a new file"), "{}", said.err);
    assert_eq!(std::fs::read(&mine).expect("a file"), b"mine");
    let fresh = folder.path().join("fresh.toml");
    assert_eq!(rehang(&["import", &log, "--out", &fresh.to_string_lossy()]).code, Some(0));
    assert!(fresh.is_file());
}

#[test]
fn one_process_that_is_gone_does_not_hide_the_others() {
    let own = std::process::id().to_string();
    let said = rehang(&["why", &own, "999999999", "--window", "1ms", "--json"]);
    assert!(said.err.contains("there is no process 999999999"), "{}", said.err);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    assert!(said.code >= Some(2), "{:?}", said.code);
    let none = rehang(&["why", "999999999", "--window", "1ms"]);
    assert!(none.code == Some(2) && none.out.is_empty(), "{}", none.out);
}
