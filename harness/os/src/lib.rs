//! Where programs run: what a process may ask of its operating system, and the kernels that answer.
//!
//! [`os`] is what one process sees ([`Os`]) and what it is ([`Program`]); [`kernel`] is what the scheduler sees
//! ([`Kernel`]). Two kernels keep virtual time: [`sim`], in one address space, and [`lockstep`], with real processes. A
//! program also runs [`alone`], on the wall clock.
//!
//! Invariant: the scheduler cannot tell the two kernels apart. Whatever enters a trace comes through [`Kernel`], so the
//! same cell has the same trace, byte for byte, on both.

pub mod alone;
pub mod dispatch;
pub mod exec;
pub mod kernel;
pub mod line_discipline;
pub mod linux;
pub mod lockstep;
pub mod os;
pub mod sim;
pub mod tables;

pub use dispatch::{Fakes, dispatch};
pub use kernel::{InternalError, Kernel};
pub use os::{CannotStart, Os, Program, Programs};
