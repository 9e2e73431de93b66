//! The persona itself: prompts, the model's items and tools' ends come in; texts and effects go out. No I/O, no clock.
//!
//! A conversation is the root's or a subagent's; the last one on the stack is the one that runs. Tool calls are in
//! `calls`.
//!
//! Invariants: one prompt at a time; a tool call has exactly one result; the only instants that are kept are deadlines.

use super::args::{Approval, Args, Format};
use super::calls::{Call, tool_call};
use super::events::{self, Counts};
use super::release::{Release, SAME_CALLS_MAX};
use super::settings;
use super::shell::ShellEnd;
use rehang_scenario::turns::{Bash, Finish, Question, Response, Turn, responses};
use rehang_scenario::{Canon, Span, ToolDoes, VTime};
use rehang_trace::Fact;
use rehang_wire::model::script::{Chunk, Item, chunks};
use rehang_wire::model::{Message, ModelEvent, ModelRequest, Part, Tool, ToolCall};
use serde_json::Value;

/// What a session is started with.
pub(super) struct Config {
    pub release: &'static Release,
    pub args: Args,
    /// What the model does.
    pub turns: Vec<Turn>,
    /// The faults of tool calls, by the calls' numbers.
    pub tool_faults: Vec<(u32, ToolDoes)>,
    /// The scripted response, from 0, that the model repeats for ever.
    pub repeats: Option<usize>,
    /// How many turns of the model a prompt may take, if the settings say that (`model.maxSessionTurns`).
    pub turns_max: Option<usize>,
}

/// An effect that the world around is to carry out.
#[derive(Debug, Clone, PartialEq, Hash)]
pub(super) enum Effect {
    /// A text for stdout.
    Out(String),
    /// A line for stderr.
    Complain(String),
    /// A fact for the trace.
    Note(Fact),
    /// The model is asked.
    Ask,
    /// A command is to run.
    Shell { call: String, bash: Box<Bash> },
    /// A person at the terminal is asked; no questions: for a permission.
    Show { id: String, questions: Vec<Question>, permission: String },
    /// The run is over, with this exit code.
    Over(u8),
}

/// The state machine of one process.
pub(super) struct Engine {
    pub(super) config: Config,
    pub(super) effects: Vec<Effect>,
    pub(super) talks: Vec<Talk>,
    pub(super) calls: Vec<Call>,
    pub(super) counts: Counts,
    /// A person is at a terminal.
    pub(super) session: bool,
    phase: Phase,
    until: Option<VTime>,
    /// How often this request was refused, and how often its response was cut.
    tries: usize,
    cuts: usize,
    now: Spoken,
    /// The last call, how often it was made one after the other, and whether the model was warned of that.
    same: (String, u32, bool),
    /// Whether it says at its end that it ended for that.
    warned: bool,
    /// What `-o json` prints at the end.
    said: String,
    /// Whether the last text on stdout ended with a line's end.
    at_line_start: bool,
}

/// A conversation.
#[derive(Debug, Clone)]
pub(super) struct Talk {
    /// The session's name in facts.
    pub session: String,
    /// The call that a subagent belongs to.
    pub parent: Option<String>,
    /// The place of its script in the plan (`2.1/`); empty for the root.
    pub path: String,
    pub script: Vec<Response>,
    /// The index of the response that is being given, or comes next, from 0.
    pub nth: usize,
    /// What the last tool call told the model.
    pub answer: String,
    /// The conversation in the form of the model's API.
    pub messages: Vec<Message>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Model,
    Backoff,
    Tools,
    /// A tool's result was lost: it waits for something that never comes.
    Lost,
}

/// The part of a response that has come so far.
#[derive(Debug, Clone, Hash, Default)]
struct Spoken {
    text: String,
    /// The last piece of it: that is the last text in an event.
    piece: String,
    calls: Vec<ToolCall>,
    finish: Option<Finish>,
}

impl Engine {
    /// A process that waits for its prompt.
    pub fn new(config: Config) -> Engine {
        let script = responses(&config.turns);
        let root = Talk {
            session: "ses_1".to_owned(),
            parent: None,
            path: String::new(),
            script,
            nth: 0,
            answer: String::new(),
            messages: Vec::new(),
        };
        Engine {
            config,
            effects: Vec::new(),
            talks: vec![root],
            calls: Vec::new(),
            counts: Counts::default(),
            session: false,
            phase: Phase::Idle,
            until: None,
            tries: 0,
            cuts: 0,
            now: Spoken::default(),
            same: (String::new(), 0, false),
            warned: false,
            said: String::new(),
            at_line_start: true,
        }
    }

    /// The effects to carry out, in order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether a prompt is being worked on.
    pub fn busy(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// What it waits for, in one word.
    pub fn waits_on(&self) -> &'static str {
        match self.phase {
            Phase::Idle => "message",
            Phase::Model | Phase::Backoff => "model",
            Phase::Tools => self.calls.iter().rev().find_map(Call::waits_on).unwrap_or("tool"),
            Phase::Lost => "tool",
        }
    }

    /// When [`Engine::tick`] is due, if at all.
    pub fn deadline(&self) -> Option<VTime> {
        self.until
    }

    /// The wait before the next try is over.
    pub fn tick(&mut self) {
        self.until = None;
        self.ask_model();
    }

    /// A prompt.
    pub fn prompt(&mut self, text: &str) {
        let session = self.talks[0].session.clone();
        if self.counts.prompts == 0 {
            self.note(Fact::Session { id: session.clone(), parent: String::new() });
            let init = events::init(self.config.release);
            self.event(init);
        }
        self.counts.prompts += 1;
        self.same = (String::new(), 0, false);
        self.note(Fact::Busy { session, busy: true });
        self.event(events::prompt(text));
        self.talks[0].messages.push(Message::text("user", text));
        self.takes_turn();
    }

    /// What the scripted model says, before faults.
    pub fn chunks(&mut self) -> Vec<Chunk> {
        let release = self.config.release;
        let counts = &mut self.counts;
        let talk = &self.talks[self.talks.len() - 1];
        let Some(response) = talk.script.get(talk.nth) else {
            return vec![Chunk::Event(ModelEvent::Finish(Finish::Stop))];
        };
        chunks(response, str::to_owned, |turn| {
            counts.ids += 1;
            tool_call(turn, &format!("call_{}", counts.ids), release)
        })
    }

    /// What is asked of a real model server, and the path of the scripted response that belongs to it.
    pub fn model_request(&self) -> (ModelRequest, String) {
        let talk = &self.talks[self.talks.len() - 1];
        let tool = |name: &&str| Tool { name: (*name).to_owned(), ..Tool::default() };
        let request = ModelRequest {
            model: self.config.release.model.to_owned(),
            stream: true,
            tools: self.tools().iter().map(tool).collect(),
            messages: talk.messages.clone(),
        };
        (request, format!("{}{}", talk.path, talk.nth + 1))
    }

    /// An item of the model's stream.
    pub fn model(&mut self, now: VTime, item: Item) {
        if self.phase != Phase::Model {
            return;
        }
        let session = self.talk().session.clone();
        match item {
            Item::Event(ModelEvent::TextDelta(text)) => {
                let text = text.replace("{answer}", &self.talk().answer);
                self.now.text.push_str(&text);
                self.now.piece.clone_from(&text);
                self.note(Fact::ModelSaid { session, text: text.clone() });
                if self.talk().parent.is_none() {
                    self.says(&text);
                }
            }
            Item::Event(ModelEvent::ToolCall(mut call)) => {
                // A model server names tools as it likes; the tool that is called is the one in the script.
                let scripted = self.scripted(self.now.calls.len());
                if let Some(known) = scripted.and_then(|(_, turn)| tool_call(&turn, &call.id, self.config.release)) {
                    call = known;
                }
                if self.talk().parent.is_none() && self.loops(&call) {
                    return self.looped(now, &call);
                }
                if self.talk().parent.is_none() {
                    let event = events::tool_use(&call);
                    self.event(event);
                }
                self.now.calls.push(call);
                self.note(Fact::ModelSaid { session, text: String::new() });
            }
            Item::Event(ModelEvent::Finish(finish)) => self.now.finish = Some(finish),
            Item::Event(ModelEvent::Error { status, .. }) => self.refused(now, status.max(500)),
            Item::Event(ModelEvent::Start | ModelEvent::KeepAlive) | Item::KeepAlive | Item::Compacting(_) => {}
            Item::Ended { .. } => self.stream_ended(now),
            Item::Reset => self.stream_lost(now, events::TERMINATED),
            Item::Status(status) => self.refused(now, status),
        }
    }

    /// The model's stream was silent for longer than undici waits, which closes it.
    pub fn model_silent(&mut self, now: VTime) {
        if self.phase == Phase::Model {
            self.stream_lost(now, events::TERMINATED);
        }
    }

    /// A command ended.
    pub fn shell_ended(&mut self, id: &str, end: &ShellEnd) {
        let (told, shown, error) = events::shell(self.config.release, self.counts.tools, self.command(id), end);
        self.finish(id, told, shown, error);
        self.step_calls();
    }

    /// A signal or Ctrl-C ends it: what is pending ends with it.
    pub fn shut_down(&mut self, cancelled: bool) {
        self.drop_asks();
        if cancelled && self.busy() {
            let event = events::cancelled(self.config.release, &self.counts);
            self.event(event);
            self.note(Fact::Result { ok: false, text: events::CANCELLED.to_owned() });
        }
        self.phase = Phase::Idle;
        self.until = None;
    }

    /// Writes all that a later transition can read.
    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            config: _, // not compared: it never changes
            effects,
            talks,
            calls,
            counts,
            session,
            phase,
            until,
            tries,
            cuts,
            now,
            same,
            warned,
            said,
            at_line_start,
        } = self;
        canon.list(talks, |canon, talk| {
            let Talk {
                session,
                parent,
                path,
                script: _, // not compared: it is the plan's at `path`
                nth,
                answer,
                messages,
            } = talk;
            canon.value(&(session, parent, path, nth, answer, messages));
        });
        // `Hash` writes the whole of each.
        canon.value(&(effects, calls, counts, session, phase, tries, cuts, now, same, warned, said, at_line_start));
        canon.deadline(*until);
    }

    // --- the turn ---

    pub(super) fn talk(&self) -> &Talk {
        &self.talks[self.talks.len() - 1]
    }

    /// The tool's turn in the script: the `k`-th of the response that is being given, and which part of it that is.
    pub(super) fn scripted(&self, k: usize) -> Option<(usize, Turn)> {
        let talk = self.talk();
        let calls = |turn: &Turn| matches!(turn, Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) | Turn::Task(_));
        let parts = &talk.script.get(talk.nth)?.parts;
        parts.iter().enumerate().filter(|(_, turn)| calls(turn)).nth(k).map(|(at, turn)| (at, turn.clone()))
    }

    pub(super) fn ask_model(&mut self) {
        self.counts.asked += 1;
        self.phase = Phase::Model;
        self.now = Spoken::default();
        let (session, response) = (self.talk().session.clone(), self.counts.asked);
        self.note(Fact::ModelAsked { session, response });
        self.effects.push(Effect::Ask);
    }

    /// All calls of a response have ended.
    pub(super) fn tools_over(&mut self) {
        let root = self.talk().parent.is_none();
        let calls: Vec<Call> = self.calls.extract_if(.., |call| call.depth + 1 == self.talks.len()).collect();
        let mut parts = Vec::new();
        for call in &calls {
            if root {
                let event = events::tool_result(call);
                self.event(event);
                if let Some(error) = &call.error {
                    let text = if error.message.is_empty() { &call.told } else { &error.message };
                    self.effects.push(Effect::Complain(format!("Error executing tool {}: {text}", call.name)));
                }
            }
            parts.push(Part::Result { id: call.id.clone(), text: call.told.clone(), is_error: call.error.is_some() });
        }
        let at = self.talks.len() - 1;
        self.talks[at].messages.push(Message { role: "user".to_owned(), parts });
        self.next_response();
        match root {
            true => self.takes_turn(),
            false => self.ask_model(),
        }
    }

    /// Asks the model for another turn, unless there were as many as the settings allow.
    fn takes_turn(&mut self) {
        let taken = self.talks[0].messages.iter().filter(|message| message.role == "assistant").count();
        if self.config.turns_max.is_none_or(|max| self.session || taken < max) {
            return self.ask_model();
        }
        let said = Some(events::TURNS_TYPE);
        self.end(Ending::Error { said, text: events::TURNS.to_owned(), code: settings::TURNS });
    }

    /// Whether the model makes this call once too often.
    fn loops(&mut self, call: &ToolCall) -> bool {
        let made = format!("{}{}", call.name, call.input);
        match self.same.0 == made {
            true => self.same.1 += 1,
            false => (self.same.0, self.same.1) = (made, 1),
        }
        self.same.1 >= SAME_CALLS_MAX
    }

    /// The model has made a call once too often: its response is dropped, and the run is over, as a success. A release
    /// that warns asks once more before.
    fn looped(&mut self, now: VTime, call: &ToolCall) {
        self.stream_closed("none");
        if self.config.release.warns_of_loop && !std::mem::replace(&mut self.same.2, true) {
            self.talks[0].messages.push(Message::text("user", &events::looped(call)));
            return self.wait_for(now, Span::ZERO);
        }
        self.event(events::warning(events::LOOP));
        self.warned = true;
        let text = std::mem::take(&mut self.now.text);
        self.end(Ending::Success(text));
    }

    /// A subagent has ended: its parent's calls go on.
    pub(super) fn back_to_tools(&mut self) {
        self.phase = Phase::Tools;
        self.until = None;
    }

    pub(super) fn lose(&mut self) {
        self.phase = Phase::Lost;
    }

    fn next_response(&mut self) {
        let repeats = self.config.repeats;
        let at = self.talks.len() - 1;
        let talk = &mut self.talks[at];
        if talk.parent.is_some() || repeats != Some(talk.nth) {
            talk.nth += 1;
        }
    }

    fn stream_ended(&mut self, now: VTime) {
        let nothing = self.now.text.is_empty();
        if self.now.calls.is_empty() && (self.now.finish.is_none() || nothing) {
            return self.cut(now, if nothing { events::EMPTY } else { events::NO_FINISH });
        }
        let finish = match self.now.finish {
            Some(Finish::Stop) => "stop",
            Some(Finish::ToolCalls) => "tool-calls",
            Some(Finish::Unknown) => "unknown",
            Some(Finish::None) | None => "none",
        };
        self.stream_closed(finish);
        (self.tries, self.cuts) = (0, 0);
        self.counts.responses += 1;
        let spoken = std::mem::take(&mut self.now);
        let text = (!spoken.text.is_empty()).then(|| Part::Text(spoken.text.clone()));
        let parts = text.into_iter().chain(spoken.calls.iter().cloned().map(Part::Call)).collect();
        let at = self.talks.len() - 1;
        self.talks[at].messages.push(Message { role: "assistant".to_owned(), parts });
        if !spoken.calls.is_empty() {
            self.phase = Phase::Tools;
            self.ensure_line();
            return self.begin_calls(spoken.calls);
        }
        self.next_response();
        match self.talk().parent.clone() {
            Some(call) => self.subagent_ended(&call, &spoken.text, None),
            None => {
                let events = self.format() == Some(Format::StreamJson);
                self.end(Ending::Success(if events { spoken.piece } else { spoken.text }));
            }
        }
    }

    fn stream_closed(&mut self, finish: &str) {
        let session = self.talk().session.clone();
        self.note(Fact::ModelDone { session, finish: finish.to_owned() });
    }

    /// A response without its end, or without content: it is asked for again, or given up.
    fn cut(&mut self, now: VTime, why: &str) {
        self.stream_closed("none");
        if self.waits_for_another(now) {
            return;
        }
        match self.config.release.says_cut {
            true => {
                self.event(events::error(why));
                self.give_up(Ending::Error { said: None, text: why.to_owned(), code: 0 });
            }
            false => self.give_up(Ending::Success(self.now.text.clone())),
        }
    }

    fn stream_lost(&mut self, now: VTime, why: &str) {
        self.stream_closed("error");
        if self.config.release.asks_again_if_lost && self.waits_for_another(now) {
            return;
        }
        self.failed(&format!("[API Error: {why}]"), 1);
    }

    /// Waits before the response is asked for again, unless that was done as often as the release does it.
    fn waits_for_another(&mut self, now: VTime) -> bool {
        let Some(&wait) = self.config.release.cut.get(self.cuts) else { return false };
        self.cuts += 1;
        self.wait_for(now, wait);
        true
    }

    fn refused(&mut self, now: VTime, status: u16) {
        self.stream_closed("error");
        let release = self.config.release;
        let max = match status {
            429 => release.refused_429,
            500.. => release.refused.len(),
            _ => 0,
        };
        if let Some(&wait) = release.refused[..max].get(self.tries) {
            self.tries += 1;
            let line = format!("Attempt {} failed with status {status}. Retrying with backoff...", self.tries);
            self.effects.push(Effect::Complain(line));
            return self.wait_for(now, wait);
        }
        // An exit code has eight bits.
        let [_, code] = status.to_be_bytes();
        let code = release.exit_429.filter(|_| status == 429).unwrap_or(code);
        self.failed(&events::api_error(release, status), code);
    }

    fn wait_for(&mut self, now: VTime, wait: Span) {
        self.phase = Phase::Backoff;
        self.until = Some(now + wait);
    }

    fn failed(&mut self, text: &str, code: u8) {
        match self.config.release.says_error {
            true => {
                let kind = self.config.release.error_type;
                self.give_up(Ending::Error { said: Some(kind), text: text.to_owned(), code });
            }
            false => self.give_up(Ending::Success(self.now.text.clone())),
        }
    }

    fn give_up(&mut self, ending: Ending) {
        (self.tries, self.cuts) = (0, 0);
        match (self.talk().parent.clone(), ending) {
            (Some(call), Ending::Success(text)) => self.subagent_ended(&call, &text, None),
            (Some(call), Ending::Error { text, .. }) => self.subagent_ended(&call, &text, Some("execution_failed")),
            (None, ending) => self.end(ending),
        }
    }

    /// The prompt has been worked on.
    fn end(&mut self, ending: Ending) {
        self.phase = Phase::Idle;
        let (ok, text, code) = match &ending {
            Ending::Success(text) => (true, text.clone(), 0),
            Ending::Error { text, code, .. } => (false, text.clone(), *code),
        };
        let release = self.config.release;
        match (self.format(), &ending) {
            (Some(Format::StreamJson), Ending::Success(_)) => self.event(events::success(release, &self.counts)),
            (Some(Format::StreamJson), Ending::Error { said, text, .. }) => {
                let event = events::failure(release, &self.counts, said.map(|kind| (kind, text.as_str())));
                self.event(event);
            }
            (Some(Format::Json), Ending::Error { said: Some(kind), text, code }) => {
                let object = events::json_failure(release, kind, text, *code);
                self.effects.push(Effect::Complain(object));
            }
            (Some(Format::Json), _) => {
                let object = events::json(release, &self.counts, &self.said, self.warned);
                self.effects.push(Effect::Out(object));
            }
            (Some(Format::Text), Ending::Error { said: Some(_), text, .. }) => {
                self.effects.push(Effect::Complain(text.clone()));
            }
            (Some(Format::Text), _) => self.ensure_line(),
            (None, Ending::Error { text, .. }) => self.effects.push(Effect::Out(format!("✕ {text}\n"))),
            (None, _) => self.ensure_line(),
        }
        self.note(Fact::Result { ok, text });
        let session = self.talks[0].session.clone();
        self.note(Fact::Busy { session, busy: false });
        self.effects.push(Effect::Over(code));
    }

    // --- out ---

    /// The format of stdout; `None`: a person reads it.
    fn format(&self) -> Option<Format> {
        (!self.session).then_some(self.config.args.output)
    }

    pub(super) fn note(&mut self, fact: Fact) {
        self.effects.push(Effect::Note(fact));
    }

    pub(super) fn event(&mut self, event: Value) {
        if self.format() == Some(Format::StreamJson) {
            self.effects.push(Effect::Out(format!("{event}\n")));
        }
    }

    fn says(&mut self, text: &str) {
        match self.format() {
            Some(Format::StreamJson) => self.event(events::said(text)),
            Some(Format::Json) => self.said.push_str(text),
            Some(Format::Text) | None if text.is_empty() => {}
            Some(Format::Text) | None => {
                self.at_line_start = text.ends_with('\n');
                self.effects.push(Effect::Out(text.to_owned()));
            }
        }
    }

    fn ensure_line(&mut self) {
        if !std::mem::replace(&mut self.at_line_start, true) {
            self.effects.push(Effect::Out("\n".to_owned()));
        }
    }

    /// Whether everything runs without asking.
    pub(super) fn is_yolo(&self) -> bool {
        self.config.args.approval == Approval::Yolo
    }
}

/// How a prompt ended.
enum Ending {
    Success(String),
    /// `said`: the error's type, if the result has one.
    Error {
        said: Option<&'static str>,
        text: String,
        code: u8,
    },
}
