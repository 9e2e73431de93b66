//! Bytes that have arrived and are not yet understood.
//!
//! Invariant: what was taken is gone; the memory held is at most twice what is unread, plus one block.

use rehang_scenario::{Canon, Canonical};

/// Below this many taken bytes, moving the rest forward costs more than it frees.
const COMPACT_FROM: usize = 4_096;

/// A queue of bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    at: usize,
}

impl Buffer {
    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What is unread.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Gives up to `n` bytes away.
    pub(crate) fn take(&mut self, n: usize) -> Vec<u8> {
        let n = n.min(self.rest().len());
        let taken = self.rest()[..n].to_vec();
        self.skip(n);
        taken
    }

    /// Drops up to `n` bytes.
    pub(crate) fn skip(&mut self, n: usize) {
        self.at = (self.at + n).min(self.bytes.len());
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        } else if self.at >= COMPACT_FROM && self.at >= self.bytes.len() / 2 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
    }
}

impl Canonical for Buffer {
    fn canon(&self, canon: &mut Canon) {
        let Self { bytes, at } = self;
        canon.bytes(&bytes[*at..]); // what was taken is gone, wherever its bytes still lie
    }
}
