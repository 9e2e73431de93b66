//! Tries to break rehang's claims: one trace on both stages, every hang proved, no internal error.
//!
//! [`hostile()`] draws scenarios that are made for that, [`examine`] plays one and says what does not hold, and
//! [`Found`] makes the findings small and keeps each kind of them once.
//!
//! Invariants: the same order gives the same answer; a finding names a file that passes `rehang check`.

mod found;
mod hostile;
pub use hostile::{counting, hostile};

pub use found::{Found, Held};

use crate::case::{Case, NONE};
use crate::limits::rng;
use rehang_judge::timeline;
use rehang_os::Kernel;
use rehang_scenario::{Arm, Scenario, Span, Stage};
use rehang_stage::{Job, JudgedError, Proofs, Setting, TEXT_MAX, judged};
use rehang_trace::{Ended, Trace, What};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Steps of most cells: enough that repeating states are looked for within an instant.
const STEPS: u64 = 4_000;
/// Bytes of a cell's texts. A cell that uses the whole limit on texts takes half a minute in lockstep.
const TEXT: usize = 16 << 20;
/// Steps of a cell that is played patiently: enough that repeating states are looked for across material events.
const STEPS_PATIENT: u64 = 40_000;
/// One scenario in this many is played patiently.
const PATIENT_EVERY: usize = 8;
/// A cell whose lasso is checked may take this many times the steps, and as many texts as any cell.
const PATIENCE: u64 = 10;
/// Strategies that a scenario is played under beside `none`.
const STACKS: usize = 2;
/// Columns of an event in a finding.
const EVENT_WIDTH: usize = 300;

/// What to play and look at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The scenario; its first terminal and seed are played.
    pub scenario: Scenario,
    /// The stacks, each a cell.
    pub stacks: Vec<String>,
    /// The stages; each cell runs twice on each. The traces are compared with that of the first run on the first stage.
    pub stages: Vec<Stage>,
    /// Steps after which a cell is given up.
    pub steps_max: u64,
}

/// What does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breach {
    /// A cell that was proved to hang goes on to an end if no proof is claimed.
    FalseProof,
    /// Two runs of a cell have different traces.
    Difference,
    /// An internal error. A proof that its replay does not confirm is one.
    InternalError,
}

impl Breach {
    /// All of them, in their order.
    pub const ALL: [Breach; 3] = [Breach::FalseProof, Breach::Difference, Breach::InternalError];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Breach::FalseProof => "false proof",
            Breach::Difference => "difference",
            Breach::InternalError => "internal error",
        }
    }
}

/// Something that does not hold in a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What does not hold.
    pub breach: Breach,
    /// Under which stack.
    pub stack: String,
    /// On which stage it was noticed.
    pub stage: Stage,
    /// What was seen, in a line.
    pub what: String,
}

/// How many cells there were, and how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Cells: a scenario on a terminal under a stack.
    pub cells: u64,
    /// Runs of cells, all stages and repetitions together.
    pub runs: u64,
    /// Cells that were proved to hang by a lasso. Each was checked.
    pub lassos: u64,
    /// Cells that were proved to hang by a deadlock.
    pub deadlocks: u64,
    /// Cells that were given up, so that nothing is known of them.
    pub given_up: u64,
    /// Proofs that were false.
    pub false_proofs: u64,
    /// Traces that differ.
    pub differences: u64,
    /// Internal errors.
    pub internal_errors: u64,
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: &Tally) {
        let Tally { cells, runs, lassos, deadlocks, given_up, false_proofs, differences, internal_errors } = *other;
        self.cells += cells;
        self.runs += runs;
        self.lassos += lassos;
        self.deadlocks += deadlocks;
        self.given_up += given_up;
        self.false_proofs += false_proofs;
        self.differences += differences;
        self.internal_errors += internal_errors;
    }

    /// Whether everything held.
    pub fn is_clean(&self) -> bool {
        self.false_proofs + self.differences + self.internal_errors == 0
    }

    fn count(&mut self, breach: Breach) {
        match breach {
            Breach::FalseProof => self.false_proofs += 1,
            Breach::Difference => self.differences += 1,
            Breach::InternalError => self.internal_errors += 1,
        }
    }

    fn end(&mut self, trace: &Trace) {
        self.cells += 1;
        match ended(trace) {
            Some(Ended::Lasso { .. }) => self.lassos += 1,
            Some(Ended::Deadlock(_)) => self.deadlocks += 1,
            Some(Ended::Horizon { .. }) => self.given_up += 1,
            Some(Ended::Settled) | None => {}
        }
    }
}

/// What came of an order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// How many cells, and how they ended.
    pub tally: Tally,
    /// What does not hold.
    pub seen: Vec<Seen>,
}

impl Answer {
    /// The answer of an order whose worker broke off.
    pub fn broke_off(order: &Order, why: &str) -> Answer {
        let stage = order.stages.last().copied().unwrap_or(Stage::Sim);
        let stack = order.stacks.first().cloned().unwrap_or_default();
        let mut answer = Answer::default();
        answer.see(Breach::InternalError, &stack, stage, why.to_owned());
        answer
    }

    fn see(&mut self, breach: Breach, stack: &str, stage: Stage, what: String) {
        self.tally.count(breach);
        self.seen.push(Seen { breach, stack: stack.to_owned(), stage, what });
    }
}

/// The orders of the `nth` hostile scenario of a seed: one for each of its terminals.
pub fn orders(seed: u64, nth: u64, stages: &[Stage]) -> Vec<Order> {
    let mut source = rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ nth.wrapping_mul(0xd134_2543_de82_ef95));
    let case = hostile(&mut source);
    let matrix = rehang_strategy::matrix(&case.scenario.agent.wires());
    let mut stacks = vec![NONE.to_owned()];
    for stack in source.some(STACKS, STACKS, |source| source.pick(&matrix)) {
        if !stacks.contains(&stack) {
            stacks.push(stack);
        }
    }
    let steps_max = if source.one_in(PATIENT_EVERY) { STEPS_PATIENT } else { STEPS };
    let other = source.terminal(&case.scenario.agent);
    let mut terminals = case.scenario.terminals.clone();
    if !terminals.contains(&other) {
        terminals.push(other);
    }
    let of = |terminal| {
        let scenario = Scenario { terminals: vec![terminal], ..case.scenario.clone() };
        let case = Case::of(scenario, NONE);
        let order =
            Order { scenario: case.scenario.clone(), stacks: stacks.clone(), stages: stages.to_vec(), steps_max };
        case.is_playable().then_some(order)
    };
    terminals.into_iter().filter_map(of).collect()
}

/// Plays an order and says what does not hold. Each stage gets its kernel from `kernels`.
///
/// Every cell runs twice on each stage, the second time with the cycle of a lasso played once more; then each lasso
/// must also hold in a run that claims none.
pub fn examine<E: Display>(order: &Order, kernels: &mut dyn FnMut(Stage) -> Result<Box<dyn Kernel>, E>) -> Answer {
    let mut answer = Answer::default();
    let mut first: BTreeMap<&str, Trace> = BTreeMap::new();
    for &stage in &order.stages {
        let mut kernel = match kernels(stage) {
            Ok(kernel) => kernel,
            Err(why) => {
                answer.see(Breach::InternalError, NONE, stage, why.to_string());
                continue;
            }
        };
        for stack in &order.stacks {
            let runs = [(Proofs::Claimed, "first"), (Proofs::Replayed, "second")];
            for (proofs, run) in runs {
                answer.tally.runs += 1;
                let limits = (order.steps_max, TEXT);
                let trace = match play(kernel.as_mut(), order, stack, stage, proofs, limits) {
                    Ok(trace) => trace,
                    Err(why) => {
                        answer.see(Breach::InternalError, stack, stage, why.to_string());
                        continue;
                    }
                };
                match first.get(stack.as_str()) {
                    Some(other) if *other != trace => {
                        let what = format!("the {run} run: {}", difference(other, &trace));
                        answer.see(Breach::Difference, stack, stage, what);
                    }
                    Some(_) => {}
                    None => {
                        answer.tally.end(&trace);
                        first.insert(stack, trace);
                    }
                }
            }
        }
    }
    let lassos = first.iter().filter(|(_, trace)| matches!(ended(trace), Some(Ended::Lasso { .. })));
    for (stack, trace) in lassos {
        answer.tally.runs += 1;
        let mut kernel = match kernels(Stage::Sim) {
            Ok(kernel) => kernel,
            Err(why) => {
                answer.see(Breach::InternalError, stack, Stage::Sim, why.to_string());
                continue;
            }
        };
        match unproved(kernel.as_mut(), order, stack) {
            Err(why) => answer.see(Breach::InternalError, stack, Stage::Sim, why.to_string()),
            Ok(on) => {
                if let Some(what) = refutes(&on) {
                    let at = trace.events.last().map_or(String::new(), |event| timeline::clock(event.t));
                    let what = format!("a lasso was claimed at {at}, and without proofs {what}");
                    answer.see(Breach::FalseProof, stack, Stage::Sim, what);
                }
            }
        }
    }
    answer
}

/// Why a cell of an order has no trace.
#[derive(Debug, thiserror::Error)]
enum OrderError {
    /// Its scenario has no terminal, or no seed.
    #[error("an order needs a terminal and a seed")]
    NoCell,
    /// A stack without a seat in this agent, or an internal error.
    #[error(transparent)]
    Judged(#[from] JudgedError),
}

/// Plays the cell on sim without claiming lassos: it goes on to its end, or is given up.
fn unproved(kernel: &mut dyn Kernel, order: &Order, stack: &str) -> Result<Trace, OrderError> {
    let limits = (order.steps_max.saturating_mul(PATIENCE), TEXT_MAX);
    play(kernel, order, stack, Stage::Sim, Proofs::Off, limits)
}

fn play(
    kernel: &mut dyn Kernel,
    order: &Order,
    stack: &str,
    stage: Stage,
    proofs: Proofs,
    (steps_max, text_max): (u64, usize),
) -> Result<Trace, OrderError> {
    let scenario = &order.scenario;
    let (Some(&terminal), Some(&seed)) = (scenario.terminals.first(), scenario.seeds.first()) else {
        return Err(OrderError::NoCell);
    };
    let job = Job { steps_max, text_max, proofs, ..Job::new(scenario, stack, terminal, seed) };
    let setting = Setting { name: "torture", stage, arm: Arm::Main, healthy: Span::ZERO };
    Ok(judged(kernel, &job, &setting, None)?.trace)
}

/// How the scheduler ended a cell.
fn ended(trace: &Trace) -> Option<&Ended> {
    trace.events.iter().rev().find_map(|event| match &event.what {
        What::Ended(ended) => Some(ended),
        _ => None,
    })
}

/// How a run without proofs shows that a lasso was false: it comes to an end, or to a rest that no lasso has.
fn refutes(on: &Trace) -> Option<String> {
    let at = |what: &str| {
        let t = on.events.last().map_or(String::new(), |event| timeline::clock(event.t));
        Some(format!("it {what} at {t}"))
    };
    match ended(on) {
        Some(Ended::Settled) => at("settles"),
        Some(Ended::Deadlock(_)) => at("comes to a deadlock"),
        Some(Ended::Lasso { .. } | Ended::Horizon { .. }) => None,
        None => at("ends without a word"),
    }
}

/// The first event in which two traces of one cell differ.
fn difference(first: &Trace, other: &Trace) -> String {
    let (a, b) = (&first.events, &other.events);
    let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    let show = |trace: &Trace| {
        let text = trace.events.get(at).map(|event| serde_json::to_string(event).unwrap_or_default());
        timeline::cut(&text.unwrap_or_else(|| "the end".to_owned()), EVENT_WIDTH)
    };
    format!("event {} is {}, not {}", at + 1, show(other), show(first))
}

#[cfg(test)]
mod tests;
