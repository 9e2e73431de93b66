//! Claude Code's stream-json, and that of agents that write the like.
//!
//! Invariant: a line is judged by itself; what a whole log is, is decided in [`crate::detect`].

use super::text;
use serde_json::Value;

/// What tells Claude Code's stream-json from that of an agent that writes the like: what only Claude Code writes.
pub fn is_claudes_own(value: &Value) -> bool {
    let has = |key: &str| !value[key].is_null();
    let message = &value["message"];
    has("claude_code_version")
        || has("uuid")
        || value.as_object().is_some_and(|map| map.contains_key("parent_tool_use_id"))
        || matches!(text(value, "type"), "control_request" | "control_response" | "stream_event" | "rate_limit_event")
        || has("total_cost_usd")
        || has("num_turns")
        || has("tools") && text(value, "subtype") == "init" && has("mcp_servers")
        || message.is_object() && (!message["stop_reason"].is_null() || text(message, "id").starts_with("msg_"))
}

/// Whether a line of stream-json is one that Claude Code does not write: an init without tools or with another agent's
/// version, a result with an exit code, times in milliseconds.
pub fn is_foreign(value: &Value) -> bool {
    let has = |key: &str| !value[key].is_null();
    let init = text(value, "type") == "system" && text(value, "subtype") == "init";
    let bare = !has("tools") && !has("mcp_servers") && !has("claude_code_version") && !has("data");
    names_another(value)
        || init && (bare || has("permission_mode"))
        || has("timestamp_ms")
        || text(value, "type") == "result" && (has("exitCode") || has("sessionId") && !has("subtype"))
}

/// Whether a line of stream-json names the release of another agent.
pub fn names_another(value: &Value) -> bool {
    let init = text(value, "type") == "system" && text(value, "subtype") == "init";
    let release = |key: &String| key.ends_with("_version") && key != "claude_code_version";
    init && value["claude_code_version"].is_null() && value.as_object().is_some_and(|map| map.keys().any(release))
}
