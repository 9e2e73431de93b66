//! `rehang wrapper`: which hangs a user's own wrapper ends, and which healthy runs it harms.
//!
//! Invariant: what is printed is in the order of the cells' names, whatever order they ran in.

use super::clock::Clock;
use super::explain::advice;
use super::select::Select;
use super::{Code, CommandError};
use crate::bars;
use crate::shell::reading;
use clap::{Args, ValueEnum};
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use rehang_judge::score::{Score, Scoreboard};
use rehang_judge::{Outcome, Row, timeline};
use rehang_runner::binaries::fakes;
use rehang_runner::catalogue::Strategies;
use rehang_runner::corpus::Corpus;
use rehang_runner::meant::meant;
use rehang_runner::outputs::append;
use rehang_runner::unit::variant_name;
use rehang_scenario::file::Family;
use rehang_scenario::text::{counted, unknown};
use rehang_scenario::{Arm, Proof, Scenario, Span, Style, Terminal};
use rehang_stage::threads::cores;
use rehang_wrapper::findings::{self, id, told};
use rehang_wrapper::summary::Summary;
use rehang_wrapper::{Cell, Fitting, Judged, TERMINALS, Wrapper as Tested, WrapperError, name_of};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Test a wrapper of your own: it is the strategy, and the fakes are on its PATH.
///
/// CMD must start the agent that PATH names (`claude`, `opencode`, …) with a prompt, and end with 0 only if the agent's run
/// was completed. It is run once with an agent that says hello, to see how it calls it; then once for every scenario that
/// fits, until it ends, can never end, or --deadline has come.
///
/// The wrapper and all that it starts run in virtual time, unchanged: its own limits of ten minutes or an hour pass in
/// seconds. What is credited to it or blamed on it is played without it too. Where processes must not be traced, --clock
/// wall plays in real time: then limits above the deadline are not tried, and nothing is called missed.
///
/// Exit codes: 0 nothing missed, harmed or told wrongly · 1 something harmed or told wrongly · 2 wrong arguments, or a
/// wrapper that cannot be tested · 3 a hang was missed · 70 an internal error, or the machine refuses something.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang wrapper -- ./run-agent.sh 'fix the tests'
  rehang wrapper bash/ F1 --name our-runner --timelines -- node runner.js go
  rehang wrapper --clock wall --deadline 30s -- ./run-agent.sh go
  rehang wrapper --list -- ./run-agent.sh go")]
pub struct Wrapper {
    /// Words of scenario names, or mechanisms (`F1`). None: all.
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// What it is called on the scoreboard; by default its program's name.
    #[arg(long)]
    pub name: Option<String>,
    /// Whether the wrapper runs in virtual time, which needs the right to trace processes, or on the wall clock.
    #[arg(long, value_enum, default_value_t = Clock::Virtual)]
    pub clock: Clock,
    /// How long a cell may take, by its clock: 24h by default, 60s on the wall clock.
    #[arg(long, value_name = "SPAN", value_parser = crate::commands::span)]
    pub deadline: Option<Span>,
    /// How much real time a cell in virtual time may take; after that it is undecided.
    #[arg(long, value_name = "SPAN", default_value = "1m", value_parser = crate::commands::span)]
    pub within: Span,
    /// Only these terminals of the wrapper: null, pipe, closed, tty.
    #[arg(long, value_name = "TERMINAL")]
    pub terminal: Vec<Word>,
    /// Scenario files and folders; by default the folder `scenarios` here or above.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
    /// How many cells at once: by default one for each processor, 8 on the wall clock, where they mostly wait.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = crate::report::Format::Human)]
    pub format: crate::report::Format,
    /// Append the findings in Markdown to this file, as a CI job's page wants them.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Show each cell and the scoreboard, not only the findings.
    #[arg(long)]
    pub all: bool,
    /// Show the timeline of each cell that is missed, harmed, told wrongly or undecided.
    #[arg(long)]
    pub timelines: bool,
    /// Name the cells that fit, and what is left out, without running them.
    #[arg(long)]
    pub list: bool,
    /// The wrapper's command.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// A terminal of a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Word {
    Null,
    Pipe,
    Closed,
    Tty,
}

type Out = (usize, Result<Judged, WrapperError>);

impl Wrapper {
    /// Runs the cells and prints them.
    ///
    /// # Errors
    /// A wrapper that starts no agent, a filter that nothing matches, a file that cannot be read.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let is_virtual = self.clock == Clock::Virtual;
        let deadline = self.deadline();
        let tested = Tested {
            command: self.command.clone(),
            name: self.name.clone().unwrap_or_else(|| name_of(&self.command)),
            deadline: Duration::from_millis(deadline.as_ms().max(1)),
            within: is_virtual.then(|| Duration::from_millis(self.within.as_ms())),
            fakes: fakes()?.canonicalize()?,
        };
        if deadline == Span::ZERO {
            return Err(CommandError::Usage("--deadline 0s leaves a cell no time; a day is the default".to_owned()));
        }
        // a file that cannot be written is reported before minutes have passed
        self.summary.as_deref().map_or(Ok(()), |file| append(file).map(drop))?;
        let select = Select { scenarios: self.scenarios.clone(), ..Select::default() };
        let corpus = Corpus::read(&select.paths()?);
        for (_, problems) in &corpus.broken {
            complain!("{}", problems.render(Style::Plain));
        }
        // an error in a file is reported however the others went
        let least = if corpus.broken.is_empty() { Code::Expected } else { Code::Usage };
        if let Some(error) = self.unmatched(&corpus.families) {
            return Err(error);
        }
        let wanted = |name: &str, scenario: &Scenario| {
            let named = |filter: &String| name.contains(filter.as_str()) || scenario.mechanism == *filter;
            self.filter.is_empty() || self.filter.iter().any(named)
        };
        let terminals: Vec<Terminal> = match self.terminal.is_empty() {
            true => TERMINALS.to_vec(),
            false => self.terminal.iter().map(|word| TERMINALS[*word as usize]).collect(),
        };
        let mut fitting = tested.cells(&corpus.families, wanted, &terminals)?;
        fitting.cells.sort_by(|a, b| (&a.name, a.arm, a.terminal).cmp(&(&b.name, b.arm, b.terminal)));
        let cells = &fitting.cells;
        if self.format == crate::report::Format::Human {
            for (terminal, rehearsal) in &fitting.rehearsals {
                let whose = match rehearsal.stdin {
                    _ if rehearsal.inherits => "the wrapper's own",
                    Terminal::Null => "/dev/null",
                    Terminal::Tty => "a terminal of the wrapper's",
                    Terminal::Pipe => "a pipe of the wrapper's, which stays open",
                    _ => "a pipe of the wrapper's, which it closes",
                };
                let (on, call) = (terminal.name(), rehearsal.call.describe());
                writeln!(out, "on {on}: starts {call}; the agent's stdin is {whose}")?;
                if rehearsal.stdin == Terminal::Pipe && !rehearsal.inherits && !rehearsal.call.is_spoken_to() {
                    let remedy = "close it, or start the agent with </dev/null";
                    writeln!(out, "    S1: a release that reads its stdin to the end never begins there: {remedy}")?;
                }
                if let Some(waited) = &rehearsal.waits {
                    let became = &waited.became;
                    writeln!(out, "    S1: the agent waits for the end of that stdin before anything else; {became}")?;
                }
            }
        }
        if self.list {
            for cell in cells {
                writeln!(out, "{}  {}", id(cell), cell.baseline.outcome.describe())?;
            }
            reasons(&fitting.left_out, out)?;
            return Ok(least);
        }
        if cells.is_empty() {
            reasons(&fitting.left_out, out)?;
            return Err(CommandError::Usage("no scenario fits this wrapper and filter".to_owned()));
        }
        let done = self.play(&tested, cells);
        Ok(self.report(&tested, &fitting, &done, out)?.max(least))
    }

    /// How long a cell may take.
    fn deadline(&self) -> Span {
        self.deadline.unwrap_or(if self.clock == Clock::Virtual { Span::hours(24) } else { Span::secs(60) })
    }

    /// The error if a filter matches no scenario.
    fn unmatched(&self, families: &[Family]) -> Option<CommandError> {
        let variants = || families.iter().flat_map(|family| family.variants.iter().map(move |v| (family, v)));
        let is_matched = |filter: &String| {
            variants().any(|(family, variant)| {
                let name = variant_name(&family.name, &variant.name);
                name.contains(filter.as_str()) || variant.scenario.mechanism == *filter
            })
        };
        let first = self.filter.first().filter(|_| !self.filter.iter().any(is_matched))?;
        let near = meant(first, families, &Strategies::default());
        let all = format!("`rehang list{} --files` names all", reading(&self.scenarios));
        Some(CommandError::Usage(unknown("scenario", first, near.as_deref(), &all)))
    }

    fn play(&self, tested: &Tested, cells: &[Cell]) -> Vec<Out> {
        // what goes on in circles takes the longest: it begins first
        let goes_on = |cell: &Cell| matches!(cell.baseline.outcome, Outcome::Hung { proof: Proof::Lasso, .. });
        let mut order: Vec<(usize, &str)> = cells.iter().map(|cell| cell.name.as_str()).enumerate().collect();
        order.sort_by_key(|(at, _)| !goes_on(&cells[*at]));
        let jobs = self.jobs.unwrap_or_else(|| if tested.within.is_some() { cores() } else { 8 });
        bars::side_by_side(jobs, "cells", &order, |at| tested.judge(&cells[at]))
    }

    fn report(
        &self,
        tested: &Tested,
        fitting: &Fitting,
        done: &[Out],
        out: &mut dyn Write,
    ) -> Result<Code, CommandError> {
        let (mut board, mut code, mut sum) = (Scoreboard::new(), Code::Expected, Summary::of(&fitting.rehearsals));
        if sum.has_missed() {
            code = Code::Hang;
        }
        let mut suite = TestSuite::new(tested.name.as_str());
        let mut found = Vec::new();
        for (at, judged) in done {
            let cell = &fitting.cells[*at];
            let judged = match judged {
                Ok(judged) => judged,
                Err(error) => {
                    complain!("{}: {error}", id(cell));
                    code = code.max(Code::Fault);
                    continue;
                }
            };
            sum.add(cell, judged);
            found.push((cell, judged));
            board.count(&judged.facts, &judged.verdict, judged.score);
            code = code.max(match judged.score {
                Score::Missed => Code::Hang,
                Score::Wrongly | Score::Harmed => Code::Unexpected,
                Score::Untouched | Score::Resolved | Score::Stopped | Score::Undecided => Code::Expected,
            });
            let is_bad = matches!(judged.score, Score::Missed | Score::Wrongly | Score::Harmed);
            let is_told = is_bad || judged.score == Score::Undecided;
            match self.format {
                crate::report::Format::Human if self.all || self.timelines && is_told => {
                    writeln!(out, "{:<9} {:<58} {}", judged.score.word(), id(cell), told(cell, judged))?;
                    let lines = if is_told && self.timelines { timeline(&judged.trace, 100) } else { String::new() };
                    for line in lines.lines() {
                        writeln!(out, "          {line}")?;
                    }
                }
                crate::report::Format::Human => {}
                crate::report::Format::Json => {
                    let wall_us = judged.ran.took_ms().saturating_mul(1_000);
                    let mut row = Row::new(&judged.facts, &judged.verdict, judged.sha256(), wall_us, !is_bad);
                    if cell.arm == Arm::Control {
                        row.scenario.push_str("::control");
                    }
                    let mut row = serde_json::to_value(row).map_err(std::io::Error::other)?;
                    row["score"] = json!(judged.score);
                    row["baseline"] = json!(cell.baseline.outcome.describe());
                    row["exit"] = json!(judged.ran.exit);
                    row["open"] = json!(judged.open);
                    writeln!(out, "{row}")?;
                }
                crate::report::Format::Junit => {
                    let mut status = TestCaseStatus::success();
                    if is_bad {
                        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                        status.set_message(format!("{}: {}", judged.score.word(), told(cell, judged)));
                        status.set_description(timeline(&judged.trace, 100));
                    }
                    suite.add_test_case(TestCase::new(id(cell), status));
                }
            }
        }
        let last = sum.sentence(self.clock == Clock::Virtual, self.deadline(), fitting.too_long);
        let findings = findings::lines(&found, &|about, label| advice(about, label));
        let mut closing = vec![sum.limits().to_string()];
        closing.extend(fitting.not_tried());
        if let Some(file) = &self.summary {
            let lines = [&findings[..], &closing].concat().join("\n");
            // longer than any fence in it
            let fence = "`````";
            let name = &tested.name;
            writeln!(append(file)?, "## rehang wrapper: {name}\n\n{last}\n\n{fence}text\n{lines}\n{fence}\n")?;
        }
        match self.format {
            crate::report::Format::Human => {
                if self.all {
                    writeln!(out)?;
                    crate::report::scoreboard(&board, crate::terminal::width(100), out)?;
                }
                writeln!(out)?;
                for line in findings {
                    writeln!(out, "{line}")?;
                }
                if found.iter().any(|(_, judged)| judged.score > Score::Stopped) {
                    writeln!(out, "\none cell's story: name it before `--`, with --timelines")?;
                }
                for line in closing {
                    writeln!(out, "{line}")?;
                }
                let left = fitting.left_out.values().sum::<usize>();
                if left > 0 {
                    writeln!(out, "left out: {} (--list says why)", counted(left, "cell"))?;
                }
                writeln!(out, "{last}")?;
            }
            crate::report::Format::Json => {
                let rows: Vec<_> = board.rows().into_iter().filter(|row| row.mechanism.is_empty()).collect();
                let summary = json!({
                    "cells": done.len(), "score": rows, "left_out": fitting.left_out, "limits": sum.limits().to_string(),
                    "not_tried": fitting.not_tried(), "sentence": last,
                });
                writeln!(out, "{}", json!({ "summary": summary }))?;
            }
            crate::report::Format::Junit => {
                let mut report = Junit::new("rehang wrapper");
                report.add_test_suite(suite);
                report.serialize(out).map_err(std::io::Error::other)?;
            }
        }
        Ok(code)
    }
}

fn reasons(left_out: &BTreeMap<String, usize>, out: &mut dyn Write) -> std::io::Result<()> {
    if left_out.is_empty() {
        return Ok(());
    }
    writeln!(out, "left out:")?;
    let mut reasons: Vec<_> = left_out.iter().collect();
    reasons.sort_by_key(|(reason, n)| (std::cmp::Reverse(**n), reason.as_str()));
    for (reason, n) in reasons {
        writeln!(out, "  {n:>6}  {reason}")?;
    }
    Ok(())
}
