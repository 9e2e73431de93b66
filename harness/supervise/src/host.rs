//! The seat outside a real command: tells strategies what is seen, and says what they want done.
//!
//! Invariant: the very state machines of the matrix, in the order of the stack; the first to settle is believed.
//! Their clock is the wall clock, times a pace that tests use.

use rehang_scenario::{Policy, Span, Terminal, VTime};
use rehang_strategy::{Act, Acting, Host, Seat, Seen, Settled, Stack, Wire, host};
use std::time::{Duration, Instant};

/// Strategies around a command.
pub struct SuperviseHost {
    /// Each in a host of its own: nobody is told anything after one has settled the run.
    hosts: Vec<Host>,
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
    /// Look at its processes.
    Look,
}

impl SuperviseHost {
    /// The members of these stacks that sit outside a process.
    ///
    /// # Errors
    /// A stack that cannot play around a command.
    pub fn new(stacks: Vec<Stack>, pace: u32) -> Result<SuperviseHost, StackError> {
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
        let hosts = members.into_iter().map(|member| Host::new([member])).collect();
        Ok(SuperviseHost { hosts, began: Instant::now(), pace: pace.max(1), report: None, settled: None })
    }

    /// The command was started.
    pub fn begin(&mut self, terminal: Terminal, one_stream: bool) -> Vec<Deed> {
        host::started(terminal, "", one_stream).iter().flat_map(|seen| self.see(seen)).collect()
    }

    /// Something is seen.
    pub fn see(&mut self, seen: &Seen) -> Vec<Deed> {
        self.tell(|host, now| host.see(now, seen))
    }

    /// Tells those whose deadline has come.
    pub fn tick(&mut self) -> Vec<Deed> {
        self.tell(Host::tick)
    }

    /// How long until the next deadline; none where nobody has one.
    pub fn rest(&self) -> Option<Duration> {
        let due = self.hosts.iter().filter_map(Host::deadline).min()?;
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

    fn tell(&mut self, tell: impl Fn(&mut Host, VTime) -> Vec<Acting>) -> Vec<Deed> {
        let now = self.now();
        let mut deeds = Vec::new();
        for host in &mut self.hosts {
            if self.settled.is_some() {
                break;
            }
            for Acting { by, act } in tell(host, now) {
                match act {
                    Act::Kill { sig, group } => deeds.push(Deed::Signal(sig, group)),
                    Act::CloseStdin => deeds.push(Deed::CloseStdin),
                    Act::Look => deeds.push(Deed::Look),
                    Act::Report(policy) => self.report = Some((by, policy)),
                    Act::Settle(settled) => {
                        self.settled.get_or_insert((by, settled));
                    }
                    // a process has no ear for these
                    _ => {}
                }
            }
        }
        deeds
    }
}
