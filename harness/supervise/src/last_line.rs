//! The last line of what a command has written: the prompt, if it waits for an answer.
//!
//! Invariant: bounded, and without a terminal's control sequences.

use rehang_words::text::{visible, without_controls};

/// How much of the output is kept, in bytes.
const KEPT: usize = 2_048;
/// The most characters of a line that are reported.
const MAX_CHARS: usize = 200;

/// The end of the output.
#[derive(Debug, Default)]
pub struct LastLine(Vec<u8>);

impl LastLine {
    /// Takes output.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let over = self.0.len().saturating_sub(KEPT);
        self.0.drain(..over);
    }

    /// The last line that is not blank; empty if there is none.
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let mut lines = text.rsplit(['\n', '\r']).map(|line| without_controls(line).trim().to_owned());
        let last = lines.find(|line| !line.is_empty()).unwrap_or_default();
        visible(&last.chars().take(MAX_CHARS).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::LastLine;

    fn last(pieces: &[&str]) -> String {
        let mut line = LastLine::default();
        pieces.iter().for_each(|piece| line.add(piece.as_bytes()));
        line.text()
    }

    #[test]
    fn a_prompt_is_the_last_line_without_its_colours() {
        assert_eq!(last(&["Cloning\r\nUser", "name for 'https://x': "]), "Username for 'https://x':");
        assert_eq!(last(&["\x1b[1;32m? \x1b[0mOverwrite? \x1b]0;title\x07(y/N) \x1b[?25h"]), "? Overwrite? (y/N)");
        assert_eq!(last(&["a\n", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n\n"]), "link");
        assert_eq!(last(&[]), "");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut line = LastLine::default();
        (0..1_000).for_each(|_| line.add(&[b'x'; 100]));
        assert!(line.0.len() == 2_048 && line.text().len() == 200);
    }
}
