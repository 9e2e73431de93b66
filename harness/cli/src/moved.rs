//! Commands that `rehang` had in an earlier release, and where they went.
//!
//! Invariant: none of these is a command of `rehang`: no help, completion or manual page has it.

use std::ffi::OsString;

/// The old name, and what does the same now.
pub const MOVED: [(&str, &str); 12] = [
    ("strategies", "rehang list --strategies"),
    ("schema", "rehang check --schema"),
    ("replay", "rehang show --replay"),
    ("shrink", "rehang reproduce --shrink"),
    ("tune", "rehang score --logs"),
    ("record", "rehang-lab record"),
    ("drift", "rehang-lab drift"),
    ("site", "rehang-lab site"),
    ("bench", "rehang-lab bench"),
    ("determinism", "rehang-lab determinism"),
    ("fuzz", "rehang-lab fuzz"),
    ("torture", "rehang-lab torture"),
];

/// Where `rehang-lab` is: no package that people install has it.
const LAB: &str = concat!(", from the repository: `cargo install --git ", env!("CARGO_PKG_REPOSITORY"), " rehang-lab`");

/// What to say of a command that has moved: of `rehang NAME …`, or of `rehang help NAME`.
pub fn moved(mut args: impl Iterator<Item = OsString>) -> Option<String> {
    let name = args.next()?;
    let name = if name == "help" { args.next()? } else { name };
    let (old, new) = MOVED.iter().find(|(old, _)| name == *old)?;
    Some(format!("`rehang {old}` is now `{new}`{}", if new.starts_with("rehang-lab") { LAB } else { "" }))
}
