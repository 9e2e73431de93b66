//! The seat outside a real command: a [`ProcessHost`] on the wall clock.
//!
//! Invariant: the strategies' clock is the wall clock, times a pace that tests use.

use rehang_strategy::{Intent, ProcessHost, ProcessSeen, Settled, Stack, StackError, Step};
use rehang_words::{Policy, Terminal, VTime};
use std::time::{Duration, Instant};

/// Strategies around a command.
pub struct SuperviseHost {
    host: ProcessHost,
    began: Instant,
    pace: u32,
}

impl SuperviseHost {
    /// The members of these stacks that run around a process.
    ///
    /// # Errors
    /// A stack that cannot play around a command.
    pub fn new(stacks: Vec<Stack>, pace: u32) -> Result<SuperviseHost, StackError> {
        Ok(SuperviseHost { host: ProcessHost::new(stacks)?, began: Instant::now(), pace: pace.max(1) })
    }

    /// The command was started.
    pub fn begin(&mut self, terminal: Terminal, one_stream: bool) -> Vec<Step> {
        let mut steps = self.host.start(self.now(), terminal, one_stream);
        steps.extend(self.see(ProcessSeen::StdinIsTheCallers));
        steps
    }

    /// Something is seen.
    pub fn see(&mut self, seen: ProcessSeen) -> Vec<Step> {
        self.host.see(self.now(), seen)
    }

    /// Tells those whose deadline has come.
    pub fn tick(&mut self) -> Vec<Step> {
        self.host.tick(self.now())
    }

    /// How long until the next deadline; `None` if no strategy has one.
    pub fn rest(&self) -> Option<Duration> {
        let rest = self.host.deadline()?.since(self.now());
        // rounded up, so that it is never too short
        Some(Duration::from_millis(rest.as_ms().div_ceil(u64::from(self.pace))))
    }

    /// Which strategy takes the run as over, and how.
    pub fn settled(&self) -> Option<&(String, Settled)> {
        self.host.settled()
    }

    /// What was reported last, by whom.
    pub fn report(&self) -> Option<&(String, Policy)> {
        self.host.report()
    }

    /// What will be done first if nothing changes, and by whom.
    pub fn intent(&self) -> Option<(String, Intent)> {
        self.host.intent()
    }

    /// From here on no strategy is told anything.
    pub fn retire(&mut self) {
        self.host.retire();
    }

    /// Milliseconds of the wall clock since the start.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// An instant of the strategies' clock in milliseconds of the wall clock since the start.
    pub fn wall_ms(&self, at: VTime) -> u64 {
        at.0.div_ceil(u64::from(self.pace))
    }

    /// The strategies' clock, from the start of the command.
    pub fn now(&self) -> VTime {
        VTime(self.elapsed_ms().saturating_mul(u64::from(self.pace)))
    }
}
