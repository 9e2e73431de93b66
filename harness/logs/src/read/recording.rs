//! Recordings of exchanges: `{t, dir, msg}` of Claude Code, `{t, kind, …}` of an opencode server and its client.
//!
//! Invariant: the format of `fake-agents/tests/golden`; `t` is in seconds.

use super::claude::{Claude, MAIN};
use super::opencode::Opencode;
use super::time::instant;
use super::{Sink, text};
use crate::Format;
use crate::detect::of_value;
use crate::note::{Form, Kind, Note};
use crate::story::Story;
use serde_json::Value;

/// The reader.
pub struct Recording {
    claude: Claude,
    opencode: Opencode,
    /// The output of `opencode run`.
    run: Opencode,
    /// If a stream was recorded twice (`sse:event`, `sse:global`), the first is used.
    stream: String,
}

impl Default for Recording {
    fn default() -> Recording {
        Recording {
            claude: Claude::new(Format::Claude),
            opencode: Opencode::new(Format::OpencodeEvents),
            run: Opencode::new(Format::OpencodeRun),
            stream: String::new(),
        }
    }
}

impl Recording {
    /// The log is over.
    pub fn end(&mut self, story: &mut Story) {
        self.claude.end(story);
    }

    /// Takes an exchange.
    pub fn exchange(&mut self, value: &Value, sink: &mut Sink<'_>) {
        sink.at = instant(&value["t"]);
        match (value["dir"].as_str(), value["kind"].as_str()) {
            (Some(dir), _) => self.message(dir, &value["msg"], sink),
            (_, Some("rest")) => {
                let (method, path) = (text(value, "method"), text(value, "path"));
                let status = value["status"].as_u64();
                self.opencode.exchange(method, path, &value["body"], status, &value["response"], sink);
            }
            (_, Some(kind)) if kind.starts_with("sse") => {
                if self.stream.is_empty() {
                    kind.clone_into(&mut self.stream);
                }
                if self.stream == kind {
                    self.opencode.event(&value["ev"], sink);
                } else {
                    sink.pass("the same event on another stream");
                }
            }
            _ => sink.trouble("JSON, but no exchange", value.to_string().as_bytes()),
        }
    }

    fn message(&mut self, dir: &str, msg: &Value, sink: &mut Sink<'_>) {
        match (dir, msg) {
            ("IN", Value::String(said)) if said == "<close>" => {
                sink.take("stdin closed");
                sink.note(Note::InputEnds);
            }
            ("IN", Value::String(said)) if said.trim_start().starts_with('{') => {
                sink.take("no message");
                sink.note(Note::Misfit);
            }
            ("IN", Value::String(_)) => {
                sink.take("input");
                sink.note(Note::Types);
            }
            ("OUT", Value::String(said)) => {
                sink.take("text");
                sink.note(Note::Agent { kind: Kind::Claude, release: None, form: Form::Text });
                // with text output the last message is printed at the end, and nothing before
                let session = MAIN.to_owned();
                sink.note(Note::Session { id: session.clone(), parent: None, call: None, created: true });
                let (message, part) = (String::new(), "out".to_owned());
                sink.note(Note::Text { session, message, part, text: said.clone(), delta: true });
                sink.note(Note::Result { ok: true, aborted: false, text: said.clone() });
            }
            ("OUT", Value::Object(_)) if of_value(msg) == Some(Format::OpencodeRun) => self.run.event(msg, sink),
            ("OUT" | "IN", Value::Object(_)) => self.claude.message(msg, Some(dir == "IN"), sink),
            ("ERR", _) => sink.pass("stderr"),
            ("MODEL", _) => sink.pass("a request to the model"),
            ("EXIT", code) => {
                sink.take("exit");
                sink.note(Note::Exit(code.as_i64().unwrap_or(-1)));
            }
            _ => sink.trouble("JSON, but no exchange", msg.to_string().as_bytes()),
        }
    }
}

/// Whether it is a recorded exchange.
pub fn is_exchange(value: &Value) -> bool {
    let has = |key: &str| !value[key].is_null();
    has("dir") && has("msg") && !super::rpc::is_message(&value["msg"]) || has("kind") && (has("ev") || has("method"))
}
