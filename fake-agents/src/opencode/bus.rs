//! The engine's output: events as each dialect writes them, answers, facts.
//!
//! Invariant: an event shows the state at the time when it is published, and no event is rendered if nobody listens.

use super::engine::{About, Answer, Effect, Engine, Event, Out};
use super::json::{field, next_field, number};
use super::release::Dialect;
use super::render;
use super::state::{Body, Model, Role, ToolState};
use rehang_trace::Fact;

impl Engine {
    pub(super) fn fact(&mut self, fact: Fact) {
        self.out.push(Out::Fact(fact));
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.out.push(Out::Effect(effect));
    }

    pub(super) fn respond(&mut self, ticket: u32, status: u16, body: String) {
        self.out.push(Out::Respond(Answer { ticket, status, body, cut_at: None }));
    }

    /// Publishes an event; `properties` appends what is between the braces.
    pub(super) fn publish(
        &mut self,
        kind: &'static str,
        session: Option<usize>,
        about: About,
        properties: impl FnOnce(&Engine, &mut String),
    ) {
        let mut json = String::new();
        self.next.event += 1;
        if self.wants_json {
            json.reserve(512);
            json.push('{');
            if self.release.dialect == Dialect::V1_18 {
                json.push_str("\"id\":\"evt_");
                number(&mut json, self.next.event.into());
                json.push_str("\",");
            }
            field!(&mut json, "type", kind);
            json.push_str(",\"properties\":{");
            properties(self, &mut json);
            json.push_str("}}");
        }
        self.out.push(Out::Event(Event { kind, session, json, about, id: None }));
    }

    /// Publishes an event with a session's info.
    pub(super) fn session_event(&mut self, kind: &'static str, session: usize, about: About) {
        self.publish(kind, Some(session), about, |engine, out| {
            let it = &engine.sessions[session];
            if engine.release.dialect == Dialect::V1_18 {
                field!(out, "sessionID", &it.id);
                out.push(',');
            }
            out.push_str("\"info\":");
            render::session(out, &engine.release, it, engine.parent_id(session));
        });
    }

    pub(super) fn touched(&mut self, session: usize) {
        self.sessions[session].updated_ms = self.now_ms();
        self.session_event("session.updated", session, About::Other);
    }

    pub(super) fn message_event(&mut self, session: usize, message: usize, summary: bool) {
        self.publish("message.updated", Some(session), About::Other, |engine, out| {
            let it = &engine.sessions[session];
            if engine.release.dialect == Dialect::V1_18 {
                field!(out, "sessionID", &it.id);
                out.push(',');
            }
            out.push_str("\"info\":");
            render::info(out, &engine.release, it, &it.messages[message], summary);
        });
    }

    pub(super) fn part_event(&mut self, session: usize, message: usize, part: usize) {
        let whole = match &self.sessions[session].messages[message].parts[part].body {
            Body::Text { end_ms, .. } => end_ms.is_some(),
            Body::Tool(tool) => matches!(tool.state, ToolState::Completed { .. } | ToolState::Error { .. }),
            Body::StepStart | Body::StepFinish { .. } => true,
            Body::Prompt(_) => false,
        };
        let about = About::Part(message, part, whole);
        self.publish("message.part.updated", Some(session), about, |engine, out| {
            let it = &engine.sessions[session];
            if engine.release.dialect == Dialect::V1_18 {
                field!(out, "sessionID", &it.id);
                out.push(',');
            }
            out.push_str("\"part\":");
            let message = &it.messages[message];
            render::part(out, &it.id, &message.id, &message.parts[part]);
            if engine.release.dialect == Dialect::V1_18 {
                out.push_str(",\"time\":");
                number(out, engine.now_ms());
            }
        });
    }

    pub(super) fn status_event(&mut self, session: usize, busy: bool) {
        self.publish("session.status", Some(session), About::Status(busy), |engine, out| {
            field!(out, "sessionID", &engine.sessions[session].id);
            out.push_str(if busy { ",\"status\":{\"type\":\"busy\"}" } else { ",\"status\":{\"type\":\"idle\"}" });
        });
        if !busy {
            self.publish("session.idle", Some(session), About::Other, |engine, out| {
                field!(out, "sessionID", &engine.sessions[session].id);
            });
        }
    }

    pub(super) fn error_event(&mut self, session: usize, name: &'static str, text: &str) {
        self.publish("session.error", Some(session), About::Error(name, text.to_owned()), |engine, out| {
            field!(out, "sessionID", &engine.sessions[session].id);
            out.push_str(",\"error\":");
            render::error(out, name, text);
        });
    }
}

impl Engine {
    /// Appends the whole newest message of the model in a session, as the answer to a POST has it.
    pub(super) fn newest_reply(&self, session: usize) -> String {
        let mut out = String::with_capacity(1024);
        let it = &self.sessions[session];
        match it.messages.iter().rev().find(|m| matches!(m.role, Role::Assistant(_))) {
            Some(message) => render::whole(&mut out, &self.release, it, message),
            None => out.push_str("{}"),
        }
        out
    }

    pub(super) fn set_model(&mut self, session: usize, model: Option<Model>) {
        let it = &mut self.sessions[session];
        if let Some(model) = model {
            it.model = Some(model);
        } else if it.model.is_none() {
            it.model = Some(Model::default());
        }
    }

    pub(super) fn delta_event(&mut self, session: usize, message: usize, part: usize, delta: &str) {
        let old = self.release.dialect == Dialect::V1_0;
        let kind = if old { "message.part.updated" } else { "message.part.delta" };
        self.publish(kind, Some(session), About::Other, |engine, out| {
            let it = &engine.sessions[session];
            let said = &it.messages[message];
            if old {
                out.push_str("\"part\":");
                render::part(out, &it.id, &said.id, &said.parts[part]);
            } else {
                field!(out, "sessionID", &it.id);
                next_field!(out, "messageID", &said.id);
                next_field!(out, "partID", &said.parts[part].id);
                next_field!(out, "field", "text");
            }
            next_field!(out, "delta", delta);
        });
    }
}
