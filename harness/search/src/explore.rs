//! Looks for what breaks an invariant, and keeps going where something new was reached.
//!
//! A step plays one scenario under `none` and under every stack that has a seat in its agent. A scenario that
//! reached something new is kept, and later ones are made from those that were kept. What breaks an invariant that
//! `none` does not break is a finding: it is made small at once, and found once.
//!
//! Invariant: what is found is a function of the seed and the number of steps.

use crate::case::{Case, NONE, Shown};
use crate::cover;
use crate::known::DEFECTS;
use crate::mutate::Source;
use crate::property::Property;
use crate::shrink::{Limits, shrink};
use rehang_judge::{Outcome, Verdict};
use rehang_scenario::{Agent, Invariant, Proof, Scenario, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Scenarios that are kept.
const CORPUS_MAX: usize = 4_000;
/// Plays for one finding.
const SHRINK_PLAYS: usize = 1_500;
/// One step in so many starts from nothing.
const FRESH_EVERY: usize = 5;

/// Something that breaks an invariant.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The smallest case that shows it.
    pub case: Case,
    /// What it shows.
    pub property: Property,
    /// One sentence: who, what, why.
    pub why: String,
    /// At which step it was found first.
    pub step: u64,
    /// How often it was met.
    pub met: u64,
}

/// What makes two findings one: who breaks what on which agent, and how it ended.
pub type Key = (String, Invariant, &'static str, String);

/// A search.
pub struct Explorer {
    source: Source,
    corpus: Vec<Scenario>,
    new: Vec<Scenario>,
    features: BTreeSet<u64>,
    /// The named states that were reached.
    pub states: BTreeSet<String>,
    /// What was found, by what makes it one.
    pub findings: BTreeMap<Key, Finding>,
    /// Known defects that were met: their place in [`DEFECTS`], and the step.
    pub known: BTreeMap<usize, u64>,
    /// Cells that could not be played, each kind once.
    pub faults: BTreeMap<String, Case>,
    /// Steps taken.
    pub steps: u64,
    /// Cells played, without those of shrinking.
    pub cells: u64,
}

impl Explorer {
    /// A search from nothing.
    pub fn new(seed: u64) -> Explorer {
        Explorer {
            source: Source::new(seed),
            corpus: Vec::new(),
            new: Vec::new(),
            features: BTreeSet::new(),
            states: BTreeSet::new(),
            findings: BTreeMap::new(),
            known: BTreeMap::new(),
            faults: BTreeMap::new(),
            steps: 0,
            cells: 0,
        }
    }

    /// Plays one scenario.
    pub fn step(&mut self) {
        self.steps += 1;
        let kept = self.corpus.len();
        let case = match kept == 0 || self.source.below(FRESH_EVERY) == 0 {
            true => self.source.fresh(),
            false => {
                let old = self.corpus[self.source.below(kept)].clone();
                self.source.changed(&old)
            }
        };
        self.play(case);
    }

    /// Scenarios kept since the last time that this was asked: for the other searches that run beside this one.
    pub fn take_new(&mut self) -> Vec<Scenario> {
        std::mem::take(&mut self.new)
    }

    /// Takes scenarios that another search kept.
    pub fn absorb(&mut self, scenarios: &[Scenario]) {
        for scenario in scenarios {
            self.keep(scenario.clone());
        }
    }

    /// The size of what is kept.
    pub fn corpus_len(&self) -> usize {
        self.corpus.len()
    }

    fn play(&mut self, case: Case) {
        let before = self.features.len();
        let agent = agent(&case.scenario.agent);
        let none = match case.play_as(NONE, Span::ZERO, None) {
            Ok(none) => none,
            Err(fault) => {
                self.faults.entry(fault).or_insert(case);
                return;
            }
        };
        self.cells += 1;
        cover::features(agent, NONE, &none.verdict, &none.trace, &mut self.features);
        cover::states(&none.verdict, &none.trace, &mut self.states);
        let mut shown = Shown { none, under: None };
        self.note(&case, NONE, &shown);
        let healthy = Span(shown.none.verdict.virtual_ms());
        let healthy = if shown.none.verdict.outcome.word() == "completed" { healthy } else { Span::ZERO };
        for stack in rehang_strategy::catalogue::matrix(&case.scenario.agent) {
            if stack == NONE {
                continue;
            }
            let played = match case.play_as(&stack, healthy, Some(&shown.none.verdict)) {
                Ok(played) => played,
                Err(fault) => {
                    self.faults.entry(fault).or_insert_with(|| Case { stack, ..case.clone() });
                    continue;
                }
            };
            self.cells += 1;
            cover::features(agent, &stack, &played.verdict, &played.trace, &mut self.features);
            cover::states(&played.verdict, &played.trace, &mut self.states);
            shown.under = Some(played);
            self.note(&case, &stack, &shown);
            self.look_for_findings(&case, &stack, agent, &shown);
        }
        if self.features.len() > before {
            self.new.push(case.scenario.clone());
            self.keep(case.scenario);
        }
    }

    fn keep(&mut self, scenario: Scenario) {
        if self.corpus.len() < CORPUS_MAX {
            self.corpus.push(scenario);
        } else {
            let place = self.source.below(CORPUS_MAX);
            self.corpus[place] = scenario;
        }
    }

    fn note(&mut self, case: &Case, stack: &str, shown: &Shown) {
        for (place, defect) in DEFECTS.iter().enumerate() {
            if !self.known.contains_key(&place) && defect.shown_by(&case.scenario, stack, shown) {
                self.known.insert(place, self.steps);
            }
        }
    }

    fn look_for_findings(&mut self, case: &Case, stack: &str, agent: &'static str, shown: &Shown) {
        let before = shown.none.verdict.broken();
        let verdict = shown.verdict();
        // a cell that was given up is judged by what it had come to
        if [&shown.none.verdict, verdict].into_iter().any(is_given_up) {
            return;
        }
        for invariant in verdict.broken().into_iter().filter(|i| !before.contains(i)) {
            let class = cover::class(&verdict.outcome);
            let key = (stack.to_owned(), invariant, agent, class.clone());
            if let Some(finding) = self.findings.get_mut(&key) {
                finding.met += 1;
                continue;
            }
            let property = Property::Breaks(invariant);
            let same = |shown: &Shown| property.holds(shown) && cover::class(&shown.verdict().outcome) == class;
            let large = Case { stack: stack.to_owned(), ..case.clone() };
            let limits = Limits { plays: SHRINK_PLAYS };
            let small = shrink(&large, limits, &mut |case| case.play().is_ok_and(|shown| same(&shown)));
            // the bound of a strategy starts from a healthy run, which a case alone does not know: then it stays large
            let case = if small.case.play().is_ok_and(|shown| same(&shown)) { small.case } else { large };
            let why = why(verdict, invariant);
            self.findings.insert(key, Finding { case, property, why, step: self.steps, met: 1 });
        }
    }
}

fn is_given_up(verdict: &Verdict) -> bool {
    matches!(verdict.outcome, Outcome::Hung { proof: Proof::Horizon, .. })
}

fn why(verdict: &Verdict, invariant: Invariant) -> String {
    let breach = verdict.breaches.iter().find(|breach| breach.invariant == invariant);
    breach.map(|breach| breach.why.clone()).unwrap_or_default()
}

/// The word that a file uses for an agent.
pub fn agent(agent: &Agent) -> &'static str {
    match agent {
        Agent::Claude(_) => "claude",
        Agent::Opencode(_) => "opencode",
        Agent::Altimate(_) => "altimate",
        Agent::Pawwork(_) => "pawwork",
        Agent::Program(_) => "program",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::{load, to_toml};

    #[test]
    fn a_search_finds_what_it_then_shows_and_finds_the_same_again() {
        let search = || {
            let mut explorer = Explorer::new(7);
            (0..30).for_each(|_| explorer.step());
            explorer
        };
        let (first, again) = (search(), search());
        assert!(!first.findings.is_empty() && !first.known.is_empty());
        assert!(first.faults.is_empty(), "{:?}", first.faults.keys());
        for finding in first.findings.values() {
            assert!(finding.property.shown_by(&finding.case), "{}", finding.why);
            let text = to_toml(&finding.case.scenario, None);
            assert!(load("finding.toml", text.as_bytes()).into_result().is_ok(), "{text}");
        }
        assert_eq!(first.known, again.known);
        assert_eq!(first.states, again.states);
        assert_eq!(first.findings.keys().collect::<Vec<_>>(), again.findings.keys().collect::<Vec<_>>());
    }
}
