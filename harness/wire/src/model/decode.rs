//! The client's side: the bytes of an SSE body to events.
//!
//! Invariants: a tool call comes out once and whole, when its stream says that it is, or when a later part shows it; a
//! call that the stream's end cuts never comes out. Unknown content is skipped, as real clients do.

use super::encode::error_status;
use super::{Api, Finish, ModelEvent, ToolCall, gemini};
use crate::sse::{self, Item, SseError};
use rehang_words::{Canon, Canonical};
use serde_json::Value;
use std::collections::VecDeque;

/// The most tool calls that may be open at a time in one response.
pub const OPEN_CALLS_MAX: usize = 128;
/// The longest arguments of one tool call, in bytes.
pub const ARGUMENTS_MAX_BYTES: usize = 4 * 1024 * 1024;

/// Why a stream does not follow its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ModelError {
    /// An SSE line or event is too long.
    #[error(transparent)]
    Sse(#[from] SseError),
    /// An event's data is not a JSON object.
    #[error("event is no json object")]
    Json,
    /// A tool call's arguments are not JSON.
    #[error("tool call's arguments are no json")]
    Arguments,
    /// There are more open calls than [`OPEN_CALLS_MAX`], or longer arguments than [`ARGUMENTS_MAX_BYTES`].
    #[error("tool calls beyond the limit")]
    TooMuch,
}

/// Decodes one response to a request.
#[derive(Debug, Clone)]
pub struct Decoder {
    api: Api,
    sse: sse::Decoder,
    ready: VecDeque<ModelEvent>,
    /// Calls whose arguments are still coming, by their place in the response.
    open: Vec<(u64, PartialCall)>,
    ids: gemini::Ids,
    started: bool,
    called: bool,
    ended: bool,
    failed: Option<ModelError>,
}

#[derive(Debug, Clone, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl Decoder {
    /// A decoder of a response of this API.
    pub fn new(api: Api) -> Decoder {
        Decoder {
            api,
            sse: sse::Decoder::new(),
            ready: VecDeque::new(),
            open: Vec::new(),
            ids: gemini::Ids::default(),
            started: false,
            called: false,
            ended: false,
            failed: None,
        }
    }

    /// Takes bytes of the body.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.sse.feed(bytes);
        }
    }

    /// The next event; `None` if more bytes are needed.
    ///
    /// # Errors
    /// What is wrong with the stream; it cannot be used after that.
    pub fn next_event(&mut self) -> Result<Option<ModelEvent>, ModelError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let next = self.step();
        if let Err(error) = next {
            self.failed = Some(error);
        }
        next
    }

    /// Whether the stream said that it is over: `[DONE]`, `message_stop`, `response.completed`. A connection may stay
    /// open after that, and one may close without it.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    fn step(&mut self) -> Result<Option<ModelEvent>, ModelError> {
        while self.ready.is_empty() {
            match self.sse.next_item()? {
                None => return Ok(None),
                Some(Item::Comment(_)) => self.ready.push_back(ModelEvent::KeepAlive),
                Some(Item::Event(event)) if event.data.trim() == "[DONE]" => {
                    self.close_all()?;
                    self.ended = true;
                }
                Some(Item::Event(event)) => {
                    let body: Value = serde_json::from_str(&event.data).map_err(|_| ModelError::Json)?;
                    if !body.is_object() {
                        return Err(ModelError::Json);
                    }
                    match self.api {
                        Api::OpenAiChat => self.chat(&body)?,
                        Api::OpenAiResponses => self.responses(&body)?,
                        Api::Anthropic => self.anthropic(&body)?,
                        Api::Gemini => self.gemini(&body),
                    }
                }
            }
        }
        Ok(self.ready.pop_front())
    }

    fn chat(&mut self, body: &Value) -> Result<(), ModelError> {
        if let Some(error) = body.get("error").filter(|e| !e.is_null()) {
            let status = error.get("code").and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
            self.error(status.unwrap_or(0), error);
            return Ok(());
        }
        self.start();
        let Some(choice) = body.pointer("/choices/0") else { return Ok(()) };
        if choice.pointer("/delta/content").and_then(Value::as_str).is_some_and(|said| !said.is_empty()) {
            // A text after calls must not overtake them; a call whose arguments are still coming is not cut short.
            for (index, partial) in std::mem::take(&mut self.open) {
                match partial.clone().whole() {
                    Ok(call) if !partial.arguments.is_empty() => self.ready.push_back(call),
                    _ => self.open.push((index, partial)),
                }
            }
        }
        self.text(choice.pointer("/delta/content"));
        for (at, call) in
            choice.pointer("/delta/tool_calls").and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            let index = call.get("index").and_then(Value::as_u64).unwrap_or(at as u64);
            // Calls come one after the other: the start of the next one is the end of those before.
            if self.open.iter().all(|(open, _)| *open != index) {
                self.close_all()?;
            }
            let partial = self.call(index)?;
            partial.id.push_str(text(call, "/id"));
            partial.name.push_str(text(call, "/function/name"));
            partial.push(text(call, "/function/arguments"))?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.close_all()?;
            self.finish(match reason {
                "stop" => Finish::Stop,
                "tool_calls" | "function_call" => Finish::ToolCalls,
                _ => Finish::Unknown,
            });
        }
        Ok(())
    }

    fn responses(&mut self, body: &Value) -> Result<(), ModelError> {
        let kind = text(body, "/type");
        if !matches!(kind, "error" | "response.failed") {
            self.start();
        }
        match kind {
            "response.output_text.delta" => self.text(body.get("delta")),
            // The whole call comes again here, so its deltas need not be put together; Codex reads nothing else.
            "response.output_item.done" if text(body, "/item/type") == "function_call" => {
                let mut partial = PartialCall::default();
                partial.id.push_str(text(body, "/item/call_id"));
                partial.name.push_str(text(body, "/item/name"));
                partial.push(text(body, "/item/arguments"))?;
                self.called = true;
                self.ready.push_back(partial.whole()?);
            }
            "response.completed" => {
                self.finish(if self.called { Finish::ToolCalls } else { Finish::Stop });
                self.ended = true;
            }
            "response.incomplete" => {
                self.finish(Finish::Unknown);
                self.ended = true;
            }
            "response.failed" | "error" => {
                let error = body.pointer("/response/error").or_else(|| body.get("error")).unwrap_or(body);
                let status = match text(error, "/code") {
                    "rate_limit_exceeded" => 429,
                    "invalid_request_error" => 400,
                    "server_error" => 500,
                    _ => 0,
                };
                self.error(status, error);
            }
            _ => {}
        }
        Ok(())
    }

    fn anthropic(&mut self, body: &Value) -> Result<(), ModelError> {
        let index = body.get("index").and_then(Value::as_u64).unwrap_or(0);
        match text(body, "/type") {
            "message_start" => self.start(),
            "ping" => self.ready.push_back(ModelEvent::KeepAlive),
            "content_block_start" => match text(body, "/content_block/type") {
                "text" => self.text(body.pointer("/content_block/text")),
                "tool_use" => {
                    let (id, name) = (text(body, "/content_block/id"), text(body, "/content_block/name"));
                    let partial = self.call(index)?;
                    *partial = PartialCall { id: id.to_owned(), name: name.to_owned(), arguments: String::new() };
                }
                _ => {}
            },
            "content_block_delta" => match text(body, "/delta/type") {
                "text_delta" => self.text(body.pointer("/delta/text")),
                "input_json_delta" if self.open.iter().any(|(open, _)| *open == index) => {
                    self.call(index)?.push(text(body, "/delta/partial_json"))?;
                }
                _ => {}
            },
            "content_block_stop" => {
                if let Some(at) = self.open.iter().position(|(open, _)| *open == index) {
                    let (_, partial) = self.open.remove(at);
                    self.ready.push_back(partial.whole()?);
                }
            }
            "message_delta" => {
                if let Some(reason) = body.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.finish(match reason {
                        "end_turn" | "stop_sequence" => Finish::Stop,
                        "tool_use" => Finish::ToolCalls,
                        _ => Finish::Unknown,
                    });
                }
            }
            "message_stop" => self.ended = true,
            "error" => {
                let error = body.get("error").unwrap_or(body);
                self.error(error_status(text(error, "/type")), error);
            }
            _ => {}
        }
        Ok(())
    }

    fn gemini(&mut self, body: &Value) {
        if let Some(error) = body.get("error") {
            let status = error.get("code").and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
            return self.error(status.unwrap_or(0), error);
        }
        let begun = self.started;
        self.start();
        let Some(candidate) = body.pointer("/candidates/0") else {
            if begun {
                self.ready.push_back(ModelEvent::KeepAlive);
            }
            return;
        };
        for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
            self.text(part.get("text"));
            if let Some(call) = part.get("functionCall") {
                let name = text(call, "/name").to_owned();
                let id = self.ids.call(text(call, "/id"), &name);
                let input = call.get("args").cloned().unwrap_or_else(|| Value::Object(Default::default()));
                self.called = true;
                self.ready.push_back(ModelEvent::ToolCall(ToolCall { id, name, input }));
            }
        }
        if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
            self.finish(match reason {
                "STOP" if self.called => Finish::ToolCalls,
                "STOP" => Finish::Stop,
                _ => Finish::Unknown,
            });
            self.ended = true;
        }
    }

    fn start(&mut self) {
        if !std::mem::replace(&mut self.started, true) {
            self.ready.push_back(ModelEvent::Start);
        }
    }

    fn text(&mut self, delta: Option<&Value>) {
        if let Some(delta) = delta.and_then(Value::as_str).filter(|d| !d.is_empty()) {
            self.ready.push_back(ModelEvent::TextDelta(delta.to_owned()));
        }
    }

    fn finish(&mut self, reason: Finish) {
        self.ready.push_back(ModelEvent::Finish(reason));
    }

    fn error(&mut self, status: u16, error: &Value) {
        let message = text(error, "/message").to_owned();
        self.ready.push_back(ModelEvent::Error { status, message });
    }

    fn call(&mut self, index: u64) -> Result<&mut PartialCall, ModelError> {
        let at = match self.open.iter().position(|(open, _)| *open == index) {
            Some(at) => at,
            None if self.open.len() >= OPEN_CALLS_MAX => return Err(ModelError::TooMuch),
            None => {
                self.open.push((index, PartialCall::default()));
                self.open.len() - 1
            }
        };
        Ok(&mut self.open[at].1)
    }

    fn close_all(&mut self) -> Result<(), ModelError> {
        for (_, partial) in std::mem::take(&mut self.open) {
            self.ready.push_back(partial.whole()?);
        }
        Ok(())
    }
}

impl PartialCall {
    fn push(&mut self, arguments: &str) -> Result<(), ModelError> {
        if self.arguments.len() + arguments.len() > ARGUMENTS_MAX_BYTES {
            return Err(ModelError::TooMuch);
        }
        self.arguments.push_str(arguments);
        Ok(())
    }

    fn whole(self) -> Result<ModelEvent, ModelError> {
        // A call without arguments comes as an empty text, not as `{}`.
        let arguments = if self.arguments.trim().is_empty() { "{}" } else { &self.arguments };
        let input = serde_json::from_str(arguments).map_err(|_| ModelError::Arguments)?;
        Ok(ModelEvent::ToolCall(ToolCall { id: self.id, name: self.name, input }))
    }
}

impl Canonical for Decoder {
    fn canon(&self, canon: &mut Canon) {
        let Self { api, sse, ready, open, ids, started, called, ended, failed } = self;
        sse.canon(canon);
        canon.num(ready.len() as u64);
        ready.iter().for_each(|event| event.canon(canon));
        canon.list(open, |canon, (index, PartialCall { id, name, arguments })| {
            canon.num(*index).text(id).text(name).text(arguments);
        });
        ids.canon(canon);
        canon.num(*api as u64).flag(*started).flag(*called).flag(*ended);
        match failed {
            None => canon.num(0),
            Some(ModelError::Sse(error)) => canon.num(1).num(error.canonical()),
            Some(ModelError::Json) => canon.num(2),
            Some(ModelError::Arguments) => canon.num(3),
            Some(ModelError::TooMuch) => canon.num(4),
        };
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}
