//! What the agent owes its model: the calls whose results it has not sent, and what those calls wait for.
//!
//! Invariant: this follows from the model's requests alone. A call is open from the end of the response that makes it
//! until the same session asks again.

use rehang_model_server::{Ended, Event, Happened, Kind, State};
use rehang_scenario::turns::{Turn, response_at};
use std::collections::BTreeMap;

/// The sessions as the model server sees them.
#[derive(Debug, Default)]
pub struct Pending {
    /// Per session (the path without its last number): its latest request.
    sessions: BTreeMap<String, Latest>,
}

#[derive(Debug)]
struct Latest {
    n: u32,
    path: String,
    state: State,
}

/// How far the model's side is.
#[derive(Debug, Clone, PartialEq)]
pub enum Owed {
    /// It was never asked.
    Nothing,
    /// A response that is not over and goes on.
    Response,
    /// A response of which nothing more will come.
    Silence,
    /// A response that did not come to its end.
    Broken(Ended),
    /// The results of these calls, of the innermost session that has some.
    Results(Vec<Turn>),
    /// Nothing: the last response was the last word.
    Done,
}

impl Pending {
    /// Takes an event of the model server.
    pub fn note(&mut self, event: &Event) {
        match &event.happened {
            Happened::Request(request) => {
                let Kind::Main { path, .. } = &request.kind else { return };
                let session = path.rsplit_once('/').map_or("", |(session, _)| session);
                let latest = Latest { n: request.n, path: path.clone(), state: State::Began };
                self.sessions.insert(session.to_owned(), latest);
            }
            Happened::Stream { n, state } => {
                if let Some(latest) = self.sessions.values_mut().find(|latest| latest.n == *n) {
                    latest.state = *state;
                }
            }
            Happened::Problem { .. } => {}
        }
    }

    /// What is owed, by the innermost session that owes something.
    pub fn owed(&self, turns: &[Turn]) -> Owed {
        let mut sessions: Vec<(&String, &Latest)> = self.sessions.iter().collect();
        sessions.sort_by_key(|(session, _)| {
            std::cmp::Reverse(session.matches('/').count() + usize::from(!session.is_empty()))
        });
        let mut done = false;
        for (_, latest) in sessions {
            let owed = match latest.state {
                State::Began | State::Chunk(_) => Owed::Response,
                State::Stalled | State::KeepAlive => Owed::Silence,
                State::Ended(Ended::Whole) => {
                    let response = response_at(turns, &latest.path);
                    let calls: Vec<Turn> = response.map(|r| r.parts).unwrap_or_default();
                    let calls: Vec<Turn> = calls.into_iter().flat_map(flat).filter(is_call).collect();
                    if calls.is_empty() { Owed::Done } else { Owed::Results(calls) }
                }
                State::Ended(how) => Owed::Broken(how),
            };
            if owed != Owed::Done {
                return owed;
            }
            done = true;
        }
        if done { Owed::Done } else { Owed::Nothing }
    }
}

fn flat(turn: Turn) -> Vec<Turn> {
    match turn {
        Turn::Together(calls) => calls,
        other => vec![other],
    }
}

fn is_call(turn: &Turn) -> bool {
    matches!(turn, Turn::Ask(_) | Turn::Bash(_) | Turn::Task(_) | Turn::Permit(_))
}
