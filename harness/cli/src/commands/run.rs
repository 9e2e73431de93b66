//! `rehang run`: the matrix.
//!
//! Invariant: what is printed is in the order of the cells' names, whatever order they ran in.

use super::orders::{self, Orders};
use super::select::Select;
use super::{Code, CommandError};
use crate::bars::run;
use crate::last_run;
use crate::pictures;
use crate::place::Where;
use crate::report::{Format, Report};
use crate::shell::command_line;
use crate::terminal;
use clap::Args;
use rehang_processes::tree;
use rehang_runner::binaries::workers;
use rehang_runner::outputs;
use rehang_runner::pool::Pool;
use rehang_runner::rows::Setting;
use rehang_runner::run::Outcome;
use rehang_runner::select::Selected;
use rehang_runner::unit::{CellAnswer, Hashes};
use rehang_scenario::problem::Style;
use rehang_scenario::text::counted;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Runs cells and says whether they are as expected.
#[derive(Debug, Clone, Args)]
#[command(after_help = super::accept::EXAMPLES)]
pub struct Run {
    /// Which cells.
    #[command(flatten)]
    pub select: Select,
    /// Where cells run. With `both`, each cell's trace must be the same on sim and in lockstep.
    #[arg(long, value_enum, default_value_t = Where::Lockstep)]
    pub stage: Where,
    /// How many worker processes; by default one per core.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// Write the traces of all cells into this folder.
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
    /// Write a report with pictures into this folder: `index.html`, one file with the terminals' recordings in it. `rehang
    /// report --open` opens it.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Append a summary in Markdown to this file, as a CI job's page wants it.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Play the cells that failed in the last run, and no others.
    ///
    /// Which these are is kept in rehang's cache, in last-run.json.
    #[arg(long, conflicts_with_all = ["filter", "scenarios", "shard"])]
    pub last_failed: bool,
    /// Run all cells in lockstep.
    ///
    /// Otherwise those whose trace is that of `none` on sim, since their strategy does nothing there, share its trace in
    /// lockstep; and a poll of a server in which nothing has changed since it was answered is not carried out. One in eight
    /// of such cells is run all the same, and compared.
    #[arg(long)]
    pub no_share: bool,
    /// Whether every order is tried.
    #[command(flatten)]
    pub orders: Orders,
    /// Begin virtual time at this many milliseconds; no verdict may depend on it.
    #[arg(long, value_name = "MS", default_value_t = 0, hide = true)]
    pub begin: u64,
    /// Whether what is seen becomes what is expected.
    #[command(flatten)]
    pub accept: super::accept::Accept,
}

/// Parses the number of workers, 1 or more.
///
/// # Errors
/// Another number, or none.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("no cell runs without a worker process: give 1 or more".to_owned()),
        Ok(jobs) => Ok(jobs),
        Err(_) => Err("give a whole number of worker processes, 1 or more".to_owned()),
    }
}

impl Run {
    /// Runs, prints, and says how it went.
    ///
    /// # Errors
    /// A filter that nothing matches, a file that cannot be read, a worker that cannot be started.
    pub fn run(&self) -> Result<Code, CommandError> {
        if self.last_failed {
            let last = last_run::read()?;
            if last.cells.is_empty() {
                complain!("nothing failed in the last run: there is nothing to play again");
                return Ok(Code::Expected);
            }
            let select = Select { filter: last.cells, scenarios: last.scenarios, exact: true, ..self.select.clone() };
            return Run { select, last_failed: false, ..self.clone() }.run();
        }
        self.stage.is_of_cells(&self.select.filter)?;
        if self.orders.orders {
            return self.in_all_orders();
        }
        if self.accept.is_wanted() {
            return super::accept::run(self);
        }
        let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let style = if color { Style::Colour } else { Style::Plain };
        let mut selected = self.select.select(self.stage.stages())?;
        for unit in &mut selected.units {
            unit.keep_traces = self.traces.is_some() || self.report.is_some();
            if self.format == Format::Json {
                unit.hashes = Hashes::Sha256;
            }
            unit.begin = rehang_scenario::VTime(self.begin);
            if !self.no_share {
                unit.share();
            }
        }
        for problems in &selected.problems {
            complain!("{}", terminal::dense(problems, style).trim_end());
        }
        self.try_outputs()?;
        rehang_stage::worker::adopt_orphans();
        let pool = Pool::new(workers(self.jobs)?);
        let outcome = Outcome { scenarios: self.select.scenarios.clone(), ..run(&pool, &selected.units, true)? };
        drop(pool);
        orders::all_fit(&outcome.cells)?;
        last_run::keep(&outcome);
        // a process that is left when a worker is killed ends with its control socket, so this waits instead of looking
        // once
        tree::await_ends(CLEAN_WITHIN, &|_| {});
        let clean = tree::below().is_empty();
        let report = Report {
            selected: &selected,
            outcome: &outcome,
            stage: self.stage,
            setting: Setting {
                stage: self.stage.name(),
                filtered: !self.select.filter.is_empty(),
                part: self.select.shard.unwrap_or((1, 1)),
                left_behind: !clean,
            },
            width: terminal::width(terminal::REPORT),
        };
        let mut out = anstream::stdout().lock();
        let printed = report.print(self.format, &mut out).and_then(|()| out.flush());
        let mut code = code(&selected, &outcome, self.select.filter.is_empty());
        for error in self.write_outputs(&selected, &outcome) {
            complain!("error: {error}");
            code = code.max(error.code());
        }
        match printed {
            // the reader of the output may stop reading: the run's result stays the same
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
        if !clean {
            complain!("error: a process that this run started is still alive");
            return Ok(code.max(Code::LeftBehind));
        }
        Ok(code)
    }

    fn in_all_orders(&self) -> Result<Code, CommandError> {
        let other = [
            (self.accept.is_wanted(), "--accept"),
            (self.traces.is_some(), "--traces"),
            (self.report.is_some(), "--report"),
            (self.summary.is_some(), "--summary"),
            (self.format == Format::Junit, "--format junit"),
        ];
        if let Some((_, flag)) = other.iter().find(|(is_given, _)| *is_given) {
            let what = format!("{flag} is of one order, and --orders is of all: leave one of them out");
            return Err(CommandError::Usage(what));
        }
        let mut out = anstream::stdout().lock();
        orders::report(&self.select, self.orders, self.jobs, self.format == Format::Json, &mut out)
    }

    /// Finds out before a run whether what it is to write can be written.
    fn try_outputs(&self) -> Result<(), CommandError> {
        for folder in self.traces.iter().chain(&self.report) {
            outputs::folder(folder)?;
        }
        self.summary.as_deref().map_or(Ok(()), |file| Ok(outputs::append(file).map(drop)?))
    }

    /// Writes the files that were asked for; if one cannot be written, the others still are.
    fn write_outputs(&self, selected: &Selected, outcome: &Outcome) -> Vec<CommandError> {
        let traces = self.traces.as_deref().map(|folder| write_traces(folder, &outcome.cells));
        let report = self.report.as_deref().map(|folder| {
            let bad = match selected.bad_files.len() {
                0 => String::new(),
                n => format!("; {} with errors", counted(n, "more file")),
            };
            let title = format!("{}, stage {}{bad}", counted(selected.scenarios, "scenario"), self.stage.name());
            pictures::report(folder, &title, &command_line("rehang"), outcome, &selected.bad_files)
        });
        let summary = self.summary.as_deref().map(|file| pictures::summary(file, outcome, &selected.bad_files));
        [traces, report, summary].into_iter().flatten().filter_map(Result::err).collect()
    }
}

/// How long participants of a worker that broke off may take to end.
pub(super) const CLEAN_WITHIN: Duration = Duration::from_secs(5);

/// The exit code.
pub fn code(selected: &Selected, outcome: &Outcome, whole: bool) -> Code {
    let mut code = Code::Expected;
    if !selected.bad_files.is_empty() {
        code = code.max(Code::Usage);
    }
    for cell in &outcome.cells {
        code = code.max(match cell {
            _ if cell.fault.is_some() => Code::Fault,
            _ if cell.differs.is_some() => Code::Nondeterministic,
            _ if cell.unexpected_hang => Code::Hang,
            _ if !cell.mismatches.is_empty() => Code::Unexpected,
            _ => Code::Expected,
        });
    }
    if whole && selected.has_too_much_lockstep() {
        code = code.max(Code::Unexpected);
    }
    code
}

fn write_traces(folder: &std::path::Path, cells: &[CellAnswer]) -> Result<(), CommandError> {
    let mut names = pictures::FileNames::default();
    for cell in cells {
        if let (Some(trace), Some(row)) = (&cell.trace, &cell.row) {
            outputs::write(&folder.join(names.of(&cell.id, &format!("{}.ndjson", row.stage.name()))), trace)?;
        }
    }
    Ok(())
}
