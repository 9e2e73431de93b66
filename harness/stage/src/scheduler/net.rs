//! The scheduler's open connections to the agent's server, as data.
//!
//! Invariant: a request's number counts the cell's requests from 1 and decides nothing; what is compared of a request
//! is its place among those that are open.

use rehang_os::kernel::Handle;
use rehang_scenario::{Canon, Canonical, VTime};
use rehang_trace::{Json, Name};
use rehang_wire::{http::ResponseReader, sse};
use std::collections::BTreeMap;

/// All connections of the cell to the agent's server.
#[derive(Debug, Default)]
pub struct Net {
    pub(super) open: Vec<Connection>,
    pub(super) requests: u32,
    /// The id of the last event, by the seat that has seen it.
    pub(super) last_ids: BTreeMap<usize, String>,
    pub(super) bodies: Bodies,
}

/// Bodies of responses that came a moment ago: whoever polls gets the same again and again, and it is read once.
#[derive(Debug)]
pub(super) struct Bodies([Option<Json>; BODIES]);

/// How many bodies are remembered: more than the routes that a strategy polls.
const BODIES: usize = 64;

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies([const { None }; BODIES])
    }
}

impl Bodies {
    /// The body of this text, which is shared with an earlier one if it is the same.
    pub(super) fn of_text(&mut self, text: &str) -> Json {
        // the same text has the same length; two others that share a place push each other out
        let known = &mut self.0[text.len() % BODIES];
        match known {
            Some(known) if known.text() == text => known.clone(),
            _ => known.insert(Json::of_text(text)).clone(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    /// `None` while the listener's queue is full. A kernel tries again after 1, 3, 7 … s; here it is tried at once when
    /// there is room.
    pub(super) handle: Option<Handle>,
    pub(super) port: u16,
    pub(super) seat: usize,
    pub(super) who: Name,
    pub(super) reader: ResponseReader,
    pub(super) unsent: Vec<u8>,
    pub(super) what: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Request { id: u32, status: u16, body: Vec<u8>, until: Option<VTime> },
    Events { decoder: sse::Decoder },
}

impl Net {
    /// The earliest time limit of an open request.
    pub fn deadline(&self) -> Option<VTime> {
        let limits = self.open.iter().filter_map(|c| match c.what {
            Kind::Request { until, .. } => until,
            Kind::Events { .. } => None,
        });
        limits.min()
    }

    /// A request as its asker's state holds it: its place among those that are open, from 1; 0 if it is over. Its number
    /// counts all requests of the cell, and decides nothing.
    pub fn place(&self, request: u32) -> u64 {
        self.open.iter().position(|c| c.request() == Some(request)).map_or(0, |at| at as u64 + 1)
    }

    /// The handles that connections hold.
    pub fn handles(&self) -> impl Iterator<Item = Handle> {
        self.open.iter().filter_map(|c| c.handle)
    }

    /// The handles that connections hold, and the seat of the actor that owns each.
    pub fn held(&self) -> impl Iterator<Item = (usize, Handle)> {
        self.open.iter().filter_map(|c| Some((c.seat, c.handle?)))
    }

    /// Writes the state: which actor waits for what.
    pub fn canon(&self, canon: &mut Canon) {
        let Net {
            open,
            requests: _, // not compared: numbers of requests are names, written as places among those that are open
            last_ids,
            bodies: _, // not compared: what is remembered is what would be read again
        } = self;
        canon.list(open, |canon, connection| connection.canon(canon));
        // an actor that listens has the newest
        let listens = |seat| open.iter().any(|c| c.seat == seat && matches!(c.what, Kind::Events { .. }));
        for (seat, id) in last_ids.iter().filter(|(seat, _)| !listens(**seat)) {
            canon.num(*seat as u64).text(id);
        }
    }
}

impl Connection {
    /// The number of its request, if it is one.
    pub(super) fn request(&self) -> Option<u32> {
        match self.what {
            Kind::Request { id, .. } => Some(id),
            Kind::Events { .. } => None,
        }
    }

    fn canon(&self, canon: &mut Canon) {
        let Connection {
            handle, // its rank is written by `Hub::canon`
            port,
            seat,
            who: _, // not compared: a seat has one name
            reader,
            unsent,
            what,
        } = self;
        canon.flag(handle.is_some()).num(u64::from(*port)).num(*seat as u64).bytes(unsent);
        reader.canon(canon);
        match what {
            Kind::Request {
                id: _, // not compared: see `Net::place`
                status,
                body,
                until,
            } => canon.num(u64::from(*status)).bytes(body).deadline(*until),
            Kind::Events { decoder } => {
                decoder.canon(canon);
                canon.num(u64::MAX)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_comes_again_is_read_once_and_another_is_another() {
        let mut bodies = Bodies::default();
        let first = bodies.of_text(r#"{"a":1}"#);
        assert!(std::ptr::eq(&*bodies.of_text(r#"{"a":1}"#), &*first));
        let (other, plain) = (bodies.of_text(r#"{"a":2}"#), bodies.of_text("no json"));
        assert_eq!((other["a"].as_u64(), plain.as_str()), (Some(2), Some("no json")), "the same place, other texts");
        assert_eq!((bodies.of_text(r#"{"a":1}"#), bodies.of_text("no json").as_str()), (first, Some("no json")));
    }
}
