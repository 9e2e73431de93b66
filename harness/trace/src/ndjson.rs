//! A trace as NDJSON: a header line that names the cell, then one event a line.
//!
//! Invariants: the hash covers the events alone, so that the same cell has the same hash on every stage, whatever its
//! header says; equal traces have equal bytes; reading never panics, and an error names the line.

use crate::{Event, Trace, What};
use rehang_scenario::Order;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, BufRead, Read, Write};

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 1;
/// The longest line that is read: a text of 256 KiB (the scenario format's limit) with every byte escaped
/// as `\u0000`, and the rest of its event.
pub const LINE_MAX_BYTES: usize = 2 * 1024 * 1024;
/// The most events that are read. Four hours of 5 s polls are about 12,000.
pub const EVENTS_MAX: usize = 1_000_000;
/// The most bytes that are read in all.
pub const TOTAL_MAX_BYTES: usize = 256 * 1024 * 1024;

/// The first line of a trace file: the cell that the trace is of, so that it can be run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    pub rehang_trace: u32,
    /// The name of the scenario.
    #[serde(default)]
    pub scenario: String,
    /// The spec of the stack.
    #[serde(default)]
    pub strategy: String,
    /// The scenario's word for the terminal.
    #[serde(default)]
    pub terminal: String,
    /// The word for the stage.
    #[serde(default)]
    pub stage: String,
    /// The seed of the run.
    #[serde(default)]
    pub seed: u64,
    /// The seed with its choices at ties, if it has some: `1/14=2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Whether it is the control arm.
    #[serde(default)]
    pub control: bool,
}

impl Header {
    /// The seed with its choices at ties.
    pub fn order(&self) -> Order {
        self.order.clone().unwrap_or_else(|| self.seed.into())
    }
}

/// The hash of a trace, computed event by event, with one buffer for all of them.
#[derive(Debug, Clone, Default)]
pub struct TraceHash {
    sha: Sha256,
    line: Vec<u8>,
}

impl TraceHash {
    /// Adds one event; returns its line, newline included, for a caller that also writes it.
    pub fn event(&mut self, event: &Event) -> &[u8] {
        self.line.clear();
        encode(event, &mut self.line);
        self.sha.update(&self.line);
        &self.line
    }

    /// The hash so far in hex; the next event begins a new trace.
    pub fn finish(&mut self) -> String {
        hex(&self.sha.finalize_reset())
    }
}

/// The SHA-256 of a trace's event lines, in hex.
pub fn sha256(trace: &Trace) -> String {
    let mut hash = TraceHash::default();
    for event in &trace.events {
        hash.event(event);
    }
    hash.finish()
}

/// Writes the header and one event a line.
///
/// # Errors
/// The errors of `out`.
pub fn write(header: &Header, trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let mut line = serde_json::to_vec(header)?;
    line.push(b'\n');
    out.write_all(&line)?;
    for event in &trace.events {
        line.clear();
        encode(event, &mut line);
        out.write_all(&line)?;
    }
    out.flush()
}

/// Reads what [`write()`] wrote. A last line without a newline is read too; an empty line is an error.
///
/// # Errors
/// With the number of the line, from 1: see [`ReadError`].
pub fn read(from: impl BufRead) -> Result<(Header, Trace), ReadError> {
    read_within(from, TOTAL_MAX_BYTES, EVENTS_MAX)
}

fn read_within(mut from: impl BufRead, max_bytes: usize, max_events: usize) -> Result<(Header, Trace), ReadError> {
    let mut line = Vec::new();
    let mut total_bytes = 0;
    let mut header = None;
    let mut events = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut from).take(LINE_MAX_BYTES as u64 + 2).read_until(b'\n', &mut line);
        if read.map_err(|error| ReadError::Io { line: number, error })? == 0 {
            break;
        }
        total_bytes += line.len();
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.len() > LINE_MAX_BYTES {
            return Err(ReadError::LongLine { line: number });
        }
        if total_bytes > max_bytes {
            return Err(ReadError::TooBig { line: number });
        }
        if number == 1 {
            let read: Header = decode(&line, number)?;
            if read.rehang_trace != VERSION {
                return Err(ReadError::Version { found: read.rehang_trace });
            }
            header = Some(read);
        } else if events.len() == max_events {
            return Err(ReadError::TooMany { line: number });
        } else {
            events.push(decode(&line, number)?);
        }
    }
    let header = header.ok_or(ReadError::Empty)?;
    Ok((header, Trace { events }))
}

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is empty.
    #[error("the trace is empty: its first line must be a header")]
    Empty,
    /// The file has another version of the format.
    #[error("line 1: a trace of version {found}; this rehang reads version {VERSION}")]
    Version {
        /// The version that the file names.
        found: u32,
    },
    /// A line is not JSON, or not an event.
    #[error("line {line}, column {column}: {error}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong with it.
        error: String,
    },
    /// A line is longer than [`LINE_MAX_BYTES`].
    #[error("line {line}: longer than {LINE_MAX_BYTES} bytes")]
    LongLine {
        /// The number of the line, from 1.
        line: usize,
    },
    /// There are more than [`EVENTS_MAX`] events.
    #[error("line {line}: more than {EVENTS_MAX} events")]
    TooMany {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The file is longer than [`TOTAL_MAX_BYTES`].
    #[error("line {line}: more than {TOTAL_MAX_BYTES} bytes in all")]
    TooBig {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The file could not be read.
    #[error("line {line}: {error}")]
    Io {
        /// The number of the line, from 1.
        line: usize,
        /// The error of the reader.
        error: io::Error,
    },
}

fn encode(event: &Event, line: &mut Vec<u8>) {
    // Events hold only strings, numbers and JSON values, all of which can be written to memory.
    let written = match is_plain(&event.who) {
        true => encode_wire(event, line),
        false => serde_json::to_writer(&mut *line, event).map_err(io::Error::from),
    };
    assert!(written.is_ok(), "{:?}", written.err());
    line.push(b'\n');
}

/// An event of the wire, of which most traces consist, as `Serialize` writes it, in a fraction of the time.
fn encode_wire(event: &Event, line: &mut Vec<u8>) -> io::Result<()> {
    let Event { t, who, what } = event;
    let mut put = |kind: &str, parts: &[&str]| {
        let mut time = itoa::Buffer::new();
        let begin = ["{\"t\":", time.format(t.0), ",\"who\":\"", who, "\",\"what\":{\"", kind, "\":"];
        begin.iter().chain(parts).chain(&["}}"]).for_each(|part| line.extend_from_slice(part.as_bytes()));
    };
    let (mut number, mut code) = (itoa::Buffer::new(), itoa::Buffer::new());
    match what {
        What::Sse(json) => put("sse", &[json.text()]),
        What::Response { id, status, body } => {
            let (id, status) = (number.format(*id), code.format(*status));
            put("response", &["{\"id\":", id, ",\"status\":", status, ",\"body\":", body.text(), "}"]);
        }
        What::Request { id, method, path, body } if is_plain(method) && is_plain(path) => {
            let (id, body) = (number.format(*id), body.text());
            let (method, path) = (method.as_str(), path.as_str());
            let keys = ["{\"id\":", ",\"method\":\"", "\",\"path\":\"", "\",\"body\":"];
            put("request", &[keys[0], id, keys[1], method, keys[2], path, keys[3], body, "}"]);
        }
        _ => serde_json::to_writer(line, event)?,
    }
    Ok(())
}

/// Whether JSON writes a text as it is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

fn decode<'a, T: Deserialize<'a>>(line: &'a [u8], number: usize) -> Result<T, ReadError> {
    serde_json::from_slice(line).map_err(|error| {
        let text = error.to_string();
        let said = text.rsplit_once(" at line ").map_or(text.as_str(), |(said, _)| said);
        let error_text = rehang_scenario::problem::in_one_line(said);
        ReadError::Line { line: number, column: error.column(), error: error_text }
    })
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|n| char::from(DIGITS[usize::from(n)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;
    use expect_test::expect;
    use proptest::prelude::*;
    use rehang_scenario::VTime;
    use std::io::BufReader;

    fn header() -> Header {
        Header {
            rehang_trace: VERSION,
            scenario: "a/b".to_owned(),
            strategy: "none".to_owned(),
            terminal: "null".to_owned(),
            stage: "sim".to_owned(),
            seed: 1,
            order: None,
            control: false,
        }
    }

    /// An agent that starts and exits after 7 ms.
    fn short() -> Trace {
        let event = |t, what| Event { t: VTime(t), who: "agent".into(), what };
        let spawn = What::Spawn { parent: String::new(), argv: vec!["fake".to_owned()] };
        Trace { events: vec![event(0, spawn), event(7, What::Exit(0))] }
    }

    fn bytes(trace: &Trace) -> Vec<u8> {
        let mut out = Vec::new();
        write(&header(), trace, &mut out).unwrap();
        out
    }

    #[test]
    fn one_event_a_line_after_a_header() {
        let trace = short();
        expect![[r#"
            {"rehang_trace":1,"scenario":"a/b","strategy":"none","terminal":"null","stage":"sim","seed":1,"control":false}
            {"t":0,"who":"agent","what":{"spawn":{"parent":"","argv":["fake"]}}}
            {"t":7,"who":"agent","what":{"exit":0}}
        "#]]
        .assert_eq(&String::from_utf8(bytes(&trace)).unwrap());
    }

    #[test]
    fn what_is_written_is_read() {
        let trace = short();
        assert_eq!(read(bytes(&trace).as_slice()).unwrap(), (header(), trace));
    }

    #[test]
    fn the_hash_is_that_of_the_event_lines() {
        let trace = short();
        let all = bytes(&trace);
        let events = all.iter().position(|&b| b == b'\n').unwrap() + 1;
        assert_eq!(sha256(&trace), hex(&Sha256::digest(&all[events..])));
        assert_eq!(
            sha256(&Trace::default()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing
        );
    }

    #[test]
    fn errors_name_their_line() {
        let said = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        expect!["the trace is empty: its first line must be a header"].assert_eq(&said(""));
        expect!["line 1: a trace of version 2; this rehang reads version 1"].assert_eq(&said("{\"rehang_trace\":2}\n"));
        expect!["line 1, column 4: unknown field `t`, expected one of `rehang_trace`, `scenario`, `strategy`, `terminal`, `stage`, `seed`, `order`, `control`"]
            .assert_eq(&said("{\"t\":2}"));
        expect!["line 2, column 1: expected value"].assert_eq(&said("{\"rehang_trace\":1}\nx\n"));
        expect!["line 3, column 5: EOF while parsing a string"]
            .assert_eq(&said("{\"rehang_trace\":1}\n{\"t\":0,\"who\":\"agent\",\"what\":\"continued\"}\n{\"who"));
        let long = format!("{{\"rehang_trace\":1}}\n{}", " ".repeat(LINE_MAX_BYTES + 1));
        expect!["line 2: longer than 2097152 bytes"].assert_eq(&said(&long));
        let deep = format!(
            "{{\"rehang_trace\":1}}\n{{\"t\":0,\"who\":\"a\",\"what\":{{\"looked\":{{\"at\":\"a\",\"saw\":{}",
            "[".repeat(500)
        );
        expect!["line 2, column 175: recursion limit exceeded"].assert_eq(&said(&deep));
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_more_of_it_is_read() {
        let of = |bytes: usize| {
            let header = format!("{{\"rehang_trace\":1}}{}\n", " ".repeat(bytes - "{\"rehang_trace\":1}".len()));
            read(BufReader::new(header.as_bytes().chain(&b"{\"t\":0,\"who\":\"agent\",\"what\":\"continued\"}"[..])))
        };
        assert_eq!(of(LINE_MAX_BYTES).unwrap().1.events.len(), 1);
        assert!(matches!(of(LINE_MAX_BYTES + 1), Err(ReadError::LongLine { line: 1 })));
        // a reader that goes on gets the error
        let endless = io::repeat(b' ').take(LINE_MAX_BYTES as u64 + 2).chain(Broken);
        assert!(matches!(read(BufReader::new(endless)), Err(ReadError::LongLine { line: 1 })));
        assert!(matches!(read(BufReader::new(Broken)), Err(ReadError::Io { line: 1, .. })));
    }

    /// A writer that always fails.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }

    #[test]
    fn a_trace_may_be_as_big_as_the_limits() {
        let all = bytes(&short());
        assert!(read_within(all.as_slice(), all.len(), 2).is_ok());
        assert!(matches!(read_within(all.as_slice(), all.len() - 1, 2), Err(ReadError::TooBig { line: 3 })));
        assert!(matches!(read_within(all.as_slice(), all.len(), 1), Err(ReadError::TooMany { line: 3 })));
        expect!["line 3: more than 268435456 bytes in all"].assert_eq(&ReadError::TooBig { line: 3 }.to_string());
        expect!["line 3: more than 1000000 events"].assert_eq(&ReadError::TooMany { line: 3 }.to_string());
    }

    proptest! {
        #[test]
        fn what_is_written_by_hand_is_what_serde_writes(
            (t, id, status) in any::<(u64, u32, u16)>(), [who, method, path] in any::<[String; 3]>(), text in ".{0,9}",
        ) {
            let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            for as_it_is in [true, false] {
                let of = |text: &String| if as_it_is { text.clone() } else { plain(text) };
                let body = Json::of_text(&text);
                let request = What::Request { id, method: of(&method).into(), path: of(&path), body: body.clone() };
                for what in [request, What::Response { id, status, body: body.clone() }, What::Sse(body)] {
                    let event = Event { t: VTime(t), who: of(&who).into(), what };
                    let mut line = Vec::new();
                    encode(&event, &mut line);
                    prop_assert_eq!(line.strip_suffix(b"\n"), Some(&*serde_json::to_vec(&event).unwrap()));
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(bytes.as_slice());
        }
    }
}
