//! Lines of JSON out of a stream's bytes, for strategies that read every line as it comes.
//!
//! Invariant: at most [`LINE_MAX`] bytes are held; a longer line is skipped as a whole, and so is a line that is not
//! JSON or is indented: a screen shows a tool's output that way, and it is not the agent's own message.

use rehang_words::Canon;
use serde_json::Value;

/// The longest line that is read, in bytes.
pub const LINE_MAX: usize = 1 << 20;

/// The part of a line that has come so far.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    part: Vec<u8>,
    skips: bool,
}

impl Lines {
    /// Takes bytes, and returns the objects of the lines that they complete.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Value> {
        let mut whole = Vec::new();
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            let ends = piece.last() == Some(&b'\n');
            self.skips |= self.part.len() + piece.len() > LINE_MAX;
            if !self.skips {
                self.part.extend_from_slice(piece);
            }
            if ends {
                if !self.skips && self.part.first() == Some(&b'{') {
                    whole.extend(serde_json::from_slice(&self.part).ok().filter(Value::is_object));
                }
                self.part.clear();
                self.skips = false;
            }
        }
        whole
    }

    /// Whether the last line is an object that was cut off.
    pub fn is_cut(&self) -> bool {
        let begins = self.part.first() == Some(&b'{');
        begins && serde_json::from_slice::<Value>(&self.part).is_err()
    }

    /// Writes the state that affects how a later byte is read.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { part, skips } = self;
        canon.flag(*skips).bytes(part);
    }
}

/// The blocks of a message's content: `[]` if there is none, or if it is a text.
pub fn blocks(message: &Value) -> &[Value] {
    message["message"]["content"].as_array().map_or(&[], Vec::as_slice)
}

/// The text at a key; empty if there is none.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_is_read_when_it_is_whole() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"{\"a\":"), [Value::Null; 0]);
        assert_eq!(lines.take(b"1}\n{\"b\":2}\n{"), [json!({"a": 1}), json!({"b": 2})]);
        assert_eq!(lines.take(b"}\n"), [json!({})]);
    }

    #[test]
    fn what_is_no_object_is_skipped_as_a_whole() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"hello\n[1]\n7\n  {\"b\":1}\n{\"a\":1}\n"), [json!({"a": 1})]);
    }

    #[test]
    fn an_object_is_cut_until_it_is_whole_with_or_without_an_end_of_line() {
        let mut lines = Lines::default();
        let cut = ["", "x", "\n", "{\"a\":", "1}", "\n", "{"].map(|bytes| {
            lines.take(bytes.as_bytes());
            lines.is_cut()
        });
        assert_eq!(cut, [false, false, false, true, false, false, true]);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit() {
        let line = |bytes: usize| format!("{{}}{}\n", " ".repeat(bytes - 3));
        let read = |first: &str, rest: &str| {
            let mut lines = Lines::default();
            let first = lines.take(first.as_bytes()).len();
            let held = lines.part.len();
            (first, held, lines.take(rest.as_bytes()).len())
        };
        assert_eq!(read(&line(LINE_MAX), "{}\n"), (1, 0, 1));
        assert_eq!(read(&line(LINE_MAX + 1), "{}\n"), (0, 0, 1), "the next line is read again");
        // in pieces: what follows a part that was too long belongs to the same line
        let part = " ".repeat(LINE_MAX);
        assert_eq!(read(&part, "{}\n{}\n"), (0, LINE_MAX, 1));
    }

    #[test]
    fn what_a_message_does_not_have_is_empty() {
        let message = json!({"type": "user", "message": {"content": [{"type": "text"}]}});
        assert_eq!((text(&message, "type"), text(&message, "message"), text(&message, "id")), ("user", "", ""));
        assert_eq!(blocks(&message), [json!({"type": "text"})]);
        assert!(blocks(&json!({"message": {"content": "text"}})).is_empty());
    }
}
