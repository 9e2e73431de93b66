//! One of the agent's pipes, as Python's text reader empties it: a `select` and one `readline` a wake-up.
//!
//! Invariant: what was read ahead causes no wake-up. A burst of lines gives one line; the others stay in the reader's
//! buffer until the kernel has something new (the defect that little-loops' tests cannot see, since they mock the
//! selector).

use rehang_words::Canon;

/// How many bytes a reader takes from the kernel at a time (`TextIOWrapper._CHUNK_SIZE`).
const CHUNK: usize = 8_192;

/// The result of one `readline`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line; without a newline at the end of the stream.
    Whole(Vec<u8>),
    /// Only half a line is there: the call blocks, and with it every timer.
    Blocks,
    /// The stream has ended.
    End,
}

/// A pipe, and the buffer of its reader.
#[derive(Debug, Clone, Default)]
pub struct Pipe {
    kernel: Vec<u8>,
    ahead: Vec<u8>,
    ended: bool,
    /// Whether the loop still listens to it.
    pub open: bool,
}

impl Pipe {
    /// A pipe that the loop listens to.
    pub fn open() -> Pipe {
        Pipe { open: true, ..Pipe::default() }
    }

    /// Bytes arrive in the kernel's buffer.
    pub fn arrive(&mut self, bytes: &[u8]) {
        self.kernel.extend_from_slice(bytes);
    }

    /// The last writer has closed.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether `select` reports it as ready.
    pub fn is_ready(&self) -> bool {
        self.open && (self.ended || !self.kernel.is_empty())
    }

    /// Plays one `readline`.
    pub fn readline(&mut self) -> Line {
        loop {
            if let Some(i) = self.ahead.iter().position(|&b| b == b'\n') {
                return Line::Whole(self.ahead.drain(..=i).collect());
            }
            if !self.kernel.is_empty() {
                let chunk = self.kernel.len().min(CHUNK);
                self.ahead.extend(self.kernel.drain(..chunk));
            } else if !self.ended {
                return Line::Blocks;
            } else if !self.ahead.is_empty() {
                return Line::Whole(std::mem::take(&mut self.ahead));
            } else {
                return Line::End;
            }
        }
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { kernel, ahead, ended, open } = self;
        canon.flag(*open).flag(*ended).bytes(kernel).bytes(ahead);
    }
}
