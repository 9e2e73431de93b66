//! What is written down: the scenario file, its words, its errors.
//!
//! Pure: no clock, no process, no descriptor. This is the lowest crate of the house, so the words that
//! every other crate shares (virtual time, roles, terminals, policies) live here too.
//!
//! Invariant: a [`Scenario`] is whole. Defaults are filled in, `[[vary]]` and `[control]` are applied;
//! nothing above this crate looks at TOML.

pub mod canon;
pub mod model;
pub mod policy;
pub mod time;
pub mod turns;

pub use canon::{Canon, Canonical};
pub use model::*;
pub use policy::Policy;
pub use time::{Span, VTime};
