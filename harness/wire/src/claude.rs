//! Claude Code's stream-json and control protocol: one JSON object a line, both ways.
//!
//! It has both sides: what a host may write to the agent ([`ToAgent`] and its builders), and what a host reads
//! ([`FromAgent`]). The shapes are those recorded with releases 1.0.128, 2.0.77 and 2.1.329.
//!
//! Invariant: reading never fails on an unknown kind of message and never panics; an unknown message comes out as
//! `Other`, so that a newer release does not break an older reader.

use serde_json::{Map, Value, json};

/// The longest line that is taken, in bytes. The limit is ours; the real one is limited only by memory.
pub const LINE_MAX_BYTES: usize = 4 << 20;

// --- a host's side: what it writes ---

/// An `initialize` request. It is optional: a bare user message works too.
pub fn initialize(request_id: &str) -> Value {
    json!({"type": "control_request", "request_id": request_id, "request": {"subtype": "initialize", "hooks": null}})
}

/// A user message with this prompt.
pub fn user(text: &str) -> Value {
    json!({
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        "parent_tool_use_id": null,
        "session_id": "",
    })
}

/// A request that stops the running turn.
pub fn interrupt(request_id: &str) -> Value {
    json!({"type": "control_request", "request_id": request_id, "request": {"subtype": "interrupt"}})
}

/// Allows a tool; `input` is the tool's input, changed or not.
pub fn allow(request_id: &str, input: &Value) -> Value {
    reply(request_id, json!({"behavior": "allow", "updatedInput": input}))
}

/// Answers a question: allows AskUserQuestion with an answer for each question text. No answers mean that it was
/// skipped.
pub fn answer(request_id: &str, input: &Value, answers: &[(String, String)]) -> Value {
    let mut input = input.clone();
    if let (Value::Object(input), false) = (&mut input, answers.is_empty()) {
        let answers: Map<String, Value> = answers.iter().map(|(q, a)| (q.clone(), Value::from(a.as_str()))).collect();
        input.insert("answers".to_owned(), Value::Object(answers));
    }
    allow(request_id, &input)
}

/// Denies a tool, or dismisses a question.
pub fn deny(request_id: &str, message: &str) -> Value {
    reply(request_id, json!({"behavior": "deny", "message": message}))
}

/// Says that the host cannot answer.
pub fn refuse(request_id: &str, error: &str) -> Value {
    json!({"type": "control_response", "response": {"subtype": "error", "request_id": request_id, "error": error}})
}

/// Replies to a request of the agent's with this content.
pub fn reply(request_id: &str, response: Value) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request_id, "response": response},
    })
}

/// A message that a host writes.
#[derive(Debug, Clone, PartialEq)]
pub enum ToAgent {
    /// A prompt, or another user message: its content blocks.
    User(Vec<Value>),
    /// A control request: its id, its subtype, the whole request.
    Request {
        /// The id that the host gave it.
        id: String,
        /// The subtype: `initialize`, `interrupt`, `set_permission_mode`, …
        subtype: String,
        /// The whole request.
        request: Value,
    },
    /// The answer to a control request of the agent's.
    Response {
        /// The id that the agent gave the request.
        id: String,
        /// What the host replies.
        reply: Reply,
    },
    /// A message that needs no action: `keep_alive`, a cancelled request of the host's own.
    Nothing,
}

/// What a host replies to `can_use_tool`.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The tool is allowed, with this input.
    Allow(Value),
    /// The tool is denied with this message; `interrupt` ends the turn too.
    Deny {
        /// What the model is told.
        message: String,
        /// Whether the turn ends.
        interrupt: bool,
    },
    /// The host could not answer: its error text.
    Error(String),
    /// The reply does not fit: the reason.
    Malformed(String),
}

/// Why a line is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The line is not JSON.
    #[error("Error parsing streaming input line: {line}: SyntaxError: {why}")]
    Syntax {
        /// The line, cut after 200 characters.
        line: String,
        /// The parser's message.
        why: String,
    },
    /// The line is JSON, but of a kind that is not accepted.
    #[error("Error: {0}")]
    Kind(String),
}

/// Reads a line that a host wrote. The error's text is what releases 1.0.128 and 2.0.77 print before they exit.
///
/// # Errors
/// No JSON, or a message of a kind that is not accepted.
pub fn to_agent(line: &str) -> Result<ToAgent, LineError> {
    let message: Value = serde_json::from_str(line)
        .map_err(|why| LineError::Syntax { line: line.chars().take(200).collect(), why: why.to_string() })?;
    let kind = message["type"].as_str().unwrap_or("undefined");
    match kind {
        "keep_alive" | "control_cancel_request" | "update_environment_variables" => Ok(ToAgent::Nothing),
        "control_response" => {
            let response = &message["response"];
            Ok(ToAgent::Response { id: text(&response["request_id"]), reply: read_reply(response) })
        }
        "control_request" => {
            let request = message["request"].clone();
            if !request.is_object() {
                return Err(LineError::Kind("Missing request on control_request".to_owned()));
            }
            Ok(ToAgent::Request { id: text(&message["request_id"]), subtype: text(&request["subtype"]), request })
        }
        "user" => {
            let role = message["message"]["role"].as_str().unwrap_or("undefined");
            if role != "user" {
                return Err(LineError::Kind(format!("Expected message role 'user', got '{role}'")));
            }
            Ok(ToAgent::User(blocks(&message["message"]["content"])))
        }
        other => Err(LineError::Kind(format!("Expected message type 'user' or 'control', got '{other}'"))),
    }
}

fn read_reply(response: &Value) -> Reply {
    match response["subtype"].as_str() {
        Some("error") => return Reply::Error(text(&response["error"])),
        Some("success") => {}
        _ => return Reply::Malformed("no subtype".to_owned()),
    }
    let body = &response["response"];
    match body["behavior"].as_str() {
        Some("allow") if body["updatedInput"].is_object() => Reply::Allow(body["updatedInput"].clone()),
        Some("allow") => Reply::Malformed("updatedInput is required".to_owned()),
        Some("deny") if body["message"].is_string() => {
            Reply::Deny { message: text(&body["message"]), interrupt: body["interrupt"].as_bool().unwrap_or(false) }
        }
        Some("deny") => Reply::Malformed("message is required".to_owned()),
        _ => Reply::Malformed("behavior is neither allow nor deny".to_owned()),
    }
}

// --- the agent's side: what a host reads ---

/// What an agent writes, as far as a host acts on it.
#[derive(Debug, Clone, PartialEq)]
pub enum FromAgent {
    /// The `system/init` message.
    Init {
        /// The session's id.
        session: String,
        /// The tools that are offered.
        tools: Vec<String>,
    },
    /// One or more content blocks of the model.
    Assistant {
        /// The id of the tool call whose subagent says it.
        parent: Option<String>,
        /// The content blocks: `text`, `tool_use`.
        content: Vec<Value>,
    },
    /// A user message: tool results, or a note such as `[Request interrupted by user]`.
    User {
        /// The id of the tool call whose subagent it is for.
        parent: Option<String>,
        /// The content blocks.
        content: Vec<Value>,
    },
    /// The agent asks whether it may use a tool. AskUserQuestion's questions come this way too.
    CanUseTool {
        /// The request's id: a reply names it.
        id: String,
        /// The name of the tool.
        tool: String,
        /// The tool's input.
        input: Value,
        /// The id of the tool call; 1.0.128 does not say it.
        call: Option<String>,
    },
    /// The agent withdraws a request.
    Cancel {
        /// The id of the request.
        id: String,
    },
    /// The answer to a control request of the host's.
    Response {
        /// The id that the host gave the request.
        id: String,
        /// Whether it succeeded.
        ok: bool,
    },
    /// The result message: a turn is over.
    Result {
        /// The subtype: `success`, `error_during_execution`, …
        subtype: String,
        /// The `is_error` flag, which can be set with any subtype.
        is_error: bool,
        /// The text; empty if there is none.
        text: String,
    },
    /// Any other message.
    Other(Value),
}

/// Reads a line that an agent wrote; `None` if it is not a JSON object.
pub fn from_agent(line: &str) -> Option<FromAgent> {
    let message: Value = serde_json::from_str(line).ok()?;
    message.as_object()?;
    Some(read(message))
}

/// Reads a message that an agent wrote.
pub fn read(message: Value) -> FromAgent {
    let parent = || message["parent_tool_use_id"].as_str().map(str::to_owned);
    let content = || blocks(&message["message"]["content"]);
    match (message["type"].as_str(), message["subtype"].as_str()) {
        (Some("system"), Some("init")) => FromAgent::Init {
            session: text(&message["session_id"]),
            tools: message["tools"].as_array().map_or_else(Vec::new, |all| all.iter().map(text).collect()),
        },
        (Some("assistant"), _) => FromAgent::Assistant { parent: parent(), content: content() },
        (Some("user"), _) => FromAgent::User { parent: parent(), content: content() },
        (Some("control_request"), _) if message["request"]["subtype"] == "can_use_tool" => FromAgent::CanUseTool {
            id: text(&message["request_id"]),
            tool: text(&message["request"]["tool_name"]),
            input: message["request"]["input"].clone(),
            call: message["request"]["tool_use_id"].as_str().map(str::to_owned),
        },
        (Some("control_cancel_request"), _) => FromAgent::Cancel { id: text(&message["request_id"]) },
        (Some("control_response"), _) => FromAgent::Response {
            id: text(&message["response"]["request_id"]),
            ok: message["response"]["subtype"] == "success",
        },
        (Some("result"), subtype) => FromAgent::Result {
            subtype: subtype.unwrap_or_default().to_owned(),
            is_error: message["is_error"].as_bool().unwrap_or(false),
            text: text(&message["result"]),
        },
        _ => FromAgent::Other(message),
    }
}

/// The id of a control request that an agent wrote, whatever it asks for; `None` if the line is anything else.
pub fn request_id(line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).ok()?;
    (message["type"] == "control_request").then(|| text(&message["request_id"]))
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.clone(),
        Value::String(said) => vec![json!({"type": "text", "text": said})],
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

// --- lines ---

/// Cuts a byte stream into lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    held: Vec<u8>,
}

impl Lines {
    /// Takes bytes as they come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next whole line without its newline, invalid UTF-8 replaced. A line above [`LINE_MAX_BYTES`] is cut there.
    pub fn next_line(&mut self) -> Option<String> {
        let end = self.held.iter().position(|&b| b == b'\n');
        let (end, skip) = match end {
            Some(end) if end <= LINE_MAX_BYTES => (end, 1),
            None if self.held.len() < LINE_MAX_BYTES => return None,
            _ => (LINE_MAX_BYTES, 0),
        };
        let line = String::from_utf8_lossy(&self.held[..end]).into_owned();
        self.held.drain(..end + skip);
        Some(line)
    }

    /// The part of a line that has come so far.
    pub fn held(&self) -> &[u8] {
        &self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_writes_reads_back() {
        let input = json!({"questions": [{"question": "Which?"}]});
        let line = answer("u1", &input, &[("Which?".to_owned(), "Blue".to_owned())]).to_string();
        let ToAgent::Response { id, reply: Reply::Allow(back) } = to_agent(&line).unwrap() else { panic!("{line}") };
        assert_eq!((id.as_str(), &back["answers"]["Which?"]), ("u1", &json!("Blue")));
        assert_eq!(back["questions"], input["questions"]);
        let line = deny("u1", "no way").to_string();
        let denied = Reply::Deny { message: "no way".to_owned(), interrupt: false };
        assert_eq!(to_agent(&line), Ok(ToAgent::Response { id: "u1".to_owned(), reply: denied }));
        let line = refuse("u1", "gone").to_string();
        let refused = Reply::Error("gone".to_owned());
        assert_eq!(to_agent(&line), Ok(ToAgent::Response { id: "u1".to_owned(), reply: refused }));
        assert!(
            matches!(to_agent(&interrupt("r2").to_string()), Ok(ToAgent::Request { subtype, .. }) if subtype == "interrupt")
        );
        assert_eq!(to_agent(&user("go").to_string()), Ok(ToAgent::User(vec![json!({"type": "text", "text": "go"})])));
    }

    #[test]
    fn an_allow_without_its_input_does_not_fit() {
        let line = r#"{"type":"control_response","response":{"subtype":"success","request_id":"u","response":{"behavior":"allow"}}}"#;
        assert!(matches!(to_agent(line), Ok(ToAgent::Response { reply: Reply::Malformed(_), .. })));
    }

    #[test]
    fn lines_come_whole() {
        let mut lines = Lines::default();
        lines.push(b"{\"a\":1}\n{\"b");
        assert_eq!(lines.next_line().as_deref(), Some("{\"a\":1}"));
        assert_eq!(lines.next_line(), None);
        lines.push(b"\":2}\n");
        assert_eq!(lines.next_line().as_deref(), Some("{\"b\":2}"));
        lines.push(&vec![b'x'; LINE_MAX_BYTES + 3]);
        assert_eq!(lines.next_line().map(|l| l.len()), Some(LINE_MAX_BYTES));
        assert_eq!(lines.held(), b"xxx");
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line in ".{0,200}") {
            let _ = (to_agent(&line), from_agent(&line));
        }
    }
}
