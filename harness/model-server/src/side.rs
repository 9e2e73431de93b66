//! Requests on the side: titles, routers, classifiers, lists of models, token counts.
//!
//! Invariant: every one gets an answer of the form that it asked for, at once, and none spends a scripted turn.

use crate::event::Side;
use crate::schema::plainest;
use rehang_wire::model::script::Chunk;
use rehang_wire::model::{Finish, ModelEvent, ModelRequest, ToolCall};
use serde_json::{Value, json};

/// The answer if a text is wanted.
pub const TEXT: &str = "Scripted";

/// A request that generates nothing, by method and path: its kind, status and answer.
pub(crate) fn plain(method: &str, path: &[&str], model: &str) -> (Side, u16, Value) {
    let last = path.last().copied().unwrap_or("");
    match (method, path) {
        ("POST", [.., "count_tokens" | "input_tokens"]) => tokens(),
        ("POST", _) if last.ends_with(":countTokens") => tokens(),
        ("GET", [.., "models"]) => {
            let google = json!({"name": format!("models/{model}"), "displayName": model,
                "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"]});
            let all = json!({"object": "list", "data": [one(model)], "has_more": false, "models": [google]});
            (Side::Models, 200, all)
        }
        ("GET", [.., "models", id]) => (Side::Models, 200, one(id)),
        ("GET" | "HEAD", []) => (Side::Hello, 200, json!({})),
        _ => (Side::Unknown, 404, json!({"error": {"message": "the scripted model has no such route", "code": 404}})),
    }
}

/// The response to a generating request on the side.
pub(crate) fn generated(request: &ModelRequest, body: &Value) -> (Side, Vec<Chunk>) {
    let (side, event, finish) = match (wanted_schema(body), request.tools.as_slice()) {
        (Some(schema), _) => (Side::Json, ModelEvent::TextDelta(plainest(schema).to_string()), Finish::Stop),
        (None, [only]) if forces_a_tool(body) => {
            let input = plainest(&only.parameters);
            let call = ToolCall { id: "call_side".to_owned(), name: only.name.clone(), input };
            (Side::Json, ModelEvent::ToolCall(call), Finish::ToolCalls)
        }
        _ => return (Side::Text, text()),
    };
    (side, vec![Chunk::Event(event), Chunk::Event(ModelEvent::Finish(finish))])
}

/// The response if a text is wanted.
pub(crate) fn text() -> Vec<Chunk> {
    vec![Chunk::Event(ModelEvent::TextDelta(TEXT.to_owned())), Chunk::Event(ModelEvent::Finish(Finish::Stop))]
}

/// The schema of the JSON that a request wants instead of a text; each API puts it elsewhere.
fn wanted_schema(body: &Value) -> Option<&Value> {
    [
        "/response_format/json_schema/schema",
        "/text/format/schema",
        "/output_config/format/schema",
        "/output_format/schema",
        "/generationConfig/responseJsonSchema",
        "/generationConfig/responseSchema",
    ]
    .iter()
    .find_map(|place| body.pointer(place))
}

/// Whether a request asks for JSON by a tool that must be called.
fn forces_a_tool(body: &Value) -> bool {
    let choice = body.get("tool_choice");
    let word = choice.and_then(|c| c.as_str().or_else(|| c.get("type")?.as_str()));
    let google = body.pointer("/toolConfig/functionCallingConfig/mode").and_then(Value::as_str);
    matches!(word, Some("required" | "any" | "tool" | "function")) || google == Some("ANY")
}

fn tokens() -> (Side, u16, Value) {
    (Side::Tokens, 200, json!({"input_tokens": 10, "totalTokens": 10}))
}

fn one(id: &str) -> Value {
    json!({"id": id, "object": "model", "type": "model", "display_name": id, "created": 0, "owned_by": "scripted"})
}
