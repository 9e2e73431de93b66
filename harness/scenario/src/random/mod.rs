//! Random scenarios: those that a search plays, and those of property tests, in this crate and in those that use it.
//!
//! What the format can express is drawn only here: a search changes and aims what is drawn.
//!
//! Invariant: every word of the format is drawn (a test holds it).

mod faults;
#[cfg(test)]
mod frequencies;
mod parts;
mod rng;
#[cfg(test)]
mod round_trip;
pub mod vocabulary;

pub use parts::Kind;
pub use rng::Rng;
