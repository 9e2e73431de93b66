//! Readers: a format's pieces in, notes out.
//!
//! Invariant: a reader keeps little state of its own, bounded; it never fails. What it cannot use is counted in
//! [`crate::Took`].

pub mod alike;
pub mod calls;
pub mod cast;
pub mod claude;
pub mod codex;
pub mod events;
pub mod gemini;
pub mod opencode;
pub mod outcome;
pub mod pi;
pub mod plain;
pub mod recording;
pub mod rpc;
pub mod time;

use crate::lines::{Broken, Piece};
use crate::note::{Kind, Note};
use crate::story::Story;
use crate::{Format, limits};
use serde::de::IgnoredAny;
use serde_json::Value;

/// What is said of an element whose end is not in the log.
pub const BREAKS_OFF: &str = "the log ends in the middle of it";

/// Where notes go.
pub struct Sink<'a> {
    /// What happened.
    pub story: &'a mut Story,
    /// The line that is read.
    pub line: u64,
    /// The instant of what is read, in milliseconds, if it has one.
    pub at: Option<u64>,
}

impl Sink<'_> {
    /// Takes a note of this instant.
    pub fn note(&mut self, note: Note) {
        let at = self.at;
        self.story.note(at, note);
    }

    /// Counts an event that was taken.
    pub fn take(&mut self, kind: &str) {
        self.story.took.take(kind);
    }

    /// Counts an event that says nothing about the run.
    pub fn pass(&mut self, kind: &str) {
        self.story.took.pass(kind);
    }

    /// Counts what could not be used.
    pub fn trouble(&mut self, why: &str, bytes: &[u8]) {
        let line = self.line;
        self.story.took.trouble(why, line, bytes);
    }
}

/// Whether a JSON line is of a format.
pub type IsOne = fn(&Value) -> bool;

/// Which formats say of a JSON line by themselves that it is theirs; the first counts. The others are told apart in
/// [`crate::detect`].
pub const RECOGNISED: [(Format, IsOne); 5] = [
    (Format::Recording, recording::is_exchange),
    (Format::Asciicast, cast::is_header),
    (Format::Codex, codex::is_rollout),
    (Format::OpencodeRows, opencode::is_row),
    (Format::Gemini, gemini::is_event),
];

/// Small logs of a format, for tests and for a fuzzer; none of a format of which recordings are kept.
pub fn samples(format: Format) -> &'static [&'static str] {
    match format {
        Format::Recording | Format::Claude | Format::Sdk | Format::OpencodeEvents => &[],
        Format::ClaudeTranscript => &[claude::TRANSCRIPT],
        Format::OpencodeExport => &[opencode::EXPORT],
        Format::OpencodeRun => &[opencode::RUN],
        Format::Codex => &[codex::SAMPLE],
        Format::Asciicast => &[cast::SAMPLE, cast::SAMPLE_2],
        Format::Script => &cast::TIMINGS,
        Format::Amp => &[claude::AMP],
        Format::Gemini => &[gemini::SAMPLE],
        Format::Pi => &[pi::SAMPLE],
        Format::OpencodeRows => &[opencode::ROWS],
        Format::Copilot => &[plain::COPILOT],
        Format::Events => &[events::SAMPLE, rpc::SAMPLE],
        Format::Plain => &[plain::SAMPLE, plain::WRAPPER],
    }
}

/// A reader of one format.
pub enum Reader {
    /// Claude Code and its SDKs.
    Claude(Box<claude::Claude>),
    /// opencode, all its forms.
    Opencode(Box<opencode::Opencode>),
    /// Codex.
    Codex(codex::Codex),
    /// Gemini CLI.
    Gemini(gemini::Gemini),
    /// pi.
    Pi(pi::Pi),
    /// Events of an agent that is not known.
    Events(Box<events::Events>),
    /// Recordings of exchanges.
    Recording(Box<recording::Recording>),
    /// asciicast.
    Cast(cast::Cast),
    /// `script` timing files.
    Script(cast::Timing),
    /// `timestamp<TAB>text`.
    Plain(Box<plain::Plain>),
}

impl Reader {
    /// A reader of a format.
    pub fn of(format: Format) -> Reader {
        match format {
            Format::Claude | Format::ClaudeTranscript | Format::Sdk | Format::Amp => {
                Reader::Claude(Box::new(claude::Claude::new(format)))
            }
            Format::OpencodeEvents | Format::OpencodeRows | Format::OpencodeExport | Format::OpencodeRun => {
                Reader::Opencode(Box::new(opencode::Opencode::new(format)))
            }
            Format::Codex => Reader::Codex(codex::Codex::default()),
            Format::Recording => Reader::Recording(Box::default()),
            Format::Asciicast => Reader::Cast(cast::Cast::default()),
            Format::Script => Reader::Script(cast::Timing::default()),
            Format::Gemini => Reader::Gemini(gemini::Gemini::default()),
            Format::Pi => Reader::Pi(pi::Pi::default()),
            Format::Events => Reader::Events(Box::default()),
            Format::Copilot => Reader::Plain(Box::new(plain::Plain::of(Kind::Copilot))),
            Format::Plain => Reader::Plain(Box::default()),
        }
    }

    /// Takes a piece.
    pub fn piece(&mut self, piece: &Piece<'_>, story: &mut Story) {
        story.took.pieces += 1;
        story.took.bytes += piece.bytes.len() as u64;
        let sink = &mut Sink { story, line: piece.line, at: None };
        match piece.broken {
            Some(Broken::Long) => return sink.trouble("longer than 4 MiB", piece.bytes),
            Some(Broken::Cut) => return sink.trouble(BREAKS_OFF, piece.bytes),
            None => {}
        }
        match self {
            Reader::Claude(reader) => json_or_text(piece.bytes, sink, |value, sink| reader.message(&value, None, sink)),
            Reader::Opencode(reader) => reader.piece(piece, sink),
            Reader::Codex(reader) => reader.line(piece.bytes, sink),
            Reader::Gemini(reader) => json_or_text(piece.bytes, sink, |value, sink| reader.event(&value, sink)),
            Reader::Pi(reader) => json_or_text(piece.bytes, sink, |value, sink| reader.event(&value, sink)),
            Reader::Events(reader) => reader.line(piece.bytes, sink),
            Reader::Recording(reader) => json(piece.bytes, sink, |value, sink| reader.exchange(&value, sink)),
            Reader::Cast(reader) => reader.line(piece.bytes, sink),
            Reader::Script(reader) => reader.line(piece.bytes, sink),
            Reader::Plain(reader) => reader.line(piece.bytes, sink),
        }
    }

    /// The log is over.
    pub fn end(&mut self, story: &mut Story) {
        match self {
            Reader::Claude(reader) => reader.end(story),
            Reader::Plain(reader) => reader.end(story),
            Reader::Codex(reader) => reader.end(story),
            Reader::Gemini(reader) => reader.end(story),
            Reader::Events(reader) => reader.end(story),
            Reader::Recording(reader) => reader.end(story),
            Reader::Script(reader) => reader.end(story),
            _ => {}
        }
    }
}

/// Reads a piece as JSON; text between the lines of a log was printed by something else.
fn json_or_text(bytes: &[u8], sink: &mut Sink<'_>, then: impl FnOnce(Value, &mut Sink<'_>)) {
    let is_list = bytes.starts_with(b"[") && !too_deep(bytes) && serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
    match std::str::from_utf8(bytes).ok().filter(|line| !line.trim_start().starts_with('{') && !is_list) {
        Some(line) if !line.trim().is_empty() => {
            sink.at = time::stamped(line).map(|(at, _)| at);
            sink.take("text between the events");
            let logged = sink.at.is_some();
            sink.note(Note::Prints { stderr: true, logged, text: format!("{line}\n") });
        }
        _ => json(bytes, sink, then),
    }
}

/// Reads a piece as JSON.
pub fn json(bytes: &[u8], sink: &mut Sink<'_>, then: impl FnOnce(Value, &mut Sink<'_>)) {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return sink.pass("empty line");
    }
    if too_deep(bytes) {
        return sink.trouble("JSON too deep", bytes);
    }
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => then(value, sink),
        Err(_) => sink.trouble("no JSON", bytes),
    }
}

/// Whether brackets are nested deeper than [`limits::NESTING`]; strings do not count.
pub(crate) fn too_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for &byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > limits::NESTING {
                    return true;
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// A member as text; empty if there is none.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// A member as text; `None` if it is absent or empty.
pub fn some(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The questions of a question tool's input or of an event.
pub fn questions(list: &Value) -> Vec<rehang_scenario::turns::Question> {
    use rehang_scenario::turns::{Choice, Question};
    let of = |question: &Value| Question {
        question: text(question, "question").to_owned(),
        header: text(question, "header").to_owned(),
        options: question["options"]
            .as_array()
            .into_iter()
            .flatten()
            .take(limits::LIST)
            .map(|option| {
                let label = option.as_str().unwrap_or_else(|| text(option, "label")).to_owned();
                Choice { label, description: text(option, "description").to_owned() }
            })
            .collect(),
        multiple: question["multiple"].as_bool().or(question["multiSelect"].as_bool()).unwrap_or(false),
        custom: question["custom"].as_bool(),
    };
    list.as_array().into_iter().flatten().take(limits::LIST).map(of).collect()
}

/// What a tool is called with, in short: its most telling argument.
pub fn on(input: &Value) -> String {
    const TELLING: [&str; 12] = [
        "command",
        "file_path",
        "filePath",
        "path",
        "url",
        "pattern",
        "query",
        "description",
        "prompt",
        "skill",
        "name",
        "id",
    ];
    let named = TELLING.iter().find_map(|key| input[key].as_str());
    let first = || input.as_object().and_then(|map| map.values().find_map(Value::as_str));
    named.or_else(first).unwrap_or_default().to_owned()
}

/// A value as text; `None` if it is something else or empty.
pub fn flat_text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
