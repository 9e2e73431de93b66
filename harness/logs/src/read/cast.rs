//! Terminals: asciicast v2 and v3, and the timing files of `script`.
//!
//! Invariant: what came out is kept as text, without escape sequences, except those that ask the terminal something.

use super::Sink;
use crate::limits;
use crate::note::{Form, Kind, Note};
use serde_json::Value;

/// Reader of asciicast: a header, then `[time, code, data]` a line; in v3 times are spans since the event before.
#[derive(Default)]
pub struct Cast {
    version: u64,
    now_ms: f64,
    /// The beginning of an escape sequence with which the previous write ended.
    begun: String,
}

impl Cast {
    /// Takes a line.
    pub fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        if self.version == 3 && bytes.starts_with(b"#") {
            return sink.pass("comment");
        }
        super::json(bytes, sink, |value, sink| {
            if value.is_object() && self.version == 0 {
                self.version = value["version"].as_u64().unwrap_or(2);
                sink.take("header");
                sink.at = Some(0);
                let form = if self.version >= 3 { Form::Screen } else { Form::Text };
                return sink.note(Note::Agent { kind: Kind::Program, release: None, form });
            }
            let (Some(time), Some(code)) = (value[0].as_f64(), value[1].as_str()) else {
                return sink.trouble("no event of an asciicast", value.to_string().as_bytes());
            };
            if time.is_finite() && time >= 0.0 {
                self.now_ms = if self.version >= 3 { self.now_ms + time * 1e3 } else { time * 1e3 };
            }
            sink.at = Some(self.now_ms.min(1e15).round() as u64);
            match code {
                "o" => {
                    let mut text = std::mem::take(&mut self.begun) + value[2].as_str().unwrap_or_default();
                    self.begun = text.split_off(unfinished(&text));
                    sink.note(Note::Prints { stderr: false, logged: false, text: plain(&text) });
                }
                "i" => sink.note(Note::Types),
                "x" => {
                    let code = value[2].as_i64().or_else(|| value[2].as_str().and_then(|c| c.trim().parse().ok()));
                    sink.note(Note::Exit(code.unwrap_or(0)));
                }
                other => return sink.pass(other),
            }
            sink.take(code);
        });
    }
}

/// Reader of a `script` timing file, with the bytes of its typescript: `0.125 18`, or `O 0.125 18`.
#[derive(Default)]
pub struct Timing {
    /// What is left of the typescript.
    pub typescript: Vec<u8>,
    /// How far it was read.
    pub at: usize,
    /// Whether its header was skipped.
    pub begun: bool,
    now_ms: f64,
    /// The beginning of an escape sequence or a character with which the previous write ended.
    rest: Vec<u8>,
}

impl Timing {
    /// Takes a line of the timing file.
    pub fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        if !self.begun {
            self.begun = true;
            sink.note(Note::Agent { kind: Kind::Program, release: None, form: Form::Text });
            if self.typescript.starts_with(b"Script started") {
                self.at = memchr::memchr(b'\n', &self.typescript).map_or(self.typescript.len(), |at| at + 1);
            }
        }
        let line = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
        let mut words = line.split_ascii_whitespace();
        let mut first = words.next().unwrap_or_default();
        let mut stream = "O";
        if first.len() == 1 && first.bytes().all(|b| b.is_ascii_uppercase()) {
            stream = match first {
                "O" => "O",
                "I" => "I",
                _ => "",
            };
            first = words.next().unwrap_or_default();
        }
        let Some(seconds) = first.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0) else {
            return sink.trouble("no line of a timing file", bytes);
        };
        self.now_ms = (self.now_ms + seconds * 1e3).min(1e15);
        sink.at = Some(self.now_ms.round() as u64);
        if stream == "I" {
            sink.take("input");
            return sink.note(Note::Types);
        }
        if stream.is_empty() {
            let rest: Vec<&str> = words.collect();
            if let ["EXIT_CODE", code] = rest.as_slice() {
                sink.note(Note::Exit(code.parse().unwrap_or(0)));
            }
            return sink.pass("header or signal");
        }
        let count = words.next().and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
        let end = self.at.saturating_add(count).min(self.typescript.len());
        sink.take("output");
        sink.note(Note::Prints { stderr: false, logged: false, text: self.until(end) });
        if let Some(code) = end_of_script(&self.typescript[end..]) {
            sink.note(Note::Exit(code));
        }
    }
}

impl Timing {
    /// The typescript's text from where it was read to here.
    fn until(&mut self, end: usize) -> String {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(&self.typescript[self.at..end]);
        self.at = end;
        let whole = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        self.rest = bytes.split_off(whole);
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        let begun = text.split_off(unfinished(&text));
        self.rest.splice(0..0, begun.into_bytes());
        plain(&text)
    }

    /// The log is over: what the typescript has beyond the timing file came last. Both are written from buffers.
    pub fn end(&mut self, story: &mut crate::story::Story) {
        if self.begun && self.at < self.typescript.len() && end_of_script(&self.typescript[self.at..]).is_none() {
            let end = self.typescript.len().min(self.at + limits::RECORD_BYTES);
            let text = self.until(end);
            let (text, code) = match text.rfind("\nScript done") {
                Some(at) => (&text[..at], end_of_script(&text.as_bytes()[at..])),
                None => (&*text, None),
            };
            story.note(None, Note::Prints { stderr: false, logged: false, text: text.to_owned() });
            if let Some(code) = code {
                story.note(None, Note::Exit(code));
            }
        }
    }
}

/// The longest escape sequence of which a part is kept for the next write, in bytes.
const BEGUN_BYTES: usize = 256;

/// Where an escape sequence begins that this text does not end; the text's length if there is none.
fn unfinished(text: &str) -> usize {
    let Some(at) = text.rfind('\u{1b}').filter(|at| text.len() - at <= BEGUN_BYTES) else { return text.len() };
    // the end of a text in a sequence (`ESC \`) is one itself
    let at = match &text[at..] {
        "\u{1b}" => text[..at].rfind("\u{1b}]").filter(|from| !text[*from..at].contains('\u{7}')).unwrap_or(at),
        _ => at,
    };
    let mut rest = text[at..].chars().skip(1);
    let whole = match rest.next() {
        None => false,
        Some('[') => rest.any(|c| ('\u{40}'..='\u{7e}').contains(&c)),
        Some(']') => rest.any(|c| matches!(c, '\u{7}' | '\n')),
        Some('(' | ')' | '#') => rest.next().is_some(),
        Some(_) => true,
    };
    if whole || text.len() - at > BEGUN_BYTES { text.len() } else { at }
}

/// The exit code in the last line of a typescript, if that line begins here.
pub fn end_of_script(rest: &[u8]) -> Option<i64> {
    let rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    if rest.len() > 500 || !rest.starts_with(b"Script done") {
        return None;
    }
    let text = String::from_utf8_lossy(rest);
    let code = text.split_once("COMMAND_EXIT_CODE=\"").map(|(_, code)| code);
    Some(code.and_then(|code| code.split('"').next()?.parse().ok()).unwrap_or(0))
}

/// A terminal's text without escape sequences; those that ask the terminal something become `<asks the terminal: …>`,
/// and a carriage return or a move of the cursor to another line begins a line.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(limits::TEXT_BYTES));
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => match rest.next() {
                Some('[') => {
                    let mut args = String::new();
                    let end = loop {
                        match rest.next() {
                            Some(c @ '\u{40}'..='\u{7e}') => break c,
                            Some(c) if args.len() < 16 => args.push(c),
                            Some(_) => {}
                            None => break ' ',
                        }
                    };
                    match (end, args.as_str()) {
                        ('n', "6" | "5") => out.push_str("<asks the terminal: where is the cursor>"),
                        ('c', "" | "0" | ">" | ">0") => out.push_str("<asks the terminal: what is it>"),
                        ('H' | 'f' | 'E' | 'F', _) if !out.is_empty() && !out.ends_with('\n') => out.push('\n'),
                        ('C', _) => out.push(' '),
                        _ => {}
                    }
                }
                Some(']') => {
                    let mut args = String::new();
                    while let Some(c) = rest.next() {
                        if c == '\u{7}' || c == '\u{1b}' {
                            if c == '\u{1b}' && rest.peek() == Some(&'\\') {
                                rest.next();
                            }
                            break;
                        }
                        if args.len() < 16 {
                            args.push(c);
                        }
                    }
                    if args.ends_with(";?") {
                        out.push_str("<asks the terminal: its colours>");
                    }
                }
                Some('(' | ')' | '#') => drop(rest.next()),
                _ => {}
            },
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' if out.ends_with('\n') => {}
            '\r' => out.push('\n'),
            '\u{8}' => drop(out.pop()),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Whether a value is an asciicast header.
pub fn is_header(value: &Value) -> bool {
    matches!(value["version"].as_u64(), Some(1..=3)) && (value["width"].is_u64() || value["term"].is_object())
}

/// A small asciicast v3.
pub const SAMPLE: &str = r#"{"version":3,"term":{"cols":80,"rows":24}}
[0.5,"o","$ npx create-thing\r\n"]
[1.25,"o","\u001b[1mNeed to install the following packages:\u001b[0m\r\ncreate-thing\r\nOk to proceed? (y) "]
"#;

/// A small asciicast v2.
pub const SAMPLE_2: &str = r#"{"version":2,"width":80,"height":24}
[0.5,"o","building\r\n"]
[9.5,"o","built\r\n"]
"#;

/// Two small timing files of `script`.
pub const TIMINGS: [&str; 2] =
    ["0.1 5\n0.25 12\n1.5 3\nhello\nOk to proceed? (y) ", "H 0.0 START x\nO 0.5 4\nI 1 1\nO 2 9\n"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_questions_to_the_terminal_stay() {
        assert_eq!(plain("\u{1b}[1;32mok\u{1b}[0m\r\nPassword: "), "ok\nPassword: ");
        assert_eq!(plain("\r\u{1b}[Ka"), "\na");
        assert_eq!(plain("a\u{1b}[6n"), "a<asks the terminal: where is the cursor>");
        assert_eq!(plain("a\u{1b}]0;title\u{7}b\u{1b}]11;?\u{1b}\\"), "ab<asks the terminal: its colours>");
        assert_eq!(plain("\u{1b}"), "");
        assert_eq!(plain("\u{1b}[999999999999999999999999"), "");
    }

    #[test]
    fn a_sequence_over_two_writes_is_one() {
        for whole in ["a\u{1b}[31mb", "a\u{1b}]0;title\u{7}b", "a\u{1b}(Bb", "a\u{1b}]0;t\u{1b}\\b", "a\u{1b}=b"] {
            for (at, _) in whole.char_indices() {
                let mut cast = Cast::default();
                let mut story = crate::story::Story::default();
                let header = r#"{"version":2,"width":80,"height":24}"#.to_owned();
                let writes = [&whole[..at], &whole[at..]].map(|text| serde_json::json!([1, "o", text]).to_string());
                for line in std::iter::once(header).chain(writes) {
                    cast.line(line.as_bytes(), &mut Sink { story: &mut story, line: 1, at: None });
                }
                let shown: String = story.output.lines.iter().map(|line| line.text.as_str()).collect();
                assert_eq!(shown, "ab", "{whole:?} at {at}");
            }
        }
        assert_eq!(unfinished(&format!("\u{1b}[{}", "1".repeat(500))), 502);
    }

    #[test]
    fn the_rest_of_a_typescript_came_last() {
        let options =
            crate::Options { typescript: b"Script started on x\n$ x\r\nGo on? [Y/n] ".to_vec(), ..Default::default() };
        let imported = crate::import(&b"0.1 5\n1.0 3\n"[..], &options, &mut |_| {}).unwrap();
        assert_eq!((imported.guess.mechanism, imported.guess.end), ("B1", crate::End::Hung));
    }

    #[test]
    fn the_end_of_a_typescript_names_the_exit_code() {
        assert_eq!(end_of_script(b"\nScript done on 2026-11-20 [COMMAND_EXIT_CODE=\"3\"]\n"), Some(3));
        assert_eq!(end_of_script(b"and more output"), None);
    }
}
