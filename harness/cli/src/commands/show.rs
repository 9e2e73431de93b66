//! `rehang show CELL` and `rehang show --replay TRACE`: one cell as a timeline; again, and the same.
//!
//! Invariants: no line of a timeline is wider than the terminal, or than 80 columns if there is none; a replay runs the
//! cell that the trace's header names and compares every event.

use super::orders::{Orders, all_fit, explored, inevitable, said};
use super::run::code;
use super::select::Select;
use super::{Code, CommandError};
use crate::place::Where;
use crate::shell::{quoted, reading};
use crate::terminal::{self, fold};
use clap::Args;
use rehang_judge::timeline;
use rehang_runner::binaries::workers;
use rehang_runner::orders::{CellOrders, groups};
use rehang_runner::outputs;
use rehang_runner::pool::Pool;
use rehang_runner::select::Selected;
use rehang_runner::unit::CellAnswer;
use rehang_scenario::Invariant;
use rehang_scenario::text::{counted, counted_as, duration};
use rehang_search::orders::Inevitable;
use rehang_trace::{Event, Trace, ndjson};
use std::collections::BTreeSet;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

/// Columns of a timeline that goes to no terminal.
const WIDTH: usize = 80;

/// Shows cells as timelines.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang show question/row-diff::none::null          both arms of a cell
  rehang show --exact --cast hang.cast 'question/terminal::none::tty::1'
  asciinema play hang.cast
  rehang show --stage sim 'question/late-reply[blind-timeout-at]::blind-timeout::null::1/16=2'
                                                     seed 1, but at tie 16 the second candidate runs
  rehang show --orders question/row-diff::none::null  from when on is the hang inevitable?
  rehang show --trace --exact question/row-diff::none::null::1 > t.ndjson
  rehang show --replay t.ndjson                       does it still run so?")]
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
    /// Write the terminal of one cell into this file, as an asciicast v3 recording in virtual time.
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    pub cast: Option<PathBuf>,
    /// Run the cell of this trace again, and compare: a file that `rehang run --traces` or `rehang show --trace` wrote.
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["filter", "strategy", "terminal", "seeds", "exact", "shard", "stage", "trace", "cast", "orders"])]
    pub replay: Option<PathBuf>,
    /// Whether every order is tried, to say from when on a hang cannot be avoided.
    #[command(flatten)]
    pub orders: Orders,
}

impl Show {
    /// Runs the cells and prints them.
    ///
    /// # Errors
    /// A name that no cell has, a file that cannot be read, a worker that cannot be started.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if let Some(trace) = &self.replay {
            return replay(trace, &self.select.scenarios, out);
        }
        if self.select.filter.is_empty() && self.select.scenarios.is_empty() {
            return Err(CommandError::Usage("which cell? `rehang list` names them all".to_owned()));
        }
        self.stage.is_of_cells(&self.select.filter)?;
        let mut selected = self.select.select(self.stage.stages())?;
        for unit in &mut selected.units {
            unit.keep_traces = true;
        }
        let others = if self.trace || self.cast.is_some() { Vec::new() } else { all_but_the_first(&mut selected) };
        let pool = Pool::new(workers(None)?);
        let outcome = crate::bars::run(&pool, &selected.units, true)?;
        all_fit(&outcome.cells)?;
        if let Some(file) = &self.cast {
            write_cast(file, &outcome.cells)?;
            return Ok(code(&selected, &outcome, false));
        }
        let width = terminal::width(WIDTH);
        let orders = match self.orders.orders && !self.trace {
            true => explored(&groups(&selected.units), self.orders.limits(), None).0,
            false => Vec::new(),
        };
        for cell in &outcome.cells {
            let ordered = orders.iter().find(|ordered| ordered.id == cell.id);
            if self.trace {
                write!(out, "{}", cell.trace.as_deref().unwrap_or_default())?;
            } else {
                write!(out, "{}", shown(cell, ordered, width))?;
            }
        }
        if !others.is_empty() {
            writeln!(
                out,
                "{} not shown; name one, such as `rehang show{} {}`:",
                counted_as(others.len(), "more cell is", "more cells are"),
                reading(&self.select.scenarios),
                quoted(&others[0])
            )?;
            for id in others {
                writeln!(out, "  {id}")?;
            }
        }
        Ok(code(&selected, &outcome, false))
    }
}

/// How many cells are shown as timelines if more are selected.
const SHOWN: usize = 5;

/// Leaves the first cells of a selection, those of `none` before others, and gives the names of the others.
fn all_but_the_first(selected: &mut Selected) -> Vec<String> {
    let ids = selected.units.iter().flat_map(|unit| unit.cells.iter().map(|cell| (cell.strategy != "none", &cell.id)));
    let mut ids: Vec<(bool, String)> = ids.map(|(other, id)| (other, id.clone())).collect();
    ids.sort();
    ids.dedup();
    if ids.len() <= SHOWN {
        return Vec::new();
    }
    let others: BTreeSet<String> = ids.split_off(SHOWN).into_iter().map(|(_, id)| id).collect();
    for unit in &mut selected.units {
        unit.cells.retain(|cell| !others.contains(&cell.id));
    }
    selected.units.retain(|unit| !unit.cells.is_empty());
    others.into_iter().collect()
}

/// A timeline with a line where a hang becomes inevitable.
fn drawn(trace: &Trace, since: Option<Inevitable>, width: usize) -> String {
    let whole = timeline::timeline(trace, width);
    let Some(since) = since else { return whole };
    let line = fold(&format!("──── {}", inevitable(since)), width);
    let Inevitable::After { events, .. } = since else { return format!("{line}{whole}") };
    let (before, after) = trace.events.split_at(events.min(trace.events.len()));
    let part = |events: &[Event]| timeline::timeline(&Trace { events: events.to_vec() }, width);
    format!("{}{line}{}", part(before), part(after))
}

/// A cell in lines of at most `width` columns: its name, its timeline, how it ends.
fn shown(cell: &CellAnswer, ordered: Option<&CellOrders>, width: usize) -> String {
    let Some(row) = &cell.row else {
        return fold(&format!("{}: {}", cell.id, cell.why().join("; ")), width);
    };
    let mut out = fold(&format!("{} on {}", cell.id, row.stage.name()), width);
    out.push('\n');
    match cell.trace.as_deref().map(|trace| ndjson::read(trace.as_bytes())) {
        Some(Ok((_, trace))) => {
            out.push_str(&drawn(&trace, ordered.and_then(|ordered| ordered.explored.inevitable), width));
        }
        Some(Err(error)) => out.push_str(&fold(&format!("no timeline: {error}"), width)),
        None => {}
    }
    out.push('\n');
    let words = [
        row.cause.as_deref().map(|cause| format!("; cause {cause}")),
        row.blocked_on.map(|on| format!("; blocked on {on}")),
        row.proof.map(|proof| format!("; proved by {proof}")),
        (!row.broken.is_empty()).then(|| format!("; breaks {}", Invariant::names(&row.broken))),
    ];
    let words: String = words.into_iter().flatten().collect();
    out.push_str(&fold(&format!("{} after {} of virtual time{words}", row.outcome, duration(row.virtual_ms)), width));
    if let Some(ordered) = ordered {
        out.push_str(&fold(&said(ordered), width));
    }
    for line in cell.why() {
        out.push_str(&fold(&format!("NOT as expected: {line}"), width));
    }
    out.push('\n');
    out
}

/// Writes the recording of the one cell there is.
fn write_cast(file: &Path, cells: &[CellAnswer]) -> Result<(), CommandError> {
    let [cell] = cells else {
        let what = format!("a recording is of one cell, and these are {}; name one with --exact", cells.len());
        return Err(CommandError::Usage(what));
    };
    let trace = cell.trace.as_deref().ok_or_else(|| CommandError::Fault(cell.why().join("; ")))?;
    let (_, trace) = ndjson::read(trace.as_bytes()).map_err(|e| CommandError::Fault(e.to_string()))?;
    let text = rehang_report::cast(&trace, &cell.id);
    Ok(outputs::write(file, text)?)
}

/// Runs the cell of a trace again, and says whether it is the same.
///
/// # Errors
/// A trace that cannot be read, a cell that no longer exists.
fn replay(trace_file: &Path, scenarios: &[PathBuf], out: &mut dyn Write) -> Result<Code, CommandError> {
    let file =
        std::fs::File::open(trace_file).map_err(|e| CommandError::Usage(format!("{}: {e}", trace_file.display())))?;
    let read = ndjson::read(BufReader::new(file));
    let (header, trace) = read.map_err(|e| {
        let file = trace_file.display();
        CommandError::Usage(format!("{file}: this is no trace ({e}); `rehang show CELL --trace > FILE` writes one"))
    })?;
    let control = if header.control { "::control" } else { "" };
    let id = format!("{}::{}::{}::{}{control}", header.scenario, header.strategy, header.terminal, header.order());
    let stage = if header.stage == "sim" { Where::Sim } else { Where::Lockstep };
    let select = Select { filter: vec![id.clone()], exact: true, scenarios: scenarios.to_vec(), ..Select::default() };
    let mut selected = select.select(stage.stages())?;
    for unit in &mut selected.units {
        unit.keep_traces = true;
    }
    let pool = Pool::new(workers(Some(1))?);
    let outcome = crate::bars::run(&pool, &selected.units, false)?;
    all_fit(&outcome.cells)?;
    let again = outcome.cells.first().and_then(|cell| cell.trace.as_deref());
    let again = again.ok_or_else(|| CommandError::Fault(format!("{id} gave no trace")))?;
    let (_, again) = ndjson::read(again.as_bytes()).map_err(|e| CommandError::Fault(e.to_string()))?;
    if again == trace {
        writeln!(out, "{id}: the same, {}, sha256 {}", counted(trace.events.len(), "event"), ndjson::sha256(&trace))?;
        return Ok(Code::Expected);
    }
    let at = again.events.iter().zip(&trace.events).position(|(a, b)| a != b);
    let at = at.unwrap_or(again.events.len().min(trace.events.len()));
    writeln!(out, "{id}: NOT the same from event {} on; this time:", at + 1)?;
    writeln!(out, "{}", timeline::timeline(&again, terminal::width(WIDTH)))?;
    Ok(Code::Nondeterministic)
}
