//! Runs a command in virtual time and keeps its output.

use rehang_warp::{Ending, Warp};
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A command's end and what it wrote to both of its streams.
pub struct Ran {
    pub ending: Ending,
    pub output: String,
}

impl Ran {
    /// Virtual time in ns.
    pub fn nanos(&self) -> u128 {
        self.ending.elapsed.as_nanos()
    }
}

/// Runs a command in virtual time, without input.
pub fn run(command: Command) -> Ran {
    run_with(command, |warp| warp)
}

/// Runs a command in virtual time, without input, with other settings.
pub fn run_with<'a>(mut command: Command, set: impl FnOnce(Warp<'a>) -> Warp<'a>) -> Ran {
    let mut file = tempfile::tempfile().expect("a file");
    let copy = || Stdio::from(file.try_clone().expect("a copy"));
    command.stdin(Stdio::null()).stdout(copy()).stderr(copy());
    let ending = set(Warp::new(command)).run().expect("it runs");
    let mut output = String::new();
    file.rewind().expect("a file");
    file.read_to_string(&mut output).expect("text");
    Ran { ending, output }
}

/// A program of this binary.
pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.arg("program").args(arguments);
    command
}

/// A command with its arguments.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    // bash complains about a locale that is not installed
    command.args(&words[1..]).env("LC_ALL", "C");
    command
}

/// Whether a program is installed.
pub fn has(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// The seconds of a span that has no part of one.
pub fn seconds(whole: u64) -> Duration {
    Duration::from_secs(whole)
}
