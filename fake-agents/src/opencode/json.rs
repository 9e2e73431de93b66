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

/// Whether nothing in a text is escaped, as in most texts: eight bytes at a time.
fn is_plain(text: &str) -> bool {
    let (words, rest) = text.as_bytes().as_chunks();
    let last = match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        // the two halves overlap
        (Some([a, b, c, d]), Some([e, f, g, h])) => [*a, *b, *c, *d, *e, *f, *g, *h],
        _ => std::array::from_fn(|at| rest.get(at).copied().unwrap_or(b' ')),
    };
    words.iter().all(word_is_plain) && word_is_plain(&last)
}

fn word_is_plain(word: &[u8; 8]) -> bool {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const TOP: u64 = EACH << 7;
    // whether a byte is below a limit of 128 at most, by the bit that it borrows
    let below = |word: u64, limit: u64| word.wrapping_sub(EACH * limit) & !word & TOP;
    let word = u64::from_ne_bytes(*word);
    let holds = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    below(word, u64::from(b' ')) | holds(b'"') | holds(b'\\') == 0
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
        // each character at each place of a word and of what is left behind words
        for c in (0..=u8::MAX).map(char::from).chain(['→', '😀']) {
            for at in 0..12 {
                let mut text = "~ !ab#[]^_`z".to_owned();
                text.insert(at, c);
                let quoted = quoted(&text);
                assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
                assert_eq!(quoted.len() == text.len() + 2, is_plain(&text), "{text:?}");
                assert_eq!(is_plain(&text), !text.bytes().any(is_escaped), "{text:?}");
            }
        }
    }
}
