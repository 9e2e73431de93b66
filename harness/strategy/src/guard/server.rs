//! The part of guard outside of an agent that is an opencode server.
//!
//! Invariants: nothing is concluded from one look: a state must have lasted for its whole limit, over at least two
//! rounds; a server that answers nothing is ended, any other stays for whoever uses it; a step that called tools is not
//! a finished turn; guard never answers or refuses an open ask; any change in the last message, in streamed metadata
//! too, starts the limits anew, and only what is new puts off the end of a silent run.

use super::parts::PartEnds;
use super::report;
use super::said::{self, Recent};
use super::standing::{Finding, Lasting, may_work};
use super::times::{Times, in_words};
use crate::canon::option;
use crate::lines::text;
use crate::{Act, Facts, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Settled, Strategy, Whom};
use rehang_wire::opencode::{Ask, Route};
use rehang_words::{Canon, Span, VTime};
use serde_json::Value;

/// The time between two rounds of questions to the server.
pub(super) const EVERY: Span = Span::secs(30);
/// How long a server may be out of reach, or a finished turn may go unnoticed by its client.
pub(super) const SOON: Span = Span::mins(1);
/// How long a state may last that a healthy server passes through: busy after its last word, idle before it, a bash
/// without a child. Above the bash tool's own limit of 2 minutes.
pub(super) const STUCK: Span = Span::mins(10);
/// How long a tool may be shown as running although none of its processes runs any more: no healthy run on record shows
/// that for longer than it takes to read its output, and the bash tool's own limit is over by then.
pub(super) const GONE: Span = Span::mins(2);
/// The time limit of each request.
const LIMIT: Span = Span::secs(10);

#[derive(Debug, Default)]
pub(super) struct Server {
    times: Times,
    session: String,
    next_round: Option<VTime>,
    next_id: u32,
    flying: Vec<(u32, Look)>,
    counting: bool,
    looking: bool,
    /// What this round has found so far.
    found: Found,
    /// What the last whole round found, and since when that has been so.
    last: Found,
    since: VTime,
    /// When something new was last found, and what was found a moment ago.
    moved: VTime,
    recent: Recent,
    /// What looks at its processes find.
    lasting: Lasting,
    parts: PartEnds,
    /// When a look at its processes last found something that may be at work.
    worked: VTime,
    over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Status,
    Message,
    Questions,
    Permissions,
    Abort,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Found {
    reached: bool,
    busy: Option<bool>,
    /// The busy sessions of the whole server.
    at_work: Vec<String>,
    message: Option<Value>,
    asks: usize,
    children: Option<u32>,
    /// Whether its open asks could not be read.
    asks_unread: bool,
    /// Whether it lists its open permissions: without such a list, a bash that waits for one looks like a bash that is
    /// lost.
    lists_asks: bool,
}

/// What a state means, how long it may last, and how the run is then settled.
struct Meaning {
    cause: &'static str,
    limit: Span,
    settled: Settled,
}

impl Server {
    /// One with these limits.
    pub(super) fn with(times: Times) -> Server {
        Server { times, ..Server::default() }
    }

    fn begin(&mut self, now: VTime) {
        self.next_round = Some(now + EVERY);
        (self.since, self.moved, self.worked) = (now, now, now);
        self.lasting.restart(now);
    }

    fn round(&mut self, now: VTime, acts: &mut Vec<Act>) {
        self.next_round = Some(now + EVERY);
        self.found = Found::default();
        // before anything is asked: what is looked at is the server, and not how it answers
        self.looking = true;
        acts.push(Act::Process(ProcessAct::Look));
        if self.session.is_empty() {
            return;
        }
        let message = Route::Messages { session: &self.session, limit: Some(1) }.sent();
        self.send(Look::Status, Route::Status.sent(), acts);
        self.send(Look::Message, message, acts);
        self.send(Look::Questions, Route::Asks(Ask::Question).sent(), acts);
        self.send(Look::Permissions, Route::Asks(Ask::Permission).sent(), acts);
        self.counting = true;
        acts.push(Act::Protocol(ProtocolAct::CountChildren));
    }

    /// When the next round is due; `None` while one is under way, or if the run is over.
    fn round_is_due(&self) -> Option<VTime> {
        self.next_round.filter(|_| !self.over && !self.counting && !self.looking && self.flying.is_empty())
    }

    fn send(&mut self, look: Look, (method, path): (&'static str, String), acts: &mut Vec<Act>) {
        self.next_id = self.next_id.wrapping_add(1);
        self.flying.push((self.next_id, look));
        acts.push(Act::Protocol(ProtocolAct::Request {
            id: self.next_id,
            method,
            path,
            body: Value::Null,
            timeout: Some(LIMIT),
        }));
    }

    fn landed(&mut self, now: VTime, id: u32, got: Option<(u16, &Value)>, acts: &mut Vec<Act>) {
        let Some(i) = self.flying.iter().position(|(n, _)| *n == id) else { return };
        let (_, look) = self.flying.remove(i);
        self.found.reached |= got.is_some();
        let body = got.filter(|(status, _)| *status == 200).map(|(_, body)| body);
        match look {
            Look::Status => {
                let kind = body.map(|all| text(&all[&self.session], "type"));
                self.found.busy = kind.map(|kind| !kind.is_empty() && kind != "idle");
                let all = body.and_then(Value::as_object).into_iter().flatten();
                let at_work = all.filter(|(_, status)| text(status, "type") != "idle");
                self.found.at_work = at_work.map(|(id, _)| id.clone()).collect();
                self.found.at_work.sort();
            }
            Look::Message => self.found.message = body.and_then(Value::as_array).and_then(|all| all.last()).cloned(),
            Look::Questions | Look::Permissions => {
                // a release without this kind of ask has no such route
                self.found.asks_unread |= !matches!(got, Some((200 | 404, _)));
                self.found.lists_asks |= look == Look::Permissions && matches!(got, Some((200, _)));
                self.found.asks += body.and_then(Value::as_array).map_or(0, Vec::len);
            }
            Look::Abort => return,
        }
        self.judge(now, acts);
    }

    /// Judges a whole round.
    fn judge(&mut self, now: VTime, acts: &mut Vec<Act>) {
        if self.over || self.counting || self.looking || !self.flying.is_empty() {
            return;
        }
        if self.found != self.last {
            self.last = std::mem::take(&mut self.found);
            self.since = now;
            self.lasting.restart(now);
            // an agent that asks its model again and again, and gets the same half of an answer, does not move
            if self.recent.is_news(self.last.content()) {
                self.moved = now;
            }
            if now.since(self.moved) < self.times.quiet.min(self.times.at_work) {
                return;
            }
        }
        let stands = self.lasting.due(now);
        let Times { quiet, at_work, .. } = self.times;
        let may_work = now.since(self.worked) < quiet;
        let silent = if may_work { at_work } else { quiet };
        let meaning = match (self.session.is_empty(), stands) {
            (false, _) => meaning(&self.last, stands, &self.times),
            (true, Some(found)) => stopped(found.signature.word(), found.after, found.limit.report),
            (true, None) => None,
        };
        let idle = || {
            let why = match (self.session.is_empty(), may_work) {
                (true, _) => "the server is up, and no session was begun".to_owned(),
                (_, true) => format!("nothing has changed for {}", in_words(at_work)),
                (_, false) => {
                    format!("nothing has changed for {}, and nothing in sight is at work", in_words(quiet))
                }
            };
            // an ask has its own limit, and a turn that is over is over
            let is_at_work = self.session.is_empty() || (self.last.busy != Some(false) && self.last.asks == 0);
            stopped("idle", silent, &why).filter(|_| is_at_work && now.since(self.moved) >= silent)
        };
        let meaning = meaning.filter(|meaning| now.since(self.since) >= meaning.limit);
        let Some(meaning) = meaning.or_else(idle) else { return };
        let part = stands.filter(|found| found.signature.word() == meaning.cause && self.parts.may_end(*found));
        if let Some(found) = part {
            self.parts.begin(now, found, acts);
            self.since = now;
            self.lasting.restart(now);
            return;
        }
        self.over = true;
        self.parts.over();
        let why = match &meaning.settled {
            Settled::Completed(_) => "the turn is finished, and its client was not told",
            Settled::Stopped(_, why) | Settled::Failed(why) => why,
        };
        acts.push(Act::Report(report(meaning.cause, "end", why, ("limit_ms", meaning.limit))));
        // an aborted ask stays listed, and the model is told that a user ended it: an open ask is left to whoever comes
        let may_ask = self.last.asks > 0 || self.last.asks_unread || meaning.cause.ends_with("-open");
        if self.last.busy == Some(true) && !may_ask {
            self.send(Look::Abort, Route::Abort { session: &self.session, soft: false }.sent(), acts);
        }
        // nobody can be told of its end, and what does not answer may not end at a TERM
        if !self.last.reached {
            acts.push(Act::Process(ProcessAct::Kill { sig: "KILL", whom: Whom::Tree }));
        }
        acts.push(Act::Process(ProcessAct::Settle(meaning.settled)));
    }
}

fn stopped(cause: &'static str, limit: Span, why: &str) -> Option<Meaning> {
    Some(Meaning { cause, limit, settled: Settled::Stopped(cause.to_owned(), why.to_owned()) })
}

/// `stands` is a finding that has lasted for its limit.
fn meaning(found: &Found, stands: Option<Finding>, times: &Times) -> Option<Meaning> {
    if !found.reached {
        let settled = Settled::Failed("the server cannot be reached".to_owned());
        return Some(Meaning { cause: "unreachable", limit: SOON, settled });
    }
    let message = found.message.as_ref();
    let error = message.map(|m| &m["info"]["error"]).filter(|error| error.is_object());
    let said = message.filter(|m| is_final(m));
    // a session whose state cannot be read is taken to be at work: it has the longest limits
    match (found.busy.unwrap_or(true), said) {
        (true, _) if found.asks > 0 => {
            let why = format!("something is asked, and nobody has answered for {}", in_words(times.person));
            stopped("asked", times.person, &why)
        }
        (busy, Some(message)) => {
            let limit = if busy { STUCK } else { SOON };
            Some(Meaning { cause: "finished", limit, settled: Settled::Completed(words(message)) })
        }
        (false, None) => match error {
            Some(error) => {
                let why = text(&error["data"], "message").to_owned();
                Some(Meaning { cause: "error", limit: SOON, settled: Settled::Failed(why) })
            }
            None => stopped("no-result", STUCK, "the session is idle, and the turn was not finished"),
        },
        (true, None) if bash_runs(message) && found.children == Some(0) && found.lists_asks => {
            stopped("bash-stuck", GONE, "a bash tool is running, and the server has no child")
        }
        (true, None) if only_lost_tasks(message, &found.at_work) => {
            stopped("task-lost", GONE, "a task is running, and its own session is idle")
        }
        (true, None) => stands.and_then(|found| stopped(found.signature.word(), found.after, found.limit.report)),
    }
}

/// A turn's last message: an assistant's message that is completed and did not call tools.
fn is_final(message: &Value) -> bool {
    let info = &message["info"];
    let finish = text(info, "finish");
    let completed = info["time"]["completed"].as_u64().is_some();
    text(info, "role") == "assistant" && completed && !["", "tool-calls", "unknown"].contains(&finish)
}

fn bash_runs(message: Option<&Value>) -> bool {
    parts(message).iter().any(|part| text(part, "tool") == "bash" && text(&part["state"], "status") == "running")
}

/// Whether everything that runs is subagents whose sessions are not at work.
fn only_lost_tasks(message: Option<&Value>, at_work: &[String]) -> bool {
    let mut running = parts(message).iter().filter(|part| text(&part["state"], "status") == "running").peekable();
    let is_lost = |part: &Value| {
        let session = text(&part["state"]["metadata"], "sessionId");
        text(part, "tool") == "task" && !session.is_empty() && !at_work.iter().any(|id| id == session)
    };
    running.peek().is_some() && running.all(is_lost)
}

/// The parts of a message.
fn parts(message: Option<&Value>) -> &[Value] {
    message.and_then(|message| message["parts"].as_array()).map_or(&[], Vec::as_slice)
}

fn words(message: &Value) -> String {
    parts(Some(message)).iter().filter(|part| text(part, "type") == "text").map(|part| text(part, "text")).collect()
}

impl Strategy for Server {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            // a server that is never asked for a session can only be looked at
            Seen::Process(ProcessSeen::Terminal(_)) if self.next_round.is_none() && !self.over => self.begin(now),
            Seen::Process(ProcessSeen::Started { session, .. }) if !session.is_empty() => {
                self.session.clone_from(session);
                self.begin(now);
            }
            Seen::Tick => {
                self.parts.tick(now, acts);
                if self.round_is_due().is_some_and(|at| now >= at) {
                    self.round(now, acts);
                }
            }
            Seen::Protocol(ProtocolSeen::Response { id, status, body }) => {
                self.landed(now, *id, Some((*status, &**body)), acts)
            }
            Seen::Protocol(ProtocolSeen::Failed { id, .. }) => self.landed(now, *id, None, acts),
            Seen::Process(ProcessSeen::Looked(diagnosis)) if self.looking => {
                self.looking = false;
                if may_work(diagnosis) || self.lasting.has_written(diagnosis) {
                    self.worked = now;
                }
                self.lasting.see(now, diagnosis, &self.times, true);
                self.judge(now, acts);
            }
            Seen::Protocol(ProtocolSeen::Children(children)) if self.counting => {
                self.counting = false;
                self.found.children = *children;
                self.judge(now, acts);
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        [self.round_is_due(), self.parts.deadline()].into_iter().flatten().min()
    }

    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            times,
            session,
            next_round,
            next_id: _, // not compared: it only names the next request
            flying,
            counting,
            looking,
            found,
            last,
            since,
            moved,
            recent,
            lasting,
            parts,
            worked,
            over,
        } = self;
        parts.canon(canon);
        canon.text(session).deadline(*next_round).flag(*over).flag(*counting).flag(*looking);
        if next_round.is_some() {
            // A start sets these.
            let longest = times.at_work.max(times.quiet).max(times.person).max(STUCK);
            canon.age(*since, longest).age(*moved, longest).age(*worked, times.quiet);
            lasting.canon(canon, times);
        }
        // In the order of sending, which is that of the ids.
        canon.list(flying, |canon, (_, look)| {
            canon.num(*look as u64);
        });
        recent.canon(canon);
        found.canon(canon);
        last.canon(canon);
    }
}

impl Found {
    /// What it says, without what is given anew each time.
    fn content(&self) -> u64 {
        let Self { reached, busy, at_work, message, asks, children, asks_unread, lists_asks } = self;
        let counts = (reached, busy, asks, children, asks_unread, lists_asks, at_work.len());
        let hashed = said::hash(said::START, format!("{counts:?}").as_bytes());
        message.as_ref().map_or(hashed, |message| said::content(hashed, message))
    }

    fn canon(&self, canon: &mut Canon) {
        let Self { reached, busy, at_work, message, asks, children, asks_unread, lists_asks } = self;
        canon.flag(*reached).num(*asks as u64).flag(*asks_unread).flag(*lists_asks);
        option(canon, *busy, |canon, busy| {
            canon.flag(busy);
        });
        canon.list(at_work, |canon, id| {
            canon.text(id);
        });
        option(canon, *children, |canon, children| {
            canon.num(children.into());
        });
        let message = message.as_ref().filter(|_| !canon.differs());
        option(canon, message, |canon, message| {
            canon.text(&message.to_string());
        });
    }
}
