//! The least that the cells of the matrix can cost on this machine: a fork, an end and a reap for each of their processes, a
//! message there and back for each turn, an exchange over HTTP for each request.
//!
//! Invariant: how often they come is counted in cells that are played; what each costs is measured in the same run, on one
//! core, by processes that do nothing else. What a cell costs beyond is the scheduler, the fakes, the judge and the report.

use super::{BarePolls, median};
use rehang::commands::CommandError;
use rehang_os::kernel::{Kernel, Launch};
use rehang_os::lockstep::LockstepKernel;
use rehang_runner::unit::Unit;
use rehang_scenario::{Agent, Arm, Terminal, plan::Plan};
use rehang_stage::{Job, Proofs};
use rehang_trace::What;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One unit of so many is played for the counts.
const SAMPLE: usize = 5;
/// How often each cost is measured.
const ROUNDS: u32 = 300;

/// How often it comes in a cell, on average, and what it costs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part {
    /// How many there are in a cell.
    pub count: f64,
    /// What one costs, in microseconds.
    pub us: f64,
}

/// The parts of the floor.
#[derive(Debug, Clone, Copy, Default)]
pub struct Floor {
    /// Processes: started, ended, reaped.
    pub processes: Part,
    /// Turns, but for those in which a request is answered.
    pub turns: Part,
    /// Exchanges over HTTP, each on a connection of its own.
    pub requests: Part,
}

impl Floor {
    /// Measures it.
    ///
    /// # Errors
    /// A stage that does not work here.
    pub fn of(units: &[Unit], fakes: &Path) -> Result<Floor, CommandError> {
        let mut kernel = LockstepKernel::new(fakes).map_err(|e| CommandError::Fault(e.to_string()))?;
        let mut floor = counts(units, &mut kernel)?;
        floor.processes.us = process(&mut kernel)?;
        floor.turns.us = turn()?;
        floor.requests.us = request(fakes)?;
        Ok(floor)
    }

    /// What a cell costs at least, in microseconds.
    pub fn us(&self) -> f64 {
        [self.processes, self.turns, self.requests].iter().map(|part| part.count * part.us).sum()
    }
}

fn counts(units: &[Unit], kernel: &mut LockstepKernel) -> Result<Floor, CommandError> {
    let (mut cells, mut spawned, mut requests, before) = (0_u32, 0_usize, 0_usize, kernel.turns());
    for unit in units.iter().step_by(SAMPLE) {
        for wanted in &unit.cells {
            let scenario = match wanted.arm {
                Arm::Control => unit.control.as_ref().unwrap_or(&unit.main),
                _ => &unit.main,
            };
            let plain = Job::new(scenario, &wanted.strategy, unit.terminal, unit.order.seed);
            let job = Job { choices: unit.order.choices(), proofs: Proofs::Claimed, ..plain };
            let record = rehang_stage::run(kernel, &job).map_err(|e| CommandError::Fault(e.to_string()))?;
            let count = |is: fn(&What) -> bool| record.trace.events.iter().filter(|event| is(&event.what)).count();
            spawned += count(|what| matches!(what, What::Spawn { .. }));
            requests += count(|what| matches!(what, What::Request { .. }));
            cells += 1;
        }
    }
    let of_each = |count: f64| Part { count: count / f64::from(cells.max(1)), us: 0.0 };
    let turns = (kernel.turns() - before) as f64 - requests as f64;
    Ok(Floor { processes: of_each(spawned as f64), turns: of_each(turns.max(0.0)), requests: of_each(requests as f64) })
}

/// A process that is never let run.
fn process(kernel: &mut LockstepKernel) -> Result<f64, CommandError> {
    let agent = Agent::program(Vec::new());
    let (turns, faults, inside) = (Vec::new(), Vec::new(), Vec::new());
    let launch = Launch {
        role: "agent".into(),
        argv: vec!["fake-tool".into()],
        env: Vec::new(),
        plan: Plan { agent, turns, faults, inside, model_port: None, tools: None, stored: None },
        terminal: Terminal::Null,
    };
    let fault = |error: rehang_os::InternalError| CommandError::Fault(error.to_string());
    each(ROUNDS, || {
        kernel.start(&launch).map_err(fault)?;
        kernel.clear().map_err(fault)?;
        Ok(())
    })
}

/// A byte to another process and back.
fn turn() -> Result<f64, CommandError> {
    let mut echo = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut to), Some(mut from)) = (echo.stdin.take(), echo.stdout.take()) else { return Ok(0.0) };
    let took = each(ROUNDS * 10, || {
        to.write_all(b"x")?;
        from.read_exact(&mut [0])?;
        Ok(())
    });
    drop(to);
    echo.wait()?;
    took
}

/// A request to a fake server that runs alone, and its answer.
fn request(fakes: &Path) -> Result<f64, CommandError> {
    let polls = BarePolls::new(fakes)?;
    let (mut none, mut many) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        none.push(polls.run(0)?);
        many.push(polls.run(ROUNDS)?);
    }
    Ok(super::us(median(&mut many).saturating_sub(median(&mut none))) / f64::from(ROUNDS))
}

/// The median of so many rounds, in microseconds.
fn each(rounds: u32, mut round: impl FnMut() -> Result<(), CommandError>) -> Result<f64, CommandError> {
    let mut all: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        let began = Instant::now();
        round()?;
        all.push(began.elapsed());
    }
    Ok(super::us(median(&mut all)))
}
