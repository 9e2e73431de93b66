//! A line of JSON-RPC 2.0.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The most characters of a text, and the most members of a list, that are kept of a message.
const KEPT: usize = 200;
/// How deep what is kept of a message is nested at most: what is deeper becomes null. A reader has a limit of its own.
const DEEP: usize = 32;

/// One line, as either side sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// A request, which its receiver owes a reply.
    Request {
        /// Its id, a number or a text.
        id: Value,
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A notification, which has no reply.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A reply.
    Reply {
        /// The id of its request; null if that could not be read.
        id: Value,
        /// What it says.
        answer: Answer,
    },
    /// A line that is none of these.
    Other(String),
}

/// What a reply says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A result.
    Result(Value),
    /// An error.
    Error {
        /// Its code.
        code: i64,
        /// Its text.
        message: String,
    },
}

impl Message {
    /// Reads a line without its end.
    pub fn read(line: &[u8]) -> Message {
        let other = || Message::Other(String::from_utf8_lossy(line).chars().take(KEPT).collect());
        let Ok(Value::Object(mut members)) = serde_json::from_slice::<Value>(line) else { return other() };
        let take = |members: &mut Map<String, Value>, name: &str| members.remove(name);
        let id = take(&mut members, "id");
        let method = take(&mut members, "method").and_then(|method| method.as_str().map(str::to_owned));
        let params = take(&mut members, "params").unwrap_or(Value::Null);
        match (id, method) {
            (Some(id), Some(method)) => Message::Request { id, method, params },
            (None, Some(method)) => Message::Notification { method, params },
            (id, None) => {
                let error = take(&mut members, "error").filter(|error| !error.is_null());
                let answer = match (error, take(&mut members, "result")) {
                    (Some(error), _) => Answer::Error {
                        code: error["code"].as_i64().unwrap_or(0),
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                    },
                    (None, Some(result)) => Answer::Result(result),
                    (None, None) => return other(),
                };
                Message::Reply { id: id.unwrap_or(Value::Null), answer }
            }
        }
    }

    /// Its line, with the end.
    pub fn line(&self) -> Vec<u8> {
        let value = match self {
            Message::Request { id, method, params } => {
                json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
            }
            Message::Notification { method, params } => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
            Message::Reply { id, answer: Answer::Result(result) } => {
                json!({ "jsonrpc": "2.0", "id": id, "result": result })
            }
            Message::Reply { id, answer: Answer::Error { code, message } } => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
            Message::Other(text) => return format!("{text}\n").into_bytes(),
        };
        format!("{value}\n").into_bytes()
    }

    /// A reply.
    pub fn reply(id: Value, answer: Answer) -> Message {
        Message::Reply { id, answer }
    }

    /// It with long texts and lists cut, and what is nested deeply.
    #[must_use]
    pub fn cut(mut self) -> Message {
        match &mut self {
            Message::Request { id, .. } | Message::Reply { id, .. } => cut(id, 0),
            Message::Notification { .. } | Message::Other(_) => {}
        }
        match &mut self {
            Message::Request { params: value, method, .. } | Message::Notification { params: value, method } => {
                cut_text(method);
                cut(value, 0);
            }
            Message::Reply { answer: Answer::Result(value), .. } => cut(value, 0),
            Message::Reply { answer: Answer::Error { message: text, .. }, .. } | Message::Other(text) => cut_text(text),
        }
        self
    }

    /// It in a few words.
    pub fn describe(&self) -> String {
        match self {
            Message::Request { id, method, .. } => format!("{method} ({id})"),
            Message::Notification { method, params } => match params["update"]["sessionUpdate"].as_str() {
                Some(kind) => format!("{method}: {kind}{}", status(&params["update"])),
                None => method.clone(),
            },
            Message::Reply { id, answer } => format!("reply to {id}: {}", answer.describe()),
            Message::Other(text) => format!("no message: {text}"),
        }
    }
}

fn status(update: &Value) -> String {
    update["status"].as_str().map(|status| format!(" {status}")).unwrap_or_default()
}

impl Answer {
    /// The error of a method that the receiver does not have.
    pub fn no_method(method: &str) -> Answer {
        Answer::Error { code: crate::protocol::NO_METHOD, message: format!("Method not found: {method}") }
    }

    /// It in a few words.
    pub fn describe(&self) -> String {
        match self {
            Answer::Error { code, message } => format!("error {code} {message:?}"),
            Answer::Result(result) => match result["stopReason"].as_str() {
                Some(reason) => format!("result, stop reason {reason:?}"),
                None => "result".to_owned(),
            },
        }
    }
}

fn cut(value: &mut Value, depth: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if depth >= DEEP => *value = Value::Null,
        Value::String(text) => cut_text(text),
        Value::Array(members) => {
            members.truncate(KEPT);
            members.iter_mut().for_each(|member| cut(member, depth + 1));
        }
        Value::Object(members) => {
            let all = std::mem::take(members).into_iter().take(KEPT);
            members.extend(all.map(|(mut name, mut value)| {
                cut_text(&mut name);
                cut(&mut value, depth + 1);
                (name, value)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cut_text(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(KEPT) {
        text.truncate(at);
        text.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_a_notification_a_reply_or_nothing_known() {
        let kinds = [
            (r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#, "m (\"a\")"),
            (
                r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","status":"pending"}}}"#,
                "session/update: tool_call pending",
            ),
            (r#"{"id":1,"result":null}"#, "reply to 1: result"),
            (r#"{"id":1,"result":{"stopReason":"cancelled"}}"#, "reply to 1: result, stop reason \"cancelled\""),
            (r#"{"id":null,"error":{"code":-32700}}"#, "reply to null: error -32700 \"\""),
            ("[1]", "no message: [1]"),
            ("{}", "no message: {}"),
            ("hello", "no message: hello"),
        ];
        for (line, described) in kinds {
            assert_eq!(Message::read(line.as_bytes()).describe(), described);
        }
        assert!(matches!(Message::read(b"\xff"), Message::Other(_)));
    }

    #[test]
    fn what_is_written_is_read_again_and_long_texts_are_cut() {
        let message = Message::Request { id: json!(7), method: "m".into(), params: json!({ "a": ["é".repeat(999)] }) };
        let line = message.line();
        assert_eq!(Message::read(&line[..line.len() - 1]), message);
        let Message::Request { params, .. } = message.cut() else { panic!("a request") };
        assert_eq!(params["a"][0].as_str().map(|text| text.chars().count()), Some(KEPT));

        // the deepest that is read at all, in a record that nests it deeper
        let line =
            format!(r#"{{"id":"{}","method":"m","params":{}{}}}"#, "x".repeat(999), "[".repeat(126), "]".repeat(126));
        let message = Message::read(line.as_bytes());
        assert!(matches!(message, Message::Request { .. }), "{message:?}");
        let record = serde_json::to_string(&[[[message.cut()]]]).unwrap();
        assert!(record.len() < 999, "{record}");
        assert!(serde_json::from_str::<Value>(&record).is_ok(), "{record}");
    }
}
