//! The model's streams: played in-process from the plan, or spoken over HTTP if the plan names a port.
//!
//! Invariant: a stream that was stopped says nothing more; `{answer}` is replaced by what the last tool call told the
//! model, whichever way the text came.

use super::engine::Engine;
use super::tools::call_of;
use crate::silence::Silence;
use rehang_os::os::{Fd, Os, Read, Wait, Write};
use rehang_scenario::{Canon, Canonical, Fault, Span, VTime, plan::RESPONSE_HEADER, turns::Response};
use rehang_wire::{
    http::{Piece, ResponseReader, request},
    model::{
        Api, Decoder, Message, ModelEvent, ModelRequest, Tool, error_message, request_body,
        script::{Item, ModelScript, Stream, chunks},
    },
};

/// What the AI SDK says about a connection that was reset.
const RESET: &str = "Connection reset by server";
/// What a release with a limit says about a stream that was silent for longer.
const SILENT: &str = "SSE read timed out";

/// The open model streams of one agent.
pub struct Models {
    script: ModelScript,
    port: Option<u16>,
    open: Vec<Open>,
    calls: u32,
    silence_max: Option<Span>,
}

struct Open {
    stream: u32,
    source: Source,
    silence: Silence,
}

enum Source {
    Played(Stream),
    Wire(Box<Wired>),
}

struct Wired {
    fd: Fd,
    out: Vec<u8>,
    reader: ResponseReader,
    decoder: Decoder,
    /// The status, if it is not that of a stream, and the body so far.
    refused: Option<(u16, Vec<u8>)>,
    answer: String,
    over: bool,
}

/// What came over a stream since the last look.
enum Came {
    Event(ModelEvent),
    Ended,
    Failed(u16, String),
}

impl Models {
    /// No stream yet; each may be silent for this long.
    pub fn new(faults: &[Fault], port: Option<u16>, silence_max: Option<Span>) -> Models {
        Models { script: ModelScript::new(faults), port, open: Vec::new(), calls: 0, silence_max }
    }

    /// Sends a request to the model.
    pub fn ask(&mut self, os: &mut dyn Os, stream: u32, path: &str, response: &Response, answer: &str) {
        let source = match self.port {
            Some(port) => self.connect(os, port, path, answer),
            None => {
                let calls = &mut self.calls;
                let all = chunks(
                    response,
                    |text| text.replace("{answer}", answer),
                    |turn| {
                        *calls += 1;
                        call_of(turn, format!("call_{calls}"))
                    },
                );
                Source::Played(self.script.begin(all, os.now()))
            }
        };
        let silence = Silence::new(self.silence_max, os.now());
        self.open.push(Open { stream, source, silence });
    }

    fn connect(&mut self, os: &mut dyn Os, port: u16, path: &str, answer: &str) -> Source {
        let tools = ["bash", "question", "task"].map(|name| Tool { name: name.to_owned(), ..Tool::default() });
        let asked = ModelRequest {
            model: "script".to_owned(),
            stream: true,
            tools: tools.to_vec(),
            messages: vec![Message::text("user", "go on")],
        };
        let body = request_body(Api::OpenAiChat, &asked);
        let headers = [("content-type", "application/json"), (RESPONSE_HEADER, path)];
        let out = request("POST", Api::OpenAiChat.path(), "127.0.0.1", &headers, body.as_bytes());
        let fd = os.connect(port);
        let over = fd.is_err();
        Source::Wire(Box::new(Wired {
            fd: fd.unwrap_or(Fd(u32::MAX)),
            out,
            reader: ResponseReader::new(),
            decoder: Decoder::new(Api::OpenAiChat),
            refused: None,
            answer: answer.to_owned(),
            over,
        }))
    }

    /// Closes the connection of a stream.
    pub fn stop(&mut self, os: &mut dyn Os, stream: u32) {
        if let Some(at) = self.open.iter().position(|open| open.stream == stream)
            && let Source::Wire(wired) = self.open.remove(at).source
        {
            os.close(wired.fd);
        }
    }

    /// Gives the engine what has come over one stream; returns whether there was anything.
    pub fn poll(&mut self, os: &mut dyn Os, engine: &mut Engine) -> bool {
        let now = os.now();
        for at in 0..self.open.len() {
            let open = &mut self.open[at];
            let (came, over) = match &mut open.source {
                Source::Played(played) => {
                    let came: Vec<Came> = played.poll(now).into_iter().filter_map(played_item).collect();
                    (came, played.is_over())
                }
                Source::Wire(wired) => {
                    let came = wired.poll(os);
                    (came, wired.over)
                }
            };
            let stream = open.stream;
            if came.is_empty() && !over {
                if !open.silence.is_over(now) {
                    continue;
                }
                self.stop(os, stream);
                engine.model_silent(now, stream, SILENT);
                return true;
            }
            open.silence.heard(now);
            if over {
                self.stop(os, stream);
            }
            for item in came {
                match item {
                    Came::Event(event) => engine.model_event(now, stream, event),
                    Came::Ended => engine.model_ended(now, stream),
                    Came::Failed(status, message) => engine.model_failed(now, stream, status, &message),
                }
            }
            return true;
        }
        false
    }

    /// Adds what the streams wait for.
    pub fn wait(&self, wait: &mut Wait) {
        for open in &self.open {
            if let Source::Wire(wired) = &open.source {
                wait.read.push(wired.fd);
                if !wired.out.is_empty() {
                    wait.write.push(wired.fd);
                }
            }
        }
    }

    /// When the next thing comes over a stream that is played.
    pub fn deadline(&self) -> Option<VTime> {
        let of = |open: &Open| match &open.source {
            Source::Played(played) => played.deadline(),
            Source::Wire(_) => None,
        };
        let limits = self.open.iter().filter_map(|open| open.silence.deadline());
        self.open.iter().filter_map(of).chain(limits).min()
    }

    /// Writes the state; a stream is written as its run's place, since each retry has a new one. `calls_count`: ids of
    /// calls are looked up, so the next one matters.
    pub fn canon(&self, place: impl Fn(u32) -> u64, calls_count: bool, canon: &mut Canon) {
        let Self {
            script,
            port: _, // not compared: it never changes
            open,
            calls,
            silence_max: _, // not compared: it never changes
        } = self;
        script.canon(canon);
        if calls_count {
            canon.num((*calls).into());
        }
        canon.list(open, |canon, Open { stream, source, silence }| {
            silence.canon(canon.num(place(*stream)));
            match source {
                Source::Played(played) => played.canon(canon.num(0)),
                Source::Wire(wired) => {
                    let Wired {
                        fd: _, // not compared: a name of the connection, whose state the world writes
                        out,
                        reader,
                        decoder,
                        refused,
                        answer,
                        over,
                    } = wired.as_ref();
                    canon.num(1).bytes(out).text(answer).flag(*over);
                    match refused {
                        None => canon.num(0),
                        Some((status, body)) => canon.num(1).num((*status).into()).bytes(body),
                    };
                    reader.canon(canon);
                    decoder.canon(canon);
                }
            }
        });
    }
}

impl Wired {
    fn poll(&mut self, os: &mut dyn Os) -> Vec<Came> {
        let mut came = Vec::new();
        if self.over {
            came.push(Came::Failed(0, "Unable to connect".to_owned()));
            return came;
        }
        while !self.out.is_empty() {
            match os.write(self.fd, &self.out) {
                Write::Took(n) => drop(self.out.drain(..n)),
                Write::Later => break,
                Write::Failed(_) => {
                    self.out.clear();
                    self.over = true;
                    came.push(Came::Failed(0, RESET.to_owned()));
                    return came;
                }
            }
        }
        loop {
            match os.read(self.fd, 65_536) {
                Read::Data(bytes) => {
                    self.reader.feed(&bytes);
                    self.pieces(&mut came);
                }
                Read::Later => break,
                Read::Eof => {
                    self.reader.finish();
                    self.pieces(&mut came);
                    if !self.over {
                        self.over = true;
                        came.push(Came::Failed(0, RESET.to_owned()));
                    }
                }
                Read::Failed(_) => {
                    self.over = true;
                    came.push(Came::Failed(0, RESET.to_owned()));
                }
            }
            if self.over {
                break;
            }
        }
        came
    }

    fn pieces(&mut self, came: &mut Vec<Came>) {
        while !self.over {
            match self.reader.next_piece() {
                Ok(Some(Piece::Head(head))) if head.status != 200 => self.refused = Some((head.status, Vec::new())),
                Ok(Some(Piece::Head(_))) => {}
                Ok(Some(Piece::Body(bytes))) => match &mut self.refused {
                    Some((_, body)) => body.extend(bytes),
                    None => {
                        self.decoder.feed(&bytes);
                        self.decoded(came);
                    }
                },
                Ok(Some(Piece::End)) => {
                    self.over = true;
                    came.push(match self.refused.take() {
                        Some((status, body)) => Came::Failed(status, error_message(&body)),
                        None => Came::Ended,
                    });
                }
                Ok(None) => return,
                Err(error) => {
                    self.over = true;
                    came.push(Came::Failed(0, error.to_string()));
                }
            }
        }
    }

    fn decoded(&mut self, came: &mut Vec<Came>) {
        loop {
            match self.decoder.next_event() {
                Ok(Some(ModelEvent::TextDelta(text))) => {
                    came.push(Came::Event(ModelEvent::TextDelta(text.replace("{answer}", &self.answer))));
                }
                Ok(Some(event)) => came.push(Came::Event(event)),
                Ok(None) => return,
                Err(error) => {
                    self.over = true;
                    came.push(Came::Failed(0, error.to_string()));
                    return;
                }
            }
        }
    }
}

fn played_item(item: Item) -> Option<Came> {
    Some(match item {
        Item::Event(event) => Came::Event(event),
        Item::KeepAlive => Came::Event(ModelEvent::KeepAlive),
        Item::Ended { .. } => Came::Ended,
        Item::Reset => Came::Failed(0, RESET.to_owned()),
        Item::Status(status) => Came::Failed(status, rehang_wire::http::reason(status).to_owned()),
        // To the stream, compaction is silence.
        Item::Compacting(_) => return None,
    })
}
