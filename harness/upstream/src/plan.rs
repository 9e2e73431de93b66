//! Which cells there are: releases × scenarios × terminals.
//!
//! Invariant: cells come in the order of agents as they were asked for, versions by semver, scenarios by name,
//! terminals in their order; the same words give the same cells.

use super::agents::Recipes;
use super::row::Key;
use crate::error::UpstreamError;
use rehang_agents::{CannotRun, Recipe};
use rehang_runner::corpus::{default_folder, files, read, shipped};
use rehang_scenario::text::suggest_part;
use rehang_scenario::{Scenario, Terminal, Transport, load};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::Arc;

/// A scenario with its name.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name: without the folder `upstream/`, with its variant in brackets.
    pub name: String,
    /// The scenario itself.
    pub scenario: Arc<Scenario>,
}

/// A cell to run.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its name.
    pub key: Key,
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// The release's recipe, or why there is none.
    pub recipe: Result<Arc<Recipe>, CannotRun>,
    /// The terminal.
    pub terminal: Terminal,
    /// A hash of scenario and recipe.
    pub of: String,
}

/// The scenarios that filters name: each a name of the folder `upstream`, or, with a slash, of the whole corpus; a part
/// of a name if no whole name fits. All of `upstream` if there is no filter.
///
/// # Errors
/// A filter that nothing matches; a file that is not right.
pub fn scenarios(filters: &[String], paths: &[PathBuf]) -> Result<Vec<Named>, UpstreamError> {
    let folder = default_folder();
    let whole = filters.iter().any(|filter| filter.contains('/'));
    let mut all = Vec::new();
    let roots: Vec<PathBuf> = match paths {
        [] if whole => vec![folder],
        [] => vec![shipped("upstream")],
        paths => paths.to_vec(),
    };
    for root in &roots {
        let unreadable = |error| UpstreamError::Unreadable { path: root.clone(), error };
        if root.is_file() { all.push(root.clone()) } else { all.extend(files(root).map_err(unreadable)?) }
    }
    let (mut named, mut broken) = (Vec::new(), None);
    for path in &all {
        let bytes = read(path).map_err(|error| UpstreamError::Unreadable { path: path.clone(), error })?;
        // its expectations of fakes and strategies do not apply to a real release, so they are not checked here
        let family = match load(&path.display().to_string(), &bytes).into_result() {
            Ok(family) => family,
            Err(problems) => {
                broken.get_or_insert(problems);
                continue;
            }
        };
        let short = family.name.strip_prefix("upstream/").unwrap_or(&family.name).to_owned();
        for variant in family.variants {
            let name = if variant.name.is_empty() { short.clone() } else { format!("{short}[{}]", variant.name) };
            named.push(Named { name, scenario: Arc::new(variant.scenario) });
        }
    }
    if let Some(problems) = broken.filter(|_| filters.is_empty() || !paths.is_empty()) {
        return Err(UpstreamError::File(Box::new(problems)));
    }
    choose(named, filters)
}

fn choose(named: Vec<Named>, filters: &[String]) -> Result<Vec<Named>, UpstreamError> {
    if filters.is_empty() {
        return Ok(named);
    }
    let mut taken = vec![false; named.len()];
    for filter in filters {
        let filter = filter.strip_prefix("upstream/").unwrap_or(filter);
        let same = |n: &Named| n.name == filter || n.name.split('[').next() == Some(filter);
        let exact = named.iter().any(same);
        let mut any = false;
        for (at, one) in named.iter().enumerate() {
            if if exact { same(one) } else { one.name.contains(filter) } {
                taken[at] = true;
                any = true;
            }
        }
        if !any {
            let names = || named.iter().map(|n| n.name.as_str());
            let meant = suggest_part(filter, names()).map(str::to_owned);
            let known = names().map(str::to_owned).collect();
            return Err(UpstreamError::NoScenario { filter: filter.to_owned(), meant, known });
        }
    }
    Ok(named.into_iter().zip(taken).filter_map(|(one, taken)| taken.then_some(one)).collect())
}

impl Cell {
    /// The same cell in virtual time: a row of the wall clock is not one of it.
    #[must_use]
    pub fn in_virtual_time(self) -> Cell {
        let of = format!("{}-virtual", self.of);
        Cell { of, ..self }
    }
}

/// All cells of releases and scenarios; of the scenarios' terminals only these, if any are named.
pub fn cells(recipes: &Recipes, scenarios: &[Named], terminals: &[Terminal]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (agent, version, recipe) in recipes {
        let recipe = recipe.clone().map(Arc::new);
        for Named { name, scenario } in scenarios {
            let of = of(scenario, recipe.as_deref().ok());
            let wanted = |t: &&Terminal| terminals.is_empty() || terminals.contains(t);
            for &terminal in scenario.terminals.iter().filter(wanted) {
                let key = Key {
                    agent: agent.clone(),
                    version: version.to_string(),
                    scenario: name.clone(),
                    terminal: terminal.name().to_owned(),
                };
                let (scenario, recipe, of) = (scenario.clone(), recipe.clone(), of.clone());
                cells.push(Cell { key, scenario, recipe, terminal, of });
            }
        }
    }
    cells
}

/// A hash of what decides a cell. A file's memory figure and expectations are not part of it.
fn of(scenario: &Scenario, recipe: Option<&Recipe>) -> String {
    let scenario = Scenario { expect: Vec::new(), about: None, cites: Vec::new(), ..scenario.clone() };
    let recipe = recipe.map(|recipe| {
        let mut recipe = Recipe { memory_mib: 0, ..recipe.clone() };
        if scenario.agent.is_prompted() {
            recipe.forms.values_mut().for_each(|form| form.bare = None);
        }
        let starts_server = scenario.tool_server.as_ref().is_some_and(|server| server.over == Transport::Stdio);
        recipe.server = recipe.server.filter(|_| starts_server);
        recipe.hook = recipe.hook.filter(|_| !scenario.hook.is_empty());
        recipe
    });
    let text = serde_json::to_string(&(scenario, recipe)).unwrap_or_default();
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Named> {
        let text = "title = \"t\"\nmechanism = \"Q1\"\nagent = { opencode = {} }\nturns = [{ say = \"x\" }]\n";
        let family = rehang_scenario::load("t", text.as_bytes()).into_result().unwrap_or_else(|e| panic!("{e}"));
        let scenario = Arc::new(family.variants[0].scenario.clone());
        names.iter().map(|name| Named { name: (*name).to_owned(), scenario: scenario.clone() }).collect()
    }

    fn chosen(filters: &[&str]) -> Result<Vec<String>, String> {
        let all = named(&["bash-never-ends", "stdin-open[a]", "stdin-open[b]", "text", "text-long"]);
        let filters: Vec<String> = filters.iter().map(|f| (*f).to_owned()).collect();
        let chosen = choose(all, &filters).map_err(|e| e.to_string())?;
        Ok(chosen.into_iter().map(|n| n.name).collect())
    }

    #[test]
    fn a_whole_name_goes_before_a_part_of_one() {
        assert_eq!(chosen(&["text"]).unwrap(), ["text"]);
        assert_eq!(chosen(&["stdin-open"]).unwrap(), ["stdin-open[a]", "stdin-open[b]"]);
        assert_eq!(chosen(&["tex"]).unwrap(), ["text", "text-long"]);
        assert_eq!(chosen(&["upstream/text", "bash"]).unwrap(), ["bash-never-ends", "text"]);
        assert!(chosen(&["texd"]).unwrap_err().contains("did you mean `text`?"));
    }
}
