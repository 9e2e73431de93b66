//! The model's streams: played here from the script, or read over HTTP from the model's server.
//!
//! Invariant: the engine sees the same items either way; the only difference is a stream that is cut or reset in the
//! middle of HTTP's own framing, and both have items of their own.

use super::engine::{Conv, Engine};
use super::release::SILENCE_MAX;
use crate::silence::Silence;
use rehang_os::os::{Fd, Os, Read, Wait, Write};
use rehang_scenario::{Canon, Canonical, Fault, Span, VTime, plan::RESPONSE_HEADER};
use rehang_wire::{
    http::{self, Piece, ResponseReader},
    model::{
        Api, Decoder, request_body,
        script::{Item, ModelScript, Stream},
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

impl Models {
    pub fn new(faults: &[Fault], port: Option<u16>) -> Models {
        Models { script: ModelScript::new(faults), port, open: Vec::new() }
    }

    /// Asks the model on behalf of a conversation.
    pub fn ask(&mut self, os: &mut dyn Os, engine: &mut Engine, conv: Conv) {
        self.abort(os, conv);
        let source = match self.port {
            None => Source::Script(self.script.begin(engine.chunks(conv), os.now())),
            Some(port) => match os.connect(port) {
                Ok(fd) => Source::Server(Box::new(connection(fd, port, engine, conv))),
                Err(_) => Source::Nowhere,
            },
        };
        let silence = Silence::new(Some(SILENCE_MAX), os.now());
        self.open.push(Open { conv, source, silence });
    }

    /// Gives up a conversation's stream.
    pub fn abort(&mut self, os: &mut dyn Os, conv: Conv) {
        self.open.retain(|open| {
            if let (true, Source::Server(connection)) = (open.conv == conv, &open.source) {
                os.close(connection.fd);
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
            let items = match source {
                Source::Script(stream) => stream.poll(now),
                Source::Server(connection) => connection.poll(os),
                Source::Nowhere => vec![Item::Reset],
            };
            let over = items.iter().any(|item| matches!(item, Item::Ended { .. } | Item::Reset | Item::Status(_)));
            // The agent itself compacts: the stream is not waited for meanwhile.
            let busy =
                items.iter().map(|item| if let Item::Compacting(span) = item { *span } else { Span::ZERO }).max();
            if let Some(busy) = busy {
                silence.heard(now + busy);
            }
            if over && let Source::Server(connection) = self.open.remove(at).source {
                os.close(connection.fd);
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
        });
    }
}

fn connection(fd: Fd, port: u16, engine: &Engine, conv: Conv) -> Connection {
    let (request, path) = engine.model_request(conv);
    let body = request_body(Api::Anthropic, &request).to_string();
    let host = format!("127.0.0.1:{port}");
    let headers = [
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("anthropic-version", "2023-06-01"),
        (RESPONSE_HEADER, path.as_str()),
    ];
    let unsent = http::request("POST", "/v1/messages?beta=true", &host, &headers, body.as_bytes());
    Connection { fd, unsent, reader: ResponseReader::new(), decoder: Decoder::new(Api::Anthropic), status: 0 }
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
