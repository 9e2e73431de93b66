//! The router: a request comes in, the answer goes out. No socket, no clock.
//!
//! Invariant: which turn a request gets follows from its conversation alone: how often the assistant has spoken in it,
//! and the mark of a task in what comes before that. Only the model's faults count requests, as the scenario says.

use crate::calls::marked;
use crate::check::{self, Problem};
use crate::event::{Happened, Kind, Request, Told};
use crate::script::Script;
use crate::side;
use rehang_scenario::VTime;
use rehang_wire::http::Target;
use rehang_wire::model::script::{Chunk, ModelScript, Stream};
use rehang_wire::model::{Api, ModelEvent, ModelRequest, Part};
use serde_json::Value;

/// The server's state.
#[derive(Debug)]
pub(crate) struct Router {
    script: Script,
    faults: ModelScript,
    requests: u32,
}

/// A request, taken.
#[derive(Debug)]
pub(crate) struct Taken {
    /// Its number.
    pub n: u32,
    /// The events that report it.
    pub happened: Vec<Happened>,
    /// What is answered.
    pub answer: Answer,
}

/// What is answered.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A body at once.
    Json(u16, Value),
    /// A response of the model.
    Play(Play),
}

/// A response of the model.
#[derive(Debug)]
pub(crate) struct Play {
    /// Its API.
    pub api: Api,
    /// What comes when.
    pub stream: Stream,
    /// Its id.
    pub id: String,
    /// The model's name.
    pub model: String,
    /// Whether it is wanted chunk by chunk.
    pub streamed: bool,
}

impl Router {
    /// A router with this script.
    pub fn new(script: Script) -> Router {
        let faults = ModelScript::new(&script.faults);
        Router { script, faults, requests: 0 }
    }

    /// Takes a request that came at `now`.
    pub fn take(&mut self, method: &str, target: &str, bytes: &[u8], now: VTime) -> Taken {
        self.requests = self.requests.saturating_add(1);
        let n = self.requests;
        if n > self.script.limits.requests {
            let first = n == self.script.limits.requests + 1;
            let problem = Problem::TooMany(self.script.limits.requests);
            let happened = first.then_some(Happened::Problem { n, problem }).into_iter().collect();
            let body = serde_json::json!({"error": {"message": "too many requests for one script", "code": 503}});
            return Taken { n, happened, answer: Answer::Json(503, body) };
        }
        let mut problems = Vec::new();
        let body: Value = match serde_json::from_slice(bytes) {
            Ok(body) => body,
            Err(_) if bytes.is_empty() => Value::Null,
            Err(error) => {
                problems.push(Problem::Malformed(format!("no json: {error}")));
                Value::Null
            }
        };
        let api = Api::of_target(target).filter(|_| method == "POST");
        let request = api.map_or_else(ModelRequest::default, |api| ModelRequest::at(api, target, &body));
        let (kind, answer) = match api {
            None => {
                let parsed = Target::parse(target);
                let (side, status, body) = side::plain(method, &parsed.path(), &self.script.model);
                (Kind::Side(side), Answer::Json(status, body))
            }
            Some(api) if self.is_main(&request) => self.main(api, &request, now, &mut problems),
            Some(api) => {
                let (side, chunks) = side::generated(&request, &body);
                let stream = Stream::new(chunks, &[], now);
                (Kind::Side(side), Answer::Play(self.play(api, stream, format!("side_{n}"), &request)))
            }
        };
        let request = Request {
            n,
            told: if matches!(kind, Kind::Main { .. }) { told(&request) } else { Vec::new() },
            kind,
            method: method.to_owned(),
            target: target.to_owned(),
            stream: request.stream,
            offers: request.tools.into_iter().map(|tool| tool.name).collect(),
            body,
        };
        let mut happened = vec![Happened::Request(request)];
        happened.extend(problems.into_iter().map(|problem| Happened::Problem { n, problem }));
        Taken { n, happened, answer }
    }

    /// A request whose body is longer than the limit.
    pub fn too_long(&mut self) -> Taken {
        self.requests = self.requests.saturating_add(1);
        let n = self.requests;
        let problem = Problem::TooLong(self.script.limits.body_bytes);
        let body = serde_json::json!({"error": {"message": problem.to_string(), "code": 413}});
        Taken { n, happened: vec![Happened::Problem { n, problem }], answer: Answer::Json(413, body) }
    }

    /// A subagent may be offered other tools than the root session; its task's mark is enough.
    fn is_main(&self, request: &ModelRequest) -> bool {
        let last = request.messages.iter().rfind(|m| m.role == "user");
        let said = last.iter().flat_map(|m| &m.parts).filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
        if said.into_iter().any(|text| self.script.side.iter().any(|mark| text.contains(mark))) {
            return false;
        }
        if place(request, self.script.preload).0.is_some() {
            return true;
        }
        match self.script.main.as_slice() {
            [] => request.is_main(),
            tools => tools.iter().any(|tool| tool == "*" || request.offers(tool)),
        }
    }

    fn main(&mut self, api: Api, request: &ModelRequest, now: VTime, problems: &mut Vec<Problem>) -> (Kind, Answer) {
        if api != self.script.api {
            problems.push(Problem::OtherApi(format!("{api:?} instead of {:?}", self.script.api)));
        }
        problems.extend(check::conversation(request));
        let number = self.faults.begun() + 1;
        let (path, response, is_scripted) = self.script.response(&path(request, self.script.preload));
        if !is_scripted {
            problems.push(Problem::BeyondScript(path.clone()));
        }
        let (chunks, missing) = self.script.chunks(&response, &path, number, request.last_result().unwrap_or(""));
        for chunk in &chunks {
            if let Chunk::Event(ModelEvent::ToolCall(call)) = chunk {
                problems.extend(check::call(request, call));
            }
        }
        problems.extend(missing.into_iter().map(|missing| Problem::NoShape(missing.to_string())));
        let stream = self.faults.begin(chunks, now);
        let play = self.play(api, stream, self.script.id(api, number), request);
        (Kind::Main { path, response: number }, Answer::Play(play))
    }

    fn play(&self, api: Api, stream: Stream, id: String, request: &ModelRequest) -> Play {
        let model = if request.model.is_empty() { &self.script.model } else { &request.model };
        Play { api, stream, id, model: model.clone(), streamed: request.stream }
    }
}

/// A request's place in the script: how often the assistant has spoken in its conversation, after the place of the task
/// whose mark comes before its first word.
fn path(request: &ModelRequest, preload: usize) -> String {
    let (place, spoken) = place(request, preload);
    let nth = spoken.saturating_sub(preload) + 1;
    place.map_or_else(|| nth.to_string(), |place| format!("{place}/{nth}"))
}

/// The place of the task whose mark comes before the assistant's first word, and how often the assistant has spoken.
fn place(request: &ModelRequest, preload: usize) -> (Option<&str>, usize) {
    let mut spoken = 0;
    let mut speaking = false;
    let mut place = None;
    for message in &request.messages {
        let speaks = message.role == "assistant";
        // OpenAI responses send one item a text and a call: items next to each other are one response.
        spoken += usize::from(speaks && !speaking);
        speaking = speaks;
        if message.role == "user" && spoken <= preload && place.is_none() {
            place = message.parts.iter().find_map(|part| match part {
                Part::Text(text) => marked(text),
                _ => None,
            });
        }
    }
    (place, spoken)
}

/// The results after the last thing that the assistant said.
fn told(request: &ModelRequest) -> Vec<Told> {
    let last = request.messages.iter().rposition(|m| m.role == "assistant").map_or(0, |at| at + 1);
    let calls = request.messages.iter().flat_map(|m| &m.parts);
    let calls: Vec<_> = calls.filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None }).collect();
    let results = request.messages[last..].iter().flat_map(|m| &m.parts);
    let result = |part: &Part| match part {
        Part::Result { id, text, is_error } => {
            let tool = calls.iter().find(|call| call.id == *id).map_or("", |call| &call.name);
            Some(Told { id: id.clone(), tool: tool.to_owned(), text: text.clone(), is_error: *is_error })
        }
        _ => None,
    };
    results.filter_map(result).collect()
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
