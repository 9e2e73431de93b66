//! A loop that takes steps while no time passes: on a machine it uses a processor, and time goes on for everybody else.
//!
//! Invariants: a state that repeats within one instant would repeat for ever, so whoever is not part of the loop goes
//! first, and then time moves on to when somebody else has something to do. If nobody ever has, the repetition is the
//! proof of a hang. What is done follows from the state alone: who goes in circles is a part of it.

use super::proof::{Cycle, Proof};
use super::{Candidate, Scheduler};
use rehang_evidence::Snapshot;
use rehang_evidence::data::State;
use rehang_os::kernel::{Few, InternalError, Proc};
use rehang_os::tables::pid_of;
use rehang_scenario::{Canon, Span, VTime};
use std::collections::{BTreeMap, BTreeSet};

/// Steps at one instant after which repeating states are looked for.
const FIRST: u32 = 2_000;
/// After them, up to each first number of steps, one step in the second number is looked at: a cycle of steps also
/// repeats at those, at a fraction of the cost. The second numbers are primes, so that all phases of a short cycle are
/// looked at: in some of them an id that counts up is in use. A state that has not repeated for long usually grows, and
/// each look at it costs more than the last.
const SAMPLES: [(u32, u64); 2] = [(20_000, 17), (super::SPIN_MAX, 131)];
/// Where a loop is known already, every state is looked at, up to this many steps.
const KNOWN: u32 = 512;
/// The steps of a loop in which time may pass. A longer one, as of an agent that asks its model at once again and again,
/// cannot be played for hours: the time of its answers is not in the scenario, and its hang is proved as it stands.
const SHORT: u64 = 64;

/// Who goes in circles.
#[derive(Debug, Default)]
pub struct Spin {
    proof: Proof,
    /// Who ran since states are looked at.
    recent: Vec<Candidate>,
    /// Who goes in circles, the one that has waited longest first.
    who: Vec<Candidate>,
}

/// What a repeated state within an instant leads to.
pub enum Spun {
    /// Somebody else has something to do then.
    Until(VTime),
    /// Nobody else has anything to do, ever.
    ForEver(Cycle),
}

impl Spin {
    /// The candidates from whom the next is picked: none that goes in circles before one that does not.
    pub fn admit(&self, candidates: &mut Few<(Candidate, u64)>) {
        if self.who.is_empty() {
            return;
        }
        if candidates.iter().any(|(one, _)| !self.who.contains(one)) {
            candidates.retain(|(one, _)| !self.who.contains(one));
        } else if let Some(first) = self.who.iter().find(|one| candidates.iter().any(|(other, _)| other == *one)) {
            candidates.retain(|(one, _)| one == first);
        }
    }

    /// Notes that this one runs.
    pub fn runs(&mut self, one: Candidate, at_instant: u32) {
        if self.is_looking(at_instant) {
            self.recent.push(one);
        }
        if let Some(at) = self.who.iter().position(|other| *other == one) {
            self.who[at..].rotate_left(1);
        }
    }

    /// Whether states are compared at this step of an instant.
    fn is_looking(&self, at_instant: u32) -> bool {
        !self.who.is_empty() || at_instant > FIRST
    }

    /// Whether the state after this step is looked at.
    fn is_sample(&self, at_instant: u32, steps: u64) -> bool {
        let is_known = !self.who.is_empty() && at_instant <= KNOWN;
        let one_in = || SAMPLES.iter().find(|(up_to, _)| at_instant <= *up_to).map_or(1, |(_, one_in)| *one_in);
        self.is_looking(at_instant) && (is_known || steps.is_multiple_of(one_in()))
    }

    /// Another instant begins, or another participant was chosen: what was seen so far decides nothing.
    pub fn begin(&mut self) {
        self.proof = Proof::default();
        self.recent.clear();
    }

    /// Everything is at rest: nobody goes in circles.
    pub fn rest(&mut self) {
        self.begin();
        self.who.clear();
    }

    /// Writes what later steps depend on.
    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            proof: _,  // not compared: looks on
            recent: _, // not compared: as above
            who,
        } = self;
        canon.num(who.len() as u64);
        for one in who {
            match one {
                Candidate::Process(proc) => canon.num(0).num(u64::from(proc.0)),
                Candidate::Actor(at) => canon.num(1).num(*at as u64),
            };
        }
    }
}

impl Scheduler<'_, '_> {
    /// What the state after this step leads to, if it has repeated within this instant.
    pub fn spins(&mut self) -> Result<Option<Spun>, InternalError> {
        if !self.spin.is_sample(self.at_instant, self.steps) {
            return Ok(None);
        }
        let mut proof = std::mem::take(&mut self.spin.proof);
        let cycle = self.repeats(&mut proof, self.steps)?;
        self.spin.proof = proof;
        let Some(cycle) = cycle else { return Ok(None) };
        let is_first = self.spin.who.is_empty();
        let length = usize::try_from(cycle.length()).unwrap_or(usize::MAX);
        let began = self.spin.recent.len().saturating_sub(length);
        let mut who = self.spin.who.clone();
        for at in began..self.spin.recent.len() {
            let one = self.spin.recent[at];
            if !who.contains(&one) {
                who.push(one);
            }
        }
        let waits = self.candidates()?.iter().any(|(one, _)| !who.contains(one));
        let until = self.hub.ends_at().or_else(|| self.next_deadline());
        let is_short = cycle.length() <= if is_first { SHORT * SAMPLES[0].1 } else { SHORT };
        if (until.is_none() && !waits) || !is_short {
            return Ok(Some(Spun::ForEver(cycle)));
        }
        self.spin.begin();
        self.spin.who = who;
        Ok(until.filter(|_| !waits).map(Spun::Until))
    }

    /// Lets time pass for those who go in circles: they use a processor until then.
    pub fn burn(&mut self, next: VTime) {
        if !self.spin.who.is_empty() {
            self.spin.begin();
            (self.at_instant, self.instants) = (0, self.instants.saturating_add(1));
        }
        let processes = self.spin.who.iter().filter_map(|one| match one {
            Candidate::Process(proc) => Some(*proc),
            Candidate::Actor(_) => None,
        });
        self.hub.burned.add(processes, next.since(self.hub.now), next);
    }
}

/// The processor time of those that went in circles.
#[derive(Debug, Default)]
pub struct Burned {
    spent: BTreeMap<Proc, Span>,
    /// Who goes in circles until when.
    now: BTreeSet<Proc>,
    until: VTime,
}

impl Burned {
    fn add(&mut self, processes: impl Iterator<Item = Proc>, span: Span, until: VTime) {
        (self.now, self.until) = (processes.collect(), until);
        for proc in &self.now {
            let spent = self.spent.entry(*proc).or_default();
            *spent = *spent + span;
        }
    }

    /// Shows in a snapshot of this time who runs, and for how long it has.
    pub fn show(&self, snapshot: &mut Snapshot, at: VTime) {
        for (proc, spent) in &self.spent {
            let Some(process) = snapshot.tree.get_mut(&pid_of(*proc)) else { continue };
            let is_on = self.now.contains(proc) && process.state != State::Stopped;
            let Some(first) = process.threads.first_mut() else { continue };
            let ahead = if self.now.contains(proc) { self.until.since(at).as_ms() } else { 0 };
            first.cpu_ns += spent.as_ms().saturating_sub(ahead) * 1_000_000;
            if is_on {
                (process.state, first.state, first.call) = (State::Running, State::Running, None);
            }
        }
    }
}
