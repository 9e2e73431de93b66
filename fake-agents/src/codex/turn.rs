//! The turn: what the model says, which tools it calls, what it is told, and when it is asked again.
//!
//! Invariants: there is one response at a time, and its commands run one after the other unless the release runs them at
//! the same time ([`Release::together`]); the model is told of its calls in their order, once all have ended. A response
//! counts once it is whole; a message is said as soon as it is, and what there is of another is dropped.

use super::asks::{MayRun, is_patch};
use super::program::{Fake, Phase};
use super::release::{Incomplete, Release, Shell, backoff};
use super::rollout::Rollout;
use super::shell::{self, Report, Running};
use super::writer::{aborted, told};
use rehang_os::os::{Os, Sig};
use rehang_scenario::{
    ToolDoes,
    turns::{Bash, Finish, Turn},
};
use rehang_trace::Fact;
use rehang_wire::model::{
    Message, ModelEvent, ModelRequest, Part, Tool, ToolCall,
    script::{Chunk, Item, chunks},
};
use serde_json::json;

/// The one session's name in facts.
pub(super) const SESSION: &str = "ses_1";
/// The permission of a command that the model asks to run outside of the sandbox; any other word leaves it inside,
/// where nobody is asked.
pub(super) const ESCALATED: &str = "escalated";
/// Why a stream that has no end is given up.
const NO_END: &str = "stream disconnected before completion: stream closed before response.completed";
/// Why a silent stream is given up.
const SILENT: &str = "stream disconnected before completion: idle timeout waiting for SSE";

/// The part of a response that has come so far.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Spoken {
    text: String,
    /// The last message that is whole.
    last: String,
    /// Its end, once it has come.
    finish: Option<Finish>,
    calls: Vec<ToolCall>,
    parts: Vec<Part>,
}

/// A call of the response, until all its calls have ended.
#[derive(Debug, Clone, Hash)]
pub(super) struct Call {
    pub id: String,
    pub turn: Option<Turn>,
    /// Which call it is, from 1 in the order in which they begin; 0 until it begins.
    number: u32,
    /// What the model will be told of it, and whether that is an error, once it has ended.
    pub told: Option<(String, bool)>,
}

impl Call {
    fn is_command(&self) -> bool {
        matches!(self.turn, Some(Turn::Bash(_)))
    }

    fn runs(&self) -> bool {
        self.number > 0 && self.told.is_none()
    }
}

impl Fake {
    /// Asks the model for the response.
    pub(super) fn ask(&mut self, os: &mut dyn Os) {
        self.counted.asked += 1;
        self.phase = Phase::Model;
        self.spoken = Spoken { last: std::mem::take(&mut self.spoken.last), ..Spoken::default() };
        os.note(Fact::ModelAsked { session: SESSION.to_owned(), response: self.counted.asked });
        let names = tools(self.release);
        let request = ModelRequest {
            model: "gpt-5".to_owned(),
            stream: true,
            tools: names.iter().map(|name| Tool { name: (*name).to_owned(), ..Tool::default() }).collect(),
            messages: self.messages.clone(),
        };
        let (chunks, path) = (self.chunks(), (self.nth + 1).to_string());
        self.model.ask(os, chunks, &request, &path);
        self.writer.asks(self.counted.asked);
        self.keep(os, Rollout::asks);
    }

    /// What the scripted model says, before faults.
    fn chunks(&mut self) -> Vec<Chunk> {
        let Some(response) = self.script.get(self.nth) else {
            return vec![Chunk::Event(ModelEvent::Finish(Finish::Stop))];
        };
        let (release, calls) = (self.release, &mut self.counted.calls);
        chunks(response, str::to_owned, |turn| {
            *calls += 1;
            tool_call(release, turn, &format!("call_{calls}"))
        })
    }

    /// Handles an item of the model's stream; returns whether the stream goes on.
    pub(super) fn take(&mut self, os: &mut dyn Os, item: Item) -> bool {
        if self.phase != Phase::Model {
            return false;
        }
        if !matches!(item, Item::Status(_)) {
            self.keep(os, Rollout::heard);
            self.writer.heard();
        }
        match item {
            Item::Event(ModelEvent::TextDelta(text)) => {
                let text = text.replace("{answer}", &self.answer);
                self.spoken.text.push_str(&text);
                self.writer.delta(&text);
                os.note(Fact::ModelSaid { session: SESSION.to_owned(), text });
            }
            Item::Event(ModelEvent::ToolCall(call)) => {
                self.close_text(os);
                self.keep(os, |rollout, os| rollout.call(os, &call));
                self.spoken.parts.push(Part::Call(call.clone()));
                self.spoken.calls.push(call);
                os.note(Fact::ModelSaid { session: SESSION.to_owned(), text: String::new() });
            }
            Item::Event(ModelEvent::Finish(finish)) => {
                self.close_text(os);
                self.spoken.finish = Some(finish);
                if !self.release.reads_to_the_end {
                    self.model.abort(os);
                    self.finished(os, finish);
                    return false;
                }
            }
            Item::Event(ModelEvent::Error { message, .. }) => {
                self.model.abort(os);
                self.broke(os, &format!("stream disconnected before completion: {message}"), "error");
                return false;
            }
            Item::Ended { .. } => {
                match self.spoken.finish {
                    Some(finish) => self.finished(os, finish),
                    None => self.broke(os, NO_END, "none"),
                }
                return false;
            }
            Item::Reset => {
                self.broke(os, self.release.reset, "error");
                return false;
            }
            Item::Status(status) => {
                self.refused(os, status);
                return false;
            }
            Item::Event(ModelEvent::Start | ModelEvent::KeepAlive) | Item::KeepAlive | Item::Compacting(_) => {}
        }
        true
    }

    /// The response has its end.
    fn finished(&mut self, os: &mut dyn Os, finish: Finish) {
        let word = match finish {
            Finish::Stop | Finish::ToolCalls => return self.responded(os),
            Finish::Unknown => "unknown",
            Finish::None => "none",
        };
        let why = format!("Incomplete response returned, reason: {word}");
        match self.release.incomplete {
            Incomplete::NoEnd => self.broke(os, NO_END, word),
            Incomplete::Breaks => self.broke(os, &format!("stream disconnected before completion: {why}"), word),
            Incomplete::Fails => self.fail(os, &why),
        }
    }

    /// The stream was without an event for longer than the release waits.
    pub(super) fn silent(&mut self, os: &mut dyn Os) {
        self.broke(os, SILENT, "error");
    }

    /// The request was refused with a status.
    fn refused(&mut self, os: &mut dyn Os, status: u16) {
        let again = status >= 500 || (status == 429 && self.release.retries_429);
        if again && self.tries.0 < self.args.request_retries {
            self.tries.0 += 1;
            model_done(os, "error");
            self.phase = Phase::Backoff(os.now() + backoff(self.tries.0));
            return;
        }
        self.tries.0 = 0;
        let reason = rehang_wire::http::reason(status);
        match status {
            500.. => self.broke(os, self.release.overloaded, "error"),
            429 => self.fail(os, &format!("exceeded retry limit, last status: 429 {reason}")),
            _ => self.fail(os, &format!("unexpected status {status} {reason}")),
        }
    }

    /// The stream broke: it is asked for again after a pause, or the turn fails.
    fn broke(&mut self, os: &mut dyn Os, why: &str, finish: &str) {
        let max = self.args.stream_retries;
        if self.tries.1 >= max {
            return self.fail(os, why);
        }
        model_done(os, finish);
        self.tries = (0, self.tries.1 + 1);
        let after = backoff(self.tries.1);
        self.writer.retries(self.tries.1, max, why, after);
        self.phase = Phase::Backoff(os.now() + after);
    }

    /// The turn fails.
    fn fail(&mut self, os: &mut dyn Os, why: &str) {
        model_done(os, "error");
        self.keep(os, |rollout, os| rollout.turn_ends(os, Err(why)));
        self.writer.failed(why);
        self.leave(os, false, why);
    }

    /// A response is whole.
    fn responded(&mut self, os: &mut dyn Os) {
        self.close_text(os);
        self.tries = (0, 0);
        self.writer.responded();
        self.keep(os, Rollout::responded);
        let calls = std::mem::take(&mut self.spoken.calls);
        model_done(os, if calls.is_empty() { "stop" } else { "tool-calls" });
        let parts = std::mem::take(&mut self.spoken.parts);
        self.messages.push(Message { role: "assistant".to_owned(), parts });
        if calls.is_empty() {
            return self.complete(os);
        }
        let wanted = |turn: &&Turn| matches!(turn, Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) | Turn::Task(_));
        let mut turns = self.script.get(self.nth).map(|response| response.parts.clone()).unwrap_or_default();
        turns.retain(|turn| wanted(&turn));
        // A model server names tools as it likes; the tool that is called is the one in the script.
        let mut turns = turns.into_iter();
        let call = |call: ToolCall| Call { id: call.id, turn: turns.next(), number: 0, told: None };
        self.calls = calls.into_iter().map(call).collect();
        self.phase = Phase::Tools;
        self.go_on(os);
    }

    fn complete(&mut self, os: &mut dyn Os) {
        for (run, item) in &self.terminals {
            self.writer.command_runs_on(item, &run.command);
        }
        let last = std::mem::take(&mut self.spoken.last);
        self.keep(os, |rollout, os| {
            rollout.response_ends(os);
            rollout.turn_ends(os, Ok(&last));
        });
        if self.has_more(os) {
            return;
        }
        self.writer.ended(&last);
        self.leave(os, true, &last);
    }

    /// Ends what runs on, and leaves.
    fn leave(&mut self, os: &mut dyn Os, ok: bool, text: &str) {
        // a process that serves on leaves them running
        if self.writer.voice.is_none() {
            self.end_commands(os, Sig::Kill);
        }
        os.note(Fact::Result { ok, text: text.to_owned() });
        os.note(Fact::Busy { session: SESSION.to_owned(), busy: false });
        self.phase = Phase::Leaving(u8::from(!ok));
    }

    fn close_text(&mut self, os: &mut dyn Os) {
        let text = std::mem::take(&mut self.spoken.text);
        if !text.is_empty() {
            self.spoken.parts.push(Part::Text(text.clone()));
            self.writer.message(&text);
            self.keep(os, |rollout, os| rollout.message(os, &text));
            self.spoken.last = text;
        }
    }

    // --- tools ---

    /// Begins each call that can begin now, and asks the model again once all have ended.
    pub(super) fn go_on(&mut self, os: &mut dyn Os) {
        while let (Phase::Tools, Some(at)) = (self.phase, self.can_begin()) {
            self.begin_call(os, at);
        }
        if self.phase != Phase::Tools || self.calls.iter().any(|call| call.told.is_none()) {
            return;
        }
        for call in std::mem::take(&mut self.calls) {
            let (text, is_error) = call.told.unwrap_or_default();
            self.answer.clone_from(&text);
            self.keep(os, |rollout, os| rollout.told(os, &call.id, &text));
            let parts = vec![Part::Result { id: call.id, text, is_error }];
            self.messages.push(Message { role: "user".to_owned(), parts });
        }
        if self.lost {
            self.phase = Phase::Stuck("tool");
            return;
        }
        self.keep(os, Rollout::response_ends);
        self.writer.response_ends();
        if self.repeats != Some(self.nth) {
            self.nth += 1;
        }
        self.take_more();
        self.ask(os);
    }

    /// The first call that has not begun, unless it must wait for those that run.
    fn can_begin(&self) -> Option<usize> {
        let at = self.calls.iter().position(|call| call.number == 0)?;
        let both = |other: &Call| self.release.together && other.is_command() && self.calls[at].is_command();
        self.calls.iter().filter(|call| call.runs()).all(both).then_some(at)
    }

    fn begin_call(&mut self, os: &mut dyn Os, at: usize) {
        self.counted.tools += 1;
        self.calls[at].number = self.counted.tools;
        let Call { id, turn, .. } = self.calls[at].clone();
        let tool = match &turn {
            Some(Turn::Ask(_)) => "question",
            Some(Turn::Bash(_)) => "bash",
            Some(Turn::Task(_)) => "task",
            Some(Turn::Permit(permit)) => permit.tool.as_str(),
            _ => "unknown",
        };
        os.note(Fact::ToolBegan { call: id.clone(), tool: tool.to_owned(), session: SESSION.to_owned() });
        if let Some(wanted) = turn.as_ref().and_then(|turn| self.wanted(turn)) {
            return self.ask_client(os, &id, wanted);
        }
        match turn {
            Some(Turn::Bash(bash)) => match self.may_run(&bash) {
                MayRun::Yes => self.run(os, &id, &bash),
                MayRun::No => self.told(os, &id, self.release.told_of_escalation, true),
                MayRun::Asks => {}
            },
            Some(Turn::Ask(_)) => self.told(os, &id, self.release.told_of_question, true),
            Some(Turn::Permit(permit)) if is_patch(&permit) => match self.args.sandbox {
                "read-only" => self.told(os, &id, self.release.told_of_patch, true),
                _ => self.told(os, &id, &permit.output, false),
            },
            Some(Turn::Permit(permit)) if self.call_server(os, &id, &permit) => {}
            Some(turn) => {
                let name = tool_call(self.release, &turn, &id).map_or_else(String::new, |call| call.name);
                self.told(os, &id, &format!("unsupported call: {name}"), true);
            }
            None => self.told(os, &id, "unsupported call: ", true),
        }
    }

    pub(super) fn run(&mut self, os: &mut dyn Os, id: &str, bash: &Bash) {
        let command = self.release.in_shell(&bash.command);
        let cwd = os.cwd();
        let item = self.writer.command_begins(id, &command, cwd);
        match shell::start(os, self.release, id, bash) {
            Ok(run) => self.running.push((run, item)),
            Err(report) => {
                self.command_ends(os, id, &item, &command, &report);
                self.told_of(os, id, &command, &report);
            }
        }
    }

    /// A running command has ended, or runs on in the background.
    pub(super) fn command_reported(&mut self, os: &mut dyn Os, at: usize, report: &Report) {
        let (run, item) = self.running.remove(at);
        let (id, command) = (run.call.clone(), run.command.clone());
        match report.code {
            Some(_) => self.command_ends(os, &id, &item, &command, report),
            None => self.terminals.push((run, item)),
        }
        self.told_of(os, &id, &command, report);
        self.go_on(os);
    }

    fn command_ends(&mut self, os: &mut dyn Os, id: &str, item: &str, command: &str, report: &Report) {
        self.writer.command_ends(item, command, report);
        let line = self.calls.iter().find(|call| call.id == id).and_then(|call| match &call.turn {
            Some(Turn::Bash(bash)) => Some(bash.command.clone()),
            _ => None,
        });
        self.keep(os, |rollout, os| rollout.command_ends(os, id, &line.unwrap_or_default(), report));
    }

    /// The calls that an interrupt ends, and what is kept as their results.
    pub(super) fn aborted(&self, os: &dyn Os, commands: &[(Running, String)]) -> Vec<(String, String)> {
        let runs = |id: &str| self.calls.iter().any(|call| call.id == id && call.runs());
        let told = |(run, _): &(Running, String)| (run.call.clone(), aborted(self.release, run.took(os.now())));
        commands.iter().filter(|(run, _)| runs(&run.call)).map(told).collect()
    }

    fn told_of(&mut self, os: &mut dyn Os, id: &str, command: &str, report: &Report) {
        self.counted.chunks += 1;
        let text = told(self.release, self.counted.chunks, command, report);
        self.told(os, id, &text, report.code.is_some_and(|code| code != 0));
    }

    /// This call has ended, and the model will be told this, unless a fault keeps it.
    pub(super) fn told(&mut self, os: &mut dyn Os, id: &str, text: &str, error: bool) {
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id && call.runs()) else { return };
        let fault = self.tool_faults.iter().find(|(nth, _)| *nth == call.number).map(|(_, does)| *does);
        if fault == Some(ToolDoes::NeverFlips) {
            self.phase = Phase::Stuck(if call.is_command() { "bash" } else { "tool" });
            return;
        }
        self.lost |= fault == Some(ToolDoes::LosesResult);
        call.told = Some((text.to_owned(), error));
        os.note(Fact::ToolEnded { call: id.to_owned(), error, text: text.to_owned() });
    }
}

fn model_done(os: &mut dyn Os, finish: &str) {
    os.note(Fact::ModelDone { session: SESSION.to_owned(), finish: finish.to_owned() });
}

/// The tools that are offered, as far as they are played.
fn tools(release: &Release) -> [&'static str; 2] {
    match release.shell {
        Shell::Waits(_) => ["shell", "apply_patch"],
        Shell::Yields => ["exec_command", "apply_patch"],
    }
}

/// The tool call that a turn is in Codex's dialect; `None` if it calls no tool.
fn tool_call(release: &Release, turn: &Turn, id: &str) -> Option<ToolCall> {
    let [shell, patch] = tools(release);
    let (name, input) = match turn {
        Turn::Ask(questions) => {
            let questions: Vec<_> = questions.iter().map(|one| json!({"question": one.question})).collect();
            ("request_user_input", json!({"questions": questions}))
        }
        Turn::Bash(bash) if shell == "shell" => {
            let mut input = json!({"command": ["bash", "-lc", bash.command]});
            if let Some(limit) = bash.timeout {
                input["timeout_ms"] = json!(limit.as_ms());
            }
            (shell, input)
        }
        Turn::Bash(bash) => (shell, json!({"cmd": bash.command})),
        Turn::Task(task) => ("spawn_agent", json!({"message": task.description})),
        Turn::Permit(permit) if is_patch(permit) => (patch, json!({"input": permit.patterns})),
        Turn::Permit(permit) => (permit.tool.as_str(), json!({"patterns": permit.patterns})),
        Turn::Say(_) | Turn::Think(_) | Turn::Compact(_) | Turn::Together(_) | Turn::Finish(_) => return None,
    };
    Some(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
}
