//! Breaks the code on purpose: each patch in `tests/mutations` must make the tests fail.
//!
//! Invariant: the working tree is not touched. A patch is applied to a copy of what git tracks (including uncommitted
//! changes), built in a target folder of its own. Before the first patch the same tests must pass without any: tests
//! that fail anyway catch everything. A patch that no longer applies is an error.
//!
//! The first lines of a patch say how it is caught: `# test: ARGUMENTS` of `cargo test`, and `# runs: N` for a
//! racy one, which must be caught at least once in N runs.

use crate::tools;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// Whether each patch applies to the working tree; an error names the first that does not.
pub fn apply(sh: &Shell) -> xshell::Result<()> {
    for patch in patches(sh, "")? {
        cmd!(sh, "git apply --check --whitespace=nowarn {patch}").quiet().run()?;
    }
    Ok(())
}

/// The patches whose names contain this.
fn patches(sh: &Shell, filter: &str) -> xshell::Result<Vec<PathBuf>> {
    let mut all = sh.read_dir(tools::root().join("tests/mutations"))?;
    all.retain(|path| path.extension().is_some_and(|e| e == "patch") && name(path).contains(filter));
    Ok(all)
}

/// Tries all patches whose names contain `filter`; returns 1 if one of them was not caught.
pub fn mutate(sh: &Shell, filter: Option<&str>) -> xshell::Result<u8> {
    let root = tools::root();
    let copy = root.join("target/mutate/tree");
    let target = root.join("target/mutate/target");
    let patches = patches(sh, filter.unwrap_or(""))?;
    let mut missed = 0;
    let texts = patches.iter().map(|patch| sh.read_file(patch)).collect::<Result<Vec<_>, _>>()?;
    let _env = sh.push_env("CARGO_TARGET_DIR", &target);
    // a test that fails without any patch would catch them all
    tools::fresh_copy(sh, &copy)?;
    let tests: BTreeSet<Vec<&str>> = texts.iter().map(|text| test_of(text)).collect();
    for args in tests {
        let _inside = sh.push_dir(&copy);
        eprintln!("unpatched: cargo test {}", args.join(" "));
        cmd!(sh, "cargo test --quiet {args...}").quiet().ignore_stdout().run()?;
    }
    for (patch, text) in patches.iter().zip(&texts) {
        let test = test_of(text);
        let runs: u32 = header(text, "# runs:").and_then(|n| n.parse().ok()).unwrap_or(1);
        eprintln!("trying   {}", name(patch));
        tools::fresh_copy(sh, &copy)?;
        let _inside = sh.push_dir(&copy);
        cmd!(sh, "git apply --whitespace=nowarn {patch}").quiet().run()?;
        // a patch that does not build proves nothing
        let args = &test;
        cmd!(sh, "cargo test --quiet --no-run {args...}").quiet().run()?;
        let caught = (0..runs).find(|_| {
            let run = cmd!(sh, "cargo test --quiet {args...}").quiet().ignore_stdout().ignore_stderr();
            run.run().is_err()
        });
        match caught {
            Some(0) => println!("caught   {}", name(patch)),
            Some(at) => println!("caught   {} (run {})", name(patch), at + 1),
            None => {
                missed += 1;
                println!("MISSED   {}", name(patch));
            }
        }
    }
    println!("{} patches, {missed} missed", patches.len());
    Ok(u8::from(missed > 0))
}

/// The value of a line in a patch's head.
fn header<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}

/// The arguments of `cargo test` that must fail with a patch.
fn test_of(text: &str) -> Vec<&str> {
    header(text, "# test:").unwrap_or("--workspace").split_whitespace().collect()
}

fn name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
