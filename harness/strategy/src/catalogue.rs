//! The catalogue of strategies, and which agents they can sit in.
//!
//! Invariant: each name with its version is in it once.

use crate::entry::{Entry, Named, Seat, Wire};

/// Every strategy in every version, in the order of the design's table: `none` first.
pub fn all() -> Vec<&'static Entry> {
    entries().collect()
}

/// The same, one after another.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> + Clone {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The stacks that have a name of their own.
pub fn named() -> &'static [Named] {
    crate::guard::STACKS
}

/// Why a stack cannot play with an agent. The summary of what was left out counts by these texts: the same reason
/// always has the same text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeatError {
    /// A strategy speaks none of the agent's wires.
    #[error("it needs {needs}; this agent has {has}")]
    Wires {
        /// The wires that the strategy speaks.
        needs: String,
        /// The wires that the agent speaks.
        has: String,
    },
    /// No member of a named stack has a seat in this agent.
    #[error("no member of it has a seat there")]
    Nobody,
}

/// Whether a strategy has a seat with an agent that can be reached in these ways.
///
/// # Errors
/// It speaks none of the agent's wires.
pub fn fits(entry: &Entry, has: &[Wire]) -> Result<(), SeatError> {
    if entry.seat == Seat::Nowhere || entry.speaks.iter().any(|wire| has.contains(wire)) {
        return Ok(());
    }
    let needs: Vec<&str> = entry.speaks.iter().map(|wire| wire.name()).collect();
    let has: Vec<&str> = has.iter().map(|wire| wire.name()).collect();
    Err(SeatError::Wires { needs: needs.join(" or "), has: has.join(", ") })
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
