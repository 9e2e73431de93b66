//! Rows for people and for programs.
//!
//! Invariant: NDJSON is one object a row, then one `summary`; colours only where stdout is a terminal.

use crate::report::Format;
use anstyle::{AnsiColor, Style};
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use rehang_compat::{Evidence, VirtualTime};
use rehang_scenario::OutcomeKind;
use rehang_scenario::text::{counted, duration};
use rehang_upstream::baseline::Change;
use rehang_upstream::row::Row;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What a run of `rehang upstream` shows.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The rows, in the order of the cells.
    pub rows: &'a [Row],
    /// What is not as in the baseline.
    pub changes: &'a [Change],
    /// Cells that rehang itself could not run.
    pub faults: &'a [String],
    /// A hang counts as a failure.
    pub deny_hangs: bool,
}

const BOLD: Style = Style::new().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const DIM: Style = Style::new().dimmed();
/// The most characters that a line shows of what an agent told its model.
const TOLD_CHARS: usize = 72;

impl Shown<'_> {
    /// Shows it.
    ///
    /// # Errors
    /// Those of writing.
    pub fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Human => self.human(out),
            Format::Json => self.json(out),
            Format::Junit => self.junit(out),
        }
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |of: &dyn Fn(&Row) -> usize, least: usize| self.rows.iter().map(of).max().unwrap_or(0).max(least);
        let release = |row: &Row| format!("{}@{}", row.agent, row.version);
        let scenario = width(&|row| row.scenario.len(), 8);
        let releases = width(&|row| release(row).len(), 7);
        let verdict = width(&|row| said(row).chars().count(), 7);
        writeln!(
            out,
            "{BOLD}{:scenario$}  {:releases$}  {:8}  {:verdict$}  {:13}  {:>8}  {:>4}  told{BOLD:#}",
            "scenario", "release", "terminal", "outcome", "evidence", "time", "exit"
        )?;
        for row in self.rows {
            let style = match row.outcome {
                Some(OutcomeKind::Completed) => GOOD,
                Some(outcome) if outcome.is_hang() => BAD,
                Some(_) => Style::new(),
                None => DIM,
            };
            let exit = row.exit.map_or("-".to_owned(), |code| code.to_string());
            let time = if row.outcome.is_some() { duration(row.ms) } else { "-".to_owned() };
            let told = if row.outcome.is_some() {
                one_line(row.told.last().map_or("", |told| told))
            } else {
                one_line(&row.detail)
            };
            writeln!(
                out,
                "{:scenario$}  {:releases$}  {:8}  {style}{:verdict$}{style:#}  {:13}  {time:>8}  {exit:>4}  {told}",
                row.scenario,
                release(row),
                row.terminal,
                said(row),
                row.evidence,
            )?;
        }
        self.hangs(out)?;
        for change in self.changes {
            let style = if change.regression { BAD } else { BOLD };
            writeln!(out, "{style}{change}{style:#}")?;
        }
        for fault in self.faults {
            writeln!(out, "{BAD}internal error{BAD:#}: {fault}")?;
        }
        let count = |kind: OutcomeKind| self.rows.iter().filter(|row| row.outcome == Some(kind)).count();
        writeln!(
            out,
            "{}: {} completed, {} failed, {} stopped, {}{} hung, {}{} could not run",
            counted(self.rows.len(), "cell"),
            count(OutcomeKind::Completed),
            count(OutcomeKind::Failed),
            count(OutcomeKind::Stopped),
            match count(OutcomeKind::Waiting) {
                0 => String::new(),
                waiting => format!("{waiting} waiting, "),
            },
            count(OutcomeKind::Hung),
            match (count(OutcomeKind::NoEnd), count(OutcomeKind::Undecided)) {
                (0, 0) => String::new(),
                (no_end, undecided) => format!("{no_end} without end, {undecided} undecided, "),
            },
            self.rows.iter().filter(|row| row.outcome.is_none()).count()
        )
    }

    fn hangs(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in self.rows.iter().filter(|row| hangs(row) || !row.flaky.is_empty()) {
            writeln!(out, "\n{BOLD}{}@{} {} {}{BOLD:#}", row.agent, row.version, row.scenario, row.terminal)?;
            // whole: the sentence is what was asked for
            row.why.iter().try_for_each(|why| writeln!(out, "  why       {why}"))?;
            let mut line = |what: &str, of: &[String]| -> io::Result<()> {
                of.iter().try_for_each(|text| writeln!(out, "  {what:9} {}", one_line(text)))
            };
            line("flaky", &row.flaky)?;
            line("open ask", &row.asks)?;
            line("waits", &row.waits)?;
            line("problem", &row.problems)?;
            line("links", &[row.links.join(" ")])?;
            if let Some(virtual_time) = &row.virtual_time {
                let proof = if row.evidence == Evidence::Proved { "proof" } else { "at end" };
                line(proof, &virtual_time.waits)?;
                line("lives by", &virtual_time.lives_by)?;
                line("clock", &[spent(virtual_time)])?;
            }
            if row.hot_loop {
                line("loop", &["it computes, or asks its model, all the while: no wait, a loop".to_owned()])?;
            }
            line("again", std::slice::from_ref(&row.command))?;
        }
        if self.rows.iter().any(hangs) { writeln!(out) } else { Ok(()) }
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in self.rows {
            writeln!(out, "{}", serde_json::to_string(row)?)?;
        }
        let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
        for row in self.rows {
            *outcomes.entry(row.outcome.map_or("cannot-run", OutcomeKind::word)).or_default() += 1;
        }
        let summary = json!({ "summary": {
            "cells": self.rows.len(), "outcomes": outcomes, "changes": self.changes, "faults": self.faults,
        }});
        writeln!(out, "{summary}")
    }

    fn junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut report = Junit::new("rehang upstream");
        let mut suites: BTreeMap<String, TestSuite> = BTreeMap::new();
        for row in self.rows {
            let name = format!("{}@{}", row.agent, row.version);
            let suite = suites.entry(name.clone()).or_insert_with(|| TestSuite::new(name));
            let mut case = TestCase::new(format!("{} {}", row.scenario, row.terminal), self.status(row));
            case.set_time(std::time::Duration::from_millis(row.ms));
            case.set_system_out(format!("{} {}\n{}", said(row), row.evidence, row.command));
            suite.add_test_case(case);
        }
        for fault in self.faults {
            let suite = suites.entry("rehang".to_owned()).or_insert_with(|| TestSuite::new("rehang"));
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(fault.clone());
            suite.add_test_case(TestCase::new(fault.clone(), status));
        }
        report.add_test_suites(suites.into_values());
        let text = report.to_string().map_err(io::Error::other)?;
        writeln!(out, "{text}")
    }

    fn status(&self, row: &Row) -> TestCaseStatus {
        let key = (&row.agent, &row.version, &row.scenario, &row.terminal);
        let of = |c: &&Change| (&c.agent, &c.to_version, &c.scenario, &c.terminal) == key && c.regression;
        let worse = self.changes.iter().find(of).map(Change::to_string);
        let hung = (self.deny_hangs && row.is_hang()).then(|| said(row));
        match worse.or(hung) {
            Some(message) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(message);
                status
            }
            None if row.outcome.is_none() => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(row.detail.clone());
                status
            }
            None => TestCaseStatus::success(),
        }
    }
}

/// A row's outcome in one or two words.
pub fn said(row: &Row) -> String {
    let verdict = row.verdict().to_string();
    if row.flaky.is_empty() { verdict } else { format!("flaky: {verdict}") }
}

/// Whether more is shown of a row than its line.
fn hangs(row: &Row) -> bool {
    row.is_hang() || row.outcome == Some(OutcomeKind::Undecided)
}

/// How a run in virtual time went.
fn spent(of: &VirtualTime) -> String {
    let VirtualTime { seconds, real_seconds, jumps, repeatable, lengthened, .. } = of;
    let odd = if *repeatable { "" } else { "; not repeatable: time flowed while it computed" };
    let late = if *lengthened > 0 { format!("; {lengthened} waits of tickers were lengthened") } else { String::new() };
    format!("{seconds} s virtual, {real_seconds:.1} s real, {jumps} jumps{late}{odd}")
}

fn one_line(text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(TOLD_CHARS) {
        Some((at, _)) => format!("{}…", &flat[..at]),
        None => flat,
    }
}
