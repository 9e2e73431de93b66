//! The model's streams: played here from the script, or read over HTTP from the model's server.
//!
//! Invariant: each conversation has at most one stream, and one stream at a time gives what has come, in the order in
//! which they began.

use super::engine::{Conv, Engine};
use super::release::SILENCE_MAX;
use crate::model_source::{Source, earliest, is_last};
use crate::silence::Silence;
use rehang_os::os::{Os, Wait};
use rehang_scenario::{Canon, Canonical, Fault, Span, plan::RESPONSE_HEADER};
use rehang_wire::{
    http,
    model::{
        Api, request_body,
        script::{Item, ModelScript},
    },
};

/// Where responses come from, and those that are open.
pub(super) struct Models {
    script: ModelScript,
    port: Option<u16>,
    open: Vec<Open>,
}

struct Open {
    conv: Conv,
    source: Source,
    silence: Silence,
}

/// The result of reading a stream.
pub(super) enum Came {
    /// The stream gave these items.
    Items(Vec<Item>),
    /// It was silent for longer than the release waits, and is given up.
    Silence,
}

impl Models {
    pub fn new(faults: &[Fault], port: Option<u16>) -> Models {
        Models { script: ModelScript::new(faults), port, open: Vec::new() }
    }

    /// Asks the model on behalf of a conversation.
    pub fn ask(&mut self, os: &mut dyn Os, engine: &mut Engine, conv: Conv) {
        self.abort(os, conv);
        let source = match self.port {
            None => Source::Script(self.script.begin(engine.chunks(conv), os.now())),
            Some(port) => Source::server(os, port, Api::Anthropic, || request(port, engine, conv)),
        };
        let silence = Silence::new(Some(SILENCE_MAX), os.now());
        self.open.push(Open { conv, source, silence });
    }

    /// Gives up a conversation's stream.
    pub fn abort(&mut self, os: &mut dyn Os, conv: Conv) {
        self.open.retain(|open| {
            if open.conv == conv {
                open.source.close(os);
            }
            open.conv != conv
        });
    }

    /// What has come by now: of one stream at a time, in the order in which they began.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<(Conv, Came)> {
        let now = os.now();
        for at in 0..self.open.len() {
            let Open { conv, source, silence } = &mut self.open[at];
            let conv = *conv;
            let items = source.poll(os);
            let over = items.iter().any(is_last);
            // The agent itself compacts: the stream is not waited for meanwhile.
            let busy =
                items.iter().map(|item| if let Item::Compacting(span) = item { *span } else { Span::ZERO }).max();
            if let Some(busy) = busy {
                silence.heard(now + busy);
            }
            if over {
                self.open.remove(at).source.close(os);
            }
            if !items.is_empty() {
                return Some((conv, Came::Items(items)));
            }
            if !over && self.open[at].silence.is_over(now) {
                self.abort(os, conv);
                return Some((conv, Came::Silence));
            }
        }
        None
    }

    /// Adds what the streams wait for.
    pub fn wait(&self, wait: &mut Wait) {
        for Open { source, silence, .. } in &self.open {
            wait.until = earliest(wait.until, silence.deadline());
            source.wait(wait);
        }
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            script,
            port: _, // not compared: it never changes
            open,
        } = self;
        script.canon(canon);
        canon.list(open, |canon, Open { conv, source, silence }| {
            silence.canon(canon.num(conv.0 as u64));
            source.canon(canon);
        });
    }
}

fn request(port: u16, engine: &Engine, conv: Conv) -> Vec<u8> {
    let (request, path) = engine.model_request(conv);
    let body = request_body(Api::Anthropic, &request);
    let host = format!("127.0.0.1:{port}");
    let headers = [
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("anthropic-version", "2023-06-01"),
        (RESPONSE_HEADER, path.as_str()),
    ];
    http::request("POST", "/v1/messages?beta=true", &host, &headers, body.as_bytes())
}
