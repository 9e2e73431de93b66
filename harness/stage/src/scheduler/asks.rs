//! What the agent asks and has no answer to yet, and whether a person at the terminal can read it.
//!
//! Invariant: no more of the terminal's text is kept than can be a beginning of the sought text.

use rehang_scenario::{Canon, turns::Question};
use rehang_trace::AskKind;

/// An open ask, as the agent states it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenAsk {
    /// The ask's id.
    pub id: String,
    /// Whether it is a question or a permission.
    pub kind: AskKind,
    /// The questions; empty for a permission.
    pub questions: Vec<Question>,
    /// The permission; empty for a question.
    pub permission: String,
    /// Whether a person at the terminal can read what it is about.
    pub shown: Shown,
}

/// Whether a text has come out on the terminal, in one write or over several.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    sought: String,
    /// The end of what has come out: as many bytes as can be a beginning of the text.
    tail: String,
    found: bool,
}

impl Shown {
    /// Nothing has come out yet.
    pub fn new(sought: &str) -> Shown {
        Shown { sought: sought.to_owned(), tail: String::new(), found: sought.is_empty() }
    }

    /// Whether the text can be read.
    pub fn is_found(&self) -> bool {
        self.found
    }

    /// Takes in text that came out on the terminal.
    pub fn print(&mut self, text: &str) {
        if self.found {
            return;
        }
        self.tail.push_str(text);
        self.found = self.tail.contains(&self.sought);
        let keeps = if self.found { 0 } else { self.sought.len() - 1 };
        let mut from = self.tail.len().saturating_sub(keeps);
        while !self.tail.is_char_boundary(from) {
            from -= 1;
        }
        self.tail.drain(..from);
    }

    fn canon(&self, canon: &mut Canon) {
        let Shown { sought, tail, found } = self;
        canon.text(sought).text(tail).flag(*found);
    }
}

impl OpenAsk {
    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let OpenAsk {
            id,
            kind,
            questions: _,  // not compared: an id has one text for good
            permission: _, // not compared: an id has one text for good
            shown,
        } = self;
        canon.text(id).num(*kind as u64);
        shown.canon(canon);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sought: &str, texts: &[&str]) -> Shown {
        let mut shown = Shown::new(sought);
        for text in texts {
            shown.print(text);
        }
        shown
    }

    #[test]
    fn a_text_is_seen_over_several_writes_and_little_is_kept() {
        assert!(shown("May I?", &["> Ma", "y I", "? [y/n]"]).is_found());
        assert!(!shown("May I?", &["May ", "we?", " I?"]).is_found());
        assert!(shown("", &[]).is_found());
        let spinner = shown("Größe?", &["⠋ working…\r", "⠙ working…\r", "Gr"]);
        assert!(spinner.tail.len() < "Größe?".len() + 3, "{spinner:?}");
        assert!(shown("Größe?", &["⠋ working…\r", "Grö", "ße?"]).is_found());
    }
}
