//! `rehang why` on real processes: who waits for whom, and that the process that looks is left out.
//!
//! Invariant: a shell and its child take a moment to come to their waits; the look is repeated until they have, and what it
//! then says is judged.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A child that is ended with the test.
struct Ours(Child);

impl Drop for Ours {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.0.id().cast_signed());
        let _ = nix::sys::signal::killpg(pid, nix::sys::signal::Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

fn shell(script: &str, folder: &Path) -> Ours {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder).stdin(Stdio::null()).process_group(0);
    Ours(command.spawn().expect("a shell"))
}

fn why(pid: u32, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.args(["why", &pid.to_string(), "--window", "20ms"]).args(more);
    String::from_utf8(command.output().expect("rehang").stdout).expect("text")
}

/// Looks until it finds this; the number of looks is only an abort.
fn until(pid: u32, signature: &str) -> String {
    let mut said = String::new();
    for _ in 0..500 {
        said = why(pid, &[]);
        if said.contains(&format!("signature {signature}")) {
            return said;
        }
    }
    panic!("never {signature}: {said}")
}

#[test]
fn who_waits_for_whom_is_told_below_the_finding() {
    let folder = tempfile::tempdir().expect("a folder");
    let shell = shell("mkfifo queue; cat queue; echo never", folder.path());
    let said = until(shell.0.id(), "fifo-open");
    let lines: Vec<&str> = said.lines().collect();
    let sh = format!("sh ({})", shell.0.id());
    let child = lines.iter().find(|line| line.starts_with(&format!("  {sh} → cat ("))).expect(&said);
    assert!(child.ends_with(": child"), "{child}");
    // a FIFO has a name: a process that is not there yet may open it
    assert!(lines.iter().any(|line| line.contains("→ a process that opens it: FIFO queue")), "{said}");
    assert!(!said.contains("closed in"), "{said}");
    let json: serde_json::Value = serde_json::from_str(&why(shell.0.id(), &["--json"])).expect("JSON");
    let graph = &json["graph"];
    assert_eq!(graph["closed"].as_array().map(Vec::len), Some(0), "{graph:#}");
    assert_eq!(graph["edges"][1]["to"]["outside"], "a process that opens it", "{graph:#}");
}

#[test]
fn a_wait_with_an_end_is_not_closed_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let shell = shell("sleep 1000; echo later", folder.path());
    let said = until(shell.0.id(), "sleep");
    assert!(said.contains(": child") && said.contains("which sleeps for a time"), "{said}");
    assert!(!said.contains("closed in"), "{said}");
}

/// The jobserver of GNU make is a pipe of which each make holds both ends.
#[test]
fn a_build_with_makes_below_make_is_no_hang() {
    let folder = tempfile::tempdir().expect("a folder");
    let make = "all: a b\na b: ; +@$(MAKE) -f sub.mk T=$@\n";
    std::fs::write(folder.path().join("Makefile"), make).expect("a file");
    std::fs::write(folder.path().join("sub.mk"), "all: 1 2 3\n1 2 3: ; @sleep 1000\n").expect("a file");
    let shell = shell("make -s -j3; echo later", folder.path());
    let said = until(shell.0.id(), "sleep");
    assert!(said.starts_with("WAITING") && !said.contains("closed in"), "{said}");
}

#[test]
fn a_reader_of_what_the_look_writes_hides_nothing() {
    let script = "sleep 1000 & \"$REHANG\" why $$ --window 20ms | cat; kill $!";
    let said = Command::new("sh").args(["-c", script]).env("REHANG", env!("CARGO_BIN_EXE_rehang")).output();
    let said = String::from_utf8(said.expect("a shell").stdout).expect("text");
    assert!(said.starts_with("WAITING  sleep ("), "{said}");
}

#[test]
fn whoever_looks_is_left_out() {
    let script = "\"$REHANG\" why $$ --window 20ms; echo over";
    let said = Command::new("sh").args(["-c", script]).env("REHANG", env!("CARGO_BIN_EXE_rehang")).output();
    let said = String::from_utf8(said.expect("a shell").stdout).expect("text");
    assert!(said.starts_with("WAITING") && said.contains("waits for this very look"), "{said}");
    assert!(said.ends_with("over\n"), "{said}");
}

/// The same process, without the word of the user that it is an agent and with it.
#[test]
fn a_program_that_the_user_calls_an_agent_is_judged_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("my-agent.sh"), "mkfifo queue; read line <queue\n").expect("a script");
    let agent = shell("sh ./my-agent.sh; echo later", folder.path());
    let pid = agent.0.id();
    let as_agent = |more: &[&str]| why(pid, &[&["--agent", "other", "--agent", "my-agent"], more].concat());
    let mut said = String::new();
    let found = (0..500).any(|_| {
        said = as_agent(&[]);
        said.contains("signature fifo-open")
    });
    assert!(found && said.contains("my-agent (") && !said.contains("sh my-agent.sh ("), "{said}");
    let plain = why(pid, &[]);
    assert!(plain.contains("sh my-agent.sh (") && !plain.contains("my-agent ("), "{plain}");
    // the snapshots have it, so that they can be diagnosed again
    let both: serde_json::Value = serde_json::from_str(&as_agent(&["--snapshots"])).expect("JSON");
    for time in ["before", "after"] {
        let tree = both[time]["tree"].as_object().expect("processes");
        let marked: Vec<&str> = tree.values().filter_map(|process| process["agent"].as_str()).collect();
        assert_eq!(marked, ["my-agent"], "{time}");
    }
}

#[test]
fn what_is_no_name_of_an_agent_is_refused() {
    for (name, text) in [("node", "runs other programs"), ("./x", "without its folder"), ("", "cannot be empty")] {
        for before in [&["why", "1"][..], &["supervise"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
            let command = command.args(before).args(["--agent", name]);
            let command = if before.len() == 1 { command.args(["--", "true"]) } else { command };
            let out = command.output().expect("rehang");
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(
                out.status.code() == Some(2) && said.contains("--agent: ") && said.contains(text),
                "{before:?} {said}"
            );
        }
    }
}
