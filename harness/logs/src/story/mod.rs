//! What happened, put together from notes: sessions with their latest steps, asks, calls, output.
//!
//! Invariant: memory is bounded by [`limits`], however long the log; what is dropped is counted. The latest is kept,
//! since a hang is at the end.

mod keep;
mod output;
mod parts;
mod session;
pub mod teardown;
mod tree;

pub use self::keep::kept;
pub use self::output::{Output, Printed};
pub use self::parts::{Agent, Client, Clock, Ending, Final, Post};
pub use self::session::{Ask, Call, Session, Step, Told, What};

use self::keep::{bounded, bounded_questions, cut, merged, push};
use crate::claims;
use crate::limits;
use crate::note::{Asks, Calls, Fork, Kind, Note, Reply};
use crate::report::Took;
use crate::spin;
use std::collections::{BTreeMap, VecDeque};

/// What happened.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// Who wrote the log, and how it was used.
    pub agent: Agent,
    /// Sessions by id.
    pub sessions: BTreeMap<String, Session>,
    /// Asks, in order.
    pub asks: VecDeque<Ask>,
    /// Hooks that run: their ids, names and begins.
    pub hooks: VecDeque<(String, String, u64)>,
    /// Tasks in the background that began and have not ended: their ids, their calls, what they do, and when they began.
    pub tasks: VecDeque<(String, Option<String>, String, u64)>,
    /// What a plain program printed.
    pub output: Output,
    /// What the agent's client did.
    pub client: Client,
    /// What says how it ended.
    pub ending: Ending,
    /// The log's own clock.
    pub clock: Clock,
    /// Sessions and asks that were dropped.
    pub forgotten: u64,
    /// What was read.
    pub took: Took,
    /// Notes so far.
    order: u64,
}

impl Story {
    /// Takes a note.
    pub fn note(&mut self, at: Option<u64>, note: Note) {
        self.clock.timed |= at.is_some();
        let at = at.map(|at| at.saturating_sub(*self.clock.origin.get_or_insert(at)));
        // what is later by more than a month was read from another clock
        let dated = at.filter(|at| (self.clock.last..=self.clock.last.saturating_add(limits::GAP_MAX_MS)).contains(at));
        let at = dated.unwrap_or(self.clock.last);
        if dated.is_some() && std::mem::take(&mut self.clock.undated) {
            // silence is never counted from before an event that has no time
            self.clock.material = at;
        }
        self.clock.first.get_or_insert(at);
        self.clock.last = at;
        self.order += 1;
        if let Note::Result { ok: false, aborted: true, .. } = &note {
            self.reopen(at);
        }
        let word = material(&note).filter(|_| match &note {
            // a spinner or a counter is only a sign of life
            Note::Prints { text, logged, .. } => {
                let still = spin::still(text);
                // dots of a test run are progress, a repeated line is not
                let again = still == self.output.shown && (still != text.trim() || text.contains('\n'));
                let waits = teardown::is_waiting(text);
                let torn = self.is_torn(at, text, *logged);
                let moved = !still.is_empty() && !again && !torn && !waits && !claims::is_epilogue(text, *logged);
                if moved {
                    self.output.shown = kept(&still);
                }
                moved
            }
            _ => true,
        });
        if !matches!(note, Note::Prints { .. } | Note::Alive | Note::Exit(_)) {
            self.clock.torn = None;
        }
        if let Some(word) = word {
            let gap = at.saturating_sub(self.clock.material);
            if gap > self.clock.longest.0 {
                self.clock.longest = (gap, std::mem::take(&mut self.clock.material_is));
            }
            self.clock.material = at;
            self.clock.undated = dated.is_none();
            self.clock.material_is = word.to_owned();
        }
        if self.agent.kind == Kind::Other
            && matches!(note, Note::Text { .. } | Note::Thinks { .. } | Note::Call { .. } | Note::Output { .. })
        {
            // what ended was a part of the run
            (self.ending.result, self.ending.unclear) = (None, None);
        }
        match note {
            Note::Agent { kind, release, form } => {
                if kind != Kind::Program {
                    self.agent.kind = kind;
                }
                self.agent.form = form;
                self.agent.release = release.map(|r| kept(&r)).or(self.agent.release.take());
            }
            Note::Mode(mode) => self.agent.mode = Some(kept(&mode)),
            Note::PromptTool => self.agent.prompt_tool = true,
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
                (self.ending.result, self.ending.unclear) = (None, None);
                (self.ending.stopped, self.ending.stopped_at_model) = (None, false);
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
            Note::Fork(fork) => self.agent.fork = Some(fork),
            Note::InputEnds => {
                if self.ending.result.is_none() {
                    self.client.input_ended.get_or_insert(at);
                }
            }
            Note::Misfit => _ = self.client.misfit.get_or_insert(at),
            Note::Unknown { id } => {
                let connected = self.client.connected;
                if let Some(ask) = self.asks.iter_mut().find(|ask| ask.id == id && ask.end.is_none())
                    && let Some(connected) = connected.filter(|connected| *connected > ask.at)
                {
                    ask.end = Some((connected, Reply::Withdrawn));
                    self.client.restarted.get_or_insert(connected);
                }
            }
            Note::Resyncs => self.client.resyncs = true,
            Note::Connected => self.client.connected = Some(at),
            Note::Stop { session } => {
                // a stop ends open asks: nobody dismissed them
                for ask in &mut self.asks {
                    if let Some((end, how @ Reply::Dismissed)) = &mut ask.end
                        && at.saturating_sub(*end) <= limits::STOP_TAKES_MS
                    {
                        *how = Reply::Withdrawn;
                    }
                }
                self.ending.stopped_at_model |= self.sessions.values().any(|session| session.model.is_some());
                self.ending.stopped = Some((at, kept(&session)));
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
                    self.ending.stopped_at_model |=
                        self.sessions.get(&session).is_some_and(|session| session.model.is_some());
                    self.ending.stopped.get_or_insert((at, session.clone()));
                } else {
                    self.session(at, &session).failed = Some(kept(&why));
                }
            }
            Note::Compacted { session } => self.session(at, &session).compacted += 1,
            Note::Result { ok, aborted, text } => {
                self.ending.result = Some(Final { at, ok, aborted, text: kept(&text) });
                if self.ending.interrupted().is_none() {
                    self.sessions.values_mut().for_each(|session| session.model = None);
                }
            }
            Note::Unclear { session, kind } => {
                self.ending.unclear = Some(kept(&kind));
                self.session(at, &session).model = None;
            }
            Note::Task { id, call, description, over } => {
                let same = |of: &(String, Option<String>, String, u64)| {
                    of.0 == id
                        || call.is_some() && (of.1 == call || of.1.as_ref() == Some(&id))
                        || call.as_ref() == Some(&of.0)
                };
                let known = self.tasks.iter().position(same).and_then(|place| self.tasks.remove(place));
                if !over {
                    while self.tasks.len() >= limits::LIST {
                        self.tasks.pop_front();
                    }
                    let (old, at) = known.map_or((String::new(), at), |(_, _, old, at)| (old, at));
                    let description = if description.is_empty() { old } else { kept(&description) };
                    self.tasks.push_back((kept(&id), call.map(|call| kept(&call)), description, at));
                }
            }
            Note::Post { answered, events } => {
                self.client.post = match (events, answered) {
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
            Note::Prints { stderr, logged, text } => self.output.print(at, self.order, (stderr, logged), &text),
            Note::Types => self.output.typed = Some(at),
            Note::Exit(code) => self.ending.exit = Some(code),
        }
    }

    /// Whether a line belongs to the end that somebody made of the run: it says so, comes right after one that does, or
    /// is of a runner's clean-up.
    fn is_torn(&mut self, at: u64, text: &str, logged: bool) -> bool {
        if teardown::is_step(text) {
            self.clock.cleaned = None;
        } else if teardown::is_cleanup(text, logged) {
            self.clock.cleaned.get_or_insert(at);
        }
        if self.clock.cleaned.is_some() {
            return true;
        }
        if teardown::is_end(text, logged) {
            self.clock.torn = Some((at, 0));
            return true;
        }
        let Some((torn, lines)) = self.clock.torn else { return false };
        let over = lines >= teardown::LINES || at.saturating_sub(torn) > teardown::TAKES_MS;
        self.clock.torn = Some((torn, lines + 1)).filter(|_| !over);
        !over
    }

    /// Opens again the calls that ended with an interruption, and because of it.
    fn reopen(&mut self, at: u64) {
        for step in self.sessions.values_mut().flat_map(|session| &mut session.steps) {
            let What::Called(call) = &mut step.what else { continue };
            let ended = |told: &Told| at.saturating_sub(told.at) <= limits::STOP_TAKES_MS && is_of_a_stop(&told.text);
            if call.told.as_ref().is_some_and(ended) {
                call.told = None;
            }
        }
    }

    /// When the server was started anew, in milliseconds from the log's beginning.
    pub fn restarted_at(&self) -> Option<u64> {
        Some(self.client.restarted?.saturating_sub(self.clock.first.unwrap_or_default()))
    }

    /// The fork of opencode that wrote it. Releases of opencode ask questions from 1.1 on (1.1.11 is the first that
    /// does); an older one that asks is a fork with a numbering of its own: altimate-code counts from 0.1, PawWork from
    /// 1.0.
    pub fn fork(&self) -> Option<Fork> {
        let asks = |step: &Step| matches!(&step.what, What::Called(call) if matches!(call.does, Calls::Ask(_)));
        let asks = self.asks.iter().any(|ask| matches!(ask.asks, Asks::Questions(_)))
            || self.sessions.values().flat_map(|session| &session.steps).any(asks);
        let mut numbers = self.agent.release.as_deref().unwrap_or_default().split('.').map(str::parse::<u32>);
        let by_number = match (numbers.next(), numbers.next()) {
            (Some(Ok(0)), Some(Ok(_))) => Some(Fork::Altimate),
            (Some(Ok(1)), Some(Ok(0))) => Some(Fork::Pawwork),
            _ => None,
        };
        let opencode = self.agent.kind == Kind::Opencode;
        self.agent.fork.or(by_number.filter(|_| asks)).filter(|_| opencode)
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

    /// Drops the session that was silent longest and that no open work belongs to.
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
        // the model has said what it wants: it speaks again when it gets the results
        (session.model, session.speaks) = (None, false);
    }

    fn told(&mut self, at: u64, id: &str, error: bool, text: &str, code: Option<i64>) {
        let stopped = self.ending.stopped.is_some();
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
}

/// Whether a result of a call only says that somebody stopped it, as Codex does.
fn is_of_a_stop(text: &str) -> bool {
    let last = text.trim_end().lines().next_back().unwrap_or_default().trim();
    last == "aborted" || last.starts_with("aborted by user")
}

/// The word for a note that carries the task forward.
fn material(note: &Note) -> Option<&'static str> {
    Some(match note {
        // who stopped what was silent did not make it move
        Note::Result { ok: false, aborted: true, .. } => return None,
        Note::Told { text, .. } if is_of_a_stop(text) => return None,
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
