//! Plays a unit: its stages one after the other, in each both arms, in each arm `none` and then all other cells.
//!
//! Invariant: a cell shares the trace of `none` in lockstep only if both have one trace on sim, and `none` has that one in
//! lockstep too: then whatever its strategy is told is what it was told on sim, where it did nothing.

use super::{Alike, Answer, CellAnswer, Hashes, SAMPLE, TIMELINE_WIDTH, Unit, Wanted, failed};
use crate::kernel::KernelError;
use rehang_accept::Seen;
use rehang_judge::meets::{self, meets};
use rehang_judge::score::Share;
use rehang_judge::{CellFacts, Row, Verdict, judge, timeline};
use rehang_os::Kernel;
use rehang_scenario::{Arm, Scenario, Span, Stage, TieChoice, fnv};
use rehang_stage::{JudgedError, Played, RunError, Setting, facts, judged};
use rehang_trace::{Trace, ndjson};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

/// The baseline.
const NONE: &str = "none";

/// Runs a unit. Each stage gets its kernel from `kernel`.
pub fn run(unit: &Unit, kernels: &mut dyn FnMut(Stage) -> Result<Box<dyn Kernel>, KernelError>) -> Answer {
    let mut answer = Answer::default();
    let mut known = Known::default();
    if unit.shares && unit.stages == [Stage::Lockstep] {
        // a cell that cannot be played there is none of those that may share
        if let Ok(mut kernel) = kernels(Stage::Sim) {
            let mut runner = Runner { unit, stage: Stage::Sim, kernel: kernel.as_mut(), healthy: Span::ZERO };
            for arm in [Arm::Control, Arm::Main] {
                runner.compare(arm, &mut known);
            }
        }
    }
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
            runner.arm(arm, &mut known, &mut answer);
        }
    }
    let place = |cell: &CellAnswer| unit.cells.iter().position(|wanted| wanted.id == cell.id);
    answer.cells.sort_by_key(place);
    answer
}

struct Runner<'a> {
    unit: &'a Unit,
    stage: Stage,
    kernel: &'a mut dyn Kernel,
    healthy: Span,
}

/// What the stages before this one have shown.
#[derive(Default)]
struct Known {
    /// Each cell's trace on the first stage, if another follows.
    first: BTreeMap<String, Rc<Trace>>,
    /// The trace of `none` on sim in each arm.
    none: BTreeMap<Arm, Rc<Trace>>,
    /// The cells that have the trace of `none` on sim.
    alike: BTreeSet<String>,
    /// The cells that the scoreboard has.
    scored: BTreeSet<String>,
}

/// What its unit wants to know of a trace.
#[derive(Debug, Clone, Default)]
struct Hash {
    /// Empty if nobody wants it.
    sha256: String,
    digest: Option<u64>,
}

impl Hash {
    fn of(trace: &Trace, wanted: Hashes) -> Hash {
        match wanted {
            Hashes::None => Hash::default(),
            Hashes::Digest => Hash { digest: Some(trace.digest()), ..Hash::default() },
            Hashes::Sha256 => Hash { sha256: ndjson::sha256(trace), ..Hash::default() },
        }
    }
}

struct Ran {
    trace: Rc<Trace>,
    hash: Hash,
    verdict: Verdict,
    facts: CellFacts,
    wall_us: u64,
}

impl<'u> Runner<'u> {
    /// The scenario of an arm, and its cells.
    fn cells(&self, arm: Arm) -> Option<(&'u Scenario, Vec<&'u Wanted>)> {
        let wanted: Vec<&Wanted> = self.unit.cells.iter().filter(|wanted| wanted.arm == arm).collect();
        let scenario = match arm {
            Arm::Main => Some(&self.unit.main),
            Arm::Control => self.unit.control.as_ref(),
        };
        scenario.map(|scenario| (scenario, wanted))
    }

    fn arm(&mut self, arm: Arm, known: &mut Known, answer: &mut Answer) {
        let Some((scenario, wanted)) = self.cells(arm) else { return };
        if wanted.is_empty() && arm == Arm::Main {
            return;
        }
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
        let is_there = self.stage == Stage::Lockstep && known.none.get(&arm) == Some(&baseline.trace);
        for wanted in wanted {
            let alike = match known.alike.contains(&wanted.id) {
                true if is_there && is_sampled(&wanted.id) => Alike::Sampled,
                true if is_there => Alike::Shared,
                _ => Alike::No,
            };
            let ran = match wanted.strategy.as_str() {
                NONE if self.unit.order.is_plain() => None,
                stack => {
                    let ran = match alike {
                        Alike::Shared => self.shared(scenario, stack, arm, &baseline),
                        _ => self.cell(scenario, stack, self.unit.order.choices(), arm, Some(&baseline)),
                    };
                    match ran {
                        Ok(ran) => Some(ran),
                        Err(error) => {
                            answer.cells.push(self.failed(wanted, &error));
                            continue;
                        }
                    }
                }
            };
            if let Some(ran) = ran.as_ref().filter(|_| self.unit.shares && self.stage == Stage::Sim) {
                known.compare(wanted, Rc::ptr_eq(&ran.trace, &baseline.trace), arm, &baseline.trace);
            }
            let ran = ran.as_ref().unwrap_or(&baseline);
            // an order that was chosen for one stack compares no stacks
            if self.unit.order.is_plain() && known.scored.insert(wanted.id.clone()) {
                answer.score.add(&ran.facts, &ran.verdict, &baseline.verdict);
            }
            let shown = self.show(wanted, ran, &baseline, alike, &mut known.first);
            answer.cells.push(shown);
        }
    }

    /// Finds out which cells of an arm have the trace of `none` here, and shows nothing of them.
    fn compare(&mut self, arm: Arm, known: &mut Known) {
        let Some((scenario, wanted)) = self.cells(arm) else { return };
        let others = wanted.into_iter().filter(|wanted| wanted.strategy != NONE).collect::<Vec<_>>();
        if others.is_empty() {
            return;
        }
        let unit = self.unit;
        let Ok(baseline) = rehang_stage::run(self.kernel, &unit.job(scenario, NONE, &[])) else { return };
        let none = Rc::new(baseline.trace);
        for wanted in others {
            let job = unit.job(scenario, &wanted.strategy, &[]);
            let is_alike = rehang_stage::has_trace(self.kernel, &job, &none).unwrap_or(false);
            known.compare(wanted, is_alike, arm, &none);
        }
    }

    fn failed(&self, wanted: &Wanted, error: &JudgedError) -> CellAnswer {
        let misfit = matches!(error, JudgedError::Run(RunError::Order(_))).then(|| error.to_string());
        CellAnswer { misfit, ..failed(self.unit, wanted, self.stage, error.to_string()) }
    }

    fn setting(&self, arm: Arm) -> Setting<'u> {
        Setting { name: &self.unit.name, stage: self.stage, arm, healthy: self.healthy }
    }

    fn cell(
        &mut self,
        scenario: &Scenario,
        stack: &str,
        choices: &[TieChoice],
        arm: Arm,
        none: Option<&Ran>,
    ) -> Result<Ran, JudgedError> {
        let job = self.unit.job(scenario, stack, choices);
        let setting = self.setting(arm);
        let began = Instant::now();
        let Played { trace, verdict, facts, .. } = judged(self.kernel, &job, &setting, none.map(|none| &none.verdict))?;
        let wall_us = micros(began);
        // most traces differ from their first event on, or not at all
        let same = none.filter(|none| *none.trace == trace);
        let (trace, hash) = match same {
            Some(none) => (Rc::clone(&none.trace), none.hash.clone()),
            None => {
                let hash = Hash::of(&trace, self.unit.hashes);
                (Rc::new(trace), hash)
            }
        };
        Ok(Ran { trace, hash, verdict, facts, wall_us })
    }

    /// A cell that is not run: the trace of `none`, judged as its own.
    fn shared(&self, scenario: &Scenario, stack: &str, arm: Arm, none: &Ran) -> Result<Ran, JudgedError> {
        let began = Instant::now();
        let facts = facts(&self.unit.job(scenario, stack, &[]), &self.setting(arm));
        let verdict = judge(&none.trace, &facts, Some(&none.verdict))?;
        let (trace, hash, wall_us) = (Rc::clone(&none.trace), none.hash.clone(), micros(began));
        Ok(Ran { trace, hash, verdict, facts, wall_us })
    }

    fn show(
        &self,
        wanted: &Wanted,
        ran: &Ran,
        none: &Ran,
        alike: Alike,
        first: &mut BTreeMap<String, Rc<Trace>>,
    ) -> CellAnswer {
        let Ran { trace, hash, verdict, facts, wall_us } = ran;
        let found = meets(verdict, Some(&none.verdict), &wanted.expect);
        let unexpected_hang = found.iter().any(|m| m.what == meets::What::UnexpectedHang);
        let seen = (!found.is_empty()).then(|| Seen::of(verdict, &none.verdict));
        let mismatches: Vec<String> = found.into_iter().map(|mismatch| mismatch.line).collect();
        let mut row = Row::new(facts, verdict, hash.sha256.clone(), *wall_us, mismatches.is_empty());
        if wanted.arm == Arm::Control {
            row.scenario.push_str("::control");
        }
        let differs = match first.get(&wanted.id) {
            // for all that share it, the trace of `none` has been compared once
            _ if alike == Alike::Shared => None,
            Some(there) => (there != trace).then(|| difference(there, trace)),
            None => {
                if self.unit.stages.len() > 1 {
                    first.insert(wanted.id.clone(), Rc::clone(trace));
                }
                // in lockstep alone, the trace of `none` is what it has on sim
                (alike == Alike::Sampled && *trace != none.trace).then(|| difference(&none.trace, trace))
            }
        };
        let show = !mismatches.is_empty() || differs.is_some() || self.unit.keep_traces;
        let written = self.unit.keep_traces.then(|| {
            let mut out = Vec::new();
            let header = facts.header();
            match ndjson::write(&header, trace, &mut out) {
                Ok(()) => String::from_utf8_lossy(&out).into_owned(),
                Err(error) => error.to_string(),
            }
        });
        CellAnswer {
            id: wanted.id.clone(),
            arm: wanted.arm,
            stage: self.stage,
            mechanism: facts.mechanism.clone(),
            title: self.unit.main.title.clone(),
            row: Some(row),
            digest: hash.digest,
            share: Some(Share::of(facts, verdict, &none.verdict)),
            alike,
            mismatches,
            unexpected_hang,
            fault: None,
            misfit: None,
            differs,
            timeline: show.then(|| timeline::timeline(trace, TIMELINE_WIDTH)),
            story: show.then(|| timeline::story(trace, TIMELINE_WIDTH)),
            trace: written,
            seen,
        }
    }
}

impl Known {
    fn compare(&mut self, wanted: &Wanted, is_alike: bool, arm: Arm, none: &Rc<Trace>) {
        if is_alike {
            self.none.entry(arm).or_insert_with(|| Rc::clone(none));
            self.alike.insert(wanted.id.clone());
        }
    }
}

/// Whether the cell of this name is one of the sample: by its name alone, whatever else is selected.
fn is_sampled(id: &str) -> bool {
    let hash = fnv::hash(fnv::START, id.bytes());
    (hash >> 32).is_multiple_of(SAMPLE)
}

fn micros(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)
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
