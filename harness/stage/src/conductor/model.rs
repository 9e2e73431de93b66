//! The model's server on loopback: where a fault touches the model's stream, the model is a participant.
//!
//! Invariant: it says what the scenario's turns say, chunk by chunk and in virtual time, and counts its responses
//! over all sessions from 1, as the scenario's faults do.

use super::hub::{Actor, Hub, Input};
use crate::world::{Handle, WorldFault};
use rehang_fakes::os::{Read, Write};
use rehang_fakes::plan::{RESPONSE_HEADER, response_at};
use rehang_judge::What;
use rehang_scenario::turns::Turn;
use rehang_scenario::{Canon, Canonical, Scenario, VTime};
use rehang_wire::http::{RequestReader, chunk, response, streaming_head};
use rehang_wire::model::script::{Item, ModelScript, Stream, chunks};
use rehang_wire::model::{Api, Encoder, ModelEvent, ToolCall, error_body};
use serde_json::json;
use std::collections::VecDeque;

/// Connections of agents to the model's server.
#[derive(Debug, Default)]
pub struct Connections {
    open: Vec<Connection>,
}

#[derive(Debug)]
struct Connection {
    handle: Handle,
    reader: RequestReader,
    asked: Option<(Api, String)>,
    over: bool,
}

impl Connections {
    /// Writes the state.
    pub fn canon(&self, canon: &mut Canon) {
        canon.num(self.open.len() as u64);
        for connection in &self.open {
            canon.flag(connection.over).flag(connection.reader.is_idle());
            canon.text(connection.asked.as_ref().map_or("", |(_, path)| path));
        }
    }
}

/// Takes new connections and reads requests.
pub fn drain(hub: &mut Hub<'_>) -> Result<(), WorldFault> {
    let Some(listener) = hub.model_listener else { return Ok(()) };
    while let Some(handle) = hub.world.accept(listener)? {
        let reader = RequestReader::new();
        hub.model.open.push(Connection { handle, reader, asked: None, over: false });
    }
    let mut news = false;
    for at in 0..hub.model.open.len() {
        let handle = hub.model.open[at].handle;
        while !hub.model.open[at].over {
            let connection = &mut hub.model.open[at];
            match hub.world.read(handle, 65_536)? {
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
            news = true;
        }
    }
    if news {
        hub.tell(MODEL_SEAT, Input::Model);
    }
    Ok(())
}

/// The model's place among the actors: behind wrapper, client and faults.
const MODEL_SEAT: usize = 3;

/// The model: the streams that it has open.
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
    /// The model of a scenario.
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
        let encoder = Encoder::new(api, &format!("response_{number}"), "scripted");
        self.streams.push(Open { handle, stream, encoder, api, headed: false, number });
    }
}

/// A tool call in the agent's dialect.
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
    /// The bytes of an item, and whether the connection is over (and reset) behind it.
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

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, _: VecDeque<Input>) -> Result<(), WorldFault> {
        let gone: Vec<Handle> = hub.model.open.iter().filter(|c| c.over).map(|c| c.handle).collect();
        for handle in gone {
            hub.world.close(handle, true)?;
            hub.model.open.retain(|c| c.handle != handle);
            self.streams.retain(|open| open.handle != handle);
        }
        let fresh: Vec<_> = hub
            .model
            .open
            .iter()
            .filter(|c| !self.streams.iter().any(|open| open.handle == c.handle))
            .filter_map(|c| c.asked.clone().map(|(api, path)| (c.handle, api, path)))
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
                    hub.say(name, What::Says(word));
                }
                let (bytes, end) = open.bytes(&item);
                let wrote = hub.world.write(open.handle, &bytes)?;
                debug_assert!(bytes.is_empty() || !matches!(wrote, Write::Took(n) if n < bytes.len()));
                if let Some(reset) = end {
                    over.push((open.handle, reset));
                }
            }
        }
        for (handle, reset) in over {
            hub.world.close(handle, reset)?;
            hub.model.open.retain(|c| c.handle != handle);
            self.streams.retain(|open| open.handle != handle);
        }
        Ok(())
    }

    fn canon(&self, canon: &mut Canon) {
        self.script.canon(canon);
        canon.num(self.streams.len() as u64);
        for open in &self.streams {
            open.stream.canon(canon);
            canon.flag(open.headed);
        }
    }
}
