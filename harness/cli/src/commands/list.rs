//! `rehang list`: the cells, the scenarios, the ways to hang, the strategies.
//!
//! Invariant: prints what the matrix would run, by the same selection.

use super::select::Select;
use super::{Code, CommandError};
use clap::Args;
use rehang_scenario::Stage;
use rehang_strategy::entry::Value;
use serde_json::json;
use std::io::Write;

/// Names the cells of the matrix.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang list question/ --terminal null      cells by their names
  rehang list --files                        scenarios with their titles
  rehang list --mechanisms                   the ways to hang
  rehang list --strategies                   where each comes from, and its constants
  rehang list --strategies --json | jq -r .name")]
pub struct List {
    /// Which cells.
    #[command(flatten)]
    pub select: Select,
    /// Scenarios with their titles instead of cells.
    #[arg(long)]
    pub files: bool,
    /// The ways to hang instead of cells: how many files and scenarios, hangs that are proved, and control arms each has.
    /// Without a filter, scenarios that real releases alone play are among them.
    #[arg(long, conflicts_with = "files")]
    pub mechanisms: bool,
    /// The strategies instead of cells, with origin, seat and constants.
    #[arg(long, conflicts_with_all = ["files", "mechanisms", "filter", "strategy", "terminal", "seeds", "exact", "shard", "scenarios"])]
    pub strategies: bool,
    /// NDJSON, one object a strategy.
    #[arg(long, requires = "strategies")]
    pub json: bool,
}

impl List {
    /// Prints the names.
    ///
    /// # Errors
    /// A filter that nothing matches, a file that cannot be read.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if self.strategies {
            return strategies(self.json, out);
        }
        let selected = self.select.select(&[Stage::Sim, Stage::Lockstep])?;
        for problem in &selected.problems {
            complain!("{problem}");
        }
        let code = if selected.problems.is_empty() { Code::Expected } else { Code::Usage };
        if self.mechanisms {
            // a filter is of cells; what has none is the whole corpus, and a file that is broken was named above
            let is_whole = self.select.filter.is_empty() && self.select.scenarios.is_empty();
            let real =
                if is_whole { rehang_upstream::plan::scenarios(&[], &[]).unwrap_or_default() } else { Vec::new() };
            for line in super::mechanisms::table(&selected.units, &real) {
                writeln!(out, "{line}")?;
            }
            return Ok(code);
        }
        let mut lines: Vec<String> = match self.files {
            true => {
                let line = |unit: &rehang_runner::unit::Unit| {
                    format!("{:<44} {:<4} {}", unit.name, unit.main.mechanism, unit.main.title)
                };
                selected.units.iter().map(line).collect()
            }
            false => selected.units.iter().flat_map(|unit| unit.cells.iter().map(|cell| cell.id.clone())).collect(),
        };
        lines.sort();
        lines.dedup();
        for line in lines {
            writeln!(out, "{line}")?;
        }
        Ok(code)
    }
}

/// Prints the strategies with origin, seat and constants.
fn strategies(json: bool, out: &mut dyn Write) -> Result<Code, CommandError> {
    for entry in rehang_strategy::all() {
        if !json {
            write!(out, "{entry}")?;
            continue;
        }
        let params: Vec<_> = entry
            .params
            .iter()
            .map(|param| json!({ "name": param.name, "default": default(&param.default), "doc": param.doc }))
            .collect();
        let line = json!({
            "name": entry.name, "seat": entry.seat.name(), "origin": entry.origin, "summary": entry.summary,
            "wires": entry.speaks.iter().map(|wire| wire.name()).collect::<Vec<_>>(), "params": params,
        });
        writeln!(out, "{line}")?;
    }
    for stack in rehang_strategy::catalogue::named() {
        if json {
            let line = json!({ "name": stack.name, "members": stack.members, "summary": stack.summary });
            writeln!(out, "{line}")?;
            continue;
        }
        write!(out, "{stack}")?;
    }
    Ok(Code::Expected)
}

/// A default in the notation of stacks: a text has no quotes here.
fn default(value: &Value) -> String {
    match value {
        Value::Text(text) => (*text).to_owned(),
        other => other.to_string(),
    }
}
