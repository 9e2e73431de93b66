//! `rehang upstream`: real releases, scenario by scenario.
//!
//! Invariant: a run that is stopped goes on where it was, if it has a results file; what is printed is in the order of
//! the cells, whatever order they ran in.

use super::clock::ClockArgs;
use super::{Code, CommandError};
use crate::bars::Install;
use crate::pictures;
use crate::releases::{Shown, said};
use crate::report::Format;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehang_agents::{Progress, Version};
use rehang_compat::Tally;
use rehang_runner::binaries::{fakes, own_binary};
use rehang_scenario::Terminal;
use rehang_scenario::text::{suggest, unknown};
use rehang_stage::threads::cores;
use rehang_upstream::agents;
use rehang_upstream::baseline::compare;
use rehang_upstream::plan::{self, Cell};
use rehang_upstream::results::{self, Results, Rows};
use rehang_upstream::row::Row;
use rehang_upstream::runner::{Runner, Stop, Watch};
use rehang_upstream::table::markdown;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Run real releases against a scripted model, and say which hang.
///
/// They come from npm and PyPI, and run in a sandbox without a network.
///
/// Words with an `@`, and agents' names, are releases (`opencode@1.2.27`, `claude@latest`, `codex@">=0.98, <0.120"`, `qwen`); the
/// others are scenarios: a name of `scenarios/upstream`, or, with a slash, any of the corpus.
///
/// Exit codes: 0 it ran, and with a baseline nothing got worse · 1 worse than the baseline · 2 usage, no network, no sandbox ·
/// 3 a hang, with --deny-hangs · 70 internal error.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang upstream opencode@1.2.27 opencode@1.3.0 question      does it hang here, and there?
  rehang upstream 'opencode@>=1.2, <1.4' --terminal null       all scenarios, a range of releases
  rehang upstream claude --since 2.1.300 text --jobs 4
  rehang upstream opencode@latest --baseline compat.json       exits 1 if the newest release is worse than the one before
  rehang upstream codex@latest --results codex.ndjson          a stopped run goes on
  rehang upstream --results codex.ndjson --table codex.md")]
pub struct Upstream {
    /// Releases and scenarios.
    #[arg(value_name = "AGENT@VERSION|SCENARIO")]
    pub words: Vec<String>,
    /// For agents without a version: this one and all newer ones.
    #[arg(long, value_name = "VERSION")]
    pub since: Option<Version>,
    /// Only these terminals; by default those of each scenario.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = super::terminal)]
    pub terminal: Vec<Terminal>,
    /// How many at once, as far as memory allows; by default two per core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// How many runs of a cell must agree; if they do not, it is called flaky.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// On the wall clock: a cell is over this many seconds after its first model request at the latest; by default long
    /// enough to tell a hang from a limit of the agent's own: one minute, twelve with a silent model.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=3_600))]
    pub deadline: Option<u64>,
    /// Its clock.
    #[command(flatten)]
    pub clock: ClockArgs,
    /// In virtual time: look N times at each process as `rehang why` does, and report the false looks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub looks: Option<u32>,
    /// A compat.json or an earlier results file; what got worse since makes the exit code 1. A release that it does not have
    /// is compared with the newest older one that it has.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Keep each row in this file as soon as its cell has ended; cells that it has already are not run again.
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Run cells again that the results file has already.
    #[arg(long, requires = "results")]
    pub again: bool,
    /// Write a table of the whole results file; without releases, only that.
    #[arg(long, value_name = "FILE", requires = "results")]
    pub table: Option<PathBuf>,
    /// Write a page into this folder, `index.html`: releases × scenarios, each square with its evidence.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Write what went over each cell's wires to DIR/AGENT-VERSION/SCENARIO-TERMINAL.jsonl, without real ids, instants
    /// and folders: the form in which a fake is compared with a release.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// On the wall clock: if a release hangs, `rehang why` looks at it from outside its sandbox, once a run; the rows
    /// contain what it says.
    #[arg(long)]
    pub why: bool,
    /// Each release runs under `rehang supervise` with this stack; the rows contain what that did.
    #[arg(long, value_name = "STACK", hide = true, conflicts_with_all = ["why", "results", "baseline"])]
    pub supervised: Option<String>,
    /// A hang makes the exit code 3.
    #[arg(long)]
    pub deny_hangs: bool,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// A folder with agents of your own; one with a shipped one's name replaces it.
    #[arg(long, value_name = "DIR")]
    pub agents: Option<PathBuf>,
    /// Scenario files and folders; by default the folder `scenarios/upstream` here or above.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
    /// Only list the cells.
    #[arg(long)]
    pub list: bool,
}

/// The default number of runs at once: two per core, since a hang takes no core.
pub fn default_jobs() -> usize {
    2 * cores()
}

impl Upstream {
    /// Runs, prints, and says how it went.
    ///
    /// # Errors
    /// Arguments that do not fit, a registry that cannot be asked, a machine that gives no sandbox.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let all = agents::all(self.agents.as_deref())?;
        let (specs, filters) = agents::specs(&all, &self.words, self.since.as_ref())?;
        if specs.is_empty() {
            return match (&self.table, filters.is_empty()) {
                (Some(_), true) => self.write_table().map(|()| Code::Expected),
                _ => {
                    let names: Vec<&str> = all.iter().map(rehang_agents::Agent::name).collect();
                    let meant = |word: &String| Some((word.clone(), suggest(word, names.iter().copied())?));
                    let all = format!("there are {}", names.join(", "));
                    let what = match filters.iter().find_map(meant) {
                        Some((word, near)) => unknown("agent", &word, Some(near), &all),
                        None => format!("name a release, such as `opencode@latest`; {all}"),
                    };
                    Err(CommandError::Usage(what))
                }
            };
        }
        let unfit = [(self.why, "--why"), (self.deadline.is_some(), "--deadline")];
        let unfit = unfit.into_iter().find_map(|(is_given, name)| is_given.then_some(name));
        let mut in_virtual_time = self.clock.settings(unfit, rehang_live::HORIZON)?;
        match &mut in_virtual_time {
            Some(settings) => settings.looks = self.looks,
            None if self.looks.is_some() => {
                return Err(CommandError::Usage("`--looks` has no meaning with `--clock wall`".to_owned()));
            }
            None => {}
        }
        // before a registry is asked
        let (rehang, fakes) = (own_binary()?, fakes()?);
        let before = self.baseline.as_ref().map(|path| results::baseline(path)).transpose().map_err(usage)?;
        let scenarios = plan::scenarios(&filters, &self.scenarios)?;
        let store = agents::store()?;
        let mut cells = plan::cells(&agents::recipes(&store, &specs)?, &scenarios, &self.terminal);
        if in_virtual_time.is_some() {
            cells = cells.into_iter().map(Cell::in_virtual_time).collect();
        }
        if cells.is_empty() {
            return Err(CommandError::Usage("none of these scenarios has such a terminal".to_owned()));
        }
        if self.list {
            cells.iter().try_for_each(|cell| writeln!(out, "{}", cell.key.command()))?;
            return Ok(Code::Expected);
        }
        let kept = self.results.as_ref().map(|path| Results::open(path)).transpose().map_err(usage)?;
        let runner = Runner {
            store,
            rehang,
            fakes,
            deadline: self.deadline.map(Duration::from_secs),
            in_virtual_time,
            repeat: self.repeat as usize,
            // in virtual time a hang takes a core like all else
            jobs: self.jobs.unwrap_or(default_jobs() / if in_virtual_time.is_some() { 2 } else { 1 }).max(1),
            record: self.record.clone(),
            why: self.why,
            supervised: self.supervised.clone(),
        };
        let keeper = Keeper::new(kept, cells.len());
        let todo: Vec<Cell> = cells.iter().filter(|cell| self.again || !keeper.has(cell)).cloned().collect();
        keeper.bar.set_position((cells.len() - todo.len()) as u64);
        runner.run(&todo, &keeper);
        let (rows, faults, stop) = keeper.finish(&cells);
        let changes = before.map(|before: Rows| compare(&rows, &before)).unwrap_or_default();
        Shown { rows: &rows, changes: &changes, faults: &faults, deny_hangs: self.deny_hangs }
            .print(self.format, out)?;
        for line in tally(&rows).iter().flat_map(Tally::lines) {
            complain!("{line}");
        }
        if self.table.is_some() {
            self.write_table()?;
        }
        if let Some(folder) = &self.report {
            pictures::upstream(folder, &crate::shell::command_line("rehang"), &rows)?;
        }
        if let Some(stop) = stop {
            return Err(CommandError::Usage(stop));
        }
        let worse = changes.iter().any(|change| change.regression);
        let hung = self.deny_hangs && rows.iter().any(Row::is_hang);
        let code = if worse { Code::Unexpected } else { Code::Expected };
        let code = if hung { code.max(Code::Hang) } else { code };
        Ok(if faults.is_empty() { code } else { code.max(Code::Fault) })
    }

    fn write_table(&self) -> Result<(), CommandError> {
        let (Some(table), Some(path)) = (&self.table, &self.results) else { return Ok(()) };
        let rows = results::read(path).map_err(|e| CommandError::Usage(format!("{}: {e}", path.display())))?;
        let text = markdown(&rows);
        std::fs::write(table, text).map_err(|e| CommandError::Usage(format!("{}: {e}", table.display())))
    }
}

/// What was said in the looks at all rows, each false one with the command of its row; `None` without looks.
fn tally(rows: &[Row]) -> Option<Tally> {
    let tallies = rows.iter().filter_map(|row| {
        let mut tally = row.virtual_time.as_ref()?.looks.clone()?;
        tally.false_ones.iter_mut().for_each(|said| *said = format!("{}: {said}", row.command));
        Some(tally)
    });
    tallies.reduce(Tally::with)
}

fn usage(error: std::io::Error) -> CommandError {
    CommandError::Usage(error.to_string())
}

/// Takes rows as they come, and puts them into the results file and onto the screen.
struct Keeper {
    bar: ProgressBar,
    install: Install,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    results: Option<Results>,
    rows: BTreeMap<(rehang_upstream::row::Key, String), Row>,
    faults: Vec<String>,
    stop: Option<String>,
}

impl Keeper {
    fn new(results: Option<Results>, cells: usize) -> Keeper {
        let bar = ProgressBar::with_draw_target(Some(cells as u64), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{elapsed:>4} [{bar:32}] {pos}/{len} cells {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let kept = results.as_ref().map(|results| results.rows.clone()).unwrap_or_default();
        let rows = kept.into_values().map(|row| ((row.key(), row.of.clone()), row)).collect();
        Keeper { install: Install::on(&bar), bar, state: Mutex::new(State { results, rows, ..State::default() }) }
    }

    fn has(&self, cell: &Cell) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.rows.contains_key(&(cell.key.clone(), cell.of.clone()))
    }

    fn finish(self, cells: &[Cell]) -> (Vec<Row>, Vec<String>, Option<String>) {
        self.bar.finish_and_clear();
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let of = |cell: &Cell| state.rows.get(&(cell.key.clone(), cell.of.clone())).cloned();
        (cells.iter().filter_map(of).collect(), state.faults, state.stop)
    }
}

impl Watch for Keeper {
    fn began(&self, cell: &Cell) {
        self.bar.set_message(cell.key.command());
    }

    fn ended(&self, cell: &Cell, row: Result<Row, Stop>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match row {
            Ok(row) => {
                if let Some(results) = &mut state.results
                    && let Err(error) = results.push(&row)
                {
                    state.stop = Some(format!("the results file: {error}"));
                }
                self.bar.println(format!("{}: {} {}", row.command, said(&row), row.evidence));
                state.rows.insert((cell.key.clone(), cell.of.clone()), row);
            }
            Err(Stop::Machine(why)) => state.stop = Some(why),
            Err(Stop::Fault(why)) => state.faults.push(why),
        }
        self.bar.inc(1);
    }

    fn progress(&self) -> &dyn Progress {
        &self.install
    }
}
