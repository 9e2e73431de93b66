//! JSON written by hand: an event is a few appends to one string, and no tree is built for it.
//!
//! Invariant: what is appended is valid JSON whatever the texts hold.

use std::fmt::Write as _;

/// Appends `"key":"text"`. The key is a literal that needs no escape, so all that comes before the text is one append.
macro_rules! field {
    ($out:expr, $key:literal, $text:expr $(,)?) => {{
        let out: &mut String = $out;
        out.push_str(concat!("\"", $key, "\":\""));
        $crate::opencode::json::quote_rest(out, $text);
    }};
}
pub(crate) use field;

/// Appends `,"key":"text"`, as [`field`] does.
macro_rules! next_field {
    ($out:expr, $key:literal, $text:expr $(,)?) => {{
        let out: &mut String = $out;
        out.push_str(concat!(",\"", $key, "\":\""));
        $crate::opencode::json::quote_rest(out, $text);
    }};
}
pub(crate) use next_field;

/// Appends a text as a JSON string.
pub fn quote(out: &mut String, text: &str) {
    out.push('"');
    quote_rest(out, text);
}

/// Appends a text as a JSON string whose first quote has been appended.
pub fn quote_rest(out: &mut String, text: &str) {
    out.reserve(text.len() + 1);
    match is_plain(text) {
        true => out.push_str(text),
        false => escape(out, text),
    }
    out.push('"');
}

fn escape(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(is_escaped) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            byte => drop(write!(out, "\\u{byte:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Whether nothing in a text is escaped. It looks at all bytes, many at a time: most texts are plain.
fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & !is_escaped(byte))
}

/// Whether a JSON string must escape this byte. All such bytes are ASCII, so none is part of a longer character.
fn is_escaped(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

/// Appends a number in decimal.
pub fn number(out: &mut String, n: u64) {
    out.push_str(itoa::Buffer::new().format(n));
}

/// Appends a list of JSON strings.
pub fn strings(out: &mut String, texts: &[String]) {
    out.push('[');
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        quote(out, text);
    }
    out.push(']');
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_survives() {
        for text in ["", "plain", "a\"b\\c\nd\te\r", "\u{1}\u{1f}", "ü→😀", "\u{7f}"] {
            assert_eq!(serde_json::from_str::<String>(&quoted(text)).unwrap(), text);
        }
    }
}
