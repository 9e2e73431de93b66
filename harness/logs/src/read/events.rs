//! JSON lines of an agent that is not known: what they have in common, in place of a reader for each agent.
//!
//! An event has a kind, a time that is told by its value, and ids that open and close: of tool calls, of requests to a
//! person, of JSON-RPC ([`super::rpc`]).
//!
//! Invariant: only what an event says counts: a result without an exit code, a flag or a status is no good end, and what
//! has no id neither opens nor closes.

use super::calls::{self, KINDS, Says, kind_of, words_of};
use super::outcome::{of_word, outcome};
use super::rpc::{self, Rpc};
use super::{Sink, claude::flat, some, text, time};
use crate::limits;
use crate::note::{Asks, Form, Kind, Note, Reply};
use crate::story::Story;
use serde_json::Value;
use std::collections::VecDeque;

/// The session of events that name none.
pub const MAIN: &str = "main";

/// The reader.
#[derive(Default)]
pub struct Events {
    begun: bool,
    /// The latest session that an event named.
    session: String,
    responses: u64,
    /// A call came since the last words.
    called: bool,
    /// The latest event says that something failed.
    error: Option<String>,
    /// The latest asks that are open, with the calls that they are for.
    asks: VecDeque<(String, String)>,
    rpc: Rpc,
    clocks: time::Clocks,
}

/// What may come before an event on its line, in bytes: a time, a direction. A choice.
const PREFIX_BYTES: usize = 120;

impl Events {
    /// Takes a line.
    pub fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let line = String::from_utf8_lossy(bytes);
        let begin = line.find('{').filter(|at| *at <= PREFIX_BYTES && !super::too_deep(bytes));
        let value = begin.and_then(|at| serde_json::from_str::<Value>(line[at..].trim_end()).ok());
        if let (Some(begin), Some(value)) = (begin, value) {
            let before = &line[..begin];
            sink.at = time::find(&line).filter(|_| begin > 0).and_then(|stamp| self.clocks.instant(&stamp));
            let from_agent = rpc::direction(before);
            return self.directed(&value, from_agent, sink);
        }
        if begin == Some(0) || line.trim().is_empty() {
            return super::json(bytes, sink, |_, _| {});
        }
        sink.at = time::find(&line).and_then(|stamp| self.clocks.instant(&stamp));
        sink.take("text between the events");
        let logged = sink.at.is_some();
        sink.note(Note::Prints { stderr: true, logged, text: format!("{line}\n") });
    }

    /// Takes an event.
    pub fn event(&mut self, value: &Value, sink: &mut Sink<'_>) {
        self.directed(value, None, sink);
    }

    /// Takes an event; whether the agent sent it is known if the log says so.
    fn directed(&mut self, value: &Value, from_agent: Option<bool>, sink: &mut Sink<'_>) {
        sink.at = sink.at.or_else(|| instant(value));
        let from_agent = from_agent.or_else(|| rpc::direction_of(value));
        // a logger's envelope
        let own =
            KINDS.iter().any(|key| value[key].is_string()) || value["method"].is_string() || !value["id"].is_null();
        let inner = ENVELOPES.iter().map(|key| &value[key]).find(|inner| inner.is_object());
        if let Some(inner) = inner.filter(|inner| rpc::is_message(inner) || !own && is_event(inner)) {
            return self.directed(inner, from_agent, sink);
        }
        if let Some(text) = ENVELOPES.iter().filter_map(|key| value[key].as_str()).find(|text| text.starts_with('{'))
            && !super::too_deep(text.as_bytes())
            && let Ok(inner) = serde_json::from_str::<Value>(text)
            && is_event(&inner)
        {
            return self.directed(&inner, from_agent, sink);
        }
        if rpc::is_message(value) {
            self.begin(Form::Host, sink);
            let mut rpc = std::mem::take(&mut self.rpc);
            rpc.message(value, from_agent, self, sink);
            self.rpc = rpc;
            return;
        }
        let new = !self.begun;
        self.begin(Form::Once, sink);
        self.typed(value, new, sink);
    }

    /// The agent begins.
    fn begin(&mut self, form: Form, sink: &mut Sink<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            sink.note(Note::Agent { kind: Kind::Other, release: None, form });
        }
    }

    /// An event that has a kind.
    fn typed(&mut self, value: &Value, new: bool, sink: &mut Sink<'_>) {
        let kind = kind_of(value);
        let words = words_of(&kind);
        let state = some(value, "subtype").or_else(|| some(value, "status")).unwrap_or_default();
        let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
        let data = if value["data"].is_object() { &value["data"] } else { value };
        let session = self.session_of(value, data, sink);
        if new && sink.story.sessions.get(&session).is_none_or(|s| s.prompts == 0) {
            // what begins with events was prompted before them
            sink.note(Note::Prompt { session: session.clone(), by_client: true });
        }
        if self.asked(value, data, &words, &state, &session, sink) {
            return sink.take(&kind);
        }
        let calls = calls::in_event(value);
        if !calls.is_empty() {
            self.calls(calls, &session, sink);
            self.error = None;
            self.said_beside(value, data, &words, &session, sink);
            return sink.take(&kind);
        }
        let role = some(data, "role").or_else(|| some(&data["message"], "role")).unwrap_or_default();
        match () {
            () if has(&["user", "human"]) || role == "user" => {
                self.error = None;
                sink.note(Note::Prompt { session, by_client: true });
            }
            () if has(&["thinking", "reasoning", "thought", "think"]) => {
                self.error = None;
                sink.note(Note::Thinks { session });
            }
            () if is_final(&words, &kind) => self.over(value, &words, &session, sink),
            () if is_error(value, &words, &state) => {
                sink.note(Note::Alive);
                self.error = Some(outcome(value).map_or_else(String::new, |outcome| outcome.text))
                    .filter(|text| !text.is_empty())
                    .or_else(|| Some(format!("{kind} {}", said(data)).trim().to_owned()));
            }
            () if has(&["abort", "aborted", "interrupt", "interrupted", "cancel", "cancelled"]) => {
                sink.note(Note::Stop { session });
            }
            () if is_words(&words, &role) => {
                self.error = None;
                let delta = has(&["delta", "chunk"]) || value["delta"] == true || text(value, "subtype") == "delta";
                self.says(&session, said(data), delta, sink);
            }
            () if has(&["compaction", "compact", "compacted"]) => sink.note(Note::Compacted { session }),
            () if has(&["retry", "retrying"]) => sink.note(Note::Retry { session, status: None }),
            () if kind.is_empty() => return sink.trouble("JSON, but no event", value.to_string().as_bytes()),
            () => {
                sink.note(Note::Alive);
                return sink.pass(&kind);
            }
        }
        sink.take(&kind);
    }

    /// The session that an event belongs to.
    fn session_of(&mut self, value: &Value, data: &Value, sink: &mut Sink<'_>) -> String {
        const IDS: [&str; 8] = [
            "session_id",
            "sessionId",
            "sessionID",
            "thread_id",
            "threadId",
            "conversation_id",
            "conversationId",
            "run_id",
        ];
        let named = |of: &Value| IDS.iter().find_map(|key| some(of, key));
        let known = || Some(self.session.clone()).filter(|session| !session.is_empty());
        let id = named(value).or_else(|| named(data)).or_else(known).unwrap_or_else(|| MAIN.to_owned());
        if id != self.session {
            let parent =
                ["parent_session_id", "parentSessionId", "parentSessionID", "parent_thread_id", "parentThreadId"];
            let parent = parent.iter().find_map(|key| some(value, key).or_else(|| some(data, key)));
            let created = parent.is_none();
            // what came before the first name is the same session
            if self.session == MAIN || self.session.is_empty() && sink.story.sessions.contains_key(MAIN) {
                self.session = MAIN.to_owned();
                return self.session.clone();
            }
            self.session.clone_from(&id);
            sink.note(Note::Session { id: id.clone(), parent, call: None, created });
        }
        id
    }

    /// A request to a person, or its end; whether the event is one.
    fn asked(
        &mut self,
        value: &Value,
        data: &Value,
        words: &[String],
        state: &str,
        session: &str,
        sink: &mut Sink<'_>,
    ) -> bool {
        let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
        let permission = has(&["permission", "permissions", "approval", "approve", "authorization"]);
        let question = has(&["question", "elicitation", "elicit", "ask"])
            || has(&["input"]) && has(&["user", "request", "requested"]);
        if !permission && !question || has(&["mode", "policy", "settings", "rule", "rules"]) {
            return false;
        }
        let inner = ["permissionRequest", "permission_request", "request", "permission"].iter().map(|key| &data[key]);
        let inner = inner.into_iter().find(|inner| inner.is_object()).unwrap_or(data);
        let id = |of: &Value| {
            let keys = [
                "request_id",
                "requestId",
                "requestID",
                "permission_id",
                "permissionId",
                "ask_id",
                "approval_id",
                "id",
            ];
            keys.iter().find_map(|key| some(of, key).or_else(|| of[key].as_u64().map(|id| id.to_string())))
        };
        let call = calls::id_of(inner, "").or_else(|| calls::id_of(data, ""));
        let named = |of: &Value| ["request_id", "requestId", "requestID"].iter().find_map(|key| some(of, key));
        let own = named(data).or_else(|| named(inner));
        let Some(id) = own.or_else(|| id(data)).or_else(|| id(inner)).or_else(|| call.clone()).or_else(|| id(value))
        else {
            return false;
        };
        let ended = [
            "completed",
            "resolved",
            "responded",
            "response",
            "replied",
            "reply",
            "granted",
            "allowed",
            "denied",
            "decision",
            "approved",
            "rejected",
            "answered",
            "answer",
            "cancelled",
            "canceled",
            "result",
            "end",
            "ended",
            "complete",
            "closed",
        ];
        let states = words_of(state);
        if has(&ended) || states.iter().any(|word| ended.contains(&word.as_str())) {
            let open = |(ask, of): &(String, String)| *ask == id || call.as_deref().is_some_and(|call| call == of);
            let ask = self.asks.iter().find(|ask| open(ask)).map_or(id, |(ask, _)| ask.clone());
            self.asks.retain(|(of, _)| *of != ask);
            sink.note(Note::AskEnded { id: ask, how: reply(data, words, state) });
            return true;
        }
        let asks = if question && !permission {
            let asked = super::questions(&data["questions"]);
            let line =
                ["question", "message", "prompt", "text"].iter().find_map(|key| some(inner, key)).unwrap_or_default();
            Asks::Questions(if asked.is_empty() { vec![calls::question_of(&line, inner)] } else { asked })
        } else {
            permission_of(inner, data)
        };
        self.asked_by(id, session, call, asks, sink);
        true
    }

    /// Somebody is asked.
    pub(super) fn asked_by(
        &mut self,
        id: String,
        session: &str,
        call: Option<String>,
        asks: Asks,
        sink: &mut Sink<'_>,
    ) {
        while self.asks.len() >= limits::ASKS {
            self.asks.pop_front();
        }
        self.asks.push_back((id.clone(), call.clone().unwrap_or_default()));
        sink.note(Note::Asked { id, session: session.to_owned(), call, asks });
    }

    /// Calls that begin, go on or end.
    pub(super) fn calls(&mut self, calls: Vec<(String, Says)>, session: &str, sink: &mut Sink<'_>) {
        for (call, says) in calls {
            match says {
                Says::Opens(does) => {
                    self.called = true;
                    let message = format!("response {}", self.responses);
                    sink.note(Note::Call { session: session.to_owned(), message, call, does });
                }
                Says::Moves => sink.note(Note::Output { call }),
                Says::Closes { error, text, code } => sink.note(Note::Told { call, error, text, code }),
            }
        }
    }

    /// Words in an event that is also about calls.
    fn said_beside(&mut self, value: &Value, data: &Value, words: &[String], session: &str, sink: &mut Sink<'_>) {
        let role = some(data, "role").or_else(|| some(&value["message"], "role")).unwrap_or_default();
        let tool = words.iter().any(|word| matches!(word.as_str(), "tool" | "call" | "result" | "function" | "exec"));
        let said = said(data);
        if !tool && is_words(words, &role) && !said.is_empty() {
            self.says(session, said, false, sink);
        }
    }

    /// The model's words.
    pub(super) fn says(&mut self, session: &str, said: String, delta: bool, sink: &mut Sink<'_>) {
        if std::mem::take(&mut self.called) || !delta {
            self.responses += 1;
        }
        let message = format!("response {}", self.responses);
        let session = session.to_owned();
        if said.is_empty() {
            return sink.note(Note::Thinks { session });
        }
        sink.note(Note::Text { session, message: message.clone(), part: message, text: said, delta });
    }

    /// An event that says that the run, or a turn of it, is over.
    fn over(&mut self, value: &Value, words: &[String], session: &str, sink: &mut Sink<'_>) {
        let by_kind = words.iter().rev().find_map(|word| of_word(word));
        match (outcome(value), by_kind) {
            (Some(found), None | Some(Ok(()))) => {
                self.error = None;
                sink.note(Note::Result { ok: found.ok, aborted: found.aborted, text: found.text });
            }
            (found, Some(Err(aborted))) => {
                self.error = None;
                let text = found.map_or_else(|| kind_of(value), |found| found.text);
                sink.note(Note::Result { ok: false, aborted, text });
            }
            (None, Some(Ok(()))) if self.error.is_none() => {
                sink.note(Note::Result { ok: true, aborted: false, text: String::new() });
            }
            (None, _) => sink.note(Note::Unclear { session: session.to_owned(), kind: kind_of(value) }),
        }
    }

    /// The log is over.
    pub fn end(&mut self, story: &mut Story) {
        if let Some(why) = self.error.take() {
            let session = if self.session.is_empty() { MAIN.to_owned() } else { self.session.clone() };
            story.note(None, Note::Failed { session, why, aborted: false });
        }
    }
}

/// The instant of an event, or of what is in its envelope.
fn instant(value: &Value) -> Option<u64> {
    let inner = || ["data", "payload", "message", "params", "event", "msg", "info", "meta", "item", "update"];
    time::of_event(value).or_else(|| inner().iter().find_map(|key| time::of_members(&value[key])))
}

/// Members that an event may be wrapped in.
const ENVELOPES: [&str; 12] =
    ["message", "msg", "event", "data", "payload", "body", "frame", "json", "raw", "line", "content", "packet"];

/// What a permission is asked for.
pub(super) fn permission_of(inner: &Value, data: &Value) -> Asks {
    let of = |keys: &[&str]| keys.iter().find_map(|key| some(inner, key).or_else(|| some(data, key)));
    let named = of(&["permission", "kind", "toolName", "tool_name", "tool", "name", "type"]);
    let line =
        of(&["title", "command", "fullCommandText", "path", "url", "description", "message", "reason", "intention"]);
    let input = ["input", "args", "arguments", "rawInput", "toolCall", "parameters"].iter().map(|key| &inner[key]);
    let input = input.into_iter().find(|input| input.is_object());
    let words = inner["command"].as_array().map(|words| {
        let words: Vec<&str> = words.iter().take(32).filter_map(Value::as_str).collect();
        words.join(" ")
    });
    let on = words.or(line).or_else(|| input.map(super::on)).unwrap_or_default();
    Asks::Permission { permission: named.unwrap_or_else(|| "tool".to_owned()), patterns: vec![on] }
}

/// How an ask ended.
fn reply(data: &Value, words: &[String], state: &str) -> Reply {
    let result =
        ["result", "response", "decision", "outcome", "reply", "answer", "behavior"].iter().map(|key| &data[key]);
    let said: String = result
        .map(|value| {
            value.as_str().map_or_else(|| text(value, "kind").to_owned() + text(value, "behavior"), str::to_owned)
        })
        .collect();
    let said = format!("{said} {state} {}", words.join(" ")).to_lowercase();
    let has = |of: &[&str]| of.iter().any(|word| said.contains(word));
    match () {
        () if data["approved"] == true || data["allowed"] == true || data["granted"] == true => Reply::Allowed,
        () if has(&["den", "reject", "refus", "declin", "cancel"]) || data["approved"] == false => Reply::Denied,
        () if has(&["always"]) => Reply::Always,
        () if has(&["allow", "approv", "accept", "grant", "yes", "proceed"]) => Reply::Allowed,
        () => Reply::Withdrawn,
    }
}

/// Whether an event says that a run is over: its kind is the run's, not that of a part.
fn is_final(words: &[String], kind: &str) -> bool {
    const ENDS: [&str; 17] = [
        "result",
        "completion",
        "finished",
        "finish",
        "final",
        "end",
        "ended",
        "exit",
        "exited",
        "done",
        "complete",
        "completed",
        "shutdown",
        "failed",
        "aborted",
        "cancelled",
        "stopped",
    ];
    const OF_RUN: [&str; 13] = [
        "run",
        "session",
        "agent",
        "turn",
        "task",
        "process",
        "conversation",
        "thread",
        "chat",
        "workflow",
        "prompt",
        "execution",
        "query",
    ];
    let alone = matches!(
        kind.to_ascii_lowercase().as_str(),
        "result"
            | "completion"
            | "done"
            | "finished"
            | "final"
            | "complete"
            | "completed"
            | "exit"
            | "end"
            | "agent_result"
            | "final_result"
    );
    let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    alone || has(&OF_RUN) && has(&ENDS) && !has(&["tool", "message", "step", "hook", "item", "text", "part", "delta"])
}

/// Whether an event says that something failed.
fn is_error(value: &Value, words: &[String], state: &str) -> bool {
    let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let level = some(value, "level").or_else(|| some(value, "severity")).unwrap_or_default().to_ascii_lowercase();
    let warns = matches!(level.as_str(), "warning" | "warn" | "info");
    (has(&["error", "failed", "failure", "fatal", "exception"]) || matches!(state, "error" | "failed" | "fatal"))
        && !warns
}

/// Whether an event holds the model's words.
fn is_words(words: &[String], role: &str) -> bool {
    let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    match role {
        "assistant" | "agent" | "model" | "ai" => true,
        "" => has(&["assistant", "text", "message", "response", "answer", "content", "delta", "output", "say"]),
        _ => false,
    }
}

/// The text of an event.
fn said(data: &Value) -> String {
    let of = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(_) => Some(flat(value)).filter(|text| !text.is_empty()),
        Value::Object(_) => {
            some(value, "text").or_else(|| some(value, "content")).or_else(|| Some(flat(&value["content"])))
        }
        _ => None,
    };
    let keys = ["content", "text", "delta", "message", "output", "response", "data", "answer"];
    keys.iter().find_map(|key| of(&data[key]).filter(|text| !text.is_empty())).unwrap_or_default()
}

/// Whether a JSON line is an event of some agent's: a message of JSON-RPC, or a kind of an agent's events. What a logger
/// writes has a level and a message instead.
pub fn is_event(value: &Value) -> bool {
    const OF_AGENTS: [&str; 32] = [
        "assistant",
        "user",
        "agent",
        "tool",
        "session",
        "turn",
        "message",
        "thinking",
        "reasoning",
        "prompt",
        "result",
        "permission",
        "approval",
        "model",
        "completion",
        "response",
        "text",
        "delta",
        "init",
        "error",
        "function",
        "call",
        "task",
        "chat",
        "conversation",
        "thread",
        "run",
        "toolcall",
        "elicitation",
        "question",
        "thought",
        "system",
    ];
    if !value.is_object() {
        return false;
    }
    if rpc::is_message(value) {
        return true;
    }
    let kind = kind_of(value);
    let known = words_of(&kind).iter().any(|word| OF_AGENTS.contains(&word.as_str())) && kind.len() <= 64;
    let logger = ["level", "severity", "lvl", "levelname"].iter().any(|key| !value[key].is_null())
        && ["msg", "message", "event"].iter().any(|key| value[key].is_string());
    if known && !logger {
        return true;
    }
    let role = matches!(text(value, "role"), "assistant" | "user" | "tool" | "system");
    if role && !value["content"].is_null() {
        return true;
    }
    if !kind.is_empty() && calls::id_of(value, &kind).is_some() {
        return true;
    }
    if kind.is_empty() || logger {
        return ENVELOPES.iter().any(|key| rpc::is_message(&value[key]));
    }
    ENVELOPES.iter().any(|key| calls::id_of(&value[key], "").is_some() || rpc::is_message(&value[key]))
}

/// A small log of an agent's events.
pub const SAMPLE: &str = r#"{"type":"session.started","sessionId":"x1","when":"2026-11-20T12:00:00.000Z"}
{"type":"user.message","data":{"content":"go"},"when":"2026-11-20T12:00:00.100Z"}
{"type":"assistant.message","data":{"content":"I look first."},"when":"2026-11-20T12:00:02.000Z"}
{"type":"tool.started","data":{"toolCallId":"c1","toolName":"shell","arguments":{"command":"ls"}},"when":"2026-11-20T12:00:02.500Z"}
{"type":"tool.completed","data":{"toolCallId":"c1","success":true,"result":{"content":"a"}},"when":"2026-11-20T12:00:03.000Z"}
{"type":"tool.started","data":{"toolCallId":"c2","toolName":"shell","arguments":{"command":"npm run dev"}},"when":"2026-11-20T12:00:05.000Z"}
"#;
