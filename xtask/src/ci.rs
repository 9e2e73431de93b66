//! What CI runs: formatting, lints, the main job, the first orders, the tests, the pictures.

use crate::tools::{self, Profile};
use crate::{chromium, mutate, pictures};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use xshell::{Shell, cmd};

/// How many orders of a cell are played: those with the fewest choices, in which most of what depends on one shows it. All
/// orders take some half an hour.
const ORDERS: u32 = 20;

/// Runs all of it; returns 1 if the main job is not as expected.
pub fn ci(sh: &Shell) -> xshell::Result<u8> {
    cmd!(sh, "cargo fmt --all --check").run()?;
    mutate::apply(sh)?;
    if let Some(package) = built_twice(sh)? {
        eprintln!("error: the tests build {package} again, with other features: name them in harness/cli/Cargo.toml");
        return Ok(1);
    }
    cmd!(sh, "cargo clippy --workspace --all-targets --quiet -- -D warnings").run()?;
    cmd!(sh, "cargo test --workspace --no-run").run()?;
    let rehang = tools::built(sh, tools::REHANG, Profile::Dev)?;
    // one after the other: some tests play what spins, and others what must not be held up for long
    // the tests share traces, as `rehang run` does: here each cell is run
    println!("$ rehang run --stage both --no-share");
    let code = tools::code(Command::from(cmd!(sh, "{rehang} run --stage both --no-share")).status());
    let code = code.max(first_orders(sh, &rehang)?);
    // in crates without an example in their docs `cargo test` does not look for one
    cmd!(sh, "cargo test --workspace --doc --quiet").run()?;
    cmd!(sh, "cargo test --workspace").run()?;
    if chromium::find().is_none() {
        eprintln!("{}", pictures::MISSING);
        return Ok(code);
    }
    Ok(code.max(pictures::pictures(sh, None)?))
}

/// Plays each cell in the first orders that the search tries, and prints what depends on them if it is not as the files say.
fn first_orders(sh: &Shell, rehang: &Path) -> xshell::Result<u8> {
    println!("$ rehang run --orders --orders-max {ORDERS}");
    let max = ORDERS.to_string();
    let mut run = Command::from(cmd!(sh, "{rehang} run --orders --orders-max {max}"));
    // how far it is, and what is wrong with a file, is said at once
    let out = run.stderr(Stdio::inherit()).output();
    let said = out.as_ref().map_or(String::new(), |out| String::from_utf8_lossy(&out.stdout).into_owned());
    let code = tools::code(out.map(|out| out.status));
    println!("{}", if code == 0 { said.lines().last().unwrap_or_default() } else { &said });
    Ok(code)
}

/// The first package of a program and its fakes that the tests need with other features, and so with everything above it once
/// more.
fn built_twice(sh: &Shell) -> xshell::Result<Option<String>> {
    let packages = |args: &[&str]| -> xshell::Result<BTreeSet<String>> {
        let format = "{p} {f}";
        let tree = cmd!(sh, "cargo tree --prefix none --format {format} {args...}").quiet().read()?;
        Ok(tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect())
    };
    let tests = packages(&["--workspace", "--edges", "normal,build,dev"])?;
    for program in [tools::REHANG, tools::LAB] {
        let program = packages(&["--package", program, "--package", "rehang-fakes", "--edges", "normal,build"])?;
        if let Some(package) = program.difference(&tests).next() {
            return Ok(Some(package.clone()));
        }
    }
    Ok(None)
}
