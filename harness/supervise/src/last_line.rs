//! The last line of what a command has written: the prompt, where it waits for an answer.
//!
//! Invariant: bounded, and without the sequences by which a terminal is painted.

/// How much of the output is kept, in bytes.
const KEPT: usize = 2_048;
/// The most characters of a line that are told.
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

    /// The last line that has anything in it; empty where there is none.
    pub fn text(&self) -> String {
        let text = plain(&String::from_utf8_lossy(&self.0));
        let mut lines = text.rsplit(['\n', '\r']).map(str::trim);
        let last = lines.find(|line| !line.is_empty()).unwrap_or_default();
        last.chars().take(MAX_CHARS).collect()
    }
}

/// Without control sequences (ECMA-48: ESC `[`, parameters, a final byte; ESC `]` up to BEL or ESC `\`; ESC and one more) and
/// other control characters.
fn plain(text: &str) -> String {
    let (mut kept, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => match chars.next() {
                Some('[') => drop(chars.find(|c| ('@'..='~').contains(c))),
                Some(']') => {
                    let mut before = ' ';
                    let ends = |c: &char| *c == '\x07' || (std::mem::replace(&mut before, *c) == '\x1b' && *c == '\\');
                    let _ = chars.find(ends);
                }
                _ => {}
            },
            '\n' | '\r' => kept.push(c),
            c if c.is_control() => {}
            c => kept.push(c),
        }
    }
    kept
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
