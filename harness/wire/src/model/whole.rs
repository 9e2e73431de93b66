//! A response as one body, for a client that asks for no stream.
//!
//! Invariant: it holds what the stream of the same events holds; what only a stream can carry (a sign of life) is left
//! out.

use super::encode::chat_usage;
use super::{Api, Encoder, Finish, ModelEvent, gemini};
use serde_json::{Value, json};

/// The body of a response of these events. Without a finish among them the body has no reason either.
pub fn whole(api: Api, id: &str, model: &str, events: &[ModelEvent]) -> Value {
    let text: String = events
        .iter()
        .filter_map(|e| if let ModelEvent::TextDelta(text) = e { Some(text.as_str()) } else { None })
        .collect();
    let calls = events.iter().filter_map(|e| if let ModelEvent::ToolCall(call) = e { Some(call) } else { None });
    let finish = events.iter().find_map(|e| if let ModelEvent::Finish(finish) = e { Some(*finish) } else { None });
    match api {
        Api::OpenAiChat => {
            let mut message = json!({"role": "assistant", "content": text});
            let calls: Vec<Value> = calls
                .map(|call| {
                    json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": call.input.to_string()}})
                })
                .collect();
            if !calls.is_empty() {
                message["tool_calls"] = json!(calls);
            }
            let reason = finish.map(|finish| match finish {
                Finish::Stop => "stop",
                Finish::ToolCalls => "tool_calls",
                Finish::Unknown | Finish::None => "unknown",
            });
            json!({"id": id, "object": "chat.completion", "created": 0, "model": model,
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": chat_usage()})
        }
        Api::OpenAiResponses => Encoder::new(api, id, model).whole_response(events),
        Api::Anthropic => {
            let mut content = Vec::new();
            if !text.is_empty() {
                content.push(json!({"type": "text", "text": text}));
            }
            content.extend(
                calls.map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})),
            );
            let reason = finish.map(|finish| match finish {
                Finish::Stop => "end_turn",
                Finish::ToolCalls => "tool_use",
                Finish::Unknown | Finish::None => "unknown",
            });
            json!({"id": id, "type": "message", "role": "assistant", "model": model, "content": content,
                "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 3}})
        }
        Api::Gemini => {
            let mut parts = Vec::new();
            if !text.is_empty() {
                parts.push(gemini::text_part(&text));
            }
            parts.extend(calls.map(gemini::call_part));
            gemini::body(id, model, &parts, finish)
        }
    }
}
