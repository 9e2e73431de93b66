//! `timestamp<TAB>text`, or a date, a time and a space before the text: for everything else. If the text is an event of
//! a known agent, it is read as one.
//!
//! Invariant: the text `[exit N]` alone on a line is the program's end, as is the last line of what `script` wrote; a line
//! without a timestamp has the time of the line before.

use super::claude::Claude;
use super::codex::Codex;
use super::events::Events;
use super::gemini::Gemini;
use super::opencode::Opencode;
use super::pi::Pi;
use super::{Sink, alike, cast, time};
use crate::Format;
use crate::detect::of_value;
use crate::note::{Form, Kind, Note};
use crate::story::Story;
use serde_json::Value;

/// The reader.
pub struct Plain {
    claude: Claude,
    opencode: Opencode,
    codex: Codex,
    gemini: Gemini,
    pi: Pi,
    events: Events,
    clocks: time::Clocks,
    /// Some event was another agent's than one that is known, or Claude Code's own.
    foreign: bool,
    owned: bool,
    /// Who prints.
    kind: Kind,
    greeted: bool,
    /// It begins as a typescript does.
    typescript: bool,
}

/// The most that a logger writes in front of an event (`agent-1  | `). A choice.
const PREFIX_BYTES: usize = 80;

impl Default for Plain {
    fn default() -> Plain {
        Plain::of(Kind::Program)
    }
}

impl Plain {
    /// A reader of what this one prints.
    pub fn of(kind: Kind) -> Plain {
        Plain {
            claude: Claude::new(Format::Claude),
            opencode: Opencode::new(Format::OpencodeEvents),
            codex: Codex::default(),
            gemini: Gemini::default(),
            pi: Pi::default(),
            events: Events::default(),
            clocks: time::Clocks::default(),
            foreign: false,
            owned: false,
            kind,
            greeted: false,
            typescript: false,
        }
    }

    /// The log is over.
    pub fn end(&mut self, story: &mut Story) {
        self.claude.end(story);
        self.codex.end(story);
        self.gemini.end(story);
        self.events.end(story);
    }

    /// Takes a line.
    pub fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let line = String::from_utf8_lossy(bytes);
        let found = time::find(&line).or_else(|| {
            let broken = line.trim_start().starts_with('{') && object(&line, &line).is_none();
            broken.then(|| time::find_member(&line)).flatten()
        });
        let (at, text) = match found {
            Some(stamp) => (self.clocks.instant(&stamp), stamp.text),
            None => match line.split_once('\t').and_then(|(stamp, text)| Some((time::parse(stamp)?, text))) {
                Some((at, text)) => (Some(at), text),
                None => (None, &*line),
            },
        };
        sink.at = at;
        if let Some((value, before, rest)) = object(&line, text) {
            if rest.trim().is_empty() && self.event(&value, sink) {
                return;
            }
            if let Some(logged) = logged(&value, rest).filter(|_| before <= PREFIX_BYTES) {
                sink.at = sink.at.or_else(|| time::of_event(&value));
                if let Some((inner, ..)) = object(&logged, &logged)
                    && self.event(&inner, sink)
                {
                    return;
                }
                return self.printed(&logged, sink);
            }
        }
        self.printed(&written(text), sink);
    }

    /// An event of an agent; whether it is one.
    fn event(&mut self, value: &Value, sink: &mut Sink<'_>) -> bool {
        let format = of_value(value);
        self.owned |= alike::is_claudes_own(value);
        self.foreign |= format == Some(Format::Events);
        match format {
            // another agent's, which is like Claude Code's
            Some(Format::Claude) if self.foreign && !self.owned => self.events.event(value, sink),
            Some(Format::Claude | Format::ClaudeTranscript | Format::Sdk | Format::Amp) => {
                self.claude.message(value, None, sink);
            }
            Some(Format::Gemini) => self.gemini.event(value, sink),
            Some(Format::Pi) => self.pi.event(value, sink),
            Some(Format::OpencodeEvents | Format::OpencodeRows | Format::OpencodeRun) => {
                self.opencode.event(value, sink)
            }
            Some(Format::Codex) => self.codex.event(value, sink),
            Some(Format::Events) => self.events.event(value, sink),
            // a sign of life of an agent whose other events are known
            None if self.foreign && value["type"].is_string() => self.events.event(value, sink),
            _ => return false,
        }
        true
    }

    /// A line of text.
    fn printed(&mut self, text: &str, sink: &mut Sink<'_>) {
        if !self.greeted {
            self.greeted = true;
            sink.note(Note::Agent { kind: self.kind, release: None, form: Form::Screen });
            if text.starts_with("Script started on ") {
                self.typescript = true;
                return sink.pass("header");
            }
        }
        let code = text.strip_prefix("[exit ").and_then(|rest| rest.strip_suffix(']')?.parse().ok());
        let code = code.or_else(|| cast::end_of_script(text.as_bytes()).filter(|_| self.typescript));
        sink.take(if sink.at.is_some() { "line" } else { "line without a timestamp" });
        match code {
            Some(code) => sink.note(Note::Exit(code)),
            None => {
                let logged = sink.at.is_some();
                sink.note(Note::Prints { stderr: false, logged, text: format!("{}\n", cast::plain(text)) });
            }
        }
    }
}

/// The JSON object that a text begins with, or that a logger's words come before: how many bytes those are, and what comes
/// after it.
fn object<'a>(line: &'a str, text: &'a str) -> Option<(Value, usize, &'a str)> {
    let whole = if line.trim_start().starts_with('{') { line } else { text };
    let begin = whole.find('{').filter(|at| *at <= PREFIX_BYTES)?;
    if super::too_deep(whole.as_bytes()) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(&whole[begin..]).into_iter::<Value>();
    let value = values.next()?.ok().filter(Value::is_object)?;
    let end = begin + values.byte_offset();
    Some((value, begin, &whole[end..]))
}

/// What a logger's object says, with what comes after it; `None` if it is not a logger's.
fn logged(value: &Value, rest: &str) -> Option<String> {
    let said = ["msg", "message", "log", "text", "event", "body", "MESSAGE", "line", "fields"].iter().find_map(|key| {
        let member = &value[key];
        member.as_str().or_else(|| member["message"].as_str()).map(str::to_owned)
    });
    let level = ["level", "severity", "lvl", "levelname"].iter().any(|key| !value[key].is_null());
    if said.is_none() && !level && time::of_event(value).is_none() {
        return None;
    }
    let said = said.unwrap_or_default();
    Some(format!("{} {}", said.trim_end(), rest.trim()).trim().to_owned())
}

/// The message of a line of members: `level=info msg="no output"`.
fn written(text: &str) -> std::borrow::Cow<'_, str> {
    let quoted = ["msg=\"", "message=\""].iter().find_map(|key| {
        let at = text.find(key).filter(|at| *at == 0 || text.as_bytes()[at - 1] == b' ')?;
        text[..at].contains('=').then_some(&text[at + key.len()..])
    });
    match quoted.and_then(|rest| rest.split_once('"')) {
        Some((said, rest)) => format!("{said} {}", rest.trim()).trim().to_owned().into(),
        None => text.into(),
    }
}

/// A small plain log.
pub const SAMPLE: &str =
    "2026-11-20T12:00:00Z\tstarting\n2026-11-20T12:00:01Z\tconnected\n2026-11-20T12:10:00Z\tOk to proceed? (y/n)\n";

/// A small log of a wrapper's.
pub const WRAPPER: &str = "[2026-04-02 17:01:43] [LOOP] Starting iteration 3\n[2026-04-02 17:01:44] [AGENT] running npm test\n[2026-04-02 17:21:44] [LOOP] No output for 1200s, killing pid 41\n";

/// A small output of `copilot -p`.
pub const COPILOT: &str = "● Display the contents (shell)\n  │ cat x\n  └ 4 lines...\n\nThe file holds four lines.\n\nTotal usage est:       1 Premium request\nTotal duration (API):  16.2s\nTotal duration (wall): 18.2s\nTotal code changes:    0 lines added, 0 lines removed\n";
