//! Holes in a log: runs of NUL bytes, as a file has where it was truncated while a process wrote to it, or where a disk
//! lost what was written.
//!
//! Invariant: a run of at least [`HOLE_BYTES`] is skipped and counted, and ends a line; a shorter one is passed on. Memory is
//! a few kilobytes.

use crate::limits;
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// The shortest run that is a hole. A choice: terminals get a few NUL bytes as padding.
pub const HOLE_BYTES: usize = 16;

/// What a long hole is compared with, piece by piece.
static ZEROS: [u8; 4096] = [0; 4096];

/// Bytes that were skipped, and in how many holes.
pub type Skipped = Rc<Cell<(u64, u64)>>;

/// Reads without holes.
pub struct Holes<R> {
    from: R,
    /// NUL bytes that were read last and not passed on: of a hole, at most [`HOLE_BYTES`].
    run: usize,
    /// How long the run is so far, in bytes.
    length: u64,
    /// The last byte that was passed on.
    last: u8,
    ready: Vec<u8>,
    given: usize,
    skipped: Skipped,
}

impl<R: BufRead> Holes<R> {
    /// Reads `from`, and counts what is skipped.
    pub fn new(from: R, skipped: Skipped) -> Holes<R> {
        Holes { from, run: 0, length: 0, last: b'\n', ready: Vec::new(), given: 0, skipped }
    }

    fn take(&mut self, byte: u8) {
        if byte == 0 {
            self.length += 1;
            let (bytes, holes) = self.skipped.get();
            match self.run + 1 {
                run if run < HOLE_BYTES => self.run = run,
                HOLE_BYTES if self.run < HOLE_BYTES => {
                    self.run = HOLE_BYTES;
                    self.skipped.set((bytes + HOLE_BYTES as u64, holes + 1));
                }
                _ => self.skipped.set((bytes + 1, holes)),
            }
            return;
        }
        self.end_run();
        self.ready.push(byte);
        self.last = byte;
    }

    /// What comes next is no NUL byte.
    fn end_run(&mut self) {
        self.length = 0;
        match std::mem::take(&mut self.run) {
            0 => {}
            HOLE_BYTES => {
                // what was lost was the end of one line and the begin of another
                if self.last != b'\n' {
                    self.ready.push(b'\n');
                    self.last = b'\n';
                }
            }
            run => {
                self.ready.extend(std::iter::repeat_n(0, run));
                self.last = 0;
            }
        }
    }
}

impl<R: BufRead> Read for Holes<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            self.ready.clear();
            self.given = 0;
            let chunk = self.from.fill_buf()?;
            if chunk.is_empty() {
                self.end_run();
                if self.ready.is_empty() {
                    return Ok(0);
                }
                break;
            }
            if self.run == 0 && memchr::memchr(0, chunk).is_none() {
                let n = into.len().min(chunk.len());
                into[..n].copy_from_slice(&chunk[..n]);
                self.last = chunk.get(n.wrapping_sub(1)).copied().unwrap_or(self.last);
                self.from.consume(n);
                return Ok(n);
            }
            if self.length > limits::NUL_BYTES {
                let most = limits::NUL_BYTES >> 30;
                let why = format!(
                    "more than {most} GiB of NUL bytes are in one place: is it a device? `tr -d '\\0'` takes them out of a file"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            let n = chunk.len().min(ZEROS.len());
            if self.run == HOLE_BYTES && chunk[..n] == ZEROS[..n] {
                let (bytes, holes) = self.skipped.get();
                self.skipped.set((bytes + n as u64, holes));
                self.length += n as u64;
                self.from.consume(n);
                continue;
            }
            let chunk = chunk[..n].to_vec();
            chunk.iter().for_each(|byte| self.take(*byte));
            self.from.consume(chunk.len());
        }
        let n = into.len().min(self.ready.len() - self.given);
        into[..n].copy_from_slice(&self.ready[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn zeros_without_an_end_are_refused() {
        let endless = BufReader::new(io::repeat(0));
        let read = Holes::new(endless, Skipped::default()).read_to_end(&mut Vec::new());
        assert_eq!(read.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
    }

    #[test]
    fn a_hole_is_skipped_wherever_it_lies() {
        let hole = |n: usize| vec![0_u8; n];
        for (parts, read, skipped) in [
            (vec![b"a\n".to_vec(), hole(5_000), b"b\n".to_vec()], &b"a\nb\n"[..], (5_000, 1)),
            (vec![b"cut".to_vec(), hole(16), b"b\n".to_vec()], b"cut\nb\n", (16, 1)),
            (vec![hole(40), b"b".to_vec(), hole(17)], b"b\n", (57, 2)),
            (vec![b"a".to_vec(), hole(15), b"b".to_vec()], b"a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0b", (0, 0)),
            (vec![hole(3)], b"\0\0\0", (0, 0)),
            (vec![hole(9_000)], b"", (9_000, 1)),
            (vec![b"whole".to_vec()], b"whole", (0, 0)),
        ] {
            for size in [1, 7, 8_192] {
                let counts = Skipped::default();
                let bytes: Vec<u8> = parts.concat();
                let mut all = Vec::new();
                let mut reader = Holes::new(BufReader::with_capacity(size, bytes.as_slice()), counts.clone());
                reader.read_to_end(&mut all).unwrap();
                assert_eq!((all.as_slice(), counts.get()), (read, skipped), "{parts:?} in pieces of {size}");
            }
        }
    }
}
