//! From cells that ran to pictures: the HTML report, the recordings of terminals, the summary for a CI job.
//!
//! Invariant: a picture shows what a trace holds; nothing is run again for it.

use crate::commands::CommandError;
use crate::commands::run::Outcome;
use crate::unit::CellAnswer;
use rehang_judge::{Trace, ndjson};
use rehang_report::{CellPage, Page, cast, html, markdown};
use std::path::Path;

/// Writes `index.html` and, for cells with a terminal, asciicast recordings into a folder. The cells must have kept
/// their traces.
///
/// # Errors
/// A folder that cannot be written.
pub fn report(folder: &Path, title: &str, command: &str, outcome: &Outcome) -> Result<(), CommandError> {
    std::fs::create_dir_all(folder)?;
    let mut cells = Vec::new();
    for answer in &outcome.cells {
        let Some((trace, page)) = page(answer) else { continue };
        if !page.frames.is_empty() {
            let casts = folder.join("terminals");
            std::fs::create_dir_all(&casts)?;
            std::fs::write(casts.join(format!("{}.cast", file_name(&page.id))), cast(&trace, &page.id))?;
        }
        cells.push(page);
    }
    let unexpected = cells.iter().filter(|cell| !cell.row.expected).count();
    let page = Page {
        title: title.to_owned(),
        command: command.to_owned(),
        summary: format!("{} cells, {unexpected} not as expected", cells.len()),
        score: outcome.score.rows(),
        cells,
    };
    Ok(std::fs::write(folder.join("index.html"), html(&page))?)
}

/// Appends a summary in Markdown to a file, as CI jobs want it (`$GITHUB_STEP_SUMMARY`).
///
/// # Errors
/// A file that cannot be written.
pub fn summary(path: &Path, outcome: &Outcome) -> Result<(), CommandError> {
    use std::io::Write;
    let unexpected: Vec<CellPage> = outcome.cells.iter().filter(|cell| is_unexpected(cell)).filter_map(bare).collect();
    let text = markdown(&outcome.score, &unexpected, outcome.cells.len());
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// A file name for a cell: its letters and digits, the rest as `_`.
pub fn file_name(id: &str) -> String {
    id.chars().map(|c| if "/:[]()= ".contains(c) { '_' } else { c }).collect()
}

fn is_unexpected(cell: &CellAnswer) -> bool {
    !cell.mismatches.is_empty() || cell.fault.is_some() || cell.differs.is_some()
}

fn page(answer: &CellAnswer) -> Option<(Trace, CellPage)> {
    let row = answer.row.clone()?;
    let (_, trace) = ndjson::read(answer.trace.as_deref()?.as_bytes()).ok()?;
    let control = answer.arm == rehang_scenario::Arm::Control;
    let mismatches = crate::report::why(answer);
    let page = CellPage::new(&answer.id, row, control, &answer.mechanism, mismatches, &trace);
    Some((trace, page))
}

/// A page without a trace: what a list needs.
fn bare(answer: &CellAnswer) -> Option<CellPage> {
    let row = answer.row.clone()?;
    let control = answer.arm == rehang_scenario::Arm::Control;
    let mismatches = crate::report::why(answer);
    Some(CellPage::new(&answer.id, row, control, &answer.mechanism, mismatches, &Trace::default()))
}
