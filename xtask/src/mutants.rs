//! Tests the tests: runs a seeded sample of cargo-mutants' mutants, each against its own crate's tests.
//!
//! Invariant: the working tree is not touched: mutants are built in a copy of what git tracks (including uncommitted
//! changes). The same seed chooses the same mutants of the same sources. `.cargo/mutants.toml` says what is not
//! mutated, and why.

use crate::tools;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use xshell::{Shell, cmd};

/// The crates whose tests are measured, in `harness`: those that everything else relies on. With each, the arguments of
/// `cargo test` for its quick tests; if those do not catch a mutant, all of its tests are run.
const CRATES: [(&str, &[&str]); 5] = [
    ("trace", ALL),
    ("judge", ALL),
    ("scenario", ALL),
    // `tests/signatures` starts hundreds of processes
    ("evidence", &["--lib"]),
    // these laws take ten times as long as all other tests
    ("strategy", &["--lib", "--", "--skip", "laws::alike"]),
];

/// All tests except those in the documentation, which are examples and take longest to build.
const ALL: &[&str] = &["--tests"];

/// How many of a hundred mutants that compile a crate's own tests must catch.
const WANTED_PERCENT: usize = 90;

/// How to install cargo-mutants.
const MISSING: &str = "cargo-mutants is not installed: cargo install --locked cargo-mutants";

/// Runs `sample` mutants of each crate; 1 if one of them is below [`WANTED_PERCENT`], 2 if a sample could not be run.
pub fn mutants(sh: &Shell, crates: &[String], sample: usize, seed: u64) -> xshell::Result<u8> {
    if cmd!(sh, "cargo mutants --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        eprintln!("error: {MISSING}");
        return Ok(2);
    }
    let names = CRATES.map(|(name, _)| name);
    let crates: Vec<&str> = if crates.is_empty() { names.into() } else { crates.iter().map(String::as_str).collect() };
    if let Some(unknown) = crates.iter().find(|name| !tools::root().join("harness").join(name).is_dir()) {
        eprintln!(
            "error: there is no folder harness/{unknown}: name one of its folders, as in `cargo xtask mutants judge`"
        );
        return Ok(2);
    }
    let out = tools::root().join("target/mutants");
    let copy = out.join("tree");
    tools::fresh_copy(sh, &copy)?;
    let _env = sh.push_env("CARGO_TARGET_DIR", out.join("target"));
    let _inside = sh.push_dir(&copy);
    let mut code = 0;
    let mut lines = Vec::new();
    for name in crates {
        let package = format!("rehang-{name}");
        let all = list(sh, &package)?;
        let chosen = choose(&all, sample, seed);
        eprintln!("{name}: {} of {} mutants, seed {seed}", chosen.len(), all.len());
        let quick = CRATES.iter().find(|(of, _)| *of == name).map_or(ALL, |(_, quick)| quick);
        let found = match run(sh, &package, &all, &chosen, quick, &out.join(name))? {
            Some(mut found) if quick != ALL && !found.missed.is_empty() => {
                let missed = std::mem::take(&mut found.missed);
                eprintln!("{name}: {} of them once more, with all tests", missed.len());
                run(sh, &package, &all, &missed, ALL, &out.join(name).join("all"))?.map(|rest| found.and(rest))
            }
            found => found,
        };
        let Some(found) = found else {
            eprintln!("error: the sample of {name} was not run to its end: what cargo-mutants says of it is above");
            return Ok(2);
        };
        for (what, names) in [("MISSED ", &found.missed), ("TIMEOUT", &found.timeout)] {
            names.iter().for_each(|name| println!("{what}  {name}"));
        }
        if !found.is_enough() {
            code = 1;
        }
        lines.push(found.line(name));
    }
    lines.iter().for_each(|line| println!("{line}"));
    Ok(code)
}

/// The results of a sample, by the names of its mutants: `FILE:LINE:COLUMN: WHAT IS CHANGED`.
struct Found {
    caught: Vec<String>,
    missed: Vec<String>,
    timeout: Vec<String>,
    unviable: Vec<String>,
}

impl Found {
    /// These results together with others.
    fn and(mut self, other: Found) -> Found {
        self.caught.extend(other.caught);
        self.missed.extend(other.missed);
        self.timeout.extend(other.timeout);
        self.unviable.extend(other.unviable);
        self
    }

    /// How many of them compile. A mutant under which the tests run out of time does not count as caught.
    fn viable(&self) -> usize {
        self.caught.len() + self.missed.len() + self.timeout.len()
    }

    fn is_enough(&self) -> bool {
        self.caught.len() * 100 >= self.viable() * WANTED_PERCENT
    }

    fn line(&self, name: &str) -> String {
        let (caught, viable) = (self.caught.len(), self.viable());
        let permille = (caught * 1000).checked_div(viable).unwrap_or(1000);
        format!(
            "{name:9} {}.{} % of {viable} caught ({caught} caught, {} missed, {} timed out, {} did not compile)",
            permille / 10,
            permille % 10,
            self.missed.len(),
            self.timeout.len(),
            self.unviable.len()
        )
    }
}

/// The names of all mutants of a package, in cargo-mutants' order.
fn list(sh: &Shell, package: &str) -> xshell::Result<Vec<String>> {
    let text = cmd!(sh, "cargo mutants --list --json --package {package}").quiet().read()?;
    let all: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    Ok(all.iter().filter_map(|mutant| mutant["name"].as_str().map(str::to_owned)).collect())
}

/// The first `sample` after a shuffle by `seed`. The sort key of a mutant is derived from its name without line and
/// column, so that an edit elsewhere does not change its place.
fn choose(all: &[String], sample: usize, seed: u64) -> Vec<String> {
    let mut like: BTreeMap<String, u64> = BTreeMap::new();
    let mut keyed: Vec<(u64, String)> = Vec::new();
    for name in all {
        let mut parts = name.splitn(4, ':');
        let (file, what) = (parts.next().unwrap_or_default(), parts.nth(2).unwrap_or_default());
        let nth = like.entry(format!("{file}:{what}")).or_default();
        *nth += 1;
        let bytes = file.bytes().chain(what.bytes()).chain(nth.to_le_bytes());
        keyed.push((bytes.fold(mixed(seed), |state, byte| mixed(state ^ u64::from(byte))), name.clone()));
    }
    keyed.sort();
    keyed.into_iter().take(sample).map(|(_, name)| name).collect()
}

/// The output of splitmix64 for this state, the same as in `rehang_scenario::fuzz::Seeded`.
fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs exactly these mutants of all, with these arguments of `cargo test`, after the tests without any mutant, because
/// tests that fail anyway catch everything. `None` if they failed, or if not all mutants were run.
///
/// cargo-mutants 27 does not apply `--re` to fields of structs. So it is told that all others were caught before.
fn run(
    sh: &Shell,
    package: &str,
    all: &[String],
    chosen: &[String],
    args: &[&str],
    out: &Path,
) -> xshell::Result<Option<Found>> {
    sh.remove_path(out)?;
    let wanted: BTreeSet<&String> = chosen.iter().collect();
    let others: String = all.iter().filter(|name| !wanted.contains(name)).map(|name| format!("{name}\n")).collect();
    sh.write_file(out.join("mutants.out/caught.txt"), others)?;
    let run = cmd!(sh, "cargo mutants --in-place --iterate --package {package} --output {out} -- {args...}");
    // 0: all were caught; 2: some were missed; 3: some ran out of time
    if !matches!(tools::code(Command::from(run.quiet()).status()), 0 | 2 | 3) {
        return Ok(None);
    }
    let of = |file: &str| -> xshell::Result<Vec<String>> {
        let text = sh.read_file(out.join("mutants.out").join(file))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    let found = Found {
        caught: of("caught.txt")?,
        missed: of("missed.txt")?,
        timeout: of("timeout.txt")?,
        unviable: of("unviable.txt")?,
    };
    Ok((found.viable() + found.unviable.len() == chosen.len()).then_some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_chooses_the_same_again_and_each_mutant_once() {
        let all = |line: u32| (0..50).map(|n| format!("a.rs:{}:9: replace {n} with 1", line + n)).collect::<Vec<_>>();
        let chosen = |line, seed| -> Vec<String> {
            let of = choose(&all(line), 20, seed);
            of.iter().map(|name| name.split_once(": ").unwrap_or_default().1.to_owned()).collect()
        };
        assert_eq!(chosen(1, 7), chosen(1, 7));
        assert_eq!(chosen(1, 7), chosen(30, 7), "lines may move");
        assert_ne!(chosen(1, 7), chosen(1, 8));
        let mut every = choose(&all(10), 100, 7);
        every.sort();
        assert_eq!(every, all(10));
        // two mutants of one name are two
        let twice = ["a.rs:1:1: replace + with -", "a.rs:2:1: replace + with -"].map(str::to_owned);
        assert_eq!(choose(&twice, 9, 7).len(), 2);
    }

    #[test]
    fn a_timeout_is_not_caught() {
        let names = |n: usize| vec![String::new(); n];
        let found = Found { caught: names(9), missed: names(0), timeout: names(2), unviable: names(5) };
        assert!(!found.is_enough());
        assert_eq!(
            found.line("judge"),
            "judge     81.8 % of 11 caught (9 caught, 0 missed, 2 timed out, 5 did not compile)"
        );
        let found = Found { timeout: names(1), ..found };
        assert!(found.is_enough());
    }
}
