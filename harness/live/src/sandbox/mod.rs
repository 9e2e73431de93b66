//! The sandbox that an agent runs in: namespaces of its own, loopback alone, and only those of the machine's files that
//! it needs.
//!
//! Invariants: nothing of the sandbox is ever on a disk or outside of its mount namespace, so that nothing is left when
//! its first process is gone; the agent has no capability, cannot gain one, and runs as a user who owns nothing.
//!
//! Three processes: the supervisor (`rehang __live`), which makes the namespaces and stays outside of the mount and PID
//! namespaces; the sandbox's first process ([`init`]), which dies with the supervisor and takes all others with it; the agent.

#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod root;

#[cfg(target_os = "linux")]
pub use init::{Said, Started, start};
#[cfg(target_os = "linux")]
pub use namespaces::{die_with_parent, enter, links};

use crate::terminal::ScreenSize;
use rehang_processes::machine;
use rehang_scenario::Terminal;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The agent's home in the sandbox.
pub const HOME: &str = "/home/agent";
/// The folder that the agent starts in.
pub const CWD: &str = "/home/agent/project";
/// The commands that the sandbox has besides those of `/usr`.
pub const BIN: &str = "/opt/rehang/bin";
/// The agent's user and group in the sandbox.
pub const AGENT_ID: u32 = 1_000;
/// The user and group outside the sandbox if root starts it: `nobody` and `nogroup`, who own nothing.
pub const NOBODY_ID: u32 = 65_534;
/// How much the sandbox's own files may take in all, in bytes.
pub const SANDBOX_MAX_BYTES: u64 = 2 << 30;

/// What an agent's sandbox holds, and what runs in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Folders and files of this machine that are shown read-only: where they are, and where they are shown.
    pub shown: Vec<(PathBuf, PathBuf)>,
    /// Files that are made in it.
    pub files: Vec<RoomFile>,
    /// What is started: a program's path and its arguments.
    pub argv: Vec<String>,
    /// Its environment; it has no other.
    pub env: Vec<(String, String)>,
    /// How its streams are connected.
    pub terminal: Terminal,
    /// The size of its terminal, if it has one.
    pub size: ScreenSize,
}

/// A file of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomFile {
    /// Where: an absolute path in the sandbox.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
    /// Whether it can be executed.
    pub executable: bool,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel refuses namespaces.
    #[error("this machine gives no sandbox: {what}: {error}; {remedy}")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// What the kernel says.
        error: std::io::Error,
        /// What helps.
        remedy: &'static str,
    },
    /// A step of making the sandbox.
    #[error("sandbox: {what}: {}", machine::start(error))]
    Step {
        /// What was tried.
        what: String,
        /// What the kernel says.
        error: std::io::Error,
    },
    /// The agent's program cannot be started.
    #[error("the agent's program cannot be started: {0}")]
    Start(String),
    /// The sandbox has no such terminal.
    #[error("the live stage has no terminal `{0}`")]
    Terminal(&'static str),
    /// The sandbox does not work on this platform.
    #[error("live cells need Linux: namespaces keep real agents from this machine")]
    Platform,
}

/// A step's error, with its name.
pub(crate) fn step<T, E: Into<std::io::Error>>(
    what: impl Into<String>,
    result: Result<T, E>,
) -> Result<T, SandboxError> {
    result.map_err(|error| SandboxError::Step { what: what.into(), error: error.into() })
}
