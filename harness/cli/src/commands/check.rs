//! `rehang check`: every error of every file, with file, line, caret and a suggestion.
//!
//! Invariant: one bad file hides no other; the exit code is 2 if there is any.

use super::{Code, CommandError};
use crate::shell::quoted;
use crate::terminal::dense;
use clap::Args;
use rehang_runner::corpus::{self, Corpus, default_folder};
use rehang_scenario::problem::Style;
use rehang_scenario::text::counted;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Checks scenario files.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang check my-hang.toml      one file
  rehang check hangs/            all files of a folder
  rehang check --schema > rehang.schema.json
                                 an editor that knows TOML then completes keys and marks errors")]
pub struct Check {
    /// Files and folders; by default the folder `scenarios` here or above.
    #[arg(value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// Print the JSON Schema of scenario files instead.
    #[arg(long, conflicts_with = "paths")]
    pub schema: bool,
}

/// The error of a path that is not there, with what may be done.
fn absent(error: std::io::Error, path: &std::path::Path) -> CommandError {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            let new = quoted(&path.display().to_string());
            CommandError::Usage(format!("{error}; `rehang new {new}` writes a first scenario there"))
        }
        _ => error.into(),
    }
}

impl Check {
    /// Checks and prints.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if self.schema {
            writeln!(out, "{:#}", rehang_scenario::schema())?;
            return Ok(Code::Expected);
        }
        let mut paths = Vec::new();
        let named = if self.paths.is_empty() { vec![default_folder()] } else { self.paths.clone() };
        for path in named {
            paths.extend(corpus::paths(&path).map_err(|error| absent(error, &path))?);
        }
        if paths.is_empty() {
            let named: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
            let what =
                format!("no scenario file (*.toml) in {}; `rehang new FILE` writes a first one", named.join(", "));
            return Err(CommandError::Usage(what));
        }
        let corpus = Corpus::read(&paths);
        let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let style = if color { Style::Colour } else { Style::Plain };
        for (_, problems) in &corpus.broken {
            write!(out, "{}", dense(problems, style))?;
        }
        if paths.len() == 1 && !corpus.broken.is_empty() {
            return Ok(Code::Usage);
        }
        let variants: usize = corpus.families.iter().map(|family| family.variants.len()).sum();
        writeln!(
            out,
            "{}: {} right ({}), {} with errors",
            counted(paths.len(), "file"),
            corpus.families.len(),
            counted(variants, "scenario"),
            corpus.broken.len()
        )?;
        Ok(if corpus.broken.is_empty() { Code::Expected } else { Code::Usage })
    }
}
