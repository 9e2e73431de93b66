//! Server-sent events.
//!
//! Invariants: the same bytes give the same events however they are cut into reads; a line ends with LF, CR or CRLF; an
//! event that is cut by the stream's end is not an event (WHATWG HTML, 9.2.6).

use crate::buffer::Buffer;
use crate::text;
use memchr::{memchr, memchr2};
use rehang_words::{Canon, Canonical};

/// The longest event, in bytes; the same as the longest body.
pub const EVENT_MAX_BYTES: usize = crate::http::BODY_MAX_BYTES;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// The event's type, if it names one.
    pub event: Option<String>,
    /// The event's id, if it has one of its own.
    pub id: Option<String>,
    /// The event's data; several `data:` lines are joined with newlines.
    pub data: String,
}

/// One item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// An event with data.
    Event(Event),
    /// A comment, usually a keep-alive. It is not progress.
    Comment(String),
}

/// Why bytes are not an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SseError {
    /// A line or an event is longer than [`EVENT_MAX_BYTES`].
    #[error("event longer than 16 MiB")]
    TooLong,
}

impl SseError {
    /// The error's number in an encoding; never 0.
    pub(crate) fn canonical(self) -> u64 {
        match self {
            SseError::TooLong => 1,
        }
    }
}

/// Reads one event stream.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    buffer: Buffer,
    /// How many bytes of the buffer were searched and hold no line's end.
    searched: usize,
    begun: bool,
    /// Whether the last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    partial: Partial,
    failed: Option<SseError>,
}

/// An event whose end has not come yet.
#[derive(Debug, Clone, Default)]
struct Partial {
    event: Event,
    has_data: bool,
}

/// The bytes of an event with this data, JSON or other text; every line of it becomes a `data:` line.
pub fn data(text: &str) -> Vec<u8> {
    bytes(None, None, text)
}

/// The bytes of an event with type and id, if it has them.
pub fn event(event: &Event) -> Vec<u8> {
    bytes(event.event.as_deref(), event.id.as_deref(), &event.data)
}

/// The bytes of an event of this type and id, if there are any, and this data.
pub fn bytes(event: Option<&str>, id: Option<&str>, data: &str) -> Vec<u8> {
    let mut out = String::with_capacity(data.len() + 16);
    write(&mut out, event, id, data);
    out.into_bytes()
}

/// Appends what [`bytes`] gives.
pub fn write(out: &mut String, event: Option<&str>, id: Option<&str>, data: &str) {
    for (name, value) in [("event", event), ("id", id)] {
        if let Some(value) = value {
            out.push_str(&format!("{name}: {}\n", value.replace(['\r', '\n', '\0'], " ")));
        }
    }
    for line in lines(data) {
        out.push_str("data: ");
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
}

/// The bytes of a comment.
pub fn comment(text: &str) -> Vec<u8> {
    let lines: String = lines(text).map(|line| format!(": {line}\n")).collect();
    format!("{lines}\n").into_bytes()
}

/// A CR inside a line would end it for the reader.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = memchr2(b'\r', b'\n', text.as_bytes()) else { return rest.take() };
        let end = if text[at..].starts_with("\r\n") { at + 2 } else { at + 1 };
        rest = Some(&text[end..]);
        Some(&text[..at])
    })
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// Takes bytes that were read.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.buffer.push(bytes);
        }
    }

    /// [`Decoder::feed`], without a copy where nothing is unread.
    pub fn feed_vec(&mut self, bytes: Vec<u8>) {
        if self.failed.is_none() {
            self.buffer.push_vec(bytes);
        }
    }

    /// The next event or comment; `None` if more bytes are needed.
    ///
    /// # Errors
    /// A line or an event above the limit; the stream cannot be used after that.
    pub fn next_item(&mut self) -> Result<Option<Item>, SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        while let Some(length) = self.line() {
            let item = self.partial.take_line(&self.buffer.rest()[..length]);
            self.buffer.skip(length + 1);
            if item.is_some() {
                return Ok(item);
            }
            if self.partial.event.data.len() > EVENT_MAX_BYTES {
                return self.fail();
            }
        }
        if self.buffer.rest().len() > EVENT_MAX_BYTES {
            return self.fail();
        }
        Ok(None)
    }

    fn fail(&mut self) -> Result<Option<Item>, SseError> {
        *self = Decoder { failed: Some(SseError::TooLong), ..Decoder::default() };
        Err(SseError::TooLong)
    }

    /// The length of the buffer's first line, without its end, if that line is complete.
    fn line(&mut self) -> Option<usize> {
        if !self.begun {
            let rest = self.buffer.rest();
            if rest.len() < BOM.len() && BOM.starts_with(rest) {
                return None;
            }
            if rest.starts_with(BOM) {
                self.buffer.skip(BOM.len());
            }
            self.begun = true;
        }
        if self.after_cr {
            match self.buffer.rest().first() {
                None => return None,
                Some(b'\n') => self.buffer.skip(1),
                Some(_) => {}
            }
            self.after_cr = false;
        }
        let rest = self.buffer.rest();
        let Some(at) = memchr2(b'\r', b'\n', &rest[self.searched..]) else {
            self.searched = rest.len();
            return None;
        };
        let at = self.searched + at;
        self.after_cr = rest[at] == b'\r';
        self.searched = 0;
        Some(at)
    }
}

impl Partial {
    fn take_line(&mut self, line: &[u8]) -> Option<Item> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(Item::Event(event));
        }
        let (name, value) = memchr(b':', line).map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = text(value.strip_prefix(b" ").unwrap_or(value));
        match name {
            b"" => return Some(Item::Comment(value.into_owned())),
            b"data" if self.has_data => {
                self.event.data.push('\n');
                self.event.data.push_str(&value);
            }
            b"data" => {
                self.event.data = value.into_owned();
                self.has_data = true;
            }
            b"event" => self.event.event = Some(value.into_owned()),
            b"id" if !value.contains('\0') => self.event.id = Some(value.into_owned()),
            _ => {}
        }
        None
    }
}

impl Canonical for Decoder {
    fn canon(&self, canon: &mut Canon) {
        let Self {
            buffer,
            searched: _, // not compared: it only spares a second search of bytes that hold no line's end
            begun,
            after_cr,
            partial: Partial { event: Event { event, id, data }, has_data },
            failed,
        } = self;
        buffer.canon(canon);
        canon.flag(*begun).flag(*after_cr).flag(*has_data).num(failed.map_or(0, SseError::canonical));
        for text in [event, id] {
            canon.flag(text.is_some()).text(text.as_deref().unwrap_or(""));
        }
        canon.text(data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
        let mut decoder = Decoder::new();
        let mut all = Vec::new();
        for part in parts {
            decoder.feed(part);
            while let Some(item) = decoder.next_item().unwrap() {
                all.push(item);
            }
        }
        all
    }

    fn message(text: &str) -> Item {
        Item::Event(Event { data: text.to_owned(), ..Event::default() })
    }

    #[test]
    fn fields_comments_and_all_line_ends() {
        let wire = b"\xEF\xBB\xBFdata: a\ndata:b\r\ndata\r\rid: 7\revent: x\ndata:  c\r\n\r\n: ping\n\nretry: 5\n\ndata: cut\n";
        let named = Item::Event(Event { event: Some("x".to_owned()), id: Some("7".to_owned()), data: " c".to_owned() });
        assert_eq!(read([&wire[..]]), [message("a\nb\n"), named, Item::Comment("ping".to_owned())]);
    }

    #[test]
    fn a_bom_in_the_middle_is_text() {
        assert_eq!(read([&b"data: \xEF\xBB\xBFa\n\n"[..]]), [message("\u{feff}a")]);
    }

    #[test]
    fn a_comment_goes_out_and_comes_back() {
        assert_eq!(
            read([&comment("keep\nalive")[..]]),
            [Item::Comment("keep".to_owned()), Item::Comment("alive".to_owned())]
        );
    }

    #[test]
    fn an_endless_line_is_an_error_for_ever() {
        let mut decoder = Decoder::new();
        let block = vec![b'x'; 1024 * 1024];
        for _ in 0..17 {
            decoder.feed(&block);
            let _ = decoder.next_item();
        }
        assert_eq!(decoder.next_item(), Err(SseError::TooLong));
        decoder.feed(b"\n\ndata: a\n\n");
        assert_eq!(decoder.next_item(), Err(SseError::TooLong));
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(wire in "(\u{feff})?((data|event|id|x)?(:| |:  )?[ab]{0,3}(\r|\n|\r\n){1,2}){0,8}", mut cuts in prop::collection::vec(any::<usize>(), 0..10)) {
            let wire = wire.as_bytes();
            cuts.iter_mut().for_each(|c| *c %= wire.len() + 1);
            cuts.extend([0, wire.len()]);
            cuts.sort_unstable();
            let parts = cuts.windows(2).map(|pair| &wire[pair[0]..pair[1]]);
            prop_assert_eq!(read(parts), read([wire]));
        }

        #[test]
        fn what_goes_out_comes_back(text in any::<String>(), kind in prop::option::of("[a-z.]{1,9}")) {
            let sent = Event { event: kind, id: None, data: text.clone() };
            let normal = text.replace("\r\n", "\n").replace('\r', "\n");
            prop_assert_eq!(read([&event(&sent)[..]]), vec![Item::Event(Event { data: normal, ..sent })]);
        }

        #[test]
        fn no_bytes_make_it_panic(wire in prop::collection::vec(any::<u8>(), 0..300)) {
            read(wire.chunks(7));
        }
    }
}
