//! What went over a cell's wires, as a recording in the form of the golden ones: a fake's fidelity test reads it.
//!
//! Invariant: a recording holds no real id, instant or folder, and no list of the vendor's own products.

use rehang_drift::mask::Mask;
use rehang_live::{Exit, Report, Via, sandbox};
use rehang_scenario::Client;
use rehang_scenario::agents::OPENCODE;
use rehang_wire::opencode::{Prompt, Route};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The recording of a cell of this agent (its word), driven by this client where it serves, masked: one JSON object a line. `{t, dir, msg}` of what went over standard streams,
/// `{t, kind, …}` of what went between a server and its client; `t` in seconds from the agent's start. A line of a stream
/// that is no message stays text. Where `dir` is `MODEL`, the agent asked for the response `msg` of its script: the waits
/// between the tries of a request are seen in nothing else; `prompt` is what it says there in its user's name. Where `dir` is
/// `SIGNAL`, it was sent that signal. Last, `dir` is `EXIT` and `msg` the code or the signal, if the agent of the streams ended;
/// and `LEFT`, where that was looked for, has its commands that go on after its end.
pub fn recording(agent: &str, client: Option<Client>, report: &Report, counts_left: bool) -> Vec<Value> {
    // The golden recordings use these names for the folder, and so do the comparisons with them.
    let is_opencode = agent == OPENCODE.word;
    let project = if is_opencode { "/home/agent/proj" } else { "/home/agent/project" };
    let mut folders = vec![(sandbox::CWD, project), (sandbox::HOME, "/home/agent")];
    if is_opencode {
        // 1.18.33 also gives a session's folder as a path from the root.
        folders.push((sandbox::CWD.trim_start_matches('/'), project));
    }
    let mut mask = Mask::new(&folders);
    let mut lines = Vec::new();
    for line in &report.lines {
        let message = mask.value(&rehang_drift::message(&line.text));
        let t = json!(line.ms as f64 / 1_000.0);
        lines.push(match line.via {
            Via::Stdin => json!({ "t": t, "dir": "IN", "msg": message }),
            Via::Stdout => json!({ "t": t, "dir": "OUT", "msg": message }),
            Via::Stderr => json!({ "t": t, "dir": "ERR", "msg": message }),
            Via::Event => json!({ "t": t, "kind": "sse:event", "ev": message }),
            Via::Http => {
                let mut rest = json!({ "t": t, "kind": "rest" });
                if let (Value::Object(rest), Value::Object(fields)) = (&mut rest, message) {
                    rest.extend(fields);
                }
                rest
            }
            Via::Model => match asked(&line.text) {
                Some((response, prompt)) => {
                    let mut line = json!({ "t": t, "dir": "MODEL", "msg": response });
                    if prompt.is_string() {
                        line["prompt"] = mask.value(&prompt);
                    }
                    line
                }
                None => continue,
            },
            Via::Tools => json!({ "t": t, "dir": "TOOLS", "msg": message }),
            Via::Signal => json!({ "t": t, "dir": "SIGNAL", "msg": message }),
            Via::Screen | Via::Person => continue,
        });
    }
    let serves = report.lines.iter().any(|line| matches!(line.via, Via::Event | Via::Http));
    if let (false, Some(exit)) = (serves, report.exit) {
        let t = (report.startup_ms.unwrap_or_default() + report.ms) as f64 / 1_000.0;
        let how = match exit {
            Exit::Code(code) => json!(code),
            Exit::Signal(number) => json!(format!("signal {number}")),
        };
        lines.push(json!({ "t": t, "dir": "EXIT", "msg": how }));
        if counts_left {
            lines.push(json!({ "t": t, "dir": "LEFT", "msg": commands_left(report) }));
        }
    }
    if serves && client == Some(Client::Post) {
        with_the_prompt(&mut lines);
    }
    lines
}

/// The commands of the agent's tools that go on after its end, by their names in the sandbox.
fn commands_left(report: &Report) -> Vec<String> {
    let name = |command: &str| {
        let (program, name) = (command.split(' ').next()?, command.rsplit_once(" -- ")?.1);
        program.ends_with("/fake-tool").then(|| name.to_owned())
    };
    let mut all: Vec<String> = report.processes.iter().filter_map(|process| name(&process.command)).collect();
    all.sort();
    all
}

/// The response of the script that a main request of the agent asks for, if this line of the model server is one; and what
/// the agent says there in its user's name.
pub(crate) fn asked(line: &str) -> Option<(Value, Value)> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    let (path, prompt) = (line["request"]["path"].take(), line["request"]["prompt"].take());
    path.is_string().then_some((path, prompt))
}

/// A request is recorded when it is answered. A prompt's request that was never answered is put where it was sent, with
/// status 0.
fn with_the_prompt(lines: &mut Vec<Value>) {
    let posts = |line: &Value, end: &str| {
        line["method"] == "POST" && line["path"].as_str().is_some_and(|path| path.ends_with(end))
    };
    let Some(made) = lines.iter().position(|line| posts(line, "/session")) else { return };
    if lines.iter().any(|line| posts(line, "/message")) {
        return;
    }
    let Some(session) = lines[made]["response"]["id"].as_str() else { return };
    let body = Prompt::new(rehang_actors::PROMPT).body();
    let (method, path) = Route::Prompt { session, waits: true }.sent();
    let sent = json!({ "t": lines[made]["t"], "kind": "rest", "method": method, "path": path, "body": body,
        "status": 0, "response": null });
    lines.insert(made + 1, sent);
}

/// Writes a recording to `DIR/AGENT-VERSION/SCENARIO-TERMINAL.jsonl`; returns where it was written.
///
/// # Errors
/// The folder or the file.
pub fn write(folder: &Path, release: &str, name: &str, lines: &[Value]) -> std::io::Result<PathBuf> {
    let folder = folder.join(release);
    std::fs::create_dir_all(&folder)?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') { c } else { '-' };
    let path = folder.join(format!("{}.jsonl", name.chars().map(plain).collect::<String>()));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_live::{Evidence, Line, Outcome};

    fn report(lines: &[(u64, Via, &str)]) -> Report {
        let line = |(ms, via, text): &(u64, Via, &str)| Line { ms: *ms, via: *via, text: (*text).to_owned() };
        Report {
            outcome: Outcome::Completed,
            evidence: Evidence::Exited,
            exit: None,
            ms: 0,
            startup_ms: None,
            told: Vec::new(),
            requests: rehang_live::Requests::default(),
            asks: Vec::new(),
            last_progress: None,
            processes: Vec::new(),
            hot_loop: false,
            problems: Vec::new(),
            links: Vec::new(),
            lines: lines.iter().map(line).collect(),
            lines_left_out: 0,
            routes: None,
            virtual_time: None,
        }
    }

    #[test]
    fn streams_keep_their_order_and_lose_what_is_of_the_machine() {
        let said = format!(
            r#"{{"cwd":"{}","home":"{}/.claude","session_id":"dc52d07a-d36c-42e4-9df7-fe98665bf8fd","pid":4711,"agents":["Explore"]}}"#,
            sandbox::CWD,
            sandbox::HOME
        );
        let mut report = report(&[
            (0, Via::Stdin, r#"{"type":"user"}"#),
            (12, Via::Model, "the model's side is no part of it"),
            (13, Via::Model, r#"{"n":1,"request":{"path":"main/1","response":1,"told":[]},"target":"/v1/messages"}"#),
            (14, Via::Model, r#"{"n":2,"request":{"side":"title"},"target":"/v1/messages"}"#),
            (1_500, Via::Stdout, &said),
            (1_600, Via::Stderr, "not JSON"),
            (1_650, Via::Stdout, "4"),
            (1_660, Via::Stdout, "null"),
            (1_700, Via::Person, "a person"),
            (1_800, Via::Stdin, "<close>"),
        ]);
        (report.exit, report.startup_ms, report.ms) = (Some(Exit::Code(3)), Some(500), 1_500);
        assert_eq!(
            recording("claude", None, &report, false),
            [
                json!({"t": 0.0, "dir": "IN", "msg": {"type": "user"}}),
                json!({"t": 0.013, "dir": "MODEL", "msg": "main/1"}),
                json!({"t": 1.5, "dir": "OUT", "msg": {
                    "cwd": "/home/agent/project", "home": "/home/agent/.claude",
                    "session_id": "00000000-0000-4000-8000-000000000001", "pid": 1, "agents": [],
                }}),
                json!({"t": 1.6, "dir": "ERR", "msg": "not JSON"}),
                json!({"t": 1.65, "dir": "OUT", "msg": "4"}),
                json!({"t": 1.66, "dir": "OUT", "msg": "null"}),
                json!({"t": 1.8, "dir": "IN", "msg": "<close>"}),
                json!({"t": 2.0, "dir": "EXIT", "msg": 3}),
            ]
        );
    }

    #[test]
    fn a_prompt_that_was_never_answered_stands_where_it_was_sent() {
        let made = r#"{"method":"POST","path":"/session","body":{},"status":200,"response":{"id":"ses_e0713b32cffe5hTDP3rJZOKgMt"}}"#;
        let asked = r#"{"type":"question.asked","properties":{"sessionID":"ses_e0713b32cffe5hTDP3rJZOKgMt"}}"#;
        let lines =
            recording("opencode", Some(Client::Post), &report(&[(1, Via::Http, made), (2, Via::Event, asked)]), false);
        let paths: Vec<&Value> = lines.iter().map(|line| &line["path"]).collect();
        assert_eq!(paths, [&json!("/session"), &json!("/session/ses_000001/message"), &Value::Null]);
        assert_eq!((&lines[1]["status"], &lines[1]["response"]), (&json!(0), &Value::Null));
        assert_eq!(lines[2]["ev"]["properties"]["sessionID"], "ses_000001");
    }

    #[test]
    fn a_recordings_name_is_plain() {
        let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let path = write(folder.path(), "claude-2.0.77", "claude/ask-host[deny]-pipe", &[json!({"t": 0.0})])
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(path, folder.path().join("claude-2.0.77/claude-ask-host-deny--pipe.jsonl"));
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), "{\"t\":0.0}\n");
    }
}
