//! Claude Code: its transcript, which has every call of a tool and every result.
//!
//! Invariant: a call without a result is reported as a running tool and no more: whether a command runs is decided by
//! the reader of the process tree.

use super::{cut, folder, seen, tail};
use crate::data::{Agent, Process};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The most bytes of a transcript's end that are read.
const TRANSCRIPT_BYTES: u64 = 1 << 20;
/// The most transcripts of one project that are looked at.
const MAX_FILES: usize = 4096;

/// A file's time is that of the kernel's last tick, and a process's beginning is rounded too.
const CLOCKS_APART: Duration = Duration::from_secs(1);

/// Reads what Claude Code has written down.
pub fn read(process: &Process, agent: &mut Agent) {
    let Some((path, shown)) = transcript(process) else { return };
    let Some(bytes) = tail(&path, TRANSCRIPT_BYTES) else { return };
    agent.sources.push(shown);
    let (running, turn) = story(&String::from_utf8_lossy(&bytes));
    agent.running = running;
    agent.turn = turn.to_owned();
}

/// The newest transcript of the project in its working folder that was written since it began.
fn transcript(process: &Process) -> Option<(PathBuf, String)> {
    let home = folder(process, "CLAUDE_CONFIG_DIR")
        .or_else(|| folder(process, "HOME").map(|home| format!("{home}/.claude")))?;
    let slug: String = process.cwd.as_ref()?.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let projects = format!("{home}/projects/{slug}");
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let now = Duration::new(now.tv_sec.max(0) as u64, now.tv_nsec as u32);
    let age = now.checked_sub(Duration::from_nanos(process.began_ns))?;
    let began = SystemTime::now().checked_sub(age)?.checked_sub(CLOCKS_APART)?;
    let entries = std::fs::read_dir(seen(process, &projects)).ok()?.flatten().take(MAX_FILES);
    let written =
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl")).filter_map(|entry| {
            let when = entry.metadata().ok()?.modified().ok()?;
            (when >= began).then(|| (when, entry.path(), entry.file_name()))
        });
    let (_, path, name) = written.max_by_key(|(when, ..)| *when)?;
    Some((path, format!("{projects}/{}", name.to_string_lossy())))
}

/// The calls without a result since the last prompt, and whether the last turn is `open` or `ended`.
fn story(transcript: &str) -> (Vec<String>, &'static str) {
    let (mut running, mut turn): (Vec<(String, String)>, &str) = (Vec::new(), "");
    for line in transcript.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else { continue };
        let content = &entry["message"]["content"];
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let of = |kind: &str| blocks.iter().filter(move |block| block["type"] == kind).collect::<Vec<_>>();
        match entry["type"].as_str() {
            Some("user") => {
                let results = of("tool_result");
                running.retain(|(id, _)| !results.iter().any(|result| result["tool_use_id"] == id.as_str()));
                if results.is_empty() {
                    running.clear();
                }
                turn = "open";
            }
            Some("assistant") => {
                let calls = of("tool_use");
                turn = if calls.is_empty() && !of("text").is_empty() && running.is_empty() { "ended" } else { "open" };
                for call in calls {
                    running.push((call["id"].as_str().unwrap_or_default().to_owned(), said(call)));
                }
            }
            _ => {}
        }
    }
    (running.into_iter().map(|(_, what)| what).collect(), turn)
}

/// `Bash: touch x`, `AskUserQuestion: Which colour?`
fn said(call: &Value) -> String {
    let input = &call["input"];
    let known = [&input["command"], &input["questions"][0]["question"], &input["file_path"], &input["url"]];
    let what = known.iter().find_map(|value| value.as_str()).map_or_else(|| input.to_string(), str::to_owned);
    cut(&format!("{}: {what}", call["name"].as_str().unwrap_or("a tool")))
}

#[cfg(test)]
mod tests {
    use super::story;

    #[test]
    fn calls_without_results() {
        let prompt = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
        let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"touch x"}}]}}"#;
        let result =
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}"#;
        let done = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#;
        let told = |lines: &[&str]| story(&lines.join("\n"));
        assert_eq!(told(&[prompt]), (vec![], "open"));
        assert_eq!(told(&[prompt, call]), (vec!["Bash: touch x".to_owned()], "open"));
        assert_eq!(told(&[prompt, call, result]), (vec![], "open"));
        assert_eq!(told(&[prompt, call, result, done, "half a li"]), (vec![], "ended"));
        assert_eq!(told(&[prompt, call, prompt]), (vec![], "open"));
    }
}
