//! Tool calls: bash, question, task, and those that need a permission and start no process.
//!
//! Invariants: a part goes pending → running → completed or error and never back; a bash tool asks before it spawns, so
//! a tool that waits for a permission has no child (#14473); a running part has no `output` field, streamed output is
//! in `metadata.output`.

use super::asks::{Asked, asked_title};
use super::engine::Engine;
use super::places::Places;
use super::release::Dialect;
use super::state::{Body, Tool, ToolState};
use rehang_scenario::{
    Canon, ToolDoes,
    turns::{self, Bash, Question, Turn},
};
use rehang_strategy::{Act, InsideAct, InsideSeen, Seen};
use rehang_trace::Fact;
use rehang_wire::model::ToolCall;

/// What a tool that was cut short says (`session/processor.ts`).
pub(super) const ABORTED_TOOL: &str = "Tool execution aborted";

/// A tool call that has not ended.
#[derive(Debug, Clone)]
pub(super) struct ToolRun {
    pub(super) id: u32,
    pub(super) call: String,
    /// The ordinal of the call, over all sessions, from 1.
    pub(super) nth: u32,
    pub(super) run: u32,
    pub(super) session: usize,
    pub(super) message: usize,
    pub(super) part: usize,
    pub(super) kind: Kind,
    /// Whether the stream that called it broke and is asked for again: its result is not used.
    pub(super) orphan: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Question(Vec<Question>),
    Bash { bash: Bash, spawned: bool, output: String },
    Permit(turns::Permit),
    Task { child: Option<usize>, description: String },
    Other,
}

/// How a tool call ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It completed.
    Done { output: String, title: String, metadata: String },
    /// It failed; the model is told this.
    Failed { error: String },
    /// It was refused: the loop stops after this step.
    Refused { error: String },
}

/// How a bash tool's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BashEnd {
    /// With this code; `None` if a signal ended it.
    Exit(Option<u8>),
    /// Its time limit of this many milliseconds passed.
    TimedOut(u64),
    /// It could not be started.
    NotStarted,
}

impl ToolRun {
    /// The session of the subagent that it waits for.
    pub(super) fn child(&self) -> Option<usize> {
        match &self.kind {
            Kind::Task { child, .. } => *child,
            _ => None,
        }
    }

    pub(super) fn is_bash(&self) -> bool {
        matches!(self.kind, Kind::Bash { spawned: true, .. })
    }

    /// Whether the step of this run waits for it.
    pub(super) fn holds(&self, run: u32) -> bool {
        self.run == run && !self.orphan
    }

    /// Writes the state. Runs and sessions are written as these places; the part that shows it is marked in its
    /// message.
    pub(super) fn canon(&self, places: &Places, canon: &mut Canon) {
        let Self {
            id: _, // not compared: it only names the tool; what refers to it is written by its place
            call,
            nth,
            run,
            session,
            message: _, // not compared: the part is marked
            part: _,    // not compared: the part is marked
            kind,
            orphan,
        } = self;
        canon.flag(*orphan).num(places.run(*run)).num(places.session(*session)).num(places.faulty(*nth));
        places.call(canon, call);
        match kind {
            Kind::Question(questions) => canon.num(0).value(questions),
            Kind::Bash { bash, spawned, output } => canon.num(1).value(bash).flag(*spawned).text(output),
            Kind::Permit(permit) => canon.num(2).value(permit),
            Kind::Task { child, description } => {
                canon.num(3).num(child.map_or(0, |child| places.session(child))).text(description)
            }
            Kind::Other => canon.num(4),
        };
    }
}

/// The model's tool call for a turn. `id` is the call's.
pub fn call_of(turn: &Turn, id: String) -> Option<ToolCall> {
    use serde_json::json;
    let (name, input) = match turn {
        Turn::Ask(questions) => {
            let mut list = String::new();
            super::render::questions(&mut list, questions);
            let questions: serde_json::Value = serde_json::from_str(&list).unwrap_or_default();
            ("question", json!({ "questions": questions }))
        }
        Turn::Bash(bash) => {
            let mut input = json!({ "command": bash.command, "description": bash.command });
            if let Some(timeout) = bash.timeout {
                input["timeout"] = timeout.as_ms().into();
            }
            ("bash", input)
        }
        Turn::Permit(permit) => {
            (permit.tool.as_str(), json!({ "filePath": permit.patterns.first().map_or("", String::as_str) }))
        }
        Turn::Task(task) => {
            ("task", json!({ "description": task.description, "prompt": task.description, "subagent_type": "general" }))
        }
        _ => return None,
    };
    Some(ToolCall { id, name: name.to_owned(), input })
}

impl Engine {
    /// The model calls a tool; `turn` is what the plan says about it.
    pub(super) fn tool_call(&mut self, run: u32, call: ToolCall, turn: Option<(String, Turn)>) {
        let (path, turn) = turn.unzip();
        let Some(at) = self.run_at(run) else { return };
        let (session, message) = (self.runs[at].session, self.runs[at].reply);
        self.next.call += 1;
        self.next.tool += 1;
        let (id, nth) = (self.next.tool, self.next.call);
        let kind = match (call.name.as_str(), turn) {
            ("question", Some(Turn::Ask(questions))) => Kind::Question(questions),
            ("question", _) => Kind::Question(questions_of(&call)),
            ("bash", Some(Turn::Bash(bash))) => Kind::Bash { bash, spawned: false, output: String::new() },
            ("task", Some(Turn::Task(task))) => {
                self.new_tool_part(session, message, &call);
                let description = task.description.clone();
                let kind = Kind::Task { child: None, description };
                self.push_tool(id, nth, run, session, message, &call, kind);
                self.start_task(id, &call, task, path.unwrap_or_default());
                return;
            }
            (_, Some(Turn::Permit(permit))) => Kind::Permit(permit),
            _ => Kind::Other,
        };
        let unavailable = match &kind {
            Kind::Question(_) => !self.question_available(session),
            Kind::Other => true,
            _ => false,
        };
        if unavailable {
            self.invalid(id, nth, run, session, message, call);
            return;
        }
        self.new_tool_part(session, message, &call);
        self.push_tool(id, nth, run, session, message, &call, kind.clone());
        match kind {
            Kind::Question(questions) => self.start_question(id, &call, questions),
            Kind::Bash { bash, .. } => self.start_bash(id, bash),
            Kind::Permit(permit) => {
                let always = vec!["*".to_owned()];
                self.ask_permission(id, &permit.permission, permit.patterns, always, String::new());
            }
            Kind::Task { .. } | Kind::Other => {}
        }
    }

    fn new_tool_part(&mut self, session: usize, message: usize, call: &ToolCall) -> usize {
        let tool = Tool {
            call: call.id.clone(),
            name: call.name.clone(),
            input: call.input.to_string(),
            state: ToolState::Pending,
            start_ms: self.now_ms(),
            title: String::new(),
            metadata: String::new(),
        };
        let part = self.new_part(session, message, Body::Tool(tool));
        self.part_event(session, message, part);
        part
    }

    #[expect(clippy::too_many_arguments, reason = "one place, and each is needed")]
    fn push_tool(&mut self, id: u32, nth: u32, run: u32, session: usize, message: usize, call: &ToolCall, kind: Kind) {
        let part = self.sessions[session].messages[message].parts.len() - 1;
        self.tools.push(ToolRun { id, call: call.id.clone(), nth, run, session, message, part, kind, orphan: false });
    }

    pub(super) fn tool(&self, id: u32) -> Option<&ToolRun> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    pub(super) fn shown(&mut self, id: u32) -> Option<(usize, usize, usize, &mut Tool)> {
        let tool = self.tools.iter().find(|tool| tool.id == id)?;
        let (session, message, part) = (tool.session, tool.message, tool.part);
        match &mut self.sessions[session].messages[message].parts[part].body {
            Body::Tool(shown) => Some((session, message, part, shown)),
            _ => None,
        }
    }

    /// Updates the part: the tool runs.
    pub(super) fn show_running(&mut self, id: u32) {
        let now_ms = self.now_ms();
        let Some((session, message, part, shown)) = self.shown(id) else { return };
        if shown.state == ToolState::Pending {
            shown.state = ToolState::Running;
            shown.start_ms = now_ms;
            let fact = Fact::ToolBegan { call: shown.call.clone(), tool: shown.name.clone(), session: String::new() };
            self.part_event(session, message, part);
            if let Fact::ToolBegan { call, tool, .. } = fact {
                self.fact(Fact::ToolBegan { call, tool, session: self.sessions[session].id.clone() });
            }
        }
    }

    /// Updates the part: the tool runs and can be answered from outside.
    pub(super) fn show_external(&mut self, id: u32) {
        if let Some((.., shown)) = self.shown(id) {
            shown.metadata = "\"externalResultReady\":true".to_owned();
        }
        self.show_running(id);
    }

    pub(super) fn show_metadata(&mut self, id: u32, title: &str, metadata: String) {
        let Some((session, message, part, shown)) = self.shown(id) else { return };
        title.clone_into(&mut shown.title);
        shown.metadata = metadata;
        self.part_event(session, message, part);
    }

    /// A tool call has ended.
    pub(super) fn tool_over(&mut self, id: u32, outcome: Outcome) {
        let Some(tool) = self.tool(id) else { return };
        let (nth, run, session, message, part) = (tool.nth, tool.run, tool.session, tool.message, tool.part);
        let call = tool.call.clone();
        let fault = self.tool_faults.iter().find(|(of, _)| *of == nth).map(|(_, does)| *does);
        if fault == Some(ToolDoes::NeverFlips) {
            return;
        }
        if tool.orphan {
            let text = ABORTED_TOOL.to_owned();
            self.tools.retain(|tool| tool.id != id);
            self.fact(Fact::ToolEnded { call, error: true, text });
            return;
        }
        let live = self.run_at(run).is_some_and(|at| self.runs[at].live);
        let now_ms = self.now_ms();
        let says_so = self.release.errors_say_so;
        let says_whole = self.release.dialect > Dialect::V1_0;
        let keeps_metadata = match self.release.dialect {
            Dialect::V1_0 => matches!(outcome, Outcome::Refused { .. }),
            Dialect::V1_2 => false,
            Dialect::V1_18 => tool.child().is_some(),
        };
        let (text, error, refused) = match &outcome {
            Outcome::Done { output, .. } => (output.clone(), false, false),
            Outcome::Failed { error } => (error.clone(), true, false),
            Outcome::Refused { error } => (error.clone(), true, true),
        };
        if !live {
            // The loop was aborted: what comes now is dropped with the stream.
            self.abort_tools(run);
            self.step_over(run);
            return;
        }
        if let Some((.., shown)) = self.shown(id) {
            shown.state = match outcome {
                Outcome::Done { output, title, metadata } => {
                    shown.title = title;
                    shown.metadata = metadata;
                    if says_whole {
                        if !shown.metadata.is_empty() {
                            shown.metadata.push(',');
                        }
                        shown.metadata.push_str("\"truncated\":false");
                    }
                    ToolState::Completed { output, end_ms: now_ms }
                }
                Outcome::Failed { error } | Outcome::Refused { error } => {
                    let error = if says_so { format!("Error: {error}") } else { error };
                    if !keeps_metadata {
                        shown.metadata.clear();
                    }
                    ToolState::Error { error, end_ms: now_ms }
                }
            };
        }
        self.tools.retain(|tool| tool.id != id);
        self.part_event(session, message, part);
        self.fact(Fact::ToolEnded { call, error, text: text.clone() });
        if let Some(at) = self.run_at(run) {
            let run = &mut self.runs[at];
            run.answer = text;
            run.blocked |= refused;
            run.lost |= fault == Some(ToolDoes::LosesResult);
            if let Some(ToolDoes::Lags(lag)) = fault {
                run.lag = Some(lag);
            }
        }
        self.moved(session, true);
        self.step_over(run);
    }

    /// A permission that was asked for is given.
    pub(super) fn granted(&mut self, id: u32) {
        let Some(tool) = self.tool(id) else { return };
        match tool.kind.clone() {
            Kind::Bash { bash, .. } => self.spawn(id, bash),
            Kind::Permit(permit) => {
                let title = permit.patterns.join(", ");
                self.tool_over(id, Outcome::Done { output: permit.output, title, metadata: String::new() });
            }
            _ => {}
        }
    }

    // --- question ---

    fn question_available(&self, session: usize) -> bool {
        let denied = self.release.run_withholds_question && self.sessions[session].denies.contains(&"question");
        self.release.question_tool && self.setup.question_registered && !denied
    }

    fn start_question(&mut self, id: u32, call: &ToolCall, questions: Vec<Question>) {
        if let Some(text) = self.withheld.clone() {
            self.show_running(id);
            self.tool_over(id, Outcome::Failed { error: text });
            return;
        }
        if !self.inside.is_empty() {
            let Some(tool) = self.tool(id) else { return };
            let session = &self.sessions[tool.session];
            let ask = rehang_strategy::Ask {
                id: call.id.clone(),
                session: session.id.clone(),
                child: session.parent.is_some(),
                questions: questions.clone(),
                permission: String::new(),
            };
            let acts = self.inside.see(self.now, &Seen::Inside(InsideSeen::ToolAsks(ask)));
            let mut ended = false;
            for acting in acts {
                if matches!(acting.act, Act::Inside(InsideAct::Withhold { .. }) | Act::Report(_))
                    && let Some(fact) = crate::agent_host::fact(&acting)
                {
                    self.fact(fact);
                }
                match acting.act {
                    Act::Report(_) => {}
                    Act::Inside(InsideAct::AnswerTool { answers, text }) if !ended => {
                        ended = true;
                        self.show_running(id);
                        self.fact(Fact::Preempted {
                            call: call.id.clone(),
                            by: acting.by,
                            questions: questions.clone(),
                            answers: answers.clone(),
                            text: text.clone(),
                            live: self.live,
                        });
                        let mut metadata = String::from("\"answers\":");
                        super::render::answers(&mut metadata, &answers);
                        let title = asked_title(questions.len());
                        self.tool_over(id, Outcome::Done { output: text, title, metadata });
                    }
                    Act::Inside(InsideAct::Withhold { text }) if !ended => {
                        ended = true;
                        self.show_running(id);
                        self.tool_over(id, Outcome::Failed { error: text });
                    }
                    act => self.now_or_later(rehang_strategy::Acting { by: acting.by, act }),
                }
            }
            if ended {
                return;
            }
        }
        self.ask_question(id, questions);
    }

    /// A tool that the model was not offered: once the call is whole, it becomes a call of the `invalid` tool.
    fn invalid(&mut self, id: u32, nth: u32, run: u32, session: usize, message: usize, call: ToolCall) {
        let offered = self.release.tools.iter().filter(|tool| **tool != "question" || self.question_available(session));
        let offered = offered.copied().collect::<Vec<_>>().join(", ");
        let error = format!("Model tried to call unavailable tool '{}'. Available tools: {offered}.", call.name);
        let input = serde_json::json!({ "tool": call.name, "error": error });
        let call = ToolCall { id: call.id, name: call.name, input };
        self.new_tool_part(session, message, &call);
        self.push_tool(id, nth, run, session, message, &call, Kind::Other);
        if let Some((.., shown)) = self.shown(id) {
            "invalid".clone_into(&mut shown.name);
        }
        self.show_running(id);
        let output = format!("The arguments provided to the tool are invalid: {error}");
        self.tool_over(id, Outcome::Done { output, title: "Invalid Tool".to_owned(), metadata: String::new() });
    }

    /// The questions that a pending ask holds.
    pub(super) fn questions_of_ask(&self, id: &str) -> Option<&[Question]> {
        self.asks.iter().find(|ask| ask.id == id).and_then(|ask| match &ask.what {
            Asked::Question(questions) => Some(questions.as_slice()),
            Asked::Permission { .. } => None,
        })
    }
}

fn questions_of(call: &ToolCall) -> Vec<Question> {
    let list = call.input.get("questions").cloned().unwrap_or_default();
    let questions: Result<Vec<Question>, _> = serde_json::from_value(list);
    questions.unwrap_or_default()
}
