//! The rows of several runs as one run: the parts of a matrix that was spread over machines, or its two stages.
//!
//! Invariants: what comes out does not depend on the order of the files. A cell counts once, however often it ran, and two
//! rows of it that do not agree are an error, as is a part that is missing: a sum of what happens to be there would say
//! "as expected" of cells that nobody ran.

use crate::rows::{Run, Summary};
use crate::run::Outcome;
use crate::select::Selected;
use crate::unit::CellAnswer;
use rehang_judge::Row;
use rehang_judge::timeline::cut;
use rehang_scenario::Stage;
use rehang_scenario::text::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The runs of one file.
#[derive(Debug)]
pub struct Source {
    /// The file's name, for errors.
    pub name: String,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// Several runs as one.
#[derive(Debug)]
pub struct Merged {
    /// What was selected.
    pub selected: Selected,
    /// What came out.
    pub outcome: Outcome,
    /// The stages that cells ran on.
    pub stages: BTreeSet<Stage>,
    /// Whether a filter was named for one of the runs.
    pub filtered: bool,
    /// Whether a run left a process behind.
    pub left_behind: bool,
}

/// Where a row is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Why runs do not make one.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Two rows of one cell on one stage.
    #[error(
        "{first} and {second} contradict each other on {cell}: {why}; the same cell always has the same trace, so these are \
         runs of different scenario files or of different builds of rehang: run both again with one of each"
    )]
    Contradiction {
        /// The cell and its stage.
        cell: String,
        /// The row that was read first.
        first: Place,
        /// The other.
        second: Place,
        /// What differs.
        why: String,
    },
    /// Parts of a run are missing.
    #[error("{} of the run in {file}: add what `rehang run --shard {}/{of} --format json` printed", missing(.parts, *.of), .parts[0])]
    Missing {
        /// A file with another part.
        file: String,
        /// The missing ones, from 1.
        parts: Vec<usize>,
        /// Of how many.
        of: usize,
    },
}

fn missing(parts: &[usize], of: usize) -> String {
    let parts: Vec<String> = parts.iter().map(|part| format!("{part}/{of}")).collect();
    match parts.as_slice() {
        [part] => format!("part {part} is missing"),
        _ => format!("the parts {} are missing", cut(&parts.join(", "), 200)),
    }
}

/// Makes one run of several.
///
/// # Errors
/// Rows that contradict each other; parts that are missing.
pub fn merge(sources: Vec<Source>) -> Result<Merged, MergeError> {
    let mut selected = Selected::default();
    let (mut stages, mut filtered, mut left_behind, mut wall_ms) = (BTreeSet::new(), false, false, 0);
    let mut paths = BTreeSet::new();
    let summaries: Vec<(&str, &Summary)> =
        sources.iter().flat_map(|source| source.runs.iter().map(|run| (source.name.as_str(), &run.summary))).collect();
    for (_, summary) in &summaries {
        filtered |= summary.filtered;
        left_behind |= summary.left_behind;
        wall_ms += summary.wall_ms;
        paths.extend(summary.paths.iter().cloned());
        stages.extend(
            [Stage::Sim, Stage::Lockstep].into_iter().filter(|s| [s.name(), "both"].contains(&&*summary.stage)),
        );
    }
    let mut selections: BTreeMap<&str, Vec<(&str, &Summary)>> = BTreeMap::new();
    summaries.iter().for_each(|one| selections.entry(&one.1.digest).or_default().push(*one));
    let several = selections.len() > 1;
    selected.digest = selections.keys().copied().collect::<Vec<_>>().join("+");
    for parts in selections.values() {
        let whole = whole(parts)?;
        selected.cells += whole.iter().map(|summary| summary.selected).sum::<usize>();
        selected.lockstep_only += whole.iter().map(|summary| summary.lockstep_only).sum::<usize>();
        let Some(any) = whole.first() else { continue };
        selected.scenarios += any.scenarios;
        for (reason, count) in &any.left_out {
            *selected.left_out.entry(reason.clone()).or_default() += count;
        }
        selected.bad_files.extend(any.bad_files.iter().cloned());
    }
    selected.bad_files.sort();
    selected.bad_files.dedup();
    for bad in &mut selected.bad_files {
        bad.text = bad.errors.join("\n");
    }
    let cells = cells(sources)?;
    if several {
        // selections may have files in common
        selected.scenarios = cells.iter().map(|cell| family(&cell.id)).collect::<BTreeSet<_>>().len();
    }
    let outcome = Outcome { wall_ms, scenarios: paths.into_iter().collect(), ..outcome(cells) };
    Ok(Merged { selected, outcome, stages, filtered, left_behind })
}

/// The file that a cell is of.
fn family(id: &str) -> &str {
    let scenario = id.split("::").next().unwrap_or(id);
    scenario.split('[').next().unwrap_or(scenario)
}

/// A set of runs that together have all cells of their selection. Every stage must have one.
fn whole<'a>(parts: &[(&'a str, &'a Summary)]) -> Result<Vec<&'a Summary>, MergeError> {
    let mut found = Vec::new();
    let stages: BTreeSet<&str> = parts.iter().map(|(_, summary)| summary.stage.as_str()).collect();
    for stage in stages {
        // each count of parts, with the parts that are there
        let mut there: BTreeMap<usize, BTreeMap<usize, (&str, &Summary)>> = BTreeMap::new();
        for (file, summary) in parts.iter().filter(|(_, summary)| summary.stage == stage) {
            let (part, of) = summary.part;
            there.entry(of).or_default().entry(part).or_insert((file, summary));
        }
        let is_whole = |(of, parts): &(&usize, &BTreeMap<usize, _>)| parts.len() >= **of;
        let whole = there.iter().find(is_whole);
        let Some((_, all)) = whole else {
            // the nearest to a whole one
            let nearest = there.iter().min_by_key(|(of, parts)| *of - parts.len());
            let Some((of, parts)) = nearest else { continue };
            let missing = (1..=*of).filter(|part| !parts.contains_key(part)).collect();
            let file = parts.values().next().map_or("", |(file, _)| file).to_owned();
            return Err(MergeError::Missing { file, parts: missing, of: *of });
        };
        found = all.values().map(|(_, summary)| *summary).collect();
    }
    Ok(found)
}

/// The cells of all files, each once per stage, in the order of their names.
fn cells(sources: Vec<Source>) -> Result<Vec<CellAnswer>, MergeError> {
    let mut all: BTreeMap<(String, &'static str), (Place, CellAnswer)> = BTreeMap::new();
    for Source { name, runs } in sources {
        for (line, cell) in runs.into_iter().flat_map(|run| run.cells) {
            let place = Place { file: name.clone(), line };
            let stage = cell.stage.name();
            match all.get(&(cell.id.clone(), stage)) {
                None => drop(all.insert((cell.id.clone(), stage), (place, cell))),
                Some((first, other)) => {
                    if let Some(why) = contradiction(other, &cell) {
                        let cell = format!("{} on {stage}", cell.id);
                        return Err(MergeError::Contradiction { cell, first: first.clone(), second: place, why });
                    }
                }
            }
        }
    }
    Ok(all.into_values().map(|(_, cell)| cell).collect())
}

/// What two rows of one cell on one stage do not agree on; how long it took may differ.
fn contradiction(a: &CellAnswer, b: &CellAnswer) -> Option<String> {
    let hash = |cell: &CellAnswer| cell.row.as_ref().map(|row| row.trace_sha256.clone());
    match (hash(a), hash(b)) {
        (Some(a), Some(b)) if a != b => return Some(format!("the traces are {} and {}", cut(&a, 64), cut(&b, 64))),
        (Some(_), None) | (None, Some(_)) => return Some("one of them is an internal error".to_owned()),
        _ => {}
    }
    let said = |cell: &CellAnswer| {
        let row = cell.row.clone().map(|row| Row { wall_us: 0, ..row });
        (row, cell.mechanism.clone(), cell.share.clone(), cell.mismatches.clone(), cell.unexpected_hang)
    };
    (said(a) != said(b)).then(|| "the trace is the same, and what is said of it is not".to_owned())
}

/// The cells as what came out of a run: compared between their stages, and added up.
fn outcome(mut cells: Vec<CellAnswer>) -> Outcome {
    // sim first: where two stages differ, its cell counts, as in a run on both
    cells.sort_by(|a, b| (&a.id, a.stage).cmp(&(&b.id, b.stage)));
    let mut outcome = Outcome::default();
    let mut first: Option<(String, String)> = None;
    for cell in &mut cells {
        let Some((row, share)) = cell.row.as_ref().zip(cell.share.as_ref()) else { continue };
        match &first {
            Some((id, hash)) if *id == cell.id => {
                if *hash != row.trace_sha256 && cell.differs.is_none() {
                    let hashes = [hash, &row.trace_sha256].map(|hash| cut(hash, 64));
                    cell.differs = Some(format!("their hashes are {}", hashes.join(" and ")));
                }
            }
            _ => {
                let scenario = row.scenario.split("::").next().unwrap_or_default();
                // as in a run: an order that was chosen for one stack compares no stacks
                if row.order.is_none() {
                    outcome.score.put(&row.strategy, scenario, share);
                }
                first = Some((cell.id.clone(), row.trace_sha256.clone()));
            }
        }
    }
    let stage = |cell: &CellAnswer| cell.row.as_ref().map_or("", |row| row.stage.name());
    cells.sort_by_cached_key(|cell| (cell.id.clone(), stage(cell)));
    outcome.cells = cells;
    outcome
}

impl Merged {
    /// How many runs' worth of what they are: for the first line of a report.
    pub fn title(&self) -> String {
        let stages: Vec<&str> = self.stages.iter().map(|stage| stage.name()).collect();
        format!("{}, merged, stage {}", counted(self.selected.scenarios, "scenario"), stages.join(" and "))
    }
}
