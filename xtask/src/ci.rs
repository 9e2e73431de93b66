//! What CI runs: formatting, lints, the tests, the main job, the pictures.

use crate::{chromium, mutate, pictures, tools};
use xshell::{Shell, cmd};

/// Runs all of it; returns 1 if the main job is not as expected.
pub fn ci(sh: &Shell) -> xshell::Result<u8> {
    cmd!(sh, "cargo fmt --all --check").run()?;
    mutate::apply(sh)?;
    cmd!(sh, "cargo clippy --workspace --all-targets --quiet -- -D warnings").run()?;
    cmd!(sh, "cargo test --workspace").run()?;
    let code = tools::rehang(sh, &["run", "--stage", "both"], &[], false)?;
    if chromium::find().is_none() {
        eprintln!("{}", pictures::MISSING);
        return Ok(code);
    }
    Ok(code.max(pictures::pictures(sh, None)?))
}
