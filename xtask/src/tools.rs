//! What several commands need: the root of the repository, a copy of it, and the programs `rehang` and `rehang-lab`, each
//! built together with the fakes.

use crate::shipped::Shipped;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The root of the repository.
pub fn root() -> PathBuf {
    // Taken from cargo now, not from when this was compiled: a clone may be moved.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().unwrap_or(&here).to_owned()
}

/// How a program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Soon.
    Dev,
    /// For what runs long.
    Release,
    /// As people download it, which takes minutes: for figures.
    Shipped,
}

/// What runs cells, why, supervise and real releases.
pub const REHANG: &str = "rehang";
/// What records, compares, measures and makes the site.
pub const LAB: &str = "rehang-lab";

/// Builds a program and its fakes and runs it; returns its exit code.
pub fn run(sh: &Shell, program: &str, args: &[&str], rest: &[String], profile: Profile) -> xshell::Result<u8> {
    let program = built(sh, program, profile)?;
    let output = cmd!(sh, "{program} {args...} {rest...}").quiet().ignore_status();
    Ok(code(std::process::Command::from(output).status()))
}

/// Builds a program and its fakes; returns where it is.
pub fn built(sh: &Shell, program: &str, profile: Profile) -> xshell::Result<PathBuf> {
    let (flags, folder): (&[&str], _) = match profile {
        Profile::Dev => (&["--quiet"], "debug"),
        Profile::Release => (&["--quiet", "--release"], "release"),
        Profile::Shipped => return Ok(Shipped::build(sh, program)?.binary),
    };
    cmd!(sh, "cargo build {flags...} --package {program} --package rehang-fakes").quiet().run()?;
    Ok(target().join(folder).join(program))
}

/// Builds the comparison with rehang's peers, a package of its own with a lock of its own, and runs it.
pub fn peers(sh: &Shell) -> xshell::Result<u8> {
    let (manifest, folder) = (root().join("xtask/peers/Cargo.toml"), target().join("peers"));
    // without it madsim is a thin layer over tokio, on the wall clock
    let run = cmd!(sh, "cargo run --quiet --release --locked --manifest-path {manifest} --target-dir {folder}");
    Ok(code(std::process::Command::from(run.env("RUSTFLAGS", "--cfg madsim").quiet()).status()))
}

/// The folder for build output.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The exit code of a command; 70, an internal error, if it has none.
pub fn code(status: std::io::Result<std::process::ExitStatus>) -> u8 {
    let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    code.unwrap_or(70)
}

/// A copy of all files that git tracks or would track, as they are in the working tree.
pub fn fresh_copy(sh: &Shell, copy: &Path) -> xshell::Result<()> {
    let root = &root();
    sh.create_dir(copy)?;
    let _inside = sh.push_dir(root);
    if !copy.join(".git").exists() {
        cmd!(sh, "git init --quiet {copy}").quiet().run()?;
    }
    let files = cmd!(sh, "git ls-files --cached --others --exclude-standard").quiet().read()?;
    let old = {
        let _in = sh.push_dir(copy);
        cmd!(sh, "git ls-files --others --exclude-standard").quiet().read()?
    };
    let is_there = |file: &str| root.join(file).is_file() || root.join(file).is_symlink();
    for file in old.lines().filter(|file| !is_there(file)) {
        sh.remove_path(copy.join(file))?;
    }
    for file in files.lines() {
        let (from, to) = (root.join(file), copy.join(file));
        // a package has links to what it needs of the folders beside it
        if let Ok(target) = std::fs::read_link(&from) {
            if std::fs::read_link(&to).ok() != Some(target) {
                sh.create_dir(to.parent().unwrap_or(copy))?;
                cmd!(sh, "cp --no-dereference --no-target-directory --remove-destination {from} {to}").quiet().run()?;
            }
            continue;
        }
        let Ok(bytes) = sh.read_binary_file(&from) else { continue };
        // an unchanged file keeps its time, so that cargo builds only what the last patch or this one touches
        if sh.read_binary_file(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        sh.write_file(&to, bytes)?;
        if sh.read_file(&from).is_ok_and(|text| text.starts_with("#!")) {
            cmd!(sh, "chmod +x {to}").quiet().run()?;
        }
    }
    Ok(())
}
