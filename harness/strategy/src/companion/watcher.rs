//! `sendPrompt`: the prompt's POST, raced by a watcher that polls the session's last message (seed 2.1).
//!
//! Invariant: the first success wins, a first failure leaves the other side alone (in PR 2 it fails both), and an abort by
//! the watcher fails both. The server's session is never told to stop (defect j): it stays as it was.

use super::errors::{classify, fetch_error, status_error};
use super::message::{Last, Signature};
use super::{Rules, Version};
use crate::canon::option;
use crate::{Act, Facts, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Settled, Strategy};
use rehang_wire::opencode::{Prompt, Route};
use rehang_words::{Canon, Policy, Span, VTime};
use serde_json::Value;

/// The time before the first poll, fixed (PR 3).
pub const START_DELAY: Span = Span::secs(5);
/// The time limit of each poll (PR 3).
pub const POLL_TIMEOUT: Span = Span::secs(10);
/// How often the descendant extends one signature's idle time (OPENCODE_MAX_IDLE_EXTENSIONS).
pub const MAX_EXTENSIONS: u32 = 2;
/// How long the descendant lets an assistant's message stay empty (OPENCODE_STREAM_STALL_MS).
pub const STREAM_STALL: Span = Span::secs(90);
/// The words that the descendant takes for a provider's refusal, anywhere in the last message's text. The seed names
/// quota, 429 and prose about retries; the exact pattern is not known.
const QUOTA_WORDS: [&str; 4] = ["quota", "429", "rate limit", "retrying"];

/// The prompt's sender. PR 2's watches for a completion alone; without `rules.watches` it is only the POST, as before PR 3.
#[derive(Debug)]
pub struct SendPrompt {
    rules: Rules,
    /// The next request's number, and the step to the one after it: two machines can share one space.
    next_id: u32,
    step: u32,
    session: String,
    /// When the prompt timeout aborts both sides. It is the start plus a constant, so it also tells the start.
    due: Option<VTime>,
    start: VTime,
    fetch: Fetch,
    watch: Watch,
    pid: bool,
    signature: Option<Signature>,
    active: VTime,
    missed: u32,
    extended: u32,
}

#[derive(Debug)]
enum Fetch {
    Idle,
    Waits(u32),
    Failed(String),
}

#[derive(Debug)]
enum Watch {
    Off,
    Delays(VTime),
    FindsPid,
    Sleeps(VTime),
    Polls(u32),
    /// Counts children for the bash detector; the descendant may already have found a reason to abort.
    CountsForBash(Option<Abort>),
    /// Counts children to extend the idle time.
    CountsForIdle,
}

/// Why the watcher aborts: what it saw, the cause that it gives, and the text.
#[derive(Debug)]
struct Abort {
    detected: &'static str,
    cause: &'static str,
    text: String,
}

impl SendPrompt {
    /// A sender that numbers its requests from 1.
    pub fn new(rules: Rules) -> SendPrompt {
        SendPrompt::numbered(rules, 1, 1)
    }

    /// A sender that numbers its requests `first`, `first + step`, …
    pub(super) fn numbered(rules: Rules, first: u32, step: u32) -> SendPrompt {
        SendPrompt {
            rules,
            next_id: first,
            step,
            session: String::new(),
            due: None,
            start: VTime::ZERO,
            fetch: Fetch::Idle,
            watch: Watch::Off,
            pid: false,
            signature: None,
            active: VTime::ZERO,
            missed: 0,
            extended: 0,
        }
    }

    /// Sends the prompt to this session.
    pub(super) fn start(&mut self, now: VTime, session: &str, prompt: &str, acts: &mut Vec<Act>) {
        session.clone_into(&mut self.session);
        self.start = now;
        self.active = now;
        self.due = Some(now + self.rules.prompt_timeout);
        let route = Route::Prompt { session, waits: true };
        let id = self.request(route.sent(), Prompt::new(prompt).body(), self.rules.prompt_timeout, acts);
        self.fetch = Fetch::Waits(id);
        if self.rules.watches {
            self.watch = Watch::Delays(now + START_DELAY);
        }
    }

    /// Its process is gone, and its connections with it.
    pub(super) fn die(&mut self, acts: &mut Vec<Act>) {
        if let Fetch::Waits(id) = self.fetch {
            acts.push(Act::Protocol(ProtocolAct::Cancel { id }));
        }
        if let Watch::Polls(id) = self.watch {
            acts.push(Act::Protocol(ProtocolAct::Cancel { id }));
        }
        self.fetch = Fetch::Idle;
        self.watch = Watch::Off;
        self.due = None;
    }

    fn request(
        &mut self,
        (method, path): (&'static str, String),
        body: Value,
        limit: Span,
        acts: &mut Vec<Act>,
    ) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(self.step);
        acts.push(Act::Protocol(ProtocolAct::Request { id, method, path, body, timeout: Some(limit) }));
        id
    }

    /// The ids of the requests under way: the prompt's and the poll's.
    pub(super) fn under_way(&self) -> [Option<u32>; 2] {
        let prompt = if let Fetch::Waits(id) = self.fetch { Some(id) } else { None };
        let poll = if let Watch::Polls(id) = self.watch { Some(id) } else { None };
        [prompt, poll]
    }

    fn tick(&mut self, now: VTime, acts: &mut Vec<Act>) {
        if self.due.is_some_and(|due| now >= due) {
            return self.abort(now, timed_out(), acts);
        }
        match self.watch {
            Watch::Delays(at) if now >= at && self.rules.version == Version::Pr2 => self.poll(acts),
            Watch::Delays(at) if now >= at => {
                self.watch = Watch::FindsPid;
                acts.push(Act::Protocol(ProtocolAct::FindPid));
            }
            Watch::Sleeps(at) if now >= at => self.poll(acts),
            _ => {}
        }
    }

    fn poll(&mut self, acts: &mut Vec<Act>) {
        let route = Route::Messages { session: &self.session, limit: Some(1) };
        let id = self.request(route.sent(), Value::Null, POLL_TIMEOUT, acts);
        self.watch = Watch::Polls(id);
    }

    fn sleep(&mut self, now: VTime) {
        self.watch = Watch::Sleeps(now + self.rules.poll);
    }

    fn polled(&mut self, now: VTime, body: &Value, acts: &mut Vec<Act>) {
        let Some(last) = Last::of(body) else { return self.check_idle(now, None, acts) };
        let signature = last.signature();
        if self.signature.as_ref() != Some(&signature) {
            self.signature = Some(signature);
            self.active = now;
            self.missed = 0;
            self.extended = 0;
        }
        if last.is_terminal(self.start, self.rules.lenient) {
            acts.push(Act::Report(Policy {
                detected: Some("finish".to_owned()),
                rule: Some("source: watcher".to_owned()),
                ..Policy::default()
            }));
            return self.settle(Settled::Completed(last.text()), acts);
        }
        let doom = (self.rules.version == Version::Desc).then(|| doom(now, last)).flatten();
        if self.pid && last.bash_runs() {
            self.watch = Watch::CountsForBash(doom);
            acts.push(Act::Protocol(ProtocolAct::CountChildren));
        } else {
            self.check_idle(now, doom, acts);
        }
    }

    fn counted(&mut self, now: VTime, children: Option<u32>, acts: &mut Vec<Act>) {
        match std::mem::replace(&mut self.watch, Watch::Off) {
            Watch::CountsForBash(doom) => {
                match children {
                    Some(0) => self.missed = self.missed.saturating_add(1),
                    Some(_) => self.missed = 0,
                    None => {}
                }
                if children == Some(0) && self.missed >= self.rules.misses {
                    let text = format!(
                        "bash tool stuck — opencode serve (pid agent) has no child for {} polls while tool.status=running",
                        self.missed
                    );
                    return self.abort(now, Abort { detected: "no-children", cause: "bash-stuck", text }, acts);
                }
                self.check_idle(now, doom, acts);
            }
            Watch::CountsForIdle => match children {
                Some(n) if n > 0 && (self.rules.version == Version::Pr5 || self.extended < MAX_EXTENSIONS) => {
                    let idle = now.since(self.active);
                    self.extended = self.extended.saturating_add(1);
                    self.active = now;
                    acts.push(Act::Say(format!(
                        "session idle {}s, but {n} child process(es) alive: the idle clock starts again",
                        idle.as_ms() / 1_000
                    )));
                    self.sleep(now);
                }
                Some(n) if n > 0 => {
                    let text = format!(
                        "session idle timeout: exceeded max extensions ({MAX_EXTENSIONS}) with {n} child process(es) alive"
                    );
                    self.abort(now, Abort { detected: "idle", cause: "idle", text }, acts);
                }
                _ => self.abort_idle(now, acts),
            },
            other => self.watch = other,
        }
    }

    fn check_idle(&mut self, now: VTime, doom: Option<Abort>, acts: &mut Vec<Act>) {
        if let Some(doom) = doom {
            return self.abort(now, doom, acts);
        }
        // PR 2 knows no idleness
        if self.rules.version == Version::Pr2 || now.since(self.active) <= self.rules.idle {
            return self.sleep(now);
        }
        if self.rules.version == Version::Pr3 || !self.pid {
            return self.abort_idle(now, acts);
        }
        self.watch = Watch::CountsForIdle;
        acts.push(Act::Protocol(ProtocolAct::CountChildren));
    }

    fn abort_idle(&mut self, now: VTime, acts: &mut Vec<Act>) {
        let (idle, limit) = (now.since(self.active).as_ms() / 1_000, self.rules.idle.as_ms() / 1_000);
        let text = format!("session idle {idle}s > {limit}s");
        self.abort(now, Abort { detected: "idle", cause: "idle", text }, acts);
    }

    fn fetch_failed(&mut self, now: VTime, error: String, acts: &mut Vec<Act>) {
        let error = match self.rules.version {
            Version::Pr2 | Version::Pr3 => error,
            Version::Pr5 | Version::Desc => classify(error, now.since(self.start)),
        };
        // PR 2 races the two, and the first to end decides, by an error too
        if matches!(self.watch, Watch::Off) || self.rules.version == Version::Pr2 {
            return self.settle(Settled::Failed(error), acts);
        }
        self.fetch = Fetch::Failed(error);
    }

    /// Fails both sides. Defect g: if the POST had failed before, that older error is reported; the descendant prefers
    /// the abort's reason.
    fn abort(&mut self, now: VTime, abort: Abort, acts: &mut Vec<Act>) {
        let older = match std::mem::replace(&mut self.fetch, Fetch::Idle) {
            Fetch::Failed(error) if self.rules.version != Version::Desc => Some(error),
            Fetch::Waits(id) => {
                acts.push(Act::Protocol(ProtocolAct::Cancel { id }));
                None
            }
            _ => None,
        };
        let (cause, settled) = match older {
            Some(error) => ("fetch", Settled::Failed(error)),
            None => {
                let text = match self.rules.version {
                    Version::Pr2 | Version::Pr3 => abort.text,
                    Version::Pr5 | Version::Desc => classify(abort.text, now.since(self.start)),
                };
                (abort.cause, Settled::Stopped(abort.cause.to_owned(), text))
            }
        };
        let (Settled::Failed(text) | Settled::Stopped(_, text) | Settled::Completed(text)) = &settled;
        acts.push(Act::Report(Policy {
            detected: Some(abort.detected.to_owned()),
            cause: Some(cause.to_owned()),
            text: Some(text.clone()),
            constants: self.rules.reported(abort.cause),
            ..Policy::default()
        }));
        self.settle(settled, acts);
    }

    fn settle(&mut self, settled: Settled, acts: &mut Vec<Act>) {
        self.die(acts);
        acts.push(Act::Process(ProcessAct::Settle(settled)));
    }
}

fn timed_out() -> Abort {
    Abort { detected: "prompt-timeout", cause: "prompt-timeout", text: "prompt timeout".to_owned() }
}

/// The reasons other than idleness for which the descendant aborts. It also reads opencode's own log file for an error
/// of the session; there is none here.
fn doom(now: VTime, last: Last<'_>) -> Option<Abort> {
    let text = last.text().to_lowercase();
    if let Some(word) = QUOTA_WORDS.iter().find(|word| text.contains(*word)) {
        let text = format!("provider refuses: the last message speaks of `{word}`");
        return Some(Abort { detected: "quota", cause: "quota", text });
    }
    let age = now.since(last.created().filter(|_| last.is_empty())?);
    (age > STREAM_STALL).then(|| Abort {
        detected: "stream-stall",
        cause: "stream-stall",
        text: format!("opencode stream stalled: empty assistant message for {}s", age.as_ms() / 1_000),
    })
}

impl Strategy for SendPrompt {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Process(ProcessSeen::Started { session, prompt })
                if !session.is_empty() && self.session.is_empty() =>
            {
                self.start(now, session, prompt, acts);
            }
            Seen::Tick => self.tick(now, acts),
            Seen::Protocol(ProtocolSeen::Pid(found)) if matches!(self.watch, Watch::FindsPid) => {
                self.pid = *found;
                self.poll(acts);
            }
            Seen::Protocol(ProtocolSeen::Children(children)) => self.counted(now, *children, acts),
            Seen::Protocol(ProtocolSeen::Response { id, status, body }) if matches!(self.fetch, Fetch::Waits(own) if own == *id) =>
            {
                self.fetch = Fetch::Idle;
                let reply = Last::reply(body);
                match (200..300).contains(status).then(|| reply.error()) {
                    None => self.fetch_failed(now, status_error(*status, body), acts),
                    // The seed does not say what happens if something else stops a turn: the least is to report it.
                    Some(Some(error)) => self.settle(Settled::Failed(error.to_owned()), acts),
                    Some(None) => self.settle(Settled::Completed(reply.text()), acts),
                }
            }
            Seen::Protocol(ProtocolSeen::Failed { id, why }) if matches!(self.fetch, Fetch::Waits(own) if own == *id) =>
            {
                self.fetch = Fetch::Idle;
                match why.as_str() {
                    "timeout" => self.abort(now, timed_out(), acts),
                    _ => self.fetch_failed(now, fetch_error(why), acts),
                }
            }
            Seen::Protocol(ProtocolSeen::Response { id, status, body }) if matches!(self.watch, Watch::Polls(own) if own == *id) => {
                match status {
                    200..300 => self.polled(now, body, acts),
                    _ => self.sleep(now),
                }
            }
            // Defect c: any error in a poll is swallowed, and idleness is not looked at.
            Seen::Protocol(ProtocolSeen::Failed { id, .. }) if matches!(self.watch, Watch::Polls(own) if own == *id) => {
                self.sleep(now)
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        let watch = match self.watch {
            Watch::Delays(at) | Watch::Sleeps(at) => Some(at),
            _ => None,
        };
        [self.due, watch].into_iter().flatten().min()
    }

    /// Idleness and misses are not looked at while polls fail, so only the prompt timeout bounds it; the prompt goes
    /// out when the server is there, for which it has one poll's limit.
    fn bound(&self, _: &Facts) -> Option<Span> {
        Some(self.rules.prompt_timeout + POLL_TIMEOUT)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            rules,
            next_id: _, // not compared: it only names the next request
            step: _,    // not compared: it never changes after construction
            session,
            due,
            start: _, // not compared: it is `due` without the prompt timeout, and it is not read once that is gone
            fetch,
            watch,
            pid,
            signature,
            active,
            missed,
            extended,
        } = self;
        canon.text(session).deadline(*due).flag(*pid);
        match fetch {
            Fetch::Idle => canon.num(0),
            Fetch::Waits(
                _, // not compared: the prompt's id is below those of all polls (with a companion beside it, see there)
            ) => canon.num(1),
            Fetch::Failed(error) => canon.num(2).text(error),
        };
        match watch {
            Watch::Off => canon.num(0),
            Watch::Delays(at) => canon.num(1).deadline(Some(*at)),
            Watch::FindsPid => canon.num(2),
            Watch::Sleeps(at) => canon.num(3).deadline(Some(*at)),
            Watch::Polls(
                _, // not compared: it only names the request
            ) => canon.num(4),
            Watch::CountsForBash(None) => canon.num(5),
            Watch::CountsForBash(Some(Abort { detected, cause, text })) => {
                canon.num(6).text(detected).text(cause).text(text)
            }
            Watch::CountsForIdle => canon.num(7),
        };
        // Before the prompt is sent, these are as they were made, except `active`, which the start sets; once it is
        // over, they are not read.
        if due.is_some() {
            canon.age(*active, rules.prompt_timeout);
            canon.capped(u64::from(*missed), u64::from(rules.misses));
            canon.capped(u64::from(*extended), u64::from(MAX_EXTENSIONS));
            option(canon, signature.as_ref(), |canon, signature| signature.canon(canon));
        }
    }

    fn sends_prompt(&self) -> bool {
        true
    }
}
