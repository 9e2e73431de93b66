//! `rehang agents`: the agents that there are, and the releases that the registries have of them.
//!
//! Invariant: these commands install nothing.

use super::{Code, CommandError};
use crate::on_record;
use clap::Args;
use rehang_agents::Source;
use rehang_scenario::text::counted;
use rehang_upstream::agents;
use rehang_upstream::error::UpstreamError;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Name the agents, or the releases of one, with those that are installed.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang agents                       who there is
  rehang agents opencode              its releases, those that are installed (*) or cannot run (-), and what hangs them
  rehang agents 'codex@>=0.100'       some of them
  rehang agents --schema              the JSON Schema of agents' files")]
pub struct Agents {
    /// An agent, or `AGENT@RANGE`.
    pub agent: Option<String>,
    /// NDJSON, one object an agent or a release.
    #[arg(long)]
    pub json: bool,
    /// Print the JSON Schema of agents' files.
    #[arg(long, conflicts_with = "agent")]
    pub schema: bool,
    /// A folder with agents of your own.
    #[arg(long, value_name = "DIR")]
    pub agents: Option<PathBuf>,
}

impl Agents {
    /// Prints.
    ///
    /// # Errors
    /// A name that no agent has, a registry that cannot be asked.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if self.schema {
            writeln!(out, "{:#}", rehang_agents::schema())?;
            return Ok(Code::Expected);
        }
        let all = agents::all(self.agents.as_deref())?;
        let Some(word) = &self.agent else {
            for agent in &all {
                let (registry, package) = match &agent.file.source {
                    Source::Npm(package) => ("npm", package),
                    Source::Pypi(package) => ("PyPI", package),
                };
                let (name, title) = (agent.name(), &agent.file.title);
                if self.json {
                    let line = json!({ "agent": name, "title": title, "registry": registry, "package": package });
                    writeln!(out, "{line}")?;
                } else {
                    writeln!(out, "{name:10} {title:12} {registry} {package}")?;
                }
            }
            return Ok(Code::Expected);
        };
        let (name, wanted) = word.split_once('@').unwrap_or((word, "all"));
        let agent = agents::named(&all, name)?;
        let wanted = agents::parsed(word, wanted)?;
        let store = agents::store()?;
        for version in store.pick(agent, &wanted).map_err(UpstreamError::from)? {
            let recipe = agent.at(&version);
            let installed = recipe.as_ref().is_ok_and(|recipe| store.has(recipe));
            let cannot = recipe.err().map(|why| why.to_string());
            let hangs = on_record::hangs_of(name, &version);
            if self.json {
                let version = version.to_string();
                writeln!(
                    out,
                    "{}",
                    json!({ "agent": name, "version": version, "installed": installed, "cannot": cannot, "hangs": hangs })
                )?;
            } else {
                let mark = if installed {
                    "*"
                } else if cannot.is_some() {
                    "-"
                } else {
                    " "
                };
                let known = match hangs.len() {
                    0 => String::new(),
                    n => format!("hangs in {}: {}", counted(n, "scenario"), hangs.join(", ")),
                };
                writeln!(out, "{mark} {name}@{version}  {}", cannot.unwrap_or(known))?;
            }
        }
        Ok(Code::Expected)
    }
}
