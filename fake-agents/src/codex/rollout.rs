//! The rollout: the file below `$CODEX_HOME/sessions` in which a session is kept, line by line, and from which
//! `resume` reads it.
//!
//! Invariants: a line is written when what it says happens; without `CODEX_HOME`, and on a stage, whose processes have
//! no disk, nothing is kept, so that a person's own `~/.codex` is never touched. What a release writes is recorded
//! (tests/golden/codex-*/rollout); what is left out of that is in the list of the test that compares them.

use super::release::{Kept, Release};
use super::shell::Report;
use super::writer::{THREAD, TOKENS};
use rehang_os::os::Os;
use rehang_scenario::{VTime, time::instant};
use rehang_wire::model::{Message, Part, ToolCall};
use serde_json::{Value, json};

/// Names the folder of Codex's files.
const HOME_ENV: &str = "CODEX_HOME";
/// How many tokens the model takes, as 0.45.0 says of `gpt-5`, and as the later releases do (95 % of it).
const CONTEXT_WINDOW: (u64, u64) = (272_000, 258_400);
/// The kind of a line that holds an item of the conversation.
const ITEM: &str = "response_item";
/// The kind of a line that holds an event.
const EVENT: &str = "event_msg";
/// What the model is told of a call that has no result in the file: its process was killed.
const NO_RESULT: &str = "aborted";
/// What the model will be told of an interrupt.
const INTERRUPTED: &str = "The user interrupted the previous turn on purpose. Any running unified exec processes may still \
                           be running in the background. If any tools/commands were aborted, they may have partially \
                           executed";
/// The kind of a line that says what a response used.
const RECORD: &str = "token_usage_record";
/// The model's name, and its provider's.
const MODEL: (&str, &str) = ("gpt-5", "fake");

/// The session as it is kept.
pub(super) struct Rollout {
    release: &'static Release,
    path: String,
    thread: String,
    cwd: String,
    sandbox: &'static str,
    /// How many lines it has.
    lines: u64,
    /// How many turns it has had.
    turns: u64,
    began: VTime,
    /// How many responses all its turns were charged for.
    charged: u32,
    /// The same, as the records of single responses count it (0.169.0): they are kept before a call's end.
    recorded: u32,
    /// Whether the model has begun to answer what it was asked last.
    heard: bool,
    /// What is kept only once the calls of its response have ended: the kind of line, and its payload.
    held: Vec<(&'static str, Value)>,
}

/// What a session was before it is resumed.
#[derive(Default)]
pub(super) struct Earlier {
    /// What was said in it.
    pub messages: Vec<Message>,
    /// How many responses its model has given.
    pub responses: usize,
    /// What its model was told last.
    pub answer: String,
    /// Calls that have no result so far.
    calls: Vec<String>,
}

impl Earlier {
    fn take(&mut self, message: Message) {
        let by_model = message.role == "assistant";
        let goes_on = self.messages.last().is_some_and(|last| last.role == "assistant");
        self.responses += usize::from(by_model && !goes_on);
        for part in &message.parts {
            match part {
                Part::Call(call) => self.calls.push(call.id.clone()),
                Part::Result { id, text, .. } => {
                    self.calls.retain(|call| call != id);
                    self.answer.clone_from(text);
                }
                Part::Text(_) if !by_model => self.end_calls(),
                Part::Text(_) => {}
            }
        }
        self.messages.push(message);
    }

    /// Gives each call a result that has none.
    fn end_calls(&mut self) {
        for id in std::mem::take(&mut self.calls) {
            NO_RESULT.clone_into(&mut self.answer);
            let parts = vec![Part::Result { id, text: NO_RESULT.to_owned(), is_error: true }];
            self.messages.push(Message { role: "user".to_owned(), parts });
        }
    }
}

/// Which session a command line wants.
pub(super) enum Wanted<'a> {
    /// A new one.
    New,
    /// The last one that was begun in this folder.
    Last,
    /// The one of this id.
    Named(&'a str),
}

impl Rollout {
    /// Opens the session's file, `None` if nothing is kept. With it comes what an earlier session was, if that is wanted
    /// and there; if it is not there, a new one begins.
    pub fn open(
        os: &mut dyn Os,
        release: &'static Release,
        sandbox: &'static str,
        wanted: &Wanted<'_>,
    ) -> Option<(Rollout, Option<Earlier>)> {
        let home = os.env(HOME_ENV).filter(|_| os.is_alone())?;
        let mut rollout = Rollout {
            release,
            path: String::new(),
            thread: THREAD.to_owned(),
            cwd: os.cwd().unwrap_or_default(),
            sandbox,
            lines: 0,
            turns: 0,
            began: os.now(),
            charged: 0,
            recorded: 0,
            heard: false,
            held: Vec::new(),
        };
        match rollout.find(os, &home, wanted) {
            Some(path) => {
                let earlier = rollout.resumed(&os.file(&path).unwrap_or_default());
                rollout.path = path;
                Some((rollout, Some(earlier)))
            }
            None => {
                rollout.begins(os, &home);
                Some((rollout, None))
            }
        }
    }

    /// How many responses it was charged for.
    pub fn charged(&self) -> u32 {
        self.charged
    }

    /// The session's id.
    pub fn thread(&self) -> &str {
        &self.thread
    }

    /// The file of the session that is wanted.
    fn find(&self, os: &dyn Os, home: &str, wanted: &Wanted<'_>) -> Option<String> {
        let mut all = vec![format!("{home}/sessions")];
        for _ in ["year", "month", "day", "file"] {
            all =
                all.iter().flat_map(|at| os.entries(at).into_iter().map(move |name| format!("{at}/{name}"))).collect();
        }
        all.sort();
        let of = |path: &String, id: &str| path.ends_with(&format!("-{id}.jsonl"));
        match wanted {
            Wanted::New => None,
            Wanted::Named(id) => all.into_iter().find(|path| of(path, id)),
            Wanted::Last => all.into_iter().rev().find(|path| {
                let text = os.file(path).unwrap_or_default();
                let meta = text.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
                !self.release.kept.names_turns() || meta.is_some_and(|it| it["payload"]["cwd"] == self.cwd)
            }),
        }
    }

    /// A new session: its id is a version 7 UUID of this instant, as the release's, without chance.
    fn begins(&mut self, os: &dyn Os, home: &str) {
        let ms = ms(os);
        let instant = instant(ms);
        let (date, time) = instant.split_at(10);
        let folder = format!("{home}/sessions/{}", date.replace('-', "/"));
        let taken = os.entries(&folder);
        let hex = format!("{ms:012x}");
        let mut n = 0_u32;
        loop {
            n += 1;
            self.thread = format!("{}-{}-7000-8000-{n:012x}", &hex[..8], &hex[8..]);
            if !taken.iter().any(|name| name.ends_with(&format!("-{}.jsonl", self.thread))) {
                break;
            }
        }
        let time = time[..9].replace(':', "-");
        self.path = format!("{folder}/rollout-{date}{time}-{}.jsonl", self.thread);
    }

    /// Takes an earlier session over.
    fn resumed(&mut self, text: &str) -> Earlier {
        let mut earlier = Earlier::default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            self.lines += 1;
            let payload = &line["payload"];
            match (line["type"].as_str(), payload["type"].as_str()) {
                (Some("session_meta"), _) => payload["id"].as_str().unwrap_or(THREAD).clone_into(&mut self.thread),
                (Some("turn_context"), _) => self.turns += 1,
                (Some(EVENT), Some("token_count")) if self.release.kept.names_turns() => {
                    self.charged = responses(&payload["info"]["total_token_usage"]);
                }
                (Some(RECORD), _) => self.recorded = responses(&payload["thread_token_usage"]),
                (Some(ITEM), Some(kind)) => {
                    message(kind, payload).into_iter().for_each(|message| earlier.take(message))
                }
                _ => {}
            }
        }
        earlier.end_calls();
        earlier
    }

    /// A turn begins: with the session's head, if it is the first.
    pub fn turn_begins(&mut self, os: &mut dyn Os, prompt: &str) {
        let (kept, first) = (self.release.kept, self.lines == 0);
        self.began = os.now();
        self.turns += 1;
        if first {
            self.head(os);
        }
        if kept.names_turns() {
            let mut started = json!({"type": "task_started", "turn_id": self.turn()});
            if kept == Kept::Items {
                started["root_turn_id"] = json!(self.turn());
                started["started_at"] = json!(ms(os) / 1_000);
            }
            started["model_context_window"] = json!(CONTEXT_WINDOW.1);
            started["collaboration_mode_kind"] = json!("default");
            self.event(os, &started);
        }
        if first {
            let text = self.environment(os);
            self.item(os, &said("user", "input_text", &text));
        }
        if kept.names_turns() {
            self.context(os);
        }
        self.item(os, &said("user", "input_text", prompt));
        match kept {
            Kept::Kind => self.event(os, &json!({"type": "user_message", "message": prompt, "kind": "plain"})),
            Kept::Images => self.event(os, &json!({"type": "user_message", "message": prompt, "images": []})),
            Kept::Tasks => {
                let nothing = json!([]);
                let event = json!({"type": "user_message", "message": prompt, "images": nothing,
                    "local_images": nothing, "text_elements": nothing});
                self.event(os, &event);
            }
            Kept::Items => {
                let content = json!([{"type": "text", "text": prompt, "text_elements": []}]);
                self.completed(os, &json!({"type": "UserMessage", "content": content}));
            }
        }
    }

    /// The model is asked.
    pub fn asks(&mut self, os: &mut dyn Os) {
        self.heard = false;
        if !self.release.kept.names_turns() {
            self.context(os);
        }
    }

    /// The model has begun to answer.
    pub fn heard(&mut self, os: &mut dyn Os) {
        if !std::mem::replace(&mut self.heard, true) && self.release.kept != Kept::Items {
            self.event(os, &self.tokens());
        }
    }

    /// The model has said this.
    pub fn message(&mut self, os: &mut dyn Os, text: &str) {
        let mut item = said("assistant", "output_text", text);
        match self.release.kept {
            Kept::Kind | Kept::Images => {
                self.event(os, &json!({"type": "agent_message", "message": text}));
                self.held.push((ITEM, item));
            }
            Kept::Tasks => {
                let event = json!({"type": "agent_message", "message": text, "phase": null, "memory_citation": null});
                self.event(os, &event);
                self.item(os, &item);
            }
            Kept::Items => {
                self.completed(os, &json!({"type": "AgentMessage", "content": [{"type": "Text", "text": text}]}));
                item["status"] = json!("completed");
                item["content"][0]["annotations"] = json!([]);
                self.item(os, &item);
            }
        }
    }

    /// The model calls this tool.
    pub fn call(&mut self, os: &mut dyn Os, call: &ToolCall) {
        let mut item = json!({"type": "function_call", "name": call.name, "arguments": call.input.to_string(),
            "call_id": call.id});
        if self.release.kept == Kept::Items {
            item["status"] = json!("completed");
        }
        match self.release.kept.names_turns() {
            true => self.item(os, &item),
            false => self.held.push((ITEM, item)),
        }
    }

    /// A response is whole, and is charged.
    pub fn responded(&mut self, os: &mut dyn Os) {
        (self.charged, self.recorded) = (self.charged + 1, self.recorded + 1);
        match self.release.kept {
            Kept::Kind => return self.held.insert(0, (EVENT, self.tokens())),
            Kept::Images | Kept::Tasks => return self.event(os, &self.tokens()),
            Kept::Items => {}
        }
        let record = json!({"thread_id": self.thread, "turn_id": self.turn(), "session_id": self.thread,
            "root_turn_id": self.turn(), "usage": self.usage(1), "thread_token_usage": self.usage(self.recorded)});
        self.line(os, RECORD, &record);
    }

    /// A command has ended.
    pub fn command_ends(&mut self, os: &mut dyn Os, call: &str, line: &str, report: &Report) {
        if self.release.kept == Kept::Items
            && let Some(code) = report.code
        {
            let status = if code == 0 { "completed" } else { "failed" };
            let item = json!({"type": "CommandExecution", "id": call, "command": ["/bin/sh", "-lc", line],
                "status": status, "aggregated_output": report.output, "exit_code": code});
            self.completed(os, &item);
        }
    }

    /// The model is told this of a call.
    pub fn told(&mut self, os: &mut dyn Os, call: &str, text: &str) {
        self.keep_held(os);
        self.item(os, &json!({"type": "function_call_output", "call_id": call, "output": text}));
    }

    /// A response is over, and so are its calls.
    pub fn response_ends(&mut self, os: &mut dyn Os) {
        self.keep_held(os);
        if self.release.kept == Kept::Items {
            self.event(os, &self.tokens());
        }
    }

    /// The turn is complete, with this last message, or has failed.
    pub fn turn_ends(&mut self, os: &mut dyn Os, how: Result<&str, &str>) {
        if !self.release.kept.names_turns() {
            return;
        }
        let mut event = json!({"type": "task_complete", "turn_id": self.turn(), "last_agent_message": how.ok()});
        if self.release.kept == Kept::Items {
            let took = os.now().since(self.began).as_ms();
            event["root_turn_id"] = json!(self.turn());
            if let Err(why) = how {
                event["error"] = json!({"message": why});
            }
            event["started_at"] = json!(ms(os).saturating_sub(took) / 1_000);
            event["completed_at"] = json!(ms(os) / 1_000);
            event["duration_ms"] = json!(took);
        }
        self.event(os, &event);
    }

    /// An interrupt ended the turn, and these calls: their ids, and what is kept as their results. 0.58.0 ends before it
    /// keeps anything of that, or keeps a part of it (three recordings).
    pub fn turn_is_aborted(&mut self, os: &mut dyn Os, calls: &[(String, String)]) {
        let kept = self.release.kept;
        if kept == Kept::Images {
            return;
        }
        let mut event = json!({"type": "turn_aborted"});
        if kept.names_turns() {
            calls.iter().for_each(|(call, text)| self.told(os, call, text));
            self.response_ends(os);
            let more = if kept == Kept::Tasks { "; verify current state before retrying." } else { "." };
            let text = format!("<turn_aborted>\n{INTERRUPTED}{more}\n</turn_aborted>");
            self.item(os, &said("user", "input_text", &text));
            event["turn_id"] = json!(self.turn());
        }
        event["reason"] = json!("interrupted");
        self.event(os, &event);
    }

    // --- lines ---

    fn head(&mut self, os: &mut dyn Os) {
        let (kept, date) = (self.release.kept, instant(ms(os)));
        let mut meta = json!({"id": self.thread, "timestamp": date, "cwd": self.cwd, "originator": "codex_exec",
            "cli_version": self.release.version});
        if !kept.names_turns() {
            meta["instructions"] = Value::Null;
        }
        meta["source"] = json!("exec");
        if kept != Kept::Kind {
            meta["model_provider"] = json!(MODEL.1);
        }
        if kept == Kept::Items {
            meta["session_id"] = json!(self.thread);
            meta["thread_source"] = json!("user");
            meta["history_mode"] = json!("paginated");
        }
        self.line(os, "session_meta", &meta);
    }

    /// What the model is told of where it is.
    fn environment(&self, os: &dyn Os) -> String {
        let (cwd, sandbox) = (&self.cwd, self.sandbox);
        let rest = match self.release.kept.names_turns() {
            true => {
                let date = instant(ms(os));
                format!(
                    "<shell>sh</shell>\n  <current_date>{}</current_date>\n  <timezone>Etc/UTC</timezone>",
                    &date[..10]
                )
            }
            false => {
                let network = if sandbox == "danger-full-access" { "enabled" } else { "restricted" };
                format!(
                    "<approval_policy>never</approval_policy>\n  <sandbox_mode>{sandbox}</sandbox_mode>\n  \
                     <network_access>{network}</network_access>"
                )
            }
        };
        format!("<environment_context>\n  <cwd>{cwd}</cwd>\n  {rest}\n</environment_context>")
    }

    fn context(&mut self, os: &mut dyn Os) {
        let kept = self.release.kept;
        let mut context = json!({});
        if kept.names_turns() {
            context["turn_id"] = json!(self.turn());
        }
        context["cwd"] = json!(self.cwd);
        context["approval_policy"] = json!("never");
        let key = if kept.names_turns() { "type" } else { "mode" };
        context["sandbox_policy"] = json!({key: self.sandbox});
        context["model"] = json!(MODEL.0);
        context["summary"] = json!(if kept == Kept::Items { "none" } else { "auto" });
        self.line(os, "turn_context", &context);
    }

    fn tokens(&self) -> Value {
        let kept = self.release.kept;
        let window = if kept == Kept::Kind { CONTEXT_WINDOW.0 } else { CONTEXT_WINDOW.1 };
        let info = (self.charged > 0).then(|| {
            json!({"total_token_usage": self.usage(self.charged), "last_token_usage": self.usage(1),
                "model_context_window": window})
        });
        json!({"type": "token_count", "info": info, "rate_limits": {"primary": null, "secondary": null}})
    }

    fn usage(&self, responses: u32) -> Value {
        let (input, output) = (TOKENS.0 * responses, TOKENS.1 * responses);
        let mut usage = json!({"input_tokens": input, "cached_input_tokens": 0});
        if self.release.kept == Kept::Items {
            usage["cache_write_input_tokens"] = json!(0);
        }
        usage["output_tokens"] = json!(output);
        usage["reasoning_output_tokens"] = json!(0);
        usage["total_tokens"] = json!(input + output);
        usage
    }

    fn turn(&self) -> String {
        format!("00000000-0000-7000-8001-{:012x}", self.turns)
    }

    fn keep_held(&mut self, os: &mut dyn Os) {
        for (kind, payload) in std::mem::take(&mut self.held) {
            self.line(os, kind, &payload);
        }
    }

    fn item(&mut self, os: &mut dyn Os, payload: &Value) {
        self.line(os, ITEM, payload);
    }

    fn event(&mut self, os: &mut dyn Os, payload: &Value) {
        self.line(os, EVENT, payload);
    }

    fn completed(&mut self, os: &mut dyn Os, item: &Value) {
        let event = json!({"type": "item_completed", "thread_id": self.thread, "turn_id": self.turn(), "item": item});
        self.event(os, &event);
    }

    fn line(&mut self, os: &mut dyn Os, kind: &str, payload: &Value) {
        let mut line = json!({"timestamp": instant(ms(os))});
        if self.release.kept == Kept::Items {
            line["ordinal"] = json!(self.lines);
        }
        line["type"] = json!(kind);
        line["payload"] = payload.clone();
        self.lines += 1;
        os.append(&self.path, &format!("{line}\n"));
    }
}

/// The wall clock, in milliseconds since 1970.
fn ms(os: &dyn Os) -> u64 {
    os.epoch_ms().saturating_add(os.now().0)
}

/// How many responses were charged for this usage.
fn responses(usage: &Value) -> u32 {
    let input = usage["input_tokens"].as_u64().unwrap_or_default();
    u32::try_from(input / u64::from(TOKENS.0)).unwrap_or(u32::MAX)
}

fn said(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

/// What an item of a rollout is in a request; `None` if it is no part of one.
fn message(kind: &str, item: &Value) -> Option<Message> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (role, part) = match kind {
        "message" => {
            let parts = item["content"].as_array()?.iter().map(|part| text(&part["text"]));
            return Some(Message { role: text(&item["role"]), parts: parts.map(Part::Text).collect() });
        }
        "function_call" => {
            let input = serde_json::from_str(item["arguments"].as_str()?).unwrap_or_default();
            let call = ToolCall { id: text(&item["call_id"]), name: text(&item["name"]), input };
            ("assistant", Part::Call(call))
        }
        "function_call_output" => {
            ("user", Part::Result { id: text(&item["call_id"]), text: text(&item["output"]), is_error: false })
        }
        _ => return None,
    };
    Some(Message { role: role.to_owned(), parts: vec![part] })
}
