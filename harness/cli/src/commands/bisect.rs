//! `rehang bisect`: between which two releases a verdict changed.
//!
//! Invariant: both ends are run, never taken from the command line on trust; the answer names two releases that were
//! run, each with its verdict and evidence, and every release between them with the reason why it could not be used.

use super::clock::ClockArgs;
use super::{Code, CommandError};
use crate::bars::Install;
use crate::releases::said;
use clap::{Args, ValueEnum};
use rehang_agents::{Version, Wanted};
use rehang_live::Virtual;
use rehang_runner::binaries::{fakes, own_binary};
use rehang_scenario::text::counted;
use rehang_scenario::{OutcomeKind, Terminal};
use rehang_upstream::agents;
use rehang_upstream::bisect::{Next, Search, Seen};
use rehang_upstream::error::UpstreamError;
use rehang_upstream::memory::Gate;
use rehang_upstream::plan::{self, Cell};
use rehang_upstream::row::{Row, Verdict};
use rehang_upstream::runner::{Runner, Stop};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Find the two releases between which a scenario's verdict changes.
///
/// They are adjacent, and found by binary search over the registry.
///
/// Either of good and bad may be the older one. Each verdict is repeated until it is sure; a release whose runs differ is
/// flaky and, as one that cannot run, is passed over.
///
/// Exit codes: 0 found · 1 both ends are alike, or an end is flaky or cannot run · 2 usage, no network, no sandbox · 70 rehang's own
/// fault.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang bisect opencode question --good 1.3.0 --bad 1.2.15
  rehang bisect opencode bash-permission --good 1.1.53 --bad 1.0.185 --terminal null --format json")]
pub struct Bisect {
    /// The agent.
    pub agent: String,
    /// The scenario: a name of `scenarios/upstream`, or, with a slash, any of the corpus.
    pub scenario: String,
    /// A release with the right verdict.
    #[arg(long, value_name = "VERSION")]
    pub good: Version,
    /// A release with the wrong verdict.
    #[arg(long, value_name = "VERSION")]
    pub bad: Version,
    /// The terminal; by default `null` if the scenario has it, else its first.
    #[arg(long, value_name = "NAME", value_parser = super::terminal)]
    pub terminal: Option<Terminal>,
    /// How many runs of a release must agree.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// On the wall clock: a run is over this many seconds after its first model request at the latest; by default long
    /// enough to tell a hang from a limit of the agent's own: one minute, twelve with a silent model.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=3_600))]
    pub deadline: Option<u64>,
    /// Its clock.
    #[command(flatten)]
    pub clock: ClockArgs,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// A folder with agents of your own.
    #[arg(long, value_name = "DIR")]
    pub agents: Option<PathBuf>,
    /// Scenario files and folders.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
}

/// How long an end of the search is watched, once, that has no end within the default horizon; longer than the limits of the
/// agents that have one (`docs/releases.md`).
const PATIENCE: Duration = Duration::from_secs(2 * 60 * 60);
/// How long threads sleep meanwhile that only wake up now and then.
const TICKERS_SLEEP: Duration = Duration::from_secs(10);

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Sentences.
    Human,
    /// NDJSON: one object a release that was run, then one `found`.
    Json,
}

impl Bisect {
    /// Searches and prints.
    ///
    /// # Errors
    /// Arguments that do not fit, a registry that cannot be asked, a machine that gives no sandbox.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let all = agents::all(self.agents.as_deref())?;
        let agent = agents::named(&all, &self.agent)?;
        let scenarios = plan::scenarios(std::slice::from_ref(&self.scenario), &self.scenarios)?;
        let [named] = scenarios.as_slice() else {
            let names: Vec<&str> = scenarios.iter().map(|named| named.name.as_str()).collect();
            return Err(CommandError::Usage(format!("name one scenario: {}", names.join(", "))));
        };
        let has = &named.scenario.terminals;
        let first = || has.iter().copied().find(|t| *t == Terminal::Null).or(has.first().copied());
        let terminal = self.terminal.or_else(first).unwrap_or(Terminal::Null);
        if !has.contains(&terminal) {
            let names: Vec<&str> = has.iter().map(|t| t.name()).collect();
            return Err(CommandError::Usage(format!("{} has {}", named.name, names.join(", "))));
        }
        let until = rehang_live::cell::deadline(&named.scenario);
        let in_virtual_time = self.clock.settings(self.deadline.map(|_| "--deadline"), until)?;
        // before a registry is asked
        let (rehang, fakes) = (own_binary()?, fakes()?);
        let store = agents::store()?;
        let (low, high) = if self.good < self.bad { (&self.good, &self.bad) } else { (&self.bad, &self.good) };
        if low == high {
            return Err(CommandError::Usage("good and bad are the same release".to_owned()));
        }
        for end in [low, high] {
            store.pick(agent, &Wanted::Exact(end.clone())).map_err(UpstreamError::from)?;
        }
        let registry = store.versions(agent).map_err(UpstreamError::from)?;
        let between = |v: &&Version| (v.pre.is_empty() && *v > low && *v < high) || *v == low || *v == high;
        let versions: Vec<Version> = registry.iter().filter(between).cloned().collect();
        let recipes: Vec<_> = versions.iter().map(|v| (agent.name().to_owned(), v.clone(), agent.at(v))).collect();
        let cells = plan::cells(&recipes, &scenarios, &[terminal]);
        let runner = Runner {
            store,
            rehang,
            fakes,
            deadline: self.deadline.map(Duration::from_secs),
            in_virtual_time,
            repeat: self.repeat as usize,
            jobs: 1,
            record: None,
            why: false,
            supervised: None,
        };
        let mut looks = Looks { runner, cells: &cells, rows: vec![None; cells.len()], format: self.format, out };
        let good_first = self.good < self.bad;
        let last = cells.len().saturating_sub(1);
        let mut ends = [looks.at(0)?, looks.at(last)?];
        if self.clock.until.is_none()
            && let Some(horizon) = looks.longest_limit(&ends)?
        {
            looks.watch_for(horizon)?;
            ends = [looks.at(0)?, looks.at(last)?];
        }
        if let Some(why) = unfit(&ends) {
            return looks.none(&ends, &why);
        }
        let verdicts = [ends[0].verdict(), ends[1].verdict()];
        let mut search = Search::new(cells.len(), if good_first { Seen::Good } else { Seen::Bad });
        loop {
            match search.next() {
                Next::Look(at) => {
                    let row = looks.at(at)?;
                    let seen = match which(&row, &verdicts) {
                        Some(end) if (end == 0) == good_first => Seen::Good,
                        Some(_) => Seen::Bad,
                        None => Seen::Unusable,
                    };
                    search.tell(at, seen);
                }
                Next::Found { before, after, between } => return looks.found(before, after, &between, good_first),
            }
        }
    }
}

/// Whether a release ran and came to an end.
fn ends_by_itself(row: &Row) -> bool {
    row.outcome.is_some_and(|outcome| !outcome.is_hang() && outcome != OutcomeKind::Undecided)
}

/// Why there is nothing to search for between two ends.
fn unfit(ends: &[Row; 2]) -> Option<String> {
    for end in ends {
        let name = format!("{}@{}", end.agent, end.version);
        if end.outcome.is_none() {
            return Some(format!("{name} cannot run: {}", end.detail));
        }
        if !end.flaky.is_empty() {
            return Some(format!("{name} is flaky: {}", end.flaky.join(", ")));
        }
    }
    (ends[0].verdict() == ends[1].verdict()).then(|| format!("both ends are alike: {}", ends[0].verdict()))
}

/// Which of the two ends a release is like. If only one of them hangs, a release that does not hang is like the other.
fn which(row: &Row, ends: &[Verdict; 2]) -> Option<usize> {
    if row.outcome.is_none() || !row.flaky.is_empty() {
        return None;
    }
    if row.outcome == Some(OutcomeKind::Undecided) {
        return None;
    }
    let verdict = row.verdict();
    if let Some(end) = ends.iter().position(|end| *end == verdict) {
        return Some(end);
    }
    let hangs = |verdict: &Verdict| verdict.outcome.is_some_and(OutcomeKind::is_hang);
    let free: Vec<usize> = (0..2).filter(|&end| !hangs(&ends[end])).collect();
    match free.as_slice() {
        [only] if !hangs(&verdict) => Some(*only),
        _ => None,
    }
}

struct Looks<'a> {
    runner: Runner,
    cells: &'a [Cell],
    rows: Vec<Option<Row>>,
    format: Format,
    out: &'a mut dyn Write,
}

impl Looks<'_> {
    /// Runs a release, and prints nothing.
    fn row(&self, at: usize) -> Result<Row, CommandError> {
        let Some(cell) = self.cells.get(at) else { return Err(CommandError::Fault("no such release".to_owned())) };
        let bar = Install::new();
        let row = self.runner.cell(cell, &Gate::of_this_machine(), &bar);
        bar.clear();
        row.map_err(|stop| match stop {
            Stop::Machine(why) => CommandError::Usage(why),
            Stop::Fault(why) => CommandError::Fault(why),
        })
    }

    /// Runs a release, prints its row and keeps it.
    fn at(&mut self, at: usize) -> Result<Row, CommandError> {
        let row = self.row(at)?;
        match self.format {
            Format::Human => {
                let runs = if row.runs > 1 { format!(" ({} runs)", row.runs) } else { String::new() };
                let why = if row.outcome.is_none() { format!(": {}", row.detail) } else { String::new() };
                writeln!(self.out, "{}@{}  {} {}{runs}{why}", row.agent, row.version, said(&row), row.evidence)?;
            }
            Format::Json => writeln!(self.out, "{}", serde_json::to_string(&row).map_err(std::io::Error::other)?)?,
        }
        self.out.flush()?;
        self.rows[at] = Some(row.clone());
        Ok(row)
    }

    /// The horizon for all releases, if an end that does not end within the default one does so later: a quarter more than
    /// it took. Threads that only wake up now and then are let sleep for that look, so that two hours are soon over.
    fn longest_limit(&mut self, ends: &[Row; 2]) -> Result<Option<Duration>, CommandError> {
        let Some(usual) = self.runner.in_virtual_time else { return Ok(None) };
        let has_no_end = |row: &Row| row.outcome == Some(OutcomeKind::NoEnd);
        let mut longest = None;
        for (at, _) in [0, self.cells.len() - 1].into_iter().zip(ends).filter(|(_, row)| has_no_end(row)) {
            let patient = Virtual { until: PATIENCE, skip_tickers: Some(TICKERS_SLEEP), ..usual };
            self.runner.in_virtual_time = Some(patient);
            let row = self.row(at)?;
            if ends_by_itself(&row)
                && let Some(time) = &row.virtual_time
            {
                longest = longest.max(Some(Duration::from_secs_f64(time.seconds * 1.25)));
            }
        }
        self.runner.in_virtual_time = Some(usual);
        Ok(longest)
    }

    /// Watches releases for so long from now on.
    fn watch_for(&mut self, horizon: Duration) -> Result<(), CommandError> {
        if let Some(settings) = &mut self.runner.in_virtual_time {
            settings.until = horizon;
        }
        if self.format == Format::Human {
            let span = rehang_scenario::text::duration(u64::try_from(horizon.as_millis()).unwrap_or(u64::MAX));
            writeln!(self.out, "an end has a limit of its own: each release is watched for {span}")?;
        }
        Ok(())
    }

    fn none(&mut self, ends: &[Row; 2], why: &str) -> Result<Code, CommandError> {
        match self.format {
            Format::Human => writeln!(self.out, "nothing to search for: {why}")?,
            Format::Json => {
                let versions: Vec<&str> = ends.iter().map(|end| end.version.as_str()).collect();
                writeln!(self.out, "{}", json!({ "found": null, "ends": versions, "because": why }))?;
            }
        }
        Ok(Code::Unexpected)
    }

    fn found(
        &mut self,
        before: usize,
        after: usize,
        between: &[usize],
        good_first: bool,
    ) -> Result<Code, CommandError> {
        let row = |at: usize| self.rows.get(at).cloned().flatten();
        let (Some(older), Some(newer)) = (row(before), row(after)) else {
            return Err(CommandError::Fault("the search named a release that was not run".to_owned()));
        };
        let passed: Vec<Row> = between.iter().filter_map(|&at| row(at)).collect();
        let why = |row: &Row| match (row.outcome.is_some(), row.flaky.is_empty()) {
            (false, _) => row.detail.clone(),
            (true, false) => format!("flaky: {}", row.flaky.join(", ")),
            (true, true) => format!("neither: {}", row.verdict()),
        };
        let (good, bad) = if good_first { (&older, &newer) } else { (&newer, &older) };
        match self.format {
            Format::Human => {
                writeln!(
                    self.out,
                    "\n{} {} on {} changes between {} and {}:",
                    older.agent, older.scenario, older.terminal, older.version, newer.version
                )?;
                for row in [&older, &newer] {
                    let word = if std::ptr::eq(row, good) { "good" } else { "bad" };
                    writeln!(
                        self.out,
                        "  {word:4} {}  {} {}, {}   {}",
                        row.version,
                        said(row),
                        row.evidence,
                        counted(row.runs, "run"),
                        row.command
                    )?;
                    row.told
                        .last()
                        .map_or(Ok(()), |told| writeln!(self.out, "       told: {}", told.replace('\n', " ")))?;
                    row.asks.iter().try_for_each(|ask| writeln!(self.out, "       open ask: {ask}"))?;
                }
                for row in &passed {
                    writeln!(self.out, "  between them {} could not be used: {}", row.version, why(row))?;
                }
            }
            Format::Json => {
                let passed: Vec<_> =
                    passed.iter().map(|row| json!({ "version": row.version, "because": why(row) })).collect();
                let line = json!({ "found": {
                    "agent": older.agent, "scenario": older.scenario, "terminal": older.terminal,
                    "older": older.version, "newer": newer.version, "good": good.version, "bad": bad.version,
                    "older_row": older, "newer_row": newer, "between": passed,
                }});
                writeln!(self.out, "{line}")?;
            }
        }
        Ok(Code::Expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_upstream::row::Key;

    fn row(outcome: Option<OutcomeKind>, detail: &str) -> Row {
        let key = Key { agent: "a".into(), version: "1.0.0".into(), scenario: "s".into(), terminal: "null".into() };
        Row { outcome, detail: detail.into(), ..Row::unrun(&key, "h", String::new()) }
    }

    #[test]
    fn a_release_is_like_one_end_or_not_usable() {
        let (hung, completed) = (row(Some(OutcomeKind::Hung), "question"), row(Some(OutcomeKind::Completed), ""));
        let ends = [hung.verdict(), completed.verdict()];
        assert_eq!(which(&hung, &ends), Some(0));
        assert_eq!(which(&completed, &ends), Some(1));
        assert_eq!(which(&row(Some(OutcomeKind::Failed), "x"), &ends), Some(1), "it does not hang");
        assert_eq!(which(&row(Some(OutcomeKind::Hung), "exit"), &ends), None, "another hang");
        assert_eq!(which(&row(None, "no binary"), &ends), None);
        let flaky = Row { flaky: vec!["hung 3 of 6".into()], ..hung.clone() };
        assert_eq!(which(&flaky, &ends), None);
        let (no_end, undecided) = (row(Some(OutcomeKind::NoEnd), "question"), row(Some(OutcomeKind::Undecided), "why"));
        assert_eq!(which(&no_end, &ends), None, "another kind of hang");
        assert_eq!(which(&no_end, &[no_end.verdict(), completed.verdict()]), Some(0));
        assert_eq!(which(&undecided, &ends), None);
        let both_free = [completed.verdict(), row(Some(OutcomeKind::Failed), "x").verdict()];
        assert_eq!(which(&row(Some(OutcomeKind::Stopped), "y"), &both_free), None);
    }

    #[test]
    fn ends_must_differ_and_be_sure() {
        let (hung, completed) = (row(Some(OutcomeKind::Hung), "question"), row(Some(OutcomeKind::Completed), ""));
        assert_eq!(unfit(&[hung.clone(), completed.clone()]), None);
        assert!(unfit(&[hung.clone(), hung.clone()]).unwrap().contains("alike"));
        assert!(unfit(&[hung.clone(), row(None, "no binary")]).unwrap().contains("cannot run"));
        let flaky = Row { flaky: vec!["hung 3 of 6".into()], ..hung };
        assert!(unfit(&[flaky, completed]).unwrap().contains("flaky"));
    }
}
