//! Tool calls: which run, which do not exist, which a person is asked about, and what the model is told of each.
//!
//! Invariants: a call ends once, by [`Engine::finish`]; a subagent runs alone; a call that a fault keeps never ends.

use super::engine::{Effect, Engine, Talk};
use super::release::Release;
use rehang_scenario::turns::{Choice, Question, Turn, responses};
use rehang_scenario::{ToolDoes, canon};
use rehang_trace::{AskEnd, AskKind, Cause, Fact};
use rehang_wire::model::{Message, ToolCall};
use serde_json::{Value, json};
use std::hash::{Hash, Hasher};

/// A call of a tool.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub id: String,
    pub name: String,
    pub input: Value,
    turn: Option<Turn>,
    /// The index of its part in the response.
    part: usize,
    /// Which conversation it belongs to, from the root.
    pub depth: usize,
    /// Its number over all calls that began, from 1.
    nth: u32,
    state: State,
    /// What the model is told.
    pub told: String,
    /// What a person is shown.
    pub shown: String,
    pub error: Option<Failure>,
    lost: bool,
}

impl Hash for Call {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Call { id, name, input, turn, part, depth, nth, state, told, shown, error, lost } = self;
        (id, name, turn, part, depth, nth, state, told, shown, error, lost).hash(hasher);
        canon::json(input, hasher);
    }
}

/// Why a call failed: the type and the message of its event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Failure {
    pub kind: &'static str,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Waiting,
    Asking(AskKind),
    Running,
    /// The tool has ended, but its state stays `running`.
    Stuck,
    Done,
}

const SHELL: &str = "run_shell_command";
const ASK: &str = "ask_user";
const TASK: &str = "invoke_agent";

/// The tool call that a turn is in Gemini CLI's dialect; `None` if it calls no tool.
pub(super) fn tool_call(turn: &Turn, id: &str, release: &Release) -> Option<ToolCall> {
    let (name, input) = match turn {
        Turn::Bash(bash) => (SHELL.to_owned(), json!({"command": bash.command})),
        Turn::Ask(questions) => {
            (ASK.to_owned(), json!({"questions": questions.iter().map(question).collect::<Vec<_>>()}))
        }
        Turn::Task(task) => (TASK.to_owned(), json!({"agent_name": "generalist", "prompt": task.description})),
        Turn::Permit(permit) => {
            let at = permit.patterns.first().map_or("", String::as_str);
            match permit.tool.as_str() {
                "edit" => ("replace".to_owned(), json!({"file_path": at, "old_string": "", "new_string": ""})),
                "write" => ("write_file".to_owned(), json!({"file_path": at, "content": ""})),
                "webfetch" => ("web_fetch".to_owned(), json!({"prompt": at})),
                other => (other.to_owned(), json!({"patterns": permit.patterns})),
            }
        }
        Turn::Say(_) | Turn::Think(_) | Turn::Compact(_) | Turn::Together(_) | Turn::Finish(_) => return None,
    };
    let prefix = format!("{name}__");
    let id = if release.prefixes_ids && !id.starts_with(&prefix) { prefix + id } else { id.to_owned() };
    Some(ToolCall { id, name, input })
}

fn question(question: &Question) -> Value {
    let option = |choice: &Choice| json!({"label": choice.label, "description": choice.description});
    let options: Vec<Value> = question.options.iter().map(option).collect();
    json!({"question": question.question, "header": question.header, "type": "choice", "options": options,
        "multiSelect": question.multiple})
}

impl Call {
    /// What it waits for, in one word.
    pub fn waits_on(&self) -> Option<&'static str> {
        match self.state {
            State::Asking(AskKind::Question) => Some("question"),
            State::Asking(AskKind::Permission) => Some("permission"),
            State::Running | State::Stuck if self.name == SHELL => Some("bash"),
            State::Stuck => Some("tool"),
            State::Waiting | State::Running | State::Done => None,
        }
    }
}

impl Engine {
    /// The tools that are offered.
    pub(super) fn tools(&self) -> Vec<&'static str> {
        let mut tools = vec!["list_directory", "read_file", "glob", "google_web_search"];
        if self.session || self.is_yolo() {
            tools.push(SHELL);
        }
        if self.session && self.config.release.has_questions {
            tools.push(ASK);
        }
        if self.config.release.has_subagents {
            tools.push(TASK);
        }
        tools
    }

    pub(super) fn begin_calls(&mut self, calls: Vec<ToolCall>) {
        for (k, ToolCall { id, name, input }) in calls.into_iter().enumerate() {
            let (part, turn) = self.scripted(k).map_or((0, None), |(part, turn)| (part, Some(turn)));
            self.calls.push(Call {
                id,
                name,
                input,
                turn,
                part,
                depth: self.talks.len() - 1,
                nth: 0,
                state: State::Waiting,
                told: String::new(),
                shown: String::new(),
                error: None,
                lost: false,
            });
        }
        self.step_calls();
    }

    /// Begins the calls that can begin, and goes on when all have ended.
    pub(super) fn step_calls(&mut self) {
        loop {
            let depth = self.talks.len() - 1;
            let mine = || self.calls.iter().filter(|call| call.depth == depth);
            let active = mine().any(|call| !matches!(call.state, State::Waiting | State::Done));
            let Some(next) = mine().find(|call| call.state == State::Waiting) else {
                if active || mine().next().is_none() {
                    return;
                }
                return if mine().any(|call| call.lost) { self.lose() } else { self.tools_over() };
            };
            let alone = |call: &Call| call.name == TASK || !self.config.release.together;
            if active && (alone(next) || mine().any(|call| call.name == TASK && call.state != State::Done)) {
                return;
            }
            let id = next.id.clone();
            if !self.start(&id) {
                return;
            }
        }
    }

    /// Starts a call; returns whether its conversation is still the one that runs.
    fn start(&mut self, id: &str) -> bool {
        self.counts.tools += 1;
        let nth = self.counts.tools;
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else { return true };
        (call.nth, call.state) = (nth, State::Running);
        let (name, turn, part) = (call.name.clone(), call.turn.clone(), call.part);
        let session = self.talk().session.clone();
        let tool = match name.as_str() {
            SHELL => "bash",
            ASK => "question",
            TASK => "task",
            other => other,
        };
        self.note(Fact::ToolBegan { call: id.to_owned(), tool: tool.to_owned(), session });
        match turn {
            Some(Turn::Bash(bash)) if bash.asks.is_none() || self.permits(SHELL) => {
                self.effects.push(Effect::Shell { call: id.to_owned(), bash: Box::new(bash) });
            }
            Some(Turn::Bash(bash)) => self.permission(id, &name, &bash.command),
            Some(Turn::Permit(permit)) if self.permits(&name) => {
                self.finish(id, permit.output.clone(), permit.output, None);
            }
            Some(Turn::Permit(permit)) => {
                self.permission(id, &name, permit.patterns.first().map_or("", String::as_str));
            }
            Some(Turn::Ask(questions)) if self.session && self.config.release.has_questions => {
                self.ask(id, AskKind::Question, questions, String::new());
            }
            Some(Turn::Task(task)) if self.config.release.has_subagents => {
                let path = format!("{}{}.{part}/", self.talk().path, self.talk().nth + 1);
                self.counts.sessions += 1;
                let session = format!("ses_{}", self.counts.sessions + 1);
                self.note(Fact::Session { id: session.clone(), parent: self.talk().session.clone() });
                self.note(Fact::Busy { session: session.clone(), busy: true });
                self.talks.push(Talk {
                    session,
                    parent: Some(id.to_owned()),
                    path,
                    script: responses(&task.turns),
                    nth: 0,
                    answer: String::new(),
                    messages: vec![Message::text("user", &task.description)],
                });
                self.ask_model();
                return false;
            }
            _ => self.no_such_tool(id, &name),
        }
        true
    }

    /// Whether a tool that changes something runs without asking.
    fn permits(&self, tool: &str) -> bool {
        use super::args::Approval;
        let edits = matches!(tool, "replace" | "write_file");
        let allowed = self.config.args.allowed.iter().any(|allowed| allowed == tool);
        self.is_yolo() || allowed || (edits && self.config.args.approval == Approval::AutoEdit)
    }

    /// Headless, a tool that would ask is not registered; a subagent's asks all the same, and nobody hears it.
    fn permission(&mut self, id: &str, name: &str, detail: &str) {
        match self.session || self.talk().parent.is_some() {
            true => self.ask(id, AskKind::Permission, Vec::new(), format!("{name} {detail}")),
            false => self.no_such_tool(id, name),
        }
    }

    fn ask(&mut self, id: &str, kind: AskKind, questions: Vec<Question>, permission: String) {
        self.set_state(id, State::Asking(kind));
        let session = self.talk().session.clone();
        self.note(Fact::Asked {
            id: ask_id(id),
            kind,
            session,
            questions: questions.clone(),
            permission: permission.clone(),
        });
        if self.session {
            self.effects.push(Effect::Show { id: id.to_owned(), questions, permission });
        }
    }

    /// A person at the terminal answers a question: an answer for each, or none.
    pub(super) fn answered(&mut self, id: &str, answers: Vec<Vec<String>>) {
        if !self.is_asking(id) {
            return;
        }
        let answered: Value =
            answers.iter().enumerate().map(|(n, answer)| (n.to_string(), json!(answer.join(", ")))).collect();
        self.ask_over(id, AskEnd::Replied, Cause::Answer, "user", answers);
        self.finish(id, json!({"answers": answered}).to_string(), "User answered".to_owned(), None);
        self.step_calls();
    }

    /// A person at the terminal permits a tool; `always`: for the session.
    pub(super) fn permitted(&mut self, id: &str, always: bool) {
        let Some(call) = self.calls.iter().find(|call| call.id == id && matches!(call.state, State::Asking(_))) else {
            return;
        };
        let (name, turn) = (call.name.clone(), call.turn.clone());
        if always {
            self.config.args.allowed.push(name);
        }
        self.ask_over(id, AskEnd::Replied, Cause::Answer, "user", Vec::new());
        self.set_state(id, State::Running);
        match turn {
            Some(Turn::Bash(bash)) => {
                self.effects.push(Effect::Shell { call: id.to_owned(), bash: Box::new(bash) });
            }
            Some(Turn::Permit(permit)) => {
                self.finish(id, permit.output.clone(), permit.output, None);
                self.step_calls();
            }
            _ => {}
        }
    }

    /// A person at the terminal turns an ask down: the model is told so.
    pub(super) fn turned_down(&mut self, id: &str) {
        if !self.is_asking(id) {
            return;
        }
        self.ask_over(id, AskEnd::Rejected, Cause::Dismiss, "user", Vec::new());
        let text = "[Operation Cancelled] Reason: User did not allow tool call";
        self.finish(id, text.to_owned(), text.to_owned(), None);
        self.step_calls();
    }

    /// The process is about to end: what is asked ends with it.
    pub(super) fn drop_asks(&mut self) {
        let asks = |call: &&Call| matches!(call.state, State::Asking(_));
        let ids: Vec<String> = self.calls.iter().filter(asks).map(|call| call.id.clone()).collect();
        for id in ids {
            self.ask_over(&id, AskEnd::Rejected, Cause::Shutdown, "shutdown", Vec::new());
            self.set_state(&id, State::Done);
        }
    }

    /// The end of a subagent is the end of its call.
    pub(super) fn subagent_ended(&mut self, call: &str, text: &str, failed: Option<&'static str>) {
        if let Some(talk) = self.talks.pop() {
            self.calls.retain(|call| call.depth < self.talks.len());
            self.note(Fact::Busy { session: talk.session, busy: false });
        }
        let error = failed.map(|kind| Failure { kind, message: text.to_owned() });
        self.finish(call, text.to_owned(), text.to_owned(), error);
        self.back_to_tools();
        self.step_calls();
    }

    /// A call ends, unless a fault keeps it.
    pub(super) fn finish(&mut self, id: &str, told: String, shown: String, error: Option<Failure>) {
        let Some(at) = self.calls.iter().position(|call| call.id == id) else { return };
        let nth = self.calls[at].nth;
        let fault = self.config.tool_faults.iter().find(|(of, _)| *of == nth).map(|(_, does)| *does);
        if fault == Some(ToolDoes::NeverFlips) {
            self.calls[at].state = State::Stuck;
            return;
        }
        let depth = self.calls[at].depth;
        if let Some(talk) = self.talks.get_mut(depth) {
            talk.answer.clone_from(&told);
        }
        self.note(Fact::ToolEnded { call: id.to_owned(), error: error.is_some(), text: told.clone() });
        let call = &mut self.calls[at];
        call.lost = fault == Some(ToolDoes::LosesResult);
        call.state = State::Done;
        (call.told, call.shown, call.error) = (told, shown, error);
    }

    /// The command line of a call.
    pub(super) fn command(&self, id: &str) -> &str {
        let call = self.calls.iter().find(|call| call.id == id);
        call.and_then(|call| call.input["command"].as_str()).unwrap_or_default()
    }

    fn no_such_tool(&mut self, id: &str, name: &str) {
        let release = self.config.release;
        let [before, after] = release.no_such_tool;
        let proposes = match name {
            SHELL => release.proposes[0],
            ASK => release.proposes[1],
            _ => release.proposes[2],
        };
        let text = format!("{before}{name}{after} Did you mean one of: {proposes}?");
        let error = Failure { kind: "tool_not_registered", message: text.clone() };
        self.finish(id, text.clone(), text, Some(error));
    }

    fn is_asking(&self, id: &str) -> bool {
        self.calls.iter().any(|call| call.id == id && matches!(call.state, State::Asking(_)))
    }

    fn ask_over(&mut self, id: &str, end: AskEnd, cause: Cause, by: &str, answers: Vec<Vec<String>>) {
        self.note(Fact::AskEnded { id: ask_id(id), end, cause, by: by.to_owned(), answers });
    }

    fn set_state(&mut self, id: &str, state: State) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.state = state;
        }
    }
}

/// The id of a call's ask.
fn ask_id(call: &str) -> String {
    format!("ask_{call}")
}
