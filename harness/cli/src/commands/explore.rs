//! `rehang explore`: random scenarios and faults on the simulated kernel; what breaks an invariant becomes a file.
//!
//! Invariant: with `--steps` the same seed and jobs give the same findings. `--for` alone lets the clock say when to
//! stop, between two rounds and between two findings that are made small.

use super::orders::Orders;
use super::select::Select;
use super::{Code, CommandError};
use crate::terminal;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehang_runner::binaries::workers;
use rehang_runner::outputs;
use rehang_runner::pool::Pool;
use rehang_runner::unit::{Unit, Wanted};
use rehang_scenario::text::{counted, took as duration_of};
use rehang_scenario::{Scenario, Span, Stage};
use rehang_search::known::{DEFECTS, Defect};
use rehang_search::side_by_side::{Found, ROUND};
use rehang_search::{CaseError, Finding, SideBySide, cover, file};
use rehang_stage::threads::{cores, in_parallel};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a line says how far it is, if no terminal shows it all the time.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// What it takes to make a finding small, by measurement, and the largest part of `--for` that is kept for it.
const SMALL: Duration = Duration::from_millis(400);
const SMALL_MOST: f64 = 0.5;
/// The part of `--for` after which no further finding is made small; the rest is for writing.
const SMALL_UNTIL: f64 = 0.7;

/// Looks for what breaks an invariant.
///
/// Every step plays one scenario under `none` and under every strategy that has a seat there. What breaks an
/// invariant is made small and written as a scenario file; it is found once. With `--against` every step plays `none`
/// and that stack alone, and a hang that the stack does not end is a finding too.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang explore --for 10m                  searches for ten minutes on all cores
  rehang explore --steps 2000 --seed 7      the same findings every time
  rehang explore --stage both --for 10m     plays what is new on real processes too
  rehang explore --against guard --for 20m  looks for what guard misses, harms or says wrongly
  rehang explore --orders question/row-diff  every order of what happens at the same time
  rehang run rehang-findings/               plays what was found, on real processes")]
pub struct Explore {
    /// How long: `30s`, `10m`.
    #[arg(long = "for", value_name = "SPAN", default_value = "1m", value_parser = crate::commands::span)]
    pub how_long: Span,
    /// How many steps of each search at most, whatever the clock says.
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// What the searches start from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many searches run side by side; by default one per core.
    #[arg(long, value_name = "N", value_parser = super::run::at_least_one)]
    pub jobs: Option<usize>,
    /// The folder for what is found.
    #[arg(long, value_name = "DIR", default_value = "rehang-findings")]
    pub out: PathBuf,
    /// Where. With `both`, each scenario that reached something new is played on sim and in lockstep, under all its
    /// strategies, and the traces are compared.
    #[arg(long, value_enum, default_value_t = Searches::Sim)]
    pub stage: Searches,
    /// Search against this strategy alone, or a stack of them: `guard`, `idle@off+wall(cap=1h)`.
    #[arg(long, value_name = "STACK", value_parser = super::reproduce::stack)]
    pub against: Option<String>,
    /// Instead of a search: every order of the cells of this scenario, as `rehang run --orders` does.
    #[arg(long, value_name = "FILTER", conflicts_with_all = ["steps", "how_long", "seed", "out", "stage", "against"])]
    pub orders: Option<String>,
    /// NDJSON: one object a finding, then a summary.
    #[arg(long)]
    pub json: bool,
}

/// Where a search plays what it draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Searches {
    /// On the simulated kernel.
    Sim,
    /// There, and what reached something new on real processes too.
    Both,
}

/// What came of a search.
struct Searched {
    found: Found,
    /// By place in [`DEFECTS`]: after how many cells over all searches, and after how long.
    known: BTreeMap<usize, (u64, Duration)>,
    cells: u64,
    scenarios: u64,
    took: Duration,
    both: Both,
}

/// What playing on both stages gave.
#[derive(Default)]
struct Both {
    /// Cells that ran on both.
    cells: usize,
    /// What differs or could not be played, with the scenario and the stack, each kind once.
    faults: BTreeMap<String, (Scenario, String)>,
}

impl Explore {
    /// Searches, writes, prints.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if let Some(filter) = &self.orders {
            let mut select = Select { filter: vec![filter.clone()], ..Select::default() };
            select.take_paths()?;
            let orders = Orders { orders: true, orders_max: rehang_search::orders::ORDERS };
            return super::orders::report(&select, orders, self.jobs, self.json, out);
        }
        outputs::folder(&self.out)?;
        let pool = match self.stage {
            Searches::Sim => None,
            Searches::Both => Some(Pool::new(workers(self.jobs)?)),
        };
        let searched = self.search(pool.as_ref())?;
        let found = &searched.found;
        let mut files: Vec<_> = found.findings.iter().map(|finding| (finding, Err(CaseError::NoCell))).collect();
        in_parallel(self.jobs(), &mut files, |(finding, file)| {
            *file = file::write(&finding.case, &title(finding), Some(&finding.why));
        });
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for (finding, file) in files {
            let agent = finding.case.scenario.agent.kind().word;
            let text = file?.text;
            let path = self.write(format!("{agent}-{}", title(finding)), &text, &mut names)?;
            self.print(out, finding, &path)?;
        }
        for (fault, case) in &found.faults {
            let text = rehang_scenario::to_toml(&case.scenario, None);
            let path = self.write("rehangs-own-fault".to_owned(), &text, &mut names)?;
            complain!("internal error: {fault}: {} under {}", path.display(), case.stack);
        }
        for (fault, (scenario, stack)) in &searched.both.faults {
            let text = rehang_scenario::to_toml(scenario, None);
            let path = self.write("internal-error".to_owned(), &text, &mut names)?;
            complain!("internal error: {fault}: {} under {stack}", path.display());
        }
        self.sum_up(out, &searched)?;
        let is_sound = found.faults.is_empty() && searched.both.faults.is_empty();
        Ok(if is_sound { Code::Expected } else { Code::Fault })
    }

    fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(cores)
    }

    /// How much of the time is kept to make these findings small.
    fn to_make_small(&self, causes: usize, deadline: Duration) -> Duration {
        let jobs = u32::try_from(self.jobs()).unwrap_or(1).max(1);
        let all = SMALL * u32::try_from(causes).unwrap_or(u32::MAX) / jobs;
        all.min(deadline.mul_f64(SMALL_MOST))
    }

    /// Plays these on both stages under all their stacks.
    fn play_on_both(&self, pool: &Pool, scenarios: &[Scenario], both: &mut Both) -> Result<(), CommandError> {
        let stages = [Stage::Sim, Stage::Lockstep];
        let units = scenarios.iter().enumerate().map(|(at, scenario)| {
            let stacks = rehang_search::explore::stacks(&scenario.agent, self.against.as_deref());
            let wanted = stacks
                .into_iter()
                .map(|strategy| Wanted::new(format!("{at}::{strategy}"), strategy, rehang_search::case::any_end()));
            let unit = Unit::of("explored", scenario, &stages, wanted.collect());
            Unit { steps_max: rehang_search::explore::STEPS, ..unit }
        });
        let outcome = crate::bars::run(pool, &units.collect::<Vec<_>>(), true)?;
        for cell in outcome.cells {
            both.cells += usize::from(cell.stage == Stage::Lockstep);
            let Some(fault) = cell.fault.or(cell.differs) else { continue };
            let (at, stack) = cell.id.split_once("::").unwrap_or_default();
            if let Some(scenario) = at.parse::<usize>().ok().and_then(|at| scenarios.get(at)) {
                both.faults.entry(fault).or_insert_with(|| (scenario.clone(), stack.to_owned()));
            }
        }
        Ok(())
    }

    fn search(&self, pool: Option<&Pool>) -> Result<Searched, CommandError> {
        let mut searches = SideBySide::new(self.seed, self.jobs(), self.against.as_deref());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        terminal::tick(&bar, Duration::from_millis(200));
        let say = |line: String| match bar.is_hidden() {
            true => complain!("{line}"),
            false => bar.println(line),
        };
        let began = Instant::now();
        let deadline = Duration::from_millis(self.how_long.as_ms());
        let (mut known, mut line_at, mut both) = (BTreeMap::new(), LINE_EVERY, Both::default());
        let more = |searches: &SideBySide| match self.steps {
            Some(most) => searches.steps < most,
            None => began.elapsed() + self.to_make_small(searches.causes(), deadline) < deadline,
        };
        while more(&searches) {
            searches.round(self.steps.map_or(ROUND, |most| ROUND.min(most - searches.steps)));
            if let Some(pool) = pool {
                self.play_on_both(pool, searches.newest(), &mut both)?;
            }
            let (cells, after) = (searches.cells(), began.elapsed());
            for place in searches.known() {
                known.entry(place).or_insert_with(|| {
                    say(format!("{:>8}  known defect: {}", duration_of(after), called(&DEFECTS[place])));
                    (cells, after)
                });
            }
            let met = match self.against {
                Some(_) => String::new(),
                None => format!(" {} of {} known defects,", known.len(), DEFECTS.len()),
            };
            let message = format!(
                "{}, {},{met} {} kept",
                counted(cells, "cell"),
                counted(searches.causes(), "cause"),
                counted(searches.kept(), "scenario"),
            );
            if bar.is_hidden() && after >= line_at {
                say(format!("{:>8}  {message}", duration_of(after)));
                line_at = after + LINE_EVERY;
            }
            bar.set_message(message);
        }
        let took = began.elapsed();
        let message = format!("makes {} small", counted(searches.causes(), "finding"));
        if bar.is_hidden() {
            say(format!("{:>8}  {message}", duration_of(took)));
        }
        bar.set_message(message);
        let (cells, scenarios) = (searches.cells(), searches.scenarios());
        let found = searches.finish(&|| self.steps.is_none() && began.elapsed() > deadline.mul_f64(SMALL_UNTIL));
        bar.finish_and_clear();
        Ok(Searched { found, known, cells, scenarios, took, both })
    }

    /// Writes a file of this name; if the name is taken, with a number.
    fn write(&self, name: String, text: &str, names: &mut BTreeMap<String, usize>) -> Result<PathBuf, CommandError> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "@.".contains(c) { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        let nth = names.entry(name.clone()).or_insert(0);
        *nth += 1;
        let path = self.out.join(if *nth == 1 { format!("{name}.toml") } else { format!("{name}-{nth}.toml") });
        outputs::write(&path, text)?;
        Ok(path)
    }

    fn print(&self, out: &mut dyn Write, finding: &Finding, path: &std::path::Path) -> std::io::Result<()> {
        if self.json {
            let line = json!({
                "strategy": finding.case.stack,
                "strategies": finding.stacks,
                "shows": finding.property.to_string(),
                "why": finding.why,
                "step": finding.step,
                "met": finding.met,
                "file": path,
            });
            return writeln!(out, "{line}");
        }
        writeln!(out, "{} {} (met {})", finding.case.stack, finding.property, counted(finding.met, "time"))?;
        writeln!(out, "    {}", finding.why)?;
        let also: Vec<&String> = finding.stacks.iter().filter(|stack| **stack != finding.case.stack).collect();
        if !also.is_empty() {
            writeln!(out, "    so do {}", listed(&also))?;
        }
        writeln!(out, "    {}", path.display())
    }

    fn sum_up(&self, out: &mut dyn Write, searched: &Searched) -> std::io::Result<()> {
        let Searched { found, known, cells, scenarios, took, both } = searched;
        let universe = cover::universe();
        let never: Vec<&String> = universe.difference(&found.states).collect();
        let (seconds, findings) = (took.as_secs_f64(), found.findings.len());
        if self.json {
            let known = DEFECTS.iter().enumerate().map(|(place, defect)| {
                let at = known.get(&place);
                json!({
                    "section": defect.section,
                    "strategy": defect.stack,
                    "what": defect.what,
                    "cells": at.map(|(cells, _)| cells),
                    "seconds": at.map(|(_, after)| after.as_secs_f64()),
                })
            });
            let known: Vec<_> = known.collect();
            let summary = json!({ "summary": {
                "scenarios": scenarios, "cells": cells, "cells_on_both": both.cells, "seconds": seconds,
                "findings": findings, "known": known, "never_reached": never,
            } });
            return writeln!(out, "{summary}");
        }
        // they are defects of all strategies: a search against one cannot meet the others'
        let defects = if self.against.is_some() { &[] } else { DEFECTS };
        if !defects.is_empty() {
            writeln!(out, "\n{:<88} after cells      time", "known defects")?;
        }
        for (place, defect) in defects.iter().enumerate() {
            match known.get(&place) {
                Some((cells, after)) => {
                    writeln!(out, "{:<88} {cells:>11} {:>9}", called(defect), duration_of(*after))?;
                }
                None => writeln!(out, "{:<88}     not met", called(defect))?,
            }
        }
        if self.stage == Searches::Both {
            writeln!(
                out,
                "\n{} on both stages, {} of difference or error",
                counted(both.cells, "cell"),
                counted(both.faults.len(), "kind")
            )?;
        }
        let states = universe.len() - never.len();
        writeln!(out, "\nreached {states} of {} named states; never: {}", universe.len(), listed(&never))?;
        let met = match &self.against {
            Some(stack) => format!("against {stack}"),
            None => format!("{} of {} known defects", known.len(), DEFECTS.len()),
        };
        writeln!(
            out,
            "{} of {} in {}; {} in {}; {met}",
            counted(*cells, "cell"),
            counted(*scenarios, "scenario"),
            duration_of(*took),
            counted(findings, "finding"),
            self.out.display(),
        )
    }
}

fn title(finding: &Finding) -> String {
    format!("{} {}", finding.case.stack, finding.property).replace(':', " ")
}

fn called(defect: &Defect) -> String {
    format!("{:<5} {:<16} {}", defect.section, defect.stack, defect.what)
}

fn listed(names: &[&String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "),
    }
}
