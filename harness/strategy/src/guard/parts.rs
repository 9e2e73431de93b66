//! Ends the part of a run that hangs, so that the agent can go on.
//!
//! Invariants: a part is ended once: one that is there again after its KILL, or is the same process, leaves the end of
//! the run; no more than [`MOST`] parts of a run are ended, so that an agent which starts the same command for ever does
//! not run for ever.

use super::process::STEP;
use super::report;
use super::standing::Finding;
use crate::{Act, ProcessAct, Whom};
use rehang_evidence::Pid;
use rehang_words::{Canon, Policy, VTime};

/// How many times a part of a run is ended before the run is. A judgement: an agent whose third tool hangs as well will
/// start a fourth.
const MOST: u8 = 3;

/// The processes to end, ascending; 0 fills the rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts([Pid; 4]);

impl Parts {
    /// These processes; none if there are more than four, for then the whole run is in question.
    pub fn of(pids: &[Pid]) -> Parts {
        let mut all = [0; 4];
        if pids.len() <= all.len() {
            all[..pids.len()].copy_from_slice(pids);
            all[..pids.len()].sort_unstable();
        }
        Parts(all)
    }

    /// The processes.
    pub fn pids(self) -> impl Iterator<Item = Pid> {
        self.0.into_iter().filter(|pid| *pid != 0)
    }

    pub(super) fn canon(self, canon: &mut Canon) {
        canon.list(&self.pids().collect::<Vec<Pid>>(), |canon, pid| {
            canon.num(u64::from(pid.unsigned_abs()));
        });
    }
}

/// The parts of one run that were ended.
#[derive(Debug, Default)]
pub(super) struct PartEnds {
    count: u8,
    last: Parts,
    /// When those of [`PartEnds::last`] that are left are killed.
    kill: Option<VTime>,
}

impl PartEnds {
    /// Whether this finding has a part that may be ended now.
    pub(super) fn may_end(&self, found: Finding) -> bool {
        let is_new = found.parts.pids().all(|pid| self.last.pids().all(|ended| ended != pid));
        found.parts.pids().next().is_some() && is_new && self.count < MOST && self.kill.is_none()
    }

    /// Sends TERM to the part.
    pub(super) fn begin(&mut self, now: VTime, found: Finding, acts: &mut Vec<Act>) {
        (self.count, self.last, self.kill) = (self.count + 1, found.parts, Some(now + STEP));
        let report = report(found.signature.word(), "end-part", found.limit.report, ("limit_ms", found.after));
        // how the run ends is not known yet, and this may not be why
        acts.push(Act::Report(Policy { cause: None, ..report }));
        acts.extend(self.last.pids().map(|pid| Act::Process(ProcessAct::Kill { sig: "TERM", whom: Whom::Part(pid) })));
    }

    /// When [`PartEnds::tick`] is due.
    pub(super) fn deadline(&self) -> Option<VTime> {
        self.kill
    }

    /// Sends KILL to what is left of the part, if it is time to.
    pub(super) fn tick(&mut self, now: VTime, acts: &mut Vec<Act>) {
        if self.kill.take_if(|at| now >= *at).is_some() {
            acts.extend(
                self.last.pids().map(|pid| Act::Process(ProcessAct::Kill { sig: "KILL", whom: Whom::Part(pid) })),
            );
        }
    }

    /// The run is over, or is ended as a whole.
    pub(super) fn over(&mut self) {
        self.kill = None;
    }

    pub(super) fn canon(&self, canon: &mut Canon) {
        let Self { count, last, kill } = self;
        canon.num((*count).into()).deadline(*kill);
        last.canon(canon);
    }
}
