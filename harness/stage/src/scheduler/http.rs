//! The scheduler's connections to the agent's server: requests with a time limit, and event streams.
//!
//! Invariant: a request is one connection, closed by a reset once its response is whole, so that nothing is left in
//! TIME_WAIT; its number counts the cell's requests from 1. An actor that opens an event stream again says which event
//! it has seen last, if events have ids (WHATWG HTML, 9.2).

use super::hub::Hub;
use super::inbox::Input;
use super::net::{Connection, Kind};
use rehang_os::{
    kernel::InternalError,
    os::{Read, Write},
};
use rehang_scenario::Span;
use rehang_trace::{Json, What};
use rehang_wire::{
    http::{Piece, ResponseReader, request},
    opencode::EVENTS,
    sse, text,
};
use serde_json::Value;

/// The host that requests name: without a port, because the port differs from run to run.
const HOST: &str = "localhost";
/// The headers of a request; the first of them, if it has no body.
const HEADERS: [(&str, &str); 2] = [("connection", "close"), ("content-type", "application/json")];

/// The result of one look at a connection.
enum Came {
    Nothing,
    Whole,
    Broken(&'static str),
}

impl Hub<'_> {
    /// Sends a request for the actor whose turn it is; returns its number.
    pub fn request(
        &mut self,
        who: &str,
        method: &str,
        path: &str,
        body: &Value,
        timeout: Option<Span>,
    ) -> Result<u32, InternalError> {
        self.net.requests += 1;
        let id = self.net.requests;
        let json = Json::from(body.clone());
        let text = match body {
            Value::Null => "",
            // A client that sends no JSON.
            Value::String(raw) => raw,
            _ => json.text(),
        };
        let headers = if text.is_empty() { &HEADERS[..1] } else { &HEADERS };
        let bytes = request(method, path, HOST, headers, text.as_bytes());
        self.record(who, What::Request { id, method: method.into(), path: path.to_owned(), body: json });
        let until = timeout.map(|span| self.now + span);
        let what = Kind::Request { id, status: 0, body: Vec::new(), until };
        if !self.open_connection(who, bytes, what)? {
            self.fail(self.actor, who, id, "refused");
        }
        Ok(id)
    }

    /// Opens the event stream for the actor whose turn it is; returns whether the server takes the connection.
    pub fn listen_to_events(&mut self, who: &str) -> Result<bool, InternalError> {
        self.net.requests += 1;
        let (id, (method, path)) = (self.net.requests, EVENTS.sent());
        self.record(who, What::Request { id, method: method.into(), path: path.clone(), body: Value::Null.into() });
        let mut headers = vec![("accept", "text/event-stream")];
        if let Some(id) = self.net.last_ids.get(&self.actor) {
            headers.push(("last-event-id", id));
        }
        let bytes = request(method, &path, HOST, &headers, b"");
        self.open_connection(who, bytes, Kind::Events { decoder: sse::Decoder::new() })
    }

    /// Whether the actor whose turn it is will say on its next event stream what it has seen last.
    pub fn has_seen_events(&self) -> bool {
        self.net.last_ids.contains_key(&self.actor)
    }

    /// Gives an open request up.
    pub fn cancel(&mut self, who: &str, id: u32) -> Result<(), InternalError> {
        let at = self.net.open.iter().position(|c| c.request() == Some(id));
        if let Some(at) = at {
            let connection = self.net.open.remove(at);
            self.record(who, What::RequestFailed { id, why: "cancelled".to_owned() });
            self.hang_up(&connection)?;
        }
        Ok(())
    }

    /// Closes all connections of an actor.
    pub fn close_connections(&mut self, seat: usize) -> Result<(), InternalError> {
        let (mine, others) = std::mem::take(&mut self.net.open).into_iter().partition(|c: &Connection| c.seat == seat);
        self.net.open = others;
        for connection in mine {
            self.hang_up(&connection)?;
        }
        Ok(())
    }

    fn hang_up(&mut self, connection: &Connection) -> Result<(), InternalError> {
        connection.handle.map_or(Ok(()), |handle| self.kernel.close(handle, true))
    }

    fn open_connection(&mut self, who: &str, unsent: Vec<u8>, what: Kind) -> Result<bool, InternalError> {
        let Some(port) = self.port else { return Ok(false) };
        let handle = match self.kernel.has_room(port) {
            false => None,
            true => match self.kernel.connect(port)? {
                Ok(handle) => Some(handle),
                Err(_) => return Ok(false),
            },
        };
        let reader = ResponseReader::new();
        let (seat, who) = (self.actor, who.into());
        self.net.open.push(Connection { handle, port, seat, who, reader, unsent, what });
        Ok(true)
    }

    fn fail(&mut self, seat: usize, who: &str, id: u32, why: &'static str) {
        self.record(who, What::RequestFailed { id, why: why.to_owned() });
        self.deliver(seat, Input::Failed { id, why });
    }
}

/// Reads all that has come on all connections, and ends requests whose time is up.
pub fn drain(hub: &mut Hub<'_>) -> Result<(), InternalError> {
    let mut at = 0;
    while at < hub.net.open.len() {
        let came = look(hub, at)?;
        let late = match hub.net.open[at].what {
            Kind::Request { until: Some(until), .. } if until <= hub.now => true,
            Kind::Request { .. } | Kind::Events { .. } => false,
        };
        let why = match came {
            Came::Nothing if late => "timeout",
            Came::Nothing => {
                at += 1;
                continue;
            }
            Came::Whole => "",
            Came::Broken(why) => why,
        };
        let connection = hub.net.open.remove(at);
        hub.hang_up(&connection)?;
        let (seat, who) = (connection.seat, connection.who);
        match connection.what {
            Kind::Request { id, status, body, .. } if why.is_empty() => {
                let body = hub.net.bodies.of_text(&text(&body));
                hub.record(&who, What::Response { id, status, body: body.clone() });
                hub.deliver(seat, Input::Response { id, status, body });
            }
            Kind::Request { id, .. } => hub.fail(seat, &who, id, why),
            Kind::Events { .. } => {
                hub.record(&who, What::SseEnd);
                hub.deliver(seat, Input::EventsEnd);
            }
        }
    }
    Ok(())
}

fn look(hub: &mut Hub<'_>, at: usize) -> Result<Came, InternalError> {
    let Connection { handle, port, .. } = hub.net.open[at];
    let handle = match handle {
        Some(handle) => handle,
        None if !hub.kernel.has_room(port) => return Ok(Came::Nothing),
        None => match hub.kernel.connect(port)? {
            Ok(handle) => *hub.net.open[at].handle.insert(handle),
            Err(_) => return Ok(Came::Broken("refused")),
        },
    };
    while !hub.net.open[at].unsent.is_empty() {
        match hub.kernel.write(handle, &hub.net.open[at].unsent)? {
            Write::Took(n) => drop(hub.net.open[at].unsent.drain(..n)),
            Write::Later => break,
            Write::Failed(_) => return Ok(Came::Broken("reset")),
        }
    }
    loop {
        let connection = &mut hub.net.open[at];
        let end = match hub.kernel.read(handle, 65_536)? {
            Read::Data(bytes) => {
                connection.reader.feed_vec(bytes);
                None
            }
            Read::Later => return Ok(Came::Nothing),
            Read::Eof => {
                connection.reader.finish();
                Some("closed")
            }
            Read::Failed(_) => return Ok(Came::Broken("reset")),
        };
        match take_pieces(hub, at) {
            Came::Nothing => {}
            came => return Ok(came),
        }
        if let Some(why) = end {
            return Ok(Came::Broken(why));
        }
    }
}

fn take_pieces(hub: &mut Hub<'_>, at: usize) -> Came {
    loop {
        let connection = &mut hub.net.open[at];
        let piece = match connection.reader.next_piece() {
            Ok(Some(piece)) => piece,
            Ok(None) => return Came::Nothing,
            Err(_) => return Came::Broken("closed"),
        };
        match (&mut connection.what, piece) {
            (Kind::Request { status, .. }, Piece::Head(head)) => *status = head.status,
            (Kind::Request { body, .. }, Piece::Body(bytes)) if body.is_empty() => *body = bytes,
            (Kind::Request { body, .. }, Piece::Body(bytes)) => body.extend_from_slice(&bytes),
            (Kind::Request { .. }, Piece::End) => return Came::Whole,
            (Kind::Events { .. }, Piece::Head(_)) => {}
            (Kind::Events { decoder }, Piece::Body(bytes)) => {
                decoder.feed_vec(bytes);
                take_events(hub, at);
            }
            (Kind::Events { .. }, Piece::End) => return Came::Broken("closed"),
        }
    }
}

/// Passes on all events that have come on an event stream.
fn take_events(hub: &mut Hub<'_>, at: usize) {
    // the name is lent to the trace, and put back
    let (seat, who) = (hub.net.open[at].seat, std::mem::take(&mut hub.net.open[at].who));
    while let Kind::Events { decoder } = &mut hub.net.open[at].what
        && let Ok(Some(item)) = decoder.next_item()
    {
        let sse::Item::Event(event) = item else { continue };
        hub.net.last_ids.extend(event.id.map(|id| (seat, id)));
        let event = Json::of_text(&event.data);
        hub.record(&who, What::Sse(event.clone()));
        hub.deliver(seat, Input::Event(event));
    }
    hub.net.open[at].who = who;
}
