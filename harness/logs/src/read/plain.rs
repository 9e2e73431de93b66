//! `timestamp<TAB>text`, or a date, a time and a space before the text: for everything else. If the text is an event of
//! a known agent, it is read as one.
//!
//! Invariant: the text `[exit N]` alone on a line is the program's end, as is the last line of what `script` wrote; a line
//! without a timestamp has the time of the line before.

use super::claude::Claude;
use super::codex::Codex;
use super::gemini::Gemini;
use super::opencode::Opencode;
use super::pi::Pi;
use super::{Sink, cast, time};
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
            kind,
            greeted: false,
            typescript: false,
        }
    }

    /// The log is over.
    pub fn end(&mut self, story: &mut Story) {
        self.claude.end(story);
    }

    /// Takes a line.
    pub fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let line = String::from_utf8_lossy(bytes);
        let (at, text) = match line.split_once('\t') {
            Some((stamp, text)) => match time::parse(stamp) {
                Some(at) => (Some(at), text),
                None => (None, &*line),
            },
            None => match time::stamped(&line) {
                Some((at, text)) => (Some(at), text),
                None => (None, &*line),
            },
        };
        sink.at = at;
        // a logger may have put its words in front
        if let Some(begin) = text.find('{').filter(|at| *at <= PREFIX_BYTES)
            && !super::too_deep(bytes)
            && let Ok(value) = serde_json::from_str::<Value>(&text[begin..])
        {
            match of_value(&value) {
                Some(Format::Claude | Format::ClaudeTranscript | Format::Sdk | Format::Amp) => {
                    return self.claude.message(&value, None, sink);
                }
                Some(Format::Gemini) => return self.gemini.event(&value, sink),
                Some(Format::Pi) => return self.pi.event(&value, sink),
                Some(Format::OpencodeEvents | Format::OpencodeRows | Format::OpencodeRun) => {
                    return self.opencode.event(&value, sink);
                }
                Some(Format::Codex) => return self.codex.event(&value, sink),
                _ => {}
            }
        }
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
        sink.take(if at.is_some() { "line" } else { "line without a timestamp" });
        match code {
            Some(code) => sink.note(Note::Exit(code)),
            None => sink.note(Note::Prints { stderr: false, text: format!("{}\n", cast::plain(text)) }),
        }
    }
}

/// A small plain log.
pub const SAMPLE: &str =
    "2026-11-20T12:00:00Z\tstarting\n2026-11-20T12:00:01Z\tconnected\n2026-11-20T12:10:00Z\tOk to proceed? (y/n)\n";

/// A small log of a wrapper's.
pub const WRAPPER: &str = "[2026-04-02 17:01:43] [LOOP] Starting iteration 3\n[2026-04-02 17:01:44] [AGENT] running npm test\n[2026-04-02 17:21:44] [LOOP] No output for 1200s, killing pid 41\n";

/// A small output of `copilot -p`.
pub const COPILOT: &str = "● Display the contents (shell)\n  │ cat x\n  └ 4 lines...\n\nThe file holds four lines.\n\nTotal usage est:       1 Premium request\nTotal duration (API):  16.2s\nTotal duration (wall): 18.2s\nTotal code changes:    0 lines added, 0 lines removed\n";
