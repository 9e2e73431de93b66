//! The repository's own commands: `cargo xtask scenarios`, `drift`, `bench`, `mutate`, `mutants`, `fuzz`, `torture`,
//! `supervise-real`, `pictures`, `book`, `dist`, `ci`.
//!
//! Invariant: light, so that it builds in seconds; a command that needs rehang's crates calls `rehang` or `rehang-lab`.

mod book;
mod chromium;
mod ci;
mod clients;
mod dist;
mod mutants;
mod mutate;
mod pictures;
mod shipped;
mod supervise;
mod tools;
mod upstream;
mod why;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tools::{LAB, Profile, REHANG};
use xshell::{Shell, cmd};

/// The repository's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The main job: every scenario under every strategy, with and without a TTY, on sim and in lockstep.
    ///
    /// Example: `cargo xtask scenarios question/`
    Scenarios {
        /// Further arguments of `rehang run`: filters and flags.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Measures what the design gives budgets for, and prints both.
    ///
    /// It measures `rehang-lab`, built as what people download, which takes 10 to 20 minutes: twice, with the matrix between.
    ///
    /// Example: `cargo xtask bench polls matrix`
    Bench {
        /// The same work on rehang's simulation and on others (tokio paused, madsim, a bare queue) instead.
        #[arg(long)]
        peers: bool,
        /// Further arguments of `rehang-lab bench`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Runs the releases that the fakes play and the fakes on the same scenarios: where do they differ?
    ///
    /// Example: `cargo xtask drift opencode@1.18.33`
    Drift {
        /// Further arguments of `rehang-lab drift`: releases, scenarios and flags.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Breaks the code on purpose, one small patch at a time, and demands that the tests go red.
    Mutate {
        /// Only patches whose names contain this.
        filter: Option<String>,
    },
    /// Tests the tests: a seeded sample of cargo-mutants' mutants of each crate; at least 90 % of those that compile must be
    /// caught by the crate's own tests.
    ///
    /// Example: `cargo xtask mutants --seed 3 judge`
    Mutants {
        /// Folders of `harness`. Default: trace, judge, scenario, evidence and strategy.
        #[arg(value_name = "CRATE")]
        crates: Vec<String>,
        /// How many mutants of each crate; all of a crate that has fewer.
        #[arg(long, default_value_t = 100)]
        sample: usize,
        /// Which sample: the same seed chooses the same mutants of the same sources.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Feeds random and mutated input to a parser: no panic, no hang.
    ///
    /// Example: `cargo xtask fuzz scenario --runs 1000000 --seed 1`
    Fuzz {
        /// Arguments of `rehang-lab fuzz`: what to feed, and flags.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        rest: Vec<String>,
    },
    /// Tries to break what rehang claims: hostile scenarios on sim and in lockstep, and every proof checked.
    ///
    /// Example: `cargo xtask torture --for 30m --seed 7`
    Torture {
        /// How long: `30s`, `10m`.
        #[arg(long = "for", value_name = "SPAN", default_value = "30m")]
        how_long: String,
        /// The seed of the scenarios.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Further arguments of `rehang-lab torture`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Runs the whole matrix again and again, with other job counts and beside busy loops: one digest a cell.
    Determinism {
        /// Further arguments of `rehang-lab determinism`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Makes a hang happen again, small: from a log, a process, or a scenario file.
    ///
    /// Example: `cargo xtask reproduce hung.jsonl`
    Reproduce {
        /// What, and further arguments of `rehang reproduce`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        rest: Vec<String>,
    },
    /// Runs real clients against the fakes: @opencode-ai/sdk, both Claude agent SDKs, little-loops, ralph.
    ///
    /// They are installed into rehang's cache (`REHANG_CACHE`, else ~/.cache/rehang). What cannot be installed is not run,
    /// and named.
    Clients {
        /// Only clients whose names contain this.
        filter: Option<String>,
        /// Installs them anew.
        #[arg(long)]
        fresh: bool,
        /// Also measures those that wrap an agent, and writes docs/public-wrappers.md.
        #[arg(long)]
        rows: bool,
        /// Measures them, and compares the rows with those of docs/public-wrappers.md, but for times.
        #[arg(long, conflicts_with = "rows")]
        check: bool,
    },
    /// Runs real releases: `rehang upstream`. Without a word, the newest of each agent, held against `compat.json`.
    ///
    /// Example: `cargo xtask upstream opencode@1.2.27 question`
    Upstream {
        /// Arguments of `rehang upstream`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Fills `compat.json`; a run that was stopped goes on where it was.
    ///
    /// Example: `cargo xtask upstream-table --jobs 8`
    UpstreamTable {
        /// Further arguments of `rehang upstream`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Makes real releases hang, each in a sandbox of its own, and asks `rehang why` about each: is that what it hangs on?
    ///
    /// Example: `cargo xtask why-real opencode --times 3`
    WhyReal {
        /// Only releases and scenarios whose names contain this.
        filter: Option<String>,
        /// How often each.
        #[arg(long, default_value_t = 3)]
        times: u32,
    },
    /// Makes real releases hang under `rehang supervise`, each in a sandbox of its own: is each ended, why, and how soon?
    ///
    /// Example: `cargo xtask supervise-real codex`
    SuperviseReal {
        /// Only releases and scenarios whose names contain this.
        filter: Option<String>,
    },
    /// Looks at reports, site and book in a real headless Chromium: boxes, contrast, headings, keys, mouse, paper; leaves
    /// screenshots in target/pictures.
    Pictures {
        /// A folder with reports that an earlier run made, instead of making them again.
        #[arg(long, value_name = "DIR")]
        made: Option<std::path::PathBuf>,
    },
    /// Makes the book in target/book: the pages of docs, every command's help, the table of releases.
    ///
    /// mdBook is installed below target the first time.
    Book,
    /// Builds what people download into target/dist: a stripped binary in an archive, a wheel, packages of npm.
    ///
    /// The binary is optimized by a profile of the matrix: that needs the `llvm-profdata` of rustc's component `llvm-tools`, or
    /// of LLVM 19 and later. Needs Python and npm; maturin is installed into the target folder.
    Dist {
        /// Installs each in an empty root, without a network, and runs it there.
        #[arg(long)]
        check: bool,
    },
    /// What CI runs.
    Ci,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> xshell::Result<u8> {
    let sh = Shell::new()?;
    sh.change_dir(tools::root());
    match &args.command {
        Command::Scenarios { rest } => tools::run(&sh, REHANG, &["run", "--stage", "both"], rest, Profile::Dev),
        Command::Bench { peers: true, .. } => tools::peers(&sh),
        Command::Bench { rest, .. } => tools::run(&sh, LAB, &["bench"], rest, Profile::Shipped),
        Command::Drift { rest } => tools::run(&sh, LAB, &["drift"], rest, Profile::Dev),
        Command::Mutate { filter } => mutate::mutate(&sh, filter.as_deref()),
        Command::Mutants { crates, sample, seed } => mutants::mutants(&sh, crates, *sample, *seed),
        Command::Fuzz { rest } => tools::run(&sh, LAB, &["fuzz"], rest, Profile::Release),
        Command::Torture { how_long, seed, rest } => {
            let seed = seed.to_string();
            tools::run(&sh, LAB, &["torture", "--for", how_long, "--seed", &seed], rest, Profile::Release)
        }
        Command::Determinism { rest } => tools::run(&sh, LAB, &["determinism"], rest, Profile::Dev),
        Command::Reproduce { rest } => tools::run(&sh, REHANG, &["reproduce"], rest, Profile::Dev),
        Command::Clients { filter, fresh, rows, check } => {
            let wish = clients::Wish { fresh: *fresh, rows: *rows, check: *check, filter: filter.as_deref() };
            clients::clients(&sh, &wish)
        }
        Command::Upstream { rest } => upstream::upstream(&sh, rest),
        Command::UpstreamTable { rest } => upstream::table(&sh, rest),
        Command::WhyReal { filter, times } => why::real(&sh, filter.as_deref(), *times),
        Command::SuperviseReal { filter } => supervise::real(&sh, filter.as_deref()),
        Command::Pictures { made } => pictures::pictures(&sh, made.as_deref()),
        Command::Book => book::book(&sh),
        Command::Dist { check } => dist::dist(&sh, *check),
        Command::Ci => {
            cmd!(sh, "cargo --version").run()?;
            ci::ci(&sh)
        }
    }
}
