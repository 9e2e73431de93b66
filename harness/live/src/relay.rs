//! The program that starts a supervised agent with a pipe: it holds the other end, in the agent's own PID namespace.
//!
//! Invariant: what comes on its stdin goes to the command's, and an end of it ends the command's; the exit code is the
//! command's. From inside of a sandbox nothing outside can be seen, so without this nobody would be seen to hold the
//! pipe, as somebody is wherever a program starts an agent.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// The argument that makes `rehang` this program; the command comes after it.
pub const RELAY_ARG: &str = "__relay";

/// Runs the command; returns its exit code, 128 plus the signal that ended it, or 127 if it cannot be started.
pub fn main(command: &[String]) -> i32 {
    let [program, args @ ..] = command else { return 127 };
    let mut child = match Command::new(program).args(args).stdin(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("rehang: {program}: {error}");
            return 127;
        }
    };
    if let Some(mut pipe) = child.stdin.take() {
        std::thread::spawn(move || {
            // unbuffered at the pipe: each read is written at once
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut pipe);
        });
    }
    match child.wait() {
        Ok(status) => status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(127),
        Err(_) => 127,
    }
}
