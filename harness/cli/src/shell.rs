//! Commands for a shell that a user can copy.
//!
//! Invariant: a shell reads what is quoted here as the very words that it was made of.

use std::path::PathBuf;

/// A word for a shell, quoted where it must be.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=@,:+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The arguments that make a command read these scenario files, after a blank; empty if none were named.
pub fn reading(scenarios: &[PathBuf]) -> String {
    scenarios.iter().map(|path| format!(" --scenarios {}", quoted(&path.display().to_string()))).collect()
}

/// The command as it was given to this program, quoted for a shell.
pub fn command_line(program: &str) -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
