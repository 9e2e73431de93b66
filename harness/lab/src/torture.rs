//! `rehang-lab torture`: hostile scenarios on sim and in lockstep, twice each, and every proof checked.
//!
//! Invariants: with `--scenarios` the same seed gives the same findings, whatever the jobs; `--for` alone lets the clock
//! say when to stop, between two scenarios. The exit code is 0 only if there was no false proof, no difference and no
//! internal error.

use clap::Args;
use rehang::commands::{Code, CommandError, run::at_least_one, span};
use rehang::complain;
use rehang_runner::binaries::workers;
use rehang_runner::outputs;
use rehang_runner::pool::Pool;
use rehang_runner::torture::{ask, ask_within};
use rehang_scenario::text::{counted, took};
use rehang_scenario::{Span, Stage};
use rehang_search::torture::{Breach, Found, Tally, orders};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often a line says how far it is.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How long one finding is made small, in real time. It decides how small a file is, never what is found.
const SHRINKS: Duration = Duration::from_secs(60);
/// Findings that are made small and written; all are counted.
const WRITTEN: usize = 30;

/// Try to break what rehang claims: one trace on both stages, and a proof of every hang.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang-lab torture --for 30m                  a new seed finds other things
  rehang-lab torture --scenarios 200 --seed 7   the same scenarios every time")]
pub struct Torture {
    /// How long: `30s`, `10m`.
    #[arg(long = "for", value_name = "SPAN", default_value = "1m", value_parser = span)]
    pub how_long: Span,
    /// How many scenarios, whatever the clock says.
    #[arg(long, value_name = "N")]
    pub scenarios: Option<u64>,
    /// Begin with the scenario of this ordinal, from 0: to see again what a long run found late.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub from: u64,
    /// What the scenarios are drawn from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many worker processes; one a core if nothing is said.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// The folder for what is found.
    #[arg(long, value_name = "DIR", default_value = "rehang-torture")]
    pub out: PathBuf,
}

impl Torture {
    /// Plays, writes what was found, sums up.
    ///
    /// # Errors
    /// A folder that cannot be written; this binary cannot be found.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        outputs::folder(&self.out)?;
        let pool = Pool::new(workers(self.jobs)?);
        let began = Instant::now();
        let (found, scenarios) = self.play(&pool, began);
        self.write(&pool, &found, out)?;
        let Tally { cells, runs, lassos, deadlocks, given_up, false_proofs, differences, internal_errors } =
            found.tally;
        writeln!(
            out,
            "{} of {} in {}, seed {}, {}; lassos checked: {lassos}, \
             deadlocks: {deadlocks}, given up: {given_up}, false proofs: {false_proofs}, differences: {differences}, \
             internal errors: {internal_errors}",
            counted(cells, "cell"),
            counted(scenarios, "scenario"),
            counted(runs, "run"),
            self.seed,
            took(began.elapsed()),
        )?;
        let code = |count: u64, code: Code| if count > 0 { code } else { Code::Expected };
        Ok(code(internal_errors, Code::Fault)
            .max(code(differences, Code::Nondeterministic))
            .max(code(false_proofs, Code::Unexpected)))
    }

    /// Plays scenarios on all workers; what was found, and how many scenarios there were.
    fn play(&self, pool: &Pool, began: Instant) -> (Found, u64) {
        let stages = [Stage::Sim, Stage::Lockstep];
        let deadline = Duration::from_millis(self.how_long.as_ms());
        let (next, found) = (AtomicU64::new(self.from), Mutex::new((Found::default(), LINE_EVERY, 0_u64)));
        std::thread::scope(|scope| {
            for _ in 0..pool.jobs() {
                scope.spawn(|| {
                    loop {
                        let nth = next.fetch_add(1, Ordering::Relaxed);
                        if self.scenarios.map_or(began.elapsed() >= deadline, |most| nth - self.from >= most) {
                            break;
                        }
                        for order in orders(self.seed, nth, &stages) {
                            let answer = ask(pool, &order);
                            if let Some(seen) = answer.seen.first() {
                                let again = format!("--seed {} --from {nth} --scenarios 1", self.seed);
                                complain!("{:>8}  {}: {again}", took(began.elapsed()), seen.breach.name());
                            }
                            let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                            let (found, line_at, _) = &mut *found;
                            found.take(nth, &order, answer);
                            let after = began.elapsed();
                            if after >= *line_at {
                                *line_at = after + LINE_EVERY;
                                complain!("{:>8}  {}", took(after), progress(&found.tally));
                            }
                        }
                        found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).2 += 1;
                    }
                });
            }
        });
        let (found, _, scenarios) = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        (found, scenarios)
    }

    /// Makes what was found small and writes it, each with its line on stdout.
    fn write(&self, pool: &Pool, found: &Found, out: &mut dyn Write) -> Result<(), CommandError> {
        let held = found.held();
        if held.len() > WRITTEN {
            complain!("{} kinds of findings; the first {WRITTEN} are written", held.len());
        }
        let mut names: BTreeMap<Breach, usize> = BTreeMap::new();
        for held in held.into_iter().take(WRITTEN) {
            let began = Instant::now();
            let (scenario, seen) = held.shrunk(&|order| {
                let left = SHRINKS.saturating_sub(began.elapsed());
                if left.is_zero() { None } else { ask_within(pool, order, left) }
            });
            let nth = names.entry(seen.breach).and_modify(|nth| *nth += 1).or_insert(1);
            let path = self.out.join(format!("{}-{nth}.toml", seen.breach.name().replace(' ', "-")));
            outputs::write(&path, held.file(&scenario, &seen))?;
            writeln!(out, "{}\n    {}", held.line(&seen), path.display())?;
            out.flush()?;
        }
        Ok(())
    }
}

fn progress(tally: &Tally) -> String {
    format!(
        "{}, {} checked, {}, {}, {}, {}",
        counted(tally.cells, "cell"),
        counted(tally.lassos, "lasso"),
        counted(tally.deadlocks, "deadlock"),
        counted(tally.false_proofs, "false proof"),
        counted(tally.differences, "difference"),
        counted(tally.internal_errors, "internal error")
    )
}
