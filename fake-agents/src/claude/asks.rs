//! Asks: questions and permissions that a person or a host must answer, and the interrupts that cancel them.
//!
//! Invariants: every ask that was noted ends once, with its cause; a reply to an ask that is over changes nothing; what
//! a strategy inside decides is attributed to the strategy, never to the user.

use super::calls::{Call, Outcome, State};
use super::engine::{Answerer, Conv, Effect, Engine, Phase};
use super::misfit::misfit;
use super::release::Release;
use super::texts;
use super::writer::Decision;
use crate::agent_host;
use rehang_scenario::{
    VTime,
    turns::{Question, Turn},
};
use rehang_strategy::Acting;
use rehang_strategy::{Act, InsideAct, InsideSeen, Seen};
use rehang_trace::{AskEnd, AskKind, Cause, Fact};
use rehang_wire::claude::Reply;
use serde_json::{Map, Value, json};

/// A pending ask of a call.
#[derive(Debug, Clone, PartialEq, Hash)]
pub(super) struct Ask {
    pub id: String,
    pub kind: AskKind,
}

impl Ask {
    pub fn word(&self) -> &'static str {
        match self.kind {
            AskKind::Question => "question",
            AskKind::Permission => "permission",
        }
    }
}

/// How an ask ends, as recorded in the trace.
struct Ended {
    end: AskEnd,
    cause: Cause,
    by: String,
    answers: Vec<Vec<String>>,
}

impl Engine {
    /// The host replies to an ask. A reply that fits no pending ask is dropped.
    pub fn reply(&mut self, now: VTime, ask: &str, reply: Reply, said: Result<&Value, &str>) {
        if self.callback_replied(now, ask, said) || self.server_replied(now, ask, said) {
            return;
        }
        let Some(call) = self.asking(ask) else { return };
        let user = |end, cause| Ended { end, cause, by: "user".to_owned(), answers: Vec::new() };
        match reply {
            Reply::Allow(input) => self.allowed(now, &call, &input, "user"),
            Reply::Deny { message, interrupt } => {
                self.end_ask(now, &call, user(AskEnd::Rejected, Cause::Dismiss));
                self.denied(&call);
                let outcome = match interrupt && self.config.release == Release::V2_1_329 {
                    true => Outcome::taken_back(self.config.release),
                    false => Outcome::error(&message).because(Decision::RefusedByUser),
                };
                self.finish(now, &call, outcome);
                match interrupt {
                    true => self.interrupt(now, None),
                    false => self.go_on(now, &call),
                }
            }
            Reply::Error(error) => {
                let text = texts::request_failed(&format!("Error: {error}"));
                self.no_reply(now, &call, &text, user(AskEnd::Rejected, Cause::Malformed));
            }
            Reply::Malformed(_) => {
                let text = misfit(self.config.release, said.unwrap_or(&Value::Null));
                self.no_reply(now, &call, &text, user(AskEnd::Rejected, Cause::Malformed));
            }
        }
    }

    /// A person at the terminal answers a question: an answer for each, or none.
    pub fn answer(&mut self, now: VTime, ask: &str, answers: &[Vec<String>]) {
        let Some(call) = self.asking(ask) else { return };
        let input = self.answered_input(&call, answers);
        self.allowed(now, &call, &input, "user");
    }

    /// A person at the terminal permits a tool; `always`: a rule for the session.
    pub fn permit(&mut self, now: VTime, ask: &str, always: bool) {
        let Some(call) = self.asking(ask) else { return };
        let Some(of) = self.calls.iter().find(|c| c.id == call) else { return };
        if always {
            self.config.args.allowed.push(of.name.clone());
        }
        let input = of.input.clone();
        self.allowed(now, &call, &input, "user");
    }

    /// A person at the terminal turns an ask down, which ends the turn.
    pub fn turn_down(&mut self, now: VTime, ask: &str) {
        let Some(call) = self.asking(ask) else { return };
        let ended = Ended { end: AskEnd::Rejected, cause: Cause::Dismiss, by: "user".to_owned(), answers: Vec::new() };
        self.end_ask(now, &call, ended);
        self.denied(&call);
        self.finish(now, &call, Outcome::error(texts::TURNED_DOWN).because(Decision::RefusedByUser));
        self.interrupt(now, None);
    }

    /// The host's stdin has ended, and so has everything that it was asked.
    pub fn stdin_ended(&mut self, now: VTime) {
        self.stdin_open = false;
        self.callbacks_closed(now);
        self.server_gone(now);
        if self.config.answerer != Answerer::Host {
            return;
        }
        for ask in self.pending() {
            let Some(call) = self.asking(&ask) else { continue };
            let by = "shutdown".to_owned();
            let ended = Ended { end: AskEnd::Rejected, cause: Cause::Shutdown, by, answers: Vec::new() };
            if self.ends_with(&call) {
                self.take_back(&ask);
                self.end_ask(now, &call, ended);
                self.abort_after_tools();
                self.finish(now, &call, Outcome::taken_back(self.config.release));
                self.go_on(now, &call);
                continue;
            }
            let why = texts::stream_closed(self.config.release);
            self.end_ask(now, &call, ended);
            self.denied(&call);
            let outcome = Outcome::error(&texts::request_failed(&why)).because(Decision::Lost);
            self.finish(now, &call, outcome);
            self.go_on(now, &call);
        }
    }

    /// Whether a call that its host cannot answer any more ends the turn: that is recorded for the root's questions.
    fn ends_with(&self, call: &str) -> bool {
        let questions = |c: &Call| matches!(c.turn, Some(Turn::Ask(_))) && c.conv == Conv(0);
        self.config.release == Release::V2_1_329 && self.calls.iter().any(|c| c.id == call && questions(c))
    }

    /// The process is about to end: what is pending ends with it.
    pub fn shut_down(&mut self, now: VTime) {
        for ask in self.pending() {
            let Some(call) = self.asking(&ask) else { continue };
            let by = "shutdown".to_owned();
            self.end_ask(now, &call, Ended { end: AskEnd::Rejected, cause: Cause::Shutdown, by, answers: Vec::new() });
        }
    }

    /// SIGINT stops the turn of a run that prints.
    pub fn interrupt_by_signal(&mut self, now: VTime) {
        self.by_signal = true;
        self.interrupt(now, None);
    }

    /// The turn is to stop. `request` is the control request that says so.
    pub fn interrupt(&mut self, now: VTime, request: Option<&str>) {
        let asks = self.pending();
        let mut over = Vec::new();
        for ask in &asks {
            let Some(call) = self.asking(ask) else { continue };
            if self.config.answerer == Answerer::Host {
                let cancel = self.writer.cancel(ask);
                self.effects.push(Effect::Emit(cancel));
            }
            let by = "user".to_owned();
            self.end_ask(now, &call, Ended { end: AskEnd::Rejected, cause: Cause::Stop, by, answers: Vec::new() });
            over.push(call);
        }
        let (unbegun, ending) = (self.hooks.hold_turn(), self.hooks.hold_stop());
        let hooked = self.end_hooks();
        let own = self.end_own_calls();
        if let Some(request) = request {
            let done = self.writer.interrupted(request);
            self.effects.push(Effect::Emit(done));
        }
        if !self.busy() || self.is_aborting() {
            return;
        }
        let root = self.convs[0].phase;
        for i in (0..self.convs.len()).rev() {
            self.stop_conv(now, Conv(i));
        }
        match root {
            Phase::Hooks | Phase::Server => {
                if unbegun {
                    // it begins, only to end
                    self.show_init();
                    self.counted.turns = u32::from(self.config.release == Release::V2_0_77);
                }
                if let Some(text) = ending.filter(|_| self.config.release == Release::V2_1_329) {
                    return self.end_turn(now, Some(&text), None);
                }
                return self.end_interrupted(now);
            }
            Phase::Model | Phase::Backoff => {
                self.show_cut_short();
                return self.end_interrupted(now);
            }
            Phase::Lost => {
                self.abort_after_tools();
                return self.tools_over(now, Conv(0));
            }
            Phase::Tools | Phase::Idle => self.abort_after_tools(),
        }
        let open: Vec<String> = self.calls.iter().map(|c| c.id.clone()).collect();
        for id in open {
            let Some(call) = self.calls.iter().find(|c| c.id == id) else { continue };
            let (state, inner, bash) = (call.state.clone(), call.conv != Conv(0), call.name == "Bash");
            let by_host = self.config.answerer == Answerer::Host;
            match state {
                _ if over.contains(&id) && inner => self.set_state(&id, State::Done),
                _ if over.contains(&id) && by_host => {
                    self.denied(&id);
                    let outcome = Outcome::taken_back(self.config.release);
                    self.finish(now, &id, outcome);
                }
                _ if over.contains(&id) => self.finish(now, &id, Outcome::error(texts::CANCELLED)),
                State::Running if bash => self.effects.push(Effect::Kill { call: id }),
                State::Task(_) => self.finish(now, &id, Outcome::error(texts::INTERRUPTED_TOOL)),
                State::Done => {}
                _ if own.contains(&id) && !inner => {
                    let outcome = Outcome::interrupted_call(self.config.release);
                    self.finish(now, &id, outcome);
                }
                _ if let Some((_, ran)) = hooked.iter().find(|(of, _)| *of == id && !inner) => {
                    self.set_state(&id, State::Stuck);
                    match ran.clone() {
                        Some(_) if self.config.release == Release::V2_1_329 => {
                            let outcome = Outcome::interrupted_call(self.config.release);
                            self.finish(now, &id, outcome);
                        }
                        Some(outcome) => self.finished(&id, outcome),
                        None => self.finish(now, &id, Outcome::interrupted_hook(self.config.release)),
                    }
                }
                _ if inner => self.set_state(&id, State::Done),
                _ => {
                    self.effects.push(Effect::CancelTool { call: id.clone() });
                    self.set_state(&id, State::Stuck);
                    self.finish(now, &id, Outcome::error(texts::CANCELLED));
                }
            }
        }
        self.calls.retain(|c| c.conv == Conv(0));
        self.step_calls(now, Conv(0));
    }

    // --- asking ---

    /// Runs the strategies at the tool's entry; returns whether one of them ended the call.
    pub(super) fn asked_inside(&mut self, now: VTime, call: &str, questions: &[Question]) -> bool {
        if self.inside.is_empty() {
            return false;
        }
        let Some(ask) = self.as_seen(call, call) else { return false };
        let acts = self.inside.see(now, &Seen::Inside(InsideSeen::ToolAsks(ask)));
        let live = self.config.answerer != Answerer::Nobody;
        for acting in acts {
            match acting.act.clone() {
                Act::Inside(InsideAct::AnswerTool { answers, text }) => {
                    let (call, by, questions) = (call.to_owned(), acting.by.clone(), questions.to_vec());
                    let shown = json!({"questions": [], "answers": {}});
                    self.note(Fact::Preempted { call: call.clone(), by, questions, answers, text: text.clone(), live });
                    self.finish(now, &call, Outcome::ok(&text, None, shown));
                }
                Act::Inside(InsideAct::Withhold { text }) => {
                    self.notes_of(&acting);
                    self.finish(now, call, Outcome::error(&text));
                }
                _ => self.act(now, acting),
            }
        }
        self.calls.iter().all(|c| c.id != call || c.state != State::Running)
    }

    /// A person or the host is asked about a call.
    pub(super) fn ask(&mut self, now: VTime, call: &str) {
        if self.config.answerer == Answerer::Host && !self.stdin_open {
            self.denied(call);
            let text = texts::request_failed(texts::stream_gone(self.config.release));
            return self.finish(now, call, Outcome::error(&text).because(Decision::Lost));
        }
        self.counted.requests += 1;
        let id = format!("req_{}", self.counted.requests);
        let Some(seen) = self.as_seen(&id, call) else { return };
        let kind = if seen.permission.is_empty() { AskKind::Question } else { AskKind::Permission };
        self.set_state(call, State::Asking(Ask { id: id.clone(), kind }));
        self.note(Fact::Asked {
            id: id.clone(),
            kind,
            session: seen.session.clone(),
            questions: seen.questions.clone(),
            permission: seen.permission.clone(),
        });
        match self.config.answerer {
            Answerer::Host => {
                let Some(of) = self.calls.iter().find(|c| c.id == call) else { return };
                let input = texts::schema_order(&of.input);
                let agent = (of.conv != Conv(0)).then(|| of.conv.agent_id(self.config.release));
                let request = self.writer.can_use_tool(&id, &of.name, call, &input, agent);
                self.effects.push(Effect::Emit(request));
                self.notice_later(now, call);
            }
            _ => {
                let (questions, permission) = (seen.questions.clone(), seen.permission.clone());
                self.effects.push(Effect::Show { id, questions, permission });
            }
        }
        self.see(now, &Seen::Inside(InsideSeen::Pending(seen)));
    }

    /// The outcome of a person's answers.
    pub(super) fn answer_outcome(&self, call: &str, answers: &[(String, String)]) -> Outcome {
        let input = self.calls.iter().find(|c| c.id == call).map(|c| texts::schema_order(&c.input));
        let mut shown = input.unwrap_or_else(|| json!({}));
        let map: Map<String, Value> = answers.iter().map(|(q, a)| (q.clone(), Value::from(a.as_str()))).collect();
        shown["answers"] = Value::Object(map);
        Outcome::ok(&texts::answered(self.config.release, answers), None, shown)
    }

    fn allowed(&mut self, now: VTime, call: &str, input: &Value, by: &str) {
        let Some(of) = self.calls.iter().find(|c| c.id == call) else { return };
        let Some(Turn::Ask(questions)) = of.turn.clone() else {
            let (by, answers) = (by.to_owned(), Vec::new());
            self.end_ask(now, call, Ended { end: AskEnd::Replied, cause: Cause::Answer, by, answers });
            self.run(now, call, Decision::ByUser);
            return self.go_on(now, call);
        };
        let answers = read_answers(&questions, input);
        let told: Vec<(String, String)> = questions
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| !answer.is_empty())
            .map(|(q, answer)| (q.question.clone(), answer.join(", ")))
            .collect();
        let outcome = self.answer_outcome(call, &told).because(Decision::ByUser);
        let end = if told.is_empty() { AskEnd::Skipped } else { AskEnd::Replied };
        self.end_ask(now, call, Ended { end, cause: Cause::Answer, by: by.to_owned(), answers });
        self.finish(now, call, outcome);
        self.go_on(now, call);
    }

    fn no_reply(&mut self, now: VTime, call: &str, text: &str, ended: Ended) {
        self.end_ask(now, call, ended);
        self.denied(call);
        self.finish(now, call, Outcome::error(text).because(Decision::Lost));
        self.go_on(now, call);
    }

    pub(super) fn go_on(&mut self, now: VTime, call: &str) {
        if let Some(conv) = self.calls.iter().find(|c| c.id == call).map(|c| c.conv) {
            self.step_calls(now, conv);
        }
    }

    fn end_ask(&mut self, now: VTime, call: &str, ended: Ended) {
        let Some(of) = self.calls.iter_mut().find(|c| c.id == call) else { return };
        let State::Asking(Ask { id, .. }) = std::mem::replace(&mut of.state, State::Running) else { return };
        let Ended { end, cause, by, answers } = ended;
        self.note(Fact::AskEnded { id: id.clone(), end, cause, by, answers });
        self.effects.push(Effect::Hide { id: id.clone() });
        self.see(now, &Seen::Inside(InsideSeen::Ended { id }));
    }

    fn stop_conv(&mut self, now: VTime, conv: Conv) {
        let talk = &mut self.convs[conv.0];
        talk.until = None;
        let was = talk.phase;
        if conv != Conv(0) {
            talk.phase = Phase::Idle;
        }
        if conv != Conv(0) && was != Phase::Idle {
            let session = self.convs[conv.0].session.clone();
            self.note(Fact::Busy { session, busy: false });
        }
        if was == Phase::Model {
            self.effects.push(Effect::Abort(conv));
            self.stream_closed(now, conv, "aborted");
        }
    }

    fn asking(&self, ask: &str) -> Option<String> {
        let fits = |state: &State| matches!(state, State::Asking(pending) if pending.id == ask);
        self.calls.iter().find(|c| fits(&c.state)).map(|c| c.id.clone())
    }

    fn pending(&self) -> Vec<String> {
        let id = |state: &State| match state {
            State::Asking(ask) => Some(ask.id.clone()),
            _ => None,
        };
        self.calls.iter().filter_map(|c| id(&c.state)).collect()
    }

    fn as_seen(&self, id: &str, call: &str) -> Option<rehang_strategy::Ask> {
        let of = self.calls.iter().find(|c| c.id == call)?;
        let talk = &self.convs[of.conv.0];
        let (questions, permission) = match of.turn.as_ref()? {
            Turn::Ask(questions) => (questions.clone(), String::new()),
            Turn::Bash(bash) => (Vec::new(), format!("Bash({})", super::calls::shown(bash))),
            Turn::Permit(permit) => (Vec::new(), format!("{}({})", of.name, permit.patterns.join(", "))),
            _ => return None,
        };
        let (id, session, child) = (id.to_owned(), talk.session.clone(), talk.parent.is_some());
        Some(rehang_strategy::Ask { id, session, child, questions, permission })
    }

    fn answered_input(&self, call: &str, answers: &[Vec<String>]) -> Value {
        let Some(of) = self.calls.iter().find(|c| c.id == call) else { return json!({}) };
        let mut input = texts::schema_order(&of.input);
        if let Some(Turn::Ask(questions)) = &of.turn {
            let given = questions.iter().zip(answers).filter(|(_, answer)| !answer.is_empty());
            let map: Map<String, Value> =
                given.map(|(q, answer)| (q.question.clone(), Value::from(answer.join(", ")))).collect();
            input["answers"] = Value::Object(map);
        }
        input
    }

    // --- strategies inside ---

    pub(super) fn act_all(&mut self, now: VTime, acts: Vec<Acting>) {
        for acting in acts {
            self.act(now, acting);
        }
    }

    fn notes_of(&mut self, acting: &Acting) {
        if let Some(fact) = agent_host::fact(acting) {
            self.note(fact);
        }
    }

    fn act(&mut self, now: VTime, acting: Acting) {
        self.notes_of(&acting);
        let by = acting.by;
        match acting.act {
            Act::Say(text) => self.effects.push(Effect::Complain(text)),
            Act::Inside(InsideAct::StripEnv(name)) => self.effects.push(Effect::Strip(name)),
            Act::Inside(InsideAct::Reply { id, answers }) => {
                let Some(call) = self.asking(&id) else { return };
                self.take_back(&id);
                let input = self.answered_input(&call, &answers);
                self.allowed(now, &call, &input, &by);
            }
            Act::Inside(InsideAct::Reject { id, reason, policy }) => self.reject(now, &id, &by, reason, policy),
            Act::Inside(InsideAct::AbortStream { session, fail, text, reject_asks }) => {
                self.abort_stream(now, &session, (fail, &text, reject_asks), &by);
            }
            // those at the tool's entry are carried out there, and nobody submits an answer here or reads events
            Act::Inside(
                InsideAct::AnswerTool { .. }
                | InsideAct::Withhold { .. }
                | InsideAct::Verdict { .. }
                | InsideAct::Publish(_)
                | InsideAct::Note(_),
            )
            | Act::Report(_)
            | Act::Process(_)
            | Act::Protocol(_) => {}
        }
    }

    fn reject(&mut self, now: VTime, id: &str, by: &str, text: &str, policy: bool) {
        let Some(call) = self.asking(id) else { return };
        self.take_back(id);
        let cause = if policy { Cause::Policy } else { Cause::Silence };
        self.end_ask(now, &call, Ended { end: AskEnd::Rejected, cause, by: by.to_owned(), answers: Vec::new() });
        self.denied(&call);
        self.finish(now, &call, Outcome::error(text).because(Decision::RefusedByConfig));
        self.go_on(now, &call);
    }

    fn abort_stream(&mut self, now: VTime, session: &str, how: (bool, &str, bool), by: &str) {
        let (fail, text, reject_asks) = how;
        let Some(i) = self.convs.iter().position(|talk| talk.session == session) else { return };
        if reject_asks {
            let of_session = |ask: &String| {
                self.asking(ask)
                    .and_then(|call| self.calls.iter().find(|c| c.id == call))
                    .is_some_and(|c| c.conv == Conv(i))
            };
            let asks: Vec<String> = self.pending().into_iter().filter(of_session).collect();
            for ask in asks {
                self.reject(now, &ask, by, text, false);
            }
        }
        if self.convs[i].phase == Phase::Model {
            self.effects.push(Effect::Abort(Conv(i)));
            match fail {
                true => {
                    self.stream_closed(now, Conv(i), "aborted");
                    self.give_up(now, Conv(i), text, "aborted", None);
                }
                false => self.drain(now, Conv(i)),
            }
        }
    }

    /// Withdraws what a host was asked.
    fn take_back(&mut self, ask: &str) {
        if self.config.answerer == Answerer::Host {
            let cancel = self.writer.cancel(ask);
            self.effects.push(Effect::Emit(cancel));
        }
    }
}

/// The answers in a reply, a list for each question; those of a multiple choice are joined by commas, or a list.
fn read_answers(questions: &[Question], input: &Value) -> Vec<Vec<String>> {
    let one = |question: &Question| match &input["answers"][&question.question] {
        Value::String(answer) if answer.is_empty() => Vec::new(),
        Value::String(answer) if question.multiple => answer.split(", ").map(str::to_owned).collect(),
        Value::String(answer) => vec![answer.clone()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    questions.iter().map(one).collect()
}
