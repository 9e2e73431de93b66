//! Errors in the arguments, files and registries from which cells are made.
//!
//! Invariant: each error names the word, the file or the registry that it is about.

use rehang_agents::{AgentsError, NotThere, StoreError};
use rehang_scenario::problem::Problems;
use rehang_scenario::text::{or, unknown};
use std::io;
use std::path::PathBuf;

/// Why there are no cells.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The file of an agent.
    #[error(transparent)]
    Agents(#[from] AgentsError),
    /// No agent has this name.
    #[error("{}", unknown("agent", name, meant.as_deref(), &format!("there are {}", known.join(", "))))]
    NoAgent {
        /// What was named.
        name: String,
        /// What was meant, perhaps.
        meant: Option<String>,
        /// All that there are.
        known: Vec<String>,
    },
    /// A text is not a version.
    #[error("{word}: {error}")]
    Version {
        /// The word, with its agent.
        word: String,
        /// What is wrong with it.
        error: NotThere,
    },
    /// The cache, or a registry.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A scenario file, or a folder of them, that cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A scenario file that is not right.
    #[error("{0}")]
    File(Box<Problems>),
    /// No scenario has such a name.
    #[error("no scenario matches `{filter}`{}", or(meant.as_deref(), &all(known)))]
    NoScenario {
        /// What was named.
        filter: String,
        /// What was meant, perhaps.
        meant: Option<String>,
        /// All that there are.
        known: Vec<String>,
    },
}

/// The most bytes of names that an error lists; if there are more, it says how to list them.
const NAMES_BYTES: usize = 1_000;

fn all(known: &[String]) -> String {
    let all = known.join(", ");
    if all.len() < NAMES_BYTES { format!("there are {all}") } else { "`rehang list --files` names all".to_owned() }
}
