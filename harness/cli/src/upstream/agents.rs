//! Agents, their releases and the cache, as the commands take them.
//!
//! Invariant: a word of the command line that is no agent or no version is an error that says what there is.

use crate::commands::CommandError;
use indicatif::{ProgressBar, ProgressDrawTarget};
use rehang_agents::{Agent, Progress, Recipe, Store, StoreError, Version, Wanted};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An agent and what of it is wanted.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The agent.
    pub agent: Agent,
    /// Its releases.
    pub wanted: Wanted,
}

/// All agents: the shipped ones and those of a folder.
///
/// # Errors
/// What is wrong with a file.
pub fn all(own: Option<&Path>) -> Result<Vec<Agent>, CommandError> {
    Agent::all(own).map_err(|error| CommandError::Usage(error.to_string()))
}

/// The agent of this name.
///
/// # Errors
/// There is none; with those that there are.
pub fn named<'a>(agents: &'a [Agent], name: &str) -> Result<&'a Agent, CommandError> {
    agents.iter().find(|agent| agent.name() == name).ok_or_else(|| {
        let names: Vec<&str> = agents.iter().map(Agent::name).collect();
        let meant = rehang_scenario::problem::suggest(name, names.iter().copied());
        let meant = meant.map_or_else(|| ".".to_owned(), |meant| format!("; did you mean `{meant}`?"));
        CommandError::Usage(format!("there is no agent `{name}`{meant} There are {}", names.join(", ")))
    })
}

/// Takes `AGENT`, `AGENT@VERSION` and filters apart. `since` is for agents without a version.
///
/// # Errors
/// A word with an `@` that names no agent or no version.
pub fn specs(
    agents: &[Agent],
    words: &[String],
    since: Option<&Version>,
) -> Result<(Vec<Spec>, Vec<String>), CommandError> {
    let (mut specs, mut filters) = (Vec::new(), Vec::new());
    for word in words {
        let (name, version) = match word.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None if agents.iter().any(|agent| agent.name() == word) => (word.as_str(), None),
            None => {
                filters.push(word.clone());
                continue;
            }
        };
        let agent = named(agents, name)?.clone();
        let wanted = match (version, since) {
            (Some(version), _) => Wanted::parse(version).map_err(|e| CommandError::Usage(format!("{word}: {e}")))?,
            (None, Some(since)) => Wanted::Since(since.clone()),
            (None, None) => Wanted::Latest,
        };
        specs.push(Spec { agent, wanted });
    }
    Ok((specs, filters))
}

/// The cache.
///
/// # Errors
/// It cannot be made.
pub fn store() -> Result<Store, CommandError> {
    Store::open(&Store::default_dir()).map_err(of_store)
}

/// What the cache says, for the user.
pub fn of_store(error: StoreError) -> CommandError {
    CommandError::Usage(error.to_string())
}

/// The recipes of all releases that are wanted, and those that cannot run, with the reason.
pub type Recipes = Vec<(String, Version, Result<Recipe, String>)>;

/// Looks the releases up.
///
/// # Errors
/// A registry that cannot be asked; a version that it does not have.
pub fn recipes(store: &Store, specs: &[Spec]) -> Result<Recipes, CommandError> {
    let mut all: Recipes = Vec::new();
    for spec in specs {
        for version in store.pick(&spec.agent, &spec.wanted).map_err(of_store)? {
            if all.iter().any(|(name, known, _)| name == spec.agent.name() && *known == version) {
                continue;
            }
            let recipe = spec.agent.at(&version).map_err(|why| why.to_string());
            all.push((spec.agent.name().to_owned(), version, recipe));
        }
    }
    Ok(all)
}

/// Shows how far an installation is, on a terminal alone.
#[derive(Debug, Clone)]
pub struct Shown(ProgressBar);

impl Shown {
    /// A line of its own on stderr.
    pub fn new() -> Shown {
        let bar = ProgressBar::new_spinner();
        let terminal = std::io::stderr().is_terminal();
        bar.set_draw_target(if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
        crate::terminal::tick(&bar, Duration::from_millis(120));
        Shown(bar)
    }

    /// As [`Shown::new`], on a line of a bar that is there already.
    pub fn on(bar: &ProgressBar) -> Shown {
        Shown(bar.clone())
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Default for Shown {
    fn default() -> Shown {
        Shown::new()
    }
}

impl Progress for Shown {
    fn at(&self, what: &str, bytes: u64) {
        let size = if bytes == 0 { String::new() } else { format!(", {} MB", bytes / 1_000_000) };
        self.0.set_message(format!("{what}{size}"));
    }
}

/// Where a user's own agents lie: what is said, or nowhere.
pub fn own(folder: Option<&PathBuf>) -> Option<&Path> {
    folder.map(PathBuf::as_path)
}
