//! What an agent's own records would say of it: opencode's server or log, Claude Code's transcript.
//!
//! A fake writes no such files, and its server would notice a question; its facts say the same. Only what production's
//! reader (`harness/evidence/src/read/records`) can find out for an agent is filled in.
//!
//! Invariant: made of facts alone, so that it is the same on every stage.

use rehang_evidence::data::{Agent, Ask, Process, Socket};
use rehang_evidence::kind;
use rehang_scenario::VTime;
use rehang_trace::{AskKind, Fact};
use std::collections::BTreeMap;

/// The most characters of a question that are kept, the same as in the reader.
const MAX_TEXT: usize = 200;
/// What an opencode server is asked: its sessions' states, and the lists of what it asks.
const STATUS: &str = "/session/status";
const LISTS: [&str; 3] = [STATUS, "/question", "/permission"];
/// How many bytes an event of the model's stream has besides its text.
const EVENT_BYTES: u64 = 128;

/// What one agent has stated so far.
#[derive(Debug, Default)]
pub struct Records {
    sessions: Vec<Session>,
    asks: Vec<Ask>,
    tools: Vec<Tool>,
    requests: u64,
}

#[derive(Debug)]
struct Session {
    id: String,
    nested: bool,
    busy: Option<bool>,
    step: Step,
}

/// The last request to the model.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    None,
    Open(Talk),
    Done(String),
}

/// A request to the model that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Talk {
    /// When it was sent.
    pub asked: VTime,
    /// When something last came, if anything did.
    pub heard: Option<VTime>,
    /// How many bytes came.
    pub bytes: u64,
    /// In how many pieces they came.
    pub pieces: u32,
    /// How many requests there have been so far.
    pub requests: u64,
}

#[derive(Debug)]
struct Tool {
    call: String,
    name: String,
}

impl Records {
    /// Takes in a fact that the agent stated.
    pub fn note(&mut self, fact: &Fact, now: VTime) {
        match fact {
            Fact::Session { id, parent } => {
                self.session(id).nested = !parent.is_empty();
            }
            Fact::Busy { session, busy } => {
                self.session(session).busy = Some(*busy);
                if !busy {
                    self.asks.retain(|ask| ask.session != *session);
                }
            }
            Fact::ModelAsked { session, .. } => {
                self.requests += 1;
                let requests = self.requests;
                self.session(session).step =
                    Step::Open(Talk { asked: now, heard: None, bytes: 0, pieces: 0, requests });
            }
            Fact::ModelSaid { session, text } => {
                if let Step::Open(talk) = &mut self.session(session).step {
                    talk.heard = Some(now);
                    talk.bytes += text.len() as u64 + EVENT_BYTES;
                    talk.pieces += 1;
                }
            }
            Fact::ModelDone { session, finish } => self.session(session).step = Step::Done(finish.clone()),
            Fact::ToolBegan { call, tool, .. } => {
                self.tools.push(Tool { call: call.clone(), name: tool.clone() });
            }
            Fact::ToolEnded { call, .. } => self.tools.retain(|tool| tool.call != *call),
            Fact::Asked { id, kind, session, questions, permission } => {
                let nested = self.session(session).nested;
                let (kind, text, options) = match (kind, questions.first()) {
                    (AskKind::Question, first) => {
                        let options = first.map(|q| q.options.iter().map(|option| cut(&option.label)).collect());
                        ("question", first.map_or("", |q| q.question.as_str()), options.unwrap_or_default())
                    }
                    (AskKind::Permission, _) => {
                        ("permission", permission.as_str(), ["once", "always", "reject"].map(str::to_owned).to_vec())
                    }
                };
                let (kind, text) = (kind.to_owned(), cut(text));
                self.asks.push(Ask { kind, id: id.clone(), session: session.clone(), text, options, nested });
            }
            Fact::AskEnded { id, .. } => self.asks.retain(|ask| ask.id != *id),
            Fact::Preempted { .. } | Fact::Result { .. } | Fact::Policy { .. } | Fact::Acted { .. } => {}
        }
    }

    /// Whether a subagent asks for something.
    pub fn asks_below(&self) -> bool {
        self.asks.iter().any(|ask| ask.nested)
    }

    fn session(&mut self, id: &str) -> &mut Session {
        let at = self.sessions.iter().position(|session| session.id == id).unwrap_or_else(|| {
            self.sessions.push(Session { id: id.to_owned(), nested: false, busy: None, step: Step::None });
            self.sessions.len() - 1
        });
        &mut self.sessions[at]
    }

    /// The request to the model that was heard of last, among those that have not ended.
    pub fn talk(&self) -> Option<&Talk> {
        let open = self.sessions.iter().filter_map(|session| match &session.step {
            Step::Open(talk) => Some(talk),
            Step::None | Step::Done(_) => None,
        });
        open.max_by_key(|talk| talk.heard.unwrap_or(talk.asked))
    }

    /// What production's reader would find of this agent, whose server answers the requests that `answers` names.
    pub fn agent(
        &self,
        process: &Process,
        sockets: &BTreeMap<u64, Socket>,
        answers: &dyn Fn(&str) -> bool,
    ) -> Option<Agent> {
        let kind = kind::of(process)?;
        let mut agent = Agent { pid: process.pid, name: kind.name.to_owned(), ..Agent::default() };
        match kind.name {
            "claude" => self.transcript(&mut agent),
            "opencode" | "altimate" | "pawwork" => {
                agent.form = kind::opencode_form(process).to_owned();
                match process.listening(sockets).next() {
                    Some(socket) if LISTS.into_iter().any(answers) => self.server(&socket.local, answers, &mut agent),
                    _ => self.log(&mut agent),
                }
            }
            _ => {}
        }
        Some(agent)
    }

    fn server(&self, at: &str, answers: &dyn Fn(&str) -> bool, agent: &mut Agent) {
        let answered = LISTS.into_iter().filter(|path| answers(path));
        agent.sources = answered.map(|path| format!("GET http://{at}{path}")).collect();
        if answers(STATUS) {
            self.sessions(agent);
        }
        agent.asks = self.asks.iter().filter(|ask| answers(&format!("/{}", ask.kind))).cloned().collect();
        agent.answer = match agent.asks.first() {
            Some(ask) => format!("POST http://{at}/{}/{}/reply", ask.kind, ask.id),
            None => String::new(),
        };
    }

    /// What its sessions do.
    fn sessions(&self, agent: &mut Agent) {
        let busy: Vec<&Session> = self.sessions.iter().filter(|session| session.busy == Some(true)).collect();
        agent.busy = Some(busy.len());
        for session in busy {
            match &session.step {
                Step::Done(finish) if finish == "error" => "retrying".clone_into(&mut agent.turn),
                step if agent.turn.is_empty() || agent.turn == "ended" => {
                    let complete = matches!(step, Step::Done(finish) if finish == "stop");
                    if complete { "ended" } else { "open" }.clone_into(&mut agent.turn);
                }
                _ => {}
            }
        }
        // a subagent is at work as long as its session is
        let at_work = self.sessions.iter().any(|session| session.nested && session.busy == Some(true));
        let own = |tool: &&Tool| tool.name != "question" && !(tool.name == "task" && at_work);
        agent.running = self.tools.iter().filter(own).map(|tool| tool.name.clone()).collect();
    }

    /// A log names neither the session that asks nor its parent.
    fn log(&self, agent: &mut Agent) {
        agent.sources.push("its log".to_owned());
        let unnamed = |ask: &Ask| Ask { session: String::new(), nested: false, ..ask.clone() };
        agent.asks = self.asks.iter().map(unnamed).collect();
    }

    /// The calls without a result: what is asked about is one of them.
    fn transcript(&self, agent: &mut Agent) {
        agent.sources.push("its transcript".to_owned());
        let asked = self.asks.iter().map(|ask| match ask.kind.as_str() {
            "question" => format!("AskUserQuestion: {}", ask.text),
            _ => ask.text.clone(),
        });
        agent.running = asked.chain(self.tools.iter().map(|tool| tool.name.clone())).collect();
        let root = self.sessions.iter().find(|session| !session.nested);
        let ended = matches!(root.map(|session| &session.step), Some(Step::Done(finish)) if finish == "stop");
        let turn = match root.map(|session| &session.step) {
            _ if ended && agent.running.is_empty() => "ended",
            None | Some(Step::None) => "",
            Some(_) => "open",
        };
        turn.clone_into(&mut agent.turn);
    }
}

/// At most [`MAX_TEXT`] characters, without control characters.
fn cut(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_TEXT).collect()
}
