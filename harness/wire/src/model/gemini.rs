//! Google's generateContent, in the parts that differ from the three others: the method is in the target, tool calls
//! may lack an id, and the finish reason does not tell a call from a stop.
//!
//! Invariant: a call without an id gets one from its tool's name and its place among that tool's calls, so that a
//! result, which comes back the same way, finds it.

use super::{Finish, Message, ModelRequest, Part, Tool, ToolCall};
use rehang_words::{Canon, Canonical};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The methods of a model that generate: `…/models/MODEL:METHOD`.
const STREAMED: &str = "streamGenerateContent";
const WHOLE: &str = "generateContent";

/// The model and whether it is to stream, if a target's last segment generates.
pub(super) fn method(segment: &str) -> Option<(&str, bool)> {
    match segment.split_once(':')? {
        (model, STREAMED) => Some((model, true)),
        (model, WHOLE) => Some((model, false)),
        _ => None,
    }
}

/// The target of a request.
pub(super) fn target(model: &str, stream: bool) -> String {
    if stream {
        format!("/v1beta/models/{model}:{STREAMED}?alt=sse")
    } else {
        format!("/v1beta/models/{model}:{WHOLE}")
    }
}

/// A response's body, or one chunk of it.
pub(super) fn body(id: &str, model: &str, parts: &[Value], finish: Option<Finish>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(if finish == Finish::Unknown { "OTHER" } else { "STOP" });
    }
    let mut body = alive(id, model);
    body["candidates"] = json!([candidate]);
    body
}

/// A chunk that says nothing.
pub(super) fn alive(id: &str, model: &str) -> Value {
    let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13});
    json!({"responseId": id, "modelVersion": model, "usageMetadata": usage})
}

pub(super) fn text_part(text: &str) -> Value {
    json!({"text": text})
}

pub(super) fn call_part(call: &ToolCall) -> Value {
    json!({"functionCall": {"id": call.id, "name": call.name, "args": call.input}})
}

/// Google's names of the HTTP statuses that matter here (google.rpc.Code).
pub(super) fn status_name(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}

/// Makes ids for calls and results that have none.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    calls: BTreeMap<String, u32>,
    results: BTreeMap<String, u32>,
}

impl Ids {
    fn next(seen: &mut BTreeMap<String, u32>, id: &str, name: &str) -> String {
        if !id.is_empty() {
            return id.to_owned();
        }
        let count = seen.entry(name.to_owned()).or_default();
        *count += 1;
        format!("{name}#{count}")
    }

    /// The id of a call.
    pub(super) fn call(&mut self, id: &str, name: &str) -> String {
        Ids::next(&mut self.calls, id, name)
    }

    /// The id of the call that a result belongs to.
    pub(super) fn result(&mut self, id: &str, name: &str) -> String {
        Ids::next(&mut self.results, id, name)
    }
}

impl Canonical for Ids {
    fn canon(&self, canon: &mut Canon) {
        let Self { calls, results } = self;
        for seen in [calls, results] {
            let seen: Vec<_> = seen.iter().collect();
            canon.list(&seen, |canon, (name, count)| {
                canon.text(name).num(u64::from(**count));
            });
        }
    }
}

/// Reads the tools of a request.
pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let declared = list(body, "tools").flat_map(|tool| list(tool, "functionDeclarations"));
    let schema = |tool: &Value| tool.get("parametersJsonSchema").or_else(|| tool.get("parameters")).cloned();
    declared
        .map(|tool| Tool {
            name: text(tool, "/name").to_owned(),
            description: text(tool, "/description").to_owned(),
            parameters: schema(tool).unwrap_or_default(),
        })
        .collect()
}

/// Reads the conversation of a request.
pub(super) fn messages(body: &Value) -> Vec<Message> {
    let mut ids = Ids::default();
    let mut all = Vec::new();
    if let Some(system) = body.get("systemInstruction").or_else(|| body.get("system_instruction")) {
        let parts: Vec<Part> = list(system, "parts").filter_map(|part| read_part(part, &mut ids)).collect();
        if !parts.is_empty() {
            all.push(Message { role: "system".to_owned(), parts });
        }
    }
    for content in list(body, "contents") {
        let role = if text(content, "/role") == "model" { "assistant" } else { "user" };
        let parts = list(content, "parts").filter_map(|part| read_part(part, &mut ids)).collect();
        all.push(Message { role: role.to_owned(), parts });
    }
    all
}

fn read_part(part: &Value, ids: &mut Ids) -> Option<Part> {
    if part.get("thought").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    if let Some(said) = part.get("text").and_then(Value::as_str) {
        return Some(Part::Text(said.to_owned()));
    }
    if let Some(call) = part.get("functionCall") {
        let name = text(call, "/name").to_owned();
        let id = ids.call(text(call, "/id"), &name);
        return Some(Part::Call(ToolCall { id, name, input: call.get("args").cloned().unwrap_or_default() }));
    }
    let result = part.get("functionResponse")?;
    let id = ids.result(text(result, "/id"), text(result, "/name"));
    let response = result.get("response").unwrap_or(&Value::Null);
    let error = response.get("error");
    let told = error.or_else(|| response.get("output")).unwrap_or(response);
    let told = told.as_str().map_or_else(|| told.to_string(), str::to_owned);
    Some(Part::Result { id, text: told, is_error: error.is_some() })
}

/// A request's body, except for its tools.
pub(super) fn request_body(request: &ModelRequest) -> Value {
    let mut names = Map::new();
    let mut part = |part: &Part| match part {
        Part::Text(said) => text_part(said),
        Part::Call(call) => {
            names.insert(call.id.clone(), json!(call.name));
            call_part(call)
        }
        Part::Result { id, text, is_error } => {
            let name = names.get(id).cloned().unwrap_or_default();
            let key = if *is_error { "error" } else { "output" };
            json!({"functionResponse": {"id": id, "name": name, "response": {key: text}}})
        }
    };
    let mut body = json!({"contents": []});
    let mut contents = Vec::new();
    for message in &request.messages {
        let parts: Vec<Value> = message.parts.iter().map(&mut part).collect();
        match message.role.as_str() {
            "system" => body["systemInstruction"] = json!({"parts": parts}),
            "assistant" => contents.push(json!({"role": "model", "parts": parts})),
            _ => contents.push(json!({"role": "user", "parts": parts})),
        }
    }
    body["contents"] = json!(contents);
    body
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}
