//! What the server plays: a scenario's turns and model faults, as one agent release speaks them.
//!
//! Invariant: a script is data; it holds no state and no clock.

use crate::calls::{NoShape, call};
use rehang_agents::model::Dialect;
use rehang_agents::{Call, Recipe, ToolShape};
use rehang_scenario::Fault;
use rehang_scenario::turns::{Response, Turn};
use rehang_wire::model::script::{Chunk, chunks};
use rehang_wire::model::{Api, ModelEvent};
use std::collections::BTreeMap;

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

fn api(dialect: Dialect) -> Api {
    match dialect {
        Dialect::OpenaiChat => Api::OpenAiChat,
        Dialect::OpenaiResponses => Api::OpenAiResponses,
        Dialect::Anthropic => Api::Anthropic,
        Dialect::Gemini => Api::Gemini,
    }
}
