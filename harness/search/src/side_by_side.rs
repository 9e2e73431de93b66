//! Several searches side by side, each in a thread, that share what they keep.
//!
//! Invariant: they meet after a number of steps, never after a time, and take each other's scenarios in their order;
//! so seed, jobs and steps decide what is found.

use crate::case::Case;
use crate::explore::Explorer;
use crate::finding::{Finding, Key};
use rehang_scenario::Scenario;
use rehang_stage::threads::in_parallel;
use std::collections::{BTreeMap, BTreeSet};

/// Steps of every search between two exchanges of what they keep.
pub const ROUND: u64 = 50;

/// Searches side by side.
pub struct SideBySide {
    explorers: Vec<Explorer>,
    /// Steps that each has taken.
    pub steps: u64,
    /// What the last round kept.
    newest: Vec<Scenario>,
}

/// What all searches found together.
#[derive(Debug)]
pub struct Found {
    /// What breaks an invariant, made small, once for each cause.
    pub findings: Vec<Finding>,
    /// The named states that were reached.
    pub states: BTreeSet<String>,
    /// Cells that could not be played, each kind once.
    pub faults: BTreeMap<String, Case>,
}

impl SideBySide {
    /// `jobs` searches that start from nothing, under every stack or against one alone.
    pub fn new(seed: u64, jobs: usize, against: Option<&str>) -> SideBySide {
        let start = |job| Explorer::new(seed.wrapping_add(job << 32), against.map(str::to_owned));
        let explorers = (0..jobs as u64).map(start).collect();
        SideBySide { explorers, steps: 0, newest: Vec::new() }
    }

    /// Runs each search for this many steps, then exchanges what was kept.
    pub fn round(&mut self, steps: u64) {
        in_parallel(self.explorers.len(), &mut self.explorers, |explorer| (0..steps).for_each(|_| explorer.step()));
        self.steps += steps;
        let new: Vec<_> = self.explorers.iter_mut().map(Explorer::take_new).collect();
        self.newest = new.iter().flatten().map(|news| news.scenario.clone()).collect();
        for (place, explorer) in self.explorers.iter_mut().enumerate() {
            for (_, scenarios) in new.iter().enumerate().filter(|(from, _)| *from != place) {
                explorer.absorb(scenarios);
            }
        }
    }

    /// The scenarios that the last round kept because they reached something new.
    pub fn newest(&self) -> &[Scenario] {
        &self.newest
    }

    /// Cells that were played.
    pub fn cells(&self) -> u64 {
        self.explorers.iter().map(|e| e.cells).sum()
    }

    /// Scenarios that were played.
    pub fn scenarios(&self) -> u64 {
        self.explorers.iter().map(|e| e.steps).sum()
    }

    /// Scenarios that are kept, each once.
    pub fn kept(&self) -> usize {
        self.explorers.iter().map(Explorer::corpus_len).max().unwrap_or_default()
    }

    /// Causes that were found so far.
    pub fn causes(&self) -> usize {
        self.explorers.iter().flat_map(|e| e.findings.keys()).collect::<BTreeSet<_>>().len()
    }

    /// Known defects that were met so far, by their place in [`crate::known::DEFECTS`].
    pub fn known(&self) -> BTreeSet<usize> {
        self.explorers.iter().flat_map(|e| e.known.keys().copied()).collect()
    }

    /// Makes the findings small, one thread per search, and counts findings that became the same as one. Once
    /// `is_late`, none is begun; those that are left stay as they were found.
    pub fn finish(self, is_late: &(dyn Fn() -> bool + Sync)) -> Found {
        let jobs = self.explorers.len().max(1);
        let (states, faults, causes) = self.gather();
        let mut small: Vec<(Key, Finding)> = causes.into_iter().collect();
        in_parallel(jobs, &mut small, |(key, finding)| {
            if !is_late() {
                finding.shrink(key);
            }
        });
        let mut findings: Vec<Finding> = Vec::new();
        for (_, finding) in small {
            match findings.iter_mut().find(|other| other.is_same(&finding)) {
                Some(other) => other.join(finding),
                None => findings.push(finding),
            }
        }
        Found { findings, states, faults }
    }

    fn gather(self) -> (BTreeSet<String>, BTreeMap<String, Case>, BTreeMap<Key, Finding>) {
        let (mut states, mut faults) = (BTreeSet::new(), BTreeMap::new());
        let mut causes: BTreeMap<Key, Finding> = BTreeMap::new();
        for explorer in self.explorers {
            states.extend(explorer.states);
            for (fault, case) in explorer.faults {
                faults.entry(fault).or_insert(case);
            }
            for (key, finding) in explorer.findings {
                match causes.get_mut(&key) {
                    Some(first) => first.join(finding),
                    None => drop(causes.insert(key, finding)),
                }
            }
        }
        (states, faults, causes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_jobs_and_steps_decide_what_is_found() {
        let search = |seed| {
            let mut searches = SideBySide::new(seed, 2, None);
            (0..3).for_each(|_| searches.round(6));
            let (known, cells) = (searches.known(), searches.cells());
            let (states, _, causes) = searches.gather();
            let findings: Vec<_> =
                causes.into_iter().map(|(key, f)| (key, f.why, f.case, f.stacks, f.step, f.met)).collect();
            (known, cells, states, findings)
        };
        let first = search(11);
        assert!(!first.3.is_empty());
        assert_eq!(first, search(11));
        assert_ne!(first.3, search(12).3);
    }
}
