//! The seat outside a real command: tells strategies what is seen, and says what they want done.
//!
//! Invariant: the very state machines of the matrix, in the order of the stack; the first to settle is believed.
//! Their clock is the wall clock, times a pace that tests use.

use rehang_scenario::{Policy, Span, Terminal, VTime};
use rehang_strategy::{Act, Member, Seat, Seen, Settled, Stack, Wire};
use std::time::{Duration, Instant};

/// Strategies around a command.
pub struct Host {
    members: Vec<Member>,
    began: Instant,
    pace: u32,
    /// What was reported last, by whom.
    pub report: Option<(String, Policy)>,
    /// Who holds the run to be over, and how.
    pub settled: Option<(String, Settled)>,
}

/// Why a stack cannot play around a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StackError {
    /// This member sits elsewhere.
    #[error("{0} does not sit around a process; `rehang strategies` lists those that do as [outside: a process]")]
    Elsewhere(String),
    /// All members of this stack sit elsewhere.
    #[error("no member of {0} sits around a process")]
    Nobody(String),
}

/// What a strategy wants done to the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Send this signal to the process, or to its group.
    Signal(&'static str, bool),
    /// Give it the end of its stdin.
    CloseStdin,
}

impl Host {
    /// The members of these stacks that sit outside a process.
    ///
    /// # Errors
    /// A stack that cannot play around a command.
    pub fn new(stacks: Vec<Stack>, pace: u32) -> Result<Host, StackError> {
        let mut members = Vec::new();
        for stack in stacks {
            let (name, named, before) = (stack.name, stack.named, members.len());
            for member in stack.members {
                let entry = member.entry;
                match entry.seat == Seat::Outside && entry.speaks.contains(&Wire::Process) {
                    true => members.push(member),
                    false if named || entry.seat == Seat::Nowhere => {}
                    false => return Err(StackError::Elsewhere(member.spec.to_string())),
                }
            }
            if members.len() == before && name != "none" {
                return Err(StackError::Nobody(name));
            }
        }
        Ok(Host { members, began: Instant::now(), pace: pace.max(1), report: None, settled: None })
    }

    /// The command was started.
    pub fn begin(&mut self, terminal: Terminal, one_stream: bool) -> Vec<Deed> {
        let mut deeds = self.see(&Seen::Terminal(terminal));
        deeds.extend(self.see(&Seen::Started { session: String::new(), prompt: String::new() }));
        if one_stream {
            deeds.extend(self.see(&Seen::OutputEnd(rehang_strategy::Stream::Stderr)));
        }
        deeds
    }

    /// Something is seen.
    pub fn see(&mut self, seen: &Seen) -> Vec<Deed> {
        let now = self.now();
        let mut deeds = Vec::new();
        for at in 0..self.members.len() {
            self.tell(at, now, seen, &mut deeds);
        }
        deeds
    }

    /// Tells those whose deadline has come.
    pub fn tick(&mut self) -> Vec<Deed> {
        let now = self.now();
        let mut deeds = Vec::new();
        for at in 0..self.members.len() {
            if self.members[at].strategy.deadline().is_some_and(|due| due <= now) {
                self.tell(at, now, &Seen::Tick, &mut deeds);
            }
        }
        deeds
    }

    /// How long until the next deadline; none where nobody has one.
    pub fn rest(&self) -> Option<Duration> {
        let due = self.members.iter().filter_map(|member| member.strategy.deadline()).min()?;
        Some(self.real(due.since(self.now())))
    }

    /// A span of the strategies' clock on the wall clock, never too short.
    pub fn real(&self, span: Span) -> Duration {
        Duration::from_millis(span.as_ms().div_ceil(u64::from(self.pace)))
    }

    fn now(&self) -> VTime {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        VTime(ms.saturating_mul(u64::from(self.pace)))
    }

    fn tell(&mut self, at: usize, now: VTime, seen: &Seen, deeds: &mut Vec<Deed>) {
        if self.settled.is_some() {
            return;
        }
        let mut acts = Vec::new();
        self.members[at].strategy.on(now, seen, &mut acts);
        for act in acts {
            match act {
                Act::Kill { sig, group } => deeds.push(Deed::Signal(sig, group)),
                Act::CloseStdin => deeds.push(Deed::CloseStdin),
                Act::Report(policy) => self.report = Some((self.members[at].spec.to_string(), policy)),
                Act::Settle(settled) => {
                    self.settled.get_or_insert_with(|| (self.members[at].spec.to_string(), settled));
                }
                // a process has no ear for these
                _ => {}
            }
        }
    }
}
