//! The model APIs' streams: OpenAI chat and responses, Anthropic messages, Google's generateContent.
//!
//! [`ModelEvent`] has what all of them have in common. [`Encoder`] is the server's side, chunk by chunk, so that a
//! stream can stall or be cut after any of them; [`Decoder`] is the client's; [`script`] says what comes when, and
//! [`reply`] sends it.
//!
//! Invariant: what an encoder writes for a list of events, the decoder of the same API reads as the same list.

mod ask;
mod decode;
mod encode;
mod gemini;
#[cfg(feature = "script")]
pub mod reply;
mod request;
#[cfg(feature = "script")]
pub mod script;
mod whole;

pub use ask::request_body;
pub use decode::{ARGUMENTS_MAX_BYTES, Decoder, ModelError, OPEN_CALLS_MAX};
pub use encode::{Encoder, error_body, error_message};
pub use rehang_words::Finish;
pub use request::{Message, ModelRequest, Part, Tool};
pub use whole::whole;

use rehang_words::{Canon, Canonical, canon};
use serde_json::Value;
use std::hash::{Hash, Hasher};

/// One of the model APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI's `POST /v1/chat/completions`; what opencode speaks to an OpenAI-compatible provider.
    OpenAiChat,
    /// OpenAI's `POST /v1/responses`; what Codex speaks.
    OpenAiResponses,
    /// Anthropic's `POST /v1/messages`; what Claude Code speaks.
    Anthropic,
    /// Google's `POST /v1beta/models/MODEL:streamGenerateContent`; what Gemini CLI speaks.
    Gemini,
}

/// One thing that a model's stream says.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The stream has begun.
    Start,
    /// Some text of the response.
    TextDelta(String),
    /// A whole tool call.
    ToolCall(ToolCall),
    /// The reason for which the response ends; never [`Finish::None`].
    Finish(Finish),
    /// An error instead of the rest.
    Error {
        /// The HTTP status that it would have had; 0 if that is not known.
        status: u16,
        /// What the server says.
        message: String,
    },
    /// A sign of life without content.
    KeepAlive,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The call's id: the caller's counter, never random.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments of the call.
    pub input: Value,
}

impl Hash for ToolCall {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let ToolCall { id, name, input } = self;
        (id, name).hash(hasher);
        canon::json(input, hasher);
    }
}

impl Api {
    /// All of them, in this order.
    pub const ALL: [Api; 4] = [Api::OpenAiChat, Api::OpenAiResponses, Api::Anthropic, Api::Gemini];

    /// The target of a request for this model, below any base path. Only Gemini's names the model and the stream.
    pub fn target(self, model: &str, stream: bool) -> String {
        match self {
            Api::Gemini => gemini::target(model, stream),
            _ => self.path().to_owned(),
        }
    }

    /// The path that it is served at, below any base path; Gemini's for a model called `model`.
    pub fn path(self) -> &'static str {
        match self {
            Api::OpenAiChat => "/v1/chat/completions",
            Api::OpenAiResponses => "/v1/responses",
            Api::Anthropic => "/v1/messages",
            Api::Gemini => "/v1beta/models/model:streamGenerateContent",
        }
    }

    /// The API that a request's target belongs to, whatever base path and query it has.
    pub fn of_target(target: &str) -> Option<Api> {
        let target = crate::http::Target::parse(target);
        match target.path().as_slice() {
            [.., "chat", "completions"] => Some(Api::OpenAiChat),
            [.., "responses"] => Some(Api::OpenAiResponses),
            [.., "messages"] => Some(Api::Anthropic),
            [.., "models", last] if gemini::method(last).is_some() => Some(Api::Gemini),
            _ => None,
        }
    }
}

impl Canonical for ModelEvent {
    fn canon(&self, canon: &mut Canon) {
        match self {
            ModelEvent::Start => canon.num(0),
            ModelEvent::TextDelta(text) => canon.num(1).text(text),
            ModelEvent::ToolCall(ToolCall {
                id: _, // not compared: it names a call that is not out, so nobody holds it; each retry has a new one
                name,
                input,
            }) => canon.num(2).text(name).text(&input.to_string()),
            ModelEvent::Finish(finish) => canon.num(3).num(*finish as u64),
            ModelEvent::Error { status, message } => canon.num(4).num((*status).into()).text(message),
            ModelEvent::KeepAlive => canon.num(5),
        };
    }
}

#[cfg(all(test, feature = "script"))]
mod tests;
