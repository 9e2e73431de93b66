//! The heads of messages: request line or status line, and header lines.
//!
//! Invariant: names are compared without case, lines keep their order, and a value that occurs twice is not folded.

use super::target::Target;
use rehang_words::{Canon, Canonical};

/// The header lines of a message, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers(pub Vec<(String, String)>);

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method: `GET`, `POST`, …
    pub method: String,
    /// Path and query as they were sent.
    pub target: String,
    /// The same, taken apart.
    pub parts: Target,
    /// The minor version of HTTP: 1, or 0 for an old client.
    pub minor: u8,
    /// The header lines, in order.
    pub headers: Headers,
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// The minor version of HTTP: 1 or 0.
    pub minor: u8,
    /// The header lines, in order.
    pub headers: Headers,
}

impl Headers {
    /// The first value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// All values of this name.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.0.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Whether a list-valued header, such as `connection`, holds this token.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.all(name).flat_map(|v| v.split(',')).any(|t| t.trim().eq_ignore_ascii_case(token))
    }

    fn keep_alive(&self, minor: u8) -> bool {
        match minor {
            0 => self.has_token("connection", "keep-alive"),
            _ => !self.has_token("connection", "close"),
        }
    }
}

impl RequestHead {
    /// Whether the client keeps the connection open for another request.
    pub fn keep_alive(&self) -> bool {
        self.headers.keep_alive(self.minor)
    }

    /// Whether the client waits for [`super::CONTINUE`] before it sends the body, as curl does above 1 MiB.
    pub fn expects_continue(&self) -> bool {
        self.minor > 0 && self.headers.has_token("expect", "100-continue")
    }
}

impl ResponseHead {
    /// Whether the server keeps the connection open for another request.
    pub fn keep_alive(&self) -> bool {
        self.headers.keep_alive(self.minor)
    }

    /// Whether the body is a stream of server-sent events.
    pub fn is_event_stream(&self) -> bool {
        let kind = self.headers.get("content-type").unwrap_or("");
        kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("text/event-stream")
    }
}

impl Canonical for Headers {
    fn canon(&self, canon: &mut Canon) {
        let Self(lines) = self;
        canon.list(lines, |canon, (name, value)| {
            canon.text(name).text(value);
        });
    }
}

impl Canonical for RequestHead {
    fn canon(&self, canon: &mut Canon) {
        let Self {
            method,
            target,
            parts: _, // not compared: it is the target
            minor,
            headers,
        } = self;
        canon.text(method).text(target).num((*minor).into());
        headers.canon(canon);
    }
}

impl Canonical for ResponseHead {
    fn canon(&self, canon: &mut Canon) {
        let Self { status, minor, headers } = self;
        canon.num((*status).into()).num((*minor).into());
        headers.canon(canon);
    }
}
