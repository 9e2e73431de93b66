//! The fakes: personas that play real agents, and the tools that they start.
//!
//! Invariant: a persona is pure. It reaches the world only through [`os::Os`], so it runs the same on the
//! simulated kernel, in lockstep on the real one, and alone on the wall clock.

pub mod claude;
pub mod inside;
pub mod opencode;
pub mod os;
pub mod plan;
pub mod real;
pub mod tool;

pub use plan::{Plan, program};
