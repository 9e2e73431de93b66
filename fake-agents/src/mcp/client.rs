//! A client of one tool server: the handshake in the order of the releases, and calls of its tool.
//!
//! The order is recorded from Claude Code 2.0.77 and 2.1.329 and opencode 1.2.15 and 1.18.33, over HTTP: `initialize`,
//! `notifications/initialized`, a `GET` for what the server says by itself, `tools/list`; then each `tools/call`. A call whose
//! stream ends without the response stays open (recorded for the same releases). The releases send the `GET` and the list at
//! the same time, this client one after the other. Invariant: one request at a time is under way; what is answered is
//! answered once.

use super::argv;
use super::connection::{Connection, Heard, answer};
use crate::outgoing::Outgoing;
use rehang_os::os::{Child, Errno, Fd, Group, Os, Read, Spawn, Stdio, Wait};
use rehang_scenario::{Canon, ToolServer, Transport, plan::Tools};
use rehang_wire::claude::Lines;
use rehang_wire::http::request;
use rehang_wire::mcp;
use serde_json::{Value, json};

/// The handshake, in order.
const HANDSHAKE: [Asks; 4] = [Asks::Initialize, Asks::Initialized, Asks::Stream, Asks::List];

/// A client.
#[derive(Debug)]
pub(crate) struct Client {
    server: ToolServer,
    port: u16,
    /// The client's own name in the handshake.
    name: &'static str,
    link: Link,
    session: Option<String>,
    /// The id of the next request.
    next: u64,
    state: State,
    out: Outgoing,
}

/// The way to the server.
#[derive(Debug)]
enum Link {
    /// There is none.
    None,
    /// A connection, with what has come over it.
    Http(Box<Connection>),
    /// A server that was started: its stdin, its stdout, and the lines that have come.
    Pipes { child: Child, stdin: Fd, stdout: Fd, lines: Lines },
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Hash)]
enum State {
    /// This many requests of the handshake are answered, and the next is under way.
    Shakes(usize),
    /// Nothing is under way.
    Ready,
    /// A call is under way: its id, as the agent has it.
    Calls(String),
    /// A call whose answer cannot come any more, and which is not given up.
    Lost(String),
    /// The server cannot be used.
    Failed,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Initialize,
    Initialized,
    Stream,
    List,
    Call,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Came {
    /// The handshake is over, and its tool can be called.
    Ready,
    /// The server cannot be used.
    Failed,
    /// The result of a call, or why it failed.
    Result(String, Result<String, String>),
    /// The connection broke off in the middle of this call, whose result cannot come any more.
    Dropped(String),
}

impl Client {
    /// A client that begins its handshake at once.
    pub(crate) fn begin(os: &mut dyn Os, tools: &Tools, name: &'static str) -> Client {
        let mut client = Client {
            server: tools.server.clone(),
            port: tools.port.unwrap_or_default(),
            name,
            link: Link::None,
            session: None,
            next: 0,
            state: State::Shakes(0),
            out: Outgoing::default(),
        };
        client.ask(os, HANDSHAKE[0]);
        client
    }

    /// Whether the handshake is under way.
    pub(crate) fn shakes(&self) -> bool {
        matches!(self.state, State::Shakes(_))
    }

    /// Whether the server has answered `initialize`.
    pub(crate) fn is_initialized(&self) -> bool {
        !matches!(self.state, State::Shakes(0) | State::Failed)
    }

    /// Calls the tool; `false` if the server cannot be asked now.
    pub(crate) fn call(&mut self, os: &mut dyn Os, call: &str) -> bool {
        if self.state != State::Ready {
            return false;
        }
        self.state = State::Calls(call.to_owned());
        self.ask(os, Asks::Call);
        true
    }

    /// Gives a call up, and the connection with it.
    pub(crate) fn give_up(&mut self, os: &mut dyn Os, call: &str) {
        if matches!(&self.state, State::Calls(open) | State::Lost(open) if open == call) {
            self.hang_up(os);
            self.state = State::Ready;
        }
    }

    /// Gives the handshake up: the agent goes on without the server.
    pub(crate) fn go_on_without(&mut self, os: &mut dyn Os) {
        self.hang_up(os);
        self.state = State::Failed;
    }

    /// Closes the connection; a server that was started keeps its pipes.
    fn hang_up(&mut self, os: &mut dyn Os) {
        if let Link::Http(connection) = &self.link {
            os.close(connection.fd);
            self.link = Link::None;
        }
    }

    /// What has come by now.
    pub(crate) fn poll(&mut self, os: &mut dyn Os) -> Option<Came> {
        loop {
            self.send(os);
            let step = match &self.state {
                State::Ready | State::Lost(_) | State::Failed => return None,
                State::Shakes(step) => Some(*step),
                State::Calls(_) => None,
            };
            let heard = self.hear(os);
            match (step, heard) {
                (_, Heard::Nothing) => return None,
                (Some(step), Heard::Answer(Ok(_)) | Heard::Taken) => match HANDSHAKE.get(step + 1) {
                    Some(next) => {
                        self.state = State::Shakes(step + 1);
                        self.ask(os, *next);
                    }
                    None => {
                        self.state = State::Ready;
                        return Some(Came::Ready);
                    }
                },
                (Some(_), Heard::Answer(Err(_)) | Heard::Ended | Heard::Gone) => {
                    self.state = State::Failed;
                    return Some(Came::Failed);
                }
                (None, Heard::Answer(answer)) => {
                    let State::Calls(call) = std::mem::replace(&mut self.state, State::Ready) else { return None };
                    let result = answer.map(|result| mcp::text_of(&result));
                    let result = result.map_err(|error| error["message"].as_str().unwrap_or_default().to_owned());
                    return Some(Came::Result(call, result));
                }
                (None, heard) => {
                    let State::Calls(call) = std::mem::replace(&mut self.state, State::Ready) else { return None };
                    // a connection that nothing goes over is closed within seconds (undici: 4 s); here at once
                    self.hang_up(os);
                    self.state = State::Lost(call.clone());
                    if matches!(heard, Heard::Gone) {
                        return Some(Came::Dropped(call));
                    }
                }
            }
        }
    }

    /// Adds what it waits for.
    pub(crate) fn wait(&self, wait: &mut Wait) {
        if matches!(self.state, State::Ready | State::Lost(_) | State::Failed) {
            return;
        }
        let (reads, writes) = match &self.link {
            Link::None => return,
            Link::Http(connection) => (connection.fd, connection.fd),
            Link::Pipes { stdin, stdout, .. } => (*stdout, *stdin),
        };
        wait.read.push(reads);
        if !self.out.is_empty() {
            wait.write.push(writes);
        }
    }

    fn ask(&mut self, os: &mut dyn Os, asks: Asks) {
        let text = match asks {
            Asks::Stream => None,
            Asks::Initialized => Some(mcp::initialized()),
            Asks::Initialize => {
                let params = json!({
                    "protocolVersion": mcp::PROTOCOL,
                    "capabilities": {},
                    "clientInfo": {"name": self.name, "version": "1"},
                });
                Some(self.request("initialize", &params))
            }
            Asks::List => Some(self.request("tools/list", &json!({}))),
            Asks::Call => {
                let params = json!({"name": self.server.tool, "arguments": {}});
                Some(self.request("tools/call", &params))
            }
        };
        match self.server.over {
            Transport::Stdio => {
                if matches!(self.link, Link::None) {
                    self.link = start(os, &self.server).unwrap_or(Link::None);
                }
                // there is no second stream over pipes
                if let Some(text) = text {
                    self.out.push(&format!("{text}\n"));
                }
            }
            Transport::Http => {
                if matches!(self.link, Link::None) {
                    self.link =
                        os.connect(self.port).map_or(Link::None, |fd| Link::Http(Box::new(Connection::new(fd))));
                }
                let bytes = self.over_http(text.as_deref());
                self.out.push_bytes(&bytes);
            }
        }
        self.send(os);
    }

    fn request(&mut self, method: &str, params: &Value) -> String {
        self.next += 1;
        mcp::request(self.next - 1, method, params)
    }

    fn over_http(&self, text: Option<&str>) -> Vec<u8> {
        let host = format!("127.0.0.1:{}", self.port);
        let mut headers = Vec::new();
        if let Some(session) = &self.session {
            headers.push((mcp::SESSION, session.as_str()));
            headers.push((mcp::REVISION, mcp::PROTOCOL));
        }
        match text {
            None => {
                headers.push(("accept", "text/event-stream"));
                request("GET", mcp::PATH, &host, &headers, b"")
            }
            Some(text) => {
                headers.extend([("content-type", "application/json"), ("accept", mcp::ACCEPT)]);
                request("POST", mcp::PATH, &host, &headers, text.as_bytes())
            }
        }
    }

    fn send(&mut self, os: &mut dyn Os) {
        let fd = match &self.link {
            Link::None => return,
            Link::Http(connection) => connection.fd,
            Link::Pipes { stdin, .. } => *stdin,
        };
        self.out.flush(os, fd);
    }

    fn hear(&mut self, os: &mut dyn Os) -> Heard {
        let is_notification = self.state == State::Shakes(1);
        let is_stream = self.state == State::Shakes(2);
        let wanted = self.next.saturating_sub(1);
        match &mut self.link {
            Link::None => Heard::Gone,
            Link::Pipes { .. } if is_notification || is_stream => Heard::Taken,
            Link::Pipes { stdout, lines, .. } => loop {
                while let Some(line) = lines.next_line() {
                    if let Some(answer) = answer(&line, wanted) {
                        return Heard::Answer(answer);
                    }
                }
                match os.read(*stdout, crate::piped::READ_BYTES) {
                    Read::Data(bytes) => lines.push(&bytes),
                    Read::Later => return Heard::Nothing,
                    Read::Eof | Read::Failed(_) => return Heard::Gone,
                }
            },
            Link::Http(connection) => {
                let (heard, goes_on) = connection.hear(os, wanted, is_notification || is_stream);
                if let Some(session) = connection.session.take() {
                    self.session = Some(session);
                }
                if !goes_on {
                    self.hang_up(os);
                }
                heard
            }
        }
    }

    pub(crate) fn canon(&self, canon: &mut Canon) {
        let Self {
            server: _, // not compared: it never changes
            port: _,   // not compared: it never changes
            name: _,   // not compared: it never changes
            link,
            session,
            next,
            state,
            out,
        } = self;
        canon.text(session.as_deref().unwrap_or_default()).num(*next).value(state);
        out.canon(canon);
        match link {
            Link::None => drop(canon.num(0)),
            Link::Http(connection) => connection.canon(canon.num(1)),
            Link::Pipes {
                child,
                stdin: _,  // not compared: it never changes
                stdout: _, // not compared: it never changes
                lines,
            } => {
                canon.num(2).num(child.0.into()).bytes(lines.held());
            }
        }
    }
}

/// Starts a server that speaks over its stdin and stdout.
fn start(os: &mut dyn Os, server: &ToolServer) -> Result<Link, Errno> {
    let (reads, stdin) = os.pipe();
    let (stdout, writes) = os.pipe();
    let (argv, env) = (argv(server, 0), os.envs());
    let (stdin_of_it, stdout_of_it) = (Stdio::Fd(reads), Stdio::Fd(writes));
    let spawn =
        Spawn { argv, env, stdin: stdin_of_it, stdout: stdout_of_it, stderr: Stdio::Null, group: Group::Inherit };
    let child = os.spawn(spawn);
    [reads, writes].into_iter().for_each(|fd| os.close(fd));
    child.map(|child| Link::Pipes { child, stdin, stdout, lines: Lines::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the recording of a release says that its client asked, in order.
    fn recorded(release: &str) -> Vec<String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
        let path = format!("{folder}/{release}/scenario/mcp-http.jsonl");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let asked = lines.filter(|line| line["dir"] == "TOOLS").map(|line| line["msg"].clone());
        asked.map(|msg| msg["asks"].as_str().or(msg["method"].as_str()).unwrap().to_owned()).collect()
    }

    #[test]
    fn the_order_is_that_of_the_releases() {
        let own = HANDSHAKE.iter().chain([&Asks::Call]).map(|asks| match asks {
            Asks::Initialize => "initialize",
            Asks::Initialized => "notifications/initialized",
            Asks::Stream => "GET",
            Asks::List => "tools/list",
            Asks::Call => "tools/call",
        });
        let own: Vec<&str> = own.collect();
        assert_eq!(recorded("claude-2.0.77"), own);
        // what it asks first, and a server of an older revision does not know
        assert_eq!(recorded("claude-2.1.329"), [&["server/discover"], own.as_slice()].concat());
    }
}
