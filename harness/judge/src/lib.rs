//! What it means: the trace of a cell, its verdict, the invariants, the scoreboard.
//!
//! Pure. Invariant: a verdict is a function of the trace and of what the scenario file says; it never
//! looks at the world.

pub mod trace;

pub use trace::{AskEnd, AskKind, Cause, Event, Fact, Trace, What};
