//! The model's stream: played here from the script, or read over HTTP from the model's server.
//!
//! Invariant: there is at most one stream; the turn sees the same items whichever way it comes.

use crate::model_source::{Source, earliest, is_last};
use crate::silence::Silence;
use rehang_os::os::{Os, Wait};
use rehang_scenario::{Canon, Canonical, Fault, Span, plan::RESPONSE_HEADER};
use rehang_wire::{
    http,
    model::{
        Api, ModelEvent, ModelRequest, request_body,
        script::{Chunk, Item, ModelScript},
    },
};

/// Where responses come from, and the one that is open.
pub(super) struct Model {
    script: ModelScript,
    port: Option<u16>,
    idle: Span,
    open: Option<Open>,
}

struct Open {
    source: Source,
    silence: Silence,
}

/// The result of reading the stream.
pub(super) enum Came {
    /// It gave these items.
    Items(Vec<Item>),
    /// It was without an event for longer than the release waits, and is given up.
    Silence,
}

impl Model {
    pub fn new(faults: &[Fault], port: Option<u16>, idle: Span) -> Model {
        Model { script: ModelScript::new(faults), port, idle, open: None }
    }

    /// Asks the model. `chunks`: what it says if it is played here; `request` and `path` go to a server.
    pub fn ask(&mut self, os: &mut dyn Os, chunks: Vec<Chunk>, request: &ModelRequest, path: &str) {
        self.abort(os);
        let source = match self.port {
            None => Source::Script(self.script.begin(chunks, os.now())),
            Some(port) => Source::server(os, port, API, || sent(port, request, path)),
        };
        self.open = Some(Open { source, silence: Silence::new(Some(self.idle), os.now()) });
    }

    /// Gives the stream up.
    pub fn abort(&mut self, os: &mut dyn Os) {
        if let Some(open) = self.open.take() {
            open.source.close(os);
        }
    }

    /// What has come by now.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<Came> {
        let now = os.now();
        let Open { source, silence } = self.open.as_mut()?;
        let items = source.poll(os);
        for item in &items {
            match item {
                // A comment is no event: a stream of them alone is given up too (recorded).
                Item::KeepAlive | Item::Event(ModelEvent::KeepAlive) => {}
                // The agent itself compacts: the stream is not waited for meanwhile.
                Item::Compacting(span) => silence.heard(now + *span),
                _ => silence.heard(now),
            }
        }
        let over = items.iter().any(is_last);
        let silent = silence.is_over(now);
        if over {
            self.abort(os);
        }
        if over || items.iter().any(|item| !matches!(item, Item::KeepAlive | Item::Event(ModelEvent::KeepAlive))) {
            return Some(Came::Items(items));
        }
        if silent {
            self.abort(os);
            return Some(Came::Silence);
        }
        (!items.is_empty()).then_some(Came::Items(items))
    }

    /// Adds what the stream waits for.
    pub fn wait(&self, wait: &mut Wait) {
        let Some(Open { source, silence }) = &self.open else { return };
        wait.until = earliest(wait.until, silence.deadline());
        source.wait(wait);
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            script,
            port: _, // not compared: it never changes
            idle: _, // not compared: it never changes
            open,
        } = self;
        script.canon(canon);
        canon.flag(open.is_some());
        let Some(Open { source, silence }) = open else { return };
        silence.canon(canon);
        source.canon(canon);
    }
}

const API: Api = Api::OpenAiResponses;

fn sent(port: u16, request: &ModelRequest, path: &str) -> Vec<u8> {
    let body = request_body(API, request);
    let host = format!("127.0.0.1:{port}");
    let headers = [("content-type", "application/json"), ("accept", "text/event-stream"), (RESPONSE_HEADER, path)];
    http::request("POST", API.path(), &host, &headers, body.as_bytes())
}
