//! A unit of work: one variant on one terminal with one seed, under all its strategies and in both arms.
//!
//! Invariant: `none` runs first in each arm, since every other cell is judged beside it; the control arm runs
//! before the main arm, since bounds start from how long a healthy run takes.

use crate::kernel::KernelError;
use rehang_accept::Seen;
use rehang_judge::meets::{self, meets};
use rehang_judge::score::{Scoreboard, Share};
use rehang_judge::{CellFacts, Row, Verdict, timeline};
use rehang_os::Kernel;
use rehang_scenario::cells::{Cell, CellId};
use rehang_scenario::{Arm, Expect, Order, Scenario, Span, Stage, Terminal, TieChoice, VTime};
use rehang_stage::{Job, JudgedError, Proofs, RunError, STEPS_MAX, Setting, judged};
use rehang_trace::{Trace, ndjson};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// The baseline.
const NONE: &str = "none";
/// Columns of the timelines in answers: a worker does not know the terminal, and a report cuts them to its own width.
pub const TIMELINE_WIDTH: usize = 200;

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
    /// The instant at which virtual time begins.
    pub begin: VTime,
    /// The cycle of every lasso is played once more, in builds without debug assertions too.
    pub paranoid: bool,
    /// Steps after which a cell is given up.
    pub steps_max: u64,
}

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
            begin: VTime::ZERO,
            paranoid: false,
            steps_max: STEPS_MAX,
        }
    }

    /// How many runs of cells it has: each cell counts once per stage.
    pub fn runs(&self) -> u64 {
        (self.cells.len() * self.stages.len()) as u64
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
    /// What it adds to the scoreboard, if it counts; `None` if rehang itself failed.
    pub share: Option<Share>,
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

/// Runs a unit. Each stage gets its kernel from `kernel`.
pub fn run(unit: &Unit, kernels: &mut dyn FnMut(Stage) -> Result<Box<dyn Kernel>, KernelError>) -> Answer {
    let mut answer = Answer::default();
    let mut first: BTreeMap<String, First> = BTreeMap::new();
    for &stage in &unit.stages {
        let mut kernel = match kernels(stage) {
            Ok(kernel) => kernel,
            Err(error) => {
                let fault = error.to_string();
                answer.cells.extend(unit.cells.iter().map(|wanted| failed(unit, wanted, stage, fault.clone())));
                continue;
            }
        };
        let mut runner = Runner { unit, stage, kernel: kernel.as_mut(), healthy: Span::ZERO };
        for arm in [Arm::Control, Arm::Main] {
            runner.arm(arm, &mut first, &mut answer);
        }
    }
    let place = |cell: &CellAnswer| unit.cells.iter().position(|wanted| wanted.id == cell.id);
    answer.cells.sort_by_key(place);
    answer
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
        share: None,
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

struct Runner<'a> {
    unit: &'a Unit,
    stage: Stage,
    kernel: &'a mut dyn Kernel,
    healthy: Span,
}

/// What a cell was on the first stage.
struct First {
    /// Its trace, if another stage follows.
    trace: Option<Trace>,
    sha: String,
}

struct Ran {
    trace: Trace,
    verdict: Verdict,
    facts: CellFacts,
    wall_us: u64,
}

impl Runner<'_> {
    fn arm(&mut self, arm: Arm, first: &mut BTreeMap<String, First>, answer: &mut Answer) {
        let wanted: Vec<&Wanted> = self.unit.cells.iter().filter(|wanted| wanted.arm == arm).collect();
        let scenario = match arm {
            Arm::Main => Some(&self.unit.main),
            Arm::Control => self.unit.control.as_ref(),
        };
        let Some(scenario) = scenario.filter(|_| !wanted.is_empty() || arm == Arm::Control) else { return };
        let baseline = match self.cell(scenario, NONE, &[], arm, None) {
            Ok(ran) => ran,
            Err(error) => {
                let failed = |wanted: &&Wanted| self.failed(wanted, &error);
                answer.cells.extend(wanted.iter().map(failed));
                return;
            }
        };
        if baseline.verdict.outcome.word() == "completed" {
            self.healthy = Span(baseline.verdict.virtual_ms());
        }
        for wanted in wanted {
            let ran = match wanted.strategy.as_str() {
                NONE if self.unit.order.is_plain() => None,
                stack => match self.cell(scenario, stack, self.unit.order.choices(), arm, Some(&baseline.verdict)) {
                    Ok(ran) => Some(ran),
                    Err(error) => {
                        answer.cells.push(self.failed(wanted, &error));
                        continue;
                    }
                },
            };
            let ran = ran.as_ref().unwrap_or(&baseline);
            // an order that was chosen for one stack compares no stacks
            if self.unit.order.is_plain() && !first.contains_key(&wanted.id) {
                answer.score.add(&ran.facts, &ran.verdict, &baseline.verdict);
            }
            answer.cells.push(self.show(wanted, ran, &baseline.verdict, first));
        }
    }

    fn failed(&self, wanted: &Wanted, error: &JudgedError) -> CellAnswer {
        let misfit = matches!(error, JudgedError::Run(RunError::Order(_))).then(|| error.to_string());
        CellAnswer { misfit, ..failed(self.unit, wanted, self.stage, error.to_string()) }
    }

    fn cell(
        &mut self,
        scenario: &Scenario,
        stack: &str,
        choices: &[TieChoice],
        arm: Arm,
        none: Option<&Verdict>,
    ) -> Result<Ran, JudgedError> {
        let (terminal, seed, begin) = (self.unit.terminal, self.unit.order.seed, self.unit.begin);
        let proofs = if self.unit.paranoid { Proofs::Replayed } else { Proofs::default() };
        let steps_max = self.unit.steps_max;
        let job = Job { choices, begin, proofs, steps_max, ..Job::new(scenario, stack, terminal, seed) };
        let setting = Setting { name: &self.unit.name, stage: self.stage, arm, healthy: self.healthy };
        let began = Instant::now();
        let played = judged(self.kernel, &job, &setting, none)?;
        let wall_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(Ran { trace: played.trace, verdict: played.verdict, facts: played.facts, wall_us })
    }

    fn show(&self, wanted: &Wanted, ran: &Ran, none: &Verdict, first: &mut BTreeMap<String, First>) -> CellAnswer {
        let sha = ndjson::sha256(&ran.trace);
        let found = meets(&ran.verdict, Some(none), &wanted.expect);
        let unexpected_hang = found.iter().any(|m| m.what == meets::What::UnexpectedHang);
        let seen = (!found.is_empty()).then(|| Seen::of(&ran.verdict, none));
        let mismatches: Vec<String> = found.into_iter().map(|mismatch| mismatch.line).collect();
        let mut row = Row::new(&ran.facts, &ran.verdict, sha.clone(), ran.wall_us, mismatches.is_empty());
        if wanted.arm == Arm::Control {
            row.scenario.push_str("::control");
        }
        let differs = match first.get(&wanted.id) {
            Some(First { trace, sha: other }) if *other != sha => {
                Some(difference(trace.as_ref().unwrap_or(&ran.trace), &ran.trace))
            }
            Some(_) => None,
            None => {
                let trace = (self.unit.stages.len() > 1).then(|| ran.trace.clone());
                first.insert(wanted.id.clone(), First { trace, sha });
                None
            }
        };
        let show = !mismatches.is_empty() || differs.is_some() || self.unit.keep_traces;
        let trace = self.unit.keep_traces.then(|| {
            let mut out = Vec::new();
            let header = ran.facts.header();
            match ndjson::write(&header, &ran.trace, &mut out) {
                Ok(()) => String::from_utf8_lossy(&out).into_owned(),
                Err(error) => error.to_string(),
            }
        });
        CellAnswer {
            id: wanted.id.clone(),
            arm: wanted.arm,
            stage: self.stage,
            mechanism: ran.facts.mechanism.clone(),
            title: self.unit.main.title.clone(),
            row: Some(row),
            share: Some(Share::of(&ran.facts, &ran.verdict, none)),
            mismatches,
            unexpected_hang,
            fault: None,
            misfit: None,
            differs,
            timeline: show.then(|| timeline::timeline(&ran.trace, TIMELINE_WIDTH)),
            story: show.then(|| timeline::story(&ran.trace, TIMELINE_WIDTH)),
            trace,
            seen,
        }
    }
}

/// The first event in which two traces of one cell differ.
fn difference(a: &Trace, b: &Trace) -> String {
    let at = a.events.iter().zip(&b.events).position(|(a, b)| a != b).unwrap_or(a.events.len().min(b.events.len()));
    let show = |trace: &Trace| {
        let event = trace.events.get(at);
        let text = event.map(|event| serde_json::to_string(event).unwrap_or_default());
        timeline::cut(&text.unwrap_or_else(|| "the end".to_owned()), 400)
    };
    format!("event {}: {} / {}", at + 1, show(a), show(b))
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
                paranoid: false,
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
