//! The kernel of a stage.
//!
//! Invariant: only simulated and lockstep cells run here; a real release never does.

use rehang_os::lockstep::LockstepKernel;
use rehang_os::sim::SimKernel;
use rehang_os::{InternalError, Kernel};
use rehang_scenario::Stage;
use std::path::Path;

/// Why there is no kernel for a stage.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The machine does not provide what real processes in virtual time need.
    #[error("{0}")]
    Lockstep(#[from] InternalError),
    /// Real releases run on the wall clock, and never in a worker.
    #[error("real releases run under `rehang upstream`, not in a worker")]
    Live,
}

/// A kernel for a stage.
///
/// # Errors
/// Why there is none.
pub fn kernel(stage: Stage, fakes: &Path) -> Result<Box<dyn Kernel>, KernelError> {
    match stage {
        Stage::Sim => Ok(Box::new(SimKernel::new(rehang_fakes::program))),
        Stage::Lockstep => Ok(Box::new(LockstepKernel::new(fakes)?)),
        Stage::Live => Err(KernelError::Live),
    }
}
