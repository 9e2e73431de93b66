//! A bounded part of `cargo xtask torture`, and: a cell that is proved to hang does not end with more patience.
//!
//! Invariant: the seeds are fixed, so each run plays the same cells. A failing cell is printed as a scenario file.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang_runner::kernel::kernel;
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::torture::ask;
use rehang_scenario::{Stage, to_toml};
use rehang_search::case::NONE;
use rehang_search::limits::rng;
use rehang_search::torture::{Answer, Found, Order, counting, examine, orders};
use rehang_stage::threads::in_parallel;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many scenarios are played on both stages.
const HOSTILE: u64 = 12;
/// How many scenarios in which something counts are played on sim.
const COUNTING: u64 = 90;
/// How many steps their cells get; without proofs they get ten times as many.
const STEPS: u64 = 8_000;
/// The least number of lassos among them: with fewer, nothing is shown.
const LASSOS: u64 = 6;

fn main() -> ExitCode {
    rehang::dispatch();
    let args = Arguments::from_args();
    let trials = vec![
        Trial::test("hostile_scenarios_break_nothing", hostile),
        Trial::test("patience_brings_no_end_to_what_is_proved_to_hang", patience),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

fn hostile() -> Result<(), Failed> {
    let exe = std::env::current_exe()?;
    let fakes = PathBuf::from(env!("CARGO_BIN_EXE_rehang-test-fakes"));
    let pool = Pool::new(Workers { exe, fakes, jobs: processors() });
    let of_one = |nth| orders(1, nth, &[Stage::Sim, Stage::Lockstep]).into_iter().map(move |order| (nth, order));
    clean(&found((0..HOSTILE).flat_map(of_one), &|order| ask(&pool, order)))
}

/// Counters, people who come late, faults of the Nth event and growing back-off never give a false proof.
fn patience() -> Result<(), Failed> {
    let of_seed = |seed| {
        let mut source = rng(seed);
        let scenario = counting(&mut source).scenario;
        let matrix = rehang_strategy::matrix(&scenario.agent.wires());
        // each stack is an order of its own, since a cell that counts may take half as long as all others
        let stacks = match source.pick(&matrix) {
            other if other == NONE => vec![vec![other.clone(), other]],
            other => vec![vec![NONE.to_owned()], vec![other]],
        };
        let order =
            move |stacks| Order { scenario: scenario.clone(), stacks, stages: vec![Stage::Sim], steps_max: STEPS };
        stacks.into_iter().map(move |stacks| (seed, order(stacks)))
    };
    let play = |order: &Order| examine(order, &mut |stage| kernel(stage, Path::new("")));
    let found = found((0..COUNTING).flat_map(of_seed), &play);
    if found.tally.lassos < LASSOS {
        return Err(format!("only {} lassos were checked", found.tally.lassos).into());
    }
    clean(&found)
}

/// What was found in these, each with the number that it was drawn by: played side by side, taken in their order.
fn found(orders: impl Iterator<Item = (u64, Order)>, play: &(dyn Fn(&Order) -> Answer + Sync)) -> Found {
    let mut orders: Vec<_> = orders.map(|(nth, order)| (nth, order, None)).collect();
    in_parallel(processors(), &mut orders, |(_, order, answer)| *answer = Some(play(order)));
    let mut found = Found::default();
    for (nth, order, answer) in orders {
        found.take(nth, &order, answer.expect("all were played"));
    }
    found
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn clean(found: &Found) -> Result<(), Failed> {
    if found.tally.is_clean() {
        return Ok(());
    }
    let show = |held: &&rehang_search::torture::Held| {
        let mut text = to_toml(&held.order.scenario, None);
        text.truncate(text.char_indices().nth(2_000).map_or(text.len(), |(at, _)| at));
        format!("{}\n{text}", held.line(&held.seen))
    };
    let shown: Vec<String> = found.held().iter().take(5).map(show).collect();
    Err(format!("{:?}\n{}", found.tally, shown.join("\n\n")).into())
}
