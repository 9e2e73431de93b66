//! The messages of a client of the Claude Agent SDK: Claude Code's control protocol, as both SDKs write it.
//!
//! Invariant: as in [`super::shapes`].

use super::shapes::{Heard, Said, TOOL, Wanted, word_for};
use rehang_scenario::{EditorAnswer, EditorStep, HookEvent};
use rehang_wire::claude::{self, FromAgent};
use serde_json::{Map, Value, json};

/// The tool server of the client's own, as `--mcp-config` names it in a scenario's `args`.
const SERVER: &str = "client";

/// What Claude Code asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Control {
    /// Whether a tool may be used: the request.
    Tool(Value),
    /// What a hook says.
    Hook,
    /// A message for the client's tool server: its method, and its id, if it has one.
    Server { method: String, id: Value },
}

impl Control {
    fn of(request: &Value) -> Option<Control> {
        let message = &request["message"];
        Some(match request["subtype"].as_str()? {
            "can_use_tool" => Control::Tool(request.clone()),
            "hook_callback" => Control::Hook,
            "mcp_message" => {
                let method = message["method"].as_str().unwrap_or_default().to_owned();
                Control::Server { method, id: message["id"].clone() }
            }
            _ => return None,
        })
    }

    /// Whether it asks for the user's answers.
    pub fn is_question(&self) -> bool {
        matches!(self, Control::Tool(request) if request["tool_name"] == "AskUserQuestion")
    }

    /// The answer to the request of this id.
    pub fn answered(&self, answer: EditorAnswer, id: &str) -> Value {
        let said = match (self, answer) {
            (_, EditorAnswer::Error) => return claude::refuse(id, "Internal error"),
            (_, EditorAnswer::WrongShape) => json!({}),
            (Control::Tool(request), _) => permission(request, answer),
            (Control::Hook, EditorAnswer::Reject | EditorAnswer::Cancelled) => {
                json!({"decision": "block", "reason": "not now"})
            }
            (Control::Hook, _) => json!({}),
            (Control::Server { method, id }, _) => json!({"mcp_response": served(method, id, answer)}),
        };
        claude::reply(id, said)
    }
}

fn permission(request: &Value, answer: EditorAnswer) -> Value {
    let behavior = word_for(answer, ["allow", "allow", "deny", "deny"]);
    if behavior == "deny" {
        let mut said = json!({"behavior": behavior, "message": "not now"});
        if answer == EditorAnswer::Cancelled {
            said["interrupt"] = json!(true);
        }
        return said;
    }
    let mut input = request["input"].clone();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(questions) = input["questions"].as_array() {
        let first = |of: &Value| (word(&of["question"]), of["options"][0]["label"].clone());
        input["answers"] = Value::Object(questions.iter().map(first).collect());
    }
    let mut said = json!({"behavior": behavior, "updatedInput": input});
    if answer == EditorAnswer::Always {
        said["updatedPermissions"] = request["permission_suggestions"].clone();
    }
    said
}

/// What the client's tool server says.
fn served(method: &str, id: &Value, answer: EditorAnswer) -> Value {
    let mut message = json!({"jsonrpc": "2.0"});
    if !id.is_null() {
        message["id"] = id.clone();
    }
    let result = match method {
        "initialize" => {
            let info = json!({"name": SERVER, "version": "1.0.0"});
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
        }
        "tools/list" => {
            let schema = json!({"type": "object", "properties": {}});
            json!({"tools": [{"name": TOOL, "description": "A tool of the client's.", "inputSchema": schema}]})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
        _ => json!({}),
    };
    match answer {
        EditorAnswer::Reject | EditorAnswer::Cancelled => {
            message["error"] = json!({"code": -32603, "message": "not now"})
        }
        _ => message["result"] = result,
    }
    message
}

/// The parameters of `initialize`, by the steps before it.
pub(super) fn initialize(done: &[EditorStep]) -> Value {
    let mut hooks = Map::new();
    for step in done {
        if let EditorStep::Hook(event) = step {
            let callback = format!("hook_{}", hooks.len());
            hooks.insert(name(*event).to_owned(), json!([{"matcher": null, "hookCallbackIds": [callback]}]));
        }
    }
    json!({"hooks": if hooks.is_empty() { Value::Null } else { Value::Object(hooks) }})
}

fn name(event: HookEvent) -> &'static str {
    match event {
        HookEvent::UserPromptSubmit => "UserPromptSubmit",
        HookEvent::PreToolUse => "PreToolUse",
        HookEvent::PostToolUse => "PostToolUse",
        HookEvent::Stop => "Stop",
    }
}

/// What the ids of the client's requests begin with: those of the agent's are its own.
const ID: &str = "client_";

/// The client's request of this number.
pub(super) fn request(id: usize, method: &str, mut params: Value) -> Value {
    params["subtype"] = json!(method);
    json!({"type": "control_request", "request_id": format!("{ID}{id}"), "request": params})
}

/// What Claude Code has said.
pub(super) fn heard(message: &Value) -> Heard {
    let id = || message["request_id"].clone();
    match claude::read(message.clone()) {
        FromAgent::CanUseTool { .. } | FromAgent::Other(_) if message["type"] == "control_request" => {
            let control = Control::of(&message["request"]);
            control.map_or(Heard::Nothing, |control| Heard::Asks(id(), Wanted::Control(control)))
        }
        FromAgent::Cancel { .. } => Heard::TakesBack(id()),
        FromAgent::Response { id, ok } => {
            let error = || message["response"]["error"].as_str().unwrap_or_default().to_owned();
            let at = id.strip_prefix(ID).and_then(|id| id.parse().ok());
            at.map_or(Heard::Nothing, |at| Heard::Replies(at, (!ok).then(error)))
        }
        FromAgent::Assistant { parent: None, content } => {
            let texts: Vec<&str> = content.iter().filter_map(|block| block["text"].as_str()).collect();
            let tool = content.iter().any(|block| block["type"] == "tool_use");
            Heard::Says(Said { update: true, tool, text: Some(texts.concat()), over: None })
        }
        FromAgent::Result { subtype, is_error, text } => {
            // after an interrupt `is_error` is false, though the subtype is `error_during_execution` (2.0.77)
            let why = if text.is_empty() { subtype.clone() } else { text };
            let failed = (is_error || subtype != "success").then_some(why);
            Heard::Says(Said { over: Some((String::new(), failed)), ..Said::default() })
        }
        _ => Heard::Nothing,
    }
}
