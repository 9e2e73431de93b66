//! What a terminal answers: programs that draw a screen ask it for its kind, its colours and the cursor's place, and some end
//! if no answer comes.
//!
//! Invariant: it answers only what it is asked, with the screen as it is at that byte.

use serde::{Deserialize, Serialize};
use vt100::{Callbacks, Parser, Screen};

/// The device attributes (DA1) of a VT220 with colours.
const KIND: &str = "\x1b[?62;22c";
/// The secondary device attributes (DA2).
const VERSION: &str = "\x1b[>1;10;0c";
/// Its colours: light grey on black.
const COLOURS: [(&[u8], &str); 2] = [(b"10", "cccc/cccc/cccc"), (b"11", "0000/0000/0000")];

/// The Program Status Protocol: <https://www.superlogical.com/rex/docs/build/program-status>.
const PROGRAM_STATUS: &[u8] = b"7501";

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScreenSize {
    /// How many characters a row has.
    pub columns: u16,
    /// How many rows it has.
    pub rows: u16,
}

impl ScreenSize {
    /// That of a terminal if nothing else is said.
    pub const DEFAULT: ScreenSize = ScreenSize { columns: 120, rows: 40 };
}

/// A terminal that answers what it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenKind {
    /// Its size.
    pub size: ScreenSize,
    /// It answers that it understands the Program Status Protocol (OSC 7501).
    pub program_status: bool,
}

/// A terminal, as far as it answers.
pub struct Answers(Parser<Asked>);

/// What is to be answered.
struct Asked {
    answers: Vec<u8>,
    program_status: bool,
}

impl Answers {
    /// This terminal.
    pub fn new(kind: ScreenKind) -> Answers {
        let ScreenKind { size, program_status } = kind;
        let asked = Asked { answers: Vec::new(), program_status };
        Answers(Parser::new_with_callbacks(size.rows, size.columns, 0, asked))
    }

    /// Takes what a program wrote; returns what it is answered.
    pub fn hear(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.0.process(bytes);
        std::mem::take(&mut self.0.callbacks_mut().answers)
    }
}

impl Callbacks for Asked {
    fn unhandled_csi(&mut self, screen: &mut Screen, i1: Option<u8>, i2: Option<u8>, params: &[&[u16]], c: char) {
        let first = params.first().and_then(|param| param.first()).copied().unwrap_or(0);
        let answer = match (i1, i2, c) {
            (None, None, 'n') if first == 5 => "\x1b[0n".to_owned(),
            (None | Some(b'?'), None, 'n') if first == 6 => {
                let (row, column) = screen.cursor_position();
                format!("\x1b[{};{}R", row + 1, column + 1)
            }
            (None, None, 'c') if first == 0 => KIND.to_owned(),
            (Some(b'>'), None, 'c') if first == 0 => VERSION.to_owned(),
            // DECRQM: this mode is not known
            (Some(b'?'), Some(b'$'), 'p') => format!("\x1b[?{first};0$y"),
            _ => return,
        };
        self.answers.extend_from_slice(answer.as_bytes());
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        let [number, b"?"] = params else { return };
        if *number == PROGRAM_STATUS && self.program_status {
            // only then some programs say their state
            self.answers.extend_from_slice(b"\x1b]7501;?\x1b\\");
        }
        if let Some((_, colour)) = COLOURS.iter().find(|(known, _)| known == number) {
            let number = String::from_utf8_lossy(number);
            self.answers.extend_from_slice(format!("\x1b]{number};rgb:{colour}\x1b\\").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_where_the_cursor_is_and_what_it_is() {
        let size = ScreenSize { columns: 80, rows: 24 };
        let hear = |terminal: &mut Answers, text: &str| String::from_utf8(terminal.hear(text.as_bytes())).unwrap();
        let terminal = &mut Answers::new(ScreenKind { size, program_status: false });
        assert_eq!(hear(terminal, "\x1b[2J\x1b[3;5Hab\x1b[6n"), "\x1b[3;7R");
        let asked = "\x1b[c\x1b]11;?\x07\x1b[?2026$p";
        assert_eq!(hear(terminal, asked), "\x1b[?62;22c\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?2026;0$y");
        let (status, plain) = ("\x1b]7501;?\x1b\\", "plain text\x1b[?u\x1b]0;title\x07\x1b]7501;state=idle\x1b\\");
        assert_eq!((hear(terminal, status), hear(terminal, plain)), (String::new(), String::new()));
        let terminal = &mut Answers::new(ScreenKind { size, program_status: true });
        assert_eq!((hear(terminal, status), hear(terminal, plain)), (status.to_owned(), String::new()));
    }
}
