//! `rehang warp`: a command in virtual time.
//!
//! Invariant: the exit code is the command's own if it ended by itself.

use super::CommandError;
use clap::Args;
use rehang_oracle::Oracle;
use rehang_scenario::Span;
use rehang_warp::{Ending, Error, Verdict, Warp as Run, in_seconds};
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Run a command in virtual time: hours take milliseconds, and a deadlock is proved.
///
/// The kernel does everything but the clocks. If all threads of the command and its children sleep, time jumps to the
/// next deadline. If there is none, nothing can ever happen again, or only the outside can do something.
///
/// Exit codes: the command's own if it ended by itself (128 + N for a signal) · 3 a deadlock, proved · 122 no deadline is
/// left, and it is not known whether it is a deadlock · 123 it waits for something outside, such as a terminal · 124 it
/// was alive at the end of the virtual time · 125 rehang could not · 126 the command cannot be run · 127 there is no such
/// command · 2 usage.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang warp -- pytest tests/test_timeouts.py
  rehang warp --until 48h -- node --test
  rehang warp --start 2026-12-31T23:59:00Z -- ./report.sh
  rehang warp --looks 20 -- ./run-agent.sh       is `rehang why` right about this?
  rehang warp --json end.json -- timeout 1800 ./wait-for-it.sh")]
pub struct Warp {
    /// End the command at this virtual time: `30m`, `48h`.
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = crate::commands::span)]
    pub until: Span,
    /// The time of day at the start, in UTC: `2026-12-31T23:59:00Z`, or seconds since 1970. Without it, the real one.
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub start: Option<SystemTime>,
    /// Answer `getrandom` and reads of `/dev/urandom` from a generator with this seed: for runs that can be repeated, not
    /// for secrets.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How much processor time may be used at one instant before virtual time flows while the command computes. Such a run
    /// is not repeatable.
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = crate::commands::span)]
    pub busy: Span,
    /// How much real time the outside has to act if the command waits for it, as for input from a pipe.
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = crate::commands::span)]
    pub outside: Span,
    /// End the command after this real time; without it, it may take as long as it takes. The exit code is 122 then.
    #[arg(long, value_name = "SPAN", value_parser = crate::commands::span)]
    pub within: Option<Span>,
    /// Let threads that do nothing but wake up now and then sleep this long: their work is delayed by that much.
    #[arg(long, value_name = "SPAN", value_parser = crate::commands::span)]
    pub skip_tickers: Option<Span>,
    /// Look N times at each process as `rehang why` does, at growing intervals up to `--until`, and report the false looks: a
    /// process that ended by itself was not hung before. At most 32 processes are looked at.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub looks: Option<u32>,
    /// Write how it ended as JSON to a file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write each jump, expired deadline and signal to a file.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Do not say on stderr how it ended.
    #[arg(long, short)]
    pub quiet: bool,
    /// The command.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// The exit codes of this command: see its help.
const DEADLOCK: u8 = 3;
const UNDECIDED: u8 = 122;
const WAITS_FOR: u8 = 123;
const HORIZON: u8 = 124;
const FAULT: u8 = 125;
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;
/// The most waits that are listed.
const WAITS: usize = 12;

impl Warp {
    /// Runs it; the exit code by this command's own table.
    pub fn run(&self) -> ExitCode {
        match self.warp() {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                complain!("error: {error}");
                ExitCode::from(error.code() as u8)
            }
        }
    }

    fn warp(&self) -> Result<u8, CommandError> {
        let file = |path: &PathBuf| {
            let error = |error| CommandError::Usage(format!("{}: {error}", path.display()));
            std::fs::File::create(path).map_err(error)
        };
        // both are made before the command runs: a mistake is not found after hours
        let json = self.json.as_ref().map(file).transpose()?;
        let log = self.log.as_ref().map(file).transpose()?;
        let real = |span: Span| Duration::from_millis(span.as_ms());
        let mut oracle = self.looks.map(|count| Oracle::new(count, real(self.until)));
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let mut run = Run::new(command).until(real(self.until)).busy(real(self.busy)).outside(real(self.outside));
        run = run.forward_signals();
        if let Some(start) = self.start {
            run = run.start(start);
        }
        if let Some(within) = self.within {
            run = run.within(real(within));
        }
        if let Some(span) = self.skip_tickers {
            run = run.skip_tickers(real(span));
        }
        if let Some(seed) = self.seed {
            run = run.seed(seed);
        }
        if let Some(log) = log {
            run = run.log(log);
        }
        if let Some(oracle) = &mut oracle {
            run = oracle.watch(run);
        }
        let ending = match run.run() {
            Ok(ending) => ending,
            Err(error) => {
                complain!("rehang: {error}");
                return Ok(match error {
                    Error::Start { error, .. } if error.kind() == ErrorKind::NotFound => NOT_FOUND,
                    Error::Start { .. } => CANNOT_RUN,
                    _ => FAULT,
                });
            }
        };
        let looks = oracle.map(|oracle| oracle.judge(&ending));
        if let (Some(json), Some(path)) = (json, &self.json) {
            let error = |error| CommandError::Usage(format!("{}: {error}", path.display()));
            match &looks {
                Some(looks) => serde_json::to_writer_pretty(json, &looks.with(&ending)),
                None => serde_json::to_writer_pretty(json, &ending),
            }
            .map_err(error)?;
        }
        if !self.quiet {
            complain!("{}", describe(&ending).trim_end());
            for line in looks.iter().flat_map(|looks| looks.tally().lines()) {
                complain!("  {line}");
            }
        }
        Ok(code(&ending.verdict))
    }
}

/// The exit code.
fn code(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Exited { code } => *code as u8,
        Verdict::Signalled { signal } => (128 + signal) as u8,
        Verdict::Deadlock { .. } => DEADLOCK,
        Verdict::WaitsFor { .. } => WAITS_FOR,
        Verdict::Horizon { .. } => HORIZON,
        // a look ends only runs that have one
        Verdict::Undecided { .. } | Verdict::OutOfTime | Verdict::Stopped => UNDECIDED,
    }
}

/// How it ended, as lines.
fn describe(ending: &Ending) -> String {
    let mut lines = String::new();
    let at = in_seconds(ending.elapsed);
    let what = match &ending.verdict {
        Verdict::Exited { code } => format!("exit code {code} after {at} of virtual time"),
        Verdict::Signalled { signal } => format!("ended by signal {signal} after {at} of virtual time"),
        Verdict::Deadlock { .. } => {
            format!("deadlock, proved, after {at} of virtual time: nothing can happen any more")
        }
        Verdict::WaitsFor { .. } => format!("waits for the outside after {at} of virtual time; no deadline is left"),
        Verdict::Horizon { .. } => format!("still alive after {at} of virtual time: it lives by timers"),
        Verdict::Undecided { why, .. } => {
            format!("undecided after {at} of virtual time: no deadline is left, but {why}")
        }
        Verdict::OutOfTime => format!("undecided after {at} of virtual time: the real time is used up"),
        Verdict::Stopped => format!("stopped after {at} of virtual time"),
    };
    let real = ending.real.as_secs_f64();
    // writing to a string does not fail
    let _ = writeln!(lines, "rehang: {what} ({real:.3} s real, {} jumps)", ending.jumps);
    if let Some(last) = &ending.last {
        let (program, pid, call) = (&last.program, last.pid, &last.call);
        let _ = writeln!(
            lines,
            "  last deadline: {call} of {program} ({pid}), {}, at {}",
            in_seconds(last.lasted),
            in_seconds(last.at)
        );
    }
    if matches!(ending.verdict, Verdict::Horizon { .. } | Verdict::OutOfTime) {
        for timer in ending.timers.iter().take(WAITS) {
            let _ = writeln!(lines, "  {timer}");
        }
    } else {
        let waits = ending.verdict.waits();
        for wait in waits.iter().take(WAITS) {
            let _ = writeln!(lines, "  {wait}");
        }
        if waits.len() > WAITS {
            let _ = writeln!(lines, "  and {} more threads", waits.len() - WAITS);
        }
    }
    for note in &ending.notes {
        let _ = writeln!(lines, "  {} {}", note.program, note.what.text());
    }
    if ending.lengthened > 0 {
        let _ = writeln!(lines, "  {} waits of tickers lasted longer than asked", ending.lengthened);
    }
    if !ending.repeatable {
        lines.push_str("  not repeatable: time flowed while the command computed\n");
    }
    if ending.left > 0 && matches!(ending.verdict, Verdict::Exited { .. } | Verdict::Signalled { .. }) {
        let _ = writeln!(lines, "  {} processes that outlived the command were killed", ending.left);
    }
    lines
}

/// An instant on the command line.
fn instant(text: &str) -> Result<SystemTime, String> {
    let wrong = || format!("'{text}' is neither `2026-12-31T23:59:00Z` nor seconds since 1970");
    let since_1970 = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => parse_date(text).ok_or_else(wrong)?,
    };
    UNIX_EPOCH.checked_add(Duration::from_secs(since_1970)).filter(|_| since_1970 < 1 << 33).ok_or_else(wrong)
}

/// Seconds since 1970 of `YYYY-MM-DDTHH:MM:SSZ`.
fn parse_date(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, mark| text.split(mark).map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>();
    let (date, time) = (numbers(date, '-')?, numbers(time, ':')?);
    let ([year, month, day], [hour, minute, second]) = (date[..].try_into().ok()?, time[..].try_into().ok()?);
    let is_leap = |year: u64| (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let days = |year, month: u64| match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1970..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=days(year, month)).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let years: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let months: u64 = (1..month).map(|month| days(year, month)).sum();
    Some(((years + months + day - 1) * 24 + hour) * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_a_date_or_a_number_of_seconds() {
        let since = |text: &str| instant(text).map(|at| at.duration_since(UNIX_EPOCH).expect("later").as_secs());
        assert_eq!(since("1970-01-01T00:00:00Z"), Ok(0));
        assert_eq!(since("2000-03-01T00:00:01Z"), Ok(951_868_801));
        assert_eq!(since("2026-12-31T23:59:00Z"), Ok(1_798_761_540));
        assert_eq!(since("1000000000"), Ok(1_000_000_000));
        for wrong in ["", "2026-02-29T00:00:00Z", "2026-12-31", "2026-12-31T24:00:00Z", "-1", "99999999999999"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
