//! The Model Context Protocol between an agent and a tool server: JSON-RPC messages, and what HTTP adds to them.
//!
//! Names, shapes and codes are those of the specification of 2025-06-18 (lifecycle, tools, transports). Invariant: a text
//! that is no message of the protocol is `None`, never a panic.

use serde_json::{Value, json};

/// The revision that is spoken unless the client names another one.
pub const PROTOCOL: &str = "2025-06-18";
/// The path of a server's endpoint.
pub const PATH: &str = "/mcp";
/// The header by which a server names a session, and by which its client names it in all later requests.
pub const SESSION: &str = "mcp-session-id";
/// The header by which a client says which revision was agreed on.
pub const REVISION: &str = "mcp-protocol-version";
/// What a client of streamable HTTP accepts.
pub const ACCEPT: &str = "application/json, text/event-stream";
/// The code of a method that is not known (JSON-RPC 2.0).
pub const NO_METHOD: i64 = -32_601;

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A request, which is to be answered.
    Request {
        /// Its id.
        id: Value,
        /// Its method.
        method: String,
        /// Its parameters; null if there are none.
        params: Value,
    },
    /// A notification, which is not answered.
    Notification {
        /// Its method.
        method: String,
    },
    /// The answer to a request: its result, or its error.
    Response {
        /// The request's id.
        id: Value,
        /// The result, or the error.
        result: Result<Value, Value>,
    },
}

/// The message that a text is.
pub fn read(text: &str) -> Option<Message> {
    let mut message: Value = serde_json::from_str(text).ok()?;
    let id = message.get("id").cloned();
    let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
    match (id, method) {
        (Some(id), Some(method)) => Some(Message::Request { id, method, params: message["params"].take() }),
        (None, Some(method)) => Some(Message::Notification { method }),
        (Some(id), None) => {
            let result = match message.get_mut("error") {
                Some(error) => Err(error.take()),
                None => Ok(message.get_mut("result")?.take()),
            };
            Some(Message::Response { id, result })
        }
        (None, None) => None,
    }
}

/// A request.
pub fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"method": method, "params": params, "jsonrpc": "2.0", "id": id}).to_string()
}

/// The notification that the handshake is over.
pub fn initialized() -> String {
    json!({"method": "notifications/initialized", "jsonrpc": "2.0"}).to_string()
}

/// The successful answer to a request.
pub fn response(id: &Value, result: &Value) -> String {
    json!({"result": result, "jsonrpc": "2.0", "id": id}).to_string()
}

/// The failed answer to a request.
pub fn error(id: &Value, code: i64, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

/// The text of a tool's result: its parts of text, a line each.
pub fn text_of(result: &Value) -> String {
    let parts = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_goes_out_and_comes_back() {
        let params = json!({"name": "query"});
        let asked = Message::Request { id: json!(2), method: "tools/call".to_owned(), params: params.clone() };
        assert_eq!(read(&request(2, "tools/call", &params)), Some(asked));
        let method = "notifications/initialized".to_owned();
        assert_eq!(read(&initialized()), Some(Message::Notification { method }));
        let result =
            json!({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]});
        let answered = Message::Response { id: json!(2), result: Ok(result.clone()) };
        assert_eq!(read(&response(&json!(2), &result)), Some(answered));
        assert_eq!(text_of(&result), "a\nb");
        let Some(Message::Response { result: Err(error), .. }) = read(&error(&json!("x"), NO_METHOD, "no such method"))
        else {
            panic!("no error")
        };
        assert_eq!(error["code"], NO_METHOD);
    }

    #[test]
    fn what_is_no_message_is_none() {
        assert_eq!(["", "{", "[]", "{}", r#"{"id":1}"#, "3"].map(read), [None, None, None, None, None, None]);
    }
}
