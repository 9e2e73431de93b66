//! Open asks on opencode's HTTP: listed every few seconds, and reported by events in between.
//!
//! Invariant: an ask is ended right after a round of listing that still had it, in a session that is busy (real
//! opencode goes on listing what an abort has dropped), and only in the tree of our own session: parents are asked for
//! until the root or an unrelated session is reached.

use super::claude::question;
use super::{OPEN_MAX, Open, Rule, Ruling};
use crate::canon::{option, texts};
use crate::lines::text;
use crate::{Act, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Settled};
use rehang_wire::opencode::{Answers, Ask, PermissionReply, Permit, Route, kind};
use rehang_words::{Canon, Span, VTime};
use serde_json::Value;

/// The time limit of each request, the same as for the opencode companion's GETs.
const LIMIT: Span = Span::secs(10);
/// How deep a session tree may be.
const DEPTH_MAX: usize = 32;
/// How many sessions are remembered.
const SESSIONS_MAX: usize = 10_000;

#[derive(Debug)]
pub(super) struct Http {
    root: String,
    /// Sessions and their parents; an empty parent means none.
    parents: Vec<(String, String)>,
    open: Vec<Open>,
    next_id: u32,
    flying: Vec<(u32, Flight)>,
    /// When the next round of listing is due.
    round_at: Option<VTime>,
    /// When the last round began: an ask that was due before is not due again by itself.
    round_was: VTime,
    /// Sessions whose parent was asked for since.
    looked_up: Vec<String>,
    /// What the last status said is busy; `None` if it was not available.
    busy: Option<Vec<String>>,
    over: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Flight {
    Status,
    Questions,
    Permissions,
    Session(String),
    Reply(String),
}

impl Http {
    pub(super) fn new(root: &str) -> Http {
        Http {
            root: root.to_owned(),
            parents: Vec::new(),
            open: Vec::new(),
            next_id: 1,
            flying: Vec::new(),
            round_at: None,
            round_was: VTime::ZERO,
            looked_up: Vec::new(),
            busy: None,
            over: false,
        }
    }

    pub(super) fn on(&mut self, rule: &Rule, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Process(ProcessSeen::Started { .. }) => {
                (self.round_at, self.round_was) = (Some(now + rule.every), now)
            }
            Seen::Process(ProcessSeen::Exited(_)) => self.over = true,
            Seen::Protocol(ProtocolSeen::Event(event)) => self.event(now, event),
            Seen::Protocol(ProtocolSeen::EventsCut) if self.round_at.is_some() => self.round_at = Some(now),
            Seen::Tick if self.deadline(rule).is_some_and(|at| now >= at) => self.round(rule, now, acts),
            Seen::Protocol(ProtocolSeen::Response { id, status, body }) => {
                self.landed(rule, now, *id, Some((*status, &**body)), acts)
            }
            Seen::Protocol(ProtocolSeen::Failed { id, .. }) => self.landed(rule, now, *id, None, acts),
            _ => {}
        }
        self.look_up(acts);
    }

    pub(super) fn deadline(&self, rule: &Rule) -> Option<VTime> {
        if self.over || self.is_listing() {
            return None;
        }
        let open = self.open.iter().filter(|open| !open.replied && self.is_ours(&open.session));
        let due = open.map(|open| rule.due(open)).filter(|&due| due > self.round_was);
        due.chain(self.round_at).min()
    }

    pub(super) fn canon(&self, rule: &Rule, canon: &mut Canon) {
        let Self {
            root,
            parents,
            open,
            next_id: _, // not compared: it only names the next request
            flying,
            round_at,
            round_was,
            looked_up,
            busy,
            over,
        } = self;
        let round_max = rule.every + LIMIT;
        canon.text(root).flag(*over).deadline(*round_at).age(*round_was, round_max);
        canon.list(open, |canon, open| {
            open.canon(canon, rule.after + round_max);
            // What the two ages do not say if both are above their limits.
            canon.flag(rule.due(open) > *round_was);
        });
        texts(canon, looked_up);
        canon.list(parents, |canon, (session, parent)| {
            canon.text(session).text(parent);
        });
        // In the order of sending, which is that of the ids.
        canon.list(flying, |canon, (_, flight)| flight.canon(canon));
        option(canon, busy.as_ref(), |canon, busy| texts(canon, busy));
    }

    /// Lists what is busy and what is open.
    fn round(&mut self, rule: &Rule, now: VTime, acts: &mut Vec<Act>) {
        self.round_at = Some(now + rule.every);
        self.round_was = now;
        self.busy = None;
        self.looked_up.clear();
        self.send(Flight::Status, Route::Status, Value::Null, acts);
        self.send(Flight::Questions, Route::Asks(Ask::Question), Value::Null, acts);
        self.send(Flight::Permissions, Route::Asks(Ask::Permission), Value::Null, acts);
    }

    fn is_listing(&self) -> bool {
        self.flying.iter().any(|(_, f)| matches!(f, Flight::Status | Flight::Questions | Flight::Permissions))
    }

    fn landed(&mut self, rule: &Rule, now: VTime, id: u32, got: Option<(u16, &Value)>, acts: &mut Vec<Act>) {
        let Some(i) = self.flying.iter().position(|(n, _)| *n == id) else { return };
        let (_, flight) = self.flying.remove(i);
        let body = got.filter(|(status, _)| *status == 200).map(|(_, body)| body);
        match &flight {
            Flight::Status => self.busy = body.and_then(Value::as_object).map(busy),
            Flight::Questions => self.listed(now, body, true),
            Flight::Permissions => self.listed(now, body, false),
            Flight::Session(session) => {
                if let Some(info) = body {
                    self.know(session, text(info, "parentID"));
                }
            }
            Flight::Reply(ask) => {
                // A request that was refused for good (4xx) is not sent again; one that may not have arrived is, if the
                // ask is still listed.
                if got.is_none_or(|(status, _)| status >= 500) {
                    self.open.iter_mut().filter(|open| open.id == *ask).for_each(|open| open.replied = false);
                }
            }
        }
        let lists = matches!(flight, Flight::Status | Flight::Questions | Flight::Permissions);
        if lists && !self.is_listing() && !self.over {
            self.reply(rule, now, acts);
        }
    }

    fn listed(&mut self, now: VTime, list: Option<&Value>, questions: bool) {
        let Some(list) = list.and_then(Value::as_array) else { return };
        let is_listed = |open: &Open| list.iter().any(|item| text(item, "id") == open.id);
        self.open.retain(|open| open.permission.is_empty() != questions || open.since == now || is_listed(open));
        for item in list {
            self.asked(now, item, questions);
        }
    }

    fn asked(&mut self, now: VTime, item: &Value, is_question: bool) {
        let id = text(item, "id").to_owned();
        if id.is_empty() || self.open.len() >= OPEN_MAX || self.open.iter().any(|open| open.id == id) {
            return;
        }
        let questions = if is_question { item["questions"].as_array() } else { None };
        let permission = match (is_question, text(item, "permission"), text(item, "type")) {
            (true, ..) => "",
            (false, "", "") => "?",
            (false, "", old) => old,
            (false, permission, _) => permission,
        };
        self.open.push(Open {
            id,
            session: text(item, "sessionID").to_owned(),
            questions: questions.into_iter().flatten().map(question).collect(),
            permission: permission.to_owned(),
            since: now,
            replied: false,
            old: text(item, "permission").is_empty() && !is_question,
        });
    }

    fn event(&mut self, now: VTime, event: &Value) {
        let properties = &event["properties"];
        match text(event, "type") {
            kind::QUESTION_ASKED => self.asked(now, properties, true),
            // 1.0.185 has no `permission.asked`.
            kind::PERMISSION_ASKED | kind::PERMISSION_UPDATED => self.asked(now, properties, false),
            kind::QUESTION_REPLIED | kind::QUESTION_REJECTED | kind::PERMISSION_REPLIED => {
                let ids = [text(properties, "requestID"), text(properties, "permissionID")];
                self.open.retain(|open| !ids.contains(&open.id.as_str()));
            }
            kind::SESSION_CREATED | kind::SESSION_UPDATED => {
                let info = &properties["info"];
                self.know(text(info, "id"), text(info, "parentID"));
            }
            _ => {}
        }
    }

    fn know(&mut self, session: &str, parent: &str) {
        let known = self.parents.iter().any(|(s, _)| s == session);
        if !known && !session.is_empty() && self.parents.len() < SESSIONS_MAX {
            self.parents.push((session.to_owned(), parent.to_owned()));
        }
    }

    /// Whose a session is: its chain of parents leads to our root, to another root, or to a session that is not known
    /// yet.
    fn whose<'a>(&'a self, session: &'a str) -> Whose<'a> {
        let mut at = session;
        for _ in 0..DEPTH_MAX {
            if at == self.root {
                return Whose::Ours;
            }
            match self.parents.iter().find(|(s, _)| s == at) {
                None => return Whose::Unknown(at),
                Some((_, parent)) if parent.is_empty() => return Whose::Others,
                Some((_, parent)) => at = parent,
            }
        }
        Whose::Others
    }

    fn is_ours(&self, session: &str) -> bool {
        self.whose(session) == Whose::Ours
    }

    /// Asks for parents that are not known: once a round, so that a session whose parent is not available costs no
    /// more.
    fn look_up(&mut self, acts: &mut Vec<Act>) {
        let unknown = |open: &Open| match self.whose(&open.session) {
            Whose::Unknown(session) => Some(session.to_owned()),
            Whose::Ours | Whose::Others => None,
        };
        let unknown: Vec<String> = self.open.iter().filter_map(unknown).collect();
        for session in unknown {
            if !session.is_empty() && !self.looked_up.contains(&session) {
                self.looked_up.push(session.clone());
                self.send(Flight::Session(session.clone()), Route::Session(&session), Value::Null, acts);
            }
        }
    }

    fn reply(&mut self, rule: &Rule, now: VTime, acts: &mut Vec<Act>) {
        let is_busy = |open: &Open| self.busy.as_ref().is_none_or(|busy| busy.contains(&open.session));
        let is_due = |open: &Open| !open.replied && now >= rule.due(open) && is_busy(open);
        let due: Vec<usize> =
            (0..self.open.len()).filter(|&i| is_due(&self.open[i]) && self.is_ours(&self.open[i].session)).collect();
        for i in due {
            let open = self.open[i].clone();
            let ruling = rule.rules(&open);
            self.open[i].replied = true;
            if ruling == Ruling::Leave {
                continue;
            }
            acts.push(Act::Report(rule.report(&open, &ruling)));
            let (route, body) = match ruling {
                Ruling::Leave => continue,
                Ruling::Refuse(why) => refusal(&open, &why),
                Ruling::Answer(answers) => (Route::Answer(&open.id), Answers { answers }.body()),
                Ruling::Stop(why) => return self.stop(why, acts),
            };
            self.send(Flight::Reply(open.id.clone()), route, body, acts);
        }
    }

    /// Ends the run: first the open asks, since opencode goes on listing the asks of a session that was aborted.
    fn stop(&mut self, why: String, acts: &mut Vec<Act>) {
        let ours = |open: &&Open| self.is_ours(&open.session);
        for open in self.open.iter().filter(ours).cloned().collect::<Vec<_>>() {
            let (route, body) = refusal(&open, &why);
            self.send(Flight::Reply(open.id.clone()), route, body, acts);
        }
        let root = self.root.clone();
        let abort = Route::Abort { session: &root, soft: false };
        self.send(Flight::Reply(String::new()), abort, Value::Null, acts);
        acts.push(Act::Process(ProcessAct::Settle(Settled::Stopped("asked".to_owned(), why))));
        self.over = true;
    }

    fn send(&mut self, flight: Flight, route: Route<'_>, body: Value, acts: &mut Vec<Act>) {
        let (method, path) = route.sent();
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.flying.push((id, flight));
        acts.push(Act::Protocol(ProtocolAct::Request { id, method, path, body, timeout: Some(LIMIT) }));
    }
}

impl Flight {
    fn canon(&self, canon: &mut Canon) {
        match self {
            Flight::Status => canon.num(0),
            Flight::Questions => canon.num(1),
            Flight::Permissions => canon.num(2),
            Flight::Session(session) => canon.num(3).text(session),
            Flight::Reply(ask) => canon.num(4).text(ask),
        };
    }
}

/// The request that refuses an ask: its route and body.
fn refusal<'a>(open: &'a Open, why: &str) -> (Route<'a>, Value) {
    let Open { id, session, .. } = open;
    match (open.old, open.permission.is_empty()) {
        (true, _) => (Route::PermitIn { session, id }, PermissionReply::Session { response: Permit::Reject }.body()),
        (false, false) => {
            (Route::Permit(id), PermissionReply::Own { reply: Permit::Reject, message: Some(why) }.body())
        }
        (false, true) => (Route::Reject(id), Value::Null),
    }
}

/// The sessions that a status names as anything but idle.
fn busy(status: &serde_json::Map<String, Value>) -> Vec<String> {
    status.iter().filter(|(_, s)| text(s, "type") != "idle").map(|(session, _)| session.clone()).collect()
}
/// Which tree a session belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose<'a> {
    Ours,
    Others,
    /// The chain of parents is known up to this session, which is not known.
    Unknown(&'a str),
}
