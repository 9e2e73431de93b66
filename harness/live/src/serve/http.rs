//! The part of an HTTP client that a server's clients need: a call, and a stream of events.
//!
//! Invariant: each call has a connection of its own, so that calls do not affect each other.

use rehang_wire::http::{self, Piece, ResponseReader};
use rehang_wire::opencode::EVENTS;
use rehang_wire::sse::{Decoder, Event, Item};
use std::collections::VecDeque;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How much is read at once, in bytes.
pub const READ_BYTES: usize = 16 * 1024;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The connection was refused.
    #[error("connection refused: {0}")]
    Refused(std::io::Error),
    /// It was made, and ended before the response did, or what came is not HTTP.
    #[error("connection closed without a response{}", .0.as_ref().map_or(String::new(), |error| format!(": {error}")))]
    Broken(Option<std::io::Error>),
}

impl CallError {
    /// The actors' word for it.
    pub fn word(&self) -> &'static str {
        match self {
            CallError::Refused(_) => "refused",
            CallError::Broken(Some(_)) => "reset",
            CallError::Broken(None) => "closed",
        }
    }
}

fn broken(error: std::io::Error) -> CallError {
    CallError::Broken(Some(error))
}

/// Calls, and waits for the response as long as it takes; returns its status and its body.
///
/// # Errors
/// A connection that is refused or cut, or an answer that is not HTTP.
pub async fn call(port: u16, method: &str, path: &str, body: &[u8]) -> Result<(u16, String), CallError> {
    let headers = [("connection", "close"), ("content-type", "application/json"), ("accept", "*/*")];
    let mut stream = open(port, method, path, &headers, body).await?;
    let mut reader = ResponseReader::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut over = false;
    loop {
        match reader.next_message() {
            Ok(Some(message)) => {
                return Ok((message.head.status, String::from_utf8_lossy(&message.body).into_owned()));
            }
            Ok(None) if !over => {}
            Ok(None) | Err(_) => return Err(CallError::Broken(None)),
        }
        match stream.read(&mut buffer).await.map_err(broken)? {
            0 => {
                over = true;
                reader.finish();
            }
            n => reader.feed(&buffer[..n]),
        }
    }
}

/// Connects and sends a request.
///
/// # Errors
/// A connection that is refused or cut.
pub async fn open(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<TcpStream, CallError> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(CallError::Refused)?;
    let request = http::request(method, path, &format!("127.0.0.1:{port}"), headers, body);
    stream.write_all(&request).await.map_err(broken)?;
    Ok(stream)
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    stream: TcpStream,
    reader: ResponseReader,
    decoder: Decoder,
    ready: VecDeque<Event>,
    over: bool,
}

impl Events {
    /// Opens `GET /event`, and waits until the server answers. `last_id` is the last event that the client has seen.
    ///
    /// # Errors
    /// It does not answer with a stream.
    pub async fn open(port: u16, last_id: Option<&str>) -> Result<Events, CallError> {
        let mut headers = vec![("connection", "close"), ("accept", "text/event-stream")];
        headers.extend(last_id.map(|id| ("last-event-id", id)));
        let stream = open(port, "GET", &EVENTS.to_string(), &headers, b"").await?;
        let (reader, decoder) = (ResponseReader::new(), Decoder::new());
        let mut events = Events { stream, reader, decoder, ready: VecDeque::new(), over: false };
        // the first event is `server.connected`: after it none is missed
        while events.ready.is_empty() {
            if !events.more().await {
                return Err(CallError::Broken(None));
            }
        }
        Ok(events)
    }

    /// The next event; `None` once the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn more(&mut self) -> bool {
        if self.over {
            return false;
        }
        let mut buffer = [0; READ_BYTES];
        match self.stream.read(&mut buffer).await {
            Ok(n @ 1..) => self.reader.feed(&buffer[..n]),
            _ => return false,
        }
        loop {
            match self.reader.next_piece() {
                Ok(Some(Piece::Body(bytes))) => self.decoder.feed(&bytes),
                Ok(Some(Piece::Head(head))) if !head.is_event_stream() => return false,
                Ok(Some(Piece::Head(_))) => {}
                Ok(Some(Piece::End)) | Err(_) => {
                    self.over = true;
                    break;
                }
                Ok(None) => break,
            }
        }
        while let Ok(Some(item)) = self.decoder.next_item() {
            if let Item::Event(event) = item {
                self.ready.push_back(event);
            }
        }
        true
    }
}
