//! Which cells a run consists of.
//!
//! Invariant: a selection of nothing is an error, unless it is one part of a run that is spread over machines.

use crate::catalogue::{Strategies, checked};
use crate::corpus::{self, Corpus, default_folder};
use crate::meant::meant;
use crate::unit::{Unit, units};
use rehang_scenario::cells::{Catalogue, Cell, CellId, CellIdError, Cells, cells};
use rehang_scenario::file::{Family, family_name};
use rehang_scenario::problem::{Problem, Problems, Style};
use rehang_scenario::text::{counted, or};
use rehang_scenario::{Order, OrderError, Stage, Terminal};
use rehang_strategy::spec::SpecError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Which cells. Nothing set: all.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Words of cell names, or mechanisms (`F1`); a cell is taken if its name contains one of them. None: all. Files are
    /// read only as far as they may have such cells: `question/` is of the files of that folder.
    pub filter: Vec<String>,
    /// Only these stacks (`idle@f54b32f`, `auto-answer@r3+watcher@pr5`); a name without a version means each.
    pub strategy: Vec<String>,
    /// Only these terminals.
    pub terminal: Vec<Terminal>,
    /// These seeds in place of a file's own, if any is named; each may have choices at ties.
    pub seeds: Vec<Order>,
    /// Of the named seeds only those that a file has.
    pub own_seeds: bool,
    /// A name must be the whole name of a scenario or a cell.
    pub exact: bool,
    /// Only part K of N (K from 1), to spread a run over machines.
    pub shard: Option<(usize, usize)>,
    /// Scenario files and folders; the default folder if none is named.
    pub scenarios: Vec<PathBuf>,
    /// Cells that no rule of their file covers are selected too; every result of theirs is reported as not expected.
    pub uncovered: bool,
    /// Cells that their file skips are selected too.
    pub skipped: bool,
}

/// What was selected, and what the matrix leaves out.
#[derive(Debug, Default)]
pub struct Selected {
    /// The work.
    pub units: Vec<Unit>,
    /// The digest of all its cells' names, those of the other parts of a run that is spread over machines included: the
    /// parts of one run have the same.
    pub digest: String,
    /// How many scenarios (files).
    pub scenarios: usize,
    /// How many cells on one stage.
    pub cells: usize,
    /// How many of them run only in lockstep.
    pub lockstep_only: usize,
    /// What the matrix leaves out, counted by reason.
    pub left_out: BTreeMap<String, usize>,
    /// What is wrong with files.
    pub problems: Vec<Problems>,
    /// The same files, for reports.
    pub bad_files: Vec<BadFile>,
}

impl Selected {
    /// Whether more than 5 % of the cells run only in lockstep.
    pub fn has_too_much_lockstep(&self) -> bool {
        self.lockstep_only * 20 > self.cells
    }
}

/// A file with errors: its cells do not run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BadFile {
    /// Its path.
    pub file: String,
    /// What is wrong with it: `line 3: unknown key`.
    pub errors: Vec<String>,
    /// The same with lines, carets and help, without colours.
    #[serde(skip)]
    pub text: String,
}

impl BadFile {
    fn of(path: &Path, problems: &Problems) -> BadFile {
        let line = |problem: &Problem| {
            let text = format!("line {}: {}", problems.source.line(problem.span.start), problem.message);
            rehang_judge::timeline::cut(&text, 400)
        };
        BadFile {
            file: path.display().to_string(),
            errors: problems.list.iter().map(line).collect(),
            text: problems.render(Style::Plain),
        }
    }
}

/// Why nothing was selected.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// A path that cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is no scenario file.
    #[error("no scenario file (*.toml) in {}", .0.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "))]
    NoFile(Vec<PathBuf>),
    /// No strategy has this name.
    #[error("'{pattern}': {why}")]
    Strategy {
        /// What was named.
        pattern: String,
        /// What is wrong with it.
        why: SpecError,
    },
    /// The order of a cell's name is none.
    #[error("'{filter}': {why}")]
    Order {
        /// What was named.
        filter: String,
        /// What is wrong with it.
        why: OrderError,
    },
    /// No cell matches.
    #[error("no cell matches, of {} ({}){}", counted(*files, "file"), counted(*scenarios, "scenario"), or(near.as_deref(), ""))]
    Nothing {
        /// What may have been meant by a filter that matches nothing.
        near: Option<String>,
        /// How many files there are.
        files: usize,
        /// How many scenarios are in them.
        scenarios: usize,
    },
}

impl Selection {
    /// The paths of the scenario files.
    ///
    /// # Errors
    /// A path that cannot be read.
    pub fn paths(&self) -> Result<Vec<PathBuf>, SelectError> {
        let folders = if self.scenarios.is_empty() { vec![default_folder()] } else { self.scenarios.clone() };
        let mut paths = Vec::new();
        for path in folders {
            paths.extend(corpus::paths(&path)?);
        }
        if paths.is_empty() {
            return Err(SelectError::NoFile(self.scenarios.clone()));
        }
        Ok(paths)
    }

    fn corpus(&self, paths: &[PathBuf]) -> Corpus {
        if !self.uncovered {
            return Corpus::read(paths);
        }
        let mut corpus = Corpus::read_uncovered(paths);
        corpus.families.iter_mut().for_each(rehang_accept::cover);
        corpus
    }

    /// The files that may have a cell that is named: all, unless each filter begins with a folder's name and a slash.
    fn named_paths(&self, all: &[PathBuf]) -> Vec<PathBuf> {
        fn folder(name: &str) -> Option<&str> {
            name.split_once('/').map(|(folder, _)| folder)
        }
        if self.filter.is_empty() {
            return all.to_vec();
        }
        let names: Vec<String> = all.iter().map(|path| family_name(&path.display().to_string())).collect();
        let folders: BTreeSet<&str> = names.iter().filter_map(|name| folder(name)).collect();
        if !self.filter.iter().all(|filter| folder(filter).is_some_and(|named| folders.contains(named))) {
            return all.to_vec();
        }
        // a scenario's name ends where its variant or its stack begins
        let goes_on =
            |filter: &str, name: &str| filter.strip_prefix(name).is_some_and(|rest| rest.starts_with(['[', ':']));
        let may_name = |name: &str| self.filter.iter().any(|filter| name.starts_with(filter) || goes_on(filter, name));
        all.iter().zip(&names).filter(|(_, name)| may_name(name)).map(|(path, _)| path.clone()).collect()
    }

    /// Reads the files and picks the cells.
    ///
    /// # Errors
    /// A path that cannot be read; a filter that nothing matches.
    pub fn select(&self, stages: &[Stage]) -> Result<Selected, SelectError> {
        let all = self.paths()?;
        let named = self.named_paths(&all);
        match self.select_of(&named, stages) {
            // what may have been meant is anywhere
            Err(SelectError::Nothing { .. }) if named.len() < all.len() => self.select_of(&all, stages),
            selected => selected,
        }
    }

    fn select_of(&self, paths: &[PathBuf], stages: &[Stage]) -> Result<Selected, SelectError> {
        let mut selected = Selected::default();
        let mut corpus = self.corpus(paths);
        if !self.seeds.is_empty() && !self.own_seeds {
            let variants = corpus.families.iter_mut().flat_map(|family| &mut family.variants);
            let mut seeds: Vec<u64> = self.seeds.iter().map(|order| order.seed).collect();
            seeds.dedup();
            variants.for_each(|variant| variant.scenario.seeds.clone_from(&seeds));
        }
        if self.skipped {
            let variants = corpus.families.iter_mut().flat_map(|family| &mut family.variants);
            variants.for_each(|variant| variant.scenario.skip.clear());
        }
        selected.problems = corpus.broken.iter().map(|(_, problems)| problems.clone()).collect();
        selected.bad_files = corpus.broken.iter().map(|(path, problems)| BadFile::of(path, problems)).collect();
        let (k, n) = self.shard.unwrap_or((1, 1));
        let mut counter = 0;
        let mut digest = Sha256::new();
        // the whole name of a cell names its stack too, although no matrix may contain that stack
        let of_cells = self.filter.iter().filter_map(|filter| Some(filter.parse::<CellId>().ok()?.strategy));
        let catalogue = Strategies::with(self.strategy.iter().cloned().chain(of_cells).collect());
        for pattern in &self.strategy {
            if let Err(why) = checked(pattern) {
                return Err(SelectError::Strategy { pattern: pattern.clone(), why });
            }
        }
        let named = self.named_orders()?;
        for family in &corpus.families {
            let all = cells(family, &catalogue);
            let own: BTreeSet<&CellId> =
                all.cells.iter().map(|cell| &cell.id).filter(|id| !id.order.is_plain()).collect();
            let under = |cell| self.in_orders(cell, &named, &own);
            let ordered: Vec<Cell<'_>> = all.cells.iter().flat_map(under).collect();
            let wanted = ordered.iter().filter(|cell| {
                let named = |filter: &String| self.names(filter, cell);
                let stack = |pattern: &String| catalogue.matches(pattern, &cell.id.strategy);
                (self.filter.is_empty() || self.filter.iter().any(named))
                    && (self.strategy.is_empty() || self.strategy.iter().any(stack))
                    && (self.terminal.is_empty() || self.terminal.contains(&cell.id.terminal))
                    && (self.seeds.is_empty() || self.seeds.contains(&cell.id.order))
            });
            let found = units(family, wanted, stages);
            if !found.is_empty() {
                selected.scenarios += 1;
                count_left_out(family, &all, &mut selected.left_out);
            }
            for unit in found {
                counter += 1;
                unit.cells.iter().for_each(|cell| digest.update(format!("{}\n", cell.id)));
                if counter % n == k - 1 {
                    selected.cells += unit.cells.len();
                    let alone = unit.main.stages.as_ref().is_some_and(|s| s.only == [Stage::Lockstep]);
                    selected.lockstep_only += if alone { unit.cells.len() } else { 0 };
                    selected.units.push(unit);
                }
            }
        }
        if selected.units.is_empty() && selected.problems.is_empty() && self.shard.is_none() {
            let scenarios = corpus.families.iter().map(|family| family.variants.len()).sum();
            let near = self.filter.iter().find_map(|filter| self.meant(filter, &corpus.families, &catalogue));
            return Err(SelectError::Nothing { near, files: corpus.families.len(), scenarios });
        }
        selected.digest = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        // longest first would be best, but a run must not depend on measured times: ordering by count is close enough
        selected.units.sort_by_key(|unit| std::cmp::Reverse(unit.cells.len()));
        selected.units.retain(|unit| !unit.stages.is_empty());
        Ok(selected)
    }

    /// The orders with choices that filters name.
    fn named_orders(&self) -> Result<Vec<Order>, SelectError> {
        let mut orders = Vec::new();
        for filter in &self.filter {
            match filter.parse::<CellId>() {
                Ok(id) if !id.order.is_plain() => orders.push(id.order),
                Err(CellIdError::Order(why)) if filter.rsplit("::").take(2).any(|part| part.contains('/')) => {
                    return Err(SelectError::Order { filter: filter.clone(), why });
                }
                _ => {}
            }
        }
        Ok(orders)
    }

    /// A cell under each order of its seed that is selected or named; under the seed alone if there is none.
    /// `own` are the cells with choices of which the file itself speaks.
    fn in_orders<'a>(&self, cell: &Cell<'a>, named: &[Order], own: &BTreeSet<&CellId>) -> Vec<Cell<'a>> {
        if !cell.id.order.is_plain() {
            return vec![cell.clone()];
        }
        let of_seed = |order: &&Order| order.seed == cell.id.order.seed;
        let mut orders: Vec<&Order> = self.seeds.iter().chain(named).filter(of_seed).collect();
        if self.seeds.is_empty() {
            orders.push(&cell.id.order);
        }
        orders.sort();
        orders.dedup();
        let under = |order: &Order| Cell { id: CellId { order: order.clone(), ..cell.id.clone() }, ..cell.clone() };
        orders.into_iter().map(under).filter(|cell| !own.contains(&cell.id)).collect()
    }

    /// Whether a filter names a cell. The whole name of a cell means that cell alone, though others' names begin with it.
    fn names(&self, filter: &str, cell: &Cell<'_>) -> bool {
        let name = cell.id.to_string();
        match self.exact || filter.parse::<CellId>().is_ok() {
            true => name == filter || cell.id.scenario == filter,
            false => name.contains(filter) || cell.scenario.mechanism == filter,
        }
    }

    /// What may have been meant by a filter; `None` if it names cells that something else leaves out.
    fn meant(&self, filter: &str, families: &[Family], catalogue: &Strategies) -> Option<String> {
        let named = |family: &Family| cells(family, catalogue).cells.iter().any(|cell| self.names(filter, cell));
        if families.iter().any(named) { None } else { meant(filter, families, catalogue) }
    }
}

/// Counts by reason what a file and the seats of its agents leave out.
fn count_left_out(family: &Family, all: &Cells<'_>, left_out: &mut BTreeMap<String, usize>) {
    for skipped in &all.skipped {
        *left_out.entry(skipped.because.to_owned()).or_default() += 1;
    }
    if !all.uncovered.is_empty() {
        *left_out.entry("no rule of the file speaks of a stack that was named".to_owned()).or_default() +=
            all.uncovered.len();
    }
    for variant in &family.variants {
        for entry in rehang_strategy::all() {
            if let Err(reason) = rehang_strategy::fits(entry, &variant.scenario.agent.wires()) {
                let count = variant.scenario.terminals.len() * variant.scenario.seeds.len();
                *left_out.entry(reason.to_string()).or_default() += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(filter: &[&str]) -> Vec<String> {
        let all = ["/x/scenarios/ask/a.toml", "/x/scenarios/ask/ab.toml", "/x/scenarios/task/a.toml", "loose.toml"];
        let selection = Selection { filter: filter.iter().map(|f| (*f).to_owned()).collect(), ..Selection::default() };
        let paths = selection.named_paths(&all.map(PathBuf::from));
        paths.iter().map(|path| family_name(&path.display().to_string())).collect()
    }

    #[test]
    fn a_folder_in_a_filter_is_the_only_one_that_is_read() {
        let all = ["ask/a", "ask/ab", "task/a", "loose"];
        assert_eq!(named(&["ask/"]), ["ask/a", "ask/ab"]);
        assert_eq!(named(&["ask/ab"]), ["ask/ab"]);
        assert_eq!(named(&["ask/a"]), ["ask/a", "ask/ab"]);
        assert_eq!(named(&["ask/ab[x]::none::null::1"]), ["ask/ab"]);
        assert_eq!(named(&["ask/a::"]), ["ask/a"]);
        assert_eq!(named(&["ask/b"]), [""; 0]);
        assert_eq!(named(&["ask/ab", "task/"]), ["ask/ab", "task/a"]);
        for wide in [&[][..], &["ask"], &["sk/"], &["a[x]"], &["1/14=2"], &["loose"], &["/"], &["ask/", "F1"]] {
            assert_eq!(named(wide), all, "{wide:?}");
        }
    }

    #[test]
    fn what_is_selected_by_a_folder_is_all_that_has_its_name() {
        let ids = |filter: &[String]| {
            let selection = Selection { filter: filter.to_vec(), ..Selection::default() };
            let selected = selection.select(&[Stage::Sim]).expect("the scenarios can be read");
            let ids = selected.units.into_iter().flat_map(|unit| unit.cells).map(|cell| cell.id);
            ids.collect::<BTreeSet<String>>()
        };
        let all = ids(&[]);
        let folders: BTreeSet<&str> = all.iter().filter_map(|id| id.split_inclusive('/').next()).collect();
        assert!(folders.len() > 10, "{folders:?}");
        for folder in folders {
            let of_it: BTreeSet<String> = all.iter().filter(|id| id.contains(folder)).cloned().collect();
            assert_eq!(ids(&[folder.to_owned()]), of_it, "{folder}");
        }
    }
}
