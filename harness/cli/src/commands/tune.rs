//! `rehang score --logs`: tries a strategy's parameter on one's own logs.
//!
//! Every log becomes a scenario; every value of the parameter is played on all of them on the simulated kernel. A log
//! of a hang counts how long the strategy takes to end it, a log of a healthy run whether it is harmed.
//!
//! Invariant: whether a log is of a hang or of a healthy run is decided before any value is tried, and does not depend
//! on one.

use super::{Code, CommandError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehang_judge::score::{Score, classify};
use rehang_report::{Bar, Colour, Detail, Plot, Square, Table};
use rehang_scenario::Span;
use rehang_search::Case;
use rehang_strategy::entry::Value;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// The most values of one parameter.
const VALUES_MAX: usize = 64;
/// Columns of the plot.
const PLOT: usize = 40;

/// A parameter to try.
#[derive(Debug)]
pub struct Tune {
    /// Logs, folders of logs, and scenario files.
    pub logs: Vec<PathBuf>,
    /// The strategy.
    pub strategy: String,
    /// The parameter, and its values: `NAME[=V,V,…]`.
    pub param: String,
    /// The folder of the page with the plot, and a square for each log and value.
    pub report: Option<PathBuf>,
    /// NDJSON: one object a value, then a summary.
    pub json: bool,
}

/// A log as a case, and what it is.
struct Sample {
    name: String,
    case: Case,
    none: rehang_judge::Verdict,
    /// What the log shows of its end; `None` for a scenario file.
    shown: Option<rehang_logs::Verdict>,
}

/// What a value did to all logs.
#[derive(Debug)]
struct Row {
    value: String,
    /// What it did to each log, in their order.
    each: Vec<Did>,
}

impl Row {
    fn with(&self, score: Score) -> impl Iterator<Item = &Did> {
        self.each.iter().filter(move |did| did.score == score)
    }

    fn count(&self, score: Score) -> usize {
        self.with(score).count()
    }

    /// Logs that it makes worse.
    fn wrong(&self) -> usize {
        self.count(Score::Harmed) + self.count(Score::Wrongly)
    }

    /// Milliseconds from the last material progress to the end, for hangs that were ended; sorted.
    fn took_ms(&self) -> Vec<u64> {
        let mut took: Vec<u64> = self.each.iter().filter_map(|did| did.took).map(Span::as_ms).collect();
        took.sort_unstable();
        took
    }

    fn longest(&self) -> Option<u64> {
        self.took_ms().last().copied()
    }
}

/// What all values did to all logs.
struct Tuned<'a> {
    tune: &'a Tune,
    samples: Vec<Sample>,
    rows: Vec<Row>,
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
        let tuned = Tuned { tune: self, samples, rows };
        if let Some(folder) = &self.report {
            crate::pictures::page_of(folder, &tuned.page())?;
        }
        match self.json {
            true => tuned.print_json(out)?,
            false => tuned.print(out)?,
        }
        Ok(Code::Expected)
    }

    /// The stack of every value.
    fn stacks(&self) -> Result<Vec<(String, String)>, CommandError> {
        let spec = rehang_strategy::Spec::parse(&self.strategy).map_err(|e| usage(&e))?;
        let (name, values) = match self.param.split_once('=') {
            Some((name, values)) => (name, values.split(',').map(|v| v.trim().to_owned()).collect()),
            None => (self.param.as_str(), Vec::new()),
        };
        rehang_strategy::stack(&self.strategy).map_err(|e| usage(&e))?;
        let param = spec.param(name).map_err(|e| usage(&e))?;
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
            match std::fs::metadata(path).map_err(|e| usage(&format!("{}: {e}", path.display())))?.is_dir() {
                true => {
                    let mut inside: Vec<PathBuf> = std::fs::read_dir(path)?
                        .filter_map(|entry| Some(entry.ok()?.path()))
                        .filter(|p| p.is_file())
                        .collect();
                    inside.sort();
                    let of_others: Vec<PathBuf> =
                        inside.iter().filter_map(|log| super::import::typescript_beside(log, None)).collect();
                    inside.retain(|log| !of_others.contains(log));
                    files.extend(inside);
                }
                false => files.push(path.clone()),
            }
        }
        let mut samples = Vec::new();
        for file in files {
            match sample(&file, &self.strategy) {
                Ok(sample) => samples.push(sample),
                Err(why) => complain!("left out: {}: {why}", file.display()),
            }
        }
        if samples.is_empty() {
            return Err(CommandError::Usage("none of these logs can be used".to_owned()));
        }
        Ok(samples)
    }
}

impl Tuned<'_> {
    fn hung(&self) -> usize {
        self.samples.iter().filter(|sample| sample.none.outcome.is_hung()).count()
    }

    /// The longest time to an end of all values, in milliseconds; at least 1.
    fn longest(&self) -> u64 {
        self.rows.iter().filter_map(Row::longest).max().unwrap_or(0).max(1)
    }

    /// The names of the logs with which a value came to a score.
    fn names<'a>(&'a self, row: &'a Row, score: Score) -> impl Iterator<Item = &'a str> {
        let each = self.samples.iter().zip(&row.each);
        each.filter(move |(_, did)| did.score == score).map(|(sample, _)| sample.name.as_str())
    }

    /// Logs of healthy runs, without which no value can harm anything.
    fn healthy(&self) -> usize {
        let done = |sample: &&Sample| !sample.none.outcome.is_hung() && !sample.none.outcome.is_undecided();
        self.samples.iter().filter(done).count()
    }

    /// Logs that do not tell whether they hung.
    fn open(&self) -> usize {
        self.samples.iter().filter(|sample| sample.shown == Some(rehang_logs::Verdict::EndedOpen)).count()
    }

    /// In one line, what to take.
    fn summary(&self) -> String {
        if self.healthy() == 0 {
            return "no healthy log is among these: what a value would harm cannot be told; add logs of runs that completed"
                .to_owned();
        }
        let good: Vec<&str> = harmless(&self.rows).collect();
        match good.as_slice() {
            [] => "every value harms something in these logs".to_owned(),
            good => format!("harms nothing and misses least in these logs: {}", good.join(", ")),
        }
    }

    /// All of it as a page.
    fn page(&self) -> Table {
        let lines = self.samples.iter().enumerate().map(|(at, sample)| {
            let is = match &sample.none.outcome {
                outcome if outcome.is_hung() => "hangs",
                outcome if outcome.is_undecided() => "undecided",
                _ => "healthy",
            };
            let name = std::path::Path::new(&sample.name).file_name().map(|name| name.to_string_lossy());
            let squares = self.rows.iter().map(|row| row.each.get(at).map(square));
            (format!("{} ({is})", name.unwrap_or_default()), squares.collect())
        });
        Table {
            title: format!("{} under {}", self.tune.param, self.tune.strategy),
            command: crate::shell::command_line("rehang"),
            summary: self.summary(),
            plot: Some(Plot {
                title: "the longest time to an end against what is harmed".to_owned(),
                corner: "value".to_owned(),
                heads: vec!["longest time to an end".to_owned(), "logs harmed".to_owned()],
                rows: self.rows.iter().map(|row| (row.value.clone(), self.bars(row))).collect(),
            }),
            corner: "log".to_owned(),
            columns: self.rows.iter().map(|row| row.value.clone()).collect(),
            rows: lines.collect(),
        }
    }

    /// A value's longest time, and what it harms.
    fn bars(&self, row: &Row) -> Vec<Bar> {
        let share = |part: u64, whole: u64| u8::try_from((part * 100).div_ceil(whole.max(1))).unwrap_or(100);
        let (ms, wrong, logs) = (row.longest(), row.wrong(), self.samples.len());
        let time = Bar {
            percent: share(ms.unwrap_or(0), self.longest()),
            text: ms.map_or("none ends".to_owned(), |ms| Span::ms(ms).to_string()),
            colour: Colour::Plain,
        };
        let colour = if wrong > 0 { Colour::Bad } else { Colour::Good };
        let text = if wrong > 0 { format!("{wrong} of {logs}") } else { "none".to_owned() };
        vec![time, Bar { percent: share(wrong as u64, logs as u64), text, colour }]
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let (logs, hung, longest) = (self.samples.len(), self.hung(), self.longest());
        let Tune { param, strategy, .. } = self.tune;
        let undecided = self.samples.iter().filter(|sample| sample.none.outcome.is_undecided()).count();
        let healthy = self.healthy();
        let undecided = if undecided > 0 { format!(", {undecided} are undecided") } else { String::new() };
        writeln!(out, "{hung} of {logs} logs hang, {healthy} are healthy{undecided}; {param} under {strategy}")?;
        if self.open() > 0 {
            let open = self.open();
            writeln!(out, "{open} of these ended open: played as the hang that each would be")?;
        }
        writeln!(out, "\n{:>12}  ended  missed  wrongly  harmed   median     longest", "value")?;
        for row in &self.rows {
            let time = |ms: Option<&u64>| ms.map_or("–".to_owned(), |ms| Span::ms(*ms).to_string());
            let took = row.took_ms();
            writeln!(
                out,
                "{:>12}  {:>5}  {:>6}  {:>7}  {:>6}   {:<9}  {}",
                row.value,
                took.len(),
                row.count(Score::Missed),
                row.count(Score::Wrongly),
                row.count(Score::Harmed),
                time(took.get(took.len().saturating_sub(1) / 2)),
                time(took.last()),
            )?;
        }
        writeln!(out, "\n{:>12}  time to the end (=), logs harmed (x)", "value")?;
        for row in &self.rows {
            let bar = usize::try_from((row.longest().unwrap_or(0) * PLOT as u64).div_ceil(longest)).unwrap_or(PLOT);
            writeln!(out, "{:>12}  {:<PLOT$}  {}", row.value, "=".repeat(bar), "x".repeat(row.wrong().min(PLOT)))?;
        }
        writeln!(out, "\n{}", self.summary())?;
        for row in self.rows.iter().filter(|row| row.count(Score::Harmed) > 0) {
            let harmed: Vec<&str> = self.names(row, Score::Harmed).collect();
            writeln!(out, "{} harms {}", row.value, harmed.join(", "))?;
        }
        Ok(())
    }

    fn print_json(&self, out: &mut dyn Write) -> std::io::Result<()> {
        for row in &self.rows {
            let names = |score| self.names(row, score).collect::<Vec<&str>>();
            let took = row.took_ms();
            let line = json!({
                "value": row.value, "ended": took.len(), "took_ms": took, "missed": names(Score::Missed),
                "undecided": names(Score::Undecided), "wrongly": names(Score::Wrongly), "harmed": names(Score::Harmed),
            });
            writeln!(out, "{line}")?;
        }
        // without a healthy log harm cannot be measured
        let good: Option<Vec<&str>> = (self.healthy() > 0).then(|| harmless(&self.rows).collect());
        let Tune { param, strategy, .. } = self.tune;
        let summary = json!({ "summary": {
            "strategy": strategy, "param": param, "logs": self.samples.len(), "hung": self.hung(), "healthy": self.healthy(), "ended_open": self.open(),
            "harmless": good,
        } });
        writeln!(out, "{summary}")
    }
}

/// What a value did to a log, as a square of the page.
fn square(did: &Did) -> Square {
    let colour = match did.score {
        Score::Resolved | Score::Stopped => Colour::Good,
        Score::Missed | Score::Undecided => Colour::Odd,
        Score::Harmed | Score::Wrongly => Colour::Bad,
        Score::Untouched => Colour::Plain,
    };
    let took = did.took.map(|took| format!("{took} after the last progress"));
    let detail = |name: &str, texts: Vec<String>| Detail { name: name.to_owned(), texts };
    let details = vec![
        detail("outcome", vec![did.outcome.clone()]),
        detail("took", took.into_iter().collect()),
        detail("breaks", did.broken.clone()),
    ];
    Square { verdict: did.score.word().to_owned(), colour, details }
}

/// Values that harm nothing and miss as little as any of those.
fn harmless(rows: &[Row]) -> impl Iterator<Item = &str> {
    let harmless = |row: &&Row| row.wrong() == 0;
    let least = rows.iter().filter(harmless).map(|row| row.count(Score::Missed)).min();
    let misses_least = move |row: &&Row| Some(row.count(Score::Missed)) == least;
    rows.iter().filter(harmless).filter(misses_least).map(|row| row.value.as_str())
}

/// Eight values around a default, each twice the one before.
fn around(default: u64) -> impl Iterator<Item = u64> {
    let mut values: Vec<u64> = (0..8_u32).map(|n| (default.max(1) << n) / 16).filter(|v| *v > 0).collect();
    values.dedup();
    values.into_iter()
}

fn usage(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::Usage(error.to_string())
}

fn sample(file: &std::path::Path, strategy: &str) -> Result<Sample, String> {
    let mut shown = None;
    let scenario = match file.extension().is_some_and(|extension| extension == "toml") {
        true => super::reproduce::first_of(file).map_err(|e| e.to_string())?,
        false => {
            let plain = |e: &dyn std::fmt::Display| {
                let text = e.to_string();
                text.strip_prefix(&format!("{}: ", file.display())).map_or(text.clone(), str::to_owned)
            };
            let (imported, tried) =
                super::import::import(file, &rehang_logs::Options::default()).map_err(|e| plain(&e))?;
            // it would be counted in the wrong group
            if !tried.holds(imported.guess.end) {
                return Err("its scenario does not do what the log did; `rehang import` says more".to_owned());
            }
            shown = Some(imported.guess.verdict);
            imported.draft.scenario
        }
    };
    let seat = rehang_strategy::stack(strategy).map_err(|e| e.to_string())?;
    seat.seat_in(&scenario.agent.wires()).map_err(|e| e.to_string())?;
    let case = Case::of(scenario, "none");
    let none = case.play().map_err(|e| e.to_string())?.none.verdict;
    Ok(Sample { name: file.display().to_string(), case, none, shown })
}

fn row(value: &str, stack: &str, samples: &[Sample]) -> Result<Row, CommandError> {
    let each = samples.iter().map(|sample| did(stack, sample)).collect::<Result<_, _>>()?;
    Ok(Row { value: value.to_owned(), each })
}

fn did(stack: &str, sample: &Sample) -> Result<Did, CommandError> {
    let healthy = match sample.none.outcome.word() {
        "completed" => Span(sample.none.virtual_ms()),
        _ => Span::ZERO,
    };
    let played = sample.case.play_as(stack, healthy, Some(&sample.none))?;
    let verdict = &played.verdict;
    let score = classify(verdict, &sample.none);
    let ends = matches!(score, Score::Resolved | Score::Stopped);
    let before = sample.none.broken();
    Ok(Did {
        score,
        took: ends.then(|| verdict.ended.since(sample.none.last_progress)),
        outcome: verdict.outcome.describe(),
        broken: verdict.broken().iter().filter(|i| !before.contains(i)).map(|i| i.name().to_owned()).collect(),
    })
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
        let did = |score| Did { score, took: None, outcome: String::new(), broken: Vec::new() };
        let row = |value: &str, missed: usize, harmed: usize| {
            let missed = std::iter::repeat_with(|| did(Score::Missed)).take(missed);
            let harmed = std::iter::repeat_with(|| did(Score::Harmed)).take(harmed);
            Row { value: value.to_owned(), each: missed.chain(harmed).collect() }
        };
        let rows = [row("1m", 0, 1), row("10m", 1, 0), row("20m", 1, 0), row("1h", 2, 0)];
        assert_eq!(harmless(&rows).collect::<Vec<_>>(), ["10m", "20m"]);
    }
}
