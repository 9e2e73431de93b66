//! A reader that stops reading: every command has the exit code that it would have had.
//!
//! Invariant: of each command that prints, one call is in the table; the pipe is closed before the command begins.

use std::path::Path;
use std::process::{Command, Output, Stdio};

const ASKS: &str = include_str!("../../../../scenarios/question/row-diff.toml");

/// Calls that print, in a folder with `bad.toml`, `asks.toml`, `log.jsonl`, `t.ndjson`; `PID` is a process that waits.
const CALLS: [&[&str]; 18] = [
    &["check", "bad.toml"],
    &["check", "asks.toml"],
    &["run", "asks.toml", "--stage", "sim", "--strategy", "none"],
    &["list", "asks.toml"],
    &["list", "--files"],
    &["list", "--strategies"],
    &["show", "asks.toml", "--stage", "sim", "--strategy", "none"],
    &["score", "asks.toml", "--strategy", "none"],
    &["path", "question/row-diff", "--dir", "bin"],
    &["wrapper", "--list", "benign/text", "--", "sh", "-c", "claude -p go"],
    &["import", "--guess", "log.jsonl"],
    &["show", "--replay", "t.ndjson"],
    &["explain"],
    &["explain", "Q1"],
    &["check", "--schema"],
    &["completions", "bash"],
    &["man"],
    &["why", "PID", "--window", "10ms"],
];

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).env("REHANG_CACHE", folder.join("cache"));
    command.env("NO_COLOR", "1").env_remove("CI").args(args).current_dir(folder).stdin(Stdio::null());
    command
}

fn closed(mut command: Command) -> Output {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    command.stdout(writer).stderr(Stdio::piped()).output().expect("rehang runs")
}

#[test]
fn a_closed_stdout_changes_no_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let write = |name: &str, text: &[u8]| std::fs::write(folder.join(name), text).expect("a file");
    write("bad.toml", b"titel = 1\n");
    write("asks.toml", ASKS.as_bytes());
    write("log.jsonl", b"{\"type\":\"system\",\"subtype\":\"init\",\"claude_code_version\":\"2.0.77\",\"tools\":[],\"session_id\":\"s\"}\n");
    let trace = ["show", "--trace", "--stage", "sim", "--exact", "question/row-diff::none::null::1"];
    write("t.ndjson", &command(folder, &trace).output().expect("rehang runs").stdout);
    let mut waits = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("sleep is there");
    let pid = waits.id().to_string();
    let (mut wrong, mut codes) = (Vec::new(), std::collections::BTreeSet::new());
    for call in CALLS {
        let args: Vec<&str> = call.iter().map(|word| if *word == "PID" { pid.as_str() } else { word }).collect();
        let read = command(folder, &args).output().expect("rehang runs");
        assert!(!read.stdout.is_empty(), "{args:?} prints nothing: {}", String::from_utf8_lossy(&read.stderr));
        let unread = closed(command(folder, &args));
        codes.insert(read.status.code());
        if unread.status.code() != read.status.code() {
            wrong.push(format!("{args:?}: {:?} and {:?}", read.status, unread.status));
        }
    }
    waits.kill().and_then(|()| waits.wait()).expect("it is ours");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(codes.len() > 1, "no call of the table fails");
}
