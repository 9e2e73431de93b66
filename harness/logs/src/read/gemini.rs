//! Gemini CLI: the events of `gemini -p --output-format stream-json`, and those of its forks.
//!
//! Invariant: the session is called `main`; a result is the end.

use super::outcome::outcome;
use super::{Sink, flat_text, on, some, text, time};
use crate::note::{Calls, Form, Kind, Note};
use serde_json::Value;

const MAIN: &str = "main";

/// The reader.
#[derive(Default)]
pub struct Gemini {
    begun: bool,
    /// Responses so far: their events have no ids.
    responses: u64,
    /// A call came since the last words.
    called: bool,
    /// The latest event says that something failed.
    error: Option<String>,
}

impl Gemini {
    /// Takes an event.
    pub fn event(&mut self, value: &Value, sink: &mut Sink<'_>) {
        sink.at = sink.at.or_else(|| time::of_event(value));
        let session = MAIN.to_owned();
        if !self.begun {
            self.begun = true;
            sink.note(Note::Agent { kind: Kind::Gemini, release: None, form: Form::Once });
            sink.note(Note::Session { id: session.clone(), parent: None, call: None, created: true });
        }
        let kind = text(value, "type");
        self.error = None;
        match kind {
            "init" => sink.note(Note::Prompt { session, by_client: true }),
            "message" if text(value, "role") == "assistant" => {
                if std::mem::take(&mut self.called) {
                    self.responses += 1;
                }
                let message = format!("response {}", self.responses);
                let (said, delta) = (text(value, "content").to_owned(), value["delta"] == true);
                sink.note(Note::Text { session, message: message.clone(), part: message, text: said, delta });
            }
            // the prompt itself: `init` already counted as the prompt
            "message" => {}
            "tool_use" => {
                self.called = true;
                let (name, input) = (text(value, "tool_name"), &value["parameters"]);
                let does = match name {
                    "run_shell_command" => Calls::Bash { command: text(input, "command").to_owned(), timeout_ms: None },
                    name => Calls::Tool { name: name.to_owned(), on: on(input) },
                };
                let message = format!("response {}", self.responses);
                sink.note(Note::Call { session, message, call: text(value, "tool_id").to_owned(), does });
            }
            "tool_result" => {
                let error = text(value, "status") == "error";
                let said = some(value, "output").or_else(|| some(&value["error"], "message")).unwrap_or_default();
                sink.note(Note::Told { call: text(value, "tool_id").to_owned(), error, text: said, code: None });
            }
            "error" => {
                sink.note(Note::Alive);
                let warns = text(value, "severity") == "warning";
                self.error = some(value, "message").or_else(|| some(value, "severity")).filter(|_| !warns);
            }
            "result" => match outcome(value) {
                Some(found) => {
                    let said =
                        flat_text(&value["error"]["message"]).unwrap_or_else(|| text(value, "status").to_owned());
                    sink.note(Note::Result { ok: found.ok, aborted: false, text: said });
                }
                None => sink.note(Note::Unclear { session, kind: kind.to_owned() }),
            },
            "" => return sink.trouble("JSON, but no event", value.to_string().as_bytes()),
            other => return sink.pass(other),
        }
        sink.take(kind);
    }
}

impl Gemini {
    /// The log is over.
    pub fn end(&mut self, story: &mut crate::Story) {
        if let Some(why) = self.error.take() {
            story.note(None, Note::Failed { session: MAIN.to_owned(), why, aborted: false });
        }
    }
}

/// Whether it is one of its events.
pub fn is_event(value: &Value) -> bool {
    let has = |key: &str| value[key].is_string();
    match text(value, "type") {
        "init" => has("session_id") && has("model") && !has("subtype"),
        "message" => has("role") && has("content"),
        "tool_use" => has("tool_name") && has("tool_id"),
        "tool_result" => has("tool_id") && has("status"),
        "error" => has("severity") && has("message"),
        "result" => has("status") && !has("subtype"),
        _ => false,
    }
}

/// A small output of `gemini -p --output-format stream-json`.
pub const SAMPLE: &str = r#"{"type":"init","timestamp":"2026-11-20T12:00:00.000Z","session_id":"9c0e","model":"gemini-2.5-pro"}
{"type":"message","timestamp":"2026-11-20T12:00:00.100Z","role":"user","content":"go"}
{"type":"message","timestamp":"2026-11-20T12:00:02.000Z","role":"assistant","content":"I look ","delta":true}
{"type":"message","timestamp":"2026-11-20T12:00:02.100Z","role":"assistant","content":"first.","delta":true}
{"type":"tool_use","timestamp":"2026-11-20T12:00:03.000Z","tool_name":"run_shell_command","tool_id":"shell-1","parameters":{"command":"ls"}}
{"type":"tool_result","timestamp":"2026-11-20T12:00:03.500Z","tool_id":"shell-1","status":"success","output":"a"}
{"type":"message","timestamp":"2026-11-20T12:00:05.000Z","role":"assistant","content":"Done.","delta":true}
{"type":"result","timestamp":"2026-11-20T12:00:05.100Z","status":"success","stats":{"total_tokens":10,"duration_ms":5000,"tool_calls":1}}
"#;
