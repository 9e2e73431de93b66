//! Which fakes there are: their names, and the program behind each.
//!
//! Invariant: [`NAMES`] are the names that [`program`] knows.

use crate::stand_in;
use rehang_os::{Fakes, Program};
use rehang_scenario::plan::Plan;

/// The names that a fake can be started under.
pub const NAMES: [&str; 9] = [
    "fake-tool",
    "fake-claude",
    "fake-opencode",
    "fake-altimate",
    "fake-pawwork",
    "claude",
    "opencode",
    "altimate",
    "pawwork",
];

/// What this build of the fakes is: a digest of its sources.
pub const BUILD: &str = env!("REHANG_FAKES_BUILD");

/// The argument by which the binary of the fakes says its [`BUILD`].
pub const BUILD_ARG: &str = "--build";

/// The program that `argv[0]` names.
///
/// # Errors
/// A text for the user: an unknown program, or arguments that do not fit.
pub fn program(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, String> {
    let name = argv.first().map_or("", |a| a.rsplit('/').next().unwrap_or(""));
    match name {
        "fake-tool" => crate::tool::program(argv, plan),
        "fake-claude" | "claude" => crate::claude::program(argv, plan),
        "fake-opencode" | "opencode" | "fake-altimate" | "altimate" | "fake-pawwork" | "pawwork" => {
            crate::opencode::program(argv, plan)
        }
        _ => Err(format!("no fake is called `{name}`")),
    }
}

/// Plays the fake that this process was started as, and does not return then: see [`rehang_os::dispatch`].
pub fn dispatch() -> bool {
    rehang_os::dispatch(Fakes { names: &NAMES, programs: program, folder: stand_in::setup })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_a_program() {
        for name in NAMES {
            let error = program(&[name.to_owned()], None).err().unwrap_or_default();
            assert!(!error.contains("no fake is called"), "{name}: {error}");
        }
        assert!(program(&["ls".to_owned()], None).is_err());
    }
}
