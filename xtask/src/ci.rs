//! What CI runs: formatting, lints, the tests, the main job, the pictures.

use crate::{chromium, mutate, pictures, tools};
use std::collections::BTreeSet;
use xshell::{Shell, cmd};

/// Runs all of it; returns 1 if the main job is not as expected.
pub fn ci(sh: &Shell) -> xshell::Result<u8> {
    // what is built once has no use for the parts of which the next build could be made
    let _env = sh.push_env("CARGO_INCREMENTAL", "0");
    cmd!(sh, "cargo fmt --all --check").run()?;
    mutate::apply(sh)?;
    if let Some(package) = built_twice(sh)? {
        eprintln!("error: the tests build {package} again, with other features: name them in harness/cli/Cargo.toml");
        return Ok(1);
    }
    cmd!(sh, "cargo clippy --workspace --all-targets --quiet -- -D warnings").run()?;
    cmd!(sh, "cargo test --workspace --no-run").run()?;
    let rehang = tools::built(sh, false)?;
    // the first tests wait for real time more than they compute: the main job has the processors meanwhile
    let mut main_job = std::process::Command::from(cmd!(sh, "nice {rehang} run --stage both"));
    let code = std::thread::scope(|scope| -> xshell::Result<u8> {
        let main_job = scope.spawn(|| main_job.output());
        cmd!(sh, "cargo test --workspace").run()?;
        let output = main_job.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(told(output))
    })?;
    if chromium::find().is_none() {
        eprintln!("{}", pictures::MISSING);
        return Ok(code);
    }
    Ok(code.max(pictures::pictures(sh, None)?))
}

/// Prints what the main job printed; returns its exit code.
fn told(output: std::io::Result<std::process::Output>) -> u8 {
    match output {
        Ok(output) => {
            println!("$ rehang run --stage both");
            print!("{}", String::from_utf8_lossy(&output.stdout));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            tools::code(Ok(output.status))
        }
        Err(error) => {
            eprintln!("error: rehang run: {error}");
            tools::code(Err(error))
        }
    }
}

/// The first package of the command and its fakes that the tests need with other features, and so with everything above it
/// once more.
fn built_twice(sh: &Shell) -> xshell::Result<Option<String>> {
    let packages = |args: &[&str]| -> xshell::Result<BTreeSet<String>> {
        let format = "{p} {f}";
        let tree = cmd!(sh, "cargo tree --prefix none --format {format} {args...}").quiet().read()?;
        Ok(tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect())
    };
    let command = packages(&["--package", "rehang", "--package", "rehang-fakes", "--edges", "normal,build"])?;
    let tests = packages(&["--workspace", "--edges", "normal,build,dev"])?;
    Ok(command.difference(&tests).next().cloned())
}
