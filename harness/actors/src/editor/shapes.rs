//! The messages of an editor, in the protocol that it speaks.
//!
//! Invariant: an editor sends what a real client sends; what it does wrong on purpose, its answer names.

use super::PROMPT;
use rehang_scenario::{EditorAnswer, Protocol};
use serde_json::{Map, Value, json};

/// The folder that the editor has open. Nothing in a cell reads it.
const FOLDER: &str = "/project";
/// The tool of the editor's own that an agent can call over Codex' protocol.
const TOOL: &str = "client_tool";

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

    /// The answer, and the person's act that it is: what the editor does wrong is none.
    pub fn answered(&self, answer: EditorAnswer) -> (Option<&'static str>, Value) {
        let act = match answer {
            EditorAnswer::Allow | EditorAnswer::Twice if matches!(self, Wanted::Answers(_)) => Some("answer"),
            EditorAnswer::Allow | EditorAnswer::Twice => Some("allow"),
            EditorAnswer::Always => Some("always"),
            EditorAnswer::Reject => Some("deny"),
            // that decision ends the turn too
            EditorAnswer::Cancelled if *self == Wanted::Decision => Some("stop"),
            EditorAnswer::Cancelled => Some("dismiss"),
            EditorAnswer::NotOffered | EditorAnswer::Error | EditorAnswer::WrongShape => None,
        };
        let result = match answer {
            EditorAnswer::Error => return (act, json!({"error": {"code": -32603, "message": "Internal error"}})),
            EditorAnswer::WrongShape => json!({}),
            _ => self.result(answer),
        };
        (act, json!({ "result": result }))
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
            Wanted::Call => json!({"contentItems": [{"type": "inputText", "text": "done"}], "success": !refused}),
        }
    }
}

/// The word for an answer: allowed once, for ever, refused, dismissed.
fn word_for(answer: EditorAnswer, [once, always, refused, dismissed]: [&str; 4]) -> &str {
    match answer {
        EditorAnswer::Always => always,
        EditorAnswer::Reject => refused,
        EditorAnswer::Cancelled => dismissed,
        EditorAnswer::NotOffered => "none of these",
        _ => once,
    }
}

/// The first request.
pub(super) fn initialize(protocol: Protocol) -> Asks {
    let params = match protocol {
        Protocol::Acp => {
            let none = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
            json!({"protocolVersion": 1, "clientCapabilities": none})
        }
        Protocol::AppServer => {
            let client = json!({"name": "rehang", "title": "rehang", "version": "1.0.0"});
            json!({"clientInfo": client, "capabilities": {"experimentalApi": true}})
        }
    };
    ("initialize", params)
}

/// The request that begins a session. In Codex' protocol it is in a sandbox that commands must ask to leave, and files too.
pub(super) fn new_session(protocol: Protocol) -> Asks {
    match protocol {
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
    }
}

/// The request that begins a turn.
pub(super) fn prompt(protocol: Protocol, session: &str) -> Asks {
    let text = json!([{"type": "text", "text": PROMPT}]);
    match protocol {
        Protocol::Acp => ("session/prompt", json!({"sessionId": session, "prompt": text})),
        Protocol::AppServer => ("turn/start", json!({"threadId": session, "input": text})),
    }
}

/// The parameters of any other request about a session.
pub(super) fn about(protocol: Protocol, session: &str) -> Value {
    match protocol {
        Protocol::Acp => json!({ "sessionId": session }),
        Protocol::AppServer => json!({ "threadId": session }),
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
