//! What happened, put together from notes: sessions with their latest steps, asks, calls, output.
//!
//! Invariant: memory is bounded by [`limits`], however long the log; what is let go of is counted. The latest is kept,
//! since a hang is at the end.

use crate::limits;
use crate::mask::{Lines, Mask};
use crate::note::{Asks, Calls, Fork, Form, Kind, Note, Reply};
use crate::report::Took;
use crate::spin;
use std::collections::{BTreeMap, VecDeque};

/// What happened.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// Who wrote the log.
    pub kind: Kind,
    /// The release.
    pub release: Option<String>,
    /// The form of use.
    pub form: Form,
    /// The permission mode.
    pub mode: Option<String>,
    /// Asks go over the control protocol.
    pub prompt_tool: bool,
    /// Sessions by id.
    pub sessions: BTreeMap<String, Session>,
    /// Asks, in order.
    pub asks: VecDeque<Ask>,
    /// The state of the client's prompt request.
    pub post: Post,
    /// Output of a plain program.
    pub printed: VecDeque<Printed>,
    /// Output lines that were let go of.
    pub printed_before: u64,
    /// What those say of the first that is kept.
    lines_before: Lines,
    /// Somebody typed into a program at this instant.
    pub typed: Option<u64>,
    /// The program's exit code.
    pub exit: Option<i64>,
    /// The agent's own result.
    pub result: Option<Final>,
    /// Somebody stopped it: when, and the session.
    pub stopped: Option<(u64, String)>,
    /// A model owed something when it was stopped.
    pub stopped_at_model: bool,
    /// Somebody closed its stdin, before its result.
    pub input_ended: Option<u64>,
    /// Somebody sent what is no message.
    pub misfit: Option<u64>,
    /// The server was started anew with an ask open: it knows nothing of it any more.
    pub restarted: Option<u64>,
    /// The instants of the first and the last event, and of the last that carried the task forward, in milliseconds from
    /// the first instant that the log has.
    pub first: Option<u64>,
    /// See `first`.
    pub last: u64,
    /// See `first`.
    pub material: u64,
    /// What the last material event was.
    pub material_is: String,
    /// Instants were in the log.
    pub timed: bool,
    /// Sessions and asks that were let go of.
    pub forgotten: u64,
    /// What was read.
    pub took: Took,
    /// Its client asked for the sessions' status.
    pub resyncs: bool,
    /// Hooks that run: their ids, names and begins.
    pub hooks: VecDeque<(String, String, u64)>,
    /// What was printed last, but for what only turns or counts.
    shown: String,
    /// The instant that all others are counted from.
    origin: Option<u64>,
    /// It did what only this fork does.
    fork: Option<Fork>,
    /// When the latest event stream began.
    connected: Option<u64>,
    order: u64,
}

/// A session.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Its parent.
    pub parent: Option<String>,
    /// The call that it does the work of.
    pub call: Option<String>,
    /// It began within the log, or was prompted there.
    pub subject: bool,
    /// Its latest steps.
    pub steps: VecDeque<Step>,
    /// Steps that were let go of.
    pub before: u64,
    /// Prompts so far.
    pub prompts: u32,
    /// Known to be busy, or idle.
    pub busy: Option<bool>,
    /// The model owes it something, since this instant.
    pub model: Option<u64>,
    /// It began a response, and what it said is not in the log.
    pub speaks: bool,
    /// Its last response ended so.
    pub finished: Option<String>,
    /// The model's server refused so many times since its last word, lastly with this status.
    pub retries: (u32, Option<u16>),
    /// Responses that were cut off.
    pub cut_off: u32,
    /// It failed.
    pub failed: Option<String>,
    /// Compactions since the last tool call.
    pub compacted: u32,
    /// When it was last heard of, and a number that orders sessions.
    pub heard: (u64, u64),
    /// When its last word or result was.
    pub mark: Option<u64>,
}

/// A step of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// When.
    pub at: u64,
    /// Silence before it, in milliseconds.
    pub gap: u64,
    /// The response that it is of.
    pub message: String,
    /// What.
    pub what: What,
}

/// What a step is.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The model said something.
    Said {
        /// Which part.
        part: String,
        /// What.
        text: String,
    },
    /// It called a tool.
    Called(Call),
    /// Its response ended.
    Ended(String),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// What it does.
    pub does: Calls,
    /// How it ended.
    pub told: Option<Told>,
    /// A permission was asked for, or denied without asking.
    pub permission: Option<String>,
    /// The latest sign of its own output.
    pub output: Option<u64>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// When.
    pub at: u64,
    /// As an error.
    pub error: bool,
    /// The text.
    pub text: String,
    /// The exit code.
    pub code: Option<i64>,
    /// Because somebody stopped the session.
    pub stopped: bool,
}

/// An ask.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Its id.
    pub id: String,
    /// When.
    pub at: u64,
    /// Its session.
    pub session: String,
    /// The call that asks.
    pub call: Option<String>,
    /// What is asked.
    pub asks: Asks,
    /// How it ended, and when.
    pub end: Option<(u64, Reply)>,
}

/// A client's prompt request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Post {
    /// None is known.
    #[default]
    Unknown,
    /// It waits for events.
    Events,
    /// It was answered.
    Answered,
    /// It was given up without an answer.
    Unanswered,
}

/// A line of a plain program.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// When.
    pub at: u64,
    /// To stderr.
    pub stderr: bool,
    /// The line.
    pub text: String,
    /// It is a whole line.
    pub whole: bool,
}

/// The agent's own result.
#[derive(Debug, Clone, PartialEq)]
pub struct Final {
    /// When.
    pub at: u64,
    /// It says that it went well.
    pub ok: bool,
    /// It was stopped.
    pub aborted: bool,
    /// Its text.
    pub text: String,
}

impl Ask {
    /// Whether nobody ended it up to this instant.
    pub fn open_until(&self, at: u64) -> bool {
        self.end.as_ref().is_none_or(|(end, how)| *end >= at && *how == Reply::Withdrawn)
    }
}

impl Story {
    /// Takes a note.
    pub fn note(&mut self, at: Option<u64>, note: Note) {
        self.timed |= at.is_some();
        let at = at.map(|at| at.saturating_sub(*self.origin.get_or_insert(at)));
        let at = at.unwrap_or(self.last).max(self.last);
        self.first.get_or_insert(at);
        self.last = at;
        self.order += 1;
        let word = material(&note).filter(|_| match &note {
            // what only turns or counts is a sign of life
            Note::Prints { text, .. } => {
                let still = spin::still(text);
                // dots of a test run are progress, a line again and again is not
                let again = still == self.shown && (still != text.trim() || text.contains('\n'));
                let moved = !still.is_empty() && !again;
                if moved {
                    self.shown = kept(&still);
                }
                moved
            }
            _ => true,
        });
        if let Some(word) = word {
            self.material = at;
            self.material_is = word.to_owned();
        }
        match note {
            Note::Agent { kind, release, form } => {
                if kind != Kind::Program {
                    self.kind = kind;
                }
                self.form = form;
                self.release = release.map(|r| kept(&r)).or(self.release.take());
            }
            Note::Mode(mode) => self.mode = Some(kept(&mode)),
            Note::PromptTool => self.prompt_tool = true,
            Note::Session { id, parent, call, created } => {
                let session = self.session(at, &id);
                session.parent = parent.map(|p| kept(&p)).or(session.parent.take()).filter(|p| *p != id);
                session.call = call.map(|c| kept(&c)).or(session.call.take());
                session.subject |= created;
            }
            Note::Prompt { session, by_client } => {
                let session = self.session(at, &session);
                session.subject |= by_client;
                session.prompts += 1;
                session.before += session.steps.len() as u64;
                session.steps.clear();
                (session.model, session.mark, session.finished) = (Some(at), Some(at), None);
                session.failed = None;
                session.speaks = false;
                session.cut_off = 0;
                self.result = None;
                (self.stopped, self.stopped_at_model) = (None, false);
            }
            Note::Text { session, message, part, text, delta } => self.said(at, &session, &message, part, text, delta),
            Note::Thinks { session } => {
                let session = self.session(at, &session);
                session.retries = (0, None);
                session.speaks = true;
            }
            Note::Call { session, message, call, does } => self.called(at, &session, &message, &call, does),
            Note::Output { call } => {
                if let Some((_, call)) = self.call(&call) {
                    call.output = Some(at);
                }
            }
            Note::Told { call, error, text, code } => self.told(at, &call, error, &text, code),
            Note::Denied { call } => {
                if let Some((_, call)) = self.call(&call) {
                    call.permission.get_or_insert_default();
                }
            }
            Note::Asked { id, session, call, asks } => self.asked(at, id, &session, call, asks),
            Note::AskEnded { id, how } => {
                if let Some(ask) = self.asks.iter_mut().rev().find(|ask| ask.id == id && ask.end.is_none()) {
                    ask.end = Some((at, how));
                }
            }
            Note::Finish { session, message, reason } => {
                let session = self.session(at, &session);
                let steps = &session.steps;
                let again = steps.back().is_some_and(|s| s.message == message && matches!(s.what, What::Ended(_)));
                if !again {
                    push(session, Step { at, gap: 0, message: kept(&message), what: What::Ended(kept(&reason)) });
                }
                (session.model, session.speaks) = (None, false);
                session.mark = Some(at);
                session.finished = Some(kept(&reason));
            }
            Note::Busy { session, busy } => {
                let session = self.session(at, &session);
                session.busy = Some(busy);
                if !busy {
                    session.model = None;
                }
            }
            Note::Fork(fork) => self.fork = Some(fork),
            Note::InputEnds => {
                if self.result.is_none() {
                    self.input_ended.get_or_insert(at);
                }
            }
            Note::Misfit => _ = self.misfit.get_or_insert(at),
            Note::Unknown { id } => {
                let connected = self.connected;
                if let Some(ask) = self.asks.iter_mut().find(|ask| ask.id == id && ask.end.is_none())
                    && let Some(connected) = connected.filter(|connected| *connected > ask.at)
                {
                    ask.end = Some((connected, Reply::Withdrawn));
                    self.restarted.get_or_insert(connected);
                }
            }
            Note::Resyncs => self.resyncs = true,
            Note::Connected => self.connected = Some(at),
            Note::Stop { session } => {
                // a stop takes what is asked with it: nobody dismissed that
                for ask in &mut self.asks {
                    if let Some((end, how @ Reply::Dismissed)) = &mut ask.end
                        && at.saturating_sub(*end) <= limits::STOP_TAKES_MS
                    {
                        *how = Reply::Withdrawn;
                    }
                }
                self.stopped_at_model |= self.sessions.values().any(|session| session.model.is_some());
                self.stopped = Some((at, kept(&session)));
            }
            Note::Retry { session, status } => {
                let session = self.session(at, &session);
                session.retries = (session.retries.0 + 1, status.or(session.retries.1));
            }
            Note::CutOff { session } => {
                let session = self.session(at, &session);
                session.cut_off += 1;
                session.before += session.steps.len() as u64;
                session.steps.clear();
                session.model = Some(at);
            }
            Note::Failed { session, why, aborted } => {
                if aborted {
                    self.stopped_at_model |= self.sessions.get(&session).is_some_and(|session| session.model.is_some());
                    self.stopped.get_or_insert((at, session.clone()));
                } else {
                    self.session(at, &session).failed = Some(kept(&why));
                }
            }
            Note::Compacted { session } => self.session(at, &session).compacted += 1,
            Note::Result { ok, aborted, text } => {
                self.result = Some(Final { at, ok, aborted, text: kept(&text) });
                for session in self.sessions.values_mut() {
                    session.model = None;
                }
            }
            Note::Post { answered, events } => {
                self.post = match (events, answered) {
                    (true, _) => Post::Events,
                    (_, true) => Post::Answered,
                    (_, false) => Post::Unanswered,
                };
            }
            Note::Hook { id, name, over } => {
                self.hooks.retain(|(of, ..)| *of != id);
                if !over {
                    while self.hooks.len() >= limits::LIST {
                        self.hooks.pop_front();
                    }
                    self.hooks.push_back((kept(&id), kept(&name), at));
                }
            }
            Note::Alive => {}
            Note::Prints { stderr, text } => self.prints(at, stderr, &text),
            Note::Types => self.typed = Some(at),
            Note::Exit(code) => self.exit = Some(code),
        }
    }

    /// When the server was started anew, in milliseconds from the log's begin.
    pub fn restarted_at(&self) -> Option<u64> {
        Some(self.restarted?.saturating_sub(self.first.unwrap_or_default()))
    }

    /// How long it took, in milliseconds.
    pub fn length_ms(&self) -> u64 {
        self.last.saturating_sub(self.first.unwrap_or(self.last))
    }

    /// The fork of opencode that it is of. Releases of opencode ask questions from 1.1 on (1.1.11 is the first that does);
    /// an older one that asks is a fork with a numbering of its own: altimate-code counts from 0.1, PawWork from 1.0.
    pub fn fork(&self) -> Option<Fork> {
        let asks = |step: &Step| matches!(&step.what, What::Called(call) if matches!(call.does, Calls::Ask(_)));
        let asks = self.asks.iter().any(|ask| matches!(ask.asks, Asks::Questions(_)))
            || self.sessions.values().flat_map(|session| &session.steps).any(asks);
        let mut numbers = self.release.as_deref().unwrap_or_default().split('.').map(str::parse::<u32>);
        let by_number = match (numbers.next(), numbers.next()) {
            (Some(Ok(0)), Some(Ok(_))) => Some(Fork::Altimate),
            (Some(Ok(1)), Some(Ok(0))) => Some(Fork::Pawwork),
            _ => None,
        };
        let opencode = self.kind == Kind::Opencode;
        self.fork.or(by_number.filter(|_| asks)).filter(|_| opencode)
    }

    /// The root session that the log is of: one that began or was prompted in it, with an open ask if one has, else one
    /// that is at work, and of those the one heard of last.
    pub fn root(&self) -> Option<&str> {
        let roots = self
            .sessions
            .iter()
            .filter(|(_, session)| session.parent.as_ref().is_none_or(|parent| !self.sessions.contains_key(parent)));
        let open = |id: &str| self.asks.iter().any(|ask| ask.end.is_none() && self.root_of(&ask.session) == id);
        // of several sessions of one server, the one that is not done
        roots.max_by_key(|(id, s)| (s.subject, open(id), s.busy == Some(true), s.heard)).map(|(id, _)| id.as_str())
    }

    /// The root of a session's tree.
    pub fn root_of<'a>(&'a self, session: &'a str) -> &'a str {
        let mut at = session;
        for _ in 0..limits::SESSIONS {
            match self.sessions.get(at).and_then(|s| s.parent.as_deref()).filter(|p| self.sessions.contains_key(*p)) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    /// How deep a session lies below its root.
    pub fn depth(&self, session: &str) -> usize {
        let mut at = session;
        for depth in 0..limits::SESSIONS {
            match self.sessions.get(at).and_then(|s| s.parent.as_deref()).filter(|p| self.sessions.contains_key(*p)) {
                Some(parent) => at = parent,
                None => return depth,
            }
        }
        limits::SESSIONS
    }

    /// The session of a task call.
    pub fn child_of(&self, call: &Call) -> Option<&str> {
        let named = match &call.does {
            Calls::Task { child: Some(child), .. } => self.sessions.get_key_value(child).map(|(id, _)| id.as_str()),
            _ => None,
        };
        let by_call = || self.sessions.iter().find(|(_, s)| s.call.as_deref() == Some(&call.id));
        named.or_else(|| by_call().map(|(id, _)| id.as_str()))
    }

    /// A call, by its id, with its session.
    pub fn find_call(&self, id: &str) -> Option<(&str, &Call)> {
        self.sessions.iter().find_map(|(name, session)| {
            session.steps.iter().rev().find_map(|step| match &step.what {
                What::Called(call) if call.id == id => Some((name.as_str(), call)),
                _ => None,
            })
        })
    }

    fn call(&mut self, id: &str) -> Option<(&str, &mut Call)> {
        let name = self.find_call(id)?.0.to_owned();
        let (name, session) = self.sessions.iter_mut().find(|(key, _)| **key == name)?;
        let call = session.steps.iter_mut().rev().find_map(|step| match &mut step.what {
            What::Called(call) if call.id == id => Some(call),
            _ => None,
        })?;
        Some((name, call))
    }

    fn session(&mut self, at: u64, id: &str) -> &mut Session {
        let id = kept(id);
        if !self.sessions.contains_key(&id) && self.sessions.len() >= limits::SESSIONS {
            self.forget();
        }
        let order = self.order;
        let session = self.sessions.entry(id).or_default();
        session.heard = (at, order);
        session
    }

    /// Lets go of the session that was silent longest and is no one's open work.
    fn forget(&mut self) {
        let open: Vec<&str> = self.asks.iter().filter(|a| a.end.is_none()).map(|a| a.session.as_str()).collect();
        let parents: Vec<&str> = self.sessions.values().filter_map(|s| s.parent.as_deref()).collect();
        let quiet = self.sessions.iter().filter(|(id, _)| !open.contains(&id.as_str()));
        let leaf = |id: &&String| !parents.contains(&id.as_str());
        let oldest = quiet.clone().filter(|(id, _)| leaf(id)).min_by_key(|(_, s)| s.heard).or_else(|| {
            let mut all = quiet;
            all.next()
        });
        let oldest = oldest.map(|(id, _)| id.clone()).or_else(|| self.sessions.keys().next().cloned());
        if let Some(oldest) = oldest {
            self.sessions.remove(&oldest);
            self.forgotten += 1;
        }
    }

    fn said(&mut self, at: u64, session: &str, message: &str, part: String, text: String, delta: bool) {
        let session = self.session(at, session);
        session.retries = (0, None);
        session.compacted = 0;
        if session.model.is_none() {
            // words without a request before them: the log begins in the middle
            session.model = session.mark.or(Some(at));
        }
        let old = session.steps.iter_mut().rev().take(8).find_map(|step| match &mut step.what {
            What::Said { part: old, text } if *old == part && step.message == message && !part.is_empty() => Some(text),
            _ => None,
        });
        session.finished = None;
        match old {
            Some(old) if delta => {
                let room = limits::TEXT_BYTES.saturating_sub(old.len());
                old.push_str(cut(&text, room));
            }
            Some(old) => *old = kept(&text),
            None => {
                let gap = session.mark.map_or(0, |mark| at.saturating_sub(mark));
                let what = What::Said { part: kept(&part), text: kept(&text) };
                push(session, Step { at, gap, message: kept(message), what });
            }
        }
        session.mark = Some(at);
    }

    fn called(&mut self, at: u64, session: &str, message: &str, id: &str, does: Calls) {
        let does = bounded(does);
        if let Some((_, call)) = self.call(id) {
            call.does = merged(std::mem::replace(&mut call.does, does.clone()), does);
            return;
        }
        let session = self.session(at, session);
        session.retries = (0, None);
        session.compacted = 0;
        session.finished = None;
        let gap = session.mark.map_or(0, |mark| at.saturating_sub(mark));
        let call = Call { id: kept(id), does, told: None, permission: None, output: None };
        push(session, Step { at, gap, message: kept(message), what: What::Called(call) });
        session.mark = Some(at);
        // the model has said what it wants: its turn comes again when it is told
        (session.model, session.speaks) = (None, false);
    }

    fn told(&mut self, at: u64, id: &str, error: bool, text: &str, code: Option<i64>) {
        let stopped = self.stopped.is_some();
        let Some((session, call)) = self.call(id) else { return };
        if call.told.is_some() {
            return;
        }
        call.told = Some(Told { at, error, text: kept(text), code, stopped });
        let session = session.to_owned();
        for ask in self.asks.iter_mut().filter(|ask| ask.end.is_none() && ask.call.as_deref() == Some(id)) {
            ask.end = Some((at, Reply::Withdrawn));
        }
        let session = self.session(at, &session);
        session.mark = Some(at);
        let open = session.steps.iter().any(|step| matches!(&step.what, What::Called(call) if call.told.is_none()));
        if !open && !stopped {
            session.model = Some(at);
        }
    }

    fn asked(&mut self, at: u64, id: String, session: &str, call: Option<String>, asks: Asks) {
        if self.asks.iter().any(|ask| ask.id == id) {
            return;
        }
        if self.asks.len() >= limits::ASKS {
            let ended = self.asks.iter().position(|ask| ask.end.is_some()).unwrap_or(0);
            self.asks.remove(ended);
            self.forgotten += 1;
        }
        let call = call.map(|c| kept(&c));
        let asks = match asks {
            Asks::Questions(questions) => Asks::Questions(bounded_questions(questions)),
            Asks::Permission { permission, mut patterns } => {
                patterns.truncate(limits::LIST);
                let patterns = patterns.iter().map(|p| kept(p)).collect();
                Asks::Permission { permission: kept(&permission), patterns }
            }
        };
        if let Some((_, found)) = call.as_deref().and_then(|call| self.call(call)) {
            match &asks {
                Asks::Permission { permission, .. } => found.permission = Some(permission.clone()),
                Asks::Questions(questions) => found.does = Calls::Ask(questions.clone()),
            }
        }
        let _ = self.session(at, session);
        self.asks.push_back(Ask { id: kept(&id), at, session: kept(session), call, asks, end: None });
    }

    fn prints(&mut self, at: u64, stderr: bool, text: &str) {
        for line in text.split_inclusive('\n') {
            let whole = line.ends_with('\n');
            let line = line.trim_end_matches(['\n', '\r']);
            match self.printed.back_mut().filter(|last| !last.whole && last.stderr == stderr) {
                Some(last) => {
                    let room = limits::TEXT_BYTES.saturating_sub(last.text.len());
                    last.text.push_str(cut(line, room));
                    last.whole = whole;
                    last.at = at;
                }
                None => self.printed.push_back(Printed { at, stderr, text: kept(line), whole }),
            }
        }
        while self.printed.len() > limits::LINES {
            if let Some(line) = self.printed.pop_front() {
                self.lines_before.take(&line.text);
            }
            self.printed_before += 1;
        }
    }

    /// Takes out of its output what is of a secret that goes over several lines: a line is masked alone, and shows nothing
    /// of that.
    pub fn hide(&mut self, mask: &mut Mask) {
        let mut lines = self.lines_before;
        self.printed.retain_mut(|printed| match mask.line(&mut lines, &printed.text) {
            Some(text) => {
                printed.text = text;
                true
            }
            None => false,
        });
    }
}

/// The word for a note that carries the task forward.
fn material(note: &Note) -> Option<&'static str> {
    Some(match note {
        Note::Prompt { .. } => "a prompt",
        Note::Text { .. } | Note::Thinks { .. } => "the model's words",
        Note::Call { .. } => "a tool call",
        Note::Output { .. } => "a tool's output",
        Note::Told { .. } => "a tool's result",
        Note::Asked { .. } => "an ask",
        Note::AskEnded { .. } => "an ask's end",
        Note::Finish { .. } => "the end of a response",
        Note::Result { .. } => "the result",
        Note::Prints { .. } => "output",
        Note::Exit(_) => "the exit",
        Note::Stop { .. } => "a stop",
        _ => return None,
    })
}

fn push(session: &mut Session, step: Step) {
    session.steps.push_back(step);
    while session.steps.len() > limits::STEPS {
        session.steps.pop_front();
        session.before += 1;
    }
}

/// A text cut to what is kept of it, and at a word's end, so that no secret is kept in half.
pub fn kept(text: &str) -> String {
    if text.len() <= limits::TEXT_BYTES {
        return text.to_owned();
    }
    let head = cut(text, limits::TEXT_BYTES);
    let end = head.rfind(char::is_whitespace).unwrap_or(0);
    head[..end].to_owned()
}

fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn bounded(does: Calls) -> Calls {
    match does {
        Calls::Ask(questions) => Calls::Ask(bounded_questions(questions)),
        Calls::Bash { command, timeout_ms } => Calls::Bash { command: kept(&command), timeout_ms },
        Calls::Task { description, child } => {
            Calls::Task { description: kept(&description), child: child.map(|c| kept(&c)) }
        }
        Calls::Tool { name, on } => Calls::Tool { name: kept(&name), on: kept(&on) },
    }
}

fn bounded_questions(mut questions: Vec<rehang_scenario::turns::Question>) -> Vec<rehang_scenario::turns::Question> {
    questions.truncate(limits::LIST);
    for question in &mut questions {
        question.question = kept(&question.question);
        question.header = kept(&question.header);
        question.options.truncate(limits::LIST);
        for option in &mut question.options {
            option.label = kept(&option.label);
            option.description = kept(&option.description);
        }
    }
    questions
}

/// What is known of a call from two notes: a pending call has no input yet.
fn merged(old: Calls, new: Calls) -> Calls {
    match (old, new) {
        (Calls::Ask(old), Calls::Ask(new)) if new.is_empty() => Calls::Ask(old),
        (Calls::Bash { command, timeout_ms }, Calls::Bash { command: new, timeout_ms: limit }) => {
            Calls::Bash { command: if new.is_empty() { command } else { new }, timeout_ms: limit.or(timeout_ms) }
        }
        (Calls::Task { description, child }, Calls::Task { description: new, child: id }) => {
            Calls::Task { description: if new.is_empty() { description } else { new }, child: id.or(child) }
        }
        (Calls::Tool { name, on }, Calls::Tool { name: _, on: new }) => {
            Calls::Tool { name, on: if new.is_empty() { on } else { new } }
        }
        (_, new) => new,
    }
}
