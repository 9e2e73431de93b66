//! From bytes to messages.
//!
//! Invariant: pieces come as `Head`, then `Body`s, then `End`, message after message; after an error the same
//! error comes for ever, since the place of the next message is unknown.

use super::head::{Headers, RequestHead, ResponseHead};
use super::known::Known;
use super::target::Target;
use super::{BODY_MAX_BYTES, CHUNK_LINE_MAX_BYTES, HEAD_MAX_BYTES, HEADERS_MAX};
use crate::buffer::Buffer;
use crate::text;
use rehang_words::{Canon, Canonical};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::thread::LocalKey;

/// Reads the requests of one connection.
pub type RequestReader = Reader<RequestHead>;
/// Reads the responses of one connection. None of them may answer a HEAD request: such a response has no body but does
/// not show it, and no client here sends HEAD.
pub type ResponseReader = Reader<ResponseHead>;
/// A whole request, with its body.
pub type Request = Message<RequestHead>;
/// A whole response, with its body.
pub type Response = Message<ResponseHead>;

/// Reads the messages of one side of one connection.
#[derive(Debug, Clone)]
pub struct Reader<H> {
    buffer: Buffer,
    state: State,
    /// How many bytes of the current body were given away.
    body_bytes: u64,
    ended: bool,
    failed: Option<HttpError>,
    /// What [`Reader::next_message`] has so far of the current message.
    partial: Option<Message<H>>,
}

/// A message, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<H> {
    /// A message begins with this head.
    Head(Arc<H>),
    /// Some of its body; never empty.
    Body(Vec<u8>),
    /// The message is complete.
    End,
}

/// A whole message: its head and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<H> {
    /// The head of the message.
    pub head: Arc<H>,
    /// The body of the message; it may be empty.
    pub body: Vec<u8>,
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum HttpError {
    /// The head does not parse.
    #[error("malformed head")]
    Head,
    /// The head is longer than [`HEAD_MAX_BYTES`].
    #[error("head longer than 64 KiB")]
    HeadTooLong,
    /// There are more header lines than [`HEADERS_MAX`].
    #[error("more than 100 header lines")]
    TooManyHeaders,
    /// The lengths contradict each other, or the transfer coding is not `chunked`.
    #[error("ambiguous or unknown body length")]
    Length,
    /// A chunk does not parse.
    #[error("malformed chunk")]
    Chunk,
    /// The body is longer than [`BODY_MAX_BYTES`].
    #[error("body longer than 16 MiB")]
    BodyTooLong,
    /// The connection ended in the middle of a message.
    #[error("connection cut in the middle of a message")]
    Cut,
}

/// The differences between requests and responses.
pub trait Head: Clone + sealed::Sealed + 'static {
    /// Parses a head; `None` if it is not whole yet.
    #[doc(hidden)]
    fn parse(bytes: &[u8]) -> Result<Option<Parsed<Self>>, HttpError>;
    /// The heads of this kind that a thread has read.
    #[doc(hidden)]
    fn known() -> &'static LocalKey<RefCell<Known<Self>>>;
    /// How the body is framed; `None` if the head is an interim one, which has no body and is not a message.
    #[doc(hidden)]
    fn framing(&self) -> Result<Option<Framing>, HttpError>;
    /// The longest body that is handed out in pieces.
    #[doc(hidden)]
    const STREAMED_MAX_BYTES: u64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::RequestHead {}
    impl Sealed for super::ResponseHead {}
}

/// A head that was parsed.
#[doc(hidden)]
#[derive(Debug)]
pub struct Parsed<H> {
    /// How many bytes it takes.
    pub(super) length: usize,
    pub(super) head: Arc<H>,
    pub(super) framing: Option<Framing>,
}

impl<H> Clone for Parsed<H> {
    fn clone(&self) -> Parsed<H> {
        Parsed { head: Arc::clone(&self.head), ..*self }
    }
}

/// How the end of a body is found.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
    UntilEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Length(u64),
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    /// After the last chunk; this many bytes of trailer lines were skipped.
    Trailers(usize),
    UntilEnd,
}

impl<H: Head> Default for Reader<H> {
    fn default() -> Self {
        Reader::new()
    }
}

impl<H: Head> Reader<H> {
    /// A reader at the start of a connection.
    pub fn new() -> Reader<H> {
        let state = State::Head;
        Reader { buffer: Buffer::default(), state, body_bytes: 0, ended: false, failed: None, partial: None }
    }

    /// Takes bytes that were read. Take the pieces out before feeding more: what is unread stays in memory.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.buffer.push(bytes);
        }
    }

    /// [`Reader::feed`], without a copy where nothing is unread.
    pub fn feed_vec(&mut self, bytes: Vec<u8>) {
        if self.failed.is_none() {
            self.buffer.push_vec(bytes);
        }
    }

    /// The other side has closed: no more bytes come.
    pub fn finish(&mut self) {
        self.ended = true;
    }

    /// The next piece; `None` if more bytes are needed, or at the end.
    ///
    /// # Errors
    /// What is wrong with the bytes; the connection cannot be used after that.
    pub fn next_piece(&mut self) -> Result<Option<Piece<H>>, HttpError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let piece = self.step();
        if let Err(error) = piece {
            self.failed = Some(error);
            self.buffer = Buffer::default();
        }
        piece
    }

    /// The next whole message, for callers that do not stream; `None` if more bytes are needed. Use either this or
    /// [`Reader::next_piece`] on one message.
    ///
    /// # Errors
    /// Those of [`Reader::next_piece`]; a body longer than [`BODY_MAX_BYTES`] too.
    pub fn next_message(&mut self) -> Result<Option<Message<H>>, HttpError> {
        while let Some(piece) = self.next_piece()? {
            match (piece, &mut self.partial) {
                (Piece::Head(head), partial) => *partial = Some(Message { head, body: Vec::new() }),
                (Piece::Body(bytes), Some(message)) => {
                    if message.body.len() + bytes.len() > BODY_MAX_BYTES {
                        self.failed = Some(HttpError::BodyTooLong);
                        return Err(HttpError::BodyTooLong);
                    }
                    match message.body.is_empty() {
                        true => message.body = bytes,
                        false => message.body.extend_from_slice(&bytes),
                    }
                }
                (Piece::End, partial) => {
                    if let Some(message) = partial.take() {
                        return Ok(Some(message));
                    }
                }
                (Piece::Body(_), None) => {}
            }
        }
        Ok(None)
    }

    /// Whether nothing of a message has arrived: the connection may be closed or used again.
    pub fn is_idle(&self) -> bool {
        self.state == State::Head && self.buffer.rest().is_empty()
    }

    fn step(&mut self) -> Result<Option<Piece<H>>, HttpError> {
        loop {
            match self.state {
                State::Head => match H::known().with_borrow_mut(|known| known.parse(self.buffer.rest()))? {
                    Some(Parsed { length, head, framing }) => {
                        self.buffer.skip(length);
                        let Some(framing) = framing else { continue };
                        self.body_bytes = 0;
                        self.state = match framing {
                            Framing::Length(n) if n > H::STREAMED_MAX_BYTES => return Err(HttpError::BodyTooLong),
                            Framing::Length(n) => State::Length(n),
                            Framing::Chunked => State::ChunkSize,
                            Framing::UntilEnd => State::UntilEnd,
                        };
                        return Ok(Some(Piece::Head(head)));
                    }
                    None if self.buffer.rest().len() > HEAD_MAX_BYTES => return Err(HttpError::HeadTooLong),
                    None => return self.starved(),
                },
                State::Length(0) => return Ok(Some(self.end())),
                State::Length(left) => match self.body(left)? {
                    Some((taken, piece)) => {
                        self.state = State::Length(left - taken);
                        return Ok(Some(piece));
                    }
                    None => return self.starved(),
                },
                State::ChunkSize => match httparse::parse_chunk_size(self.buffer.rest()) {
                    Ok(httparse::Status::Complete((length, size))) => {
                        if length > CHUNK_LINE_MAX_BYTES {
                            return Err(HttpError::Chunk);
                        }
                        self.buffer.skip(length);
                        self.state = if size == 0 { State::Trailers(0) } else { State::ChunkData(size) };
                    }
                    Ok(httparse::Status::Partial) if self.buffer.rest().len() <= CHUNK_LINE_MAX_BYTES => {
                        return self.starved();
                    }
                    _ => return Err(HttpError::Chunk),
                },
                State::ChunkData(0) => self.state = State::ChunkEnd,
                State::ChunkData(left) => match self.body(left)? {
                    Some((taken, piece)) => {
                        self.state = State::ChunkData(left - taken);
                        return Ok(Some(piece));
                    }
                    None => return self.starved(),
                },
                State::ChunkEnd => match self.buffer.rest() {
                    [b'\r', b'\n', ..] => {
                        self.buffer.skip(2);
                        self.state = State::ChunkSize;
                    }
                    [] | [b'\r'] => return self.starved(),
                    _ => return Err(HttpError::Chunk),
                },
                State::Trailers(skipped) => match self.buffer.rest().iter().position(|&b| b == b'\n') {
                    Some(at) => {
                        let blank = matches!(&self.buffer.rest()[..at], [] | [b'\r']);
                        self.buffer.skip(at + 1);
                        if blank {
                            return Ok(Some(self.end()));
                        }
                        if skipped + at > HEAD_MAX_BYTES {
                            return Err(HttpError::HeadTooLong);
                        }
                        self.state = State::Trailers(skipped + at + 1);
                    }
                    None if skipped + self.buffer.rest().len() > HEAD_MAX_BYTES => return Err(HttpError::HeadTooLong),
                    None => return self.starved(),
                },
                State::UntilEnd => match self.body(u64::MAX)? {
                    Some((_, piece)) => return Ok(Some(piece)),
                    None if self.ended => return Ok(Some(self.end())),
                    None => return Ok(None),
                },
            }
        }
    }

    /// Takes up to `left` bytes of a body out.
    fn body(&mut self, left: u64) -> Result<Option<(u64, Piece<H>)>, HttpError> {
        let bytes = self.buffer.take(usize::try_from(left).unwrap_or(usize::MAX));
        if bytes.is_empty() {
            return Ok(None);
        }
        let taken = bytes.len() as u64;
        self.body_bytes = self.body_bytes.saturating_add(taken);
        if self.body_bytes > H::STREAMED_MAX_BYTES {
            return Err(HttpError::BodyTooLong);
        }
        Ok(Some((taken, Piece::Body(bytes))))
    }

    fn end(&mut self) -> Piece<H> {
        self.state = State::Head;
        Piece::End
    }

    /// More bytes are needed: that is an error if none can come.
    fn starved(&self) -> Result<Option<Piece<H>>, HttpError> {
        // An empty line between messages is allowed, so it is not a cut message either (RFC 9112, 2.2).
        let blank = self.buffer.rest().iter().all(|b| matches!(b, b'\r' | b'\n'));
        if self.ended && !(self.state == State::Head && blank) { Err(HttpError::Cut) } else { Ok(None) }
    }
}

thread_local! {
    static KNOWN_REQUESTS: RefCell<Known<RequestHead>> = RefCell::default();
    static KNOWN_RESPONSES: RefCell<Known<ResponseHead>> = RefCell::default();
}

fn parsed<H: Head>(length: usize, head: H) -> Result<Option<Parsed<H>>, HttpError> {
    if length > HEAD_MAX_BYTES {
        return Err(HttpError::HeadTooLong);
    }
    let framing = head.framing()?;
    Ok(Some(Parsed { length, head: Arc::new(head), framing }))
}

impl Head for RequestHead {
    const STREAMED_MAX_BYTES: u64 = BODY_MAX_BYTES as u64;

    fn parse(bytes: &[u8]) -> Result<Option<Parsed<Self>>, HttpError> {
        let mut lines = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(bytes, &mut lines).map_err(head_error)? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial => return Ok(None),
        };
        let target = request.path.unwrap_or("");
        let head = RequestHead {
            method: request.method.unwrap_or("").to_owned(),
            target: target.to_owned(),
            parts: Target::parse(target),
            minor: request.version.unwrap_or(1),
            headers: headers(request.headers),
        };
        parsed(length, head)
    }

    fn known() -> &'static LocalKey<RefCell<Known<Self>>> {
        &KNOWN_REQUESTS
    }

    fn framing(&self) -> Result<Option<Framing>, HttpError> {
        Ok(Some(declared(&self.headers)?.unwrap_or(Framing::Length(0))))
    }
}

impl Head for ResponseHead {
    // An event stream has no end, and its pieces are taken out as they come.
    const STREAMED_MAX_BYTES: u64 = u64::MAX;

    fn parse(bytes: &[u8]) -> Result<Option<Parsed<Self>>, HttpError> {
        let mut lines = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut []);
        let parser = httparse::ParserConfig::default();
        let read = parser.parse_response_with_uninit_headers(&mut response, bytes, &mut lines);
        let length = match read.map_err(head_error)? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial => return Ok(None),
        };
        let head = ResponseHead {
            status: response.code.unwrap_or(0),
            minor: response.version.unwrap_or(1),
            headers: headers(response.headers),
        };
        parsed(length, head)
    }

    fn known() -> &'static LocalKey<RefCell<Known<Self>>> {
        &KNOWN_RESPONSES
    }

    fn framing(&self) -> Result<Option<Framing>, HttpError> {
        match self.status {
            100 | 102..=199 => Ok(None),
            101 | 204 | 304 => Ok(Some(Framing::Length(0))),
            _ => Ok(Some(declared(&self.headers)?.unwrap_or(Framing::UntilEnd))),
        }
    }
}

/// The framing that the header lines declare. RFC 9112, 6.3: both ways at once are how requests are smuggled.
fn declared(headers: &Headers) -> Result<Option<Framing>, HttpError> {
    let mut lengths = headers.all("content-length");
    let length = lengths.next();
    if lengths.any(|other| Some(other) != length) {
        return Err(HttpError::Length);
    }
    let mut codings = headers.all("transfer-encoding");
    match (codings.next(), codings.next(), length) {
        (None, _, None) => Ok(None),
        (None, _, Some(digits)) => {
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(HttpError::Length);
            }
            digits.parse().map(|n| Some(Framing::Length(n))).map_err(|_| HttpError::Length)
        }
        (Some(coding), None, None) if coding.trim().eq_ignore_ascii_case("chunked") => Ok(Some(Framing::Chunked)),
        _ => Err(HttpError::Length),
    }
}

fn headers(lines: &[httparse::Header<'_>]) -> Headers {
    Headers(lines.iter().map(|line| (line.name.to_owned(), text(line.value).into_owned())).collect())
}

fn head_error(error: httparse::Error) -> HttpError {
    match error {
        httparse::Error::TooManyHeaders => HttpError::TooManyHeaders,
        _ => HttpError::Head,
    }
}

impl<H: Head + Canonical> Canonical for Reader<H> {
    fn canon(&self, canon: &mut Canon) {
        let Self { buffer, state, body_bytes, ended, failed, partial } = self;
        buffer.canon(canon);
        match *state {
            State::Head => canon.num(0),
            State::Length(left) => canon.num(1).num(left),
            State::ChunkSize => canon.num(2),
            State::ChunkData(left) => canon.num(3).num(left),
            State::ChunkEnd => canon.num(4),
            State::Trailers(skipped) => canon.num(5).num(skipped as u64),
            State::UntilEnd => canon.num(6),
        };
        // Without a limit the count is never read; if it were compared, an event stream would never be in the same
        // state twice.
        let counted = if H::STREAMED_MAX_BYTES == u64::MAX { 0 } else { *body_bytes };
        canon.num(counted).flag(*ended).num(failed.map_or(0, |error| error as u64 + 1));
        match partial {
            None => canon.num(0),
            Some(Message { head, body }) => {
                canon.num(1);
                head.canon(canon);
                canon.bytes(body)
            }
        };
    }
}
