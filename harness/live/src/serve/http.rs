//! The least of an HTTP client that a server's clients need: a call, and a stream of events.
//!
//! Invariant: a connection a call, so that nothing of one call is in another's way.

use rehang_wire::http::{self, Piece, ResponseReader};
use rehang_wire::sse::{Decoder, Item};
use serde_json::Value;
use std::collections::VecDeque;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// As much as is read at once.
const READ_BYTES: usize = 16 * 1024;

/// Calls, and waits for the response as long as it takes.
///
/// # Errors
/// A connection that is refused, cut, or says what is no HTTP.
pub async fn call(port: u16, method: &str, path: &str, body: Option<&[u8]>) -> Result<(u16, Value), String> {
    let mut stream = open(port, method, path, body).await?;
    let mut reader = ResponseReader::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        if let Some(message) = reader.next_message().map_err(|e| e.to_string())? {
            let text = String::from_utf8_lossy(&message.body).into_owned();
            let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
            return Ok((message.head.status, value));
        }
        match stream.read(&mut buffer).await.map_err(|e| e.to_string())? {
            0 => {
                reader.finish();
                return match reader.next_message() {
                    Ok(Some(message)) => {
                        let body = serde_json::from_slice(&message.body).unwrap_or_default();
                        Ok((message.head.status, body))
                    }
                    _ => Err("connection closed without a response".to_owned()),
                };
            }
            n => reader.feed(&buffer[..n]),
        }
    }
}

/// A call of JSON.
///
/// # Errors
/// As [`call`].
pub async fn post(port: u16, path: &str, body: &Value) -> Result<(u16, Value), String> {
    call(port, "POST", path, Some(body.to_string().as_bytes())).await
}

/// A call without a body.
///
/// # Errors
/// As [`call`].
pub async fn get(port: u16, path: &str) -> Result<(u16, Value), String> {
    call(port, "GET", path, None).await
}

async fn open(port: u16, method: &str, path: &str, body: Option<&[u8]>) -> Result<TcpStream, String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|e| e.to_string())?;
    let headers = [("connection", "close"), ("content-type", "application/json"), ("accept", "*/*")];
    let request = http::request(method, path, &format!("127.0.0.1:{port}"), &headers, body.unwrap_or_default());
    stream.write_all(&request).await.map_err(|e| e.to_string())?;
    Ok(stream)
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    stream: TcpStream,
    reader: ResponseReader,
    decoder: Decoder,
    ready: VecDeque<Value>,
    over: bool,
}

impl Events {
    /// Opens `GET /event`, and waits until the server answers.
    ///
    /// # Errors
    /// It does not answer with a stream.
    pub async fn open(port: u16) -> Result<Events, String> {
        let stream = open(port, "GET", "/event", None).await?;
        let (reader, decoder) = (ResponseReader::new(), Decoder::new());
        let mut events = Events { stream, reader, decoder, ready: VecDeque::new(), over: false };
        // the first event is `server.connected`: behind it none is missed
        while events.ready.is_empty() {
            if !events.more().await {
                return Err("no stream of events".to_owned());
            }
        }
        Ok(events)
    }

    /// The next event; none where the stream has ended.
    pub async fn next(&mut self) -> Option<Value> {
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
            if let Item::Event(event) = item
                && let Ok(value) = serde_json::from_str(&event.data)
            {
                self.ready.push_back(value);
            }
        }
        true
    }
}
