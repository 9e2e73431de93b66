//! All that went over a cell's wires, in order.
//!
//! Invariant: its size is limited, whatever an agent prints; what was left out is counted.

use crate::report::{Line, Via};
use std::time::Instant;

/// The most lines that are kept.
const LINES_MAX: usize = 20_000;
/// The longest line that is kept whole, in bytes.
const LINE_MAX_BYTES: usize = 256 * 1024;
/// How much is kept in all, in bytes.
const KEPT_MAX_BYTES: usize = 32 << 20;

/// What went over the wires.
#[derive(Debug)]
pub struct Record {
    began: Instant,
    lines: Vec<Line>,
    kept_bytes: usize,
    left_out: u64,
}

impl Record {
    /// Begins now.
    pub fn new() -> Record {
        Record { began: Instant::now(), lines: Vec::new(), kept_bytes: 0, left_out: 0 }
    }

    /// Milliseconds since it began.
    pub fn ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Notes a line.
    pub fn note(&mut self, via: Via, text: &str) {
        let mut text = text;
        if text.len() > LINE_MAX_BYTES {
            let end = (0..=LINE_MAX_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text = &text[..end];
        }
        if self.lines.len() >= LINES_MAX || self.kept_bytes + text.len() > KEPT_MAX_BYTES {
            self.left_out += 1;
            return;
        }
        self.kept_bytes += text.len();
        self.lines.push(Line { ms: self.ms(), via, text: text.to_owned() });
    }

    /// The lines, and how many were left out.
    pub fn into_parts(self) -> (Vec<Line>, u64) {
        (self.lines, self.left_out)
    }
}

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
pub struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Takes bytes; returns the lines that are whole now, without their ends. A line that is longer than the limit is
    /// cut there.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let mut lines = Vec::new();
        while let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..line.len() - 1]).into_owned();
            lines.push(line.trim_end_matches('\r').to_owned());
        }
        if self.rest.len() > LINE_MAX_BYTES {
            lines.push(String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned());
        }
        lines
    }

    /// What follows the last line's end.
    pub fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.rest);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_kept() {
        let mut record = Record::new();
        for _ in 0..LINES_MAX + 3 {
            record.note(Via::Stdout, "x");
        }
        let (lines, left_out) = record.into_parts();
        assert_eq!((lines.len(), left_out), (LINES_MAX, 3));
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let mut lines = Lines::default();
        assert!(lines.take(b"a").is_empty());
        assert_eq!(lines.take(b"b\r\ncd\ne"), ["ab", "cd"]);
        assert_eq!(lines.rest().as_deref(), Some("e"));
        assert_eq!(lines.rest(), None);
    }
}
