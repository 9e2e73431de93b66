//! HTTP/1.1 requests and responses, for a client and for a server.
//!
//! Invariants: the same bytes give the same messages however they are cut into reads; a message is framed in exactly
//! one way, and ambiguous framing is an error; neither `Date` nor anything else that varies is ever written.
//!
//! ```
//! use rehang_wire::http::{self, RequestReader};
//! let mut reader = RequestReader::new();
//! reader.feed(&http::request("POST", "/session", "127.0.0.1", &[], b"{}"));
//! let request = reader.next_message().unwrap().unwrap();
//! assert_eq!((request.head.method.as_str(), request.body.as_slice()), ("POST", &b"{}"[..]));
//! ```

mod head;
mod known;
mod read;
mod target;
mod write;

pub use head::{Headers, RequestHead, ResponseHead};
pub use read::{Head, HttpError, Message, Piece, Reader, Request, RequestReader, Response, ResponseReader};
pub use target::{Target, percent_decode, percent_encode};
pub use write::{CONTINUE, LAST_CHUNK, chunk, reason, request, response, streaming_head, write_chunk};

/// The longest head, request line or status line included, in bytes. Node's limit is 16 KiB, undici's too.
pub const HEAD_MAX_BYTES: usize = 64 * 1024;
/// The most header lines of a message; httparse's users commonly allow 64 to 100 (hyper: 100).
pub const HEADERS_MAX: usize = 100;
/// The longest body of a request, and of a response that is collected whole, in bytes.
pub const BODY_MAX_BYTES: usize = 16 * 1024 * 1024;
/// The longest size line of a chunk, extensions included, in bytes.
pub const CHUNK_LINE_MAX_BYTES: usize = 4 * 1024;

#[cfg(test)]
mod tests;
