//! The tool server that `fake-claude` is configured to use: its prompt waits until the handshake is over, or its limit; a call
//! waits for its result, or the release's limit.
//!
//! Invariant: the first prompt is given to the engine once, after the handshake; a call ends once.

use super::behaviours::Known::{Read, Recorded};
use super::behaviours::{ALL, Behaviour, V2, V21, b};
use super::release::Release;
use super::texts;
use crate::mcp::{self, Client};
use crate::model_source::earliest;
use rehang_os::os::{Os, Wait};
use rehang_scenario::{Canon, Span, Transport, VTime, plan::Tools};
use serde_json::Value;

/// What is known of tool servers; part of [`super::behaviours`].
pub(super) const BEHAVIOURS: &[Behaviour] = &[
    b(
        "a tool server over HTTP that answers by a stream or by JSON: its tool is offered, and its result told",
        &[V2, V21],
        Recorded,
        "scenario/mcp-http, scenario/mcp-http-json",
    ),
    b(
        "the order of the requests to it, and a GET that may be refused; 2.1.329's `server/discover` before it is left out",
        &[V2, V21],
        Recorded,
        "scenario/mcp-http",
    ),
    b(
        "no answer to initialize: it begins without the server after 30 s (2.1.329: 25 s over HTTP, 27 s over stdio)",
        &[V2, V21],
        Recorded,
        "scenario/mcp-http-init-mute",
    ),
    b(
        "no list of tools: it begins without them after 60 s (2.1.329: as long as for initialize, in all)",
        &[V2, V21],
        Recorded,
        "scenario/mcp-http-list-stall",
    ),
    b(
        "a call that is never answered, also when its stream ends or its server dies: waited for without limit",
        &[V2],
        Recorded,
        "scenario/mcp-http-call-stall, scenario/mcp-http-call-cut, scenario/mcp-http-call-dies",
    ),
    b(
        "such a call is given up after 300 s, or 120 s after its server died, and says every 30 s that it runs",
        &[V21],
        Recorded,
        "scenario/mcp-http-call-stall, scenario/mcp-http-call-cut, scenario/mcp-http-call-dies",
    ),
    b("comments on the stream of a call are no answer", &[V2, V21], Read, "UPSTREAM.md, mcp-http-keep-alive"),
    b(
        "all of this, of 2.0.77 over HTTP, also in 1.0.128, and calls without a limit over stdio",
        ALL,
        Read,
        "UPSTREAM.md, mcp-http-* and mcp-call-never-returns",
    ),
];

/// The name of the client in the handshake (recorded).
const NAME: &str = "claude-code";

/// The client, and what waits for it.
#[derive(Debug)]
pub(super) struct ToolClient {
    plan: Option<Tools>,
    release: Release,
    client: Option<Client>,
    /// When the handshake is given up, and whether its first half is over.
    until: Option<VTime>,
    initialized: bool,
    call: Option<Open>,
    /// The first prompt, until the handshake is over.
    pub prompt: Option<Vec<Value>>,
}

/// A call that is under way.
#[derive(Debug)]
struct Open {
    id: String,
    began: VTime,
    /// When it is given up, and what the model is then told.
    until: Option<VTime>,
    dropped: bool,
    /// How often it has said that it still runs.
    beats: u32,
}

/// What came of the server.
pub(super) enum Came {
    /// Its tool can be called.
    Ready,
    /// It cannot be used.
    Failed,
    /// The result of a call, or why it failed.
    Result(String, Result<String, String>),
    /// A call still runs: the call, how often it has said so before, for how many seconds it has run.
    Beat(String, u32, u64),
}

impl ToolClient {
    /// The client of this server, if there is one; it has not begun.
    pub fn new(plan: Option<Tools>, release: Release) -> ToolClient {
        ToolClient { plan, release, client: None, until: None, initialized: false, call: None, prompt: None }
    }

    /// Begins the handshake, if there is a server.
    pub fn begin(&mut self, os: &mut dyn Os) {
        self.client = self.plan.as_ref().map(|plan| Client::begin(os, plan, NAME));
        self.until = self.plan.as_ref().map(|plan| os.now() + self.release.server_limit(plan.server.over));
    }

    /// Whether the handshake is under way.
    pub fn shakes(&self) -> bool {
        self.client.as_ref().is_some_and(Client::shakes)
    }

    /// What has come of the server.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<Came> {
        let client = self.client.as_mut()?;
        let came = client.poll(os);
        if client.is_initialized() && !std::mem::replace(&mut self.initialized, true) {
            let limit = self.release.list_limit().map(|limit| os.now() + limit);
            self.until = limit.or(self.until);
        }
        match came {
            Some(mcp::Came::Ready) => return Some(Came::Ready),
            Some(mcp::Came::Failed) => return Some(Came::Failed),
            Some(mcp::Came::Result(id, result)) => {
                self.call = None;
                return Some(Came::Result(id, result));
            }
            Some(mcp::Came::Dropped(_)) => {
                let limit = self.release.dropped_limit().map(|limit| os.now() + limit);
                if let Some(call) = &mut self.call {
                    call.dropped = limit.is_some();
                    call.until = earliest(call.until, limit);
                }
            }
            None => {}
        }
        if client.shakes() && self.until.is_some_and(|until| until <= os.now()) {
            client.go_on_without(os);
        }
        let server = &self.plan.as_ref()?.server;
        let call = self.call.as_mut()?;
        // what is due at the same instant as the limit comes before it (recorded)
        if let Some(every) = self.release.tool_beats().filter(|every| call.next_beat(*every) <= os.now()) {
            call.beats += 1;
            return Some(Came::Beat(call.id.clone(), call.beats - 1, u64::from(call.beats) * every.as_ms() / 1_000));
        }
        if call.until.is_none_or(|until| until > os.now()) {
            return None;
        }
        let call = self.call.take()?;
        client.give_up(os, &call.id);
        let why = match (call.dropped, self.release.call_limit()) {
            (false, Some(limit)) => texts::server_silent(&server.name, &server.tool, limit),
            _ => texts::server_dropped(&server.name, &server.tool),
        };
        Some(Came::Result(call.id, Err(why)))
    }

    /// Whether the server has answered `initialize`.
    pub fn is_initialized(&self) -> bool {
        self.initialized
    }

    /// The first prompt, once the handshake is over.
    pub fn due_prompt(&mut self) -> Option<Vec<Value>> {
        if self.shakes() { None } else { self.prompt.take() }
    }

    /// Calls the tool; `false` if the server cannot be asked.
    pub fn call(&mut self, os: &mut dyn Os, id: &str) -> bool {
        if !self.client.as_mut().is_some_and(|client| client.call(os, id)) {
            return false;
        }
        let is_http = self.plan.as_ref().is_some_and(|plan| plan.server.over == Transport::Http);
        let until = self.release.call_limit().filter(|_| is_http).map(|limit| os.now() + limit);
        self.call = Some(Open { id: id.to_owned(), began: os.now(), until, dropped: false, beats: 0 });
        true
    }

    /// Gives a call up.
    pub fn give_up(&mut self, os: &mut dyn Os, id: &str) {
        if self.call.take_if(|call| call.id == id).is_some()
            && let Some(client) = &mut self.client
        {
            client.give_up(os, id);
        }
    }

    /// Adds what it waits for.
    pub fn wait(&self, wait: &mut Wait) {
        let Some(client) = &self.client else { return };
        client.wait(wait);
        if client.shakes() {
            wait.until = earliest(wait.until, self.until);
        }
        if self.prompt.is_some() {
            wait.on = "peer";
        }
        if let Some(call) = &self.call {
            let beat = self.release.tool_beats().map(|every| call.next_beat(every));
            wait.until = earliest(earliest(wait.until, call.until), beat);
        }
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            plan: _, // not compared: it never changes
            release,
            client,
            until,
            initialized,
            call,
            prompt,
        } = self;
        canon.flag(*initialized).flag(client.is_some()).flag(prompt.is_some()).flag(call.is_some());
        if let Some(client) = client {
            client.canon(canon);
        }
        let shakes = client.as_ref().is_some_and(Client::shakes);
        canon.deadline(until.filter(|_| shakes));
        if let Some(Open { id, began, until, dropped, beats }) = call {
            let beat = release.tool_beats().map(|every| *began + nth_beat(every, *beats));
            canon.text(id).deadline(*until).flag(*dropped).num((*beats).into()).deadline(beat);
        }
    }
}

impl Open {
    fn next_beat(&self, every: Span) -> VTime {
        self.began + nth_beat(every, self.beats)
    }
}

/// How long after its begin a call says that it still runs, which it has said so often before.
fn nth_beat(every: Span, before: u32) -> Span {
    Span(every.as_ms() * (u64::from(before) + 1))
}
