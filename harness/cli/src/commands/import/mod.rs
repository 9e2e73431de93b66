//! `rehang import`: what a log shows of its end, and a scenario that does the same.
//!
//! Invariants: everything that is written has been masked; what the scenario is said to do has been tried on sim, and
//! if it does something else, the output says so and the exit code is 1.

mod report;

use self::report::{Report, unreadable};
use super::{Code, CommandError};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehang_judge::Row;
use rehang_logs::{End, Format, ImportError, Imported, Options, Said, limits};
use rehang_os::sim::SimKernel;
use rehang_runner::outputs;
use rehang_runner::unit::{self, Unit, Wanted};
use rehang_scenario::text::one_of;
use rehang_scenario::{BlockedOn, OutcomeKind, Scenario, Span, Stage, to_toml};
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// Says how a log ended, and makes a scenario of it.
///
/// The verdict is one of: `completed`, `failed`, `ended-open` (no final event: killed, crashed or hung, the log cannot
/// tell), `hung` (the log itself, its clock, a wrapper's line or you say so), `unreadable`. Of a log that ended open the
/// scenario is the hang that it would be.
///
/// Reads Claude Code's stream-json output and session transcripts, message logs of the agent SDKs, opencode's events, exports,
/// stored events and `run --format json`, Codex's `--json` events and rollouts, the JSON streams of Gemini CLI, Amp and pi, what
/// `copilot -p` prints, asciicasts, timing files of `script`, recorded exchanges, JSON lines and JSON-RPC of any other agent
/// (the Agent Client Protocol, Copilot CLI, Cursor), wrappers' logs and other lines with a time in front. Secrets and personal
/// data are masked. A hang of which the log gives no reason is not drafted, unless `--guess` is given. Exit code 1: the scenario
/// does not do what the log did; 2: unreadable.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang import agent.jsonl                              how it ended, what was open, and a scenario
  rehang import agent.jsonl --out agent.toml             the scenario into a file; then
  rehang run --scenarios agent.toml --strategy none      it does the same
  rehang import agent.jsonl --hung                       you saw it hang: the log merely stops
  rehang import agent.jsonl --alive-after 20m            it was alive 20 minutes after its last line
  rehang import agent.jsonl --json --out x.toml | jq -r .verdict
  rehang import session.json --turns 40                  more of what came before
  opencode export ses_123 | rehang import - --out x.toml
  sqlite3 -json opencode.db 'select * from event' | rehang import -
  rehang import typescript.timing --typescript typescript
  script(1) writes both with: script --log-out typescript --log-timing typescript.timing")]
pub struct Import {
    /// The log; `-` is stdin.
    pub file: PathBuf,
    /// Write the scenario into this file, which must not exist; else it is printed.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The log's format, if it is not detected: claude, claude-transcript, sdk, opencode-events, opencode-export,
    /// opencode-run, codex, recording, asciicast, script, amp, gemini, pi, opencode-rows, copilot, events, plain.
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<Format>,
    /// The most turns of the scenario; the oldest that the hang does not need go first.
    #[arg(long, value_name = "N", default_value_t = limits::TURNS, value_parser = turns)]
    pub turns: usize,
    /// Draft a scenario even if the log names no mechanism: the hang that is played is then a guess.
    #[arg(long)]
    pub guess: bool,
    /// What you know of its end.
    #[command(flatten)]
    pub end: EndArgs,
    /// The typescript of a timing file of `script`; by default found beside it by its name.
    #[arg(long, value_name = "FILE")]
    pub typescript: Option<PathBuf>,
    /// One JSON object: format, verdict, silent_ms, mechanism, sure, open, because; the scenario and what was read are in it
    /// too.
    #[arg(long)]
    pub json: bool,
}

/// What a user knows of a log's end.
#[derive(Debug, Clone, Default, Args)]
pub struct EndArgs {
    /// It hung, whatever the log's end looks like.
    #[arg(long, conflicts_with = "completed")]
    pub hung: bool,
    /// It completed, though the log shows no end.
    #[arg(long)]
    pub completed: bool,
    /// The process was alive for this long after the log's last line, and so it hung: 20m.
    #[arg(long, value_name = "TIME", value_parser = alive, conflicts_with = "completed")]
    pub alive_after: Option<Span>,
}

impl EndArgs {
    /// What it says.
    pub fn said(&self) -> Said {
        Said {
            hung: if self.hung { Some(true) } else { self.completed.then_some(false) },
            alive_after_ms: self.alive_after.map(Span::as_ms),
        }
    }
}

fn turns(word: &str) -> Result<usize, String> {
    word.parse().ok().filter(|n| *n > 0).ok_or_else(|| "a scenario has turns: give 1 or more".to_owned())
}

fn alive(word: &str) -> Result<Span, String> {
    let span = Span::parse(word).map_err(|e| e.to_string())?;
    let most = Span::ms(limits::ALIVE_MAX_MS);
    if span == Span::ZERO || span > most {
        return Err(format!("from 1ms to {most}"));
    }
    Ok(span)
}

fn format(word: &str) -> Result<Format, String> {
    Format::named(word).ok_or_else(|| one_of(word, Format::ALL.map(Format::name)))
}

/// What a run of the scenario on sim showed.
#[derive(Debug, Clone, Default)]
pub struct Tried {
    /// Of the scenario.
    pub main: Option<Row>,
    /// Of its control arm.
    pub control: Option<Row>,
    /// Why it could not be tried.
    pub fault: Option<String>,
}

impl Tried {
    /// Whether the scenario does what the log did, and its control arm completes.
    pub fn holds(&self, end: End) -> bool {
        let Some(main) = &self.main else { return false };
        let kind = match end {
            End::Completed => OutcomeKind::Completed,
            End::Failed => OutcomeKind::Failed,
            End::Stopped => OutcomeKind::Stopped,
            End::Hung => OutcomeKind::Hung,
        };
        main.outcome == kind && self.control.as_ref().is_none_or(|row| row.outcome == OutcomeKind::Completed)
    }
}

/// Why a log gives no scenario.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It cannot be opened, or the command's own words are wrong.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It is not a log, or not one that can be used.
    #[error("{}: unreadable: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: ImportError,
    },
}

impl From<LogError> for CommandError {
    fn from(error: LogError) -> CommandError {
        match error {
            LogError::Command(error) => error,
            unreadable @ LogError::Unreadable { .. } => CommandError::Usage(unreadable.to_string()),
        }
    }
}

/// Reads a log, with the typescript beside it if it is a timing file, and tries its scenario on sim; the rule for
/// `none` names what the run was blocked on.
///
/// # Errors
/// A log that cannot be read or used.
pub fn import(path: &Path, options: &Options) -> Result<(Imported, Tried), LogError> {
    let named = |e: &dyn std::fmt::Display| CommandError::Usage(format!("{}: {e}", path.display()));
    let (from, length): (Box<dyn Read>, u64) = if path == Path::new("-") {
        (Box::new(std::io::stdin()), 0)
    } else {
        let file = File::open(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => named(&format!("{e}; name the log, or `-` for stdin")),
            _ => named(&e),
        })?;
        let meta = file.metadata().map_err(|e| named(&e))?;
        if meta.is_dir() {
            return Err(CommandError::Usage(format!("{} is a folder: name the log in it", path.display())).into());
        }
        (Box::new(file), meta.len())
    };
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let style = "{elapsed:>4} [{bar:32}] {bytes}/{total_bytes} {bytes_per_sec}";
    bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
    if !std::io::stderr().is_terminal() || length < LARGE_BYTES {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let from = BufReader::with_capacity(256 << 10, from);
    let mut options = options.clone();
    if let Some(beside) = typescript_beside(path, options.format).filter(|_| options.typescript.is_empty()) {
        options.typescript = typescript(&beside)?;
    }
    let imported = rehang_logs::import(from, &options, &mut |bytes| {
        if bytes.wrapping_sub(bar.position()) > LARGE_BYTES / 16 {
            bar.set_position(bytes);
        }
    });
    bar.finish_and_clear();
    let mut imported = imported.map_err(|why| match why {
        ImportError::Io(error) => LogError::Command(named(&error)),
        why => LogError::Unreadable { path: path.to_owned(), why },
    })?;
    let tried = tried(&imported);
    if let Some(row) = tried.main.as_ref().filter(|row| row.outcome == OutcomeKind::Hung) {
        let blocked_on = row.blocked_on.map_or("", BlockedOn::word);
        let rules = rehang_logs::draft::expect(&imported.guess, &imported.draft.scenario, blocked_on);
        imported.draft.scenario.expect.clone_from(&rules);
        if let Some(control) = &mut imported.draft.control {
            control.expect = rules;
        }
    }
    Ok((imported, tried))
}

/// The size, in bytes, from which on a log is read with a progress bar.
const LARGE_BYTES: u64 = 16 << 20;

/// Runs both arms on sim under `none`.
pub fn tried(imported: &Imported) -> Tried {
    let draft = &imported.draft;
    let loaded = rehang_scenario::load("imported.toml", to_toml(&draft.scenario, draft.control.as_ref()).as_bytes());
    let problems = rehang_scenario::check(&loaded, &rehang_runner::catalogue::Strategies::default());
    if loaded.family.is_none() || !problems.is_empty() {
        let why = problems.render(rehang_scenario::Style::Plain);
        return Tried { fault: Some(why), ..Tried::default() };
    }
    let row = |scenario: &Scenario| -> Result<Row, String> {
        let expect = scenario.expect.first().cloned().ok_or("no rule")?;
        let wanted = Wanted::new("imported", "none", expect);
        let unit = Unit::of("imported", scenario, &[Stage::Sim], vec![wanted]);
        let answer = unit::run(&unit, &mut |_| Ok(Box::new(SimKernel::new(rehang_fakes::program))));
        let cell = answer.cells.into_iter().next().ok_or("no cell ran")?;
        cell.row.ok_or_else(|| cell.fault.unwrap_or_default())
    };
    let mut tried = Tried::default();
    match row(&draft.scenario) {
        Ok(found) => tried.main = Some(found),
        Err(why) => tried.fault = Some(why),
    }
    if let Some(control) = &draft.control {
        match row(control) {
            Ok(found) => tried.control = Some(found),
            Err(why) => tried.fault = Some(why),
        }
    }
    tried
}

impl Import {
    /// Imports and reports.
    ///
    /// # Errors
    /// A log that cannot be read or used; a file that cannot be written.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        outputs::must_be_new(self.out.as_deref())?;
        let options = Options {
            format: self.format,
            turns: Some(self.turns),
            said: self.end.said(),
            typescript: self.typescript.as_deref().map(typescript).transpose()?.unwrap_or_default(),
        };
        let (mut imported, tried) = match import(&self.file, &options) {
            Err(LogError::Unreadable { path, why }) => {
                if self.json {
                    writeln!(out, "{}", unreadable(&why.to_string()))?;
                }
                return Err(LogError::Unreadable { path, why }.into());
            }
            read => read?,
        };
        let toml = (self.guess || !imported.guess.is_guess()).then(|| imported.toml());
        if let (Some(path), Some(toml)) = (&self.out, &toml) {
            outputs::write_new(path, toml)?;
        }
        let report = Report::new(&mut imported, &tried, toml.is_some());
        if self.json {
            let mut object = report.json();
            object["scenario"] = json!(toml);
            writeln!(out, "{object}")?;
        } else if self.out.is_some() {
            report.print(out)?;
        } else {
            // the scenario goes to stdout; what is said about it goes to stderr
            report.print(&mut anstream::stderr())?;
            out.write_all(toml.unwrap_or_default().as_bytes())?;
        }
        Ok(self.code(&imported, &tried))
    }

    /// Whether the scenario does what the log did, if one was drafted.
    fn code(&self, imported: &Imported, tried: &Tried) -> Code {
        if !self.guess && imported.guess.is_guess() {
            return Code::Expected;
        }
        if tried.holds(imported.guess.end) { Code::Expected } else { Code::Unexpected }
    }
}

/// The typescript that belongs to a timing file of `script`, by its name; `None` for any other file.
pub fn typescript_beside(log: &Path, format: Option<Format>) -> Option<PathBuf> {
    let timing = format == Some(Format::Script)
        || log.extension().is_some_and(|e| ["timing", "tm", "time"].iter().any(|t| e == *t));
    let stem = log.with_extension("");
    let known = ["", "typescript", "log", "out", "script"]
        .map(|e| if e.is_empty() { stem.clone() } else { stem.with_extension(e) });
    known.into_iter().filter(|_| timing).find(|path| path.is_file() && *path != *log)
}

fn typescript(path: &Path) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| CommandError::Usage(format!("{}: {e}", path.display())))?;
    file.take(TYPESCRIPT_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The most of a typescript that is read.
const TYPESCRIPT_BYTES: u64 = 64 << 20;
