//! The processes below this one: who they are, who of them holds a stream, and how they are ended.
//!
//! Invariant: a signal goes to a process only while it is known to be the one that was looked at: by its pidfd, and
//! after its parent was read again. A process that loses its parent becomes a child of this one, which is the
//! subreaper.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, wait};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// A process below this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    /// Its id.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// Its name.
    pub name: String,
}

/// A child of this process that is not one of those that it looks after; 0: none.
static LEFT_OUT: AtomicI32 = AtomicI32::new(0);

/// Leaves a child of this process out of [`below`]: it is a part of this program.
pub fn leave_out(pid: i32) {
    LEFT_OUT.store(pid, Ordering::Relaxed);
}

/// Makes this process the parent of every process below it that loses its own.
///
/// # Errors
/// The kernel's: Linux 3.4 or later is needed.
pub fn adopt() -> std::io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// All processes below this one that have not ended, parents before children.
pub fn below() -> Vec<Below> {
    let mut by_parent: BTreeMap<i32, Vec<Below>> = BTreeMap::new();
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    for entry in all.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        if let Some((state, found)) = pid.and_then(read)
            && !matches!(state, 'Z' | 'X')
            && found.pid != LEFT_OUT.load(Ordering::Relaxed)
        {
            by_parent.entry(found.parent).or_default().push(found);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![std::process::id().cast_signed()];
    while let Some(parent) = parents.pop() {
        for child in by_parent.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            found.push(child);
        }
    }
    found
}

/// A process's state and its description; `None` if there is no such process.
fn read(pid: i32) -> Option<(char, Below)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name is in brackets and may contain brackets
    let (head, tail) = stat.rsplit_once(") ")?;
    let name = rehang_words::text::visible(head.split_once('(')?.1);
    let mut fields = tail.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, Below { pid, parent: fields.next()?.parse().ok()?, name }))
}

/// The processes that hold one of these files open (pipes by inode, terminals by path).
pub fn holders(of: &[Below], files: &BTreeSet<PathBuf>) -> Vec<Below> {
    let holds = |pid: i32| {
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd"));
        fds.is_ok_and(|fds| fds.flatten().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| files.contains(&to))))
    };
    of.iter().filter(|process| holds(process.pid)).cloned().collect()
}

/// Sends a signal to each of them that is still the process that was looked at.
pub fn signal(all: &[Below], signal: Signal) {
    for process in all {
        if let Some(fd) = hold(process) {
            // one that has ended meanwhile needs no signal
            let _ = pidfd_send_signal(&fd, signal);
        }
    }
}

/// A descriptor of the process that was looked at; `None` if it has ended, or its number belongs to another one.
pub fn hold(process: &Below) -> Option<OwnedFd> {
    let pid = Pid::from_raw(process.pid)?;
    let fd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // checked after the pidfd is open: it is the same process if its parent is the same, or has become this process
    let own = std::process::id().cast_signed();
    let (_, now) = read(process.pid)?;
    (now.parent == process.parent || now.parent == own).then_some(fd)
}

/// Waits until no process is below this one, at most this long: at first and after each end `does` is called with those
/// that are left. Reaps processes that become children of this one.
pub fn await_ends(limit: Duration, does: &dyn Fn(&[Below])) {
    let began = Instant::now();
    loop {
        reap();
        let left = below();
        does(&left);
        let fds: Vec<OwnedFd> = left.iter().filter_map(hold).collect();
        let rest = limit.saturating_sub(began.elapsed());
        if left.is_empty() || rest.is_zero() {
            return;
        }
        if fds.len() < left.len() {
            continue; // a child has just ended
        }
        let mut polled: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let time = Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: i64::from(rest.subsec_nanos()) };
        // interrupted or not: the processes are looked at again
        let _ = poll(&mut polled, Some(&time));
    }
}

/// Reaps all children that have ended: their pids, and their code or -signal.
pub fn reap() -> Vec<(i32, i32)> {
    let mut all = Vec::new();
    while let Ok(Some((pid, status))) = rustix::io::retry_on_intr(|| wait(WaitOptions::NOHANG)) {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => all.push((pid.as_raw_nonzero().get(), code)),
            (_, Some(signal)) => all.push((pid.as_raw_nonzero().get(), -signal)),
            _ => {}
        }
    }
    all
}
