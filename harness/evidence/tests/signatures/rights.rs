//! A reader who may not see all, or is part of what it sees: it names the right that it lacks, and how to get it, and calls nothing hung.
//!
//! Invariant: the reader is a process of its own, and belongs to an ordinary user wherever that is possible.

use crate::set_up::piped;
use crate::stage::{Stage, path};
use rehang_evidence::Pid;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

/// `nobody` and `nogroup`.
const NOBODY: u32 = 65_534;

type Check = fn() -> Result<(), String>;

/// The checks by name.
pub fn all() -> impl Iterator<Item = (&'static str, Check)> {
    let all: [(&str, Check); 6] = [
        ("whoever-looks-is-left-out", whoever_looks),
        ("rights-over-another-user", another_user),
        ("rights-over-one-that-hides", one_that_hides),
        ("rights-over-a-child", a_child),
        ("rights-over-whoever-writes", whoever_writes),
        ("rights-over-whoever-holds-a-lock", whoever_holds_a_lock),
    ];
    all.into_iter()
}

/// A process that has started the look at itself.
fn whoever_looks() -> Result<(), String> {
    let stage = Stage::new()?;
    let mut command = stage.player(&["wait-for", "look-at-whoever-starts-it"]);
    let said = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().map_err(|error| error.to_string())?;
    let error = || String::from_utf8_lossy(&said.stderr).into_owned();
    let found: Value = serde_json::from_slice(&said.stdout).map_err(|_| error())?;
    let right = found["verdict"] == "waiting" && found["signature"] == "this-look" && found["is_root"] == true;
    if right { Ok(()) } else { Err(format!("expected that it waits for the look, got {found:#}")) }
}

/// An ordinary user looks at a process of root's. If the tests do not run as root, there is no such process to look at.
fn another_user() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut stage = Stage::new()?;
    piped(&mut stage, &["read-stdin"]);
    let pid = stage.root()?;
    lacks(&seen(&stage, pid)?, &["descriptors", &format!("sudo rehang why {pid}")])
}

/// A process that only root may look into, looked at by its own user.
fn one_that_hides() -> Result<(), String> {
    let mut stage = Stage::new()?;
    let mut command = stage.player(&["undumpable", "read-stdin"]);
    as_nobody(&mut command);
    command.stdin(Stdio::piped());
    stage.start(command);
    let pid = stage.root()?;
    lacks(&seen(&stage, pid)?, &["descriptors", "run as root, or with CAP_SYS_PTRACE"])
}

/// Its own call is hidden, and so is its child's.
fn a_child() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut stage = Stage::new()?;
    piped(&mut stage, &["wait-for", "read-stdin"]);
    let pid = stage.root()?;
    lacks(&seen(&stage, pid)?, &["descriptors", &format!("sudo rehang why {pid}")])
}

/// A process of one's own, whose standard input root holds: it may be the end of a pipeline.
fn whoever_writes() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut stage = Stage::new()?;
    let mut command = stage.player(&["read-stdin"]);
    as_nobody(&mut command);
    command.stdin(Stdio::piped());
    stage.start(command);
    let pid = stage.root()?;
    lacks(&seen(&stage, pid)?, &["the other end of descriptor 0", &format!("sudo rehang why {pid}")])
}

/// A process of one's own that waits for a lock of root's.
fn whoever_holds_a_lock() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut stage = Stage::new()?;
    let file = path(&stage, "index.lock");
    std::fs::write(&file, b"").map_err(|error| error.to_string())?;
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .map_err(|error| error.to_string())?;
    let holder = stage.player(&["hold-lock", "flock", &file, "sleep"]);
    let mut waiter = stage.player(&["flock", &file]);
    as_nobody(&mut waiter);
    stage.start_behind(holder, waiter);
    let pid = stage.root()?;
    lacks(&seen(&stage, pid)?, &["which holds a lock", &format!("sudo rehang why {pid}")])
}

fn as_nobody(command: &mut std::process::Command) {
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    // the case's own folder is its owner's alone
    command.current_dir("/");
}

/// What an ordinary user is told of a process.
fn seen(stage: &Stage, pid: Pid) -> Result<Value, String> {
    stage.await_ready(1)?;
    let mut reader = stage.player(&["look-at", &pid.to_string()]);
    as_nobody(&mut reader);
    let said = reader.stdout(Stdio::piped()).stderr(Stdio::piped()).output().map_err(|error| error.to_string())?;
    let error = || String::from_utf8_lossy(&said.stderr).into_owned();
    serde_json::from_slice(&said.stdout).map_err(|_| error())
}

fn lacks(found: &Value, words: &[&str]) -> Result<(), String> {
    let told = found["lacks"].as_array().into_iter().flatten().any(|lack| {
        let text = format!("{} ({})", lack["what"].as_str().unwrap_or(""), lack["remedy"].as_str().unwrap_or(""));
        words.iter().all(|word| text.contains(word))
    });
    if told && found["verdict"] == "unknown" { Ok(()) } else { Err(format!("expected {words:?}, got {found:#}")) }
}
