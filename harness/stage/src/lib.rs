//! Where a cell runs: the simulated kernel and the real one, under one conductor and one virtual clock.
//!
//! Invariant: the conductor cannot tell the two worlds apart. Whatever enters a trace comes through
//! [`world::World`], so the same cell has the same trace, byte for byte, on both.

pub mod bare;
pub mod conductor;
pub mod judged;
pub mod line_discipline;
pub mod lockstep;
pub mod sim;
pub mod threads;
pub mod worker;
pub mod world;

pub use conductor::{Job, Proofs, Record, RunError, STEPS_MAX, run, serves};
pub use judged::{Played, Setting, judged};
