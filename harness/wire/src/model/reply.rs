//! One response of a scripted model, as bytes of HTTP: what the server of a model's API sends, and when.
//!
//! The stages' model server and that of a fake that runs alone send the same. Invariant: the bytes follow from the
//! scenario, the request, its ordinal and virtual time.

use super::script::{Item, ModelScript, Stream, chunks};
use super::{Api, Encoder, ModelEvent, ToolCall, error_body};
use crate::http::{RequestHead, chunk, response, streaming_head};
use rehang_scenario::plan::{RESPONSE_HEADER, response_at};
use rehang_scenario::turns::{Finish, Response, Turn};
use rehang_scenario::{Canon, Canonical, VTime};
use serde_json::json;

/// What a request asks of a scripted model: in which API, and for which of the scenario's responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The API that the request speaks.
    pub api: Api,
    /// The path of the response: see [`response_at`].
    pub path: String,
}

impl Asked {
    /// What the head of a request asks: the first response, if it names none; OpenAI's chat, if its target is of no API.
    pub fn of(head: &RequestHead) -> Asked {
        let api = Api::of_target(&head.target).unwrap_or(Api::OpenAiChat);
        Asked { api, path: head.headers.get(RESPONSE_HEADER).unwrap_or("1").to_owned() }
    }
}

/// A response that is under way.
#[derive(Debug)]
pub struct Reply {
    stream: Stream,
    encoder: Encoder,
    api: Api,
    headed: bool,
    number: u32,
}

/// What a response does at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// The item of the script.
    pub item: Item,
    /// Its bytes; none for what a connection does not show.
    pub bytes: Vec<u8>,
    /// If the connection is closed after them: whether with a reset.
    pub closes: Option<bool>,
}

impl Reply {
    /// Begins the next response of a script at this time. What the scenario's turns do not have says nothing and stops.
    pub fn begin(script: &mut ModelScript, turns: &[Turn], asked: &Asked, now: VTime) -> Reply {
        let number = script.begun() + 1;
        let parts = response_at(turns, &asked.path);
        let parts = parts.unwrap_or_else(|| Response { parts: Vec::new(), finish: Finish::Stop });
        let mut calls = 0;
        let all = chunks(&parts, str::to_owned, |turn| {
            calls += 1;
            call(asked.api, turn, &format!("call_{number}_{calls}"))
        });
        let stream = script.begin(all, now);
        // no client of the chat API reads the id of a response: if it counted up, the bytes of a loop that asks for
        // ever would never repeat
        let id = if asked.api == Api::OpenAiChat { "response".to_owned() } else { format!("response_{number}") };
        Reply { stream, encoder: Encoder::new(asked.api, &id, "scripted"), api: asked.api, headed: false, number }
    }

    /// Its ordinal among the responses of its script, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// When something is sent next; `None` if it is over, or stalls for ever.
    pub fn deadline(&self) -> Option<VTime> {
        self.stream.deadline()
    }

    /// Everything that is sent by now, in order.
    pub fn poll(&mut self, now: VTime) -> Vec<Sent> {
        let items = self.stream.poll(now);
        items.into_iter().map(|item| self.sent(item)).collect()
    }

    fn sent(&mut self, item: Item) -> Sent {
        let mut bytes = Vec::new();
        if !self.headed && !matches!(item, Item::Status(_) | Item::Reset) {
            self.headed = true;
            bytes.extend(streaming_head(200, &[("content-type", "text/event-stream")]));
        }
        let closes = match &item {
            Item::Event(event) => {
                bytes.extend(chunk(&self.encoder.event(event)));
                None
            }
            Item::KeepAlive => {
                bytes.extend(chunk(&self.encoder.event(&ModelEvent::KeepAlive)));
                None
            }
            Item::Compacting(_) => None,
            Item::Ended { clean } => {
                let end = if *clean { self.encoder.end() } else { Vec::new() };
                if !end.is_empty() {
                    bytes.extend(chunk(&end));
                }
                bytes.extend(b"0\r\n\r\n");
                Some(false)
            }
            Item::Reset => Some(true),
            Item::Status(status) => {
                let body = error_body(self.api, *status, "scripted error").to_string();
                let after = self.stream.retry_after().map(|span| span.as_ms().div_ceil(1000).to_string());
                let mut headers = vec![("content-type", "application/json"), ("connection", "close")];
                headers.extend(after.as_deref().map(|seconds| ("retry-after", seconds)));
                bytes.extend(response(*status, &headers, body.as_bytes()));
                Some(false)
            }
        };
        Sent { item, bytes, closes }
    }
}

impl Canonical for Reply {
    fn canon(&self, canon: &mut Canon) {
        let Self {
            stream,
            encoder,
            api: _, // not compared: the encoder has it
            headed,
            number: _, // not compared: it names the response in the trace, and decides nothing
        } = self;
        stream.canon(canon);
        encoder.canon(canon);
        canon.flag(*headed);
    }
}

/// A tool call in the agent's wire format.
fn call(api: Api, turn: &Turn, id: &str) -> Option<ToolCall> {
    let claude = api == Api::Anthropic;
    let (name, input) = match turn {
        Turn::Ask(questions) => {
            (if claude { "AskUserQuestion" } else { "question" }, json!({ "questions": questions }))
        }
        Turn::Bash(bash) => (if claude { "Bash" } else { "bash" }, json!({ "command": bash.command })),
        Turn::Task(task) => (if claude { "Task" } else { "task" }, json!({ "description": task.description })),
        Turn::Permit(permit) => (permit.tool.as_str(), json!({ "patterns": permit.patterns })),
        Turn::Say(_) | Turn::Think(_) | Turn::Together(_) | Turn::Compact(_) | Turn::Finish(_) => return None,
    };
    Some(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
}
