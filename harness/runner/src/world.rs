//! Where a cell runs: the world of a stage.
//!
//! Invariant: only simulated and lockstep cells run here; a real release never does.

use rehang_scenario::Stage;
use rehang_stage::lockstep;
use rehang_stage::sim;
use rehang_stage::world::World;
use std::path::Path;

/// Why there is no world for a stage.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The machine does not give what real processes in virtual time take.
    #[error("{0}")]
    Lockstep(String),
    /// Real releases run on the wall clock, and never in a worker.
    #[error("real releases run under `rehang upstream`, not in a worker")]
    Live,
}

/// A world for a stage.
///
/// # Errors
/// Why there is none.
pub fn world(stage: Stage, fakes: &Path) -> Result<Box<dyn World>, WorldError> {
    match stage {
        Stage::Sim => Ok(Box::new(sim::Kernel::new())),
        Stage::Lockstep => {
            let kernel = lockstep::Kernel::new(fakes).map_err(|fault| WorldError::Lockstep(fault.to_string()))?;
            Ok(Box::new(kernel))
        }
        Stage::Live => Err(WorldError::Live),
    }
}
