//! JSON-RPC between an agent and its host, as the Agent Client Protocol, tool servers and app servers use it.
//!
//! Invariant: a request is open until a response with its id comes from the other side. Where a log does not say who sent
//! a message, two requests with the same id are told apart by what their responses hold.

use super::calls::{self, words_of};
use super::events::{Events, MAIN, permission_of};
use super::outcome::outcome;
use super::{Sink, on, some, text};
use crate::limits;
use crate::note::{Asks, Calls, Note, Reply};
use serde_json::Value;
use std::collections::VecDeque;

/// The requests that are open.
#[derive(Default)]
pub struct Rpc {
    open: VecDeque<Request>,
    requests: u64,
}

/// An open request.
struct Request {
    id: String,
    /// Its name in notes: ids of both sides may be the same.
    name: String,
    from_agent: Option<bool>,
    is: Is,
    session: String,
    /// What is asked, for its choices.
    params: Value,
}

/// What a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    /// A prompt: the turn is over when it is answered.
    Prompt,
    /// A person is asked.
    Ask,
    /// Anything else.
    Other,
}

/// Whether it is a message of JSON-RPC.
pub fn is_message(value: &Value) -> bool {
    let has = |key: &str| !value[key].is_null();
    let id = value["id"].is_string() || value["id"].is_number();
    let method = value["method"].is_string();
    if value["jsonrpc"].is_string() {
        return method || id;
    }
    // without the version: as Codex's app server writes it
    let http = has("status") || has("url") || has("path");
    method && !http && (value["params"].is_object() || id && !has("type"))
        || id && !method && !has("type") && (value["result"].is_object() || value["error"]["message"].is_string())
}

/// Whether the agent sent what comes after these words; `None` if they do not tell.
pub fn direction(before: &str) -> Option<bool> {
    let low: String =
        before.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect::<String>().to_lowercase();
    let ends = low.trim_end_matches([' ', ':', ']', ')', '|']);
    let has = |of: &[&str]| of.iter().any(|word| ends.ends_with(word));
    match () {
        () if has(&[
            "agent -> client",
            "agent→client",
            "agent->client",
            "from agent",
            "<-",
            "<<",
            "←",
            "<",
            "recv",
            "received",
            "stdout",
            "incoming",
        ]) =>
        {
            Some(true)
        }
        () if has(&[
            "client -> agent",
            "client→agent",
            "client->agent",
            "to agent",
            "->",
            ">>",
            "→",
            ">",
            "send",
            "sent",
            "sending",
            "stdin",
            "outgoing",
        ]) =>
        {
            Some(false)
        }
        () => None,
    }
}

/// Whether the agent sent a message, by the envelope that a host's logger puts it in.
pub fn direction_of(value: &Value) -> Option<bool> {
    let word = ["direction", "dir", "from", "side", "source", "sender"].iter().find_map(|key| some(value, key))?;
    let low = word.to_lowercase();
    let begins = |of: &[&str]| of.iter().any(|word| low.starts_with(word));
    match () {
        () if begins(&["agent", "server", "in", "recv", "receive", "<", "←", "stdout"]) => Some(true),
        () if begins(&["client", "host", "editor", "out", "send", "sent", ">", "→", "->", "stdin"]) => Some(false),
        () => None,
    }
}

impl Rpc {
    /// Takes a message.
    pub fn message(&mut self, value: &Value, from_agent: Option<bool>, events: &mut Events, sink: &mut Sink<'_>) {
        let id = match &value["id"] {
            Value::String(id) if id.len() <= 256 => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        };
        let method = text(value, "method");
        match (id, method) {
            (Some(id), "") => self.response(&id, value, from_agent, sink),
            (Some(id), method) => self.request(id, method, value, from_agent, events, sink),
            (None, "") => sink.trouble("JSON, but no event", value.to_string().as_bytes()),
            (None, method) => self.notification(method, &value["params"], events, sink),
        }
    }

    fn request(
        &mut self,
        id: String,
        method: &str,
        value: &Value,
        from_agent: Option<bool>,
        events: &mut Events,
        sink: &mut Sink<'_>,
    ) {
        sink.take(method);
        let params = &value["params"];
        let session = session_of(params);
        sink.note(Note::Session { id: session.clone(), parent: None, call: None, created: true });
        self.requests += 1;
        let name = format!("{method} {}", self.requests);
        let words = words_of(method);
        let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
        let prompts = method == "session/prompt" || has(&["prompt"]) && !has(&["prompts", "list", "get"]);
        let permission =
            has(&["permission", "permissions", "approval", "approve"]) && has(&["request", "requested", "approval"]);
        let asks = permission
            || has(&["elicitation", "elicit"])
            || has(&["input", "question"]) && has(&["request", "user", "ask"]);
        let is = match () {
            () if prompts => {
                sink.note(Note::Prompt { session: session.clone(), by_client: true });
                Is::Prompt
            }
            () if asks => {
                sink.note(Note::PromptTool);
                let call = &params["toolCall"];
                let inner = if call.is_object() { call } else { params };
                let of = calls::id_of(inner, "tool").or_else(|| some(params, "itemId"));
                let asks = if permission {
                    permission_of(inner, params)
                } else {
                    let line = some(params, "message").or_else(|| some(params, "question")).unwrap_or_default();
                    let asked = super::questions(&params["questions"]);
                    Asks::Questions(if asked.is_empty() { vec![calls::question_of(&line, params)] } else { asked })
                };
                if let Some(of) = of.clone().filter(|_| call.is_object()) {
                    events.calls(
                        calls::in_event(call).into_iter().filter(|(id, _)| *id == of).collect(),
                        &session,
                        sink,
                    );
                }
                events.asked_by(name.clone(), &session, of, asks, sink);
                Is::Ask
            }
            () => {
                let (tool, input) = match method {
                    "tools/call" => (format!("mcp__{}", text(params, "name")), &params["arguments"]),
                    method => (method.to_owned(), params),
                };
                let does = Calls::Tool { name: tool, on: on(input) };
                sink.note(Note::Call { session: session.clone(), message: name.clone(), call: name.clone(), does });
                Is::Other
            }
        };
        while self.open.len() >= limits::ASKS {
            self.open.pop_front();
        }
        // the choices alone are needed later
        let params = serde_json::json!({ "options": params["options"] });
        self.open.push_back(Request { id, name, from_agent, is, session, params });
    }

    /// A response: to the request of the other side with its id.
    fn response(&mut self, id: &str, value: &Value, from_agent: Option<bool>, sink: &mut Sink<'_>) {
        let result = &value["result"];
        let fits = |request: &Request| {
            let sides = from_agent.zip(request.from_agent).is_none_or(|(one, other)| one != other);
            request.id == *id && sides
        };
        // what the response holds tells which of two it is for
        let likely = |request: &Request| match request.is {
            Is::Prompt => !result["stopReason"].is_null(),
            Is::Ask => ["outcome", "decision", "action", "answers"].iter().any(|key| !result[key].is_null()),
            Is::Other => true,
        };
        let place = self.open.iter().rposition(|request| fits(request) && likely(request));
        let place = place.or_else(|| self.open.iter().rposition(fits));
        let Some(request) = place.and_then(|place| self.open.remove(place)) else {
            return sink.pass("a response");
        };
        sink.take("a response");
        let error = !value["error"].is_null();
        match request.is {
            Is::Ask => {
                let how = if error { Reply::Withdrawn } else { reply(result, &request.params) };
                sink.note(Note::AskEnded { id: request.name, how });
            }
            Is::Prompt if self.open.iter().any(|other| other.is == Is::Prompt) => {
                // another session's turn goes on
                sink.note(Note::Busy { session: request.session, busy: false });
            }
            Is::Prompt => match outcome(value) {
                Some(found) => sink.note(Note::Result { ok: found.ok, aborted: found.aborted, text: found.text }),
                None => {
                    sink.note(Note::Unclear { session: request.session, kind: "the response to the prompt".to_owned() })
                }
            },
            Is::Other => {
                let said = some(&value["error"], "message").unwrap_or_default();
                sink.note(Note::Told { call: request.name, error, text: said, code: None });
            }
        }
    }

    fn notification(&mut self, method: &str, params: &Value, events: &mut Events, sink: &mut Sink<'_>) {
        let session = session_of(params);
        let update = if params["update"].is_object() { &params["update"] } else { params };
        let kind = some(update, "sessionUpdate").unwrap_or_else(|| method.to_owned());
        let words = words_of(&kind);
        let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
        sink.note(Note::Session { id: session.clone(), parent: None, call: None, created: true });
        if has(&["cancel", "cancelled", "interrupt"]) {
            sink.take(&kind);
            return sink.note(Note::Stop { session });
        }
        let mut found = calls::in_event(update);
        let item = &params["item"];
        if found.is_empty() && item["id"].is_string() && !has(&["message", "reasoning"]) && !is_words(item) {
            // `item/started`, `item/completed`
            let id = text(item, "id").to_owned();
            let mut with = item.clone();
            with["toolCallId"] = Value::String(id);
            with["phase"] = Value::String(words.last().cloned().unwrap_or_default());
            found = calls::in_event(&with);
        }
        if !found.is_empty() {
            events.calls(found, &session, sink);
            return sink.take(&kind);
        }
        match () {
            () if has(&["thought", "reasoning", "plan", "thinking"]) => sink.note(Note::Thinks { session }),
            () if has(&["turn", "run", "task"]) && has(&["started", "start", "begin"]) => {
                sink.note(Note::Prompt { session, by_client: true });
            }
            () if has(&["turn", "run", "task"])
                && has(&["completed", "complete", "failed", "aborted", "end", "finished"]) =>
            {
                match (outcome(params), words.last().and_then(|word| super::outcome::of_word(word))) {
                    (Some(found), _) => {
                        sink.note(Note::Result { ok: found.ok, aborted: found.aborted, text: found.text })
                    }
                    (None, Some(how)) => {
                        sink.note(Note::Result { ok: how.is_ok(), aborted: how == Err(true), text: String::new() });
                    }
                    (None, None) => sink.note(Note::Unclear { session, kind: kind.clone() }),
                }
            }
            () if has(&["message", "text", "delta"]) && !has(&["user"]) => {
                let content = if update["content"].is_null() { &update["item"] } else { &update["content"] };
                let said = some(content, "text").or_else(|| some(update, "delta")).or_else(|| some(update, "text"));
                events.says(&session, said.unwrap_or_default(), has(&["chunk", "delta"]), sink);
            }
            () => {
                sink.note(Note::Alive);
                return sink.pass(&kind);
            }
        }
        sink.take(&kind);
    }
}

/// Whether an item is the model's words or thoughts, and not a call.
fn is_words(item: &Value) -> bool {
    words_of(text(item, "type")).iter().any(|word| matches!(word.as_str(), "message" | "reasoning" | "plan"))
}

/// The session of a message's parameters.
fn session_of(params: &Value) -> String {
    let id =
        ["sessionId", "session_id", "threadId", "thread_id", "conversationId"].iter().find_map(|key| some(params, key));
    id.unwrap_or_else(|| MAIN.to_owned())
}

/// How an ask ended, by the choice that its response names.
fn reply(result: &Value, params: &Value) -> Reply {
    let outcome = &result["outcome"];
    let chosen = some(outcome, "optionId").or_else(|| some(result, "decision")).or_else(|| some(result, "action"));
    let options = params["options"].as_array().into_iter().flatten();
    let kind = chosen.as_ref().and_then(|chosen| {
        options
            .take(limits::LIST)
            .find(|option| text(option, "optionId") == *chosen)
            .map(|option| text(option, "kind").to_owned())
    });
    let said = format!("{} {} {}", kind.unwrap_or_default(), chosen.unwrap_or_default(), text(outcome, "outcome"))
        .to_lowercase();
    let has = |of: &[&str]| of.iter().any(|word| said.contains(word));
    match () {
        () if has(&["reject", "den", "declin", "refus"]) => Reply::Denied,
        () if has(&["cancel"]) => Reply::Withdrawn,
        () if has(&["always", "for_session", "forsession"]) => Reply::Always,
        () if has(&["allow", "approv", "accept", "selected", "yes", "proceed"]) => Reply::Allowed,
        () => Reply::Skipped,
    }
}

/// A small exchange of the Agent Client Protocol.
pub const SAMPLE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"a","prompt":[{"type":"text","text":"go"}]}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I look."}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"make","kind":"execute","status":"in_progress"}}}
{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"a","toolCall":{"toolCallId":"t","title":"make"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}
"#;
