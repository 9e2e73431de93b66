//! Where things of an engine are, for the compared state: by their place among what still matters, never by their number.
//!
//! Numbers and ids grow with every attempt, so a retry that comes back to where it was would never be seen to. Invariant:
//! two states that differ in numbers alone have the same places and marks, and two that differ in who points at what have
//! not.

use super::engine::Engine;
use super::state::Session;
use rehang_scenario::Canon;
use std::collections::BTreeMap;

/// Who points at a message or at a part of one, by its own place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A run answers this message of the user's.
    Answers(u64),
    /// A run writes this reply.
    Writes(u64),
    /// A run's text grows in this part.
    Grows(u64),
    /// A tool run is shown by this part.
    Shows(u64),
}

impl Mark {
    /// Writes marks.
    pub(super) fn list(marks: &[Mark], canon: &mut Canon) {
        canon.list(marks, |canon, mark| {
            match *mark {
                Mark::Answers(run) => canon.num(0).num(run),
                Mark::Writes(run) => canon.num(1).num(run),
                Mark::Grows(run) => canon.num(2).num(run),
                Mark::Shows(tool) => canon.num(3).num(tool),
            };
        });
    }
}

/// The places in one state of an engine.
pub(super) struct Places<'e> {
    engine: &'e Engine,
    /// The sessions that matter: the roots, and those in which something goes on.
    sessions: Vec<usize>,
    /// By session, message and part.
    marks: BTreeMap<(usize, usize, Option<usize>), Vec<Mark>>,
    last_tool_fault: u32,
}

impl<'e> Places<'e> {
    pub(super) fn new(engine: &'e Engine) -> Places<'e> {
        let goes_on = |at: usize, session: &Session| {
            session.parent.is_none()
                || engine.runs.iter().any(|run| run.session == at)
                || engine.tools.iter().any(|tool| tool.session == at || tool.child() == Some(at))
                || engine.asks.iter().any(|ask| ask.session == at)
        };
        let sessions = engine.sessions.iter().enumerate().filter(|(at, session)| goes_on(*at, session));
        let sessions = sessions.map(|(at, _)| at).collect();
        let mut marks: BTreeMap<_, Vec<Mark>> = BTreeMap::new();
        let mut mark = |session, message, part, mark| marks.entry((session, message, part)).or_default().push(mark);
        for (run, place) in engine.runs.iter().zip(1..) {
            mark(run.session, run.user, None, Mark::Answers(place));
            mark(run.session, run.reply, None, Mark::Writes(place));
            if run.text.is_some() {
                mark(run.session, run.reply, run.text, Mark::Grows(place));
            }
        }
        for (tool, place) in engine.tools.iter().zip(1..) {
            mark(tool.session, tool.message, Some(tool.part), Mark::Shows(place));
        }
        let last_tool_fault = engine.tool_faults.iter().map(|(nth, _)| *nth).max().unwrap_or(0);
        Places { engine, sessions, marks, last_tool_fault }
    }

    /// Of a session among those that matter, from 1; 0: nothing goes on in it.
    pub(super) fn session(&self, at: usize) -> u64 {
        self.sessions.iter().position(|&one| one == at).map_or(0, |place| place as u64 + 1)
    }

    /// Of a run among those that have not ended, from 1; 0: it has.
    pub(super) fn run(&self, id: u32) -> u64 {
        self.engine.run_at(id).map_or(0, |place| place as u64 + 1)
    }

    /// Of a tool among those that have not ended, from 1; 0: it has.
    pub(super) fn tool(&self, id: u32) -> u64 {
        self.engine.place_of_tool(id)
    }

    /// Who points at a message, or at a part of it.
    pub(super) fn marks(&self, session: usize, message: usize, part: Option<usize>) -> Vec<Mark> {
        self.marks.get(&(session, message, part)).cloned().unwrap_or_default()
    }

    /// A number of tool calls, as far as a fault may name it.
    pub(super) fn faulty(&self, nth: u32) -> u64 {
        u64::from(nth.min(self.last_tool_fault.saturating_add(1)))
    }

    /// Writes the id of a call where calls are looked up by it. Elsewhere it only names the call.
    pub(super) fn call(&self, canon: &mut Canon, id: &str) {
        if self.engine.looks_calls_up() {
            canon.text(id);
        }
    }

    /// Whether somebody has asked for messages, and may look at their times.
    pub(super) fn messages_read(&self) -> bool {
        self.engine.read
    }
}
