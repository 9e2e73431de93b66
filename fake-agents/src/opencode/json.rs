//! JSON written by hand: an event is a few appends to one string, and no tree is built for it.
//!
//! Invariant: what is appended is valid JSON whatever the texts hold.

use std::fmt::Write as _;

/// The bytes that a JSON string must escape. All are ASCII, so none is part of a longer character.
const ESCAPED: [bool; 256] = {
    let mut escaped = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        escaped[byte] = true;
        byte += 1;
    }
    escaped[b'"' as usize] = true;
    escaped[b'\\' as usize] = true;
    escaped
};

/// Appends a text as a JSON string.
pub fn quote(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    while let Some(plain) = text.as_bytes()[from..].iter().position(|&byte| ESCAPED[usize::from(byte)]) {
        let at = from + plain;
        let byte = text.as_bytes()[at];
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            _ => "",
        };
        out.push_str(&text[from..at]);
        from = at + 1;
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

/// Appends `"key":"text"`.
pub fn field(out: &mut String, key: &str, text: &str) {
    out.push('"');
    out.push_str(key);
    out.push_str("\":");
    quote(out, text);
}

/// Appends `,"key":"text"`.
pub fn next_field(out: &mut String, key: &str, text: &str) {
    out.push(',');
    field(out, key, text);
}

/// Appends a number in decimal.
pub fn number(out: &mut String, n: u64) {
    let _ = write!(out, "{n}");
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
