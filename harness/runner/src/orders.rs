//! Every order of the cells of a selection, on the simulated kernel.
//!
//! Invariant: a cell is judged as a run judges it: `none` comes first in each arm, and the control arm before the main arm.
//! The result does not depend on how many threads there are.

use crate::unit::{Unit, Wanted};
use rehang_judge::Verdict;
use rehang_judge::meets::meets;
use rehang_scenario::cells::CellId;
use rehang_scenario::{Arm, Expect, Order, Scenario, Span, Stage, Terminal};
use rehang_search::orders::{Cell, Explored, Found, Limits, explore};
use rehang_stage::threads::in_parallel;
use rehang_stage::{Job, Proofs, Setting, judged};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The baseline.
const NONE: &str = "none";

/// A scenario on a terminal, whose cells' orders are explored.
#[derive(Debug)]
pub struct Group {
    name: String,
    main: Scenario,
    control: Option<Scenario>,
    terminal: Terminal,
    /// The seed whose order comes first.
    seed: u64,
    cells: Vec<Asked>,
}

/// A cell of a group: all seeds of one stack in one arm.
#[derive(Debug)]
struct Asked {
    id: String,
    strategy: String,
    arm: Arm,
    /// What the file expects under each of its seeds.
    expects: Vec<Expect>,
    /// What it expects under some order that no seed gives.
    in_some_order: Vec<Expect>,
}

/// The orders of one cell.
#[derive(Debug)]
pub struct CellOrders {
    /// The cell's name, with the first of its seeds.
    pub id: String,
    /// What came of them.
    pub explored: Explored,
    /// Whether the file expects each verdict that was found, under one of its seeds or under some order.
    pub is_expected: bool,
    /// What the file expects under some order, and none has. Not known of a cell that was only sampled.
    pub missing: Vec<Expect>,
}

impl CellOrders {
    /// Whether all of it is as the file expects.
    pub fn is_as_expected(&self) -> bool {
        self.is_expected && self.missing.is_empty()
    }

    /// Whether its verdict depends on the order.
    pub fn depends(&self) -> bool {
        self.explored.found.len() > 1
    }

    /// The cell's name under one of its orders.
    pub fn under(&self, order: &Order) -> String {
        match self.id.parse::<CellId>() {
            Ok(id) => CellId { order: order.clone(), ..id }.to_string(),
            Err(_) => self.id.clone(),
        }
    }
}

/// The groups of units: their seeds put together.
pub fn groups(units: &[Unit]) -> Vec<Group> {
    let mut groups: BTreeMap<(String, &str), Group> = BTreeMap::new();
    for unit in units.iter().filter(|unit| unit.stages.contains(&Stage::Sim)) {
        let new = || Group {
            name: unit.name.clone(),
            main: unit.main.clone(),
            control: unit.control.clone(),
            terminal: unit.terminal,
            seed: unit.order.seed,
            cells: Vec::new(),
        };
        let group = groups.entry((unit.name.clone(), unit.terminal.name())).or_insert_with(new);
        for wanted in &unit.cells {
            let Wanted { id, strategy, arm, expect, in_some_order } = wanted;
            let known = group.cells.iter().position(|cell| cell.strategy == *strategy && cell.arm == *arm);
            let place = known.unwrap_or_else(|| {
                let (id, strategy, expects, in_some_order) = (id.clone(), strategy.clone(), Vec::new(), Vec::new());
                group.cells.push(Asked { id, strategy, arm: *arm, expects, in_some_order });
                group.cells.len() - 1
            });
            let cell = &mut group.cells[place];
            cell.expects.push(expect.clone());
            for rule in in_some_order {
                if !cell.in_some_order.contains(rule) {
                    cell.in_some_order.push(rule.clone());
                }
            }
        }
    }
    groups.into_values().collect()
}

/// How many cells groups have.
pub fn cells_of(groups: &[Group]) -> usize {
    groups.iter().map(|group| group.cells.len()).sum()
}

/// Explores the orders of all cells on `jobs` threads, and tells `watch` of each cell when it is done. The result is in the
/// order of the cells' names.
pub fn run(groups: &[Group], limits: Limits, jobs: usize, watch: &(dyn Fn(&str) + Sync)) -> Vec<CellOrders> {
    let mut all: Vec<(&Group, Vec<CellOrders>)> = groups.iter().map(|group| (group, Vec::new())).collect();
    // the large ones first, so that no thread waits for one at the end
    all.sort_by_key(|(group, _)| Reverse(group.cells.len()));
    in_parallel(jobs, &mut all, |(group, done)| {
        let mut healthy = Span::ZERO;
        for arm in [Arm::Control, Arm::Main] {
            group.arm(arm, limits, &mut healthy, done, watch);
        }
    });
    let mut cells: Vec<CellOrders> = all.into_iter().flat_map(|(_, done)| done).collect();
    cells.sort_by(|a, b| a.id.cmp(&b.id));
    cells
}

impl Group {
    fn arm(
        &self,
        arm: Arm,
        limits: Limits,
        healthy: &mut Span,
        done: &mut Vec<CellOrders>,
        watch: &(dyn Fn(&str) + Sync),
    ) {
        let scenario = match arm {
            Arm::Main => Some(&self.main),
            Arm::Control => self.control.as_ref(),
        };
        let Some(scenario) = scenario else { return };
        let cells: Vec<&Asked> = self.cells.iter().filter(|cell| cell.arm == arm).collect();
        let setting = |healthy| Setting { name: &self.name, stage: Stage::Sim, arm, healthy };
        // a cycle that is played once more would be the same check in each of many orders
        let job = |stack| Job { proofs: Proofs::Claimed, ..Job::new(scenario, stack, self.terminal, self.seed) };
        let mut kernel = rehang_os::sim::SimKernel::new(rehang_fakes::program);
        let first = judged(&mut kernel, &job(NONE), &setting(*healthy), None).ok().map(|played| played.verdict);
        if let Some(verdict) = first.as_ref().filter(|verdict| verdict.outcome.word() == "completed") {
            *healthy = Span(verdict.virtual_ms());
        }
        if cells.is_empty() {
            return;
        }
        let explored = explore(&Cell { job: job(NONE), setting: setting(*healthy), none: &[] }, limits);
        // the verdict of the seed's own order first: others are judged beside it
        let others = explored.verdicts.iter().filter(|verdict| Some(*verdict) != first.as_ref()).cloned();
        let baselines: Vec<Verdict> = first.iter().cloned().chain(others).collect();
        let mut of_none = Some(explored);
        for cell in cells {
            let explored = match cell.strategy.as_str() {
                NONE => of_none.take(),
                _ => None,
            };
            let explored = explored.unwrap_or_else(|| {
                let cell = Cell { job: job(&cell.strategy), setting: setting(*healthy), none: &baselines };
                explore(&cell, limits)
            });
            watch(&cell.id);
            done.push(cell.compared(explored, &baselines));
        }
    }
}

impl Asked {
    /// What was found beside what the file expects.
    fn compared(&self, explored: Explored, baselines: &[Verdict]) -> CellOrders {
        let meets = |found: &Found, expect: &Expect| {
            let fits = |verdict: &Verdict| baselines.iter().any(|none| meets(verdict, Some(none), expect).is_empty());
            found.verdict.as_ref().is_some_and(fits)
        };
        let expects = || self.expects.iter().chain(&self.in_some_order);
        let is_expected = explored.found.iter().all(|found| expects().any(|expect| meets(found, expect)));
        let mut missing = self.in_some_order.clone();
        // the first is the seed's own
        let is_found = |expect: &Expect| explored.found.iter().skip(1).any(|found| meets(found, expect));
        missing.retain(|expect| explored.is_whole && !is_found(expect));
        CellOrders { id: self.id.clone(), explored, is_expected, missing }
    }
}
