//! What people download, optimized by a profile: it is built once to count what it does, plays the matrix, and is built
//! again by those counts (profile-guided optimization).
//!
//! Invariants: the profile is of the same sources, built with the same profile of `Cargo.toml` (with another one a crate's
//! symbols have other names, and its counts are lost without a word); without a program that reads rustc's counts it is built
//! all the same, and says what that costs.

use crate::tools;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The profile in `Cargo.toml`.
const PROFILE: &str = "shipped";
/// What reads rustc's counts, beside the one of rustc's own component `llvm-tools`. Rust 1.95 writes them in the raw format
/// 10, which LLVM has since 19.
const READERS: [&str; 5] =
    ["llvm-profdata", "llvm-profdata-22", "llvm-profdata-21", "llvm-profdata-20", "llvm-profdata-19"];

/// How it is built, and where it is then.
pub struct Shipped {
    /// The platform as cargo names it: `x86_64-unknown-linux-gnu`. It is this machine's.
    pub target: String,
    pub binary: PathBuf,
    flags: OsString,
}

impl Shipped {
    /// Builds a program.
    ///
    /// # Errors
    /// It does not build, or cannot play the matrix.
    pub fn build(sh: &Shell, program: &str) -> xshell::Result<Shipped> {
        let target = host(sh)?;
        let flags = match profile(sh, &target)? {
            Some(profile) => flag("-Cprofile-use=", &profile),
            None => {
                eprintln!(
                    "note: built without a profile, which would make it a quarter faster: that needs llvm-profdata of LLVM 19 or \
                     later (`rustup component add llvm-tools`, or Debian's package llvm-19)"
                );
                OsString::new()
            }
        };
        let binary = binary(&tools::target(), &target, program);
        let built = Shipped { target, binary, flags };
        let _env = built.variables().map(|(name, value)| sh.push_env(name, value));
        cmd!(sh, "cargo build --locked --profile {PROFILE} --package {program}").quiet().run()?;
        Ok(built)
    }

    /// The variables with which cargo builds just this again.
    pub fn variables(&self) -> [(&'static str, OsString); 2] {
        [("CARGO_BUILD_TARGET", self.target.clone().into()), ("CARGO_ENCODED_RUSTFLAGS", self.flags.clone())]
    }
}

/// Counts what the matrix does; the file with the profile, or `None` if nothing here can read the counts.
fn profile(sh: &Shell, target: &str) -> xshell::Result<Option<PathBuf>> {
    let folder = tools::target().join("profile");
    let (counts, profile) = (folder.join("counts"), folder.join("rehang.profdata"));
    let readers = readers(sh, target)?;
    if readers.is_empty() {
        return Ok(None);
    }
    let counting = {
        let _env = [
            ("CARGO_TARGET_DIR", folder.clone().into_os_string()),
            ("CARGO_BUILD_TARGET", target.into()),
            ("CARGO_ENCODED_RUSTFLAGS", flag("-Cprofile-generate=", &counts)),
        ]
        .map(|(name, value)| sh.push_env(name, value));
        eprintln!("first built to count what it does, then by the counts");
        cmd!(sh, "cargo build --locked --profile {PROFILE} --package rehang").quiet().run()?;
        binary(&folder, target, tools::REHANG)
    };
    if is_newer(&profile, &counting) {
        return Ok(Some(profile));
    }
    sh.remove_path(&counts)?;
    // all processes of a binary add up in one file
    let _file = sh.push_env("LLVM_PROFILE_FILE", counts.join("%m.profraw"));
    eprintln!("counting: the matrix on both stages");
    cmd!(sh, "{counting} run --stage both").quiet().ignore_stdout().run()?;
    for reader in readers {
        let merged = cmd!(sh, "{reader} merge --output {profile} {counts}").quiet().ignore_stderr().run();
        if merged.is_ok() {
            return Ok(Some(profile));
        }
    }
    Ok(None)
}

/// A flag of rustc's with a path, as `CARGO_ENCODED_RUSTFLAGS` has it.
fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(path);
    flag
}

/// The programs of this machine that may read counts.
fn readers(sh: &Shell, target: &str) -> xshell::Result<Vec<PathBuf>> {
    let root = cmd!(sh, "rustc --print sysroot").quiet().read()?;
    let own = Path::new(&root).join("lib/rustlib").join(target).join("bin/llvm-profdata");
    let mut all: Vec<PathBuf> = std::iter::once(own).chain(READERS.map(PathBuf::from)).collect();
    all.retain(|reader| cmd!(sh, "{reader} merge --help").quiet().ignore_stdout().ignore_stderr().run().is_ok());
    Ok(all)
}

fn is_newer(file: &Path, other: &Path) -> bool {
    let time = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    time(file).is_some_and(|file| time(other).is_some_and(|other| file > other))
}

fn binary(folder: &Path, target: &str, program: &str) -> PathBuf {
    folder.join(target).join(PROFILE).join(program)
}

/// The platform that is built for: this machine's.
fn host(sh: &Shell) -> xshell::Result<String> {
    let text = cmd!(sh, "rustc --version --verbose").quiet().read()?;
    Ok(text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("unknown").to_owned())
}
