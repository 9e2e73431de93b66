//! Where things of an engine are, for the compared state: by their place among what still matters, never by their
//! number.
//!
//! Numbers and ids grow with every attempt, so they would hide that a retry has returned to an earlier state.
//! Invariant: two states that differ only in numbers have the same places and marks, and two that differ in who points
//! at what do not.

use rehang_scenario::Canon;
use std::collections::BTreeMap;

/// Who points at a message or at a part of one, by the pointing one's place.
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
    /// Writes a list of marks.
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
pub(super) struct Places {
    /// The sessions that matter: the roots, and those in which something goes on.
    pub sessions: Vec<usize>,
    /// The marks, by session, message and part.
    pub marks: BTreeMap<(usize, usize, Option<usize>), Vec<Mark>>,
    /// The runs that have not ended, by their ids.
    pub runs: Vec<u32>,
    /// The tools that have not ended, by their ids.
    pub tools: Vec<u32>,
    /// The greatest number of a tool call that a fault names; 0 if none does.
    pub last_tool_fault: u32,
    /// Whether calls are looked up by their ids.
    pub looks_calls_up: bool,
    /// Whether somebody has asked for messages, and may look at their times.
    pub messages_read: bool,
}

impl Places {
    /// The place of a session among those that matter, from 1; 0 if nothing goes on in it.
    pub(super) fn session(&self, at: usize) -> u64 {
        place(&self.sessions, &at)
    }

    /// The place of a run among those that have not ended, from 1; 0 if it has ended.
    pub(super) fn run(&self, id: u32) -> u64 {
        place(&self.runs, &id)
    }

    /// The place of a tool among those that have not ended, from 1; 0 if it has ended.
    pub(super) fn tool(&self, id: u32) -> u64 {
        place(&self.tools, &id)
    }

    /// The marks of a message, or of a part of it.
    pub(super) fn marks(&self, session: usize, message: usize, part: Option<usize>) -> Vec<Mark> {
        self.marks.get(&(session, message, part)).cloned().unwrap_or_default()
    }

    /// A number of tool calls as far as it matters: all that are above every number that a fault names are alike.
    pub(super) fn faulty(&self, nth: u32) -> u64 {
        u64::from(nth.min(self.last_tool_fault.saturating_add(1)))
    }

    /// Writes the id of a call if calls are looked up by it. Otherwise it only names the call.
    pub(super) fn call(&self, canon: &mut Canon, id: &str) {
        if self.looks_calls_up {
            canon.text(id);
        }
    }
}

fn place<T: PartialEq>(all: &[T], one: &T) -> u64 {
    all.iter().position(|other| other == one).map_or(0, |place| place as u64 + 1)
}
