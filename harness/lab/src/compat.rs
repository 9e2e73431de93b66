//! `rehang-lab compat`: adds results to `compat.json`.
//!
//! Invariant: the file is written whole, in its one order; a row that was there is replaced by a newer one of its cell alone.

use clap::Args;
use rehang::commands::{Code, CommandError};
use rehang_agents::lock::Lock;
use rehang_agents::{Agent, Source};
use rehang_compat::{Compat, Release, Row, VERSION};
use rehang_scenario::text::counted;
use rehang_upstream::results;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Add results of real releases to compat.json, or write its rows as a results file.
///
/// The file has one row per line, in one order, so that a diff shows which cells changed. A release's package and its hash
/// are taken from the cache in which `rehang upstream` installed it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang-lab compat --rows mine.ndjson        the rows as a results file, which `rehang upstream --results` continues
  rehang-lab compat --add mine.ndjson         and its rows back")]
pub struct CompatArgs {
    /// The file; it is made if it does not exist.
    #[arg(long, value_name = "FILE", default_value = "compat.json")]
    pub file: PathBuf,
    /// Results files of `rehang upstream --results`; their rows replace those of the same cells.
    #[arg(long, value_name = "FILE")]
    pub add: Vec<PathBuf>,
    /// Write the rows into this results file.
    #[arg(long, value_name = "FILE", conflicts_with = "add")]
    pub rows: Option<PathBuf>,
    /// Print the JSON Schema of compat.json.
    #[arg(long, conflicts_with_all = ["add", "rows"])]
    pub schema: bool,
}

impl CompatArgs {
    /// Reads, adds, and writes.
    ///
    /// # Errors
    /// A file that cannot be read or written, or is not in its format.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if self.schema {
            writeln!(out, "{:#}", rehang_compat::schema())?;
            return Ok(Code::Expected);
        }
        let mut compat = read(&self.file)?;
        if let Some(rows) = &self.rows {
            let lines = compat.rows.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
            let lines = lines.map_err(|error| unusable(rows, &error))?;
            std::fs::write(rows, lines.join("\n") + "\n").map_err(|error| unusable(rows, &error))?;
            writeln!(out, "{}: {}", rows.display(), counted(compat.rows.len(), "row"))?;
            return Ok(Code::Expected);
        }
        for file in &self.add {
            let rows = results::read(file).map_err(|error| unusable(file, &error))?;
            writeln!(out, "{}: {}", file.display(), counted(rows.len(), "row"))?;
            compat.add(rows.into_values());
        }
        let folder = rehang_processes::cache::folder();
        let lock = Lock::read(&folder).map_err(|error| unusable(&folder, &error))?;
        releases(&mut compat, &rehang_upstream::agents::all(None)?, &lock);
        let text = compat.write().map_err(|error| unusable(&self.file, &error))?;
        std::fs::write(&self.file, text).map_err(|error| unusable(&self.file, &error))?;
        writeln!(out, "{}: {}", self.file.display(), counted(compat.rows.len(), "row"))?;
        Ok(Code::Expected)
    }
}

/// Reads a file; an empty one if it does not exist.
pub fn read(file: &Path) -> Result<Compat, CommandError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Compat::read(&text).map_err(|error| unusable(file, &error)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Compat { version: VERSION, ..Compat::default() }),
        Err(error) => Err(unusable(file, &error)),
    }
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::Usage(format!("{}: {error}", file.display()))
}

/// Adds each release that has a row and is not in the list, and each hash that is known now.
fn releases(compat: &mut Compat, agents: &[Agent], lock: &Lock) {
    let rows: Vec<(String, String)> =
        compat.rows.iter().map(|row: &Row| (row.agent.clone(), row.version.clone())).collect();
    for (agent, version) in rows {
        if compat.release(&agent, &version).is_some_and(|release| release.hash.is_some()) {
            continue;
        }
        let Some(release) =
            agents.iter().find(|known| known.name() == agent).and_then(|of| release(of, &version, lock))
        else {
            continue;
        };
        compat.releases.retain(|known| (&known.agent, &known.version) != (&agent, &version));
        compat.releases.push(release);
    }
    compat.add([]);
}

fn release(agent: &Agent, version: &str, lock: &Lock) -> Option<Release> {
    let recipe = agent.at(&rehang_agents::Version::parse(version).ok()?).ok()?;
    let (registry, package) = match &recipe.source {
        Source::Npm(package) => ("npm", package.replace("{arch}", rehang_agents::install::arch())),
        Source::Pypi(package) => ("pypi", package.clone()),
    };
    let package_of = format!("{registry}:{package}");
    let packages = lock.releases.get(&format!("{package_of}@{version}"));
    let hash = packages.and_then(|packages| packages.get(&format!("{package}@{version}"))).cloned();
    Some(Release { agent: agent.name().to_owned(), version: version.to_owned(), package: package_of, hash })
}
