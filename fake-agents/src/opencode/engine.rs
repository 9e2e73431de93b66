//! The engine: sessions, runs of the model's loop, tools, asks and the bus, without any I/O.
//!
//! Input: requests ([`super::routes`]), what a model says ([`super::turn`]), what a tool does ([`super::tools`]), time
//! ([`Engine::tick`]). Output, in order: [`Out`], which is events, effects, responses and facts. Invariant: the same
//! inputs give the same outputs; a reply to an ask happens in the order "out of the pending map, event, waiting tool",
//! as in upstream's `question/index.ts`.
//!
//! `asks`, `tools` and `turn` hold its methods, by subject: four files of one state machine, which know each other.

use super::asks::Ask;
use super::history;
use super::places::{Mark, Places};
use super::release::{Dialect, Release};
use super::state::{Body, Message, Part, Reply, Role, Session};
use super::tools::ToolRun;
use super::turn::Run;
use crate::agent_host::AgentHost;
use rehang_actors::faults::{Published, RequestFaults};
use rehang_scenario::{
    Canon, Fault, QueueFault, VTime,
    turns::{Bash, Question, Response, Turn, responses},
};
use rehang_strategy::Acting;
use rehang_strategy::{InsideSeen, Seen};
use rehang_trace::Fact;
use std::collections::BTreeMap;
use std::collections::VecDeque;

/// The greatest depth of nested subagents.
pub const DEPTH_MAX: u32 = 16;

/// One output of the engine.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Out {
    /// An event on the bus.
    Event(Event),
    /// An effect for the host to carry out.
    Effect(Effect),
    /// A fact for the trace.
    Fact(Fact),
    /// The answer to a request.
    Respond(Answer),
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Answer {
    /// The ticket of the request.
    pub ticket: u32,
    /// The HTTP status; 0 if the connection is closed without one.
    pub status: u16,
    /// The JSON body; empty if there is none.
    pub body: String,
    /// There is no response yet; if none comes before this instant, the connection is closed then.
    pub cut_at: Option<VTime>,
}

/// An event on the bus.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Event {
    /// Its type, such as `question.asked`.
    pub kind: &'static str,
    /// The index of the session that it belongs to.
    pub session: Option<usize>,
    /// The whole event as JSON; empty if nobody wants any ([`Engine::wants_json`]).
    pub json: String,
    /// What `run` needs to know of it.
    pub about: About,
    /// Its id on the streams of a server that can send it again.
    pub id: Option<String>,
}

impl Published for Event {
    fn kind(&self) -> &str {
        self.kind
    }

    fn busy(&self) -> Option<bool> {
        match self.about {
            About::Status(busy) => Some(busy),
            _ => None,
        }
    }
}

/// What an event is about, for the program that prints it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum About {
    /// The event is not printed.
    Other,
    /// The session was made; for a child, its parent.
    Created,
    /// A part: its message, its place there, and whether it is whole.
    Part(usize, usize, bool),
    /// The session's status: busy or idle.
    Status(bool),
    /// A permission is asked for.
    Permission {
        /// The id of the ask.
        id: String,
        /// The name of the permission.
        permission: String,
        /// The patterns of the permission.
        patterns: Vec<String>,
    },
    /// A question is asked, with this id.
    Question(String),
    /// The session failed: the error's name and text.
    Error(&'static str, String),
}

/// An effect that the host is to carry out.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Effect {
    /// Send a request to the model.
    AskModel {
        /// The stream's number; what the model says comes back with it.
        stream: u32,
        /// The place of the response in the plan: see [`rehang_scenario::plan::response_at`].
        path: String,
        /// What the model will say; empty after the end of the script.
        response: Response,
        /// What the last tool call told the model.
        answer: String,
    },
    /// Close a model stream.
    StopModel {
        /// The number of the stream.
        stream: u32,
    },
    /// Start a bash tool's process.
    Spawn {
        /// The number of the tool run.
        tool: u32,
        /// The command, and how it is run.
        bash: Bash,
    },
    /// End a bash tool's process tree; its end is not reported any more.
    Kill {
        /// The number of the tool run.
        tool: u32,
    },
    /// Print to the user, on stderr.
    Say(String),
    /// Remove a variable from the environment of children.
    StripEnv(&'static str),
}

/// Numbers for ids, in the order in which they are made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) session: u32,
    pub(super) message: u32,
    pub(super) part: u32,
    pub(super) question: u32,
    pub(super) permission: u32,
    pub(super) call: u32,
    pub(super) event: u32,
    pub(super) stream: u32,
    pub(super) tool: u32,
    pub(super) response: u32,
}

/// The engine's settings, from a plan.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The turns of the model.
    pub turns: Vec<Turn>,
    /// The faults; the engine handles those of tools, POSTs and the queue.
    pub faults: Vec<Fault>,
    /// Whether the program is `run`.
    pub run: bool,
    /// Whether the question tool is registered (`OPENCODE_CLIENT`, `OPENCODE_ENABLE_QUESTION_TOOL`).
    pub question_registered: bool,
}

/// The origin of a session.
pub(super) enum Origin {
    /// A client or the program made it, in this folder.
    Root(String),
    /// A `task` of this session made it.
    Child(usize),
}

/// The state machine of one server or run.
pub struct Engine {
    /// The release that it behaves as.
    pub release: Release,
    /// Whether events are rendered, because somebody listens.
    pub wants_json: bool,
    /// Whether somebody could answer an ask: a client with a reply route, or a person at the terminal.
    pub live: bool,
    pub(super) now: VTime,
    /// The wall clock at [`VTime::ZERO`], in milliseconds since 1970: times in bodies count from there.
    pub(super) epoch_ms: u64,
    /// The folder that its sessions belong to.
    pub directory: String,
    pub(super) sessions: Vec<Session>,
    pub(super) runs: Vec<Run>,
    pub(super) tools: Vec<ToolRun>,
    pub(super) asks: Vec<Ask>,
    pub(super) approved: Vec<(String, String)>,
    pub(super) script: Vec<Response>,
    pub(super) cursor: usize,
    pub(super) next: Counters,
    pub(super) inside: AgentHost,
    /// What a strategy published as blockers: request and entry.
    pub(super) blockers: Vec<(String, serde_json::Value)>,
    /// Whether questions are external results (PawWork 6ab984202).
    pub(super) external: bool,
    pub(super) withheld: Option<String>,
    pub(super) acts: VecDeque<Acting>,
    pub(super) setup: Setup,
    pub(super) tool_faults: Vec<(u32, rehang_scenario::ToolDoes)>,
    /// The scripted response of the root session, from 0, that the model repeats for ever.
    pub(super) repeats: Option<usize>,
    /// The plan's faults of requests.
    pub(super) request_faults: RequestFaults,
    /// Whether somebody has asked for a session's messages, and may look at their times. If not, a cycle holds no such
    /// request, and so none of its repetitions does; a client that comes later has a deadline, which is compared.
    pub(super) read: bool,
    /// Whether it began with sessions of an earlier boot, whose clients may hold ids that are assigned again.
    pub(super) restored: bool,
    pub(super) out: Vec<Out>,
}

impl Engine {
    /// An engine without sessions.
    pub fn new(release: Release, setup: Setup, inside: AgentHost) -> Engine {
        let tool_fault = |fault: &Fault| match fault {
            Fault::Tool(tool) => Some((tool.nth, tool.does)),
            _ => None,
        };
        Engine {
            wants_json: true,
            live: false,
            now: VTime::ZERO,
            epoch_ms: 0,
            directory: super::render::DIRECTORY.to_owned(),
            sessions: Vec::new(),
            runs: Vec::new(),
            tools: Vec::new(),
            asks: Vec::new(),
            approved: Vec::new(),
            script: responses(&setup.turns),
            cursor: 0,
            next: Counters::default(),
            blockers: Vec::new(),
            external: inside.has("external-result"),
            withheld: None,
            acts: VecDeque::new(),
            tool_faults: setup.faults.iter().filter_map(tool_fault).collect(),
            repeats: rehang_wire::model::script::repeats(&setup.faults),
            request_faults: RequestFaults::new(&setup.faults),
            read: false,
            restored: false,
            out: Vec::new(),
            release,
            setup,
            inside,
        }
    }

    /// Its outputs since the last call.
    pub fn take(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }

    /// [`Engine::take`], into a list that is empty and whose memory is used again.
    pub fn take_into(&mut self, empty: &mut Vec<Out>) {
        std::mem::swap(&mut self.out, empty);
    }

    /// Sets the time.
    pub fn at(&mut self, now: VTime) {
        self.now = now;
    }

    /// Sets the time, and carries out what strategies decided since the last input.
    pub fn clock(&mut self, now: VTime) {
        self.now = now;
        self.act();
    }

    /// Sets the wall clock at [`VTime::ZERO`] in milliseconds since 1970, and its folder.
    pub fn lives(&mut self, epoch_ms: u64, directory: Option<String>) {
        self.epoch_ms = epoch_ms;
        if let Some(directory) = directory {
            self.directory = directory;
        }
    }

    /// Now, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.stamp(self.now)
    }

    /// An instant in milliseconds since 1970.
    pub fn stamp(&self, at: VTime) -> u64 {
        self.epoch_ms.saturating_add(at.0)
    }

    /// Whether [`Engine::take`] has outputs.
    pub fn has_news(&self) -> bool {
        !self.out.is_empty()
    }

    /// Whether the question tool is registered (`OPENCODE_CLIENT`, `OPENCODE_ENABLE_QUESTION_TOOL`).
    pub fn question_registered(&mut self, registered: bool) {
        self.setup.question_registered = registered;
    }

    /// When it wants to be told that time has passed.
    pub fn deadline(&self) -> Option<VTime> {
        let runs = self.runs.iter().filter_map(Run::deadline).min();
        runs.into_iter().chain(self.inside.deadline()).min()
    }

    /// Processes the deadlines that have come.
    pub fn tick(&mut self, now: VTime) {
        self.now = now;
        self.settle_due();
        self.go_on_due();
        if !self.inside.is_empty() {
            for acting in self.inside.tick(now) {
                self.now_or_later(acting);
            }
            self.act();
        }
    }

    /// Tells the strategies inside how the agent starts.
    pub fn boot(&mut self, now: VTime, env: Vec<(String, String)>, stdin_tty: bool, run: bool, listens: bool) {
        self.now = now;
        self.see(|| Seen::Inside(InsideSeen::Boot { env, stdin_tty, run, listens }));
        self.act();
    }

    /// The sessions, in the order in which they were made.
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// The index of a session.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.sessions.iter().position(|session| session.id == id && !session.deleted)
    }

    /// Whether a session is busy.
    pub fn busy(&self, session: usize) -> bool {
        self.runs.iter().any(|run| run.session == session && run.live)
    }

    /// Whether this ask is pending.
    pub fn asks(&self, id: &str) -> bool {
        self.asks.iter().any(|ask| ask.id == id)
    }

    /// The questions that a pending ask holds.
    pub fn questions(&self, id: &str) -> Option<&[Question]> {
        self.questions_of_ask(id)
    }

    /// What the engine waits for, in one word: the most informative of all.
    pub fn waits_on(&self) -> Option<&'static str> {
        let live = |ask: &&Ask| self.tools.iter().any(|tool| tool.id == ask.tool && !tool.orphan);
        let asks = || self.asks.iter().filter(live);
        if asks().any(|ask| ask.is_question()) {
            return Some("question");
        }
        if asks().next().is_some() {
            return Some("permission");
        }
        if self.tools.iter().any(|tool| tool.is_bash() && !tool.orphan) {
            return Some("bash");
        }
        if self.runs.iter().any(|run| run.lost) {
            return Some("tool");
        }
        self.runs.iter().any(|run| run.live).then_some("model")
    }

    /// Makes a session. `denies` are the permissions that `run` denies in its root session.
    pub fn create_session(&mut self, now: VTime, title: &str, denies: &'static [&'static str]) -> usize {
        self.create_session_in(now, title, denies, None)
    }

    /// Makes a session in a folder that a client names; in the server's own if it names none.
    pub fn create_session_in(
        &mut self,
        now: VTime,
        title: &str,
        denies: &'static [&'static str],
        directory: Option<&str>,
    ) -> usize {
        self.now = now;
        let directory = directory.unwrap_or(&self.directory).to_owned();
        self.new_session(title.to_owned(), Origin::Root(directory), "build", denies, Vec::new(), String::new())
    }

    pub(super) fn new_session(
        &mut self,
        title: String,
        origin: Origin,
        agent: &'static str,
        denies: &'static [&'static str],
        script: Vec<Response>,
        path: String,
    ) -> usize {
        let (parent, directory) = match origin {
            Origin::Root(directory) => (None, directory),
            Origin::Child(parent) => (Some(parent), self.sessions[parent].directory.clone()),
        };
        self.next.session += 1;
        let now_ms = self.now_ms();
        let index = self.sessions.len();
        self.sessions.push(Session {
            id: format!("ses_{}", self.next.session),
            parent,
            title,
            agent,
            created_ms: now_ms,
            updated_ms: now_ms,
            summarised: false,
            model: None,
            tokens: (0, 0),
            denies,
            messages: Vec::new(),
            script,
            cursor: 0,
            depth: parent.map_or(0, |parent| self.sessions[parent].depth + 1),
            path,
            directory,
            deleted: false,
        });
        let parent = self.parent_id(index).to_owned();
        self.fact(Fact::Session { id: self.sessions[index].id.clone(), parent });
        self.session_event("session.created", index, About::Created);
        if self.release.dialect < Dialect::V1_18 {
            self.session_event("session.updated", index, About::Other);
        }
        index
    }

    pub(super) fn new_message(&mut self, session: usize, role: Role) -> usize {
        self.next.message += 1;
        let id = format!("msg_{}", self.next.message);
        let created_ms = self.now_ms();
        let messages = &mut self.sessions[session].messages;
        messages.push(Message { id, created_ms, role, parts: Vec::new() });
        messages.len() - 1
    }

    pub(super) fn new_part(&mut self, session: usize, message: usize, body: Body) -> usize {
        self.next.part += 1;
        let id = format!("prt_{}", self.next.part);
        let parts = &mut self.sessions[session].messages[message].parts;
        parts.push(Part { id, body });
        parts.len() - 1
    }

    pub(super) fn reply_mut(&mut self, session: usize, message: usize) -> Option<&mut Reply> {
        self.sessions.get_mut(session)?.messages.get_mut(message)?.reply_mut()
    }

    pub(super) fn parent_id(&self, session: usize) -> &str {
        self.sessions[session].parent.map_or("", |parent| self.sessions[parent].id.as_str())
    }

    pub(super) fn queue_fault(&self) -> Option<QueueFault> {
        self.setup.faults.iter().find_map(|fault| match fault {
            Fault::Queue(queue) => Some(*queue),
            _ => None,
        })
    }

    /// The place of a tool among those that have not ended, from 1; 0 if it has ended.
    pub fn place_of_tool(&self, id: u32) -> u64 {
        self.tools.iter().position(|tool| tool.id == id).map_or(0, |place| place as u64 + 1)
    }

    /// The run that a model's stream belongs to, by its place from 1; 0 if there is none any more.
    pub fn place_of_stream(&self, stream: u32) -> u64 {
        self.runs.iter().position(|run| run.stream == Some(stream)).map_or(0, |place| place as u64 + 1)
    }

    /// The place of a request among those that are answered at a run's end, from 1; 0 if it is not answered any more.
    pub fn place_of_ticket(&self, ticket: u32) -> u64 {
        let mut waiting = self.runs.iter().flat_map(|run| run.waiters.iter().chain(&run.aborters));
        waiting.position(|of| *of == ticket).map_or(0, |place| place as u64 + 1)
    }

    /// Whether calls are looked up by their ids: an external result is answered with the id of its call.
    pub fn looks_calls_up(&self) -> bool {
        self.external
    }

    fn places(&self) -> Places {
        let goes_on = |at: usize, session: &Session| {
            session.parent.is_none()
                || self.runs.iter().any(|run| run.session == at)
                || self.tools.iter().any(|tool| tool.session == at || tool.child() == Some(at))
                || self.asks.iter().any(|ask| ask.session == at)
        };
        let sessions = self.sessions.iter().enumerate().filter(|(at, session)| goes_on(*at, session));
        let mut marks: BTreeMap<_, Vec<Mark>> = BTreeMap::new();
        let mut mark = |session, message, part, mark| marks.entry((session, message, part)).or_default().push(mark);
        for (run, place) in self.runs.iter().zip(1..) {
            mark(run.session, run.user, None, Mark::Answers(place));
            mark(run.session, run.reply, None, Mark::Writes(place));
            if run.text.is_some() {
                mark(run.session, run.reply, run.text, Mark::Grows(place));
            }
        }
        for (tool, place) in self.tools.iter().zip(1..) {
            mark(tool.session, tool.message, Some(tool.part), Mark::Shows(place));
        }
        Places {
            sessions: sessions.map(|(at, _)| at).collect(),
            marks,
            runs: self.runs.iter().map(|run| run.id).collect(),
            tools: self.tools.iter().map(|tool| tool.id).collect(),
            last_tool_fault: self.tool_faults.iter().map(|(nth, _)| *nth).max().unwrap_or(0),
            looks_calls_up: self.looks_calls_up(),
            messages_read: self.read,
        }
    }

    /// Writes all of the state that a later input can read.
    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            release: _, // not compared: it never changes
            wants_json,
            live,
            now: _,       // not compared: every input sets it before it is read
            epoch_ms: _,  // not compared: it never changes
            directory: _, // not compared: it never changes
            sessions,
            runs,
            tools,
            asks,
            approved,
            script,
            cursor,
            next,
            inside,
            blockers,
            external: _, // not compared: it never changes
            withheld,
            acts,
            setup,
            tool_faults: _, // not compared: they never change; the calls are counted
            repeats: _,     // not compared: it never changes
            request_faults,
            read,
            restored,
            out,
        } = self;
        let Setup {
            turns: _,  // not compared: they never change
            faults: _, // not compared: they never change
            run: _,    // not compared: it never changes
            question_registered,
        } = setup;
        let Counters {
            session: _, // not compared: it only names sessions, which are told apart by their place
            message: _, // not compared: it only names messages
            part: _,    // not compared: it only names parts
            question,
            permission,
            call,
            event: _,    // not compared: it only names events, and nobody looks one up by it
            stream: _,   // not compared: it only names streams, which are told apart by their run
            tool: _,     // not compared: it only names tools and runs, which are told apart by their place
            response: _, // not compared: it only numbers facts
        } = next;
        let places = self.places();
        canon.list(runs, |canon, of| of.canon(&places, canon));
        canon.list(tools, |canon, of| of.canon(&places, canon));
        canon.list(asks, |canon, of| of.canon(&places, canon));
        canon.list(approved, |canon, (permission, pattern)| {
            canon.text(permission).text(pattern);
        });
        // After the last response the model repeats itself for ever.
        canon.capped(*cursor as u64, script.len() as u64).num(places.faulty(*call));
        // Nobody holds an id that is still to be assigned, except those that an earlier boot has also assigned.
        canon.flag(*restored);
        if *restored {
            canon.num((*question).into()).num((*permission).into());
        }
        canon.flag(withheld.is_some()).text(withheld.as_deref().unwrap_or(""));
        canon.flag(*live).flag(*wants_json).flag(*question_registered).flag(*read);
        request_faults.canon(canon);
        inside.canon(canon);
        canon.list(blockers, |canon, (request, entry)| {
            canon.text(request).text(&entry.to_string());
        });
        // Both are handled before a resume ends, except for what is left when the program leaves. `Hash` is derived.
        canon.value(&(acts, out));
        // last, because most of the state is in them
        let (of_now, over): (Vec<usize>, Vec<usize>) = (0..sessions.len()).partition(|&at| places.session(at) > 0);
        canon.list(&of_now, |canon, &at| sessions[at].canon(at, &places, canon));
        // Subagents' sessions that have ended are still listed, and each retry of a step adds some.
        history::write(canon, over, |canon, at| sessions[at].canon(at, &places, canon));
    }
}
