//! What was found: each kind once, as small as it can be made.
//!
//! Invariant: what is kept of a kind is the finding of the lowest ordinal, so the order in which answers come in does
//! not matter.

use super::{Answer, Breach, Order, Seen, Tally};
use crate::case::{Case, any_end};
use crate::shrink::{Limits, shrink};
use rehang_scenario::random::Kind;
use rehang_scenario::{Scenario, to_toml};
use std::collections::BTreeMap;

/// The most plays to make one finding small.
const PLAYS: usize = 300;

/// All that was found.
#[derive(Debug, Default)]
pub struct Found {
    /// All cells.
    pub tally: Tally,
    held: BTreeMap<Key, Held>,
}

/// What makes two findings of one kind: what does not hold, the kind of agent, and what was seen without its numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key(Breach, Kind, String);

/// A finding, with the order that shows it.
#[derive(Debug, Clone)]
pub struct Held {
    /// The ordinal of its scenario, from 0.
    pub nth: u64,
    /// What was seen.
    pub seen: Seen,
    /// What was played, under the finding's stack alone.
    pub order: Order,
    /// How many findings there were of its kind.
    pub times: u64,
}

impl Found {
    /// Takes the answer to an order of the `nth` scenario.
    pub fn take(&mut self, nth: u64, order: &Order, answer: Answer) {
        self.tally.add(&answer.tally);
        for seen in answer.seen {
            let key = Key(seen.breach, Kind::of(&order.scenario.agent), words(&seen.what));
            let order = Order { stacks: vec![seen.stack.clone()], ..order.clone() };
            let new = Held { nth, seen, order, times: 1 };
            match self.held.get_mut(&key) {
                None => drop(self.held.insert(key, new)),
                Some(held) if held.nth <= nth => held.times += 1,
                Some(held) => *held = Held { times: held.times + 1, ..new },
            }
        }
    }

    /// What was found, one of each kind, in the order of the scenarios.
    pub fn held(&self) -> Vec<&Held> {
        let mut all: Vec<&Held> = self.held.values().collect();
        all.sort_by_key(|held| held.nth);
        all
    }
}

impl Held {
    /// The smallest scenario that still shows it, played by `play`, and what is seen there. A `play` that returns
    /// `None` ends the search: the smallest so far is kept.
    pub fn shrunk(&self, play: &dyn Fn(&Order) -> Option<Answer>) -> (Scenario, Seen) {
        let stack = &self.seen.stack;
        let of = |scenario: &Scenario| Order { scenario: scenario.clone(), ..self.order.clone() };
        let shows = |case: &Case| {
            let seen = play(&of(&case.scenario)).map(|answer| answer.seen).unwrap_or_default();
            seen.into_iter().find(|seen| (seen.breach, seen.stage) == (self.seen.breach, self.seen.stage))
        };
        let case = Case { scenario: self.order.scenario.clone(), stack: stack.clone() };
        let mut last = self.seen.clone();
        let small = shrink(&case, Limits { plays: PLAYS, ..Limits::default() }, &mut |case| match shows(case) {
            Some(seen) => {
                last = seen;
                true
            }
            None => false,
        });
        (small.case.scenario, last)
    }

    /// What it is, in a line.
    pub fn line(&self, seen: &Seen) -> String {
        let Seen { breach, stack, stage, what } = seen;
        let times = if self.times == 1 { String::new() } else { format!(" ({} of its kind)", self.times) };
        format!("{} under {stack} on {}: {what}{times}", breach.name(), stage.name())
    }

    /// A scenario file that shows it, with the line that says what.
    pub fn file(&self, scenario: &Scenario, seen: &Seen) -> String {
        let title = format!("found by rehang-lab torture: {}", seen.breach.name());
        let scenario = Scenario { title, expect: vec![any_end()], ..scenario.clone() };
        // a line of a comment holds no control characters
        let line: String = self.line(seen).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("# {line}\n{}", to_toml(&scenario, None))
    }
}

/// A text without its numbers and the names that carry them, cut to its beginning.
fn words(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
    plain.chars().take(90).collect()
}
