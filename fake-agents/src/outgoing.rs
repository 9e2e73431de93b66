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
#[derive(Debug, Default)]
pub(crate) struct Says {
    /// What it prints on stdout.
    pub out: String,
    /// What it prints on stderr, after that.
    pub err: String,
    /// The exit code.
    pub code: u8,
}

impl Says {
    /// This on stdout, and nothing is wrong.
    pub(crate) fn out(text: impl Into<String>) -> Says {
        Says { out: text.into(), ..Says::default() }
    }

    /// This on stderr, with an exit code.
    pub(crate) fn err(text: impl Into<String>, code: u8) -> Says {
        Says { err: text.into(), code, ..Says::default() }
    }
}

impl Program for Says {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        for (fd, text) in [(STDOUT, &mut self.out), (STDERR, &mut self.err)] {
            while !text.is_empty() {
                match os.write(fd, text.as_bytes()) {
                    // a write may end inside a character
                    Write::Took(n) => *text = String::from_utf8_lossy(&text.as_bytes()[n..]).into_owned(),
                    Write::Later => return Next::Wait(Wait { write: vec![fd], on: "stdout", ..Wait::default() }),
                    Write::Failed(_) => text.clear(),
                }
            }
        }
        Next::Exit(self.code)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self { out, err, code } = self;
        canon.text(out).text(err).num((*code).into());
    }
}
