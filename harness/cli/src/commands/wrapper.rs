//! `rehang wrapper`: which hangs a user's own wrapper ends, and which healthy runs it harms.
//!
//! Invariant: what is printed is in the order of the cells' names, whatever order they ran in.

use super::clock::Clock;
use super::select::Select;
use super::{Code, CommandError};
use crate::shell::reading;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use rehang_judge::score::{Score, Scoreboard};
use rehang_judge::{Row, timeline};
use rehang_runner::binaries::fakes;
use rehang_runner::catalogue::Strategies;
use rehang_runner::corpus::Corpus;
use rehang_runner::meant::meant;
use rehang_runner::unit::variant_name;
use rehang_scenario::file::Family;
use rehang_scenario::text::{counted, duration, unknown};
use rehang_scenario::{Arm, Invariant, Scenario, Span, Style, Terminal};
use rehang_stage::threads::side_by_side;
use rehang_wrapper::{Cell, Fitting, Judged, TERMINALS, Waited, Wrapper as Tested, WrapperError, name_of};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Test a wrapper of your own: it is the strategy, and the fakes are on its PATH.
///
/// CMD must start the agent that PATH names (`claude`, `opencode`, …) with a prompt, and end with 0 only if the agent's run
/// was completed. It is run once with an agent that says hello, to see how it calls it; then once for every scenario that
/// fits, until it ends or --deadline has come.
///
/// With --clock virtual the wrapper and all that it starts run in virtual time, unchanged: its own limits of ten minutes or
/// an hour pass in seconds. On the wall clock a scenario's times are real, and --speed lets the fakes' own clock run faster:
/// a wrapper whose limits are scaled alike is then tested on hours. What takes more than half of the deadline before it ends
/// or hangs is left out, and counted.
///
/// Exit codes: 0 nothing missed, harmed or told wrongly · 1 something harmed or told wrongly · 3 a hang was missed.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang wrapper --clock virtual -- ./run-agent.sh 'fix the tests'    its limits are real: half an hour takes no time
  rehang wrapper --deadline 30s -- ./run-agent.sh 'fix the tests'
  rehang wrapper bash/ F1 --name our-runner --speed 60 -- node runner.js go
  rehang wrapper --list -- ./run-agent.sh go")]
pub struct Wrapper {
    /// Words of scenario names, or mechanisms (`F1`). None: all.
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// What it is called on the scoreboard; by default its program's name.
    #[arg(long)]
    pub name: Option<String>,
    /// Whether the wrapper runs on the wall clock or in virtual time, which needs the right to trace processes.
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    pub clock: Clock,
    /// How long a cell may take, by its clock: 60s by default, 6h in virtual time.
    #[arg(long, value_name = "SPAN", value_parser = crate::commands::span)]
    pub deadline: Option<Span>,
    /// How much real time a cell in virtual time may take.
    #[arg(long, value_name = "SPAN", default_value = "2m", value_parser = crate::commands::span)]
    pub within: Span,
    /// How many times as fast as the wall clock the fakes' clock runs.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = speed)]
    pub speed: u32,
    /// Only these terminals of the wrapper: null, pipe, closed, tty.
    #[arg(long, value_name = "TERMINAL")]
    pub terminal: Vec<Word>,
    /// Scenario files and folders; by default the folder `scenarios` here or above.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
    /// How many cells at once: they mostly wait.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub jobs: usize,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = crate::report::Format::Human)]
    pub format: crate::report::Format,
    /// Show the cells that the wrapper leaves as they are too.
    #[arg(long)]
    pub all: bool,
    /// Show the timeline of each cell that is missed, harmed or told wrongly.
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

/// How many times as fast: a whole number.
fn speed(word: &str) -> Result<u32, String> {
    match word.parse() {
        Ok(times @ 1..=SPEED_MAX) => Ok(times),
        _ => Err(format!("give a whole number from 1 to {SPEED_MAX}: 60 makes a minute of the fakes a second")),
    }
}

/// The fastest clock of the fakes: three hours pass in a tenth of a second.
const SPEED_MAX: u32 = 100_000;

impl Wrapper {
    /// Runs the cells and prints them.
    ///
    /// # Errors
    /// A wrapper that starts no agent, a filter that nothing matches, a file that cannot be read.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let is_virtual = self.clock == Clock::Virtual;
        if is_virtual && self.speed != 1 {
            return Err(CommandError::Usage("`--speed` has no meaning with `--clock virtual`".to_owned()));
        }
        let deadline = self.deadline();
        let tested = Tested {
            command: self.command.clone(),
            name: self.name.clone().unwrap_or_else(|| name_of(&self.command)),
            deadline: Duration::from_millis(deadline.as_ms().max(1)),
            within: is_virtual.then(|| Duration::from_millis(self.within.as_ms())),
            speed: self.speed,
            fakes: fakes()?.canonicalize()?,
        };
        if deadline == Span::ZERO {
            return Err(CommandError::Usage("--deadline 0s leaves a cell no time; a minute is the default".to_owned()));
        }
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
        let Fitting { mut cells, left_out, rehearsals, too_long } =
            tested.cells(&corpus.families, wanted, &terminals)?;
        cells.sort_by(|a, b| (&a.name, a.arm, a.terminal).cmp(&(&b.name, b.arm, b.terminal)));
        if self.format == crate::report::Format::Human {
            for (terminal, rehearsal) in &rehearsals {
                let whose =
                    if rehearsal.inherits { "its own stdin".to_owned() } else { rehearsal.stdin.name().to_owned() };
                let (on, call) = (terminal.name(), rehearsal.call.describe());
                writeln!(out, "on {on}: starts {call}; the agent's stdin is {whose}")?;
                if let Some(waited) = &rehearsal.waits {
                    let became = &waited.became;
                    writeln!(out, "    S1: the agent waits for the end of that stdin before anything else; {became}")?;
                }
            }
        }
        if self.list {
            for cell in &cells {
                writeln!(out, "{}  {}", id(cell), cell.baseline.outcome.describe())?;
            }
            reasons(&left_out, out)?;
            return Ok(least);
        }
        if cells.is_empty() {
            reasons(&left_out, out)?;
            return Err(CommandError::Usage("no scenario fits this wrapper and filter".to_owned()));
        }
        let done = self.play(&tested, &cells);
        let waits: Vec<&Waited> = rehearsals.iter().filter_map(|(_, rehearsal)| rehearsal.waits.as_ref()).collect();
        let sum = Sum::of(&waits);
        let least = if sum.missed > 0 { least.max(Code::Hang) } else { least };
        Ok(self.report(&tested, &cells, &done, sum, (&left_out, too_long), out)?.max(least))
    }

    /// How long a cell may take. Five hours is the longest that any strategy here waits.
    fn deadline(&self) -> Span {
        self.deadline.unwrap_or(if self.clock == Clock::Virtual { Span::hours(6) } else { Span::secs(60) })
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
        let target =
            if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(cells.len() as u64), target);
        let style = ProgressStyle::with_template("{elapsed:>4} [{bar:32}] {pos}/{len} cells {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Out>> = Mutex::new(Vec::new());
        side_by_side(self.jobs.clamp(1, cells.len()), || {
            while let Some((at, cell)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                cells.get(at).map(|cell| (at, cell))
            } {
                bar.set_message(cell.name.clone());
                let judged = tested.judge(cell);
                bar.inc(1);
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, judged));
            }
        });
        bar.finish_and_clear();
        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        done
    }

    fn report(
        &self,
        tested: &Tested,
        cells: &[Cell],
        done: &[Out],
        mut sum: Sum,
        (left_out, too_long): (&BTreeMap<String, usize>, u64),
        out: &mut dyn Write,
    ) -> Result<Code, CommandError> {
        let (mut board, mut code) = (Scoreboard::new(), Code::Expected);
        let mut suite = TestSuite::new(tested.name.as_str());
        for (at, judged) in done {
            let cell = &cells[*at];
            let judged = match judged {
                Ok(judged) => judged,
                Err(error) => {
                    complain!("{}: {error}", id(cell));
                    code = code.max(Code::Fault);
                    continue;
                }
            };
            sum.add(cell, judged, self.speed);
            board.count(&judged.facts, &judged.verdict, judged.score);
            code = code.max(match judged.score {
                Score::Missed => Code::Hang,
                Score::Wrongly | Score::Harmed | Score::Undecided => Code::Unexpected,
                Score::Untouched | Score::Resolved | Score::Stopped => Code::Expected,
            });
            let bad = matches!(judged.score, Score::Missed | Score::Wrongly | Score::Harmed | Score::Undecided);
            match self.format {
                crate::report::Format::Human if !self.all && is_as_without(judged) => {}
                crate::report::Format::Human => {
                    writeln!(out, "{:<9} {:<58} {}", judged.score.word(), id(cell), told(cell, judged))?;
                    if bad && self.timelines {
                        for line in timeline(&judged.trace, 100).lines() {
                            writeln!(out, "          {line}")?;
                        }
                    }
                }
                crate::report::Format::Json => {
                    let wall_us = judged.ran.ended_ms.saturating_sub(judged.ran.began_ms).saturating_mul(1_000);
                    let mut row = Row::new(&judged.facts, &judged.verdict, judged.sha256(), wall_us, !bad);
                    if cell.arm == Arm::Control {
                        row.scenario.push_str("::control");
                    }
                    let mut row = serde_json::to_value(row).map_err(std::io::Error::other)?;
                    row["score"] = json!(judged.score);
                    row["baseline"] = json!(cell.baseline.outcome.describe());
                    row["exit"] = json!(judged.ran.exit);
                    writeln!(out, "{row}")?;
                }
                crate::report::Format::Junit => {
                    let mut status = TestCaseStatus::success();
                    if bad {
                        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                        status.set_message(format!("{}: {}", judged.score.word(), told(cell, judged)));
                        status.set_description(timeline(&judged.trace, 100));
                    }
                    suite.add_test_case(TestCase::new(id(cell), status));
                }
            }
        }
        match self.format {
            crate::report::Format::Human => {
                writeln!(out)?;
                crate::report::scoreboard(&board, crate::terminal::width(100), out)?;
                writeln!(out)?;
                let left = left_out.values().sum::<usize>();
                if left > 0 {
                    writeln!(out, "left out: {} (--list says why)", counted(left, "cell"))?;
                }
                writeln!(out, "{}", sum.sentence(self.clock, self.speed, self.deadline(), too_long))?;
            }
            crate::report::Format::Json => {
                let rows: Vec<_> = board.rows().into_iter().filter(|row| row.mechanism.is_empty()).collect();
                writeln!(
                    out,
                    "{}",
                    json!({ "summary": {
                        "cells": done.len(), "score": rows, "left_out": left_out,
                        "sentence": sum.sentence(self.clock, self.speed, self.deadline(), too_long),
                    } })
                )?;
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

/// Whether the wrapper leaves a cell as it is, and nothing in it either.
fn is_as_without(judged: &Judged) -> bool {
    judged.score == Score::Untouched && judged.verdict.broken().is_empty()
}

fn id(cell: &Cell) -> String {
    let control = if cell.arm == Arm::Control { "::control" } else { "" };
    format!("{}::{}{control}", cell.name, cell.terminal.name())
}

/// What happens without the wrapper and with it, and the invariants that break with it.
fn told(cell: &Cell, judged: &Judged) -> String {
    let took = duration(judged.ran.ended_ms.saturating_sub(judged.ran.began_ms));
    let broken: Vec<&str> = judged.verdict.broken().into_iter().map(rehang_scenario::Invariant::name).collect();
    let broken = if broken.is_empty() { String::new() } else { format!(" — breaks {}", broken.join(", ")) };
    let with = match judged.ran.exit {
        None => "still there at the deadline".to_owned(),
        Some(_) => format!("{} after {took}", judged.verdict.outcome.describe()),
    };
    format!("{} → {with}{broken}", cell.baseline.outcome.describe())
}

/// What a run comes to.
#[derive(Debug, Default)]
struct Sum {
    hangs: usize,
    missed: usize,
    healthy: usize,
    harmed: usize,
    wrongly: usize,
    undecided: usize,
    left: usize,
    /// How long the longest healthy run that was tried takes by itself, in real milliseconds.
    longest_ms: u64,
    /// The latest end of a hang by the wrapper, in real milliseconds.
    limit_ms: u64,
}

impl Sum {
    /// That of the rehearsals alone: each in which the agent waited for its stdin is a hang.
    fn of(waits: &[&Waited]) -> Sum {
        let missed = waits.iter().filter(|waited| !waited.ended).count();
        Sum { hangs: waits.len(), missed, ..Sum::default() }
    }

    fn add(&mut self, cell: &Cell, judged: &Judged, speed: u32) {
        let took = judged.ran.ended_ms.saturating_sub(judged.ran.began_ms);
        match cell.baseline.outcome.is_hung() {
            true => {
                self.hangs += 1;
                self.missed += usize::from(judged.score == Score::Missed);
                if judged.acted && matches!(judged.score, Score::Stopped | Score::Wrongly) {
                    self.limit_ms = self.limit_ms.max(took);
                }
            }
            false => {
                self.healthy += 1;
                self.longest_ms = self.longest_ms.max(cell.baseline.ended.0 / u64::from(speed.max(1)));
            }
        }
        self.harmed += usize::from(judged.score == Score::Harmed);
        self.wrongly += usize::from(judged.score == Score::Wrongly);
        self.undecided += usize::from(judged.score == Score::Undecided);
        self.left += usize::from(judged.verdict.broken().contains(&Invariant::LeftBehind));
    }

    /// The last line. `too_long`: the longest healthy run that was left out for its time, in virtual milliseconds.
    fn sentence(&self, clock: Clock, speed: u32, deadline: Span, too_long: u64) -> String {
        let mut parts = Vec::new();
        if self.hangs > 0 {
            parts.push(format!("{} of {} ended", self.hangs - self.missed, counted(self.hangs, "hang")));
        }
        if self.left > 0 {
            parts.push(format!("{} left processes", self.left));
        }
        if self.wrongly > 0 {
            parts.push(format!("{} told wrongly", self.wrongly));
        }
        if self.undecided > 0 {
            parts.push(format!("{} undecided", self.undecided));
        }
        let tried = format!("up to {}", duration(self.longest_ms));
        // the least speed at which the longest of them fits; a clock that cannot be scaled needs more time
        let least = too_long.div_ceil((deadline.as_ms() / 2).max(1)).div_ceil(10) * 10;
        let more = match clock {
            Clock::Wall => format!("--speed {least}"),
            Clock::Virtual => format!("--deadline {}", Span::ms(too_long.saturating_mul(2))),
        };
        let untested = match self.limit_ms.checked_sub(self.longest_ms) {
            _ if too_long == 0 || least <= u64::from(speed) => String::new(),
            Some(1..) => format!(
                ": none was longer than the wrapper's limit (a hang was ended after {}), so it is untested \
                 ({more})",
                duration(self.limit_ms)
            ),
            _ => format!(": limits above that are untested ({more})"),
        };
        match (self.healthy, self.harmed) {
            (0, _) => parts.push("no healthy run was tried".to_owned()),
            (_, 0) => parts.push(format!("healthy runs tried {tried}{untested}")),
            (all, n) => parts.push(format!("{n} of {} harmed, tried {tried}{untested}", counted(all, "healthy run"))),
        }
        parts.join("; ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentence_names_the_speed_that_tries_more() {
        let minute = Span::secs(60);
        let sum = Sum { hangs: 50, left: 22, healthy: 9, longest_ms: 9_000, ..Sum::default() };
        let four_hours = 4 * 3_600_000;
        assert_eq!(
            sum.sentence(Clock::Wall, 1, minute, 2_399 * 60_000),
            "50 of 50 hangs ended; 22 left processes; healthy runs tried up to 9s: limits above that are untested (--speed 4800)"
        );
        // virtual time is not scaled: it takes more of it
        let said = sum.sentence(Clock::Virtual, 1, Span::hours(6), four_hours);
        assert!(said.ends_with("limits above that are untested (--deadline 8h)"), "{said}");
        // at that speed nothing is left to try
        assert!(
            sum.sentence(Clock::Wall, 480, minute, four_hours).ends_with("up to 9s"),
            "{}",
            sum.sentence(Clock::Wall, 480, minute, four_hours)
        );
        let shorter = Sum { limit_ms: 12_000, missed: 1, ..sum };
        assert_eq!(
            shorter.sentence(Clock::Wall, 1, minute, four_hours),
            "49 of 50 hangs ended; 22 left processes; healthy runs tried up to 9s: none was longer than the wrapper's limit \
             (a hang was ended after 12s), so it is untested (--speed 480)"
        );
        let harmed = Sum { healthy: 2, harmed: 1, ..Sum::default() };
        assert_eq!(harmed.sentence(Clock::Wall, 1, minute, 0), "1 of 2 healthy runs harmed, tried up to 0ms");
    }
}
