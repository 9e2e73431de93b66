//! Which stacks play with an agent.
//!
//! Invariant: each strategy that fits plays alone, unless it is a part of a named stack: parts play only there.

use crate::catalogue::{all, fits, named};
use crate::entry::{Entry, Value};
use rehang_scenario::Agent;

/// The stacks of an agent's matrix, `none` first: each strategy that fits, alone and in each of its
/// placements ([`VARIED`]), and the named stacks of which a member fits. The parts of a named stack play only there.
pub fn matrix(agent: &Agent) -> Vec<String> {
    let single = alone().filter(|entry| fits(entry, agent).is_ok()).flat_map(placements);
    let stacks = named().iter().filter(|stack| crate::stack::stack(stack.name).is_ok_and(|s| s.seat_in(agent).is_ok()));
    single.chain(stacks.map(|stack| stack.name.to_owned())).collect()
}

/// The stacks of any agent's matrix, `none` first.
pub fn stacks() -> Vec<String> {
    alone().flat_map(placements).chain(named().iter().map(|stack| stack.name.to_owned())).collect()
}

/// The stacks that can be used alone; the parts of a named stack cannot.
fn alone() -> impl Iterator<Item = &'static Entry> {
    let is_part = |entry: &&Entry| crate::guard::ENTRIES.iter().any(|part| part.name == entry.name);
    all().into_iter().filter(move |entry| !is_part(entry))
}

/// Parameters that are a placement rather than a setting: the matrix takes each of their words.
pub const VARIED: &[&str] = &["at", "as"];

fn placements(entry: &'static Entry) -> Vec<String> {
    let varied = entry.params.iter().find(|param| VARIED.contains(&param.name));
    match varied.map(|param| (param.name, param.default)) {
        Some((name, Value::Word(words))) => words.iter().map(|w| format!("{}({name}={w})", entry.name)).collect(),
        _ => vec![entry.name.to_owned()],
    }
}
