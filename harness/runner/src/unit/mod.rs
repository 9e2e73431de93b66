//! A unit of work: one variant on one terminal with one seed, under all its strategies and in both arms.
//!
//! Invariant: `none` runs first in each arm, since every other cell is judged beside it; the control arm runs
//! before the main arm, since bounds start from how long a healthy run takes.

mod play;

pub use play::run;

use rehang_accept::Seen;
use rehang_judge::Row;
use rehang_judge::score::{Scoreboard, Share};
use rehang_scenario::cells::{Cell, CellId};
use rehang_scenario::{Arm, Expect, Order, Scenario, Stage, Terminal, TieChoice, VTime};
use rehang_stage::{Job, STEPS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Columns of the timelines in answers: a worker does not know the terminal, and a report cuts them to its own width.
pub const TIMELINE_WIDTH: usize = 200;

/// What is computed of a trace, for those who compare runs without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hashes {
    /// Nothing.
    None,
    /// Its digest, for a comparison with other runs of this command ([`CellAnswer::digest`]).
    Digest,
    /// The SHA-256 of its text, for a row that is shown.
    Sha256,
}

/// A unit of work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unit {
    /// The family and the variant, as cells call them.
    pub name: String,
    /// The main arm.
    pub main: Scenario,
    /// The control arm.
    pub control: Option<Scenario>,
    /// The terminal of all its cells.
    pub terminal: Terminal,
    /// The seed of all its cells, and choices at ties if there are some. `none`, beside which they are judged, runs under
    /// the seed alone: ties of another stack are others.
    pub order: Order,
    /// Where they run.
    pub stages: Vec<Stage>,
    /// What to run and what must come out.
    pub cells: Vec<Wanted>,
    /// Whether the traces of all cells are wanted, not only of those that fail.
    pub keep_traces: bool,
    /// What the traces are reduced to. The stages are compared without: event by event.
    pub hashes: Hashes,
    /// The instant at which virtual time begins.
    pub begin: VTime,
    /// Steps after which a cell is given up.
    pub steps_max: u64,
    /// In lockstep, what has the trace of `none` on sim shares it, but for a sample of [`SAMPLE`].
    pub shares: bool,
}

/// Of how many cells that could share a trace, one is run all the same, and compared.
pub const SAMPLE: u64 = 8;

impl Unit {
    /// A scenario alone, without a control arm: on its first terminal, with its first seed.
    pub fn of(name: &str, scenario: &Scenario, stages: &[Stage], cells: Vec<Wanted>) -> Unit {
        Unit {
            name: name.to_owned(),
            main: scenario.clone(),
            control: None,
            terminal: scenario.terminals.first().copied().unwrap_or(Terminal::Null),
            order: scenario.seeds.first().copied().unwrap_or(1).into(),
            stages: stages.to_vec(),
            cells,
            keep_traces: false,
            hashes: Hashes::None,
            begin: VTime::ZERO,
            steps_max: STEPS_MAX,
            shares: false,
        }
    }

    /// Lets its cells share what is known already, if it is played under no chosen order and its scenario on sim too.
    pub fn share(&mut self) {
        let only = self.main.stages.as_ref().is_none_or(|stages| stages.only.contains(&Stage::Sim));
        self.shares = only && self.order.is_plain();
    }

    /// How many runs of cells it has: each cell counts once per stage.
    pub fn runs(&self) -> u64 {
        (self.cells.len() * self.stages.len()) as u64
    }

    fn job<'j>(&self, scenario: &'j Scenario, stack: &'j str, choices: &'j [TieChoice]) -> Job<'j> {
        let (terminal, seed, begin) = (self.terminal, self.order.seed, self.begin);
        Job { choices, begin, steps_max: self.steps_max, ..Job::new(scenario, stack, terminal, seed) }
    }
}

/// A cell of a unit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wanted {
    /// The cell's name.
    pub id: String,
    /// Its stack.
    pub strategy: String,
    /// Its arm.
    pub arm: Arm,
    /// What must come out.
    pub expect: Expect,
    /// What must come out under some order that no seed gives, each under its own: for the exploration of orders alone.
    #[serde(skip)]
    pub in_some_order: Vec<Expect>,
}

impl Wanted {
    /// A cell of the main arm.
    pub fn new(id: impl Into<String>, strategy: impl Into<String>, expect: Expect) -> Wanted {
        Wanted { id: id.into(), strategy: strategy.into(), arm: Arm::Main, expect, in_some_order: Vec::new() }
    }
}

/// What came out of a unit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Its cells, stage by stage in the order asked for.
    pub cells: Vec<CellAnswer>,
    /// How the scoreboard counts them; a cell that ran on two stages counts once.
    pub score: Scoreboard,
}

/// What came out of one cell on one stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellAnswer {
    /// The cell's name.
    pub id: String,
    /// Its arm.
    pub arm: Arm,
    /// Where it ran, or was to run.
    pub stage: Stage,
    /// Its mechanism.
    pub mechanism: String,
    /// What happens in its scenario, in a line.
    pub title: String,
    /// Its row; `None` if rehang itself failed.
    pub row: Option<Row>,
    /// Its trace's digest, if the unit wants it ([`Hashes::Digest`]).
    pub digest: Option<u64>,
    /// What it adds to the scoreboard, if it counts; `None` if rehang itself failed.
    pub share: Option<Share>,
    /// Whether it has the trace of `none` by itself.
    pub alike: Alike,
    /// What is not as expected, a line each.
    pub mismatches: Vec<String>,
    /// A hang where none was expected.
    pub unexpected_hang: bool,
    /// An internal error.
    pub fault: Option<String>,
    /// Why its order does not fit it: the same text as in `fault`, for what is a mistake of the one who wrote the order.
    pub misfit: Option<String>,
    /// How the trace on this stage differs from that on the first stage.
    pub differs: Option<String>,
    /// The timeline, if the cell is not as expected.
    pub timeline: Option<String>,
    /// The same without what goes over wires.
    pub story: Option<String>,
    /// The trace, NDJSON, if it is wanted.
    pub trace: Option<String>,
    /// What a rule could say of it, if its own does not fit.
    pub seen: Option<Seen>,
}

/// Whether a cell in lockstep may share the trace of `none`: whether it has that one on sim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alike {
    /// It may not, or it was not asked for: the cell was run.
    #[default]
    No,
    /// It may, and the cell was run all the same, and compared.
    Sampled,
    /// It may: the cell was not run here.
    Shared,
}

impl CellAnswer {
    /// Whether the cell is not as expected, for whatever reason.
    pub fn is_failure(&self) -> bool {
        !self.mismatches.is_empty() || self.fault.is_some() || self.differs.is_some()
    }

    /// Why the cell is not as expected, a line each.
    pub fn why(&self) -> Vec<String> {
        let mut lines = self.mismatches.clone();
        lines.extend(self.fault.iter().map(|fault| format!("internal error: {fault}")));
        lines.extend(self.differs.iter().map(|d| format!("not the trace of the other stage: {d}")));
        lines
    }
}

/// The cells of a unit whose worker broke off.
pub fn broke(unit: &Unit, why: &str) -> Vec<CellAnswer> {
    // only the last stage has processes
    let stage = unit.stages.last().copied().unwrap_or(Stage::Sim);
    unit.cells.iter().map(|wanted| failed(unit, wanted, stage, why.to_owned())).collect()
}

fn failed(unit: &Unit, wanted: &Wanted, stage: Stage, fault: String) -> CellAnswer {
    CellAnswer {
        id: wanted.id.clone(),
        arm: wanted.arm,
        stage,
        mechanism: unit.main.mechanism.clone(),
        title: unit.main.title.clone(),
        row: None,
        digest: None,
        share: None,
        alike: Alike::No,
        mismatches: Vec::new(),
        unexpected_hang: false,
        fault: Some(fault),
        misfit: None,
        differs: None,
        timeline: None,
        story: None,
        trace: None,
        seen: None,
    }
}

/// The units of cells, in order.
pub fn units<'a>(
    family: &'a rehang_scenario::file::Family,
    cells: impl Iterator<Item = &'a Cell<'a>>,
    stages: &[Stage],
) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut places: BTreeMap<(String, Terminal, Order), usize> = BTreeMap::new();
    for cell in cells {
        let CellId { variant, terminal, order, .. } = &cell.id;
        let key = (variant.clone(), *terminal, order.clone());
        let Some(of) = family.variants.iter().find(|v| v.name == *variant) else { continue };
        let place = *places.entry(key).or_insert_with(|| {
            let only = of.scenario.stages.as_ref().map(|s| s.only.as_slice());
            let stages = stages.iter().copied().filter(|s| only.is_none_or(|only| only.contains(s))).collect();
            units.push(Unit {
                name: variant_name(&family.name, variant),
                main: played(&of.scenario),
                control: of.control.as_ref().map(played),
                terminal: *terminal,
                order: order.clone(),
                stages,
                cells: Vec::new(),
                keep_traces: false,
                hashes: Hashes::None,
                shares: false,
                steps_max: STEPS_MAX,
                begin: VTime::ZERO,
            });
            units.len() - 1
        });
        units[place].cells.push(Wanted {
            id: cell.id.to_string(),
            strategy: cell.id.strategy.clone(),
            arm: cell.id.arm,
            expect: expected(cell.expect),
            in_some_order: cell.in_some_order.iter().map(|rule| expected(rule)).collect(),
        });
    }
    units
}

/// A variant's whole name, as cells call it: `question/releases[1.3.2]`.
pub fn variant_name(family: &str, variant: &str) -> String {
    if variant.is_empty() { family.to_owned() } else { format!("{family}[{variant}]") }
}

/// A scenario without its expectations: each cell has its own.
fn played(scenario: &Scenario) -> Scenario {
    Scenario { expect: Vec::new(), ..scenario.clone() }
}

/// A rule without its list of cells: its cell is one of them.
fn expected(rule: &Expect) -> Expect {
    Expect { strategies: Vec::new(), terminals: Vec::new(), seeds: Vec::new(), ..rule.clone() }
}

#[cfg(test)]
mod tests;
