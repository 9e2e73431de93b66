//! Why a call has no answer.

use rehang_evidence::{Pid, SnapshotError};

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such process.
    #[error("there is no process {0}")]
    NoProcess(Pid),
    /// The caller passed something that the call does not take.
    #[error("{0}")]
    Usage(String),
    /// The machine does not let processes be read.
    #[error("{0}")]
    Machine(String),
    /// rehang's own fault.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// Its word in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::NoProcess(_) => "no-process",
            Error::Usage(_) => "usage",
            Error::Machine(_) => "machine",
            Error::Internal(_) => "internal",
        }
    }
}

impl From<SnapshotError> for Error {
    fn from(error: SnapshotError) -> Error {
        match error {
            SnapshotError::NoProcess(pid) => Error::NoProcess(pid),
            SnapshotError::Proc(_) => Error::Machine(error.to_string()),
        }
    }
}
