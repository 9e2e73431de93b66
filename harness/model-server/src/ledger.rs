//! The sum of a server's events: what a cell of the live stage wants to know when it is over.
//!
//! Invariant: a ledger follows from the events alone, so a ledger kept during a run and one made from its record agree.

use crate::check::Problem;
use crate::event::{Ended, Event, Happened, Kind, Request, State, Told};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sum of a server's events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Main requests.
    pub main: u32,
    /// Requests on the side.
    pub side: u32,
    /// When the first main request came: the clock of a cell starts here.
    pub first_main_ms: Option<u64>,
    /// When something last happened.
    pub last_ms: u64,
    /// What the agent told its model, in order, each once.
    pub told: Vec<Told>,
    /// What was wrong, with the request's number.
    pub problems: Vec<(u32, Problem)>,
    /// Main requests whose response is not over, by number, with the response's last state.
    pub open: BTreeMap<u32, State>,
    /// How main responses ended, by request.
    pub ended: BTreeMap<u32, Ended>,
    seen: Vec<(String, String)>,
}

/// The agent never asked its model, so whatever it did says nothing about the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NeverAsked {
    /// No request came.
    #[error("the agent never reached the model server: not one request came")]
    NoRequest,
    /// Only requests on the side came.
    #[error("the agent never asked its model: {0} requests came, all on the side")]
    OnlyAside(u32),
}

impl NeverAsked {
    /// What so many main requests and so many on the side mean; `None` if there was a main one.
    pub fn of(main: u32, side: u32) -> Option<NeverAsked> {
        match (main, side) {
            (0, 0) => Some(NeverAsked::NoRequest),
            (0, side) => Some(NeverAsked::OnlyAside(side)),
            _ => None,
        }
    }
}

impl Ledger {
    /// The ledger of some events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Ledger {
        let mut ledger = Ledger::default();
        events.into_iter().for_each(|event| ledger.note(event));
        ledger
    }

    /// Takes an event.
    pub fn note(&mut self, event: &Event) {
        self.last_ms = event.at_ms;
        match &event.happened {
            Happened::Request(request) => self.request(event.at_ms, request),
            Happened::Problem { n, problem } => self.problems.push((*n, problem.clone())),
            Happened::Stream { n, state } => {
                if let Some(open) = self.open.get_mut(n) {
                    *open = *state;
                    if let State::Ended(how) = state {
                        self.open.remove(n);
                        self.ended.insert(*n, *how);
                    }
                }
            }
        }
    }

    /// Whether a main request's response still comes, or will: not one that has stalled or only keeps alive.
    pub fn model_is_at_work(&self) -> bool {
        self.open.values().any(|state| !matches!(state, State::Stalled | State::KeepAlive))
    }

    /// # Errors
    /// The agent never asked its model.
    pub fn reached(&self) -> Result<(), NeverAsked> {
        NeverAsked::of(self.main, self.side).map_or(Ok(()), Err)
    }

    fn request(&mut self, at_ms: u64, request: &Request) {
        if !matches!(request.kind, Kind::Main { .. }) {
            self.side += 1;
            return;
        }
        self.main += 1;
        self.first_main_ms.get_or_insert(at_ms);
        self.open.insert(request.n, State::Chunk(0));
        for told in &request.told {
            // A retry sends the same result again.
            let key = (told.id.clone(), told.text.clone());
            if !self.seen.contains(&key) {
                self.seen.push(key);
                self.told.push(told.clone());
            }
        }
    }
}
