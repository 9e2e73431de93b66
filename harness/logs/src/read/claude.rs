//! Claude Code: stream-json output and control protocol, session transcripts, message logs of the agent SDKs. Amp's stream-json,
//! which is like it.
//!
//! Invariant: the first root session is called `main`, the next ones `main 2`, …; a subagent's is its tool call's id.
//! Of a log of several sessions the last one counts.

use super::outcome::{of_word, outcome};
use super::time;
use super::{Sink, on, questions, some, text};
use crate::Format;
use crate::limits;
use crate::note::{Asks, Calls, Form, Kind, Note, Reply};
use crate::story::Story;
use serde_json::Value;
use std::collections::VecDeque;

/// The root session.
pub const MAIN: &str = "main";

/// The reader.
pub struct Claude {
    format: Format,
    prompted: bool,
    /// The root session that the latest lines belong to.
    root: String,
    /// The latest sessions by their ids, and what their roots are called.
    runs: VecDeque<(String, String)>,
    /// The latest calls.
    calls: VecDeque<Known>,
    /// The latest asks, with their questions.
    asks: VecDeque<(String, Vec<String>)>,
    hosted: bool,
    messages: u64,
    /// A slash command was typed, and nothing says yet whether it begins a turn.
    command: bool,
    /// Its latest words say that its model's server failed.
    error: Option<String>,
}

/// A call that was seen.
struct Known {
    id: String,
    session: String,
    task: bool,
    /// Its tool and its input: 1.0 asks without naming the call.
    of: (String, String),
}

impl Claude {
    /// A reader of one of its formats.
    pub fn new(format: Format) -> Claude {
        Claude {
            format,
            prompted: false,
            root: MAIN.to_owned(),
            runs: VecDeque::new(),
            calls: VecDeque::new(),
            asks: VecDeque::new(),
            hosted: false,
            messages: 0,
            command: false,
            error: None,
        }
    }

    /// Takes a message; `to_agent` is known if both directions were recorded.
    pub fn message(&mut self, value: &Value, to_agent: Option<bool>, sink: &mut Sink<'_>) {
        sink.at = sink.at.or_else(|| time::of_event(value));
        // a logger's envelope
        let inner = ["message", "msg", "event", "data", "payload"].iter().map(|key| &value[key]);
        if value["type"].is_null()
            && let Some(inner) = inner.into_iter().find(|inner| inner["type"].is_string())
        {
            return self.message(inner, to_agent, sink);
        }
        let kind = match value["type"].as_str() {
            Some(kind) => kind,
            None => Self::kind_of_untyped(value),
        };
        if sink.story.agent.kind == Kind::Program
            && matches!(kind, "assistant" | "user" | "result" | "system" | "stream_event")
        {
            sink.note(Note::Agent { kind: self.kind(), release: None, form: self.form() });
        }
        if matches!(kind, "assistant" | "user" | "system" | "result") {
            self.run_of(value, sink);
        }
        match kind {
            "system" => self.system(value, sink),
            "assistant" | "AssistantMessage" => self.assistant(value, sink),
            "user" | "UserMessage" => self.user(value, to_agent, sink),
            "result" | "ResultMessage" => self.result(value, sink),
            "control_request" => self.control_request(value, to_agent, sink),
            "control_response" => self.control_response(value, sink),
            "control_cancel_request" => {
                sink.take(kind);
                sink.note(Note::AskEnded { id: text(value, "request_id").to_owned(), how: Reply::Withdrawn });
            }
            "stream_event" | "StreamEvent" => {
                sink.take("stream_event");
                let session = self.session(value, sink);
                sink.note(Note::Thinks { session });
            }
            "tool_progress" => {
                sink.take(kind);
                sink.note(Note::Output { call: text(value, "tool_use_id").to_owned() });
            }
            "keep_alive" | "ping" => {
                sink.pass(kind);
                sink.note(Note::Alive);
            }
            // a transcript's
            "progress" => {
                sink.take(kind);
                let call = some(value, "parentToolUseID").or_else(|| some(value, "toolUseID")).unwrap_or_default();
                sink.note(if value["data"]["output"].is_string() { Note::Output { call } } else { Note::Alive });
            }
            "" => sink.trouble("JSON, but no message", value.to_string().as_bytes()),
            other => {
                sink.pass(other);
                sink.note(Note::Alive);
            }
        }
    }

    /// The log is over.
    pub fn end(&mut self, story: &mut Story) {
        if self.hosted && story.agent.form == Form::Once {
            story.agent.form = Form::Host;
        }
        if std::mem::take(&mut self.command) {
            story.note(None, Note::Prompt { session: self.root.clone(), by_client: true });
        }
        if let Some(why) = self.error.take() {
            story.note(None, Note::Failed { session: self.root.clone(), why, aborted: false });
        }
    }

    /// Looks up the session that a message belongs to: a file may have several, one after the other or mixed.
    fn run_of(&mut self, value: &Value, sink: &mut Sink<'_>) {
        let id = some(value, "sessionId").or_else(|| some(value, "session_id"));
        let Some(id) = id.filter(|_| value["isSidechain"] != true) else { return };
        let known = self.runs.iter().find(|(of, _)| *of == id).map(|(_, root)| root.clone());
        let root = known.unwrap_or_else(|| {
            sink.story.agent.runs += 1;
            let root =
                if sink.story.agent.runs == 1 { MAIN.to_owned() } else { format!("{MAIN} {}", sink.story.agent.runs) };
            bounded(&mut self.runs, (id, root.clone()));
            (self.command, self.error) = (false, None);
            root
        });
        if root != self.root {
            self.root = root;
            self.prompted = false;
        }
    }

    /// Messages of the Python SDK have classes instead of types.
    fn kind_of_untyped(value: &Value) -> &'static str {
        let content = &value["content"];
        let has = |key: &str| content.as_array().is_some_and(|list| list.iter().any(|block| !block[key].is_null()));
        match () {
            () if !value["num_turns"].is_null() && !value["duration_ms"].is_null() => "result",
            () if value["subtype"].is_string() && value["data"].is_object() => "system",
            () if has("tool_use_id") || content.is_string() && value["model"].is_null() => "user",
            () if content.is_array() => "assistant",
            () => "",
        }
    }

    fn session(&mut self, value: &Value, sink: &mut Sink<'_>) -> String {
        if let Some(call) = some(value, "parent_tool_use_id") {
            let parent = self.caller(&call);
            sink.note(Note::Session {
                id: call.clone(),
                parent: Some(parent),
                call: Some(call.clone()),
                created: false,
            });
            return call;
        }
        if value["isSidechain"] == true {
            let id = some(value, "agentId").unwrap_or_else(|| "side".to_owned());
            let call = self.calls.iter().rev().find(|known| known.task).map(|known| known.id.clone());
            sink.note(Note::Session { id: id.clone(), parent: Some(self.root.clone()), call, created: false });
            return id;
        }
        sink.note(Note::Session { id: self.root.clone(), parent: None, call: None, created: true });
        self.root.clone()
    }

    fn caller(&self, call: &str) -> String {
        let found = self.calls.iter().rev().find(|known| known.id == call);
        found.map_or_else(|| self.root.clone(), |known| known.session.clone())
    }

    fn kind(&self) -> Kind {
        if self.format == Format::Amp { Kind::Amp } else { Kind::Claude }
    }

    fn form(&self) -> Form {
        match self.format {
            Format::ClaudeTranscript => Form::Transcript,
            _ if self.hosted => Form::Host,
            _ => Form::Once,
        }
    }

    fn system(&mut self, value: &Value, sink: &mut Sink<'_>) {
        let data = if value["data"].is_object() { &value["data"] } else { value };
        match text(value, "subtype") {
            "init" => {
                sink.take("system/init");
                // 1.0 does not say which it is
                let old = || Some("1.0.128".to_owned()).filter(|_| self.format != Format::Amp);
                let release = some(data, "claude_code_version").or_else(old);
                sink.note(Note::Agent { kind: self.kind(), release, form: self.form() });
                if let Some(mode) = some(data, "permissionMode") {
                    sink.note(Note::Mode(mode));
                }
                let asks = data["tools"].as_array().is_some_and(|tools| tools.iter().any(|t| t == "AskUserQuestion"));
                // offered since 2.1.228 only to sessions that have somebody to ask (upstream-agents)
                if asks && text(data, "claude_code_version").starts_with("2.1.") {
                    sink.note(Note::PromptTool);
                }
                let session = self.session(value, sink);
                if !self.prompted {
                    sink.note(Note::Prompt { session, by_client: true });
                    self.prompted = true;
                }
            }
            "permission_denied" => {
                sink.take("system/permission_denied");
                sink.note(Note::Denied { call: text(value, "tool_use_id").to_owned() });
            }
            "compact_boundary" => {
                sink.take("system/compact_boundary");
                let session = self.session(value, sink);
                sink.note(Note::Compacted { session });
            }
            "api_error" | "api_retry" => {
                sink.take("system/api_error");
                let session = self.session(value, sink);
                let status = value["error"]["status"].as_u64().or(value["error_status"].as_u64());
                sink.note(Note::Retry { session, status: status.and_then(|s| u16::try_from(s).ok()) });
            }
            task if task.starts_with("task_") => {
                sink.take(&format!("system/{task}"));
                let state = some(value, "status").or_else(|| some(&value["patch"], "status")).unwrap_or_default();
                let ended = of_word(&state).is_some();
                let over = task == "task_notification" && !matches!(state.as_str(), "running" | "pending")
                    || matches!(task, "task_completed" | "task_ended" | "task_failed" | "task_stopped")
                    || task == "task_updated" && ended;
                if task == "task_started" || over {
                    sink.note(Note::Task {
                        id: text(value, "task_id").to_owned(),
                        call: some(value, "tool_use_id"),
                        description: some(value, "description").unwrap_or_default(),
                        over,
                    });
                }
            }
            hook @ ("hook_started" | "hook_response") => {
                sink.take(&format!("system/{hook}"));
                self.session(value, sink);
                let id = text(value, "hook_id").to_owned();
                let name = some(value, "hook_name").unwrap_or_else(|| text(value, "hook_event").to_owned());
                sink.note(Note::Hook { id, name, over: hook == "hook_response" });
            }
            other => sink.pass(&format!("system/{other}")),
        }
    }

    fn assistant(&mut self, value: &Value, sink: &mut Sink<'_>) {
        if value["aborted"] == true {
            return sink.pass("words that an interrupt cut short");
        }
        sink.take("assistant");
        let message = if value["message"].is_object() { &value["message"] } else { value };
        let session = self.session(value, sink);
        if self.format != Format::Claude {
            let release = some(value, "version");
            sink.note(Note::Agent { kind: self.kind(), release, form: self.form() });
        }
        if std::mem::take(&mut self.command) {
            sink.note(Note::Prompt { session: self.root.clone(), by_client: true });
        }
        if session == self.root {
            self.error = (value["isApiErrorMessage"] == true).then(|| flat(&message["content"]));
        }
        self.messages += 1;
        let id = some(message, "id").unwrap_or_else(|| format!("message {}", self.messages));
        let synthetic = message["model"] == "<synthetic>";
        let blocks: Vec<Value> = match &message["content"] {
            Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
            Value::Array(list) => list.iter().take(200).cloned().collect(),
            _ => Vec::new(),
        };
        for block in &blocks {
            if text(block, "type") == "thinking" || !block["thinking"].is_null() {
                sink.note(Note::Thinks { session: session.clone() });
            } else if let Some(call) = some(block, "id").filter(|_| block["name"].is_string()) {
                let does = calls(text(block, "name"), &block["input"]);
                let of = (text(block, "name").to_owned(), on(&block["input"]));
                let task = matches!(does, Calls::Task { .. });
                bounded(&mut self.calls, Known { id: call.clone(), session: session.clone(), task, of });
                sink.note(Note::Call { session: session.clone(), message: id.clone(), call, does });
            } else if let Some(said) = block["text"].as_str().filter(|_| !synthetic && self.error.is_none()) {
                let note = Note::Text {
                    session: session.clone(),
                    message: id.clone(),
                    part: String::new(),
                    text: said.to_owned(),
                    delta: false,
                };
                sink.note(note);
            }
        }
        let stop = text(message, "stop_reason");
        sink.story.agent.gives_reasons |= !stop.is_empty();
        if matches!(stop, "end_turn" | "stop_sequence") && !synthetic && self.error.is_none() {
            sink.note(Note::Finish { session, message: id, reason: "stop".to_owned() });
        }
    }

    fn user(&mut self, value: &Value, to_agent: Option<bool>, sink: &mut Sink<'_>) {
        let message = if value["message"].is_object() { &value["message"] } else { value };
        let session = self.session(value, sink);
        let content = &message["content"];
        let mut results = 0;
        for block in content.as_array().into_iter().flatten().take(200) {
            if let Some(call) = some(block, "tool_use_id") {
                results += 1;
                let said = flat(&block["content"]);
                let error = block["is_error"] == true;
                let code = error.then(|| exit_code(&said)).flatten();
                let interrupted = INTERRUPTED.iter().any(|words| said.contains(words));
                if interrupted {
                    sink.note(Note::Stop { session: String::new() });
                } else if error && DENIALS.iter().any(|denial| said.contains(denial)) {
                    sink.note(Note::Denied { call: call.clone() });
                }
                sink.note(Note::Told { call, error, text: said, code });
            }
        }
        if results > 0 {
            return sink.take("tool_result");
        }
        let said = flat(content);
        if said.contains("[Request interrupted by user") {
            sink.take("interrupted");
            return sink.note(Note::Stop { session: String::new() });
        }
        if said.starts_with("Your response above was cut off mid-stream") {
            sink.take("cut response");
            return sink.note(Note::CutOff { session });
        }
        let begins = said.trim_start();
        if LOCAL.iter().any(|tag| begins.starts_with(tag)) {
            self.command = false;
            return sink.pass("output of a local command");
        }
        if begins.starts_with("<command-name>") || begins.starts_with("<command-message>") {
            self.command = true;
            return sink.take("slash command");
        }
        let own = value["isSynthetic"] == true || value["isMeta"] == true || value["isCompactSummary"] == true;
        if own || session != self.root || to_agent == Some(false) {
            return sink.pass("user, not typed by anybody");
        }
        sink.take("prompt");
        self.hosted |= to_agent == Some(true);
        if to_agent != Some(true) {
            let release = some(value, "version");
            sink.note(Note::Agent { kind: self.kind(), release, form: self.form() });
        }
        self.prompted = true;
        (self.command, self.error) = (false, None);
        sink.note(Note::Prompt { session, by_client: true });
    }

    fn result(&mut self, value: &Value, sink: &mut Sink<'_>) {
        sink.take("result");
        self.session(value, sink);
        for denial in value["permission_denials"].as_array().into_iter().flatten().take(200) {
            sink.note(Note::Denied { call: text(denial, "tool_use_id").to_owned() });
        }
        let error = text(value, "subtype") == "error_during_execution";
        let aborted = error && (value["is_error"] != true || sink.story.ending.stopped.is_some());
        let ok = value["is_error"] != true && !text(value, "subtype").starts_with("error");
        let found = outcome(value);
        if found.is_none() && !aborted {
            return sink.note(Note::Unclear { session: self.root.clone(), kind: "result".to_owned() });
        }
        let ok = ok && found.is_none_or(|found| found.ok);
        let said = some(value, "result").unwrap_or_else(|| text(value, "subtype").to_owned());
        sink.note(Note::Result { ok, aborted, text: said });
        self.prompted = false;
        self.error = None;
    }

    fn control_request(&mut self, value: &Value, to_agent: Option<bool>, sink: &mut Sink<'_>) {
        let (id, request) = (text(value, "request_id").to_owned(), &value["request"]);
        match text(request, "subtype") {
            "can_use_tool" => {
                sink.take("can_use_tool");
                self.hosted = true;
                sink.note(Note::PromptTool);
                let tool = text(request, "tool_name");
                let of = (tool.to_owned(), on(&request["input"]));
                let same = || self.calls.iter().rev().find(|known| known.of == of).map(|known| known.id.clone());
                let call = some(request, "tool_use_id").or_else(same);
                let session = call.as_deref().map_or_else(|| self.root.clone(), |call| self.caller(call));
                let asks = if tool == "AskUserQuestion" {
                    let questions = questions(&request["input"]["questions"]);
                    let names = questions.iter().map(|q| q.question.clone()).collect();
                    bounded(&mut self.asks, (id.clone(), names));
                    Asks::Questions(questions)
                } else {
                    let patterns = vec![on(&request["input"])];
                    Asks::Permission { permission: permission(tool), patterns }
                };
                if let Some(call) = &call {
                    let does = calls(tool, &request["input"]);
                    let message = format!("of {call}");
                    sink.note(Note::Call { session: session.clone(), message, call: call.clone(), does });
                }
                sink.note(Note::Asked { id, session, call, asks });
            }
            "interrupt" => {
                sink.take("interrupt");
                self.hosted = true;
                sink.note(Note::Stop { session: String::new() });
            }
            other => {
                self.hosted |= to_agent == Some(true);
                sink.pass(&format!("control_request/{other}"));
            }
        }
    }

    fn control_response(&mut self, value: &Value, sink: &mut Sink<'_>) {
        let response = &value["response"];
        let id = text(response, "request_id").to_owned();
        let reply = &response["response"];
        let asked = self.asks.iter().find(|(ask, _)| *ask == id).map(|(_, questions)| questions.clone());
        let how = match (text(reply, "behavior"), asked) {
            ("allow", Some(questions)) => {
                let answers = &reply["updatedInput"]["answers"];
                let of = |question: &String| match &answers[question.as_str()] {
                    Value::String(label) => vec![label.clone()],
                    Value::Array(labels) => labels.iter().filter_map(|l| l.as_str().map(str::to_owned)).collect(),
                    _ => Vec::new(),
                };
                let answers: Vec<Vec<String>> = questions.iter().map(of).collect();
                let none = answers.iter().all(Vec::is_empty);
                if none { Reply::Skipped } else { Reply::Answers(answers) }
            }
            ("allow", None) if reply["updatedPermissions"].is_array() => Reply::Always,
            ("allow", None) => Reply::Allowed,
            ("deny", Some(_)) => Reply::Dismissed,
            ("deny", None) => Reply::Denied,
            _ if text(response, "subtype") == "error" => Reply::Withdrawn,
            _ => return sink.pass("control_response"),
        };
        sink.take("control_response");
        sink.note(Note::AskEnded { id, how });
    }
}

/// What tool results say of a call that was not allowed to run, in all releases (`fake-agents/src/claude/texts.rs`).
const DENIALS: [&str; 7] = [
    "requires approval",
    "require approval",
    "needs approval",
    "haven't granted it yet",
    "doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "has been denied",
];

/// What a transcript says of commands that the terminal itself runs: no turn begins.
const LOCAL: [&str; 6] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
];

/// What tool results say of a call that an interrupt ended while it ran, in all releases.
const INTERRUPTED: [&str; 2] = ["[Request interrupted by user", "this call was stopped while running"];

fn bounded<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() >= limits::ASKS {
        list.pop_front();
    }
    list.push_back(item);
}

/// The permission that a tool needs, in the scenario's words.
pub fn permission(tool: &str) -> String {
    match tool {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => "edit".to_owned(),
        other => other.to_ascii_lowercase(),
    }
}

/// What a call of Claude Code's does.
pub fn calls(tool: &str, input: &Value) -> Calls {
    match tool {
        "AskUserQuestion" => Calls::Ask(questions(&input["questions"])),
        "Bash" => {
            // Amp's has another word for it
            let command = some(input, "command").or_else(|| some(input, "cmd")).unwrap_or_default();
            Calls::Bash { command, timeout_ms: input["timeout"].as_u64() }
        }
        "Task" | "Agent" => Calls::Task { description: text(input, "description").to_owned(), child: None },
        other => Calls::Tool { name: other.to_owned(), on: on(input) },
    }
}

/// The text of a tool result.
pub fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let texts: Vec<&str> = list.iter().take(50).filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn exit_code(said: &str) -> Option<i64> {
    let rest = said.strip_prefix("Exit code ").or_else(|| said.strip_prefix("Error: Exit code "))?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

/// A small transcript of Claude Code.
pub const TRANSCRIPT: &str = r#"{"type":"summary","summary":"x","leafUuid":"a"}
{"type":"user","uuid":"1","sessionId":"s","version":"2.0.77","timestamp":"2026-11-20T12:00:00.000Z","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"2","sessionId":"s","version":"2.0.77","timestamp":"2026-11-20T12:00:03.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use"}}
{"type":"user","uuid":"3","sessionId":"s","timestamp":"2026-11-20T12:00:04.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"README.md"}]}}
{"type":"assistant","uuid":"4","sessionId":"s","timestamp":"2026-11-20T12:00:09.000Z","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","options":[{"label":"sqlite","description":""},{"label":"postgres","description":""}],"multiSelect":false}]}}],"stop_reason":"tool_use"}}
"#;

/// A small output of `amp --execute --stream-json`.
pub const AMP: &str = r#"{"type":"system","subtype":"init","cwd":"/home/agent/x","session_id":"T-2775dc92","tools":["Bash"],"mcp_servers":[]}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]},"parent_tool_use_id":null,"session_id":"T-2775dc92"}
{"type":"assistant","message":{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"cmd":"npm run dev"}}],"stop_reason":"tool_use"},"parent_tool_use_id":null,"session_id":"T-2775dc92"}
"#;
