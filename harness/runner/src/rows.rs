//! A run as NDJSON, written and read: an object a cell, then one `summary`.
//!
//! Invariants: the names and their order are a contract with those who read the output; what [`write()`] wrote, [`read()`]
//! reads back as the same cells, but for their timelines and traces, which have files of their own. What is read is untrusted:
//! a line has at most [`LINE_MAX_BYTES`] and a file at most [`LINES_MAX`] lines, and an error says which line it is about.

use crate::run::Outcome;
use crate::select::{BadFile, Selected};
use crate::unit::{Alike, CellAnswer};
use rehang_judge::Row;
use rehang_judge::score::Share;
use rehang_judge::timeline::cut;
use rehang_scenario::{Arm, Stage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

/// The most bytes of a line: a cell's row has some hundred, and its reasons are cut.
pub const LINE_MAX_BYTES: u64 = 1 << 20;
/// The most lines of a file: a thousand times the whole matrix has fewer.
pub const LINES_MAX: usize = 5_000_000;
/// The most of anything that is counted or measured: sums of it over all lines fit into 64 bits.
const NUMBER_MAX: u64 = 1 << 40;
/// The most parts that a run may be spread over.
pub const PARTS_MAX: usize = 10_000;
/// The most columns of a text that is printed.
const TEXT_MAX: usize = 4_096;
/// What the row of a control arm has after its scenario, and its cell's name at its end.
const CONTROL: &str = "::control";

/// A line of the output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Summary { summary: Summary },
    Fault(Fault),
    Cell(Box<CellLine>),
}

/// A cell that ran.
#[derive(Debug, Serialize, Deserialize)]
struct CellLine {
    #[serde(flatten)]
    row: Row,
    mechanism: String,
    title: String,
    /// What is not as expected, a line each.
    why: Vec<String>,
    unexpected_hang: bool,
    /// How its trace differs from that on the other stage.
    differs: Option<String>,
    /// What it adds to the scoreboard.
    share: Share,
    /// Whether it has the trace of `none` by itself: in lockstep `shared` if it was not run there.
    alike: Alike,
}

/// A cell that did not run: an internal error.
#[derive(Debug, Serialize, Deserialize)]
struct Fault {
    /// The cell's name.
    scenario: String,
    fault: String,
    stage: Stage,
    mechanism: String,
    title: String,
}

/// The last line of a run: what its cells come to, and which run it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// How many cells ran, each counted once per stage.
    pub cells: usize,
    /// How many of them are as expected.
    pub expected: usize,
    /// How many are not.
    pub unexpected: usize,
    /// How many internal errors there were.
    pub faults: usize,
    /// How many cells have different traces on two stages.
    pub nondeterministic: usize,
    /// How many cells were not run in lockstep: on sim they have the trace of `none`, and they share it.
    pub shared: usize,
    /// How many cells could have shared it, and were run all the same.
    pub sampled: usize,
    /// How many scenario files were selected, in all parts of a run that is spread over machines.
    pub scenarios: usize,
    /// How many of the selected cells run only in lockstep.
    pub lockstep_only: usize,
    /// What the matrix leaves out, counted by reason, in all parts.
    pub left_out: BTreeMap<String, usize>,
    /// Files with errors.
    pub bad_files: Vec<BadFile>,
    /// How long it took, in real milliseconds.
    pub wall_ms: u64,
    /// Where it ran, as `--stage` says it: `sim`, `lockstep` or `both`.
    pub stage: String,
    /// How many cells were selected, each counted once.
    pub selected: usize,
    /// Whether a filter was named: the whole matrix has rules of its own.
    pub filtered: bool,
    /// The digest of the selected cells' names, in all parts.
    pub digest: String,
    /// Which part it is, and of how many.
    pub part: (usize, usize),
    /// Whether a process of the run was still alive after it.
    pub left_behind: bool,
    /// The scenario files and folders that were named.
    pub paths: Vec<PathBuf>,
}

/// What is known of a run beside its cells.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// Where it ran, as `--stage` says it.
    pub stage: &'a str,
    /// Whether a filter was named.
    pub filtered: bool,
    /// Which part it is, and of how many.
    pub part: (usize, usize),
    /// Whether a process of the run was still alive after it.
    pub left_behind: bool,
}

impl Summary {
    /// The summary of a run.
    pub fn of(selected: &Selected, outcome: &Outcome, setting: Setting<'_>) -> Summary {
        let count = |is: fn(&CellAnswer) -> bool| outcome.cells.iter().filter(|cell| is(cell)).count();
        let unexpected = count(CellAnswer::is_failure);
        Summary {
            cells: outcome.cells.len(),
            expected: outcome.cells.len() - unexpected,
            unexpected,
            faults: count(|cell| cell.fault.is_some()),
            nondeterministic: count(|cell| cell.differs.is_some()),
            shared: count(|cell| cell.alike == Alike::Shared),
            sampled: count(|cell| cell.alike == Alike::Sampled),
            scenarios: selected.scenarios,
            lockstep_only: selected.lockstep_only,
            left_out: selected.left_out.clone(),
            bad_files: selected.bad_files.clone(),
            wall_ms: outcome.wall_ms,
            stage: setting.stage.to_owned(),
            selected: selected.cells,
            filtered: setting.filtered,
            digest: selected.digest.clone(),
            part: setting.part,
            left_behind: setting.left_behind,
            paths: outcome.scenarios.clone(),
        }
    }
}

impl Summary {
    /// Makes the texts of one that was read such that a terminal may show them.
    fn mask(&mut self) {
        let reasons = std::mem::take(&mut self.left_out);
        self.left_out = reasons.into_iter().map(|(reason, count)| (masked(&reason), count)).collect();
        for bad in &mut self.bad_files {
            bad.file = masked(&bad.file);
            bad.errors.iter_mut().for_each(|error| *error = masked(error));
        }
    }

    /// What is wrong with one that was read.
    fn check(&self) -> Result<(), String> {
        let Summary { cells, expected, unexpected, faults, nondeterministic, scenarios, lockstep_only, .. } = self;
        let Summary { shared, sampled, selected, .. } = self;
        let runs = [cells, expected, unexpected, faults, nondeterministic, shared, sampled];
        let counts = runs.into_iter().chain([scenarios, lockstep_only, selected]);
        let mut numbers = counts.chain(self.left_out.values()).map(|count| *count as u64);
        if numbers.any(|number| number > NUMBER_MAX) || self.wall_ms > NUMBER_MAX {
            return Err(format!("a number is above {NUMBER_MAX}"));
        }
        if !["sim", "lockstep", "both"].contains(&self.stage.as_str()) {
            return Err(format!("`stage` is `{}`, and not sim, lockstep or both", cut(&self.stage, 40)));
        }
        let (part, of) = self.part;
        if part == 0 || part > of || of > PARTS_MAX {
            return Err(format!("`part` is {part} of {of}, and there are at most {PARTS_MAX}"));
        }
        Ok(())
    }
}

/// Writes the cells of a run, and then its summary.
///
/// # Errors
/// Those of `out`.
pub fn write(cells: &[CellAnswer], summary: Summary, out: &mut dyn Write) -> io::Result<()> {
    for cell in cells {
        writeln!(out, "{}", serde_json::to_string(&line(cell))?)?;
    }
    writeln!(out, "{}", serde_json::to_string(&Line::Summary { summary })?)
}

fn line(cell: &CellAnswer) -> Line {
    let (mechanism, title) = (cell.mechanism.clone(), cell.title.clone());
    match (&cell.row, &cell.share) {
        (Some(row), Some(share)) => Line::Cell(Box::new(CellLine {
            row: row.clone(),
            mechanism,
            title,
            why: cell.mismatches.clone(),
            unexpected_hang: cell.unexpected_hang,
            differs: cell.differs.clone(),
            share: share.clone(),
            alike: cell.alike,
        })),
        _ => {
            let fault = cell.fault.clone().unwrap_or_default();
            Line::Fault(Fault { scenario: cell.id.clone(), fault, stage: cell.stage, mechanism, title })
        }
    }
}

/// A run that was read.
#[derive(Debug)]
pub struct Run {
    /// Its cells, each with the number of its line, from 1.
    pub cells: Vec<(usize, CellAnswer)>,
    /// Its summary.
    pub summary: Summary,
    /// The number of the summary's line.
    pub line: usize,
}

/// Why a file is not the output of runs.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line that is too long.
    #[error("line {0} has more than {LINE_MAX_BYTES} bytes: that is no row of `rehang run --format json`")]
    Long(usize),
    /// Too many lines.
    #[error("it has more than {LINES_MAX} lines: merge fewer runs at once")]
    Many,
    /// A line that is none of a run.
    #[error("line {line} is no row of `rehang run --format json` of this version: {why}")]
    Row {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The last run has no summary.
    #[error(
        "it ends after line {0} without a `summary`: the run broke off, and its other cells are missing; run it again"
    )]
    BrokeOff(usize),
    /// The summary counts other cells than there are.
    #[error("the `summary` on line {line} is of {said} cells, and there are {found}: run it again")]
    Count {
        /// The line, from 1.
        line: usize,
        /// How many it says.
        said: usize,
        /// How many there are.
        found: usize,
    },
    /// Nothing is in it.
    #[error("it is empty: it wants what `rehang run --format json` printed")]
    Empty,
}

/// Reads runs, each of which ends with its summary.
///
/// # Errors
/// See [`ReadError`].
pub fn read(mut from: impl BufRead) -> Result<Vec<Run>, ReadError> {
    let (mut runs, mut cells, mut text) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1.. {
        text.clear();
        let length = (&mut from).take(LINE_MAX_BYTES + 1).read_until(b'\n', &mut text)?;
        match length as u64 {
            0 if cells.is_empty() && runs.is_empty() => return Err(ReadError::Empty),
            0 if !cells.is_empty() => return Err(ReadError::BrokeOff(number - 1)),
            0 => break,
            _ if number > LINES_MAX => return Err(ReadError::Many),
            length if length > LINE_MAX_BYTES => return Err(ReadError::Long(number)),
            _ => {}
        }
        match parse(&text).map_err(|why| ReadError::Row { line: number, why })? {
            Line::Summary { mut summary } => {
                summary.mask();
                summary.check().map_err(|why| ReadError::Row { line: number, why })?;
                let (said, found) = (summary.cells, cells.len());
                if said != found {
                    return Err(ReadError::Count { line: number, said, found });
                }
                runs.push(Run { cells: std::mem::take(&mut cells), summary, line: number });
            }
            Line::Fault(fault) => cells.push((number, of_line(number, fault.answer())?)),
            Line::Cell(cell) => cells.push((number, of_line(number, cell.answer())?)),
        }
    }
    Ok(runs)
}

/// A cell, unless something is wrong with its line.
fn of_line(line: usize, answer: Result<CellAnswer, String>) -> Result<CellAnswer, ReadError> {
    let checked = answer.and_then(|cell| {
        let bad = unprintable(&cell).map(|name| format!("a control character in the name `{}`", cut(name, 200)));
        bad.map_or(Ok(cell), Err)
    });
    checked.map_err(|why| ReadError::Row { line, why })
}

/// A name of a cell's that no terminal may show.
fn unprintable(cell: &CellAnswer) -> Option<&str> {
    let mark = cell.share.iter().map(|share| &share.mechanism);
    let mut names = mark.chain([&cell.id, &cell.mechanism]);
    names.find(|name| name.chars().any(char::is_control)).map(String::as_str)
}

/// A text that a terminal may show.
fn masked(text: &str) -> String {
    cut(text, TEXT_MAX)
}

/// A line; an error says what is wrong with it as the kind that it looks like.
fn parse(text: &[u8]) -> Result<Line, String> {
    let object: serde_json::Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let parsed = if object.get("summary").is_some() {
        let summary = |object: &serde_json::Value| serde_json::from_value(object["summary"].clone());
        summary(&object).map(|summary| Line::Summary { summary })
    } else if object.get("fault").is_some() {
        serde_json::from_value(object).map(Line::Fault)
    } else {
        serde_json::from_value(object).map(Line::Cell)
    };
    parsed.map_err(|error| cut(&error.to_string(), 200))
}

impl Fault {
    fn answer(self) -> Result<CellAnswer, String> {
        let arm = if self.scenario.ends_with(CONTROL) { Arm::Control } else { Arm::Main };
        Ok(CellAnswer {
            id: self.scenario,
            arm,
            stage: self.stage,
            mechanism: self.mechanism,
            title: self.title,
            row: None,
            digest: None,
            share: None,
            alike: Alike::No,
            mismatches: Vec::new(),
            unexpected_hang: false,
            fault: Some(masked(&self.fault)),
            misfit: None,
            differs: None,
            timeline: None,
            story: None,
            trace: None,
            seen: None,
        })
    }
}

impl CellLine {
    fn answer(self) -> Result<CellAnswer, String> {
        let CellLine { row, mechanism, title, why, unexpected_hang, differs, share, alike } = self;
        let (scenario, arm, end) = match row.scenario.strip_suffix(CONTROL) {
            Some(scenario) => (scenario, Arm::Control, CONTROL),
            None => (row.scenario.as_str(), Arm::Main, ""),
        };
        if row.stage == Stage::Live {
            return Err("`stage` is `live`, and not sim or lockstep".to_owned());
        }
        let Share { mechanism: _, score: _, inside: _, waited_ms, to_kill_ms, to_gone_ms, with_ms, without_ms } =
            &share;
        let spans = [waited_ms, to_kill_ms, to_gone_ms].into_iter().flatten();
        if spans.chain([with_ms, without_ms]).any(|ms| *ms > NUMBER_MAX) {
            return Err(format!("a number is above {NUMBER_MAX}"));
        }
        if row.expected != why.is_empty() {
            return Err("`expected` and `why` do not agree".to_owned());
        }
        Ok(CellAnswer {
            id: format!("{scenario}::{}::{}::{}{end}", row.strategy, row.terminal.name(), row.order()),
            arm,
            stage: row.stage,
            mechanism,
            title,
            row: Some(row),
            digest: None,
            share: Some(share),
            alike,
            mismatches: why.iter().map(|line| masked(line)).collect(),
            unexpected_hang,
            fault: None,
            misfit: None,
            differs: differs.as_deref().map(masked),
            timeline: None,
            story: None,
            trace: None,
            seen: None,
        })
    }
}
