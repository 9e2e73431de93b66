//! Tool calls: which run, which need a permission, and what the model is told of each.
//!
//! Invariants: a call ends once, by [`Engine::finish`]; calls run in order, questions and subagents beside each other;
//! a call that a fault keeps `running` ends only by an interrupt.

use super::args::Mode;
use super::asks::Ask;
use super::engine::{Answerer, Conv, Effect, Engine};
use super::hooks::Gate;
use super::own_server::OwnServer;
use super::release::Release;
use super::texts;
use super::texts::OF_SERVER;
use super::writer::Server;
use super::writer::{Decision, result_block};
use rehang_scenario::{
    ToolDoes, ToolServer, VTime, canon,
    turns::{Bash, Permit, Question, Turn},
};
use rehang_trace::Fact;
use rehang_wire::model::ToolCall;
use serde_json::{Value, json};
use std::hash::{Hash, Hasher};

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BashEnd {
    /// Its exit code; 128 plus the signal's number if a signal ended it.
    pub code: i32,
    /// Its output, cut if it is too long.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
    /// The time limit that passed, in milliseconds.
    pub timed_out_ms: Option<u64>,
    /// It runs on in the background since its limit, and has printed so many lines.
    pub moved: Option<usize>,
    /// Whether it was ended by an interrupt.
    pub interrupted: bool,
}

/// A tool call of a conversation.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub id: String,
    pub conv: Conv,
    pub name: String,
    pub input: Value,
    pub turn: Option<Turn>,
    /// The index of its part in the response.
    part: usize,
    /// Its number over all calls that began, from 1.
    nth: u32,
    pub state: State,
    pub decision: Option<Decision>,
    /// Whether its result is on record but never read by the loop.
    lost: bool,
    /// Its number among the tasks that were reported.
    pub task: Option<u32>,
}

impl Hash for Call {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Call { id, conv, name, input, turn, part, nth, state, decision, lost, task } = self;
        (id, conv, name, turn, part, nth, state, decision, lost, task).hash(hasher);
        canon::json(input, hasher);
    }
}

#[derive(Debug, Clone, PartialEq, Hash)]
pub(super) enum State {
    Waiting,
    Asking(Ask),
    /// It waits for its hooks, before it runs or after.
    Hooks,
    Running,
    Task(Conv),
    /// The tool has ended, but its state stays `running`.
    Stuck,
    Done,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub content: Value,
    pub text: String,
    pub is_error: Option<bool>,
    pub shown: Value,
    pub meta: Option<Decision>,
}

impl Hash for Outcome {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Outcome { content, text, is_error, shown, meta } = self;
        (text, is_error, meta).hash(hasher);
        canon::json(content, hasher);
        canon::json(shown, hasher);
    }
}

impl Outcome {
    /// The call did not run, or it failed.
    pub fn error(text: &str) -> Outcome {
        Outcome::worded(text, &format!("Error: {text}"))
    }

    /// The call succeeded: this is what the model is told, and this what the host is shown.
    pub fn ok(text: &str, is_error: Option<bool>, shown: Value) -> Outcome {
        Outcome { content: Value::from(text), text: text.to_owned(), is_error, shown, meta: None }
    }

    /// The call was cancelled while a person or the host was asked about it.
    pub fn taken_back(release: Release) -> Outcome {
        match release {
            Release::V2_1_329 => Outcome::worded(texts::TURNED_DOWN, texts::TAKEN_BACK).because(Decision::TakenBack),
            _ => Outcome::error(&texts::request_failed(texts::ABORTED)),
        }
    }

    /// The call was cancelled while a hook was to decide it.
    pub fn interrupted_hook(release: Release) -> Outcome {
        match release {
            Release::V2_1_329 => Outcome::worded(texts::TURNED_DOWN, texts::TAKEN_BACK).because(Decision::TakenBack),
            _ => Outcome::worded(texts::CANCELLED, "Error: undefined"),
        }
    }

    /// The call of a client's tool was cancelled while it ran.
    pub fn interrupted_call(release: Release) -> Outcome {
        match release {
            Release::V2_1_329 => {
                let told = format!("{}{}", texts::TURNED_DOWN, texts::STOPPED_RUNNING);
                Outcome::worded(&told, texts::TAKEN_BACK).because(Decision::TakenBack)
            }
            _ => Outcome::error(&texts::mcp_error(release, &json!(-32001), texts::aborted_call(release))),
        }
    }

    /// The same outcome, with the reason why the call ran or not.
    pub fn because(mut self, meta: Decision) -> Outcome {
        self.meta = Some(meta);
        self
    }

    /// The call did not run; the host is shown what the model is told.
    pub fn unprefixed(text: &str) -> Outcome {
        Outcome::worded(text, text)
    }

    /// What the host is shown.
    pub fn shown(&self) -> Value {
        self.shown.clone()
    }

    fn worded(text: &str, shown: &str) -> Outcome {
        let (content, text) = (Value::from(text), text.to_owned());
        Outcome { content, text, is_error: Some(true), shown: Value::from(shown), meta: None }
    }
}

impl Call {
    /// What it waits for, in one word.
    pub fn waits_on(&self) -> Option<&'static str> {
        match &self.state {
            State::Asking(ask) => Some(ask.word()),
            State::Running | State::Stuck if self.name == "Bash" => Some("bash"),
            State::Stuck => Some("tool"),
            State::Running if self.name.starts_with(OF_SERVER) => Some("tool"),
            _ => None,
        }
    }

    fn safe(&self) -> bool {
        matches!(self.name.as_str(), "AskUserQuestion" | "Task" | "Agent")
    }
}

/// The outcome of a command that was moved to the background at its limit: the model is also told that there is output.
fn moved(nth: u32, printed: usize) -> Outcome {
    let id = format!("b{nth:06}");
    let told = texts::moved(&id);
    let shown = json!({"stdout": "", "stderr": "", "interrupted": false, "isImage": false, "backgroundTaskId": id});
    let text = match printed {
        0 => told.clone(),
        lines => format!("{told}\n\n{}", texts::new_output(&id, lines)),
    };
    Outcome { text, ..Outcome::ok(&told, Some(false), shown) }
}

/// The same in 2.1.329, where it has what the command had printed by then.
fn moved_newest(nth: u32, end: &BashEnd) -> Outcome {
    let id = format!("b{nth:08}");
    let limit = end.timed_out_ms.unwrap_or_default();
    let text = lines(&[&end.stdout, &texts::moved_newest(&id, limit)]);
    let shown = json!({"stdout": end.stdout, "stderr": "", "interrupted": false, "isImage": false,
        "noOutputExpected": false, "backgroundTaskId": id, "timedOutAfterMs": limit});
    Outcome::ok(&text, Some(false), shown)
}

/// The tool call that a turn is in Claude Code's dialect; `None` if it calls no tool.
pub fn tool_call(release: Release, turn: &Turn, id: &str) -> Option<ToolCall> {
    let (name, input) = match turn {
        Turn::Ask(questions) => ("AskUserQuestion", json!({"questions": questions_input(questions)})),
        Turn::Bash(bash) => {
            let mut input = json!({"command": bash.command});
            if let Some(limit) = bash.timeout {
                input["timeout"] = Value::from(limit.as_ms());
            }
            ("Bash", input)
        }
        Turn::Task(task) => {
            let what = &task.description;
            let mut input = json!({"description": what, "prompt": what, "subagent_type": "general-purpose"});
            if release.tells_of_subagents() {
                input["run_in_background"] = Value::from(false);
            }
            (release.subagent_tool(), input)
        }
        Turn::Permit(permit) => {
            let at = permit.patterns.first().map_or("", String::as_str);
            let name = permit_tool(permit);
            let input = match name.as_str() {
                "Write" => json!({"file_path": at, "content": ""}),
                "Edit" => json!({"file_path": at, "old_string": "", "new_string": ""}),
                "WebFetch" => json!({"url": at, "prompt": ""}),
                name if name.starts_with(OF_SERVER) => json!({}),
                _ => json!({"patterns": permit.patterns}),
            };
            return Some(ToolCall { id: id.to_owned(), name, input });
        }
        Turn::Say(_) | Turn::Think(_) | Turn::Compact(_) | Turn::Together(_) | Turn::Finish(_) => return None,
    };
    Some(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
}

impl Engine {
    /// The tools that are offered.
    pub(super) fn tools(&self) -> Vec<String> {
        let own = self.config.release.tools(self.config.answerer != Answerer::Nobody);
        let mut tools: Vec<String> = own.into_iter().map(str::to_owned).collect();
        let disallowed = |tool: &str| self.config.args.disallowed.iter().any(|rule| rule == tool);
        if self.config.release == Release::V2_1_329 && disallowed("Bash") {
            // its own searches take the place of those that it makes by commands
            let at = tools.iter().position(|tool| tool.as_str() > "Grep" && tool != "Task").unwrap_or(tools.len());
            tools.splice(at..at, ["Glob", "Grep"].map(str::to_owned));
        }
        let own = self.own.iter().filter(|_| self.server == Server::Connected);
        tools.extend(own.flat_map(OwnServer::tools));
        tools.extend(self.config.tools.iter().filter(|_| self.server == Server::Connected).map(tool_of));
        let without_bash = self.config.release == Release::V2_1_329 && disallowed("Bash");
        tools.retain(|tool| !(disallowed(tool) || without_bash && tool == "Monitor"));
        tools
    }

    /// A command ended.
    pub fn bash_ended(&mut self, now: VTime, call: &str, end: &BashEnd) {
        let Some(at) = self.calls.iter().find(|c| c.id == call && c.state == State::Running) else { return };
        let (conv, decision) = (at.conv, at.decision);
        let stays = end.moved.is_some() && self.config.release.stays_for_commands();
        let mut outcome = match end.moved {
            Some(_) if stays => moved_newest(at.nth, end),
            Some(printed) => moved(at.nth, printed),
            None => self.bash_outcome(end),
        };
        outcome.meta = outcome.meta.or(decision);
        match stays {
            true => self.move_task(call),
            false => self.end_task(call, end),
        }
        if end.interrupted {
            // An interrupt also ends a call that a fault keeps.
            self.set_state(call, State::Stuck);
        }
        self.finish(now, call, outcome);
        self.step_calls(now, conv);
    }

    /// A command is ended since the process ends: its result is shown, and no model hears of it.
    pub fn bash_cut_off(&mut self, now: VTime, call: &str, end: &BashEnd) {
        let running = |c: &&Call| c.id == call && c.state == State::Running;
        let Some(decision) = self.calls.iter().find(running).map(|c| c.decision) else { return };
        self.end_task(call, &BashEnd { interrupted: true, ..end.clone() });
        let mut outcome = self.bash_outcome(end);
        outcome.meta = decision;
        self.finish(now, call, outcome);
    }

    pub(super) fn begin_calls(&mut self, now: VTime, conv: Conv, calls: Vec<ToolCall>) {
        for (k, ToolCall { id, name, input }) in calls.into_iter().enumerate() {
            let (part, turn) = self.scripted(conv, k).map_or((0, None), |(part, turn)| (part, Some(turn)));
            let state = State::Waiting;
            self.calls.push(Call {
                id,
                conv,
                name,
                input,
                turn,
                part,
                nth: 0,
                state,
                decision: None,
                lost: false,
                task: None,
            });
        }
        self.step_calls(now, conv);
    }

    /// Begins the calls that can begin, and goes on when all have ended.
    pub(super) fn step_calls(&mut self, now: VTime, conv: Conv) {
        loop {
            let mine = || self.calls.iter().filter(|c| c.conv == conv);
            let active = mine().any(|c| !matches!(c.state, State::Waiting | State::Done));
            let Some(next) = mine().find(|c| c.state == State::Waiting) else {
                if active || mine().next().is_none() {
                    return;
                }
                let lost = mine().any(|c| c.lost) && !self.is_aborting();
                self.calls.retain(|c| c.conv != conv);
                return if lost { self.lose(conv) } else { self.tools_over(now, conv) };
            };
            let beside = next.safe() && mine().all(|c| c.state == State::Waiting || c.state == State::Done || c.safe());
            if active && !beside {
                return;
            }
            let id = next.id.clone();
            self.start(now, &id);
        }
    }

    fn lose(&mut self, conv: Conv) {
        self.convs[conv.0].phase = super::engine::Phase::Lost;
    }

    fn start(&mut self, now: VTime, id: &str) {
        self.counted.tools += 1;
        let nth = self.counted.tools;
        let Some(call) = self.calls.iter_mut().find(|c| c.id == id) else { return };
        (call.nth, call.state) = (nth, State::Running);
        let (name, turn) = (call.name.clone(), call.turn.clone());
        if turn.is_none() || !self.offered(&name) {
            self.began(id);
            // nothing is said to have disabled a tool of a server that is not there
            let is_own = self.own.as_ref().is_some_and(|own| own.has(&name));
            let why = texts::no_such_tool(self.config.release, &name, is_own);
            let content = format!("<tool_use_error>Error: {why}</tool_use_error>");
            return self.finish(now, id, Outcome::worded(&content, &format!("Error: {why}")));
        }
        if !self.hooked(now, Gate::Pre(id.to_owned())) {
            self.began(id);
            self.enter(now, id);
        }
    }

    /// A call begins: after its hooks, which are no part of it.
    pub(super) fn began(&mut self, id: &str) {
        let Some(call) = self.calls.iter().find(|c| c.id == id) else { return };
        let (tool, session) = (fact_name(&call.name).to_owned(), self.convs[call.conv.0].session.clone());
        self.note(Fact::ToolBegan { call: id.to_owned(), tool, session });
    }

    /// A call begins that its hooks have let pass.
    pub(super) fn enter(&mut self, now: VTime, id: &str) {
        let release = self.config.release;
        let Some(call) = self.calls.iter().find(|c| c.id == id) else { return };
        let (conv, name, turn, part) = (call.conv, call.name.clone(), call.turn.clone(), call.part);
        match turn {
            Some(Turn::Ask(questions)) => self.start_question(now, id, &questions),
            Some(Turn::Bash(bash)) => {
                if let Some(why) = texts::lone_sleep(&bash.command).filter(|_| release == Release::V2_1_329) {
                    let content = format!("<tool_use_error>{why}</tool_use_error>");
                    return self.finish(now, id, Outcome::worded(&content, &format!("Error: {why}")));
                }
                match bash.asks {
                    None if self.mode == Mode::Bypass => self.run(now, id, Decision::ByMode),
                    None => self.run(now, id, Decision::ByConfig),
                    Some(_) => self.permission(now, id, "Bash", &bash.command),
                }
            }
            Some(Turn::Permit(permit)) => {
                let detail = permit.patterns.first().cloned().unwrap_or_default();
                self.permission(now, id, &name, &detail);
            }
            Some(Turn::Task(task)) => {
                let path = format!("{}{}.{part}/", self.convs[conv.0].path, self.convs[conv.0].nth + 1);
                self.counted.subagents.0 += 1;
                let child = self.begin_conv(Some((conv, id.to_owned())), path, &task.turns);
                self.set_state(id, State::Task(child));
                self.begin_subagent(id, child, &task.description);
                self.tell(now, child, &task.description);
            }
            _ => {}
        }
    }

    fn start_question(&mut self, now: VTime, id: &str, questions: &[Question]) {
        if self.asked_inside(now, id, questions) {
            return;
        }
        match self.config.answerer {
            _ if self.mode == Mode::DontAsk => self.deny_by_mode(now, id, "AskUserQuestion"),
            Answerer::Nobody => {
                self.denied(id);
                self.finish(now, id, Outcome::error(texts::ANSWER_QUESTIONS));
            }
            _ => self.ask(now, id),
        }
    }

    fn permission(&mut self, now: VTime, id: &str, tool: &str, detail: &str) {
        let rules = |rules: &[String]| rules.iter().any(|rule| covers(rule, tool, detail));
        let edits = matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit");
        if rules(&self.config.args.disallowed) {
            return self.deny(now, id, &texts::by_rule(tool, detail));
        }
        let by_mode = self.mode == Mode::Bypass || (self.mode == Mode::AcceptEdits && edits);
        if by_mode || rules(&self.config.args.allowed) {
            return self.run(now, id, if by_mode { Decision::ByMode } else { Decision::ByConfig });
        }
        match self.config.answerer {
            _ if self.mode == Mode::DontAsk => self.deny_by_mode(now, id, tool),
            Answerer::Nobody => {
                let why = match tool {
                    "Bash" => texts::bash_denied(self.config.release, detail),
                    _ => texts::tool_denied(tool, detail),
                };
                let asks_hooks = self.config.release == Release::V2_1_329;
                if !(asks_hooks && self.hooked(now, Gate::Ask(id.to_owned(), why.clone()))) {
                    self.deny(now, id, &why);
                }
            }
            _ => self.ask(now, id),
        }
    }

    /// A call that is allowed to run starts.
    pub(super) fn run(&mut self, now: VTime, id: &str, decision: Decision) {
        let Some(call) = self.calls.iter_mut().find(|c| c.id == id) else { return };
        call.state = State::Running;
        call.decision = Some(decision);
        let (name, input) = (call.name.clone(), call.input.clone());
        match call.turn.clone() {
            Some(Turn::Bash(bash)) => {
                if let Some(after) = self.config.release.task_after() {
                    self.tasks_due.push((id.to_owned(), now + after));
                }
                self.effects.push(Effect::Bash { call: id.to_owned(), bash: Box::new(bash) });
            }
            Some(Turn::Permit(_)) if self.call_own(now, id, &name, &input) => {}
            Some(Turn::Permit(_)) if self.config.tools.as_ref().is_some_and(|server| name == tool_of(server)) => {
                self.effects.push(Effect::CallTool { call: id.to_owned() });
            }
            Some(Turn::Permit(permit)) => {
                let shown = json!({"type": "text", "output": permit.output});
                self.finish(now, id, Outcome::ok(&permit.output, None, shown).because(decision));
            }
            _ => {}
        }
    }

    /// A call of a tool server's tool still runs, which it has said `nth` times before.
    pub fn tool_beats(&mut self, id: &str, nth: u32, seconds: u64) {
        let Some(call) = self.calls.iter().find(|c| c.id == id && c.state == State::Running) else { return };
        let message = self.writer.tool_progress(id, &call.name, nth, seconds);
        self.effects.push(Effect::Emit(message));
    }

    /// A call of a tool server's tool has ended.
    pub fn tool_answered(&mut self, now: VTime, id: &str, result: Result<String, String>) {
        let Some(call) = self.calls.iter().find(|c| c.id == id && c.state == State::Running) else { return };
        let (conv, decision) = (call.conv, call.decision);
        let mut outcome = match result {
            Ok(text) => {
                let parts = json!([{"type": "text", "text": text}]);
                Outcome { content: parts.clone(), text, is_error: None, shown: parts, meta: None }
            }
            Err(why) => Outcome::error(&why),
        };
        outcome.meta = decision;
        self.finish(now, id, outcome);
        self.step_calls(now, conv);
    }

    /// Reports the commands that have run long enough to be called tasks.
    pub(super) fn begin_tasks(&mut self, now: VTime) {
        while let Some(at) = self.tasks_due.iter().position(|(_, at)| *at <= now) {
            let (id, _) = self.tasks_due.remove(at);
            let Some(call) = self.calls.iter_mut().find(|c| c.id == id) else { continue };
            self.counted.tasks += 1;
            call.task = Some(self.counted.tasks);
            let owner = (call.conv != Conv(0)).then(|| call.conv.agent_id(self.config.release));
            let message = self.writer.task_started(self.counted.tasks, &id, detail(call), owner.as_deref());
            self.effects.push(Effect::Emit(message));
        }
    }

    /// A command goes on in the background.
    fn move_task(&mut self, id: &str) {
        self.tasks_due.retain(|(call, _)| call != id);
        let Some(call) = self.calls.iter_mut().find(|c| c.id == id) else { return };
        let counted = &mut self.counted.tasks;
        let task = *call.task.get_or_insert_with(|| {
            *counted += 1;
            *counted
        });
        let description = detail(call).to_owned();
        self.background.push((id.to_owned(), task, description));
        let changed = self.writer.background_changed(&self.background);
        let patch = self.writer.task_updated(task, &json!({"is_backgrounded": true}));
        self.effects.extend([Effect::Emit(changed), Effect::Emit(patch)]);
    }

    /// A command that ran in the background has ended; a release that stayed for it tells its model.
    pub fn background_ended(&mut self, now: VTime, id: &str, end: &BashEnd) {
        let Some(at) = self.background.iter().position(|(call, ..)| call == id) else { return };
        let (_, task, description) = self.background.remove(at);
        let status = match end {
            BashEnd { timed_out_ms: Some(_), .. } => "stopped",
            BashEnd { code: 0, .. } => "completed",
            _ => "failed",
        };
        let patched = if status == "stopped" { "killed" } else { status };
        // a constant: the real time would make every state new
        let patch = self.writer.task_updated(task, &json!({"status": patched, "end_time": 0}));
        let summary = texts::background_over(&description, status, end.code);
        let over = self.writer.background_over(task, id, status, &summary);
        let changed = self.writer.background_changed(&self.background);
        self.effects.extend([Effect::Emit(patch), Effect::Emit(over), Effect::Emit(changed)]);
        self.notify(now, &summary);
    }

    /// A command has ended: if it was called a task, so has the task.
    fn end_task(&mut self, id: &str, end: &BashEnd) {
        self.tasks_due.retain(|(call, _)| call != id);
        let Some(call) = self.calls.iter().find(|c| c.id == id) else { return };
        let Some(task) = call.task else { return };
        let status = match end {
            BashEnd { interrupted: true, .. } => "stopped",
            BashEnd { code: 0, timed_out_ms: None, .. } => "completed",
            _ => "failed",
        };
        let message = self.writer.task_over(task, id, detail(call), status);
        self.effects.push(Effect::Emit(message));
    }

    /// A call is denied if there was nobody to ask.
    fn deny(&mut self, now: VTime, id: &str, why: &str) {
        self.deny_because(now, id, why, Decision::RefusedByConfig);
    }

    /// A call is denied since nobody is to be asked.
    fn deny_by_mode(&mut self, now: VTime, id: &str, tool: &str) {
        self.deny_because(now, id, &texts::dont_ask(self.config.release, tool), Decision::RefusedByMode);
    }

    /// A call that a hook wants to be asked about.
    pub(super) fn asked_by_hook(&mut self, now: VTime, id: &str, why: &str) {
        if self.config.answerer != Answerer::Nobody {
            return self.ask(now, id);
        }
        self.refuse(now, id, why, ("hook", Decision::RefusedByConfig));
    }

    /// A call is refused for a reason of this kind.
    pub(super) fn refuse(&mut self, now: VTime, id: &str, why: &str, (kind, decision): (&str, Decision)) {
        self.denied(id);
        if let Some(call) = self.calls.iter().find(|c| c.id == id) {
            let (tool, conv) = (call.name.clone(), call.conv);
            let message = self.writer.permission_denied(&tool, id, why, Some(kind));
            self.emit(conv, message);
        }
        self.finish(now, id, Outcome::error(why).because(decision));
    }

    fn deny_because(&mut self, now: VTime, id: &str, why: &str, decision: Decision) {
        self.denied(id);
        if self.config.release == Release::V2_1_329
            && let Some(call) = self.calls.iter().find(|c| c.id == id)
        {
            let (tool, conv) = (call.name.clone(), call.conv);
            let message =
                self.writer.permission_denied(&tool, id, why, (decision == Decision::RefusedByMode).then_some("mode"));
            self.emit(conv, message);
        }
        self.finish(now, id, Outcome::error(why).because(decision));
    }

    /// Puts a call on the list of denials.
    pub(super) fn denied(&mut self, id: &str) {
        let Some(call) = self.calls.iter().find(|c| c.id == id) else { return };
        let input = texts::schema_order(&call.input);
        self.denials.push(json!({"tool_name": call.name, "tool_use_id": id, "tool_input": input}));
    }

    /// The end of a subagent is the end of its call.
    pub(super) fn subagent_ended(&mut self, now: VTime, conv: Conv, text: &str, failed: bool) {
        let talk = &mut self.convs[conv.0];
        talk.phase = super::engine::Phase::Idle;
        let (session, parent) = (talk.session.clone(), talk.parent.clone());
        self.note(Fact::Busy { session, busy: false });
        let Some(call) = parent else { return };
        self.counted.subagents.1 += u32::from(!failed);
        self.end_subagent(&call, text, failed);
        let outcome = if failed { Outcome::error(text) } else { self.subagent_outcome(conv, &call, text) };
        let Some(of) = self.calls.iter().find(|c| c.id == call).map(|c| c.conv) else { return };
        self.finish(now, &call, outcome);
        self.step_calls(now, of);
    }

    /// A call ends, unless a fault keeps it.
    pub(super) fn finish(&mut self, now: VTime, id: &str, outcome: Outcome) {
        let Some(call) = self.calls.iter_mut().find(|c| c.id == id) else { return };
        let fault = self.config.tool_faults.iter().find(|(nth, _)| *nth == call.nth).map(|(_, does)| *does);
        if fault == Some(ToolDoes::NeverFlips) && call.state != State::Stuck {
            call.state = State::Stuck;
            return;
        }
        call.lost = fault == Some(ToolDoes::LosesResult);
        let has_run = call.state != State::Stuck && outcome.is_error != Some(true);
        let gate = has_run.then(|| Gate::Post(id.to_owned(), outcome.clone()));
        if self.config.release == Release::V1_0_128 {
            // it shows the result before its hooks run
            self.finished(id, outcome);
            if let Some(gate) = gate {
                self.hooked(now, gate);
            }
        } else if !gate.is_some_and(|gate| self.hooked(now, gate)) {
            self.finished(id, outcome);
        }
    }

    /// The result of a call that has ended, and whose hooks have too.
    pub(super) fn finished(&mut self, id: &str, outcome: Outcome) {
        let Some(call) = self.calls.iter_mut().find(|c| c.id == id) else { return };
        call.state = State::Done;
        let conv = call.conv;
        let parent = self.convs[conv.0].parent.clone();
        let Outcome { content, text, is_error, shown, meta } = outcome;
        let block = result_block(id, content, is_error);
        let message = self.writer.tool_result(block, shown, meta, parent.as_deref());
        self.emit_under(conv, message);
        let error = is_error.unwrap_or(false);
        self.remember_result(conv, id, &text, error);
        self.count_user(conv);
        self.note(Fact::ToolEnded { call: id.to_owned(), error, text });
    }

    pub(super) fn set_state(&mut self, id: &str, state: State) {
        if let Some(call) = self.calls.iter_mut().find(|c| c.id == id) {
            call.state = state;
        }
    }

    fn offered(&self, tool: &str) -> bool {
        let known = self.tools().iter().any(|known| known == tool);
        let is_own = self.own.as_ref().is_some_and(|own| own.has(tool));
        if is_own || self.config.tools.as_ref().is_some_and(|server| tool == tool_of(server)) {
            return known;
        }
        // A scenario may name any tool that needs a permission; only a tool that a rule withholds does not exist.
        let foreign = tool != "AskUserQuestion" && !self.config.args.disallowed.iter().any(|rule| rule == tool);
        known || foreign
    }

    fn bash_outcome(&self, end: &BashEnd) -> Outcome {
        let (stdout, stderr) = (end.stdout.as_str(), end.stderr.as_str());
        if end.code == 0 && !end.interrupted && end.timed_out_ms.is_none() {
            let text = lines(&[stdout, stderr]);
            let mut shown = json!({"stdout": stdout, "stderr": stderr, "interrupted": false, "isImage": false});
            if self.config.release == Release::V2_1_329 {
                shown["noOutputExpected"] = Value::from(false);
            }
            return Outcome::ok(&text, Some(false), shown);
        }
        if end.interrupted && self.config.release == Release::V2_1_329 {
            // a signal has no such correction (recorded)
            let correction = if self.by_signal { "" } else { texts::STOPPED_RUNNING };
            let text = format!("{}{correction}", texts::TURNED_DOWN);
            return Outcome::worded(&text, texts::TAKEN_BACK).because(Decision::TakenBack);
        }
        let head = match self.config.release {
            Release::V1_0_128 => String::new(),
            _ => format!("Exit code {}", end.code),
        };
        let interrupted = if end.interrupted { texts::INTERRUPTED_TOOL } else { "" };
        let late = end.timed_out_ms.map_or_else(String::new, texts::timed_out);
        Outcome::error(&lines(&[&head, interrupted, &late, stderr, stdout]))
    }
}

/// The description of a call: its command line.
fn detail(call: &Call) -> &str {
    call.input["command"].as_str().unwrap_or_default()
}

/// Whether a rule of `--allowedTools` covers a call: `Bash`, `Bash(git diff:*)`, `Bash(ls -l)`. Of a compound command,
/// every part that needs a permission must be covered.
fn covers(rule: &str, tool: &str, detail: &str) -> bool {
    let Some((name, pattern)) = rule.split_once('(') else { return rule == tool };
    let pattern = pattern.strip_suffix(')').unwrap_or(pattern);
    let fits = |part: &str| match pattern.strip_suffix(":*") {
        Some(prefix) => part == prefix || part.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(' ')),
        None => part == pattern || pattern == "*",
    };
    let parts = if tool == "Bash" { texts::needs_approval(detail) } else { vec![detail.to_owned()] };
    name == tool && (fits(detail) || parts.iter().all(|part| fits(part)))
}

/// What a tool of a server is called.
fn tool_of(server: &ToolServer) -> String {
    format!("{OF_SERVER}{}__{}", server.name, server.tool)
}

fn permit_tool(permit: &Permit) -> String {
    match permit.tool.as_str() {
        tool if tool.starts_with(OF_SERVER) => tool.to_owned(),
        "webfetch" => "WebFetch".to_owned(),
        "websearch" => "WebSearch".to_owned(),
        "multiedit" => "MultiEdit".to_owned(),
        tool => {
            let mut letters = tool.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
    }
}

/// A tool's name in facts; the names are the same for every agent.
fn fact_name(tool: &str) -> &str {
    match tool {
        "AskUserQuestion" => "question",
        "Bash" => "bash",
        "Task" | "Agent" => "task",
        other => other,
    }
}

/// The questions in the order of keys that models write (recorded).
fn questions_input(questions: &[Question]) -> Vec<Value> {
    let option =
        |choice: &rehang_scenario::turns::Choice| json!({"label": choice.label, "description": choice.description});
    let question = |q: &Question| {
        let options: Vec<Value> = q.options.iter().map(option).collect();
        json!({"question": q.question, "header": q.header, "multiSelect": q.multiple, "options": options})
    };
    questions.iter().map(question).collect()
}

fn lines(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("\n")
}

/// What another module calls a command on the wire: its command line.
pub(super) fn shown(bash: &Bash) -> &str {
    &bash.command
}
