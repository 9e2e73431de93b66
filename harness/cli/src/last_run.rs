//! Which cells failed in the last run, for `run --last-failed`.
//!
//! Invariant: the file is replaced as a whole after each run, so it never mixes two runs; a run does not fail because it
//! cannot be written.

use crate::error::CommandError;
use crate::last;
use rehang_runner::run::Outcome;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastRun {
    /// The names of the cells, in their order.
    pub cells: Vec<String>,
    /// The scenario files of the run, as its command named them.
    pub scenarios: Vec<PathBuf>,
    /// The folder in which it was started: a scenario's name is made of its path from there.
    pub folder: PathBuf,
}

/// The file: `last-run.json` in rehang's cache (`REHANG_CACHE`, `XDG_CACHE_HOME/rehang`, `~/.cache/rehang`).
fn file() -> PathBuf {
    rehang_processes::cache::folder().join("last-run.json")
}

/// Keeps what failed in this run.
pub fn keep(outcome: &Outcome) {
    let failed = outcome.cells.iter().filter(|cell| cell.is_failure()).map(|cell| cell.id.clone());
    let cells: BTreeSet<String> = failed.collect();
    let here = std::env::current_dir().unwrap_or_default();
    let record = json!({ "cells": cells, "scenarios": outcome.scenarios, "folder": here });
    let _ = last::replace(&file(), &record.to_string());
}

/// What failed in the last run.
///
/// # Errors
/// There was none, what it left cannot be read, or it was started in another folder.
pub fn read() -> Result<LastRun, CommandError> {
    let file = file();
    let none = |why: &str| {
        let text =
            format!("no last run is known ({}: {why}); `rehang run` without --last-failed comes first", file.display());
        CommandError::Usage(text)
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(none("no such file")),
        Err(error) => return Err(none(&error.to_string())),
    };
    let last = parsed(&text).ok_or_else(|| none("not what a run writes"))?;
    if std::env::current_dir().is_ok_and(|here| here != last.folder) {
        let text = format!("the last run was in {}; say this there", last.folder.display());
        return Err(CommandError::Usage(text));
    }
    Ok(last)
}

fn parsed(text: &str) -> Option<LastRun> {
    let value: Value = serde_json::from_str(text).ok()?;
    let words = |key: &str| -> Option<Vec<String>> {
        value[key].as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let scenarios = words("scenarios")?.into_iter().map(PathBuf::from).collect();
    Some(LastRun { cells: words("cells")?, scenarios, folder: PathBuf::from(value["folder"].as_str()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_none() {
        let text = r#"{"cells":["a::none::null::1"],"scenarios":["a.toml"],"folder":"/x"}"#;
        let cells = vec!["a::none::null::1".to_owned()];
        let whole = LastRun { cells, scenarios: vec![PathBuf::from("a.toml")], folder: PathBuf::from("/x") };
        assert_eq!(parsed(text), Some(whole));
        for other in ["", "[]", r#"{"cells":[1],"scenarios":[]}"#, r#"{"cells":[]}"#] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
