//! Bytes that have arrived and have not been parsed yet.
//!
//! Invariant: taken bytes are gone; the memory held is at most twice what is unread, plus one block.

use rehang_words::{Canon, Canonical};

/// If fewer bytes than this were taken, moving the rest forward costs more than it frees.
const COMPACT_FROM: usize = 4_096;

/// A queue of bytes that have arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    at: usize,
}

impl Buffer {
    /// Appends bytes at the end.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends bytes that are not needed elsewhere.
    pub(crate) fn push_vec(&mut self, bytes: Vec<u8>) {
        match self.rest().is_empty() {
            true => (self.bytes, self.at) = (bytes, 0),
            false => self.push(&bytes),
        }
    }

    /// The bytes that are unread.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Takes up to `n` bytes out.
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
        canon.bytes(&bytes[*at..]); // taken bytes are gone, even if they are still in memory
    }
}
