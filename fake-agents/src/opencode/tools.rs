//! Tool calls: bash, question, task, and those that need a permission and start no process.
//!
//! Invariants: a part goes pending → running → completed or error and never back; a bash tool asks before it
//! spawns, so a tool that waits for a permission has no child (#14473); a running part has no `output` field,
//! streamed output stands in `metadata.output`.

use super::asks::{Asked, asked_title};
use super::engine::{DEPTH_MAX, Effect, Engine};
use super::json::{field, next_field, quoted};
use super::release::{BASH_TIMEOUT_MS, Dialect, METADATA_MAX_BYTES};
use super::state::{Body, Tool, ToolState};
use rehang_judge::Fact;
use rehang_scenario::turns::{self, Bash, Question, Turn, responses};
use rehang_scenario::{Canon, ToolDoes};
use rehang_strategy::{Act, Seen};
use rehang_wire::model::ToolCall;

/// What a subagent's session may not do, before 1.18 (golden 13 of 1.2.15).
const CHILD_DENIES_OLD: &[&str] = &["todowrite", "todoread", "task"];
/// What a subagent's session may not do (golden 13 of 1.18.33).
const CHILD_DENIES: &[&str] = &["task"];

/// A tool call that has not ended.
#[derive(Debug, Clone)]
pub(super) struct ToolRun {
    pub(super) id: u32,
    pub(super) call: String,
    /// Its how-manieth it is, over all sessions.
    pub(super) nth: u32,
    pub(super) run: u32,
    pub(super) session: usize,
    pub(super) message: usize,
    pub(super) part: usize,
    pub(super) kind: Kind,
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
    /// It is done.
    Done { output: String, title: String, metadata: String },
    /// It failed, and the model is told so.
    Failed { error: String },
    /// Somebody refused it: the loop stops after this step.
    Refused { error: String },
}

/// How a bash tool's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BashEnd {
    /// With this code; none where a signal ended it.
    Exit(Option<u8>),
    /// Its time limit of so many milliseconds passed.
    TimedOut(u64),
    /// It could not be started.
    NotStarted,
}

impl ToolRun {
    pub(super) fn is_bash(&self) -> bool {
        matches!(self.kind, Kind::Bash { spawned: true, .. })
    }

    pub(super) fn canon(&self, canon: &mut Canon) {
        canon.text(&self.call).num(self.run.into());
        match &self.kind {
            Kind::Question(_) => canon.num(0),
            Kind::Bash { spawned, .. } => canon.num(1).flag(*spawned),
            Kind::Permit(_) => canon.num(2),
            Kind::Task { child, .. } => canon.num(3).num(child.map_or(0, |c| c as u64 + 1)),
            Kind::Other => canon.num(4),
        };
    }
}

/// The model's call that a turn is. `id` is the call's.
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
    /// The model calls a tool; `turn` is what the plan knows of it.
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
            start_ms: self.now.0,
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
        self.tools.push(ToolRun { id, call: call.id.clone(), nth, run, session, message, part, kind });
    }

    fn tool(&self, id: u32) -> Option<&ToolRun> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    fn shown(&mut self, id: u32) -> Option<(usize, usize, usize, &mut Tool)> {
        let tool = self.tools.iter().find(|tool| tool.id == id)?;
        let (session, message, part) = (tool.session, tool.message, tool.part);
        match &mut self.sessions[session].messages[message].parts[part].body {
            Body::Tool(shown) => Some((session, message, part, shown)),
            _ => None,
        }
    }

    /// The part shows that the tool runs.
    pub(super) fn show_running(&mut self, id: u32) {
        let now_ms = self.now.0;
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

    /// The part shows that the tool runs and can be answered from outside.
    pub(super) fn show_external(&mut self, id: u32) {
        if let Some((.., shown)) = self.shown(id) {
            shown.metadata = "\"externalResultReady\":true".to_owned();
        }
        self.show_running(id);
    }

    fn show_metadata(&mut self, id: u32, title: &str, metadata: String) {
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
        let live = self.run_at(run).is_some_and(|at| self.runs[at].live);
        let now_ms = self.now.0;
        let old = self.release.dialect < Dialect::V1_18;
        let (text, error, refused) = match &outcome {
            Outcome::Done { output, .. } => (output.clone(), false, false),
            Outcome::Failed { error } => (error.clone(), true, false),
            Outcome::Refused { error } => (error.clone(), true, true),
        };
        if !live {
            // The loop was aborted: what comes now is thrown away with the stream.
            self.abort_tools(run);
            self.step_over(run);
            return;
        }
        if let Some((.., shown)) = self.shown(id) {
            shown.state = match outcome {
                Outcome::Done { output, title, metadata } => {
                    shown.title = title;
                    shown.metadata = metadata;
                    if !shown.metadata.is_empty() {
                        shown.metadata.push(',');
                    }
                    shown.metadata.push_str("\"truncated\":false");
                    ToolState::Completed { output, end_ms: now_ms }
                }
                Outcome::Failed { error } | Outcome::Refused { error } => {
                    let error = if old { format!("Error: {error}") } else { error };
                    shown.metadata.clear();
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
        }
        self.moved(session, true);
        self.step_over(run);
    }

    /// What was asked for is allowed.
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
            let acts = self.inside.see(self.now, &Seen::ToolAsks(ask));
            let mut ended = false;
            for acting in acts {
                if matches!(acting.act, Act::Withhold { .. } | Act::Report(_))
                    && let Some(fact) = crate::inside::noted(&acting)
                {
                    self.fact(fact);
                }
                match acting.act {
                    Act::Report(_) => {}
                    Act::AnswerTool { answers, text } if !ended => {
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
                    Act::Withhold { text } if !ended => {
                        ended = true;
                        self.show_running(id);
                        self.tool_over(id, Outcome::Failed { error: text });
                    }
                    act => self.now_or_later(crate::inside::Acting { by: acting.by, act }),
                }
            }
            if ended {
                return;
            }
        }
        self.ask_question(id, questions);
    }

    /// A tool that the model was not offered: the call is turned into one of the `invalid` tool.
    fn invalid(&mut self, id: u32, nth: u32, run: u32, session: usize, message: usize, call: ToolCall) {
        let offered = if self.question_available(session) { "bash, question, task" } else { "bash, task" };
        let error = format!("Model tried to call unavailable tool '{}'. Available tools: {offered}.", call.name);
        let input = serde_json::json!({ "tool": call.name, "error": error });
        let call = ToolCall { id: call.id, name: "invalid".to_owned(), input };
        self.new_tool_part(session, message, &call);
        self.push_tool(id, nth, run, session, message, &call, Kind::Other);
        self.show_running(id);
        let output = format!("The arguments provided to the tool are invalid: {error}");
        self.tool_over(id, Outcome::Done { output, title: "Invalid Tool".to_owned(), metadata: String::new() });
    }

    // --- bash ---

    fn start_bash(&mut self, id: u32, bash: Bash) {
        let Some(permission) = bash.asks.clone() else {
            self.show_running(id);
            self.spawn(id, bash);
            return;
        };
        let (patterns, always) = match permission.as_str() {
            "external_directory" => {
                let pattern = vec![outside(&bash.command)];
                (pattern.clone(), pattern)
            }
            _ => commands(&bash.command),
        };
        let metadata = match self.release.dialect {
            Dialect::V1_18 => format!("\"command\":{}", quoted(&bash.command)),
            _ => String::new(),
        };
        self.ask_permission(id, &permission, patterns, always, metadata);
    }

    fn spawn(&mut self, id: u32, bash: Bash) {
        let metadata = self.bash_metadata(id, "");
        self.show_metadata(id, "", metadata);
        if let Some(ToolRun { kind: Kind::Bash { spawned, .. }, .. }) = self.tools.iter_mut().find(|t| t.id == id) {
            *spawned = true;
        }
        self.effect(Effect::Spawn { tool: id, bash });
    }

    /// A bash tool's child printed something.
    pub fn bash_output(&mut self, now: rehang_scenario::VTime, id: u32, text: &str) {
        self.now = now;
        let Some(ToolRun { kind: Kind::Bash { output, .. }, .. }) = self.tools.iter_mut().find(|t| t.id == id) else {
            return;
        };
        if output.len() > METADATA_MAX_BYTES {
            return;
        }
        output.push_str(text);
        let shown = cut(output);
        let metadata = self.bash_metadata(id, &shown);
        self.show_metadata(id, "", metadata);
    }

    /// A bash tool's child is over.
    pub fn bash_over(&mut self, now: rehang_scenario::VTime, id: u32, end: BashEnd) {
        self.now = now;
        let Some(ToolRun { kind: Kind::Bash { bash, output, .. }, .. }) = self.tool(id) else { return };
        let (command, mut output) = (bash.command.clone(), output.clone());
        let mut metadata = self.bash_metadata(id, &cut(&output));
        let exit = match end {
            BashEnd::Exit(Some(code)) => code.to_string(),
            _ => "null".to_owned(),
        };
        metadata.push_str(",\"exit\":");
        metadata.push_str(&exit);
        match end {
            BashEnd::TimedOut(limit_ms) => output.push_str(&format!(
                "\n\n<bash_metadata>\nbash tool terminated command after exceeding timeout {limit_ms} ms\n</bash_metadata>"
            )),
            BashEnd::NotStarted => {
                self.tool_over(id, Outcome::Failed { error: "spawn failed".to_owned() });
                self.act();
                return;
            }
            BashEnd::Exit(_) => {}
        }
        let title = self.title_of(id).unwrap_or(command);
        self.tool_over(id, Outcome::Done { output, title, metadata });
        self.act();
    }

    /// The time limit of a bash call, in milliseconds.
    pub fn bash_limit_ms(bash: &Bash) -> u64 {
        bash.timeout.map_or(BASH_TIMEOUT_MS, |timeout| timeout.as_ms())
    }

    /// The description in the call's input, which 1.2 takes as the title; 1.18 takes the command.
    fn title_of(&mut self, id: u32) -> Option<String> {
        let key = if self.release.dialect < Dialect::V1_18 { "description" } else { "command" };
        let (.., shown) = self.shown(id)?;
        let input: serde_json::Value = serde_json::from_str(&shown.input).ok()?;
        input.get(key)?.as_str().map(str::to_owned)
    }

    fn bash_metadata(&mut self, id: u32, output: &str) -> String {
        let mut metadata = String::new();
        field(&mut metadata, "output", output);
        if self.release.dialect < Dialect::V1_18 {
            let description = self.title_of(id).unwrap_or_default();
            next_field(&mut metadata, "description", &description);
        }
        metadata
    }

    // --- task ---

    fn start_task(&mut self, id: u32, call: &ToolCall, task: turns::Task, path: String) {
        let Some(tool) = self.tool(id) else { return };
        let parent = tool.session;
        if self.sessions[parent].depth >= DEPTH_MAX {
            self.show_running(id);
            self.tool_over(id, Outcome::Failed { error: "subagents nest too deep".to_owned() });
            return;
        }
        let newest = self.release.dialect == Dialect::V1_18;
        if !newest {
            self.show_running(id);
        }
        let title = format!("{} (@general subagent)", task.description);
        let denies = if newest { CHILD_DENIES } else { CHILD_DENIES_OLD };
        let child = self.new_session(title, Some(parent), "general", denies, responses(&task.turns), path);
        if let Some(ToolRun { kind: Kind::Task { child: it, .. }, .. }) = self.tools.iter_mut().find(|t| t.id == id) {
            *it = Some(child);
        }
        let metadata = self.task_metadata(parent, child);
        if newest {
            if let Some((.., shown)) = self.shown(id) {
                shown.title.clone_from(&task.description);
                shown.metadata.clone_from(&metadata);
            }
            self.show_running(id);
        } else {
            self.show_metadata(id, &task.description, metadata.clone());
        }
        let prompt = call.input.get("prompt").and_then(|p| p.as_str()).unwrap_or(&task.description).to_owned();
        let model = self.sessions[parent].model.clone();
        self.start_prompt(child, &prompt, model, None, Some(id));
    }

    /// A subagent's run is over.
    pub(super) fn task_over(&mut self, id: u32, child: usize) {
        let Some(tool) = self.tool(id) else { return };
        let parent = tool.session;
        let Kind::Task { description, .. } = &tool.kind else { return };
        let title = description.clone();
        let session = &self.sessions[child];
        let text = session.last_text();
        let output = if self.release.dialect == Dialect::V1_18 {
            format!("<task id=\"{}\" state=\"completed\">\n<task_result>\n{text}\n</task_result>\n</task>", session.id)
        } else {
            format!(
                "task_id: {} (for resuming to continue this task if needed)\n\n<task_result>\n{text}\n</task_result>",
                session.id
            )
        };
        let metadata = self.task_metadata(parent, child);
        self.tool_over(id, Outcome::Done { output, title, metadata });
    }

    fn task_metadata(&self, parent: usize, child: usize) -> String {
        let mut metadata = String::new();
        if self.release.dialect == Dialect::V1_18 {
            field(&mut metadata, "parentSessionId", &self.sessions[parent].id);
            metadata.push(',');
        }
        field(&mut metadata, "sessionId", &self.sessions[child].id);
        let model = self.sessions[parent].model.clone().unwrap_or_default();
        metadata.push_str(",\"model\":{");
        field(&mut metadata, "modelID", &model.id);
        next_field(&mut metadata, "providerID", &model.provider);
        metadata.push('}');
        metadata
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

fn cut(output: &str) -> String {
    if output.len() <= METADATA_MAX_BYTES {
        return output.to_owned();
    }
    let end = (0..=METADATA_MAX_BYTES).rev().find(|&at| output.is_char_boundary(at)).unwrap_or(0);
    format!("{}\n\n...", &output[..end])
}

/// The simple commands of a command line, and the patterns that allow each for ever (`tool/bash.ts`: the command's
/// name and a star).
fn commands(line: &str) -> (Vec<String>, Vec<String>) {
    let mut patterns = Vec::new();
    let mut always: Vec<String> = Vec::new();
    for command in line.split(['\n', ';', '|', '&']).map(str::trim).filter(|command| !command.is_empty()) {
        patterns.push(command.to_owned());
        let rule = format!("{} *", command.split_whitespace().next().unwrap_or(command));
        if !always.contains(&rule) {
            always.push(rule);
        }
    }
    (patterns, always)
}

/// What a command reaches for outside the project: the folder of its first absolute path.
fn outside(line: &str) -> String {
    let path = line.split_whitespace().find(|word| word.starts_with('/')).unwrap_or("/");
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{folder}/*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_falls_into_its_commands() {
        let (patterns, always) = commands("echo BASH_RAN; pwd");
        assert_eq!(patterns, ["echo BASH_RAN", "pwd"]);
        assert_eq!(always, ["echo *", "pwd *"]);
        assert_eq!(commands("a && b | c").0, ["a", "b", "c"]);
    }

    #[test]
    fn output_in_the_metadata_stops_growing() {
        let long = "ü".repeat(METADATA_MAX_BYTES);
        assert!(cut(&long).len() < METADATA_MAX_BYTES + 8);
        assert_eq!(cut("short"), "short");
    }
}
