//! The meaning of a trace: the verdict of a cell, the invariants, the scoreboard.
//!
//! Pure. Invariant: a verdict is a function of the trace and of what the scenario file says; it never
//! looks at the world.
//!
//! How it works: [`judge`] reads a [`Trace`](rehang_trace::Trace) once into an [`Index`], compares what the agent
//! states of itself with what came over the wire ([`crosscheck()`]), makes the [`Verdict`], and checks the nine
//! [`invariants`]. [`meets()`] compares it with what the file expects, [`Scoreboard`] adds cells up, and [`timeline()`]
//! shows one.

pub mod acts;
pub mod blocked;
pub mod cell;
pub mod crosscheck;
pub mod index;
pub mod invariants;
pub mod judge;
pub mod layout;
pub mod leads;
pub mod meets;
pub mod row;
pub mod score;
pub mod timeline;
pub mod transcript;
pub mod verdict;
pub mod view;

#[cfg(test)]
mod testing;

pub use cell::CellFacts;
pub use crosscheck::{Inconsistent, crosscheck};
pub use index::Index;
pub use judge::{judge, verdict};
pub use meets::{Mismatch, What as MismatchIn, meets};
pub use row::Row;
pub use score::{Score, Scoreboard, classify};
pub use timeline::timeline;
pub use transcript::Transcript;
pub use verdict::{Breach, Outcome, Verdict};
pub use view::View;
