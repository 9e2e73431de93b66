//! Where a cell runs: one scheduler and one virtual clock over a [`Kernel`](rehang_os::Kernel), simulated or real.
//!
//! Invariant: the scheduler reaches processes through that trait alone, so it cannot tell the two kernels apart.

pub mod bare;
pub mod judged;
pub mod scheduler;
pub mod threads;
pub mod worker;

pub use judged::{JudgedError, Played, Setting, facts, judged, of_record};
pub use scheduler::{
    Job, LATE, Look, Looks, Misfit, Pick, Proofs, Record, RunError, STEPS_MAX, State, TEXT_MAX, Tie, Watch, dress,
    has_trace, run, run_watched,
};
