//! The HTTP side: connections, requests to the engine, answers, event streams.
//!
//! Invariants: one request at a time a connection, answered in order; when a client goes away, the turn goes on; an
//! event reaches the streams that were open when it was published, and is sent again only to the client of a
//! [`Replay`].

use super::engine::{Answer, Event};
use super::host::{Host, Outgoing};
use super::json::quoted;
use super::replay::{Replay, Welcome};
use rehang_actors::faults::{EventFaults, Passed};
use rehang_os::os::{Fd, Os, Read, Wait};
use rehang_scenario::{Canon, Canonical, Fault, Span, VTime};
use rehang_wire::{
    http::{CONTINUE, RequestReader, percent_decode, response, streaming_head},
    opencode::{Route, kind},
    sse,
};
use std::borrow::Cow;

/// The header that names a client's folder (`x-opencode-directory` of `@opencode-ai/sdk`).
const FOLDER: &str = "x-opencode-directory";
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const HTML: &[(&str, &str)] = &[("content-type", "text/html")];
const EVENTS: &[(&str, &str)] =
    &[("content-type", "text/event-stream"), ("cache-control", "no-cache"), ("x-accel-buffering", "no")];
/// The most connections at a time; another one is closed.
const CONNECTIONS_MAX: usize = 256;

/// The connections of the server.
pub struct Server {
    listener: Fd,
    connections: Vec<Connection>,
    faults: EventFaults<Event>,
    replay: Option<Replay>,
    tickets: u32,
    /// Whether somebody asked for the list of open asks: they could answer.
    listed: bool,
    /// Whether a prompt came over `prompt_async`: its sender only listens for the end of the turn.
    detached: bool,
    /// Whether an event stream was closed: its client may come back and say what it has seen last.
    left: bool,
    /// The folder that events belong to, as `/global/event` reports it.
    directory: String,
}

struct Connection {
    fd: Fd,
    reader: RequestReader,
    out: Outgoing,
    /// The last event as it was written; the memory is used again.
    said: String,
    /// The ticket of the request that is not answered yet.
    ticket: Option<u32>,
    stream: Option<EventStream>,
    /// When it is closed without an answer, if so.
    cut_at: Option<VTime>,
    /// Whether it is closed when everything is written.
    last: bool,
    gone: bool,
}

struct EventStream {
    /// Whether it is `/global/event`: events are wrapped in a payload.
    global: bool,
    muted: bool,
    beat_at: Option<VTime>,
}

impl Server {
    /// A server on this listener; with a store of events, if its release has one.
    pub fn new(listener: Fd, faults: &[Fault], replay: Option<Replay>, directory: &str) -> Server {
        Server {
            listener,
            connections: Vec::new(),
            faults: EventFaults::new(faults),
            replay,
            tickets: 0,
            listed: false,
            detached: false,
            left: false,
            directory: directory.to_owned(),
        }
    }

    /// Accepts connections and takes one request; returns whether there was anything.
    pub fn poll(&mut self, os: &mut dyn Os, host: &mut Host) -> bool {
        while let Some(fd) = os.accept(self.listener) {
            if self.connections.len() >= CONNECTIONS_MAX {
                os.close(fd);
                continue;
            }
            self.connections.push(Connection {
                fd,
                reader: RequestReader::new(),
                out: Outgoing::default(),
                said: String::new(),
                ticket: None,
                stream: None,
                cut_at: None,
                last: false,
                gone: false,
            });
        }
        let mut worked = false;
        for at in 0..self.connections.len() {
            if self.connections[at].gone {
                continue;
            }
            if self.connections[at].read(os) {
                host.came_in();
            }
            if self.take_request(os, host, at) {
                worked = true;
                break;
            }
        }
        self.flush(os);
        let streams = self.connections.iter().filter(|connection| connection.stream.is_some()).count();
        host.engine.wants_json = streams > 0 || self.replay.is_some();
        host.engine.live = self.listed || streams > usize::from(self.detached);
        worked
    }

    /// Sends the heartbeats and late events, and makes the cuts, that are due.
    pub fn clock(&mut self, os: &mut dyn Os, host: &mut Host) {
        let due_by = host.due_by(os.now());
        for event in self.faults.due(due_by) {
            self.send(&event);
        }
        for connection in &mut self.connections {
            if connection.cut_at.is_some_and(|at| at <= due_by) {
                connection.gone = true;
            }
            let Some(stream) = &mut connection.stream else { continue };
            let Some(beat_at) = stream.beat_at.filter(|at| *at <= due_by) else { continue };
            let period = host.engine.release.heartbeat_ms.unwrap_or(1).max(1);
            let missed = due_by.since(beat_at).as_ms() / period;
            stream.beat_at = Some(beat_at + Span(period * (missed + 1)));
            if !stream.muted {
                let beat = host.engine.server_event(kind::HEARTBEAT);
                connection.say(None, &beat, &self.directory);
            }
        }
        self.flush(os);
    }

    /// Sends an event of the bus to the streams, with the next [`Server::flush`].
    pub fn event(&mut self, os: &mut dyn Os, mut event: Event) {
        event.id = self.replay.as_mut().and_then(|replay| replay.keep(os.now(), &event));
        if !self.faults.any() {
            return self.send(&event);
        }
        for passed in self.faults.pass(os.now(), event) {
            match passed {
                Passed::Event(event) => self.send(&event),
                Passed::Cut => {
                    // what was sent before arrives, and what comes after does not
                    self.flush(os);
                    for connection in self.connections.iter_mut().filter(|c| c.stream.is_some()) {
                        connection.out.clear();
                        connection.gone = true;
                    }
                    self.flush(os);
                }
                Passed::Mute => {
                    self.connections.iter_mut().filter_map(|c| c.stream.as_mut()).for_each(|s| s.muted = true);
                }
            }
        }
    }

    /// Sends an answer to the client that asked, if it is still connected, with the next [`Server::flush`].
    pub fn answer(&mut self, answer: &Answer) {
        if let Some(connection) = self.connections.iter_mut().find(|c| c.ticket == Some(answer.ticket)) {
            match (answer.cut_at, answer.status) {
                (Some(at), _) => connection.cut_at = Some(at),
                (None, 0) => connection.gone = true,
                (None, status) => {
                    connection.ticket = None;
                    connection.cut_at = None;
                    let headers = if answer.body.starts_with('<') { HTML } else { JSON };
                    connection.out.push_vec(response(status, headers, answer.body.as_bytes()));
                }
            }
        }
    }

    /// Writes what the clients take, and closes what is over.
    pub fn flush(&mut self, os: &mut dyn Os) {
        for connection in &mut self.connections {
            let written = connection.out.flush(os, connection.fd);
            let over = connection.last && connection.ticket.is_none() && connection.out.is_empty();
            connection.gone |= written.is_err() || over;
            if connection.gone {
                self.left |= connection.stream.is_some();
                os.close(connection.fd);
            }
        }
        self.connections.retain(|connection| !connection.gone);
    }

    /// Adds what is waited for.
    pub fn wait(&self, wait: &mut Wait) {
        wait.read.push(self.listener);
        for connection in &self.connections {
            wait.read.push(connection.fd);
            if !connection.out.is_empty() {
                wait.write.push(connection.fd);
            }
            let beat = connection.stream.as_ref().and_then(|stream| stream.beat_at);
            wait.until = [wait.until, connection.cut_at, beat].into_iter().flatten().min();
        }
        wait.until = wait.until.into_iter().chain(self.faults.deadline()).min();
    }

    /// Writes the state; a request is written as its place among those that the engine still answers.
    pub fn canon(&self, place: impl Fn(u32) -> u64, canon: &mut Canon) {
        let Self {
            listener: _, // not compared: it never changes
            connections,
            faults,
            replay,
            tickets: _, // not compared: it only numbers requests
            listed,
            detached,
            left,
            directory: _, // not compared: it never changes
        } = self;
        faults.canon(canon);
        let muted = |connection: &Connection| connection.stream.as_ref().is_some_and(|stream| stream.muted);
        canon.flag(replay.is_some()).flag(*listed).flag(*detached).flag(*left);
        if let Some(replay) = replay {
            replay.canon(*left || faults.any() || connections.iter().any(muted), canon);
        }
        canon.list(connections, |canon, connection| {
            let Connection {
                fd: _, // not compared: a name of the connection, whose state the world writes
                reader,
                out,
                said: _, // not compared: it is written anew each time
                ticket,
                stream,
                cut_at,
                last,
                gone,
            } = connection;
            reader.canon(canon);
            out.canon(canon);
            canon.flag(ticket.is_some()).num(ticket.map_or(0, &place));
            canon.deadline(*cut_at).flag(*last).flag(*gone);
            match stream {
                None => canon.num(0),
                Some(EventStream { global, muted, beat_at }) => {
                    canon.num(1).flag(*global).flag(*muted).deadline(*beat_at)
                }
            };
        });
    }

    fn take_request(&mut self, os: &mut dyn Os, host: &mut Host, at: usize) -> bool {
        let connection = &mut self.connections[at];
        if connection.ticket.is_some() || connection.stream.is_some() || connection.last {
            return false;
        }
        let request = match connection.reader.next_message() {
            Ok(Some(request)) => request,
            Ok(None) => return false,
            Err(_) => {
                connection.out.push(&response(400, &[("connection", "close")], b""));
                connection.last = true;
                return false;
            }
        };
        if request.head.expects_continue() {
            connection.out.push(CONTINUE);
        }
        connection.last = !request.head.keep_alive();
        let mut target = Cow::Borrowed(&request.head.parts);
        // A client names its folder in the query or in a header.
        if let Some(folder) = request.head.headers.get(FOLDER).filter(|_| target.query("directory").is_none()) {
            target.to_mut().query.push(("directory".to_owned(), percent_decode(folder)));
        }
        let route = Route::parse(&request.head.method, &target);
        let now = os.now();
        if let Some(Route::Events { global }) = route {
            let beat_at = host.engine.release.heartbeat_ms.map(|ms| now + Span(ms));
            let directory = &self.directory;
            connection.last = false;
            connection.stream = Some(EventStream { global, muted: false, beat_at });
            connection.out.push_vec(streaming_head(200, EVENTS));
            let cursor = request.head.headers.get("last-event-id");
            match self.replay.as_mut().map(|replay| replay.welcome(now, cursor)) {
                Some(Welcome::Missed(missed)) => {
                    missed.iter().for_each(|(id, json)| connection.say(Some(id), json, directory))
                }
                other => {
                    let id = match &other {
                        Some(Welcome::Connected(id)) => Some(id.as_str()),
                        _ => None,
                    };
                    let hello = host.engine.server_event(kind::CONNECTED);
                    connection.say(id, &hello, directory);
                }
            }
            return true;
        }
        self.detached |= matches!(route, Some(Route::Prompt { waits: false, .. }));
        self.listed |= matches!(route, Some(Route::Asks(_)));
        self.tickets += 1;
        connection.ticket = Some(self.tickets);
        host.engine.asked(now, self.tickets, &request.head.method, &target, &request.body);
        true
    }

    fn send(&mut self, event: &Event) {
        for connection in &mut self.connections {
            if connection.stream.as_ref().is_some_and(|stream| !stream.muted) {
                connection.say(event.id.as_deref(), &event.json, &self.directory);
            }
        }
    }
}

impl Connection {
    /// Reads what is there; returns whether there was anything, which includes the end.
    fn read(&mut self, os: &mut dyn Os) -> bool {
        let mut came = false;
        loop {
            match os.read(self.fd, 65_536) {
                Read::Data(bytes) => {
                    came = true;
                    self.reader.feed_vec(bytes);
                }
                Read::Later => return came,
                Read::Eof | Read::Failed(_) => {
                    self.gone = true;
                    return true;
                }
            }
        }
    }

    fn say(&mut self, id: Option<&str>, json: &str, directory: &str) {
        let global = self.stream.as_ref().is_some_and(|stream| stream.global);
        self.said.clear();
        match global {
            true => {
                let json = format!("{{\"directory\":{},\"payload\":{json}}}", quoted(directory));
                sse::write(&mut self.said, None, id, &json);
            }
            false => sse::write(&mut self.said, None, id, json),
        }
        self.out.push_chunk(self.said.as_bytes());
    }
}
