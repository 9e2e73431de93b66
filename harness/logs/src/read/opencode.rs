//! opencode: events of `/event` and `/global/event` (SSE text or NDJSON), REST exchanges, `opencode export`, and the lines
//! of `opencode run --format json`.
//!
//! Invariant: a message part has one meaning, whether it came as an event, in an export or in a run's output.

use super::time::{self, instant};
use super::{Sink, json, on, questions, some, text};
use crate::Format;
use crate::limits;
use crate::lines::Piece;
use crate::note::{Asks, Calls, Fork, Form, Kind, Note, Reply};
use crate::story::Ask;
use rehang_wire::http::Target;
use rehang_wire::opencode::{Ask as Listed, ReplyRoute, Route, kind as event};
use serde_json::Value;
use std::collections::VecDeque;

/// The reader.
pub struct Opencode {
    format: Format,
    /// Lines of `data:` that belong to one event.
    data: Vec<u8>,
    /// The latest messages of users: their parts are not the model's words.
    users: VecDeque<String>,
    greeted: bool,
}

impl Opencode {
    /// A reader of one of its formats.
    pub fn new(format: Format) -> Opencode {
        Opencode { format, data: Vec::new(), users: VecDeque::new(), greeted: false }
    }

    /// Takes a line or an element.
    pub fn piece(&mut self, piece: &Piece<'_>, sink: &mut Sink<'_>) {
        match self.format {
            Format::OpencodeExport => json(piece.bytes, sink, |value, sink| match piece.key {
                "info" => self.info(&value, sink),
                _ => self.exported(&value, sink),
            }),
            _ => self.line(piece.bytes, sink),
        }
    }

    fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let mut bytes = bytes;
        if let Some(at) = memchr::memmem::find(bytes, b"data:").filter(|at| *at <= 48 && !bytes[..*at].contains(&b'{'))
        {
            // a logger may have put an instant before it
            sink.at = std::str::from_utf8(&bytes[..at]).ok().and_then(time::parse);
            bytes = &bytes[at + 5..];
            let whole = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
            if !whole || !self.data.is_empty() {
                if self.data.len() + bytes.len() > limits::RECORD_BYTES {
                    self.data.clear();
                    return sink.trouble("an event longer than 4 MiB", bytes);
                }
                self.data.extend_from_slice(bytes);
                let whole = serde_json::from_slice::<serde::de::IgnoredAny>(&self.data).is_ok();
                if whole {
                    let data = std::mem::take(&mut self.data);
                    json(&data, sink, |value, sink| self.event(&value, sink));
                }
                return;
            }
        } else if bytes.is_empty() {
            if !self.data.is_empty() {
                let data = std::mem::take(&mut self.data);
                sink.trouble("no JSON", &data);
            }
            return;
        } else if bytes.starts_with(b":")
            || bytes.starts_with(b"event:")
            || bytes.starts_with(b"id:")
            || bytes.starts_with(b"retry:")
        {
            sink.pass("SSE field");
            return sink.note(Note::Alive);
        }
        json(bytes, sink, |value, sink| self.event(&value, sink));
    }

    /// Takes an event, in whatever envelope.
    pub fn event(&mut self, value: &Value, sink: &mut Sink<'_>) {
        if let Some(event) = of_row(value) {
            return self.event(&event, sink);
        }
        sink.at = sink.at.or_else(|| time::of_event(value));
        if !value["properties"].is_object() && value["part"].is_null() {
            let inner = ["payload", "ev", "event", "data", "message"].iter().map(|key| &value[key]);
            if let Some(inner) =
                inner.into_iter().find(|inner| inner["type"].is_string() || inner["payload"].is_object())
            {
                return self.event(inner, sink);
            }
        }
        if self.format == Format::OpencodeRun || value["part"].is_object() && value["sessionID"].is_string() {
            return self.run_line(value, sink);
        }
        let kind = text(value, "type").to_owned();
        let p = &value["properties"];
        if !self.greeted {
            self.greeted = true;
            let form = if self.format == Format::OpencodeRows { Form::Transcript } else { Form::Server };
            sink.note(Note::Agent { kind: Kind::Opencode, release: None, form });
        }
        // without a clock of the log's own, the events' own
        let own = [
            &p["time"],
            &p["part"]["time"]["end"],
            &p["part"]["time"]["start"],
            &p["part"]["state"]["time"]["end"],
            &p["part"]["state"]["time"]["start"],
            &p["info"]["time"]["completed"],
            &p["info"]["time"]["updated"],
            &p["info"]["time"]["created"],
        ];
        sink.at = sink.at.or_else(|| own.into_iter().find_map(instant));
        let session = text(p, "sessionID").to_owned();
        match kind.as_str() {
            "session.created" | "session.updated" => self.session(&p["info"], kind == "session.created", sink),
            "session.status" => match text(&p["status"], "type") {
                "retry" => {
                    let said = text(&p["status"], "message");
                    sink.note(Note::Retry {
                        session,
                        status: said
                            .split(|c: char| !c.is_ascii_digit())
                            .find_map(|n| n.parse().ok().filter(|n| (400..600).contains(n))),
                    });
                }
                status => sink.note(Note::Busy { session, busy: status == "busy" }),
            },
            "session.idle" => sink.note(Note::Busy { session, busy: false }),
            "session.error" => {
                let name = text(&p["error"], "name");
                let why = some(&p["error"]["data"], "message").unwrap_or_else(|| name.to_owned());
                sink.note(Note::Failed { session, why, aborted: name == "MessageAbortedError" });
            }
            "session.compacted" => sink.note(Note::Compacted { session }),
            "message.updated" => self.message(&p["info"], sink),
            "message.part.updated" => self.part(&p["part"], p["delta"].as_str(), sink),
            "message.part.delta" => {
                let (message, part) = (text(p, "messageID").to_owned(), text(p, "partID").to_owned());
                match text(p, "field") {
                    "text" => {
                        let text = text(p, "delta").to_owned();
                        sink.note(Note::Text { session, message, part, text, delta: true });
                    }
                    _ => sink.note(Note::Thinks { session }),
                }
            }
            "question.asked" | "permission.asked" | "permission.updated" => Self::asked(&kind, p, sink),
            "question.replied" => {
                sink.note(Note::AskEnded { id: text(p, "requestID").to_owned(), how: answers(&p["answers"]) })
            }
            "question.rejected" => {
                sink.note(Note::AskEnded { id: text(p, "requestID").to_owned(), how: Reply::Dismissed })
            }
            "permission.replied" => {
                let id = some(p, "requestID").or_else(|| some(p, "permissionID")).unwrap_or_default();
                let how = some(p, "reply").or_else(|| some(p, "response")).unwrap_or_default();
                sink.note(Note::AskEnded { id, how: reply(&how) });
            }
            "server.heartbeat" => {
                sink.note(Note::Alive);
                return sink.pass(&kind);
            }
            "server.connected" => sink.note(Note::Connected),
            "session.blocker.upserted" | "session.blocker.removed" => sink.note(Note::Fork(Fork::Pawwork)),
            "" => return sink.trouble("JSON, but no event", value.to_string().as_bytes()),
            _ => return sink.pass(&kind),
        }
        sink.take(&kind);
    }

    /// A request of a client's, and what came back.
    pub fn exchange(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
        status: Option<u64>,
        response: &Value,
        sink: &mut Sink<'_>,
    ) {
        let target = Target::parse(path);
        let path = target.path();
        let what = format!("{method} {}", path.get(2).or(path.first()).copied().unwrap_or_default());
        let route = Route::parse(method, &target);
        match route {
            Some(Route::MakeSession) => self.session(response, true, sink),
            Some(Route::Prompt { session: id, waits }) => {
                sink.note(Note::Session { id: id.to_owned(), parent: None, call: None, created: true });
                sink.note(Note::Post { answered: status.is_some_and(|s| s < 400), events: !waits });
                if status.is_some_and(|s| s >= 400) {
                    let why = format!("the prompt got status {}", status.unwrap_or_default());
                    sink.note(Note::Failed { session: id.to_owned(), why, aborted: false });
                }
            }
            // PawWork's: a stop that does not stop while something is asked
            Some(Route::Abort { soft: true, .. }) if *response == false => sink.note(Note::Fork(Fork::Pawwork)),
            Some(Route::Abort { session, .. }) => sink.note(Note::Stop { session: session.to_owned() }),
            Some(Route::Answer(id)) if body["answers"].is_array() && status.is_none_or(|s| s < 400) => {
                sink.note(Note::AskEnded { id: id.to_owned(), how: answers(&body["answers"]) });
            }
            Some(Route::Answer(id) | Route::Reject(id) | Route::Permit(id)) if status == Some(404) => {
                sink.note(Note::Unknown { id: id.to_owned() });
            }
            Some(Route::Asks(Listed::Blocker)) => sink.note(Note::Fork(Fork::Pawwork)),
            Some(Route::Reject(id)) => sink.note(Note::AskEnded { id: id.to_owned(), how: Reply::Dismissed }),
            Some(Route::Permit(id)) => {
                sink.note(Note::AskEnded { id: id.to_owned(), how: reply(text(body, ReplyRoute::Own.key())) });
            }
            Some(Route::PermitIn { id, .. }) => {
                sink.note(Note::AskEnded { id: id.to_owned(), how: reply(text(body, ReplyRoute::Session.key())) });
            }
            Some(Route::Status) => {
                sink.note(Note::Resyncs);
                let busy = |id: &String| response[id.as_str()].is_object();
                let idle: Vec<String> = sink.story.sessions.keys().filter(|id| !busy(id)).cloned().collect();
                for session in idle.into_iter().filter(|_| response.is_object()) {
                    sink.note(Note::Busy { session, busy: false });
                }
            }
            Some(Route::Asks(of @ (Listed::Question | Listed::Permission))) => {
                let questions = of == Listed::Question;
                let mut listed = Vec::new();
                for ask in response.as_array().into_iter().flatten().take(limits::LIST) {
                    let kind = if questions { event::QUESTION_ASKED } else { event::PERMISSION_ASKED };
                    listed.push(text(ask, "id"));
                    // what a list shows of a session that is not in this log belongs to another run
                    if sink.story.sessions.contains_key(text(ask, "sessionID")) {
                        Self::asked(kind, ask, sink);
                    }
                }
                let question = |asks: &Asks| matches!(asks, Asks::Questions(_));
                let missing = |ask: &&Ask| {
                    ask.end.is_none() && question(&ask.asks) == questions && !listed.contains(&ask.id.as_str())
                };
                let missing: Vec<String> = sink.story.asks.iter().filter(missing).map(|ask| ask.id.clone()).collect();
                for id in missing.into_iter().filter(|_| response.is_array() && target.query("directory").is_none()) {
                    sink.note(Note::Unknown { id });
                }
            }
            _ => return sink.pass(&what),
        }
        sink.take(&what);
    }

    fn session(&mut self, info: &Value, created: bool, sink: &mut Sink<'_>) {
        let Some(id) = some(info, "id") else { return };
        if let Some(release) = some(info, "version") {
            let stored = matches!(self.format, Format::OpencodeExport | Format::OpencodeRows);
            let form = if stored { Form::Transcript } else { Form::Server };
            sink.note(Note::Agent { kind: Kind::Opencode, release: Some(release), form });
        }
        sink.note(Note::Session { id, parent: some(info, "parentID"), call: None, created });
    }

    fn message(&mut self, info: &Value, sink: &mut Sink<'_>) {
        let (session, id) = (text(info, "sessionID").to_owned(), text(info, "id").to_owned());
        if text(info, "role") == "user" {
            if !self.users.contains(&id) {
                if self.users.len() >= limits::SESSIONS {
                    self.users.pop_front();
                }
                self.users.push_back(id);
                sink.note(Note::Prompt { session, by_client: false });
            }
            return;
        }
        let finish = some(info, "finish");
        let over = self.format == Format::OpencodeRows && is_over(info);
        if let Some(reason) = finish {
            sink.note(Note::Finish { session: session.clone(), message: id, reason });
        }
        if over {
            sink.note(Note::Busy { session: session.clone(), busy: false });
        }
        let error = &info["error"];
        if let Some(name) = some(error, "name") {
            let why = some(&error["data"], "message").unwrap_or_else(|| name.clone());
            sink.note(Note::Failed { session, why, aborted: name == "MessageAbortedError" });
        }
    }

    fn part(&mut self, part: &Value, delta: Option<&str>, sink: &mut Sink<'_>) {
        let (session, message) = (text(part, "sessionID").to_owned(), text(part, "messageID").to_owned());
        if self.users.contains(&message) {
            return;
        }
        match text(part, "type") {
            "text" => {
                let said = text(part, "text");
                // an empty part only announces a text
                if !said.is_empty() || delta.is_some() {
                    let part = text(part, "id").to_owned();
                    sink.note(Note::Text { session, message, part, text: said.to_owned(), delta: false });
                }
            }
            "reasoning" => sink.note(Note::Thinks { session }),
            "tool" => Self::tool(part, session, message, sink),
            "step-finish" => {
                sink.note(Note::Finish { session, message, reason: text(part, "reason").to_owned() });
            }
            "retry" => {
                let status = part["error"]["data"]["statusCode"].as_u64().and_then(|s| u16::try_from(s).ok());
                sink.note(Note::Retry { session, status });
            }
            "compaction" => sink.note(Note::Compacted { session }),
            _ => {}
        }
    }

    fn tool(part: &Value, session: String, message: String, sink: &mut Sink<'_>) {
        let call = some(part, "callID").or_else(|| some(part, "id")).unwrap_or_default();
        let (tool, state) = (text(part, "tool"), &part["state"]);
        let input = &state["input"];
        let does = match tool {
            "question" => Calls::Ask(questions(&input["questions"])),
            "bash" => Calls::Bash { command: text(input, "command").to_owned(), timeout_ms: input["timeout"].as_u64() },
            "task" => {
                let child = some(&state["metadata"], "sessionId").or_else(|| some(&state["metadata"], "sessionID"));
                if let Some(child) = &child {
                    let (parent, call) = (Some(session.clone()), Some(call.clone()));
                    sink.note(Note::Session { id: child.clone(), parent, call, created: false });
                }
                Calls::Task { description: text(input, "description").to_owned(), child }
            }
            other => Calls::Tool { name: other.to_owned(), on: on(input) },
        };
        sink.note(Note::Call { session, message, call: call.clone(), does });
        match text(state, "status") {
            "running" if !text(&state["metadata"], "output").is_empty() => sink.note(Note::Output { call }),
            "completed" => {
                let code = state["metadata"]["exit"].as_i64();
                let error = code.is_some_and(|code| code != 0);
                sink.note(Note::Told { call, error, text: text(state, "output").to_owned(), code });
            }
            "error" => {
                let said = text(state, "error");
                if said.contains("rejected permission") {
                    sink.note(Note::Denied { call: call.clone() });
                }
                sink.note(Note::Told { call, error: true, text: said.to_owned(), code: None });
            }
            _ => {}
        }
    }

    fn asked(kind: &str, p: &Value, sink: &mut Sink<'_>) {
        let asks = if kind == "question.asked" {
            Asks::Questions(questions(&p["questions"]))
        } else {
            let list = p["patterns"].as_array().or(p["pattern"].as_array());
            let patterns = list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect();
            let permission = some(p, "permission").or_else(|| some(p, "type")).unwrap_or_default();
            Asks::Permission { permission, patterns }
        };
        let call = some(&p["tool"], "callID").or_else(|| some(p, "callID"));
        sink.note(Note::Asked { id: text(p, "id").to_owned(), session: text(p, "sessionID").to_owned(), call, asks });
    }

    /// A line of `run --format json`.
    fn run_line(&mut self, value: &Value, sink: &mut Sink<'_>) {
        let kind = text(value, "type").to_owned();
        let session = text(value, "sessionID").to_owned();
        if !self.greeted {
            self.greeted = true;
            sink.note(Note::Agent { kind: Kind::Opencode, release: None, form: Form::Once });
            sink.note(Note::Session { id: session.clone(), parent: None, call: None, created: true });
            sink.note(Note::Prompt { session: session.clone(), by_client: true });
        }
        match kind.as_str() {
            "step_start" => sink.note(Note::Busy { session, busy: true }),
            "text" | "tool_use" | "step_finish" | "reasoning" => self.part(&value["part"], None, sink),
            "error" => {
                let why = some(&value["error"]["data"], "message")
                    .unwrap_or_else(|| text(&value["error"], "name").to_owned());
                sink.note(Note::Failed { session, why, aborted: false });
            }
            "done" => {}
            "" => return sink.trouble("JSON, but no event", value.to_string().as_bytes()),
            _ => return sink.pass(&kind),
        }
        sink.take(&kind);
    }

    fn info(&mut self, info: &Value, sink: &mut Sink<'_>) {
        sink.take("session");
        self.greeted = true;
        sink.at = instant(&info["time"]["created"]);
        sink.note(Note::Agent { kind: Kind::Opencode, release: some(info, "version"), form: Form::Transcript });
        sink.note(Note::Session {
            id: text(info, "id").to_owned(),
            parent: some(info, "parentID"),
            call: None,
            created: true,
        });
    }

    /// A message of an export, with its parts.
    fn exported(&mut self, value: &Value, sink: &mut Sink<'_>) {
        let info = &value["info"];
        if !info.is_object() {
            return sink.trouble("no message", value.to_string().as_bytes());
        }
        sink.take("message");
        sink.at = instant(&info["time"]["created"]);
        let (user, session) = (text(info, "role") == "user", text(info, "sessionID").to_owned());
        if user {
            self.message(info, sink);
        } else {
            sink.note(Note::Busy { session: session.clone(), busy: true });
        }
        for part in value["parts"].as_array().into_iter().flatten() {
            let began = [&part["time"]["start"], &part["state"]["time"]["start"]].into_iter().find_map(instant);
            let ended = [&part["state"]["time"]["end"], &part["time"]["end"]].into_iter().find_map(instant);
            sink.at = began.or(ended).or(sink.at);
            if let Some(ended) = ended.filter(|_| text(part, "type") == "tool") {
                // its begin and its end are two events
                let mut running = part.clone();
                if let Some(state) = running.get_mut("state").and_then(Value::as_object_mut) {
                    state.insert("status".to_owned(), Value::from("running"));
                    self.part(&running, None, sink);
                }
                sink.at = Some(ended);
            }
            self.part(part, None, sink);
            sink.take("part");
        }
        if user {
            return;
        }
        sink.at = instant(&info["time"]["completed"]).or(sink.at);
        self.message(info, sink);
        if is_over(info) {
            sink.note(Note::Busy { session, busy: false });
        }
    }
}

/// Whether a message of the model's is the turn's last.
fn is_over(info: &Value) -> bool {
    info["time"]["completed"].is_number() && !matches!(text(info, "finish"), "tool-calls" | "unknown")
}

/// A row of the table `event`, as the event that it is: `{id, aggregate_id, seq, type, data}`, where a version follows
/// the type and the data may be text.
fn of_row(value: &Value) -> Option<Value> {
    if !is_row(value) {
        return None;
    }
    let kind = text(value, "type");
    let kind = kind.rsplit_once('.').filter(|(_, n)| n.bytes().all(|b| b.is_ascii_digit())).map_or(kind, |(k, _)| k);
    let data = match &value["data"] {
        Value::String(data) if !super::too_deep(data.as_bytes()) => serde_json::from_str(data).unwrap_or_default(),
        data => data.clone(),
    };
    Some(serde_json::json!({"type": kind, "properties": data}))
}

/// Whether it is a row of the table `event`.
pub fn is_row(value: &Value) -> bool {
    let of = value["aggregate_id"].is_string() || value["aggregateID"].is_string();
    of && value["seq"].is_number() && value["type"].is_string() && !value["data"].is_null()
}

fn answers(list: &Value) -> Reply {
    let labels = |answer: &Value| match answer {
        Value::String(label) => vec![label.clone()],
        Value::Array(labels) => {
            labels.iter().filter_map(|l| l.as_str().map(str::to_owned)).take(limits::LIST).collect()
        }
        _ => Vec::new(),
    };
    let answers: Vec<Vec<String>> = list.as_array().into_iter().flatten().take(limits::LIST).map(labels).collect();
    if answers.iter().all(Vec::is_empty) { Reply::Skipped } else { Reply::Answers(answers) }
}

fn reply(word: &str) -> Reply {
    match word {
        "always" => Reply::Always,
        "reject" | "deny" => Reply::Denied,
        _ => Reply::Allowed,
    }
}

/// A small export of opencode.
pub const EXPORT: &str = r#"{
  "info": {"id": "ses_1", "version": "1.2.27", "title": "x", "time": {"created": 1795177600000, "updated": 1795177609000}},
  "messages": [
    {"info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1795177600000}}, "parts": [{"id": "p1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "go"}]},
    {"info": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1795177600100}}, "parts": [
      {"id": "p2", "sessionID": "ses_1", "messageID": "msg_2", "type": "text", "text": "I found two.", "time": {"start": 1795177603000, "end": 1795177604000}},
      {"id": "p3", "sessionID": "ses_1", "messageID": "msg_2", "type": "tool", "callID": "c1", "tool": "question", "state": {"status": "running", "input": {"questions": [{"question": "Which database?", "header": "DB", "options": [{"label": "sqlite", "description": ""}]}]}, "time": {"start": 1795177605000}}}
    ]}
  ]
}
"#;

/// A small output of `opencode run --format json`.
pub const RUN: &str = r#"{"type":"step_start","timestamp":1795177600000,"sessionID":"ses_1","part":{"id":"p1","sessionID":"ses_1","messageID":"m1","type":"step-start"}}
{"type":"tool_use","timestamp":1795177602000,"sessionID":"ses_1","part":{"id":"p2","sessionID":"ses_1","messageID":"m1","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a\n","metadata":{"exit":0},"time":{"start":1795177600500,"end":1795177602000}}}}
{"type":"step_finish","timestamp":1795177602100,"sessionID":"ses_1","part":{"id":"p3","sessionID":"ses_1","messageID":"m1","type":"step-finish","reason":"tool-calls"}}
{"type":"text","timestamp":1795177605000,"sessionID":"ses_1","part":{"id":"p4","sessionID":"ses_1","messageID":"m2","type":"text","text":"Done.","time":{"start":1795177604000,"end":1795177605000}}}
{"type":"step_finish","timestamp":1795177605100,"sessionID":"ses_1","part":{"id":"p5","sessionID":"ses_1","messageID":"m2","type":"step-finish","reason":"stop"}}
"#;

/// A small dump of opencode's table `event`.
pub const ROWS: &str = r#"[{"id":"evt_1","aggregate_id":"ses_1","seq":0,"type":"session.created.1","data":"{\"sessionID\":\"ses_1\",\"info\":{\"id\":\"ses_1\",\"version\":\"1.4.3\",\"time\":{\"created\":1795177600000}}}"},
{"id":"evt_2","aggregate_id":"ses_1","seq":1,"type":"message.updated.1","data":"{\"sessionID\":\"ses_1\",\"info\":{\"id\":\"msg_1\",\"sessionID\":\"ses_1\",\"role\":\"user\",\"time\":{\"created\":1795177600100}}}"},
{"id":"evt_3","aggregate_id":"ses_1","seq":2,"type":"message.updated.1","data":"{\"sessionID\":\"ses_1\",\"info\":{\"id\":\"msg_2\",\"sessionID\":\"ses_1\",\"role\":\"assistant\",\"time\":{\"created\":1795177600200}}}"},
{"id":"evt_4","aggregate_id":"ses_1","seq":3,"type":"message.part.updated.1","data":"{\"sessionID\":\"ses_1\",\"part\":{\"id\":\"prt_1\",\"sessionID\":\"ses_1\",\"messageID\":\"msg_2\",\"type\":\"tool\",\"callID\":\"call_1\",\"tool\":\"bash\",\"state\":{\"status\":\"running\",\"input\":{\"command\":\"tail -f x\"},\"time\":{\"start\":1795177603000}}},\"time\":1795177603000}"}]
"#;
