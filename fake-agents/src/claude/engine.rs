//! The persona itself: prompts, model events and tools' ends come in; messages and effects go out. No I/O, no clock.
//!
//! A conversation is the root's or a subagent's; each asks its model, runs the tools that it calls, and asks again, until
//! a response calls none. Streams are in `stream`, tools in `calls`, asks in `asks`.
//!
//! Invariants: one turn of the root at a time, later prompts wait; a tool call has exactly one result; the only
//! instants that are kept are deadlines.
//!
//! `asks`, `calls` and `stream` hold its methods, by subject: four files of one state machine, which know each other.

use super::args::{Args, Mode};
use super::calls::{Call, tool_call};
use super::hooks::{Command, Gate, Hooks, Reason, of_settings};
use super::own_server::OwnServer;
use super::release::Release;
use super::stream::{Spoken, stop_reason};
use super::texts;
use super::writer::{self, Ending, Server, Writer};
use crate::agent_host::AgentHost;
use rehang_scenario::{
    Canon, ToolDoes, ToolServer, VTime, canon,
    turns::{Bash, Finish, Question, Response, Turn, responses},
};
use rehang_strategy::Acting;
use rehang_strategy::{InsideSeen, Seen};
use rehang_trace::Fact;
use rehang_wire::model::{
    Message, ModelEvent, ModelRequest, Part, Tool,
    script::{Chunk, chunks},
};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// A conversation: its place in the order in which they began. The root is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conv(pub usize);

impl Conv {
    /// A subagent's id on the wire.
    pub(super) fn agent_id(self, release: Release) -> String {
        if release.tells_of_subagents() { format!("a{:016}", self.0) } else { format!("a{:06}", self.0) }
    }
}

/// Who can answer an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answerer {
    /// Nobody: `-p` without a permission prompt tool.
    Nobody,
    /// The host, over the control protocol.
    Host,
    /// A person at the terminal.
    Person,
}

/// What a session is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// The release that it plays.
    pub release: Release,
    /// The command line that was given.
    pub args: Args,
    /// Who can answer.
    pub answerer: Answerer,
    /// What the model does.
    pub turns: Vec<Turn>,
    /// The faults of tool calls, by the calls' numbers.
    pub tool_faults: Vec<(u32, ToolDoes)>,
    /// The scripted response, from 0, that the model repeats for ever.
    pub repeats: Option<usize>,
    /// The tool server that it is configured to use.
    pub tools: Option<ToolServer>,
}

/// An effect that the world around is to carry out.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// A message goes out.
    Emit(Value),
    /// A person at the terminal is asked.
    Show {
        /// The id of the ask.
        id: String,
        /// The questions; empty for a permission.
        questions: Vec<Question>,
        /// The permission; empty for a question.
        permission: String,
    },
    /// An ask that was shown has ended.
    Hide {
        /// The id of the ask.
        id: String,
    },
    /// The model is asked.
    Ask(Conv),
    /// The model's stream is given up.
    Abort(Conv),
    /// A command is to run.
    Bash {
        /// The id of the call.
        call: String,
        /// The command that is to run.
        bash: Box<Bash>,
    },
    /// The tool of the tool server is to be called.
    CallTool {
        /// The id of the call.
        call: String,
    },
    /// A call of the tool server's tool is given up.
    CancelTool {
        /// The id of the call.
        call: String,
    },
    /// A command is to be ended at once, by SIGKILL.
    Kill {
        /// The id of the call.
        call: String,
    },
    /// A hook's command is to run, is told this, and has until then.
    Hook {
        /// Its number.
        id: u32,
        /// The command.
        command: Box<Command>,
        /// What it reads on its stdin.
        told: String,
        /// When it is given up.
        until: VTime,
    },
    /// A hook's command is given up with its turn.
    KillHook {
        /// Its number.
        id: u32,
    },
    /// A fact for the trace.
    Note(Fact),
    /// A line for stderr.
    Complain(String),
    /// A variable is withheld from children.
    Strip(&'static str),
}

impl Hash for Effect {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        discriminant(self).hash(hasher);
        match self {
            Effect::Emit(message) => canon::json(message, hasher),
            // few, and none while it rests
            effect => format!("{effect:?}").hash(hasher),
        }
    }
}

/// The state machine of one process.
pub struct Engine {
    pub(super) config: Config,
    pub(super) mode: Mode,
    pub(super) writer: Writer,
    pub(super) inside: AgentHost,
    pub(super) effects: Vec<Effect>,
    pub(super) convs: Vec<Talk>,
    pub(super) calls: Vec<Call>,
    pub(super) counted: Counted,
    pub(super) denials: Vec<Value>,
    pub(super) hooks: Hooks,
    pub(super) stdin_open: bool,
    /// The commands that are called tasks at a given instant, unless they have ended by then.
    pub(super) tasks_due: Vec<(String, VTime)>,
    /// The commands that run in the background, with their tasks' numbers and what they are called.
    pub(super) background: Vec<(String, u32, String)>,
    /// Whether the turn was begun by the end of such a command.
    pub(super) notified: bool,
    queue: VecDeque<Prompt>,
    pub(super) initialized: bool,
    /// The host has ended the session.
    pub(super) ends: bool,
    aborting: bool,
    failed: bool,
    /// 2.0.77 asks its model once more after a turn that has taken prompts up.
    pub(super) owes_response: bool,
    /// How its tool server is.
    pub(super) server: Server,
    /// The tool server of its client.
    pub(super) own: Option<OwnServer>,
    /// Whether SIGINT has stopped a turn.
    pub(super) by_signal: bool,
}

/// Counters that give ids and totals.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Counted {
    pub sessions: u32,
    pub messages: u32,
    pub calls: u32,
    pub requests: u32,
    pub tools: u32,
    pub asked: u32,
    pub results: u32,
    pub turns: u32,
    pub responses: u32,
    pub tasks: u32,
    pub subagents: (u32, u32),
    /// Whether a word or a call of this turn came over a stream.
    pub streamed: bool,
}

/// The state of a conversation.
#[derive(Debug, Clone)]
pub(super) struct Talk {
    /// The session's name in facts.
    pub session: String,
    /// The id of the subagent's tool call.
    pub parent: Option<String>,
    /// The place of its script in the plan (`2.1/`); empty for the root.
    pub path: String,
    pub script: Vec<Response>,
    /// The index of the response that is being given, or comes next, from 0.
    pub nth: usize,
    /// What the last tool call told the model.
    pub answer: String,
    pub phase: Phase,
    pub until: Option<VTime>,
    /// The conversation in the form of the model's API.
    pub messages: Vec<Message>,
    /// The tools that its model has called.
    pub called: Vec<String>,
    /// How often this response has failed.
    pub tries: u32,
    /// Whether it was cut.
    pub cut: bool,
    /// Whether it is asked for as one message, not as a stream.
    pub whole: bool,
    pub now: Spoken,
}

/// The reason of a turn that a hook kept from beginning: no word of any release.
pub(super) const BLOCKED: &str = "blocked";

/// A prompt that waits for its turn.
#[derive(Debug, Clone)]
struct Prompt {
    blocks: Vec<Value>,
    /// It is the agent's own, about a command in the background.
    notifies: bool,
}

impl Hash for Prompt {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Prompt { blocks, notifies } = self;
        notifies.hash(hasher);
        canon::jsons(blocks, hasher);
    }
}

/// What a conversation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// It waits for a prompt.
    Idle,
    /// It waits for the model.
    Model,
    /// It waits for the end of a pause before the next try.
    Backoff,
    /// It waits for its tools.
    Tools,
    /// It waits for hooks, before its first request or before its end.
    Hooks,
    /// A prompt waits for the tool server of its client.
    Server,
    /// It waits for something that never comes: a tool's result was lost.
    Lost,
}

impl Engine {
    /// A session that waits for its first prompt.
    pub fn new(config: Config, inside: AgentHost) -> Engine {
        let mut engine = Engine {
            mode: config.args.mode,
            writer: Writer::new(config.release, "ses_1"),
            inside,
            effects: Vec::new(),
            convs: Vec::new(),
            calls: Vec::new(),
            counted: Counted::default(),
            denials: Vec::new(),
            hooks: Hooks::new(config.args.settings.as_deref().map(of_settings).unwrap_or_default()),
            stdin_open: true,
            tasks_due: Vec::new(),
            background: Vec::new(),
            notified: false,
            queue: VecDeque::new(),
            initialized: false,
            ends: false,
            aborting: false,
            failed: false,
            owes_response: false,
            server: Server::Failed,
            own: None,
            by_signal: false,
            config,
        };
        let turns = engine.config.turns.clone();
        engine.begin_conv(None, String::new(), &turns);
        engine
    }

    /// The effects to carry out, in order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Tells the strategies inside that the agent starts.
    pub fn boot(&mut self, now: VTime, env: Vec<(String, String)>, stdin_tty: bool) {
        let run = self.config.answerer == Answerer::Nobody;
        self.see(now, &Seen::Inside(InsideSeen::Boot { env, stdin_tty, run, listens: false }));
        self.hooked(now, Gate::Start);
    }

    /// There is a terminal: its user answers, unless a host was named.
    pub fn person_answers(&mut self) {
        if self.config.answerer == Answerer::Nobody {
            self.config.answerer = Answerer::Person;
        }
    }

    /// A prompt that consists of content blocks.
    pub fn prompt(&mut self, now: VTime, blocks: Vec<Value>) {
        self.queue.push_back(Prompt { blocks, notifies: false });
        self.pump(now);
    }

    /// A prompt of the agent's own: what it has heard of a command in the background.
    pub(super) fn notify(&mut self, now: VTime, text: &str) {
        let blocks = vec![json!({"type": "text", "text": text})];
        self.queue.push_back(Prompt { blocks, notifies: true });
        self.pump(now);
    }

    /// Whether a turn is running.
    pub fn busy(&self) -> bool {
        self.convs[0].phase != Phase::Idle
    }

    /// Whether the last result was an error.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Whether SIGINT has stopped a turn.
    pub fn by_signal(&self) -> bool {
        self.by_signal
    }

    /// How many turns have ended.
    pub fn results(&self) -> u32 {
        self.counted.results
    }

    /// What it waits for, in one word.
    pub fn waits_on(&self) -> &'static str {
        if let Some(word) = self.hooks.waits_on() {
            return word;
        }
        if matches!(self.convs[0].phase, Phase::Idle | Phase::Server) {
            return "message";
        }
        if let Some(word) = self.calls.iter().find_map(Call::waits_on) {
            return word;
        }
        let model = self.convs.iter().any(|c| matches!(c.phase, Phase::Model | Phase::Backoff));
        if model { "model" } else { "tool" }
    }

    /// When [`Engine::tick`] is due, if at all.
    pub fn deadline(&self) -> Option<VTime> {
        let tasks = self.tasks_due.iter().map(|(_, at)| *at);
        self.convs
            .iter()
            .filter_map(|c| c.until)
            .chain(tasks)
            .chain(self.hooks.deadline())
            .chain(self.own.as_ref().and_then(OwnServer::deadline))
            .chain(self.inside.deadline())
            .min()
    }

    /// Processes the deadlines that have come.
    pub fn tick(&mut self, now: VTime) {
        for i in 0..self.convs.len() {
            if self.convs[i].phase == Phase::Backoff && self.convs[i].until.is_some_and(|at| at <= now) {
                self.convs[i].until = None;
                self.ask_model(now, Conv(i));
            }
        }
        self.begin_tasks(now);
        self.give_up_callbacks(now);
        self.give_notice(now);
        self.tick_server(now);
        let acts = self.inside.tick(now);
        self.act_all(now, acts);
    }

    /// What the scripted model says to a conversation, before faults.
    pub fn chunks(&mut self, conv: Conv) -> Vec<Chunk> {
        let talk = &self.convs[conv.0];
        let Some(response) = talk.script.get(talk.nth).cloned() else {
            return vec![Chunk::Event(ModelEvent::Finish(Finish::Stop))];
        };
        let (calls, release) = (&mut self.counted.calls, self.config.release);
        chunks(&response, str::to_owned, |turn| {
            *calls += 1;
            tool_call(release, turn, &format!("toolu_{calls}"))
        })
    }

    /// What is asked of a real model server, and the path of the scripted response that belongs to it.
    pub fn model_request(&self, conv: Conv) -> (ModelRequest, String) {
        let talk = &self.convs[conv.0];
        let tool = |name: &String| Tool { name: name.clone(), ..Tool::default() };
        let request = ModelRequest {
            model: self.config.release.model().to_owned(),
            stream: true,
            tools: self.tools().iter().map(tool).collect(),
            messages: talk.messages.clone(),
        };
        (request, format!("{}{}", talk.path, talk.nth + 1))
    }

    /// Writes all that a later transition can read.
    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            config,
            mode,
            writer,
            inside,
            effects,
            convs,
            calls,
            counted,
            denials,
            hooks,
            stdin_open,
            tasks_due,
            background,
            notified,
            queue,
            initialized,
            ends,
            aborting,
            failed,
            owes_response,
            server,
            own,
            by_signal,
        } = self;
        let Config {
            release: _, // not compared: it never changes
            args,
            answerer,
            turns: _,       // not compared: they never change
            tool_faults: _, // not compared: they never change; the calls are counted
            repeats: _,     // not compared: it never changes
            tools: _,       // not compared: it never changes
        } = config;
        canon.num(*server as u64).flag(own.is_some());
        own.iter().for_each(|own| own.canon(canon));
        hooks.canon(canon);
        inside.canon(canon);
        writer.canon(canon);
        canon.list(convs, |canon, talk| {
            let Talk {
                session,
                parent,
                path,
                script: _, // not compared: it is the plan's at `path`
                nth,
                answer,
                phase,
                until,
                messages,
                called,
                tries,
                cut,
                whole,
                now,
            } = talk;
            canon.deadline(*until);
            let state = (session, parent, path, nth, answer, phase, messages, called, tries, cut, whole, now);
            canon.value(&state);
        });
        canon.list(tasks_due, |canon, (call, at)| {
            canon.text(call).deadline(Some(*at));
        });
        // `Hash` writes the whole of each.
        canon.value(&(args, answerer, effects, calls, counted, background, queue, mode));
        canon.list(denials, |canon, denial| _ = canon.text(&denial.to_string()));
        canon
            .flag(*stdin_open)
            .flag(*initialized)
            .flag(*ends)
            .flag(*notified)
            .flag(*aborting)
            .flag(*failed)
            .flag(*owes_response)
            .flag(*by_signal);
    }

    // --- the turn ---

    /// Begins the next turn if one waits and none runs.
    pub(super) fn pump(&mut self, now: VTime) {
        if self.busy() || self.hooks.hold_prompts() || self.queue.is_empty() {
            return;
        }
        match self.awaits_server(now) {
            true => self.convs[0].phase = Phase::Server,
            false => self.next_prompt(now),
        }
    }

    /// The turn of the prompt that has waited longest begins.
    pub(super) fn next_prompt(&mut self, now: VTime) {
        let Some(Prompt { blocks, notifies }) = self.queue.pop_front() else { return };
        self.notified = notifies;
        self.hooks.prompt_id.clear();
        if self.hooked(now, Gate::Prompt(blocks.clone())) {
            return;
        }
        self.begin_turn(now, &blocks, None);
    }

    /// A turn with this prompt begins, unless a hook blocks it.
    pub(super) fn begin_turn(&mut self, now: VTime, blocks: &[Value], blocked: Option<&Reason>) {
        self.counted.turns = u32::from(!self.config.release.counts_assistant()) + std::mem::take(&mut self.hooks.added);
        self.counted.responses = 0;
        self.counted.streamed = false;
        let session = self.convs[0].session.clone();
        if self.counted.results == 0 {
            self.note(Fact::Session { id: session.clone(), parent: String::new() });
        }
        self.note(Fact::Busy { session, busy: true });
        self.show_init();
        let orphan = blocks.iter().find(|block| block["type"] == "tool_result");
        let orphan = orphan.map(|block| block["tool_use_id"].as_str().unwrap_or_default().to_owned());
        let texts = blocks.iter().filter_map(|block| block["text"].as_str());
        let prompt: Vec<&str> = texts.collect();
        if let Some(reason) = blocked {
            return self.prompt_blocked(now, reason, &prompt.join("\n"));
        }
        self.convs[0].messages.push(Message::text("user", &prompt.join("\n")));
        if let Some(call) = orphan {
            self.convs[0].phase = Phase::Model;
            let at = self.convs[0].messages.len() - 1;
            let text =
                texts::api_error(self.config.release, 400, "invalid_request_error", &texts::orphan_result(at, &call));
            return self.give_up(now, Conv(0), &text, "invalid_request", Some(400));
        }
        self.ask_model(now, Conv(0));
    }

    /// The message at the begin of a turn.
    pub(super) fn show_init(&mut self) {
        let tools = self.tools();
        let started = self.config.tools.iter().map(|server| (server.name.as_str(), "dynamic"));
        let server = self.own.iter().map(|own| (own.name(), writer::SDK)).chain(started).next();
        let server = server.map(|(name, source)| (name, source, self.server));
        let init = self.writer.init(self.mode, &tools, server);
        self.effects.push(Effect::Emit(init));
    }

    pub(super) fn begin_conv(&mut self, parent: Option<(Conv, String)>, path: String, turns: &[Turn]) -> Conv {
        self.counted.sessions += 1;
        let session = format!("ses_{}", self.counted.sessions);
        let parent = parent.map(|(conv, call)| {
            let of = self.convs[conv.0].session.clone();
            self.note(Fact::Session { id: session.clone(), parent: of });
            self.note(Fact::Busy { session: session.clone(), busy: true });
            call
        });
        self.convs.push(Talk {
            session,
            parent,
            path,
            script: responses(turns),
            nth: 0,
            answer: String::new(),
            phase: Phase::Idle,
            until: None,
            messages: Vec::new(),
            called: Vec::new(),
            tries: 0,
            cut: false,
            whole: false,
            now: Spoken::default(),
        });
        Conv(self.convs.len() - 1)
    }

    /// The prompt for a subagent.
    pub(super) fn tell(&mut self, now: VTime, conv: Conv, prompt: &str) {
        self.convs[conv.0].messages.push(Message::text("user", prompt));
        self.ask_model(now, conv);
    }

    /// The tool's turn in the script of a conversation: the `k`-th of the response that is being given, and which part
    /// of the response it is.
    pub(super) fn scripted(&self, conv: Conv, k: usize) -> Option<(usize, Turn)> {
        let talk = &self.convs[conv.0];
        let calls = |turn: &Turn| matches!(turn, Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) | Turn::Task(_));
        let parts = &talk.script.get(talk.nth)?.parts;
        parts.iter().enumerate().filter(|(_, turn)| calls(turn)).nth(k).map(|(at, turn)| (at, turn.clone()))
    }

    pub(super) fn ask_model(&mut self, now: VTime, conv: Conv) {
        self.counted.asked += 1;
        let talk = &mut self.convs[conv.0];
        talk.phase = Phase::Model;
        talk.now = Spoken::default();
        let session = talk.session.clone();
        self.note(Fact::ModelAsked { session: session.clone(), response: self.counted.asked });
        self.effects.push(Effect::Ask(conv));
        self.see(now, &Seen::Inside(InsideSeen::StreamOpen { session }));
    }

    /// The turn ends in an API error: the root's as a result, a subagent's as the error of its tool.
    pub(super) fn give_up(&mut self, now: VTime, conv: Conv, text: &str, word: &str, status: Option<u16>) {
        if self.convs[conv.0].parent.is_some() {
            return self.subagent_ended(now, conv, text, true);
        }
        self.counted.turns += u32::from(self.config.release.counts_assistant());
        let said = self.writer.synthetic(text, (word, status), None, None);
        self.emit(conv, said);
        self.end_turn(now, Some(text), Some((word, status)));
    }

    /// All tools of a response have ended.
    pub(super) fn tools_over(&mut self, now: VTime, conv: Conv) {
        let Conv(i) = conv;
        if i == 0 && std::mem::take(&mut self.hooks.ends_turn) && !self.aborting {
            self.next_response(conv);
            return self.end_turn_as(now, Some(""), None, Some("hook_stopped"));
        }
        if i == 0 && self.aborting {
            self.aborting = false;
            self.next_response(conv);
            self.note_interrupted(texts::INTERRUPTED_TOOL);
            return self.end_turn(now, None, None);
        }
        if i == 0 {
            self.absorb_prompts();
        }
        self.next_response(conv);
        self.ask_model(now, conv);
    }

    /// The prompts that have come since are shown to the model with the results of its calls, and have no turn of their own
    /// (recorded of 2.0.77 and 2.1.329).
    fn absorb_prompts(&mut self) {
        if self.config.release == Release::V1_0_128 {
            return;
        }
        let (absorbed, left): (VecDeque<Prompt>, _) =
            std::mem::take(&mut self.queue).into_iter().partition(|prompt| !prompt.notifies);
        self.queue = left;
        for Prompt { blocks, .. } in absorbed {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            let reminder = texts::reminder(&texts.join("\n"));
            let talk = &mut self.convs[0];
            if self.config.release == Release::V2_0_77 {
                self.owes_response = true;
                talk.answer.push_str(&format!("\n\n{reminder}"));
            }
            if let Some(last) = talk.messages.last_mut() {
                last.parts.push(Part::Text(reminder));
            }
        }
    }

    /// The scripted model goes on to its next response, unless it repeats this one for ever.
    pub(super) fn next_response(&mut self, conv: Conv) {
        let talk = &mut self.convs[conv.0];
        if talk.parent.is_some() || self.config.repeats != Some(talk.nth) {
            talk.nth += 1;
        }
    }

    /// The turn ends without a result's text, after this note.
    pub(super) fn end_interrupted(&mut self, now: VTime) {
        self.note_interrupted(texts::INTERRUPTED);
        self.end_turn(now, None, None);
    }

    /// From now on the turn ends when the root's tools have ended.
    pub(super) fn abort_after_tools(&mut self) {
        self.aborting = true;
    }

    /// Whether an interrupt waits for tools to end.
    pub(super) fn is_aborting(&self) -> bool {
        self.aborting
    }

    fn note_interrupted(&mut self, text: &str) {
        let note = self.writer.note(text, false);
        self.effects.push(Effect::Emit(note));
        self.count_user(Conv(0));
    }

    pub(super) fn end_turn(&mut self, now: VTime, text: Option<&str>, error: Option<(&str, Option<u16>)>) {
        self.end_turn_as(now, text, error, None);
    }

    /// The same, with 2.1.329's own word for the reason.
    pub(super) fn end_turn_as(
        &mut self,
        now: VTime,
        text: Option<&str>,
        error: Option<(&str, Option<u16>)>,
        reason: Option<&'static str>,
    ) {
        let stop_reason = match (error, self.convs[0].now.finish) {
            (Some(_), _) => Some("stop_sequence"),
            (_, finish) => finish.map(stop_reason),
        };
        if text.is_none() && self.config.release.counts_assistant() {
            self.counted.turns = 0;
        }
        let blocked = self.config.release == Release::V2_1_329 && reason == Some(BLOCKED);
        let result = if blocked {
            self.writer.blocked_result(text.unwrap_or_default(), self.counted.results)
        } else {
            self.writer.result(&Ending {
                text,
                api_error: error.map(|(word, _)| word),
                api_status: error.and_then(|(_, status)| status),
                stop_reason,
                turns: self.counted.turns,
                responses: self.counted.responses,
                denials: &self.denials,
                subagents: self.counted.subagents,
                results: self.counted.results,
                reason,
                notified: self.notified,
                streamed: self.counted.streamed,
            })
        };
        self.failed = error.is_some() || (text.is_none() && self.config.release.interrupt_is_error());
        self.counted.results += 1;
        self.convs[0].phase = Phase::Idle;
        self.convs[0].tries = 0;
        self.owes_response = false;
        self.effects.push(Effect::Emit(result));
        let ok = text.is_some() && error.is_none();
        self.note(Fact::Result { ok, text: text.unwrap_or_default().to_owned() });
        let session = self.convs[0].session.clone();
        self.note(Fact::Busy { session, busy: false });
        self.pump(now);
    }

    // --- small things ---

    pub(super) fn remember_result(&mut self, conv: Conv, id: &str, text: &str, is_error: bool) {
        let part = Part::Result { id: id.to_owned(), text: text.to_owned(), is_error };
        let talk = &mut self.convs[conv.0];
        text.clone_into(&mut talk.answer);
        match talk.messages.last_mut() {
            Some(last) if last.role == "user" => last.parts.push(part),
            _ => talk.messages.push(Message { role: "user".to_owned(), parts: vec![part] }),
        }
    }

    pub(super) fn count_user(&mut self, conv: Conv) {
        self.counted.turns += u32::from(conv == Conv(0));
    }

    pub(super) fn emit(&mut self, conv: Conv, message: Value) {
        if self.convs[conv.0].parent.is_none() {
            self.effects.push(Effect::Emit(message));
        }
    }

    pub(super) fn note(&mut self, fact: Fact) {
        self.effects.push(Effect::Note(fact));
    }

    pub(super) fn see(&mut self, now: VTime, seen: &Seen) {
        if self.inside.is_empty() {
            return;
        }
        let acts: Vec<Acting> = self.inside.see(now, seen);
        self.act_all(now, acts);
    }
}
