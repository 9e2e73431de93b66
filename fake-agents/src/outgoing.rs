//! What a fake writes: bytes that a stream takes as it can, and the program that prints a text and exits.
//!
//! Invariant: a text is written in order and once; a reader that is gone ends no fake by itself.

use rehang_os::os::{Fd, Next, Os, Program, STDERR, STDOUT, Wait, Write};
use rehang_scenario::Canon;

/// Bytes that are still to be written to a stream.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    /// Whether the reader is gone: what is written is lost.
    pub broken: bool,
}

impl Outgoing {
    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    /// Adds bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if !self.broken {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Whether all that was added is out.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes as much as is taken; returns whether all is out. Where the reader is gone (EPIPE) the stream is broken,
    /// and the run goes on.
    pub fn flush(&mut self, os: &mut dyn Os, fd: Fd) -> bool {
        while !self.bytes.is_empty() {
            match os.write(fd, &self.bytes) {
                Write::Took(n) => drop(self.bytes.drain(..n.min(self.bytes.len()))),
                Write::Later => return false,
                Write::Failed(_) => {
                    self.bytes.clear();
                    self.broken = true;
                }
            }
        }
        true
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self { bytes, broken } = self;
        canon.bytes(bytes).flag(*broken);
    }
}

/// Prints a text and exits: the help, the version, a refusal.
pub(crate) struct Says {
    /// The text.
    pub text: String,
    /// On stderr, not on stdout.
    pub fd_err: bool,
    /// The exit code.
    pub code: u8,
}

impl Program for Says {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        let fd = if self.fd_err { STDERR } else { STDOUT };
        while !self.text.is_empty() {
            match os.write(fd, self.text.as_bytes()) {
                Write::Took(n) => self.text = self.text.get(n..).unwrap_or_default().to_owned(),
                Write::Later => return Next::Wait(Wait { write: vec![fd], on: "stdout", ..Wait::default() }),
                Write::Failed(_) => break,
            }
        }
        Next::Exit(self.code)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self { text, fd_err, code } = self;
        canon.text(text).flag(*fd_err).num((*code).into());
    }
}
