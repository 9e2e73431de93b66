//! Which cells a command applies to: the flags that `run`, `list`, `show` and `score` share.
//!
//! Invariant: a filter that selects nothing is an error that says what there is.

use super::CommandError;
use crate::shell::{quoted, reading};
use clap::Args;
use rehang_processes::machine;
use rehang_runner::corpus::default_folder;
use rehang_runner::rows::PARTS_MAX;
use rehang_runner::select::{SelectError, Selected, Selection};
use rehang_scenario::text::{counted, or};
use rehang_scenario::{Order, OrderError, Stage, Terminal};
use std::path::{Path, PathBuf};

/// Which cells.
#[derive(Debug, Clone, Default, Args)]
pub struct Select {
    /// Scenario files, words of cell names, or mechanisms (`F1`); a cell is taken if its name contains one of them. None:
    /// all.
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Only these stacks (`idle@f54b32f`, `auto-answer@r3+watcher@pr5`); a name without a version means each.
    #[arg(long, value_name = "STACK")]
    pub strategy: Vec<String>,
    /// Only these terminals.
    #[arg(long, value_name = "TERMINAL", value_parser = super::terminal)]
    pub terminal: Vec<Terminal>,
    /// These seeds in place of a file's own: `3`, `1-10`. A seed decides the order of what happens at the same time.
    /// `1/14=2` is seed 1, but at the 14th tie the second candidate runs; `rehang run --orders` prints such orders.
    #[arg(long = "seed", alias = "seeds", value_name = "N", value_parser = seeds)]
    pub seeds: Vec<Seeds>,
    /// Of the named seeds only those that a file has.
    #[arg(skip)]
    pub own_seeds: bool,
    /// A name must be the whole name of a scenario or a cell.
    #[arg(long)]
    pub exact: bool,
    /// Only one part of N, to spread a run over machines; `rehang merge` makes one run of their rows.
    #[arg(long, value_name = "K/N", value_parser = shard)]
    pub shard: Option<(usize, usize)>,
    /// Scenario files and folders; by default the folder `scenarios` here or above.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
    /// Cells that no rule of their file covers are selected too; every result of theirs is reported as not expected.
    #[arg(skip)]
    pub uncovered: bool,
    /// Cells that their file skips are selected too.
    #[arg(skip)]
    pub skipped: bool,
}

/// Some seeds: `3` is one, `1-10` are ten, `1/14=2` is one with a choice at a tie.
#[derive(Debug, Clone)]
pub struct Seeds(Vec<Order>);

impl Seeds {
    /// Whether one of them has choices at ties.
    pub fn has_choices(&self) -> bool {
        self.0.iter().any(|order| !order.is_plain())
    }
}

fn seeds(word: &str) -> Result<Seeds, String> {
    if word.contains('/') {
        return word.parse().map(|order| Seeds(vec![order])).map_err(|error: OrderError| error.to_string());
    }
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let number = |word: &str| word.parse::<u64>().map_err(|_| "N or N-M, such as 1-10".to_owned());
    let (first, last) = (number(first)?, number(last)?);
    match last.checked_sub(first) {
        Some(more) if more < SEEDS_MAX => Ok(Seeds((first..=last).map(Order::from).collect())),
        Some(_) => Err(format!("at most {SEEDS_MAX} seeds")),
        None => Err(format!("{last} is below {first}")),
    }
}

/// The most seeds of a range: a matrix under each takes seconds.
const SEEDS_MAX: u64 = 1_000;

fn shard(word: &str) -> Result<(usize, usize), String> {
    let (k, n) = word.split_once('/').ok_or("K/N, such as 1/4")?;
    let (k, n): (usize, usize) = (k.parse().map_err(|_| "K/N")?, n.parse().map_err(|_| "K/N")?);
    match () {
        () if n > PARTS_MAX => Err(format!("at most {PARTS_MAX} parts")),
        () if k == 0 || k > n => Err(format!("K must be from 1 to {n}")),
        () => Ok((k, n)),
    }
}

impl Select {
    /// Takes each filter that is a path as one: a file, or a folder that is none of the scenarios' own.
    ///
    /// # Errors
    /// A word that can only be a path, and does not exist.
    pub fn take_paths(&mut self) -> Result<(), CommandError> {
        let own = default_folder();
        let is_filter = |word: &str| !word.starts_with(['.', '/']) && own.join(word).is_dir();
        for word in std::mem::take(&mut self.filter) {
            let path = PathBuf::from(&word);
            match std::fs::metadata(&path) {
                Ok(meta) if meta.is_file() || !is_filter(&word) => self.scenarios.push(path),
                Err(error) if word.ends_with(".toml") => {
                    let new = match error.kind() {
                        std::io::ErrorKind::NotFound => {
                            format!("; `rehang new {}` writes a first scenario there", quoted(&word))
                        }
                        _ => String::new(),
                    };
                    return Err(CommandError::Usage(format!("{word}: {}{new}", machine::open(&error))));
                }
                _ => self.filter.push(word),
            }
        }
        Ok(())
    }

    /// The paths of the scenario files.
    ///
    /// # Errors
    /// A path that cannot be read.
    pub fn paths(&self) -> Result<Vec<PathBuf>, CommandError> {
        self.selection().paths().map_err(|error| self.explained(error))
    }

    /// Reads the files and picks the cells.
    ///
    /// # Errors
    /// A path that cannot be read; a filter that nothing matches.
    pub fn select(&self, stages: &[Stage]) -> Result<Selected, CommandError> {
        self.selection().select(stages).map_err(|error| self.explained(error))
    }

    fn selection(&self) -> Selection {
        let Select { filter, strategy, terminal, seeds, own_seeds, exact, shard, scenarios, uncovered, skipped } =
            self.clone();
        let seeds = seeds.into_iter().flat_map(|seeds| seeds.0).collect();
        Selection { filter, strategy, terminal, seeds, own_seeds, exact, shard, scenarios, uncovered, skipped }
    }

    /// A selection error as this command reports it.
    fn explained(&self, error: SelectError) -> CommandError {
        CommandError::Usage(match error {
            SelectError::Io(error) => return error.into(),
            SelectError::NoFile(_) => format!("{error}; `rehang new FILE` writes a first one"),
            SelectError::Order { .. } => error.to_string(),
            SelectError::Strategy { .. } => format!("--strategy {error}"),
            SelectError::Nothing { near, files, scenarios } => self.nothing(near.as_deref(), files, scenarios),
        })
    }

    /// The error if a filter matches nothing in these files: what may have been meant, and what there is.
    fn nothing(&self, near: Option<&str>, files: usize, scenarios: usize) -> String {
        let filters = self.filter.iter().map(|word| format!(" '{word}'"));
        let words: String = filters.chain(self.strategy.iter().map(|stack| format!(" --strategy '{stack}'"))).collect();
        let file = self.filter.iter().map(|word| format!("{word}.toml")).find(|file| Path::new(file).is_file());
        if let Some(file) = file {
            return format!("no cell matches{words}; did you mean the file `{file}`?");
        }
        let own = match self.scenarios.is_empty() {
            true => "; of a scenario file of your own, say `--scenarios FILE`",
            false => "",
        };
        let all = format!(
            "`rehang list{}` names all there are, in {} ({}){own}",
            reading(&self.scenarios),
            counted(files, "file"),
            counted(scenarios, "scenario"),
        );
        format!("no cell matches{words}{}", or(near, &all))
    }
}
