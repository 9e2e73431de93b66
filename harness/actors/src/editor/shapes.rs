//! The messages of an editor, in the protocol that it speaks.
//!
//! Invariant: an editor sends what a real client sends; what it does wrong on purpose, its answer names.

use super::{PROMPT, sdk};
use rehang_scenario::{EditorAnswer, EditorStep, Protocol};
use serde_json::{Map, Value, json};

/// The folder that the editor has open. Nothing in a cell reads it.
const FOLDER: &str = "/project";
/// The tool of the editor's own that an agent can call over Codex' protocol, or Claude Code's.
pub(super) const TOOL: &str = "client_tool";

/// A request: its method and its parameters.
pub(super) type Asks = (&'static str, Value);

/// What the agent asks the editor for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    /// A permission of the Agent Client Protocol.
    Permission,
    /// Whether a command may run, or a file may be changed.
    Decision,
    /// What the user says to these questions: the ids, each with the first of its options.
    Answers(Vec<(String, String)>),
    /// What the user says to a tool server, or whether it may be called.
    Elicitation,
    /// A call of the editor's own tool.
    Call,
    /// What Claude Code asks a client of its SDK for.
    Control(sdk::Control),
}

impl Wanted {
    /// What a request of the agent's asks for; `None` if the editor does not know it.
    pub fn of(protocol: Protocol, method: &str, params: &Value) -> Option<Wanted> {
        match (protocol, method) {
            (Protocol::Acp, "session/request_permission") => Some(Wanted::Permission),
            (Protocol::AppServer, "item/commandExecution/requestApproval" | "item/fileChange/requestApproval") => {
                Some(Wanted::Decision)
            }
            (Protocol::AppServer, "item/tool/requestUserInput") => {
                let questions = params["questions"].as_array().into_iter().flatten();
                let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                Some(Wanted::Answers(questions.map(|q| (word(&q["id"]), word(&q["options"][0]["label"]))).collect()))
            }
            (Protocol::AppServer, "mcpServer/elicitation/request") => Some(Wanted::Elicitation),
            (Protocol::AppServer, "item/tool/call") => Some(Wanted::Call),
            _ => None,
        }
    }

    /// The answer to the request of this id, and the person's act that it is: what the editor does wrong is none.
    pub fn answered(&self, answer: EditorAnswer, id: &Value) -> (Option<&'static str>, Value) {
        let act = match answer {
            // a hook, or a tool server, is no person
            _ if matches!(self, Wanted::Control(sdk::Control::Hook | sdk::Control::Server { .. })) => None,
            EditorAnswer::Allow | EditorAnswer::Twice if self.is_question() => Some("answer"),
            EditorAnswer::Allow | EditorAnswer::Twice => Some("allow"),
            EditorAnswer::Always => Some("always"),
            EditorAnswer::Reject => Some("deny"),
            // that decision ends the turn too
            EditorAnswer::Cancelled if matches!(self, Wanted::Decision | Wanted::Control(_)) => Some("stop"),
            EditorAnswer::Cancelled => Some("dismiss"),
            EditorAnswer::NotOffered | EditorAnswer::Error | EditorAnswer::WrongShape => None,
        };
        if let Wanted::Control(control) = self {
            return (act, control.answered(answer, id.as_str().unwrap_or_default()));
        }
        let mut message = match answer {
            EditorAnswer::Error => json!({"error": {"code": -32603, "message": "Internal error"}}),
            EditorAnswer::WrongShape => json!({"result": {}}),
            _ => json!({"result": self.result(answer)}),
        };
        message["id"] = id.clone();
        (act, message)
    }

    fn is_question(&self) -> bool {
        match self {
            Wanted::Control(control) => control.is_question(),
            _ => matches!(self, Wanted::Answers(_)),
        }
    }

    fn result(&self, answer: EditorAnswer) -> Value {
        let word = |words| word_for(answer, words);
        let refused = matches!(answer, EditorAnswer::Reject | EditorAnswer::Cancelled);
        match self {
            Wanted::Permission if answer == EditorAnswer::Cancelled => json!({"outcome": {"outcome": "cancelled"}}),
            Wanted::Permission => {
                json!({"outcome": {"outcome": "selected", "optionId": word(["once", "always", "reject", ""])}})
            }
            Wanted::Decision => json!({"decision": word(["accept", "acceptForSession", "decline", "cancel"])}),
            Wanted::Answers(questions) => {
                let chosen =
                    |(id, first): &(String, String)| (id.clone(), json!({"answers": [word_for(answer, [first; 4])]}));
                let answers: Map<String, Value> = questions.iter().filter(|_| !refused).map(chosen).collect();
                json!({ "answers": answers })
            }
            Wanted::Elicitation => json!({"action": word(["accept", "accept", "decline", "cancel"]), "content": null}),
            Wanted::Control(_) => Value::Null,
            Wanted::Call => json!({"contentItems": [{"type": "inputText", "text": "done"}], "success": !refused}),
        }
    }
}

/// The word for an answer: allowed once, for ever, refused, dismissed.
pub(super) fn word_for(answer: EditorAnswer, [once, always, refused, dismissed]: [&str; 4]) -> &str {
    match answer {
        EditorAnswer::Always => always,
        EditorAnswer::Reject => refused,
        EditorAnswer::Cancelled => dismissed,
        EditorAnswer::NotOffered => "none of these",
        _ => once,
    }
}

/// The first request of an editor that has done these steps.
pub(super) fn initialize(protocol: Protocol, done: &[EditorStep]) -> Asks {
    let params = match protocol {
        Protocol::Acp => {
            let none = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
            json!({"protocolVersion": 1, "clientCapabilities": none})
        }
        Protocol::AppServer => {
            let client = json!({"name": "rehang", "title": "rehang", "version": "1.0.0"});
            json!({"clientInfo": client, "capabilities": {"experimentalApi": true}})
        }
        Protocol::Sdk => sdk::initialize(done),
    };
    ("initialize", params)
}

/// The request that begins a session; Claude Code has one by itself. In Codex' protocol it is in a sandbox that commands must ask to leave, and files too.
pub(super) fn new_session(protocol: Protocol) -> Option<Asks> {
    Some(match protocol {
        Protocol::Sdk => return None,
        Protocol::Acp => ("session/new", json!({"cwd": FOLDER, "mcpServers": []})),
        Protocol::AppServer => {
            let schema = json!({"type": "object", "properties": {}});
            let tool = json!({"name": TOOL, "description": "A tool of the client's.", "inputSchema": schema});
            let (policy, sandbox) = ("on-request", "read-only");
            (
                "thread/start",
                json!({"cwd": FOLDER, "approvalPolicy": policy, "sandbox": sandbox, "dynamicTools": [tool]}),
            )
        }
    })
}

/// The request that begins a turn; for Claude Code, a message does.
pub(super) fn prompt(protocol: Protocol, session: &str) -> Option<Asks> {
    let text = json!([{"type": "text", "text": PROMPT}]);
    match protocol {
        Protocol::Sdk => None,
        Protocol::Acp => Some(("session/prompt", json!({"sessionId": session, "prompt": text}))),
        Protocol::AppServer => Some(("turn/start", json!({"threadId": session, "input": text}))),
    }
}

/// Any other request about a session: its method and its parameters.
pub(super) fn about<'a>(protocol: Protocol, session: &str, method: &'a str) -> (&'a str, Value) {
    match protocol {
        Protocol::Acp => (method, json!({ "sessionId": session })),
        Protocol::AppServer => (method, json!({ "threadId": session })),
        Protocol::Sdk => match method.split_once(' ') {
            Some((method, mode)) => (method, json!({ "mode": mode })),
            None => (method, json!({})),
        },
    }
}

/// The message of the editor's request of this number.
pub(super) fn request(protocol: Protocol, id: usize, method: &str, params: Value) -> Value {
    match protocol {
        Protocol::Acp | Protocol::AppServer => json!({"id": id, "method": method, "params": params}),
        Protocol::Sdk => sdk::request(id, method, params),
    }
}

/// What the agent has said.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// It asks for something, by a request of this id.
    Asks(Value, Wanted),
    /// It takes the request of this id back.
    TakesBack(Value),
    /// It tells of the turn.
    Says(Said),
    /// It replies to the editor's request of this number; an error has a message.
    Replies(usize, Option<String>),
    /// Nothing that the editor acts on.
    Nothing,
}

impl Heard {
    /// Reads a message.
    pub fn of(protocol: Protocol, message: &Value) -> Heard {
        if protocol == Protocol::Sdk {
            return sdk::heard(message);
        }
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => {
                Wanted::of(protocol, method, params).map_or(Heard::Nothing, |wanted| Heard::Asks(id.clone(), wanted))
            }
            (Some(method), None) => Heard::Says(Said::of(protocol, method, params)),
            (None, Some(id)) => {
                let error = message.get("error").map(|error| error["message"].as_str().unwrap_or_default().to_owned());
                let at = id.as_u64().and_then(|id| usize::try_from(id).ok());
                at.map_or(Heard::Nothing, |at| Heard::Replies(at, error))
            }
            (None, None) => Heard::Nothing,
        }
    }
}

/// Whether an error in the reply to this request fails what the editor was started for: no agent has any other method that a
/// file names, and a client that interrupts a turn that is over loses nothing.
pub(super) fn is_needed(method: &str) -> bool {
    matches!(method, "initialize" | "session/new" | "session/prompt" | "thread/start" | "turn/start")
}

/// What a notification says of the turn.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    /// A text or a tool call.
    pub update: bool,
    /// A tool call that runs.
    pub tool: bool,
    /// The next piece of the model's text.
    pub text: Option<String>,
    /// The id of a turn that is over, and why it failed, if it did.
    pub over: Option<(String, Option<String>)>,
}

impl Said {
    /// Reads a notification.
    pub fn of(protocol: Protocol, method: &str, params: &Value) -> Said {
        let mut said = Said::default();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (protocol, method) {
            (Protocol::Acp, "session/update") => {
                let update = &params["update"];
                let kind = update["sessionUpdate"].as_str().unwrap_or_default();
                said.update = kind.starts_with("agent_") || kind.starts_with("tool_call");
                said.tool = update["status"] == "in_progress";
                said.text = (kind == "agent_message_chunk").then(|| word(&update["content"]["text"]));
            }
            (Protocol::AppServer, "item/agentMessage/delta") => {
                (said.update, said.text) = (true, Some(word(&params["delta"])));
            }
            (Protocol::AppServer, "item/started") => {
                let kind = params["item"]["type"].as_str().unwrap_or_default();
                said.update = kind != "userMessage";
                said.tool = said.update && kind != "agentMessage";
            }
            (Protocol::AppServer, "turn/completed") => {
                let turn = &params["turn"];
                let failed = (turn["status"] == "failed").then(|| word(&turn["error"]["message"]));
                said.over = Some((word(&turn["id"]), failed));
            }
            _ => {}
        }
        said
    }
}
