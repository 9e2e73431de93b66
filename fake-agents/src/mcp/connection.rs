//! A connection of a client with a tool server over HTTP: what has come of an answer.
//!
//! Invariant: a response is found once; what comes over a stream after it is not waited for.

use rehang_os::os::{Fd, Os, Read};
use rehang_scenario::{Canon, Canonical};
use rehang_wire::http::{Piece, ResponseReader};
use rehang_wire::mcp::{self, Message};
use rehang_wire::sse::{self, Item};
use serde_json::Value;

/// A connection with the server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) fd: Fd,
    reader: ResponseReader,
    events: sse::Decoder,
    body: Vec<u8>,
    /// Whether the answer that comes is a stream of events.
    streams: bool,
    /// The session that the answer's head names.
    pub(super) session: Option<String>,
    /// The response that came over a stream which has not ended.
    found: Option<Result<Value, Value>>,
}

/// What came over the link.
pub(super) enum Heard {
    Nothing,
    /// The answer: a result, an error.
    Answer(Result<Value, Value>),
    /// The whole of an answer that holds no message: a notification was taken, a stream is not offered.
    Taken,
    /// The answer has ended without a message.
    Ended,
    /// The link is gone.
    Gone,
}

impl Connection {
    /// A connection on which nothing has been asked.
    pub(super) fn new(fd: Fd) -> Connection {
        let (reader, events) = (ResponseReader::new(), sse::Decoder::new());
        Connection { fd, reader, events, body: Vec::new(), streams: false, session: None, found: None }
    }

    /// What has come of the answer to the request of this id, and whether the connection can be used again. `bare`: an
    /// answer without a message is one.
    pub(super) fn hear(&mut self, os: &mut dyn Os, id: u64, bare: bool) -> (Heard, bool) {
        loop {
            loop {
                match self.reader.next_piece() {
                    Ok(None) => break,
                    Ok(Some(Piece::Head(head))) => {
                        self.streams = head.is_event_stream();
                        self.session = head.headers.get(mcp::SESSION).map(str::to_owned);
                    }
                    Ok(Some(Piece::Body(bytes))) if self.streams => {
                        self.events.feed(&bytes);
                        self.found = self.found.take().or_else(|| event(&mut self.events, id));
                    }
                    Ok(Some(Piece::Body(bytes))) => self.body.extend(bytes),
                    Ok(Some(Piece::End)) => {
                        let body = std::mem::take(&mut self.body);
                        let found = self.found.take().or_else(|| answer(&rehang_wire::text(&body), id));
                        self.events = sse::Decoder::new();
                        return match found {
                            Some(answer) => (Heard::Answer(answer), true),
                            None if bare => (Heard::Taken, true),
                            None => (Heard::Ended, true),
                        };
                    }
                    Err(_) => return (Heard::Gone, false),
                }
            }
            match os.read(self.fd, crate::piped::READ_BYTES) {
                Read::Data(bytes) => self.reader.feed(&bytes),
                // the response is there, and its stream goes on: it is not waited for
                Read::Later => {
                    return self.found.take().map_or((Heard::Nothing, true), |it| (Heard::Answer(it), false));
                }
                Read::Eof | Read::Failed(_) => return (Heard::Gone, false),
            }
        }
    }

    pub(super) fn canon(&self, canon: &mut Canon) {
        let Self {
            fd: _, // not compared: a name of the connection, whose state the world writes
            reader,
            events,
            body,
            streams,
            session: _, // not compared: taken in the resume in which it came
            found: _,   // not compared: likewise
        } = self;
        canon.bytes(body).flag(*streams);
        reader.canon(canon);
        events.canon(canon);
    }
}

/// The answer to a request that a text is.
pub(super) fn answer(text: &str, id: u64) -> Option<Result<Value, Value>> {
    match mcp::read(text)? {
        Message::Response { id: of, result } if of == id => Some(result),
        _ => None,
    }
}

/// The answer to a request among the events that have come.
fn event(events: &mut sse::Decoder, id: u64) -> Option<Result<Value, Value>> {
    while let Ok(Some(item)) = events.next_item() {
        if let Item::Event(event) = item
            && let Some(answer) = answer(&event.data, id)
        {
            return Some(answer);
        }
    }
    None
}
