//! External results (6ab984202): the ledger's successor. A question is a tool call whose result comes by HTTP.
//!
//! Invariant: a call is pending, then a tombstone for 30 s, then gone; it is resolved at most once, and a reply that
//! does not fit leaves it pending.

use super::clock::StreamClock;
use super::reply;
use crate::{Act, Facts, InsideAct, InsideSeen, Seen, Strategy, Then, canon};
use rehang_words::Question;
use rehang_words::{Canon, Span, VTime};
use serde_json::{Value, json};

/// How long a resolved call is remembered, so that a late reply gets 409 and not 404.
pub const TOMBSTONE: Span = Span::secs(30);

/// The registry with its stream clock.
#[derive(Debug)]
pub struct ExternalResult {
    clock: StreamClock,
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    id: String,
    session: String,
    questions: Vec<Question>,
    /// When its tombstone is removed; `None` while it is pending.
    gone: Option<VTime>,
}

impl ExternalResult {
    /// A registry with these limits of silence and of the first progress; 0 for no limit of the latter.
    pub fn new(silent: Span, connect: Span) -> ExternalResult {
        ExternalResult { clock: StreamClock::new(silent, connect), calls: Vec::new() }
    }

    fn bury(&mut self, now: VTime, id: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id && call.gone.is_none()) {
            call.gone = Some(now + TOMBSTONE);
        }
    }

    fn respond(&mut self, now: VTime, session: &str, id: &str, dismiss: bool, body: &Value) -> (u16, Value, Then) {
        let refuse = |status: u16, error: &str| (status, json!({"error": error}), Then::Keep);
        let action = body["action"].as_str() == Some(if dismiss { "dismiss" } else { "submit" });
        let answers = reply::answers(body);
        if id.is_empty() || !action || !body["messageID"].is_string() || (!dismiss && answers.is_none()) {
            return refuse(400, "bad_body");
        }
        let Some(call) = self.calls.iter().find(|call| call.id == id && call.session == session) else {
            return refuse(404, "not_found");
        };
        if call.gone.is_some() {
            return refuse(409, "already_resolved");
        }
        let then = match answers {
            Some(answers) if !dismiss => match reply::misfit(&call.questions, &answers) {
                Some(error) => return refuse(422, error),
                None => Then::Take(answers),
            },
            _ => Then::Dismiss,
        };
        self.bury(now, id);
        (200, json!({"ok": true}), then)
    }
}

impl Strategy for ExternalResult {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        self.calls.retain(|call| call.gone.is_none_or(|gone| now < gone));
        match seen {
            Seen::Inside(InsideSeen::Pending(ask))
                if !ask.questions.is_empty() && self.calls.iter().all(|call| call.id != ask.id) =>
            {
                let (id, session) = (ask.id.clone(), ask.session.clone());
                self.calls.push(Call { id, session, questions: ask.questions.clone(), gone: None });
            }
            // Before anything else of an abort: a response that races with it finds the tombstone.
            Seen::Inside(InsideSeen::Closing { id, .. }) | Seen::Inside(InsideSeen::Ended { id }) => self.bury(now, id),
            Seen::Inside(InsideSeen::Submitted { id, session, dismiss, body }) => {
                let (status, body, then) = self.respond(now, session, id, *dismiss, body);
                acts.push(Act::Inside(InsideAct::Verdict { id: id.clone(), status, body, then }));
            }
            _ => {}
        }
        let calls = &self.calls;
        let is_asked = |session: &str| calls.iter().any(|call| call.session == session && call.gone.is_none());
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
        let Self { clock, calls } = self;
        clock.canon(canon);
        let now = canon.now();
        // A tombstone whose time is over is removed before it can be read.
        let calls: Vec<&Call> = calls.iter().filter(|call| call.gone.is_none_or(|gone| now < gone)).collect();
        canon.list(&calls, |canon, Call { id, session, questions, gone }| {
            canon.text(id).text(session).deadline(*gone);
            canon::questions(canon, questions);
        });
    }
}
