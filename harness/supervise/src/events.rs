//! What supervision sees, plans and does, for a program that reads it: a line of JSON for each event.
//!
//! `docs/events.md` has each field and an example of each line.
//!
//! Invariants: a reader that is slow, or gone, never holds the command up: what it has not read is kept, at most 1 MiB,
//! and an event that does not fit is left out and counted. The command does not inherit the descriptor.

use crate::timespec;
use rehang_evidence::data::State;
use rehang_evidence::diagnosis::graph::Edge;
use rehang_evidence::diagnosis::{Sure, Verdict};
use rehang_hangs::{Mechanism, Signature};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, FdFlags};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The version of the format. A new field or kind of event does not change it; a change that may break a reader raises
/// it.
pub const VERSION: u32 = 1;

/// How much is written at once, in bytes: a writable pipe takes this much without waiting.
const CHUNK: usize = 4_096;
/// How much is kept for a reader that is slow, in bytes.
const KEPT_BYTES: usize = 1_024 * 1_024;
/// How long the last lines may take at the end of the run.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Where events go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventsTo {
    /// A file, which is made if it does not exist, or a FIFO; events are appended.
    File(PathBuf),
    /// An open descriptor, 2 or higher.
    Descriptor(i32),
}

/// Why a text is not a place for events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventsToError {
    /// No number after `fd:`.
    #[error("'{0}' is no number of a descriptor; write fd:3, or ./fd:3 for a file of that name")]
    NoNumber(String),
    /// stdin or stdout.
    #[error("descriptor {0} is the command's own; use 2 or one that you open, as in `--events fd:3 3>events.ndjson`")]
    Taken(i32),
}

impl FromStr for EventsTo {
    type Err = EventsToError;

    /// `fd:3`, or the path of a file.
    fn from_str(text: &str) -> Result<EventsTo, EventsToError> {
        let Some(number) = text.strip_prefix("fd:") else { return Ok(EventsTo::File(PathBuf::from(text))) };
        match number.parse::<i32>() {
            Ok(fd @ 0..=1) => Err(EventsToError::Taken(fd)),
            Ok(fd @ 2..) => Ok(EventsTo::Descriptor(fd)),
            _ => Err(EventsToError::NoNumber(number.to_owned())),
        }
    }
}

impl fmt::Display for EventsTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventsTo::File(path) => path.display().fmt(f),
            EventsTo::Descriptor(fd) => write!(f, "fd:{fd}"),
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The command was started.
    Start {
        /// The command and its arguments.
        argv: Vec<String>,
        /// Its process, and the group of it.
        pid: i32,
        /// The stacks that supervise it.
        strategies: Vec<String>,
        /// Whether nothing will be done to it.
        dry_run: bool,
        /// The wall clock at that time: milliseconds since 1970. `ms` counts from here.
        unix_ms: u64,
    },
    /// A look at the processes found something else than the one before.
    Look(Finding),
    /// What will be done, and when, if nothing changes before then.
    Plan {
        /// The strategy.
        by: String,
        /// `end`, `end-part` or `take-as-over`.
        does: &'static str,
        /// The cause in a word.
        cause: String,
        /// The same in words.
        text: String,
        /// The process that it is about; null for the run as a whole.
        pid: Option<i32>,
        /// Since when the limit runs, in `ms`.
        since_ms: u64,
        /// When it is over, in `ms`.
        at_ms: u64,
    },
    /// The command said something or was written to: what was found and planned no longer counts.
    Moved,
    /// Something is done to the command.
    Act {
        /// The strategy.
        by: String,
        /// `signal`: to the command's group, or to all `processes`; `end`: SIGTERM, after the grace SIGKILL, to all `processes`.
        does: &'static str,
        /// The signal of a `signal`.
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<&'static str>,
        /// False in a dry run: it was left out.
        done: bool,
        /// The cause in a word.
        cause: String,
        /// The same in words.
        text: String,
        /// The limits that the strategy ran with, by name and in milliseconds.
        constants: BTreeMap<String, u64>,
        /// Whom it concerns: `name (pid)`.
        processes: Vec<String>,
    },
    /// The run is over; the last line.
    End {
        /// The exit code of `rehang supervise`.
        code: u8,
        /// Who ended it or took it as over; null if it ended by itself.
        by: Option<String>,
        /// Why, in one line; of a dry run, what would have been done. Null if there was nothing to do.
        reason: Option<String>,
        /// Who was ended: `name (pid)`.
        ended: Vec<String>,
        /// Who could not be ended.
        left: Vec<String>,
        /// The folder in which output and evidence are kept.
        evidence: Option<PathBuf>,
    },
}

/// What a look found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What the processes do.
    pub verdict: Verdict,
    /// What was found, in a word: the `signature` of `rehang why`.
    pub signature: Signature,
    /// The mechanism in the catalogue: `rehang explain` has a page of it.
    pub mechanism: Option<Mechanism>,
    /// How sure that is.
    pub sure: Sure,
    /// The process that it is about.
    pub pid: i32,
    /// Whether that is the command itself, not a process below it.
    pub is_root: bool,
    /// When it was first found, in `ms`.
    pub since_ms: u64,
    /// What was found, as a sentence.
    pub sentence: String,
    /// What would end it.
    pub ends: String,
    /// Why that is so sure.
    pub because: String,
    /// The last line that the command has written to its terminal or stdout, perhaps a prompt; empty if it wrote none.
    pub last_line: String,
    /// The command and all below it, by id.
    pub processes: Vec<Member>,
    /// Who waits for whom, from the command on.
    pub waits: Vec<Edge>,
    /// Whether no live process can wake the process that this is about.
    pub closed_in: bool,
}

/// A process of the command's tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Member {
    /// Its id.
    pub pid: i32,
    /// Its parent's.
    pub ppid: i32,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: State,
}

/// A line: version, time, event.
#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    /// Milliseconds since the start.
    ms: u64,
    /// How many events before this one were left out.
    #[serde(skip_serializing_if = "is_none")]
    lost: u64,
    #[serde(flatten)]
    event: &'a Event,
}

fn is_none(lost: &u64) -> bool {
    *lost == 0
}

/// The stream of events.
pub struct Events {
    to: OwnedFd,
    unsent: Vec<u8>,
    lost: u64,
    gone: bool,
}

impl Events {
    /// Opens it.
    ///
    /// # Errors
    /// A file that cannot be opened to write; a descriptor that is not open.
    pub fn open(to: &EventsTo) -> io::Result<Events> {
        let to = match to {
            EventsTo::File(path) => std::fs::File::options().append(true).create(true).open(path)?.into(),
            EventsTo::Descriptor(fd) => own(*fd)?,
        };
        Ok(Events { to, unsent: Vec::new(), lost: 0, gone: false })
    }

    /// Adds an event that happened `ms` milliseconds after the start.
    pub fn add(&mut self, ms: u64, event: &Event) {
        let line = Line { v: VERSION, ms, lost: self.lost, event };
        let Ok(mut line) = serde_json::to_vec(&line) else { return };
        line.push(b'\n');
        if self.gone || self.unsent.len() + line.len() > KEPT_BYTES {
            self.lost += 1;
            return;
        }
        self.lost = 0;
        self.unsent.extend(line);
    }

    /// What to wait for, while there is something to send.
    pub fn unsent(&self) -> Option<BorrowedFd<'_>> {
        (!self.unsent.is_empty()).then(|| self.to.as_fd())
    }

    /// Sends some of it; called when the descriptor can be written to.
    pub fn send(&mut self) {
        let end = self.unsent.len().min(CHUNK);
        match rustix::io::write(&self.to, &self.unsent[..end]) {
            Ok(n) => drop(self.unsent.drain(..n)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // the reader is gone; the run goes on
            Err(_) => {
                self.gone = true;
                self.unsent.clear();
            }
        }
    }

    /// Sends the rest at the end of the run, as far as the reader reads it in time.
    pub fn flush(&mut self) {
        let began = Instant::now();
        while let Some(fd) = self.unsent() {
            let rest = LAST_WORDS.saturating_sub(began.elapsed());
            let limit = timespec(rest);
            let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
            match poll(&mut polled, Some(&limit)) {
                Ok(1..) => self.send(),
                Err(Errno::INTR) if !rest.is_zero() => {}
                Ok(0) | Err(_) => return,
            }
        }
    }
}

/// Duplicates a descriptor that we were given. Processes that we start do not inherit it.
fn own(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call itself finds out whether it is open, and closes nothing
    let given = unsafe { BorrowedFd::borrow_raw(number) };
    let copy = rustix::io::fcntl_dupfd_cloexec(given, 3)?;
    if number > 2 {
        rustix::io::fcntl_setfd(given, FdFlags::CLOEXEC)?;
    }
    Ok(copy)
}

#[cfg(test)]
mod tests;
