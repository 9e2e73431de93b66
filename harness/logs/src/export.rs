//! A trace as a log of its agent.
//!
//! Invariant: only what such a log would hold is written: messages and their directions, the events that a server
//! publishes, what comes out of a terminal. What a process waits for is in no log.

use crate::read::cast;
use rehang_judge::trace::{AskEnd, AskKind, Event, Fact, Trace, What};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The form of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    /// `{t, dir, msg}` or `{t, kind, …}`: both directions, with instants.
    Recording,
    /// What Claude Code writes to its stdout.
    StreamJson,
    /// Events of an opencode server, one a line.
    Events,
    /// Events of an opencode server, as SSE text.
    Sse,
    /// asciicast v3.
    Asciicast,
    /// `timestamp<TAB>text`.
    Plain,
}

impl LogForm {
    /// All of them, by their words.
    pub const NAMES: [(&'static str, LogForm); 6] = [
        ("recording", LogForm::Recording),
        ("stream-json", LogForm::StreamJson),
        ("opencode-events", LogForm::Events),
        ("sse", LogForm::Sse),
        ("asciicast", LogForm::Asciicast),
        ("plain", LogForm::Plain),
    ];

    /// The form of this name.
    pub fn named(name: &str) -> Option<LogForm> {
        Self::NAMES.iter().find(|(word, _)| *word == name).map(|(_, form)| *form)
    }

    /// The form in which a trace's agent would be logged: a recording where messages are exchanged, else a terminal's.
    pub fn of(trace: &Trace) -> LogForm {
        let argv = argv(trace);
        let name = argv.first().map_or("", String::as_str);
        let server = ["opencode", "altimate", "pawwork"].iter().any(|agent| name.contains(agent));
        let interactive = server && !argv.iter().any(|arg| arg == "serve" || arg == "run");
        let claude = name.contains("claude") && argv.iter().any(|arg| arg == "-p");
        if claude || server && !interactive { LogForm::Recording } else { LogForm::Asciicast }
    }
}

/// Writes a trace as a log.
///
/// # Errors
/// Those of `out`.
pub fn export(trace: &Trace, form: LogForm, out: &mut impl Write) -> io::Result<()> {
    let claude = argv(trace).first().is_some_and(|name| name.contains("claude"));
    match form {
        LogForm::Recording if claude => {
            for line in messages(trace) {
                writeln!(out, "{line}")?;
            }
        }
        LogForm::Recording => {
            for line in exchanges(trace) {
                writeln!(out, "{line}")?;
            }
        }
        LogForm::StreamJson => {
            for line in messages(trace).iter().filter(|line| line["dir"] == "OUT") {
                match &line["msg"] {
                    Value::String(text) => writeln!(out, "{text}")?,
                    message => writeln!(out, "{message}")?,
                }
            }
        }
        LogForm::Events | LogForm::Sse => {
            for line in exchanges(trace).iter().filter(|line| line["kind"] == "sse:event") {
                match form {
                    LogForm::Sse => writeln!(out, "data: {}\n", line["ev"])?,
                    _ => writeln!(out, "{}", json!({"t": line["t"], "event": line["ev"]}))?,
                }
            }
        }
        LogForm::Asciicast => screen(trace, out)?,
        LogForm::Plain => plain(trace, out)?,
    }
    out.flush()
}

fn argv(trace: &Trace) -> &[String] {
    let spawn = trace.events.iter().find_map(|event| match &event.what {
        What::Spawn { argv, .. } if event.who == "agent" => Some(argv.as_slice()),
        _ => None,
    });
    spawn.unwrap_or_default()
}

fn seconds(event: &Event) -> f64 {
    event.t.0 as f64 / 1_000.0
}

/// Claude Code's messages, both ways.
fn messages(trace: &Trace) -> Vec<Value> {
    let mut lines = Vec::new();
    let mut held: BTreeMap<u8, String> = BTreeMap::new();
    let message = |text: &str| match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => value,
        _ => Value::from(text),
    };
    for event in &trace.events {
        let t = seconds(event);
        match &event.what {
            What::Out { fd, text } if event.who == "agent" => {
                let held = held.entry(*fd).or_default();
                held.push_str(text);
                while let Some(end) = held.find('\n') {
                    let line: String = held.drain(..=end).collect();
                    let line = line.trim_end();
                    if !line.is_empty() {
                        let dir = if *fd == 2 { "ERR" } else { "OUT" };
                        lines.push(json!({"t": t, "dir": dir, "msg": message(line)}));
                    }
                }
            }
            What::In { text } => {
                for line in text.lines().filter(|line| !line.trim().is_empty()) {
                    lines.push(json!({"t": t, "dir": "IN", "msg": message(line)}));
                }
            }
            What::InEnd => lines.push(json!({"t": t, "dir": "IN", "msg": "<close>"})),
            What::Exit(code) if event.who == "agent" => lines.push(json!({"t": t, "dir": "EXIT", "msg": code})),
            What::Killed(_) if event.who == "agent" => lines.push(json!({"t": t, "dir": "EXIT", "msg": 137})),
            _ => {}
        }
    }
    lines
}

/// What comes out of a terminal, or of a program's pipes.
fn screen(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let argv = argv(trace);
    let command = argv.first().cloned().unwrap_or_default();
    writeln!(out, "{}", json!({"version": 3, "term": {"cols": 80, "rows": 24}, "command": command}))?;
    let mut last = 0;
    for event in &trace.events {
        let (code, data) = match &event.what {
            What::Out { text, .. } if event.who == "agent" => ("o", text.clone()),
            What::In { text } => ("i", text.clone()),
            What::Exit(code) if event.who == "agent" => ("x", code.to_string()),
            What::Killed(_) if event.who == "agent" => ("x", "137".to_owned()),
            _ => continue,
        };
        let gap = (event.t.0 - last) as f64 / 1_000.0;
        last = event.t.0;
        writeln!(out, "{}", json!([gap, code, data]))?;
    }
    Ok(())
}

fn plain(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    for event in &trace.events {
        match &event.what {
            What::Out { text, .. } if event.who == "agent" => {
                for line in cast::plain(text).lines() {
                    writeln!(out, "{:.3}\t{line}", seconds(event))?;
                }
            }
            What::Exit(code) if event.who == "agent" => writeln!(out, "{:.3}\t[exit {code}]", seconds(event))?,
            _ => {}
        }
    }
    Ok(())
}

/// What a client of an opencode server sees: events and its own requests. Where no client listened, the events are those
/// that the server publishes, made of what it states of itself.
fn exchanges(trace: &Trace) -> Vec<Value> {
    let listener = trace.events.iter().find_map(|event| match &event.what {
        What::Sse(_) if event.who == "client" => Some(event.who.as_str()),
        _ => None,
    });
    let mut lines = Vec::new();
    let mut open: BTreeMap<u32, (String, String, Value)> = BTreeMap::new();
    let mut server = Server::new(trace);
    let end = trace.events.last().map_or(0.0, seconds);
    for event in &trace.events {
        let t = seconds(event);
        match &event.what {
            What::Sse(ev) if Some(event.who.as_str()) == listener => {
                lines.push(json!({"t": t, "kind": "sse:event", "ev": ev.clone_value()}));
            }
            What::Request { id, method, path, body } => {
                open.insert(*id, (method.clone(), path.clone(), body.clone_value()));
            }
            What::Response { id, status, body } => {
                if let Some((method, path, sent)) = open.remove(id) {
                    lines.push(json!({"t": t, "kind": "rest", "method": method, "path": path, "body": sent,
                        "status": status, "response": body.clone_value()}));
                }
            }
            What::RequestFailed { id, why } => {
                if let Some((method, path, sent)) = open.remove(id) {
                    lines.push(json!({"t": t, "kind": "rest", "method": method, "path": path, "body": sent,
                        "status": null, "response": why}));
                }
            }
            What::Fact(fact) if event.who == "agent" && listener.is_none() => {
                for ev in server.events(fact) {
                    lines.push(json!({"t": t, "kind": "sse:event", "ev": ev}));
                }
            }
            _ => {}
        }
    }
    for (method, path, body) in
        open.into_values().filter(|(method, path, _)| method == "POST" && !path.ends_with("prompt_async"))
    {
        lines.push(json!({"t": end, "kind": "rest", "method": method, "path": path, "body": body, "status": null,
            "response": "no response"}));
    }
    lines
}

/// The events that a server publishes.
struct Server {
    version: String,
    /// Requests to the model that failed for good: the how-manieth error of a session.
    final_errors: BTreeSet<(String, u32)>,
    errors: BTreeMap<String, u32>,
    commands: Vec<String>,
    responses: BTreeMap<String, u32>,
    parts: u32,
    tools: BTreeMap<String, (String, String, Value)>,
    /// The tool call of each ask.
    of_ask: BTreeMap<String, String>,
    questions: BTreeMap<String, Value>,
    children: BTreeMap<String, Vec<String>>,
    kinds: BTreeMap<String, AskKind>,
}

impl Server {
    fn new(trace: &Trace) -> Server {
        let text = |event: &Event| match &event.what {
            What::Response { body, .. } => body["version"].as_str().map(str::to_owned),
            _ => None,
        };
        // without a client nobody was told its version: that of its name (fake-agents/src/opencode/release.rs)
        let by_name = || match argv(trace).first().map_or("", String::as_str) {
            name if name.contains("altimate") => "0.8.10".to_owned(),
            name if name.contains("pawwork") => "1.0.0".to_owned(),
            _ => "1.2.15".to_owned(),
        };
        let mut server = Server {
            version: trace.events.iter().find_map(text).unwrap_or_else(by_name),
            final_errors: BTreeSet::new(),
            errors: BTreeMap::new(),
            commands: Vec::new(),
            responses: BTreeMap::new(),
            parts: 0,
            tools: BTreeMap::new(),
            of_ask: BTreeMap::new(),
            questions: BTreeMap::new(),
            children: BTreeMap::new(),
            kinds: BTreeMap::new(),
        };
        server.look_ahead(trace);
        server
    }

    /// Which call asks what, and which task starts which session: in a trace one may stand before the other.
    fn look_ahead(&mut self, trace: &Trace) {
        let mut asks: BTreeMap<String, Vec<(String, AskKind, Value)>> = BTreeMap::new();
        let mut waiting: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut tasks: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut errors: BTreeMap<String, u32> = BTreeMap::new();
        let mut failing: BTreeSet<String> = BTreeSet::new();
        for event in &trace.events {
            match &event.what {
                What::Fact(Fact::ModelDone { session, finish }) if finish == "error" && event.who == "agent" => {
                    *errors.entry(session.clone()).or_default() += 1;
                    failing.insert(session.clone());
                }
                What::Fact(Fact::ModelAsked { session, .. }) if event.who == "agent" => {
                    failing.remove(session);
                }
                What::Fact(Fact::Busy { session, busy: false }) if event.who == "agent" && failing.remove(session) => {
                    let nth = errors.get(session).copied().unwrap_or_default();
                    self.final_errors.insert((session.clone(), nth));
                }
                What::Spawn { argv, .. } if event.who.starts_with("agent.") && event.who.matches('.').count() == 1 => {
                    let command = argv.iter().position(|arg| arg == "--").and_then(|at| argv.get(at + 1));
                    self.commands.extend(command.cloned());
                }
                What::Fact(Fact::Session { id, parent }) if !parent.is_empty() && event.who == "agent" => {
                    if let Some(call) =
                        tasks.get_mut(parent).filter(|calls| !calls.is_empty()).map(|calls| calls.remove(0))
                    {
                        self.children.insert(call, vec![id.clone()]);
                    } else {
                        self.children.entry(format!("of {parent}")).or_default().push(id.clone());
                    }
                }
                What::Fact(Fact::Asked { id, kind, session, questions, .. }) if event.who == "agent" => {
                    self.kinds.insert(id.clone(), *kind);
                    let input = json!({ "questions": questions });
                    let same = |call: &String| {
                        let tool = self.tools.get(call).map(|(tool, ..)| tool.as_str()).unwrap_or_default();
                        (tool == "question") == (*kind == AskKind::Question)
                    };
                    let list = waiting.entry(session.clone()).or_default();
                    match list.iter().position(same) {
                        Some(at) => {
                            let call = list.remove(at);
                            self.questions.insert(call.clone(), input);
                            self.of_ask.insert(id.clone(), call);
                        }
                        None => asks.entry(session.clone()).or_default().push((id.clone(), *kind, input)),
                    }
                }
                What::Fact(Fact::ToolBegan { call, tool, session }) if event.who == "agent" => {
                    self.tools.insert(call.clone(), (tool.clone(), session.clone(), Value::Null));
                    if tool == "task" {
                        match self.children.get_mut(&format!("of {session}")).filter(|ids| !ids.is_empty()) {
                            Some(ids) => {
                                let id = ids.remove(0);
                                self.children.insert(call.clone(), vec![id]);
                            }
                            None => tasks.entry(session.clone()).or_default().push(call.clone()),
                        }
                        continue;
                    }
                    let list = asks.entry(session.clone()).or_default();
                    let fits = |kind: AskKind| (tool == "question") == (kind == AskKind::Question);
                    match list.iter().position(|(_, kind, _)| fits(*kind)) {
                        Some(at) => {
                            let (id, _, input) = list.remove(at);
                            self.questions.insert(call.clone(), input);
                            self.of_ask.insert(id, call.clone());
                        }
                        None => waiting.entry(session.clone()).or_default().push(call.clone()),
                    }
                }
                _ => {}
            }
        }
        self.tools.clear();
    }

    fn message(&self, session: &str) -> String {
        format!("msg_{session}_{}", self.responses.get(session).copied().unwrap_or(0))
    }

    fn part(&mut self, session: &str, mut part: Value) -> Value {
        self.parts += 1;
        part["id"] = Value::from(format!("prt_{}", self.parts));
        part["sessionID"] = Value::from(session);
        part["messageID"] = Value::from(self.message(session));
        json!({"type": "message.part.updated", "properties": {"part": part}})
    }

    fn events(&mut self, fact: &Fact) -> Vec<Value> {
        let event = |kind: &str, properties: Value| json!({"type": kind, "properties": properties});
        match fact {
            Fact::Session { id, parent } => {
                let mut info = json!({"id": id, "version": self.version});
                if !parent.is_empty() {
                    info["parentID"] = Value::from(parent.as_str());
                }
                vec![event("session.created", json!({ "info": info }))]
            }
            Fact::Busy { session, busy } => {
                let word = if *busy { "busy" } else { "idle" };
                let mut all = vec![event("session.status", json!({"sessionID": session, "status": {"type": word}}))];
                if *busy {
                    let info = json!({"id": format!("msg_{session}_user"), "sessionID": session, "role": "user"});
                    all.insert(0, event("message.updated", json!({ "info": info })));
                } else {
                    all.push(event("session.idle", json!({"sessionID": session})));
                }
                all
            }
            Fact::ModelAsked { session, .. } => {
                *self.responses.entry(session.clone()).or_default() += 1;
                let info = json!({"id": self.message(session), "sessionID": session, "role": "assistant"});
                let start = self.part(session, json!({"type": "step-start"}));
                vec![event("message.updated", json!({ "info": info })), start]
            }
            Fact::ModelSaid { session, text } if !text.is_empty() => {
                vec![self.part(session, json!({"type": "text", "text": text}))]
            }
            Fact::ModelDone { session, finish } => match finish.as_str() {
                "error" | "aborted" => {
                    let name = if finish == "aborted" { "MessageAbortedError" } else { "APIError" };
                    let error = json!({"name": name, "data": {"message": finish}});
                    let nth = self.errors.entry(session.clone()).or_default();
                    *nth += u32::from(finish == "error");
                    if finish == "error" && !self.final_errors.contains(&(session.clone(), *nth)) {
                        return vec![event(
                            "session.status",
                            json!({"sessionID": session, "status": {"type": "retry", "message": "error"}}),
                        )];
                    }
                    vec![event("session.error", json!({"sessionID": session, "error": error}))]
                }
                finish => {
                    let info = json!({"id": self.message(session), "sessionID": session, "role": "assistant", "finish": finish});
                    let part = self.part(session, json!({"type": "step-finish", "reason": finish}));
                    vec![part, event("message.updated", json!({ "info": info }))]
                }
            },
            Fact::ToolBegan { call, tool, session } => {
                let input = self.input(call, tool);
                self.tools.insert(call.clone(), (tool.clone(), session.clone(), input.clone()));
                let mut state = json!({"status": "running", "input": input});
                if let Some(child) = self.children.get(call).and_then(|ids| ids.first()) {
                    state["metadata"] = json!({"sessionId": child});
                }
                vec![self.part(session, json!({"type": "tool", "callID": call, "tool": tool, "state": state}))]
            }
            Fact::ToolEnded { call, error, text } => {
                let Some((tool, session, input)) = self.tools.get(call).cloned() else { return Vec::new() };
                let state = match error {
                    true => json!({"status": "error", "input": input, "error": text}),
                    false => json!({"status": "completed", "input": input, "output": text}),
                };
                vec![self.part(&session, json!({"type": "tool", "callID": call, "tool": tool, "state": state}))]
            }
            Fact::Asked { id, kind, session, questions, permission } => {
                let call = self.of_ask.get(id).cloned().unwrap_or_default();
                let tool = json!({"messageID": self.message(session), "callID": call});
                vec![match kind {
                    AskKind::Question => event(
                        "question.asked",
                        json!({"id": id, "sessionID": session, "questions": questions, "tool": tool}),
                    ),
                    AskKind::Permission => {
                        let (name, on) = permission.split_once(" (").unwrap_or((permission, ""));
                        let patterns = [on.trim_end_matches(')')];
                        event(
                            "permission.asked",
                            json!({"id": id, "sessionID": session, "permission": name, "patterns": patterns, "tool": tool}),
                        )
                    }
                }]
            }
            Fact::AskEnded { id, end, answers, .. } => {
                let question = self.kinds.get(id) != Some(&AskKind::Permission);
                vec![match (end, question) {
                    (AskEnd::Dropped, _) => return Vec::new(),
                    (AskEnd::Replied | AskEnd::Skipped, true) => {
                        event("question.replied", json!({"requestID": id, "answers": answers}))
                    }
                    (AskEnd::Rejected, true) => event("question.rejected", json!({"requestID": id})),
                    (AskEnd::Rejected, false) => {
                        event("permission.replied", json!({"requestID": id, "reply": "reject"}))
                    }
                    (_, false) => event("permission.replied", json!({"requestID": id, "reply": "once"})),
                }]
            }
            _ => Vec::new(),
        }
    }

    fn input(&mut self, call: &str, tool: &str) -> Value {
        match tool {
            "question" => self.questions.get(call).cloned().unwrap_or_else(|| json!({})),
            "bash" => {
                let command = if self.commands.is_empty() { String::new() } else { self.commands.remove(0) };
                json!({ "command": command })
            }
            "task" => json!({"description": "a task"}),
            _ => json!({}),
        }
    }
}
