//! `rehang agents`: the agents that there are, and the releases that the registries have of them.
//!
//! Invariant: these commands install nothing.

use super::{Code, CommandError};
use crate::on_record;
use clap::Args;
use rehang_agents::Source;
use rehang_compat::Limit;
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
  rehang agents codex --limits        how long its releases wait for a model, a tool, a question, as measured
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
    /// How long releases wait, as far as that was measured: of the agent, or of `AGENT@VERSION`, or of all.
    #[arg(long, conflicts_with_all = ["schema", "agents"])]
    pub limits: bool,
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
        if self.limits {
            if let Some(word) = &self.agent {
                agents::named(&all, word.split('@').next().unwrap_or(word))?;
            }
            return self.print_limits(out);
        }
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

    /// The limits on record, a line each.
    fn print_limits(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let compat = on_record::compat();
        let is_wanted = |agent: &str, version: &str| match self.agent.as_deref() {
            None => true,
            Some(word) => word == agent || word.split_once('@') == Some((agent, version)),
        };
        let wanted: Vec<_> =
            compat.measured().into_iter().filter(|(agent, version)| is_wanted(agent, version)).collect();
        if let (true, Some(word)) = (wanted.is_empty(), &self.agent) {
            let known: Vec<String> =
                compat.measured().iter().map(|(agent, version)| format!("{agent}@{version}")).collect();
            let why = format!("no limits of `{word}` are on record; there are those of {}", known.join(", "));
            return Err(CommandError::Usage(why));
        }
        for (agent, version) in wanted {
            for Limit { kind, found, row } in compat.limits(agent, version) {
                let command = row.map(|row| row.command.as_str());
                if self.json {
                    let (limit, found) = (kind.title(), found.to_string());
                    let line = json!({ "agent": agent, "version": version, "limit": limit, "found": found, "command": command });
                    writeln!(out, "{line}")?;
                } else {
                    writeln!(out, "{agent}@{version}  {:10}  {found}", kind.title())?;
                }
            }
        }
        Ok(Code::Expected)
    }
}
