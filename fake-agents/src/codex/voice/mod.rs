//! What the client is told of a turn, message by message.
//!
//! Invariant: an item is said to begin once, and to end at most once; what a response used is said once, after it
//! ([`Protocol::Threads`]: also before the next one).

pub(super) mod asked;
mod raw;
pub(super) mod shapes;

use super::release::{Protocol, Release, SHOWN_AFTER};
use super::shell::Report;
use rehang_scenario::{Canon, Span};
use serde_json::{Value, json};
use shapes::Turned;
use std::collections::BTreeMap;

/// How a turn ended.
pub(in crate::codex) enum Ended<'e> {
    Completed,
    /// Why.
    Failed(&'e str),
    Interrupted,
}

/// What is to be said.
pub(in crate::codex) enum Said {
    /// A notification: its method and parameters.
    Notice(&'static str, Value),
    /// The same, of a raw event.
    Event(String, Value),
    /// A request to the client, about this call.
    Ask { call: String, method: &'static str, params: Value },
}

/// A turn, as `thread/read` tells of it.
pub(in crate::codex) struct Told {
    pub id: String,
    pub items: Vec<Value>,
    pub status: &'static str,
    /// The instants of its beginning and its end, in milliseconds since 1970.
    pub began: u64,
    pub ended: u64,
}

/// The voice of one thread.
pub(in crate::codex) struct Voice {
    pub(in crate::codex) release: &'static Release,
    /// The thread's number, from 1.
    pub(in crate::codex) thread: u64,
    pub(in crate::codex) cwd: String,
    /// The instant of what is said, in milliseconds since 1970.
    pub(in crate::codex) now: u64,
    /// The number of the turn, from 1; 0 before the first.
    turn: u64,
    began: u64,
    /// How many prompts there were, and how many of them were added to a turn.
    pub(in crate::codex) prompts: u64,
    added: u64,
    /// How many responses were charged.
    pub(in crate::codex) charged: u32,
    /// How often the model was asked.
    asked: u32,
    /// What has come of the message that is being said.
    text: Option<String>,
    /// Whether something of the response has come whose use was not said yet.
    heard: bool,
    /// When the items began that have not ended.
    started: BTreeMap<String, u64>,
    waiting: bool,
    /// What files have changed to in this turn.
    diff: Option<String>,
    /// Whether the client knows what is experimental.
    pub(in crate::codex) experimental: bool,
    /// With raw events: how often the client has sent something, the number of what began the turn, whether what a response
    /// used is still to be told, the last message, and whether somebody listens.
    pub(in crate::codex) submissions: u64,
    pub(in crate::codex) submission: u64,
    owed: bool,
    pub(in crate::codex) last: Option<String>,
    pub(in crate::codex) listens: bool,
    /// What is said of the thread.
    pub(in crate::codex) status: Value,
    /// The commands that run, by their calls.
    pub(in crate::codex) running: BTreeMap<String, Value>,
    pub(in crate::codex) turns: Vec<Told>,
    pub(in crate::codex) said: Vec<Said>,
}

impl Voice {
    /// The voice of this thread, numbered from 1, in this folder.
    pub(in crate::codex) fn new(release: &'static Release, thread: u64, cwd: String) -> Voice {
        Voice {
            release,
            thread,
            cwd,
            now: 0,
            turn: 0,
            began: 0,
            prompts: 0,
            added: 0,
            charged: 0,
            asked: 0,
            text: None,
            heard: false,
            started: BTreeMap::new(),
            waiting: false,
            diff: None,
            experimental: false,
            submissions: 0,
            submission: 0,
            owed: false,
            last: None,
            listens: true,
            status: json!({"type": "idle"}),
            running: BTreeMap::new(),
            turns: Vec::new(),
            said: Vec::new(),
        }
    }

    /// The thread's id.
    pub(in crate::codex) fn thread_id(&self) -> String {
        shapes::id(0, 0, self.thread)
    }

    /// The turn's id.
    pub(in crate::codex) fn turn_id(&self) -> String {
        shapes::id(1, self.thread, self.turn)
    }

    fn is_timed(&self) -> bool {
        self.release.server == Protocol::Timed
    }

    /// Says something of the turn.
    fn say(&mut self, method: &'static str, params: Value) {
        self.said.push(Said::Notice(method, params));
    }

    fn status(&mut self, status: &Value) {
        self.status.clone_from(status);
        let params = json!({"threadId": self.thread_id(), "status": status});
        self.say("thread/status/changed", params);
    }

    /// An item with the instants of its beginning and its end, if the release says them.
    fn timed(&self, mut item: Value, began: Option<u64>, ended: Option<u64>) -> Value {
        if self.is_timed() {
            item["startedAtMs"] = json!(began);
            item["completedAtMs"] = json!(ended);
        }
        item
    }

    fn item_begins(&mut self, item: Value) {
        let id = item["id"].as_str().unwrap_or_default().to_owned();
        self.started.insert(id, self.now);
        let item = self.timed(item, Some(self.now), None);
        let mut params = json!({"item": item, "threadId": self.thread_id(), "turnId": self.turn_id()});
        if self.is_timed() {
            params["startedAtMs"] = json!(self.now);
        }
        self.say("item/started", params);
    }

    fn item_ends(&mut self, item: Value) {
        let id = item["id"].as_str().unwrap_or_default();
        let began = self.started.remove(id).unwrap_or(self.now);
        let item = self.timed(item, Some(began), Some(self.now));
        let mut params = json!({"item": item, "threadId": self.thread_id(), "turnId": self.turn_id()});
        if self.is_timed() {
            params["contentTokenCount"] = Value::Null;
            params["completedAtMs"] = json!(self.now);
        }
        self.say("item/completed", params);
        if let Some(turn) = self.turns.last_mut() {
            turn.items.push(item);
        }
    }

    // --- the turn ---

    /// The next turn, as the client is answered.
    pub(in crate::codex) fn next_turn(&mut self, prompt: &str) -> Value {
        if self.is_raw() {
            self.submission = self.submits();
            self.last = None;
            return shapes::first_turn(self.submission, prompt);
        }
        self.turn += 1;
        self.began = self.now;
        let (id, began) = (self.turn_id(), self.began);
        self.turns.push(Told { id, items: Vec::new(), status: "inProgress", began, ended: began });
        self.answered_turn()
    }

    fn answered_turn(&self) -> Value {
        shapes::turn(self.release, &Turned::asked(&self.turn_id()))
    }

    /// The turn that the client is answered if it adds to the one that runs.
    pub(in crate::codex) fn added_turn(&mut self, prompt: &str) -> Value {
        if self.is_raw() {
            return shapes::first_turn(self.submits(), prompt);
        }
        if self.is_timed() {
            return self.answered_turn();
        }
        self.added += 1;
        shapes::turn(self.release, &Turned::asked(&shapes::id(5, self.thread, self.added)))
    }

    /// The client has taken the thread up again.
    pub(in crate::codex) fn resumed(&mut self) {
        if self.charged > 0 {
            self.usage();
        }
        let params = json!({"threadId": self.thread_id()});
        self.say("thread/goal/cleared", params);
    }

    /// The turn has begun.
    pub(in crate::codex) fn turn_begins(&mut self, prompt: &str) {
        if self.is_raw() {
            return self.raw_turn_begins(prompt);
        }
        self.status(&json!({"type": "active", "activeFlags": []}));
        let id = self.turn_id();
        let turned = Turned { started: Some(self.began), ..Turned::asked(&id) };
        let params = json!({"threadId": self.thread_id(), "turn": shapes::turn(self.release, &turned)});
        self.say("turn/started", params);
        self.prompt(prompt);
    }

    /// The client has said this.
    pub(in crate::codex) fn prompt(&mut self, text: &str) {
        // what was added to a turn is no event
        if self.is_raw() {
            return;
        }
        self.prompts += 1;
        let item = shapes::user(self.release, &shapes::id(2, self.thread, self.prompts), text);
        self.item_begins(item.clone());
        self.item_ends(item);
    }

    pub(in crate::codex) fn asks_model(&mut self, n: u32) {
        self.asked = n;
        (self.text, self.heard) = (None, false);
    }

    pub(in crate::codex) fn heard(&mut self) {
        if !std::mem::replace(&mut self.heard, true) && !self.is_timed() {
            self.used();
        }
    }

    /// What was used so far, if anything was, and what is left.
    fn used(&mut self) {
        if self.is_raw() {
            return self.raw_used();
        }
        if self.charged > 0 {
            self.usage();
        }
        self.say("account/rateLimits/updated", json!({"rateLimits": shapes::limits(self.release)}));
        self.shows_diff();
    }

    fn usage(&mut self) {
        let usage = shapes::usage(self.release, self.charged);
        let params = json!({"threadId": self.thread_id(), "turnId": self.turn_id(), "tokenUsage": usage});
        self.say("thread/tokenUsage/updated", params);
    }

    pub(in crate::codex) fn message_id(&self) -> String {
        format!("msg_response_{}_0", self.asked)
    }

    pub(in crate::codex) fn delta(&mut self, text: &str) {
        if self.is_raw() {
            let first = self.text.is_none();
            self.text = Some(String::new());
            return self.raw_delta(text, first);
        }
        if self.text.is_none() {
            self.text = Some(String::new());
            self.item_begins(shapes::message(self.release, &self.message_id(), ""));
        }
        if let Some(said) = &mut self.text {
            said.push_str(text);
        }
        let params = json!({"threadId": self.thread_id(), "turnId": self.turn_id(), "itemId": self.message_id(),
            "delta": text});
        self.say("item/agentMessage/delta", params);
    }

    pub(in crate::codex) fn message(&mut self, text: &str) {
        self.text = None;
        if self.is_raw() {
            return self.raw_message(text);
        }
        self.item_ends(shapes::message(self.release, &self.message_id(), text));
    }

    pub(in crate::codex) fn responded(&mut self) {
        self.charged += 1;
        match self.release.server {
            Protocol::Conversations => self.owed = true,
            Protocol::Both | Protocol::Threads => self.used(),
            Protocol::Timed => {}
        }
    }

    /// The response is over, and so are its calls.
    pub(in crate::codex) fn response_ends(&mut self) {
        let heard = std::mem::replace(&mut self.heard, false);
        if std::mem::replace(&mut self.owed, false) || (heard && self.is_timed()) {
            self.used();
        }
    }

    /// The turn is given up.
    pub(in crate::codex) fn given_up(&mut self) {
        self.owed = false;
        self.response_ends();
    }

    /// A stream is asked for again; `text` is what `exec` says of it.
    pub(in crate::codex) fn retries(&mut self, (n, max): (u32, u32), why: &str, text: &str) {
        self.response_ends();
        if self.is_raw() {
            return self.event("stream_error", json!({"message": text}));
        }
        let info = json!({"responseStreamDisconnected": {"httpStatusCode": null}});
        let error = shapes::error(self.release, &format!("Reconnecting... {n}/{max}"), &info, Some(why));
        self.failure(&error, true);
    }

    fn failure(&mut self, error: &Value, retries: bool) {
        let params =
            json!({"error": error, "willRetry": retries, "threadId": self.thread_id(), "turnId": self.turn_id()});
        self.say("error", params);
    }

    /// The turn is over.
    pub(in crate::codex) fn turn_ends(&mut self, how: &Ended<'_>) {
        self.response_ends();
        if self.is_raw() {
            (self.text, self.waiting) = (None, false);
            self.started.clear();
            return self.raw_turn_ends(how);
        }
        let (status, error) = match how {
            Ended::Completed => ("completed", None),
            Ended::Interrupted => ("interrupted", None),
            Ended::Failed(why) => ("failed", Some(shapes::error(self.release, why, &shapes::cause(why), None))),
        };
        match &error {
            Some(error) => {
                self.status(&json!({"type": "systemError"}));
                self.failure(error, false);
            }
            None => {
                self.shows_read_state(status == "completed");
                self.status(&json!({"type": "idle"}));
            }
        }
        self.shows_read_state(error.is_some());
        let id = self.turn_id();
        let mut turned = Turned { status, error, ..Turned::asked(&id) };
        (turned.started, turned.completed) = (Some(self.began), Some(self.now));
        if let Some(turn) = self.turns.last_mut() {
            (turn.status, turn.ended) = (status, self.now);
            let last = turn.items.iter().rfind(|item| item["type"] == "agentMessage");
            turned.last = last.filter(|_| status == "completed").cloned();
        }
        let params = json!({"threadId": self.thread_id(), "turn": shapes::turn(self.release, &turned)});
        self.say("turn/completed", params);
        self.started.clear();
        self.running.clear();
        (self.text, self.waiting, self.diff) = (None, false, None);
    }

    fn shows_read_state(&mut self, changes: bool) {
        if changes && self.experimental && self.is_timed() {
            let params = json!({"threadId": self.thread_id(), "readState": self.read_state()});
            self.say("thread/readState/changed", params);
        }
    }

    /// Nobody reads what is played here: the first turn is unread.
    pub(in crate::codex) fn read_state(&self) -> Value {
        let unread = self.turns.first().map(|turn| json!({"type": "turn", "turnId": turn.id}));
        json!({"firstUnread": unread, "revision": shapes::id(4, self.thread, 1)})
    }

    // --- commands ---

    /// How long a command has run before the client is shown what it prints.
    pub(in crate::codex) fn shows_after(&self) -> Span {
        if self.is_raw() { Span::ZERO } else { SHOWN_AFTER }
    }

    pub(in crate::codex) fn command_begins(&mut self, call: &str, command: &str) {
        if self.is_raw() {
            if self.started.insert(call.to_owned(), self.now).is_none() {
                self.raw_command_begins(call, &shapes::bare(command));
            }
            return;
        }
        let item = shapes::command(self.release, call, (command, &self.cwd), true, "inProgress", None);
        if !self.started.contains_key(call) {
            self.item_begins(item.clone());
        }
        let began = self.started.get(call).copied();
        self.running.insert(call.to_owned(), self.timed(item, began, None));
    }

    pub(in crate::codex) fn command_prints(&mut self, call: &str, text: &str) {
        if self.is_raw() {
            return self.raw_command_prints(call, text);
        }
        let params = json!({"threadId": self.thread_id(), "turnId": self.turn_id(), "itemId": call, "delta": text});
        self.say("item/commandExecution/outputDelta", params);
    }

    pub(in crate::codex) fn command_ends(&mut self, call: &str, command: &str, report: &Report) {
        if self.is_raw() {
            return self.raw_command_ends(call, report);
        }
        if self.running.remove(call).is_some() {
            let status = if report.code == Some(0) { "completed" } else { "failed" };
            let place = (command, self.cwd.as_str());
            self.item_ends(shapes::command(self.release, call, place, true, status, Some(report)));
        }
    }

    pub(in crate::codex) fn canon(&self, canon: &mut Canon) {
        let Self {
            release: _, // not compared: it never changes
            thread,
            cwd: _, // not compared: it never changes
            now: _, // not compared: it is the instant of the last step
            turn,
            began: _, // not compared: it is told at the turn's end alone
            prompts,
            added,
            charged,
            asked,
            text,
            heard,
            started,
            waiting,
            diff: _,         // not compared: it is only told
            experimental: _, // not compared: the client says so once
            submissions,
            submission,
            owed,
            last,
            listens,
            status: _,  // not compared: it is only told
            running: _, // not compared: it is only told
            turns: _,   // not compared: what was said is no state of what will happen
            said,
        } = self;
        canon.num(*thread).num(*turn).num(*prompts).num(*added).num((*charged).into()).num((*asked).into());
        canon.text(text.as_deref().unwrap_or_default()).flag(text.is_some()).flag(*heard).flag(*waiting);
        canon.num(*submissions).num(*submission).flag(*owed).flag(*listens).text(last.as_deref().unwrap_or_default());
        canon.value(&started.keys().collect::<Vec<_>>()).num(said.len() as u64);
    }
}
