//! Random scenarios: what must hold for every correct strategy holds for ours, on both stages.
//!
//! Invariants shown: a run ends or its hang is proved; a cell is a function of its inputs, wherever virtual time
//! begins; our own strategies harm nothing and break nothing; lockstep gives the trace of sim. The seed is fixed
//! (`PROPTEST_CASES` sets how many scenarios, `PROPTEST_RNG_SEED` others); what fails is shrunk, printed as a
//! scenario file, and tried first from then on (`properties.regressions`).

use libtest_mimic::{Arguments, Failed, Trial};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed, TestCaseError, TestError, TestRunner};
use rehang_fakes::opencode::release::Release;
use rehang_judge::Row;
use rehang_runner::kernel::kernel;
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::unit::{Answer, CellAnswer, Unit, Wanted, run};
use rehang_scenario::generate::scenario;
use rehang_scenario::turns::Turn;
use rehang_scenario::{Arm, Expect, Fault, ModelDoes, ModelFault, Scenario, Span, Stage, VTime, to_toml};
use std::path::PathBuf;
use std::process::ExitCode;

/// Our own strategies.
const OURS: [&str; 2] = ["pending-ask", "guard"];
/// Scenarios under `none`.
const NONE_CASES: u32 = 150;
/// Scenarios under our own strategies too, which may poll for hours of virtual time.
const OUR_CASES: u32 = 40;
/// Scenarios of the comparison of both stages.
const LOCKSTEP_CASES: u32 = 30;
/// The least span between two keep-alives: hours of less are millions of steps.
const KEEP_ALIVE: Span = Span::secs(10);

/// How long a failure is shrunk, in milliseconds: it bounds a red run, never a green one.
const SHRINK_MS: u32 = 30_000;

fn main() -> ExitCode {
    rehang::dispatch();
    let args = Arguments::from_args();
    let trials = vec![
        Trial::test("a_run_ends_or_its_hang_is_proved", || check(NONE_CASES, ends)),
        Trial::test("a_cell_is_a_function_of_its_inputs", || check(OUR_CASES, is_determined)),
        Trial::test("our_strategies_harm_nothing", || check(OUR_CASES, is_unharmed)),
        Trial::test("lockstep_gives_the_trace_of_sim", || {
            let exe = std::env::current_exe().map_err(|e| e.to_string())?;
            let fakes = PathBuf::from(env!("CARGO_BIN_EXE_rehang-test-fakes"));
            let pool = Pool::new(Workers { exe, fakes, jobs: 1 });
            check(LOCKSTEP_CASES, |scenario| is_the_same_on_both(&pool, scenario))
        }),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

/// Whatever `none` plays completes, fails, is stopped, or is shown to hang.
fn ends(scenario: &Scenario) -> Result<(), TestCaseError> {
    let rows = rows(on_sim(&unit(scenario, &["none"]))?)?;
    prop_assert!(rows[0].outcome != "undecided" || spins(scenario) || grows(scenario), "nothing is proved");
    Ok(())
}

/// Twice the same, in a kernel that has played before or not, and whenever virtual time begins.
fn is_determined(scenario: &Scenario) -> Result<(), TestCaseError> {
    let mut unit = unit(scenario, &stacks(scenario));
    let first = rows(on_sim(&unit)?)?;
    let again = rows(on_sim(&unit)?)?;
    unit.begin = VTime(12_345_678);
    let later = rows(on_sim(&unit)?)?;
    for ((a, b), c) in first.iter().zip(&again).zip(later) {
        prop_assert_eq!(&a.trace_sha256, &b.trace_sha256, "{} differs from run to run", a.strategy);
        // an agent prints the time of day, so the trace differs, and what it means does not
        let (wall_us, trace_sha256) = (a.wall_us, a.trace_sha256.clone());
        prop_assert_eq!(a, &Row { wall_us, trace_sha256, ..c }, "{} depends on the begin", a.strategy);
    }
    Ok(())
}

/// What completes under `none` completes the same, and no invariant is broken that `none` does not break.
fn is_unharmed(scenario: &Scenario) -> Result<(), TestCaseError> {
    let rows = rows(on_sim(&unit(scenario, &stacks(scenario)))?)?;
    let (none, ours) = rows.split_first().ok_or_else(|| TestCaseError::fail("no cell ran"))?;
    for row in ours {
        let unseen = ["hung", "undecided"].contains(&none.outcome.as_str()) && leaves(scenario);
        // of all dialects only PawWork's `cancelled` has a word for what is refused by policy: pending-ask uses a user's
        let spoken = |name: &String| row.strategy == "pending-ask" && name == "attributed-to-user";
        let excused = |name: &String| none.broken.contains(name) || (name == "left-behind" && unseen) || spoken(name);
        let broken: Vec<&String> = row.broken.iter().filter(|name| !excused(name)).collect();
        prop_assert!(broken.is_empty(), "{} breaks {broken:?}; none: {}", row.strategy, none.outcome);
        prop_assert!(none.outcome != "completed" || row.outcome == "completed", "{}: {}", row.strategy, row.outcome);
    }
    Ok(())
}

/// The real kernel plays what the simulated one does, to the byte.
fn is_the_same_on_both(pool: &Pool, scenario: &Scenario) -> Result<(), TestCaseError> {
    let mut unit = unit(scenario, &stacks(scenario));
    unit.stages = vec![Stage::Sim, Stage::Lockstep];
    let answer: Answer = pool.submit(&unit).map_err(|e| TestCaseError::fail(e.to_string()))?;
    for cell in &answer.cells {
        prop_assert!(cell.differs.is_none(), "{}: {}", cell.id, cell.differs.as_deref().unwrap_or_default());
    }
    rows(answer)?;
    Ok(())
}

/// Runs a property over random scenarios; a failure comes back shrunk, as a file.
fn check(cases: u32, property: impl Fn(&Scenario) -> Result<(), TestCaseError>) -> Result<(), Failed> {
    let default = ProptestConfig::default();
    let config = ProptestConfig {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { cases },
        rng_seed: match default.rng_seed {
            RngSeed::Random => RngSeed::Fixed(2),
            fixed @ RngSeed::Fixed(_) => fixed,
        },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/properties.regressions"
        )))),
        max_shrink_iters: 2_000,
        max_shrink_time: SHRINK_MS,
        ..default
    };
    let mut runner = TestRunner::new(config);
    let found = runner.run(&scenario().prop_map(playable), |scenario| property(&scenario));
    match found {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, scenario)) => Err(format!("{why}\n\n{}", to_toml(&scenario, None)).into()),
        Err(error) => Err(error.to_string().into()),
    }
}

/// One cell a stack: one terminal, one seed, on all stages, and a rule that the file can be run with.
fn playable(mut scenario: Scenario) -> Scenario {
    scenario.terminals.truncate(1);
    scenario.seeds.truncate(1);
    scenario.stages = None;
    scenario.skip.clear();
    scenario.survives.clear();
    scenario.expect = vec![Expect::completes(Arm::Main)];
    for fault in &mut scenario.faults {
        if let Fault::Model(ModelFault { does: ModelDoes::KeepAlive(every), .. }) = fault {
            *every = KEEP_ALIVE.max(*every);
        }
    }
    scenario
}

/// `none` and those of ours that have a seat in this agent.
fn stacks(scenario: &Scenario) -> Vec<&'static str> {
    let sits = |stack: &&str| rehang_strategy::stack(stack).is_ok_and(|s| s.seat_in(&scenario.agent).is_ok());
    std::iter::once("none").chain(OURS.into_iter().filter(sits)).collect()
}

fn unit(scenario: &Scenario, stacks: &[&str]) -> Unit {
    let cell = |stack: &&str| Wanted {
        id: format!("random::{stack}"),
        strategy: (*stack).to_owned(),
        arm: Arm::Main,
        expect: Expect::completes(Arm::Main),
    };
    Unit::of("random", scenario, &[Stage::Sim], stacks.iter().map(cell).collect())
}

fn on_sim(unit: &Unit) -> Result<Answer, TestCaseError> {
    Ok(run(unit, &mut |stage| kernel(stage, std::path::Path::new(""))))
}

/// The rows of an answer; a cell that rehang itself failed at is a finding.
fn rows(answer: Answer) -> Result<Vec<Row>, TestCaseError> {
    let row = |cell: &'_ CellAnswer| match (&cell.row, &cell.fault) {
        (Some(_), None) => Ok(()),
        (_, fault) => Err(TestCaseError::fail(format!("{}: {fault:?}", cell.id))),
    };
    answer.cells.iter().try_for_each(row)?;
    Ok(answer.cells.into_iter().filter_map(|cell| cell.row).collect())
}

/// Whether a model's stream may break for ever behind a subagent's call in a release that leaves what the broken stream
/// began: each retry adds a subagent that runs on, so no state ever comes back, and it stays undecided.
fn grows(scenario: &Scenario) -> bool {
    let leaves = Release::of(&scenario.agent).is_ok_and(|release| !release.retry_stops_tools);
    let breaks = |fault: &Fault| matches!(fault, Fault::Model(_));
    let task = |turn: &Turn| matches!(turn, Turn::Task(_));
    let subagent_is_cut = |turn: &Turn| matches!(turn, Turn::Task(task) if task.turns.iter().any(is_cut));
    scenario.turns.iter().any(subagent_is_cut)
        || (leaves && scenario.faults.iter().any(breaks) && scenario.turns.iter().any(task))
}

/// Whether opencode's limit of 5 minutes without a word cuts it: a subagent's text grows with each retry of it.
fn is_cut(turn: &Turn) -> bool {
    matches!(turn, Turn::Compact(span) | Turn::Think(span) if *span >= Span::mins(5))
}

/// Whether a program of the scenario is left in the background by whoever ends well: where `none` comes to no end, nobody looks.
fn leaves(scenario: &Scenario) -> bool {
    serde_json::to_string(scenario).is_ok_and(|text| text.contains("\"background\"") || text.contains("\"setsid\""))
}

/// Whether a program of the scenario says of itself that it never comes to rest.
fn spins(scenario: &Scenario) -> bool {
    serde_json::to_string(scenario).is_ok_and(|text| text.contains("\"spin\""))
}
