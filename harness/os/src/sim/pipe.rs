//! A pipe as Linux keeps it: sixteen pages; a page that has been begun is filled up only by a write that fits.
//!
//! Invariant: capacity counts pages, not bytes (`fs/pipe.c`, `pipe_write`): 2,049-byte writes fill it at
//! 32,784 bytes, 4,097-byte writes at 45,066. A write of at most 4,096 bytes is whole or not at all.

use rehang_scenario::Canon;
use std::collections::VecDeque;

/// Bytes of a page, and `PIPE_BUF`.
const PAGE: usize = 4096;
/// Pages of a pipe of 65,536 bytes, the default of Linux.
const PAGES: usize = 16;

/// The content of one pipe, and who has it open.
#[derive(Debug, Default)]
pub struct Pipe {
    pages: VecDeque<Vec<u8>>,
    /// How many bytes of the first page have been read.
    read: usize,
    /// How many read ends are open.
    pub readers: u32,
    /// How many write ends are open.
    pub writers: u32,
}

impl Pipe {
    /// Whether `poll` calls the write end writable.
    pub fn writable(&self) -> bool {
        self.readers == 0 || self.pages.len() < PAGES
    }

    /// Whether `poll` calls the read end readable.
    pub fn readable(&self) -> bool {
        !self.pages.is_empty() || self.writers == 0
    }

    /// Takes as many bytes as fit; 0 means full.
    pub fn write(&mut self, mut bytes: &[u8]) -> usize {
        let mut took = 0;
        let head = bytes.len() % PAGE;
        if head > 0
            && let Some(last) = self.pages.back_mut()
            && last.len() + head <= PAGE
        {
            last.extend_from_slice(&bytes[..head]);
            bytes = &bytes[head..];
            took += head;
        }
        while !bytes.is_empty() && self.pages.len() < PAGES {
            let n = bytes.len().min(PAGE);
            let mut page = Vec::with_capacity(n);
            page.extend_from_slice(&bytes[..n]);
            self.pages.push_back(page);
            bytes = &bytes[n..];
            took += n;
        }
        took
    }

    /// Removes at most `max` bytes.
    pub fn read(&mut self, max: usize) -> Vec<u8> {
        let read = self.read;
        // most readers take what a writer wrote as it is
        let mut out = self.pages.pop_front_if(|page| read == 0 && page.len() <= max).unwrap_or_default();
        while out.len() < max
            && let Some(page) = self.pages.front()
        {
            let n = (page.len() - self.read).min(max - out.len());
            out.extend_from_slice(&page[self.read..self.read + n]);
            self.read += n;
            if self.read == page.len() {
                self.pages.pop_front();
                self.read = 0;
            }
        }
        out
    }

    /// The content, page by page: where the pages break decides what fits.
    pub fn canon(&self, canon: &mut Canon) {
        let Pipe { pages, read, readers, writers } = self;
        canon.num(*read as u64).num(u64::from(*readers)).num(u64::from(*writers)).num(pages.len() as u64);
        for page in pages {
            canon.bytes(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled_by(size: usize) -> usize {
        let mut pipe = Pipe { readers: 1, writers: 1, ..Pipe::default() };
        let block = vec![b'x'; size];
        let mut total = 0;
        loop {
            match pipe.write(&block) {
                0 => return total,
                n => total += n,
            }
        }
    }

    #[test]
    fn fills_where_the_kernel_does() {
        // measured on Linux 6.18
        assert_eq!(filled_by(2_049), 32_784);
        assert_eq!(filled_by(4_097), 45_066);
        assert_eq!(filled_by(3_000), 48_000);
        assert_eq!(filled_by(4_096), 65_536);
    }

    #[test]
    fn one_byte_read_of_a_full_pipe_does_not_make_it_writable() {
        let mut pipe = Pipe { readers: 1, writers: 1, ..Pipe::default() };
        assert_eq!(pipe.write(&[b'x'; 65_536]), 65_536);
        assert_eq!(pipe.read(1).len(), 1);
        assert!(!pipe.writable());
        assert_eq!(pipe.read(4_095).len(), 4_095);
        assert!(pipe.writable());
    }
}
