//! Who owes whom what: a request is an obligation of its receiver until it is answered.

use crate::client::{Event, What};
use crate::message::{Answer, Message};
use crate::script::Expect;
use rehang_words::text::shown;
use serde_json::Value;
use std::collections::HashMap;

/// A side of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The agent.
    Agent,
    /// The client.
    Client,
}

/// A request, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Obligation {
    /// Who owes the reply.
    pub by: Side,
    /// The request's id.
    pub id: Value,
    /// The request's method.
    pub method: String,
    /// Which one of its method it is, from 1.
    pub ordinal: usize,
    /// When the request was made, in milliseconds.
    pub since: u64,
    /// The replies, with when they came.
    pub replies: Vec<(u64, Answer)>,
    /// Which reply is right; for the client's requests.
    pub expect: Option<Expect>,
}

impl Obligation {
    /// Whether there was no reply.
    pub fn is_open(&self) -> bool {
        self.replies.is_empty()
    }

    /// The request in words: "the second session/prompt".
    pub fn name(&self) -> String {
        // the agent chooses the names of its own requests
        let method = shown(&self.method);
        match self.ordinal {
            1 => method,
            2 => format!("the second {method}"),
            3 => format!("the third {method}"),
            n => format!("{method} no. {n}"),
        }
    }
}

/// All obligations of a run, and what else its end depends on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// The obligations, in the order of their requests.
    pub all: Vec<Obligation>,
    /// Replies of the agent's to requests that nobody made, without those whose id is null.
    pub strays: Vec<Value>,
    /// Lines of the agent's that are no message.
    pub odd_lines: Vec<String>,
    /// Since when the agent's stdin is closed, in milliseconds: it owes its end.
    pub closed: Option<u64>,
    /// When the agent's process ended, with its code or -signal, and the end of its stderr.
    pub ended: Option<(u64, i32, String)>,
    /// When the client cancelled last.
    pub cancelled: Option<u64>,
    /// The client does not read.
    pub is_unread: bool,
    /// The client does not read, and when it closed the agent's stdin, something of the agent's was unread.
    pub has_unread: bool,
    /// When the client gave up an agent that writes without an end, and how many events that were.
    pub too_much: Option<(u64, usize)>,
    /// What the client waited for in vain.
    pub not_reached: Option<String>,
    /// The client has played its whole plan.
    pub is_over: bool,
    /// How many requests of each method a side owes or owed a reply.
    counts: HashMap<(Side, String), usize>,
    /// Of each id, the requests that are open, and the last one.
    by_id: HashMap<(Side, String), (Vec<usize>, usize)>,
}

impl Ledger {
    /// What a run came to.
    pub fn of(events: &[Event]) -> Ledger {
        let mut ledger = Ledger::default();
        for Event { ms, what } in events {
            match what {
                What::Asked(Message::Request { id, method, .. }, expect) => {
                    ledger.owe(*ms, Side::Agent, id, method, Some(*expect));
                }
                What::Heard(Message::Request { id, method, .. }) => ledger.owe(*ms, Side::Client, id, method, None),
                What::Heard(Message::Reply { id, answer }) => ledger.settle(*ms, Side::Agent, id, answer),
                What::Sent(Message::Reply { id, answer }) => ledger.settle(*ms, Side::Client, id, answer),
                What::Heard(Message::Other(line)) => ledger.odd_lines.push(line.clone()),
                What::StopsReading => ledger.is_unread = true,
                What::Reads => ledger.is_unread = false,
                What::Cancelled => ledger.cancelled = Some(*ms),
                // its end may have come first
                What::Closed if ledger.ended.is_none() => ledger.closed = Some(*ms),
                What::Closed => {}
                What::Unread => ledger.has_unread = true,
                What::TooMuch(count) => ledger.too_much = Some((*ms, *count)),
                What::Ended { code, said } => ledger.ended = Some((*ms, *code, said.clone())),
                What::NotReached(why) => ledger.not_reached = Some(why.clone()),
                What::Over => ledger.is_over = true,
                What::Started { .. } | What::Asked(..) | What::Sent(_) | What::Wrote(_) => {}
                What::Heard(Message::Notification { .. }) => {}
            }
        }
        ledger
    }

    fn owe(&mut self, since: u64, by: Side, id: &Value, method: &str, expect: Option<Expect>) {
        let ordinal = self.counts.entry((by, method.to_owned())).or_default();
        *ordinal += 1;
        let of_id = self.by_id.entry((by, id.to_string())).or_default();
        of_id.0.push(self.all.len());
        of_id.1 = self.all.len();
        let (id, method) = (id.clone(), method.to_owned());
        self.all.push(Obligation { by, id, method, ordinal: *ordinal, since, replies: Vec::new(), expect });
    }

    fn settle(&mut self, ms: u64, by: Side, id: &Value, answer: &Answer) {
        // a client may reuse an id that was answered
        let found = self.by_id.get_mut(&(by, id.to_string())).map(|(open, last)| open.pop().unwrap_or(*last));
        match found.and_then(|at| self.all.get_mut(at)) {
            Some(obligation) => obligation.replies.push((ms, answer.clone())),
            None if by == Side::Agent && !id.is_null() => self.strays.push(id.clone()),
            None => {}
        }
    }

    /// The request for whose reply the agent may wait: one that it made while it owed what it owes now. What the client asked
    /// later is no part of that turn.
    pub fn waits_for(&self) -> Option<&Obligation> {
        let owes = self.all.iter().position(|debt| debt.by == Side::Agent && debt.is_open())?;
        self.all[owes..].iter().find(|debt| debt.by == Side::Client && debt.is_open())
    }

    /// What a side has not answered.
    pub fn open(&self, by: Side) -> impl Iterator<Item = &Obligation> {
        self.all.iter().filter(move |obligation| obligation.by == by && obligation.is_open())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(id: i32, method: &str) -> Message {
        Message::Request { id: json!(id), method: method.to_owned(), params: Value::Null }
    }

    #[test]
    fn both_sides_count_their_ids_for_themselves() {
        let reply = |id: i32| Message::reply(json!(id), Answer::Result(Value::Null));
        let all = [
            (0, What::Asked(request(1, "session/prompt"), Expect::Result)),
            (1, What::Heard(request(1, "fs/read_text_file"))),
            (2, What::Heard(request(2, "fs/read_text_file"))),
            (3, What::Sent(reply(1))),
            (4, What::Heard(reply(7))),
        ];
        let events = all.map(|(ms, what)| Event { ms, what });
        let ledger = Ledger::of(&events);
        let names = |side| ledger.open(side).map(Obligation::name).collect::<Vec<_>>();
        assert_eq!(names(Side::Agent), ["session/prompt"]);
        assert_eq!(names(Side::Client), ["the second fs/read_text_file"]);
        assert_eq!(ledger.strays, [json!(7)]);
        assert_eq!(ledger.waits_for().map(Obligation::name), Some("the second fs/read_text_file".to_owned()));
        // the first turn is over: what is owed now is another one's
        let more = [
            (5, What::Heard(Message::reply(json!(1), Answer::Result(Value::Null)))),
            (5, What::Asked(request(2, "session/prompt"), Expect::Result)),
        ];
        let ledger = Ledger::of(&[&events[..], &more.map(|(ms, what)| Event { ms, what })].concat());
        assert_eq!(ledger.open(Side::Agent).next().map(Obligation::name), Some("the second session/prompt".to_owned()));
        assert_eq!(ledger.waits_for(), None);
        let odd = Ledger::of(&[Event { ms: 0, what: What::Heard(request(1, "\u{1b}[2J")) }]);
        assert_eq!(odd.open(Side::Client).next().map(Obligation::name), Some("\\u{1b}[2J".to_owned()));
    }
}
