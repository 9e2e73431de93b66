//! What was taken of a log, and what could not be used.
//!
//! Invariant: every piece is counted once, as taken or as unusable; names are bounded in number and length, and hold
//! nothing that must be masked.

use crate::limits;
use crate::mask::Mask;
use serde::Serialize;
use std::collections::BTreeMap;

/// What was taken of a log, and what could not be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Took {
    /// Lines or elements that were read.
    pub pieces: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Events that were taken, by kind.
    pub taken: BTreeMap<String, u64>,
    /// Events that say nothing about the run (catalogues, heartbeats), by kind.
    pub passed_over: BTreeMap<String, u64>,
    /// NUL bytes that were skipped.
    pub nul_bytes: u64,
    /// The places in which they were.
    pub holes: u64,
    /// What could not be used, by reason.
    pub unusable: BTreeMap<String, Trouble>,
}

/// Something that could not be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// How often.
    pub count: u64,
    /// The first line with it.
    pub first_line: u64,
    /// The beginning of that line; masked before it is shown.
    pub excerpt: String,
}

impl Took {
    /// Counts an event that was taken.
    pub fn take(&mut self, kind: &str) {
        count(&mut self.taken, kind);
    }

    /// Counts an event that says nothing.
    pub fn pass(&mut self, kind: &str) {
        count(&mut self.passed_over, kind);
    }

    /// Counts what could not be used.
    pub fn trouble(&mut self, why: &str, line: u64, bytes: &[u8]) {
        let full = self.unusable.len() >= limits::KINDS && !self.unusable.contains_key(why);
        let why = if full { "other" } else { why };
        let entry = self.unusable.entry(why.to_owned()).or_default();
        if entry.count == 0 {
            entry.first_line = line;
            entry.excerpt = String::from_utf8_lossy(&bytes[..bytes.len().min(limits::TEXT_BYTES)]).into_owned();
        }
        entry.count += 1;
    }

    /// How many events were taken.
    pub fn total(&self) -> u64 {
        self.taken.values().sum()
    }

    /// How many pieces could not be used.
    pub fn lost(&self) -> u64 {
        self.unusable.values().map(|t| t.count).sum()
    }
}

/// How many events of a kind were taken, in words.
pub fn counted(kind: &str, n: u64) -> String {
    match kind.strip_prefix("line") {
        Some(rest) if n != 1 => format!("{n} lines{rest}"),
        _ => format!("{n} {kind}"),
    }
}

fn count(counts: &mut BTreeMap<String, u64>, kind: &str) {
    if let Some(n) = counts.get_mut(kind) {
        *n += 1;
        return;
    }
    let plain = kind.len() <= 60 && kind.chars().all(|c| c.is_ascii_alphanumeric() || " .:_/-".contains(c));
    let named = plain && counts.len() < limits::KINDS && Mask::default().text(kind) == kind;
    *counts.entry(if named { kind } else { "other" }.to_owned()).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_a_secret_has_no_name() {
        let mut took = Took::default();
        let secret = ["sk", "-ant-api03-Gr4yH3ron7Gr4yH3ron7"].concat();
        for kind in ["server.heartbeat", &secret, "/home/jane/x", &secret, "server.heartbeat"] {
            took.pass(kind);
        }
        let expected = [("other".to_owned(), 3), ("server.heartbeat".to_owned(), 2)];
        assert_eq!(took.passed_over, BTreeMap::from(expected));
    }
}
