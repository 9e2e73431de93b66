//! From cells that ran to pictures: the HTML report, which has the terminals' recordings in it, and the summary for a CI
//! job.
//!
//! Invariant: a picture shows what a trace holds; nothing is run again for it.

use crate::error::CommandError;
use crate::shell::reading;
use crate::{book, last};
use rehang_judge::Row as JudgedRow;
use rehang_report::{
    About, CellPage, Colour, Detail, Page, Square, Table, Unexpected, Unseen, explained, html, markdown, table,
};
use rehang_runner::outputs;
use rehang_runner::run::Outcome;
use rehang_runner::select::BadFile;
use rehang_runner::unit::CellAnswer;
use rehang_scenario::text::{counted, duration};
use rehang_scenario::{Invariant, OutcomeKind, Stage, Terminal};
use rehang_trace::ndjson;
use rehang_upstream::row::Row;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// Writes `index.html` into a folder. The cells must have kept their traces.
///
/// # Errors
/// A folder that cannot be written.
pub fn report(
    folder: &Path,
    title: &str,
    command: &str,
    outcome: &Outcome,
    bad_files: &[BadFile],
) -> Result<(), CommandError> {
    let bare: BTreeMap<_, &JudgedRow> = outcome
        .cells
        .iter()
        .filter_map(|cell| Some((beside(cell)?, cell.row.as_ref()?)))
        .filter(|(_, row)| row.strategy == NONE)
        .collect();
    let without = |cell: &CellAnswer| beside(cell).and_then(|key| bare.get(&key).copied());
    let mut cells: Vec<CellPage> = outcome.cells.iter().filter_map(|cell| page(cell, without(cell))).collect();
    // a reader looks for what is not as expected
    cells.sort_by_key(|cell| cell.mismatches.is_empty());
    let bad_files = bad_files.iter().map(|bad| Unseen { name: bad.file.clone(), why: bad.errors.join("; ") });
    // nor has a failure a picture whose trace is not there
    let is_unseen = |cell: &&CellAnswer| cell.row.is_none() || (cell.trace.is_none() && cell.is_failure());
    let broken = outcome.cells.iter().filter(is_unseen);
    let broken = broken.map(|cell| Unseen { name: cell.id.clone(), why: cell.why().join("; ") });
    // stacks with parameters of one file come after those of all files
    let everywhere = rehang_strategy::stacks();
    let mut score = outcome.score.ranked();
    score.sort_by_key(|row| !everywhere.contains(&row.strategy));
    let page = Page {
        title: title.to_owned(),
        command: command.to_owned(),
        ran: outcome.cells.len(),
        unexpected: outcome.cells.iter().filter(|cell| cell.is_failure()).count(),
        unseen: bad_files.chain(broken).collect(),
        reading: reading(&outcome.scenarios),
        score,
        mechanisms: explained(book::MECHANISMS),
        cells,
    };
    written(folder, html(&page))
}

/// Writes a folder's `index.html`, keeps it as the last report, and says where it is.
fn written(folder: &Path, page: String) -> Result<(), CommandError> {
    outputs::folder(folder)?;
    let file = folder.join("index.html");
    outputs::write(&file, page)?;
    last::keep(&file);
    complain!("report: {} (`rehang report --open` opens it)", file.display());
    Ok(())
}

/// What a cell has in common with the same cell without a strategy.
fn beside(cell: &CellAnswer) -> Option<(String, Terminal, u64, Stage, bool)> {
    let row = cell.row.as_ref()?;
    let control = cell.arm == rehang_scenario::Arm::Control;
    Some((row.scenario.clone(), row.terminal, row.seed, row.stage, control))
}

/// Writes `index.html` for rows of real releases: a row a scenario and terminal, a column a release.
///
/// # Errors
/// A folder that cannot be written.
pub fn upstream(folder: &Path, command: &str, rows: &[Row]) -> Result<(), CommandError> {
    let mut columns: Vec<String> = Vec::new();
    let mut lines: Vec<(String, Vec<Option<Square>>)> = Vec::new();
    for row in rows {
        let (column, line) = (format!("{} {}", row.agent, row.version), format!("{} {}", row.scenario, row.terminal));
        let x = columns.iter().position(|name| *name == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        });
        let y = lines.iter().position(|(name, _)| *name == line).unwrap_or_else(|| {
            lines.push((line, Vec::new()));
            lines.len() - 1
        });
        let squares = &mut lines[y].1;
        squares.resize(squares.len().max(x + 1), None);
        squares[x] = Some(square(row));
    }
    lines.iter_mut().for_each(|(_, squares)| squares.resize(columns.len(), None));
    let hung = rows.iter().filter(|row| row.is_hang()).count();
    let table = Table {
        title: "real releases against a scripted model".to_owned(),
        command: command.to_owned(),
        summary: format!("{}, {hung} hung", counted(rows.len(), "cell")),
        plot: None,
        corner: "scenario".to_owned(),
        columns,
        rows: lines,
    };
    page_of(folder, &table)
}

/// Writes `index.html` of a table.
///
/// # Errors
/// A folder that cannot be written.
pub fn page_of(folder: &Path, page: &Table) -> Result<(), CommandError> {
    written(folder, table(page))
}

fn square(row: &Row) -> Square {
    let colour = match row.outcome {
        _ if !row.flaky.is_empty() => Colour::Odd,
        Some(outcome) if outcome.is_hang() => Colour::Bad,
        Some(OutcomeKind::Completed) => Colour::Good,
        Some(_) => Colour::Odd,
        None => Colour::Plain,
    };
    let exit = row.exit.map(|code| format!("exit {code}"));
    let how = [Some(row.evidence.to_string()), exit, Some(duration(row.ms)), Some(row.day.clone())];
    let how: Vec<String> = how.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let details = [
        ("why", vec![row.detail.clone()]),
        ("how it is known", vec![how.join(", ")]),
        ("open asks", row.asks.clone()),
        ("where its threads waited", row.waits.clone()),
        ("at its end in virtual time", row.virtual_time.iter().flat_map(|of| of.waits.clone()).collect()),
        ("what it lived by", row.virtual_time.iter().flat_map(|of| of.lives_by.clone()).collect()),
        ("what it told its model", row.told.clone()),
        ("problems", row.problems.clone()),
        ("runs differ", row.flaky.clone()),
        ("again", vec![row.command.clone()]),
    ];
    let filled = |texts: Vec<String>| texts.into_iter().filter(|text| !text.is_empty()).collect();
    let details = details.into_iter().map(|(name, texts)| Detail { name: name.to_owned(), texts: filled(texts) });
    Square { verdict: row.verdict().to_string(), colour, details: details.collect() }
}

/// Appends a summary in Markdown to a file, as CI jobs want it (`$GITHUB_STEP_SUMMARY`).
///
/// # Errors
/// A file that cannot be written.
pub fn summary(path: &Path, outcome: &Outcome, bad_files: &[BadFile]) -> Result<(), CommandError> {
    let unexpected = outcome.cells.iter().filter(|cell| cell.is_failure()).map(|cell| Unexpected {
        id: cell.id.clone(),
        outcome: cell.row.as_ref().map_or("–", |row| row.outcome.word()).to_owned(),
        broken: cell.row.as_ref().map_or_else(String::new, |row| Invariant::names(&row.broken)),
        why: cell.why().into_iter().next().unwrap_or_default(),
    });
    let bad_files = bad_files.iter().map(|bad| (bad.file.clone(), bad.errors.join("; ")));
    let (unexpected, bad_files): (Vec<_>, Vec<_>) = (unexpected.collect(), bad_files.collect());
    let text = markdown(&outcome.score, &unexpected, outcome.cells.len(), &bad_files);
    let mut file = outputs::append(path)?;
    Ok(file.write_all(text.as_bytes()).map_err(|error| outputs::unwritable(path, error))?)
}

/// The stack that does nothing.
const NONE: &str = "none";

/// The most bytes of a file's name that come from a cell's name: Linux allows 255 in all.
const NAME_BYTES: usize = 200;

/// File names for cells, each used once.
#[derive(Debug, Default)]
pub struct FileNames(BTreeSet<String>);

impl FileNames {
    /// A name for a cell's file with this ending: its letters and digits, the rest as `_`; with a number if another
    /// cell has that name already.
    pub fn of(&mut self, id: &str, ending: &str) -> String {
        let plain: String = id.chars().map(|c| if "/:[]()= ".contains(c) { '_' } else { c }).collect();
        let plain = &plain[..plain.floor_char_boundary(NAME_BYTES)];
        let (mut name, mut nth) = (format!("{plain}.{ending}"), 1);
        while !self.0.insert(name.clone()) {
            nth += 1;
            name = format!("{plain}-{nth}.{ending}");
        }
        name
    }
}

fn page(answer: &CellAnswer, without: Option<&JudgedRow>) -> Option<CellPage> {
    let row = answer.row.clone()?;
    let (_, trace) = ndjson::read(answer.trace.as_deref()?.as_bytes()).ok()?;
    let control = answer.arm == rehang_scenario::Arm::Control;
    let about = About { id: &answer.id, title: &answer.title, mechanism: &answer.mechanism, control, without };
    Some(CellPage::new(&about, row, answer.why(), &trace))
}
