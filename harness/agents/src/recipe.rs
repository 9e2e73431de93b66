//! An agent at one release: the file's recipe overridden by the quirks of that release.
//!
//! Invariant: a [`Recipe`] is whole; no crate that uses this one looks at a version to know how to run it.

use crate::check;
use crate::model::{Call, Dialect, Feature, File, Layer, Sign, Source, Start, ToolShape, Wish};
use rehang_scenario::Form;
use rehang_scenario::Problems;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its file.
    pub file: File,
}

/// Why a release cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotRun {
    /// The agent's file says so.
    #[error("{agent} {version} cannot run here: {because}")]
    Broken {
        /// The agent.
        agent: String,
        /// The release.
        version: Version,
        /// The file's reason.
        because: String,
    },
    /// The file leaves something out that every release needs.
    #[error("the file of {agent} says nothing of `{key}` for {version}")]
    Incomplete {
        /// The agent.
        agent: String,
        /// The release.
        version: Version,
        /// The key of `[recipe]`.
        key: &'static str,
    },
}

/// Why the agents could not be read.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// A folder or a file.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: std::io::Error,
    },
    /// What is wrong with an agent's file.
    #[error("{0}")]
    File(#[from] Box<Problems>),
}

/// The agents that are shipped: their files are in the binary.
const SHIPPED: [(&str, &str); 12] = [
    ("opencode", include_str!("../releases/opencode.toml")),
    ("claude", include_str!("../releases/claude.toml")),
    ("codex", include_str!("../releases/codex.toml")),
    ("gemini", include_str!("../releases/gemini.toml")),
    ("qwen", include_str!("../releases/qwen.toml")),
    ("copilot", include_str!("../releases/copilot.toml")),
    ("aider", include_str!("../releases/aider.toml")),
    ("cline", include_str!("../releases/cline.toml")),
    ("kilo", include_str!("../releases/kilo.toml")),
    ("droid", include_str!("../releases/droid.toml")),
    ("cn", include_str!("../releases/cn.toml")),
    ("mini-swe-agent", include_str!("../releases/mini-swe-agent.toml")),
];

/// How one release is run and read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// The agent's name.
    pub agent: String,
    /// The release.
    pub version: Version,
    /// Where it comes from.
    pub source: Source,
    /// What starts it, as templates of `{root}` and `{arch}`.
    pub program: Vec<String>,
    /// The model API.
    pub dialect: Dialect,
    /// The model's name.
    pub model: String,
    /// Environment, as templates.
    pub env: BTreeMap<String, String>,
    /// Files: path and text, as templates.
    pub files: BTreeMap<String, String>,
    /// How it can be started.
    pub forms: BTreeMap<Form, Start>,
    /// What is added if bash may run without asking.
    pub allow: Wish,
    /// What is added if bash has to ask.
    pub ask: Wish,
    /// What is added if the scenario has a tool server that the agent starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Wish>,
    /// What is added if the scenario has a hook of the session's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Wish>,
    /// How the model calls its tools.
    pub tools: BTreeMap<Call, ToolShape>,
    /// Tools by which a main model request is known; any tool if empty.
    pub main: Vec<String>,
    /// A request whose last user message contains one of these texts is not a main one.
    pub side: Vec<String>,
    /// How many assistant messages a request has before the model has said a word.
    pub preload: u32,
    /// Milliseconds without material progress after which a run counts as a hang.
    pub window_ms: u64,
    /// Peak resident memory of one run, in MiB.
    pub memory_mib: u64,
    /// What its output says.
    pub signs: Vec<Sign>,
    /// What it cannot do.
    pub cannot: BTreeMap<Feature, String>,
}

/// The words of a template.
///
/// `{base_url}` (of the model server, no slash at its end), `{port}` (of the agent's own server), `{key}`, `{home}`,
/// `{cwd}`, `{prompt}`, `{prompt_json}` (in quotes, as JSON has it), `{model}`, `{root}` (of the installed release),
/// `{arch}` (`x64`), `{machine}` (`x86_64`), and those of a [`Wish`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words(pub BTreeMap<String, String>);

impl Words {
    /// Adds a word, or replaces its value.
    #[must_use]
    pub fn with(mut self, word: &str, value: impl Into<String>) -> Words {
        self.0.insert(word.to_owned(), value.into());
        self
    }

    /// Fills a template in. `{{` and `}}` become brackets; a word that is not known stays as it is.
    pub fn fill(&self, template: &str) -> String {
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, here) = rest.split_at(at);
            out.push_str(before);
            if here.starts_with("{{") || here.starts_with("}}") {
                out.push_str(&here[..1]);
                rest = &here[2..];
                continue;
            }
            let word = here.strip_prefix('{').and_then(|w| w.split_once('}'));
            match word.and_then(|(word, rest)| Some((self.0.get(word)?, rest))) {
                Some((value, after)) => {
                    out.push_str(value);
                    rest = after;
                }
                None => {
                    out.push_str(&here[..1]);
                    rest = &here[1..];
                }
            }
        }
        out + rest
    }
}

impl Agent {
    /// Reads an agent's file. `name` is its path, as errors show it.
    ///
    /// # Errors
    /// What is wrong with the file, with file, line and caret.
    pub fn load(name: &str, text: &str) -> Result<Agent, Problems> {
        let file: File = rehang_scenario::file::read_as(name, text.as_bytes())?;
        let problems = check::check(&file, text);
        if problems.is_empty() {
            return Ok(Agent { file });
        }
        let source = Arc::new(rehang_scenario::Source { name: name.to_owned(), text: text.to_owned() });
        Err(Problems { source, list: problems, more: 0 })
    }

    /// The agents that are shipped, and those of a folder of the user's own, which replace shipped ones of the same
    /// name.
    ///
    /// # Errors
    /// What is wrong with a file.
    pub fn all(own: Option<&Path>) -> Result<Vec<Agent>, AgentsError> {
        let mut all: Vec<Agent> = Vec::new();
        for (name, text) in SHIPPED {
            all.push(Agent::load(&format!("scenarios/agents/{name}.toml"), text).map_err(Box::new)?);
        }
        let Some(own) = own else { return Ok(all) };
        let io = |error| AgentsError::Io { path: own.to_owned(), error };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(own).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if path.extension().is_some_and(|e| e == "toml") && path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        for path in files {
            let text = std::fs::read_to_string(&path).map_err(|error| AgentsError::Io { path: path.clone(), error })?;
            let agent = Agent::load(&path.display().to_string(), &text).map_err(Box::new)?;
            all.retain(|known| known.name() != agent.name());
            all.push(agent);
        }
        Ok(all)
    }

    /// What the command line calls it.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// The recipe of a release.
    ///
    /// # Errors
    /// Why the release cannot run.
    pub fn at(&self, version: &Version) -> Result<Recipe, CannotRun> {
        let mut whole = self.file.recipe.clone();
        let bare = Version::new(version.major, version.minor, version.patch);
        for quirk in &self.file.quirk {
            if !semver::VersionReq::parse(&quirk.versions).is_ok_and(|range| range.matches(&bare)) {
                continue;
            }
            if let Some(because) = &quirk.broken {
                let because = because.clone();
                return Err(CannotRun::Broken { agent: self.file.name.clone(), version: version.clone(), because });
            }
            whole = over(whole, &quirk.recipe);
        }
        let missing = |key| CannotRun::Incomplete { agent: self.file.name.clone(), version: version.clone(), key };
        Ok(Recipe {
            agent: self.file.name.clone(),
            version: version.clone(),
            source: whole.source.unwrap_or_else(|| self.file.source.clone()),
            program: Some(whole.program).filter(|p| !p.is_empty()).ok_or_else(|| missing("program"))?,
            dialect: whole.dialect.ok_or_else(|| missing("dialect"))?,
            model: whole.model.ok_or_else(|| missing("model"))?,
            env: whole.env,
            files: whole.files,
            forms: whole.forms,
            allow: whole.allow.unwrap_or_default(),
            ask: whole.ask.unwrap_or_default(),
            server: whole.server,
            hook: whole.hook,
            tools: whole.tools,
            main: whole.main.unwrap_or_default(),
            side: whole.side,
            preload: whole.preload.unwrap_or(0),
            window_ms: whole.window_ms.ok_or_else(|| missing("window-ms"))?,
            memory_mib: whole.memory_mib.ok_or_else(|| missing("memory-mib"))?,
            signs: whole.signs,
            cannot: whole.cannot,
        })
    }
}

impl Recipe {
    /// Why this release cannot play a scenario with such a feature; `None` if it can.
    pub fn cannot(&self, feature: Feature) -> Option<&str> {
        let form = match feature {
            Feature::Run => Some(Form::Run),
            Feature::Stdin => Some(Form::Stdin),
            Feature::Serve => Some(Form::Serve),
            Feature::Interactive => Some(Form::Interactive),
            _ => None,
        };
        let unsaid = || match feature {
            Feature::Server if self.server.is_none() => Some("its file does not say how it is given a tool server"),
            Feature::Hook if self.hook.is_none() => Some("its file does not say how it is given a hook"),
            _ => None,
        };
        let no_form = || form.filter(|form| !self.forms.contains_key(form)).map(|_| "it has no such form");
        self.cannot.get(&feature).map(String::as_str).or_else(unsaid).or_else(no_form)
    }
}

fn over(mut base: Layer, top: &Layer) -> Layer {
    let or = |list: &mut Vec<String>, top: &Vec<String>| {
        if !top.is_empty() {
            list.clone_from(top);
        }
    };
    or(&mut base.program, &top.program);
    or(&mut base.side, &top.side);
    base.source = top.source.clone().or(base.source);
    base.dialect = top.dialect.or(base.dialect);
    base.model = top.model.clone().or(base.model);
    base.allow = top.allow.clone().or(base.allow);
    base.ask = top.ask.clone().or(base.ask);
    base.server = top.server.clone().or(base.server);
    base.hook = top.hook.clone().or(base.hook);
    base.main = top.main.clone().or(base.main);
    base.preload = top.preload.or(base.preload);
    base.window_ms = top.window_ms.or(base.window_ms);
    base.memory_mib = top.memory_mib.or(base.memory_mib);
    if !top.signs.is_empty() {
        base.signs.clone_from(&top.signs);
    }
    base.env.extend(top.env.clone());
    base.env.retain(|_, value| !value.is_empty());
    base.files.extend(top.files.clone());
    base.files.retain(|_, value| !value.is_empty());
    base.forms.extend(top.forms.clone());
    base.tools.extend(top.tools.clone());
    base.cannot.extend(top.cannot.clone());
    base.cannot.retain(|_, value| !value.is_empty());
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_agent_has_a_whole_recipe() {
        let all = Agent::all(None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(all.len(), SHIPPED.len());
        for agent in &all {
            let recipe = agent.at(&Version::new(99, 0, 0)).unwrap_or_else(|e| panic!("{e}"));
            assert!(recipe.forms.contains_key(&Form::Run), "{}", agent.name());
        }
    }
}
