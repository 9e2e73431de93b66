//! A finding about one process, and which of several is reported.
//!
//! Invariant: only the rank decides. Of equal ranks about one process the first that was found is reported; of several
//! processes that were asked about, the last.

use super::{Sure, Verdict};
use crate::data::Pid;
use rehang_hangs::{Mechanism, Signature};

/// What a rule found.
#[derive(Debug, Clone)]
pub struct Finding {
    pub pid: Pid,
    pub verdict: Verdict,
    pub signature: Signature,
    pub mechanism: Option<Mechanism>,
    pub sentence: String,
    pub ends: String,
    pub sure: Sure,
    pub because: String,
    /// Milliseconds from now on after which it counts as a hang if it lasts; until then it is a wait.
    pub hung_in_ms: Option<u64>,
    /// For how many milliseconds this has been so, if the kernel tells.
    pub lasted_ms: Option<u64>,
    pub rank: u8,
}

/// Ranks, from the highest, which overrides everything, to the lowest, which is reported only if nothing else is found.
pub mod rank {
    /// The agent itself says what it waits for.
    pub const SAID: u8 = 95;
    /// Nothing in sight can end it.
    pub const CERTAIN: u8 = 90;
    /// It moves, whatever else waits beside it.
    pub const WORKS: u8 = 70;
    /// A call that waits for what probably never comes.
    pub const LIKELY: u8 = 60;
    /// A connection that talks.
    pub const TALKS: u8 = 55;
    /// Only time, in a process that another one waits for.
    pub const CLOCK: u8 = 50;
    /// A connection that was in use a moment ago. One that is silent beside it may be kept for later.
    pub const FRESH: u8 = 47;
    /// A connection that is silent.
    pub const SILENT: u8 = 45;
    /// An event loop that would take more input.
    pub const LOOP: u8 = 40;
    /// An event loop without any source that matters.
    pub const IDLE: u8 = 30;
    /// By design it waits for requests.
    pub const SERVES: u8 = 20;
    /// A child that waits for its parent, or for somebody who cannot be seen: any source of the parent's own explains
    /// more.
    pub const BELOW: u8 = 15;
    /// Nothing is known.
    pub const UNKNOWN: u8 = 10;
}

impl Finding {
    /// A hang.
    pub fn hung(pid: Pid, signature: Signature, mechanism: impl Into<Option<Mechanism>>, sentence: String) -> Finding {
        Finding {
            pid,
            verdict: Verdict::Hung,
            signature,
            mechanism: mechanism.into(),
            sentence,
            ends: String::new(),
            sure: Sure::Likely,
            because: String::new(),
            hung_in_ms: None,
            lasted_ms: None,
            rank: rank::LIKELY,
        }
    }

    /// A wait that has an end of its own.
    pub fn waiting(pid: Pid, signature: Signature, rank: u8, sentence: String) -> Finding {
        Finding { verdict: Verdict::Waiting, rank, ..Finding::hung(pid, signature, None, sentence) }
    }

    /// Work.
    pub fn working(pid: Pid, signature: Signature, sentence: String) -> Finding {
        let ends = "nothing needs to: it works".to_owned();
        let finding = Finding::hung(pid, signature, None, sentence);
        Finding { verdict: Verdict::Working, rank: rank::WORKS, sure: Sure::Certain, ends, ..finding }
    }

    /// Nothing that is known.
    pub fn unknown(pid: Pid, sentence: &str) -> Finding {
        let finding = Finding::hung(pid, Signature::Unknown, None, sentence.to_owned());
        Finding { verdict: Verdict::Unknown, rank: rank::UNKNOWN, sure: Sure::Guess, ..finding }
    }

    pub fn ends(mut self, ends: impl Into<String>) -> Finding {
        self.ends = ends.into();
        self
    }

    pub fn because(mut self, because: impl Into<String>) -> Finding {
        self.because = because.into();
        self
    }

    /// A state that has a healthy cause as well, and counts as a hang once it has lasted for `limit_ms`.
    pub fn after(self, lasted_ms: u64, limit_ms: u64) -> Finding {
        match limit_ms.checked_sub(lasted_ms).filter(|left| *left > 0) {
            Some(left) => Finding { verdict: Verdict::Waiting, hung_in_ms: Some(left), ..self },
            None => self,
        }
    }

    /// The kernel tells for how long it has been so.
    pub fn lasted(self, ms: u64) -> Finding {
        Finding { lasted_ms: Some(ms), ..self }
    }

    pub fn certain(mut self) -> Finding {
        self.sure = Sure::Certain;
        self.rank = self.rank.max(rank::CERTAIN);
        self
    }

    pub fn guess(mut self) -> Finding {
        self.sure = Sure::Guess;
        self
    }

    pub fn rank(mut self, rank: u8) -> Finding {
        self.rank = rank;
        self
    }
}
