//! Where cells run, as the command line says it.
//!
//! Invariant: each place is a list of stages; cells that run on more than one are compared.

use crate::error::CommandError;
use clap::ValueEnum;
use rehang_scenario::Stage;

/// Where cells run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Where {
    /// Personas and a model of the kernel in one process.
    Sim,
    /// Real processes in virtual time.
    Lockstep,
    /// Both, and the traces are compared.
    Both,
    /// Real releases on the wall clock.
    Live,
}

impl Where {
    /// The word that the command line uses.
    pub fn name(self) -> &'static str {
        match self {
            Where::Sim => "sim",
            Where::Lockstep => "lockstep",
            Where::Both => "both",
            Where::Live => "live",
        }
    }

    /// Whether cells run there; real releases are run by another command.
    ///
    /// # Errors
    /// Which command.
    pub fn is_of_cells(self, filter: &[String]) -> Result<(), CommandError> {
        if self != Where::Live {
            return Ok(());
        }
        let filter: String = filter.iter().map(|word| format!(" {word}")).collect();
        Err(CommandError::Usage(format!(
            "a real release stands on the stage `live`, and no strategy beside it: name the release with \
             `rehang upstream AGENT@VERSION{filter}`, for example `rehang upstream opencode@latest{filter}`"
        )))
    }

    /// The stages.
    pub fn stages(self) -> &'static [Stage] {
        match self {
            Where::Sim => &[Stage::Sim],
            Where::Lockstep => &[Stage::Lockstep],
            Where::Both => &[Stage::Sim, Stage::Lockstep],
            Where::Live => &[Stage::Live],
        }
    }
}
