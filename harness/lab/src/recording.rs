//! One real release in its sandbox, and what went over its wires: what `record` writes and `drift` compares.
//!
//! Invariant: a cell that could not be recorded has its reason; a recording in which something of rehang's own went
//! wrong is none.

use rehang_agents::{Installed, Recipe};
use rehang_live::{Exit, Played, Report, SentSignal};
use rehang_model_server::{NOT_OFFERED, NeverAsked};
use rehang_runner::binaries::{fakes, own_binary};
use rehang_scenario::{Does, Person, Scenario, Sees, Span, Terminal};
use rehang_upstream::plan::Cell;
use rehang_upstream::record;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// People who act on an ask do so as soon as this: when they do says nothing. Those who act by the clock keep to it.
const AFTER_MAX: Span = Span::secs(1);
/// The longest that a recording takes from its first model request on: what comes later says nothing new.
pub const DEADLINE_MAX: Duration = Duration::from_secs(30);

/// Why there is no recording, or no comparison.
#[derive(Debug)]
pub enum Why {
    /// This release cannot play it.
    Cannot(String),
    /// It could not be recorded.
    Fault(String),
}

/// What was recorded.
pub struct Recorded {
    /// The scenario as it was played.
    pub scenario: Scenario,
    /// What the release was given.
    pub played: Played,
    /// What happened.
    pub report: Report,
    /// The exchange, masked.
    pub lines: Vec<Value>,
}

/// Plays a cell in its sandbox, for this long at most.
///
/// # Errors
/// The release cannot play it; it could not be recorded.
pub fn recorded(
    cell: &Cell,
    recipe: &Recipe,
    installed: &Installed,
    limit: Duration,
    signal: Option<SentSignal>,
) -> Result<Recorded, Why> {
    let scenario = as_run(cell);
    let live = rehang_live::Cell { signal, counts_left: true, ..live(cell, &scenario, recipe, installed, limit)? };
    let played = rehang_live::played(&live).map_err(|error| Why::Cannot(error.to_string()))?;
    let report = rehang_live::run(&live).map_err(|error| Why::Fault(error.to_string()))?;
    let lines = record::recording(&cell.key.agent, scenario.agent.client(), &report, true);
    // A release that does not offer a tool says so to its model, and that is part of the recording; so is the end of one
    // that does not get as far as its model.
    let ended = report.exit.filter(|exit| matches!(exit, Exit::Code(_)));
    let never =
        ended.and_then(|_| NeverAsked::of(report.requests.main, report.requests.side)).map(|why| why.to_string());
    let is_of_use = |problem: &String| problem.ends_with(NOT_OFFERED) || never.as_ref() == Some(problem);
    if let Some(problem) = report.problems.iter().find(|problem| !is_of_use(problem)) {
        return Err(Why::Fault(format!("the recording is of no use: {problem}")));
    }
    Ok(Recorded { scenario, played, report, lines })
}

impl Recorded {
    /// Writes it to `DIR/AGENT-VERSION/SCENARIO-TERMINAL.jsonl`, and returns where that is.
    ///
    /// # Errors
    /// The folder or the file.
    pub fn write(&self, folder: &Path, cell: &Cell) -> Result<PathBuf, Why> {
        let name = format!("{}-{}", cell.key.scenario, cell.key.terminal);
        let release = format!("{}-{}", cell.key.agent, cell.key.version);
        let refused = |e| Why::Fault(format!("{}: {e}", folder.display()));
        record::write(folder, &release, &name, &self.lines).map_err(refused)
    }
}

/// What the sandbox is told.
///
/// # Errors
/// Our own programs are not where they belong.
pub fn live<'a>(
    cell: &Cell,
    scenario: &'a Scenario,
    recipe: &'a Recipe,
    installed: &'a Installed,
    limit: Duration,
) -> Result<rehang_live::Cell<'a>, Why> {
    Ok(rehang_live::Cell {
        scenario,
        recipe,
        installed,
        terminal: cell.terminal,
        deadline: rehang_live::deadline(scenario).min(limit),
        rehang: own_binary().map_err(|e| Why::Fault(e.to_string()))?,
        fakes: fakes().map_err(|e| Why::Fault(e.to_string()))?,
        supervised: None,
        signal: None,
        counts_left: false,
    })
}

/// A cell's scenario as its release plays it here.
pub fn as_run(cell: &Cell) -> Scenario {
    let mut scenario = (*cell.scenario).clone();
    if cell.key.agent == scenario.agent.kind().word {
        scenario.agent.set_release(&cell.key.version);
    }
    for person in scenario.people.iter_mut().filter(|person| !acts_by_clock(person)) {
        person.after = person.after.min(AFTER_MAX);
    }
    scenario
}

fn acts_by_clock(person: &Person) -> bool {
    person.sees == Some(Sees::Clock) || matches!(person.does, Does::Stop | Does::HangUp | Does::Prompt(_))
}

/// The terminal on which a scenario is recorded if none is named: one whose streams are pipes, whose bytes are the
/// agent's alone.
pub fn terminal(scenario: &Scenario) -> Option<Terminal> {
    scenario.terminals.iter().copied().find(|t| matches!(t, Terminal::Null | Terminal::Pipe))
}

/// These cells, each once: a scenario that several variants give for one release counts once.
pub fn distinct<'c>(cells: impl Iterator<Item = &'c Cell>) -> Vec<&'c Cell> {
    let mut chosen: Vec<(&Cell, Scenario)> = Vec::new();
    for cell in cells {
        let scenario = Scenario { expect: Vec::new(), seeds: Vec::new(), ..as_run(cell) };
        let release = |other: &Cell| (&other.key.agent, &other.key.version) == (&cell.key.agent, &cell.key.version);
        let alike =
            |(other, its): &(&Cell, Scenario)| release(other) && other.terminal == cell.terminal && *its == scenario;
        if !chosen.iter().any(alike) {
            chosen.push((cell, scenario));
        }
    }
    chosen.into_iter().map(|(cell, _)| cell).collect()
}
