//! What the client is asked for: whether a command may run, a file be changed or a tool server be called, what the user says
//! to a question, and a call of a tool of the client's own.
//!
//! Invariant: what is asked is said to begin before it is asked, but for a question, which is no item.

use super::{Said, Voice, shapes};
use crate::codex::release::Protocol;
use rehang_scenario::turns::Question;
use rehang_trace::AskKind;
use serde_json::{Value, json};

/// What the client is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::codex) enum Wanted {
    /// Whether a command may run: as the release runs it, and as the model wrote it.
    Command { command: String, line: String },
    /// Whether a file may be changed.
    File { path: String },
    /// What the user says to these questions.
    Answers(Vec<Question>),
    /// Whether a tool server's tool may be called; with a message, what the user says to that of the server, in the middle of
    /// the call.
    Server { server: String, tool: String, message: Option<String> },
    /// The result of a call of the client's own tool.
    Call { tool: String },
}

/// How something that was asked for ends, as its item is told: its status, and its result or why there is none.
pub(in crate::codex) struct Ends<'e> {
    pub status: &'e str,
    pub result: Result<&'e str, &'e str>,
}

impl Wanted {
    /// Whether a person is asked, and how; a call of the client's own tool is for its program.
    pub fn kind(&self) -> Option<AskKind> {
        match self {
            Wanted::Command { .. } | Wanted::File { .. } => Some(AskKind::Permission),
            Wanted::Server { message, .. } if message.is_none() => Some(AskKind::Permission),
            Wanted::Answers(_) | Wanted::Server { .. } => Some(AskKind::Question),
            Wanted::Call { .. } => None,
        }
    }

    /// What the agent waits for meanwhile, in one word.
    pub fn waits_on(&self) -> &'static str {
        match self.kind() {
            Some(AskKind::Permission) => "permission",
            Some(AskKind::Question) => "question",
            None => "client",
        }
    }

    /// The permission, in one line; empty for a question.
    pub fn permission(&self) -> String {
        match self {
            Wanted::Command { line, .. } => format!("command ({line})"),
            Wanted::File { path } => format!("file ({path})"),
            Wanted::Server { server, tool, message: None } => format!("tool server ({server}, {tool})"),
            _ => String::new(),
        }
    }

    /// The questions; none for a permission.
    pub fn questions(&self) -> Vec<Question> {
        match self {
            Wanted::Answers(questions) => questions.clone(),
            Wanted::Server { message: Some(message), .. } => {
                let (question, header) = (message.clone(), String::new());
                vec![Question { question, header, options: Vec::new(), multiple: false, custom: None }]
            }
            _ => Vec::new(),
        }
    }

    /// The method of the request.
    fn method(&self) -> &'static str {
        match self {
            Wanted::Command { .. } => "item/commandExecution/requestApproval",
            Wanted::File { .. } => "item/fileChange/requestApproval",
            Wanted::Answers(_) => "item/tool/requestUserInput",
            Wanted::Server { .. } => "mcpServer/elicitation/request",
            Wanted::Call { .. } => shapes::CLIENT_CALL,
        }
    }
}

impl Voice {
    /// The client is asked for what this call needs.
    pub(in crate::codex) fn asks_client(&mut self, call: &str, wanted: &Wanted) {
        if self.is_raw() {
            let Wanted::Command { command, line } = wanted else { return };
            self.command_begins(call, command);
            return self.raw_asks(call, line);
        }
        // 0.116.0 tells of a command once it runs
        let begins = self.item_of(call, wanted, &Ends { status: "inProgress", result: Ok("") });
        let begins = begins.filter(|_| self.is_timed() || !matches!(wanted, Wanted::Command { .. }));
        // a command waits before it is told, anything else is told first
        let waits_first = matches!(wanted, Wanted::Command { .. });
        if let Some(item) = begins.clone().filter(|_| !waits_first) {
            self.item_begins(item);
        }
        if let Some(kind) = wanted.kind()
            && !std::mem::replace(&mut self.waiting, true)
        {
            let is_asked = kind == AskKind::Question && matches!(wanted, Wanted::Answers(_));
            let flag = if is_asked { "waitingOnUserInput" } else { "waitingOnApproval" };
            self.status(&json!({"type": "active", "activeFlags": [flag]}));
        }
        if let Some(item) = begins.filter(|_| waits_first) {
            self.item_begins(item);
        }
        let params = self.params(call, wanted);
        self.said.push(Said::Ask { call: call.to_owned(), method: wanted.method(), params });
    }

    fn params(&self, call: &str, wanted: &Wanted) -> Value {
        let ids = (self.thread_id(), self.turn_id(), call.to_owned());
        let mut params = json!({"threadId": ids.0, "turnId": ids.1});
        match wanted {
            Wanted::Command { command, line } => {
                return shapes::approval(self.release, ids, self.now, (command, line, &self.cwd));
            }
            Wanted::File { .. } => {
                params["itemId"] = json!(call);
                if self.is_timed() {
                    params["startedAtMs"] = json!(self.now);
                }
                params["reason"] = Value::Null;
                params["grantRoot"] = Value::Null;
            }
            Wanted::Answers(questions) => {
                params["itemId"] = json!(call);
                params["questions"] = questions.iter().enumerate().map(|(at, one)| shapes::question(at, one)).collect();
                if self.is_timed() {
                    params["isBlocking"] = json!(false);
                    params["autoResolutionMs"] = Value::Null;
                }
            }
            Wanted::Server { server, tool, message } => {
                params["serverName"] = json!(server);
                params["mode"] = json!("form");
                params["_meta"] = match message {
                    Some(_) => Value::Null,
                    None => json!({"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"],
                        "tool_name": tool, "tool_params": {}, "tool_params_display": []}),
                };
                let asks = format!("Allow the {server} MCP server to run tool \"{tool}\"?");
                params["message"] = json!(message.as_ref().unwrap_or(&asks));
                let name = if message.is_some() { json!({"name": {"type": "string"}}) } else { json!({}) };
                params["requestedSchema"] = json!({"type": "object", "properties": name});
            }
            Wanted::Call { tool } => {
                params["callId"] = json!(call);
                if self.is_timed() {
                    params["namespace"] = Value::Null;
                }
                params["tool"] = json!(tool);
                params["arguments"] = json!({});
            }
        }
        params
    }

    /// Its item; `None` if it has none.
    fn item_of(&self, call: &str, wanted: &Wanted, ends: &Ends<'_>) -> Option<Value> {
        let release = self.release;
        Some(match wanted {
            Wanted::Command { command, .. } => {
                shapes::command(release, call, (command, &self.cwd), false, ends.status, None)
            }
            Wanted::File { path } => shapes::file(call, &format!("{}/{path}", self.cwd), ends.status),
            Wanted::Server { server, tool, message } => {
                let read_only = message.is_some().then_some(true);
                shapes::server_call(release, call, (server, tool), read_only, ends)
            }
            Wanted::Call { tool } => shapes::client_call(release, call, tool, ends),
            Wanted::Answers(_) => return None,
        })
    }

    /// A call that nobody is asked for is told to begin and to end.
    pub(in crate::codex) fn called(&mut self, call: &str, wanted: &Wanted, ends: &Ends<'_>) {
        if let Some(item) = self.item_of(call, wanted, &Ends { status: "inProgress", result: Ok("") }) {
            self.item_begins(item);
        }
        self.ends(call, wanted, ends);
    }

    /// The client has answered, and `open` says whether there are other asks; `ends` is how the item ends, if it does now.
    pub(in crate::codex) fn was_answered(&mut self, call: &str, wanted: &Wanted, ends: Option<&Ends<'_>>, open: bool) {
        if self.is_raw() {
            if ends.is_some() {
                self.raw_refused(call);
            }
            return;
        }
        // a command ends before the turn goes on, and in 0.116.0 a change that is declined too; anything else after
        let is_first = match wanted {
            Wanted::Command { .. } => true,
            Wanted::File { .. } => !self.is_timed() && ends.is_some_and(|ends| ends.status == "declined"),
            _ => false,
        };
        if let Some(ends) = ends.filter(|_| is_first) {
            self.ends(call, wanted, ends);
        }
        if !open && std::mem::replace(&mut self.waiting, false) {
            self.status(&json!({"type": "active", "activeFlags": []}));
        }
        if let Some(ends) = ends.filter(|_| !is_first) {
            self.ends(call, wanted, ends);
        }
    }

    /// What was asked for ends, and so does its item.
    pub(in crate::codex) fn ends(&mut self, call: &str, wanted: &Wanted, ends: &Ends<'_>) {
        if let Some(item) = self.item_of(call, wanted, ends) {
            self.item_ends(item);
        }
        if let (Wanted::File { path }, "completed") = (wanted, ends.status) {
            self.diff.get_or_insert_default().push_str(&shapes::diff(path));
            self.shows_diff();
        }
    }

    /// What has changed in this turn, if anything has.
    pub(super) fn shows_diff(&mut self) {
        if let Some(diff) = &self.diff {
            let params = json!({"threadId": self.thread_id(), "turnId": self.turn_id(), "diff": diff});
            self.say("turn/diff/updated", params);
        }
    }
}

/// Whether this release asks before it calls a tool of a server (`tool_call_mcp_elicitation` is on by default).
pub(in crate::codex) fn asks_for_servers(protocol: Protocol) -> bool {
    protocol == Protocol::Timed
}
