//! The loop: a prompt, model responses step by step, until one has a final finish.
//!
//! Invariant: `tool-calls` and `unknown` are not final (`session/prompt.ts`), so a stream that ends without a reason is
//! asked for again; a rejected ask stops the loop after its step. The order of events is that of the goldens; the
//! background summary, whose place varies there between runs, has a fixed one here.

use super::engine::{About, Effect, Engine};
use super::json::{field, next_field, number};
use super::places::Places;
use super::release::{Abort, Dialect};
use super::state::{Body, Model, Reply, Role, ToolState, Usage};
use super::tools::{ABORTED_TOOL, ToolRun};
use rehang_scenario::{
    Canon, Span, VTime,
    turns::{Finish, Response, Turn},
};
use rehang_strategy::{InsideSeen, Seen};
use rehang_trace::Fact;
use rehang_wire::model::ModelEvent;

/// The first delay before a failed model request is sent again, in milliseconds (`session/retry.ts`).
const RETRY_FIRST_MS: u64 = 2_000;
/// The longest such delay if the server does not give one (`session/retry.ts`).
const RETRY_MAX_MS: u64 = 30_000;
/// The usage of every response of a model here: the goldens' scripted model reports 10 and 3.
const USAGE: Usage = Usage { input: 10, output: 3, summed: true };

/// One run of the loop: from a prompt to idle.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) id: u32,
    pub(super) session: usize,
    /// The index of the user message that it answers.
    pub(super) user: usize,
    /// The index of the message that the model is writing.
    pub(super) reply: usize,
    /// Whether it was not aborted: its session is busy.
    pub(super) live: bool,
    /// Requests that are answered at its end.
    pub(super) waiters: Vec<u32>,
    /// Abort requests that are answered when it has settled.
    pub(super) aborters: Vec<u32>,
    /// The number of the open model stream.
    pub(super) stream: Option<u32>,
    /// Whether the step's first event has come.
    pub(super) began: bool,
    /// The text part that is still growing.
    pub(super) text: Option<usize>,
    /// The finish that the model said; `None` while the stream is open.
    pub(super) finish: Option<(&'static str, Option<Usage>)>,
    /// The tool calls that the current response holds, in order, and how many have come.
    pub(super) calls: Vec<(String, Turn)>,
    pub(super) called: usize,
    /// Whether the script itself lets this response end without a reason.
    pub(super) open_end: bool,
    /// Whether a tool's end stopped the loop.
    pub(super) blocked: bool,
    /// Whether a tool's result was never taken up: the step does not end (fault).
    pub(super) lost: bool,
    /// How long the loop waits before it goes on after this step, and until when it does (fault).
    pub(super) lag: Option<Span>,
    pub(super) lags_until: Option<VTime>,
    pub(super) attempt: u32,
    pub(super) retry_at: Option<VTime>,
    pub(super) settle_at: Option<VTime>,
    /// The number of the task tool that waits for it.
    pub(super) parent_tool: Option<u32>,
    /// What the last tool call told the model.
    pub(super) answer: String,
}

impl Run {
    pub(super) fn deadline(&self) -> Option<VTime> {
        [self.retry_at, self.settle_at, self.lags_until].into_iter().flatten().min()
    }

    /// Writes the state. What it points at is written as these places; messages and parts are marked in their session.
    pub(super) fn canon(&self, places: &Places, canon: &mut Canon) {
        let Self {
            id: _, // not compared: it only names the run; what refers to it is written by its place
            session,
            user: _,  // not compared: the message is marked
            reply: _, // not compared: the message is marked
            live,
            waiters,
            aborters,
            stream,
            began,
            text: _, // not compared: the part is marked
            finish,
            calls,
            called,
            open_end,
            blocked,
            lost,
            lag,
            lags_until,
            attempt,
            retry_at,
            settle_at,
            parent_tool,
            answer,
        } = self;
        canon.num(places.session(*session)).num(parent_tool.map_or(0, |tool| places.tool(tool)));
        // The requests that wait are identified by their connections, which name them by their place here.
        canon.num(waiters.len() as u64).num(aborters.len() as u64);
        canon.flag(*live).flag(stream.is_some()).flag(*began).flag(*open_end);
        canon.flag(*blocked).flag(*lost).num(*called as u64).value(finish);
        canon.list(calls, |canon, (path, _of_the_plan)| {
            canon.text(path);
        });
        // After the fifth failure the pause does not grow any more.
        canon.capped((*attempt).into(), 5);
        canon.flag(lag.is_some()).num(lag.map_or(0, Span::as_ms)).deadline(*lags_until);
        canon.deadline(*retry_at).deadline(*settle_at).text(answer);
    }
}

impl Engine {
    /// A prompt for a session: makes its user message, and a run unless one is there that takes it up.
    pub fn prompt(&mut self, now: VTime, session: usize, text: &str, model: Option<Model>, ticket: Option<u32>) {
        self.now = now;
        self.start_prompt(session, text, model, ticket, None);
        self.act();
    }

    pub(super) fn start_prompt(
        &mut self,
        session: usize,
        text: &str,
        model: Option<Model>,
        ticket: Option<u32>,
        parent_tool: Option<u32>,
    ) {
        self.set_model(session, model);
        let newest = self.release.dialect == Dialect::V1_18;
        if newest {
            self.touched(session);
        }
        let user = self.new_message(session, Role::User);
        self.message_event(session, user, false);
        let part = self.new_part(session, user, Body::Prompt(text.to_owned()));
        self.part_event(session, user, part);
        self.touched(session);
        if self.sessions[session].parent.is_some() && !newest {
            self.touched(session);
        }
        if let Some(run) = self.runs.iter_mut().find(|run| run.session == session && run.live) {
            run.waiters.extend(ticket);
            return;
        }
        self.next.tool += 1;
        let id = self.next.tool;
        self.runs.push(Run {
            id,
            session,
            user,
            reply: 0,
            live: true,
            waiters: ticket.into_iter().collect(),
            aborters: Vec::new(),
            stream: None,
            began: false,
            text: None,
            finish: None,
            calls: Vec::new(),
            called: 0,
            open_end: false,
            blocked: false,
            lost: false,
            attempt: 0,
            lag: None,
            lags_until: None,
            retry_at: None,
            settle_at: None,
            parent_tool,
            answer: String::new(),
        });
        self.busy_fact(session, true);
        self.status_event(session, true);
        self.step(id, true);
    }

    /// Handles an event of the model's stream.
    pub fn model_event(&mut self, now: VTime, stream: u32, event: ModelEvent) {
        self.now = now;
        let Some(at) = self.streaming(stream) else { return };
        let (id, session) = (self.runs[at].id, self.runs[at].session);
        let progress = matches!(event, ModelEvent::TextDelta(_) | ModelEvent::ToolCall(_));
        // A comment that keeps the connection alive is no event of the SDK's stream.
        if event != ModelEvent::KeepAlive {
            self.moved(session, progress);
        }
        match event {
            ModelEvent::Start | ModelEvent::KeepAlive => {}
            ModelEvent::TextDelta(text) => {
                self.begin_step(at);
                self.fact(Fact::ModelSaid { session: self.sessions[session].id.clone(), text: text.clone() });
                self.say(at, &text);
            }
            ModelEvent::ToolCall(call) => {
                // A text ends with the response and not before a call (recorded: the provider closes it in its flush).
                self.begin_step(at);
                self.fact(Fact::ModelSaid { session: self.sessions[session].id.clone(), text: String::new() });
                let run = &mut self.runs[at];
                let turn = run.calls.get(run.called).cloned();
                run.called += 1;
                self.tool_call(id, call, turn);
            }
            ModelEvent::Finish(finish) => {
                self.begin_step(at);
                self.end_text(at);
                let reason = match finish {
                    Finish::Stop => "stop",
                    Finish::ToolCalls => "tool-calls",
                    Finish::Unknown | Finish::None => "unknown",
                };
                let summed = self.release.dialect > Dialect::V1_0;
                self.runs[at].finish = Some((reason, Some(Usage { summed, ..USAGE })));
            }
            ModelEvent::Error { status, message } => self.model_failed(now, stream, status, &message),
        }
        self.act();
    }

    /// The model's stream has ended, correctly for HTTP.
    pub fn model_ended(&mut self, now: VTime, stream: u32) {
        self.now = now;
        let Some(at) = self.streaming(stream) else { return };
        self.begin_step(at);
        self.end_text(at);
        let run = &mut self.runs[at];
        run.stream = None;
        let used = run.finish.is_some() || run.called > 0 || run.open_end;
        let (reason, _) = *run.finish.get_or_insert(("unknown", None));
        let (id, session) = (run.id, run.session);
        if used {
            self.advance(session);
        }
        let finish =
            if reason == "unknown" && self.runs[at].finish == Some(("unknown", None)) { "none" } else { reason };
        self.fact(Fact::ModelDone { session: self.sessions[session].id.clone(), finish: finish.to_owned() });
        self.step_over(id);
        self.act();
    }

    /// The model's request failed: `status` is 0 if the connection was reset.
    pub fn model_failed(&mut self, now: VTime, stream: u32, status: u16, message: &str) {
        self.now = now;
        let Some(at) = self.streaming(stream) else { return };
        self.end_text(at);
        let (id, session) = (self.runs[at].id, self.runs[at].session);
        self.runs[at].stream = None;
        self.fact(Fact::ModelDone { session: self.sessions[session].id.clone(), finish: "error".to_owned() });
        let is_over = self.release.retries_max.is_some_and(|max| self.runs[at].attempt >= max);
        if is_over || status != 0 && status != 429 && status < 500 {
            self.fail_run(id, "APIError", message);
        } else {
            if self.release.retry_stops_tools {
                self.abort_tools(id);
            } else {
                self.tools.iter_mut().filter(|tool| tool.run == id).for_each(|tool| tool.orphan = true);
            }
            self.closed(session);
            let run = &mut self.runs[at];
            run.attempt += 1;
            run.finish = None;
            let delay_ms = (RETRY_FIRST_MS << (run.attempt - 1).min(5)).min(RETRY_MAX_MS);
            let next = now + Span(delay_ms);
            run.retry_at = Some(next);
            let attempt = run.attempt;
            self.publish("session.status", Some(session), About::Other, |engine, out| {
                field!(out, "sessionID", &engine.sessions[session].id);
                out.push_str(",\"status\":{\"type\":\"retry\",\"attempt\":");
                number(out, attempt.into());
                next_field!(out, "message", message);
                out.push_str(",\"next\":");
                number(out, next.0);
                out.push('}');
            });
        }
        self.act();
    }

    /// The model's stream was silent for longer than the release waits. The text that it began does not end.
    pub fn model_silent(&mut self, now: VTime, stream: u32, message: &str) {
        if let Some(at) = self.streaming(stream) {
            self.runs[at].text = None;
        }
        self.model_failed(now, stream, 0, message);
    }

    /// Sends the requests whose retry is due, and continues loops after a lag.
    pub(super) fn go_on_due(&mut self) {
        let due = |run: &Run, now: VTime| run.retry_at.is_some_and(|at| at <= now);
        while let Some(run) = self.runs.iter_mut().find(|run| due(run, self.now)) {
            run.retry_at = None;
            let (id, session) = (run.id, run.session);
            self.status_event(session, true);
            self.ask_model(id);
        }
        while let Some(run) = self.runs.iter_mut().find(|run| run.lags_until.is_some_and(|at| at <= self.now)) {
            run.lags_until = None;
            let (id, session) = (run.id, run.session);
            self.status_event(session, true);
            self.step(id, false);
        }
    }

    /// A step's stream has ended: so has the step, once none of its tools runs.
    pub(super) fn step_over(&mut self, id: u32) {
        let Some(at) = self.run_at(id) else { return };
        let run = &self.runs[at];
        if run.stream.is_some() || run.lost || self.tools.iter().any(|tool| tool.holds(id)) {
            return;
        }
        if !run.live {
            if self.release.abort == Abort::Leaves {
                self.settle(id);
            }
            return;
        }
        let Some((reason, usage)) = run.finish else { return };
        let (session, user, reply, blocked) = (run.session, run.user, run.reply, run.blocked);
        let part = self.new_part(session, reply, Body::StepFinish { reason, usage });
        self.part_event(session, reply, part);
        let now_ms = self.now_ms();
        if let Some(Usage { input, output, .. }) = usage {
            let tokens = &mut self.sessions[session].tokens;
            *tokens = (tokens.0 + input, tokens.1 + output);
        }
        if let Some(said) = self.reply_mut(session, reply) {
            said.finish = Some(reason);
            said.usage = usage;
        }
        let newest = self.release.dialect == Dialect::V1_18;
        match self.release.dialect {
            Dialect::V1_0 => {
                self.message_event(session, reply, false);
                self.message_event(session, user, true);
                // A summary after the last step is written twice.
                if reason != "tool-calls" {
                    self.message_event(session, user, true);
                }
                self.touched(session);
            }
            Dialect::V1_2 => {
                self.message_event(session, reply, false);
                self.touched(session);
                self.message_event(session, user, true);
            }
            Dialect::V1_18 => {}
        }
        self.show_orphans_aborted(id);
        if let Some(said) = self.reply_mut(session, reply) {
            said.completed_ms = Some(now_ms);
        }
        self.message_event(session, reply, false);
        if newest {
            self.message_event(session, reply, false);
        }
        self.closed(session);
        let newer = self.sessions[session].messages.iter().rposition(|m| matches!(m.role, Role::User));
        let newer = newer.filter(|&newest_user| newest_user > user);
        if blocked {
            self.end_run(id, false);
        } else if let Some(next) = newer {
            self.runs[at].user = next;
            self.status_event(session, true);
            self.step(id, false);
        } else if let Some(lag) = self.runs[at].lag.take() {
            self.runs[at].lags_until = Some(self.now + lag);
        } else if matches!(reason, "tool-calls" | "unknown") {
            self.status_event(session, true);
            self.step(id, false);
        } else {
            self.end_run(id, true);
        }
    }

    /// The loop ends. A loop that looks once more for work before it ends reports busy once more.
    pub(super) fn end_run(&mut self, id: u32, looked: bool) {
        // the loop's own signal ends tools that have outlived their step
        self.abort_tools(id);
        let Some(at) = self.run_at(id) else { return };
        let session = self.runs[at].session;
        let user = self.runs[at].user;
        if looked {
            self.status_event(session, true);
        }
        let run = self.runs.remove(at);
        self.busy_fact(session, false);
        self.status_event(session, false);
        self.diff_event(session, user, self.release.dialect == Dialect::V1_18);
        self.over(run);
    }

    /// Answers the requests that wait for a run.
    pub(super) fn over(&mut self, run: Run) {
        let session = run.session;
        if self.sessions[session].parent.is_none() {
            let failed = self.sessions[session]
                .messages
                .last()
                .is_some_and(|m| matches!(&m.role, Role::Assistant(reply) if reply.error.is_some()));
            let text = self.sessions[session].last_text().to_owned();
            self.fact(Fact::Result { ok: !failed, text });
        }
        if !run.waiters.is_empty() {
            let body = self.newest_reply(session);
            for ticket in run.waiters {
                self.respond(ticket, 200, body.clone());
            }
        }
        for ticket in run.aborters {
            self.respond(ticket, 200, "true".to_owned());
        }
        if let Some(tool) = run.parent_tool {
            self.task_over(tool, session);
        }
    }

    /// The run fails with an error that is not tried again.
    pub(super) fn fail_run(&mut self, id: u32, name: &'static str, text: &str) {
        let Some(at) = self.run_at(id) else { return };
        let (session, reply) = (self.runs[at].session, self.runs[at].reply);
        self.abort_tools(id);
        let now_ms = self.now_ms();
        self.error_event(session, name, text);
        if let Some(said) = self.reply_mut(session, reply) {
            said.error = Some((name, text.to_owned()));
            said.completed_ms = Some(now_ms);
        }
        self.message_event(session, reply, false);
        self.closed(session);
        self.end_run(id, false);
    }

    pub(super) fn run_at(&self, id: u32) -> Option<usize> {
        self.runs.iter().position(|run| run.id == id)
    }

    pub(super) fn moved(&mut self, session: usize, progress: bool) {
        if !self.inside.is_empty() {
            let session = self.sessions[session].id.clone();
            self.see(|| Seen::Inside(InsideSeen::StreamMoved { session, progress }));
        }
    }

    pub(super) fn closed(&mut self, session: usize) {
        if !self.inside.is_empty() {
            let session = self.sessions[session].id.clone();
            self.see(|| Seen::Inside(InsideSeen::StreamClosed { session }));
        }
    }

    pub(super) fn busy_fact(&mut self, session: usize, busy: bool) {
        self.fact(Fact::Busy { session: self.sessions[session].id.clone(), busy });
    }

    /// The model's stream is stopped; nothing of it is used any more.
    pub(super) fn stop_stream(&mut self, at: usize) {
        if let Some(stream) = self.runs[at].stream.take() {
            self.effect(Effect::StopModel { stream });
            let session = self.sessions[self.runs[at].session].id.clone();
            self.fact(Fact::ModelDone { session, finish: "aborted".to_owned() });
        }
    }

    pub(super) fn end_text(&mut self, at: usize) {
        let (session, message) = (self.runs[at].session, self.runs[at].reply);
        let Some(part) = self.runs[at].text.take() else { return };
        let now_ms = self.now_ms();
        let trims = self.release.dialect < Dialect::V1_18;
        if let Body::Text { text, end_ms, .. } = &mut self.sessions[session].messages[message].parts[part].body {
            *end_ms = Some(now_ms);
            if trims {
                text.truncate(text.trim_end().len());
            }
        }
        self.part_event(session, message, part);
    }

    fn streaming(&self, stream: u32) -> Option<usize> {
        self.runs.iter().position(|run| run.stream == Some(stream))
    }

    /// Asks for the next model response of a run.
    fn step(&mut self, id: u32, first: bool) {
        let Some(at) = self.run_at(id) else { return };
        let (session, user) = (self.runs[at].session, self.runs[at].user);
        let reply = self.new_message(session, Role::Assistant(Reply { to: user, ..Reply::default() }));
        let run = &mut self.runs[at];
        run.reply = reply;
        run.finish = None;
        run.attempt = 0;
        self.message_event(session, reply, false);
        if first {
            if self.release.dialect == Dialect::V1_0 {
                self.message_event(session, user, true);
            }
            self.sessions[session].summarised = true;
            self.touched(session);
            if self.release.dialect == Dialect::V1_2 {
                self.message_event(session, user, true);
            }
        } else if self.release.dialect == Dialect::V1_18 {
            self.touched(session);
        }
        self.diff_event(session, user, false);
        if self.release.dialect == Dialect::V1_18 {
            self.message_event(session, user, true);
        }
        self.status_event(session, true);
        self.ask_model(id);
    }

    fn ask_model(&mut self, id: u32) {
        let Some(at) = self.run_at(id) else { return };
        let session = self.runs[at].session;
        self.next.stream += 1;
        self.next.response += 1;
        let stream = self.next.stream;
        let of_child = &self.sessions[session];
        let (scripted, nth) = match of_child.parent {
            None => (self.script.get(self.cursor), self.cursor),
            Some(_) => (of_child.script.get(of_child.cursor), of_child.cursor),
        };
        let path = format!("{}{}", of_child.path, nth + 1);
        let response = scripted.cloned().unwrap_or(Response { parts: Vec::new(), finish: Finish::Stop });
        let run = &mut self.runs[at];
        run.stream = Some(stream);
        run.began = false;
        run.called = 0;
        run.open_end = response.finish == Finish::None;
        let call = |turn: &&Turn| matches!(turn, Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) | Turn::Task(_));
        let calls = response.parts.iter().enumerate().filter(|(_, turn)| call(turn));
        run.calls = calls.map(|(at, turn)| (format!("{path}.{at}/"), turn.clone())).collect();
        let answer = run.answer.clone();
        let name = self.sessions[session].id.clone();
        self.fact(Fact::ModelAsked { session: name.clone(), response: self.next.response });
        self.see(|| Seen::Inside(InsideSeen::StreamOpen { session: name }));
        self.effect(Effect::AskModel { stream, path, response, answer });
    }

    fn advance(&mut self, session: usize) {
        match self.sessions[session].parent {
            None if self.repeats == Some(self.cursor) => {}
            None => self.cursor += 1,
            Some(_) => self.sessions[session].cursor += 1,
        }
    }

    fn begin_step(&mut self, at: usize) {
        if std::mem::replace(&mut self.runs[at].began, true) {
            return;
        }
        let (session, message) = (self.runs[at].session, self.runs[at].reply);
        let part = self.new_part(session, message, Body::StepStart);
        self.part_event(session, message, part);
    }

    fn say(&mut self, at: usize, delta: &str) {
        let (session, message) = (self.runs[at].session, self.runs[at].reply);
        let part = match self.runs[at].text {
            Some(part) => part,
            None => {
                let body = Body::Text { text: String::new(), start_ms: self.now_ms(), end_ms: None };
                let part = self.new_part(session, message, body);
                self.runs[at].text = Some(part);
                // 1.0.185 shows a text with its first piece.
                if self.release.dialect > Dialect::V1_0 {
                    self.part_event(session, message, part);
                }
                part
            }
        };
        if let Body::Text { text, .. } = &mut self.sessions[session].messages[message].parts[part].body {
            text.push_str(delta);
        }
        self.delta_event(session, message, part, delta);
    }

    fn diff_event(&mut self, session: usize, user: usize, whole: bool) {
        if whole {
            self.touched(session);
        }
        self.publish("session.diff", Some(session), About::Other, |engine, out| {
            field!(out, "sessionID", &engine.sessions[session].id);
            out.push_str(",\"diff\":[]");
        });
        if whole {
            self.message_event(session, user, true);
        }
    }

    /// A step's end shows tools whose result was not used as aborted, though they run on.
    fn show_orphans_aborted(&mut self, id: u32) {
        let orphan = |tool: &&ToolRun| tool.run == id && tool.orphan;
        let shown: Vec<_> =
            self.tools.iter().filter(orphan).map(|tool| (tool.session, tool.message, tool.part)).collect();
        for (session, message, part) in shown {
            self.show_aborted(session, message, part);
        }
    }

    fn show_aborted(&mut self, session: usize, message: usize, part: usize) {
        let (now_ms, interrupted) = (self.now_ms(), self.release.abort == Abort::Settles);
        let Body::Tool(shown) = &mut self.sessions[session].messages[message].parts[part].body else { return };
        if matches!(shown.state, ToolState::Error { .. }) {
            return;
        }
        shown.state = ToolState::Error { error: ABORTED_TOOL.to_owned(), end_ms: now_ms };
        if interrupted {
            shown.metadata = "\"interrupted\":true".to_owned();
        }
        self.part_event(session, message, part);
    }

    /// Ends every tool of a run that has not ended, and what it started: the processes of a bash, the subagent of a
    /// task.
    pub(super) fn abort_tools(&mut self, id: u32) {
        let mut children = Vec::new();
        while let Some(at) = self.tools.iter().position(|tool| tool.run == id) {
            let tool = self.tools.remove(at);
            if tool.is_bash() {
                self.effect(Effect::Kill { tool: tool.id });
            }
            children.extend(tool.child());
            let is_over = self.run_at(id).is_none_or(|at| !self.runs[at].live);
            if is_over && let Some(text) = self.told_of_abort(&tool) {
                self.fact(Fact::ToolEnded { call: tool.call, error: false, text });
                continue;
            }
            self.fact(Fact::ToolEnded { call: tool.call, error: true, text: ABORTED_TOOL.to_owned() });
            self.show_aborted(tool.session, tool.message, tool.part);
        }
        for child in children {
            self.stop_child(child);
        }
    }
}
