//! What a fake that runs alone records about itself, for whoever judges the program that started it.
//!
//! Invariant: a line is whole or not there: each is one `write` to a file that is opened for appending. Instants are
//! the machine's monotonic clock, so that the lines of several processes are in one order.

use rehang_trace::What;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// Names the journal to the children of a fake.
pub const JOURNAL_ENV: &str = "REHANG_JOURNAL";
/// Names a child's place to itself: its parent's, a dot, its number.
pub const PLACE_ENV: &str = "REHANG_PLACE";
/// The most that is read of a journal, in bytes.
const READ_BYTES: u64 = 256 * 1_024 * 1_024;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When it was written, in milliseconds of the monotonic clock.
    pub ms: u64,
    /// Who wrote it: the pid of the first fake, followed by the ordinals of the children on the way (`4711.1.2`).
    pub place: String,
    /// What the line says.
    pub said: Said,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// A fake began.
    Began {
        /// Its process id.
        pid: u32,
        /// Name and arguments, as its caller gave them.
        argv: Vec<String>,
        /// What its stdin is: `tty`, `null`, `pipe`, `socket`, `closed`.
        stdin: String,
        /// What the kernel calls the file there: `pipe:[4711]`.
        file: String,
        /// What its stdout is, in the same words.
        stdout: String,
    },
    /// It is about to end, and its stdin is a pipe or a socket whose other end somebody still holds open.
    StdinOpen,
    /// It ends with this code.
    Ended(u8),
    /// One of its children was ended by a signal.
    Killed {
        /// The child's ordinal, from 1.
        child: u32,
        /// The signal, without `SIG`.
        sig: String,
    },
    /// It sends a signal to one of its children, or to that child's group; `None`: to itself or its own group.
    Signals {
        /// The child's ordinal, from 1.
        child: Option<u32>,
    },
    /// It wrote to its stdout. A second's further writes have no line.
    Wrote,
    /// A fact, as in a trace.
    What(What),
}

impl Line {
    /// Whether it is of a fake that an agent's caller started, and not of a process of that fake.
    pub fn is_of_an_agent(&self) -> bool {
        !self.place.contains('.')
    }

    /// The code with which such a fake ended, if that is what it says.
    pub fn agents_end(&self) -> Option<u8> {
        match self.said {
            Said::Ended(code) if self.is_of_an_agent() => Some(code),
            _ => None,
        }
    }
}

/// The journal of one fake, open for appending.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    /// This fake's place: a pid and the ordinals of the children on the way.
    pub place: String,
    wrote_ms: u64,
}

impl Journal {
    /// The journal at a path.
    pub fn open(path: &Path, place: String) -> io::Result<Journal> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Journal { file, place, wrote_ms: 0 })
    }

    /// Records a write to stdout, at most once a second.
    pub fn wrote(&mut self) {
        if monotonic_ms() >= self.wrote_ms.saturating_add(1_000) {
            self.wrote_ms = monotonic_ms();
            self.write(Said::Wrote);
        }
    }

    /// Writes a line. What cannot be written is lost: a fake does not fail for it.
    pub fn write(&self, said: Said) {
        let line = Line { ms: monotonic_ms(), place: self.place.clone(), said };
        if let Ok(mut text) = serde_json::to_vec(&line) {
            text.push(b'\n');
            let _ = (&self.file).write_all(&text);
        }
    }
}

/// The monotonic clock, in milliseconds.
pub fn monotonic_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000 + now.tv_nsec.cast_unsigned() / 1_000_000
}

/// All lines of a journal, in order; empty if nothing has been written yet. A line that is not whole (its writer was
/// killed while writing it) is skipped.
///
/// # Errors
/// A file that cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    if !path.exists() {
        return Ok(lines);
    }
    for line in BufReader::new(File::open(path)?.take(READ_BYTES)).split(b'\n') {
        if let Ok(line) = serde_json::from_slice(&line?) {
            lines.push(line);
        }
    }
    Ok(lines)
}
