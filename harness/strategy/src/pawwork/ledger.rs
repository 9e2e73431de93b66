//! The session blocker ledger (2837fabbb): who is being asked; clients and the stream's clock are told.
//!
//! Invariant: an entry exists from before `question.asked` until before `question.replied` or `question.rejected`; its
//! removal is published exactly once. It ends no hang: it keeps the clock from aborting.

use super::clock::StreamClock;
use super::reply;
use crate::{Act, Ask, Facts, InsideAct, InsideSeen, Seen, Strategy, Then, canon};
use rehang_words::Question;
use rehang_words::{Canon, Span, VTime};
use serde_json::{Value, json};

/// The ledger with its stream clock.
#[derive(Debug)]
pub struct Ledger {
    clock: StreamClock,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: String,
    session: String,
    questions: Vec<Question>,
    /// When it was first put in; putting it in again keeps that time. It is only published.
    armed: VTime,
}

impl Ledger {
    /// A ledger with these limits of silence and of the first progress; 0 for no limit of the latter.
    pub fn new(silent: Span, connect: Span) -> Ledger {
        Ledger { clock: StreamClock::new(silent, connect), entries: Vec::new() }
    }

    fn upsert(&mut self, now: VTime, ask: &Ask, acts: &mut Vec<Act>) {
        let armed = match self.entries.iter().find(|entry| entry.id == ask.id) {
            Some(entry) => entry.armed,
            None => {
                let (id, session) = (ask.id.clone(), ask.session.clone());
                self.entries.push(Entry { id, session, questions: ask.questions.clone(), armed: now });
                now
            }
        };
        acts.push(Act::Inside(InsideAct::Publish(json!({
            "type": "session.blocker.upserted",
            "properties": {
                "kind": "question",
                "status": "awaiting_user",
                "sessionID": ask.session,
                "requestID": ask.id,
                "request": null,
                "tool": null,
                "armedAt": armed,
                "updatedAt": now,
            },
        }))));
    }

    fn remove(&mut self, id: &str, reason: &str, acts: &mut Vec<Act>) {
        let Some(at) = self.entries.iter().position(|entry| entry.id == id) else { return };
        let entry = self.entries.remove(at);
        acts.push(Act::Inside(InsideAct::Publish(json!({
            "type": "session.blocker.removed",
            "properties": {
                "kind": "question",
                "sessionID": entry.session,
                "requestID": entry.id,
                "reason": reason,
            },
        }))));
    }

    /// Defect: a reply that does not fit destroys the question, and the user cannot try again.
    fn decide(&self, id: &str, dismiss: bool, body: &Value) -> (u16, Value, Then) {
        let Some(entry) = self.entries.iter().find(|entry| entry.id == id) else {
            return (404, json!({"error": "not_found"}), Then::Keep);
        };
        if dismiss {
            return (200, json!(true), Then::Dismiss);
        }
        let Some(answers) = reply::answers(body) else { return (400, json!({"error": "bad_body"}), Then::Keep) };
        match reply::misfit(&entry.questions, &answers) {
            Some(error) => (400, json!({"error": error}), Then::Destroy),
            None => (200, json!(true), Then::Take(answers)),
        }
    }
}

impl Strategy for Ledger {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Inside(InsideSeen::ToolAsks(ask)) => {
                acts.extend(reply::unaskable(&ask.questions).map(|text| Act::Inside(InsideAct::Withhold { text })));
            }
            Seen::Inside(InsideSeen::Pending(ask)) if !ask.questions.is_empty() => self.upsert(now, ask, acts),
            Seen::Inside(InsideSeen::Closing { id, reason, .. }) => self.remove(id, reason, acts),
            Seen::Inside(InsideSeen::Submitted { id, dismiss, body, .. }) => {
                let (status, body, then) = self.decide(id, *dismiss, body);
                acts.push(Act::Inside(InsideAct::Verdict { id: id.clone(), status, body, then }));
            }
            _ => {}
        }
        let entries = &self.entries;
        let is_asked = |session: &str| entries.iter().any(|entry| entry.session == session);
        self.clock.on(now, seen, is_asked, acts);
    }

    fn deadline(&self) -> Option<VTime> {
        self.clock.deadline()
    }

    /// None: while a person is asked it waits for ever, by design.
    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self { clock, entries } = self;
        clock.canon(canon);
        canon.list(entries, |canon, entry| {
            let Entry {
                id,
                session,
                questions,
                armed: _, // not compared: it decides nothing; it is only copied into what is published
            } = entry;
            canon.text(id).text(session);
            canon::questions(canon, questions);
        });
    }
}
