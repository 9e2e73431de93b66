//! What the client asks of the server.
//!
//! Invariant: a name that the release does not know is refused with the list of those that it knows, before anything else; a
//! name that it knows, and that is not played, is refused in the fake's own words.

use super::super::args::{Approval, SANDBOXES};
use super::super::program::{Fake, Start};
use super::super::release::Protocol;
use super::shapes::{self, Threaded, Turned};
use super::voice::Said;
use super::{AppServer, Ask, Thread, Voice, now};
use rehang_os::os::Os;
use rehang_scenario::time::instant;
use serde_json::{Value, json};

type Answer = Result<Value, String>;

/// The methods that each release says it knows.
fn methods(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Conversations => include_str!("methods/0.45.0.txt"),
        Protocol::Both => include_str!("methods/0.58.0.txt"),
        Protocol::Threads => include_str!("methods/0.116.0.txt"),
        Protocol::Timed => include_str!("methods/0.169.0.txt"),
    }
}

impl AppServer {
    /// Carries out a request; `None` if it has been answered.
    pub(super) fn request(
        &mut self,
        os: &mut dyn Os,
        method: &str,
        params: Option<&Value>,
        id: &Value,
    ) -> Option<Answer> {
        let known: Vec<&str> = methods(self.release().server).lines().collect();
        if !known.contains(&method) {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            let known = known.join(", ");
            return Some(Err(format!("Invalid request: unknown variant `{method}`, expected one of {known}")));
        }
        let Some(params) = params.or_else(|| (method == "account/rateLimits/read").then_some(&Value::Null)) else {
            return Some(Err("Invalid request: missing field `params`".to_owned()));
        };
        if let Err(why) = well_formed(method, params) {
            return Some(Err(format!("Invalid request: {why}")));
        }
        match (&self.client, method) {
            (None, "initialize") => {
                self.initialize(os, &params["clientInfo"], id);
                return None;
            }
            (Some(_), "initialize") => return Some(Err("Already initialized".to_owned())),
            (None, _) => return Some(Err("Not initialized".to_owned())),
            (Some(_), _) => {}
        }
        match method {
            "thread/start" => self.begin_thread(os, params, id),
            "thread/list" => return Some(Ok(self.list())),
            "thread/loaded/list" => {
                let loaded = self.threads.iter_mut().filter(|thread| thread.loaded);
                let data: Vec<String> = loaded.map(|thread| thread.voice().thread_id()).collect();
                return Some(Ok(json!({"data": data, "nextCursor": null})));
            }
            "account/read" => {
                return Some(Ok(match self.release().server {
                    Protocol::Timed => {
                        json!({"account": null, "userId": null, "requiresOpenaiAuth": false, "workspaceRouting": null})
                    }
                    _ => json!({"account": null, "requiresOpenaiAuth": false}),
                }));
            }
            "account/rateLimits/read" => {
                return Some(Err("codex account authentication required to read rate limits".to_owned()));
            }
            "thread/resume" | "thread/read" | "thread/name/set" | "thread/unsubscribe" | "thread/archive"
            | "turn/start" | "turn/interrupt" => match self.named(method, params) {
                Ok(at) => self.of_thread(os, method, at, params, id),
                Err(why) => return Some(Err(why)),
            },
            _ => return Some(Err(format!("fake-codex does not play `{method}`"))),
        }
        None
    }

    fn initialize(&mut self, os: &mut dyn Os, client: &Value, id: &Value) {
        let name = client["name"].as_str().unwrap_or_default().to_owned();
        self.answer(id, Ok(shapes::initialized(self.release(), client, &home(os))));
        for (method, params) in shapes::greeting(self.release(), &name) {
            self.notify(method, &params, now(os));
        }
        self.client = Some(name);
    }

    fn begin_thread(&mut self, os: &mut dyn Os, params: &Value, id: &Value) {
        let number = self.threads.len() as u64 + 1;
        let word = |key: &str| params[key].as_str();
        let cwd = word("cwd").map(str::to_owned).or_else(|| os.cwd()).unwrap_or_default();
        let Start { args, release, turns, faults, model_port } = &self.start;
        let mut args = args.clone();
        args.approval = word("approvalPolicy").and_then(Approval::of).unwrap_or(Approval::Leaving);
        let sandbox = SANDBOXES.into_iter().find(|mode| word("sandbox") == Some(*mode));
        let chosen = sandbox.is_some();
        args.sandbox = sandbox.unwrap_or(args.sandbox);
        let start = Start { args, release, turns: turns.clone(), faults: faults.clone(), model_port: *model_port };
        let mut fake = Fake::new(start);
        let mut voice = Voice::new(release, number, cwd.clone());
        voice.now = now(os);
        let name = voice.thread_id();
        fake.writer.voice = Some(Box::new(voice));
        let secs = now(os) / 1_000;
        let date = instant(now(os));
        let path = format!(
            "{}/sessions/{}/rollout-{}-{name}.jsonl",
            home(os),
            date[..10].replace('-', "/"),
            date[..19].replace(':', "-")
        );
        self.threads.push(Thread {
            fake,
            name: None,
            preview: String::new(),
            at: (secs, secs),
            cwd,
            path,
            chosen,
            loaded: true,
            archived: false,
        });
        let at = self.threads.len() - 1;
        let opened = self.opened(at, Vec::new(), None);
        let thread = opened["thread"].clone();
        self.answer(id, Ok(opened));
        self.notify("thread/started", &json!({"thread": thread}), now(os));
    }

    /// A request about a thread that is there.
    fn of_thread(&mut self, os: &mut dyn Os, method: &str, at: usize, params: &Value, id: &Value) {
        self.threads[at].voice().now = now(os);
        let timed = self.release().server == Protocol::Timed;
        let name = self.threads[at].voice().thread_id();
        match method {
            "turn/start" => self.begin_turn(os, at, params, id),
            "turn/interrupt" => self.interrupt(os, at, id),
            "thread/resume" => {
                if timed {
                    self.deprecates(at, "use `excludeTurns: true`, then");
                }
                let turns = self.turns(at);
                let items = self.threads[at].voice().turns.iter().map(|turn| turn.items.len()).sum();
                let opened = self.opened(at, turns, Some(items));
                self.answer(id, Ok(opened));
                if timed && items > 0 {
                    self.threads[at].voice().resumed();
                    self.drain();
                }
                // what is asked is asked again, under the same id
                let asks = std::mem::take(&mut self.asks);
                asks.iter().filter(|ask| ask.thread == at).for_each(|ask| self.ask(ask));
                self.asks = asks;
            }
            "thread/read" => {
                let wanted = params["includeTurns"] == true;
                if timed && wanted {
                    self.deprecates(at, "omit `includeTurns` or set it to `false`, then");
                }
                let turns = if wanted { self.turns(at) } else { Vec::new() };
                let mut read = json!({"thread": self.thread(at, false, turns)});
                if timed {
                    read["readState"] = self.read_state(at);
                }
                self.answer(id, Ok(read));
            }
            "thread/name/set" => {
                let given = params["name"].as_str().unwrap_or_default().to_owned();
                self.answer(id, Ok(json!({})));
                self.notify("thread/name/updated", &json!({"threadId": name, "threadName": given}), now(os));
                self.threads[at].name = Some(given);
            }
            "thread/unsubscribe" => {
                self.answer(id, Ok(json!({"status": "unsubscribed"})));
                // 0.169.0 keeps a thread loaded that nobody listens to
                if !timed {
                    self.unload(at, &name, now(os));
                    self.notify("thread/closed", &json!({"threadId": name}), now(os));
                }
            }
            _ => {
                if self.threads[at].loaded {
                    self.unload(at, &name, now(os));
                }
                self.threads[at].archived = true;
                self.answer(id, Ok(json!({})));
                self.notify("thread/archived", &json!({"threadId": name}), now(os));
            }
        }
    }

    fn unload(&mut self, at: usize, name: &str, instant: u64) {
        self.threads[at].loaded = false;
        let params = json!({"threadId": name, "status": {"type": "notLoaded"}});
        self.notify("thread/status/changed", &params, instant);
    }

    /// A turn begins; if one runs, what is said is added to it. 0.116.0 then answers with an id that no turn will have.
    fn begin_turn(&mut self, os: &mut dyn Os, at: usize, params: &Value, id: &Value) {
        let parts = params["input"].as_array().into_iter().flatten();
        let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
        let prompt = texts.join("\n");
        let release = self.release();
        let warning = release.model_warning.filter(|_| release.server == Protocol::Timed);
        if let Some(warning) = warning.filter(|_| !self.threads[at].busy()) {
            let params = json!({"threadId": self.threads[at].voice().thread_id(), "message": warning});
            self.notify("warning", &params, now(os));
        }
        let thread = &mut self.threads[at];
        if let Some(approval) = params["approvalPolicy"].as_str().and_then(Approval::of) {
            thread.fake.args.approval = approval;
        }
        if let Some(sandbox) = params["sandboxPolicy"]["type"].as_str().and_then(sandbox) {
            thread.fake.args.sandbox = sandbox;
        }
        if thread.busy() {
            thread.fake.client.more.push(prompt);
            let turn = thread.voice().added_turn();
            return self.answer(id, Ok(json!({"turn": turn})));
        }
        if thread.preview.is_empty() {
            thread.preview.clone_from(&prompt);
        }
        thread.at.1 = now(os) / 1_000;
        let turn = thread.voice().next_turn();
        self.answer(id, Ok(json!({"turn": turn})));
        let thread = &mut self.threads[at];
        thread.voice().turn_begins(&prompt);
        thread.fake.prompted(os, &prompt);
    }

    fn interrupt(&mut self, os: &mut dyn Os, at: usize, id: &Value) {
        let release = self.release();
        let thread = &mut self.threads[at];
        if !thread.busy() {
            // 0.116.0 answers with the end of a turn that does not run
            if release.server == Protocol::Timed {
                self.answer(id, Err("no active turn to interrupt".to_owned()));
            }
            return;
        }
        thread.fake.interrupt(os);
        self.drain();
        self.answer(id, Ok(json!({})));
        self.threads[at].voice().turn_ends(&super::Ended::Interrupted);
        let (open, other) = std::mem::take(&mut self.asks).into_iter().partition(|ask| ask.thread == at);
        self.asks = other;
        Vec::into_iter(open).for_each(|ask: Ask| self.resolved(at, ask.id));
    }

    /// The thread that a request names.
    fn named(&mut self, method: &str, params: &Value) -> Result<usize, String> {
        let name = params["threadId"].as_str().unwrap_or_default();
        if let Some((at, odd)) = name.char_indices().find(|(_, c)| !c.is_ascii_hexdigit() && *c != '-') {
            return Err(format!(
                "invalid thread id: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], \
                 found `{odd}` at {}",
                at + 1
            ));
        }
        let found = self.threads.iter_mut().position(|thread| thread.voice().thread_id() == name);
        found.ok_or_else(|| match method {
            "thread/resume" => format!("no rollout found for thread id {name}"),
            _ => format!("thread not found: {name}"),
        })
    }

    fn deprecates(&mut self, at: usize, instead: &str) {
        let summary = format!(
            "Full-history hydration is deprecated for paginated threads; {instead} page with `thread/turns/list` and \
             `thread/items/list`."
        );
        let params = json!({"summary": summary, "details": null});
        self.threads[at].voice().said.push(Said::Notice("deprecationNotice", params));
        self.drain();
    }

    // --- what is told of threads ---

    fn thread(&mut self, at: usize, listed: bool, turns: Vec<Value>) -> Value {
        let (release, client) = (self.release(), self.client.clone().unwrap_or_default());
        let thread = &mut self.threads[at];
        let id = thread.voice().thread_id();
        let status = thread.voice().status.clone();
        let Thread { name, preview, at, cwd, path, .. } = thread;
        let (name, at) = (name.as_deref(), *at);
        let of = Threaded { id: &id, cwd, client: &client, preview, name, path, at, status, listed, turns };
        shapes::thread(release, &of)
    }

    fn opened(&mut self, at: usize, turns: Vec<Value>, resumes: Option<usize>) -> Value {
        let (release, thread) = (self.release(), self.thread(at, false, turns));
        let Thread { fake, chosen, .. } = &self.threads[at];
        shapes::opened(release, &thread, fake.args.approval.word(), (fake.args.sandbox, *chosen), resumes)
    }

    /// The turns of a thread with their items, of which a message that is being said is none; 0.116.0 numbers them anew, and
    /// forgets the commands of a turn that is over.
    fn turns(&mut self, at: usize) -> Vec<Value> {
        let release = self.release();
        let mut number = 0;
        let running = self.threads[at].voice().running.clone();
        let tell = |told: &super::voice::Told| {
            let mut items = told.items.clone();
            let ended = told.status != "inProgress";
            if !ended {
                items.extend(running.values().cloned());
            }
            if release.server != Protocol::Timed {
                items.retain(|item| !ended || item["type"] != "commandExecution");
                for item in items.iter_mut().filter(|item| item["type"] != "commandExecution") {
                    number += 1;
                    item["id"] = json!(format!("item-{number}"));
                }
            }
            let ends = ended.then_some(told.ended);
            let of = Turned { status: told.status, items: Some(items), ..Turned::asked(&told.id) };
            shapes::turn(release, &Turned { started: Some(told.began), completed: ends, ..of })
        };
        self.threads[at].voice().turns.iter().map(tell).collect()
    }

    /// Nobody reads what is played here: the first turn is unread.
    fn read_state(&mut self, at: usize) -> Value {
        let number = at as u64 + 1;
        let first = self.threads[at].voice().turns.first().map(|turn| turn.id.clone());
        let unread = first.map(|turn| json!({"type": "turn", "turnId": turn}));
        json!({"firstUnread": unread, "revision": shapes::id(4, number, 1)})
    }

    fn list(&mut self) -> Value {
        let kept = |thread: &Thread| !thread.archived && !thread.preview.is_empty();
        let mut listed: Vec<usize> = (0..self.threads.len()).filter(|at| kept(&self.threads[*at])).collect();
        listed.reverse();
        let data: Vec<Value> = listed.iter().map(|at| self.thread(*at, true, Vec::new())).collect();
        if self.release().server != Protocol::Timed {
            return json!({"data": data, "nextCursor": null});
        }
        let mut states = json!({});
        for at in &listed {
            states[self.threads[*at].voice().thread_id()] = self.read_state(*at);
        }
        let newest = listed.first().map(|at| instant(self.threads[*at].at.1 * 1_000));
        json!({"data": data, "readStates": states, "nextCursor": null, "backwardsCursor": newest})
    }
}

/// Where the release keeps its files.
fn home(os: &dyn Os) -> String {
    let of = |name: &str| os.env(name).filter(|value| !value.is_empty());
    of("CODEX_HOME")
        .or_else(|| Some(format!("{}/.codex", of("HOME")?)))
        .unwrap_or_else(|| "/home/agent/.codex".to_owned())
}

/// A sandbox by the name that a turn gives it.
fn sandbox(kind: &str) -> Option<&'static str> {
    match kind {
        "readOnly" => Some(SANDBOXES[0]),
        "workspaceWrite" => Some(SANDBOXES[1]),
        "dangerFullAccess" => Some(SANDBOXES[2]),
        _ => None,
    }
}

/// Whether the parameters have what they must have: the words that are texts, and those that may not be missing.
fn well_formed(method: &str, params: &Value) -> Result<(), String> {
    let needed: &[&str] = match method {
        "initialize" => &["clientInfo"],
        "turn/start" => &["threadId", "input"],
        "turn/interrupt" => &["threadId", "turnId"],
        "thread/name/set" => &["threadId", "name"],
        "thread/resume" | "thread/read" | "thread/unsubscribe" | "thread/archive" => &["threadId"],
        _ => &[],
    };
    if let Some(missing) = needed.iter().find(|key| params.get(**key).is_none()) {
        return Err(format!("missing field `{missing}`"));
    }
    for key in ["threadId", "turnId", "name", "cwd"] {
        match params.get(key) {
            None | Some(Value::String(_) | Value::Null) => {}
            Some(Value::Number(number)) => return Err(format!("invalid type: integer `{number}`, expected a string")),
            Some(_) => return Err("invalid type, expected a string".to_owned()),
        }
    }
    Ok(())
}
