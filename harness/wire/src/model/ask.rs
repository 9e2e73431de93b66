//! Writes what a model is asked, in the shapes of the APIs.
//!
//! Invariant: a body is written once, from the conversation itself: a conversation of some hundred messages is asked
//! again with each of them, and none of it is copied.

use super::{Api, Message, ModelRequest, Part, Tool, ToolCall, gemini};
use serde::Serialize;
use serde_json::{Value, json};

/// The API requires a limit; no code here counts tokens.
const MAX_TOKENS: u32 = 8192;

/// The body of a request, JSON.
pub fn request_body(api: Api, request: &ModelRequest) -> String {
    let ModelRequest { model, stream, tools, messages } = request;
    let text = match api {
        Api::OpenAiChat => {
            let messages = messages.iter().flat_map(chat).collect();
            let tools = tools.iter().map(|tool| ChatTool { kind: "function", function: Function::of(tool) }).collect();
            serde_json::to_string(&Chat { model, stream: *stream, messages, tools })
        }
        Api::OpenAiResponses => {
            let input = messages.iter().flat_map(|message| message.parts.iter().map(|part| item(message, part)));
            let tool = |tool| FunctionTool { kind: "function", function: Function::of(tool) };
            let (input, tools) = (input.collect(), tools.iter().map(tool).collect());
            serde_json::to_string(&Responses { model, stream: *stream, store: false, input, tools })
        }
        Api::Anthropic => {
            let (system, rest): (Vec<_>, Vec<_>) = messages.iter().partition(|m| m.role == "system");
            let system = system.into_iter().flat_map(blocks).collect();
            let messages = rest.into_iter().map(said).collect();
            let tools = tools.iter().map(Schema::of).collect();
            let body = Messages { model, stream: *stream, max_tokens: MAX_TOKENS, messages, system, tools };
            serde_json::to_string(&body)
        }
        Api::Gemini => {
            let mut body = gemini::request_body(request);
            if !tools.is_empty() {
                let tool = |tool: &Tool| {
                    let Tool { name, description, parameters } = tool;
                    json!({"name": name, "description": description, "parametersJsonSchema": parameters})
                };
                let declared: Vec<Value> = tools.iter().map(tool).collect();
                body["tools"] = json!([{"functionDeclarations": declared}]);
            }
            serde_json::to_string(&body)
        }
    };
    // all keys are strings
    text.unwrap_or_default()
}

// --- OpenAI, chat completions ---

#[derive(Serialize)]
struct Chat<'a> {
    model: &'a str,
    stream: bool,
    messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatMessage<'a> {
    Result {
        role: &'static str,
        tool_call_id: &'a str,
        content: &'a str,
    },
    Said {
        role: &'a str,
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatCall<'a>>,
    },
}

#[derive(Serialize)]
struct ChatCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct ChatTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl Function<'_> {
    fn of(tool: &Tool) -> Function<'_> {
        Function { name: &tool.name, description: &tool.description, parameters: &tool.parameters }
    }
}

/// The messages that say one message: results of tools are messages of their own.
fn chat(message: &Message) -> Vec<ChatMessage<'_>> {
    let mut messages = Vec::new();
    let (mut tool_calls, mut content) = (Vec::new(), String::new());
    for part in &message.parts {
        match part {
            Part::Text(text) => content.push_str(text),
            Part::Call(ToolCall { id, name, input }) => {
                let function = CalledFunction { name, arguments: input.to_string() };
                tool_calls.push(ChatCall { id, kind: "function", function });
            }
            Part::Result { id, text, .. } => {
                messages.push(ChatMessage::Result { role: "tool", tool_call_id: id, content: text });
            }
        }
    }
    if !tool_calls.is_empty() || !content.is_empty() || messages.is_empty() {
        messages.push(ChatMessage::Said { role: &message.role, content, tool_calls });
    }
    messages
}

// --- OpenAI, responses ---

#[derive(Serialize)]
struct Responses<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
}

#[derive(Serialize)]
struct FunctionTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    function: Function<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message { role: &'a str, content: [Block<'a>; 1] },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: String },
    FunctionCallOutput { call_id: &'a str, output: &'a str },
}

fn item<'a>(message: &'a Message, part: &'a Part) -> Item<'a> {
    match part {
        Part::Text(text) => {
            let said = if message.role == "assistant" { Block::OutputText { text } } else { Block::InputText { text } };
            Item::Message { role: &message.role, content: [said] }
        }
        Part::Call(ToolCall { id, name, input }) => {
            Item::FunctionCall { call_id: id, name, arguments: input.to_string() }
        }
        Part::Result { id, text, .. } => Item::FunctionCallOutput { call_id: id, output: text },
    }
}

// --- Anthropic ---

#[derive(Serialize)]
struct Messages<'a> {
    model: &'a str,
    stream: bool,
    max_tokens: u32,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Schema<'a>>,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'a str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Schema<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl Schema<'_> {
    fn of(tool: &Tool) -> Schema<'_> {
        Schema { name: &tool.name, description: &tool.description, input_schema: &tool.parameters }
    }
}

/// A block of a message's content.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    InputText { text: &'a str },
    OutputText { text: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: &'a Value },
    ToolResult { tool_use_id: &'a str, content: &'a str, is_error: bool },
}

fn said(message: &Message) -> Said<'_> {
    Said { role: &message.role, content: blocks(message).collect() }
}

fn blocks(message: &Message) -> impl Iterator<Item = Block<'_>> {
    message.parts.iter().map(block)
}

fn block(part: &Part) -> Block<'_> {
    match part {
        Part::Text(text) => Block::Text { text },
        Part::Call(ToolCall { id, name, input }) => Block::ToolUse { id, name, input },
        Part::Result { id, text, is_error } => {
            Block::ToolResult { tool_use_id: id, content: text, is_error: *is_error }
        }
    }
}
