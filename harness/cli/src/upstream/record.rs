//! What went over a cell's wires, as a recording in the form of the golden ones: from it a fake's fidelity test is fed.
//!
//! Invariant: a recording holds no real id, instant or folder, and no list of the vendor's own wares.

use rehang_drift::mask::Mask;
use rehang_live::{Report, Via, sandbox};
use rehang_scenario::{Agent, Client};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The recording of a cell, masked: one JSON object a line. `{t, dir, msg}` of what went over standard streams,
/// `{t, kind, …}` of what went between a server and its client; `t` in seconds from the agent's start.
pub fn recording(agent: &Agent, report: &Report) -> Vec<Value> {
    // The golden recordings call the folder so, and the comparisons with them.
    let project = if matches!(agent, Agent::Claude(_)) { "/home/agent/project" } else { "/home/agent/proj" };
    let mut folders = vec![(sandbox::CWD, project), (sandbox::HOME, "/home/agent")];
    if !matches!(agent, Agent::Claude(_)) {
        // 1.18.33 tells a session's folder from the root on, too.
        folders.push((sandbox::CWD.trim_start_matches('/'), project));
    }
    let mut mask = Mask::new(&folders);
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::from(text));
    let mut lines = Vec::new();
    for line in &report.lines {
        let message = mask.value(&json(&line.text));
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
            Via::Screen | Via::Model | Via::Person => continue,
        });
    }
    if let Agent::Opencode(opencode) = agent
        && opencode.client == Client::Post
    {
        with_the_prompt(&mut lines);
    }
    lines
}

/// A request is recorded when it is answered. A prompt's that never was is put where it was sent, with status 0.
fn with_the_prompt(lines: &mut Vec<Value>) {
    let posts = |line: &Value, end: &str| {
        line["method"] == "POST" && line["path"].as_str().is_some_and(|path| path.ends_with(end))
    };
    let Some(made) = lines.iter().position(|line| posts(line, "/session")) else { return };
    if lines.iter().any(|line| posts(line, "/message")) {
        return;
    }
    let Some(session) = lines[made]["response"]["id"].as_str() else { return };
    let body = json!({ "parts": [{ "type": "text", "text": rehang_live::PROMPT }] });
    let path = format!("/session/{session}/message");
    let sent = json!({ "t": lines[made]["t"], "kind": "rest", "method": "POST", "path": path, "body": body,
        "status": 0, "response": null });
    lines.insert(made + 1, sent);
}

/// Writes a recording to `DIR/AGENT-VERSION/SCENARIO-TERMINAL.jsonl`; where it was written.
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
