//! Codex: the events of `codex exec --json`, what it says before them on stderr, and the rollouts below `sessions/`.
//!
//! Invariant: there is one session, [`THREAD`]; a line that is no event is what it says on stderr.

use super::outcome::outcome;
use super::time;
use super::{Sink, some, text};
use crate::note::{Calls, Form, Kind, Note};
use serde_json::Value;

/// The session.
pub const THREAD: &str = "thread";

/// The reader.
#[derive(Default)]
pub struct Codex {
    begun: bool,
    /// The latest event is an error.
    error: Option<String>,
}

impl Codex {
    /// Takes a line.
    pub fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let plain = std::str::from_utf8(bytes).ok().filter(|line| !line.trim_start().starts_with('{'));
        if let Some(line) = plain.filter(|line| !line.trim().is_empty()) {
            self.begin(sink);
            sink.take("stderr");
            return sink.note(Note::Prints { stderr: true, logged: false, text: format!("{line}\n") });
        }
        super::json(bytes, sink, |value, sink| self.event(&value, sink));
    }

    /// The log is over.
    pub fn end(&mut self, story: &mut crate::Story) {
        if let Some(why) = self.error.take() {
            story.note(None, Note::Failed { session: THREAD.to_owned(), why, aborted: false });
        }
    }

    fn begin(&mut self, sink: &mut Sink<'_>) {
        if !self.begun {
            self.begun = true;
            sink.note(Note::Agent { kind: Kind::Codex, release: None, form: Form::Once });
        }
    }

    /// Takes an event.
    pub fn event(&mut self, value: &Value, sink: &mut Sink<'_>) {
        sink.at = sink.at.or_else(|| time::of_event(value));
        self.begin(sink);
        let session = THREAD.to_owned();
        let kind = text(value, "type");
        if is_rollout(value) {
            return Self::rollout(kind, &value["payload"], sink);
        }
        self.error = None;
        let item = &value["item"];
        let id = some(item, "id").unwrap_or_default();
        match kind {
            "thread.started" => sink.note(Note::Session { id: session, parent: None, call: None, created: true }),
            "turn.started" => {
                sink.note(Note::Prompt { session: session.clone(), by_client: true });
                sink.note(Note::Busy { session, busy: true });
            }
            "turn.completed" => {
                // another agent's may say more
                let failed = outcome(value).filter(|found| !found.ok);
                let (ok, text) = (failed.is_none(), failed.map_or_else(String::new, |found| found.text));
                sink.note(Note::Result { ok, aborted: false, text });
                sink.note(Note::Busy { session, busy: false });
            }
            "turn.failed" | "error" => {
                let why = some(&value["error"], "message").or_else(|| some(value, "message")).unwrap_or_default();
                if kind == "error" && why.to_ascii_lowercase().contains("reconnecting") {
                    sink.note(Note::Retry { session, status: None });
                } else if kind == "turn.failed" {
                    sink.note(Note::Result { ok: false, aborted: false, text: why });
                } else {
                    sink.note(Note::Alive);
                    self.error = Some(why);
                }
            }
            "item.started" | "item.updated" | "item.completed" => {
                let done = kind == "item.completed";
                match some(item, "type").or_else(|| some(item, "item_type")).unwrap_or_default().as_str() {
                    "agent_message" | "assistant_message" => {
                        let text = text(item, "text").to_owned();
                        sink.note(Note::Text { session, message: id.clone(), part: id, text, delta: false });
                    }
                    "reasoning" | "todo_list" => sink.note(Note::Thinks { session }),
                    "command_execution" => {
                        let command = text(item, "command").to_owned();
                        let does = Calls::Bash { command, timeout_ms: None };
                        sink.note(Note::Call { session, message: id.clone(), call: id.clone(), does });
                        if done {
                            let code = item["exit_code"].as_i64();
                            let said = text(item, "aggregated_output").to_owned();
                            sink.note(Note::Told { call: id, error: code != Some(0), text: said, code });
                        } else if !text(item, "aggregated_output").is_empty() {
                            sink.note(Note::Output { call: id });
                        }
                    }
                    other => {
                        let name = some(item, "tool").unwrap_or_else(|| other.to_owned());
                        let name = if other == "mcp_tool_call" { format!("mcp__{name}") } else { name };
                        let on = some(item, "query").or_else(|| some(item, "server")).unwrap_or_default();
                        let does = Calls::Tool { name, on };
                        sink.note(Note::Call { session, message: id.clone(), call: id.clone(), does });
                        if done {
                            let error = text(item, "status") == "failed";
                            sink.note(Note::Told { call: id, error, text: String::new(), code: None });
                        }
                    }
                }
            }
            "" => return sink.trouble("JSON, but no event", value.to_string().as_bytes()),
            other => return sink.pass(other),
        }
        sink.take(kind);
    }

    /// A line of a rollout.
    fn rollout(kind: &str, p: &Value, sink: &mut Sink<'_>) {
        let session = THREAD.to_owned();
        let of = text(p, "type");
        let call = some(p, "call_id").or_else(|| some(p, "id")).unwrap_or_default();
        match (kind, of) {
            ("session_meta", _) => {
                let release = some(p, "cli_version");
                sink.note(Note::Agent { kind: Kind::Codex, release, form: Form::Transcript });
                sink.note(Note::Session { id: session, parent: None, call: None, created: true });
            }
            ("event_msg", "task_started" | "turn_started" | "user_message") => {
                if of != "user_message" {
                    // releases that say when a turn begins say when it ends; 0.45.0 and 0.58.0 say neither
                    sink.note(Note::Agent { kind: Kind::Codex, release: None, form: Form::Once });
                }
                sink.note(Note::Prompt { session: session.clone(), by_client: true });
                sink.note(Note::Busy { session, busy: true });
            }
            ("event_msg", "task_complete" | "turn_complete") => {
                // 0.169.0 says here that the turn has failed; the releases before it do not
                let failed = some(&p["error"], "message");
                let (ok, text) = (failed.is_none(), failed.unwrap_or_default());
                sink.note(Note::Result { ok, aborted: false, text });
                sink.note(Note::Busy { session, busy: false });
            }
            ("event_msg", "turn_aborted") => {
                let reason = text(p, "reason");
                // a person interrupted it, or typed another prompt
                let aborted = matches!(reason, "interrupted" | "replaced");
                sink.note(Note::Result { ok: false, aborted, text: format!("the turn was aborted: {reason}") });
            }
            ("event_msg", "error") => {
                sink.note(Note::Failed { session, why: text(p, "message").to_owned(), aborted: false });
            }
            ("response_item", "message") if text(p, "role") == "assistant" => {
                let text = super::claude::flat(&p["content"]);
                sink.note(Note::Text { session, message: call.clone(), part: call, text, delta: false });
            }
            ("response_item", "reasoning") => sink.note(Note::Thinks { session }),
            ("response_item", "function_call" | "custom_tool_call" | "local_shell_call") => {
                let parsed = p["arguments"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
                let input = parsed.as_ref().unwrap_or(&p["action"]);
                let line = |value: &Value| match value {
                    Value::String(line) => Some(line.clone()),
                    // the shell's own words last: `["bash", "-lc", "…"]`
                    Value::Array(words) => words.last().and_then(|word| word.as_str().map(str::to_owned)),
                    _ => None,
                };
                let does = match line(&input["command"]).or_else(|| line(&input["cmd"])) {
                    Some(command) => Calls::Bash { command, timeout_ms: input["timeout_ms"].as_u64() },
                    None => Calls::Tool { name: text(p, "name").to_owned(), on: super::on(input) },
                };
                sink.note(Note::Call { session, message: call.clone(), call, does });
            }
            ("response_item", "function_call_output" | "custom_tool_call_output") => {
                let said = p["output"].as_str().map_or_else(|| super::claude::flat(&p["output"]), str::to_owned);
                let inner = serde_json::from_str::<Value>(&said).ok().filter(Value::is_object).unwrap_or_default();
                let code = inner["metadata"]["exit_code"].as_i64();
                let text = some(&inner, "output").unwrap_or(said);
                sink.note(Note::Told { call, error: code.is_some_and(|code| code != 0), text, code });
            }
            _ => return sink.pass(&format!("{kind}/{of}")),
        }
        sink.take(&format!("{kind}/{of}"));
    }
}

/// Whether it is a line of a rollout.
pub fn is_rollout(value: &Value) -> bool {
    let kind = text(value, "type");
    matches!(kind, "session_meta" | "response_item" | "event_msg" | "turn_context") && value["payload"].is_object()
}

/// A small output of `codex exec --json`.
pub const SAMPLE: &str = r#"{"type":"thread.started","thread_id":"0199"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"look"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I look first."}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"bash -lc 'npm run dev'","aggregated_output":"","status":"in_progress"}}
"#;
