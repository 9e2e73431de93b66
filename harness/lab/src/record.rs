//! `rehang-lab record`: what a real release says and is told in a scenario, as a file.
//!
//! Invariant: a recording is written whole or not at all; one that could not be made is named with its reason.

use crate::recording::{self, DEADLINE_MAX, Recorded, Why};
use crate::screens;
use clap::Args;
use rehang::bars::{self, Install};
use rehang::commands::{self, Code, CommandError};
use rehang::report::Format;
use rehang_live::{Exit, ScreenKind, ScreenSize, SentSignal};
use rehang_os::os::Sig;
use rehang_runner::binaries::own_binary;
use rehang_scenario::Terminal;
use rehang_scenario::text::counted;
use rehang_screens::{Moment, Recordings};
use rehang_upstream::agents::{self, Spec};
use rehang_upstream::plan::{self, Cell};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Record what a real release says and is told in a scenario.
///
/// The release runs in its sandbox against a scripted model. What went over its standard streams, or between its server
/// and a client, is written as JSON lines, in order, with ids, instants and folders masked: the form of the recordings
/// that the fakes are tested against, which `drift` compares with and `rehang import` reads.
///
/// Exit codes: 0 all recorded · 1 a release cannot play a scenario · 2 usage, no network, no sandbox · 70 a recording
/// failed.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang-lab record claude@2.1.329 text question          into recordings/claude-2.1.329/
  rehang-lab record opencode@1.2.15 question/server-nobody --out fresh
  rehang-lab record codex@0.169.0 stdin-open --terminal pipe --for 30
  rehang-lab record gemini@0.61.0 bash-never-ends --signal TERM@3
  rehang-lab record --screen codex@0.171.0 streaming permission --size 80x24")]
pub struct Record {
    /// Releases, then scenarios: names of `scenarios/upstream`, or, with a slash, any of the corpus.
    #[arg(value_name = "AGENT@VERSION|SCENARIO", required = true)]
    pub words: Vec<String>,
    /// The folder: each recording is DIR/AGENT-VERSION/SCENARIO-TERMINAL.jsonl.
    #[arg(long, value_name = "DIR", default_value = "recordings")]
    pub out: PathBuf,
    /// Only this terminal; by default the first of a scenario whose streams are pipes.
    #[arg(long, value_name = "NAME", value_parser = commands::terminal)]
    pub terminal: Option<Terminal>,
    /// A run that has not ended this many seconds after its first model request is recorded up to there.
    #[arg(long = "for", value_name = "SECONDS", default_value_t = DEADLINE_MAX.as_secs(),
          value_parser = clap::value_parser!(u64).range(5..=3_600))]
    pub seconds: u64,
    /// Send the agent a signal so many seconds after its first model request: `TERM@3`; then which of its commands go on
    /// after its end is recorded too.
    #[arg(long, value_name = "NAME@SECONDS", value_parser = sent)]
    pub signal: Option<SentSignal>,
    /// Record screens at known moments: the words after the releases are moments (`streaming`, …), all by default. The
    /// releases run on the wall clock on a terminal, and each file is DIR/AGENT@VERSION-SIZE.ndjson; moments that it has
    /// already are replaced.
    #[arg(long, conflicts_with_all = ["terminal", "signal"])]
    pub screen: bool,
    /// With `--screen`: the terminal's sizes, columns x rows.
    #[arg(long, value_name = "SIZE", default_values = ["80x24", "200x50"], value_parser = size, requires = "screen")]
    pub size: Vec<ScreenSize>,
    /// With `--screen`: the terminal answers that it understands the Program Status Protocol (OSC 7501), which terminals
    /// rarely do.
    #[arg(long, requires = "screen")]
    pub program_status: bool,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// A folder with agents of your own.
    #[arg(long, value_name = "DIR")]
    pub agents: Option<PathBuf>,
    /// Scenario files and folders.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
}

impl Record {
    /// Records, writes, prints.
    ///
    /// # Errors
    /// Arguments that do not fit, a registry that cannot be asked, a machine that gives no sandbox.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let all = agents::all(self.agents.as_deref())?;
        let (specs, filters) = agents::specs(&all, &self.words, None)?;
        if specs.is_empty() {
            return Err(CommandError::Usage("name a release: `rehang-lab record claude@2.1.329 text`".to_owned()));
        }
        if self.screen {
            return self.screens(&specs, &filters, out);
        }
        if filters.is_empty() {
            let text = "name a scenario: `rehang list upstream/` shows those of real releases".to_owned();
            return Err(CommandError::Usage(text));
        }
        let scenarios = plan::scenarios(&filters, &self.scenarios)?;
        // before a registry is asked
        own_binary()?;
        let store = agents::store()?;
        let terminals: Vec<Terminal> = self.terminal.into_iter().collect();
        let cells = plan::cells(&agents::recipes(&store, &specs)?, &scenarios, &terminals);
        let cells = recording::distinct(cells.iter().filter(|cell| self.terminal.is_some() || is_first(cell)));
        if cells.is_empty() {
            return Err(CommandError::Usage("no scenario has this terminal; name another with --terminal".to_owned()));
        }
        let bar = bars::of(cells.len());
        let mut worst = Code::Expected;
        for cell in cells {
            bar.set_message(cell.key.command());
            let came = match &cell.recipe {
                Err(why) => Err(Why::Cannot(why.to_string())),
                Ok(recipe) => {
                    let installed = store.install(recipe, &Install::on(&bar));
                    let installed = installed.map_err(|error| CommandError::Usage(error.to_string()))?;
                    let limit = Duration::from_secs(self.seconds);
                    recording::recorded(cell, recipe, &installed, limit, self.signal).and_then(|recorded| {
                        let path = recorded.write(&self.out, cell)?;
                        Ok((recorded, path))
                    })
                }
            };
            worst = match (&came, worst) {
                (Err(Why::Fault(_)), _) | (_, Code::Fault) => Code::Fault,
                (Err(Why::Cannot(_)), _) => Code::Unexpected,
                (Ok(_), worst) => worst,
            };
            self.tell(cell, came, out)?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(worst)
    }

    /// Records screens: a line for each moment that is recorded or is not, and a file for each release and size.
    fn screens(&self, specs: &[Spec], words: &[String], out: &mut dyn Write) -> Result<Code, CommandError> {
        let named = |word: &String| {
            Moment::named(word).ok_or_else(|| {
                let all = Moment::ALL.map(Moment::name).join(", ");
                CommandError::Usage(format!("`{word}` is no moment; name one of {all}"))
            })
        };
        let mut moments = words.iter().map(named).collect::<Result<Vec<_>, _>>()?;
        if moments.is_empty() {
            moments = Moment::ALL.to_vec();
        }
        own_binary()?;
        let store = agents::store()?;
        let recipes = agents::recipes(&store, specs)?;
        let bar = bars::of(recipes.len() * self.size.len() * moments.len());
        let mut worst = Code::Expected;
        for (agent, version, recipe) in &recipes {
            let recipe = recipe.as_ref().map_err(|why| CommandError::Usage(why.to_string()))?;
            let installed = store.install(recipe, &Install::on(&bar));
            let installed = installed.map_err(|error| CommandError::Usage(error.to_string()))?;
            for &size in &self.size {
                let screen = ScreenKind { size, program_status: self.program_status };
                let mut all = Recordings {
                    agent: agent.clone(),
                    version: version.clone(),
                    size: (size.columns, size.rows),
                    program_status: self.program_status,
                    moments: Vec::new(),
                };
                let path = all.path(&self.out);
                if path.exists() {
                    all = Recordings::read(&path).map_err(|error| CommandError::Usage(error.to_string()))?;
                }
                for &moment in &moments {
                    let name = format!("{agent}@{version} {} {}x{}", moment.name(), size.columns, size.rows);
                    bar.set_message(name.clone());
                    let came = screens::record(moment, recipe, &installed, screen);
                    let mut row = json!({ "kind": "screen", "agent": agent, "version": version.to_string(),
                        "moment": moment.name(), "columns": size.columns, "rows": size.rows });
                    let said = match came {
                        Ok(recording) => {
                            row["label"] = json!(recording.label);
                            let said = format!("recorded {name}: {}", recording.label.words());
                            all.moments.retain(|known| known.moment != moment);
                            all.moments.push(recording);
                            // what is recorded is kept if the next one fails
                            all.write(&self.out)?;
                            said
                        }
                        Err(why) => {
                            worst = Code::Unexpected;
                            row["not-run"] = json!(why);
                            format!("not run  {name}: {why}")
                        }
                    };
                    match self.format {
                        Format::Json => writeln!(out, "{row}")?,
                        _ => writeln!(out, "{said}")?,
                    }
                    out.flush()?;
                    bar.inc(1);
                }
            }
        }
        bar.finish_and_clear();
        Ok(worst)
    }

    fn tell(&self, cell: &Cell, came: Result<(Recorded, PathBuf), Why>, out: &mut dyn Write) -> std::io::Result<()> {
        let key = &cell.key;
        let name = format!("{}@{} {} {}", key.agent, key.version, key.scenario, key.terminal);
        let mut row = json!({ "kind": "recording", "agent": key.agent, "version": key.version,
            "scenario": key.scenario, "terminal": key.terminal });
        let said = match came {
            Ok((recorded, path)) => {
                let (lines, ended) = (recorded.lines.len(), ended(&recorded));
                row["path"] = json!(path);
                row["lines"] = json!(lines);
                row["ended"] = json!(ended);
                format!("recorded {name}: {}, {ended}: {}", counted(lines, "line"), path.display())
            }
            Err(Why::Cannot(why)) => {
                row["not-run"] = json!(why);
                format!("not run  {name}: {why}")
            }
            Err(Why::Fault(why)) => {
                row["fault"] = json!(why);
                format!("FAULT    {name}: {why}")
            }
        };
        match self.format {
            Format::Json => writeln!(out, "{row}")?,
            _ => writeln!(out, "{said}")?,
        }
        out.flush()
    }
}

/// Reads `80x24`.
fn size(text: &str) -> Result<ScreenSize, String> {
    let (columns, rows) = text.split_once('x').ok_or("write it as 80x24")?;
    let number = |text: &str| match text.parse() {
        Ok(number @ 10..=1_000) => Ok(number),
        _ => Err(format!("`{text}` is no number from 10 to 1000")),
    };
    Ok(ScreenSize { columns: number(columns)?, rows: number(rows)? })
}

/// Reads `TERM@3`.
fn sent(text: &str) -> Result<SentSignal, String> {
    let (name, seconds) = text.split_once('@').ok_or("write it as TERM@3")?;
    let all = [Sig::Hup, Sig::Int, Sig::Quit, Sig::Term, Sig::Kill];
    let sig = all.into_iter().find(|sig| sig.name() == name);
    let sig = sig.ok_or_else(|| format!("`{name}` is none of {}", all.map(Sig::name).join(", ")))?;
    let seconds: u32 = seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?;
    Ok(SentSignal { number: sig.number().into(), after_ms: u64::from(seconds) * 1_000 })
}

/// One terminal of a scenario is enough if none is named.
fn is_first(cell: &Cell) -> bool {
    let first = recording::terminal(&cell.scenario).or(cell.scenario.terminals.first().copied());
    first == Some(cell.terminal)
}

fn ended(recorded: &Recorded) -> String {
    match recorded.report.exit {
        Some(Exit::Code(code)) => format!("exit {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => recorded.report.outcome.kind().word().to_owned(),
    }
}
