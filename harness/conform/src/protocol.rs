//! The protocol as data: which requests each side owes a reply, and what that must have.

use serde_json::{Value, json};

/// The version of the protocol that is played.
pub const VERSION: u32 = 1;
/// JSON-RPC's error for a method that does not exist.
pub const NO_METHOD: i64 = -32601;
/// The protocol's error for a session that needs a login first.
pub const LOGIN_REQUIRED: i64 = -32000;
/// A method that no agent has; the protocol leaves names with `_` to extensions, which must be answered too.
pub const UNKNOWN: &str = "_rehang/unknown";
/// The agent's request for a permission.
pub const PERMISSION: &str = "session/request_permission";
/// The agent's request that lasts as long as a command.
pub const WAIT_FOR_EXIT: &str = "terminal/wait_for_exit";

/// What a result must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Nothing: null, or an object.
    Nothing,
    /// This member, which is a text.
    Text(&'static str),
    /// This member, which is a number.
    Number(&'static str),
    /// This member, which is one of these texts.
    OneOf(&'static str, &'static [&'static str]),
}

/// The requests that an agent owes a reply, with what its result must have.
const BY_AGENT: [(&str, Shape); 6] = [
    ("initialize", Shape::Number("protocolVersion")),
    ("authenticate", Shape::Nothing),
    ("session/new", Shape::Text("sessionId")),
    ("session/set_mode", Shape::Nothing),
    ("session/load", Shape::Nothing),
    (
        "session/prompt",
        Shape::OneOf("stopReason", &["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]),
    ),
];

/// The requests that a client owes a reply.
pub const BY_CLIENT: [&str; 8] = [
    PERMISSION,
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    WAIT_FOR_EXIT,
    "terminal/kill",
    "terminal/release",
];

/// What is wrong with a result of the agent's; `None` if nothing is, or the method is not known.
pub fn fault_of(method: &str, result: &Value) -> Option<String> {
    let (_, shape) = BY_AGENT.into_iter().find(|(name, _)| *name == method)?;
    let (member, is_right, what) = match shape {
        Shape::Nothing => return None,
        Shape::Text(member) => (member, result[member].is_string(), "is no text".to_owned()),
        Shape::Number(member) => (member, result[member].is_u64(), "is no number".to_owned()),
        Shape::OneOf(member, words) => {
            let is_one = result[member].as_str().is_some_and(|word| words.contains(&word));
            (member, is_one, format!("is none of {}", words.join(", ")))
        }
    };
    (!is_right).then(|| format!("`{member}` of its result {what}"))
}

/// The good reply of a client to a request of the agent's; `None` if a client has no such method.
pub fn good_reply(method: &str, params: &Value) -> Option<Value> {
    Some(match method {
        PERMISSION => selected(params, &["allow_once", "allow_always"]),
        "fs/read_text_file" => json!({ "content": "one\ntwo\n" }),
        "fs/write_text_file" => Value::Null,
        "terminal/create" => json!({ "terminalId": "terminal-1" }),
        "terminal/output" => {
            json!({ "output": "done\n", "truncated": false, "exitStatus": { "exitCode": 0, "signal": null } })
        }
        WAIT_FOR_EXIT => json!({ "exitCode": 0, "signal": null }),
        "terminal/kill" | "terminal/release" => json!({}),
        _ => return None,
    })
}

/// What the good reply to a request depends on: the options of a permission.
pub fn needed(method: &str, params: &Value) -> Value {
    let options = if method == PERMISSION { params["options"].clone() } else { Value::Null };
    json!({ "options": options })
}

/// The reply to a permission by which the first option of one of these kinds is selected; else one that refuses, else the first.
pub fn selected(params: &Value, kinds: &[&str]) -> Value {
    let options = params["options"].as_array().map_or(&[][..], Vec::as_slice);
    let of_kind = |kind: &&str| options.iter().find(|option| option["kind"] == **kind);
    let refuses = || ["reject_once", "reject_always"].iter().find_map(of_kind);
    let option = kinds.iter().find_map(of_kind).or_else(refuses).or(options.first());
    json!({ "outcome": { "outcome": "selected", "optionId": option.map_or(&Value::Null, |option| &option["optionId"]) } })
}

/// The reply to a permission whose turn was cancelled.
pub fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_what_its_method_needs() {
        assert_eq!(fault_of("session/new", &json!({ "sessionId": "s" })), None);
        assert_eq!(fault_of("session/load", &Value::Null), None);
        assert_eq!(fault_of("session/prompt", &json!({ "stopReason": "end_turn" })), None);
        let wrong = fault_of("session/prompt", &json!({ "stopReason": "done" })).unwrap_or_default();
        assert!(wrong.starts_with("`stopReason` of its result is none of end_turn"), "{wrong}");
        assert!(fault_of("session/new", &Value::Null).is_some());
        assert!(fault_of("initialize", &json!({ "protocolVersion": "1" })).is_some());
    }

    #[test]
    fn every_request_that_a_client_owes_has_a_good_reply() {
        let params = json!({ "options": [{ "optionId": "no", "kind": "reject_once" }, { "optionId": "yes", "kind": "allow_once" }] });
        for method in BY_CLIENT {
            assert!(good_reply(method, &params).is_some(), "{method}");
        }
        assert_eq!(good_reply(PERMISSION, &params).unwrap_or_default()["outcome"]["optionId"], "yes");
        assert_eq!(selected(&params, &["reject_once"])["outcome"]["optionId"], "no");
        let odd =
            json!({ "options": [{ "optionId": "all", "kind": "x" }, { "optionId": "no", "kind": "reject_once" }] });
        assert_eq!(good_reply(PERMISSION, &odd).unwrap_or_default()["outcome"]["optionId"], "no");
        assert_eq!(good_reply("elicitation/create", &params), None);
    }
}
