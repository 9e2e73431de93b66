//! The tool server of a client of the Claude Agent SDK: Claude Code speaks to it over the control protocol, by `mcp_message`.
//!
//! Invariants: a request to it ends once, by its reply, its limit, an interrupt or the end of stdin; one whose reply holds no
//! message is over for the control protocol, and its call has no end (recorded).

use super::engine::{Effect, Engine, Phase};
use super::release::Release;
use super::texts;
use super::texts::OF_SERVER;
use super::writer::Server;
use rehang_scenario::{Canon, VTime};
use serde_json::{Value, json};

/// A client's tool server.
#[derive(Debug, Clone)]
pub(super) struct OwnServer {
    name: String,
    /// The connections to it, in the order in which they began: a prompt waits for the last one.
    links: Vec<Link>,
    /// The tools that it has listed.
    tools: Vec<String>,
    calls: Vec<Called>,
    /// The id of the next call in the connection.
    next: u32,
}

/// A handshake.
#[derive(Debug, Clone)]
struct Link {
    /// Whether `initialize` was answered.
    initialized: bool,
    /// The id of the request without an answer. `None` once it is over.
    open: Option<String>,
    until: VTime,
}

/// A call of its tool.
#[derive(Debug, Clone)]
struct Called {
    call: String,
    /// Its request, until that has a reply.
    request: Option<String>,
    id: u32,
    /// When it next says that it still runs, and how often it has said so.
    beat: Option<VTime>,
    beats: u32,
}

impl OwnServer {
    fn new(name: &str) -> OwnServer {
        OwnServer { name: name.to_owned(), links: Vec::new(), tools: Vec::new(), calls: Vec::new(), next: FIRST_CALL }
    }

    /// Its name, for the list of servers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the names of its tools begin with.
    fn prefix(&self) -> String {
        format!("{OF_SERVER}{}__", self.name)
    }

    /// The names by which the model calls its tools.
    pub fn tools(&self) -> impl Iterator<Item = String> {
        self.tools.iter().map(|tool| format!("{}{tool}", self.prefix()))
    }

    /// Whether a tool of this name would be its own.
    pub fn has(&self, tool: &str) -> bool {
        tool.starts_with(&self.prefix())
    }

    fn message(&self, message: Value) -> Value {
        json!({"subtype": "mcp_message", "server_name": self.name, "message": message})
    }

    /// When a handshake is given up, or a call says that it still runs.
    pub fn deadline(&self) -> Option<VTime> {
        let links = self.links.iter().filter(|link| link.open.is_some()).map(|link| link.until);
        links.chain(self.calls.iter().filter_map(|call| call.beat)).min()
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let OwnServer {
            name: _, // not compared: it never changes
            links,
            tools,
            calls,
            next: _, // not compared: it numbers calls, which are known by their own ids
        } = self;
        canon.value(tools);
        canon.list(links, |canon, Link { initialized, open, until }| {
            canon.flag(*initialized).value(open).deadline(open.as_ref().map(|_| *until));
        });
        canon.list(calls, |canon, call| {
            let Called {
                call,
                request,
                id,
                beat,
                beats: _, // not compared: it only says for how long the call has run
            } = call;
            canon.value(&(call, request, id)).deadline(*beat);
        });
    }
}

/// The id of the first call in a connection: `initialize` and `tools/list` come before it.
const FIRST_CALL: u32 = 2;

impl Engine {
    /// The client says hello: its server is greeted, if it has one. 2.0.77 greets one that the client names itself at its
    /// first prompt.
    pub(super) fn greet_server(&mut self, now: VTime, request: &Value) {
        let on_command_line = self.config.args.own_server.as_deref();
        let named = request["sdkMcpServers"][0].as_str().filter(|_| on_command_line.is_none());
        self.own = on_command_line.or(named).map(OwnServer::new);
        if named.is_none() || !self.config.release.connects_again() {
            self.connect(now);
        }
    }

    /// Begins a connection.
    fn connect(&mut self, now: VTime) {
        if self.own.is_none() {
            return;
        }
        let release = self.config.release;
        let mut info = json!({"name": "claude-code"});
        if release == Release::V2_1_329 {
            info["title"] = json!("Claude Code");
            info["description"] = json!("Anthropic's agentic coding tool");
            info["websiteUrl"] = json!("https://claude.com/claude-code");
        }
        info["version"] = json!(release.version());
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let request = self.send_to_server(json!({"method": "initialize", "params": params, "jsonrpc": "2.0", "id": 0}));
        let link = Link { initialized: false, open: Some(request), until: now + release.own_server_limit() };
        self.own.iter_mut().for_each(|own| own.links.push(link.clone()));
    }

    /// Whether a prompt waits for the client's server.
    pub(super) fn awaits_server(&mut self, now: VTime) -> bool {
        let is_wanted = self.own.is_some() && self.server != Server::Connected && self.stdin_open;
        if is_wanted && self.config.release.connects_again() {
            self.connect(now);
        }
        let is_open = |own: &OwnServer| own.links.last().is_some_and(|link| link.open.is_some());
        is_wanted && self.own.as_ref().is_some_and(is_open)
    }

    /// Sends a message to the client's server; returns the id of the request.
    fn send_to_server(&mut self, message: Value) -> String {
        self.counted.requests += 1;
        let id = format!("req_{}", self.counted.requests);
        if let Some(own) = &self.own {
            let request = json!({"type": "control_request", "request_id": id, "request": own.message(message)});
            self.effects.push(Effect::Emit(request));
        }
        id
    }

    fn notify_server(&mut self, method: &str, params: Option<Value>) {
        let version_first = params.is_some() || self.config.release == Release::V2_1_329;
        let mut message = if version_first { json!({"jsonrpc": "2.0"}) } else { json!({}) };
        message["method"] = json!(method);
        if let Some(params) = params {
            message["params"] = params;
        }
        message["jsonrpc"] = json!("2.0");
        self.send_to_server(message);
    }

    /// A reply to one of the requests to the client's server; returns whether it is one.
    pub(super) fn server_replied(&mut self, now: VTime, request: &str, said: Result<&Value, &str>) -> bool {
        let release = self.config.release;
        let Some(own) = &mut self.own else { return false };
        let answer = said.map(|said| &said["mcp_response"]);
        let is_of = |link: &Link| link.open.as_deref() == Some(request);
        if let Some(at) = own.links.iter().position(is_of) {
            match answer {
                Ok(answer) if answer["result"].is_object() => self.link_goes_on(now, at, &answer["result"]),
                Ok(answer) if answer.is_null() => {}
                _ => self.link_is_over(now, at),
            }
            return true;
        }
        let Some(at) = own.calls.iter().position(|call| call.request.as_deref() == Some(request)) else { return false };
        let result = match answer {
            // no message has come
            Ok(answer) if answer.is_null() => {
                own.calls[at].request = None;
                return true;
            }
            Ok(answer) => match answer["error"].as_object() {
                Some(error) => {
                    Err(texts::mcp_error(release, &error["code"], error["message"].as_str().unwrap_or_default()))
                }
                None => Ok(answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()),
            },
            Err(why) => Err(why.to_owned()),
        };
        let call = own.calls.remove(at).call;
        self.tool_answered(now, &call, result);
        true
    }

    /// The server has answered a request of a handshake.
    fn link_goes_on(&mut self, now: VTime, at: usize, result: &Value) {
        let until = now + self.config.release.own_server_limit();
        let initialized = self.own.as_ref().is_some_and(|own| own.links[at].initialized);
        if !initialized {
            self.server = Server::WithoutList;
            self.notify_server("notifications/initialized", None);
            let request = self.send_to_server(json!({"method": "tools/list", "jsonrpc": "2.0", "id": 1}));
            let Some(own) = &mut self.own else { return };
            own.links[at] = Link { initialized: true, open: Some(request), until };
            return;
        }
        let Some(own) = &mut self.own else { return };
        let tools = result["tools"].as_array().into_iter().flatten();
        own.tools = tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
        self.server = Server::Connected;
        self.link_is_over(now, at);
    }

    /// A handshake is over: a prompt that waits for it goes on.
    fn link_is_over(&mut self, now: VTime, at: usize) {
        let Some(own) = &mut self.own else { return };
        own.links[at].open = None;
        let is_last = at + 1 == own.links.len();
        if is_last && self.convs[0].phase == Phase::Server {
            self.convs[0].phase = Phase::Idle;
            self.next_prompt(now);
        }
    }

    /// Calls a tool of the client's server; returns whether it is its own.
    pub(super) fn call_own(&mut self, now: VTime, id: &str, name: &str, input: &Value) -> bool {
        let Some(own) = self.own.as_mut().filter(|own| own.has(name)) else { return false };
        let (tool, nth) = (name.trim_start_matches(&own.prefix()).to_owned(), own.next);
        own.next += 1;
        let mut meta = json!({"claudecode/toolUseId": id});
        if self.config.release == Release::V2_1_329 {
            meta["progressToken"] = json!(nth);
        }
        let params = json!({"name": tool, "arguments": input, "_meta": meta});
        let request =
            self.send_to_server(json!({"method": "tools/call", "params": params, "jsonrpc": "2.0", "id": nth}));
        let beat = self.config.release.tool_beats().map(|every| now + every);
        let called = Called { call: id.to_owned(), request: Some(request), id: nth, beat, beats: 0 };
        self.own.iter_mut().for_each(|own| own.calls.push(called.clone()));
        true
    }

    /// Gives up the handshakes whose limit has come, and says which calls still run.
    pub(super) fn tick_server(&mut self, now: VTime) {
        let Some(own) = &mut self.own else { return };
        let due = |link: &Link| link.open.is_some() && link.until <= now;
        if let Some(at) = own.links.iter().position(due) {
            let (id, tries) = (u32::from(own.links[at].initialized), own.links.len());
            let says_nothing = self.config.release == Release::V2_1_329 && id == 0;
            if !says_nothing {
                self.cancel_at_server(id, texts::mcp_timed_out(self.config.release));
            }
            if says_nothing && tries == 1 {
                self.connect(now);
            }
            self.link_is_over(now, at);
        }
        let every = self.config.release.tool_beats();
        let Some(own) = &mut self.own else { return };
        let mut beats = Vec::new();
        for call in own.calls.iter_mut().filter(|call| call.beat.is_some_and(|at| at <= now)) {
            beats.push((call.call.clone(), call.beats));
            call.beats += 1;
            call.beat = every.map(|every| now + every);
        }
        for (call, nth) in beats {
            let seconds = every.map_or(0, |every| every.as_ms() / 1_000) * u64::from(nth + 1);
            self.tool_beats(&call, nth, seconds);
        }
    }

    fn cancel_at_server(&mut self, id: u32, reason: &str) {
        self.notify_server("notifications/cancelled", Some(json!({"requestId": id, "reason": reason})));
    }

    /// An interrupt gives up the calls of the client's tools; returns them.
    pub(super) fn end_own_calls(&mut self) -> Vec<String> {
        let calls = self.own.as_mut().map(|own| std::mem::take(&mut own.calls)).unwrap_or_default();
        for call in &calls {
            self.cancel_at_server(call.id, texts::aborted_call(self.config.release));
        }
        calls.into_iter().map(|call| call.call).collect()
    }

    /// The client has closed its end: its server answers nothing more.
    pub(super) fn server_gone(&mut self, now: VTime) {
        let Some(own) = &mut self.own else { return };
        let links: Vec<usize> = (0..own.links.len()).filter(|at| own.links[*at].open.is_some()).collect();
        let (lost, left) = std::mem::take(&mut own.calls).into_iter().partition(|call| call.request.is_some());
        own.calls = left;
        for at in links {
            self.link_is_over(now, at);
        }
        let lost: Vec<Called> = lost;
        for call in lost {
            self.tool_answered(now, &call.call, Err(texts::own_call_lost(self.config.release).to_owned()));
        }
    }
}
