//! The parts of Linux that lockstep's two sides and a lone fake share.
//!
//! Invariant: all that is unsafe here is behind a function that is not, or says what its caller must hold.

pub mod descriptor;
pub mod machine;
pub(crate) mod os;
pub(crate) mod process;
pub mod signals;
pub mod spawn;

pub use os::{connect, listen};
