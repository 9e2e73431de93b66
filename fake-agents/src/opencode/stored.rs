//! The sessions that a restarted server finds: the content of its database.
//!
//! The form is that of the routes: a list of `{info, messages}`, `info` as `GET /session/:id` has it, `messages` as
//! `GET /session/:id/message`. Invariant: a stored running part stays running, as upstream leaves it (`E4`); only
//! PawWork rewrites one, and only when it is read.

use super::engine::Engine;
use super::state::{Body, Message, Part, Reply, Role, Session, Tool, ToolState};
use rehang_trace::Fact;
use serde_json::Value;

/// The strategy's name under which a snapshot is noted ([`Fact::Acted`]): only the code that starts a server again
/// reads it.
pub const STORE: &str = "store";

impl Engine {
    /// The sessions in the form of a database.
    pub fn snapshot(&self) -> String {
        let mut out = String::from("[");
        for at in 0..self.sessions.len() {
            out.push_str(if at > 0 { ",{\"info\":" } else { "{\"info\":" });
            out.push_str(&self.session_info(at));
            out.push_str(",\"messages\":");
            out.push_str(&self.messages(at, usize::MAX));
            out.push('}');
        }
        out.push(']');
        out
    }

    /// Restores stored sessions from JSON. What does not fit the form is left out.
    pub fn restore(&mut self, stored: &str) {
        self.restored = true;
        let stored: Value = serde_json::from_str(stored).unwrap_or_default();
        for session in stored.as_array().into_iter().flatten() {
            let text = |key: &str| session.pointer(key).and_then(Value::as_str).unwrap_or("").to_owned();
            let time = |key: &str| session.pointer(key).and_then(Value::as_u64).unwrap_or(0);
            let id = text("/info/id");
            if id.is_empty() {
                continue;
            }
            let parent = self.find(&text("/info/parentID"));
            let messages: Vec<Message> =
                session["messages"].as_array().into_iter().flatten().filter_map(message).collect();
            let parts = messages.iter().map(|message| message.parts.len()).sum::<usize>();
            self.next.session += 1;
            self.next.message += messages.len() as u32;
            self.next.part += parts as u32;
            let calls = messages.iter().flat_map(|m| &m.parts).filter(|p| matches!(p.body, Body::Tool(_))).count();
            self.next.call += calls as u32;
            let finished = messages.iter().filter(|m| matches!(&m.role, Role::Assistant(r) if r.finish.is_some()));
            let cursor = finished.count();
            if parent.is_none() {
                self.cursor += cursor;
            }
            let parent_id = parent.map_or_else(String::new, |parent| self.sessions[parent].id.clone());
            self.fact(Fact::Session { id: id.clone(), parent: parent_id });
            self.sessions.push(Session {
                id,
                parent,
                title: text("/info/title"),
                agent: if parent.is_some() { "general" } else { "build" },
                created_ms: time("/info/time/created"),
                updated_ms: time("/info/time/updated"),
                summarised: true,
                model: None,
                tokens: (0, 0),
                denies: &[],
                messages,
                script: Vec::new(),
                cursor: 0,
                path: String::new(),
                depth: u32::from(parent.is_some()),
                directory: text("/info/directory"),
                deleted: false,
            });
        }
    }
}

fn message(stored: &Value) -> Option<Message> {
    let info = &stored["info"];
    let id = info["id"].as_str()?.to_owned();
    let created_ms = info["time"]["created"].as_u64().unwrap_or(0);
    let role = match info["role"].as_str()? {
        "user" => Role::User,
        _ => Role::Assistant(Reply {
            to: 0,
            completed_ms: info["time"]["completed"].as_u64(),
            finish: info["finish"].as_str().and_then(reason),
            error: info["error"]["data"]["message"].as_str().map(|text| ("MessageAbortedError", text.to_owned())),
            usage: None,
        }),
    };
    let parts = stored["parts"].as_array().into_iter().flatten().filter_map(part).collect();
    Some(Message { id, created_ms, role, parts })
}

fn part(stored: &Value) -> Option<Part> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let start_ms = stored["time"]["start"].as_u64();
    let body = match stored["type"].as_str()? {
        "text" => match start_ms {
            None => Body::Prompt(text(&stored["text"])),
            Some(start_ms) => {
                Body::Text { text: text(&stored["text"]), start_ms, end_ms: stored["time"]["end"].as_u64() }
            }
        },
        "step-start" => Body::StepStart,
        "step-finish" => Body::StepFinish { reason: reason(stored["reason"].as_str()?)?, usage: None },
        "tool" => {
            let state = &stored["state"];
            let end_ms = state["time"]["end"].as_u64().unwrap_or(0);
            let metadata = state["metadata"].to_string();
            let metadata = metadata.strip_prefix('{').and_then(|m| m.strip_suffix('}')).unwrap_or("").to_owned();
            Body::Tool(Tool {
                call: text(&stored["callID"]),
                name: text(&stored["tool"]),
                input: state["input"].to_string(),
                state: match state["status"].as_str()? {
                    "pending" => ToolState::Pending,
                    "running" => ToolState::Running,
                    "completed" => ToolState::Completed { output: text(&state["output"]), end_ms },
                    _ => ToolState::Error { error: text(&state["error"]), end_ms },
                },
                start_ms: state["time"]["start"].as_u64().unwrap_or(0),
                title: text(&state["title"]),
                metadata,
            })
        }
        _ => return None,
    };
    Some(Part { id: text(&stored["id"]), body })
}

fn reason(word: &str) -> Option<&'static str> {
    ["stop", "tool-calls", "unknown"].into_iter().find(|known| *known == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_host::AgentHost;
    use crate::opencode::engine::Setup;
    use crate::opencode::release::Release;
    use rehang_scenario::VTime;

    #[test]
    fn what_the_routes_give_is_taken_up_again() {
        let new = || Engine::new(Release::opencode("1.2.15").unwrap(), Setup::default(), AgentHost::default());
        let mut engine = new();
        let session = engine.create_session(VTime(5), "t", &[]);
        engine.prompt(VTime(5), session, "hello", None, None);
        let value = |engine: &Engine| serde_json::from_str::<Value>(&engine.snapshot()).unwrap();
        let before = value(&engine);
        let mut again = new();
        again.restore(&before.to_string());
        assert_eq!(value(&again)[0]["messages"], before[0]["messages"]);
        assert_eq!(before[0]["messages"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn pawwork_mends_a_stale_part_when_it_is_read() {
        let inside = AgentHost::new(&["external-result".to_owned()]).unwrap();
        let agent = rehang_scenario::Agent::Pawwork(Default::default());
        let mut engine = Engine::new(Release::of(&agent).unwrap(), Setup::default(), inside);
        let state = serde_json::json!({
            "status": "running", "input": {}, "metadata": { "externalResultReady": true }, "time": { "start": 1 },
        });
        let part = serde_json::json!({ "id": "prt_1", "type": "tool", "callID": "call_1", "tool": "question", "state": state });
        let info = serde_json::json!({ "id": "msg_1", "role": "assistant", "time": { "created": 1 } });
        let stored = serde_json::json!([
            { "info": { "id": "ses_1", "title": "t" }, "messages": [{ "info": info, "parts": [part] }] },
        ]);
        engine.restore(&stored.to_string());
        assert!(engine.snapshot().contains("\"status\":\"running\""), "nobody has read it");
        engine.request(VTime(6), 1, "GET", "/session/ses_1/message?limit=1", b"");
        let stored = engine.snapshot();
        assert!(stored.contains("Question cancelled before the user answered it."), "{stored}");
        assert!(stored.contains("\"stale_external_result\":true"), "{stored}");
    }
}
