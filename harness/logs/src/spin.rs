//! What moves on a terminal without saying anything: spinners, and clocks that count beside them.
//!
//! Invariant: a text without a spinner and without a counted time stays as it is, except for the blanks around it.

/// The text without the frames of a spinner and without how long it has been turning.
pub fn still(text: &str) -> String {
    let text = text.trim();
    let mut out = String::with_capacity(text.len().min(200));
    let mut rest = text.strip_prefix(['|', '/', '-', '\\']).filter(|rest| rest.starts_with(' ')).unwrap_or(text);
    while let Some(c) = rest.chars().next() {
        if c.is_ascii_digit() {
            let (number, behind) = rest.split_at(clock(rest));
            let counted = counts(behind, number);
            if counted.is_none() {
                out.push_str(number);
            }
            rest = &behind[counted.unwrap_or(0)..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if !frame(c) {
            out.push(c);
        }
    }
    out.trim().to_owned()
}

/// Whether a spinner is in it.
pub fn turns(text: &str) -> bool {
    text.chars().any(frame)
}

/// A frame of the spinners that programs use.
fn frame(c: char) -> bool {
    matches!(c, '\u{2800}'..='\u{28ff}' | '\u{25d0}'..='\u{25d3}' | '\u{25dc}'..='\u{25e1}' | '\u{25f4}'..='\u{25f7}')
        || matches!(c, '✢' | '✳' | '✶' | '✺' | '✻' | '✽')
}

/// The bytes of a number, or of a clock's `1:02`.
fn clock(text: &str) -> usize {
    text.bytes().position(|b| !b.is_ascii_digit() && b != b':' && b != b'.').unwrap_or(text.len())
}

/// How many bytes after a number are its unit of time, with the blanks around it; `None` if it does not count time.
fn counts(behind: &str, number: &str) -> Option<usize> {
    let unit = behind.trim_start_matches(' ');
    let letters = unit.bytes().position(|b| !b.is_ascii_alphabetic()).unwrap_or(unit.len());
    let named = matches!(&unit[..letters], "s" | "m" | "h" | "ms" | "sec" | "secs" | "seconds" | "min");
    let blanks = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let end = blanks(behind) + letters;
    (named || number.contains(':')).then_some(if named { end + blanks(&behind[end..]) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinner_stands_still_and_progress_does_not() {
        for (one, other) in [
            ("⠋ Installing", "⠙ Installing"),
            ("✻ Thinking… (9s · esc to interrupt)", "✶ Thinking… (1m 12s · esc to interrupt)"),
            ("waiting for a lock 0:59", "waiting for a lock 1:00"),
            ("| x", "/ x"),
        ] {
            assert_eq!(still(one), still(other));
        }
        for (one, other) in [("45 % done", "46 % done"), ("[1/20] cc", "[2/20] cc"), ("a.rs:12", "b.rs:12")] {
            assert_ne!(still(one), still(other));
        }
        assert_eq!(still(" Compiling x v1.2.3 "), "Compiling x v1.2.3");
    }
}
