//! `rehang list --mechanisms`: what the corpus has of each way to hang.
//!
//! Invariant: a hang counts if its proof was made here and now, by playing the scenario without a strategy on the simulated
//! kernel; a scenario that runs only in lockstep is counted as a scenario, and its hang is not. A release counts if one of its
//! cells in `compat.json` hung in a scenario of the mechanism.

use crate::on_record;
use rehang_judge::verdict::Outcome;
use rehang_os::sim::SimKernel;
use rehang_runner::unit::Unit;
use rehang_scenario::{Arm, Mechanism, Span, Stage};
use rehang_stage::{Job, Setting, judged};
use rehang_upstream::plan::Named;
use std::collections::{BTreeMap, BTreeSet};

/// What there is of one mechanism.
#[derive(Debug, Default)]
struct Has {
    files: BTreeSet<String>,
    scenarios: BTreeSet<String>,
    hangs: BTreeSet<String>,
    controls: BTreeSet<String>,
    releases: BTreeSet<String>,
}

/// The lines of the table, and then its sums. `real` are the scenarios for real releases, those that no fake plays among
/// them.
pub fn table(units: &[Unit], real: &[Named]) -> Vec<String> {
    let mut all: BTreeMap<&str, Has> = BTreeMap::new();
    for unit in units {
        let has = all.entry(unit.main.mechanism.as_str()).or_default();
        has.files.insert(unit.name.split('[').next().unwrap_or_default().to_owned());
        has.scenarios.insert(unit.name.clone());
        if unit.control.is_some() {
            has.controls.insert(unit.name.clone());
        }
        if !has.hangs.contains(&unit.name) && hangs(unit) {
            has.hangs.insert(unit.name.clone());
        }
    }
    for Named { name, scenario } in real {
        let has = all.entry(scenario.mechanism.as_str()).or_default();
        // the same names as of the units: what a fake plays too is counted once
        has.files.insert(format!("upstream/{}", name.split('[').next().unwrap_or_default()));
        has.scenarios.insert(format!("upstream/{name}"));
        let of_it = on_record::hangs().filter(|row| row.scenario == *name);
        has.releases.extend(of_it.map(|row| format!("{}@{}", row.agent, row.version)));
    }
    let mut lines = vec![row("", "mechanism", ["files", "scenarios", "hangs", "controls", "releases"], "")];
    lines.extend(Mechanism::ALL.iter().map(|mechanism| line(*mechanism, all.get(mechanism.id()))));
    let sum = |of: fn(&Has) -> usize| all.values().map(of).sum::<usize>().to_string();
    let releases: BTreeSet<&String> = all.values().flat_map(|has| &has.releases).collect();
    let [files, scenarios] = [sum(|h| h.files.len()), sum(|h| h.scenarios.len())];
    let [hangs, controls] = [sum(|h| h.hangs.len()), sum(|h| h.controls.len())];
    let sums = [files, scenarios, hangs, controls, releases.len().to_string()];
    lines.push(row("", "all", sums.each_ref().map(String::as_str), ""));
    lines
}

fn line(mechanism: Mechanism, has: Option<&Has>) -> String {
    let note = match (has, mechanism.why_no_hang()) {
        (None, _) => "no scenario",
        (Some(has), Some(why)) if has.hangs.is_empty() => why,
        (Some(has), None) if has.hangs.is_empty() => "no proved hang",
        _ => "",
    };
    let none = Has::default();
    let has = has.unwrap_or(&none);
    let counts = [has.files.len(), has.scenarios.len(), has.hangs.len(), has.controls.len(), has.releases.len()];
    let counts = counts.map(|n| n.to_string());
    row(mechanism.id(), mechanism.name(), counts.each_ref().map(String::as_str), note)
}

fn row(id: &str, name: &str, [files, scenarios, hangs, controls, releases]: [&str; 5], note: &str) -> String {
    let line = format!("{id:<4} {name:<32} {files:>5} {scenarios:>9} {hangs:>6} {controls:>8} {releases:>8}  {note}");
    line.trim_end().to_owned()
}

/// Whether this unit's scenario is proved to hang if no strategy acts.
fn hangs(unit: &Unit) -> bool {
    let plays = unit.stages.contains(&Stage::Sim) && unit.cells.iter().any(|cell| cell.strategy == "none");
    let job = Job::new(&unit.main, "none", unit.terminal, unit.order.seed);
    let setting = Setting { name: &unit.name, stage: Stage::Sim, arm: Arm::Main, healthy: Span::ZERO };
    let mut kernel = SimKernel::new(rehang_fakes::registry::program);
    plays
        && judged(&mut kernel, &job, &setting, None)
            .is_ok_and(|played| matches!(played.verdict.outcome, Outcome::Hung { .. }))
}
