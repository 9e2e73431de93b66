//! The model's server on loopback: if a fault touches the model's stream, the model is a participant.
//!
//! Invariant: it says what the scenario's turns say, chunk by chunk and in virtual time, and counts its responses
//! over all sessions from 1, as the scenario's faults do.

use super::hub::{Actor, Hub};
use super::inbox::Input;
use super::model_net::Connection;
use rehang_os::{
    kernel::{Handle, InternalError},
    os::{Read, Write},
};
use rehang_scenario::{
    Canon, Canonical, Scenario, VTime,
    plan::{RESPONSE_HEADER, response_at},
    turns::Turn,
};
use rehang_trace::What;
use rehang_wire::{
    http::{RequestReader, chunk, response, streaming_head},
    model::{
        Api, Encoder, ModelEvent, ToolCall, error_body,
        script::{Item, ModelScript, Stream, chunks},
    },
};
use serde_json::json;
use std::collections::VecDeque;

/// Takes new connections and reads requests.
pub fn drain(hub: &mut Hub<'_>) -> Result<(), InternalError> {
    let Some(listener) = hub.model_listener else { return Ok(()) };
    while let Some(handle) = hub.kernel.accept(listener)? {
        let reader = RequestReader::new();
        hub.model.open.push(Connection {
            handle,
            reader,
            asked: None,
            answered: false,
            over: false,
            unsent: Vec::new(),
            closes: None,
        });
    }
    let mut news = false;
    for at in 0..hub.model.open.len() {
        let handle = hub.model.open[at].handle;
        while !hub.model.open[at].over {
            let connection = &mut hub.model.open[at];
            match hub.kernel.read(handle, 65_536)? {
                Read::Data(bytes) => connection.reader.feed(&bytes),
                Read::Later => break,
                Read::Eof | Read::Failed(_) => {
                    connection.over = true;
                    news = true;
                }
            }
        }
        let connection = &mut hub.model.open[at];
        if connection.asked.is_none()
            && let Ok(Some(request)) = connection.reader.next_message()
        {
            let api = Api::of_target(&request.head.target).unwrap_or(Api::OpenAiChat);
            let path = request.head.headers.get(RESPONSE_HEADER).unwrap_or("1").to_owned();
            connection.asked = Some((api, path));
            // an agent sends all that was said with each request: an agent that never rests grows with the square of
            // its steps
            hub.text_bytes += request.body.len();
            news = true;
        }
    }
    if news {
        hub.deliver(MODEL_SEAT, Input::Model);
    }
    flush(hub)
}

/// Sends as much as there is room for, and closes what is wholly sent.
fn flush(hub: &mut Hub<'_>) -> Result<(), InternalError> {
    let mut at = 0;
    while let Some(connection) = hub.model.open.get_mut(at) {
        while !connection.unsent.is_empty() {
            match hub.kernel.write(connection.handle, &connection.unsent)? {
                Write::Took(n) => drop(connection.unsent.drain(..n)),
                Write::Later => break,
                // there is no reader any more; that the other end is closed is seen by a read
                Write::Failed(_) => connection.unsent.clear(),
            }
        }
        match connection.closes {
            Some(reset) if connection.unsent.is_empty() => {
                let gone = hub.model.open.remove(at);
                hub.kernel.close(gone.handle, reset)?;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

/// The model's place among the actors: after wrapper, client and faults.
const MODEL_SEAT: usize = 3;

/// The model, with the streams that it has open.
pub struct Model {
    turns: Vec<Turn>,
    script: ModelScript,
    streams: Vec<Open>,
}

struct Open {
    handle: Handle,
    stream: Stream,
    encoder: Encoder,
    api: Api,
    headed: bool,
    number: u32,
}

impl Model {
    /// The model that a scenario describes.
    pub fn new(scenario: &Scenario) -> Model {
        let script = ModelScript::new(&scenario.faults);
        Model { turns: scenario.turns.clone(), script, streams: Vec::new() }
    }

    fn begin(&mut self, handle: Handle, api: Api, path: &str, now: VTime) {
        let number = self.script.begun() + 1;
        let parts = response_at(&self.turns, path);
        let parts = parts.unwrap_or_else(|| rehang_scenario::turns::Response {
            parts: Vec::new(),
            finish: rehang_scenario::turns::Finish::Stop,
        });
        let mut calls = 0;
        let all = chunks(&parts, str::to_owned, |turn| {
            calls += 1;
            call(api, turn, &format!("call_{number}_{calls}"))
        });
        let stream = self.script.begin(all, now);
        // no client of the chat API reads the id of a response: if it counted up, the bytes of a loop that asks for
        // ever would never repeat
        let id = if api == Api::OpenAiChat { "response".to_owned() } else { format!("response_{number}") };
        let encoder = Encoder::new(api, &id, "scripted");
        self.streams.push(Open { handle, stream, encoder, api, headed: false, number });
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

impl Open {
    /// The bytes of an item, and whether the connection is closed (and reset) after it.
    fn bytes(&mut self, item: &Item) -> (Vec<u8>, Option<bool>) {
        let mut out = Vec::new();
        if !self.headed && !matches!(item, Item::Status(_) | Item::Reset) {
            self.headed = true;
            out.extend(streaming_head(200, &[("content-type", "text/event-stream")]));
        }
        match item {
            Item::Event(event) => out.extend(chunk(&self.encoder.event(event))),
            Item::KeepAlive => out.extend(chunk(&self.encoder.event(&ModelEvent::KeepAlive))),
            Item::Compacting(_) => {}
            Item::Ended { clean } => {
                let end = if *clean { self.encoder.end() } else { Vec::new() };
                if !end.is_empty() {
                    out.extend(chunk(&end));
                }
                out.extend(b"0\r\n\r\n");
                return (out, Some(false));
            }
            Item::Reset => return (out, Some(true)),
            Item::Status(status) => {
                let body = error_body(self.api, *status, "scripted error").to_string();
                let after = self.stream.retry_after().map(|span| span.as_ms().div_ceil(1000).to_string());
                let mut headers = vec![("content-type", "application/json"), ("connection", "close")];
                headers.extend(after.as_deref().map(|seconds| ("retry-after", seconds)));
                out.extend(response(*status, &headers, body.as_bytes()));
                return (out, Some(false));
            }
        }
        (out, None)
    }
}

impl Actor for Model {
    fn deadline(&self) -> Option<VTime> {
        self.streams.iter().filter_map(|open| open.stream.deadline()).min()
    }

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, _: VecDeque<Input>) -> Result<(), InternalError> {
        let gone: Vec<Handle> = hub.model.open.iter().filter(|c| c.over).map(|c| c.handle).collect();
        for handle in gone {
            hub.kernel.close(handle, true)?;
            hub.model.open.retain(|c| c.handle != handle);
            self.streams.retain(|open| open.handle != handle);
        }
        let fresh: Vec<_> = hub
            .model
            .open
            .iter_mut()
            .filter(|c| c.asked.is_some() && !c.answered)
            .filter_map(|c| {
                c.answered = true;
                c.asked.clone().map(|(api, path)| (c.handle, api, path))
            })
            .collect();
        for (handle, api, path) in fresh {
            self.begin(handle, api, &path, hub.now);
        }
        let mut over = Vec::new();
        for open in &mut self.streams {
            for item in open.stream.poll(hub.now) {
                let word = match &item {
                    Item::Event(ModelEvent::Start) => format!("response {} begins", open.number),
                    Item::Reset => format!("response {} is reset", open.number),
                    Item::Status(status) => format!("response {} is {status}", open.number),
                    Item::Ended { .. } => format!("response {} ends", open.number),
                    _ => String::new(),
                };
                if !word.is_empty() {
                    hub.record(name, What::Says(word));
                }
                let (bytes, end) = open.bytes(&item);
                hub.model.send(open.handle, &bytes);
                if let Some(reset) = end {
                    hub.model.close(open.handle, reset);
                    over.push(open.handle);
                }
            }
        }
        self.streams.retain(|open| !over.contains(&open.handle));
        Ok(())
    }

    fn canon(&self, hub: &Hub<'_>, canon: &mut Canon) {
        let Model {
            turns: _, // not compared: they never change
            script,
            streams,
        } = self;
        script.canon(canon);
        canon.list(streams, |canon, open| {
            let Open {
                handle,
                stream,
                encoder,
                api: _, // not compared: the encoder has it
                headed,
                number: _, // not compared: it names the response in the trace, and decides nothing
            } = open;
            canon.num(hub.model.place(*handle));
            stream.canon(canon);
            encoder.canon(canon);
            canon.flag(*headed);
        });
    }
}
