//! The parts of Linux that lockstep's two sides and a lone fake share.
//!
//! Invariant: all unsafe code here is behind a safe function, or says what its caller must ensure.

pub mod descriptor;
pub mod fork;
pub(crate) mod named;
pub(crate) mod os;
pub(crate) mod process;
pub mod signals;
pub mod spawn;

pub use os::{connect, listen};
