//! `rehang show CELL` and `rehang replay TRACE`: one cell as a timeline; again, and the same.
//!
//! Invariant: a replay runs the cell that the trace's header names and compares every event.

use super::run::{Where, code};
use super::select::Select;
use super::{Code, CommandError};
use crate::pool::Pool;
use crate::report::why;
use crate::workers;
use clap::Args;
use rehang_judge::{ndjson, timeline};
use rehang_scenario::problem::Style;
use std::io::{BufReader, Write};
use std::path::PathBuf;

/// Shows cells as timelines.
#[derive(Debug, Clone, Args)]
pub struct Show {
    /// Which cells.
    #[command(flatten)]
    pub select: Select,
    /// Where they run.
    #[arg(long, value_enum, default_value_t = Where::Lockstep)]
    pub stage: Where,
    /// The trace itself, NDJSON, instead of the timeline.
    #[arg(long)]
    pub trace: bool,
}

impl Show {
    /// Runs the cells and prints them.
    ///
    /// # Errors
    /// A name that no cell has, a file that cannot be read, a worker that cannot be started.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if self.select.filter.is_empty() && self.select.scenarios.is_empty() {
            return Err(CommandError::Usage("which cell? `rehang list` names them all".to_owned()));
        }
        let mut selected = self.select.select(self.stage.stages(), Style::Plain)?;
        for unit in &mut selected.units {
            unit.keep_traces = true;
        }
        let pool = Pool::new(workers(None)?);
        let outcome = super::run::run(&pool, &selected.units, true)?;
        for cell in &outcome.cells {
            if self.trace {
                write!(out, "{}", cell.trace.as_deref().unwrap_or_default())?;
                continue;
            }
            let Some(row) = &cell.row else {
                writeln!(out, "{}: {}", cell.id, why(cell).join("; "))?;
                continue;
            };
            writeln!(out, "{} on {}", cell.id, row.stage)?;
            writeln!(out)?;
            writeln!(out, "{}", cell.timeline.as_deref().unwrap_or_default())?;
            let words = [
                row.cause.as_deref().map(|cause| format!("cause {cause}")),
                row.blocked_on.as_deref().map(|on| format!("blocked on {on}")),
                row.proof.as_deref().map(|proof| format!("proved by {proof}")),
                (!row.broken.is_empty()).then(|| format!("breaks {}", row.broken.join(", "))),
            ];
            let words: Vec<String> = words.into_iter().flatten().collect();
            writeln!(out, "{} after {} ms of virtual time{}", row.outcome, row.virtual_ms, join(&words))?;
            for line in why(cell) {
                writeln!(out, "NOT as expected: {line}")?;
            }
            writeln!(out)?;
        }
        Ok(code(&selected, &outcome, false))
    }
}

fn join(words: &[String]) -> String {
    words.iter().map(|word| format!("; {word}")).collect()
}

/// Runs the cell of a trace again.
#[derive(Debug, Clone, Args)]
pub struct Replay {
    /// A trace that `rehang run --traces` or `rehang show --trace` wrote.
    pub trace: PathBuf,
    /// Scenario files and folders.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
}

impl Replay {
    /// Runs it and says whether it is the same.
    ///
    /// # Errors
    /// A trace that cannot be read, a cell that there is no more.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let file = std::fs::File::open(&self.trace)
            .map_err(|e| CommandError::Usage(format!("{}: {e}", self.trace.display())))?;
        let read = ndjson::read(BufReader::new(file));
        let (header, trace) = read.map_err(|e| CommandError::Usage(format!("{}: {e}", self.trace.display())))?;
        let control = if header.control { "::control" } else { "" };
        let id = format!("{}::{}::{}::{}{control}", header.scenario, header.strategy, header.terminal, header.seed);
        let stage = if header.stage == "sim" { Where::Sim } else { Where::Lockstep };
        let select =
            Select { filter: vec![id.clone()], exact: true, scenarios: self.scenarios.clone(), ..Select::default() };
        let mut selected = select.select(stage.stages(), Style::Plain)?;
        for unit in &mut selected.units {
            unit.keep_traces = true;
        }
        let pool = Pool::new(workers(Some(1))?);
        let outcome = super::run::run(&pool, &selected.units, false)?;
        let again = outcome.cells.first().and_then(|cell| cell.trace.as_deref());
        let again = again.ok_or_else(|| CommandError::Fault(format!("{id} gave no trace")))?;
        let (_, again) = ndjson::read(again.as_bytes()).map_err(|e| CommandError::Fault(e.to_string()))?;
        if again == trace {
            writeln!(out, "{id}: the same, {} events, sha256 {}", trace.events.len(), ndjson::sha256(&trace))?;
            return Ok(Code::Expected);
        }
        let at = again.events.iter().zip(&trace.events).position(|(a, b)| a != b);
        let at = at.unwrap_or(again.events.len().min(trace.events.len()));
        writeln!(out, "{id}: NOT the same from event {} on; this time:", at + 1)?;
        writeln!(out, "{}", timeline::timeline(&again, 100))?;
        Ok(Code::Nondeterministic)
    }
}
