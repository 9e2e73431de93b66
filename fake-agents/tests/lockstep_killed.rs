//! A runner that is killed leaves no process: no waiting one, no stopped one, and no escaped one.

mod lockstep;

use lockstep::{cell, kernel};
use rehang_os::kernel::Kernel;
use rehang_scenario::{
    Terminal::{Null, TtyBackground},
    VTime,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

const HOST: &str = "REHANG_TEST_HOST";

/// The runner of the other test: it sets its cells up, reports that, and waits to be killed.
#[test]
fn hosts_cells_to_be_killed_with() {
    if std::env::var_os(HOST).is_none() {
        return;
    }
    let mut kernel = kernel();
    let escaped = r#"{"background":{"name":"d","does":["hold"],"setsid":true,"double-fork":true}}"#;
    let steps = format!(r#"[{escaped},{{"background":{{"name":"s","does":[{{"raise":"STOP"}}]}}}},"hold"]"#);
    kernel.start(&cell(Null, &steps).launch()).unwrap();
    kernel.start(&cell(TtyBackground, r#"["read-stdin"]"#).launch()).unwrap();
    while let Some(&proc) = kernel.ready(VTime(0)).unwrap().first() {
        kernel.run(proc, VTime(0)).unwrap();
    }
    println!("\nset up {:?}", kernel.waits());
    let _ = std::io::stdin().read(&mut [0]);
}

fn tree(pid: i32, found: &mut Vec<i32>) {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return };
    for task in tasks.flatten() {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().map(|pid| pid.parse().unwrap()) {
            found.push(child);
            tree(child, found);
        }
    }
}

#[test]
fn nobody_survives_a_killed_runner() {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hosts_cells_to_be_killed_with", "--nocapture"])
        .env(HOST, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let set_up = lines.find_map(|line| line.ok().filter(|l| l.starts_with("set up"))).unwrap();
    assert_eq!(set_up.matches("stopped").count(), 2, "{set_up}");
    let mut pids = Vec::new();
    tree(host.id().cast_signed(), &mut pids);
    // what they were forked from, the agents, the shell, the escaped one, the stopped one
    assert_eq!(pids.len(), 6, "{set_up}");
    let watch = |pid: i32| rustix::process::pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    let watched: Vec<OwnedFd> = pids.into_iter().map(watch).collect();
    host.kill().unwrap();
    host.wait().unwrap();
    for end in &watched {
        let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
        let ended = poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&limit));
        assert_eq!(ended, Ok(1), "a participant outlived its runner");
    }
}
