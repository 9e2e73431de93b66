//! `rehang-lab site`: which strategy ends which hang, and which release hangs where, as pages for a web server.
//!
//! Invariant: the pages are made of what the commands print: `rehang score`, `compat.json`, the
//! texts of `rehang explain`.

use clap::Args;
use rehang::bars;
use rehang::book;
use rehang::commands::select::Select;
use rehang::commands::{Code, CommandError};
use rehang::complain;
use rehang::place::Where;
use rehang::report::in_the_matrix;
use rehang::shell::command_line;
use rehang_agents::Version;
use rehang_compat::{Key, Row, Rows};
use rehang_report::{Agent, Line, Mechanism, Seen, explained};
use rehang_runner::binaries::workers;
use rehang_runner::outputs;
use rehang_runner::pool::Pool;
use rehang_runner::unit::Unit;
use rehang_scenario::text::{counted, duration};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file that is read if none is named.
const COMPAT: &str = "compat.json";
/// The folder of the scenarios that releases are tried on.
const TRIED: &str = "upstream/";

/// Write a static site: which strategy ends which hang, which release hangs where.
///
/// It plays the selected cells on the simulated kernel, as `rehang score` does, and reads what real releases did from
/// compat.json. The pages are plain HTML without a script; they fetch nothing but their own style sheet.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang-lab site --out site                       all scenarios, and compat.json if it is here
  rehang-lab site --out site question/ permission/ only these: seconds instead of a minute
  rehang-lab site --out site --compat mine.json
  python3 -m http.server -d site                   or open site/index.html")]
pub struct Site {
    /// Which cells.
    #[command(flatten)]
    pub select: Select,
    /// The folder that the pages are written into; files of an earlier site there are replaced.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// What real releases did; `rehang-lab compat` makes such a file of results. By default compat.json, if it is here.
    #[arg(long, value_name = "FILE")]
    pub compat: Option<PathBuf>,
}

impl Site {
    /// Plays, and writes the pages.
    ///
    /// # Errors
    /// A filter that nothing matches, a file that cannot be read, a folder that cannot be written.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let compat = super::compat::read(self.compat.as_deref().unwrap_or(Path::new(COMPAT)))?;
        let rows = compat.by_cell();
        let selected = self.select.select(Where::Sim.stages())?;
        for problem in &selected.problems {
            complain!("{problem}");
        }
        let pool = Pool::new(workers(None)?);
        let outcome = bars::run(&pool, &selected.units, true)?;
        let scenarios = scenarios(&selected.units);
        let ran = format!("{} of {}", counted(outcome.cells.len(), "cell"), counted(selected.scenarios, "scenario"));
        let site = rehang_report::Site {
            command: command_line("rehang-lab"),
            ran: match rows.len() {
                0 => ran,
                n => format!("{ran}; {} of real releases", counted(n, "cell")),
            },
            score: in_the_matrix(&outcome.score).0.ranked(),
            strategies: strategies(),
            mechanisms: mechanisms(&scenarios),
            agents: agents(&rows, &scenarios),
            titles: titles(&scenarios),
            compat,
        };
        let mut files = site.files();
        let text = site.compat.write().map_err(|error| CommandError::Usage(format!("{COMPAT}: {error}")))?;
        files.push((COMPAT.to_owned(), text));
        files.push(("compat.schema.json".to_owned(), format!("{:#}\n", rehang_compat::schema())));
        for (path, _) in &files {
            outputs::folder(self.out.join(path).parent().unwrap_or(&self.out))?;
        }
        for (path, text) in &files {
            outputs::write(&self.out.join(path), text)?;
        }
        writeln!(out, "{}: {}", self.out.join("index.html").display(), counted(files.len(), "file"))?;
        Ok(if selected.problems.is_empty() { Code::Expected } else { Code::Usage })
    }
}

/// The scenarios by name, without their variants: mechanism and title.
fn scenarios(units: &[Unit]) -> BTreeMap<String, (String, String)> {
    let of = |unit: &Unit| {
        let name = unit.name.split('[').next().unwrap_or_default().to_owned();
        (name, (unit.main.mechanism.clone(), unit.main.title.clone()))
    };
    units.iter().map(of).collect()
}

/// The titles of the scenarios that releases are tried on; also of those that no fake plays.
fn titles(scenarios: &BTreeMap<String, (String, String)>) -> BTreeMap<String, String> {
    let played = scenarios.iter().map(|(name, (_, title))| (name.trim_start_matches(TRIED).to_owned(), title.clone()));
    let real = rehang_upstream::plan::scenarios(&[], &[]).unwrap_or_default().into_iter();
    let real = real.map(|one| (one.name.split('[').next().unwrap_or_default().to_owned(), one.scenario.title.clone()));
    played.chain(real).collect()
}

/// Every strategy and stack with what it does.
fn strategies() -> Vec<(String, String)> {
    let single = rehang_strategy::all().into_iter().map(|entry| (entry.name.to_owned(), entry.summary.to_owned()));
    let stacks = rehang_strategy::catalogue::named().iter();
    single.chain(stacks.map(|stack| (stack.name.to_owned(), stack.summary.to_owned()))).collect()
}

fn mechanisms(scenarios: &BTreeMap<String, (String, String)>) -> Vec<Mechanism> {
    let of = |text: rehang_report::Explained| {
        let known = text.id.parse::<rehang_scenario::Mechanism>().ok()?;
        let shown = scenarios.iter().filter(|(_, (id, _))| *id == text.id);
        let scenarios = shown.map(|(name, (_, title))| (name.clone(), title.clone())).collect();
        Some(Mechanism { layer: known.layer().to_owned(), benign: known.is_benign(), scenarios, text })
    };
    explained(book::MECHANISMS).into_iter().filter_map(of).collect()
}

/// The agents of the rows; their releases in the order of semver.
fn agents(rows: &Rows, scenarios: &BTreeMap<String, (String, String)>) -> Vec<Agent> {
    let names: BTreeSet<&str> = rows.values().map(|row| row.agent.as_str()).collect();
    names.into_iter().map(|name| agent(name, rows, scenarios)).collect()
}

fn agent(name: &str, rows: &Rows, scenarios: &BTreeMap<String, (String, String)>) -> Agent {
    let of: Vec<&Row> = rows.values().filter(|row| row.agent == name).collect();
    let mut versions: Vec<String> = of.iter().map(|row| row.version.clone()).collect();
    versions.sort_by_key(|version| (Version::parse(version).ok(), version.clone()));
    versions.dedup();
    let tried: BTreeSet<(&str, &str)> = of.iter().map(|row| (row.scenario.as_str(), row.terminal.as_str())).collect();
    let line = |(scenario, terminal): (&str, &str)| {
        let key = |version: &str| Key {
            agent: name.to_owned(),
            version: version.to_owned(),
            scenario: scenario.to_owned(),
            terminal: terminal.to_owned(),
        };
        let plain = scenario.split('[').next().unwrap_or(scenario);
        let known = scenarios.get(plain).or_else(|| scenarios.get(&format!("{TRIED}{plain}")));
        Line {
            scenario: scenario.to_owned(),
            terminal: terminal.to_owned(),
            mechanism: known.map(|(mechanism, _)| mechanism.clone()),
            cells: versions.iter().map(|version| rows.get(&key(version)).map(seen)).collect(),
            command: key("VERSION").command(),
        }
    };
    Agent { name: name.to_owned(), lines: tried.into_iter().map(line).collect(), versions }
}

fn seen(row: &Row) -> Seen {
    Seen {
        outcome: row.outcome,
        detail: row.detail.clone(),
        took: if row.outcome.is_some() { duration(row.ms) } else { String::new() },
        flaky: !row.flaky.is_empty(),
    }
}
