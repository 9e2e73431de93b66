//! A predicate that never fires would count a defect as not found, whatever a search does. So each known defect is
//! looked for in the scenario that was written for it by hand, and must be seen there.

use rehang_scenario::{Scenario, load};
use rehang_search::Case;
use rehang_search::known::{DEFECTS, Defect};
use std::path::Path;

/// All cells of a shipped file, a terminal and a seed each.
fn scenarios(name: &str) -> Vec<Scenario> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).with_extension("toml");
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let family = load(name, &text).into_result().unwrap_or_else(|problems| panic!("{problems}"));
    let mut all = Vec::new();
    for variant in family.variants {
        for &terminal in &variant.scenario.terminals {
            for &seed in &variant.scenario.seeds {
                all.push(Scenario { terminals: vec![terminal], seeds: vec![seed], ..variant.scenario.clone() });
            }
        }
    }
    all
}

/// The stacks under which a scenario shows a defect.
fn shown(defect: &Defect, scenario: &Scenario) -> Vec<String> {
    let mut stacks = rehang_strategy::matrix(&scenario.agent.wires());
    stacks.retain(|stack| defect.is_of(stack));
    stacks.retain(|stack| {
        let case = Case::of(scenario.clone(), stack);
        let shown = case.play().unwrap_or_else(|fault| panic!("{} under {stack}: {fault}", defect.file));
        defect.shown_by(&case.scenario, stack, &shown)
    });
    stacks
}

#[test]
fn each_is_seen_where_it_was_written_down() {
    let unseen: Vec<&Defect> =
        DEFECTS.iter().filter(|defect| scenarios(defect.file).iter().all(|s| shown(defect, s).is_empty())).collect();
    assert!(unseen.is_empty(), "{unseen:#?}");
}

#[test]
fn none_is_seen_in_a_run_without_trouble() {
    for file in ["benign/no-time-at-all", "question/people"] {
        for scenario in scenarios(file) {
            // strategies that answer by themselves answer people's asks too early: that defect is their own
            let others = |defect: &&Defect| !defect.stack.starts_with("auto-answer");
            for defect in DEFECTS.iter().filter(others) {
                assert_eq!(shown(defect, &scenario), Vec::<String>::new(), "{file}: {}", defect.what);
            }
        }
    }
}
