//! The live stage: real releases in namespaces of their own, on the wall clock.
//!
//! Invariant: nothing of an agent survives its cell, and the agent can reach nothing that belongs to the user.
//! Everything that a cell starts lives below one child process (`rehang __live`), in a PID namespace whose first
//! process dies with it.

pub mod cell;
mod host;
mod input;
mod novelty;
mod pending;
mod plan;
mod processes;
mod record;
pub mod relay;
pub mod report;
pub mod sandbox;
mod serve;
mod spec;
mod supervisor;
mod terminal;
mod tools;
mod verdict;
mod watch;

pub use cell::{
    LIVE_ARG, Played, Virtual, cannot, deadline, played, run, run_asking, run_looking, run_on_screen, run_telling,
    run_virtually,
};
pub use plan::order;
/// The virtual time that a cell has if nothing else is said.
pub use rehang_warp::HORIZON;
pub use report::{Ask, Evidence, Exit, Line, Outcome, Process, Report, Requests, Thread, Via};
pub use spec::{Cell, CellSpec, LiveError, LookAt, MODEL_PORT, SentSignal};
pub use terminal::{ScreenKind, ScreenSize};
