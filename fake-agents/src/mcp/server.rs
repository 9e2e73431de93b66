//! The server: connections over HTTP, or lines over stdin and stdout.
//!
//! Invariants: a request is answered once, in the order in which they came on their connection; what a fault keeps back is
//! never sent; a server over stdio ends when its stdin does; only a server over HTTP that runs alone says what it was asked,
//! a line of JSON each.

use super::LISTENING;
use crate::outgoing::Outgoing;
use rehang_os::os::{Fd, Listen, Next, Os, Program, Read, STDIN, STDOUT, Wait};
use rehang_scenario::{
    Answers, Canon, Canonical, Span, ToolRequest, ToolServer, ToolServerDoes, ToolServerFault, Transport, VTime,
};
use rehang_wire::claude::Lines;
use rehang_wire::http::{LAST_CHUNK, Request, RequestReader, chunk, response, streaming_head};
use rehang_wire::mcp::{self, Message};
use rehang_wire::sse;
use serde_json::json;
use std::net::Ipv4Addr;

/// The session of every client: a server that has one client needs no more.
const SESSION_ID: &str = "session-1";
/// The exit code of a server whose fault is that it ends.
const EXIT_DIED: u8 = 1;
/// The comment that keeps a stream alive.
const ALIVE: &str = "keep-alive";
/// The id of the event that carries a response.
const EVENT: &str = "message";

/// A tool server.
pub(super) struct Served {
    server: ToolServer,
    port: u16,
    listener: Option<Fd>,
    connections: Vec<Connection>,
    /// What it prints, or, over stdio, says.
    out: Outgoing,
    /// What came over stdin.
    lines: Lines,
    /// An answer over stdio that is due then.
    later: Option<(VTime, String)>,
    begun: bool,
    /// Whether it says what it was asked.
    logs: bool,
    over: Option<u8>,
}

/// A connection of a client.
struct Connection {
    fd: Fd,
    reader: RequestReader,
    out: Outgoing,
    state: State,
    gone: bool,
}

/// What a connection is about to do.
enum State {
    /// It takes the next request.
    Free,
    /// It answers no more.
    Silent,
    /// It sends a comment then, and again after each pause.
    Alive(VTime, Span),
    /// It sends this response then.
    Later(VTime, String),
}

/// What becomes of a message.
enum Answer {
    /// Nothing is to be said.
    None,
    /// It is answered.
    Now(String),
    /// It fails, with the response that it would have had.
    Fails(ToolServerDoes, String),
}

impl Served {
    pub(super) fn new(server: ToolServer, port: u16) -> Served {
        Served {
            server,
            port,
            listener: None,
            connections: Vec::new(),
            out: Outgoing::default(),
            lines: Lines::default(),
            later: None,
            begun: false,
            logs: false,
            over: None,
        }
    }

    /// What a message is answered with.
    fn answer(&self, message: &Message) -> Answer {
        let Message::Request { id, method, params } = message else { return Answer::None };
        let (request, result) = match method.as_str() {
            "initialize" => {
                let revision = params["protocolVersion"].as_str().unwrap_or(mcp::PROTOCOL);
                let result = json!({
                    "protocolVersion": revision,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": self.server.name, "version": "1"},
                });
                (ToolRequest::Initialize, result)
            }
            "tools/list" => {
                let tool = json!({"name": self.server.tool, "inputSchema": {"type": "object", "properties": {}}});
                (ToolRequest::List, json!({"tools": [tool]}))
            }
            "tools/call" => {
                let content = json!([{"type": "text", "text": self.server.output}]);
                (ToolRequest::Call, json!({"content": content}))
            }
            "ping" => return Answer::Now(mcp::response(id, &json!({}))),
            _ => return Answer::Now(mcp::error(id, mcp::NO_METHOD, "Method not found")),
        };
        let text = mcp::response(id, &result);
        match &self.server.fault {
            Some(ToolServerFault { at, does }) if *at == request => Answer::Fails(*does, text),
            _ => Answer::Now(text),
        }
    }

    fn begin(&mut self, os: &mut dyn Os) {
        self.begun = true;
        if self.server.over == Transport::Stdio {
            return;
        }
        match os.listen_at(Listen { address: Ipv4Addr::LOCALHOST, port: self.port }) {
            Ok((fd, port)) => {
                self.listener = Some(fd);
                self.logs = os.is_alone();
                self.out.push(&format!("{LISTENING}127.0.0.1:{port}{}\n", mcp::PATH));
            }
            Err(_) => self.over = Some(EXIT_DIED),
        }
    }

    // --- over stdin and stdout ---

    fn hear_lines(&mut self, os: &mut dyn Os) {
        if let Some((_, text)) = self.later.take_if(|(at, _)| *at <= os.now()) {
            self.out.push(&text);
        }
        loop {
            match os.read(STDIN, crate::piped::READ_BYTES) {
                Read::Data(bytes) => self.lines.push(&bytes),
                Read::Later => break,
                Read::Eof | Read::Failed(_) => {
                    self.over = Some(0);
                    return;
                }
            }
        }
        while let Some(line) = self.lines.next_line() {
            let Some(message) = mcp::read(&line) else { continue };
            match self.answer(&message) {
                Answer::None => {}
                Answer::Now(text) => self.out.push(&format!("{text}\n")),
                Answer::Fails(ToolServerDoes::Dies, _) => self.over = Some(EXIT_DIED),
                Answer::Fails(ToolServerDoes::Pause(span), text) => {
                    self.later = Some((os.now() + span, format!("{text}\n")));
                }
                Answer::Fails(..) => {}
            }
        }
    }

    // --- over HTTP ---

    fn hear_connections(&mut self, os: &mut dyn Os) {
        while let Some(fd) = self.listener.and_then(|listener| os.accept(listener)) {
            let (reader, out) = (RequestReader::new(), Outgoing::default());
            self.connections.push(Connection { fd, reader, out, state: State::Free, gone: false });
        }
        for at in 0..self.connections.len() {
            self.connections[at].read(os);
            self.connections[at].clock(os.now(), self.server.answers);
            while matches!(self.connections[at].state, State::Free) && self.over.is_none() {
                match self.connections[at].reader.next_message() {
                    Ok(Some(request)) => self.take(os.now(), at, &request),
                    Ok(None) => break,
                    Err(_) => {
                        self.connections[at].gone = true;
                        break;
                    }
                }
            }
        }
        for connection in &mut self.connections {
            connection.out.flush(os, connection.fd);
            if connection.gone || connection.out.broken {
                connection.gone = true;
                os.close(connection.fd);
                if self.logs && !matches!(connection.state, State::Free) {
                    self.out.push("{\"gone\":\"a client that was not answered\"}\n");
                }
            }
        }
        self.connections.retain(|connection| !connection.gone);
    }

    /// Says what it was asked: the parts that a client decides.
    fn log(&mut self, request: &Request, message: Option<&Message>) {
        let header = |name: &str| request.head.headers.get(name);
        let asks = match message {
            Some(Message::Request { method, .. } | Message::Notification { method }) => Some(method),
            Some(Message::Response { .. }) | None => None,
        };
        let client = match message {
            Some(Message::Request { params, .. }) => params.get("clientInfo").map(|client| client["name"].clone()),
            _ => None,
        };
        let line = json!({
            "method": request.head.method, "asks": asks, "client": client, "accept": header("accept"),
            "session": header(mcp::SESSION), "revision": header(mcp::REVISION),
        });
        self.out.push(&format!("{line}\n"));
    }

    fn take(&mut self, now: VTime, at: usize, request: &Request) {
        let whole = |status, headers: &[(&str, &str)], body: &str| response(status, headers, body.as_bytes());
        let head = &request.head;
        let is_endpoint = head.target.split('?').next() == Some(mcp::PATH);
        let message = mcp::read(&rehang_wire::text(&request.body));
        if self.logs {
            self.log(request, message.as_ref());
        }
        let bytes = match (head.method.as_str(), message) {
            _ if !is_endpoint => whole(404, &[], ""),
            // a session's end
            ("DELETE", _) => whole(200, &[], ""),
            ("POST", None) => whole(400, &[], ""),
            ("POST", Some(message)) => {
                let opens = matches!(&message, Message::Request { method, .. } if method == "initialize");
                let session: &[(&str, &str)] = if opens { &[(mcp::SESSION, SESSION_ID)] } else { &[] };
                match self.answer(&message) {
                    Answer::None => whole(202, &[], ""),
                    Answer::Now(text) => self.answers(session, &text),
                    Answer::Fails(does, text) => return self.fail(now, at, does, session, text),
                }
            }
            // the server has nothing to say by itself: no stream for that
            _ => whole(405, &[("allow", "POST, DELETE")], ""),
        };
        self.connections[at].out.push_bytes(&bytes);
    }

    fn answers(&self, session: &[(&str, &str)], text: &str) -> Vec<u8> {
        match self.server.answers {
            Answers::Json => {
                let mut headers = vec![("content-type", "application/json")];
                headers.extend(session);
                response(200, &headers, text.as_bytes())
            }
            Answers::Stream => {
                let mut bytes = stream_begins(session);
                bytes.extend(rest_of_stream(text));
                bytes
            }
        }
    }

    fn fail(&mut self, now: VTime, at: usize, does: ToolServerDoes, session: &[(&str, &str)], text: String) {
        let streams = self.server.answers == Answers::Stream;
        let connection = &mut self.connections[at];
        if streams && does != ToolServerDoes::Mute {
            connection.out.push_bytes(&stream_begins(session));
        }
        connection.state = match does {
            ToolServerDoes::Mute | ToolServerDoes::Stall => State::Silent,
            ToolServerDoes::KeepAlive(pause) if streams => State::Alive(now + pause, pause),
            ToolServerDoes::KeepAlive(_) => State::Silent,
            ToolServerDoes::Cut => {
                if streams {
                    connection.out.push_bytes(LAST_CHUNK);
                    State::Free
                } else {
                    State::Silent
                }
            }
            ToolServerDoes::Dies => {
                self.over = Some(EXIT_DIED);
                State::Silent
            }
            ToolServerDoes::Pause(span) => State::Later(now + span, text),
        };
    }
}

fn stream_begins(session: &[(&str, &str)]) -> Vec<u8> {
    let mut headers = vec![("content-type", "text/event-stream"), ("cache-control", "no-cache")];
    headers.extend(session);
    streaming_head(200, &headers)
}

fn rest_of_stream(text: &str) -> Vec<u8> {
    let mut bytes = chunk(&sse::bytes(Some(EVENT), None, text));
    bytes.extend(LAST_CHUNK);
    bytes
}

impl Connection {
    fn read(&mut self, os: &mut dyn Os) {
        loop {
            match os.read(self.fd, crate::piped::READ_BYTES) {
                Read::Data(bytes) => self.reader.feed(&bytes),
                Read::Later => return,
                Read::Eof | Read::Failed(_) => {
                    self.gone = true;
                    return;
                }
            }
        }
    }

    /// Sends what is due.
    fn clock(&mut self, now: VTime, answers: Answers) {
        match &self.state {
            State::Alive(at, pause) if *at <= now => {
                let (next, pause) = (now + *pause, *pause);
                self.out.push_bytes(&chunk(&sse::comment(ALIVE)));
                self.state = State::Alive(next, pause);
            }
            State::Later(at, text) if *at <= now => {
                let bytes = match answers {
                    Answers::Stream => rest_of_stream(text),
                    Answers::Json => response(200, &[("content-type", "application/json")], text.as_bytes()),
                };
                self.out.push_bytes(&bytes);
                self.state = State::Free;
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        match &self.state {
            State::Alive(at, _) | State::Later(at, _) => Some(*at),
            State::Free | State::Silent => None,
        }
    }
}

impl Program for Served {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if !self.begun {
            self.begin(os);
        }
        match self.server.over {
            Transport::Stdio => self.hear_lines(os),
            Transport::Http => self.hear_connections(os),
        }
        let is_out = self.out.flush(os, STDOUT);
        if let Some(code) = self.over {
            return Next::Exit(code);
        }
        let mut wait = Wait { on: "client", ..Wait::default() };
        match self.listener {
            Some(listener) => wait.read.push(listener),
            None => wait.read.push(STDIN),
        }
        if !is_out {
            wait.write.push(STDOUT);
        }
        for connection in &self.connections {
            wait.read.push(connection.fd);
            if !connection.out.is_empty() {
                wait.write.push(connection.fd);
            }
        }
        let later = self.later.as_ref().map(|(at, _)| *at);
        wait.until = self.connections.iter().filter_map(Connection::deadline).chain(later).min();
        Next::Wait(wait)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            server: _, // not compared: it never changes
            port: _,   // not compared: it never changes
            listener,
            connections,
            out,
            lines,
            later,
            begun,
            logs: _, // not compared: it never changes on a stage
            over,
        } = self;
        canon.flag(listener.is_some()).bytes(lines.held()).flag(*begun).num(over.map_or(0, |code| 1 + u64::from(code)));
        canon.deadline(later.as_ref().map(|(at, _)| *at)).text(later.as_ref().map_or("", |(_, text)| text));
        out.canon(canon);
        canon.list(connections, |canon, connection| {
            let Connection {
                fd: _, // not compared: a name of the connection, whose state the world writes
                reader,
                out,
                state,
                gone,
            } = connection;
            reader.canon(canon);
            out.canon(canon);
            canon.flag(*gone);
            match state {
                State::Free => canon.num(0),
                State::Silent => canon.num(1),
                State::Alive(at, pause) => canon.num(2).deadline(Some(*at)).num(pause.as_ms()),
                State::Later(at, text) => canon.num(3).deadline(Some(*at)).text(text),
            };
        });
    }
}
