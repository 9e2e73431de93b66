//! Which requests a release takes: their names, and what their parameters must have.
//!
//! Invariant: a name that the release does not know is refused with the list of those that it knows; 0.45.0 has no list.

use super::super::release::Protocol;
use serde_json::Value;

/// The methods that each release says it knows.
fn methods(protocol: Protocol) -> &'static str {
    match protocol {
        // it does not say which: these are those that are played
        Protocol::Conversations => {
            "initialize\nnewConversation\naddConversationListener\nsendUserMessage\ninterruptConversation"
        }
        Protocol::Both => include_str!("methods/0.58.0.txt"),
        Protocol::Threads => include_str!("methods/0.116.0.txt"),
        Protocol::Timed => include_str!("methods/0.169.0.txt"),
    }
}

/// The parameters of a request, if it is one: its name is known, and they have what they must have.
pub(super) fn checked<'p>(protocol: Protocol, method: &str, params: Option<&'p Value>) -> Result<&'p Value, String> {
    let known: Vec<&str> = methods(protocol).lines().collect();
    if !known.contains(&method) {
        return Err(unknown(method, &known));
    }
    let params = params.or((method == "account/rateLimits/read").then_some(&Value::Null));
    let params = params.ok_or("missing field `params`")?;
    let needed: &[&str] = match method {
        "initialize" => &["clientInfo"],
        "turn/start" => &["threadId", "input"],
        "turn/interrupt" => &["threadId", "turnId"],
        "thread/name/set" => &["threadId", "name"],
        "thread/resume" | "thread/read" | "thread/unsubscribe" | "thread/archive" => &["threadId"],
        "sendUserMessage" => &["conversationId", "items"],
        "interruptConversation" | "addConversationListener" => &["conversationId"],
        _ => &[],
    };
    if let Some(missing) = needed.iter().find(|key| params.get(**key).is_none()) {
        return Err(format!("missing field `{missing}`"));
    }
    for key in ["threadId", "turnId", "name", "cwd", "conversationId"] {
        match params.get(key) {
            None | Some(Value::String(_) | Value::Null) => {}
            Some(Value::Number(number)) => return Err(format!("invalid type: integer `{number}`, expected a string")),
            Some(_) => return Err("invalid type, expected a string".to_owned()),
        }
    }
    // 0.58.0 writes the modes of threads in another way than those of conversations
    if protocol == Protocol::Both && method == "thread/start" {
        let modes = ["readOnly", "workspaceWrite", "dangerFullAccess"];
        if let Some(word) = params["sandbox"].as_str().filter(|word| !modes.contains(word)) {
            return Err(unknown(word, &modes));
        }
    }
    Ok(params)
}

fn unknown(word: &str, known: &[&str]) -> String {
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("unknown variant `{word}`, expected one of {}", known.join(", "))
}
