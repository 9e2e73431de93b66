//! `rehang tune`: a strategy's parameters against one's own logs.
//!
//! Every log becomes a scenario; every value of the parameter is played on all of them on the simulated kernel. A log
//! of a hang counts how long the strategy takes to end it, a log of a healthy run whether it is harmed.
//!
//! Invariant: what a log was is decided before any value is tried, and does not depend on one.

use super::{Code, CommandError};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehang_judge::score::{Score, classify};
use rehang_report::{Bar, Colour, Detail, Plot, Square, Table};
use rehang_scenario::Span;
use rehang_search::Case;
use rehang_strategy::catalogue::Value;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Values of one parameter at most.
const VALUES_MAX: usize = 64;
/// Columns of the plot.
const PLOT: usize = 40;

/// Tries a strategy's parameter on one's own logs: time to resolution against false kills.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang tune logs/ --strategy idle@f54b32f --param timeout                       eight values around the default
  rehang tune logs/ --strategy idle@f54b32f --param timeout=1m,5m,10m,30m,1h
  rehang tune logs/ --strategy watcher@pr5 --param misses=1,2,3,5,8 --json
  rehang tune logs/ --strategy idle@f54b32f --param timeout --report tuned/       a page: tuned/index.html")]
pub struct Tune {
    /// Logs, or folders of logs: see `rehang import --help` for what can be read. Scenario files too.
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// The strategy.
    #[arg(long, value_name = "STRATEGY")]
    pub strategy: String,
    /// The parameter, and its values.
    #[arg(long, value_name = "NAME[=V,V,…]")]
    pub param: String,
    /// Writes a page with the plot, and a square for each log and value, into this folder: `index.html`.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// NDJSON: one object a value, then a summary.
    #[arg(long)]
    pub json: bool,
}

/// A log as a case, and what it is.
struct Sample {
    name: String,
    case: Case,
    none: rehang_judge::Verdict,
}

/// What a value did to all logs.
#[derive(Debug, Default)]
struct Row {
    value: String,
    /// From the last material progress to the end, of hangs that came to one; in milliseconds, sorted.
    took_ms: Vec<u64>,
    missed: Vec<String>,
    wrongly: Vec<String>,
    harmed: Vec<String>,
    /// What it did to each log, in their order.
    each: Vec<Did>,
}

/// What a value did to one log.
#[derive(Debug)]
struct Did {
    score: Score,
    took: Option<Span>,
    outcome: String,
    broken: Vec<String>,
}

impl Tune {
    /// Tries and prints.
    ///
    /// # Errors
    /// No log that can be used; an unknown strategy, parameter or value.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let stacks = self.stacks()?;
        let samples = self.samples()?;
        let hung = samples.iter().filter(|sample| sample.none.outcome.is_hung()).count();
        let bar = ProgressBar::with_draw_target(Some(stacks.len() as u64), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} [{bar:32}] {pos}/{len} values") {
            bar.set_style(style);
        }
        let mut rows = Vec::new();
        for (value, stack) in &stacks {
            rows.push(row(value, stack, &samples)?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        if let Some(folder) = &self.report {
            crate::pictures::page_of(folder, &self.page(&rows, &samples))?;
        }
        match self.json {
            true => self.print_json(out, &rows, samples.len(), hung)?,
            false => self.print(out, &rows, samples.len(), hung)?,
        }
        Ok(Code::Expected)
    }

    /// The stack of every value.
    fn stacks(&self) -> Result<Vec<(String, String)>, CommandError> {
        let usage = |e: &dyn std::fmt::Display| CommandError::Usage(e.to_string());
        let spec = rehang_strategy::Spec::parse(&self.strategy).map_err(|e| usage(&e))?;
        let (entry, _) = spec.resolve().map_err(|e| usage(&e))?;
        let (name, values) = match self.param.split_once('=') {
            Some((name, values)) => (name, values.split(',').map(|v| v.trim().to_owned()).collect()),
            None => (self.param.as_str(), Vec::new()),
        };
        let Some(param) = entry.params.iter().find(|param| param.name == name) else {
            let names: Vec<&str> = entry.params.iter().map(|param| param.name).collect();
            return Err(CommandError::Usage(format!(
                "{} has no parameter `{name}`; it has {}",
                self.strategy,
                names.join(", ")
            )));
        };
        let values: Vec<String> = match (&param.default, values.is_empty()) {
            (_, false) => values,
            (Value::Span(default) | Value::SpanOr(default), true) => {
                around(default.as_ms()).map(|ms| Span::ms(ms).to_string()).collect()
            }
            (Value::Count(default) | Value::CountOr(default), true) => {
                around(u64::from(*default)).map(|n| n.to_string()).collect()
            }
            _ => return Err(CommandError::Usage(format!("name the values: --param {name}=…,…"))),
        };
        if values.len() > VALUES_MAX {
            return Err(CommandError::Usage(format!("at most {VALUES_MAX} values")));
        }
        values
            .into_iter()
            .map(|value| {
                let mut with = spec.clone();
                with.params.retain(|(other, _)| other != name);
                with.params.push((name.to_owned(), value.clone()));
                let stack = with.to_string();
                rehang_strategy::stack(&stack).map_err(|e| usage(&e))?;
                Ok((value, stack))
            })
            .collect()
    }

    /// The logs that can be used; the others are named on stderr.
    fn samples(&self) -> Result<Vec<Sample>, CommandError> {
        let mut files = Vec::new();
        for path in &self.logs {
            match path.is_dir() {
                true => {
                    let mut inside: Vec<PathBuf> = std::fs::read_dir(path)?
                        .filter_map(|entry| Some(entry.ok()?.path()))
                        .filter(|p| p.is_file())
                        .collect();
                    inside.sort();
                    files.extend(inside);
                }
                false => files.push(path.clone()),
            }
        }
        let mut samples = Vec::new();
        for file in files {
            match sample(&file, &self.strategy) {
                Ok(sample) => samples.push(sample),
                Err(why) => anstream::eprintln!("left out: {}: {why}", file.display()),
            }
        }
        if samples.is_empty() {
            return Err(CommandError::Usage("none of these logs can be used".to_owned()));
        }
        Ok(samples)
    }

    /// The same as a page.
    fn page(&self, rows: &[Row], samples: &[Sample]) -> Table {
        let longest = rows.iter().filter_map(|row| row.took_ms.last()).max().copied().unwrap_or(0).max(1);
        let share = |part: u64, whole: u64| u8::try_from(part * 100 / whole.max(1)).unwrap_or(100);
        let bars = |row: &Row| {
            let ms = row.took_ms.last().copied();
            let wrong = row.harmed.len() + row.wrongly.len();
            let time = Bar {
                percent: share(ms.unwrap_or(0), longest),
                text: ms.map_or("none ends".to_owned(), |ms| Span::ms(ms).to_string()),
                colour: Colour::Plain,
            };
            let colour = if wrong > 0 { Colour::Bad } else { Colour::Good };
            let text = if wrong > 0 { format!("{wrong} of {}", samples.len()) } else { "none".to_owned() };
            let harmed = Bar { percent: share(wrong as u64, samples.len() as u64), text, colour };
            (row.value.clone(), vec![time, harmed])
        };
        let square = |did: &Did| {
            let colour = match did.score {
                Score::Resolved => Colour::Good,
                Score::Stopped | Score::Missed => Colour::Odd,
                Score::Harmed | Score::Wrongly => Colour::Bad,
                Score::Untouched => Colour::Plain,
            };
            let took = did.took.map(|took| format!("{took} behind the last progress"));
            let detail = |name: &str, texts: Vec<String>| Detail { name: name.to_owned(), texts };
            let details = vec![
                detail("outcome", vec![did.outcome.clone()]),
                detail("took", took.into_iter().collect()),
                detail("breaks", did.broken.clone()),
            ];
            Square { verdict: did.score.word().to_owned(), colour, details }
        };
        let lines = samples.iter().enumerate().map(|(at, sample)| {
            let is = if sample.none.outcome.is_hung() { "hangs" } else { "healthy" };
            let name = std::path::Path::new(&sample.name).file_name().map(|name| name.to_string_lossy());
            (
                format!("{} ({is})", name.unwrap_or_default()),
                rows.iter().map(|row| row.each.get(at).map(square)).collect(),
            )
        });
        let good: Vec<&str> = harmless(rows).collect();
        let summary = match good.as_slice() {
            [] => "every value harms something in these logs".to_owned(),
            good => format!("harms nothing and misses least in these logs: {}", good.join(", ")),
        };
        Table {
            title: format!("{} under {}", self.param, self.strategy),
            command: super::run::command_line(),
            summary,
            plot: Some(Plot {
                title: "the longest time to an end against what is harmed".to_owned(),
                corner: "value".to_owned(),
                heads: vec!["longest time to an end".to_owned(), "logs harmed".to_owned()],
                rows: rows.iter().map(bars).collect(),
            }),
            corner: "log".to_owned(),
            columns: rows.iter().map(|row| row.value.clone()).collect(),
            rows: lines.collect(),
        }
    }

    fn print(&self, out: &mut dyn Write, rows: &[Row], logs: usize, hung: usize) -> std::io::Result<()> {
        writeln!(
            out,
            "{} of {logs} logs hang, {} are healthy; {} under {}",
            hung,
            logs - hung,
            self.param,
            self.strategy
        )?;
        writeln!(out, "\n{:>12}  ended  missed  wrongly  harmed   median     longest", "value")?;
        let longest = rows.iter().filter_map(|row| row.took_ms.last()).max().copied().unwrap_or(0).max(1);
        for row in rows {
            let time = |ms: Option<&u64>| ms.map_or("–".to_owned(), |ms| Span::ms(*ms).to_string());
            let median = row.took_ms.get(row.took_ms.len().saturating_sub(1) / 2);
            writeln!(
                out,
                "{:>12}  {:>5}  {:>6}  {:>7}  {:>6}   {:<9}  {}",
                row.value,
                row.took_ms.len(),
                row.missed.len(),
                row.wrongly.len(),
                row.harmed.len(),
                time(median),
                time(row.took_ms.last()),
            )?;
        }
        writeln!(out, "\n{:>12}  time to the end (=), logs harmed (x)", "value")?;
        for row in rows {
            let ms = row.took_ms.last().copied().unwrap_or(0);
            let bar = usize::try_from(ms * PLOT as u64 / longest).unwrap_or(PLOT);
            let harmed = row.harmed.len() + row.wrongly.len();
            writeln!(out, "{:>12}  {:<PLOT$}  {}", row.value, "=".repeat(bar), "x".repeat(harmed.min(PLOT)))?;
        }
        let good: Vec<&str> = harmless(rows).collect();
        match good.as_slice() {
            [] => writeln!(out, "\nevery value harms something in these logs"),
            good => writeln!(out, "\nharms nothing and misses least in these logs: {}", good.join(", ")),
        }?;
        for row in rows.iter().filter(|row| !row.harmed.is_empty()) {
            writeln!(out, "{} harms {}", row.value, row.harmed.join(", "))?;
        }
        Ok(())
    }

    fn print_json(&self, out: &mut dyn Write, rows: &[Row], logs: usize, hung: usize) -> std::io::Result<()> {
        for row in rows {
            let line = json!({
                "value": row.value, "ended": row.took_ms.len(), "took_ms": row.took_ms,
                "missed": row.missed, "wrongly": row.wrongly, "harmed": row.harmed,
            });
            writeln!(out, "{line}")?;
        }
        let good: Vec<&str> = harmless(rows).collect();
        let summary = json!({ "summary": {
            "strategy": self.strategy, "param": self.param, "logs": logs, "hung": hung, "harmless": good,
        } });
        writeln!(out, "{summary}")
    }
}

/// Values that harm nothing and miss as little as any of those.
fn harmless(rows: &[Row]) -> impl Iterator<Item = &str> {
    let harmless = |row: &&Row| row.harmed.is_empty() && row.wrongly.is_empty();
    let least = rows.iter().filter(harmless).map(|row| row.missed.len()).min();
    rows.iter().filter(harmless).filter(move |row| Some(row.missed.len()) == least).map(|row| row.value.as_str())
}

/// Eight values around a default, each twice the one before.
fn around(default: u64) -> impl Iterator<Item = u64> {
    let mut values: Vec<u64> = (0..8_u32).map(|n| (default.max(1) << n) / 16).filter(|v| *v > 0).collect();
    values.dedup();
    values.into_iter()
}

fn sample(file: &std::path::Path, strategy: &str) -> Result<Sample, String> {
    let scenario = match file.extension().is_some_and(|extension| extension == "toml") {
        true => super::reproduce::first_of(file).map_err(|e| e.to_string())?,
        false => {
            super::import::import(file, &rehang_logs::Options::default()).map_err(|e| e.to_string())?.0.draft.scenario
        }
    };
    let seat = rehang_strategy::stack(strategy).map_err(|e| e.to_string())?;
    seat.seat_in(&scenario.agent)?;
    let case = Case::of(scenario, "none");
    let none = case.play()?.none.verdict;
    Ok(Sample { name: file.display().to_string(), case, none })
}

fn row(value: &str, stack: &str, samples: &[Sample]) -> Result<Row, CommandError> {
    let mut row = Row { value: value.to_owned(), ..Row::default() };
    for sample in samples {
        let healthy = match sample.none.outcome.word() {
            "completed" => Span(sample.none.virtual_ms()),
            _ => Span::ZERO,
        };
        let played = sample.case.play_as(stack, healthy, Some(&sample.none)).map_err(CommandError::Fault)?;
        let verdict = &played.verdict;
        let score = classify(verdict, &sample.none);
        let ends = matches!(score, Score::Resolved | Score::Stopped);
        let took = verdict.ended.since(sample.none.last_progress);
        let before = sample.none.broken();
        row.each.push(Did {
            score,
            took: ends.then_some(took),
            outcome: verdict.outcome.describe(),
            broken: verdict.broken().iter().filter(|i| !before.contains(i)).map(|i| i.name().to_owned()).collect(),
        });
        match score {
            Score::Harmed => row.harmed.push(sample.name.clone()),
            Score::Wrongly => row.wrongly.push(sample.name.clone()),
            Score::Missed => row.missed.push(sample.name.clone()),
            Score::Resolved | Score::Stopped => row.took_ms.push(took.as_ms()),
            Score::Untouched => {}
        }
    }
    row.took_ms.sort_unstable();
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_around_the_default() {
        assert_eq!(around(16).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(around(3).collect::<Vec<_>>(), [1, 3, 6, 12, 24]);
        assert_eq!(around(0).collect::<Vec<_>>(), [1, 2, 4, 8]);
    }

    #[test]
    fn the_harmless_that_miss_least_are_named() {
        let row = |value: &str, missed: usize, harmed: usize| Row {
            value: value.to_owned(),
            missed: vec![String::new(); missed],
            harmed: vec![String::new(); harmed],
            ..Row::default()
        };
        let rows = [row("1m", 0, 1), row("10m", 1, 0), row("20m", 1, 0), row("1h", 2, 0)];
        assert_eq!(harmless(&rows).collect::<Vec<_>>(), ["10m", "20m"]);
    }
}
