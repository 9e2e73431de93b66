//! Codex: the events of `codex exec --json`, and what it says before them on stderr.
//!
//! Invariant: Codex has no fake; its log becomes a program that prints the same and waits for the same.

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
}

impl Codex {
    /// Takes a line.
    pub fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let plain = std::str::from_utf8(bytes).ok().filter(|line| !line.trim_start().starts_with('{'));
        if let Some(line) = plain.filter(|line| !line.trim().is_empty()) {
            self.begin(sink);
            sink.take("stderr");
            return sink.note(Note::Prints { stderr: true, text: format!("{line}\n") });
        }
        super::json(bytes, sink, |value, sink| self.event(&value, sink));
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
        let item = &value["item"];
        let id = some(item, "id").unwrap_or_default();
        match kind {
            "thread.started" => sink.note(Note::Session { id: session, parent: None, call: None, created: true }),
            "turn.started" => {
                sink.note(Note::Prompt { session: session.clone(), by_client: true });
                sink.note(Note::Busy { session, busy: true });
            }
            "turn.completed" => {
                sink.note(Note::Result { ok: true, aborted: false, text: String::new() });
                sink.note(Note::Busy { session, busy: false });
            }
            "turn.failed" | "error" => {
                let why = some(&value["error"], "message").or_else(|| some(value, "message")).unwrap_or_default();
                if kind == "error" && why.to_ascii_lowercase().contains("reconnecting") {
                    sink.note(Note::Retry { session, status: None });
                } else if kind == "turn.failed" {
                    sink.note(Note::Result { ok: false, aborted: false, text: why });
                } else {
                    sink.note(Note::Failed { session, why, aborted: false });
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
}
