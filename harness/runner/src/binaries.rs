//! The binaries that a run starts: this one, as a worker, and that of the fakes.
//!
//! Invariant: fakes of another build than this one are never used, unless `REHANG_FAKES` names them.

use crate::pool::Workers;
use rehang_fakes::registry::{BUILD, BUILD_ARG};
use rehang_processes::machine::{self, Missing};
use rehang_stage::threads::cores;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Why a binary cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// The machine does not provide what is needed; with the remedy.
    #[error(transparent)]
    Machine(#[from] Missing),
    /// The kernel does not say where this binary is.
    #[error("rehang does not find itself: {0}")]
    Own(io::Error),
}

/// This binary.
///
/// # Errors
/// It cannot be found: `/proc` is not mounted.
pub fn own_binary() -> Result<PathBuf, BinaryError> {
    machine::has_proc()?;
    std::env::current_exe().map_err(BinaryError::Own)
}

/// The binary of the fakes: `REHANG_FAKES`, or `rehang-fakes` beside this binary, or this binary itself. One of another
/// build is not used: it would play something else than sim does, and `cargo build --package rehang` leaves an old one
/// there.
///
/// # Errors
/// This binary cannot be found.
pub fn fakes() -> Result<PathBuf, BinaryError> {
    // every worker needs it
    machine::has_proc()?;
    if let Some(path) = std::env::var_os("REHANG_FAKES") {
        return Ok(path.into());
    }
    let own = own_binary()?;
    let beside = own.with_file_name("rehang-fakes");
    let said = Command::new(&beside).arg(BUILD_ARG).stdin(Stdio::null()).output();
    let same = said.is_ok_and(|said| said.stdout.trim_ascii() == BUILD.as_bytes());
    Ok(if same { beside } else { own })
}

/// Workers made of this binary: as many as `jobs` says, or one per core.
///
/// # Errors
/// This binary cannot be found.
pub fn workers(jobs: Option<usize>) -> Result<Workers, BinaryError> {
    Ok(Workers { exe: own_binary()?, fakes: fakes()?, jobs: jobs.unwrap_or_else(cores) })
}
