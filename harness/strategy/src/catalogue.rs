//! What strategies there are, and which agents they can sit in.
//!
//! Invariant: a name with its version is in it once.

use crate::entry::{Entry, Named, Seat};
use rehang_scenario::Agent;

/// Every strategy in every version, in the order of the design's table: `none` first.
pub fn all() -> Vec<&'static Entry> {
    FAMILIES.iter().flat_map(|family| family.iter()).collect()
}

/// The stacks that have a name of their own.
pub fn named() -> &'static [Named] {
    crate::guard::STACKS
}

/// Whether a strategy has its seat with this agent.
///
/// # Errors
/// Why not, in words for the summary of what was left out; the same words for the same reason.
pub fn fits(entry: &Entry, agent: &Agent) -> Result<(), String> {
    let has = agent.wires();
    if entry.seat == Seat::Nowhere || entry.speaks.iter().any(|wire| has.contains(wire)) {
        return Ok(());
    }
    let wants: Vec<&str> = entry.speaks.iter().map(|wire| wire.name()).collect();
    let has: Vec<&str> = has.iter().map(|wire| wire.name()).collect();
    Err(format!("it needs {}; this agent has {}", wants.join(" or "), has.join(", ")))
}

const FAMILIES: &[&[Entry]] = &[
    crate::none::ENTRIES,
    crate::wall::ENTRIES,
    crate::idle::ENTRIES,
    crate::auto_answer::ENTRIES,
    crate::auto_approve::ENTRIES,
    crate::cli_manager::ENTRIES,
    crate::companion::ENTRIES,
    crate::pawwork::ENTRIES,
    crate::not_offered::ENTRIES,
    crate::blind_timeout::ENTRIES,
    crate::pending_ask::ENTRIES,
    crate::guard::ENTRIES,
];

#[cfg(test)]
mod tests;
