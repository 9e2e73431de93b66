//! `rehang-lab`: makes recordings of real releases, the site, and figures, and tries to break what rehang claims. It is for
//! those who work on rehang, so no package has it.
//!
//! Invariant: cells are played as `rehang` plays them, by workers and fakes that are this binary again, with the same
//! allocator.

mod bench;
mod compat;
mod drift;
mod measure;
mod record;
mod recording;
mod screens;
mod site;
#[cfg(test)]
mod tests;
mod torture;

use clap::{Parser, Subcommand};
use rehang::allocator::Allocator;
use rehang::commands::CommandError;
use rehang::program::{self, Program};
use rehang::terminal::Said;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Record real releases, compare the fakes with them, measure rehang, and try to break what it claims.
///
/// Exit codes: 0 as expected · 1 not as expected · 2 usage or a bad file · 4 not deterministic · 70 internal error; where
/// several hold, the highest.
#[derive(Parser)]
#[command(name = "rehang-lab", version, arg_required_else_help = true)]
#[command(after_help = "Examples:
  rehang-lab record claude@2.1.329 text       what a release says and is told, as a file
  rehang-lab drift opencode@1.18.33           where it and its fake differ
  rehang-lab site --out site question/        pages for a web server
  rehang-lab torture --for 30m                random scenarios, every proof checked")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Record),
    Drift(drift::Drift),
    Compat(compat::CompatArgs),
    Site(site::Site),
    Bench(bench::Bench),
    Determinism(measure::Determinism),
    Fuzz(measure::Fuzz),
    Torture(torture::Torture),
}

impl Program for Args {
    const GROUPS: &[(&str, &[&str])] = &[
        ("Releases", &["record", "drift", "compat", "site"]),
        ("Measure", &["bench", "determinism"]),
        ("Break", &["fuzz", "torture"]),
        ("Shell", &["help"]),
    ];

    fn run(self) -> Result<ExitCode, CommandError> {
        let out = &mut Said(anstream::stdout());
        let code = match self.command {
            Command::Record(record) => record.run(out),
            Command::Drift(drift) => drift.run(out),
            Command::Compat(compat) => compat.run(out),
            Command::Site(mut site) => {
                site.select.take_paths()?;
                site.run(out)
            }
            Command::Bench(bench) => bench.run(out),
            Command::Determinism(mut determinism) => {
                determinism.select.take_paths()?;
                determinism.run(out)
            }
            Command::Fuzz(fuzz) => fuzz.run(out),
            Command::Torture(torture) => torture.run(out),
        };
        Ok(code?.into())
    }
}

fn main() -> ExitCode {
    rehang::dispatch();
    measure::dispatch();
    program::main::<Args>()
}
