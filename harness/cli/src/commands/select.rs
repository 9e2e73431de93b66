//! Which cells a command is about: the flags that `run`, `list`, `show` and `score` share.
//!
//! Invariant: a filter that selects nothing is an error that says what there is.

use super::CommandError;
use crate::shell::reading;
use clap::Args;
use rehang_runner::select::{SelectError, Selected, Selection};
use rehang_scenario::{Stage, Terminal};
use std::path::PathBuf;

/// Which cells.
#[derive(Debug, Clone, Default, Args)]
pub struct Select {
    /// Words of cell names, or mechanisms (`F1`); a cell is taken if its name contains one of them. None: all.
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Only these stacks (`idle@f54b32f`, `auto-answer@r3+watcher@pr5`); a name without a version means each.
    #[arg(long, value_name = "STACK")]
    pub strategy: Vec<String>,
    /// Only these terminals.
    #[arg(long, value_name = "TERMINAL", value_parser = terminal)]
    pub terminal: Vec<Terminal>,
    /// Only these seeds; a file's own where none is named.
    #[arg(long = "seed", alias = "seeds", value_name = "N")]
    pub seeds: Vec<u64>,
    /// A name must be the whole name of a scenario or a cell.
    #[arg(long)]
    pub exact: bool,
    /// Only one part of N, to spread a run over machines.
    #[arg(long, value_name = "K/N", value_parser = shard)]
    pub shard: Option<(usize, usize)>,
    /// Scenario files and folders; the folder `scenarios` here or above where none is named.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
    /// Cells that no rule of their file speaks of are cells too; nothing meets what they must be.
    #[arg(skip)]
    pub uncovered: bool,
}

fn terminal(word: &str) -> Result<Terminal, String> {
    serde_json::from_value(word.into()).map_err(|_| format!("one of {}", Terminal::ALL.map(Terminal::name).join(", ")))
}

fn shard(word: &str) -> Result<(usize, usize), String> {
    let (k, n) = word.split_once('/').ok_or("K/N, such as 1/4")?;
    let (k, n): (usize, usize) = (k.parse().map_err(|_| "K/N")?, n.parse().map_err(|_| "K/N")?);
    if k == 0 || k > n { Err(format!("K must be from 1 to {n}")) } else { Ok((k, n)) }
}

impl Select {
    /// The paths of the scenario files.
    ///
    /// # Errors
    /// A path that cannot be read.
    pub fn paths(&self) -> Result<Vec<PathBuf>, CommandError> {
        self.selection().paths().map_err(|error| self.explained(error))
    }

    /// The files.
    fn corpus(&self) -> Result<Corpus, CommandError> {
        if !self.uncovered {
            return Ok(Corpus::read(&self.paths()?));
        }
        let mut corpus = Corpus::read_uncovered(&self.paths()?);
        corpus.families.iter_mut().for_each(rehang_accept::cover);
        Ok(corpus)
    }

    /// Reads the files and picks the cells.
    ///
    /// # Errors
    /// A path that cannot be read; a filter that nothing matches.
    pub fn select(&self, stages: &[Stage], style: Style) -> Result<Selected, CommandError> {
        let mut selected = Selected::default();
        let corpus = self.corpus()?;
        selected.problems = corpus.broken.iter().map(|(_, problems)| problems.render(style)).collect();
        selected.bad_files = corpus.broken.iter().map(|(path, problems)| BadFile::of(path, problems)).collect();
        let (k, n) = self.shard.unwrap_or((1, 1));
        let mut counter = 0;
        // the whole name of a cell names its stack too, though no matrix may have it
        let of_cells = self.filter.iter().filter_map(|filter| Some(filter.parse::<CellId>().ok()?.strategy));
        let catalogue = Strategies { named: self.strategy.iter().cloned().chain(of_cells).collect() };
        for pattern in &self.strategy {
            if let Err(unknown) = catalogue.resolve(pattern) {
                return Err(CommandError::Usage(format!("--strategy '{pattern}': {}", unknown.message)));
            }
        }
        for family in &corpus.families {
            let all = cells(family, &catalogue);
            let wanted = all.cells.iter().filter(|cell| {
                let name = cell.id.to_string();
                // the whole name of a cell means that cell alone, though others' names begin with it
                let named = |filter: &String| match self.exact || filter.parse::<CellId>().is_ok() {
                    true => name == *filter || cell.id.scenario == *filter,
                    false => name.contains(filter.as_str()) || cell.scenario.mechanism == *filter,
                };
                let stack = |pattern: &String| catalogue.matches(pattern, &cell.id.strategy);
                (self.filter.is_empty() || self.filter.iter().any(named))
                    && (self.strategy.is_empty() || self.strategy.iter().any(stack))
                    && (self.terminal.is_empty() || self.terminal.contains(&cell.id.terminal))
                    && (self.seeds.is_empty() || self.seeds.contains(&cell.id.seed))
            });
            let found = units(family, wanted, stages);
            if !found.is_empty() {
                selected.scenarios += 1;
                count_left_out(family, &all, &mut selected.left_out);
            }
            for unit in found {
                counter += 1;
                if counter % n == k - 1 {
                    selected.cells += unit.cells.len();
                    let alone = unit.main.stages.as_ref().is_some_and(|s| s.only == [Stage::Lockstep]);
                    selected.lockstep_only += if alone { unit.cells.len() } else { 0 };
                    selected.units.push(unit);
                }
            }
        }
        if selected.units.is_empty() && selected.problems.is_empty() && self.shard.is_none() {
            return Err(CommandError::Usage(self.nothing_of(&corpus)));
        }
        // longest first would be best, but a run must not depend on measured times: by count is near enough
        selected.units.sort_by_key(|unit| std::cmp::Reverse(unit.cells.len()));
        selected.units.retain(|unit| !unit.stages.is_empty());
        Ok(selected)
    }

    fn selection(&self) -> Selection {
        let Select { filter, strategy, terminal, seeds, exact, shard, scenarios } = self.clone();
        Selection { filter, strategy, terminal, seeds, exact, shard, scenarios }
    }

    /// An error in this command's words.
    fn explained(&self, error: SelectError) -> CommandError {
        CommandError::Usage(match error {
            SelectError::Io(error) => return error.into(),
            SelectError::NoFile(_) => error.to_string(),
            SelectError::Strategy { .. } => format!("--strategy {error}"),
            SelectError::Nothing { files, scenarios } => self.nothing(files, scenarios),
        })
    }

    /// That nothing of these files is meant, and what there is.
    fn nothing(&self, files: usize, scenarios: usize) -> String {
        let filters = self.filter.iter().map(|word| format!(" '{word}'"));
        let words: String = filters.chain(self.strategy.iter().map(|stack| format!(" --strategy '{stack}'"))).collect();
        let own = match self.scenarios.is_empty() {
            true => "; of a scenario file of your own, say `--scenarios FILE`",
            false => "",
        };
        format!(
            "no cell matches{words}; `rehang list{}` names all there are, in {files} files ({scenarios} scenarios){own}",
            reading(&self.scenarios),
        )
    }
}
