//! The model's stream: played here from the script, or read over HTTP from the model's server.
//!
//! Invariant: there is at most one stream; the turn sees the same items whichever way it comes.

use crate::silence::Silence;
use rehang_os::os::{Fd, Os, Read, Wait, Write};
use rehang_scenario::{Canon, Canonical, Fault, Span, VTime, plan::RESPONSE_HEADER};
use rehang_wire::{
    http::{self, Piece, ResponseReader},
    model::{
        Api, Decoder, ModelEvent, ModelRequest, request_body,
        script::{Chunk, Item, ModelScript, Stream},
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

enum Source {
    Script(Stream),
    Server(Box<Connection>),
    /// The model's server could not even be connected to.
    Nowhere,
}

struct Connection {
    fd: Fd,
    unsent: Vec<u8>,
    reader: ResponseReader,
    decoder: Decoder,
    status: u16,
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
            Some(port) => match os.connect(port) {
                Ok(fd) => Source::Server(Box::new(connection(fd, port, request, path))),
                Err(_) => Source::Nowhere,
            },
        };
        self.open = Some(Open { source, silence: Silence::new(Some(self.idle), os.now()) });
    }

    /// Gives the stream up.
    pub fn abort(&mut self, os: &mut dyn Os) {
        if let Some(Open { source: Source::Server(connection), .. }) = self.open.take() {
            os.close(connection.fd);
        }
    }

    /// What has come by now.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<Came> {
        let now = os.now();
        let Open { source, silence } = self.open.as_mut()?;
        let items = match source {
            Source::Script(stream) => stream.poll(now),
            Source::Server(connection) => connection.poll(os),
            Source::Nowhere => vec![Item::Reset],
        };
        for item in &items {
            match item {
                // A comment is no event: a stream of them alone is given up too (recorded).
                Item::KeepAlive | Item::Event(ModelEvent::KeepAlive) => {}
                // The agent itself compacts: the stream is not waited for meanwhile.
                Item::Compacting(span) => silence.heard(now + *span),
                _ => silence.heard(now),
            }
        }
        let over = items.iter().any(|item| matches!(item, Item::Ended { .. } | Item::Reset | Item::Status(_)));
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
        match source {
            Source::Script(stream) => wait.until = earliest(wait.until, stream.deadline()),
            Source::Server(connection) => {
                wait.read.push(connection.fd);
                if !connection.unsent.is_empty() {
                    wait.write.push(connection.fd);
                }
            }
            Source::Nowhere => {}
        }
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
        match source {
            Source::Script(stream) => stream.canon(canon.num(0)),
            Source::Server(connection) => {
                let Connection {
                    fd: _, // not compared: a name of the connection, whose state the world writes
                    unsent,
                    reader,
                    decoder,
                    status,
                } = connection.as_ref();
                canon.num(1).bytes(unsent).num((*status).into());
                reader.canon(canon);
                decoder.canon(canon);
            }
            Source::Nowhere => drop(canon.num(2)),
        }
    }
}

fn connection(fd: Fd, port: u16, request: &ModelRequest, path: &str) -> Connection {
    let api = Api::OpenAiResponses;
    let body = request_body(api, request).to_string();
    let host = format!("127.0.0.1:{port}");
    let headers = [("content-type", "application/json"), ("accept", "text/event-stream"), (RESPONSE_HEADER, path)];
    let unsent = http::request("POST", api.path(), &host, &headers, body.as_bytes());
    Connection { fd, unsent, reader: ResponseReader::new(), decoder: Decoder::new(api), status: 0 }
}

impl Connection {
    fn poll(&mut self, os: &mut dyn Os) -> Vec<Item> {
        while !self.unsent.is_empty() {
            match os.write(self.fd, &self.unsent) {
                Write::Took(n) => drop(self.unsent.drain(..n)),
                Write::Later => break,
                Write::Failed(_) => return vec![Item::Reset],
            }
        }
        let mut items = Vec::new();
        loop {
            match os.read(self.fd, 65_536) {
                Read::Data(bytes) => self.reader.feed(&bytes),
                Read::Later => return items,
                Read::Eof => {
                    self.reader.finish();
                    if !self.pieces(&mut items) {
                        items.push(Item::Reset);
                    }
                    return items;
                }
                Read::Failed(_) => {
                    items.push(Item::Reset);
                    return items;
                }
            }
            if self.pieces(&mut items) {
                return items;
            }
        }
    }

    /// Takes what is complete; returns whether the response is over.
    fn pieces(&mut self, items: &mut Vec<Item>) -> bool {
        loop {
            match self.reader.next_piece() {
                Ok(Some(Piece::Head(head))) => self.status = head.status,
                Ok(Some(Piece::Body(bytes))) if self.status == 200 => {
                    self.decoder.feed(&bytes);
                    while let Ok(Some(event)) = self.decoder.next_event() {
                        items.push(Item::Event(event));
                    }
                    if self.decoder.is_ended() {
                        items.push(Item::Ended { clean: true });
                        return true;
                    }
                }
                Ok(Some(Piece::Body(_))) => {}
                Ok(Some(Piece::End)) => {
                    items.push(if self.status == 200 {
                        Item::Ended { clean: false }
                    } else {
                        Item::Status(self.status)
                    });
                    return true;
                }
                Ok(None) => return false,
                Err(_) => {
                    items.push(Item::Reset);
                    return true;
                }
            }
        }
    }
}

fn earliest(a: Option<VTime>, b: Option<VTime>) -> Option<VTime> {
    a.into_iter().chain(b).min()
}
