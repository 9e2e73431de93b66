//! Who owes whom what: a request is an obligation of its receiver until it is answered.

use crate::client::{Event, What};
use crate::message::{Answer, Message};
use crate::script::Expect;
use rehang_words::text::shown;
use serde_json::Value;

/// A side of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// The client does not read, and what it was to write is not all in the pipe or never was to be read.
    pub is_unread: bool,
    /// What the client waited for in vain.
    pub not_reached: Option<String>,
    /// The client has played its whole plan.
    pub is_over: bool,
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
                What::Closed => ledger.closed = Some(*ms),
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
        let before = self.all.iter().filter(|other| other.by == by && other.method == method).count();
        let (id, method) = (id.clone(), method.to_owned());
        self.all.push(Obligation { by, id, method, ordinal: before + 1, since, replies: Vec::new(), expect });
    }

    fn settle(&mut self, ms: u64, by: Side, id: &Value, answer: &Answer) {
        let of = |other: &&mut Obligation| other.by == by && other.id == *id;
        // a client may reuse an id that was answered
        let open = self.all.iter().rposition(|other| other.by == by && other.id == *id && other.is_open());
        let found = match open {
            Some(at) => self.all.get_mut(at),
            None => self.all.iter_mut().rev().find(of),
        };
        match found {
            Some(obligation) => obligation.replies.push((ms, answer.clone())),
            None if by == Side::Agent && !id.is_null() => self.strays.push(id.clone()),
            None => {}
        }
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
        let odd = Ledger::of(&[Event { ms: 0, what: What::Heard(request(1, "\u{1b}[2J")) }]);
        assert_eq!(odd.open(Side::Client).next().map(Obligation::name), Some("\\u{1b}[2J".to_owned()));
    }
}
