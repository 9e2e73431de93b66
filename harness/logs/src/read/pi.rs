//! pi: the events of `pi --mode json`.
//!
//! Invariant: the session is called `main`; `agent_end` is the end.

use super::outcome::outcome;
use super::{Sink, claude::flat, on, some, text, time};
use crate::note::{Calls, Form, Kind, Note};
use serde_json::Value;

const MAIN: &str = "main";

/// The reader.
#[derive(Default)]
pub struct Pi {
    begun: bool,
    turns: u64,
    /// The last response failed, with these words.
    failed: Option<String>,
    /// Somebody aborted the last response.
    aborted: bool,
}

impl Pi {
    /// Takes an event.
    pub fn event(&mut self, value: &Value, sink: &mut Sink<'_>) {
        let message = &value["message"];
        sink.at = sink.at.or_else(|| time::of_event(value)).or_else(|| time::instant(&message["timestamp"]));
        let session = MAIN.to_owned();
        if !self.begun {
            self.begun = true;
            sink.note(Note::Agent { kind: Kind::Pi, release: None, form: Form::Once });
            sink.note(Note::Session { id: session.clone(), parent: None, call: None, created: true });
        }
        let kind = text(value, "type");
        let assistant = text(message, "role") == "assistant";
        match kind {
            "session" | "turn_end" => {}
            "agent_start" => sink.note(Note::Prompt { session, by_client: true }),
            "turn_start" => self.turns += 1,
            "message_start" if assistant => sink.note(Note::Thinks { session }),
            "message_update" => sink.note(Note::Thinks { session }),
            "message_end" if assistant => self.said(message, sink),
            "message_start" | "message_end" => {}
            "tool_execution_start" => {
                let (name, input) = (text(value, "toolName"), &value["args"]);
                let does = match name {
                    "bash" => Calls::Bash {
                        command: text(input, "command").to_owned(),
                        timeout_ms: input["timeout"].as_u64().map(|seconds| seconds.saturating_mul(1_000)),
                    },
                    name => Calls::Tool { name: name.to_owned(), on: on(input) },
                };
                let message = format!("turn {}", self.turns);
                sink.note(Note::Call { session, message, call: text(value, "toolCallId").to_owned(), does });
            }
            "tool_execution_update" => sink.note(Note::Output { call: text(value, "toolCallId").to_owned() }),
            "tool_execution_end" => {
                let said = flat(&value["result"]["content"]);
                let error = value["isError"] == true;
                sink.note(Note::Told { call: text(value, "toolCallId").to_owned(), error, text: said, code: None });
            }
            "auto_retry_start" => {
                // a response that ended in an error is continued
                sink.note(Note::Prompt { session: session.clone(), by_client: true });
                sink.note(Note::Retry { session, status: None });
            }
            "auto_compaction_start" => sink.note(Note::Compacted { session }),
            "agent_end" => {
                let said = outcome(value).filter(|found| !found.ok).map(|found| found.text);
                let text = self.failed.take().or(said);
                let aborted = std::mem::take(&mut self.aborted);
                let ok = text.is_none() && !aborted;
                sink.note(Note::Result { ok, aborted, text: text.unwrap_or_default() });
            }
            "" => return sink.trouble("JSON, but no event", value.to_string().as_bytes()),
            other => return sink.pass(other),
        }
        sink.take(kind);
    }

    /// A response that ended.
    fn said(&mut self, message: &Value, sink: &mut Sink<'_>) {
        let session = MAIN.to_owned();
        let id = format!("turn {}", self.turns);
        let said = flat(&message["content"]);
        if !said.is_empty() {
            let (message, part) = (id.clone(), id.clone());
            sink.note(Note::Text { session: session.clone(), message, part, text: said, delta: false });
        }
        let stop = text(message, "stopReason");
        self.aborted = stop == "aborted";
        self.failed = (stop == "error").then(|| some(message, "errorMessage").unwrap_or_else(|| stop.to_owned()));
        if stop == "stop" {
            sink.note(Note::Finish { session, message: id, reason: "stop".to_owned() });
        }
    }
}

/// Whether it is one of its events.
pub fn is_event(value: &Value) -> bool {
    match text(value, "type") {
        "session" => value["cwd"].is_string() && value["id"].is_string(),
        "agent_start" | "agent_end" | "turn_start" | "turn_end" => {
            value["sessionID"].is_null() && value["sessionId"].is_null()
        }
        "message_start" | "message_end" => value["message"]["role"].is_string(),
        "message_update" => value["assistantMessageEvent"].is_object(),
        "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => value["toolCallId"].is_string(),
        "auto_retry_start" | "auto_retry_end" | "auto_compaction_start" | "auto_compaction_end" => true,
        _ => false,
    }
}

/// A small output of `pi --mode json`.
pub const SAMPLE: &str = r#"{"type":"session","version":3,"id":"5e1f","timestamp":"2026-11-20T12:00:00.000Z","cwd":"/home/agent/x"}
{"type":"agent_start"}
{"type":"turn_start"}
{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"go"}],"timestamp":1795176000000}}
{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"go"}],"timestamp":1795176000000}}
{"type":"message_start","message":{"role":"assistant","content":[],"timestamp":1795176001000}}
{"type":"message_update","message":{"role":"assistant","content":[],"timestamp":1795176001000},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"I look."}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call_1","name":"bash","arguments":{"command":"npm run dev"}}],"stopReason":"toolUse","timestamp":1795176001000}}
{"type":"tool_execution_start","toolCallId":"call_1","toolName":"bash","args":{"command":"npm run dev"}}
"#;
