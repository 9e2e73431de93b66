//! The model's stream: played here from the script, or read over HTTP from the model's server.
//!
//! Invariant: the engine sees the same items either way, and one stream is open at a time.

use super::engine::Engine;
use super::release::SILENCE_MAX;
use crate::model_source::{Source, earliest, is_last};
use crate::silence::Silence;
use rehang_os::os::{Os, Wait};
use rehang_scenario::{Canon, Canonical, Fault, Span, plan::RESPONSE_HEADER};
use rehang_wire::http;
use rehang_wire::model::script::{Item, ModelScript};
use rehang_wire::model::{Api, request_body};

/// Where responses come from, and the one that is open.
pub(super) struct Model {
    script: ModelScript,
    port: Option<u16>,
    open: Option<(Source, Silence)>,
}

/// The result of reading the stream.
pub(super) enum Came {
    /// The stream gave these items.
    Items(Vec<Item>),
    /// It was silent for longer than undici waits.
    Silence,
}

impl Model {
    pub fn new(faults: &[Fault], port: Option<u16>) -> Model {
        Model { script: ModelScript::new(faults), port, open: None }
    }

    /// Asks the model.
    pub fn ask(&mut self, os: &mut dyn Os, engine: &mut Engine) {
        self.close(os);
        let source = match self.port {
            None => Source::Script(self.script.begin(engine.chunks(), os.now())),
            Some(port) => Source::server(os, port, Api::Gemini, || request(port, engine)),
        };
        self.open = Some((source, Silence::new(Some(SILENCE_MAX), os.now())));
    }

    /// Gives the stream up.
    pub fn close(&mut self, os: &mut dyn Os) {
        if let Some((source, _)) = self.open.take() {
            source.close(os);
        }
    }

    /// What has come by now.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<Came> {
        let now = os.now();
        let (source, silence) = self.open.as_mut()?;
        let items = source.poll(os);
        let compacts =
            items.iter().filter_map(|item| if let Item::Compacting(span) = item { Some(*span) } else { None });
        if !items.is_empty() {
            // The agent itself compacts: the stream is not waited for meanwhile.
            silence.heard(now + compacts.max().unwrap_or(Span::ZERO));
        }
        if items.is_empty() && silence.is_over(now) {
            self.close(os);
            return Some(Came::Silence);
        }
        if items.iter().any(is_last) {
            self.close(os);
        }
        (!items.is_empty()).then_some(Came::Items(items))
    }

    /// Adds what the stream waits for.
    pub fn wait(&self, wait: &mut Wait) {
        let Some((source, silence)) = &self.open else { return };
        wait.until = earliest(wait.until, silence.deadline());
        source.wait(wait);
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            script,
            port: _, // not compared: it never changes
            open,
        } = self;
        script.canon(canon);
        let Some((source, silence)) = open else {
            canon.num(0);
            return;
        };
        silence.canon(canon.num(1));
        source.canon(canon);
    }
}

fn request(port: u16, engine: &Engine) -> Vec<u8> {
    let (request, path) = engine.model_request();
    let body = request_body(Api::Gemini, &request);
    let host = format!("127.0.0.1:{port}");
    let headers = [("content-type", "application/json"), (RESPONSE_HEADER, path.as_str())];
    let target = Api::Gemini.target(&request.model, true);
    http::request("POST", &target, &host, &headers, body.as_bytes())
}
