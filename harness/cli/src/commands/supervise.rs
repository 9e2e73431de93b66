//! `rehang supervise`: a real command under a strategy.
//!
//! Invariant: the exit code is the command's own if it ended by itself, whatever the strategy found.

use super::CommandError;
use clap::Args;
use rehang_logs::mask::Mask;
use rehang_processes::machine;
use rehang_scenario::Span;
use rehang_supervise::events::EventsTo;
use rehang_supervise::{CANNOT_RUN, NOT_FOUND, Order, SuperviseError, supervise};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run a command for real under a strategy: what hangs is ended, with its evidence kept.
///
/// The default, `guard`, inspects the processes while there is no output. It ends what cannot go on, after 30 seconds to 65
/// minutes, depending on the cause (`rehang explain guard`), and leaves a silent build alone. A process that a finished
/// command left on its output is ended half a minute later.
///
/// Exit codes: the command's own where it ended by itself or was finished but for a process that held its output (128 + N for
/// a signal) · 123 a hang was ended · 124 the time of --wall was over · 125 rehang could not supervise it, or could not write
/// its output · 126 the command cannot be run · 127 there is no such command · 2 wrong arguments.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang supervise -- claude -p 'fix the tests'
  rehang supervise --wall 30m --evidence ./hang -- ./ci.sh
  rehang supervise --dry-run --events hangs.ndjson -- claude -p 'fix the tests'
  rehang supervise --strategy 'idle@f54b32f(timeout=10m)' -- make")]
pub struct Supervise {
    /// The stack; `rehang list --strategies` lists those that can run around a process.
    #[arg(long, value_name = "STACK", default_value = "guard")]
    pub strategy: String,
    /// End the command after this time, whatever it does: `30m`, `4h`. Without it there is no such limit.
    #[arg(long, value_name = "SPAN", value_parser = crate::commands::span)]
    pub wall: Option<Span>,
    /// A program that counts as an agent, though rehang does not know it: its name, its script or its `-m` module. May be
    /// given more than once.
    #[arg(long, value_name = "NAME")]
    pub agent: Vec<String>,
    /// How long a command that is ended has from SIGTERM to SIGKILL, to save its work.
    #[arg(long, value_name = "SPAN", default_value = "5s", value_parser = crate::commands::span)]
    pub grace: Span,
    /// Where output and evidence are kept; without it, in rehang's cache, and only of what was ended.
    #[arg(long, value_name = "DIR")]
    pub evidence: Option<PathBuf>,
    /// Write what is seen, planned and done as lines of JSON (docs/events.md): to a file, which is appended to, or to
    /// descriptor N.
    #[arg(long, value_name = "FILE|fd:N")]
    pub events: Option<EventsTo>,
    /// Look, and say what would be done and when, but do nothing: the command runs to its own end, and the exit code is its
    /// own.
    #[arg(long)]
    pub dry_run: bool,
    /// Let the strategy's clock run this many times as fast as the wall clock: for tests.
    #[arg(long, value_name = "N", default_value_t = 1, hide = true)]
    pub pace: u32,
    /// The command.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// rehang itself could not supervise.
const FAULT: u8 = 125;

impl Supervise {
    /// Runs it; the exit code by this command's own table.
    pub fn run(&self) -> ExitCode {
        match self.supervise() {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                complain!("error: {error}");
                ExitCode::from(error.code() as u8)
            }
        }
    }

    fn supervise(&self) -> Result<u8, CommandError> {
        let stack = |spec: &str| rehang_strategy::stack(spec).map_err(|e| CommandError::Usage(e.to_string()));
        let mut stacks = vec![stack(&self.strategy)?];
        if let Some(wall) = self.wall {
            stacks.push(stack(&format!("wall(cap={wall})"))?);
        }
        let real = |span: Span| Duration::from_millis(span.as_ms());
        let report = supervise(Order {
            argv: self.command.clone(),
            stacks,
            pace: self.pace,
            agents: super::agent_names(&self.agent)?,
            grace: real(self.grace),
            evidence: self.evidence.clone(),
            mask: Some(|text| Mask::default().lines(text)),
            events: self.events.clone(),
            dry_run: self.dry_run,
        });
        match report {
            Ok(report) => {
                if let Some(reason) = &report.reason {
                    let place = report.evidence.map(|e| format!("; evidence in {}", e.display())).unwrap_or_default();
                    complain!("rehang: {reason}{place}");
                }
                if !report.left.is_empty() {
                    complain!("rehang: could not end {}", report.left.join(", "));
                }
                if let Some(lost) = &report.lost {
                    complain!("rehang: {lost}");
                }
                Ok(if report.lost.is_some() && report.code == 0 { FAULT } else { report.code })
            }
            Err(SuperviseError::Start { program, error }) => {
                complain!("rehang: {}", machine::program(&program, &error));
                Ok(if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN })
            }
            Err(SuperviseError::Stack(why)) => {
                Err(CommandError::Usage(format!("--strategy '{}': {why}", self.strategy)))
            }
            Err(error @ SuperviseError::Events { .. }) => Err(CommandError::Usage(error.to_string())),
            Err(error @ (SuperviseError::Machine(_) | SuperviseError::Io(_))) => {
                complain!("rehang: {error}");
                Ok(FAULT)
            }
        }
    }
}
