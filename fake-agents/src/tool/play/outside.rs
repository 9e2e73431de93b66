//! What is outside the process: a server that does not answer, the lock of the cell.
//!
//! Invariant: a lock that was taken is kept until the process ends; a question to a server is written once, whole.

use super::{EXIT_FAILED, EXIT_TIMED_OUT, Flow, Phase, Tool, rest};
use rehang_os::os::{Fd, Os, Read, Wait};
use rehang_scenario::{
    Span, VTime,
    turns::{Fetch, TakeLock},
};

/// What is asked of a server that does not answer.
const REQUEST: &[u8] = b"GET /api.json HTTP/1.1\r\nHost: models.example\r\n\r\n";
/// What it answered to the same question before.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

impl Tool {
    /// Connects to a server, and asks it; on a connection that is kept, that is the first question, which is answered.
    pub(super) fn fetch(&mut self, os: &mut dyn Os, fetch: &Fetch) -> Flow {
        let answer = if fetch.kept.is_some() { ANSWER } else { &[] };
        let Ok(fd) = os.connect_mute(answer) else { return self.over(EXIT_FAILED) };
        match fetch.kept {
            None => self.ask(os, fd, fetch.within),
            Some(_) => {
                // the connection takes it, and nobody reads it
                let _ = os.write(fd, REQUEST);
                self.phase = Phase::Answered { fd };
                Flow::On
            }
        }
    }

    /// Reads the answer to the first question, and keeps the connection.
    pub(super) fn answered(&mut self, os: &mut dyn Os, fd: Fd, kept: Span) -> Flow {
        match os.read(fd, ANSWER.len()) {
            Read::Later => {
                self.phase = Phase::Answered { fd };
                rest(Wait { read: vec![fd], on: "peer", ..Wait::default() })
            }
            Read::Data(_) => {
                self.phase = Phase::Kept { fd, until: os.now() + kept };
                Flow::On
            }
            Read::Eof | Read::Failed(_) => self.over(EXIT_FAILED),
        }
    }

    /// Keeps a connection until this instant, and then asks on it.
    pub(super) fn keep(&mut self, os: &mut dyn Os, fd: Fd, until: VTime, within: Option<Span>) -> Flow {
        if os.now() < until {
            self.phase = Phase::Kept { fd, until };
            return rest(Wait { until: Some(until), on: "timer", ..Wait::default() });
        }
        self.ask(os, fd, within)
    }

    /// Asks what nobody answers.
    fn ask(&mut self, os: &mut dyn Os, fd: Fd, within: Option<Span>) -> Flow {
        // the connection takes it, and nobody reads it
        let _ = os.write(fd, REQUEST);
        self.phase = Phase::Unanswered { fd, until: within.map(|within| os.now() + within), on: "peer", naps: false };
        Flow::On
    }

    /// Opens the lock of the cell.
    pub(super) fn take_lock(&mut self, os: &mut dyn Os, take: &TakeLock) -> Flow {
        let Ok(fd) = os.open_lock() else { return self.over(EXIT_FAILED) };
        self.phase = Phase::Locking { fd, until: take.within.map(|within| os.now() + within) };
        Flow::On
    }

    /// Takes the lock of the cell, if nobody has it.
    pub(super) fn lock(&mut self, os: &mut dyn Os, fd: Fd, until: Option<VTime>) -> Flow {
        if os.try_lock(fd) {
            return self.done(0);
        }
        if until.is_some_and(|until| os.now() >= until) {
            os.close(fd);
            return self.done(EXIT_TIMED_OUT);
        }
        self.phase = Phase::Locking { fd, until };
        rest(Wait { read: vec![fd], until, on: "file", ..Wait::default() })
    }
}
