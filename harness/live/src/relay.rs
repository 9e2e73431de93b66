//! The program that starts a supervised agent with a pipe: it holds the other end, in the agent's own PID namespace.
//!
//! It is a relay of what is written outside, or the host itself, which reads the agent's output and waits for nothing
//! else, as `communicate()` does.
//!
//! Invariant: what comes on a relay's stdin goes to the command's, and an end of it ends the command's; the exit code is
//! the command's. From inside of a sandbox nothing outside can be seen, so without this nobody would be seen to hold the
//! pipe, as somebody is wherever a program starts an agent.

use rehang_actors::{Actor, Driver, Input, Output};
use rehang_scenario::VTime;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The argument that makes `rehang` the relay; the command comes after it.
pub const RELAY_ARG: &str = "__relay";
/// The argument that makes `rehang` the host; what it says, as a JSON array of lines, and the command come after it.
pub const HOST_ARG: &str = "__host";

/// A host: says its lines, passes the agent's output on, and closes the agent's stdin after a result. Returns as
/// [`main`] does.
pub fn host(says: &str, command: &[String]) -> i32 {
    let Ok(says) = serde_json::from_str::<Vec<String>>(says) else { return 127 };
    let mut child = match start(command, Stdio::piped()) {
        Ok(child) => child,
        Err(code) => return code,
    };
    let mut stdin = child.stdin.take();
    let mut driver = Driver::new(says);
    tell(&mut driver, Input::Begin, &mut stdin);
    let mut bytes = [0; 64 * 1024];
    let mut out = std::io::stdout().lock();
    if let Some(mut stdout) = child.stdout.take() {
        while let Ok(n @ 1..) = stdout.read(&mut bytes) {
            // whoever reads us may be gone: the agent is still read
            let _ = out.write_all(&bytes[..n]).and_then(|()| out.flush());
            tell(&mut driver, Input::Output(bytes[..n].to_vec()), &mut stdin);
        }
    }
    end(&mut child)
}

fn tell(driver: &mut Driver, input: Input, stdin: &mut Option<ChildStdin>) {
    let mut all = Vec::new();
    driver.on(VTime(0), input, &mut all);
    for output in all {
        match output {
            // an agent that has closed its stdin hears no more
            Output::Write(bytes) => drop(stdin.as_mut().map(|stdin| stdin.write_all(&bytes))),
            Output::CloseStdin => *stdin = None,
            _ => {}
        }
    }
}

fn start(command: &[String], stdout: Stdio) -> Result<Child, i32> {
    let [program, args @ ..] = command else { return Err(127) };
    Command::new(program).args(args).stdin(Stdio::piped()).stdout(stdout).spawn().map_err(|error| {
        eprintln!("rehang: {program}: {error}");
        127
    })
}

fn end(child: &mut Child) -> i32 {
    match child.wait() {
        Ok(status) => status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(127),
        Err(_) => 127,
    }
}

/// A relay: runs the command; returns its exit code, 128 plus the signal that ended it, or 127 if it cannot be started.
pub fn main(command: &[String]) -> i32 {
    let mut child = match start(command, Stdio::inherit()) {
        Ok(child) => child,
        Err(code) => return code,
    };
    if let Some(mut pipe) = child.stdin.take() {
        std::thread::spawn(move || {
            // unbuffered at the pipe: each read is written at once
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut pipe);
        });
    }
    end(&mut child)
}
