//! Reads a snapshot.
//!
//! Invariant: reading never waits for what it reads of, and never fails for what ends meanwhile.

use crate::data::{Pid, Snapshot};

/// What to read beside the tree.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Ask agents that we know on loopback, by GET requests alone, and read their own records.
    pub ask: bool,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No such process.
    #[error("there is no process {0}")]
    NoProcess(Pid),
    /// /proc cannot be read.
    #[error("/proc cannot be read: {0}")]
    Proc(#[from] std::io::Error),
}

/// Reads the trees below `roots`.
///
/// # Errors
/// None of the roots exists; there is no /proc.
pub fn take(roots: &[Pid], _options: &Options) -> Result<Snapshot, ProbeError> {
    let first = roots.first().copied().unwrap_or_default();
    Err(ProbeError::NoProcess(first))
}

/// The processes whose name, program or script is `name`, those whose parent is none of them.
///
/// # Errors
/// There is no /proc.
pub fn find(_name: &str) -> Result<Vec<Pid>, ProbeError> {
    Ok(Vec::new())
}
