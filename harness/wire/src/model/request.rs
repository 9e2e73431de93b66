//! What a model is asked: the bodies of the APIs' requests, reduced to what is read here; `ask` writes them.
//!
//! Invariant: reading never fails on JSON; what is missing or unknown is left out.

use super::{Api, gemini};
use serde_json::Value;

/// A request, as far as it is read here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The model's name.
    pub model: String,
    /// Whether the response is to be a stream.
    pub stream: bool,
    /// The tools that are offered.
    pub tools: Vec<Tool>,
    /// The conversation so far; a system prompt is its first message.
    pub messages: Vec<Message>,
}

/// A tool that is offered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tool {
    /// The name of the tool.
    pub name: String,
    /// What the tool is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Hash, Default)]
pub struct Message {
    /// `system`, `user` or `assistant`; tool results are the user's.
    pub role: String,
    /// The parts of the message.
    pub parts: Vec<Part>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Part {
    /// A part that is a text.
    Text(String),
    /// The assistant called a tool.
    Call(super::ToolCall),
    /// A tool's result.
    Result {
        /// The id of the call.
        id: String,
        /// What the model is told.
        text: String,
        /// Whether it is an error; OpenAI's APIs cannot say so.
        is_error: bool,
    },
}

impl Message {
    /// A message of one text.
    pub fn text(role: &str, text: &str) -> Message {
        Message { role: role.to_owned(), parts: vec![Part::Text(text.to_owned())] }
    }
}

impl ModelRequest {
    /// Reads a request: its body, and what Gemini's target says besides: the model, and whether it is to stream.
    pub fn at(api: Api, target: &str, body: &Value) -> ModelRequest {
        let mut request = ModelRequest::parse(api, body);
        let target = crate::http::Target::parse(target);
        if let Some((model, stream)) = target.path().last().and_then(|last| gemini::method(last)) {
            request.model = model.to_owned();
            request.stream = stream;
        }
        request
    }

    /// Reads the body of a request.
    pub fn parse(api: Api, body: &Value) -> ModelRequest {
        // Codex groups its tools: a group is replaced by its tools.
        let grouped = array(body, "tools").flat_map(|tool| match tool.get("tools").and_then(Value::as_array) {
            Some(group) => group.iter().collect(),
            None => vec![tool],
        });
        let tools = grouped.map(|tool| {
            let tool = tool.get("function").unwrap_or(tool);
            let parameters = tool.get("parameters").or_else(|| tool.get("input_schema"));
            let name = string(tool, "name");
            Tool {
                // A vendor's own tool (`web_search`) has no name except its type.
                name: if name.is_empty() { string(tool, "type") } else { name },
                description: string(tool, "description"),
                parameters: parameters.cloned().unwrap_or_default(),
            }
        });
        let tools = if api == Api::Gemini { gemini::tools(body) } else { tools.collect() };
        let mut messages = Vec::new();
        for key in ["system", "instructions"] {
            let parts = texts(body.get(key));
            if !parts.is_empty() {
                messages.push(Message { role: "system".to_owned(), parts });
            }
        }
        match api {
            Api::OpenAiChat => messages.extend(array(body, "messages").map(chat_message)),
            Api::Anthropic => messages.extend(array(body, "messages").map(anthropic_message)),
            Api::Gemini => messages = gemini::messages(body),
            Api::OpenAiResponses => match body.get("input") {
                Some(Value::String(text)) => messages.push(Message::text("user", text)),
                _ => messages.extend(array(body, "input").map(responses_item)),
            },
        }
        ModelRequest {
            model: string(body, "model"),
            stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            tools,
            messages,
        }
    }

    /// Whether this is the agent's main request and not a side request (a title, a router, a warm-up): main ones offer
    /// tools.
    pub fn is_main(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Whether this tool is offered. Claude Code's main requests are those that offer `Bash`.
    pub fn offers(&self, tool: &str) -> bool {
        let name = tool.rsplit_once('/').map_or(tool, |(_, name)| name);
        self.tools.iter().any(|t| t.name == name)
    }

    /// The number of this response since the user last said something, from 0: how many times the assistant has spoken
    /// since then. A tool's result does not count as said by the user.
    pub fn turn(&self) -> usize {
        let mut turn = 0;
        let mut speaking = false;
        for message in &self.messages {
            let speaks = message.role == "assistant";
            // OpenAI responses send one item for each text and call: adjacent ones are one response.
            turn += usize::from(speaks && !speaking);
            speaking = speaks;
            if message.role == "user" && message.parts.iter().any(|p| matches!(p, Part::Text(_))) {
                turn = 0;
            }
        }
        turn
    }

    /// What the last tool call of the conversation told the model, if there was one.
    pub fn last_result(&self) -> Option<&str> {
        self.messages.iter().rev().flat_map(|m| m.parts.iter().rev()).find_map(|part| match part {
            Part::Result { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }
}

fn chat_message(message: &Value) -> Message {
    let role = string(message, "role");
    let mut parts = texts(message.get("content"));
    if role == "tool" {
        let text = joined(parts);
        let result = Part::Result { id: string(message, "tool_call_id"), text, is_error: false };
        return Message { role: "user".to_owned(), parts: vec![result] };
    }
    for call in array(message, "tool_calls") {
        let function = call.get("function").unwrap_or(&Value::Null);
        parts.push(called(string(call, "id"), function, function.get("arguments")));
    }
    Message { role: if role == "developer" { "system".to_owned() } else { role }, parts }
}

fn responses_item(item: &Value) -> Message {
    match string(item, "type").as_str() {
        "function_call" => Message {
            role: "assistant".to_owned(),
            parts: vec![called(string(item, "call_id"), item, item.get("arguments"))],
        },
        "function_call_output" => {
            let text = joined(texts(item.get("output")));
            let result = Part::Result { id: string(item, "call_id"), text, is_error: false };
            Message { role: "user".to_owned(), parts: vec![result] }
        }
        _ => chat_message(item),
    }
}

fn anthropic_message(message: &Value) -> Message {
    let parts = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().filter_map(anthropic_block).collect(),
        content => texts(content),
    };
    Message { role: string(message, "role"), parts }
}

fn anthropic_block(block: &Value) -> Option<Part> {
    match string(block, "type").as_str() {
        "text" => Some(Part::Text(string(block, "text"))),
        "tool_use" => Some(called(string(block, "id"), block, block.get("input"))),
        "tool_result" => Some(Part::Result {
            id: string(block, "tool_use_id"),
            text: joined(texts(block.get("content"))),
            is_error: block.get("is_error").and_then(Value::as_bool).unwrap_or(false),
        }),
        _ => None,
    }
}

/// A call whose arguments come as JSON or as a text of JSON.
fn called(id: String, named: &Value, arguments: Option<&Value>) -> Part {
    let input = match arguments {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        other => other.cloned().unwrap_or_default(),
    };
    Part::Call(super::ToolCall { id, name: string(named, "name"), input })
}

/// The texts of a content that is a text, or a list of blocks.
fn texts(content: Option<&Value>) -> Vec<Part> {
    match content {
        Some(Value::String(text)) if !text.is_empty() => vec![Part::Text(text.clone())],
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|b| b.get("text").and_then(Value::as_str))
            .map(|t| Part::Text(t.to_owned()))
            .collect(),
        _ => Vec::new(),
    }
}

fn joined(parts: Vec<Part>) -> String {
    let text = |part| if let Part::Text(text) = part { text } else { String::new() };
    parts.into_iter().map(text).collect::<Vec<_>>().join("\n")
}

fn array<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn string(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or("").to_owned()
}
