//! `rehang determinism`, `rehang fuzz`: what the repository's own commands call.
//!
//! Invariant: bounded in count, seeded, and loud: the first finding ends it with the input that shows it.

use super::run::{Where, run};
use super::select::Select;
use super::{Code, CommandError};
use crate::pool::Pool;
use crate::workers;
use clap::Args;
use rehang_scenario::problem::Style;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// Runs the matrix again and again: one hash a cell over all runs.
#[derive(Debug, Clone, Args)]
pub struct Determinism {
    /// Which cells.
    #[command(flatten)]
    pub select: Select,
    /// How many runs; every fourth one nice and beside two busy loops.
    #[arg(long, default_value_t = 20)]
    pub runs: u32,
    /// Where.
    #[arg(long, value_enum, default_value_t = Where::Lockstep)]
    pub stage: Where,
}

impl Determinism {
    /// Runs and compares.
    ///
    /// # Errors
    /// A filter that nothing matches; workers that cannot be started.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let selected = self.select.select(self.stage.stages(), Style::Plain)?;
        let mut hashes: BTreeMap<String, String> = BTreeMap::new();
        let (mut cells, mut differ) = (0_u64, 0_u64);
        for round in 0..self.runs {
            let jobs = 1 + round as usize % 4;
            let crowded = round % 4 == 3;
            let busy = if crowded { busy_loops(2)? } else { Vec::new() };
            rehang_stage::worker::give_way(crowded);
            let pool = Pool::new(workers(Some(jobs))?);
            let outcome = run(&pool, &selected.units, true)?;
            for mut child in busy {
                child.kill()?;
                child.wait()?;
            }
            for cell in &outcome.cells {
                cells += 1;
                let hash = match &cell.row {
                    Some(row) => row.trace_sha256.clone(),
                    None => {
                        writeln!(out, "{}: {}", cell.id, cell.fault.as_deref().unwrap_or("no row"))?;
                        differ += 1;
                        continue;
                    }
                };
                let first = hashes.entry(cell.id.clone()).or_insert_with(|| hash.clone());
                if *first != hash {
                    differ += 1;
                    writeln!(out, "{}: {hash} in run {}, {first} before", cell.id, round + 1)?;
                }
            }
            writeln!(
                out,
                "run {:>3}: {jobs} jobs{}, {} ms",
                round + 1,
                if crowded { ", nice, beside two busy loops" } else { "" },
                outcome.wall_ms
            )?;
            out.flush()?;
        }
        writeln!(out, "{cells} cell runs over {} cells, {differ} differ", hashes.len())?;
        Ok(if differ == 0 { Code::Expected } else { Code::Nondeterministic })
    }
}

/// Processes that burn a core each, at the lowest priority but one; they end with this process's stdin pipe to them.
fn busy_loops(count: usize) -> std::io::Result<Vec<Child>> {
    let exe = std::env::current_exe()?;
    (0..count).map(|_| Command::new(&exe).arg(BUSY_ARG).stdin(Stdio::piped()).spawn()).collect()
}

/// What a busy loop is started with.
pub const BUSY_ARG: &str = "__busy";

/// Burns a core until stdin ends.
pub fn burn() -> ! {
    std::thread::spawn(|| {
        let mut line = String::new();
        while std::io::stdin().read_line(&mut line).is_ok_and(|n| n > 0) {}
        std::process::exit(0);
    });
    let mut x = 1_u64;
    loop {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

/// Feeds random input to a parser.
#[derive(Debug, Clone, Args)]
pub struct Fuzz {
    /// What to feed: `scenario`.
    pub target: String,
    /// How many inputs.
    #[arg(long, default_value_t = 100_000)]
    pub runs: u64,
    /// The seed of the inputs.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Fuzz {
    /// Feeds; a panic is the finding and ends it.
    ///
    /// # Errors
    /// An unknown target.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if self.target != "scenario" {
            return Err(CommandError::Usage(format!(
                "nothing to fuzz is called `{}`; there is: scenario",
                self.target
            )));
        }
        let mut corpus: Vec<Vec<u8>> = Vec::new();
        for path in crate::corpus::files(&crate::corpus::default_folder())? {
            corpus.push(std::fs::read(path)?);
        }
        let files: Vec<&[u8]> = corpus.iter().map(Vec::as_slice).collect();
        let mut right = 0_u64;
        let began = std::time::Instant::now();
        for at in 0..self.runs {
            let input = rehang_scenario::fuzz::mutate(self.seed.wrapping_add(at), &files);
            let outcome = std::panic::catch_unwind(|| rehang_scenario::fuzz::one(&input));
            match outcome {
                Ok(loads) => right += u64::from(loads),
                Err(_) => {
                    writeln!(out, "input {at} of seed {} breaks it:", self.seed)?;
                    writeln!(out, "{}", String::from_utf8_lossy(&input))?;
                    return Ok(Code::Unexpected);
                }
            }
            if at % 50_000 == 49_999 {
                writeln!(out, "{:>9} inputs, {right} of them scenarios, {} s", at + 1, began.elapsed().as_secs())?;
            }
        }
        writeln!(out, "{} inputs, {right} of them scenarios: no panic, no hang", self.runs)?;
        Ok(Code::Expected)
    }
}
