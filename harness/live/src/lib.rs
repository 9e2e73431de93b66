//! The live stage: real releases in namespaces of their own, on the wall clock.
//!
//! Invariant: nothing of an agent survives its cell, and nothing of the user's is within its reach. Everything that a
//! cell starts lives below one child process (`rehang __live`), in a PID namespace whose first process dies with it.

pub mod cell;
pub mod report;
pub mod sandbox;

pub use cell::{Cell, LiveError, run};
pub use report::{Ask, Evidence, Exit, Line, Outcome, Process, Report, Requests, Thread, Via};
