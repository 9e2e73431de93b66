//! The model's stream: played here from the script, or read over HTTP from the model's server.
//!
//! Invariant: the engine sees the same items either way, and one stream is open at a time.

use super::engine::Engine;
use super::release::SILENCE_MAX;
use crate::silence::Silence;
use rehang_os::os::{Fd, Os, Read, Wait, Write};
use rehang_scenario::{Canon, Canonical, Fault, Span, plan::RESPONSE_HEADER};
use rehang_wire::http::{self, Piece, ResponseReader};
use rehang_wire::model::script::{Item, ModelScript, Stream};
use rehang_wire::model::{Api, Decoder, request_body};

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

enum Source {
    Script(Stream),
    Server(Box<Connection>),
    /// The model's server could not be connected to.
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
    pub fn new(faults: &[Fault], port: Option<u16>) -> Model {
        Model { script: ModelScript::new(faults), port, open: None }
    }

    /// Asks the model.
    pub fn ask(&mut self, os: &mut dyn Os, engine: &mut Engine) {
        self.close(os);
        let source = match self.port {
            None => Source::Script(self.script.begin(engine.chunks(), os.now())),
            Some(port) => match os.connect(port) {
                Ok(fd) => Source::Server(Box::new(connection(fd, port, engine))),
                Err(_) => Source::Nowhere,
            },
        };
        self.open = Some((source, Silence::new(Some(SILENCE_MAX), os.now())));
    }

    /// Gives the stream up.
    pub fn close(&mut self, os: &mut dyn Os) {
        if let Some((Source::Server(connection), _)) = self.open.take() {
            os.close(connection.fd);
        }
    }

    /// What has come by now.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<Came> {
        let now = os.now();
        let (source, silence) = self.open.as_mut()?;
        let items = match source {
            Source::Script(stream) => stream.poll(now),
            Source::Server(connection) => connection.poll(os),
            Source::Nowhere => vec![Item::Reset],
        };
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
        if items.iter().any(|item| matches!(item, Item::Ended { .. } | Item::Reset | Item::Status(_))) {
            self.close(os);
        }
        (!items.is_empty()).then_some(Came::Items(items))
    }

    /// Adds what the stream waits for.
    pub fn wait(&self, wait: &mut Wait) {
        let Some((source, silence)) = &self.open else { return };
        let stream = match source {
            Source::Script(stream) => stream.deadline(),
            Source::Server(connection) => {
                wait.read.push(connection.fd);
                if !connection.unsent.is_empty() {
                    wait.write.push(connection.fd);
                }
                None
            }
            Source::Nowhere => None,
        };
        wait.until = wait.until.into_iter().chain(silence.deadline()).chain(stream).min();
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

fn connection(fd: Fd, port: u16, engine: &Engine) -> Connection {
    let (request, path) = engine.model_request();
    let body = request_body(Api::Gemini, &request).to_string();
    let host = format!("127.0.0.1:{port}");
    let headers = [("content-type", "application/json"), (RESPONSE_HEADER, path.as_str())];
    let target = Api::Gemini.target(&request.model, true);
    let unsent = http::request("POST", &target, &host, &headers, body.as_bytes());
    Connection { fd, unsent, reader: ResponseReader::new(), decoder: Decoder::new(Api::Gemini), status: 0 }
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

    /// Takes what is complete; returns whether the response is over. Only the end of the body ends it: the API has no
    /// terminator of its own.
    fn pieces(&mut self, items: &mut Vec<Item>) -> bool {
        loop {
            match self.reader.next_piece() {
                Ok(Some(Piece::Head(head))) => self.status = head.status,
                Ok(Some(Piece::Body(bytes))) if self.status == 200 => {
                    self.decoder.feed(&bytes);
                    while let Ok(Some(event)) = self.decoder.next_event() {
                        items.push(Item::Event(event));
                    }
                }
                Ok(Some(Piece::Body(_))) => {}
                Ok(Some(Piece::End)) => {
                    items.push(match self.status {
                        200 => Item::Ended { clean: true },
                        status => Item::Status(status),
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
