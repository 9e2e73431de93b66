//! New scenarios: random ones, and old ones with a change.
//!
//! A change is made to the scenario as data (JSON), so that nested turns, steps and people change as turns do. Times
//! and words come from a dictionary of what the strategies look for: their limits, a tick beside them, the words
//! that they match. A random search would have to guess those.
//!
//! Invariant: whatever comes out is a [`Case`] that is playable; the same random source gives the same scenarios.

use crate::case::{Case, NONE};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rehang_scenario::generate;
use rehang_scenario::turns::Turn;
use rehang_scenario::{Agent, Fault, ModelDoes, Scenario, Span};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Changes of one scenario at a time.
const CHANGES_MAX: usize = 4;
/// Values of a scenario behind which it gets no larger: a search is for small ones.
const VALUES_MAX: usize = 400;
/// The least span between two things that repeat: hours of less are millions of steps.
const PACE: Span = Span::secs(10);
/// How often a candidate that cannot be played is thrown away before a fresh scenario is taken.
const TRIES: usize = 20;

/// Words that a strategy or an agent looks for, and innocent ones that hold them.
const WORDS: [&str; 22] = [
    "no",
    "No",
    "yes",
    "Cancel",
    "cancel",
    "Snowflake",
    "Annotate",
    "Knowledge",
    "Profile only",
    "skip",
    "Stop",
    "abort",
    "first",
    "last",
    "First",
    "Approve",
    "rate limit",
    "429",
    "quota exceeded",
    "Answer questions?",
    "dev-server",
    "",
];
/// Variables that a persona reads, with what they take.
const ENV: [(&str, &str); 9] = [
    ("ALTIMATE_NON_INTERACTIVE", "1"),
    ("ALTIMATE_NON_INTERACTIVE", "0"),
    ("ALTIMATE_NON_INTERACTIVE", ""),
    ("ALTIMATE_FORCE_INTERACTIVE", "1"),
    ("ALTIMATE_AUTO_ANSWER", "first"),
    ("ALTIMATE_AUTO_ANSWER", "last"),
    ("ALTIMATE_AUTO_ANSWER", "skip"),
    ("ALTIMATE_AUTO_ANSWER", "Cancel"),
    ("BASH_MAX_TIMEOUT_MS", "14400000"),
];
/// Arguments that change who is asked.
const ARGS: [&str; 5] =
    ["--dangerously-skip-permissions", "--permission-prompt-tool", "stdio", "--continue", "--allowedTools"];

/// The limits of all strategies, a tick beside them, and the round times between.
static SPANS: LazyLock<Vec<Span>> = LazyLock::new(|| {
    let mut limits: BTreeSet<u64> = [0, 1, 30_000, 120_000, 300_000, 3_600_000, 14_400_000].into();
    for entry in rehang_strategy::catalogue::all() {
        let params = rehang_strategy::catalogue::Params::defaults(entry.params);
        limits.extend(params.spans.values().map(|span| span.as_ms()));
    }
    let around = limits.iter().flat_map(|&ms| [ms.saturating_sub(1), ms, ms + 1, ms + 60_000]);
    let all: BTreeSet<u64> = around.filter(|&ms| ms <= 6 * 3_600_000).collect();
    all.into_iter().map(Span::ms).collect()
});

/// A random source of scenarios.
pub struct Source {
    runner: TestRunner,
}

impl Source {
    /// The source of a seed.
    pub fn new(seed: u64) -> Source {
        let mut bytes = [0_u8; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Source { runner: TestRunner::new_with_rng(Config::default(), rng) }
    }

    /// A number below `end`; 0 where that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        match end {
            0 => 0,
            end => self.draw(&(0..end)),
        }
    }

    /// A scenario that has never been seen.
    pub fn fresh(&mut self) -> Case {
        loop {
            let scenario = self.draw(&generate::scenario());
            if let Some(case) = tamed(scenario) {
                return case;
            }
        }
    }

    /// An old scenario with a few changes.
    pub fn changed(&mut self, old: &Scenario) -> Case {
        for _ in 0..TRIES {
            let mut scenario = old.clone();
            for _ in 0..=self.below(CHANGES_MAX) {
                scenario = self.change(&scenario).unwrap_or(scenario);
            }
            if scenario != *old
                && let Some(case) = tamed(scenario)
            {
                return case;
            }
        }
        self.fresh()
    }

    fn change(&mut self, old: &Scenario) -> Option<Scenario> {
        let mut scenario = old.clone();
        match self.below(12) {
            0 => scenario.agent = self.draw(&generate::agent()),
            1 => scenario.people.push(self.draw(&generate::person(&old.agent))),
            2 => scenario.faults.push(self.draw(&generate::fault(&old.agent))),
            3 => {
                let more = self.draw(&generate::turns());
                let place = self.below(scenario.turns.len() + 1);
                scenario.turns.splice(place..place, more);
            }
            4 => scenario.terminals = self.draw(&generate::terminals()),
            5 => {
                let (key, value) = ENV[self.below(ENV.len())];
                scenario.env.insert(key.to_owned(), value.to_owned());
            }
            6 => scenario.args.push(ARGS[self.below(ARGS.len())].to_owned()),
            7 if !scenario.turns.is_empty() => {
                let turns = std::mem::take(&mut scenario.turns);
                scenario.turns = match self.below(2) {
                    0 => vec![Turn::Task(rehang_scenario::turns::Task { description: "a".to_owned(), turns })],
                    _ => [turns.clone(), turns].concat(),
                };
            }
            _ => return self.change_value(old),
        }
        Some(scenario)
    }

    /// Changes one value somewhere in the turns, the faults or the people.
    fn change_value(&mut self, old: &Scenario) -> Option<Scenario> {
        let mut whole = serde_json::to_value(old).ok()?;
        let keys = ["turns", "faults", "people", "agent"];
        let count: usize = keys.iter().map(|key| count(&whole[*key])).sum();
        if count > VALUES_MAX {
            return None;
        }
        let mut place = self.below(count);
        for key in keys {
            if let Some(value) = nth(&mut whole[key], &mut place) {
                self.alter(value);
                break;
            }
        }
        serde_json::from_value(whole).ok()
    }

    fn alter(&mut self, value: &mut Value) {
        match value {
            Value::Array(list) if !list.is_empty() => {
                let (from, to) = (self.below(list.len()), self.below(list.len()));
                match self.below(3) {
                    0 => drop(list.remove(from)),
                    1 => list.insert(to, list[from].clone()),
                    _ => list.swap(from, to),
                }
            }
            Value::String(text) if Span::parse(text).is_ok() => {
                *text = SPANS[self.below(SPANS.len())].to_string();
            }
            Value::String(text) => *text = WORDS[self.below(WORDS.len())].to_owned(),
            Value::Number(_) => *value = Value::from(self.below(4)),
            Value::Bool(flag) => *flag = !*flag,
            Value::Null => *value = Value::Bool(self.below(2) == 0),
            _ => {}
        }
    }

    fn draw<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        loop {
            // a strategy gives no value where its filters refused too many: then the next may do
            if let Ok(tree) = strategy.new_tree(&mut self.runner) {
                return tree.current();
            }
        }
    }
}

/// The scenario as a case, if it can be played in reasonable time.
fn tamed(mut scenario: Scenario) -> Option<Case> {
    scenario.title = "found by rehang explore".to_owned();
    scenario.about = None;
    scenario.cites.clear();
    scenario.stages = None;
    scenario.survives.clear();
    for fault in &mut scenario.faults {
        if let Fault::Model(fault) = fault {
            match &mut fault.does {
                ModelDoes::KeepAlive(every) | ModelDoes::Slow(every) => *every = PACE.max(*every),
                _ => {}
            }
        }
    }
    if matches!(scenario.agent, Agent::Program(_)) {
        scenario.turns.clear();
    }
    if scenario.terminals.is_empty() || scenario.seeds.is_empty() {
        return None;
    }
    let mut whole = serde_json::to_value(&scenario).ok()?;
    if count(&whole) > 2 * VALUES_MAX {
        return None;
    }
    pace(&mut whole);
    let case = Case::of(serde_json::from_value(whole).ok()?, NONE);
    case.is_playable().then_some(case)
}

/// Lines at an even pace come no faster than [`PACE`], and nobody spins.
fn pace(value: &mut Value) {
    match value {
        Value::Array(list) => {
            list.retain(|step| step.as_str() != Some("spin"));
            list.iter_mut().for_each(pace);
        }
        Value::Object(table) => {
            if let Some(Value::String(every)) = table.get_mut("every")
                && Span::parse(every).is_ok_and(|span| span < PACE)
            {
                *every = PACE.to_string();
            }
            table.values_mut().for_each(pace);
        }
        _ => {}
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(table) => table.values().map(count).sum(),
        _ => 0,
    }
}

/// The value at a place in depth-first order.
fn nth<'a>(value: &'a mut Value, place: &mut usize) -> Option<&'a mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|value| nth(value, place)),
        Value::Object(table) => table.values_mut().find_map(|value| nth(value, place)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_scenarios() {
        let play = |seed| {
            let mut source = Source::new(seed);
            let mut all = vec![source.fresh()];
            for _ in 0..50 {
                let old = all.last().unwrap().scenario.clone();
                all.push(source.changed(&old));
            }
            all
        };
        let (first, again, other) = (play(1), play(1), play(2));
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert!(first.iter().all(Case::is_playable));
    }
}
