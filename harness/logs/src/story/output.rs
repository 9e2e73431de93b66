//! What a plain program printed.
//!
//! Invariant: the latest lines are kept. Of those that were dropped, the number is kept, and whether a secret that
//! spans several lines began in them.

use super::keep::{cut, kept};
use crate::limits;
use crate::mask::{Lines, Mask};
use std::collections::VecDeque;

/// Output of a plain program.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// The latest lines.
    pub lines: VecDeque<Printed>,
    /// How many earlier lines were dropped.
    pub before: u64,
    /// Somebody typed into the program at this instant.
    pub typed: Option<u64>,
    /// What the dropped lines say of the first line that is kept: see [`Lines`].
    lines_before: Lines,
    /// What was printed last, apart from spinners and counters.
    pub(super) shown: String,
}

/// A line of a plain program.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// When.
    pub at: u64,
    /// The number of the note that printed it: what came later has a higher one.
    pub order: u64,
    /// To stderr.
    pub stderr: bool,
    /// A logger wrote it.
    pub logged: bool,
    /// The line.
    pub text: String,
    /// It is a whole line.
    pub whole: bool,
}

impl Output {
    /// Takes what was printed by the note of this number.
    pub(super) fn print(&mut self, at: u64, order: u64, (stderr, logged): (bool, bool), text: &str) {
        for line in text.split_inclusive('\n') {
            let whole = line.ends_with('\n');
            let line = line.trim_end_matches(['\n', '\r']);
            match self.lines.back_mut().filter(|last| !last.whole && last.stderr == stderr) {
                Some(last) => {
                    let room = limits::TEXT_BYTES.saturating_sub(last.text.len());
                    last.text.push_str(cut(line, room));
                    last.whole = whole;
                    (last.at, last.order) = (at, order);
                }
                None => self.lines.push_back(Printed { at, order, stderr, logged, text: kept(line), whole }),
            }
        }
        while self.lines.len() > limits::LINES {
            if let Some(line) = self.lines.pop_front() {
                self.lines_before.take(&line.text);
            }
            self.before += 1;
        }
    }

    /// The latest lines that are not blank, the last one first.
    pub fn latest(&self) -> impl Iterator<Item = &Printed> {
        self.lines.iter().rev().filter(|line| !line.text.trim().is_empty())
    }

    /// Removes the parts of secrets that span several lines: a line is masked by itself, which would not show them.
    pub fn hide(&mut self, mask: &mut Mask) {
        let mut lines = self.lines_before;
        self.lines.retain_mut(|printed| match mask.line(&mut lines, &printed.text) {
            Some(text) => {
                printed.text = text;
                true
            }
            None => false,
        });
    }
}
