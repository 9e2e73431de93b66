//! Checks the raw bytes before they are parsed: whether they are text, and not too much of it.
//!
//! Invariant: one pass without recursion, in step with TOML's strings and comments. What passes cannot take the
//! parser's stack or its time.

use crate::limits;
use crate::problem::{Problem, Sink, hidden};

/// The result of the check.
pub(crate) enum Scanned {
    /// The text may be parsed.
    Parse(String),
    /// The text may not be parsed: the sink says why, and this is the part of it that can be shown.
    Show(String),
}

/// Checks a file. What keeps it from being parsed goes into the sink.
pub(crate) fn scan(bytes: &[u8], sink: &mut Sink) -> Scanned {
    if bytes.len() > limits::FILE_BYTES {
        let text = String::from_utf8_lossy(&bytes[..limits::FILE_BYTES]).into_owned();
        let mib = bytes.len().div_ceil(1 << 20);
        sink.push(
            Problem::new(text.len()..text.len(), format!("the file has {} bytes, more than 1 MiB", bytes.len()))
                .label("the first MiB ends here")
                .help(format!("split it into {mib} or more files: a scenario is read by people")),
        );
        return Scanned::Show(text);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let text = String::from_utf8_lossy(bytes).into_owned();
            sink.push(
                Problem::new(at..at + 1, format!("byte {at} (0x{:02x}) is no UTF-8", bytes[at]))
                    .label("here")
                    .help("save the file as UTF-8"),
            );
            return Scanned::Show(text);
        }
    };
    match too_much(text, sink) {
        // A checkout with other line ends is the same file, also in its texts of several lines.
        None => Scanned::Parse(text.replace("\r\n", "\n")),
        Some(problem) => {
            sink.push(problem);
            Scanned::Show(text.to_owned())
        }
    }
}

/// What the pass is in: a string, a comment, or neither.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Plain,
    Comment,
    Text { quote: u8, many: bool },
}

fn too_much(text: &str, sink: &mut Sink) -> Option<Problem> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut dots, mut values, mut headers) = (At::Plain, 0_usize, 0_usize, 0_usize, 0_usize);
    let (mut fresh, mut header) = (true, false);
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        let triple = |q: u8| bytes[i..].starts_with(&[q, q, q]);
        unseen(text, i, sink);
        match at {
            At::Comment if b == b'\n' => at = At::Plain,
            At::Comment => {}
            At::Text { many: false, .. } if b == b'\n' => at = At::Plain,
            At::Text { quote: b'"', .. } if b == b'\\' => {
                i += usize::from(bytes.get(i + 1).is_some_and(|b| *b != b'\n'))
            }
            At::Text { quote, many: true } if triple(quote) => {
                // `""""` ends a text with a quote in it: all quotes in a row belong to the end.
                i += bytes[i..].iter().take(5).take_while(|&&b| b == quote).count() - 1;
                at = At::Plain;
            }
            At::Text { quote, many: false } if b == quote => at = At::Plain,
            At::Text { .. } => {}
            At::Plain => match b {
                b'#' => at = At::Comment,
                b'"' | b'\'' if triple(b) => {
                    at = At::Text { quote: b, many: true };
                    i += 2;
                }
                b'"' | b'\'' => at = At::Text { quote: b, many: false },
                b'[' | b'{' => {
                    if fresh && depth == 0 && b == b'[' {
                        header = true;
                        headers += 1;
                    }
                    depth += 1;
                    dots = 0;
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b'.' => dots += 1,
                b'=' | b',' => {
                    values += 1;
                    dots = 0;
                }
                _ => {}
            },
        }
        let here = i.min(bytes.len() - 1);
        let too_deep = depth > limits::BRACKETS || dots > limits::BRACKETS;
        let what = match () {
            () if too_deep => format!("nested deeper than {}", limits::NESTING),
            () if values > limits::VALUES => format!("more than {} values", limits::VALUES),
            () if headers > limits::HEADERS => format!("more than {} table headers", limits::HEADERS),
            () => String::new(),
        };
        if !what.is_empty() {
            return Some(
                Problem::new(here..here + 1, what)
                    .label("from here on")
                    .help("a scenario is read by people: make it smaller"),
            );
        }
        if bytes[here] == b'\n' {
            if header {
                depth = 0;
            }
            (fresh, header, dots) = (true, false, 0);
        } else if !matches!(b, b' ' | b'\t' | b'\r') {
            fresh = false;
        }
        i += 1;
    }
    None
}

/// Control characters and marks that turn the reading direction make a file look like another one.
fn unseen(text: &str, i: usize, sink: &mut Sink) {
    let bytes = text.as_bytes();
    let suspect = match bytes[i] {
        b'\n' | b'\t' => false,
        b'\r' => bytes.get(i + 1) != Some(&b'\n'),
        b if b < 0x20 || b == 0x7f => true,
        0xc2 | 0xe2 | 0xef => text[i..].chars().next().is_some_and(hidden) && i > 0,
        _ => false,
    };
    if !suspect {
        return;
    }
    let Some(c) = text[i..].chars().next() else { return };
    sink.push(
        Problem::new(i..i + c.len_utf8(), format!("control character U+{:04X}", u32::from(c)))
            .label("cannot be seen")
            .help(format!("remove it, or write it as `\\u{:04X}` in a text that may hold it", u32::from(c))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(text: &str) -> Option<(String, usize)> {
        too_much(text, &mut Sink::default()).map(|problem| (problem.message, problem.span.start))
    }

    #[test]
    fn each_limit_holds_to_the_last_one() {
        let at_limit = |most: usize, one: &str, message: &str| {
            assert_eq!(what(&one.repeat(most)), None, "{one:?}");
            let over = what(&one.repeat(most + 1)).map(|(said, _)| said);
            assert_eq!(over.as_deref(), Some(message), "{one:?}");
        };
        let deep = format!("nested deeper than {}", limits::NESTING);
        at_limit(limits::BRACKETS, "[", &deep);
        at_limit(limits::BRACKETS, "{", &deep);
        at_limit(limits::BRACKETS, ".", &deep);
        let many = format!("more than {} values", limits::VALUES);
        at_limit(limits::VALUES, ",", &many);
        at_limit(limits::VALUES, "=\n", &many);
        let headers = format!("more than {} table headers", limits::HEADERS);
        at_limit(limits::HEADERS, "[a]\n", &headers);
        at_limit(limits::HEADERS, " \t[[a]]\r\n", &headers);
        assert_eq!(
            what(&"[".repeat(limits::BRACKETS + 9)),
            Some((deep, limits::BRACKETS)),
            "at the first one too many"
        );
    }

    #[test]
    fn what_has_ended_does_not_count() {
        let often = limits::HEADERS + limits::BRACKETS + 5;
        // lists that are no headers, and what is closed
        for text in ["a = [[1]]\n", "[]", "{}", "]", "x.y = 1\n", "x.y,", "x.y\n", "[[\n"] {
            assert_eq!(what(&text.repeat(if text == "[[\n" { 5 } else { often })), None, "{text:?}");
        }
        // texts and comments hold no brackets
        let texts = ["# [[[\n", r#""[[[""#, "'[[['", r#""\"[[""#, r"'[\'", "\"[\n", "'[\n"];
        for text in texts {
            assert_eq!(what(&text.repeat(often)), None, "{text:?}");
        }
        // an end takes all quotes in a row with it
        for text in ["\"\"\"[\n[\"\"\"", "'''[\n['''", r#""""[\"""""#, r#""""[""""""#] {
            assert_eq!(what(&format!("{text}\n").repeat(often)), None, "{text:?}");
        }
        // what comes after the end of a text does
        for text in
            [r#"""=["#, "''=[", r#"""""""=["#, "# \n=[", r#""\\"=["#, "\"\n=[", r"'\'=[", "'''x'''[", r#""""x"""{"#]
        {
            assert!(what(&text.repeat(often)).is_some(), "{text:?}");
        }
        assert_eq!(what(""), None);
    }

    #[test]
    fn what_cannot_be_seen_is_said_with_its_place() {
        let seen = |text: &str| {
            let mut sink = Sink::default();
            assert_eq!(too_much(text, &mut sink).map(|problem| problem.message), None);
            sink.into_list().into_iter().map(|problem| (problem.span, problem.message)).collect::<Vec<_>>()
        };
        let count = |text: &str| seen(text).len();
        assert_eq!(["a\n\tb", "a\r\nb", "é…🦀", "\u{feff}a"].map(count), [0; 4]);
        let unseen = ["a\rb", "a\r", "\u{0}", "\u{1f}", "\u{7f}", "a\u{feff}", "a\u{200b}", "a\u{85}", "# \u{1b}"];
        assert_eq!(unseen.map(count), [1; 9]);
        assert_eq!(seen("ab\u{202e}"), [(2..5, "control character U+202E".to_owned())]);
    }

    #[test]
    fn a_file_is_parsed_if_it_is_text_and_not_too_large() {
        let of = |bytes: &[u8]| {
            let mut sink = Sink::default();
            let (parsed, text) = match scan(bytes, &mut sink) {
                Scanned::Parse(text) => (true, text),
                Scanned::Show(text) => (false, text),
            };
            let said: Vec<_> = sink.into_list().into_iter().map(|problem| (problem.span, problem.message)).collect();
            (parsed, text, said)
        };
        assert_eq!(of(b"a = 1\r\nb\n"), (true, "a = 1\nb\n".to_owned(), Vec::new()));
        let (parsed, text, said) = of(&vec![b'\n'; limits::FILE_BYTES]);
        assert_eq!((parsed, text.len(), said.len()), (true, limits::FILE_BYTES, 0));
        let (parsed, text, said) = of(&vec![b'\n'; limits::FILE_BYTES + 1]);
        let end = limits::FILE_BYTES..limits::FILE_BYTES;
        let why = "the file has 1048577 bytes, more than 1 MiB".to_owned();
        assert_eq!((parsed, text.len(), said), (false, limits::FILE_BYTES, vec![(end, why)]));
        let (parsed, text, said) = of(b"ab\xffcd");
        assert_eq!((parsed, text.as_str()), (false, "ab\u{fffd}cd"));
        assert_eq!(said, [(2..3, "byte 2 (0xff) is no UTF-8".to_owned())]);
        let (parsed, text, said) = of("[".repeat(99).as_bytes());
        assert_eq!((parsed, text.len(), said.len()), (false, 99, 1));
    }

    #[test]
    fn a_header_is_a_bracket_at_the_begin_of_a_line_outside_of_all_others() {
        let most = limits::HEADERS;
        let headers = |line: &str| what(&line.repeat(most + 1)).is_some_and(|(said, _)| said.ends_with("headers"));
        for line in ["[a]\n", "[[a]]\n", " [a] # x\n", "[a]\r\n", "\t[a]\n"] {
            assert!(headers(line), "{line:?}");
        }
        for line in ["x [a]\n", "{}\n", "{[a]}\n", "# [a]\n", "'[a]'\n", "\"\"[]\n", ".[a]\n"] {
            assert!(!headers(line), "{line:?}");
        }
        // an open bracket of a header ends with its line, and that of a list does not
        assert_eq!(what(&"[a\n".repeat(limits::BRACKETS + 1)), None);
        assert!(what(&"x[\n".repeat(limits::BRACKETS + 1)).is_some());
        assert!(what(&"{\n".repeat(limits::BRACKETS + 1)).is_some());
        // dots count within one key
        assert!(what(&"a.".repeat(limits::BRACKETS + 1)).is_some());
        for end in ["\n", "=", ",", "["] {
            let key = format!("{}{end}", ".".repeat(limits::BRACKETS));
            assert_eq!(what(&key.repeat(3)), None, "{end:?}");
        }
    }
}
