//! What `run` does with its stdin before anything else.
//!
//! Invariant: on a terminal nothing is read; otherwise everything is, to the end, however long that takes (#38723).
//! Only altimate-code's cuts (PR #935, closed) differ, and even they wait for ever after the first byte.

use super::release::{Flavour, Release};
use rehang_os::os::{FdKind, Os, Read, STDIN};
use rehang_scenario::{Canon, Span, VTime};

/// How long the last cut waits for the first byte, in milliseconds (`util/stdin.ts`).
const FIRST_BYTE_MS: u64 = 500;
/// The variable that sets another limit (`util/stdin.ts`).
const TIMEOUT_ENV: &str = "ALTIMATE_STDIN_TIMEOUT_MS";
/// How many bytes of it are kept at most.
const KEPT_MAX_BYTES: usize = 16 * 1024 * 1024;

/// Reads the program's stdin.
#[derive(Debug, Clone)]
pub struct Stdin {
    bytes: Vec<u8>,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// There is no more to come, or nothing is read.
    Over,
    /// It is read to the end.
    ToEnd,
    /// It is read to the end, if its first byte comes by this instant.
    FirstBy(VTime),
}

impl Stdin {
    /// Decides what is read. `prompted`: whether there is a prompt on the command line.
    pub fn begin(os: &dyn Os, release: &Release, prompted: bool) -> Stdin {
        let altimate = release.flavour == Flavour::Altimate;
        let how = match os.kind(STDIN) {
            FdKind::Tty | FdKind::Closed => How::Over,
            // a38725778: only without a message.
            _ if altimate && release.version == "a38725778" && prompted => How::Over,
            kind if altimate && (release.version == "pr935" || os.env(TIMEOUT_ENV).is_some()) => match kind {
                FdKind::Pipe | FdKind::Socket => {
                    let limit = os.env(TIMEOUT_ENV).and_then(|text| text.trim().parse().ok());
                    How::FirstBy(os.now() + Span(limit.unwrap_or(FIRST_BYTE_MS)))
                }
                _ => How::Over,
            },
            _ => How::ToEnd,
        };
        Stdin { bytes: Vec::new(), how }
    }

    /// Reads what is there. Returns what was read, once that is all; and whether it was given up without a byte.
    pub fn poll(&mut self, os: &mut dyn Os) -> Option<(String, bool)> {
        loop {
            match self.how {
                How::Over => return Some((String::from_utf8_lossy(&self.bytes).into_owned(), false)),
                How::ToEnd | How::FirstBy(_) => match os.read(STDIN, 65_536) {
                    Read::Data(bytes) => {
                        let room = KEPT_MAX_BYTES.saturating_sub(self.bytes.len());
                        self.bytes.extend(&bytes[..bytes.len().min(room)]);
                        self.how = How::ToEnd;
                    }
                    // a tick is a millisecond: a byte that comes in the tick of the limit comes in time
                    Read::Later if self.deadline().is_some_and(|at| at <= os.now()) => {
                        self.how = How::Over;
                        return Some((String::new(), true));
                    }
                    Read::Later => return None,
                    Read::Eof | Read::Failed(_) => self.how = How::Over,
                },
            }
        }
    }

    /// When it gives up, if at all.
    pub fn deadline(&self) -> Option<VTime> {
        match self.how {
            How::FirstBy(at) => Some(at),
            How::Over | How::ToEnd => None,
        }
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { bytes, how } = self;
        match how {
            How::Over => canon.num(0),
            How::ToEnd => canon.num(1),
            How::FirstBy(at) => canon.num(2).deadline(Some(*at)),
        };
        canon.bytes(bytes);
    }
}
