//! `rehang merge`: one report of several runs.
//!
//! Invariant: what is printed, and the exit code, are those of one run of the same cells. Nothing is run, and a cell is drawn
//! only from a trace whose hash its row has.

use super::run::code;
use super::{Code, CommandError};
use crate::pictures;
use crate::place::Where;
use crate::report::{Format, Report};
use crate::shell::command_line;
use crate::terminal;
use clap::Args;
use rehang_judge::timeline;
use rehang_processes::machine;
use rehang_runner::merge::{Merged, Source, merge};
use rehang_runner::rows::{self, Setting};
use rehang_runner::unit::{CellAnswer, TIMELINE_WIDTH};
use rehang_scenario::Stage;
use rehang_trace::ndjson;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Make one report of the rows of several runs.
///
/// Each file is what `rehang run --format json` printed: the parts of a run that was spread over machines (`--shard 1/3`), or
/// runs on the two stages. A cell counts once. Rows that contradict each other are an error, and so is a missing part.
/// The exit codes are those of `run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang run --shard 1/3 --format json > 1.ndjson   on each machine, with its own number
  rehang merge 1.ndjson 2.ndjson 3.ndjson           the report of all three
  rehang merge *.ndjson --format junit > all.xml    the same for a CI system
  rehang merge *.ndjson --traces t --report r       with pictures, from what `run --traces t` wrote")]
pub struct Merge {
    /// What `rehang run --format json` printed.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// A folder that `run --traces` wrote: what is drawn is drawn from there.
    #[arg(long, value_name = "DIR")]
    pub traces: Vec<PathBuf>,
    /// Write a report into this folder: `index.html`, with a picture of each cell whose trace is in a folder of `--traces`.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Append a summary in Markdown to this file, as a CI job's page wants it.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
}

impl Merge {
    /// Reads, merges, prints, and says how the runs went.
    ///
    /// # Errors
    /// A file that cannot be read or is not the output of a run, rows that contradict each other, a missing part.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let sources = self.files.iter().map(|path| source(path)).collect::<Result<Vec<_>, _>>()?;
        let mut merged = merge(sources).map_err(|error| CommandError::Usage(error.to_string()))?;
        let traces = self.read_traces()?;
        for cell in &mut merged.outcome.cells {
            draw(cell, &traces, self.report.is_some());
        }
        let Merged { selected, outcome, stages, filtered, left_behind } = &merged;
        let stage = match (stages.contains(&Stage::Sim), stages.contains(&Stage::Lockstep)) {
            (true, true) => Where::Both,
            (true, false) => Where::Sim,
            _ => Where::Lockstep,
        };
        let setting = Setting { stage: stage.name(), filtered: *filtered, part: (1, 1), left_behind: *left_behind };
        let report = Report { selected, outcome, stage, setting, width: terminal::width(terminal::REPORT) };
        let printed = report.print(self.format, out).and_then(|()| out.flush());
        let mut code = code(selected, outcome, !filtered);
        for error in self.write_outputs(&merged) {
            complain!("error: {error}");
            code = code.max(error.code());
        }
        match printed {
            // the reader of the output may stop reading: the result stays the same
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
        Ok(if *left_behind { code.max(Code::LeftBehind) } else { code })
    }

    /// Writes the files that were asked for; if one cannot be written, the other still is.
    fn write_outputs(&self, merged: &Merged) -> Vec<CommandError> {
        let Merged { selected, outcome, .. } = merged;
        let report = self.report.as_deref().map(|folder| {
            pictures::report(folder, &merged.title(), &command_line("rehang"), outcome, &selected.bad_files)
        });
        let summary = self.summary.as_deref().map(|file| pictures::summary(file, outcome, &selected.bad_files));
        [report, summary].into_iter().flatten().filter_map(Result::err).collect()
    }

    /// The traces of the named folders, by their hashes.
    fn read_traces(&self) -> Result<BTreeMap<String, String>, CommandError> {
        let mut traces = BTreeMap::new();
        for folder in &self.traces {
            for entry in std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
                let path = entry?.path();
                if path.extension().is_none_or(|extension| extension != "ndjson") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
                match ndjson::read(text.as_bytes()) {
                    Ok((_, trace)) => drop(traces.insert(ndjson::sha256(&trace), text)),
                    Err(error) => return Err(CommandError::Usage(format!("{}: {error}", path.display()))),
                }
            }
        }
        Ok(traces)
    }
}

/// The runs of a file.
fn source(path: &Path) -> Result<Source, CommandError> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let name = path.display().to_string();
    match rows::read(BufReader::new(file)) {
        Ok(runs) => Ok(Source { name, runs }),
        Err(rows::ReadError::Io(error)) => Err(unreadable(path, &error)),
        Err(error) => Err(CommandError::Usage(format!("{name}: {error}"))),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Usage(format!("{}: {}", path.display(), machine::open(error)))
}

/// Gives a cell its trace, if that is wanted or the cell is not as expected, and there is one.
fn draw(cell: &mut CellAnswer, traces: &BTreeMap<String, String>, wanted: bool) {
    let Some(text) = cell.row.as_ref().and_then(|row| traces.get(&row.trace_sha256)) else { return };
    if cell.is_failure() {
        let read = ndjson::read(text.as_bytes());
        cell.timeline = read.ok().map(|(_, trace)| timeline::timeline(&trace, TIMELINE_WIDTH));
    }
    if wanted {
        cell.trace = Some(text.clone());
    }
}
