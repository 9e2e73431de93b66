//! Claude Code: its transcript, which has every call of a tool and every result.
//!
//! Invariant: a call without a result is reported as a running tool and no more: whether a command runs is decided by
//! the reader of the process tree.

use super::{Reach, cut, folder, own, tail};
use crate::data::{Agent, Process};
use rehang_words::text::visible;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// The most bytes of a transcript's end that are read.
const TRANSCRIPT_BYTES: u64 = 1 << 20;
/// The most transcripts of one project that are looked at.
const MAX_FILES: usize = 4096;

/// The most calls without a result that are kept.
const MAX_CALLS: usize = 4096;

/// A file's time is that of the kernel's last tick, and a process's beginning is rounded too.
const CLOCKS_APART: Duration = Duration::from_secs(1);

/// Reads what Claude Code has written down.
pub fn read(process: &Process, reach: &Reach, agent: &mut Agent) {
    let Some(path) = transcript(process, reach) else { return };
    let Some(bytes) = tail(process, &path, TRANSCRIPT_BYTES, reach) else { return };
    agent.sources.push(visible(&path));
    let (running, turn) = story(&String::from_utf8_lossy(&bytes));
    agent.running = running;
    agent.turn = turn;
}

/// The newest transcript of the project in its working folder that was written since it began.
fn transcript(process: &Process, reach: &Reach) -> Option<String> {
    let home = folder(process, "CLAUDE_CONFIG_DIR")
        .or_else(|| folder(process, "HOME").map(|home| format!("{home}/.claude")))?;
    let slug: String = process.cwd.as_ref()?.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let projects = format!("{home}/projects/{slug}");
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let now = Duration::new(now.tv_sec.max(0) as u64, now.tv_nsec as u32);
    let age = now.checked_sub(Duration::from_nanos(process.began_ns))?;
    let began = SystemTime::now().checked_sub(age)?.checked_sub(CLOCKS_APART)?;
    let folder = reach.mounts.walk(process.pid, &projects).ok()?;
    let entries = std::fs::read_dir(own(&folder)).ok()?.flatten().take(MAX_FILES);
    let transcripts = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"));
    let written = transcripts.filter_map(|entry| {
        let path = format!("{projects}/{}", entry.file_name().to_str()?);
        // one of them could be a mount of its own
        let file = reach.mounts.walk(process.pid, &path).ok()?;
        let when = std::fs::metadata(own(&file)).ok()?.modified().ok()?;
        (when >= began).then_some((when, path))
    });
    written.max_by_key(|(when, _)| *when).map(|(_, path)| path)
}

/// The calls without a result since the last prompt, and whether the last turn is `open` or `ended`.
fn story(transcript: &str) -> (Vec<String>, String) {
    let mut story = Story::default();
    for entry in transcript.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        story.wrote(&entry);
    }
    story.told()
}

/// What the messages of a session say: of its transcript, or of its stream on stdout.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// The calls without a result since the last prompt: ids and words.
    running: Vec<(String, String)>,
    turn: &'static str,
}

impl Story {
    /// The calls without a result, in words, and whether the last turn is `open` or `ended`; empty if nothing was said.
    pub fn told(&self) -> (Vec<String>, String) {
        (self.running.iter().map(|(_, what)| what.clone()).collect(), self.turn.to_owned())
    }

    /// A message of the stream on stdout, which has a `result` at the end of each turn.
    pub fn said(&mut self, message: &Value) {
        match message["type"].as_str() {
            // what a subagent says is not the agent's
            _ if message["parent_tool_use_id"].is_string() => {}
            Some("result") => {
                self.running.clear();
                self.turn = "ended";
            }
            Some("assistant" | "user") => {
                self.wrote(message);
                self.turn = "open";
            }
            _ => {}
        }
    }

    /// An entry of the transcript, which has no message for the end of a turn.
    fn wrote(&mut self, entry: &Value) {
        let content = &entry["message"]["content"];
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let of = |kind: &str| blocks.iter().filter(move |block| block["type"] == kind).collect::<Vec<_>>();
        match entry["type"].as_str() {
            Some("user") => {
                let results = of("tool_result");
                self.running.retain(|(id, _)| !results.iter().any(|result| result["tool_use_id"] == id.as_str()));
                if results.is_empty() {
                    self.running.clear();
                }
                self.turn = "open";
            }
            Some("assistant") => {
                let calls = of("tool_use");
                let is_over = calls.is_empty() && !of("text").is_empty() && self.running.is_empty();
                self.turn = if is_over { "ended" } else { "open" };
                for call in calls.into_iter().take(MAX_CALLS.saturating_sub(self.running.len())) {
                    self.running.push((call["id"].as_str().unwrap_or_default().to_owned(), said(call)));
                }
            }
            _ => {}
        }
    }
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
    use super::*;
    use crate::read::now_ns;
    use crate::read::staged::Staged;
    use std::path::Path;
    use std::process::{Command, Stdio};

    const PROMPT: &str = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
    const CALL: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"touch x"}}]}}"#;
    const DONE: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#;

    #[test]
    fn calls_without_results() {
        let result = |id: &str| {
            format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}}}}"#
            )
        };
        let (result, other) = (result("t1"), result("t2"));
        let mixed = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/x"}}]}}"#;
        let thinks = r#"{"type":"assistant","message":{"content":[{"type":"thinking"}]}}"#;
        let told = |lines: &[&str]| {
            let (running, turn) = story(&lines.join("\n"));
            format!("{turn} {}", running.join(", "))
        };
        assert_eq!(told(&[]), " ");
        assert_eq!(told(&[PROMPT]), "open ");
        assert_eq!(told(&[PROMPT, CALL]), "open Bash: touch x");
        assert_eq!(told(&[PROMPT, CALL, &other]), "open Bash: touch x");
        assert_eq!(told(&[PROMPT, CALL, &result]), "open ");
        assert_eq!(told(&[PROMPT, CALL, &result, DONE, "half a li"]), "ended ");
        assert_eq!(told(&[PROMPT, CALL, DONE]), "open Bash: touch x");
        assert_eq!(told(&[PROMPT, CALL, PROMPT]), "open ");
        assert_eq!(told(&[PROMPT, DONE, PROMPT]), "open ");
        assert_eq!(told(&[PROMPT, mixed]), "open Read: /x");
        assert_eq!(told(&[PROMPT, thinks]), "open ");
        assert_eq!(told(&[PROMPT, DONE, r#"{"type":"summary"}"#]), "ended ");
        assert_eq!(told(&[r#"{"type":"assistant","message":{"content":"words"}}"#]), "open ");
    }

    #[test]
    fn what_a_call_is_about() {
        let about = |call: &str| said(&serde_json::from_str(call).unwrap());
        assert_eq!(
            about(r#"{"name":"AskUserQuestion","input":{"questions":[{"question":"Which?"}]}}"#),
            "AskUserQuestion: Which?"
        );
        assert_eq!(about(r#"{"name":"WebFetch","input":{"url":"http://x"}}"#), "WebFetch: http://x");
        assert_eq!(about(r#"{"input":{"a":1}}"#), r#"a tool: {"a":1}"#);
    }

    /// The newest transcript that was written since the process began, of the project in its working folder.
    #[test]
    fn the_transcript_of_a_process() {
        let home = tempfile::tempdir().unwrap();
        let started = |name: &str, value: &Path| {
            Staged::start(Command::new("cat").stdin(Stdio::piped()).env_remove("CLAUDE_CONFIG_DIR").env(name, value))
        };
        let config = home.path().join(".claude");
        let (by_home, by_config) = (started("HOME", home.path()), started("CLAUDE_CONFIG_DIR", &config));
        let projects = config.join("projects/-work-a-b-1");
        std::fs::create_dir_all(&projects).unwrap();
        let hour = Duration::from_secs(3_600);
        let now = SystemTime::now();
        let write = |name: &str, text: &str, when: SystemTime| {
            let path = projects.join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(when).unwrap();
        };
        let read_of = |cat: &Staged, cwd: Option<&str>| {
            let cwd = cwd.map(str::to_owned);
            let process = Process { pid: cat.pid(), cwd, began_ns: now_ns(), ..Process::default() };
            let mut agent = Agent::default();
            read(&process, &Reach::default(), &mut agent);
            let names = agent
                .sources
                .iter()
                .map(|path| path.strip_prefix(projects.to_str().unwrap()).unwrap_or(path).to_owned());
            (names.collect::<Vec<_>>().join(", "), agent.turn, agent.running.join(", "))
        };
        let is = |name: &str, turn: &str, running: &str| (name.to_owned(), turn.to_owned(), running.to_owned());
        let cwd = Some("/work/a.b_1");
        write("old.jsonl", DONE, now - hour);
        write("notes.txt", DONE, now + hour);
        assert_eq!(read_of(&by_home, cwd), is("", "", ""), "none was written since it began");
        write("one.jsonl", DONE, now + hour);
        assert_eq!(read_of(&by_home, cwd), is("/one.jsonl", "ended", ""));
        write("two.jsonl", CALL, now + 2 * hour);
        assert_eq!(read_of(&by_home, cwd), is("/two.jsonl", "open", "Bash: touch x"));
        assert_eq!(read_of(&by_config, cwd), is("/two.jsonl", "open", "Bash: touch x"));
        assert_eq!(read_of(&by_home, Some("/work/other")), is("", "", ""));
        assert_eq!(read_of(&by_home, None), is("", "", ""));
        // only the end of a long one is read
        let long = |after: usize| {
            write("two.jsonl", &format!("\n{CALL}{}", "\n".repeat(after)), now + 2 * hour);
            read_of(&by_home, cwd).1
        };
        assert_eq!((long((1 << 20) - CALL.len() - 1), long(1 << 20)), ("open".to_owned(), String::new()));
    }
}
