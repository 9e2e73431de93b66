//! `rehang export`: a trace becomes a log.
//!
//! Invariant: no file is written over.

use super::{Code, CommandError};
use clap::Args;
use rehang_logs::LogForm;
use rehang_runner::outputs;
use rehang_scenario::text::one_of;
use rehang_trace::{Trace, ndjson};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Writes a trace as a log of its agent.
///
/// The trace is one that `rehang run --traces` or `rehang show --trace` wrote; of several in one file the first is taken.
/// Such a log can be imported again. What a process waits for is in no log, so a few hangs come back as another one.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang show 'question/row-diff::none::null::1' --trace > t.ndjson
  rehang export t.ndjson                                 as its agent would have been logged
  rehang export t.ndjson --format sse --out events.txt   as SSE text
  rehang export t.ndjson | rehang import -               and back")]
pub struct Export {
    /// The trace; `-` is stdin.
    pub trace: PathBuf,
    /// Write the log into this file; else it is printed.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The log's form, if it must not be the agent's own: recording, stream-json, opencode-events, sse, asciicast,
    /// plain.
    #[arg(long, value_name = "FORM", value_parser = form)]
    pub format: Option<LogForm>,
}

fn form(word: &str) -> Result<LogForm, String> {
    LogForm::named(word).ok_or_else(|| one_of(word, LogForm::NAMES.map(|(name, _)| name)))
}

impl Export {
    /// Reads the trace and writes the log.
    ///
    /// # Errors
    /// A trace that cannot be read; a form that holds nothing of it; a file that cannot be written.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let named = |e: &dyn std::fmt::Display| CommandError::Usage(format!("{}: {e}", self.trace.display()));
        let from: Box<dyn Read> = match self.trace == Path::new("-") {
            true => Box::new(std::io::stdin()),
            false => Box::new(File::open(&self.trace).map_err(|e| named(&e))?),
        };
        outputs::must_be_new(self.out.as_deref())?;
        let (_, trace) = first_trace(BufReader::new(from)).map_err(|e| named(&e))?;
        let form = self.format.unwrap_or_else(|| LogForm::of(&trace));
        let mut log = Vec::new();
        rehang_logs::export(&trace, form, &mut log)?;
        if log.is_empty() {
            return Err(named(&"such a log of it would be empty; --format names another form"));
        }
        match &self.out {
            Some(path) => outputs::write_new(path, &log)?,
            None => out.write_all(&log)?,
        }
        Ok(Code::Expected)
    }
}

/// The first trace of a file that holds several.
fn first_trace(mut from: impl BufRead) -> Result<(ndjson::Header, Trace), ndjson::ReadError> {
    let mut text = Vec::new();
    let mut line = Vec::new();
    while from.by_ref().take(ndjson::LINE_MAX_BYTES as u64 + 2).read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        if !text.is_empty() && line.starts_with(b"{\"rehang_trace\"") || text.len() > ndjson::TOTAL_MAX_BYTES {
            break;
        }
        text.append(&mut line);
    }
    ndjson::read(text.as_slice())
}
