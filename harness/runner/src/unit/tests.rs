use super::*;
use rehang_judge::Row;
use rehang_os::os::{CannotStart, Program, Programs, program_name};
use rehang_os::{Kernel, sim::SimKernel};
use rehang_scenario::plan::Plan;
use std::cell::Cell as Counter;

/// A run in which nothing is to be decided, and one strategy that ends it nevertheless.
const HEALTHY: &str = r#"
    title = "Lists a folder"
    mechanism = "F1"
    agent = { opencode = { as = "1.2.15", mode = "run" } }
    turns = [{ bash = { command = "ls", does = [{ sleep = "2s" }, { print = "a" }] } }, { say = "Done." }]
    terminals = ["null"]
    expect = [{ strategies = ["wall(cap=1s)"], outcome = { stopped = "wall" }, breaks = ["harm", "left-behind"] }, { outcome = "as none" }]
"#;
const STACKS: [&str; 8] = [
    "none",
    "wall",
    "wall(cap=1s)",
    "idle@off",
    "idle@f54b32f",
    "not-offered(as=refused)",
    "auto-answer@r1(at=ask)",
    "auto-answer@r2(at=tool)",
];

fn unit(stages: &[Stage]) -> Unit {
    let family = rehang_scenario::load("healthy.toml", HEALTHY.as_bytes()).into_result().expect("a scenario");
    let scenario = &family.variants[0].scenario;
    let rule =
        |stack: &str| scenario.expect.iter().find(|rule| rule.strategies.is_empty() || rule.strategies == [stack]);
    let wanted = STACKS.map(|stack| {
        let expect = expected(rule(stack).expect("a rule"));
        Wanted::new(format!("healthy::{stack}::null::1"), stack, expect)
    });
    let mut unit = Unit::of("healthy", scenario, stages, wanted.to_vec());
    unit.share();
    unit
}

/// The cells of a unit whose processes in lockstep are these.
fn play(unit: &Unit, lockstep: Programs) -> Vec<CellAnswer> {
    let mut kernels = |stage: Stage| -> Result<Box<dyn Kernel>, crate::kernel::KernelError> {
        let programs = if stage == Stage::Sim { rehang_fakes::program } else { lockstep };
        Ok(Box::new(SimKernel::new(programs)))
    };
    run(unit, &mut kernels).cells
}

fn alike(cells: &[CellAnswer]) -> Vec<(&str, Alike)> {
    let of = |cell: &CellAnswer| (cell.stage == Stage::Lockstep).then_some(cell.alike);
    cells.iter().filter_map(|cell| Some((cell.id.split("::").nth(1)?, of(cell)?))).collect()
}

fn rows(cells: &[CellAnswer]) -> Vec<Option<Row>> {
    cells.iter().map(|cell| cell.row.clone().map(|row| Row { wall_us: 0, ..row })).collect()
}

#[test]
fn what_shares_a_trace_has_the_row_that_it_has_when_it_runs() {
    for stages in [&[Stage::Lockstep][..], &[Stage::Sim, Stage::Lockstep]] {
        let unit = unit(stages);
        let shared = play(&unit, rehang_fakes::program);
        let all = play(&Unit { shares: false, ..unit }, rehang_fakes::program);
        assert_eq!(rows(&shared), rows(&all));
        assert!(
            shared.iter().all(|cell| !cell.is_failure()),
            "{:?}",
            shared.iter().map(CellAnswer::why).collect::<Vec<_>>()
        );
        let expected = [
            ("none", Alike::No),
            ("wall", Alike::Shared),
            ("wall(cap=1s)", Alike::No),
            ("idle@off", Alike::Sampled),
            ("idle@f54b32f", Alike::Shared),
            ("not-offered(as=refused)", Alike::Shared),
            ("auto-answer@r1(at=ask)", Alike::Shared),
            ("auto-answer@r2(at=tool)", Alike::Shared),
        ];
        assert_eq!(alike(&shared), expected);
        assert!(alike(&all).iter().all(|(_, alike)| *alike == Alike::No));
    }
}

fn plays_something_else(_: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    rehang_fakes::program(&["fake-tool", "--plays", "[]", "--", "ls"].map(str::to_owned), plan)
}

#[test]
fn where_none_is_another_in_lockstep_nothing_is_shared() {
    let cells = play(&unit(&[Stage::Lockstep]), plays_something_else);
    assert!(cells.len() == STACKS.len() && cells.iter().all(|cell| cell.row.is_some()));
    assert!(alike(&cells).iter().all(|(_, alike)| *alike == Alike::No), "{:?}", alike(&cells));
}

thread_local! {
    static STARTS: Counter<u32> = const { Counter::new(0) };
}

/// Plays the agent of `none`, and something else for each agent after it.
fn plays_once(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    STARTS.set(STARTS.get() + u32::from(program_name(argv) == "fake-opencode"));
    if STARTS.get() > 1 { plays_something_else(argv, plan) } else { rehang_fakes::program(argv, plan) }
}

#[test]
fn a_cell_of_the_sample_that_differs_is_told() {
    for stages in [&[Stage::Lockstep][..], &[Stage::Sim, Stage::Lockstep]] {
        STARTS.set(0);
        let cells = play(&unit(stages), plays_once);
        let told = cells.iter().filter(|cell| cell.differs.is_some());
        let told: Vec<&str> = told.filter_map(|cell| cell.id.split("::").nth(1)).collect();
        // what may not share a trace is run too, and compared where it ran on sim as well
        let ran = if stages.len() == 1 { &["idle@off"][..] } else { &["wall(cap=1s)", "idle@off"] };
        assert_eq!(told, ran);
    }
}

#[test]
fn without_hashes_all_else_is_the_same() {
    let unit = unit(&[Stage::Sim, Stage::Lockstep]);
    let of = |hashes| play(&Unit { hashes, ..unit.clone() }, rehang_fakes::program);
    let digest = of(Hashes::Digest);
    let [hashed, bare] = [Hashes::Sha256, Hashes::None].map(|hashes| rows(&of(hashes)));
    let length = |row: &Option<Row>| row.as_ref().map(|row| row.trace_sha256.len());
    assert!(hashed.iter().all(|row| length(row) == Some(64)) && bare.iter().all(|row| length(row) == Some(0)));
    // both say of the same cells that they have one trace
    for (at, (row, of_it)) in hashed.iter().zip(&digest).enumerate() {
        for (other, of_other) in hashed.iter().zip(&digest).skip(at) {
            let hash = |row: &Option<Row>| row.as_ref().map(|row| row.trace_sha256.clone());
            assert_eq!(hash(row) == hash(other), of_it.digest == of_other.digest, "{} {}", of_it.id, of_other.id);
        }
    }
    assert!(digest.iter().all(|cell| cell.digest.is_some()));
    assert_eq!(rows(&digest), bare);
    let rest = |rows: Vec<Option<Row>>| {
        let rows = rows.into_iter().flatten();
        rows.map(|row| Row { trace_sha256: String::new(), ..row }).collect::<Vec<_>>()
    };
    assert_eq!(rest(hashed), rest(bare));
}
