//! The client of a server, on the wall clock: `rehang_actors`' own, over TCP on loopback.
//!
//! Invariant: one thread and one wait for all connections, as an event loop has; it waits for ever.

use super::keeper::Order;
use rehang_actors::{Actor, Input, Output, SessionClient, reconnect};
use rehang_trace::Json;
use rehang_wire::http::{Piece, ResponseReader, request};
use rehang_wire::opencode::EVENTS;
use rehang_wire::sse;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;

struct Open {
    stream: TcpStream,
    reader: ResponseReader,
    what: What,
}

enum What {
    Request { id: u32, status: u16, body: Vec<u8> },
    Events(sse::Decoder),
}

struct Client<'a> {
    order: &'a Order,
    port: u16,
    actor: SessionClient,
    open: Vec<Open>,
    last_id: Option<String>,
    over: bool,
}

/// Plays the client of the server at this port.
pub fn play(order: &Order, rest: &[String]) -> io::Result<()> {
    let port = rest.first().and_then(|port| port.parse().ok()).ok_or(io::ErrorKind::InvalidInput)?;
    let scenario = &order.scenario;
    let kind = scenario.agent.client().unwrap_or_default();
    let actor = SessionClient::new(kind, &scenario.title, reconnect(&scenario.faults), true);
    let mut client = Client { order, port, actor, open: Vec::new(), last_id: None, over: false };
    client.tell(Input::Begin);
    client.tell(Input::Listening);
    while !client.over {
        let limit = order.wait(client.actor.deadline());
        let mut polled: Vec<PollFd<'_>> =
            client.open.iter().map(|open| PollFd::new(&open.stream, PollFlags::IN)).collect();
        // interrupted or not: what has come is read
        let _ = poll(&mut polled, Some(&limit));
        let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        for at in (0..ready.len()).rev().filter(|at| ready[*at]) {
            client.read(at);
        }
        let mut out = Vec::new();
        client.actor.tick(order.now(), &mut out);
        client.carry_out(out);
    }
    Ok(())
}

impl Client<'_> {
    fn tell(&mut self, input: Input) {
        let mut out = Vec::new();
        self.actor.on(self.order.now(), input, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, out: Vec<Output>) {
        for output in out {
            match output {
                Output::Request { id, method, path, body } => {
                    let text = match &body {
                        Value::Null => String::new(),
                        Value::String(raw) => raw.clone(),
                        body => body.to_string(),
                    };
                    let json = [("connection", "close"), ("content-type", "application/json")];
                    let headers = if text.is_empty() { &json[..1] } else { &json[..] };
                    let bytes = request(method, &path, "localhost", headers, text.as_bytes());
                    if !self.connect(&bytes, What::Request { id, status: 0, body: Vec::new() }) {
                        self.tell(Input::Failed { id, why: "refused" });
                    }
                }
                Output::Listen => {
                    let (method, path) = EVENTS.sent();
                    let resumes = self.last_id.is_some();
                    let mut headers = vec![("accept", "text/event-stream")];
                    headers.extend(self.last_id.as_deref().map(|id| ("last-event-id", id)));
                    let bytes = request(method, &path, "localhost", &headers, b"");
                    match self.connect(&bytes, What::Events(sse::Decoder::new())) {
                        true => self.tell(Input::Opened { resumes }),
                        false => self.tell(Input::Refused { resumes, alive: true }),
                    }
                }
                Output::HangUp => self.open.clear(),
                Output::Settle { .. } => self.over = true,
                _ => {}
            }
        }
    }

    fn connect(&mut self, bytes: &[u8], what: What) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let sent = stream.write_all(bytes).is_ok();
        if sent {
            self.open.push(Open { stream, reader: ResponseReader::new(), what });
        }
        sent
    }

    fn read(&mut self, at: usize) {
        let mut bytes = vec![0; 65_536];
        let open = &mut self.open[at];
        let mut end = None;
        match open.stream.read(&mut bytes) {
            Ok(n @ 1..) => open.reader.feed(&bytes[..n]),
            Ok(0) => {
                open.reader.finish();
                end = Some("closed");
            }
            Err(_) => end = Some("reset"),
        }
        let mut told = Vec::new();
        while end != Some("") {
            let piece = match open.reader.next_piece() {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(_) => {
                    end = Some("closed");
                    break;
                }
            };
            match (&mut open.what, piece) {
                (What::Request { status, .. }, Piece::Head(head)) => *status = head.status,
                (What::Request { body, .. }, Piece::Body(bytes)) => body.extend_from_slice(&bytes),
                (_, Piece::End) => end = Some(""),
                (What::Events(_), Piece::Head(_)) => {}
                (What::Events(decoder), Piece::Body(bytes)) => {
                    decoder.feed(&bytes);
                    while let Ok(Some(item)) = decoder.next_item() {
                        if let sse::Item::Event(event) = item {
                            told.push(Input::Event(Json::of_text(&event.data)));
                            self.last_id = event.id.or(self.last_id.take());
                        }
                    }
                }
            }
        }
        if let Some(why) = end {
            told.push(match self.open.remove(at).what {
                What::Request { id, status, body } if why.is_empty() => {
                    Input::Response { id, status, body: Json::of_text(&rehang_wire::text(&body)) }
                }
                What::Request { id, .. } => Input::Failed { id, why },
                What::Events(_) => Input::EventsEnd { alive: true },
            });
        }
        told.into_iter().for_each(|input| self.tell(input));
    }
}
