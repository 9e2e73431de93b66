//! The server's side: events to the bytes of an SSE body.
//!
//! Invariant: every event becomes whole SSE events or a comment, or nothing ([`Finish::None`]), so a stream may end
//! after any of them.

use super::{Api, Finish, ModelEvent, ToolCall, gemini};
use crate::sse;
use rehang_words::{Canon, Canonical};
use serde_json::{Value, json};

/// Encodes one response to a request.
#[derive(Debug, Clone)]
pub struct Encoder {
    api: Api,
    id: String,
    model: String,
    /// The content blocks or output items that are done.
    done: Vec<Value>,
    /// The text of the block that is open.
    text: Option<String>,
    calls: u32,
    sequence: u32,
}

impl Canonical for Encoder {
    fn canon(&self, canon: &mut Canon) {
        let Encoder {
            api,
            id,
            model: _, // not compared: it never changes
            done,
            text,
            calls,
            sequence: _, // not compared: it numbers events, and decides nothing
        } = self;
        canon.num(*api as u64).num(u64::from(*calls));
        canon.flag(text.is_some()).text(text.as_deref().unwrap_or(""));
        // its own id counts the cell's responses, and is only a name
        canon.list(done, |canon, item| {
            canon.text(&item.to_string().replace(id, ""));
        });
    }
}

impl Encoder {
    /// An encoder of a response with this id from this model.
    pub fn new(api: Api, id: &str, model: &str) -> Encoder {
        let (id, model) = (id.to_owned(), model.to_owned());
        Encoder { api, id, model, done: Vec::new(), text: None, calls: 0, sequence: 0 }
    }

    /// The bytes of one event.
    pub fn event(&mut self, event: &ModelEvent) -> Vec<u8> {
        match self.api {
            Api::OpenAiChat => self.chat(event),
            Api::OpenAiResponses => self.responses(event),
            Api::Anthropic => self.anthropic(event),
            Api::Gemini => self.gemini(event),
        }
    }

    /// The regular end of a stream: `[DONE]`, `message_stop`; OpenAI responses and Gemini have none.
    pub fn end(&mut self) -> Vec<u8> {
        match self.api {
            Api::OpenAiChat => sse::data("[DONE]"),
            Api::OpenAiResponses | Api::Gemini => Vec::new(),
            Api::Anthropic => {
                let mut out = self.close_text_block();
                out.extend(named(json!({"type": "message_stop"})));
                out
            }
        }
    }

    /// The whole response to an OpenAI `responses` request that asks for no stream.
    pub(super) fn whole_response(mut self, events: &[ModelEvent]) -> Value {
        for event in events {
            self.responses(event);
        }
        self.close_message();
        let finished = events.iter().any(|e| matches!(e, ModelEvent::Finish(f) if *f != Finish::Unknown));
        let mut response = self.response(if finished { "completed" } else { "incomplete" });
        response["usage"] = response_usage();
        response
    }

    fn chat(&mut self, event: &ModelEvent) -> Vec<u8> {
        let (delta, finish) = match event {
            ModelEvent::Start => (json!({"role": "assistant", "content": ""}), Value::Null),
            ModelEvent::TextDelta(text) => (json!({"content": text}), Value::Null),
            ModelEvent::ToolCall(call) => {
                let index = self.calls;
                self.calls += 1;
                let function = json!({"name": call.name, "arguments": call.input.to_string()});
                let call = json!({"index": index, "id": call.id, "type": "function", "function": function});
                (json!({"tool_calls": [call]}), Value::Null)
            }
            ModelEvent::Finish(Finish::None) => return Vec::new(),
            ModelEvent::Finish(Finish::Stop) => (json!({}), json!("stop")),
            ModelEvent::Finish(Finish::ToolCalls) => (json!({}), json!("tool_calls")),
            ModelEvent::Finish(Finish::Unknown) => (json!({}), json!("unknown")),
            ModelEvent::Error { status, message } => {
                return sse::data(&error_body(self.api, *status, message).to_string());
            }
            ModelEvent::KeepAlive => return sse::comment("keep-alive"),
        };
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": 0, "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        });
        if !chunk["choices"][0]["finish_reason"].is_null() {
            chunk["usage"] = chat_usage();
        }
        sse::data(&chunk.to_string())
    }

    fn responses(&mut self, event: &ModelEvent) -> Vec<u8> {
        match event {
            ModelEvent::Start => {
                let response = self.response("in_progress");
                let mut out = self.numbered("response.created", json!({"response": response}));
                out.extend(self.numbered("response.in_progress", json!({"response": response})));
                out
            }
            ModelEvent::TextDelta(delta) => {
                let mut out = Vec::new();
                if self.text.is_none() {
                    let item = self.message("in_progress", Vec::new());
                    out.extend(self.item("response.output_item.added", &item));
                    let part = json!({"type": "output_text", "text": "", "annotations": []});
                    out.extend(self.text_event("response.content_part.added", json!({"part": part})));
                }
                out.extend(self.text_event("response.output_text.delta", json!({"delta": delta})));
                self.text.get_or_insert_default().push_str(delta);
                out
            }
            ModelEvent::ToolCall(call) => {
                let mut out = self.close_message();
                let arguments = call.input.to_string();
                // `NAMESPACE/NAME` is a tool of a namespace
                let (namespace, name) =
                    call.name.rsplit_once('/').map_or((None, &*call.name), |(of, name)| (Some(of), name));
                let item = |status: &str, arguments: &str| {
                    let mut item = json!({"type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id,
                        "name": name, "arguments": arguments, "status": status});
                    if let Some(namespace) = namespace {
                        item["namespace"] = json!(namespace);
                    }
                    item
                };
                out.extend(self.item("response.output_item.added", &item("in_progress", "")));
                let place = json!({"item_id": format!("fc_{}", call.id), "output_index": self.done.len()});
                let with = |name: &str| merged(&place, json!({name: arguments}));
                out.extend(self.numbered("response.function_call_arguments.delta", with("delta")));
                out.extend(self.numbered("response.function_call_arguments.done", with("arguments")));
                let done = item("completed", &arguments);
                out.extend(self.item("response.output_item.done", &done));
                self.done.push(done);
                out
            }
            ModelEvent::Finish(Finish::None) => Vec::new(),
            ModelEvent::Finish(finish) => {
                let mut out = self.close_message();
                let unknown = *finish == Finish::Unknown;
                let status = if unknown { "incomplete" } else { "completed" };
                let mut response = self.response(status);
                if unknown {
                    response["incomplete_details"] = json!({"reason": "unknown"});
                }
                response["usage"] = response_usage();
                out.extend(self.numbered(&format!("response.{status}"), json!({"response": response})));
                out
            }
            ModelEvent::Error { status, message } => {
                let mut response = self.response("failed");
                response["error"] = json!({"code": error_code(*status), "message": message});
                self.numbered("response.failed", json!({"response": response}))
            }
            ModelEvent::KeepAlive => sse::comment("keep-alive"),
        }
    }

    fn anthropic(&mut self, event: &ModelEvent) -> Vec<u8> {
        match event {
            ModelEvent::Start => named(json!({"type": "message_start", "message": {
                "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 1},
            }})),
            ModelEvent::TextDelta(text) => {
                let mut out = Vec::new();
                if self.text.is_none() {
                    self.text = Some(String::new());
                    out.extend(self.block_start(json!({"type": "text", "text": ""})));
                }
                out.extend(self.block_delta(json!({"type": "text_delta", "text": text})));
                out
            }
            ModelEvent::ToolCall(ToolCall { id, name, input }) => {
                let mut out = self.close_text_block();
                out.extend(self.block_start(json!({"type": "tool_use", "id": id, "name": name, "input": {}})));
                let partial = json!({"type": "input_json_delta", "partial_json": input.to_string()});
                out.extend(self.block_delta(partial));
                out.extend(self.block_stop());
                out
            }
            ModelEvent::Finish(Finish::None) => Vec::new(),
            ModelEvent::Finish(finish) => {
                let mut out = self.close_text_block();
                let reason = match finish {
                    Finish::Stop => "end_turn",
                    Finish::ToolCalls => "tool_use",
                    Finish::Unknown | Finish::None => "unknown",
                };
                let delta = json!({"stop_reason": reason, "stop_sequence": null});
                out.extend(named(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}})));
                out
            }
            ModelEvent::Error { status, message } => named(error_body(self.api, *status, message)),
            ModelEvent::KeepAlive => named(json!({"type": "ping"})),
        }
    }

    fn gemini(&mut self, event: &ModelEvent) -> Vec<u8> {
        let chunk = |parts: &[Value], finish| gemini::body(&self.id, &self.model, parts, finish);
        let body = match event {
            ModelEvent::Start => chunk(&[gemini::text_part("")], None),
            ModelEvent::TextDelta(text) => chunk(&[gemini::text_part(text)], None),
            ModelEvent::ToolCall(call) => chunk(&[gemini::call_part(call)], None),
            ModelEvent::Finish(Finish::None) => return Vec::new(),
            ModelEvent::Finish(finish) => chunk(&[], Some(*finish)),
            ModelEvent::Error { status, message } => error_body(self.api, *status, message),
            // Its clients read only `data:`, so a comment is not a sign of life to them.
            ModelEvent::KeepAlive => gemini::alive(&self.id, &self.model),
        };
        sse::data(&body.to_string())
    }

    fn block_start(&self, block: Value) -> Vec<u8> {
        named(json!({"type": "content_block_start", "index": self.done.len(), "content_block": block}))
    }

    fn block_delta(&self, delta: Value) -> Vec<u8> {
        named(json!({"type": "content_block_delta", "index": self.done.len(), "delta": delta}))
    }

    fn block_stop(&mut self) -> Vec<u8> {
        let stop = named(json!({"type": "content_block_stop", "index": self.done.len()}));
        self.done.push(Value::Null);
        stop
    }

    fn close_text_block(&mut self) -> Vec<u8> {
        if self.text.take().is_some() { self.block_stop() } else { Vec::new() }
    }

    fn response(&self, status: &str) -> Value {
        json!({"id": self.id, "object": "response", "created_at": 0, "status": status, "model": self.model,
            "output": self.done, "error": null, "incomplete_details": null})
    }

    fn message(&self, status: &str, content: Vec<Value>) -> Value {
        let id = format!("msg_{}_{}", self.id, self.done.len());
        json!({"type": "message", "id": id, "status": status, "role": "assistant", "content": content})
    }

    fn text_event(&mut self, kind: &str, body: Value) -> Vec<u8> {
        let id = format!("msg_{}_{}", self.id, self.done.len());
        let place = json!({"item_id": id, "output_index": self.done.len(), "content_index": 0});
        self.numbered(kind, merged(&place, body))
    }

    fn item(&mut self, kind: &str, item: &Value) -> Vec<u8> {
        self.numbered(kind, json!({"output_index": self.done.len(), "item": item}))
    }

    fn close_message(&mut self) -> Vec<u8> {
        let Some(text) = self.text.take() else { return Vec::new() };
        let part = json!({"type": "output_text", "text": text, "annotations": []});
        let mut out = self.text_event("response.output_text.done", json!({"text": text}));
        out.extend(self.text_event("response.content_part.done", json!({"part": part})));
        let item = self.message("completed", vec![part]);
        out.extend(self.item("response.output_item.done", &item));
        self.done.push(item);
        out
    }

    fn numbered(&mut self, kind: &str, body: Value) -> Vec<u8> {
        let head = json!({"type": kind, "sequence_number": self.sequence});
        self.sequence += 1;
        named(merged(&head, body))
    }
}

/// The usage that every response reports: 10 tokens in, 3 out. The fakes that play their model themselves report the
/// same, so that a release with this model and its fake agree.
pub(super) fn chat_usage() -> Value {
    json!({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13})
}

fn response_usage() -> Value {
    json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 13})
}

/// The JSON body of an HTTP error, and the error inside a stream if the API has one.
pub fn error_body(api: Api, status: u16, message: &str) -> Value {
    match api {
        Api::Anthropic => json!({"type": "error", "error": {"type": error_kind(status), "message": message}}),
        Api::Gemini => {
            json!({"error": {"code": status, "message": message, "status": gemini::status_name(status)}})
        }
        Api::OpenAiChat | Api::OpenAiResponses => {
            json!({"error": {"message": message, "type": error_code(status), "param": null, "code": status}})
        }
    }
}

/// The message of an [`error_body`], or of any other server's.
pub fn error_message(body: &[u8]) -> String {
    let text = || String::from_utf8_lossy(body).into_owned();
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return text() };
    let message = body.pointer("/error/message").or_else(|| body.get("message")).or_else(|| body.get("error"));
    message.and_then(Value::as_str).map_or_else(text, str::to_owned)
}

/// Anthropic's error types by status (docs.anthropic.com, API errors).
fn error_kind(status: u16) -> &'static str {
    ERROR_KINDS.iter().find(|(s, _)| *s == status).map_or("api_error", |(_, kind)| kind)
}

/// The status of an error type of Anthropic's; 0 if it is not one.
pub(super) fn error_status(kind: &str) -> u16 {
    ERROR_KINDS.iter().find(|(_, k)| *k == kind).map_or(0, |(status, _)| *status)
}

const ERROR_KINDS: [(u16, &str); 9] = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (413, "request_too_large"),
    (429, "rate_limit_error"),
    (500, "api_error"),
    (504, "timeout_error"),
    (529, "overloaded_error"),
];

/// OpenAI's codes for the two families that clients treat differently.
fn error_code(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_exceeded",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

/// An event whose SSE type is the `type` of its body.
fn named(body: Value) -> Vec<u8> {
    let event = body.get("type").and_then(Value::as_str).map(str::to_owned);
    sse::event(&sse::Event { event, id: None, data: body.to_string() })
}

fn merged(first: &Value, second: Value) -> Value {
    let mut all = first.clone();
    if let (Value::Object(all), Value::Object(more)) = (&mut all, second) {
        all.extend(more);
    }
    all
}
