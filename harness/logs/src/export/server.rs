//! The events that an opencode server publishes, made from the facts that it reports.
//!
//! Invariant: asks and calls, tasks and sessions are put together in the order in which they came.

use rehang_trace::{AskEnd, AskKind, Event, Fact, Trace, What, role::Role};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The events that a server publishes.
pub(super) struct Server {
    version: String,
    /// Requests to the model that failed for good, by the ordinal of the error in its session.
    final_errors: BTreeSet<(String, u32)>,
    errors: BTreeMap<String, u32>,
    commands: VecDeque<String>,
    responses: BTreeMap<String, u32>,
    parts: u32,
    tools: BTreeMap<String, (String, String, Value)>,
    /// The tool call of each ask.
    of_ask: BTreeMap<String, String>,
    questions: BTreeMap<String, Value>,
    /// The session that each task's call starts.
    children: BTreeMap<String, String>,
    kinds: BTreeMap<String, AskKind>,
}

impl Server {
    pub fn new(trace: &Trace) -> Server {
        let text = |event: &Event| match &event.what {
            What::Response { body, .. } => body["version"].as_str().map(str::to_owned),
            _ => None,
        };
        // without a client the version was never sent: it is that of the release's name
        // (fake-agents/src/opencode/release.rs)
        let by_name = || match argv(trace).first().map_or("", String::as_str) {
            name if name.contains("altimate") => "0.8.10".to_owned(),
            name if name.contains("pawwork") => "1.0.0".to_owned(),
            _ => "1.2.15".to_owned(),
        };
        let mut server = Server {
            version: trace.events.iter().find_map(text).unwrap_or_else(by_name),
            final_errors: BTreeSet::new(),
            errors: BTreeMap::new(),
            commands: VecDeque::new(),
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

    /// Which call asks what, and which task starts which session: in a trace either may come first.
    fn look_ahead(&mut self, trace: &Trace) {
        // by session, and whether it is about a question; the first of each is the next
        let mut asks: BTreeMap<(String, bool), VecDeque<(String, Value)>> = BTreeMap::new();
        let mut waiting: BTreeMap<(String, bool), VecDeque<String>> = BTreeMap::new();
        let mut tasks: BTreeMap<String, VecDeque<String>> = BTreeMap::new();
        let mut unclaimed: BTreeMap<String, VecDeque<String>> = BTreeMap::new();
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
                What::Spawn { argv, .. } if Role::of(&event.who).is_some_and(|role| role.depth() == 1) => {
                    let command = argv.iter().position(|arg| arg == "--").and_then(|at| argv.get(at + 1));
                    self.commands.extend(command.cloned());
                }
                What::Fact(Fact::Session { id, parent }) if !parent.is_empty() && event.who == "agent" => {
                    match tasks.get_mut(parent).and_then(VecDeque::pop_front) {
                        Some(call) => drop(self.children.insert(call, id.clone())),
                        None => unclaimed.entry(parent.clone()).or_default().push_back(id.clone()),
                    }
                }
                What::Fact(Fact::Asked { id, kind, session, questions, .. }) if event.who == "agent" => {
                    self.kinds.insert(id.clone(), *kind);
                    let input = json!({ "questions": questions });
                    let of = (session.clone(), *kind == AskKind::Question);
                    match waiting.get_mut(&of).and_then(VecDeque::pop_front) {
                        Some(call) => self.asks(id.clone(), call, input),
                        None => asks.entry(of).or_default().push_back((id.clone(), input)),
                    }
                }
                What::Fact(Fact::ToolBegan { call, tool, session }) if event.who == "agent" && tool == "task" => {
                    match unclaimed.get_mut(session).and_then(VecDeque::pop_front) {
                        Some(id) => drop(self.children.insert(call.clone(), id)),
                        None => tasks.entry(session.clone()).or_default().push_back(call.clone()),
                    }
                }
                What::Fact(Fact::ToolBegan { call, tool, session }) if event.who == "agent" => {
                    let of = (session.clone(), tool == "question");
                    match asks.get_mut(&of).and_then(VecDeque::pop_front) {
                        Some((id, input)) => self.asks(id, call.clone(), input),
                        None => waiting.entry(of).or_default().push_back(call.clone()),
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes that a call has opened an ask.
    fn asks(&mut self, id: String, call: String, input: Value) {
        self.questions.insert(call.clone(), input);
        self.of_ask.insert(id, call);
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

    /// The events of a fact that it reports.
    pub fn events(&mut self, fact: &Fact) -> Vec<Value> {
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
                if let Some(child) = self.children.get(call) {
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
                let command = self.commands.pop_front().unwrap_or_default();
                json!({ "command": command })
            }
            "task" => json!({"description": "a task"}),
            _ => json!({}),
        }
    }
}

/// What the agent was started with.
pub(super) fn argv(trace: &Trace) -> &[String] {
    let spawn = trace.events.iter().find_map(|event| match &event.what {
        What::Spawn { argv, .. } if event.who == "agent" => Some(argv.as_slice()),
        _ => None,
    });
    spawn.unwrap_or_default()
}
