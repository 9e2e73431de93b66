//! `rehang-lab determinism`, `rehang-lab fuzz`: what the repository's own commands call.
//!
//! Invariant: bounded in count and seeded; the first finding ends the run and prints the input that shows it.

use clap::Args;
use rehang::bars::run;
use rehang::commands::select::Select;
use rehang::commands::{Code, CommandError};
use rehang::place::Where;
use rehang_logs::Format;
use rehang_processes::machine;
use rehang_runner::binaries::{own_binary, workers};
use rehang_runner::pool::Pool;
use rehang_runner::unit::Hashes;
use rehang_scenario::text::{counted, duration, suggest, unknown};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Run the matrix again and again: one digest a cell.
#[derive(Debug, Clone, Args)]
pub struct Determinism {
    /// Which cells.
    #[command(flatten)]
    pub select: Select,
    /// How many runs; every fourth one at low priority and beside two busy loops.
    #[arg(long, default_value_t = 20)]
    pub runs: u32,
    /// Where.
    #[arg(long, value_enum, default_value_t = Where::Lockstep)]
    pub stage: Where,
    /// Run all cells in lockstep, as `rehang run --no-share` does.
    #[arg(long)]
    pub no_share: bool,
}

impl Determinism {
    /// Runs and compares.
    ///
    /// # Errors
    /// A filter that nothing matches; workers that cannot be started.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        self.stage.is_of_cells(&self.select.filter)?;
        let mut selected = self.select.select(self.stage.stages())?;
        for unit in &mut selected.units {
            unit.hashes = Hashes::Digest;
            if !self.no_share {
                unit.share();
            }
        }
        let mut digests: BTreeMap<String, u64> = BTreeMap::new();
        let (mut cells, mut differ, mut faults) = (0_u64, 0_u64, 0_u64);
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
                let Some(digest) = cell.digest else {
                    writeln!(out, "{}: {}", cell.id, cell.fault.as_deref().unwrap_or("no row"))?;
                    faults += 1;
                    continue;
                };
                let first = *digests.entry(cell.id.clone()).or_insert(digest);
                if first != digest {
                    differ += 1;
                    writeln!(out, "{}: {digest:016x} in run {}, {first:016x} before", cell.id, round + 1)?;
                }
            }
            writeln!(
                out,
                "run {:>3}: {}{}, {}",
                round + 1,
                counted(jobs, "job"),
                if crowded { ", nice, beside two busy loops" } else { "" },
                duration(outcome.wall_ms)
            )?;
            out.flush()?;
        }
        writeln!(out, "{} over {}, {differ} differ", counted(cells, "cell run"), counted(digests.len(), "cell"))?;
        // a cell that could not run says nothing of its hash
        Ok(match (faults, differ) {
            (0, 0) => Code::Expected,
            (0, _) => Code::Nondeterministic,
            _ => Code::Fault,
        })
    }
}

/// Processes that burn a core each, at the lowest priority but one; they end with this process's stdin pipe to them.
fn busy_loops(count: usize) -> Result<Vec<Child>, CommandError> {
    let exe = own_binary()?;
    let start = |_| Command::new(&exe).arg(BUSY_ARG).stdin(Stdio::piped()).spawn();
    (0..count).map(start).collect::<std::io::Result<_>>().map_err(|error| CommandError::Fault(machine::start(&error)))
}

/// What a busy loop is started with.
const BUSY_ARG: &str = "__busy";

/// Plays a busy loop if this process was started as one; then it never returns.
pub fn dispatch() {
    // Not one of the command's words: clap would suggest it.
    if std::env::args_os().skip(1).eq([BUSY_ARG]) {
        burn();
    }
}

/// Burns a core until stdin ends.
fn burn() -> ! {
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

/// Feed random input to a parser.
#[derive(Debug, Clone, Args)]
pub struct Fuzz {
    /// What to feed: `scenario`, or an importer: `import-claude`, `import-recording`, …
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
        let (corpus, one) = self.target()?;
        let files: Vec<&[u8]> = corpus.iter().map(Vec::as_slice).collect();
        let mut right = 0_u64;
        let began = std::time::Instant::now();
        for at in 0..self.runs {
            let input = rehang_scenario::fuzz::mutate(self.seed.wrapping_add(at), &files);
            let outcome = std::panic::catch_unwind(|| one(&input));
            match outcome {
                Ok(loads) => right += u64::from(loads),
                Err(_) => {
                    writeln!(out, "input {at} of seed {} breaks it:", self.seed)?;
                    writeln!(out, "{}", String::from_utf8_lossy(&input))?;
                    return Ok(Code::Unexpected);
                }
            }
            if at % 50_000 == 49_999 {
                writeln!(out, "{:>9} inputs, {right} of them came through, {} s", at + 1, began.elapsed().as_secs())?;
            }
        }
        writeln!(out, "{} inputs, {right} of them came through: no panic, no hang", self.runs)?;
        Ok(Code::Expected)
    }

    /// What inputs are made of, and what is fed with them.
    fn target(&self) -> Result<(Vec<Vec<u8>>, Feed), CommandError> {
        if self.target == "scenario" {
            let files = rehang_runner::corpus::files(&rehang_runner::corpus::default_folder())?;
            let corpus = files.iter().map(|path| rehang_runner::corpus::read(path)).collect::<Result<_, _>>()?;
            return Ok((corpus, Box::new(rehang_scenario::fuzz::one)));
        }
        let Some(format) = self.target.strip_prefix("import-").and_then(Format::named) else {
            let importers = Format::ALL.map(|format| format!("import-{}", format.name()));
            let near = suggest(&self.target, importers.iter().map(String::as_str).chain(["scenario"]));
            let all = format!("there are scenario, {}", importers.join(", "));
            return Err(CommandError::Usage(unknown("parser", &self.target, near, &all)));
        };
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fake-agents/tests/golden");
        let mut recordings = Vec::new();
        for name in RECORDINGS {
            recordings.push(std::fs::read(golden.join(name))?);
        }
        let seeds = rehang_logs::fuzz::seeds(format, &recordings);
        Ok((seeds, Box::new(move |data| rehang_logs::fuzz::one(format, data))))
    }
}

/// What is fed; says whether the input came through.
type Feed = Box<dyn Fn(&[u8]) -> bool + std::panic::RefUnwindSafe>;

/// Recordings that inputs of importers are made of: small ones, of all kinds.
const RECORDINGS: [&str; 8] = [
    "claude-1.0.128/io-bash-ppt-deny.jsonl",
    "claude-2.0.77/io-ask-ppt-answer.jsonl",
    "claude-2.0.77/interrupt-bash.jsonl",
    "claude-2.1.329/bash-deny-null.jsonl",
    "claude-2.1.329/drop.jsonl",
    "opencode-1.2.15/09_question_unanswered_then_abort.jsonl",
    "opencode-1.18.33/04_bash_perm_reject.jsonl",
    "opencode-1.18.33/06_question_reply.jsonl",
];
