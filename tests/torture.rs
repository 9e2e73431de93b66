//! A bounded part of `cargo xtask torture`, and: a cell that is proved to hang does not end with more patience.
//!
//! Invariant: the seeds are fixed, so each run plays the same cells. A failing cell is printed as a scenario file.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang::commands::torture::ask;
use rehang_runner::kernel::kernel;
use rehang_runner::pool::{Pool, Workers};
use rehang_scenario::{Stage, to_toml};
use rehang_search::case::NONE;
use rehang_search::limits::rng;
use rehang_search::torture::{Found, Order, counting, examine, orders};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many scenarios are played on both stages.
const HOSTILE: u64 = 12;
/// How many scenarios in which something counts are played on sim.
const COUNTING: u64 = 60;
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
    let pool = Pool::new(Workers { exe, fakes, jobs: 1 });
    let mut found = Found::default();
    for nth in 0..HOSTILE {
        for order in orders(1, nth, &[Stage::Sim, Stage::Lockstep]) {
            found.take(nth, &order, ask(&pool, &order));
        }
    }
    clean(&found)
}

/// Counters, people who come late, faults of the Nth event and growing back-off never give a false proof.
fn patience() -> Result<(), Failed> {
    let mut found = Found::default();
    for seed in 0..COUNTING {
        let mut source = rng(seed);
        let scenario = counting(&mut source).scenario;
        let matrix = rehang_strategy::matrix(&scenario.agent);
        let stacks = vec![NONE.to_owned(), source.pick(&matrix)];
        let order = Order { scenario, stacks, stages: vec![Stage::Sim], steps_max: STEPS };
        let mut kernels = |stage| kernel(stage, Path::new(""));
        found.take(seed, &order, examine(&order, &mut kernels));
    }
    if found.tally.lassos < LASSOS {
        return Err(format!("only {} lassos were checked", found.tally.lassos).into());
    }
    clean(&found)
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
