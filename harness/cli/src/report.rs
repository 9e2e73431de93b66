//! What came out, for people and for programs.
//!
//! Invariant: JSON is NDJSON, one object a cell and then one `summary`; colours only where stdout is a terminal
//! (anstream sees to that and to NO_COLOR).

use crate::commands::run::{Outcome, Where, too_much_lockstep};
use crate::commands::select::Selected;
use crate::unit::CellAnswer;
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use rehang_judge::score::Scoreboard;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A summary, and each failure with its timeline.
    Human,
    /// NDJSON: one object a cell, then one `summary`.
    Json,
    /// JUnit XML.
    Junit,
}

/// A run to report on.
pub struct Report<'a> {
    /// What was selected.
    pub selected: &'a Selected,
    /// What came out.
    pub outcome: &'a Outcome,
    /// Where it ran.
    pub stage: Where,
}

const BOLD: Style = Style::new().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// How many failures are shown whole; the rest are named.
const SHOWN_FAILURES: usize = 10;

impl Report<'_> {
    /// Prints it.
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

    fn failures(&self) -> impl Iterator<Item = &CellAnswer> {
        self.outcome.cells.iter().filter(|cell| is_failure(cell))
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let failures: Vec<&CellAnswer> = self.failures().collect();
        for cell in failures.iter().take(SHOWN_FAILURES) {
            failure(cell, out)?;
        }
        for cell in failures.iter().skip(SHOWN_FAILURES) {
            writeln!(out, "{BAD}FAIL{BAD:#} {} {DIM}({}){DIM:#}", cell.id, why(cell).first().map_or("", |w| w))?;
        }
        writeln!(out, "{BOLD}Which strategy ends which hang, and which does harm{BOLD:#}")?;
        writeln!(out)?;
        let (board, others) = in_the_matrix(&self.outcome.score);
        write!(out, "{}", board.grid(100))?;
        writeln!(out, "{DIM}{}{DIM:#}\n", mechanisms(&board))?;
        write!(out, "{}", board.table())?;
        if others > 0 {
            writeln!(
                out,
                "and {others} stacks with parameters of their own in single files (`rehang score` shows all)"
            )?;
        }
        writeln!(out)?;
        self.counts(out)?;
        let total = self.outcome.cells.len();
        let (passed, failed) = (total - failures.len(), failures.len());
        let style = if failed == 0 && self.selected.problems.is_empty() { GOOD } else { BAD };
        writeln!(
            out,
            "{style}{}{style:#}: {total} cells of {} scenarios on {} in {:.1} s",
            match self.selected.problems.len() {
                _ if failed > 0 => "NOT as expected".to_owned(),
                0 => "as expected".to_owned(),
                n => format!("{n} files have errors; the others as expected"),
            },
            self.selected.scenarios,
            match self.stage {
                Where::Both => "sim and lockstep, one trace each",
                Where::Sim => "sim",
                Where::Lockstep => "lockstep",
                Where::Live => "live",
            },
            self.outcome.wall_ms as f64 / 1_000.0,
        )?;
        writeln!(out, "{passed} passed, {failed} failed")
    }

    fn counts(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut proofs: BTreeMap<&str, usize> = BTreeMap::new();
        for cell in &self.outcome.cells {
            if let Some(proof) = cell.row.as_ref().and_then(|row| row.proof.as_deref()) {
                *proofs.entry(proof).or_default() += 1;
            }
        }
        let proofs: Vec<String> = proofs.iter().map(|(proof, n)| format!("{n} by {proof}")).collect();
        if !proofs.is_empty() {
            writeln!(out, "hangs proved: {}", proofs.join(", "))?;
        }
        let (only, cells) = (self.selected.lockstep_only, self.selected.cells);
        if only > 0 {
            let over = if too_much_lockstep(self.selected) { " — more than the 5 % that may be" } else { "" };
            writeln!(out, "lockstep alone: {only} of {cells} cells{over}")?;
        }
        let behaviours = rehang_fakes::behaviours();
        let recorded = behaviours.iter().filter(|b| b.recorded).count();
        let read = behaviours.len() - recorded;
        writeln!(out, "the fakes' behaviours: {recorded} held to recordings, {read} read from sources")?;
        if !self.selected.left_out.is_empty() {
            writeln!(out, "left out of the matrix:")?;
            let mut reasons: Vec<_> = self.selected.left_out.iter().collect();
            reasons.sort_by_key(|(reason, n)| (std::cmp::Reverse(**n), reason.as_str()));
            for (reason, n) in reasons {
                writeln!(out, "  {n:>6}  {reason}")?;
            }
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        for cell in &self.outcome.cells {
            let line = match &cell.row {
                Some(row) => serde_json::to_string(row)?,
                None => json!({ "scenario": cell.id, "fault": cell.fault }).to_string(),
            };
            writeln!(out, "{line}")?;
        }
        let failed = self.failures().count();
        let faults = self.outcome.cells.iter().filter(|cell| cell.fault.is_some()).count();
        let differ = self.outcome.cells.iter().filter(|cell| cell.differs.is_some()).count();
        let summary = json!({ "summary": {
            "cells": self.outcome.cells.len(),
            "expected": self.outcome.cells.len() - failed,
            "unexpected": failed,
            "faults": faults,
            "nondeterministic": differ,
            "scenarios": self.selected.scenarios,
            "lockstep_only": self.selected.lockstep_only,
            "left_out": self.selected.left_out,
            "wall_ms": self.outcome.wall_ms,
        }});
        writeln!(out, "{summary}")
    }

    fn junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut report = Junit::new("rehang");
        let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
        for cell in &self.outcome.cells {
            let scenario = cell.id.split("::").next().unwrap_or(&cell.id);
            let suite = suites.entry(scenario).or_insert_with(|| TestSuite::new(scenario));
            let mut status = TestCaseStatus::success();
            if is_failure(cell) {
                status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(why(cell).join("; "));
                status.set_description(cell.timeline.clone().unwrap_or_default());
            }
            let stage = cell.row.as_ref().map_or("", |row| row.stage.as_str());
            let mut case = TestCase::new(format!("{} on {stage}", cell.id), status);
            case.set_classname(scenario);
            if let Some(row) = &cell.row {
                case.set_time(std::time::Duration::from_micros(row.wall_us));
            }
            suite.add_test_case(case);
        }
        report.add_test_suites(suites.into_values());
        report.serialize(out).map_err(io::Error::other)
    }
}

/// The lines of those that are in every file's matrix, and how many others there are.
fn in_the_matrix(score: &Scoreboard) -> (Scoreboard, usize) {
    let everywhere: BTreeSet<String> = rehang_strategy::stacks().into_iter().collect();
    let all: BTreeSet<String> = score.rows().into_iter().map(|row| row.strategy).collect();
    (score.only(|strategy| everywhere.contains(strategy)), all.difference(&everywhere).count())
}

/// What the columns of the board mean, in lines of 100 columns.
fn mechanisms(board: &Scoreboard) -> String {
    let mut lines = vec![String::new()];
    let shown: BTreeSet<String> = board.rows().into_iter().map(|row| row.mechanism).collect();
    for mechanism in rehang_scenario::mechanism::MECHANISMS.iter().filter(|m| shown.contains(m.id)) {
        let word = format!("{} {}  ", mechanism.id, mechanism.name);
        if lines.last().is_some_and(|line| line.len() + word.len() > 100) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(&word);
        }
    }
    lines.push("F1–F10 are healthy runs that look hung · ctl: the control arms".to_owned());
    lines.join("\n")
}

/// Whether a cell is not as expected, for whatever reason.
pub fn is_failure(cell: &CellAnswer) -> bool {
    !cell.mismatches.is_empty() || cell.fault.is_some() || cell.differs.is_some()
}

/// Why a cell is not as expected, a line each.
pub fn why(cell: &CellAnswer) -> Vec<String> {
    let mut lines = cell.mismatches.clone();
    lines.extend(cell.fault.iter().map(|fault| format!("rehang's own fault: {fault}")));
    lines.extend(cell.differs.iter().map(|d| format!("not the trace of the other stage: {d}")));
    lines
}

/// A failure: why, the timeline, and the one command that runs it again.
pub fn failure(cell: &CellAnswer, out: &mut dyn Write) -> io::Result<()> {
    let stage = cell.row.as_ref().map_or("lockstep", |row| row.stage.as_str());
    writeln!(out, "{BAD}FAIL{BAD:#} {BOLD}{}{BOLD:#} on {stage}", cell.id)?;
    for line in why(cell) {
        writeln!(out, "     {line}")?;
    }
    if let Some(timeline) = &cell.timeline {
        writeln!(out)?;
        for line in timeline.lines() {
            writeln!(out, "     {line}")?;
        }
    }
    writeln!(out, "     again: rehang show --stage {stage} '{}'", cell.id)?;
    writeln!(out)
}
