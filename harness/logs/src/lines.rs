//! A log piece by piece: lines, or the elements of one large JSON document.
//!
//! Invariant: memory is bounded by [`limits::RECORD_BYTES`] whatever comes; a piece that is longer, or breaks off in
//! the middle, is marked as such, and the next one is still read.

use crate::limits;
use std::io::{self, BufRead};

/// A piece of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The line that it begins on, from 1.
    pub line: u64,
    /// Its bytes, without the line's end.
    pub bytes: &'a [u8],
    /// Why it is not whole.
    pub broken: Option<Broken>,
    /// In a JSON document: the key of the list or value that it belongs to; else empty.
    pub key: &'a str,
}

/// Why a piece is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Longer than [`limits::RECORD_BYTES`]; these are its first bytes.
    Long,
    /// The log ends in the middle of it.
    Cut,
}

/// The lines of a log.
pub struct Lines<R> {
    from: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `from`.
    pub fn new(from: R) -> Lines<R> {
        Lines { from, line: Vec::new(), number: 0 }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// Those of the source.
    pub fn next_piece(&mut self) -> io::Result<Option<Piece<'_>>> {
        self.line.clear();
        let mut long = false;
        let mut any = false;
        let mut ended = false;
        while !ended {
            let chunk = self.from.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = memchr::memchr(b'\n', chunk);
            let taken = &chunk[..end.unwrap_or(chunk.len())];
            let room = limits::RECORD_BYTES - self.line.len();
            long |= taken.len() > room;
            self.line.extend_from_slice(&taken[..taken.len().min(room)]);
            let consumed = taken.len() + usize::from(end.is_some());
            ended = end.is_some();
            self.from.consume(consumed);
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        let bytes = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        Ok(Some(Piece { line: self.number, bytes, broken: long.then_some(Broken::Long), key: "" }))
    }
}

/// The elements of one JSON document: of a list, or of the lists and values of an object.
pub struct Elements<R> {
    from: R,
    element: Vec<u8>,
    key: String,
    line: u64,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// Between values that follow one another.
    Values,
    /// In the outermost object, before a key.
    Keys,
    /// In the outermost object, after a key.
    Value,
    /// In a list: the outermost one, or one of the outermost object's.
    List {
        in_object: bool,
    },
}

impl<R: BufRead> Elements<R> {
    /// The elements of `from`.
    pub fn new(from: R) -> Elements<R> {
        Elements { from, element: Vec::new(), key: String::new(), line: 1, place: Place::Outside }
    }

    /// The values of `from`, one after the other, each on many lines.
    pub fn values(from: R) -> Elements<R> {
        Elements { place: Place::Values, ..Elements::new(from) }
    }

    /// The next element; `None` at the end.
    ///
    /// # Errors
    /// Those of the source.
    pub fn next_piece(&mut self) -> io::Result<Option<Piece<'_>>> {
        loop {
            let Some(byte) = self.peek()? else { return Ok(None) };
            match (self.place, byte) {
                (_, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':') => self.skip(byte),
                (Place::Values, b'{') => {
                    let line = self.line;
                    let broken = self.capture()?;
                    return Ok(Some(Piece { line, bytes: &self.element, broken, key: "" }));
                }
                (Place::Values, _) => self.skip(byte),
                (Place::Outside, b'{') => self.enter(byte, Place::Keys),
                (Place::Outside | Place::Value, b'[') => {
                    let in_object = self.place == Place::Value;
                    self.enter(byte, Place::List { in_object });
                }
                (Place::Keys, b'"') => {
                    self.capture()?;
                    self.key = serde_json::from_slice(&self.element).unwrap_or_default();
                    self.key.truncate(self.key.char_indices().nth(64).map_or(self.key.len(), |(at, _)| at));
                    self.place = Place::Value;
                }
                (Place::List { in_object }, b']') => {
                    self.enter(byte, if in_object { Place::Keys } else { Place::Outside });
                }
                (Place::Keys, b'}') => self.enter(byte, Place::Outside),
                (Place::Outside | Place::Keys, _) | (_, b']' | b'}') => {
                    // not JSON here: skip to the next byte that may begin a value
                    self.skip(byte);
                    if matches!(byte, b'}' | b']') {
                        self.place = Place::Outside;
                    }
                }
                (Place::Value | Place::List { .. }, _) => {
                    let line = self.line;
                    let broken = self.capture()?;
                    if self.place == Place::Value {
                        self.place = Place::Keys;
                    }
                    return Ok(Some(Piece { line, bytes: &self.element, broken, key: &self.key }));
                }
            }
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.from.fill_buf()?.first().copied())
    }

    fn skip(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.from.consume(1);
    }

    fn enter(&mut self, byte: u8, place: Place) {
        self.skip(byte);
        self.place = place;
    }

    /// Reads one JSON value into `element`.
    fn capture(&mut self) -> io::Result<Option<Broken>> {
        self.element.clear();
        let (mut depth, mut in_string, mut escaped, mut long) = (0_u32, false, false, false);
        loop {
            let chunk = self.from.fill_buf()?;
            if chunk.is_empty() {
                return Ok(Some(if long { Broken::Long } else { Broken::Cut }));
            }
            let (mut taken, mut done) = (0, false);
            for &byte in chunk {
                if depth == 0 && !in_string && taken + self.element.len() > 0 && matches!(byte, b',' | b']' | b'}') {
                    done = true;
                    break;
                }
                taken += 1;
                self.line += u64::from(byte == b'\n');
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_string => escaped = true,
                    b'"' => {
                        in_string = !in_string;
                        done = depth == 0 && !in_string;
                    }
                    b'{' | b'[' if !in_string => depth += 1,
                    b'}' | b']' if !in_string => {
                        depth -= 1;
                        done = depth == 0;
                    }
                    _ => {}
                }
                if done {
                    break;
                }
            }
            let room = limits::RECORD_BYTES - self.element.len();
            long |= taken > room;
            self.element.extend_from_slice(&chunk[..taken.min(room)]);
            self.from.consume(taken);
            if done {
                return Ok(long.then_some(Broken::Long));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str) -> Vec<(String, String, bool)> {
        let mut all = Vec::new();
        // a buffer of three bytes: every element lies over several of them
        let mut elements = Elements::new(std::io::BufReader::with_capacity(3, text.as_bytes()));
        while let Some(piece) = elements.next_piece().unwrap() {
            let text = String::from_utf8_lossy(piece.bytes).into_owned();
            all.push((piece.key.to_owned(), text, piece.broken.is_some()));
        }
        all
    }

    #[test]
    fn an_object_gives_its_values_and_the_elements_of_its_lists() {
        let found = elements("{\"info\": {\"a\": \"]\\\"}\"},\n \"messages\": [{\"b\":1}, [2], 3, \"x\"], \"n\": 4}");
        let of = |key: &str, text: &str| (key.to_owned(), text.to_owned(), false);
        let m = "messages";
        assert_eq!(
            found,
            [
                of("info", "{\"a\": \"]\\\"}\"}"),
                of(m, "{\"b\":1}"),
                of(m, "[2]"),
                of(m, "3"),
                of(m, "\"x\""),
                of("n", "4")
            ]
        );
    }

    #[test]
    fn values_may_stand_on_many_lines() {
        let text = "{\n \"a\": \"}\"\n}\n]{\"b\":\n[{}]}\nx {\"c\"";
        let mut elements = Elements::values(std::io::BufReader::with_capacity(3, text.as_bytes()));
        let mut found = Vec::new();
        while let Some(piece) = elements.next_piece().unwrap() {
            found.push((piece.line, String::from_utf8_lossy(piece.bytes).into_owned(), piece.broken));
        }
        let whole = |line, text: &str| (line, text.to_owned(), None);
        assert_eq!(found[..2], [whole(1, "{\n \"a\": \"}\"\n}"), whole(4, "{\"b\":\n[{}]}")]);
        assert_eq!(found[2..], [(6, "{\"c\"".to_owned(), Some(Broken::Cut))]);
    }

    #[test]
    fn a_document_that_breaks_off_gives_what_was_whole() {
        let found = elements("[{\"a\":1},{\"b\":");
        assert_eq!(found[0], (String::new(), "{\"a\":1}".to_owned(), false));
        assert_eq!(found[1], (String::new(), "{\"b\":".to_owned(), true));
    }

    #[test]
    fn a_long_line_is_skipped_and_the_next_is_read() {
        let text = format!("a\n{}\nb", "x".repeat(limits::RECORD_BYTES + 7));
        let mut lines = Lines::new(text.as_bytes());
        assert_eq!(lines.next_piece().unwrap().unwrap().bytes, b"a");
        let long = lines.next_piece().unwrap().unwrap();
        assert_eq!((long.bytes.len(), long.broken), (limits::RECORD_BYTES, Some(Broken::Long)));
        let last = lines.next_piece().unwrap().unwrap();
        assert_eq!((last.line, last.bytes), (3, &b"b"[..]));
        assert!(lines.next_piece().unwrap().is_none());
    }
}
