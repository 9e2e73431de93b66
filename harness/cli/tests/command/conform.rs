//! `rehang conform` with the agent of its crate's tests: what is printed, and the exit codes.
//!
//! Invariant: all runs are in virtual time, and no machine is so slow that it decides anything.

use std::process::{Command, Output};

fn rehang(args: &[&str], bug: &[&str]) -> Output {
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/../conform/tests/agent.py");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.arg("conform").args(args).args(["--within", "1h", "--", "python3", "-B", agent]).args(bug);
    command.env("NO_COLOR", "1").output().expect("rehang runs")
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn a_hang_is_3_and_says_who_owes_what() {
    let out = rehang(&["cancel/permission", "--timelines"], &["ignores-cancel-while-it-asks"]);
    let text = said(&out);
    let first = "without a fault: initialize 0ms, session/new 1m40s, session/prompt 2s, the second session/prompt 2s\n";
    assert!(text.starts_with(first), "{text}");
    for part in [
        "\nOWES        cancel/permission-open   owes the reply to session/prompt since the cancel at 1m40s,",
        "\n            where: python3 waits for its stdin (read)\n",
        "  client  session/cancel\n",
        "\n2 faults: 1 with a hang, 0 with a wrong reply or an early end, 0 waits for the client, 0 undecided, 0 not reached\n",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("cancel/permission "), "an agent that heeds `cancelled` has no line: {text}");
    assert_eq!(out.status.code(), Some(3), "{text}");
}

#[test]
fn what_is_right_is_0_and_what_is_wrong_is_1() {
    let out = rehang(&["cancel/", "permission/never", "--format", "json"], &[]);
    let rows: Vec<serde_json::Value> = said(&out).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let verdict = |name: &str| rows.iter().find(|row| row["fault"] == name).map(|row| row["verdict"].clone());
    assert_eq!(verdict("none"), Some("fine".into()));
    assert_eq!(verdict("cancel/permission"), Some("fine".into()));
    let waits = rows.iter().find(|row| row["fault"] == "permission/never").expect("a row");
    assert_eq!((&waits["verdict"], &waits["proved"]), (&"waits".into(), &true.into()));
    let owed: Vec<_> =
        waits["owed"].as_array().into_iter().flatten().map(|debt| (&debt["by"], &debt["method"])).collect();
    let both = [("agent", "session/prompt"), ("client", "session/request_permission")];
    assert_eq!(
        owed,
        both.map(|(by, method)| (by.into(), method.into())).iter().map(|(a, b)| (a, b)).collect::<Vec<_>>()
    );
    assert!(rows.last().is_some_and(|row| row["summary"]["not_tried"]["terminal-kill/*"].is_string()), "{rows:?}");
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));

    let out = rehang(&["cancel/permission", "--format", "junit"], &["error-on-cancel"]);
    let text = said(&out);
    assert!(text.contains("tests=\"3\"") && text.contains("failures=\"2\""), "{text}");
    assert!(text.contains("due is the stop reason `cancelled`"), "{text}");
    assert_eq!(out.status.code(), Some(1), "{text}");
}

#[test]
fn without_a_healthy_conversation_no_fault_is_tried() {
    let out = rehang(&[], &["not-ready"]);
    let text = said(&out);
    assert!(text.contains("no fault was tried: the healthy conversation has to work first"), "{text}");
    assert_eq!(out.status.code(), Some(3), "{text}");
    let out = rehang(&["cancle/"], &[]);
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(text.contains("no fault is called `cancle/`; did you mean `cancel/`?"), "{text}");
    assert_eq!(out.status.code(), Some(2));
    let text = said(&rehang(&["cancel/permission", "--list"], &[]));
    assert!(text.contains("cancel/permission-open") && !text.contains("close/idle"), "{text}");
    let text = said(&rehang(&["cancel/permission", "--list", "--format", "json"], &[]));
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(rows.iter().any(|row| row["fault"] == "cancel/permission-open"), "{text}");
    assert!(rows.last().is_some_and(|row| row["summary"]["not_tried"].is_object()), "{text}");
    let out = rehang(&["terminal-kill/never"], &[]);
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(text.contains("terminal-kill/* does not fit this agent: it never made such a request"), "{text}");
    // an agent that ends at once, whatever the filter names
    let out = Command::new(env!("CARGO_BIN_EXE_rehang")).args(["conform", "permission/", "--", "false"]).output();
    let out = out.expect("rehang runs");
    assert!(said(&out).contains("DIED        none                     ends with 1 at 0ms"), "{}", said(&out));
    assert_eq!(out.status.code(), Some(1));
}

#[test]
fn what_an_agent_logs_on_stdout_is_wrong_and_no_terminal_obeys_it() {
    let out = rehang(&["cancel/idle", "--timelines", "--format", "json"], &["talks-on-stdout"]);
    let text = said(&out);
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    let row: serde_json::Value = serde_json::from_str(text.lines().nth(1).expect("a row")).expect("JSON");
    assert_eq!(row["verdict"], "wrong");
    assert!(row["events"].to_string().contains("cancelled \\u001b[31m\u{9b}31m\u{202e}"), "{row}");
    let said = row["text"].as_str().unwrap_or_default();
    assert!(said.starts_with("writes to stdout what is no message: cancelled"), "{said}");
    assert_eq!(out.status.code(), Some(1));
}
