//! The front end's recovery clock (563d689d3): a question that runs, and that no list of this client knows.
//!
//! Invariant: the clock is edge-triggered and fires once each time it is armed; it halts only what it has looked at
//! again. #756: the halt is a hard abort, so the clock that was to save a lost question killed it.

use crate::{Act, Facts, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Strategy};
use rehang_wire::opencode::{Ask, Route, Status, kind};
use rehang_words::{Canon, Policy, Span, VTime};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The time from when a question is missing to the look at the server's list (HEAL_DELAY_MS).
pub const HEAL_DELAY: Span = Span::ms(3_000);
/// How often a list that fails is asked for again (MAX_RETRIES).
pub const MAX_RETRIES: u32 = 3;
/// What the front end is told when its user leaves the session ([`ProtocolSeen::Command`]).
pub const LEAVES: &str = "leave";
/// What the front end is told when its user comes back to the session.
pub const COMES_BACK: &str = "come-back";
/// The most parts and requests that are remembered; a front end that has more shows the first ones.
const REMEMBERED_MAX: usize = 1_000;

/// The recovery clock of the one session that is on screen.
#[derive(Debug, Default)]
pub struct Recovery {
    session: String,
    busy: bool,
    /// Question parts that run: part id → message and call.
    running: BTreeMap<String, Tool>,
    /// Requests that this client knows, by id.
    known: BTreeSet<String>,
    missing: bool,
    /// Whether its user looks at something else: the clock runs only for the active session.
    away: bool,
    clock: Clock,
    next_id: u32,
}

type Tool = (String, String);

#[derive(Debug, Default)]
enum Clock {
    #[default]
    Off,
    /// Fires at this time; this many retries came before it.
    Armed(VTime, u32),
    /// Waits for the server's list.
    Lists(u32, u32),
    /// Waits for the response to the abort.
    Halts(u32),
    /// It has fired; it is armed again only after `missing` has become false.
    Fired,
}

impl Recovery {
    fn event(&mut self, event: &Value) {
        let of = &event["properties"];
        match event["type"].as_str().unwrap_or_default() {
            kind::SESSION_STATUS if of["sessionID"] == *self.session => {
                self.busy = Status::of(&of["status"]) == Some(Status::Busy);
            }
            kind::SESSION_IDLE if of["sessionID"] == *self.session => self.busy = false,
            kind::PART_UPDATED => self.part(&of["part"]),
            kind::QUESTION_ASKED if of["sessionID"] == *self.session => self.know(of),
            kind::QUESTION_REPLIED | kind::QUESTION_REJECTED => {
                if let Some(id) = of["requestID"].as_str() {
                    self.known.remove(id);
                }
            }
            _ => {}
        }
    }

    fn part(&mut self, part: &Value) {
        if part["tool"] != "question" || part["sessionID"] != *self.session {
            return;
        }
        let Some(id) = part["id"].as_str() else { return };
        match tool_of(part) {
            Some(tool) if part["state"]["status"] == "running" => {
                if self.running.len() < REMEMBERED_MAX {
                    self.running.insert(id.to_owned(), tool);
                }
            }
            _ => drop(self.running.remove(id)),
        }
    }

    fn know(&mut self, request: &Value) {
        if let Some(id) = request["id"].as_str()
            && self.known.len() < REMEMBERED_MAX
        {
            self.known.insert(id.to_owned());
        }
    }

    /// The snapshot: whether a question runs and the dock has none to show. Any known request can be shown, so which
    /// call it belongs to matters only to the look at the server's list.
    fn looks_missing(&self) -> bool {
        !self.away && !self.session.is_empty() && self.known.is_empty() && !self.running.is_empty()
    }

    /// Whether a list has a request for each question that runs; a request without ids counts as one of them.
    fn covers(&self, list: &[&Value]) -> bool {
        let tools: Vec<Option<Tool>> = list.iter().map(|request| tool_of(&request["tool"])).collect();
        let nameless = tools.iter().filter(|tool| tool.is_none()).count();
        let unmatched = self.running.values().filter(|run| !tools.iter().flatten().any(|tool| tool == *run)).count();
        unmatched <= nameless
    }

    fn request(&mut self, (method, path): (&'static str, String), acts: &mut Vec<Act>) -> u32 {
        self.next_id = self.next_id.wrapping_add(1);
        acts.push(Act::Protocol(ProtocolAct::Request {
            id: self.next_id,
            method,
            path,
            body: Value::Null,
            timeout: None,
        }));
        self.next_id
    }

    fn listed(&mut self, now: VTime, retries: u32, status: u16, body: &Value, acts: &mut Vec<Act>) {
        let Some(list) = body.as_array().filter(|_| (200..300).contains(&status)) else {
            return self.list_failed(now, retries, acts);
        };
        self.clock = Clock::Fired;
        let own: Vec<&Value> = list.iter().filter(|request| request["sessionID"] == *self.session).collect();
        if self.covers(&own) {
            own.into_iter().for_each(|request| self.know(request));
        } else if self.busy {
            self.halt(acts);
        }
    }

    fn list_failed(&mut self, now: VTime, retries: u32, acts: &mut Vec<Act>) {
        match retries < MAX_RETRIES {
            true => self.clock = Clock::Armed(now + HEAL_DELAY, retries + 1),
            false => self.halt(acts),
        }
    }

    fn halt(&mut self, acts: &mut Vec<Act>) {
        acts.push(Act::Report(Policy {
            detected: Some("missing-running".to_owned()),
            cause: Some("halt".to_owned()),
            constants: [
                ("heal_delay_ms".to_owned(), HEAL_DELAY.as_ms()),
                ("max_retries".to_owned(), u64::from(MAX_RETRIES)),
            ]
            .into(),
            ..Policy::default()
        }));
        let abort = Route::Abort { session: &self.session, soft: false }.sent();
        let id = self.request(abort, acts);
        self.clock = Clock::Halts(id);
    }

    /// Arms the clock when `missing` becomes true, and forgets everything when it becomes false.
    fn edge(&mut self, now: VTime, acts: &mut Vec<Act>) {
        let missing = self.looks_missing();
        if missing == self.missing {
            return;
        }
        self.missing = missing;
        let before = std::mem::take(&mut self.clock);
        if missing {
            self.clock = Clock::Armed(now + HEAL_DELAY, 0);
        } else if let Clock::Lists(id, _) = before {
            acts.push(Act::Protocol(ProtocolAct::Cancel { id }));
        }
    }
}

fn tool_of(value: &Value) -> Option<Tool> {
    Some((value["messageID"].as_str()?.to_owned(), value["callID"].as_str()?.to_owned()))
}

impl Strategy for Recovery {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match (seen, &self.clock) {
            (Seen::Process(ProcessSeen::Started { session, .. }), _) if self.session.is_empty() => {
                session.clone_into(&mut self.session)
            }
            (Seen::Protocol(ProtocolSeen::Event(event)), _) => self.event(event),
            (Seen::Protocol(ProtocolSeen::Command(word)), _) => {
                self.away = word == LEAVES || (self.away && word != COMES_BACK)
            }
            (Seen::Tick, &Clock::Armed(at, retries)) if now >= at => {
                self.clock = Clock::Fired;
                if self.busy {
                    let id = self.request(Route::Asks(Ask::Question).sent(), acts);
                    self.clock = Clock::Lists(id, retries);
                }
            }
            (Seen::Protocol(ProtocolSeen::Response { id, status, body }), &Clock::Lists(own, retries))
                if *id == own =>
            {
                self.listed(now, retries, *status, body, acts);
            }
            (Seen::Protocol(ProtocolSeen::Failed { id, .. }), &Clock::Lists(own, retries)) if *id == own => {
                self.list_failed(now, retries, acts);
            }
            (Seen::Protocol(ProtocolSeen::Response { id, status, .. }), &Clock::Halts(own)) if *id == own => {
                self.clock = Clock::Fired;
                if !(200..300).contains(status) {
                    acts.push(Act::Say(format!("warning: recovery could not halt the session: status {status}")));
                }
            }
            (Seen::Protocol(ProtocolSeen::Failed { id, why }), &Clock::Halts(own)) if *id == own => {
                self.clock = Clock::Fired;
                acts.push(Act::Say(format!("warning: recovery could not halt the session: {why}")));
            }
            _ => {}
        }
        self.edge(now, acts);
    }

    fn deadline(&self) -> Option<VTime> {
        match self.clock {
            Clock::Armed(at, _) => Some(at),
            _ => None,
        }
    }

    /// None: it looks at one kind of lost question only.
    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            session,
            busy,
            running,
            known,
            missing,
            away,
            clock,
            next_id: _, // not compared: it only names the next request
        } = self;
        canon.text(session).flag(*busy).flag(*missing).flag(*away).num(running.len() as u64);
        for (id, (message, call)) in running {
            canon.text(id).text(message).text(call);
        }
        canon.num(known.len() as u64);
        for id in known {
            canon.text(id);
        }
        match clock {
            Clock::Off => canon.num(0),
            Clock::Armed(at, retries) => canon.num(1).deadline(Some(*at)).num(u64::from(*retries)),
            Clock::Lists(
                _, // not compared: it is the last that was sent, so its place among those under way is the last too
                retries,
            ) => canon.num(2).num(u64::from(*retries)),
            Clock::Halts(
                _, // not compared: it is the last that was sent
            ) => canon.num(3),
            Clock::Fired => canon.num(4),
        };
    }

    fn wants_events(&self) -> bool {
        true
    }
}
