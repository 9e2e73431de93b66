//! Random scenarios: what must hold for every correct strategy holds for ours, on both stages.
//!
//! Invariants shown: a run ends or its hang is proved; a cell is a function of its inputs, wherever virtual time
//! begins; guard does not harm a run that ends within an hour, and breaks nothing; lockstep gives the trace of sim. The
//! seed is fixed (`REHANG_CASES` sets how many scenarios, `REHANG_SEED` another seed). A failing scenario is made small
//! and printed as a scenario file; one that is put into the folder `properties` is tried first from then on.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang_fakes::opencode::release::{Abort, Release};
use rehang_judge::Row;
use rehang_runner::kernel::kernel;
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::unit::{Answer, CellAnswer, Unit, Wanted, run};
use rehang_scenario::random::{Kind, Rng};
use rehang_scenario::turns::Turn;
use rehang_scenario::{
    Arm, Expect, Fault, Invariant, ModelDoes, OutcomeKind, Scenario, Span, Stage, VTime, load, to_toml,
};
use rehang_search::case::{Case, NONE};
use rehang_search::limits::rng;
use rehang_search::mutate::fresh;
use rehang_search::{Limits, shrink};
use rehang_stage::threads::in_parallel;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The strategies that are ours.
const OURS: [&str; 2] = ["pending-ask", "guard"];
/// How many scenarios are played under `none`.
const NONE_CASES: u32 = 150;
/// How many scenarios are also played under our own strategies, which may poll for hours of virtual time.
const OUR_CASES: u32 = 40;
/// How many of them are played three times.
const THRICE_CASES: u32 = 20;
/// How many scenarios compare both stages.
const LOCKSTEP_CASES: u32 = 20;
/// A run that ends within this time is a healthy one, whatever it waits for.
const SOON: Span = Span::hours(1);
/// The seed if none is set.
const SEED: u64 = 2;
/// How many smaller scenarios are tried when one fails.
const SMALLER: usize = 300;

/// The result of a property: why a scenario does not have it.
type Holds = Result<(), String>;

fn main() -> ExitCode {
    rehang::dispatch();
    let args = Arguments::from_args();
    let trials = vec![
        Trial::test("a_run_ends_or_its_hang_is_proved", || check(NONE_CASES, ends)),
        Trial::test("a_cell_is_a_function_of_its_inputs", || check(THRICE_CASES, is_determined)),
        Trial::test("guard_harms_nothing_that_ends_within_an_hour", || check(OUR_CASES, is_unharmed)),
        Trial::test("lockstep_gives_the_trace_of_sim", || {
            let exe = std::env::current_exe().map_err(|e| e.to_string())?;
            let fakes = PathBuf::from(env!("CARGO_BIN_EXE_rehang-test-fakes"));
            let pool = Pool::new(Workers { exe, fakes, jobs: processors() });
            check(LOCKSTEP_CASES, |scenario| is_the_same_on_both(&pool, scenario))
        }),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

/// Every run under `none` completes, fails, is stopped, or is shown to hang.
fn ends(scenario: &Scenario) -> Holds {
    let rows = rows(on_sim(&unit(scenario, &["none"]))?)?;
    held(rows[0].outcome != OutcomeKind::Undecided || grows(scenario), || "nothing is proved".to_owned())
}

/// Two runs are the same, in a kernel that has played before or not, and whenever virtual time begins.
fn is_determined(scenario: &Scenario) -> Holds {
    let mut unit = unit(scenario, &stacks(scenario));
    let first = rows(on_sim(&unit)?)?;
    let again = rows(on_sim(&unit)?)?;
    unit.begin = VTime(12_345_678);
    let later = rows(on_sim(&unit)?)?;
    for ((a, b), c) in first.iter().zip(&again).zip(later) {
        held(a.trace_sha256 == b.trace_sha256, || format!("{} differs from run to run", a.strategy))?;
        // an agent prints the time of day, so the traces differ, but their verdicts do not
        let (wall_us, trace_sha256) = (a.wall_us, a.trace_sha256.clone());
        let same = *a == Row { wall_us, trace_sha256, ..c };
        held(same, || format!("{} depends on the begin", a.strategy))?;
    }
    Ok(())
}

/// A run that completes under `none` completes the same way, and no invariant is broken that `none` does not break.
fn is_unharmed(scenario: &Scenario) -> Holds {
    let rows = rows(on_sim(&unit(scenario, &stacks(scenario)))?)?;
    let (none, ours) = rows.split_first().ok_or("no cell ran")?;
    let is_soon = none.virtual_ms <= SOON.as_ms();
    // pending-ask answers at a time of its own, even if somebody is on the way: the scoreboard counts whom that harms
    for row in ours.iter().filter(|row| row.strategy == "guard") {
        let unseen =
            (matches!(none.outcome, OutcomeKind::Hung | OutcomeKind::Undecided) || !is_soon) && leaves(scenario);
        // guard decides by limits which run works for hours and which hangs: the scoreboard counts whom they harm
        let late = |broken: Invariant| !is_soon && broken == Invariant::Harm;
        let completes = none.outcome == OutcomeKind::Completed;
        let own = |broken: Invariant| is_its_own(scenario, broken) && (!completes || !is_soon);
        let left = |broken: Invariant| broken == Invariant::LeftBehind && unseen;
        let excused = |broken: Invariant| none.broken.contains(&broken) || left(broken) || late(broken) || own(broken);
        let broken: Vec<Invariant> = row.broken.iter().copied().filter(|broken| !excused(*broken)).collect();
        held(broken.is_empty(), || format!("{} breaks {broken:?}; none: {}", row.strategy, none.outcome))?;
        let harmed = completes && row.outcome != OutcomeKind::Completed && is_soon;
        held(!harmed, || format!("{}: {}", row.strategy, row.outcome))?;
    }
    Ok(())
}

/// Whether the release itself breaks this once it goes on: opencode's abort leaves open asks, and nothing else is left
/// to do if no client lists them; a `run` that rejects a request says that its user did.
fn is_its_own(scenario: &Scenario, broken: Invariant) -> bool {
    Release::of(&scenario.agent).is_ok_and(|release| match broken {
        Invariant::AskWithoutEnd => release.abort != Abort::Rejects,
        Invariant::AttributedToUser => release.run_rejects_permissions,
        _ => false,
    })
}

/// The real kernel plays the same as the simulated one, byte for byte.
fn is_the_same_on_both(pool: &Pool, scenario: &Scenario) -> Holds {
    let mut unit = unit(scenario, &stacks(scenario));
    unit.stages = vec![Stage::Sim, Stage::Lockstep];
    let answer: Answer = pool.submit(&unit).map_err(|e| e.to_string())?;
    for cell in &answer.cells {
        held(cell.differs.is_none(), || format!("{}: {}", cell.id, cell.differs.as_deref().unwrap_or_default()))?;
    }
    rows(answer)?;
    Ok(())
}

/// Whether this is so; otherwise why it should be.
fn held(is_so: bool, why: impl FnOnce() -> String) -> Holds {
    if is_so { Ok(()) } else { Err(why()) }
}

/// Tries a property on what failed before, then on random scenarios of each kind of agent, side by side; the first failing
/// scenario is made small and printed as a file.
fn check(cases: u32, property: impl Fn(&Scenario) -> Holds + Sync) -> Result<(), Failed> {
    let set = |name| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let (cases, seed) = (set("REHANG_CASES").unwrap_or(cases.into()), set("REHANG_SEED").unwrap_or(SEED));
    for case in failed_before()? {
        property(&case.scenario).map_err(|why| format!("{why}\n\n{}", to_toml(&case.scenario, None)))?;
    }
    let kinds = Kind::all();
    let case = |(nth, kind): (u64, &Kind)| {
        let source: Rng = rng(seed.wrapping_mul(cases) + nth);
        fresh(&mut if nth % 2 == 0 { source } else { source.of_anything() }, *kind)
    };
    let mut tried: Vec<_> = (0..cases).zip(kinds.iter().cycle()).map(|of| (case(of), Ok(()))).collect();
    in_parallel(processors(), &mut tried, |(case, holds)| *holds = property(&case.scenario));
    let Some((case, Err(why))) = tried.into_iter().find(|(_, holds)| holds.is_err()) else { return Ok(()) };
    let limits = Limits { plays: SMALLER, ..Limits::default() };
    let small = shrink(&case, limits, &mut |case| property(&case.scenario).is_err()).case;
    let why = property(&small.scenario).err().unwrap_or(why);
    Err(format!("{why}\n\n{}", to_toml(&small.scenario, None)).into())
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The scenarios of the folder `properties`, by their names.
fn failed_before() -> Result<Vec<Case>, Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("properties");
    let mut files = std::fs::read_dir(&folder)?.map(|file| Ok(file?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    let case = |file: &PathBuf| {
        let name = file.display().to_string();
        let family = load(&name, &std::fs::read(file)?).into_result().map_err(|problems| problems.to_string())?;
        Ok(Case::of(family.variants[0].scenario.clone(), NONE))
    };
    files.iter().map(case).collect()
}

/// `none`, and those of our strategies that have a seat in this agent.
fn stacks(scenario: &Scenario) -> Vec<&'static str> {
    let sits = |stack: &&str| rehang_strategy::stack(stack).is_ok_and(|s| s.seat_in(&scenario.agent.wires()).is_ok());
    std::iter::once("none").chain(OURS.into_iter().filter(sits)).collect()
}

fn unit(scenario: &Scenario, stacks: &[&str]) -> Unit {
    let cell = |stack: &&str| Wanted::new(format!("random::{stack}"), *stack, Expect::completes(Arm::Main));
    Unit::of("random", scenario, &[Stage::Sim], stacks.iter().map(cell).collect())
}

fn on_sim(unit: &Unit) -> Result<Answer, String> {
    Ok(run(unit, &mut |stage| kernel(stage, std::path::Path::new(""))))
}

/// The rows of an answer; a cell in which rehang itself failed is a finding.
fn rows(answer: Answer) -> Result<Vec<Row>, String> {
    let row = |cell: &'_ CellAnswer| match (&cell.row, &cell.fault) {
        (Some(_), None) => Ok(()),
        (_, fault) => Err(format!("{}: {fault:?}", cell.id)),
    };
    answer.cells.iter().try_for_each(row)?;
    Ok(answer.cells.into_iter().filter_map(|cell| cell.row).collect())
}

/// Whether a model's stream may break for ever after a subagent's call, in a release that leaves running what the
/// broken stream began: each retry adds a subagent that runs on, so no state ever repeats, and the cell stays
/// undecided. The same where every response ends without a finish: opencode asks on at once, and each response is one
/// more message (upstream/stream-without-finish).
fn grows(scenario: &Scenario) -> bool {
    let release = Release::of(&scenario.agent);
    let never_finishes =
        |fault: &Fault| matches!(fault, Fault::Model(m) if m.response == 0 && m.does == ModelDoes::NoFinish);
    if release.is_ok() && scenario.faults.iter().any(never_finishes) {
        return true;
    }
    let leaves = release.is_ok_and(|release| !release.retry_stops_tools);
    let breaks = |fault: &Fault| matches!(fault, Fault::Model(_));
    let task = |turn: &Turn| matches!(turn, Turn::Task(_));
    let subagent_is_cut = |turn: &Turn| matches!(turn, Turn::Task(task) if task.turns.iter().any(is_cut));
    scenario.turns.iter().any(subagent_is_cut)
        || (leaves && scenario.faults.iter().any(breaks) && scenario.turns.iter().any(task))
}

/// Whether opencode's limit of 5 minutes of silence cuts it: a subagent's text grows with each retry of it.
fn is_cut(turn: &Turn) -> bool {
    matches!(turn, Turn::Compact(span) | Turn::Think(span) if *span >= Span::mins(5))
}

/// Whether an agent that ends regularly leaves a program of the scenario: in the background, or because it takes no
/// signal in the time that its agent gives it. If `none` does not end soon, that is not checked.
fn leaves(scenario: &Scenario) -> bool {
    let text = serde_json::to_string(scenario).unwrap_or_default();
    ["\"background\"", "\"setsid\"", "\"raise\"", "\"ignore\""].iter().any(|word| text.contains(word))
}
