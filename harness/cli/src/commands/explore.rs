//! `rehang explore`: random scenarios and faults on the simulated kernel; what breaks an invariant becomes a file.
//!
//! Invariant: with `--steps` the same seed and jobs give the same findings. `--for` alone lets the clock say when to
//! stop, between two rounds.

use super::{Code, CommandError};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehang_scenario::Span;
use rehang_search::explore::Key;
use rehang_search::known::DEFECTS;
use rehang_search::{Explorer, Finding, cover, file};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Steps of every search between two exchanges of what they keep.
const ROUND: u64 = 50;

/// Looks for what breaks an invariant.
///
/// Every step plays one scenario under `none` and under every strategy that has a seat there. What breaks an
/// invariant is made small and written as a scenario file; it is found once.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang explore --for 10m                  searches for ten minutes on all cores
  rehang explore --steps 2000 --seed 7      the same findings every time
  rehang run --scenarios rehang-findings    plays what was found, on real processes")]
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
    /// How many searches side by side; one a core where nothing is said.
    #[arg(long, value_name = "N", value_parser = super::run::at_least_one)]
    pub jobs: Option<usize>,
    /// The folder for what is found.
    #[arg(long, value_name = "DIR", default_value = "rehang-findings")]
    pub out: PathBuf,
    /// NDJSON: one object a finding, then a summary.
    #[arg(long)]
    pub json: bool,
}

/// What all searches found together.
#[derive(Default)]
struct Found {
    findings: BTreeMap<Key, Finding>,
    /// By place in [`DEFECTS`]: after how many cells over all searches, and after how long.
    known: BTreeMap<usize, (u64, Duration)>,
    states: BTreeSet<String>,
    faults: BTreeMap<String, rehang_search::Case>,
    cells: u64,
    steps: u64,
    took: Duration,
}

impl Explore {
    /// Searches, writes, prints.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let found = self.search();
        std::fs::create_dir_all(&self.out)?;
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for finding in found.findings.values() {
            let path = self.write(finding, &mut names)?;
            self.print(out, finding, &path)?;
        }
        for (fault, case) in &found.faults {
            let path = self.out.join("rehangs-own-fault.toml");
            std::fs::write(&path, rehang_scenario::to_toml(&case.scenario, None))?;
            anstream::eprintln!("rehang's own fault: {fault}: {} under {}", path.display(), case.stack);
        }
        self.sum_up(out, &found)?;
        Ok(if found.faults.is_empty() { Code::Expected } else { Code::Fault })
    }

    fn search(&self) -> Found {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let jobs = self.jobs.unwrap_or(cores);
        let mut explorers: Vec<Explorer> =
            (0..jobs as u64).map(|job| Explorer::new(self.seed.wrapping_add(job << 32))).collect();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let began = Instant::now();
        let mut found = Found::default();
        let deadline = Duration::from_millis(self.how_long.as_ms());
        let mut steps = 0;
        while self.steps.map_or(began.elapsed() < deadline, |most| steps < most) {
            let round = self.steps.map_or(ROUND, |most| ROUND.min(most - steps));
            std::thread::scope(|scope| {
                for explorer in &mut explorers {
                    scope.spawn(move || (0..round).for_each(|_| explorer.step()));
                }
            });
            steps += round;
            exchange(&mut explorers);
            found.cells = explorers.iter().map(|e| e.cells).sum();
            for place in explorers.iter().flat_map(|e| e.known.keys()) {
                found.known.entry(*place).or_insert((found.cells, began.elapsed()));
            }
            bar.set_message(format!(
                "{} cells, {} findings, {} of {} known defects, {} scenarios kept",
                found.cells,
                explorers.iter().flat_map(|e| e.findings.keys()).collect::<BTreeSet<_>>().len(),
                found.known.len(),
                DEFECTS.len(),
                explorers.iter().map(Explorer::corpus_len).sum::<usize>(),
            ));
        }
        bar.finish_and_clear();
        found.took = began.elapsed();
        for explorer in explorers {
            found.steps += explorer.steps;
            found.states.extend(explorer.states);
            found.faults.extend(explorer.faults);
            for (key, finding) in explorer.findings {
                let met = finding.met;
                found.findings.entry(key).and_modify(|first| first.met += met).or_insert(finding);
            }
        }
        found
    }

    fn write(&self, finding: &Finding, names: &mut BTreeMap<String, usize>) -> Result<PathBuf, CommandError> {
        let title = format!("{} {}", finding.case.stack, finding.property).replace(':', " ");
        let written = file::write(&finding.case, &title, Some(&finding.why)).map_err(CommandError::Fault)?;
        let plain = |c: char| if c.is_ascii_alphanumeric() || "@.".contains(c) { c } else { '-' };
        let agent = rehang_search::explore::agent(&finding.case.scenario.agent);
        let name: String = format!("{agent}-{title}").chars().map(plain).collect();
        let nth = names.entry(name.clone()).or_insert(0);
        *nth += 1;
        let path = self.out.join(if *nth == 1 { format!("{name}.toml") } else { format!("{name}-{nth}.toml") });
        std::fs::write(&path, written.text)?;
        Ok(path)
    }

    fn print(&self, out: &mut dyn Write, finding: &Finding, path: &std::path::Path) -> std::io::Result<()> {
        if self.json {
            let line = json!({
                "strategy": finding.case.stack,
                "shows": finding.property.to_string(),
                "why": finding.why,
                "step": finding.step,
                "met": finding.met,
                "file": path,
            });
            return writeln!(out, "{line}");
        }
        writeln!(out, "{} {} (met {} times)", finding.case.stack, finding.property, finding.met)?;
        writeln!(out, "    {}", finding.why)?;
        writeln!(out, "    {}", path.display())
    }

    fn sum_up(&self, out: &mut dyn Write, found: &Found) -> std::io::Result<()> {
        let universe = cover::universe();
        let never: Vec<&String> = universe.difference(&found.states).collect();
        let seconds = found.took.as_secs_f64();
        if self.json {
            let known = DEFECTS.iter().enumerate().map(|(place, defect)| {
                let at = found.known.get(&place);
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
                "steps": found.steps, "cells": found.cells, "seconds": seconds,
                "findings": found.findings.len(), "known": known, "never_reached": never,
            } });
            return writeln!(out, "{summary}");
        }
        writeln!(out, "\nknown defects                                                        after cells   seconds")?;
        for (place, defect) in DEFECTS.iter().enumerate() {
            let what = format!("{:<5} {:<16} {}", defect.section, defect.stack, defect.what);
            match found.known.get(&place) {
                Some((cells, after)) => writeln!(out, "{what:<86} {cells:>8} {:>9.1}", after.as_secs_f64())?,
                None => writeln!(out, "{what:<86}      not met")?,
            }
        }
        writeln!(out, "\nnever reached: {}", if never.is_empty() { "nothing".to_owned() } else { listed(&never) })?;
        writeln!(
            out,
            "{} cells of {} scenarios in {seconds:.1} s; {} findings in {}; {} of {} known defects",
            found.cells,
            found.steps,
            found.findings.len(),
            self.out.display(),
            found.known.len(),
            DEFECTS.len()
        )
    }
}

fn listed(names: &[&String]) -> String {
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Every search gets what the others kept, in their order.
fn exchange(explorers: &mut [Explorer]) {
    let new: Vec<_> = explorers.iter_mut().map(Explorer::take_new).collect();
    for (place, explorer) in explorers.iter_mut().enumerate() {
        for (from, scenarios) in new.iter().enumerate() {
            if from != place {
                explorer.absorb(scenarios);
            }
        }
    }
}
