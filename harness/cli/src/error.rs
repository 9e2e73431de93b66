//! What a command could not do, and the exit codes.
//!
//! Invariant: exit codes are those of [`Code`]; where several hold, the highest.

use rehang_conform::ConformError;
use rehang_processes::machine;
use rehang_runner::binaries::BinaryError;
use rehang_runner::kernel::KernelError;
use rehang_runner::outputs::OutputError;
use rehang_runner::pool::PoolError;
use rehang_search::CaseError;
use rehang_upstream::error::UpstreamError;
use rehang_wrapper::WrapperError;
use std::process::ExitCode;

/// Exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// As expected.
    Expected = 0,
    /// Not as expected.
    Unexpected = 1,
    /// Usage, or a bad file.
    Usage = 2,
    /// A hang where none was expected.
    Hang = 3,
    /// Not deterministic.
    Nondeterministic = 4,
    /// rehang itself left something behind.
    LeftBehind = 5,
    /// An internal error.
    Fault = 70,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// What a command could not do, as the user is told.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Arguments that do not fit, or a file that is not right.
    #[error("{0}")]
    Usage(String),
    /// A file or a pipe; internal if the machine is out of files or memory.
    #[error("{}", machine::open(.0))]
    Io(#[from] std::io::Error),
    /// A worker.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// An internal error.
    #[error("{0}")]
    Fault(String),
}

impl CommandError {
    /// The exit code for it.
    pub fn code(&self) -> Code {
        match self {
            CommandError::Io(error) if machine::remedy(error).is_some() => Code::Fault,
            CommandError::Usage(_) | CommandError::Io(_) => Code::Usage,
            CommandError::Pool(_) | CommandError::Fault(_) => Code::Fault,
        }
    }
}

impl From<BinaryError> for CommandError {
    fn from(error: BinaryError) -> CommandError {
        CommandError::Fault(error.to_string())
    }
}

impl From<KernelError> for CommandError {
    fn from(error: KernelError) -> CommandError {
        CommandError::Fault(error.to_string())
    }
}

impl From<CaseError> for CommandError {
    fn from(error: CaseError) -> CommandError {
        CommandError::Fault(error.to_string())
    }
}

impl From<OutputError> for CommandError {
    fn from(error: OutputError) -> CommandError {
        CommandError::Usage(error.to_string())
    }
}

impl From<UpstreamError> for CommandError {
    fn from(error: UpstreamError) -> CommandError {
        CommandError::Usage(error.to_string())
    }
}

impl From<ConformError> for CommandError {
    fn from(error: ConformError) -> CommandError {
        match error {
            ConformError::Start(why) => CommandError::Usage(why),
            ConformError::Machine(why) => CommandError::Fault(why),
            ConformError::Io(error) => CommandError::Fault(machine::open(&error)),
        }
    }
}

impl From<WrapperError> for CommandError {
    fn from(error: WrapperError) -> CommandError {
        match error {
            WrapperError::Io(error) => CommandError::Fault(machine::open(&error)),
            WrapperError::Machine(why) => CommandError::Fault(why),
            other => CommandError::Usage(other.to_string()),
        }
    }
}
