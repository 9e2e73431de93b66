//! What the client asks of the server.
//!
//! Invariant: what is no request is refused before anything else (`checks`); a request that the release knows, and that is not
//! played, is refused in the fake's own words.

use super::super::args::{Approval, SANDBOXES};
use super::super::program::{Fake, Start};
use super::super::release::{Protocol, TURN_BEGINS};
use super::super::voice::{Ended, Said, Voice, shapes};
use super::checks::checked;
use super::{AppServer, Interrupt, Thread, now};
use rehang_os::os::Os;
use rehang_scenario::Span;
use rehang_scenario::time::instant;
use serde_json::{Value, json};

type Answer = Result<Value, String>;

impl AppServer {
    /// Carries out a request; `None` if it has been answered.
    pub(super) fn request(
        &mut self,
        os: &mut dyn Os,
        method: &str,
        params: Option<&Value>,
        id: &Value,
    ) -> Option<Answer> {
        let checked = checked(self.release().server, method, params);
        let params = match checked {
            Ok(params) => params,
            Err(_) if self.release().server == Protocol::Conversations => {
                return Some(Err("Invalid request".to_owned()));
            }
            Err(why) => return Some(Err(format!("Invalid request: {why}"))),
        };
        match (&self.client, method) {
            (None, "initialize") => {
                self.experimental = params["capabilities"]["experimentalApi"] == true;
                self.initialize(os, &params["clientInfo"], id);
                return None;
            }
            (Some(_), "initialize") => return Some(Err("Already initialized".to_owned())),
            (None, _) => return Some(Err("Not initialized".to_owned())),
            (Some(_), _) => {}
        }
        match method {
            "thread/start" | "newConversation" => self.begin_thread(os, method, params, id),
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
            "thread/resume"
            | "thread/read"
            | "thread/name/set"
            | "thread/unsubscribe"
            | "thread/archive"
            | "turn/start"
            | "turn/interrupt"
            | "addConversationListener"
            | "sendUserMessage"
            | "interruptConversation" => match self.named(method, params) {
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

    fn begin_thread(&mut self, os: &mut dyn Os, method: &str, params: &Value, id: &Value) {
        let number = self.threads.len() as u64 + 1;
        let word = |key: &str| params[key].as_str();
        let cwd = word("cwd").map(str::to_owned).or_else(|| os.cwd()).unwrap_or_default();
        let Start { args, release, turns, faults, model_port } = &self.start;
        let mut args = args.clone();
        args.approval = word("approvalPolicy").and_then(Approval::of).unwrap_or(Approval::Leaving);
        let sandbox =
            word("sandbox").and_then(|word| SANDBOXES.into_iter().find(|mode| *mode == word).or(sandbox(word)));
        let chosen = sandbox.is_some();
        args.sandbox = sandbox.unwrap_or(args.sandbox);
        let start = Start { args, release, turns: turns.clone(), faults: faults.clone(), model_port: *model_port };
        let mut fake = Fake::new(start);
        let tools = params["dynamicTools"].as_array().into_iter().flatten();
        fake.client.tools = tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
        let mut voice = Voice::new(release, number, cwd.clone());
        voice.experimental = self.experimental;
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
            beginning: None,
            loaded: true,
            archived: false,
        });
        let at = self.threads.len() - 1;
        if method == "newConversation" {
            self.threads[at].voice().listens = false;
            let mut begun = json!({"conversationId": name, "model": "gpt-5"});
            if self.release().server == Protocol::Both {
                begun["reasoningEffort"] = Value::Null;
            }
            begun["rolloutPath"] = json!(self.threads[at].path);
            return self.answer(id, Ok(begun));
        }
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
            "turn/start" | "sendUserMessage" => self.begin_turn(os, at, params, id),
            "turn/interrupt" => self.interrupt(at, params, Interrupt { thread: at, id: id.clone(), result: json!({}) }),
            "interruptConversation" => {
                let result = json!({"abortReason": "interrupted"});
                self.interrupt(at, params, Interrupt { thread: at, id: id.clone(), result });
            }
            "addConversationListener" => {
                self.threads[at].voice().listens = true;
                self.answer(id, Ok(json!({"subscriptionId": shapes::id(6, at as u64 + 1, 1)})));
            }
            "thread/resume" => {
                if timed {
                    self.deprecates(at, "use `excludeTurns: true`, then");
                }
                let turns = self.turns(at);
                let items = self.threads[at].voice().turns.iter().map(|turn| turn.items.len()).sum();
                let opened = self.opened(at, turns, Some(items));
                self.answer(id, Ok(opened));
                self.threads[at].voice().submissions = 0;
                if timed && items > 0 {
                    self.threads[at].voice().resumed();
                    self.drain();
                }
                // what is asked is asked again, under the same id; 0.58.0 does not
                if self.release().server >= Protocol::Threads {
                    let asks = std::mem::take(&mut self.asks);
                    asks.iter().filter(|ask| ask.thread == at).for_each(|ask| self.ask(ask));
                    self.asks = asks;
                }
            }
            "thread/read" => {
                let wanted = params["includeTurns"] == true;
                if timed && wanted {
                    self.deprecates(at, "omit `includeTurns` or set it to `false`, then");
                }
                let turns = if wanted { self.turns(at) } else { Vec::new() };
                let mut read = json!({"thread": self.thread(at, false, turns)});
                if timed {
                    read["readState"] = self.threads[at].voice().read_state();
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
            _ if self.release().server < Protocol::Threads => {
                let voice = self.threads[at].voice();
                voice.submission = voice.submits();
                voice.event("shutdown_complete", json!({}));
                self.drain();
                self.threads[at].archived = true;
                self.answer(id, Ok(json!({})));
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
        let old = params.get("items").is_some();
        let parts = params["input"].as_array().or(params["items"].as_array()).into_iter().flatten();
        let text = |part: &'_ Value| part["text"].as_str().or(part["data"]["text"].as_str()).map(str::to_owned);
        let texts: Vec<String> = parts.filter_map(text).collect();
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
            let turn = thread.voice().added_turn(&prompt);
            thread.fake.client.more.push(prompt);
            return self.answer_turn(os, id, &turn, old);
        }
        if thread.preview.is_empty() {
            thread.preview.clone_from(&prompt);
        }
        thread.at.1 = now(os) / 1_000;
        let turn = thread.voice().next_turn(&prompt);
        self.answer_turn(os, id, &turn, old);
        let thread = &mut self.threads[at];
        // prompts that come at once have one turn
        let after = if release.server == Protocol::Timed { TURN_BEGINS } else { Span::ZERO };
        match release.server {
            Protocol::Conversations | Protocol::Both => thread.begin(os, &prompt),
            Protocol::Threads | Protocol::Timed => thread.beginning = Some((os.now() + after, prompt)),
        }
    }

    /// Answers what has begun a turn: with the turn, which 0.58.0 says once more, or, in the older protocol, with nothing.
    fn answer_turn(&mut self, os: &dyn Os, id: &Value, turn: &Value, old: bool) {
        self.answer(id, Ok(if old { json!({}) } else { json!({"turn": turn}) }));
        if !old && self.release().server == Protocol::Both {
            self.notify("turn/started", &json!({"turn": turn}), now(os));
        }
    }

    /// A request to interrupt a turn: 0.169.0 refuses one for a turn that does not run, and older releases answer with the end of
    /// a turn, which never comes if none runs. They interrupt what runs, whatever its id.
    fn interrupt(&mut self, at: usize, params: &Value, of: Interrupt) {
        let thread = &mut self.threads[at];
        let timed = self.start.release.server == Protocol::Timed;
        let runs = if timed { thread.runs() } else { thread.busy() };
        if timed {
            let (given, found) = (params["turnId"].as_str().unwrap_or_default(), thread.voice().turn_id());
            if !runs {
                return self.answer(&of.id, Err("no active turn to interrupt".to_owned()));
            }
            if given != found {
                let why = format!("expected active turn id {given} but found {found}");
                return self.answer(&of.id, Err(why));
            }
        }
        self.interrupts.extend(runs.then_some(of));
    }

    /// Carries out the interrupts of what was read: those that come at once are answered together.
    pub(super) fn interrupt_all(&mut self, os: &mut dyn Os) {
        let release = self.release();
        let (raw, timed) = (release.server < Protocol::Threads, release.server == Protocol::Timed);
        let all = std::mem::take(&mut self.interrupts);
        for at in 0..self.threads.len() {
            let of: Vec<&Interrupt> = all.iter().filter(|of| of.thread == at).collect();
            // an answer of the client's may have ended the turn
            if !self.threads[at].busy() {
                let none = || Err("no active turn to interrupt".to_owned());
                of.iter().filter(|_| timed).for_each(|of| self.answer(&of.id, none()));
                continue;
            }
            if of.is_empty() {
                continue;
            }
            if let Some((_, prompt)) = self.threads[at].beginning.take() {
                self.threads[at].begin(os, &prompt);
            }
            self.threads[at].fake.interrupt(os);
            self.drain();
            if raw {
                self.threads[at].voice().turn_ends(&Ended::Interrupted);
                self.threads[at].voice().submits();
                self.drain();
            }
            of.into_iter().for_each(|of| self.answer(&of.id, Ok(of.result.clone())));
            if !raw {
                self.threads[at].voice().turn_ends(&Ended::Interrupted);
            }
            self.drain();
            self.resolve_all();
        }
    }

    /// The thread that a request names.
    fn named(&mut self, method: &str, params: &Value) -> Result<usize, String> {
        let name = params["threadId"].as_str().or(params["conversationId"].as_str()).unwrap_or_default();
        let kind = if self.release().server < Protocol::Threads { "conversation" } else { "thread" };
        if let Some((at, odd)) = name.char_indices().find(|(_, c)| !c.is_ascii_hexdigit() && *c != '-') {
            return Err(format!(
                "invalid thread id: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], \
                 found `{odd}` at {}",
                at + 1
            ));
        }
        let found = self.threads.iter_mut().position(|thread| thread.voice().thread_id() == name);
        found.ok_or_else(|| match method {
            "thread/resume" => format!("no rollout found for {kind} id {name}"),
            _ => format!("{kind} not found: {name}"),
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
