//! Random scenarios: those that a search plays, and those of property tests, of this crate and of those above it.
//!
//! What the format can say is drawn here and nowhere else: a search changes what is drawn, and aims it.
//!
//! Invariant: every word of the format is drawn (a test holds it).

mod faults;
mod parts;
mod rng;
#[cfg(test)]
mod round_trip;
pub mod vocabulary;

pub use parts::Kind;
pub use rng::Rng;
