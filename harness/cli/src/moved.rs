//! Commands that had a name of their own in an earlier release, and where they went.
//!
//! Invariant: none of these is a command: no help, completion or manual page has it.

use std::ffi::OsString;

/// The old name, and what does the same now.
pub const MOVED: [(&str, &str); 5] = [
    ("strategies", "list --strategies"),
    ("schema", "check --schema"),
    ("replay", "show --replay"),
    ("shrink", "reproduce --shrink"),
    ("tune", "score --logs"),
];

/// What to say of a command that has moved: of `rehang NAME …`, or of `rehang help NAME`.
pub fn moved(mut args: impl Iterator<Item = OsString>) -> Option<String> {
    let name = args.next()?;
    let name = if name == "help" { args.next()? } else { name };
    let (old, new) = MOVED.iter().find(|(old, _)| name == *old)?;
    Some(format!("`rehang {old}` is now `rehang {new}`"))
}
