//! Agents, their releases and the cache, as the commands take them.
//!
//! Invariant: a word of the command line that should name an agent or a version and does not is an error that lists
//! what there is.

use crate::error::UpstreamError;
use rehang_agents::{Agent, CannotRun, Recipe, Store, Version, Wanted};
use rehang_scenario::text::suggest;
use std::path::Path;

/// An agent and the releases of it that are wanted.
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
pub fn all(own: Option<&Path>) -> Result<Vec<Agent>, UpstreamError> {
    Ok(Agent::all(own)?)
}

/// The agent of this name.
///
/// # Errors
/// There is none; with the names of all agents.
pub fn named<'a>(agents: &'a [Agent], name: &str) -> Result<&'a Agent, UpstreamError> {
    agents.iter().find(|agent| agent.name() == name).ok_or_else(|| {
        let meant = suggest(name, agents.iter().map(Agent::name)).map(str::to_owned);
        let known = agents.iter().map(|agent| agent.name().to_owned()).collect();
        UpstreamError::NoAgent { name: name.to_owned(), meant, known }
    })
}

/// Separates `AGENT`, `AGENT@VERSION` and filters. `since` is for agents without a version.
///
/// # Errors
/// A word with an `@` that names no agent or no version.
pub fn specs(
    agents: &[Agent],
    words: &[String],
    since: Option<&Version>,
) -> Result<(Vec<Spec>, Vec<String>), UpstreamError> {
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
            (Some(version), _) => parsed(word, version)?,
            (None, Some(since)) => Wanted::Since(since.clone()),
            (None, None) => Wanted::Latest,
        };
        specs.push(Spec { agent, wanted });
    }
    Ok((specs, filters))
}

/// Which releases a version means; `word` is what the user wrote, with the agent.
///
/// # Errors
/// It is no version and no range.
pub fn parsed(word: &str, version: &str) -> Result<Wanted, UpstreamError> {
    Wanted::parse(version).map_err(|error| UpstreamError::Version { word: word.to_owned(), error })
}

/// The cache.
///
/// # Errors
/// It cannot be made.
pub fn store() -> Result<Store, UpstreamError> {
    Ok(Store::open(&rehang_processes::cache::folder())?)
}

/// The recipes of all releases that are wanted, and those that cannot run, with the reason.
pub type Recipes = Vec<(String, Version, Result<Recipe, CannotRun>)>;

/// Looks the releases up.
///
/// # Errors
/// A registry that cannot be asked; a version that it does not have.
pub fn recipes(store: &Store, specs: &[Spec]) -> Result<Recipes, UpstreamError> {
    let mut all: Recipes = Vec::new();
    for spec in specs {
        for version in store.pick(&spec.agent, &spec.wanted)? {
            if all.iter().any(|(name, known, _)| name == spec.agent.name() && *known == version) {
                continue;
            }
            let recipe = spec.agent.at(&version);
            all.push((spec.agent.name().to_owned(), version, recipe));
        }
    }
    Ok(all)
}
