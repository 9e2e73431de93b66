//! The live stage: real releases in namespaces of their own, on the wall clock.
//!
//! Invariant: nothing of an agent survives its cell, and nothing of the user's is within its reach. Everything that a
//! cell starts lives below one child process (`rehang __live`), in a PID namespace whose first process dies with it.

pub mod cell;
mod host;
mod novelty;
mod pending;
mod people;
mod plan;
mod processes;
mod record;
pub mod report;
pub mod sandbox;
mod serve;
mod supervisor;
mod verdict;
mod watch;

pub use cell::{Cell, LIVE_ARG, LiveError, Played, cannot, deadline, played, run, run_looking, run_telling};
pub use plan::PROMPT;
pub use report::{Ask, Evidence, Exit, Line, Outcome, Process, Report, Requests, Thread, Via};
