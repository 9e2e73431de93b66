//! Ties: the moments at which two or more participants can run, and who then does; and moments within two ticks of each
//! other, of which the first may come late.
//!
//! Invariants: without a choice the seed decides, so a choice changes nothing before its tie; ties are counted in the same
//! way on every stage; the check of a lasso's cycle counts none and obeys no choice. A choice ends the search for a cycle
//! that was under way, so a lasso is only claimed of what the seed alone repeats.

use super::proof::State;
use super::{Candidate, Scheduler};
use rehang_os::kernel::{Few, InternalError};
use rehang_scenario::{Span, TieChoice, VTime};
use rehang_trace::Event;

/// What the name of a candidate ends with that is no participant: what is due comes this late.
pub const LATE: &str = " late";

/// A tie, as one who explores orders sees it.
#[derive(Debug)]
pub struct Tie<'a> {
    /// Its ordinal in the cell, from 1.
    pub ordinal: u32,
    /// The step that is to be taken, from 1.
    pub step: u64,
    /// The virtual time of the tie; the first of the moments, where it is doubtful which comes first.
    pub now: VTime,
    /// The names of the candidates, in the seed's order: the first runs unless another is picked.
    pub candidates: &'a [String],
    /// Until when only processes go on, if the run is over already.
    pub landing: Option<VTime>,
    /// The events so far.
    pub events: &'a [Event],
    /// The whole state before the step, if [`Watch::wants_state`] asked for it.
    pub state: Option<State>,
}

/// What happens at a tie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// This candidate runs: its place in [`Tie::candidates`], from 0.
    Candidate(usize),
    /// The run is broken off: what follows is known.
    Cut,
}

/// Sees the ties of a run, and picks at them.
pub trait Watch {
    /// Whether the state is wanted at this tie. It costs more than the step does.
    fn wants_state(&self, ordinal: u32) -> bool;
    /// What happens at a tie.
    fn pick(&mut self, tie: &Tie<'_>) -> Pick;
}

/// Why an order does not fit its cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The run has fewer ties.
    #[error("the order picks at tie {}, and the run has {ties} under it; `rehang run --orders` finds orders that fit", choice.tie)]
    NoTie {
        /// The first choice that is left over.
        choice: TieChoice,
        /// How many ties the run has.
        ties: u32,
    },
    /// The tie has fewer candidates.
    #[error("the order picks candidate {} at tie {}, which has {}: {}", choice.pick, choice.tie, candidates.len(), candidates.join(", "))]
    NoCandidate {
        /// The choice.
        choice: TieChoice,
        /// The candidates, in the seed's order.
        candidates: Vec<String>,
    },
}

/// The ties of a run so far.
#[derive(Default)]
pub struct Ties<'w> {
    /// How many there were; counted only where an order or a watch decides them.
    pub count: u32,
    /// How many of the order's choices were made.
    pub made: usize,
    /// Whether another candidate than the seed's has run since this was last taken.
    pub has_chosen: bool,
    /// Whether the run is broken off.
    pub is_cut: bool,
    /// Whether ties are not counted: a cycle is played once more.
    pub is_replay: bool,
    /// The newest process that was a candidate at a tie: its place in the order of starts, from 1.
    pub newest: u32,
    /// Why the order does not fit.
    pub misfit: Option<Misfit>,
    /// Who picks, in place of the order.
    pub watch: Option<&'w mut dyn Watch>,
}

impl Ties<'_> {
    /// The choice of an order at the tie that has just been counted.
    pub fn choice(&mut self, choices: &[TieChoice]) -> Option<TieChoice> {
        let choice = choices.get(self.made).copied().filter(|choice| choice.tie == self.count)?;
        self.made += 1;
        Some(choice)
    }
}

/// How far apart two moments may be for it to be doubtful which comes first: two ticks.
pub const NEAR: Span = Span::ms(2);

impl Scheduler<'_, '_> {
    /// The candidate that runs; `None` if the run is broken off here.
    pub fn pick(
        &mut self,
        mut candidates: Few<(Candidate, u64)>,
        landing: Option<VTime>,
    ) -> Result<Option<Candidate>, InternalError> {
        if candidates.len() > 1 {
            let process = |(one, _): &(Candidate, u64)| match one {
                Candidate::Process(proc) => Some(proc.0 + 1),
                Candidate::Actor(_) => None,
            };
            self.ties.newest = candidates.iter().filter_map(process).max().unwrap_or(0).max(self.ties.newest);
        }
        if candidates.len() < 2 || !self.is_ordered() {
            return Ok(candidates.iter().min_by_key(|(_, rank)| *rank).map(|(first, _)| *first));
        }
        candidates.sort_by_key(|(_, rank)| *rank);
        let names: Vec<String> = candidates.iter().map(|(one, _)| self.name(*one).to_owned()).collect();
        let at = self.choose(names, self.hub.now, landing)?;
        Ok(at.and_then(|at| candidates.get(at)).map(|(candidate, _)| *candidate))
    }

    /// To which moment time moves: the next at which something is due, unless the order has what is due then come late,
    /// together with what is due within two ticks of it. `None` if the run is broken off here.
    pub fn moment(&mut self, next: VTime) -> Result<Option<VTime>, InternalError> {
        if !self.is_ordered() {
            return Ok(Some(next));
        }
        let mut moments = vec![next];
        while let Some(later) = self.deadline_after(moments[moments.len() - 1]).filter(|at| *at <= next + NEAR) {
            moments.push(later);
        }
        if moments.len() < 2 {
            return Ok(Some(next));
        }
        let late = |at: &VTime| match at.since(next) {
            Span::ZERO => "on time".to_owned(),
            late => format!("{late}{LATE}"),
        };
        let names = moments.iter().map(late).collect();
        let at = self.choose(names, next, None)?;
        Ok(at.and_then(|at| moments.get(at)).copied())
    }

    /// Whether anything but the seed decides ties here, so that they are counted.
    fn is_ordered(&self) -> bool {
        !self.ties.is_replay && (self.ties.watch.is_some() || !self.job.choices.is_empty())
    }

    /// Which of these is picked at a tie; `None` if the run is broken off here.
    fn choose(
        &mut self,
        names: Vec<String>,
        now: VTime,
        landing: Option<VTime>,
    ) -> Result<Option<usize>, InternalError> {
        self.ties.count += 1;
        let choice = self.ties.choice(self.job.choices);
        let at = match (choice, self.ties.watch.take()) {
            (Some(choice), _) => usize::from(choice.pick) - 1,
            (None, None) => 0,
            (None, Some(watch)) => {
                let ordinal = self.ties.count;
                let state = if watch.wants_state(ordinal) { Some(self.whole_state()?) } else { None };
                let (step, events) = (self.steps + 1, self.hub.events.as_slice());
                let picked = watch.pick(&Tie { ordinal, step, now, candidates: &names, landing, events, state });
                self.ties.watch = Some(watch);
                match picked {
                    Pick::Candidate(at) => at,
                    Pick::Cut => {
                        self.ties.is_cut = true;
                        return Ok(None);
                    }
                }
            }
        };
        self.ties.has_chosen |= at > 0;
        if at < names.len() {
            return Ok(Some(at));
        }
        self.ties.is_cut = true;
        self.ties.misfit = choice.map(|choice| Misfit::NoCandidate { choice, candidates: names });
        Ok(None)
    }

    fn name(&self, candidate: Candidate) -> &str {
        match candidate {
            Candidate::Process(proc) => self.hub.kernel.role(proc),
            Candidate::Actor(at) => &self.seats[at].name,
        }
    }
}

/// The order of candidates: seeds 2k-1 and 2k give opposite orders, so that two seeds give both orders of any tie of two.
pub fn rank(seed: u64, role: &str) -> u64 {
    let pair = seed.div_ceil(2);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in role.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 29;
    if seed.is_multiple_of(2) { !hash } else { hash }
}
