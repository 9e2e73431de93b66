//! The commands, one file each.
//!
//! Invariant: exit codes are those of [`Code`]; where several hold, the highest.

pub mod accept;
pub mod agents;
pub mod bench;
pub mod bisect;
pub mod check;
pub mod drift;
pub mod explore;
pub mod import;
pub mod list;
pub mod measure;
pub mod path;
pub mod reproduce;
pub mod run;
pub mod select;
pub mod show;
pub mod supervise;
pub mod torture;
pub mod tune;
pub mod upstream;
pub mod why;
pub mod wrapper;

use rehang_fakes::real::machine;

/// A span on the command line: `30s`, `10m`.
///
/// # Errors
/// What is wrong with it, in words that fit behind the argument.
pub fn span(text: &str) -> Result<rehang_scenario::Span, String> {
    rehang_scenario::Span::parse(text).map_err(|error| error.to_string())
}

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
    /// rehang's own fault.
    Fault = 70,
}

/// What a command could not do, for the user.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Words that do not fit, or a file that is not right.
    #[error("{0}")]
    Usage(String),
    /// A file or a pipe; internal where the machine is out of files or memory.
    #[error("{}", machine::open(.0))]
    Io(#[from] std::io::Error),
    /// A worker.
    #[error(transparent)]
    Pool(#[from] crate::pool::PoolError),
    /// rehang's own fault.
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
