//! `rehang list`, `rehang strategies`, `rehang schema`: what there is.
//!
//! Invariant: prints what the matrix would run, by the same selection.

use super::select::Select;
use super::{Code, CommandError};
use clap::Args;
use rehang_scenario::Stage;
use rehang_scenario::problem::Style;
use rehang_strategy::catalogue::Value;
use serde_json::json;
use std::io::Write;

/// Names the cells of the matrix.
#[derive(Debug, Clone, Args)]
pub struct List {
    /// Which cells.
    #[command(flatten)]
    pub select: Select,
    /// Scenarios with their titles instead of cells.
    #[arg(long)]
    pub files: bool,
}

impl List {
    /// Prints the names.
    ///
    /// # Errors
    /// A filter that nothing matches, a file that cannot be read.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let selected = self.select.select(&[Stage::Sim, Stage::Lockstep], Style::Plain)?;
        for problem in &selected.problems {
            anstream::eprintln!("{problem}");
        }
        let mut lines: Vec<String> = match self.files {
            true => {
                let line = |unit: &crate::unit::Unit| {
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
        Ok(if selected.problems.is_empty() { Code::Expected } else { Code::Usage })
    }
}

/// Names the strategies with origin, seat and constants.
#[derive(Debug, Clone, Args)]
pub struct Strategies {
    /// NDJSON, one object a strategy.
    #[arg(long)]
    pub json: bool,
}

impl Strategies {
    /// Prints them.
    ///
    /// # Errors
    /// Those of writing.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        for entry in rehang_strategy::all() {
            let params: Vec<(String, String, &str)> = entry
                .params
                .iter()
                .map(|param| {
                    let default = match param.default {
                        Value::Span(span) | Value::SpanOr(span) => span.to_string(),
                        Value::Count(count) | Value::CountOr(count) => count.to_string(),
                        Value::Word(words) => words.join("|"),
                        Value::Text(text) => text.to_owned(),
                    };
                    (param.name.to_owned(), default, param.doc)
                })
                .collect();
            let seat = format!("{:?}", entry.seat).to_lowercase();
            let seat = if seat == "nowhere" { "–".to_owned() } else { seat };
            if self.json {
                let params: Vec<_> = params
                    .iter()
                    .map(|(name, default, doc)| json!({ "name": name, "default": default, "doc": doc }))
                    .collect();
                let line = json!({
                    "name": entry.name, "seat": seat, "origin": entry.origin, "summary": entry.summary,
                    "wires": entry.speaks.iter().map(|wire| format!("{wire:?}")).collect::<Vec<_>>(), "params": params,
                });
                writeln!(out, "{line}")?;
                continue;
            }
            writeln!(out, "{}  ({seat}; {})", entry.name, entry.origin)?;
            writeln!(out, "    {}", entry.summary)?;
            for (name, default, doc) in params {
                writeln!(out, "    {name}={default}  {doc}")?;
            }
        }
        Ok(Code::Expected)
    }
}
