//! An earlier session: where its file is, and what was said in it.
//!
//! Invariant: each call of an earlier session has a result, as the releases see to it.

use super::super::writer::THREAD;
use super::Rollout;
use super::lines::{EVENT, ITEM, RECORD, ms, responses};
use rehang_os::os::Os;
use rehang_scenario::time::instant;
use rehang_wire::model::{Message, Part, ToolCall};
use serde_json::Value;

/// What the model is told of a call that has no result in the file: its process was killed.
const NO_RESULT: &str = "aborted";

/// What a session was before it is resumed.
#[derive(Default)]
pub(in super::super) struct Earlier {
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
pub(in super::super) enum Wanted<'a> {
    /// A new one.
    New,
    /// The last one that was begun in this folder.
    Last,
    /// The one of this id.
    Named(&'a str),
}

impl Rollout {
    /// The file of the session that is wanted.
    pub(super) fn find(&self, os: &dyn Os, home: &str, wanted: &Wanted<'_>) -> Option<String> {
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
    pub(super) fn begins(&mut self, os: &dyn Os, home: &str) {
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
    pub(super) fn resumed(&mut self, text: &str) -> Earlier {
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
