//! How long a client waits for the next byte of a model's stream.
//!
//! Invariant: any byte counts, a keep-alive too; a byte that comes in the tick of the limit comes in time if it is read
//! first.

use rehang_scenario::{Canon, Span, VTime};

/// The time limit on the silence of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    limit: Option<Span>,
    until: Option<VTime>,
}

impl Silence {
    /// A stream that is asked for now; without a limit it is awaited for ever.
    pub fn new(limit: Option<Span>, now: VTime) -> Silence {
        Silence { limit, until: limit.map(|limit| now + limit) }
    }

    /// Something came, or is known to come at a later instant.
    pub fn heard(&mut self, at: VTime) {
        self.until = self.limit.map(|limit| at + limit);
    }

    /// Whether it has been silent for too long.
    pub fn is_over(&self, now: VTime) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// When it will have been silent for too long.
    pub fn deadline(&self) -> Option<VTime> {
        self.until
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { limit, until } = self;
        canon.flag(limit.is_some()).num(limit.map_or(0, Span::as_ms)).deadline(*until);
    }
}
