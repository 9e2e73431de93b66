//! What the server plays: a scenario's turns and model faults, as one agent release speaks them.
//!
//! Invariant: a script is data; it holds no state and no clock.

use crate::calls::{NoShape, call};
use rehang_agents::model::Dialect;
use rehang_agents::{Call, Recipe, ToolShape};
use rehang_scenario::turns::{Finish, Response, Turn, response_at};
use rehang_scenario::{Fault, ModelDoes, Span, VTime};
use rehang_wire::model::script::{Chunk, Item, Stream, chunks, repeats};
use rehang_wire::model::{Api, Encoder, ModelEvent};
use std::collections::BTreeMap;

/// What the model says after the script's last response, so that no agent treats silence as a fault.
const AFTER_THE_LAST: &str = "The script is over.";

/// What the model says, and to whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The model API that the agent speaks. Requests of another API are answered too, and reported as a problem.
    pub api: Api,
    /// The model's name, as `/v1/models` lists it.
    pub model: String,
    /// What the model does.
    pub turns: Vec<Turn>,
    /// What goes wrong; only the model's faults are played here.
    pub faults: Vec<Fault>,
    /// Tools by which a main request is known; any tool if empty, every request if it is `*`.
    pub main: Vec<String>,
    /// A request whose last user message contains one of these texts is not a main one, whatever it offers.
    pub side: Vec<String>,
    /// How many assistant messages a request has before the model has said a word.
    pub preload: usize,
    /// How the model calls its tools.
    pub tools: BTreeMap<Call, ToolShape>,
    /// Limits on what comes in.
    pub limits: Limits,
}

/// Limits on what comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest body of a request, in bytes; a longer one gets 413.
    pub body_bytes: usize,
    /// The most requests; further ones get 503 and are not reported.
    pub requests: u32,
    /// The most connections at once; further ones wait.
    pub connections: usize,
}

impl Default for Limits {
    /// 32 MiB, as the largest vendor's own limit (Anthropic messages); 10,000 requests, since an agent that retries
    /// for ever without a pause must not fill memory; 256 connections.
    fn default() -> Limits {
        Limits { body_bytes: 32 << 20, requests: 10_000, connections: 256 }
    }
}

impl Script {
    /// The script of a scenario's turns and faults for a release.
    pub fn new(recipe: &Recipe, turns: &[Turn], faults: &[Fault]) -> Script {
        Script {
            api: api(recipe.dialect),
            model: recipe.model.clone(),
            turns: turns.to_vec(),
            faults: faults.iter().filter(|fault| matches!(fault, Fault::Model(_))).cloned().collect(),
            main: recipe.main.clone(),
            side: recipe.side.clone(),
            preload: recipe.preload as usize,
            tools: recipe.tools.clone(),
            limits: Limits::default(),
        }
    }
}

impl Script {
    /// What a scripted response says, chunk by chunk, and the calls for which the agent has no tool: in their place it
    /// says a text. `path` is the response's place (see `turns::response_at`), `number` which it is over all sessions,
    /// from 1, and `answer` what the last tool call told the model.
    pub fn chunks(&self, response: &Response, path: &str, number: u32, answer: &str) -> (Vec<Chunk>, Vec<NoShape>) {
        let mut missing = Vec::new();
        let of = |turn: &Turn| {
            let at = response.parts.iter().position(|part| std::ptr::eq(part, turn)).unwrap_or(0);
            call(&self.tools, turn, &format!("call_{number}_{at}"), &format!("{path}.{at}")).unwrap_or_else(|none| {
                missing.push(none);
                None
            })
        };
        let mut all = chunks(response, |text| text.replace("{answer}", answer), of);
        let words = missing.iter().map(|none| Chunk::Event(ModelEvent::TextDelta(format!("({none}) "))));
        all.splice(0..0, words);
        (all, missing)
    }
}

/// What the body of a response sends, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The silence before each piece, and its bytes.
    pub pieces: Vec<(Span, Vec<u8>)>,
    /// What comes after them.
    pub then: Then,
    /// The body for a request that wants no stream; it is sent when the stream would have ended.
    pub whole: String,
}

/// What comes after the last piece of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// The body ends.
    Ends,
    /// Nothing, for ever: the connection stays open.
    Silence,
    /// These bytes, again and again, each after this silence.
    Repeats(Span, Vec<u8>),
    /// The connection is reset.
    Reset,
    /// Instead of a body: this HTTP status.
    Status(u16),
}

impl Script {
    /// The place of the response that a request for the root session's or a subagent's place gets, the response, and
    /// whether the scenario has it.
    pub(crate) fn response(&self, path: &str) -> (String, Response, bool) {
        let path = repeated(&self.faults, path).unwrap_or_else(|| path.to_owned());
        let scripted = response_at(&self.turns, &path);
        let scripted = scripted.filter(|r| !r.parts.is_empty() || r.finish != Finish::Stop);
        let is_scripted = scripted.is_some();
        let after = || Response { parts: vec![Turn::Say(AFTER_THE_LAST.to_owned())], finish: Finish::Stop };
        (path, scripted.unwrap_or_else(after), is_scripted)
    }

    /// The id of a response; `number` is which it is over all sessions, from 1.
    pub(crate) fn id(&self, api: Api, number: u32) -> String {
        // Releases of Claude Code tell their own messages from the model's by the letters of an id.
        format!("{}_{number}", if api == Api::Anthropic { "msg" } else { "response" })
    }

    /// Whether the scenario has a response at this place.
    pub fn has(&self, path: &str) -> bool {
        self.response(path).2
    }

    /// What the server sends to a streaming request for this place. `number` is in the ids; `faults_of` says which
    /// response over all sessions it is to the model's faults, from 1; `answer` is what the last tool call told the model.
    pub fn sent(&self, path: &str, number: u32, faults_of: u32, answer: &str) -> Sent {
        let (path, response, _) = self.response(path);
        let thinks = response.parts.iter().any(|part| matches!(part, Turn::Think(_)));
        let (chunks, _) = self.chunks(&response, &path, number, answer);
        let model = |fault: &Fault| match fault {
            Fault::Model(fault) if fault.response == 0 || fault.response == faults_of => Some(fault.clone()),
            _ => None,
        };
        let faults: Vec<_> = self.faults.iter().filter_map(model).collect();
        let alive = faults.iter().find_map(|fault| match fault.does {
            ModelDoes::KeepAlive(every) if !thinks => Some(every),
            _ => None,
        });
        self.send(Stream::new(chunks, &faults, VTime(0)), &self.id(self.api, number), alive)
    }

    /// The same of a request on the side that is answered by [`crate::TEXT`].
    pub fn on_the_side(&self, number: u32) -> Sent {
        self.send(Stream::new(crate::side::text(), &[], VTime(0)), &format!("side_{number}"), None)
    }

    fn send(&self, mut stream: Stream, id: &str, alive: Option<Span>) -> Sent {
        let mut encoder = Encoder::new(self.api, id, &self.model);
        let (mut pieces, mut events, mut last, mut then) = (Vec::new(), Vec::new(), VTime(0), None);
        while let (Some(at), None) = (stream.deadline(), &then) {
            for item in stream.poll(at) {
                let bytes = match item {
                    Item::Event(event) => {
                        let bytes = encoder.event(&event);
                        events.push(event);
                        bytes
                    }
                    Item::KeepAlive => {
                        let bytes = encoder.event(&ModelEvent::KeepAlive);
                        match alive {
                            Some(every) => {
                                then = Some(Then::Repeats(every, bytes));
                                break;
                            }
                            None => bytes,
                        }
                    }
                    Item::Compacting(_) | Item::Ended { clean: false } => Vec::new(),
                    Item::Ended { clean: true } => encoder.end(),
                    Item::Reset => {
                        then = Some(Then::Reset);
                        Vec::new()
                    }
                    Item::Status(status) => {
                        then = Some(Then::Status(status));
                        Vec::new()
                    }
                };
                if !bytes.is_empty() {
                    pieces.push((at.since(last), bytes));
                    last = at;
                }
            }
        }
        let then = then.unwrap_or(if stream.is_over() { Then::Ends } else { Then::Silence });
        let whole = rehang_wire::model::whole(self.api, id, &self.model, &events).to_string();
        Sent { pieces, then, whole }
    }
}

/// The place of the response that the model repeats, if this place of the root session is after it.
fn repeated(faults: &[Fault], path: &str) -> Option<String> {
    let last = repeats(faults)? + 1;
    let nth: usize = path.parse().ok()?;
    (nth > last).then(|| last.to_string())
}

fn api(dialect: Dialect) -> Api {
    match dialect {
        Dialect::OpenaiChat => Api::OpenAiChat,
        Dialect::OpenaiResponses => Api::OpenAiResponses,
        Dialect::Anthropic => Api::Anthropic,
        Dialect::Gemini => Api::Gemini,
    }
}
