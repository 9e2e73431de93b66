//! What `rehang import`, `reproduce` and `tune` print of logs.
//!
//! Invariant: one word says how a log ended, and no more than the log shows.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The exit code, what came out, what was said beside it.
fn rehang(args: &[&str]) -> (Option<i32>, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_rehang")).args(args).stdin(Stdio::null()).output().expect("rehang");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

/// A server of a task's that was still running when the log stopped.
const SERVES: &str = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"i","type":"command_execution","command":"bash -lc 'npm run dev'","status":"in_progress"}}
"#;

fn json(args: &[&str]) -> (Option<i32>, Value) {
    let (code, out, err) = rehang(args);
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")))
}

#[test]
fn one_object_says_how_a_log_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = written(folder.path(), "serves.jsonl", SERVES);
    let (code, is) = json(&["import", &log, "--json"]);
    assert_eq!(code, Some(0), "{is}");
    assert_eq!(
        (&is["format"], &is["verdict"], &is["silent_ms"]),
        (&"codex".into(), &"ended-open".into(), &Value::Null)
    );
    assert_eq!((&is["mechanism"], &is["sure"]), (&"B5".into(), &"likely".into()));
    assert!(is["open"].to_string().contains("npm run dev"), "{is}");
    assert!(is["because"].to_string().contains("the log cannot tell"), "{is}");
    assert!(is["because"].to_string().contains("the log has no times"), "{is}");
    let (_, is) = json(&["import", &log, "--json", "--alive-after", "20m"]);
    assert_eq!((&is["verdict"], &is["silent_ms"]), (&"hung".into(), &1_200_000.into()));
    let (_, is) = json(&["import", &log, "--json", "--completed"]);
    assert_eq!((&is["verdict"], &is["mechanism"]), (&"completed".into(), &Value::Null));
}

#[test]
fn people_read_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = written(folder.path(), "serves.jsonl", SERVES);
    let (code, out, err) = rehang(&["import", &log]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("\nended-open\n") && err.contains("if it hung, it is B5"), "{err}");
    assert!(!err.contains("0 ms") && out.contains("If it hung: Codex runs a command"), "{err}{out}");
    let (_, _, err) = rehang(&["import", &log, "--hung"]);
    assert!(err.contains("\nhung\n") && err.contains("you say that it hung"), "{err}");
}

/// A log that hangs for a reason that it does not give.
const STILL: &str = "[10:00:00] agent: compiling\n[10:15:00] agent: no output for 900s, killing it\n";

#[test]
fn nothing_is_drafted_for_a_guess() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = written(folder.path(), "still.log", STILL);
    let file = folder.path().join("still.toml");
    let (code, out, err) = rehang(&["import", &log, "--out", &file.to_string_lossy()]);
    assert!(code == Some(0) && out.contains("hung") && out.contains("no scenario: "), "{out}{err}");
    assert!(!file.exists(), "a scenario was written");
    let (code, is) = json(&["import", &log, "--json"]);
    assert_eq!((code, &is["verdict"], &is["silent_ms"]), (Some(0), &"hung".into(), &900_000.into()));
    assert_eq!((&is["scenario"], &is["mechanism"]), (&Value::Null, &Value::Null));
    let (code, is) = json(&["import", &log, "--json", "--guess"]);
    assert!(code == Some(0) && is["scenario"].as_str().is_some_and(|text| text.contains("agent: compiling")), "{is}");
    let (code, _, err) = rehang(&["reproduce", &log]);
    assert!(code == Some(2) && err.contains("import --guess"), "{err}");
}

/// What a log says that it waits for is played with the step that the format has for it, and both arms do what they must.
#[test]
fn a_draft_waits_for_what_the_log_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let rpc = |id: u32, method: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{\"sessionId\":\"a\",\"title\":\"push\"}}}}\n"
        )
    };
    let bash = |line: &str| {
        format!(
            "{}\n{{\"type\":\"assistant\",\"message\":{{\"id\":\"m\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{{\"command\":\"{line}\"}}}}]}},\"session_id\":\"s\"}}\n",
            r#"{"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"claude_code_version":"2.0.77"}"#
        )
    };
    let silent = "{\"type\":\"user.message\",\"at\":\"2027-01-02T03:04:05Z\"}\n{\"type\":\"heartbeat\",\"at\":\"2027-01-02T03:24:05Z\"}\n";
    for (name, log, mechanism, step) in [
        ("server", "10:00:00 start\n10:00:01 MCP server db: connecting\n".to_owned(), "X1", "receive ="),
        ("log-in", "10:00:00 start\n10:00:01 Enter the code ABCD at https://x.example\n".to_owned(), "X4", "listen ="),
        ("lock", "10:00:00 start\n10:00:01 waiting for lock on the index\n".to_owned(), "R2", "take-lock ="),
        ("database", "10:00:00 start\n10:00:01 database is locked\n".to_owned(), "R1", "database = true"),
        ("fetch", "10:00:00 start\n10:00:01 checking for updates\n".to_owned(), "X6", "fetch ="),
        ("model", silent.to_owned(), "M1", "fetch ="),
        ("host", rpc(1, "session/prompt") + &rpc(2, "session/request_permission"), "P3", "read-stdin"),
        ("flock", bash("flock /tmp/x make"), "R2", "take-lock ="),
    ] {
        let log = written(folder.path(), name, &log);
        let (code, is) = json(&["import", &log, "--json"]);
        assert_eq!((code, &is["mechanism"], &is["does_the_same"]), (Some(0), &mechanism.into(), &true.into()), "{is}");
        assert!(is["scenario"].as_str().is_some_and(|text| text.contains(step)), "{is}");
    }
}

/// What a guess plays is not said to be played where nothing is.
#[test]
fn a_guess_is_called_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = written(folder.path(), "make.log", "10:00:00 making\n10:00:01 made a\n");
    let (code, out, err) = rehang(&["import", &log]);
    assert!(code == Some(0) && out.is_empty(), "{out}{err}");
    for says in [
        "taken        2 lines\n",
        "the guess would be B5 never-ending-foreground",
        "no scenario: the log gives no reason",
    ] {
        assert!(err.contains(says), "{says}: {err}");
    }
    assert!(!err.contains("played"), "{err}");
    let (_, out, err) = rehang(&["import", &log, "--guess"]);
    assert!(err.contains("it is played as B5") && out.contains("mechanism = \"B5\""), "{out}{err}");
}

#[test]
fn text_that_is_nobodys_log_is_bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = written(folder.path(), "plan.md", "# A plan\n\n- first\n\nShall I go on?\n");
    let (code, out, err) = rehang(&["import", &text]);
    assert!(code == Some(2) && out.is_empty(), "{out}{err}");
    assert!(err.contains("unreadable: nobody's log: no line of it has a time"), "{err}");
    let (code, is) = json(&["import", &text, "--json"]);
    assert_eq!((code, &is["verdict"], &is["format"]), (Some(2), &"unreadable".into(), &Value::Null));
    let (code, out, _) = rehang(&["import", "nothing.log", "--json"]);
    assert!(code == Some(2) && out.is_empty(), "a file that is not there is no log: {out}");
}

#[test]
fn what_is_reproduced_keeps_its_commands_words_and_the_scoreboards() {
    let folder = tempfile::tempdir().expect("a folder");
    let init = r#"{"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"claude_code_version":"2.0.77"}"#;
    let call = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"npm run dev"}}]},"session_id":"s"}"#;
    let log = written(folder.path(), "claude.jsonl", &format!("{init}\n{call}\n"));
    let (code, is) = json(&["reproduce", &log, "--hung", "--json"]);
    assert_eq!((code, &is["verdict"]), (Some(0), &"hung".into()), "{is}");
    assert!(is["scenario"].as_str().is_some_and(|text| text.contains("npm run dev")), "{is}");
    let scores: Vec<&str> =
        is["strategies"].as_array().expect("a list").iter().filter_map(|did| did["score"].as_str()).collect();
    assert!(scores.contains(&"stopped") && scores.contains(&"MISSED"), "{scores:?}");
}

#[test]
fn a_limit_is_not_fitted_to_hangs_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = written(folder.path(), "serves.jsonl", SERVES);
    let (code, out, err) =
        rehang(&["score", "--logs", &log, "--strategy", "idle@f54b32f", "--param", "timeout=5m,10m"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("no healthy log is among these") && !out.contains("harms nothing"), "{out}");
    assert!(out.contains("1 of these ended open"), "{out}");
}
